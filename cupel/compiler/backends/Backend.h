// What makes executables: a backend takes a program behind the common passes and gives something
// that runs. The golden reference stands behind this interface, and whatever compiles. Found by
// name in Backends.h, and used by `compile` alone.
//
// To add one, copy backends/null: a class, a function that returns the only object of it, and a
// line in Backends.cpp. What it must do is what BackendsTest.cpp asks of every backend: compute the
// right values or refuse with ErrorCode::Unsupported and the name of what it lacks, never compute
// something else. A backend that lacks an operation may hand the whole program to
// referenceBackend(), or run a function of it on reference::Plan, whose kernels take tensors of the
// host.

#pragma once

#include "cupel/compiler/program/DeviceProgram.h"

#include <memory>
#include <string>
#include <string_view>

namespace cupel::compiler {

using ExecutablePointer = std::shared_ptr<const runtime::Executable>;
using TraceRegionPointer = std::shared_ptr<runtime::TraceRegion>;

class Backend {
public:
  virtual ~Backend() = default;

  /// By which users ask for it, and saved executables name it. One word.
  virtual std::string_view name() const = 0;
  /// What it is, in one line for users.
  virtual std::string_view summary() const = 0;

  /// From the bytes of a program. One that was split over its devices and that this backend cannot
  /// make an executable of then is compiled whole, with a note of the reason, unless that is an
  /// error (`isStrict`).
  Result<ExecutablePointer> compileSource(std::string_view source,
                                          const CompileOptions &options) const;

  /// From a program behind the common passes, which is the backend's to change and to keep. The
  /// program's context is locked meanwhile.
  virtual Result<ExecutablePointer> compile(std::shared_ptr<DeviceProgram> program) const = 0;

  /// From what an executable gave to `savedForm`. Unless a backend has a form of its own, that is
  /// `sourceForm`, and the program is compiled again. `region` holds traces; null: the process's.
  virtual Result<ExecutablePointer> load(std::string_view bytes, const TraceRegionPointer &region) const;
};

/// What `Executable::serialize` returns: the backend's name before what `load` needs.
std::string savedForm(std::string_view backend, std::string_view bytes);
/// The saved form that is made of the options and the source alone.
std::string sourceForm(const DeviceProgram &program);

/// The name of the backend and what it saved.
struct SavedExecutable {
  std::string_view backend, bytes;
};
Result<SavedExecutable> parseSavedForm(std::string_view bytes);

} // namespace cupel::compiler
