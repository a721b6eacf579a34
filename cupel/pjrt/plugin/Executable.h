// Executables as hosts hold them: what was compiled (shared, and asked for its properties), and
// what was loaded onto devices (run).

#pragma once

#include "cupel/pjrt/plugin/Buffer.h"
#include "cupel/pjrt/plugin/Proto.h"
#include "cupel/pjrt/plugin/WaitingHost.h"
#include "cupel/runtime/Executable.h"

#include <atomic>
#include <deque>
#include <limits>
#include <mutex>

namespace cupel::pjrt {

/// A compiled program with its properties in the form that PJRT asks for them. Made once, shared by
/// all handles on it.
class Compiled {
public:
  Compiled(std::shared_ptr<const runtime::Executable> program, std::string compileOptions);

  const runtime::ProgramInfo &info() const { return program->info(); }

  const std::shared_ptr<const runtime::Executable> program;
  const std::string compileOptions;          // As they came.
  std::shared_ptr<const std::string> origin; // Of its results.

  /// What calls ask of an argument. They go through all of them, which lie side by side here.
  struct Asked {
    PJRT_Buffer_Type type = PJRT_Buffer_Type_INVALID;
    bool isToken = false, isDynamic = false, isDonor = false;
    tensor::Shape shape; // On a device.
  };
  std::vector<Asked> asked;

  std::vector<PJRT_Buffer_Type> resultTypes;
  std::vector<tensor::Shape> resultShapes; // On a device; none of tokens.
  std::vector<int64_t> resultDims;
  std::vector<size_t> resultRanks;
  std::vector<const char *> resultKinds, argumentKinds;
  std::vector<size_t> resultKindSizes, argumentKindSizes;
  /// Costs and notes, with how often what was recorded has been replayed by now. Stays as long as this.
  const NamedValues &cost() const;

  /// Serialized, one for each.
  struct Shardings {
    std::vector<std::string> bytes;
    std::vector<const char *> data;
    std::vector<size_t> sizes;
  };
  Shardings argumentShardings, resultShardings;
  std::vector<MinorToMajor> argumentLayouts, resultLayouts;
  std::vector<PJRT_Layouts_MemoryLayout *> argumentLayoutHandles, resultLayoutHandles;

  /// What one device needs: arguments, results and what lies between.
  int64_t argumentBytes = 0, resultBytes = 0, aliasBytes = 0;

private:
  mutable std::mutex costMutex;
  mutable std::deque<NamedValues> costs; // The latest is the last.
  mutable std::string latestRuns;

public:
  /// How long the last run took; none yet: for ever.
  mutable std::atomic<int64_t> lastNanoseconds = std::numeric_limits<int64_t>::max();
  mutable WaitingHost host;
};

class ExecutableHandle : public HandleBase {
public:
  explicit ExecutableHandle(std::shared_ptr<const Compiled> compiled)
      : compiled(std::move(compiled)) {}
  const std::shared_ptr<const Compiled> compiled;
};

class LoadedExecutable : public HandleBase {
public:
  LoadedExecutable(Client &client, std::shared_ptr<const Compiled> compiled,
                   DeviceAssignment assignment, bool isPortable);

  Client &client;
  const std::shared_ptr<const Compiled> compiled;
  const DeviceAssignment assignment;
  const bool isPortable; // Runs on the device that each execution names.
  std::vector<Device *> devices;
  std::vector<PJRT_Device *> deviceHandles;
  std::vector<PJRT_LogicalDeviceIds> logicalIds;
  std::atomic<bool> deleted = false;
};

/// Compiles for these options; the client or topology says what they leave open.
Result<std::shared_ptr<const Compiled>> compileProgram(const PJRT_Program *program,
                                                        std::string_view options,
                                                        const CompileRequest &request,
                                                        const Layout &defaults);

PJRT_Error *execute(PJRT_LoadedExecutable_Execute_Args *args);

} // namespace cupel::pjrt
