// From an exported PyTorch program to operator cases: each distinct call once, with the shapes,
// dtypes, layouts and arguments the program has and the model's source line. Behind
// `cupel ops extract`. Reads the program as a value and links no MLIR.
#pragma once

#include "cupel/frontends/torch/Program.h"
#include "cupel/testbench/opcases/Case.h"

#include <functional>
#include <map>
#include <unordered_map>

namespace cupel::testbench::worker {

struct ExtractedCases {
  opcases::CaseFile file;
  opcases::Case defaults;           ///< What most cases share; for the file's `default`.
  size_t calls = 0;                 ///< Of the program, those left out included.
  std::vector<std::string> leftOut; ///< Calls that no case can say, and why.
};

/// Collects the cases of a model: each distinct call once, numbered within its operator.
class CaseCollector {
public:
  explicit CaseCollector(ExtractedCases &out) : out(out) {}

  /// Keeps `one` under the name `OPERATOR_N`, unless the same call was kept before. `describe` says
  /// where the call stands; only a call that is kept is asked for.
  void add(opcases::Case one, const std::string &operatorName,
           const std::function<std::string()> &describe);

  /// Says how often calls stand there, chooses the file's defaults and gives them to the cases.
  void finish();

private:
  struct Seen {
    size_t place;
    size_t calls = 1;
  };

  ExtractedCases &out;
  std::unordered_map<std::string, Seen> seen;
  std::map<std::string, size_t> counters, dtypes;
};

ExtractedCases extractCases(const frontends::torch_import::Program &program,
                            const std::string &model);

} // namespace cupel::testbench::worker
