#include "cupel/compiler/tensor/TensorIr.h"

#include "cupel/compiler/codegen/Kernels.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace cupel;
using namespace cupel::tir;

#include "cupel/compiler/tensor/TensorDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "cupel/compiler/tensor/TensorAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "cupel/compiler/tensor/TensorOps.cpp.inc"

void TirDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cupel/compiler/tensor/TensorAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "cupel/compiler/tensor/TensorOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

SmallVector<int64_t> tir::rowMajorStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;)
    strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

ViewAttr ViewAttr::identity(MLIRContext *context, ArrayRef<int64_t> sizes) {
  return get(context, 0, rowMajorStrides(sizes), {}, {});
}

bool ViewAttr::isIdentity(ArrayRef<int64_t> sizes) const {
  if (getOffset() != 0 || !getValid().empty())
    return false;
  SmallVector<int64_t> expected = rowMajorStrides(sizes);
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1 && getStrides()[i] != expected[i])
      return false;
  return true;
}

static void printList(AsmPrinter &printer, ArrayRef<int64_t> numbers) {
  printer << '[';
  llvm::interleaveComma(numbers, printer);
  printer << ']';
}

void ViewAttr::print(AsmPrinter &printer) const {
  printer << '<' << getOffset() << ", ";
  printList(printer, getStrides());
  if (!getValid().empty()) {
    printer << ", valid ";
    printList(printer, getValid());
    printer << ", " << getPadding();
  }
  printer << '>';
}

Attribute ViewAttr::parse(AsmParser &parser, Type) {
  int64_t offset;
  SmallVector<int64_t> strides, valid;
  TypedAttr padding;
  auto list = [&](SmallVector<int64_t> &numbers) {
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(numbers.emplace_back());
    });
  };
  if (parser.parseLess() || parser.parseInteger(offset) || parser.parseComma() || list(strides))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("valid") || list(valid) || parser.parseComma() ||
       parser.parseAttribute(padding)))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), offset, strides, valid, padding);
}

/// Every element that is read lies in the operand.
static LogicalResult verifyView(Operation *op, ViewAttr view, Value operand,
                                ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(operand.getType());
  if (!type.hasStaticShape())
    return op->emitOpError("works on tensors of static shape");
  if (view.getStrides().size() != sizes.size())
    return op->emitOpError() << "has a view of " << view.getStrides().size() << " strides over "
                             << sizes.size() << " dimensions";
  ArrayRef<int64_t> valid = view.getValid();
  if (!valid.empty()) {
    if (valid.size() != 2 * sizes.size())
      return op->emitOpError("needs two bounds a dimension where a view has any");
    if (!view.getPadding() || view.getPadding().getType() != type.getElementType())
      return op->emitOpError("needs a padding value of the operand's element type");
    for (size_t i = 0; i < sizes.size(); ++i)
      if (valid[2 * i] < 0 || valid[2 * i + 1] < valid[2 * i] || valid[2 * i + 1] > sizes[i])
        return op->emitOpError() << "has bounds outside of dimension " << i;
  }
  int64_t least = view.getOffset(), most = view.getOffset();
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t begin = valid.empty() ? 0 : valid[2 * i];
    int64_t end = valid.empty() ? sizes[i] : valid[2 * i + 1];
    if (begin >= end)
      return success(); // Nothing is read.
    int64_t step = view.getStrides()[i], low, high;
    if (__builtin_mul_overflow(step, step < 0 ? end - 1 : begin, &low) ||
        __builtin_mul_overflow(step, step < 0 ? begin : end - 1, &high) ||
        __builtin_add_overflow(least, low, &least) || __builtin_add_overflow(most, high, &most))
      return op->emitOpError("has a view past counting");
  }
  if (least < 0 || most >= type.getNumElements())
    return op->emitOpError() << "reads elements " << least << " to " << most << " of " << type;
  return success();
}

static LogicalResult verifySizes(Operation *op, ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(count, size, &count))
      return op->emitOpError("has sizes that cannot be");
  return success();
}

static LogicalResult verifyCount(Operation *op, Value result, ArrayRef<int64_t> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  if (!type.hasStaticShape() || type.getNumElements() != count)
    return op->emitOpError() << "has " << count << " points, which do not make a " << type;
  return success();
}

static Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// The body's argument is one element of the operand, or a row of them.
static LogicalResult verifyArgument(Operation *op, BlockArgument argument, Type element,
                                    std::optional<int64_t> length) {
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  bool fits = type && type.getElementType() == element &&
              (type.getRank() == 0 ||
               (length && type.getRank() == 1 && type.getDimSize(0) == *length));
  if (!fits)
    return op->emitOpError() << "argument " << argument.getArgNumber()
                             << " of the body does not fit its operand";
  return success();
}

static LogicalResult verifyElementBody(Operation *op, Block &body, ValueRange inputs,
                                       ValueRange results, unsigned leading = 0) {
  if (body.getNumArguments() != inputs.size() + leading)
    return op->emitOpError() << "has " << inputs.size() << " operands, but its body takes "
                             << body.getNumArguments() << " arguments";
  for (auto [argument, input] : llvm::zip(body.getArguments().drop_front(leading), inputs))
    if (failed(verifyArgument(op, argument, elementOf(input), std::nullopt)))
      return failure();
  for (Operation &inner : body.without_terminator())
    if (!isa<stablehlo::ConstantOp>(inner) && !isElementwise(inner))
      return op->emitOpError() << "holds " << inner.getName() << ", which is not elementwise";
  auto yield = dyn_cast<tir::YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().size() != results.size())
    return op->emitOpError("must yield an element for each result");
  for (auto [value, result] : llvm::zip(yield.getValues(), results))
    if (cast<RankedTensorType>(value.getType()).getRank() != 0 ||
        elementOf(value) != elementOf(result))
      return op->emitOpError("yields what does not fit its result");
  return success();
}

static SmallVector<int64_t> joined(ArrayRef<int64_t> sizes, std::initializer_list<int64_t> more) {
  SmallVector<int64_t> all(sizes);
  all.append(more);
  return all;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult OnReferenceOp::verify() {
  Block &body = getBody().front();
  if (body.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has a body that does not take its operands");
  auto yield = dyn_cast<tir::YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().getTypes() != getResultTypes())
    return emitOpError("must yield its results");
  return success();
}

LogicalResult MapOp::verify() {
  if (failed(verifySizes(*this, getSizes())))
    return failure();
  if (getViews().size() != getInputs().size())
    return emitOpError("needs a view for each operand");
  for (auto [view, input] : llvm::zip(getViews().getAsRange<ViewAttr>(), getInputs()))
    if (failed(verifyView(*this, view, input, getSizes())))
      return failure();
  for (Value result : getResults())
    if (failed(verifyCount(*this, result, getSizes())))
      return failure();
  return verifyElementBody(*this, getBody().front(), getInputs(), getResults());
}

bool tir::isElementwise(Operation &op) {
  if (op.hasTrait<stablehlo::Elementwise>())
    return true;
  auto bits = dyn_cast<stablehlo::BitcastConvertOp>(op);
  auto from = bits ? cast<RankedTensorType>(bits.getOperand().getType()) : RankedTensorType(), to = bits ? cast<RankedTensorType>(bits.getResult().getType()) : from;
  return bits && from.getElementType().isIntOrFloat() && to.getElementType().isIntOrFloat() &&
         from.getElementTypeBitWidth() == to.getElementTypeBitWidth();
}

Operation &tir::computedBy(Operation &op) {
  auto aside = dyn_cast<OnReferenceOp>(op);
  return aside && !aside.getBody().front().without_terminator().empty() ? aside.getBody().front().front() : op;
}

Operation *tir::simpleCombiner(Region &region) {
  Block &body = region.front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body.without_terminator(), 1))
    return nullptr;
  Operation &op = body.front();
  bool isKnown = isa<stablehlo::AddOp, stablehlo::MultiplyOp, stablehlo::MaximumOp, stablehlo::MinimumOp,
                     stablehlo::AndOp, stablehlo::OrOp>(op);
  Operation *terminator = body.getTerminator();
  if (!isKnown || terminator->getNumOperands() != 1 || terminator->getOperand(0).getDefiningOp() != &op)
    return nullptr;
  Value a = body.getArgument(0), b = body.getArgument(1);
  bool both = (op.getOperand(0) == a && op.getOperand(1) == b) ||
              (op.getOperand(0) == b && op.getOperand(1) == a);
  return both && op.getResult(0).getType() == a.getType() ? &op : nullptr;
}

std::optional<std::string> tir::whyNotInRow(Operation &op, int64_t length) {
  auto isRow = [&](Type type) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    return ranked && ranked.getRank() == 1 && ranked.getDimSize(0) == length;
  };
  auto isElement = [](Type type) {
    auto ranked = dyn_cast<RankedTensorType>(type);
    return ranked && ranked.getRank() == 0;
  };
  for (Type type : op.getOperandTypes())
    if (!isRow(type) && !isElement(type))
      return "has an operand that is neither a row nor an element";
  for (Type type : op.getResultTypes())
    if (!isRow(type) && !isElement(type))
      return "has a result that is neither a row nor an element";
  if (isa<stablehlo::ConstantOp>(op) || isElementwise(op))
    return std::nullopt;
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return isElement(broadcast.getOperand().getType())
               ? std::nullopt
               : std::optional<std::string>("broadcasts a row");
  if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op)) {
    if (reduce.getInputs().size() != 1 || !isRow(reduce.getInputs()[0].getType()) ||
        !simpleCombiner(reduce.getBody()))
      return "is no reduction of one row with a known combiner";
    auto init = reduce.getInitValues()[0].getDefiningOp<stablehlo::ConstantOp>();
    if (!init || !isa<DenseElementsAttr>(init.getValue()))
      return "begins with what is no constant";
    return std::nullopt;
  }
  return "is no operation of a row";
}

/// Whether a view over pieces of rows and what is within them reads rows in step, or one element for each piece.
static bool readsPieces(ViewAttr view, int64_t piece) {
  ArrayRef<int64_t> strides = view.getStrides().take_back(2);
  return view.getValid().empty() && (strides[1] == 0 || strides[0] == strides[1] * piece);
}

LogicalResult RowOp::verify() {
  SmallVector<int64_t> full = joined(getSizes(), {static_cast<int64_t>(getLength())});
  if (failed(verifySizes(*this, full)))
    return failure();
  SmallVector<int64_t> read = full;
  if (std::optional<uint64_t> piece = getPiece()) {
    if (int64_t(*piece) < codegen::kFewestRepeated || *piece >= getLength() || getLength() % *piece != 0)
      return emitOpError("has rows that do not consist of such pieces");
    read = joined(getSizes(), {static_cast<int64_t>(getLength() / *piece), static_cast<int64_t>(*piece)});
  }
  Block &body = getBody().front();
  if (getViews().size() != getInputs().size() || body.getNumArguments() != getInputs().size())
    return emitOpError("needs a view and an argument of the body for each operand");
  for (auto [view, input, argument] :
       llvm::zip(getViews().getAsRange<ViewAttr>(), getInputs(), body.getArguments())) {
    if (failed(verifyArgument(*this, argument, elementOf(input), getLength())))
      return failure();
    bool isRow = cast<RankedTensorType>(argument.getType()).getRank() == 1;
    if (failed(verifyView(*this, view, input, isRow ? ArrayRef(read) : getSizes())))
      return failure();
    if (isRow && getPiece() && !readsPieces(view, static_cast<int64_t>(*getPiece())))
      return emitOpError("reads neither rows in step nor an element for each of their pieces");
  }
  for (Operation &op : body.without_terminator())
    if (auto reason = whyNotInRow(op, getLength()))
      return emitOpError() << "holds " << op.getName() << ", which " << *reason;
  auto yield = dyn_cast<tir::YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().size() != getResults().size())
    return emitOpError("must yield a row or an element for each result");
  for (auto [value, result] : llvm::zip(yield.getValues(), getResults())) {
    bool isRow = cast<RankedTensorType>(value.getType()).getRank() == 1;
    if (elementOf(value) != elementOf(result))
      return emitOpError("yields what does not fit its result");
    if (failed(verifyCount(*this, result, isRow ? ArrayRef(full) : getSizes())))
      return failure();
  }
  return success();
}

LogicalResult tir::ReduceOp::verify() {
  if (failed(verifySizes(*this, getSizes())))
    return failure();
  SmallVector<int64_t> kept;
  for (auto [i, size] : llvm::enumerate(getSizes()))
    if (!llvm::is_contained(getReduced(), int64_t(i)))
      kept.push_back(size);
  if (!llvm::is_sorted(getReduced()) || kept.size() + getReduced().size() != getSizes().size())
    return emitOpError("reduces dimensions that there are not, or not in their order");
  if (!llvm::is_contained({"add", "multiply", "maximum", "minimum", "and", "or"}, getCombiner()))
    return emitOpError() << "has the unknown combiner '" << getCombiner() << "'";
  if (getInit().getType() != elementOf(getResult()))
    return emitOpError("begins with what is no element of its result");
  if (getViews().size() != getInputs().size())
    return emitOpError("needs a view for each operand");
  for (auto [view, input] : llvm::zip(getViews().getAsRange<ViewAttr>(), getInputs()))
    if (failed(verifyView(*this, view, input, getSizes())))
      return failure();
  if (failed(verifyCount(*this, getResult(), kept)))
    return failure();
  return verifyElementBody(*this, getBody().front(), getInputs(), (*this)->getResults());
}

static bool isByte(Type type) { return type.isInteger(8); }

/// Sides are of one type, or integers of 8 bits, of which what is zero is one.
static LogicalResult verifySides(Operation *op, Value left, Value right, std::optional<ArrayRef<int64_t>> zeros) {
  Type types[] = {elementOf(left), elementOf(right)};
  if (types[0] != types[1] && !llvm::all_of(types, isByte))
    return op->emitOpError("multiplies different element types");
  if (!zeros)
    return success();
  if (zeros->size() != 2 || !llvm::all_of(types, isByte))
    return op->emitOpError("takes zero points, one for each side, from integers of 8 bits alone");
  for (auto [type, zero] : llvm::zip(types, *zeros)) {
    int64_t least = type.isUnsignedInteger() ? 0 : -128;
    if (zero < least || zero > least + 255)
      return op->emitOpError("has a zero point that is none of its side's numbers");
  }
  return success();
}

/// The first argument of an epilogue is an element of what was computed.
static LogicalResult verifyEpilogue(Operation *op, Block &body, Value lhs, ValueRange extras) {
  // Sums of bf16 are f32, those of bytes have 32 bits.
  Type sum = elementOf(lhs).isBF16() ? Float32Type::get(op->getContext())
             : isByte(elementOf(lhs)) ? IntegerType::get(op->getContext(), 32)
                                      : elementOf(lhs);
  if (body.getNumArguments() == 0 ||
      failed(verifyArgument(op, body.getArgument(0), sum, std::nullopt)))
    return op->emitOpError("needs a body whose first argument is what was computed");
  return verifyElementBody(op, body, extras, op->getResults(), 1);
}

LogicalResult ProductOp::verify() {
  int64_t rows = getRows(), columns = getColumns(), depth = getDepth();
  SmallVector<int64_t> left = joined(getBatch(), {rows, depth}),
                       right = joined(getBatch(), {depth, columns}),
                       result = joined(getBatch(), {rows, columns}), flat;
  for (ArrayRef<int64_t> sizes : {ArrayRef(left), ArrayRef(right), ArrayRef(result)})
    if (failed(verifySizes(*this, sizes)))
      return failure();
  if (getViews().size() != getNumOperands())
    return emitOpError("needs a view for each operand");
  if (failed(verifySides(*this, getLhs(), getRhs(), getZeros())))
    return failure();
  int64_t allRows = rows;
  for (int64_t size : getBatch())
    allRows *= size;
  flat = {allRows, columns};
  for (auto [i, view] : llvm::enumerate(getViews().getAsRange<ViewAttr>()))
    if (failed(verifyView(*this, view, getOperand(i), i == 0 ? left : i == 1 ? right : flat)))
      return failure();
  if (failed(verifyCount(*this, getResult(), result)))
    return failure();
  return verifyEpilogue(*this, getBody().front(), getLhs(), getExtras());
}

SmallVector<int64_t> AttentionOp::placedOrder() {
  SmallVector<int64_t> order(getBatch().size() + 1);
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    return std::pair(-getPlacing()[a], a) < std::pair(-getPlacing()[b], b);
  });
  return order;
}

LogicalResult AttentionOp::verify() {
  int64_t rows = getRows(), columns = getColumns(), depth = getDepth(), width = getWidth();
  SmallVector<int64_t> query = joined(getBatch(), {rows, depth}),
                       key = joined(getBatch(), {depth, columns}),
                       value = joined(getBatch(), {columns, width}),
                       result = joined(getBatch(), {rows, width}),
                       full = joined(getSizes(), {columns}), placed = joined(getBatch(), {rows});
  for (ArrayRef<int64_t> sizes :
       {ArrayRef(query), ArrayRef(key), ArrayRef(value), ArrayRef(full)})
    if (failed(verifySizes(*this, sizes)))
      return failure();
  Block &body = getBody().front();
  if (getViews().size() != getNumOperands() || body.getNumArguments() != getExtras().size() + 1)
    return emitOpError("needs a view for each operand and an argument of the body for each extra");
  if (elementOf(getQuery()) != elementOf(getKey()) || elementOf(getQuery()) != elementOf(getValue()) ||
      elementOf(getQuery()) != elementOf(getResult()))
    return emitOpError("multiplies different element types");
  auto views = llvm::to_vector(getViews().getAsRange<ViewAttr>());
  if (failed(verifyView(*this, views[0], getQuery(), query)) ||
      failed(verifyView(*this, views[1], getKey(), key)) ||
      failed(verifyView(*this, views[2], getValue(), value)) ||
      failed(verifyCount(*this, getResult(), result)))
    return failure();
  int64_t points = 1, heads = rows;
  for (int64_t size : getSizes())
    points *= size;
  for (int64_t size : getBatch())
    heads *= size;
  if (points != heads)
    return emitOpError("has another number of rows in its loop than in its products");
  auto scores = dyn_cast<RankedTensorType>(body.getArgument(0).getType());
  if (!scores || scores.getRank() != 1 || scores.getDimSize(0) != columns ||
      scores.getElementType() != elementOf(getQuery()))
    return emitOpError("needs a body whose first argument is a row of the first product");
  for (auto [i, extra] : llvm::enumerate(getExtras())) {
    BlockArgument argument = body.getArgument(i + 1);
    if (failed(verifyArgument(*this, argument, elementOf(extra), columns)))
      return failure();
    bool isRow = cast<RankedTensorType>(argument.getType()).getRank() == 1;
    if (failed(verifyView(*this, views[i + 3], extra, isRow ? ArrayRef(full) : getSizes())))
      return failure();
  }
  for (Operation &op : body.without_terminator())
    if (auto reason = whyNotInRow(op, columns))
      return emitOpError() << "holds " << op.getName() << ", which " << *reason;
  auto yield = dyn_cast<tir::YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().size() != 1 || yield.getValues()[0].getType() != scores)
    return emitOpError("must yield one row of the type of the first");
  if (getPlacing().size() != placed.size())
    return emitOpError("needs a stride of its result for each dimension of the batch and for rows");
  int64_t expected = width;
  SmallVector<int64_t> order = placedOrder();
  for (int64_t d : llvm::reverse(order)) {
    if (getPlacing()[d] != expected)
      return emitOpError("places its rows in no order of batch and rows");
    expected *= placed[d];
  }
  return success();
}

SmallVector<int64_t> tir::ConvolutionOp::resultSizes() {
  SmallVector<int64_t> sizes(cast<RankedTensorType>(getResult().getType()).getShape());
  if (getTurned() && sizes.size() > 1)
    std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
  return sizes;
}

LogicalResult tir::ConvolutionOp::verify() {
  auto image = cast<RankedTensorType>(getImage().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  for (RankedTensorType type : {image, result})
    if (!type.hasStaticShape() || (type.getRank() != 4 && type.getRank() != 5) ||
        type.getRank() != image.getRank())
      return emitOpError("works on images or volumes of static shape, of rank 4 or 5");
  auto spatial = size_t(image.getRank() - 2);
  if (getWindow().size() != spatial || getStrides().size() != spatial ||
      getDilations().size() != spatial || getPadding().size() != 2 * spatial ||
      (getSpread() && getSpread()->size() != spatial) ||
      getViews().size() != getExtras().size() + 1)
    return emitOpError() << "needs " << spatial << " sizes, strides and dilations, " << 2 * spatial
                         << " paddings and a view for the kernel and each extra";
  SmallVector<int64_t> sizes = resultSizes();
  auto groups = int64_t(getGroups()), channels = image.getShape().back(), filters = sizes.back();
  if (groups < 1 || channels % groups != 0 || filters % groups != 0 ||
      result.getDimSize(0) != image.getDimSize(0))
    return emitOpError("has channels, filters and groups that do not fit");
  for (unsigned i = 0; i < spatial; ++i) {
    if (getStrides()[i] < 1 || getDilations()[i] < 1 || getWindow()[i] < 1 || spreadOf(i) < 1)
      return emitOpError("needs positive strides, dilations, spreads and window sizes");
    int64_t reach = (getWindow()[i] - 1) * getDilations()[i] + 1;
    int64_t length = image.getDimSize(i + 1);
    length = length == 0 ? 0 : (length - 1) * spreadOf(i) + 1;
    int64_t padded = length + getPadding()[2 * i] + getPadding()[2 * i + 1];
    int64_t expected = padded < reach ? 0 : (padded - reach) / getStrides()[i] + 1;
    if (sizes[i + 1] != expected)
      return emitOpError() << "gives " << expected << " windows, not " << sizes[i + 1];
  }
  if (!getRounded() && failed(verifySides(*this, getImage(), getKernel(), getZeros())))
    return failure();
  for (Value side : {getImage(), getKernel()})
    if (getRounded() && !elementOf(side).isF32() && !elementOf(side).isBF16())
      return emitOpError("rounds numbers that are neither f32 nor bf16");
  auto views = llvm::to_vector(getViews().getAsRange<ViewAttr>());
  SmallVector<int64_t> read(getWindow());
  read.append({channels / groups, filters});
  if (failed(verifyView(*this, views[0], getKernel(), read)))
    return failure();
  int64_t pixels = ShapedType::getNumElements(ArrayRef(sizes).drop_back());
  for (auto [i, extra] : llvm::enumerate(getExtras()))
    if (failed(verifyView(*this, views[i + 1], extra, {pixels, filters})))
      return failure();
  return verifyEpilogue(*this, getBody().front(), getImage(), getExtras());
}

LogicalResult CorrelationOp::verify() {
  auto image = cast<RankedTensorType>(getImage().getType()),
       window = cast<RankedTensorType>(getWindow().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  for (RankedTensorType type : {image, window, result})
    if (!type.hasStaticShape() || type.getRank() != 4 || type.getElementType() != image.getElementType())
      return emitOpError("works on tensors of static shape, rank 4 and one element type");
  if (getStrides().size() != 2 || getDilations().size() != 2 || getPadding().size() != 4)
    return emitOpError("needs 2 strides and dilations and 4 paddings");
  if (image.getDimSize(0) != window.getDimSize(0) || image.getDimSize(3) != result.getDimSize(2) ||
      window.getDimSize(3) != result.getDimSize(3))
    return emitOpError("has images, rows and columns that do not fit");
  for (int i : {0, 1}) {
    if (getStrides()[i] < 1 || getDilations()[i] < 1 || window.getDimSize(i + 1) < 1)
      return emitOpError("needs positive strides, dilations and window sizes");
    int64_t reach = (window.getDimSize(i + 1) - 1) * getDilations()[i] + 1;
    int64_t padded = image.getDimSize(i + 1) + getPadding()[2 * i] + getPadding()[2 * i + 1];
    int64_t expected = padded < reach ? 0 : (padded - reach) / getStrides()[i] + 1;
    if (result.getDimSize(i) != expected)
      return emitOpError() << "gives " << expected << " places, not " << result.getDimSize(i);
  }
  return success();
}

LogicalResult AsOp::verify() {
  auto complex = cast<RankedTensorType>(getOperand().getType()), pairs = cast<RankedTensorType>(getResult().getType());
  if (!isa<ComplexType>(complex.getElementType()))
    std::swap(complex, pairs);
  auto element = dyn_cast<ComplexType>(complex.getElementType());
  SmallVector<int64_t> shape(complex.getShape());
  shape.push_back(2);
  if (!element || pairs.getElementType() != element.getElementType() || pairs.getShape() != ArrayRef(shape))
    return emitOpError("is between complex numbers and pairs of their parts");
  return success();
}

LogicalResult PoolOp::verify() {
  auto image = cast<RankedTensorType>(getImage().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  if (!image.hasStaticShape() || image.getRank() != 4 || result.getRank() != 4 ||
      image.getElementType() != result.getElementType())
    return emitOpError("works on tensors of static shape and rank 4");
  if (getCombiner() != "maximum" && getCombiner() != "add")
    return emitOpError() << "has the unknown combiner '" << getCombiner() << "'";
  if (!isa<FloatType>(image.getElementType()) && !(image.getElementType().isInteger(8) && getCombiner() == "maximum"))
    return emitOpError("combines floats, or finds the greatest of bytes");
  if (getWindow().size() != 2 || getStrides().size() != 2 || getPadding().size() != 4)
    return emitOpError("needs a window and strides of 2 sizes and 4 paddings");
  for (int i : {0, 1}) {
    if (getStrides()[i] < 1 || getWindow()[i] < 1)
      return emitOpError("needs positive strides and windows");
    int64_t padded = image.getDimSize(i + 1) + getPadding()[2 * i] + getPadding()[2 * i + 1];
    int64_t expected = padded < getWindow()[i] ? 0 : (padded - getWindow()[i]) / getStrides()[i] + 1;
    if (result.getDimSize(i + 1) != expected)
      return emitOpError() << "gives " << expected << " windows, not " << result.getDimSize(i + 1);
  }
  if (image.getDimSize(0) != result.getDimSize(0) || image.getDimSize(3) != result.getDimSize(3))
    return emitOpError("keeps batch and channels");
  return success();
}
