// Fusions as data: rewrites of StableHLO that users write in PDLL and hand to the compiler without building anything
// (`--fusions my.pdll`). A file may hold several patterns, each with a name by which it is counted and switched off; conditions
// are PDLL's own and the constraints of `fusionConstraints`. Applied behind the common passes, before a backend; what a pattern makes is
// verified, and one that makes no program is named. Patterns ask before they rewrite, so that a wrong one can be found like any other.

#pragma once

#include "cupel/support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::compiler {

/// The patterns of files (parted by commas) as text of the PDL dialect. `.pdll` is translated by MLIR's tool mlir-pdll, others are
/// PDL already.
Result<std::string> readFusions(const std::string &files);

struct FusionCount {
  std::string name;
  int64_t count = 0; ///< How often it was applied.
  bool isOff = false;
};

/// Applies patterns that `readFusions` gave, in their order, each until it finds nothing more; those that `without` names (parted by commas)
/// are left out. `others` are names of fusions that are not in patterns, which `without` may have as well. The module's context
/// gets PDL's dialects.
Result<std::vector<FusionCount>> applyFusions(mlir::ModuleOp module, std::string_view patterns,
                                              std::string_view without, llvm::ArrayRef<std::string> others);

/// "double_negation 3, square 0, other off".
std::string describeFusions(llvm::ArrayRef<FusionCount> counts);

/// A condition that patterns may call, which PDLL has none for.
struct FusionConstraint {
  std::string_view declaration, meaning;
};
llvm::ArrayRef<FusionConstraint> fusionConstraints();

} // namespace cupel::compiler
