// Executables that leave standalone code behind: the first run writes the program, with the arguments
// that it was given, into a folder (compiler/standalone), and every run computes as it would without.
// Used by `compile` for the backends `codegen_py` and `codegen_cpp`. What has no form in the language
// is refused before anything runs.

#pragma once

#include "cupel/compiler/backends/Backend.h"

namespace cupel::compiler {

Result<ExecutablePointer> writeCodeAtFirstRun(ExecutablePointer inner, std::string_view source,
                                              const CompileOptions::Code &code);

} // namespace cupel::compiler
