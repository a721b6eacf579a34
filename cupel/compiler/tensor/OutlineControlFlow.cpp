// Regions of loops and branches become functions, which all other passes see. Branches of a few cheap
// operations are computed all, and their results selected.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_OUTLINECONTROLFLOW
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Larger constants are handed to a function, so that they are in memory once.
constexpr int64_t kSmallConstant = 1024;

bool isPlain(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return false;
  Type element = tensor.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return element.isIntOrFloat();
}

/// Whether functions can be made of its regions: what they hold are tensors of static shape.
bool isOutlined(Operation *op) {
  if (!isa<stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op))
    return false;
  auto arePlain = [](TypeRange types) { return llvm::all_of(types, isPlain); };
  if (!arePlain(op->getOperandTypes()) || !arePlain(op->getResultTypes()) ||
      op->getNumRegions() == 0)
    return false;
  for (Region &region : op->getRegions()) {
    if (!region.hasOneBlock() || !arePlain(region.getArgumentTypes()))
      return false;
    for (Operation &inner : region.front())
      if (!arePlain(inner.getOperandTypes()) || !arePlain(inner.getResultTypes()))
        return false;
  }
  return true;
}

/// Elements that all branches together compute before a choice between their results is dearer.
constexpr int64_t kMostSelected = 4096;

/// Whether computing all branches costs less than choosing one: a few cheap operations on few elements.
bool isSelected(Operation *op) {
  if (!isa<stablehlo::CaseOp, stablehlo::IfOp>(op))
    return false;
  int64_t elements = 0;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front().without_terminator()) {
      if (!isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp, stablehlo::NegateOp,
               stablehlo::AbsOp, stablehlo::MaximumOp, stablehlo::MinimumOp, stablehlo::AndOp,
               stablehlo::OrOp, stablehlo::XorOp, stablehlo::NotOp, stablehlo::CompareOp,
               stablehlo::SelectOp, stablehlo::ConvertOp, stablehlo::ConstantOp,
               stablehlo::BroadcastInDimOp, stablehlo::ReshapeOp>(inner))
        return false;
      for (Type type : inner.getResultTypes())
        elements += cast<RankedTensorType>(type).getNumElements();
    }
  for (Type type : op->getResultTypes())
    elements += cast<RankedTensorType>(type).getNumElements() * op->getNumRegions();
  return elements <= kMostSelected;
}

/// All branches in a row, and selects among what they give.
void select(Operation *op) {
  OpBuilder builder(op);
  SmallVector<SmallVector<Value>> given;
  for (Region &region : op->getRegions()) {
    IRMapping mapping;
    for (Operation &inner : region.front().without_terminator())
      builder.clone(inner, mapping);
    given.push_back(llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                                        [&](Value value) { return mapping.lookupOrDefault(value); }));
  }
  Value index = op->getOperand(0);
  SmallVector<Value> chosen = given.back();
  for (size_t branch = given.size() - 1; branch-- > 0;) {
    Value isChosen = index; // The first region of an `if` is the one for true.
    if (isa<stablehlo::CaseOp>(op)) {
      auto type = cast<RankedTensorType>(index.getType());
      Value number = builder.create<stablehlo::ConstantOp>(
          op->getLoc(), DenseElementsAttr::get(type, APInt(32, branch)));
      isChosen = builder.create<stablehlo::CompareOp>(op->getLoc(), index, number,
                                                      stablehlo::ComparisonDirection::EQ,
                                                      stablehlo::ComparisonType::SIGNED);
    }
    for (auto [value, other] : llvm::zip(chosen, given[branch]))
      if (value != other)
        value = builder.create<stablehlo::SelectOp>(op->getLoc(), isChosen, other, value);
  }
  op->replaceAllUsesWith(chosen);
  op->erase();
}

class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), symbols(module) {}

  void run() {
    for (auto function : module.getOps<func::FuncOp>())
      waiting.push_back(function);
    while (!waiting.empty()) {
      func::FuncOp function = waiting.pop_back_val();
      if (function.isExternal())
        continue;
      SmallVector<Operation *> found, selected;
      for (Operation &op : function.getBody().front()) {
        if (!isOutlined(&op))
          continue;
        if (isSelected(&op) && compiler::mayRewrite(&op, "select"))
          selected.push_back(&op);
        else if (compiler::mayRewrite(&op, "outline"))
          found.push_back(&op);
      }
      for (Operation *op : selected)
        select(op);
      for (Operation *op : found) {
        if (auto loop = dyn_cast<stablehlo::WhileOp>(op))
          outline(loop, function.getSymName());
        else
          outlineBranches(op, function.getSymName());
      }
    }
  }

private:
  /// What the regions use from around them, without constants that are made again inside.
  static llvm::SetVector<Value> given(Operation *op) {
    llvm::SetVector<Value> values;
    for (Region &region : op->getRegions())
      getUsedValuesDefinedAbove(region, values);
    values.remove_if(isSmallConstant);
    return values;
  }

  static bool isSmallConstant(Value value) {
    auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
    if (!constant)
      return false;
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return dense && (dense.isSplat() || dense.getNumElements() <= kSmallConstant);
  }

  /// Copies the operations of a block; returns what its terminator hands on.
  static SmallVector<Value> copy(OpBuilder &builder, Region &region, IRMapping &mapping) {
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(region, used);
    for (Value value : used)
      if (!mapping.contains(value))
        mapping.map(value, builder.clone(*value.getDefiningOp())->getResult(0));
    for (Operation &op : region.front().without_terminator())
      builder.clone(op, mapping);
    return llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                               [&](Value value) { return mapping.lookup(value); });
  }

  /// A function of these arguments; `write` returns its results.
  FlatSymbolRefAttr
  function(Operation *op, const Twine &name, TypeRange arguments,
           llvm::function_ref<SmallVector<Value>(OpBuilder &, ValueRange)> write) {
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto made = func::FuncOp::create(op->getLoc(), name.str(),
                                     builder.getFunctionType(arguments, {}));
    made.setPrivate();
    builder.setInsertionPointToStart(made.addEntryBlock());
    SmallVector<Value> results = write(builder, made.getArguments());
    builder.create<func::ReturnOp>(op->getLoc(), results);
    made.setType(builder.getFunctionType(arguments, ValueRange(results).getTypes()));
    symbols.insert(made);
    waiting.push_back(made);
    return FlatSymbolRefAttr::get(made.getSymNameAttr());
  }

  /// What a body hands on as it got it is not carried but given.
  static SmallVector<unsigned> carriedBy(stablehlo::WhileOp loop) {
    SmallVector<unsigned> changing;
    Operation *end = loop.getBody().front().getTerminator();
    for (unsigned i = 0; i < loop->getNumResults(); ++i)
      if (end->getOperand(i) != loop.getBody().getArgument(i))
        changing.push_back(i);
    return changing;
  }

  void outline(stablehlo::WhileOp loop, StringRef parent) {
    SmallVector<unsigned> changing = carriedBy(loop);
    auto carried = changing.size();
    llvm::SetVector<Value> extra = given(loop);
    SmallVector<Value> inputs;
    for (unsigned i : changing)
      inputs.push_back(loop->getOperand(i));
    SmallVector<unsigned> fixed;
    for (unsigned i = 0; i < loop->getNumResults(); ++i)
      if (!llvm::is_contained(changing, i)) {
        fixed.push_back(i);
        extra.insert(loop->getOperand(i));
      }
    llvm::append_range(inputs, extra);
    auto enter = [&](IRMapping &mapping, Region &region, ValueRange carriedValues,
                     ValueRange arguments) {
      mapping.map(extra.getArrayRef(), arguments.drop_front(carried));
      for (auto [i, value] : llvm::zip(changing, carriedValues))
        mapping.map(region.getArgument(i), value);
      for (unsigned i : fixed)
        mapping.map(region.getArgument(i), mapping.lookup(loop->getOperand(i)));
    };
    TypeRange types = ValueRange(inputs).getTypes();
    FlatSymbolRefAttr condition =
        function(loop, parent + ".while", types, [&](OpBuilder &builder, ValueRange arguments) {
          IRMapping mapping;
          enter(mapping, loop.getCond(), arguments.take_front(carried), arguments);
          return copy(builder, loop.getCond(), mapping);
        });
    FlatSymbolRefAttr body =
        function(loop, parent + ".do", types, [&](OpBuilder &builder, ValueRange arguments) {
          IRMapping step, test;
          enter(step, loop.getBody(), arguments.take_front(carried), arguments);
          SmallVector<Value> all = copy(builder, loop.getBody(), step), next;
          for (unsigned i : changing)
            next.push_back(all[i]);
          enter(test, loop.getCond(), next, arguments);
          llvm::append_range(next, copy(builder, loop.getCond(), test));
          return next;
        });
    OpBuilder builder(loop);
    auto made = builder.create<WhileOp>(
        loop.getLoc(), ValueRange(inputs).take_front(carried).getTypes(), inputs,
        builder.getI64IntegerAttr(int64_t(carried)), condition, body);
    for (auto [i, value] : llvm::zip(changing, made.getResults()))
      loop->getResult(i).replaceAllUsesWith(value);
    for (unsigned i : fixed)
      loop->getResult(i).replaceAllUsesWith(loop->getOperand(i));
    loop.erase();
  }

  void outlineBranches(Operation *op, StringRef parent) {
    llvm::SetVector<Value> extra = given(op);
    OpBuilder builder(op);
    SmallVector<Attribute> branches;
    auto add = [&](Region &region, const Twine &name) {
      TypeRange types = ValueRange(extra.getArrayRef()).getTypes();
      branches.push_back(function(op, name, types, [&](OpBuilder &inside, ValueRange arguments) {
        IRMapping mapping;
        mapping.map(extra.getArrayRef(), arguments);
        return copy(inside, region, mapping);
      }));
    };
    Value index = op->getOperand(0);
    if (auto choice = dyn_cast<stablehlo::IfOp>(op)) {
      index = builder.create<stablehlo::ConvertOp>(
          op->getLoc(), RankedTensorType::get({}, builder.getI32Type()), choice.getPred());
      add(choice.getFalseBranch(), parent + ".else");
      add(choice.getTrueBranch(), parent + ".then");
    } else {
      for (Region &region : op->getRegions())
        add(region, parent + ".case");
    }
    auto made = builder.create<CaseOp>(op->getLoc(), op->getResultTypes(), index,
                                       extra.getArrayRef(), builder.getArrayAttr(branches));
    op->replaceAllUsesWith(made->getResults());
    op->erase();
  }

  ModuleOp module;
  SymbolTable symbols;
  SmallVector<func::FuncOp> waiting;
};

class OutlineControlFlow : public impl::OutlineControlFlowBase<OutlineControlFlow> {
public:
  void runOnOperation() override { Outliner(getOperation()).run(); }
};

} // namespace
} // namespace cupel::tir
