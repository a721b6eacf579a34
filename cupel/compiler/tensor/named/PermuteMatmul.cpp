#include "cupel/compiler/tensor/named/NamedFusion.h"

using namespace mlir;

namespace cupel::tir {

static std::optional<FusionMembers> matchPermuteMatmul(Operation *op) {
  // From the transpose on, so that each counts once.
  auto transpose = dyn_cast<stablehlo::TransposeOp>(op);
  if (!transpose || !isCompiledTensor(transpose.getType()))
    return std::nullopt;
  for (Operation *user : transpose->getUsers())
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(user); !dot || !isCompiledTensor(dot.getType()))
      return std::nullopt;
  if (transpose->use_empty())
    return std::nullopt;
  return FusionMembers{op};
}

const NamedFusion kPermuteMatmulFusion{
    .name = "permute_matmul", .summary = "a transpose that only products read, which read through it", .match = matchPermuteMatmul};

} // namespace cupel::tir
