#include "cupel/compiler/tensor/named/Functions.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

namespace {

/// Operations of one function (error functions are polynomials of some fifty), and values in its way that it is tried from.
constexpr size_t kMostInFunction = 128;
constexpr int kMostCuts = 8;
/// Longer rows are not evaluated.
constexpr int64_t kLongestRow = 1 << 16;

using Numbers = std::vector<double>;

ArrayRef<int64_t> dimensionsOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

double numberOf(TypedAttr attribute) {
  if (auto real = dyn_cast<FloatAttr>(attribute))
    return real.getValueAsDouble();
  auto integer = dyn_cast<IntegerAttr>(attribute);
  return integer ? double(integer.getValue().getSExtValue()) : std::nan("");
}

std::optional<double> applied(Operation *op, ArrayRef<double> given) {
  double a = given[0], b = given.size() > 1 ? given[1] : 0, c = given.size() > 2 ? given[2] : 0;
  auto compared = [&](stablehlo::ComparisonDirection direction) -> double {
    switch (direction) {
    case stablehlo::ComparisonDirection::EQ: return a == b;
    case stablehlo::ComparisonDirection::NE: return a != b;
    case stablehlo::ComparisonDirection::GE: return a >= b;
    case stablehlo::ComparisonDirection::GT: return a > b;
    case stablehlo::ComparisonDirection::LE: return a <= b;
    case stablehlo::ComparisonDirection::LT: return a < b;
    }
    return std::nan("");
  };
  return llvm::TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](stablehlo::AddOp) { return a + b; })
      .Case([&](stablehlo::SubtractOp) { return a - b; })
      .Case([&](stablehlo::MultiplyOp) { return a * b; })
      .Case([&](stablehlo::DivideOp) { return a / b; })
      .Case([&](stablehlo::PowerOp) { return std::pow(a, b); })
      .Case([&](stablehlo::MaximumOp) { return std::max(a, b); })
      .Case([&](stablehlo::MinimumOp) { return std::min(a, b); })
      .Case([&](stablehlo::ClampOp) { return std::min(std::max(b, a), c); })
      .Case([&](stablehlo::SelectOp) { return a != 0 ? b : c; })
      .Case([&](stablehlo::CompareOp compare) { return compared(compare.getComparisonDirection()); })
      .Case([&](stablehlo::NegateOp) { return -a; })
      .Case([&](stablehlo::AbsOp) { return std::fabs(a); })
      .Case([&](stablehlo::SignOp) { return a > 0 ? 1.0 : a < 0 ? -1.0 : a; })
      .Case([&](stablehlo::ExponentialOp) { return std::exp(a); })
      .Case([&](stablehlo::ExponentialMinusOneOp) { return std::expm1(a); })
      .Case([&](stablehlo::LogOp) { return std::log(a); })
      .Case([&](stablehlo::LogPlusOneOp) { return std::log1p(a); })
      .Case([&](stablehlo::LogisticOp) { return 1 / (1 + std::exp(-a)); })
      .Case([&](stablehlo::TanhOp) { return std::tanh(a); })
      .Case([&](stablehlo::SqrtOp) { return std::sqrt(a); })
      .Case([&](stablehlo::RsqrtOp) { return 1 / std::sqrt(a); })
      .Case([&](stablehlo::ConvertOp) { return a; })
      .Case([&](stablehlo::ReducePrecisionOp) { return a; }) // Roundings make no other function.
      .Default([](Operation *) { return std::nullopt; });
}

bool isReal(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return isa<FloatType>(element) || element.isInteger(1);
}

std::optional<double> combined(Operation *combiner, ArrayRef<double> row) {
  double result = row[0];
  for (double one : row.drop_front())
    if (isa<stablehlo::AddOp>(combiner))
      result += one;
    else if (isa<stablehlo::MaximumOp>(combiner))
      result = std::max(result, one);
    else
      return std::nullopt;
  return result;
}

} // namespace

bool FunctionOfOne::takeRows(stablehlo::ReduceOp op) {
  ArrayRef<int64_t> from = dimensionsOf(op.getInputs()[0]);
  if (rowLength != 0)
    return from == ArrayRef(shape) && op.getDimensions() == ArrayRef(reduced);
  if (!seedsRow(op) || countOf(op.getInputs()[0]) / countOf(op.getResult(0)) > kLongestRow)
    return false;
  rowLength = countOf(op.getInputs()[0]) / countOf(op.getResult(0));
  shape.assign(from.begin(), from.end());
  reduced.assign(op.getDimensions().begin(), op.getDimensions().end());
  return true;
}

/// Of a broadcast of an element for each row: whether each goes to its own row. Dimensions that were reduced are gone, or of size one.
bool FunctionOfOne::isBackToRows(Operation *op) const {
  auto broadcast = cast<stablehlo::BroadcastInDimOp>(op);
  if (dimensionsOf(broadcast.getResult()) != ArrayRef(shape))
    return false;
  ArrayRef<int64_t> from = dimensionsOf(broadcast.getOperand());
  for (auto [i, d] : llvm::enumerate(broadcast.getBroadcastDimensions())) {
    bool isReduced = llvm::is_contained(reduced, d);
    if (from[i] != (isReduced ? 1 : shape[d]))
      return false;
  }
  for (auto [d, size] : llvm::enumerate(shape))
    if (size != 1 && !llvm::is_contained(reduced, int64_t(d)) &&
        !llvm::is_contained(broadcast.getBroadcastDimensions(), int64_t(d)))
      return false;
  return true;
}

bool FunctionOfOne::givesElement() const {
  return rowLength != 0 && countOf(root->getResult(0)) * rowLength == countOf(leaf);
}

std::optional<FusionMembers> FunctionOfOne::find(Operation *root, bool rows,
                                                 llvm::function_ref<bool(const FunctionOfOne &)> isIt) {
  if (root->getNumResults() != 1 || !isa<RankedTensorType>(root->getResult(0).getType()))
    return std::nullopt;
  FunctionOfOne one;
  one.root = root;
  llvm::SmallSetVector<Value, 8> open; // All that the root comes from, between which and it are the members.
  open.insert(root->getResult(0));
  Block *block = root->getBlock();
  for (int cuts = 0; cuts < kMostCuts && one.members.size() < kMostInFunction;) {
    Operation *last = nullptr;
    for (Value value : open)
      if (Operation *op = value.getDefiningOp(); op && op->getBlock() == block && (!last || last->isBeforeInBlock(op)))
        last = op;
    if (!last || last->getNumResults() != 1)
      return std::nullopt;
    bool isReduction = rows && isSimpleReduction(last);
    bool isInside = isReduction ? one.takeRows(cast<stablehlo::ReduceOp>(last))
                                : (isFusible(last) && llvm::all_of(last->getOperands(), isReal)) || isa<stablehlo::ReshapeOp>(last) ||
                                      (rows && isa<stablehlo::BroadcastInDimOp>(last));
    if (!isInside)
      return std::nullopt;
    open.remove(last->getResult(0));
    one.members.push_back(last);
    for (Value operand : isReduction ? last->getOperands().take_front(1) : last->getOperands())
      if (TypedAttr number = splatOf(operand))
        one.constants.push_back(numberOf(number));
      else
        open.insert(operand);
    if (open.empty())
      return std::nullopt;
    if (open.size() != 1)
      continue;
    ++cuts;
    one.leaf = open[0];
    if (rows && (one.rowLength == 0 || dimensionsOf(one.leaf) != ArrayRef(one.shape)))
      continue;
    if (isIt(one))
      return one.members;
  }
  return std::nullopt;
}

std::optional<std::vector<double>> FunctionOfOne::at(ArrayRef<double> elements) const {
  llvm::DenseMap<Value, Numbers> known;
  known[leaf] = Numbers(elements.begin(), elements.end());
  // A row has as many numbers as it is long, an element one.
  auto isRow = [&](const Numbers &numbers) { return rowLength == 0 || numbers.size() == size_t(rowLength); };
  for (Operation *op : llvm::reverse(members)) {
    Numbers made;
    if (isa<stablehlo::ReshapeOp>(op)) {
      made = known.lookup(op->getOperand(0));
      if (rowLength != 0 && isRow(made))
        return std::nullopt; // Rows would be others.
    } else if (isa<stablehlo::BroadcastInDimOp>(op)) {
      made = known.lookup(op->getOperand(0));
      bool isKept = countOf(op->getOperand(0)) == countOf(op->getResult(0)); // With dimensions of size one beside.
      if (isRow(made) || (!isKept && !isBackToRows(op)))
        return std::nullopt;
    } else if (auto reduction = dyn_cast<stablehlo::ReduceOp>(op)) {
      Numbers row = known.lookup(op->getOperand(0));
      std::optional<double> result =
          isRow(row) ? combined(simpleCombiner(reduction.getBody()), row) : std::nullopt;
      if (!result)
        return std::nullopt;
      made = {*result};
    } else {
      SmallVector<Numbers> operands;
      size_t count = 1;
      for (Value operand : op->getOperands()) {
        TypedAttr number = splatOf(operand);
        operands.push_back(number ? Numbers{numberOf(number)} : known.lookup(operand));
        count = std::max(count, operands.back().size());
      }
      for (size_t i = 0; i < count; ++i) {
        SmallVector<double> given;
        for (const Numbers &operand : operands)
          given.push_back(operand[operand.size() == 1 ? 0 : i]);
        std::optional<double> result = applied(op, given);
        if (!result)
          return std::nullopt;
        made.push_back(*result);
      }
    }
    if (made.empty())
      return std::nullopt;
    known[op->getResult(0)] = std::move(made);
  }
  return known.lookup(root->getResult(0));
}

bool areNear(ArrayRef<double> some, ArrayRef<double> others) {
  constexpr double kNear = 1e-5;
  if (some.size() != others.size())
    return false;
  double largest = 0;
  for (double one : others)
    largest = std::max(largest, std::fabs(one));
  for (auto [one, other] : llvm::zip(some, others))
    if (!(std::fabs(one - other) <= kNear * (std::fabs(other) + 1e-2 * largest)))
      return false;
  return true;
}

std::vector<double> sampleRow(int64_t length) {
  std::vector<double> row;
  for (int64_t i = 0; i < length; ++i)
    row.push_back(0.3 + 1.7 * std::sin(0.7 + 1.3 * double(i) + 0.01 * double(i % 97)));
  return row;
}

std::optional<FusionMembers> matchElements(Operation *op, double (*wanted)(double)) {
  static constexpr double kPoints[] = {1.3, -2.2, -7.5, -4.25, -3.0, -1.1, -0.6, -0.1, 0.15, 0.5, 0.9, 2.6, 3.4, 5.2, 6.5, 9.0};
  if (!isFusible(op) || !isReal(op->getResult(0)))
    return std::nullopt;
  std::vector<double> expected;
  for (double point : kPoints)
    expected.push_back(wanted(point));
  return FunctionOfOne::find(op, /*rows=*/false, [&](const FunctionOfOne &function) {
    // Two points tell most of them apart.
    auto agrees = [&](size_t count) {
      std::optional<std::vector<double>> made = function.at(ArrayRef(kPoints).take_front(count));
      return made && areNear(*made, ArrayRef(expected).take_front(count));
    };
    return agrees(2) && agrees(expected.size());
  });
}

} // namespace cupel::tir
