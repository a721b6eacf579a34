#include "cupel/compiler/backends/cpu/PickKernel.h"

#include "cupel/compiler/backends/cpu/ElementKeys.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Keys.h"

#include <algorithm>
#include <cstring>

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
    if (lines.inner == 1) {
      kernelPool().parallelFor(lines.outer, double(lines.count) * kNanosecondsPerElement,
                               [&](int64_t line) { finish(line, bestOfLine(data, line * lines.count), data, reads, writes); });
      return {};
    }
    int64_t blocks = (lines.inner + kLines - 1) / kLines;
    kernelPool().parallelFor(lines.outer * blocks, double(lines.count * std::min(kLines, lines.inner)) * kNanosecondsPerElement,
                             [&](int64_t block) { sideBySide(block / blocks, block % blocks * kLines, data, reads, writes); });
    return {};
  }
  std::string_view kind() const override { return "pick"; }

private:
  static constexpr int64_t kChunk = 256;
  static constexpr int64_t kLines = 1024; // Side by side: a page of each row, so that processors see where reading goes on.

  bool isBetter(Wide key, Wide best) const { return ties.isLast ? key <= best : key < best; }

  /// The place in a line that lies in one piece; -1 of an empty one.
  int64_t bestOfLine(const std::byte *data, int64_t first) const {
    Wide chunk[kChunk], best = 0;
    int64_t found = -1;
    for (int64_t begin = 0; begin < lines.count; begin += kChunk) {
      int64_t many = std::min(kChunk, lines.count - begin);
      keys->read(data, first, 1, begin, many, chunk);
      Wide least = chunk[0];
      for (int64_t i = 1; i < many; ++i)
        least = std::min(least, chunk[i]);
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

  /// Neighbouring lines in step.
  void sideBySide(int64_t outer, int64_t begin, const std::byte *data, std::span<const std::byte *const> reads,
                  std::span<std::byte *const> writes) const {
    int64_t many = std::min(kLines, lines.inner - begin), first = outer * lines.count * lines.inner + begin;
    Wide row[kLines], best[kLines];
    Wide places[kLines] = {}; // As wide as keys, so that both are compared in step.
    for (int64_t k = 0; k < lines.count; ++k) {
      keys->read(data, first + k * lines.inner, 1, 0, many, k == 0 ? best : row);
      if (k > 0)
        keepBest(row, many, Wide(k), best, places);
    }
    int64_t line = outer * lines.inner + begin;
    if (lines.count > 0 && operands.elementBytes == 4 && allAreBetter(best, many, reads))
      return operands.placeBytes == 8 ? write<int64_t>(line, first, many, places, data, writes)
                                      : write<uint32_t>(line, first, many, places, data, writes);
    for (int64_t i = 0; i < many; ++i)
      finish(line + i, lines.count == 0 ? -1 : int64_t(places[i]), data, reads, writes);
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
  void finish(int64_t line, int64_t place, const std::byte *data, std::span<const std::byte *const> reads,
              std::span<std::byte *const> writes) const {
    int64_t element = line / lines.inner * lines.count * lines.inner + place * lines.inner + line % lines.inner;
    const std::byte *initialElement = reads[operands.initialElement], *initialPlace = reads[operands.initialPlace];
    bool takesInitial = place < 0;
    if (!takesInitial) {
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

/// Which elements a body keeps: those that are first in this order, and what it does with equal ones. Nothing where it does something
/// else. Where elements differ, both results must come from the same side; of equal ones the elements are one, but for the sign of zeros.
struct Picked {
  ElementOrder order;
  Ties ties;
};
std::optional<Picked> pickedBy(const Comparator &forElements, const Comparator &forPlaces, unsigned elements, unsigned places) {
  if (!forElements.isKnown() || !forPlaces.isKnown() || forPlaces.isByBits(elements) || forElements.isByBits(elements) ||
      !forPlaces.uses(elements))
    return std::nullopt;
  auto picks = [&](const Comparator &comparator, Relation element, Relation place) {
    Relation relations[2];
    relations[elements] = element;
    relations[places] = place;
    return comparator(relations);
  };
  constexpr Relation kPlaces[3] = {Relation::Before, Relation::Equal, Relation::After};
  ArrayRef<Relation> relations = forPlaces.relationsOf(elements);
  bool sides[kRelations] = {};
  Ties ties;
  std::optional<bool> isLast;
  for (Relation element : relations) {
    bool atBefore = picks(forPlaces, element, Relation::Before), atAfter = picks(forPlaces, element, Relation::After);
    if (element == Relation::Equal || element == Relation::BothAreNan) {
      // The first of two elements stands before the second.
      if (isLast.value_or(!atBefore) != !atBefore)
        return std::nullopt;
      isLast = !atBefore;
      for (auto [i, place] : llvm::enumerate(kPlaces)) {
        bool picksFirst = picks(forPlaces, element, place);
        if (element == Relation::BothAreNan && ties.picksFirst[i] != picksFirst && atBefore != atAfter)
          return std::nullopt;
        if (element == Relation::Equal)
          ties.picksFirst[i] = picksFirst;
      }
      continue;
    }
    sides[int(element)] = atBefore;
    for (Relation place : kPlaces)
      if (picks(forPlaces, element, place) != atBefore || picks(forElements, element, place) != atBefore)
        return std::nullopt;
  }
  if (sides[int(Relation::Before)] == sides[int(Relation::After)])
    return std::nullopt;
  bool hasNan = relations.size() == kRelations;
  if (hasNan && sides[int(Relation::FirstIsNan)] == sides[int(Relation::SecondIsNan)])
    return std::nullopt;
  ties.isLast = *isLast;
  return Picked{{elements, sides[int(Relation::After)], hasNan, sides[int(Relation::FirstIsNan)]}, ties};
}

/// The condition by which a body takes its first element; null if it is no such choice.
Value conditionOf(Block &body, unsigned result) {
  auto select = body.getTerminator()->getOperand(result).getDefiningOp<stablehlo::SelectOp>();
  return select && select.getOnTrue() == body.getArgument(result) && select.getOnFalse() == body.getArgument(2 + result)
             ? select.getPred()
             : Value();
}

} // namespace

Result<KernelPointer> pickKernel(stablehlo::ReduceOp op) {
  Error refusal{ErrorCode::Unsupported, "it does not pick an element and its place"};
  if (op.getInputs().size() != 2 || op.getDimensions().size() != 1)
    return refusal;
  unsigned places = op.getInputs()[0].getDefiningOp<stablehlo::IotaOp>() ? 0 : 1, elements = 1 - places;
  auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getInputs()[places].getType()));
  Block &body = op.getBody().front();
  Value forElements = conditionOf(body, elements), forPlaces = conditionOf(body, places);
  if (!op.getInputs()[places].getDefiningOp<stablehlo::IotaOp>() || !isa<BlockArgument>(op.getInputs()[elements]) || !integer ||
      (integer.getWidth() != 32 && integer.getWidth() != 64) || !forElements || !forPlaces)
    return refusal;
  auto elementOf = [&](Value value) -> std::optional<ComparedElement> {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &body)
      return std::nullopt;
    return ComparedElement{argument.getArgNumber() % 2, argument.getArgNumber() >= 2};
  };
  Type element = getElementTypeOrSelf(op.getInputs()[elements].getType());
  std::optional<Picked> picked =
      pickedBy(Comparator(forElements, 2, elementOf), Comparator(forPlaces, 2, elementOf), elements, places);
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
