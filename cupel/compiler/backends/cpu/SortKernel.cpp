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

std::optional<Order> orderOf(stablehlo::SortOp op) {
  Block &body = op.getComparator().front();
  auto compare = body.getTerminator()->getOperand(0).getDefiningOp<stablehlo::CompareOp>();
  if (!compare)
    return std::nullopt;
  using Direction = stablehlo::ComparisonDirection;
  Direction direction = compare.getComparisonDirection();
  if (direction != Direction::LT && direction != Direction::GT)
    return std::nullopt; // Of equal elements these say that both come first.
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

/// `Stored` are the bits of the key's elements, `KeyOf` makes numbers of them.
template <typename Stored, typename KeyOf> class SortKernel final : public Kernel {
public:
  SortKernel(SortedLines lines, unsigned key, KeyOf keyOf, std::vector<unsigned> inputs,
             std::vector<int64_t> bytes)
      : lines(lines), key(key), keyOf(keyOf), inputs(std::move(inputs)), bytes(std::move(bytes)) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    if (lines.outer * lines.count * lines.inner == 0)
      return {};
    // Long lines have memory of their own, which is given back.
    int64_t scratch = 2 * lines.count * int64_t(sizeof(One));
    bool isLong = scratch > (int64_t{4} << 20);
    std::atomic<bool> isOut = false;
    constexpr double kNanosecondsPerElement = 15;
    kernelPool().parallelFor(
        lines.outer * lines.inner, double(lines.count) * kNanosecondsPerElement, [&](int64_t line) {
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
  using Wide = std::conditional_t<sizeof(Stored) == 8, uint64_t, uint32_t>;
  using One = Entry<Wide>;

  void sortLine(One *entries, int64_t first, std::span<const std::byte *const> reads,
                std::span<std::byte *const> writes) const {
    const auto *from = reinterpret_cast<const Stored *>(reads[inputs[key]]) + first;
    for (int64_t i = 0; i < lines.count; ++i)
      entries[i] = {Wide(keyOf(from[i * lines.inner])), uint32_t(i)};
    constexpr int64_t kFewOf = 8; // Where one in so many is needed, finding these is less than sorting all.
    if (lines.first > 0 && lines.first * kFewOf <= lines.count) {
      auto isBefore = [](const One &a, const One &b) { return std::pair(a.key, a.index) < std::pair(b.key, b.index); };
      std::nth_element(entries, entries + lines.first - 1, entries + lines.count, isBefore);
      std::sort(entries, entries + lines.first, isBefore);
    } else {
      entries = sortEntries(entries, entries + lines.count, lines.count, int(sizeof(Stored)) * 8);
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
  unsigned key; // Which of the inputs.
  KeyOf keyOf;
  std::vector<unsigned> inputs; // Which of what is read each is.
  std::vector<int64_t> bytes;   // Of their elements.
};

} // namespace

Result<KernelPointer> sortKernel(stablehlo::SortOp op) {
  Error refusal{ErrorCode::Unsupported, "there is no sort of such elements or with such a comparator"};
  std::optional<Order> order = orderOf(op);
  if (!order)
    return refusal;
  auto type = cast<RankedTensorType>(op.getInputs()[order->operand].getType());
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
  auto made = [&]<typename Stored>(auto keyOf) {
    return KernelPointer(std::make_unique<SortKernel<Stored, decltype(keyOf)>>(
        lines, order->operand, keyOf, std::move(inputs), std::move(bytes)));
  };
  bool canonical = order->isCanonical, descending = order->isDescending;
  Type element = type.getElementType();
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
    return refusal;
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
    return refusal;
  }
}

} // namespace cupel::compiler
