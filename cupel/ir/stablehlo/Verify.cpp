#include "cupel/ir/stablehlo/Verify.h"

#include "mlir/Dialect/Quant/QuantTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;

namespace cupel::stablehlo::verify {

//===----------------------------------------------------------------------===//
// Sizes and shapes
//===----------------------------------------------------------------------===//

std::optional<int64_t> Dim::limit() const {
  if (isKnown())
    return size;
  if (isBounded())
    return bound;
  return std::nullopt;
}

Dim getDim(RankedTensorType type, int64_t index) {
  Dim dim;
  dim.size = type.getDimSize(index);
  ArrayRef<int64_t> bounds = getBounds(type);
  if (static_cast<size_t>(index) < bounds.size())
    dim.bound = bounds[index];
  return dim;
}

bool areCompatible(Dim a, Dim b) { return areCompatibleSizes(a.size, a.bound, b.size, b.bound); }

std::optional<Dim> merge(Dim a, Dim b) {
  if (!areCompatible(a, b))
    return std::nullopt;
  if (a.isKnown())
    return a;
  if (b.isKnown())
    return b;
  if (!a.isBounded())
    return b;
  if (!b.isBounded())
    return a;
  return Dim{ShapedType::kDynamic, std::min(a.bound, b.bound)};
}

std::optional<Dim> map(Dim dim, function_ref<std::optional<int64_t>(int64_t)> function) {
  std::optional<int64_t> limit = dim.limit();
  if (!limit)
    return Dim();
  std::optional<int64_t> mapped = function(*limit);
  if (!mapped)
    return std::nullopt;
  return dim.isKnown() ? Dim{*mapped, ShapedType::kDynamic} : Dim{ShapedType::kDynamic, *mapped};
}

Shape::Shape(RankedTensorType type) {
  for (int64_t i = 0; i < type.getRank(); ++i)
    push(getDim(type, i));
}

void Shape::push(Dim dim) {
  sizes.push_back(dim.size);
  bounds.push_back(dim.isKnown() ? ShapedType::kDynamic : dim.bound);
}

void Shape::set(int64_t index, Dim dim) {
  sizes[index] = dim.size;
  bounds[index] = dim.isKnown() ? ShapedType::kDynamic : dim.bound;
}

RankedTensorType Shape::withElementType(Type elementType) const {
  return getTensorType(sizes, elementType, bounds);
}

std::optional<int64_t> countElements(ArrayRef<int64_t> sizes) {
  if (llvm::is_contained(sizes, 0) && llvm::none_of(sizes, ShapedType::isDynamic))
    return 0;
  int64_t count = 1;
  for (int64_t size : sizes) {
    if (ShapedType::isDynamic(size))
      return std::nullopt;
    std::optional<int64_t> product = llvm::checkedMul(count, size);
    if (!product)
      return std::nullopt;
    count = *product;
  }
  return count;
}

std::string toString(Dim dim) {
  if (dim.isKnown())
    return std::to_string(dim.size);
  return dim.isBounded() ? "<=" + std::to_string(dim.bound) : "?";
}

std::string toString(ArrayRef<int64_t> values) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(values, stream, [&](int64_t value) {
    if (ShapedType::isDynamic(value))
      stream << '?';
    else
      stream << value;
  });
  stream << ']';
  return text;
}

RankedTensorType withElementType(RankedTensorType type, Type elementType) {
  return getTensorType(type.getShape(), elementType, getBounds(type));
}

std::optional<SmallVector<int64_t>> getConstant(Value value, int64_t count) {
  // The constant may not have been verified yet, so only its stored value is looked at.
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto elements = dyn_cast_or_null<DenseIntElementsAttr>(constant.getProperties().value);
  if (!elements || elements.getType().getRank() != 1 || elements.getType().getDimSize(0) != count)
    return std::nullopt;
  bool isUnsigned = elements.getElementType().isUnsignedInteger();
  SmallVector<int64_t> values;
  for (APInt element : elements.getValues<APInt>()) {
    if (isUnsigned ? element.getActiveBits() > 63 : element.getSignificantBits() > 64)
      return std::nullopt;
    values.push_back(isUnsigned ? element.getZExtValue() : element.getSExtValue());
  }
  return values;
}

LogicalResult verifyShapeOperand(Reporter report, Value shape, StringRef name,
                                 RankedTensorType result) {
  int64_t count = tensor(shape).getDimSize(0);
  if (ShapedType::isDynamic(count))
    return success();
  if (count != result.getRank())
    return report.error(name, " must have one entry per dimension of the result, but got ", count,
                        " entries for rank ", result.getRank());
  std::optional<SmallVector<int64_t>> sizes = getConstant(shape, count);
  if (!sizes)
    return success();
  for (int64_t i = 0; i < count; ++i) {
    // -1 asks dynamic_reshape to work the size out.
    int64_t size = (*sizes)[i];
    if (size >= 0 && !areCompatible(Dim{size, ShapedType::kDynamic}, getDim(result, i)))
      return report.error(name, " is the constant ", toString(*sizes),
                          ", which does not fit the result type ", result);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Lists of dimensions
//===----------------------------------------------------------------------===//

LogicalResult verifyInRange(Reporter report, StringRef name, ArrayRef<int64_t> dims, int64_t rank,
                            StringRef what) {
  for (int64_t dim : dims)
    if (dim < 0 || dim >= rank)
      return report.error(name, " must name dimensions of ", what, ", but ", dim,
                          " is outside [0, ", rank, ")");
  return success();
}

LogicalResult verifyUnique(Reporter report, StringRef name, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> sorted(dims);
  llvm::sort(sorted);
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return report.error(name, " must not name a dimension twice, but got ", toString(dims));
  return success();
}

LogicalResult verifySorted(Reporter report, StringRef name, ArrayRef<int64_t> dims) {
  if (!llvm::is_sorted(dims))
    return report.error(name, " must be sorted, but got ", toString(dims));
  return success();
}

LogicalResult verifyOnePerDimension(Reporter report, StringRef name, size_t count, int64_t rank,
                                    StringRef what) {
  if (static_cast<int64_t>(count) != rank)
    return report.error(name, " must have one entry per dimension of ", what, ", but got ", count,
                        " entries for rank ", rank);
  return success();
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

bool isPromotable(Type from, Type to) {
  if (areCompatibleElementTypes(from, to))
    return true;
  auto quantizedFrom = dyn_cast<quant::QuantizedType>(from);
  auto quantizedTo = dyn_cast<quant::QuantizedType>(to);
  if (quantizedFrom && quantizedTo &&
      quantizedFrom.getExpressedType() != quantizedTo.getExpressedType())
    return false;
  bool sameClass = (isa<IntegerType>(from) && isa<IntegerType>(to)) ||
                   (isFloat(from) && isFloat(to)) ||
                   (isa<ComplexType>(from) && isa<ComplexType>(to)) ||
                   (quantizedFrom && quantizedTo);
  return sameClass && getElementBits(from) <= getElementBits(to);
}

bool haveSameStorage(Type a, Type b) {
  auto quantizedA = dyn_cast<quant::QuantizedType>(a),
       quantizedB = dyn_cast<quant::QuantizedType>(b);
  return quantizedA && quantizedB && quantizedA.getStorageType() == quantizedB.getStorageType() &&
         quantizedA.getFlags() == quantizedB.getFlags() &&
         quantizedA.getStorageTypeMin() == quantizedB.getStorageTypeMin() &&
         quantizedA.getStorageTypeMax() == quantizedB.getStorageTypeMax() &&
         quantizedA.getExpressedType() == quantizedB.getExpressedType();
}

//===----------------------------------------------------------------------===//
// Computations in regions
//===----------------------------------------------------------------------===//

std::optional<Computation> findComputation(Region &region) {
  if (!region.hasOneBlock() || region.front().empty())
    return std::nullopt;
  auto terminator = dyn_cast<ReturnOp>(region.front().back());
  if (!terminator)
    return std::nullopt;
  return Computation{llvm::to_vector(region.getArgumentTypes()),
                     llvm::to_vector(TypeRange(terminator->getOperandTypes()))};
}

FailureOr<Computation> getComputation(Reporter report, Region &region, StringRef name) {
  std::optional<Computation> computation = findComputation(region);
  if (!computation)
    return report.error("region '", name, "' must be one block that ends with 'stablehlo.return'");
  return *computation;
}

bool isScalarOf(Type type, Type elementType) {
  auto scalar = dyn_cast<RankedTensorType>(type);
  return scalar && scalar.getRank() == 0 &&
         areCompatibleElementTypes(scalar.getElementType(), elementType);
}

bool isScalarPred(Type type) {
  auto scalar = dyn_cast<RankedTensorType>(type);
  return scalar && scalar.getRank() == 0 && scalar.getElementType().isInteger(1);
}

/// Whether sizes are some of those allowed, in their order.
static bool areSomeOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> allowed) {
  for (int64_t size : allowed)
    if (!sizes.empty() && (size == sizes.front() || ShapedType::isDynamic(size) ||
                           ShapedType::isDynamic(sizes.front())))
      sizes = sizes.drop_front();
  return sizes.empty();
}

LogicalResult verifyReducer(Reporter report, Region &region, StringRef name, TypeRange inputs,
                            TypeRange inits, ArrayRef<int64_t> rows) {
  FailureOr<Computation> computation = getComputation(report, region, name);
  if (failed(computation))
    return failure();
  auto &[arguments, results] = *computation;
  size_t count = inputs.size();
  if (arguments.size() != 2 * count)
    return report.error("region '", name, "' must take ", 2 * count,
                        " arguments (accumulated and new values), but takes ", arguments.size());
  if (results.size() != count)
    return report.error("region '", name, "' must return ", count, " values, but returns ",
                        results.size());
  for (size_t i = 0; i < count; ++i) {
    auto result = dyn_cast<RankedTensorType>(results[i]);
    if (!result || !areSomeOf(result.getShape(), rows))
      return report.error("region '", name, "' must return rank-0 tensors, but result #", i, " is ",
                          results[i]);
    Type accumulated = result.getElementType();
    for (size_t argument : {i, i + count})
      if (!stablehlo::areCompatible(arguments[argument], result))
        return report.error("argument #", argument, " of region '", name, "' must be ", result,
                            " like its result #", i, ", but is ", arguments[argument]);
    if (Type input = getElementTypeOrSelf(inputs[i]); !isPromotable(input, accumulated))
      return report.error("region '", name, "' computes on ", accumulated, ", which input #", i,
                          " of element type ", input, " cannot be promoted to");
    if (inits.empty())
      continue;
    if (!areCompatibleShapes(inits[i], result))
      return report.error("region '", name, "' returns ", result, ", but initial value #", i,
                          " is ", inits[i]);
    if (Type init = getElementTypeOrSelf(inits[i]); !isPromotable(init, accumulated))
      return report.error("region '", name, "' computes on ", accumulated,
                          ", which initial value #", i, " of element type ", init,
                          " cannot be promoted to");
  }
  return success();
}

Type getReducedElementType(Region &region, unsigned index, Type fallback) {
  std::optional<Computation> computation = findComputation(region);
  if (!computation || index >= computation->results.size())
    return fallback;
  return getElementTypeOrSelf(computation->results[index]);
}

} // namespace cupel::stablehlo::verify
