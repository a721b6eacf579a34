// From an exported PyTorch program to operator cases: each distinct call once, with the shapes,
// dtypes, layouts and arguments the program has and the model's source line. Behind
// `cupel ops extract`. Reads the program as a value and links no MLIR.
#pragma once

#include "cupel/frontends/torch/Program.h"
#include "cupel/testbench/opcases/Case.h"

namespace cupel::testbench::worker {

struct ExtractedCases {
  opcases::CaseFile file;
  opcases::Case defaults;           ///< What most cases share; for the file's `default`.
  size_t calls = 0;                 ///< Of the program, those left out included.
  std::vector<std::string> leftOut; ///< Calls that no case can say, and why.
};

ExtractedCases extractCases(const frontends::torch_import::Program &program,
                            const std::string &model);

} // namespace cupel::testbench::worker
