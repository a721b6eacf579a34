// What is known before the program runs is computed once, by the golden reference; multiplications
// by one and conversions to the same type are nothing.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/OperationMarks.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FOLDCONSTANTS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// Constants that are larger than this, and than what they are made of, are computed by each run:
/// they would take memory all the time.
constexpr int64_t kMostElements = 1 << 16;

DenseElementsAttr constantOf(Value value) {
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  return constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
}

bool hasPlainElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding() || tensor.getNumElements() == 0)
    return false;
  Type element = tensor.getElementType();
  return element.isIntOrFloat() &&
         (element.isInteger(1) || element.getIntOrFloatBitWidth() % 8 == 0);
}

DenseElementsAttr attributeOf(const tensor::Tensor &tensor, RankedTensorType type) {
  if (type.getElementType().isInteger(1)) {
    SmallVector<bool> bits(tensor.dataAs<uint8_t>(), tensor.dataAs<uint8_t>() + tensor.size());
    return DenseElementsAttr::get(type, bits);
  }
  ArrayRef<char> bytes(reinterpret_cast<const char *>(tensor.data()), size_t(tensor.byteSize()));
  size_t one = bytes.size() / size_t(tensor.size());
  bool isSplat = true; // Told as one number, it takes the memory of one.
  for (size_t at = one; at < bytes.size() && isSplat; at += one)
    isSplat = std::equal(bytes.begin(), bytes.begin() + one, bytes.begin() + at);
  return DenseElementsAttr::getFromRawBuffer(type, isSplat ? bytes.take_front(one) : bytes);
}

/// The results of an operation on constants; null if the reference cannot say.
SmallVector<DenseElementsAttr> evaluate(Operation *op) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(op->getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto function = builder.create<func::FuncOp>(
      op->getLoc(), "main", FunctionType::get(op->getContext(), {}, op->getResultTypes()));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  for (Value operand : op->getOperands())
    if (!mapping.contains(operand))
      mapping.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
  builder.create<func::ReturnOp>(op->getLoc(), builder.clone(*op, mapping)->getResults());
  auto plan = reference::Plan::create(*module);
  if (!plan)
    return {};
  reference::RunOptions options;
  options.threads = 1;
  options.accumulate = reference::Accumulate::Wide; // A run sums halves in f32, and not step by
                                                    // step in their own type.
  reference::Run run(options);
  auto values = (*plan)->run(run, {});
  if (!values)
    return {};
  SmallVector<DenseElementsAttr> attributes;
  for (auto [value, result] : llvm::zip(*values, op->getResults())) {
    Result<tensor::Tensor> whole = value.tensor().contiguous();
    if (!whole)
      return {};
    attributes.push_back(attributeOf(*whole, cast<RankedTensorType>(result.getType())));
  }
  return attributes;
}

/// Numbers that are constants and are repeated, and what moves them then: whoever reads them reads the few there are. They are written
/// out only for who is known himself then.
bool isRepeated(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isMove(op) || isa<stablehlo::PadOp>(op) || op->getNumOperands() != 1 || !hasPlainElements(value.getType()))
    return false;
  if (isRepeated(op->getOperand(0)))
    return true;
  DenseElementsAttr constant = constantOf(op->getOperand(0));
  return constant && !constant.isSplat() && countOf(value) > constant.getNumElements();
}

/// The constant that repeated numbers are.
Value writtenOut(Value value) {
  if (constantOf(value))
    return value;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op);
  Operation *copy = builder.clone(*op);
  copy->setOperand(0, writtenOut(op->getOperand(0)));
  SmallVector<DenseElementsAttr> values = evaluate(copy);
  copy->erase();
  return values.empty() ? Value() : builder.create<stablehlo::ConstantOp>(op->getLoc(), value.getType(), values[0]);
}

/// A move of, or an elementwise operation on, one number: the same number everywhere.
DenseElementsAttr foldSplat(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return {};
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (isMove(op) && !isa<stablehlo::PadOp>(op))
    return constantOf(op->getOperand(0)).resizeSplat(type);
  if (!op->hasTrait<stablehlo::Elementwise>())
    return {};
  // On one element, then everywhere.
  OpBuilder builder(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    auto one = RankedTensorType::get(
        {}, cast<RankedTensorType>(operand.getType()).getElementType());
    operands.push_back(builder.create<stablehlo::ConstantOp>(
        op->getLoc(), one, constantOf(operand).resizeSplat(one)));
  }
  BodyWriter writer(builder, op->getLoc());
  Value made = writer.copy(op, operands, {});
  SmallVector<DenseElementsAttr> number = evaluate(made.getDefiningOp());
  made.getDefiningOp()->erase();
  for (Value operand : operands)
    operand.getDefiningOp()->erase();
  return number.empty() ? DenseElementsAttr() : number[0].resizeSplat(type);
}

/// Whether it makes index vectors out of parts, and nothing else.
bool makesIndexVectors(Operation *op) {
  return isa<stablehlo::ConcatenateOp>(op) && llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto gather = dyn_cast<stablehlo::GatherOp>(user);
           auto scatter = dyn_cast<stablehlo::ScatterOp>(user);
           return gather ? gather.getStartIndices().getDefiningOp() == op : scatter && scatter.getScatterIndices().getDefiningOp() == op;
         });
}

/// Index vectors of which a part repeats itself: passes behind this one take them apart (`separate-gathers`, `widen-windows`), and need not make them.
bool areVectorsOfParts(Operation *op) { return llvm::any_of(op->getOperands(), isRepeated) && makesIndexVectors(op); }

/// Indices that a kernel counts instead of reading them (`lower-to-device`), or that index vectors count beside what is not known
/// (`gathers-as-moves`).
bool isCounted(Operation *op) {
  auto hasOthers = [](Operation *user) {
    return llvm::any_of(user->getOperands(), [](Value part) { return !isRepeated(part) && !part.getDefiningOp<stablehlo::IotaOp>() && !constantOf(part); });
  };
  return isa<stablehlo::IotaOp>(op) && llvm::any_of(op->getUsers(), [&](Operation *user) {
           return isa<stablehlo::SortOp, stablehlo::ReduceOp>(user) || (makesIndexVectors(user) && hasOthers(user));
         });
}

bool fold(Operation *op) {
  if (isa<stablehlo::ConstantOp>(op) || isCounted(op) || op->getNumResults() == 0 || !isMemoryEffectFree(op) ||
      isa_and_nonnull<TirDialect>(op->getDialect()) ||
      op->hasTrait<stablehlo::Collective>() || op->hasTrait<stablehlo::DependsOnProcess>() ||
      isa<stablehlo::CustomCallOp, stablehlo::RngOp, stablehlo::RngBitGeneratorOp,
          stablehlo::WhileOp, stablehlo::CaseOp, stablehlo::IfOp>(op) ||
      (op->getNumResults() == 1 && isRepeated(op->getResult(0))) || areVectorsOfParts(op))
    return false;
  int64_t given = 0, made = 0;
  bool isSplat = op->getNumOperands() > 0;
  for (Value operand : op->getOperands()) {
    DenseElementsAttr constant = constantOf(operand);
    if (!(constant || (isRepeated(operand) && countOf(operand) <= kMostElements)) || !hasPlainElements(operand.getType()))
      return false;
    isSplat &= constant && constant.isSplat();
    given += countOf(operand);
  }
  for (Value result : op->getResults()) {
    if (!hasPlainElements(result.getType()))
      return false;
    made += countOf(result);
  }
  bool hasOutside = false; // Regions that use values of the program.
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      hasOutside |= inner != op && operand.getParentRegion() == op->getParentRegion();
  });
  if (hasOutside)
    return false;
  for (OpOperand &operand : op->getOpOperands())
    if (Value constant = writtenOut(operand.get()))
      operand.set(constant);
    else
      return false;
  SmallVector<DenseElementsAttr> values;
  if (DenseElementsAttr splat = isSplat ? foldSplat(op) : DenseElementsAttr())
    values.push_back(splat);
  else if (made <= kMostElements || made <= given)
    values = evaluate(op);
  if (values.empty() || !compiler::mayRewrite(op, "fold"))
    return false;
  OpBuilder builder(op);
  for (auto [result, value] : llvm::zip(op->getResults(), values))
    result.replaceAllUsesWith(
        builder.create<stablehlo::ConstantOp>(op->getLoc(), result.getType(), value));
  return true;
}

/// What is counted along one of several dimensions, and is too much for a constant: elementwise operations read the numbers of a line, for all lines.
void countOneLine(stablehlo::IotaOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  if (!hasPlainElements(type) || type.getNumElements() <= kMostElements)
    return;
  auto dimension = int64_t(op.getIotaDimension());
  int64_t size = type.getDimSize(dimension);
  auto reads = [](OpOperand &use) { return use.getOwner()->hasTrait<stablehlo::Elementwise>(); };
  if (size > kMostElements || llvm::none_of(op->getUses(), reads) || !compiler::mayRewrite(op, "count-one-line"))
    return;
  OpBuilder builder(op);
  auto line = builder.create<stablehlo::IotaOp>(op.getLoc(), RankedTensorType::get({size}, type.getElementType()), uint64_t{0});
  SmallVector<DenseElementsAttr> numbers = evaluate(line);
  if (!numbers.empty()) {
    Value known = builder.create<stablehlo::ConstantOp>(op.getLoc(), line.getType(), numbers[0]);
    Value all = builder.create<stablehlo::BroadcastInDimOp>(op.getLoc(), type, known, ArrayRef<int64_t>{dimension});
    op->getResult(0).replaceUsesWithIf(all, reads);
  }
  line->erase();
}

/// Index vectors that nobody took apart, of parts that are all known, are one constant.
void joinVectors(Operation *op) {
  if (!makesIndexVectors(op) || !hasPlainElements(op->getResult(0).getType()) || countOf(op->getResult(0)) > kMostElements)
    return;
  SmallVector<Value> parts;
  for (Value part : op->getOperands()) {
    bool isKnown = constantOf(part) || isRepeated(part) || part.getDefiningOp<stablehlo::IotaOp>();
    if (!isKnown)
      return;
  }
  OpBuilder builder(op);
  for (Value part : op->getOperands()) {
    if (auto iota = part.getDefiningOp<stablehlo::IotaOp>()) {
      SmallVector<DenseElementsAttr> numbers = evaluate(iota);
      parts.push_back(numbers.empty() ? Value() : builder.create<stablehlo::ConstantOp>(op->getLoc(), part.getType(), numbers[0]));
    } else {
      parts.push_back(writtenOut(part));
    }
    if (!parts.back())
      return;
  }
  Operation *copy = builder.clone(*op);
  copy->setOperands(parts);
  SmallVector<DenseElementsAttr> vectors = evaluate(copy);
  copy->erase();
  if (!vectors.empty() && compiler::mayRewrite(op, "fold"))
    op->getResult(0).replaceAllUsesWith(builder.create<stablehlo::ConstantOp>(op->getLoc(), op->getResult(0).getType(), vectors[0]));
}

/// Repeated numbers are constants for all that do not read them through their moves, if they are not too many.
void writeOutForOthers(Block &block) {
  for (Operation &op : block)
    if (!op.hasTrait<stablehlo::Elementwise>() && !isMove(&op) && !isa<stablehlo::ReduceOp>(op) && !areVectorsOfParts(&op))
      for (OpOperand &operand : op.getOpOperands())
        if (isRepeated(operand.get()) && countOf(operand.get()) <= kMostElements)
          if (Value constant = writtenOut(operand.get()))
            operand.set(constant);
}

/// The operand that the operation gives unchanged; null if it does not.
Value unchanged(Operation *op) {
  auto isOne = [](Value value) {
    TypedAttr number = splatOf(value);
    if (auto real = dyn_cast_or_null<FloatAttr>(number))
      return real.getValue().isExactlyValue(1.0);
    if (auto integer = dyn_cast_or_null<IntegerAttr>(number))
      return integer.getValue().isOne() && integer.getValue().getBitWidth() > 1;
    return false;
  };
  if (op->getNumResults() != 1)
    return {};
  Type type = op->getResult(0).getType();
  auto same = [&](Value value) { return value.getType() == type ? value : Value(); };
  if (isa<stablehlo::ConvertOp, stablehlo::ReshapeOp>(op))
    return same(op->getOperand(0));
  if (isa<stablehlo::MultiplyOp>(op))
    for (int i : {0, 1})
      if (isOne(op->getOperand(1 - i)))
        return same(op->getOperand(i));
  if (isa<stablehlo::DivideOp>(op) && isOne(op->getOperand(1)))
    return same(op->getOperand(0));
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
      broadcast && llvm::is_sorted(broadcast.getBroadcastDimensions()))
    return same(op->getOperand(0));
  return {};
}

/// A broadcast that repeats nothing is another shape of the same memory.
Value asReshape(Operation *op) {
  auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op);
  if (!broadcast || !hasPlainElements(broadcast.getType()) ||
      countOf(broadcast.getOperand()) != countOf(broadcast))
    return {};
  // Dimensions of size one may go anywhere, the others keep their order.
  SmallVector<int64_t> order;
  auto sizes = cast<RankedTensorType>(broadcast.getOperand().getType()).getShape();
  for (auto [size, dimension] : llvm::zip(sizes, broadcast.getBroadcastDimensions()))
    if (size != 1)
      order.push_back(dimension);
  if (!llvm::is_sorted(order))
    return {};
  OpBuilder builder(op);
  return builder.create<stablehlo::ReshapeOp>(op->getLoc(), broadcast.getType(),
                                              broadcast.getOperand());
}

/// Hands on its operands: a barrier, or what speaks of shardings, of which one device has none.
bool handsOn(Operation *op) {
  bool isSharding = op->getName().getDialectNamespace() == "sdy" && op->getNumRegions() == 0;
  return (isSharding || op->hasTrait<stablehlo::Identity>()) && op->getNumResults() > 0 &&
         op->getResultTypes() == op->getOperandTypes();
}

class FoldConstants : public impl::FoldConstantsBase<FoldConstants> {
public:
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    int64_t folded = 0; // What the reference computed.
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      Block &block = function.getBody().front();
      if (joinsVectors) {
        for (Operation *op : operationsOf(block))
          joinVectors(op);
        eraseUnused(block);
        continue;
      }
      for (Operation *op : operationsOf(block)) {
        bool isSharding = op->getName().getDialectNamespace() == "sdy";
        bool isKept = op->hasAttr(tir::kKeptBarrierAttr);
        if (handsOn(op) && !isKept && (isSharding || compiler::mayRewrite(op, "drop-barrier"))) {
          op->replaceAllUsesWith(op->getOperands());
          op->erase();
          continue;
        }
        if (isSharding && op->getNumResults() == 0) {
          op->erase();
          continue;
        }
        if (!evaluate)
          continue;
        if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
          countOneLine(iota);
        bool isComputed = !isMove(op);
        if (fold(op)) {
          folded += isComputed;
          continue;
        }
        if (Value value = unchanged(op); value && compiler::mayRewrite(op, "drop-identity"))
          op->getResult(0).replaceAllUsesWith(value);
        else if (Value reshaped = asReshape(op))
          op->getResult(0).replaceAllUsesWith(reshaped);
      }
      writeOutForOthers(block);
      eraseUnused(block);
    }
    if (folded > 0)
      getOperation()->setAttr(kFoldedAttr, Builder(&getContext()).getI64IntegerAttr(folded));
  }
};

} // namespace
} // namespace cupel::tir
