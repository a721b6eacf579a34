// From an exported PyTorch program to operator cases: each distinct call once, with the shapes,
// dtypes, layouts and arguments the program has and the model's source line. Behind
// `cupel ops extract`. Reads the program as a value and links no MLIR.
#pragma once

#include "cupel/frontends/torch/Program.h"
#include "cupel/testbench/opcases/Case.h"

#include <map>

namespace cupel::testbench::worker {

struct ExtractedCases {
  opcases::CaseFile file;
  opcases::Case defaults;           ///< What most cases share; for the file's `default`.
  size_t calls = 0;                 ///< Of the program, those left out included.
  std::vector<std::string> leftOut; ///< Calls that no case can say, and why.
};

/// Chooses the file's defaults, given how many tensors have each dtype, and gives them to the
/// cases.
void finishCases(ExtractedCases &out, const std::map<std::string, size_t> &dtypes);

ExtractedCases extractCases(const frontends::torch_import::Program &program,
                            const std::string &model);

} // namespace cupel::testbench::worker
