// The door of the compiler: a program, as bytes, becomes an executable. Used by the PJRT plugin.
// Nothing of PJRT may appear here, and no MLIR: those who compile programs need not know it.

#pragma once

#include "cupel/compiler/program/CompileOptions.h"
#include "cupel/runtime/Executable.h"

#include <memory>
#include <string_view>

namespace cupel::compiler {

/// Compiles a program in any of its forms (portable artifact, bytecode or text).
Result<std::shared_ptr<const runtime::Executable>> compile(std::string_view program,
                                                           const CompileOptions &options);

/// The patterns of files of fusions (fusions/Fusions.h), as CompileOptions takes them.
Result<std::string> readFusions(const std::string &files);

/// How many threads kernels of this process use from now on; 0: as many as there are cores. With
/// `always` also for work that is too brief to gain by it, which only tests want.
void useThreads(int threads, bool always = false);

/// Whether programs of this process run in each other's memory from now on (backends/cpu/Frames.h).
void shareArenas(bool areShared);

/// What kernels keep beside the memory of an argument, such as weights in the form that they multiply
/// with, is dropped. For whoever owns buffers, when one ends.
void forgetArgument(const std::byte *data);

/// From what an executable of any backend wrote with `serialize`. `region` holds traces, if that one
/// was to be recorded; null: the process's.
Result<std::shared_ptr<const runtime::Executable>> deserialize(std::string_view bytes, const std::shared_ptr<runtime::TraceRegion> &region = nullptr);

} // namespace cupel::compiler
