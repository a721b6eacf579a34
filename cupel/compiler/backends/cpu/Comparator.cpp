#include "cupel/compiler/backends/cpu/Comparator.h"

namespace cupel::compiler {

using namespace mlir;
using Direction = stablehlo::ComparisonDirection;

/// In the comparator, or around it: then it is what the launch reads.
static bool isConstant(Value value, llvm::function_ref<bool(const APFloat &)> holds) {
  Attribute number;
  if (auto constant = value.getDefiningOp<stablehlo::ConstantOp>()) {
    number = constant.getValue();
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto launch = dyn_cast<dev::LaunchOp>(argument.getOwner()->getParentOp());
    if (auto read = launch ? dev::rootOf(launch.getReads()[argument.getArgNumber()])
                                 .getDefiningOp<dev::ConstantOp>()
                           : dev::ConstantOp())
      number = read.getValue();
  }
  auto dense = dyn_cast_or_null<DenseFPElementsAttr>(number);
  return dense && dense.isSplat() && holds(dense.getSplatValue<APFloat>());
}

static bool isCompareWith(Value value, Value x, Direction direction,
                          llvm::function_ref<bool(Value)> isOther) {
  auto compare = value.getDefiningOp<stablehlo::CompareOp>();
  return compare && compare.getComparisonDirection() == direction && compare.getLhs() == x &&
         isOther(compare.getRhs()) &&
         compare.getCompareType() != stablehlo::ComparisonType::TOTALORDER;
}

/// The value x of which this is x with its zeros and NaNs made one: select(x != x, NaN, select(x == 0, 0, x)), which is what
/// JAX compares. Null if it is something else.
static Value canonicalized(Value value) {
  auto outer = value.getDefiningOp<stablehlo::SelectOp>();
  auto inner = outer ? outer.getOnFalse().getDefiningOp<stablehlo::SelectOp>() : stablehlo::SelectOp();
  if (!inner)
    return nullptr;
  Value x = inner.getOnFalse();
  auto isZero = [](Value other) {
    return isConstant(other, [](const APFloat &number) { return number.isPosZero(); });
  };
  bool isNan = isCompareWith(outer.getPred(), x, Direction::NE, [&](Value other) { return other == x; }) &&
               isConstant(outer.getOnTrue(),
                          [](const APFloat &number) { return number.isNaN() && !number.isNegative(); });
  return isNan && isCompareWith(inner.getPred(), x, Direction::EQ, isZero) && isZero(inner.getOnTrue()) ? x : Value();
}

/// What a comparison says of elements that are in order (-1, 0, 1), or of which one is NaN.
static bool holds(Direction direction, std::optional<int> order) {
  if (!order)
    return direction == Direction::NE;
  switch (direction) {
  case Direction::EQ: return *order == 0;
  case Direction::NE: return *order != 0;
  case Direction::LT: return *order < 0;
  case Direction::LE: return *order <= 0;
  case Direction::GT: return *order > 0;
  case Direction::GE: return *order >= 0;
  }
  llvm_unreachable("there are six");
}

Comparator::Comparator(Value result, unsigned count,
                       llvm::function_ref<std::optional<ComparedElement>(Value)> elementOf)
    : result(result), operands(count) {
  result.getParentRegion()->walk([&](Operation *op) {
    for (Value value : op->getOperands()) {
      Value x = canonicalized(value);
      if (std::optional<ComparedElement> element = elementOf(x ? x : value)) {
        elements[value] = *element;
        if (x)
          canonical.insert(value);
      }
    }
  });
  known = look(result);
  for (const Operand &one : operands)
    known &= !(one.isByBits && one.isByNumber);
}

std::optional<Comparator::Compared> Comparator::comparedBy(Operation *op) const {
  auto compare = cast<stablehlo::CompareOp>(op);
  auto left = elements.find(compare.getLhs()), right = elements.find(compare.getRhs());
  bool isTotal = compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
  if (left == elements.end() || right == elements.end() || left->second.operand != right->second.operand)
    return std::nullopt;
  if (isTotal && canonical.contains(compare.getLhs()) != canonical.contains(compare.getRhs()))
    return std::nullopt;
  return Compared{left->second, right->second, isTotal};
}

bool Comparator::look(Value value) {
  if (!seen.insert(value).second)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !getElementTypeOrSelf(value.getType()).isInteger(1))
    return false;
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    std::optional<Compared> compared = comparedBy(op);
    Type element = getElementTypeOrSelf(compare.getLhs().getType());
    if (!compared || !isa<FloatType, IntegerType>(element))
      return false;
    Operand &operand = operands[compared->left.operand];
    operand.isUsed = true;
    operand.isFloat = isa<FloatType>(element);
    bool isByBits = operand.isFloat && compared->isTotal && !canonical.contains(compare.getLhs());
    (isByBits ? operand.isByBits : operand.isByNumber) = true;
    return true;
  }
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return isa<DenseElementsAttr>(constant.getValue()) && cast<DenseElementsAttr>(constant.getValue()).isSplat();
  return isa<stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp, stablehlo::NotOp, stablehlo::SelectOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return look(operand); });
}

ArrayRef<Relation> Comparator::relationsOf(unsigned operand) const {
  static constexpr Relation kAll[kRelations] = {Relation::Before,     Relation::Equal,       Relation::After,
                                                Relation::FirstIsNan, Relation::SecondIsNan, Relation::BothAreNan};
  bool hasNan = operands[operand].isFloat && !operands[operand].isByBits;
  return ArrayRef(kAll).take_front(hasNan ? kRelations : 3);
}

bool Comparator::evaluate(Value value, ArrayRef<Relation> relations) const {
  Operation *op = value.getDefiningOp();
  auto operand = [&](unsigned i) { return evaluate(op->getOperand(i), relations); };
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    Compared compared = *comparedBy(op);
    Relation relation = relations[compared.left.operand];
    // NaN of the left and of the right side, and their order where neither is.
    auto isNan = [&](bool isSecond) {
      return relation == Relation::BothAreNan || relation == (isSecond ? Relation::SecondIsNan : Relation::FirstIsNan);
    };
    bool left = isNan(compared.left.isSecond), right = isNan(compared.right.isSecond);
    std::optional<int> order;
    if (left || right) {
      if (compared.isTotal) // Canonical ones: one NaN above everything.
        order = int(left) - int(right);
    } else if (compared.left.isSecond == compared.right.isSecond) {
      order = 0;
    } else {
      order = relation == Relation::Before ? -1 : relation == Relation::After ? 1 : 0;
      if (compared.left.isSecond)
        order = -*order;
    }
    return holds(compare.getComparisonDirection(), order);
  }
  if (auto constant = dyn_cast<stablehlo::ConstantOp>(op))
    return cast<DenseElementsAttr>(constant.getValue()).getSplatValue<bool>();
  if (isa<stablehlo::AndOp>(op))
    return operand(0) && operand(1);
  if (isa<stablehlo::OrOp>(op))
    return operand(0) || operand(1);
  if (isa<stablehlo::XorOp>(op))
    return operand(0) != operand(1);
  if (isa<stablehlo::NotOp>(op))
    return !operand(0);
  return operand(0) ? operand(1) : operand(2);
}

namespace {

/// Finds the first key, then the ones that decide where it finds elements equal.
class FindOrders {
public:
  FindOrders(const Comparator &comparator, unsigned operands)
      : comparator(comparator), relations(operands, Relation::Equal) {
    for (unsigned k = 0; k < operands; ++k)
      if (comparator.uses(k))
        left.push_back(k);
  }

  std::vector<ElementOrder> run() {
    constexpr size_t kMost = 4; // Tables have a factor of six for each.
    if (left.size() > kMost)
      return {};
    while (!left.empty()) {
      std::optional<ElementOrder> next;
      for (unsigned k : left)
        if ((next = asFirst(k)))
          break;
      if (!next)
        return {};
      orders.push_back(*next);
      llvm::erase(left, next->operand);
      relations[next->operand] = Relation::Equal;
    }
    // Of equal elements neither comes first.
    return comparator(relations) ? std::vector<ElementOrder>() : orders;
  }

private:
  /// What the comparator says for every relation of the operands that are left but this one.
  std::vector<bool> table(unsigned operand, Relation relation) {
    std::vector<bool> values;
    relations[operand] = relation;
    std::function<void(size_t)> fill = [&](size_t at) {
      if (at == left.size())
        return values.push_back(comparator(relations));
      if (left[at] == operand)
        return fill(at + 1);
      for (Relation one : comparator.relationsOf(left[at])) {
        relations[left[at]] = one;
        fill(at + 1);
      }
    };
    fill(0);
    return values;
  }
  /// Where nothing but this operand's relation matters.
  std::optional<bool> decided(unsigned operand, Relation relation) {
    std::vector<bool> values = table(operand, relation);
    return llvm::all_equal(values) ? std::optional<bool>(values[0]) : std::nullopt;
  }

  std::optional<ElementOrder> asFirst(unsigned operand) {
    std::optional<bool> before = decided(operand, Relation::Before), after = decided(operand, Relation::After);
    if (!before || !after || *before == *after)
      return std::nullopt;
    ElementOrder order{operand, *after, comparator.relationsOf(operand).size() == kRelations, *after};
    if (!order.isCanonical)
      return order;
    std::optional<bool> first = decided(operand, Relation::FirstIsNan), second = decided(operand, Relation::SecondIsNan);
    if (!first || !second || (*first && *second))
      return std::nullopt;
    if (*first == *second)
      return order; // It says nothing of NaN.
    if (table(operand, Relation::BothAreNan) != table(operand, Relation::Equal))
      return std::nullopt;
    order.nansFirst = *first;
    return order;
  }

  const Comparator &comparator;
  SmallVector<unsigned> left;
  SmallVector<Relation> relations;
  std::vector<ElementOrder> orders;
};

} // namespace

std::vector<ElementOrder> ordersOf(const Comparator &comparator, unsigned operands) {
  if (!comparator.isKnown())
    return {};
  return FindOrders(comparator, operands).run();
}

} // namespace cupel::compiler
