// Complex numbers are computed as two real numbers each. Where both parts are known nobody makes complex numbers of them; where complex numbers lie in memory
// (arguments, transforms) parts are read where they lie, and what only moves complex numbers moves pairs.

#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Gathers.h"
#include "cupel/compiler/tensor/Group.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace cupel::tir {

#define GEN_PASS_DEF_COMPLEXASPAIRS
#include "cupel/compiler/tensor/Passes.h.inc"

namespace {

struct Parts {
  Value real, imaginary;
};

bool isComplex(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex = tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return complex && tensor.hasStaticShape() && tensor.getNumElements() > 0 && !tensor.getEncoding() &&
         (complex.getElementType().isF32() || complex.getElementType().isF64());
}

Type partOf(Type complex) { return cast<ComplexType>(cast<RankedTensorType>(complex).getElementType()).getElementType(); }

class Pairs {
public:
  explicit Pairs(Block &block) : block(block), builder(block.getParentOp()->getContext()) {}

  void run() {
    for (Operation *op : operationsOf(block)) {
      builder.setInsertionPoint(op);
      location = op->getLoc();
      if (Operation *made = rewritten(op)) {
        op->replaceAllUsesWith(made);
        op->erase();
      }
    }
    // What nobody needs as complex numbers goes; the others are pairs side by side.
    eraseUnused(block);
    for (Operation *op : operationsOf(block))
      if (auto complex = dyn_cast<stablehlo::ComplexOp>(op); complex && isComplex(complex.getType()))
        join(complex);
  }

private:
  Operation *rewritten(Operation *op) {
    bool reads = llvm::any_of(op->getOperandTypes(), isComplex), makes = op->getNumResults() == 1 && isComplex(op->getResult(0).getType());
    if (op->getNumResults() != 1 || !(reads || makes) || isa<stablehlo::ComplexOp, stablehlo::ConstantOp>(op))
      return nullptr;
    if ((isMove(op) || isa<stablehlo::ConcatenateOp>(op)) && makes)
      return moved(op);
    if (!isKnown(op) || !compiler::mayRewrite(op, "complex-as-pairs"))
      return nullptr;
    if (isa<stablehlo::RealOp>(op))
      return alias(parts(op->getOperand(0)).real);
    if (isa<stablehlo::ImagOp>(op))
      return alias(parts(op->getOperand(0)).imaginary);
    if (isa<stablehlo::AbsOp>(op))
      return magnitude(parts(op->getOperand(0)));
    if (auto compare = dyn_cast<stablehlo::CompareOp>(op))
      return compared(compare);
    if (auto convert = dyn_cast<stablehlo::ConvertOp>(op))
      return converted(convert);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    Parts made = computed(op);
    return builder.create<stablehlo::ComplexOp>(location, type, made.real, made.imaginary);
  }

  /// What there is arithmetic of real numbers for that is as exact as the complex one's. Products of matrices are not: the
  /// difference of two sums that were rounded has lost what the reference still sees.
  bool isKnown(Operation *op) {
    auto areAll = [&](TypeRange types) { return llvm::all_of(types, isComplex); };
    if (isa<stablehlo::RealOp, stablehlo::ImagOp>(op))
      return areAll(op->getOperandTypes());
    if (isa<stablehlo::AddOp, stablehlo::SubtractOp, stablehlo::MultiplyOp, stablehlo::NegateOp>(op))
      return areAll(op->getOperandTypes()) && areAll(op->getResultTypes());
    if (isa<stablehlo::AbsOp>(op)) // In f64, where no square is too large.
      return areAll(op->getOperandTypes()) && partOf(op->getOperand(0).getType()).isF32();
    if (auto compare = dyn_cast<stablehlo::CompareOp>(op))
      return areAll(op->getOperandTypes()) && (compare.getComparisonDirection() == stablehlo::ComparisonDirection::EQ ||
                                               compare.getComparisonDirection() == stablehlo::ComparisonDirection::NE);
    if (isa<stablehlo::SelectOp>(op))
      return isComplex(op->getResult(0).getType());
    if (isa<stablehlo::ConvertOp>(op))
      return isCompiledOrComplex(op->getOperand(0).getType()) && isCompiledOrComplex(op->getResult(0).getType());
    auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
    return reduce && reduce.getInputs().size() == 1 && areAll(op->getOperandTypes()) && op->getOperand(0).getType() != op->getResult(0).getType() &&
           areAll(op->getResultTypes()) && isa_and_nonnull<stablehlo::AddOp>(simpleCombiner(reduce.getBody()));
  }
  static bool isCompiledOrComplex(Type type) { return isComplex(type) || isCompiledTensor(type); }

  Parts computed(Operation *op) {
    SmallVector<Parts> from;
    for (Value operand : op->getOperands())
      from.push_back(isComplex(operand.getType()) ? parts(operand) : Parts{operand, operand});
    auto both = [&](auto &&make) { return Parts{make([](const Parts &one) { return one.real; }), make([](const Parts &one) { return one.imaginary; })}; };
    if (isa<stablehlo::MultiplyOp>(op)) {
      auto [a, b] = std::pair(from[0], from[1]);
      Value real = make<stablehlo::SubtractOp>(make<stablehlo::MultiplyOp>(a.real, b.real), make<stablehlo::MultiplyOp>(a.imaginary, b.imaginary));
      return {real, make<stablehlo::AddOp>(make<stablehlo::MultiplyOp>(a.real, b.imaginary), make<stablehlo::MultiplyOp>(a.imaginary, b.real))};
    }
    // Everything else is done to each part.
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    auto partType = type.clone(partOf(type));
    return both([&](auto &&part) {
      SmallVector<Value> operands;
      for (const Parts &one : from)
        operands.push_back(part(one));
      return like(op, operands, partType);
    });
  }

  /// As `op` does it, on real numbers.
  Value like(Operation *op, ValueRange operands, Type type) {
    OperationState state(location, op->getName());
    state.addOperands(operands);
    state.addTypes(type);
    state.addAttributes(op->getAttrs());
    for (Region &region : op->getRegions()) {
      IRMapping mapping;
      Region *copy = state.addRegion();
      region.cloneInto(copy, mapping);
      auto element = RankedTensorType::get({}, cast<RankedTensorType>(type).getElementType());
      for (BlockArgument argument : copy->getArguments())
        argument.setType(element);
      for (Operation &inner : copy->front().without_terminator())
        inner.getResult(0).setType(element);
    }
    return builder.create(state)->getResult(0);
  }

  /// The root of the sum of squares. An infinite part makes it infinite, whatever the other is.
  Operation *magnitude(Parts of) {
    auto narrow = shapedType(of.real), wide = narrow.clone(builder.getF64Type());
    auto square = [&](Value part) {
      Value one = builder.create<stablehlo::ConvertOp>(location, wide, part);
      return make<stablehlo::MultiplyOp>(one, one);
    };
    Value sum = make<stablehlo::AddOp>(square(of.real), square(of.imaginary));
    Value root = builder.create<stablehlo::ConvertOp>(location, narrow, builder.create<stablehlo::SqrtOp>(location, wide, sum));
    Value infinity = builder.create<stablehlo::ConstantOp>(location, DenseElementsAttr::get(narrow, APFloat::getInf(APFloat::IEEEsingle())));
    auto bits = narrow.clone(builder.getI1Type());
    auto isInfinite = [&](Value part) -> Value {
      return builder.create<stablehlo::CompareOp>(location, bits, builder.create<stablehlo::AbsOp>(location, narrow, part), infinity,
                                                  stablehlo::ComparisonDirection::EQ, stablehlo::ComparisonTypeAttr());
    };
    Value any = make<stablehlo::OrOp>(isInfinite(of.real), isInfinite(of.imaginary));
    return builder.create<stablehlo::SelectOp>(location, narrow, any, infinity, root);
  }

  Operation *compared(stablehlo::CompareOp op) {
    Parts a = parts(op.getLhs()), b = parts(op.getRhs());
    auto part = [&](Value left, Value right) -> Value {
      return builder.create<stablehlo::CompareOp>(location, op.getType(), left, right, op.getComparisonDirection(), stablehlo::ComparisonTypeAttr());
    };
    Value real = part(a.real, b.real), imaginary = part(a.imaginary, b.imaginary);
    bool isEqual = op.getComparisonDirection() == stablehlo::ComparisonDirection::EQ;
    return (isEqual ? make<stablehlo::AndOp>(real, imaginary) : make<stablehlo::OrOp>(real, imaginary)).getDefiningOp();
  }

  /// A real number has no imaginary part, and of a complex one only the other is kept.
  Operation *converted(stablehlo::ConvertOp op) {
    auto from = shapedType(op.getOperand()), to = shapedType(op.getResult());
    auto convert = [&](Value value, Type element) -> Value { return builder.create<stablehlo::ConvertOp>(location, to.clone(element), value); };
    if (!isComplex(to))
      return convert(parts(op.getOperand()).real, to.getElementType()).getDefiningOp();
    Type element = partOf(to);
    Parts made;
    if (isComplex(from)) {
      Parts before = parts(op.getOperand());
      made = {convert(before.real, element), convert(before.imaginary, element)};
    } else {
      Value zero = builder.create<stablehlo::ConstantOp>(location, cast<DenseElementsAttr>(builder.getZeroAttr(to.clone(element))));
      made = {convert(op.getOperand(), element), zero};
    }
    return builder.create<stablehlo::ComplexOp>(location, to, made.real, made.imaginary);
  }

  /// Parts are moved by themselves where they were computed so, else as they lie side by side.
  Operation *moved(Operation *op) {
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    bool areApart = llvm::all_of(op->getOperands(), [](Value value) { return isa_and_nonnull<stablehlo::ComplexOp, stablehlo::ConstantOp>(value.getDefiningOp()); });
    if (!llvm::all_of(op->getOperandTypes(), isComplex))
      return nullptr;
    if (areApart) {
      if (!compiler::mayRewrite(op, "complex-as-pairs"))
        return nullptr;
      Parts made = computed(op);
      return builder.create<stablehlo::ComplexOp>(location, type, made.real, made.imaginary);
    }
    OperationState state(location, op->getName());
    auto grown = [&](ArrayRef<int64_t> sizes, int64_t last) {
      SmallVector<int64_t> all(sizes);
      all.push_back(last);
      return builder.getDenseI64ArrayAttr(all);
    };
    NamedAttrList attributes(op->getAttrs());
    int64_t rank = type.getRank();
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      attributes.set("permutation", grown(transpose.getPermutation(), rank));
    } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      attributes.set("broadcast_dimensions", grown(broadcast.getBroadcastDimensions(), rank));
    } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      attributes.set("start_indices", grown(slice.getStartIndices(), 0));
      attributes.set("limit_indices", grown(slice.getLimitIndices(), 2));
      attributes.set("strides", grown(slice.getStrides(), 1));
    } else if (auto pad = dyn_cast<stablehlo::PadOp>(op)) {
      attributes.set("edge_padding_low", grown(pad.getEdgePaddingLow(), 0));
      attributes.set("edge_padding_high", grown(pad.getEdgePaddingHigh(), 0));
      attributes.set("interior_padding", grown(pad.getInteriorPadding(), 0));
    } else if (!isa<stablehlo::ReshapeOp, stablehlo::ReverseOp>(op)) {
      return nullptr;
    }
    state.addOperands(pairsOf(op->getOperand(0)));
    if (isa<stablehlo::PadOp>(op)) {
      // Both parts are padded with one number.
      Parts around = parts(op->getOperand(1));
      TypedAttr real = splatOf(around.real), imaginary = splatOf(around.imaginary);
      if (!real || real != imaginary)
        return nullptr;
      state.addOperands(around.real);
    }
    if (!compiler::mayRewrite(op, "complex-as-pairs"))
      return nullptr;
    SmallVector<int64_t> shape(type.getShape());
    shape.push_back(2);
    state.addTypes(RankedTensorType::get(shape, partOf(type)));
    state.addAttributes(attributes);
    return builder.create<AsOp>(location, type, builder.create(state)->getResult(0));
  }

  /// Complex numbers in memory as pairs.
  Value pairsOf(Value value) {
    if (auto as = value.getDefiningOp<AsOp>())
      return as.getOperand();
    Value &found = pairs[value];
    if (!found) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(value);
      SmallVector<int64_t> shape(shapedType(value).getShape());
      shape.push_back(2);
      found = builder.create<AsOp>(value.getLoc(), RankedTensorType::get(shape, partOf(value.getType())), value);
    }
    return found;
  }

  Parts parts(Value value) {
    if (auto complex = value.getDefiningOp<stablehlo::ComplexOp>())
      return {complex.getLhs(), complex.getRhs()};
    if (auto constant = value.getDefiningOp<stablehlo::ConstantOp>())
      return partsOf(constant);
    auto type = shapedType(value), part = type.clone(partOf(type));
    Value together = pairsOf(value);
    auto one = [&](int64_t which) -> Value {
      SmallVector<int64_t> from(size_t(type.getRank()), 0), to(type.getShape()), step(size_t(type.getRank()) + 1, 1);
      from.push_back(which);
      to.push_back(which + 1);
      Value column = builder.create<stablehlo::SliceOp>(location, together, from, to, step);
      return builder.create<stablehlo::ReshapeOp>(location, part, column);
    };
    Value real = one(0);
    return {real, one(1)};
  }

  Parts partsOf(stablehlo::ConstantOp constant) {
    auto numbers = cast<DenseElementsAttr>(constant.getValue());
    auto type = shapedType(constant), part = type.clone(partOf(type));
    auto take = [&](bool isReal) -> Value {
      SmallVector<APFloat> all;
      auto one = [&](const std::complex<APFloat> &number) { all.push_back(isReal ? number.real() : number.imag()); };
      if (numbers.isSplat())
        one(numbers.getSplatValue<std::complex<APFloat>>());
      else
        llvm::for_each(numbers.getValues<std::complex<APFloat>>(), one);
      return builder.create<stablehlo::ConstantOp>(location, DenseElementsAttr::get(part, all));
    };
    Value real = take(true);
    return {real, take(false)};
  }

  /// In memory, one number beside the other.
  void join(stablehlo::ComplexOp op) {
    if (!compiler::mayRewrite(op, "complex-as-pairs"))
      return;
    builder.setInsertionPoint(op);
    auto type = shapedType(op);
    SmallVector<int64_t> shape(type.getShape());
    shape.push_back(1);
    auto column = [&](Value part) -> Value { return builder.create<stablehlo::ReshapeOp>(op.getLoc(), RankedTensorType::get(shape, partOf(type)), part); };
    Value columns[] = {column(op.getLhs()), column(op.getRhs())};
    Value together = builder.create<stablehlo::ConcatenateOp>(op.getLoc(), ValueRange(columns), uint64_t(type.getRank()));
    op.getResult().replaceAllUsesWith(builder.create<AsOp>(op.getLoc(), type, together));
    op.erase();
  }

  template <typename Op> Value make(Value left, Value right) { return builder.create<Op>(location, left.getType(), left, right); }
  /// The operation that makes a value, for whoever replaces by one: a reshape that changes nothing where an argument of the block is it.
  Operation *alias(Value value) {
    if (Operation *op = value.getDefiningOp(); op && op->getNumResults() == 1)
      return op;
    return builder.create<stablehlo::ReshapeOp>(location, value.getType(), value);
  }

  Block &block;
  OpBuilder builder;
  Location location = builder.getUnknownLoc();
  llvm::DenseMap<Value, Value> pairs;
};

class ComplexAsPairs : public impl::ComplexAsPairsBase<ComplexAsPairs> {
public:
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        Pairs(function.getBody().front()).run();
  }
};

} // namespace
} // namespace cupel::tir
