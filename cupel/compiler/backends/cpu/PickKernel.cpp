#include "cupel/compiler/backends/cpu/PickKernel.h"

#include "cupel/compiler/backends/cpu/ElementKeys.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Keys.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace cupel::compiler {

using namespace mlir;

namespace {

struct PickedLines {
  int64_t outer = 1, count = 1, inner = 1; // Elements of a line lie `inner` apart.
};

/// What is picked where elements are equal, and whether the initial value is then.
struct Ties {
  bool isLast = false;
  bool picksFirst[3] = {}; // By the relation of the places: before, equal, after.
  /// What is compared with NaN goes, whichever of the two it is: `first >= second ? first : second`. Then a line begins
  /// anew at its last NaN.
  bool restartsAtNan = false;
};

/// Which reads and results are the elements and which the places.
struct PickedOperands {
  unsigned elements, initialElement, initialPlace;
  unsigned resultOfElements, resultOfPlaces;
  int64_t elementBytes, placeBytes;
  bool isPlaceSigned;
};

/// The first (or last) element of each line whose key is the least.
template <typename Wide> class PickKernel final : public Kernel {
public:
  PickKernel(PickedLines lines, std::unique_ptr<const ElementKeys> keys, Ties ties, PickedOperands operands)
      : lines(lines), keys(std::move(keys)), ties(ties), operands(operands) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    constexpr double kNanosecondsPerElement = 0.4;
    const std::byte *data = reads[operands.elements];
    if (std::optional<kernels::FloatOrder> order = keys->floatOrder();
        order && lines.inner == 1 && lines.count > 0) {
      constexpr double kNanosecondsPerLine = 15, kNanosecondsPerFloat = 0.1;
      double one = kNanosecondsPerLine + double(lines.count) * kNanosecondsPerFloat;
      int64_t perPart = std::min(kernelPool().unitsPerPart(lines.outer, one), kFloatLines);
      kernelPool().parallelFor(
          (lines.outer + perPart - 1) / perPart, one * double(perPart), [&](int64_t part) {
            ofFloats(*order, part * perPart, std::min(perPart, lines.outer - part * perPart), data,
                     reads, writes);
          });
      return {};
    }
    if (lines.inner == 1) {
      kernelPool().parallelFor(lines.outer, double(lines.count) * kNanosecondsPerElement,
                               [&](int64_t line) {
                                 bool hasRestarted = false;
                                 int64_t place = bestOfLine(data, line * lines.count, hasRestarted);
                                 finish(line, place, hasRestarted, data, reads, writes);
                               });
      return {};
    }
    int64_t blocks = (lines.inner + kLines - 1) / kLines;
    kernelPool().parallelFor(lines.outer * blocks, double(lines.count * std::min(kLines, lines.inner)) * kNanosecondsPerElement,
                             [&](int64_t block) { sideBySide(block / blocks, block % blocks * kLines, data, reads, writes); });
    return {};
  }
  std::string_view kind() const override { return "pick"; }

private:
  static constexpr int64_t kChunk = 256, kFloatLines = 256;
  static constexpr int64_t kLines = 1024; // Side by side: a page of each row, so that processors see where reading goes on.

  bool isBetter(Wide key, Wide best) const { return ties.isLast ? key <= best : key < best; }
  /// What NaN has as its key, behind all numbers.
  Wide nanKey() const { return Wide(~Wide{0}) >> (sizeof(Wide) * 8 - size_t(keys->bits())); }
  /// As a body does it that restarts.
  bool takesInStep(Wide key, Wide best) const { return key == nanKey() || best == nanKey() || isBetter(key, best); }

  /// The place in a line that lies in one piece; -1 of an empty one.
  int64_t bestOfLine(const std::byte *data, int64_t first, bool &hasRestarted) const {
    Wide chunk[kChunk], best = 0;
    int64_t found = -1;
    for (int64_t begin = 0; begin < lines.count; begin += kChunk) {
      int64_t many = std::min(kChunk, lines.count - begin);
      keys->read(data, first, 1, begin, many, chunk);
      Wide least = chunk[0], greatest = chunk[0];
      for (int64_t i = 1; i < many; ++i) {
        least = std::min(least, chunk[i]);
        greatest = std::max(greatest, chunk[i]);
      }
      if (ties.restartsAtNan && greatest == nanKey()) {
        hasRestarted = true;
        return bestInStep(data, first);
      }
      if (found >= 0 && !isBetter(least, best))
        continue;
      best = least;
      found = begin;
    }
    if (found < 0)
      return found;
    int64_t many = std::min(kChunk, lines.count - found);
    keys->read(data, first, 1, found, many, chunk);
    const Wide *place = std::find(chunk, chunk + many, best);
    if (ties.isLast)
      place = std::prev(std::find(std::reverse_iterator(chunk + many), std::reverse_iterator(chunk + 0), best).base());
    return found + (place - chunk);
  }

  /// `many` lines of floats, each in one piece.
  void ofFloats(const kernels::FloatOrder &order, int64_t line, int64_t many, const std::byte *data,
                std::span<const std::byte *const> reads, std::span<std::byte *const> writes) const {
    kernels::LeastKey found[kFloatLines];
    const auto *bits = reinterpret_cast<const uint32_t *>(data) + line * lines.count;
    kernels::leastOfLines(bits, many, lines.count, order, ties.isLast, found);
    auto initial = Wide(keys->at(reads[operands.initialElement], 0));
    for (int64_t i = 0; i < many; ++i, bits += lines.count) {
      bool hasRestarted = ties.restartsAtNan && found[i].greatest == nanKey();
      if (hasRestarted || found[i].key >= initial) {
        int64_t place =
            hasRestarted ? bestInStep(data, (line + i) * lines.count) : int64_t(found[i].place);
        finish(line + i, place, hasRestarted, data, reads, writes);
        continue;
      }
      reinterpret_cast<uint32_t *>(writes[operands.resultOfElements])[line + i] =
          bits[found[i].place];
      if (operands.placeBytes == 8)
        reinterpret_cast<int64_t *>(writes[operands.resultOfPlaces])[line + i] =
            int64_t(found[i].place);
      else
        reinterpret_cast<uint32_t *>(writes[operands.resultOfPlaces])[line + i] = found[i].place;
    }
  }

  /// Neighbouring lines of floats, whose keys stay in registers; false where they are no such lines.
  bool areFloatsInStep(const std::byte *data, int64_t first, int64_t many, Wide *best, Wide *places, Wide *greatest) const {
    if constexpr (sizeof(Wide) == sizeof(uint32_t))
      if (std::optional<kernels::FloatOrder> order = keys->floatOrder(); order && lines.count > 0)
        return kernels::leastOfColumns({reinterpret_cast<const uint32_t *>(data) + first, lines.inner, lines.count, many, best, places, greatest},
                                       *order, ties.isLast);
    return false;
  }

  /// Neighbouring lines in step.
  void sideBySide(int64_t outer, int64_t begin, const std::byte *data, std::span<const std::byte *const> reads,
                  std::span<std::byte *const> writes) const {
    int64_t many = std::min(kLines, lines.inner - begin), first = outer * lines.count * lines.inner + begin;
    Wide row[kLines], best[kLines];
    Wide places[kLines] = {}; // As wide as keys, so that both are compared in step.
    Wide greatest[kLines] = {};
    if (!areFloatsInStep(data, first, many, best, places, greatest))
      for (int64_t k = 0; k < lines.count; ++k) {
        Wide *of = k == 0 ? best : row;
        keys->read(data, first + k * lines.inner, 1, 0, many, of);
        if (ties.restartsAtNan)
          for (int64_t i = 0; i < many; ++i)
            greatest[i] = std::max(greatest[i], of[i]);
        if (k > 0)
          keepBest(row, many, Wide(k), best, places);
      }
    int64_t line = outer * lines.inner + begin;
    auto hasNan = [&](Wide key) { return key == nanKey(); };
    bool restarts = ties.restartsAtNan && std::any_of(greatest, greatest + many, hasNan);
    if (lines.count > 0 && operands.elementBytes == 4 && !restarts && allAreBetter(best, many, reads))
      return operands.placeBytes == 8 ? write<int64_t>(line, first, many, places, data, writes)
                                      : write<uint32_t>(line, first, many, places, data, writes);
    for (int64_t i = 0; i < many; ++i) {
      bool hasRestarted = restarts && hasNan(greatest[i]);
      int64_t place = lines.count == 0 ? -1 : hasRestarted ? bestInStep(data, first + i) : int64_t(places[i]);
      finish(line + i, place, hasRestarted, data, reads, writes);
    }
  }

  /// Of a line that has NaN.
  int64_t bestInStep(const std::byte *data, int64_t first) const {
    int64_t found = 0;
    auto keyAt = [&](int64_t k) { return Wide(keys->at(data, first + k * lines.inner)); };
    for (int64_t k = 1; k < lines.count; ++k)
      if (takesInStep(keyAt(k), keyAt(found)))
        found = k;
    return found;
  }

  /// Whether none of what was found is, or equals, the initial value.
  bool allAreBetter(const Wide *best, int64_t many, std::span<const std::byte *const> reads) const {
    auto initial = Wide(keys->at(reads[operands.initialElement], 0));
    Wide worst = best[0];
    for (int64_t i = 1; i < many; ++i)
      worst = std::max(worst, best[i]);
    return worst < initial;
  }

  /// What was found in lines side by side, whose first elements lie from number `first` on.
  template <typename Place>
  void write(int64_t line, int64_t first, int64_t many, const Wide *places, const std::byte *data, std::span<std::byte *const> writes) const {
    const auto *elements = reinterpret_cast<const uint32_t *>(data) + first;
    auto *found = reinterpret_cast<uint32_t *>(writes[operands.resultOfElements]) + line;
    auto *at = reinterpret_cast<Place *>(writes[operands.resultOfPlaces]) + line;
    for (int64_t i = 0; i < many; ++i) {
      found[i] = elements[int64_t(places[i]) * lines.inner + i];
      at[i] = Place(places[i]);
    }
  }

  void keepBest(const Wide *row, int64_t many, Wide k, Wide *best, Wide *places) const {
    if constexpr (sizeof(Wide) == sizeof(uint32_t))
      return kernels::keepLeast(row, many, k, ties.isLast, best, places);
    for (int64_t i = 0; i < many; ++i) {
      bool takes = isBetter(row[i], best[i]);
      best[i] = takes ? row[i] : best[i];
      places[i] = takes ? k : places[i];
    }
  }

  /// What was found against the initial value, which comes before all elements.
  void finish(int64_t line, int64_t place, bool hasRestarted, const std::byte *data, std::span<const std::byte *const> reads,
              std::span<std::byte *const> writes) const {
    int64_t element = line / lines.inner * lines.count * lines.inner + place * lines.inner + line % lines.inner;
    const std::byte *initialElement = reads[operands.initialElement], *initialPlace = reads[operands.initialPlace];
    bool takesInitial = place < 0;
    if (!takesInitial && !hasRestarted) {
      auto initial = keys->at(initialElement, 0), found = keys->at(data, element);
      takesInitial = initial < found || (initial == found && ties.picksFirst[relationOfPlaces(initialPlace, place)]);
    }
    std::memcpy(writes[operands.resultOfElements] + line * operands.elementBytes,
                takesInitial ? initialElement : data + element * operands.elementBytes, size_t(operands.elementBytes));
    std::byte *target = writes[operands.resultOfPlaces] + line * operands.placeBytes;
    if (takesInitial)
      std::memcpy(target, initialPlace, size_t(operands.placeBytes));
    else
      std::memcpy(target, &place, size_t(operands.placeBytes)); // Its low bytes come first.
  }

  int relationOfPlaces(const std::byte *initial, int64_t place) const {
    int64_t number = 0;
    if (operands.placeBytes == 8) {
      std::memcpy(&number, initial, 8);
      if (!operands.isPlaceSigned && number < 0)
        return int(Relation::After);
    } else {
      uint32_t bits;
      std::memcpy(&bits, initial, 4);
      number = operands.isPlaceSigned ? int64_t(int32_t(bits)) : int64_t(bits);
    }
    return int(number < place ? Relation::Before : number == place ? Relation::Equal : Relation::After);
  }

  PickedLines lines;
  std::unique_ptr<const ElementKeys> keys;
  Ties ties;
  PickedOperands operands;
};

using ElementOf = llvm::function_ref<std::optional<ComparedElement>(Value)>;

/// Which of two a result of a body is, as a function of how elements and places relate: what is chosen by conditions (Comparator.h), or
/// as the lesser or the greater of both.
class ChosenSide {
public:
  ChosenSide(Block &body, unsigned result, ElementOf elementOf)
      : result(body.getTerminator()->getOperand(result)), first(body.getArgument(result)), second(body.getArgument(2 + result)), operand(result) {
    known = look(this->result, elementOf);
  }

  bool isKnown() const { return known; }
  bool uses(unsigned which) const {
    return (isByMagnitude && which == operand) || llvm::any_of(conditions, [&](const auto &one) { return one.second.uses(which); });
  }
  bool isByBits(unsigned which) const {
    return llvm::any_of(conditions, [&](const auto &one) { return one.second.isByBits(which); });
  }
  /// Whether it is the first, by the relations of both operands.
  bool operator()(ArrayRef<Relation> relations) const { return isFirst(result, relations); }

private:
  bool look(Value value, ElementOf elementOf) {
    if (value == first || value == second)
      return true;
    Operation *op = value.getDefiningOp();
    if (auto select = dyn_cast_or_null<stablehlo::SelectOp>(op)) {
      Value condition = select.getPred();
      auto [found, isNew] = conditions.try_emplace(condition, condition, 2, elementOf);
      return found->second.isKnown() && look(select.getOnTrue(), elementOf) && look(select.getOnFalse(), elementOf);
    }
    if (!isa_and_nonnull<stablehlo::MinimumOp, stablehlo::MaximumOp>(op) || op->getOperand(0) == op->getOperand(1))
      return false;
    isByMagnitude = true;
    return llvm::all_of(op->getOperands(), [&](Value side) { return side == first || side == second; });
  }

  bool isFirst(Value value, ArrayRef<Relation> relations) const {
    if (value == first || value == second)
      return value == first;
    Operation *op = value.getDefiningOp();
    if (auto select = dyn_cast<stablehlo::SelectOp>(op))
      return isFirst(conditions.at(select.getPred())(relations) ? select.getOnTrue() : select.getOnFalse(), relations);
    switch (relations[operand]) {
    case Relation::Before: return isa<stablehlo::MinimumOp>(op);
    case Relation::After: return isa<stablehlo::MaximumOp>(op);
    case Relation::SecondIsNan: return false;
    case Relation::Equal:
    case Relation::FirstIsNan:
    case Relation::BothAreNan: return true;
    }
    llvm_unreachable("there are six");
  }

  Value result, first, second;
  unsigned operand;
  std::map<Value, Comparator, bool (*)(Value, Value)> conditions{[](Value a, Value b) { return a.getAsOpaquePointer() < b.getAsOpaquePointer(); }};
  bool isByMagnitude = false, known = false;
};

/// Which elements a body keeps: those that are first in this order, and what it does with equal ones. Nothing where it does something
/// else. Where elements differ, both results must come from the same side; of equal ones the elements are one, but for the sign of zeros.
struct Picked {
  ElementOrder order;
  Ties ties;
};
std::optional<Picked> pickedBy(const ChosenSide &forElements, const ChosenSide &forPlaces, unsigned elements, bool hasNan) {
  if (!forElements.isKnown() || !forPlaces.isKnown() || forPlaces.isByBits(elements) || forElements.isByBits(elements) ||
      !forPlaces.uses(elements))
    return std::nullopt;
  auto picks = [&](const ChosenSide &side, Relation element, Relation place) {
    Relation relations[2];
    relations[elements] = element;
    relations[1 - elements] = place;
    return side(relations);
  };
  constexpr Relation kPlaces[3] = {Relation::Before, Relation::Equal, Relation::After};
  /// The side of both results, whatever the places; nothing where it is not one.
  auto sideAt = [&](Relation element) -> std::optional<bool> {
    bool isFirst = picks(forPlaces, element, Relation::Before);
    for (Relation place : kPlaces)
      if (picks(forPlaces, element, place) != isFirst || picks(forElements, element, place) != isFirst)
        return std::nullopt;
    return isFirst;
  };
  std::optional<bool> before = sideAt(Relation::Before), after = sideAt(Relation::After);
  if (!before || !after || *before == *after)
    return std::nullopt;
  Ties ties;
  ties.isLast = !picks(forPlaces, Relation::Equal, Relation::Before); // The first of two elements stands before the second.
  for (auto [i, place] : llvm::enumerate(kPlaces))
    ties.picksFirst[i] = picks(forPlaces, Relation::Equal, place);
  bool nansFirst = false;
  if (hasNan) {
    std::optional<bool> first = sideAt(Relation::FirstIsNan), second = sideAt(Relation::SecondIsNan);
    if (!first || !second)
      return std::nullopt;
    nansFirst = *first;
    if (*first == *second) {
      ties.restartsAtNan = true;
      if (*first || sideAt(Relation::BothAreNan).value_or(true))
        return std::nullopt;
    } else {
      bool atBefore = picks(forPlaces, Relation::BothAreNan, Relation::Before), atAfter = picks(forPlaces, Relation::BothAreNan, Relation::After);
      if (ties.isLast != !atBefore)
        return std::nullopt;
      for (auto [i, place] : llvm::enumerate(kPlaces))
        if (picks(forPlaces, Relation::BothAreNan, place) != ties.picksFirst[i] && atBefore != atAfter)
          return std::nullopt;
    }
  }
  return Picked{{elements, *after, hasNan, nansFirst}, ties};
}

} // namespace

Result<KernelPointer> pickKernel(stablehlo::ReduceOp op) {
  Error refusal{ErrorCode::Unsupported, "it does not pick an element and its place"};
  if (op.getInputs().size() != 2 || op.getDimensions().size() != 1)
    return refusal;
  unsigned places = op.getInputs()[0].getDefiningOp<stablehlo::IotaOp>() ? 0 : 1, elements = 1 - places;
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getInputs()[places].getType()));
  Block &body = op.getBody().front();
  if (!op.getInputs()[places].getDefiningOp<stablehlo::IotaOp>() || !isa<BlockArgument>(op.getInputs()[elements]) || !integer ||
      (integer.getWidth() != 32 && integer.getWidth() != 64))
    return refusal;
  auto elementOf = [&](Value value) -> std::optional<ComparedElement> {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &body)
      return std::nullopt;
    return ComparedElement{argument.getArgNumber() % 2, argument.getArgNumber() >= 2};
  };
  Type element = getElementTypeOrSelf(op.getInputs()[elements].getType());
  std::optional<Picked> picked = pickedBy(ChosenSide(body, elements, elementOf), ChosenSide(body, places, elementOf), elements, isa<FloatType>(element));
  std::unique_ptr<const ElementKeys> keys = picked ? keysOf(element, picked->order) : nullptr;
  if (!keys)
    return refusal;
  auto type = cast<RankedTensorType>(op.getInputs()[elements].getType());
  PickedLines lines;
  int64_t dimension = op.getDimensions()[0];
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < dimension ? lines.outer : d == dimension ? lines.count : lines.inner) *= type.getDimSize(d);
  auto readOf = [&](Value value) { return cast<BlockArgument>(value).getArgNumber(); };
  PickedOperands operands{readOf(op.getInputs()[elements]),
                          readOf(op.getInitValues()[elements]),
                          readOf(op.getInitValues()[places]),
                          elements,
                          places,
                          dev::byteSizeOf(RankedTensorType::get({}, element)).value_or(0),
                          integer.getWidth() / 8,
                          !integer.isUnsigned()};
  if (operands.elementBytes == 0 || lines.count > int64_t{UINT32_MAX})
    return refusal;
  if (keys->bits() > 32)
    return KernelPointer(std::make_unique<PickKernel<uint64_t>>(lines, std::move(keys), picked->ties, operands));
  return KernelPointer(std::make_unique<PickKernel<uint32_t>>(lines, std::move(keys), picked->ties, operands));
}

} // namespace cupel::compiler
