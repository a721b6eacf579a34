#include "cupel/compiler/analysis/CompositesUsed.h"

#include "cupel/ir/stablehlo/Composites.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <map>

namespace cupel::compiler {

static bool isKnownComposite(llvm::StringRef name) {
  return llvm::any_of(stablehlo::kComposites,
                      [&](const stablehlo::CompositeForm &form) { return std::string_view(name) == form.name; });
}

std::vector<CompositeUse> compositesIn(mlir::ModuleOp module) {
  std::map<std::string, int64_t> counts;
  module.walk([&](stablehlo::CompositeOp op) { ++counts[op.getName().str()]; });
  std::vector<CompositeUse> uses;
  for (const auto &[name, count] : counts)
    uses.push_back({name, count, isKnownComposite(name)});
  return uses;
}

std::string describeComposites(llvm::ArrayRef<CompositeUse> uses) {
  std::string text;
  for (const CompositeUse &use : uses)
    text += (text.empty() ? "" : ", ") + std::to_string(use.count) + " " + use.name +
            (use.isKnown ? "" : " (unknown, inlined)");
  return text;
}

} // namespace cupel::compiler
