// Which devices there are: the one place that knows them all.

#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/testbench/worker/Device.h"
#include "cupel/testbench/worker/GeneratedCode.h"
#include "cupel/testbench/worker/PjrtDevice.h"
#include "cupel/testbench/worker/ReferenceDevice.h"
#include "cupel/testbench/worker/RemoteDevice.h"

namespace cupel::testbench::worker {

Result<std::unique_ptr<Device>> openDevice(const std::string &given) {
  if (given.starts_with(kGeneratedDevice))
    return openGeneratedCode(given.substr(kGeneratedDevice.size()));
  // What it computes in is for those who judge its results.
  const std::string name = runtime::withoutPrecision(given);
  if (name == "reference" || name.empty())
    return makeReferenceDevice();
  if (namesRemoteDevice(name))
    return openRemoteDevice(name);
  runtime::DeviceName device = runtime::DeviceName::parse(name);
  if (device.isPlugin())
    return openPjrtDevice(device);
  return Error{"device '" + name +
               "' is not known; there are 'reference', 'cupel' (our own plugin), the architectures "
               "that it presents (cpu, n300, ...), and any PJRT plugin by the path of its .so "
               "file, elsewhere as 'plugin.so@ssh lab'"};
}

} // namespace cupel::testbench::worker
