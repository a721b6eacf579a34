// The client: the devices of one architecture, made up on this machine.

#pragma once

#include "cupel/pjrt/plugin/Device.h"
#include "cupel/runtime/Options.h"
#include "cupel/runtime/Trace.h"

namespace cupel::pjrt {

using runtime::Numerics;
using runtime::Options;
using runtime::OptionScope;
using runtime::Rewrites;

inline constexpr std::string_view kPlatformName = "cupel";
/// Says the versions of Cupel and of what it speaks.
const std::string &platformVersion();

/// How many of which devices, and what programs are compiled with unless they say otherwise.
struct Layout {
  runtime::Architecture architecture;
  std::string source = "cpu"; // What the architecture was asked for by: its name, or a file.
  int64_t devices = 1;
  int64_t memoryLimit = 0;
  Numerics numerics;
  bool isCopied = false; // Hosts do not read devices' own memory in place.
  bool borrows = false;  // Devices read what hosts lend where it lies.
  std::string exportPath; // A folder for stages, or for code; empty: none.
  bool exportsTensors = true; // Beside code.
  std::string weightFormats; // Of weights of products; see CompileOptions.
  std::string backend = "cpu";
  Rewrites rewrites;
  std::optional<int64_t> threads; // Of kernels; none: as it is.
  bool isStrict = false;
  std::string fusionFiles, withoutFusions; // Of patterns; names of those that are left out.
  bool enablesTrace = false;
  std::shared_ptr<runtime::TraceRegion> traceRegion; // Of all devices together.
};
Result<Layout> layoutOf(const Options &options);
Status setOption(Options &options, const PJRT_NamedValue &value);

/// What there is, without the devices themselves.
class Topology : public HandleBase {
public:
  explicit Topology(Layout layout);

  const Layout layout;
  std::vector<std::unique_ptr<DeviceDescription>> descriptions;
  std::vector<PJRT_DeviceDescription *> handles;
  NamedValues attributes;
};

class Client : public HandleBase {
public:
  explicit Client(Layout layout);

  Device *find(int64_t id);

  const Layout layout;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<PJRT_Device *> deviceHandles;
  std::vector<PJRT_Memory *> memoryHandles;
  Topology topology;
};

} // namespace cupel::pjrt
