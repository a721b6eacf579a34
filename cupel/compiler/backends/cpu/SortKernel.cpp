#include "cupel/compiler/backends/cpu/SortKernel.h"

#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/tensor/OperationMarks.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// What a comparator says of two elements of one operand.
struct Order {
  unsigned operand = 0;
  bool isDescending = false;
  /// Of floats: zeros are equal and all NaNs are, behind everything; else by their bits as numbers
  /// with a sign.
  bool isCanonical = false;
};

/// In the comparator, or around it: then it is what the launch reads.
bool isConstant(Value value, llvm::function_ref<bool(const APFloat &)> holds) {
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

bool isCompareWith(Value value, Value x, stablehlo::ComparisonDirection direction,
                   llvm::function_ref<bool(Value)> isOther) {
  auto compare = value.getDefiningOp<stablehlo::CompareOp>();
  return compare && compare.getComparisonDirection() == direction && compare.getLhs() == x &&
         isOther(compare.getRhs()) &&
         compare.getCompareType() != stablehlo::ComparisonType::TOTALORDER;
}

/// Whether a value is an argument with its zeros and NaNs made one: select(x != x, NaN, select(x == 0,
/// 0, x)), which is what JAX compares.
bool isCanonicalized(Value value, Value x) {
  auto outer = value.getDefiningOp<stablehlo::SelectOp>();
  if (!outer ||
      !isCompareWith(outer.getPred(), x, stablehlo::ComparisonDirection::NE,
                     [&](Value other) { return other == x; }) ||
      !isConstant(outer.getOnTrue(),
                  [](const APFloat &number) { return number.isNaN() && !number.isNegative(); }))
    return false;
  auto inner = outer.getOnFalse().getDefiningOp<stablehlo::SelectOp>();
  auto isZero = [](Value other) {
    return isConstant(other, [](const APFloat &number) { return number.isPosZero(); });
  };
  return inner && isCompareWith(inner.getPred(), x, stablehlo::ComparisonDirection::EQ, isZero) &&
         isZero(inner.getOnTrue()) && inner.getOnFalse() == x;
}

/// What a comparison of elements says: the operand, which of the two comes first, and what of floats is one.
std::optional<Order> orderOf(stablehlo::SortOp op, stablehlo::CompareOp compare) {
  Block &body = op.getComparator().front();
  using Direction = stablehlo::ComparisonDirection;
  Direction direction = compare.getComparisonDirection();
  bool isTotal = compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER;
  for (unsigned k = 0; k < op.getInputs().size(); ++k)
    for (bool isTurned : {false, true}) {
      Value first = body.getArgument(2 * k + isTurned), second = body.getArgument(2 * k + !isTurned);
      bool isPlain = compare.getLhs() == first && compare.getRhs() == second;
      if (!isPlain && !(isTotal && isCanonicalized(compare.getLhs(), first) &&
                        isCanonicalized(compare.getRhs(), second)))
        continue;
      return Order{k, (direction == Direction::LT) == isTurned, !isPlain || !isTotal};
    }
  return std::nullopt;
}

/// Of a comparison that says which of two comes first.
std::optional<Order> strictOrderOf(stablehlo::SortOp op, Value value) {
  auto compare = value.getDefiningOp<stablehlo::CompareOp>();
  using Direction = stablehlo::ComparisonDirection;
  if (!compare || (compare.getComparisonDirection() != Direction::LT &&
                   compare.getComparisonDirection() != Direction::GT))
    return std::nullopt; // Of equal elements others say that both come first.
  return orderOf(op, compare);
}

/// Whether a value says that elements are equal which `order` puts neither before the other.
bool areEqualBy(stablehlo::SortOp op, Value value, const Order &order) {
  auto compare = value.getDefiningOp<stablehlo::CompareOp>();
  if (!compare || compare.getComparisonDirection() != stablehlo::ComparisonDirection::EQ)
    return false;
  std::optional<Order> said = orderOf(op, compare);
  return said && said->operand == order.operand && said->isCanonical == order.isCanonical;
}

/// The keys of a comparator, the first one first: a comparison; or `first < || (first == && rest)`, which JAX writes;
/// or `first == ? rest : first <`. Empty where it is something else.
std::vector<Order> ordersOf(stablehlo::SortOp op) {
  std::vector<Order> orders;
  Value rest = op.getComparator().front().getTerminator()->getOperand(0);
  while (orders.size() < op.getInputs().size()) {
    if (std::optional<Order> last = strictOrderOf(op, rest)) {
      orders.push_back(*last);
      return orders;
    }
    std::optional<Order> one;
    Value next;
    if (auto either = rest.getDefiningOp<stablehlo::OrOp>()) {
      for (bool isTurned : {false, true}) {
        Value before = isTurned ? either.getRhs() : either.getLhs();
        auto both = (isTurned ? either.getLhs() : either.getRhs()).getDefiningOp<stablehlo::AndOp>();
        std::optional<Order> found = both ? strictOrderOf(op, before) : std::nullopt;
        for (bool isSwapped : {false, true})
          if (found && !one && areEqualBy(op, isSwapped ? both.getRhs() : both.getLhs(), *found)) {
            one = found;
            next = isSwapped ? both.getLhs() : both.getRhs();
          }
      }
    } else if (auto choice = rest.getDefiningOp<stablehlo::SelectOp>()) {
      std::optional<Order> found = strictOrderOf(op, choice.getOnFalse());
      if (found && areEqualBy(op, choice.getPred(), *found)) {
        one = found;
        next = choice.getOnTrue();
      }
    }
    if (!one)
      return {};
    orders.push_back(*one);
    rest = next;
  }
  return {};
}

/// Elements as unsigned numbers of the same order.
template <typename Bits> struct FloatKey {
  Bits infinity;
  bool isCanonical, isDescending;
  Bits operator()(Bits bits) const {
    constexpr auto kSign = Bits(Bits{1} << (sizeof(Bits) * 8 - 1));
    if (isCanonical) {
      auto magnitude = Bits(bits & Bits(~kSign));
      if (magnitude == 0 || magnitude > infinity)
        bits = magnitude > infinity ? Bits(infinity + 1) : Bits(0);
    }
    auto key = Bits(bits & kSign ? ~bits : bits | kSign);
    return isDescending ? Bits(~key) : key;
  }
};
template <typename Bits> struct IntegerKey {
  bool isSigned, isDescending;
  Bits operator()(Bits bits) const {
    auto key = Bits(isSigned ? bits ^ Bits(Bits{1} << (sizeof(Bits) * 8 - 1)) : bits);
    return isDescending ? Bits(~key) : key;
  }
};

template <typename Key> struct Entry {
  Key key;
  uint32_t index;
};

/// Stable, digit by digit; `entries` and `other` are as long. Returns which of them holds the result.
template <int digitBits, typename Key>
Entry<Key> *radixSort(Entry<Key> *entries, Entry<Key> *other, int64_t count, int keyBits) {
  constexpr uint32_t kBuckets = 1u << digitBits;
  uint32_t places[kBuckets];
  for (int shift = 0; shift < keyBits; shift += digitBits) {
    std::fill_n(places, kBuckets, 0u);
    for (int64_t i = 0; i < count; ++i)
      ++places[(entries[i].key >> shift) & (kBuckets - 1)];
    if (places[(entries[0].key >> shift) & (kBuckets - 1)] == uint32_t(count))
      continue; // All agree.
    uint32_t next = 0;
    for (uint32_t &place : places)
      next += std::exchange(place, next);
    for (int64_t i = 0; i < count; ++i)
      other[places[(entries[i].key >> shift) & (kBuckets - 1)]++] = entries[i];
    std::swap(entries, other);
  }
  return entries;
}

template <typename Key>
Entry<Key> *sortEntries(Entry<Key> *entries, Entry<Key> *other, int64_t count, int keyBits) {
  constexpr int64_t kFew = 48, kMany = 4096;
  if (count <= kFew) {
    for (int64_t i = 1; i < count; ++i) {
      Entry<Key> one = entries[i];
      int64_t k = i;
      for (; k > 0 && one.key < entries[k - 1].key; --k)
        entries[k] = entries[k - 1];
      entries[k] = one;
    }
    return entries;
  }
  return count < kMany ? radixSort<8>(entries, other, count, keyBits)
                       : radixSort<11>(entries, other, count, keyBits);
}

struct SortedLines {
  int64_t outer = 1, count = 1, inner = 1; // Elements of a line lie `inner` apart.
  int64_t first = 0; // So many of each are all that is needed; 0: all.
};

/// Elements of a line as numbers by which it is sorted.
class SortKey {
public:
  virtual ~SortKey() = default;
  /// Of the entries' elements; element 0 lies at `first` and the next ones `step` apart. Entries that are new become
  /// those of all elements in order.
  virtual void fill(const std::byte *line, int64_t first, int64_t step, Entry<uint32_t> *entries, int64_t count, bool areNew) const = 0;
  virtual void fill(const std::byte *line, int64_t first, int64_t step, Entry<uint64_t> *entries, int64_t count, bool areNew) const = 0;
  virtual int bits() const = 0;
};

/// `Stored` are the bits of the key's elements, `KeyOf` makes numbers of them.
template <typename Stored, typename KeyOf> class KeyOfElements final : public SortKey {
public:
  explicit KeyOfElements(KeyOf keyOf) : keyOf(keyOf) {}
  void fill(const std::byte *line, int64_t first, int64_t step, Entry<uint32_t> *entries, int64_t count, bool areNew) const override {
    fillEntries(line, first, step, entries, count, areNew);
  }
  void fill(const std::byte *line, int64_t first, int64_t step, Entry<uint64_t> *entries, int64_t count, bool areNew) const override {
    fillEntries(line, first, step, entries, count, areNew);
  }
  int bits() const override { return int(sizeof(Stored)) * 8; }

private:
  template <typename Wide>
  void fillEntries(const std::byte *line, int64_t first, int64_t step, Entry<Wide> *entries, int64_t count, bool areNew) const {
    const auto *from = reinterpret_cast<const Stored *>(line) + first;
    for (int64_t i = 0; i < count && areNew; ++i)
      entries[i] = {Wide(keyOf(from[i * step])), uint32_t(i)};
    for (int64_t i = 0; i < count && !areNew; ++i)
      entries[i].key = Wide(keyOf(from[int64_t(entries[i].index) * step]));
  }
  KeyOf keyOf;
};

struct KeyedInput {
  unsigned input; // Of the sort's inputs.
  std::unique_ptr<const SortKey> key;
};

/// `Wide` holds every key.
template <typename Wide> class SortKernel final : public Kernel {
public:
  SortKernel(SortedLines lines, std::vector<KeyedInput> keys, std::vector<unsigned> inputs,
             std::vector<int64_t> bytes)
      : lines(lines), keys(std::move(keys)), inputs(std::move(inputs)), bytes(std::move(bytes)) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    if (lines.outer * lines.count * lines.inner == 0)
      return {};
    // Long lines have memory of their own, which is given back.
    int64_t scratch = 2 * lines.count * int64_t(sizeof(One));
    bool isLong = scratch > (int64_t{4} << 20);
    std::atomic<bool> isOut = false;
    const double nanosecondsPerElement = 15 * double(keys.size());
    kernelPool().parallelFor(
        lines.outer * lines.inner, double(lines.count) * nanosecondsPerElement, [&](int64_t line) {
          AlignedMemory own(isLong ? scratch : 0);
          auto *entries = static_cast<One *>(isLong ? own.get() : threadScratch(scratch));
          if (!entries) {
            isOut = true;
            return;
          }
          sortLine(entries, line / lines.inner * lines.count * lines.inner + line % lines.inner,
                   reads, writes);
        });
    if (isOut)
      return Error{ErrorCode::OutOfMemory, "there is no memory to sort in"};
    return {};
  }
  std::string_view kind() const override { return "sort"; }

private:
  using One = Entry<Wide>;

  void sortLine(One *entries, int64_t first, std::span<const std::byte *const> reads,
                std::span<std::byte *const> writes) const {
    One *other = entries + lines.count;
    constexpr int64_t kFewOf = 8; // Where one in so many is needed, finding these is less than sorting all.
    if (keys.size() == 1 && lines.first > 0 && lines.first * kFewOf <= lines.count) {
      keys[0].key->fill(reads[inputs[keys[0].input]], first, lines.inner, entries, lines.count, /*areNew=*/true);
      auto isBefore = [](const One &a, const One &b) { return std::pair(a.key, a.index) < std::pair(b.key, b.index); };
      std::nth_element(entries, entries + lines.first - 1, entries + lines.count, isBefore);
      std::sort(entries, entries + lines.first, isBefore);
    } else {
      // Sorts are stable: by the last key first, and where an earlier one finds elements equal that order stays.
      for (const KeyedInput &one : llvm::reverse(keys)) {
        one.key->fill(reads[inputs[one.input]], first, lines.inner, entries, lines.count, &one == &keys.back());
        if (One *sorted = sortEntries(entries, other, lines.count, one.key->bits()); sorted != entries)
          std::swap(entries, other);
      }
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      const std::byte *source = reads[inputs[k]] + first * bytes[k];
      std::byte *target = writes[k] + first * bytes[k];
      switch (bytes[k]) {
      case 1: move<uint8_t>(source, target, entries); break;
      case 2: move<uint16_t>(source, target, entries); break;
      case 4: move<uint32_t>(source, target, entries); break;
      case 8: move<uint64_t>(source, target, entries); break;
      default:
        for (int64_t i = 0; i < needed(); ++i)
          std::memcpy(target + i * lines.inner * bytes[k],
                      source + int64_t(entries[i].index) * lines.inner * bytes[k], size_t(bytes[k]));
      }
    }
  }

  template <typename T>
  void move(const std::byte *from, std::byte *to, const One *entries) const {
    const auto *source = reinterpret_cast<const T *>(from);
    auto *target = reinterpret_cast<T *>(to);
    for (int64_t i = 0; i < needed(); ++i)
      target[i * lines.inner] = source[int64_t(entries[i].index) * lines.inner];
  }

  int64_t needed() const { return lines.first > 0 ? lines.first : lines.count; }

  SortedLines lines;
  std::vector<KeyedInput> keys; // The first one first.
  std::vector<unsigned> inputs; // Which of what is read each is.
  std::vector<int64_t> bytes;   // Of their elements.
};

/// Null where elements have no such numbers.
std::unique_ptr<const SortKey> keyOf(Type element, const Order &order) {
  auto made = []<typename Stored>(auto keyOf) -> std::unique_ptr<const SortKey> {
    return std::make_unique<KeyOfElements<Stored, decltype(keyOf)>>(keyOf);
  };
  bool canonical = order.isCanonical, descending = order.isDescending;
  if (element.isF32())
    return made.operator()<uint32_t>(FloatKey<uint32_t>{0x7f800000, canonical, descending});
  if (element.isF64())
    return made.operator()<uint64_t>(FloatKey<uint64_t>{0x7ff0000000000000, canonical, descending});
  if (element.isF16())
    return made.operator()<uint16_t>(FloatKey<uint16_t>{0x7c00, canonical, descending});
  if (element.isBF16())
    return made.operator()<uint16_t>(FloatKey<uint16_t>{0x7f80, canonical, descending});
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return nullptr;
  bool isSigned = !integer.isUnsigned() && integer.getWidth() > 1;
  switch (integer.getWidth()) {
  case 1:
  case 8:
    return made.operator()<uint8_t>(IntegerKey<uint8_t>{isSigned, descending});
  case 16:
    return made.operator()<uint16_t>(IntegerKey<uint16_t>{isSigned, descending});
  case 32:
    return made.operator()<uint32_t>(IntegerKey<uint32_t>{isSigned, descending});
  case 64:
    return made.operator()<uint64_t>(IntegerKey<uint64_t>{isSigned, descending});
  default:
    return nullptr;
  }
}

} // namespace

Result<KernelPointer> sortKernel(stablehlo::SortOp op) {
  Error refusal{ErrorCode::Unsupported, "there is no sort of such elements or with such a comparator"};
  std::vector<Order> orders = ordersOf(op);
  if (orders.empty())
    return refusal;
  std::vector<KeyedInput> keys;
  bool isWide = false;
  for (const Order &order : orders) {
    Type element = cast<RankedTensorType>(op.getInputs()[order.operand].getType()).getElementType();
    keys.push_back({order.operand, keyOf(element, order)});
    if (!keys.back().key)
      return refusal;
    isWide |= keys.back().key->bits() > 32;
  }
  auto type = cast<RankedTensorType>(op.getInputs()[0].getType());
  int64_t dimension = int64_t(op.getDimension());
  if (dimension < 0)
    dimension += type.getRank();
  SortedLines lines;
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < dimension ? lines.outer : d == dimension ? lines.count : lines.inner) *= type.getDimSize(d);
  if (lines.count > int64_t{UINT32_MAX})
    return refusal;
  if (auto first = op->getAttrOfType<IntegerAttr>(tir::kFirstAttr))
    lines.first = std::clamp(first.getInt(), int64_t{0}, lines.count);
  std::vector<unsigned> inputs;
  std::vector<int64_t> bytes;
  for (Value input : op.getInputs()) {
    inputs.push_back(cast<BlockArgument>(input).getArgNumber());
    Type element = cast<RankedTensorType>(input.getType()).getElementType();
    bytes.push_back(dev::byteSizeOf(RankedTensorType::get({}, element)).value_or(0));
    if (bytes.back() == 0)
      return refusal;
  }
  if (isWide)
    return KernelPointer(std::make_unique<SortKernel<uint64_t>>(lines, std::move(keys), std::move(inputs), std::move(bytes)));
  return KernelPointer(std::make_unique<SortKernel<uint32_t>>(lines, std::move(keys), std::move(inputs), std::move(bytes)));
}

} // namespace cupel::compiler
