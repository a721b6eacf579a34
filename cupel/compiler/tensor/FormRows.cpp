// Reductions of rows, with all that is done to the rows before, between and behind them: softmax,
// norms, log-softmax, variance, cross entropy. They are found by how values depend on each other: an
// element for each row comes from a reduction and goes back to the row by a broadcast.

#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/named/Functions.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FORMROWS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

constexpr size_t kMostResults = 8;
/// Fewer rows than this, of more elements, are better reduced in parts side by side.
constexpr int64_t kFewRows = 8, kLongRow = 16384;

/// Whether the dimensions that are reduced are the inmost ones, but for those of one element.
bool reducesInmost(stablehlo::ReduceOp reduce) {
  auto shape = cast<RankedTensorType>(reduce.getInputs()[0].getType()).getShape();
  bool isInmost = false;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    bool isReduced = llvm::is_contained(reduce.getDimensions(), int64_t(d));
    if (isInmost && !isReduced)
      return false;
    isInmost |= isReduced;
  }
  return isInmost;
}

class RowFormer {
public:
  RowFormer(stablehlo::ReduceOp seed, Taken &taken)
      : rows(countOf(seed.getResult(0))), length(countOf(seed.getInputs()[0]) / rows), taken(taken),
        group(seed, Links::ReshapesAndBroadcasts, taken) {}

  void run() {
    group.grow([&](Operation *op) { return takes(op); },
               [&](Operation *op) { return isFusible(op) && kindOf(op) != Kind::None && hasRoom(); });
    SmallVector<Value> results = group.escaping();
    if (results.empty() || results.size() > kMostResults ||
        !compiler::mayRewrite(group.operations()[0], "row"))
      return;
    Operation *place = group.place();
    location = group.locationFrom(place);
    LoopNest nest = readAll(LoopNest::kWhole);
    // What repeats along parts of a row would be written out as large as the rows.
    bool hasBroadcast = llvm::any_of(nest.readings(), [&](const Reading &reading) {
      return countOf(reading.value) == rows * length && reading.value.getDefiningOp<stablehlo::BroadcastInDimOp>();
    });
    std::optional<int64_t> piece;
    if (hasBroadcast) {
      LoopNest cut = readAll(kRowMark);
      piece = pieceOf(cut);
      nest = piece ? cut : readAll(LoopNest::kWhole);
    }
    write(nest, results, place, piece);
    taken.insert(group.operations().begin(), group.operations().end());
  }

private:
  /// What an operation of a group makes: rows, an element for each, or neither.
  enum class Kind { Row, Element, None };

  Kind kindOf(Operation *op) const {
    int64_t count = countOf(op->getResult(0));
    return count == rows * length ? Kind::Row : count == rows ? Kind::Element : Kind::None;
  }

  static constexpr int kRowMark = 1;

  LoopNest readAll(int mark) {
    LoopNest nest({rows, length}, {0, mark});
    readings.clear();
    for (Operation *op : group.operations())
      for (OpOperand &operand : op->getOpOperands())
        read(nest, operand);
    (void)nest.collapse();
    return nest;
  }

  /// The size of pieces that rows were cut into, if that is how code reads them: each reading in step, or one element for each piece.
  std::optional<int64_t> pieceOf(const LoopNest &nest) const {
    size_t rank = nest.sizes().size();
    if (llvm::count(nest.marks(), kRowMark) != 2 || nest.sizes().back() < codegen::kFewestRepeated)
      return std::nullopt;
    int64_t piece = nest.sizes().back();
    for (const Reading &reading : nest.readings()) {
      int64_t across = reading.strides[rank - 2], within = reading.strides[rank - 1];
      bool isInStep = (within == 0 || within == 1) && across == within * piece;
      if (!reading.valid.empty() || (!isInStep && within != 0))
        return std::nullopt;
    }
    return piece;
  }

  bool hasRoom() const { return group.operations().size() < 128; }

  bool isRowReduction(Operation *op) const {
    if (!isSimpleReduction(op) || countOf(op->getResult(0)) != rows ||
        countOf(op->getOperand(0)) != rows * length)
      return false;
    return reducesInmost(cast<stablehlo::ReduceOp>(op));
  }

  /// The member that a value is made of by reshapes and broadcasts alone; null if there is none.
  Operation *memberBehind(Value value) const {
    while (Operation *op = value.getDefiningOp()) {
      if (group.contains(op))
        return op;
      if (!isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(op))
        return nullptr;
      value = op->getOperand(0);
    }
    return nullptr;
  }

  /// Every element of row i of the value is element i of what a member makes.
  bool repeatsAlongRows(Value value) const {
    LoopNest nest({rows, length}, {0, 1});
    nest.add(value, nest.identityStrides(), [&](Value one) { return group.isMade(one); });
    const Reading &reading = nest.readings()[0];
    if (!group.isMade(reading.value) || reading.offset != 0 || !reading.valid.empty())
      return false;
    int64_t expected = 1;
    for (size_t d = nest.sizes().size(); d-- > 0;) {
      if (nest.sizes()[d] == 1)
        continue;
      bool isRow = nest.marks()[d] == 1;
      if (reading.strides[d] != (isRow ? 0 : expected))
        return false;
      expected *= isRow ? 1 : nest.sizes()[d];
    }
    return true;
  }

  bool takes(Operation *op) const {
    if (!hasRoom())
      return false;
    if (isRowReduction(op)) {
      Operation *member = memberBehind(op->getOperand(0));
      return member && kindOf(member) == Kind::Row &&
             group.isMade(throughReshapes(op->getOperand(0))) && !memberBehind(op->getOperand(1));
    }
    if (!isFusible(op) || kindOf(op) == Kind::None)
      return false;
    Kind kind = kindOf(op);
    for (Value operand : op->getOperands()) {
      Operation *member = memberBehind(operand);
      if (!member)
        continue;
      bool isDirect = group.isMade(throughReshapes(operand));
      if (isDirect && kindOf(member) == kind && countOf(operand) == countOf(op->getResult(0)))
        continue;
      if (kind == Kind::Row && kindOf(member) == Kind::Element &&
          countOf(operand) == rows * length && repeatsAlongRows(operand))
        continue;
      return false;
    }
    return true;
  }

  void read(LoopNest &nest, OpOperand &operand) {
    Value value = operand.get();
    if (memberBehind(value) || splatOf(value))
      return;
    SmallVector<int64_t> strides = nest.identityStrides();
    bool isReduction = isa<stablehlo::ReduceOp>(operand.getOwner());
    if (countOf(value) == 1 && !(isReduction && operand.getOperandNumber() == 0)) {
      strides.assign(strides.size(), 0);
    } else if (!isReduction && kindOf(operand.getOwner()) == Kind::Element) {
      for (int64_t &stride : strides)
        stride /= length;
      strides.back() = 0;
    }
    readings[&operand] = nest.add(value, strides);
  }

  void write(LoopNest &nest, ArrayRef<Value> results, Operation *place, std::optional<int64_t> piece) {
    const size_t inRow = piece ? 2 : 1; // Dimensions of a row.
    ArrayRef<int64_t> sizes = nest.sizes().drop_back(inRow);
    OpBuilder builder(place);
    SmallVector<Value> inputs;
    SmallVector<Attribute> views;
    auto *body = new Block;
    for (auto [i, reading] : llvm::enumerate(nest.readings())) {
      ViewAttr view = nest.view(i);
      size_t last = nest.sizes().size() - 1;
      // The same for all of a row: read once.
      bool isElement = llvm::all_of(view.getStrides().take_back(inRow), [](int64_t stride) { return stride == 0; }) &&
                       (view.getValid().empty() ||
                        (view.getValid()[2 * last] == 0 && view.getValid()[2 * last + 1] == length));
      if (isElement)
        view = ViewAttr::get(builder.getContext(), view.getOffset(), view.getStrides().drop_back(inRow),
                             view.getValid().empty() ? view.getValid() : view.getValid().drop_back(2),
                             view.getPadding());
      Type element = cast<RankedTensorType>(reading.value.getType()).getElementType();
      body->addArgument(RankedTensorType::get(isElement ? ArrayRef<int64_t>() : ArrayRef(length),
                                              element),
                        location);
      inputs.push_back(reading.value);
      views.push_back(view);
    }
    OpBuilder inner(place->getContext());
    inner.setInsertionPointToEnd(body);
    SmallVector<Value> yielded;
    for (Value result : results)
      yielded.push_back(make(inner, body, result.getDefiningOp()));
    inner.create<YieldOp>(location, yielded);
    auto row = builder.create<RowOp>(location, TypeRange(ValueRange(results)), inputs, builder.getDenseI64ArrayAttr(sizes),
                                     builder.getI64IntegerAttr(length), piece ? builder.getI64IntegerAttr(*piece) : IntegerAttr(),
                                     builder.getArrayAttr(views));
    row.getBody().push_back(body);
    for (auto [result, value] : llvm::zip(results, row.getResults()))
      Value(result).replaceAllUsesWith(value);
  }

  Value make(OpBuilder &builder, Block *body, Operation *op) {
    if (Value value = made.lookup(op))
      return value;
    BodyWriter writer(builder, location);
    if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
      Value input = operandOf(builder, body, op->getOpOperand(0), true);
      Value init = writer.constant(splatOf(reduce.getInitValues()[0]));
      OperationState state(op->getLoc(), op->getName());
      state.addOperands({input, init});
      state.addAttribute("dimensions", builder.getDenseI64ArrayAttr({0}));
      state.addTypes(RankedTensorType::get(
          {}, cast<RankedTensorType>(reduce.getResult(0).getType()).getElementType()));
      IRMapping mapping;
      reduce.getBody().cloneInto(state.addRegion(), mapping);
      return made[op] = builder.create(state)->getResult(0);
    }
    bool isRow = kindOf(op) == Kind::Row;
    SmallVector<Value> operands;
    for (OpOperand &operand : op->getOpOperands())
      operands.push_back(operandOf(builder, body, operand, isRow));
    return made[op] = writer.copy(op, operands, isRow ? ArrayRef(length) : ArrayRef<int64_t>());
  }

  /// As a row or as an element.
  Value operandOf(OpBuilder &builder, Block *body, OpOperand &operand, bool asRow) {
    Value value;
    if (Operation *member = memberBehind(operand.get())) {
      value = make(builder, body, member);
    } else if (TypedAttr number = splatOf(operand.get())) {
      auto type = RankedTensorType::get(asRow ? ArrayRef(length) : ArrayRef<int64_t>(),
                                        number.getType());
      return builder.create<stablehlo::ConstantOp>(
          location, type, DenseElementsAttr::get(type, ArrayRef<Attribute>{number}));
    } else {
      value = body->getArgument(readings.lookup(&operand));
    }
    auto type = cast<RankedTensorType>(value.getType());
    if (!asRow || type.getRank() == 1)
      return value;
    Value &wide = widened[value];
    if (!wide)
      wide = builder.create<stablehlo::BroadcastInDimOp>(
          location, RankedTensorType::get({length}, type.getElementType()), value,
          ArrayRef<int64_t>{});
    return wide;
  }

  int64_t rows, length;
  Taken &taken;
  Group group;
  Location location = UnknownLoc::get(group.operations()[0]->getContext());
  llvm::DenseMap<OpOperand *, size_t> readings;
  llvm::DenseMap<Operation *, Value> made;
  llvm::DenseMap<Value, Value> widened;
};

class FormRows : public impl::FormRowsBase<FormRows> {
public:
  void runOnOperation() override {
    formGroups(getOperation(), [](Operation *op, Taken &taken) {
      if (!taken.contains(op) && seedsRow(op))
        RowFormer(cast<stablehlo::ReduceOp>(op), taken).run();
    });
  }
};

} // namespace

bool seedsRow(Operation *op) {
  if (!isSimpleReduction(op))
    return false;
  int64_t rows = countOf(op->getResult(0)), length = countOf(op->getOperand(0)) / rows;
  return length > 1 && reducesInmost(cast<stablehlo::ReduceOp>(op)) &&
         (rows >= kFewRows || length <= kLongRow);
}

} // namespace cupel::tir
