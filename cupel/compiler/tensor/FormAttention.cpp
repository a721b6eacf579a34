// Attention, found by its shape: products, a function of their rows, and products with the rows that it
// makes. All three are one operation then, so that scores never go to memory.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/named/NamedFusion.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_FORMATTENTION
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

/// A few rows are read against matrices as they lie, which needs no packing of these.
constexpr int64_t kFewestRows = 8;
/// Fewer scores are not worth machine code of their own, and attention has no other.
constexpr int64_t kFewestScores = 1024;
/// Batch dimensions that kernels know, and operands of a function of rows.
constexpr size_t kMostBatch = 4, kMostExtras = 8;

/// What makes a value, if nobody else needs it or what it is reshaped to.
template <typename Op> Op soleMaker(Value value) {
  while (true) {
    if (!value.hasOneUse())
      return nullptr;
    auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>();
    if (!reshape)
      return value.getDefiningOp<Op>();
    value = reshape.getOperand();
  }
}

/// The one operation that needs a value, behind reshapes; null if there are several.
Operation *soleUser(Value value) {
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (!isa<stablehlo::ReshapeOp>(user))
      return user;
    value = user->getResult(0);
  }
  return nullptr;
}

bool isF32(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType().isF32();
}

bool yieldsItsArgument(Block &body) {
  return body.without_terminator().empty() && body.getNumArguments() == 1 &&
         body.getTerminator()->getOperand(0) == body.getArgument(0);
}

class AttentionFormer {
public:
  explicit AttentionFormer(ProductOp second) : second(second) {}

  void run() {
    if (!find() || !compiler::mayRewrite(second, "attention"))
      return;
    countFusion(second->getParentOfType<ModuleOp>(), kAttentionFusion.name);
    findPlacing();
    write();
  }

private:
  bool find() {
    row = soleMaker<RowOp>(second.getLhs());
    if (!row || row.getPiece() || row.getResults().size() != 1 || second.getLhs() == second.getRhs() ||
        !yieldsItsArgument(second.getBody().front()) || second.getBatch().size() > kMostBatch ||
        int64_t(second.getRows()) < kFewestRows || second.getBatch().empty())
      return false;
    int64_t heads = second.getRows();
    for (int64_t size : second.getBatch())
      heads *= size;
    int64_t points = 1;
    for (int64_t size : row.getSizes())
      points *= size;
    SmallVector<int64_t> full(row.getSizes());
    full.push_back(row.getLength());
    SmallVector<int64_t> left(second.getBatch());
    left.append({int64_t(second.getRows()), int64_t(second.getDepth())});
    if (points != heads || row.getLength() != second.getDepth() ||
        points * int64_t(row.getLength()) < kFewestScores ||
        !cast<ViewAttr>(second.getViews()[0]).isIdentity(left))
      return false;
    // The input that is the scores.
    for (auto [i, input] : llvm::enumerate(row.getInputs())) {
      auto made = soleMaker<ProductOp>(input);
      if (!made || made.getBatch() != second.getBatch() || made.getRows() != second.getRows() ||
          made.getColumns() != row.getLength() ||
          !cast<ViewAttr>(row.getViews()[i]).isIdentity(full) ||
          cast<RankedTensorType>(row.getBody().getArgument(i).getType()).getRank() != 1)
        continue;
      first = made;
      scores = i;
    }
    if (!first || first.getExtras().size() + row.getInputs().size() - 1 > kMostExtras)
      return false;
    std::array<Value, 6> values = {first.getLhs(),     first.getRhs(),   first.getResult(),
                                   row.getResult(0), second.getRhs(), second.getResult()};
    if (!llvm::all_of(values, isF32))
      return false;
    for (auto view : first.getViews().getAsRange<ViewAttr>())
      if (!view.getValid().empty())
        return false;
    if (!cast<ViewAttr>(second.getViews()[1]).getValid().empty())
      return false;
    // All in one block, so that the second's place is behind whatever the first needs.
    return first->getBlock() == second->getBlock() && row->getBlock() == second->getBlock();
  }

  /// Where the heads go, if all that is done with them is to put them there.
  void findPlacing() {
    SmallVector<int64_t> sizes(second.getBatch());
    sizes.push_back(second.getRows());
    SmallVector<int64_t> made = sizes;
    made.push_back(second.getColumns());
    SmallVector<int64_t> strides = rowMajorStrides(made);
    placing.assign(strides.begin(), strides.end() - 1);
    result = second.getResult();
    auto map = dyn_cast_or_null<MapOp>(soleUser(second.getResult()));
    if (!map || map.getInputs().size() != 1 || map.getResults().size() != 1 ||
        !yieldsItsArgument(map.getBody().front()))
      return;
    auto view = cast<ViewAttr>(map.getViews()[0]);
    SmallVector<int64_t> placed = rowMajorStrides(map.getSizes());
    int64_t rank = int64_t(map.getSizes().size());
    if (view.getOffset() != 0 || !view.getValid().empty() || rank != int64_t(made.size()) ||
        map.getSizes().back() != made.back() || view.getStrides().back() != 1)
      return;
    SmallVector<int64_t> found(sizes.size(), -1);
    for (auto [d, size] : llvm::enumerate(sizes))
      for (int64_t e = 0; e + 1 < rank; ++e)
        if (map.getSizes()[e] == size && view.getStrides()[e] == strides[d])
          found[d] = placed[e];
    // Each dimension once: a permutation of strides is one of dimensions, but for those of size one.
    SmallVector<int64_t> sorted(found), all(placed.begin(), placed.end() - 1);
    llvm::sort(sorted);
    llvm::sort(all);
    if (sorted != all || std::adjacent_find(all.begin(), all.end()) != all.end())
      return;
    placing = found;
    result = map.getResult(0);
    mover = map;
  }

  /// What the first product does to an element, done to a row.
  Value liftEpilogue(OpBuilder &builder, IRMapping &mapping) {
    Block &body = first.getBody().front();
    auto length = int64_t(row.getLength());
    for (Operation &op : body.without_terminator()) {
      Type element = cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
      auto type = RankedTensorType::get({length}, element);
      if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
        auto number = cast<DenseElementsAttr>(constant.getValue()).getSplatValue<Attribute>();
        mapping.map(constant.getResult(),
                    builder.create<stablehlo::ConstantOp>(op.getLoc(), type,
                                                          DenseElementsAttr::get(type, number)));
        continue;
      }
      Operation *copy = builder.clone(op, mapping);
      copy->getResult(0).setType(type);
      mapping.map(op.getResult(0), copy->getResult(0));
    }
    return mapping.lookup(body.getTerminator()->getOperand(0));
  }

  /// A view over all rows and columns as one over the row's loop.
  ViewAttr overRows(ViewAttr view) {
    SmallVector<int64_t> strides = rowMajorStrides(row.getSizes());
    for (int64_t &stride : strides)
      stride *= view.getStrides()[0];
    strides.push_back(view.getStrides()[1]);
    return ViewAttr::get(view.getContext(), view.getOffset(), strides, {}, TypedAttr());
  }

  void write() {
    OpBuilder builder(second);
    SmallVector<Value> extras(first.getExtras());
    auto firstViews = first.getViews().getValue();
    SmallVector<Attribute> views(firstViews.take_front(2));
    views.push_back(second.getViews()[1]);
    for (Attribute view : firstViews.drop_front(2))
      views.push_back(overRows(cast<ViewAttr>(view)));
    for (auto [i, input] : llvm::enumerate(row.getInputs()))
      if (i != scores) {
        extras.push_back(input);
        views.push_back(row.getViews()[i]);
      }
    auto attention = builder.create<AttentionOp>(
        second.getLoc(), result.getType(), first.getLhs(), first.getRhs(), second.getRhs(), extras,
        second.getBatch(), second.getRows(), second.getDepth(), first.getDepth(),
        second.getColumns(), row.getSizes(), placing, builder.getArrayAttr(views));
    Block &from = row.getBody().front();
    auto rowType = [&](Value value) {
      return RankedTensorType::get({int64_t(row.getLength())},
                                   cast<RankedTensorType>(value.getType()).getElementType());
    };
    Location location = second.getLoc();
    auto *body = new Block;
    attention.getBody().push_back(body);
    IRMapping mapping;
    for (BlockArgument argument : first.getBody().front().getArguments())
      mapping.map(argument, body->addArgument(rowType(argument), location));
    for (auto [i, argument] : llvm::enumerate(from.getArguments()))
      if (i != scores)
        mapping.map(argument, body->addArgument(argument.getType(), location));
    builder.setInsertionPointToStart(body);
    mapping.map(from.getArgument(scores), liftEpilogue(builder, mapping));
    for (Operation &op : from)
      builder.clone(op, mapping);
    result.replaceAllUsesWith(attention.getResult());
    eraseBetween();
  }

  /// From the last on, with the reshapes between them.
  void eraseBetween() {
    SmallVector<Operation *> dead;
    if (mover)
      dead.push_back(mover);
    dead.append({second, row, first});
    for (Operation *op : dead) {
      SmallVector<Operation *> reshapes;
      for (Operation *user : op->getUsers())
        for (Operation *one = user; isa<stablehlo::ReshapeOp>(one);) {
          reshapes.push_back(one);
          if (one->use_empty())
            break;
          one = *one->user_begin();
        }
      for (Operation *reshape : llvm::reverse(reshapes))
        reshape->erase();
      op->erase();
    }
  }

  ProductOp second, first;
  RowOp row;
  MapOp mover;
  size_t scores = 0;
  SmallVector<int64_t> placing;
  Value result;
};

class FormAttention : public impl::FormAttentionBase<FormAttention> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ProductOp> products;
      function.walk([&](ProductOp op) { products.push_back(op); });
      // A product that has become part of one is no second product: its result goes to a row.
      for (ProductOp op : products)
        if (soleMaker<RowOp>(op.getLhs()))
          AttentionFormer(op).run();
    }
  }
};

} // namespace

} // namespace cupel::tir
