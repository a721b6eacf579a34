// Weights of products as a device holds them that keeps them in block floats: bfp8 or bfp4. The
// pass round-weights wraps it; our own devices use it for the option experimental_weight_dtype, and
// `cupel compile --report` for what that costs. Weights of convolutions are never rounded.
#pragma once

#include "cupel/tensor/BlockFloat.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::compiler {

/// Which weights are held in which format.
struct WeightFormats {
  /// Of weights that no pattern names; nothing: as they are.
  std::optional<tensor::BlockFormat> others;
  /// Patterns (`*`, `?`, `[...]`) on names of weights, the first that matches decides.
  std::vector<std::pair<std::string, std::optional<tensor::BlockFormat>>> named;

  std::optional<tensor::BlockFormat> of(llvm::StringRef name) const;
};

/// "bfp8", "bfp_bf8" or "bfp_bf4" for all weights, or an object of JSON that maps patterns to a
/// format or to "bf16" (as they are), such as {"layers.*.mlp.*": "bfp_bf4", "default": "bfp_bf8"}.
Result<WeightFormats> parseWeightFormats(std::string_view text);

/// What was done to one weight.
struct RoundedWeight {
  std::string name; // Of the argument or constant: that of its location, else "arg0", "constant0".
  tensor::BlockFormat format = tensor::BlockFormat::Bfp8;
  std::string type;    // tensor<64x32xf32>
  int64_t bytes = 0;   // Before.
  int64_t packed = 0;  // In tiles.
  /// Of the weight with what was made of it, and the largest difference in parts of the weight's
  /// largest number; nothing where the values are not known.
  std::optional<double> correlation, error;
};

/// A weight of a product as the product takes it: its right side, made of a constant or of an argument
/// of a public function by transposes, reshapes, broadcasts and conversions alone.
struct ProductWeight {
  mlir::Operation *product = nullptr;
  mlir::Value value;
  std::string name;
};

/// Of every product that has one, in the order of the program.
std::vector<ProductWeight> productWeights(mlir::ModuleOp module);

/// Bytes of a weight in tiles.
int64_t packedBytes(mlir::RankedTensorType weight, tensor::BlockFormat format);

/// Rounds the right sides of products that are constants or arguments of public functions, seen
/// through transposes, reshapes, broadcasts and conversions. Constants are rounded here, arguments
/// where they are used.
std::vector<RoundedWeight> roundWeights(mlir::ModuleOp module, const WeightFormats &formats);

} // namespace cupel::compiler
