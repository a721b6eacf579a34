#include "cupel/compiler/Compile.h"

#include "cupel/compiler/Backends.h"
#include "cupel/compiler/RoundedArguments.h"
#include "cupel/compiler/WrittenCode.h"
#include "cupel/compiler/backends/cpu/Frames.h"
#include "cupel/compiler/backends/cpu/PackedWeights.h"
#include "cupel/compiler/backends/cpu/Threads.h"

namespace cupel::compiler {

Result<ExecutablePointer> compile(std::string_view program, const CompileOptions &options) {
  if (options.replicas < 1 || options.partitions < 1 || options.replicas > 4096 ||
      options.partitions > 4096)
    return Error{"a program cannot be compiled for " + std::to_string(options.replicas) +
                 " replicas and " + std::to_string(options.partitions) + " partitions"};
  Result<const Backend *> backend = findBackend(options.backend);
  if (!backend)
    return backend.error();
  Result<ExecutablePointer> rounding = compileWithRoundedArguments(**backend, program, options);
  if (!rounding || *rounding)
    return rounding;
  Result<ExecutablePointer> made = (*backend)->compileSource(program, options);
  if (!made || options.code.language.empty())
    return made;
  return writeCodeAtFirstRun(std::move(*made), program, options.code);
}

void useThreads(int threads, bool always) {
  useKernelThreads(threads, always ? kernels::Pool::Sharing::Always
                                   : kernels::Pool::Sharing::WhereItPays);
}

void shareArenas(bool areShared) { shareFrames(areShared); }

void forgetArgument(const std::byte *data) { PackedWeights::get().forget(data); }

Result<ExecutablePointer> deserialize(std::string_view bytes, const std::shared_ptr<runtime::TraceRegion> &region) {
  Result<SavedExecutable> saved = parseSavedForm(bytes);
  if (!saved)
    return saved.error();
  Result<const Backend *> backend = findBackend(saved->backend);
  if (!backend)
    return backend.error().within("the saved executable cannot be loaded");
  return (*backend)->load(saved->bytes, region);
}

} // namespace cupel::compiler
