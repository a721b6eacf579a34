// Takes the checks out of a self-checking program, so that it can run on a device that knows
// nothing of them: the operands of each check become results of the entry function, and what was to
// be compared is told apart from the program. The pass extract-checks wraps it; devices behind a
// plugin are fed with it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <vector>

namespace cupel::compiler {

/// One check that was taken out: a result of the entry function and what it must equal.
struct ExtractedCheck {
  enum class Kind { Equal, AlmostEqual, Close };
  Kind kind = Kind::Equal;
  uint32_t actual = 0;               ///< Which result.
  std::optional<uint32_t> expected;  ///< Which result it is compared with,
  mlir::ElementsAttr value;          ///< or this constant.
  double tolerance = 0;              ///< AlmostEqual: absolute.
  uint64_t minUlps = 0, maxUlps = 0; ///< Close.
  mlir::Location location;           ///< Of the check.
  /// Of a grid: which process it speaks of; nothing: all of them.
  std::optional<uint32_t> process = std::nullopt;
};

/// The entry function ran a grid of programs; now it is what every process of the grid runs.
struct ExtractedGrid {
  uint32_t replicas = 0, partitions = 0;
  /// Of each process (replica-major) in turn.
  std::vector<std::vector<mlir::ElementsAttr>> inputs;
  struct Result {
    uint32_t process, index;
  };
  /// Where the results are that the former entry function had of its own.
  std::vector<Result> results;
};

struct ExtractedChecks {
  std::vector<ExtractedCheck> checks;
  /// How many results the entry function had of its own; they come first.
  uint32_t ownResults = 0;
  std::optional<ExtractedGrid> grid;
};

/// Changes `module` in place. The entry function (`main`, or the only one that nobody calls) is
/// called `main` and public afterwards. Where it runs a grid of programs (interpreter.run_parallel)
/// on constants, it becomes what each process of the grid runs. Fails, with a diagnostic at the
/// check, where one stands inside a region or speaks of what only an interpreter has.
mlir::FailureOr<ExtractedChecks> extractChecks(mlir::ModuleOp module);

} // namespace cupel::compiler
