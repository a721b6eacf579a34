#include "cupel/compiler/fusions/Fusions.h"

#include "cupel/compiler/rewrites/Rewrites.h"

#include "mlir/Dialect/PDL/IR/PDL.h"
#include "mlir/Dialect/PDL/IR/PDLOps.h"
#include "mlir/Dialect/PDLInterp/IR/PDLInterp.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"
#include "mlir/Rewrite/PatternApplicator.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

/// A pattern that finds something in what it made is applied so often at most.
constexpr int kMostRounds = 64;

Type elementOf(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getElementType() : type;
}

void registerConstraints(PDLPatternModule &module) {
  module.registerConstraintFunction(
      "HasOneUse", [](PatternRewriter &, Value value) { return success(value.hasOneUse()); });
  module.registerConstraintFunction("IsConstant", [](PatternRewriter &, Value value) {
    return success(matchPattern(value, m_Constant()));
  });
  module.registerConstraintFunction("IsFloat", [](PatternRewriter &, Type type) {
    return success(isa<FloatType>(elementOf(type)));
  });
  module.registerConstraintFunction("IsInteger", [](PatternRewriter &, Type type) {
    return success(isa<IntegerType>(elementOf(type)));
  });
  module.registerConstraintFunction("IsSplat", [](PatternRewriter &, Attribute attribute) {
    auto elements = dyn_cast<DenseElementsAttr>(attribute);
    return success(elements && elements.isSplat());
  });
  module.registerConstraintFunction("IsSplatOf", [](PatternRewriter &, Attribute attribute, Attribute number) {
    auto elements = dyn_cast<DenseElementsAttr>(attribute);
    if (!elements || !elements.isSplat())
      return failure();
    double wanted;
    if (auto real = dyn_cast<FloatAttr>(number))
      wanted = real.getValueAsDouble();
    else if (auto integer = dyn_cast<IntegerAttr>(number))
      wanted = double(integer.getInt());
    else
      return failure();
    if (isa<FloatType>(elements.getElementType()))
      return success(FloatAttr::get(elements.getElementType(), elements.getSplatValue<APFloat>()).getValueAsDouble() == wanted);
    if (elements.getElementType().isSignlessInteger())
      return success(double(elements.getSplatValue<APInt>().getSExtValue()) == wanted);
    return failure();
  });
}

constexpr FusionConstraint kConstraints[] = {
    {"Constraint HasOneUse(value: Value);", "nobody else reads the value"},
    {"Constraint IsConstant(value: Value);", "it is a constant"},
    {"Constraint IsFloat(type: Type);", "elements are floats"},
    {"Constraint IsInteger(type: Type);", "elements are integers, booleans among them"},
    {"Constraint IsSplat(attr: Attr);", "all elements of the constant are the same"},
    {"Constraint IsSplatOf(attr: Attr, number: Attr);", "all elements of the constant are this number"},
};

/// Knows what was erased while it is rewritten.
class Erased : public RewriterBase::Listener {
public:
  void notifyOperationErased(Operation *op) override { all.insert(op); }
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override { all.erase(op); } // Memory is used again.
  bool has(Operation *op) const { return all.contains(op); }

private:
  llvm::DenseSet<Operation *> all;
};

/// Applies one pattern to all functions; how often.
Result<int64_t> apply(ModuleOp module, pdl::PatternOp pattern, const std::string &name) {
  OwningOpRef<ModuleOp> alone = ModuleOp::create(pattern.getLoc());
  alone->push_back(pattern->clone());
  PDLPatternModule source(std::move(alone));
  registerConstraints(source);
  RewritePatternSet set(module.getContext());
  set.add(std::move(source));
  FrozenRewritePatternSet frozen(std::move(set));
  PatternApplicator applicator(frozen);
  applicator.applyDefaultCostModel();
  int64_t count = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    SmallVector<Operation *> order;
    module.walk([&](Operation *op) { order.push_back(op); });
    Erased erased;
    PatternRewriter rewriter(module.getContext());
    rewriter.setListener(&erased);
    int64_t before = count;
    for (Operation *op : order) {
      if (op == module || erased.has(op))
        continue;
      auto mayApply = [&](const Pattern &) { return mayRewrite(op, name); };
      count += succeeded(applicator.matchAndRewrite(op, rewriter, mayApply));
    }
    SmallVector<Operation *> now; // What only the pattern's match had a use for.
    module.walk<WalkOrder::PreOrder>([&](Operation *op) { now.push_back(op); });
    if (count != before)
      for (Operation *op : llvm::reverse(now))
        if (op != module && isOpTriviallyDead(op))
          op->erase();
    if (count == before)
      return count;
  }
  return Error{ErrorCode::InvalidArgument, "the fusion " + name + " finds something to do in what it made, without end"};
}

/// "; did you mean softmax?", or all names where none is near.
std::string nearestTo(StringRef name, ArrayRef<std::pair<pdl::PatternOp, FusionCount>> patterns, ArrayRef<std::string> others) {
  std::vector<std::string> names(others);
  for (const auto &[pattern, count] : patterns)
    names.push_back(count.name);
  for (const std::string &one : names)
    if (name.edit_distance_insensitive(one) <= std::max<size_t>(1, name.size() / 3))
      return "; did you mean '" + one + "'?";
  return "; there are " + llvm::join(names, ", ");
}

} // namespace

llvm::ArrayRef<FusionConstraint> fusionConstraints() { return kConstraints; }

Result<std::vector<FusionCount>> applyFusions(ModuleOp module, std::string_view patterns,
                                              std::string_view without, llvm::ArrayRef<std::string> others) {
  MLIRContext *context = module.getContext();
  context->loadDialect<pdl::PDLDialect, pdl_interp::PDLInterpDialect>();
  std::string complaint;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = diagnostic.str();
    return success();
  });
  SmallVector<StringRef> texts, off;
  StringRef(patterns).split(texts, "\n// -----\n", -1, /*KeepEmpty=*/false);
  StringRef(without).split(off, ',', -1, /*KeepEmpty=*/false);
  std::vector<OwningOpRef<ModuleOp>> sources;
  std::vector<std::pair<pdl::PatternOp, FusionCount>> all;
  for (StringRef text : texts) {
    sources.push_back(parseSourceString<ModuleOp>(text, ParserConfig(context)));
    if (!sources.back())
      return Error{ErrorCode::InvalidArgument, "the fusions cannot be read: " + complaint};
    for (auto pattern : sources.back()->getOps<pdl::PatternOp>()) {
      FusionCount count;
      count.name = pattern.getSymName().value_or("pattern " + std::to_string(all.size() + 1)).str();
      all.push_back({pattern, count});
    }
    std::string unknown;
    sources.back()->walk([&](pdl::ApplyNativeConstraintOp call) {
      if (llvm::none_of(kConstraints, [&](const FusionConstraint &one) {
            return StringRef(one.declaration).starts_with(("Constraint " + call.getName() + "(").str());
          }))
        unknown = call.getName().str();
    });
    sources.back()->walk([&](pdl::ApplyNativeRewriteOp call) { unknown = call.getName().str(); });
    if (!unknown.empty())
      return Error{ErrorCode::InvalidArgument, "the fusions call '" + unknown + "', which nobody has defined (docs/performance.md lists what patterns may call)"};
  }
  for (StringRef name : off) {
    bool isThere = llvm::is_contained(others, name.trim());
    for (auto &[pattern, count] : all)
      if (count.name == name.trim())
        isThere = count.isOff = true;
    if (!isThere)
      return Error{ErrorCode::InvalidArgument, "there is no fusion '" + name.trim().str() + "' to be left out" + nearestTo(name.trim(), all, others)};
  }
  std::vector<FusionCount> counts;
  for (auto &[pattern, count] : all) {
    if (!count.isOff) {
      Result<int64_t> applied = apply(module, pattern, count.name);
      if (!applied)
        return applied.error();
      count.count = *applied;
      complaint.clear();
      if (count.count > 0 && failed(verify(module)))
        return Error{ErrorCode::InvalidArgument, "what the fusion " + count.name + " makes is no program: " + complaint};
    }
    counts.push_back(count);
  }
  return counts;
}

std::string describeFusions(llvm::ArrayRef<FusionCount> counts) {
  std::string text;
  for (const FusionCount &one : counts)
    text += (text.empty() ? "" : ", ") + one.name + " " + (one.isOff ? "off" : std::to_string(one.count));
  return text;
}

} // namespace cupel::compiler
