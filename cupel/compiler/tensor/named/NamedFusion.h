// Fusions by name: what users call softmax, gelu or a product with its bias, found in StableHLO before the passes beside this folder
// form tensor IR. One file here for each, with one test of its name in tests/lit/tensor/fusions.
//
// Most of them say only that something is there: the passes fuse by how values depend on each other, whatever it is called. A name makes it
// counted in reports, and gives users a switch: what is left out is marked to be fused with nothing. Others rewrite what they find
// to a form that can be fused.

#pragma once

#include "cupel/compiler/tensor/Group.h"

#include <optional>
#include <string>

namespace cupel::tir {

/// The operations that a fusion is made of, from the last on.
using FusionMembers = llvm::SmallVector<mlir::Operation *>;

struct NamedFusion {
  llvm::StringLiteral name, summary;
  /// What ends in this operation; nothing if that is none of these. Null: a pass of its own forms and counts it.
  std::optional<FusionMembers> (*match)(mlir::Operation *op) = nullptr;
  /// Does what is to be done about a match that ends in the operation, which is erased when nobody needs it any more. Null:
  /// other passes fuse it as it stands.
  void (*rewrite)(mlir::Operation *op) = nullptr;
  /// In place of `match`: the function of elements that it is, in one form or two.
  double (*elements[2])(double) = {};
};

/// All of them, in the order in which they are looked for: those first that hold others.
llvm::ArrayRef<const NamedFusion *> namedFusions();
/// Their names, for those who are given names.
llvm::ArrayRef<std::string> namedFusionNames();

/// Of a module: how often each was found (a dictionary of integers), those that were left out as -1.
inline constexpr llvm::StringLiteral kFusionsAttr = "tir.fusions";
void countFusion(mlir::ModuleOp module, llvm::StringRef name, int64_t by = 1);
/// Whether a list of names, parted by commas, has this one.
bool isLeftOut(llvm::StringRef without, llvm::StringRef name);
/// What a module's attribute says, by name, as `FusionCount` has it: name and count; -1 is one that was left out.
llvm::SmallVector<std::pair<std::string, int64_t>> countedFusions(mlir::ModuleOp module);

extern const NamedFusion kSoftmaxFusion, kLayerNormFusion, kRmsNormFusion, kMeanFusion, kGeluFusion, kSiluFusion, kMishFusion,
    kHardSigmoidFusion, kRelu6Fusion, kReluFusion, kBatchNormFusion, kConvBiasFusion, kConvScaleFusion, kMatmulBiasFusion,
    kPermuteMatmulFusion, kRopeFusion, kRepVggFusion, kTopKFusion, kAttentionFusion;

} // namespace cupel::tir
