// The table of named fusions, and the pass that finds them.

#include "cupel/compiler/tensor/named/Functions.h"

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/OperationMarks.h"
#include "cupel/compiler/tensor/Passes.h"

#include <map>

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_NAMEFUSIONS
#include "cupel/compiler/tensor/Passes.h.inc"

/// What holds others comes first: a batch norm holds a scale, a hard sigmoid a relu.
static constexpr const NamedFusion *kFusions[] = {
    &kRopeFusion,      &kRepVggFusion,    &kTopKFusion,     &kSoftmaxFusion,    &kLayerNormFusion,  &kRmsNormFusion,      &kMeanFusion,
    &kGeluFusion,      &kSiluFusion,      &kMishFusion,     &kHardSigmoidFusion, &kRelu6Fusion,     &kReluFusion,         &kBatchNormFusion,
    &kConvBiasFusion,  &kConvScaleFusion, &kMatmulBiasFusion, &kPermuteMatmulFusion, &kAttentionFusion};

ArrayRef<const NamedFusion *> namedFusions() { return kFusions; }

ArrayRef<std::string> namedFusionNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const NamedFusion *one : kFusions)
      all.push_back(one->name.str());
    return all;
  }();
  return names;
}

bool isLeftOut(StringRef without, StringRef name) {
  SmallVector<StringRef> names;
  without.split(names, ',', -1, /*KeepEmpty=*/false);
  return llvm::any_of(names, [&](StringRef one) { return one.trim() == name; });
}

SmallVector<std::pair<std::string, int64_t>> countedFusions(ModuleOp module) {
  SmallVector<std::pair<std::string, int64_t>> counts;
  if (auto all = module->getAttrOfType<DictionaryAttr>(kFusionsAttr))
    for (const NamedFusion *one : kFusions) // In their order.
      if (auto count = all.getAs<IntegerAttr>(one->name))
        counts.push_back({one->name.str(), count.getInt()});
  return counts;
}

void countFusion(ModuleOp module, StringRef name, int64_t by) {
  std::map<std::string, int64_t> counts;
  for (const auto &[one, count] : countedFusions(module))
    counts[one] = count;
  counts[name.str()] += by;
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> entries;
  for (const auto &[one, count] : counts)
    entries.push_back(builder.getNamedAttr(one, builder.getI64IntegerAttr(count)));
  module->setAttr(kFusionsAttr, builder.getDictionaryAttr(entries));
}

namespace {

class NameFusions : public impl::NameFusionsBase<NameFusions> {
public:
  using NameFusionsBase::NameFusionsBase;

  void runOnOperation() override {
    for (const NamedFusion *one : kFusions)
      if (isLeftOut(without, one->name))
        countFusion(getOperation(), one->name, -1);
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &block = function.getBody().front();
      eraseUnused(block);
      find(block, /*rewrites=*/true);
      eraseUnused(block);
      find(block, /*rewrites=*/false);
    }
  }

private:
  /// From the end of the program on, so that what holds others is found before these.
  void find(Block &block, bool rewrites) {
    Taken taken;
    SmallVector<Operation *> all = operationsOf(block);
    for (Operation *op : llvm::reverse(all)) {
      std::optional<ElementFunctions> functions;
      for (const NamedFusion *one : kFusions) {
        if ((!one->match && !one->elements[0]) || (one->rewrite != nullptr) != rewrites || taken.contains(op))
          continue;
        std::optional<FusionMembers> members = one->match ? one->match(op) : std::nullopt;
        if (one->elements[0] && !functions)
          functions.emplace(op);
        for (auto wanted : one->elements)
          if (wanted && !members)
            members = functions->match(wanted);
        if (!members || llvm::any_of(*members, [&](Operation *member) { return taken.contains(member); }))
          continue;
        taken.insert(members->begin(), members->end());
        if (isLeftOut(without, one->name)) {
          if (!rewrites)
            for (Operation *member : *members)
              member->setAttr(kAloneAttr, UnitAttr::get(&getContext()));
          continue;
        }
        if (rewrites) {
          if (!compiler::mayRewrite(op, one->name))
            continue;
          one->rewrite(op);
        }
        countFusion(getOperation(), one->name);
      }
    }
  }
};

} // namespace
} // namespace cupel::tir
