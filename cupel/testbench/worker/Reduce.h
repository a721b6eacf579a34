// Shrinks a test that fails on a device while it fails in the same way: operations and results are
// left away, what they read is given as the reference has it, tensors become smaller, inputs and
// constants simpler. What comes out is a folder that reproduces the failure anywhere. Used by the
// worker for `cupel reduce`. The same test and seed give the same program; executions are remembered
// by content, so that a reduction that was killed goes on where it was.
#pragma once

#include "cupel/testbench/worker/Explain.h"

namespace cupel::testbench::worker {

struct ReduceOptions {
  ExplainOptions explain;
  double seconds = 0;  ///< After which the best so far is taken; 0: no limit.
  std::string folder;  ///< Where everything goes, by its whole path.
};

/// What became of it.
struct Reduction {
  results::Explanation explanation; ///< Why it fails.
  struct Size {
    size_t operations = 0; ///< Those in loops and branches too.
    size_t arguments = 0, results = 0;
    uint64_t elements = 0; ///< Of arguments and results.
    std::string text() const;
  };
  Size before, after;
  std::vector<std::string> files;   ///< What was written, below the folder.
  std::vector<std::string> remarks; ///< What was not, and why.
  bool isTimedOut = false;
  size_t probes = 0, known = 0;
  double seconds = 0;
};

class Reducer {
public:
  /// `request` and `reference` must outlive this.
  Reducer(const Request &request, Device &reference, ReduceOptions options,
          Explainer::Seams seams);

  /// An error says why nothing can be reduced: it passes, or cannot be taken apart.
  Result<Reduction> reduce(const Prepared &given);

private:
  using Candidates = std::vector<Prepared>;
  /// Takes the first of these that fails as the test does; false where none does.
  Result<bool> takeFirst(Candidates candidates, const std::string &what);
  Result<bool> leaveOperationsAway();
  Result<bool> leaveResultsAway();
  Result<bool> simplifyRegions();
  Result<bool> shrinkShapes();
  Result<bool> simplifyInputs();
  Result<bool> simplifyConstants();
  Status save();
  bool isOver() const;

  const Request &request;
  ReduceOptions options;
  Explainer::Seams seams;
  Explainer explainer;
  std::optional<Prepared> best;
  Reduction reduction;
  std::chrono::steady_clock::time_point began;
};

/// What stands in loops and branches, but constants.
std::vector<mlir::Operation *> operationsInControlFlow(mlir::func::FuncOp entry);

/// Sizes of a program, for people.
Reduction::Size sizeOf(const Prepared &program);

/// JSON of what became of it, as the note `reduction` has it.
std::string toJson(const Reduction &reduction);

} // namespace cupel::testbench::worker
