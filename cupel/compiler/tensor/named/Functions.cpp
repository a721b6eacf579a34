#include "cupel/compiler/tensor/named/Functions.h"

#include <cmath>

using namespace mlir;

namespace cupel::tir {

namespace {

/// Operations of one function (error functions are polynomials of some fifty), and values in its way that it is tried from.
constexpr size_t kMostInFunction = 128;
constexpr int kMostCuts = 8;
/// Of a function of rows, operations behind its last reduction.
constexpr size_t kMostBehindRows = 24;
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

double compared(stablehlo::ComparisonDirection direction, double a, double b) {
  switch (direction) {
  case stablehlo::ComparisonDirection::EQ: return a == b;
  case stablehlo::ComparisonDirection::NE: return a != b;
  case stablehlo::ComparisonDirection::GE: return a >= b;
  case stablehlo::ComparisonDirection::GT: return a > b;
  case stablehlo::ComparisonDirection::LE: return a <= b;
  case stablehlo::ComparisonDirection::LT: return a < b;
  }
  return std::nan("");
}

/// What an operation makes of up to three numbers.
using Rule = double (*)(Operation *op, double a, double b, double c);

/// Those that are known here.
const llvm::DenseMap<TypeID, Rule> &rules() {
  static const llvm::DenseMap<TypeID, Rule> all = [] {
    llvm::DenseMap<TypeID, Rule> made;
    auto add = [&]<typename Op>(Rule rule) { made[TypeID::get<Op>()] = rule; };
#define RULE(OP, VALUE) add.operator()<stablehlo::OP>([]([[maybe_unused]] Operation *op, [[maybe_unused]] double a, [[maybe_unused]] double b, [[maybe_unused]] double c) -> double { return VALUE; })
    RULE(AddOp, a + b);
    RULE(SubtractOp, a - b);
    RULE(MultiplyOp, a * b);
    RULE(DivideOp, a / b);
    RULE(PowerOp, std::pow(a, b));
    RULE(MaximumOp, std::max(a, b));
    RULE(MinimumOp, std::min(a, b));
    RULE(ClampOp, std::min(std::max(b, a), c));
    RULE(SelectOp, a != 0 ? b : c);
    RULE(CompareOp, compared(cast<stablehlo::CompareOp>(op).getComparisonDirection(), a, b));
    RULE(NegateOp, -a);
    RULE(AbsOp, std::fabs(a));
    RULE(SignOp, a > 0 ? 1.0 : a < 0 ? -1.0 : a);
    RULE(ExponentialOp, std::exp(a));
    RULE(ExponentialMinusOneOp, std::expm1(a));
    RULE(LogOp, std::log(a));
    RULE(LogPlusOneOp, std::log1p(a));
    RULE(LogisticOp, 1 / (1 + std::exp(-a)));
    RULE(TanhOp, std::tanh(a));
    RULE(SqrtOp, std::sqrt(a));
    RULE(RsqrtOp, 1 / std::sqrt(a));
    RULE(ConvertOp, a);
    RULE(ReducePrecisionOp, a); // Roundings make no other function.
#undef RULE
    return made;
  }();
  return all;
}

bool isKnown(Operation *op) { return rules().contains(op->getName().getTypeID()); }

std::optional<double> applied(Operation *op, ArrayRef<double> given) {
  Rule rule = rules().lookup(op->getName().getTypeID());
  if (!rule)
    return std::nullopt;
  return rule(op, given[0], given.size() > 1 ? given[1] : 0, given.size() > 2 ? given[2] : 0);
}

bool isReal(Value value) {
  Type element = cast<RankedTensorType>(value.getType()).getElementType();
  return isa<FloatType>(element) || element.isInteger(1);
}

/// All that an operation comes from, between which and it are those that were taken.
class FurtherValues {
public:
  explicit FurtherValues(Operation *root) : block(root->getBlock()) { open.insert(root->getResult(0)); }

  void insert(Value value) { open.insert(value); }
  size_t size() const { return open.size(); }
  Value any() const { return open[0]; }

  /// The last operation that makes one of them, which is one no longer; null if there is none in the block, or if it has several results.
  Operation *takeLast() {
    Operation *last = nullptr;
    for (Value value : open)
      if (Operation *op = value.getDefiningOp(); op && op->getBlock() == block && (!last || last->isBeforeInBlock(op)))
        last = op;
    if (!last || last->getNumResults() != 1)
      return nullptr;
    open.remove(last->getResult(0));
    return last;
  }

private:
  Block *block;
  llvm::SmallSetVector<Value, 8> open;
};

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

bool FunctionOfRows::takeRows(stablehlo::ReduceOp op) {
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
bool FunctionOfRows::isBackToRows(Operation *op) const {
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

bool FunctionOfRows::givesElement() const {
  return rowLength != 0 && countOf(root->getResult(0)) * rowLength == countOf(leaf);
}

std::optional<FusionMembers> FunctionOfRows::find(Operation *root, llvm::function_ref<bool(const FunctionOfRows &)> isIt) {
  if (root->getNumResults() != 1 || !isa<RankedTensorType>(root->getResult(0).getType()))
    return std::nullopt;
  FunctionOfRows one;
  one.root = root;
  FurtherValues open(root);
  for (int cuts = 0; cuts < kMostCuts && one.members.size() < kMostInFunction;) {
    Operation *last = open.takeLast();
    if (!last)
      return std::nullopt;
    bool isReduction = isSimpleReduction(last);
    bool isInside = isReduction ? one.takeRows(cast<stablehlo::ReduceOp>(last))
                                : (isKnown(last) && llvm::all_of(last->getOperands(), isReal)) ||
                                      isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp>(last);
    if (!isInside || (one.rowLength == 0 && one.members.size() >= kMostBehindRows))
      return std::nullopt;
    one.members.push_back(last);
    for (Value operand : isReduction ? last->getOperands().take_front(1) : last->getOperands())
      if (TypedAttr number = splatOf(operand))
        one.constants.push_back(numberOf(number));
      else
        open.insert(operand);
    if (open.size() == 0)
      return std::nullopt;
    if (open.size() != 1)
      continue;
    ++cuts;
    one.leaf = open.any();
    if (one.rowLength == 0 || dimensionsOf(one.leaf) != ArrayRef(one.shape))
      continue;
    if (isIt(one))
      return one.members;
  }
  return std::nullopt;
}

std::optional<std::vector<double>> FunctionOfRows::at(ArrayRef<double> elements) const {
  llvm::DenseMap<Value, Numbers> known;
  known[leaf] = Numbers(elements.begin(), elements.end());
  // A row has as many numbers as it is long, an element one.
  auto isRow = [&](const Numbers &numbers) { return numbers.size() == size_t(rowLength); };
  for (Operation *op : llvm::reverse(members)) {
    Numbers made;
    if (isa<stablehlo::ReshapeOp>(op)) {
      made = known.lookup(op->getOperand(0));
      if (isRow(made))
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

std::optional<FusionMembers> matchNormalised(Operation *op, bool centred) {
  if (!isa<stablehlo::DivideOp, stablehlo::MultiplyOp>(op)) // By the deviation, or times what that divides one by.
    return std::nullopt;
  return FunctionOfRows::find(op, [centred](const FunctionOfRows &function) {
    if (function.givesElement())
      return false;
    std::vector<double> row = sampleRow(function.length());
    std::optional<std::vector<double>> made = function.at(row);
    if (!made)
      return false;
    double centre = 0, squares = 0;
    for (double x : row)
      centre += centred ? x / double(row.size()) : 0;
    for (double x : row)
      squares += (x - centre) * (x - centre);
    SmallVector<double> epsilons(function.numbers());
    epsilons.push_back(0);
    return llvm::any_of(epsilons, [&](double epsilon) {
      if (!(epsilon >= 0 && epsilon < 0.1))
        return false;
      std::vector<double> expected;
      for (double x : row)
        expected.push_back((x - centre) / std::sqrt(squares / double(row.size()) + epsilon));
      return areNear(*made, expected);
    });
  });
}

std::vector<double> sampleRow(int64_t length) {
  std::vector<double> row;
  for (int64_t i = 0; i < length; ++i)
    row.push_back(0.3 + 1.7 * std::sin(0.7 + 1.3 * double(i) + 0.01 * double(i % 97)));
  return row;
}

namespace {

constexpr double kPoints[] = {1.3, -2.2, -7.5, -4.25, -3.0, -1.1, -0.6, -0.1, 0.15, 0.5, 0.9, 2.6, 3.4, 5.2, 6.5, 9.0};
/// Two points tell most functions apart.
constexpr size_t kFewPoints = 2;

bool agrees(ArrayRef<double> made, double (*wanted)(double)) {
  SmallVector<double> expected;
  for (double point : ArrayRef(kPoints).take_front(made.size()))
    expected.push_back(wanted(point));
  return areNear(made, expected);
}

} // namespace

ElementFunctions::ElementFunctions(Operation *root) {
  if (root->getNumResults() != 1 || !isFusible(root) || !isReal(root->getResult(0)))
    return;
  FurtherValues open(root);
  while (cuts.size() < size_t(kMostCuts) && steps.size() < kMostInFunction) {
    Operation *last = open.takeLast();
    bool isInside = last && ((isKnown(last) && llvm::all_of(last->getOperands(), isReal)) || isa<stablehlo::ReshapeOp>(last));
    if (!isInside)
      return;
    Step step{last, {}};
    for (Value operand : last->getOperands())
      if (TypedAttr number = splatOf(operand)) {
        step.operands.push_back({Value(), numberOf(number)});
      } else {
        step.operands.push_back({operand});
        open.insert(operand);
      }
    places[last->getResult(0)] = steps.size();
    steps.push_back(std::move(step));
    if (open.size() != 1) {
      if (open.size() == 0)
        return;
      continue;
    }
    std::optional<SmallVector<double, 2>> results = at(ArrayRef(kPoints).take_front(kFewPoints), steps.size());
    if (!results)
      return; // What holds these holds the unknown operation too.
    cuts.push_back({steps.size(), std::move(*results)});
  }
}

std::optional<SmallVector<double, 2>> ElementFunctions::at(ArrayRef<double> points, size_t count) const {
  SmallVector<double, 2> results;
  SmallVector<double> values(count);
  for (double point : points) {
    for (size_t i = count; i-- > 0;) {
      SmallVector<double, 3> given;
      for (const Operand &operand : steps[i].operands) {
        auto place = operand.value ? places.find(operand.value) : places.end();
        given.push_back(!operand.value ? operand.number : place != places.end() && place->second < count ? values[place->second] : point);
      }
      std::optional<double> result = isa<stablehlo::ReshapeOp>(steps[i].op) ? given[0] : applied(steps[i].op, given);
      if (!result)
        return std::nullopt;
      values[i] = *result;
    }
    results.push_back(values[0]);
  }
  return results;
}

std::optional<FusionMembers> ElementFunctions::match(double (*wanted)(double)) const {
  for (const Cut &cut : cuts) {
    if (!agrees(cut.results, wanted))
      continue;
    auto results = at(kPoints, cut.count);
    if (!results || !agrees(*results, wanted))
      continue;
    FusionMembers members;
    for (const Step &step : ArrayRef(steps).take_front(cut.count))
      members.push_back(step.op);
    return members;
  }
  return std::nullopt;
}

} // namespace cupel::tir
