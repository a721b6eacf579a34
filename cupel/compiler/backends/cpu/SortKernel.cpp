#include "cupel/compiler/backends/cpu/SortKernel.h"

#include "cupel/compiler/backends/cpu/ElementKeys.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/compiler/tensor/OperationMarks.h"
#include "cupel/kernels/Isa.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace cupel::compiler {

using namespace mlir;

namespace {

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

/// A few: the place of each is how many come before it, which no branch has to guess.
template <typename Key> void sortByRanks(const Entry<Key> *entries, int64_t count, Entry<Key> *sorted) {
  for (int64_t i = 0; i < count; ++i) {
    Key one = entries[i].key;
    int64_t before = 0;
#pragma clang loop unroll(disable) vectorize(disable)
    for (int64_t j = 0; j < i; ++j)
      before += entries[j].key <= one ? 1 : 0;
#pragma clang loop unroll(disable) vectorize(disable)
    for (int64_t j = i + 1; j < count; ++j)
      before += entries[j].key < one ? 1 : 0;
    sorted[before] = entries[i];
  }
}

template <typename Key>
Entry<Key> *sortEntries(Entry<Key> *entries, Entry<Key> *other, int64_t count, int keyBits) {
  constexpr int64_t kFewest = 12, kFew = 48, kMany = 4096;
  if (count <= kFewest) {
    sortByRanks(entries, count, other);
    return other;
  }
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

/// The least of some keys.
template <typename Key> using LeastFunction = Key (*)(const Key *keys, int64_t count);
template <typename Key> [[gnu::always_inline]] inline Key leastInLoop(const Key *keys, int64_t count) {
  Key least = keys[0];
  for (int64_t i = 1; i < count; ++i)
    least = std::min(least, keys[i]);
  return least;
}
template <typename Key> Key leastPlainly(const Key *keys, int64_t count) { return leastInLoop(keys, count); }
#if defined(__x86_64__)
template <typename Key> __attribute__((target("avx2"))) Key leastAvx2(const Key *keys, int64_t count) { return leastInLoop(keys, count); }
#endif
template <typename Key> LeastFunction<Key> leastFunction() {
#if defined(__x86_64__)
  if (kernels::hasIsa(kernels::Isa::V3))
    return leastAvx2<Key>;
#endif
  return leastPlainly<Key>;
}

struct SortedLines {
  int64_t outer = 1, count = 1, inner = 1; // Elements of a line lie `inner` apart.
  int64_t first = 0; // So many of each are all that is needed; 0: all.
};

struct KeyedInput {
  unsigned input; // Of the sort's inputs.
  std::unique_ptr<const ElementKeys> keys;
};

/// Instead of the number of what is read: elements are their places in their lines.
constexpr unsigned kCounted = ~0u;
/// Keys are made of so many elements at a time, in the first cache.
constexpr int64_t kChunk = 256;

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
    int64_t scratch = (2 * lines.count + entriesForBlocks(lines.count)) * int64_t(sizeof(One));
    if (isInStep())
      return runInStep(reads, writes);
    bool isLong = scratch > (int64_t{4} << 20);
    std::atomic<bool> isOut = false;
    const double nanoseconds = 15 * double(keys.size() * size_t(lines.count));
    int64_t many = lines.outer * lines.inner, perPart = kernelPool().unitsPerPart(many, nanoseconds);
    kernelPool().parallelFor((many + perPart - 1) / perPart, nanoseconds * double(perPart), [&](int64_t part) {
      AlignedMemory own(isLong ? scratch : 0);
      auto *entries = static_cast<One *>(isLong ? own.get() : threadScratch(scratch));
      if (!entries) {
        isOut = true;
        return;
      }
      for (int64_t line = part * perPart; line < std::min(many, (part + 1) * perPart); ++line)
        sortLine(entries, line / lines.inner * lines.count * lines.inner + line % lines.inner, reads, writes);
    });
    if (isOut)
      return Error{ErrorCode::OutOfMemory, "there is no memory to sort in"};
    return {};
  }
  std::string_view kind() const override { return "sort"; }

private:
  using One = Entry<Wide>;
  static constexpr int64_t kSmallestBlock = 8; // Of elements among which the first are looked for together.

  const std::byte *dataOf(unsigned input, std::span<const std::byte *const> reads) const {
    return inputs[input] == kCounted ? nullptr : reads[inputs[input]];
  }

  /// Whether the first of short lines are all that is needed, so that each line is a lane of vectors.
  bool isInStep() const {
    constexpr int64_t kMostCount = 64;
    return std::is_same_v<Wide, uint32_t> && keys.size() == 1 && inputs[keys[0].input] != kCounted && lines.inner == 1 && lines.count <= kMostCount &&
           needed() <= kernels::kMostFirst &&
           llvm::all_of(bytes, [](int64_t of) { return of == 1 || of == 2 || of == 4 || of == 8; });
  }

  Status runInStep(std::span<const std::byte *const> reads, std::span<std::byte *const> writes) const {
    const int64_t atOnce = kernels::linesAtOnce(), groups = lines.outer / atOnce;
    const double nanoseconds = double(atOnce * lines.count) * (1 + 0.2 * double(needed()));
    const int64_t perPart = kernelPool().unitsPerPart(groups, nanoseconds);
    kernelPool().parallelFor((groups + perPart - 1) / perPart, nanoseconds * double(perPart), [&](int64_t part) {
      for (int64_t group = part * perPart; group < std::min(groups, (part + 1) * perPart); ++group)
        sortInStep(group * atOnce, atOnce, reads, writes);
    });
    sortInStep(groups * atOnce, lines.outer - groups * atOnce, reads, writes);
    return {};
  }

  /// So many lines, no more than are gone through at once.
  void sortInStep(int64_t line, int64_t many, std::span<const std::byte *const> reads, std::span<std::byte *const> writes) const {
    constexpr int64_t kMostKeys = 64 * kernels::kMostLinesAtOnce;
    uint32_t read[kMostKeys], places[kernels::kMostFirst * kernels::kMostLinesAtOnce];
    if (many == 0)
      return;
    keys[0].keys->read(dataOf(keys[0].input, reads), line * lines.count, 1, 0, many * lines.count, read);
    std::fill(read + many * lines.count, read + kernels::linesAtOnce() * lines.count, 0u); // Of lines that are not there.
    kernels::firstOfLines(read, lines.count, needed(), places);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const std::byte *source = inputs[k] == kCounted ? nullptr : reads[inputs[k]] + line * lines.count * bytes[k];
      std::byte *target = writes[k] + line * lines.count * bytes[k];
      switch (bytes[k]) {
      case 1: moveInStep<uint8_t>(source, target, many, places); break;
      case 2: moveInStep<uint16_t>(source, target, many, places); break;
      case 4: moveInStep<uint32_t>(source, target, many, places); break;
      case 8: moveInStep<uint64_t>(source, target, many, places); break;
      }
    }
  }

  template <typename T> void moveInStep(const std::byte *from, std::byte *to, int64_t many, const uint32_t *places) const {
    const auto *source = reinterpret_cast<const T *>(from);
    auto *target = reinterpret_cast<T *>(to);
    const int64_t atOnce = kernels::linesAtOnce(), count = lines.count, first = needed();
    for (int64_t line = 0; line < many; ++line)
      for (int64_t k = 0; k < first; ++k) {
        const uint32_t place = places[k * atOnce + line];
        target[line * count + k] = source ? source[line * count + place] : T(place);
      }
  }

  /// New entries are those of all elements in order; others get another key.
  void fill(const KeyedInput &by, int64_t first, std::span<const std::byte *const> reads, One *entries, bool areNew) const {
    const std::byte *data = dataOf(by.input, reads);
    Wide chunk[kChunk];
    for (int64_t begin = 0; begin < lines.count && areNew; begin += kChunk) {
      int64_t many = std::min(kChunk, lines.count - begin);
      by.keys->read(data, first, lines.inner, begin, many, chunk);
      for (int64_t i = 0; i < many; ++i)
        entries[begin + i] = {chunk[i], uint32_t(begin + i)};
    }
    for (int64_t i = 0; i < lines.count && !areNew; ++i)
      entries[i].key = Wide(data ? by.keys->at(data, first + int64_t(entries[i].index) * lines.inner)
                                 : by.keys->at(data, entries[i].index));
  }

  /// Entries that finding the first of a line needs behind those of the line: for the least keys of its blocks, twice.
  static int64_t entriesForBlocks(int64_t count) { return count / (kSmallestBlock / 2) + 2; }

  /// The first few of a line, in order. The least keys of its blocks are found first: as many of them as elements are needed say
  /// what no element that is needed lies behind, and few others lie before that.
  void findFirst(int64_t first, std::span<const std::byte *const> reads, One *entries) const {
    // As one number where that is wide enough.
    auto isBefore = [](const One &a, const One &b) {
      if constexpr (sizeof(Wide) <= sizeof(uint32_t))
        return (uint64_t(a.key) << 32 | a.index) < (uint64_t(b.key) << 32 | b.index);
      else
        return std::pair(a.key, a.index) < std::pair(b.key, b.index);
    };
    constexpr int64_t kLargestBlock = 64, kBlocksPerFound = 8;
    const std::byte *data = dataOf(keys[0].input, reads);
    int64_t block = kLargestBlock;
    while (block > kSmallestBlock && lines.count < lines.first * kBlocksPerFound * block)
      block /= 2;
    int64_t blocks = (lines.count + block - 1) / block;
    auto *least = reinterpret_cast<Wide *>(entries + 2 * lines.count), *ranked = least + blocks;
    LeastFunction<Wide> leastOf = leastFunction<Wide>();
    Wide chunk[kChunk];
    for (int64_t begin = 0; begin < lines.count; begin += kChunk) {
      int64_t many = std::min(kChunk, lines.count - begin);
      keys[0].keys->read(data, first, lines.inner, begin, many, chunk);
      for (int64_t i = 0; i < many; i += block)
        least[(begin + i) / block] = leastOf(chunk + i, std::min(block, many - i));
    }
    std::copy_n(least, blocks, ranked);
    std::nth_element(ranked, ranked + lines.first - 1, ranked + blocks);
    constexpr Wide kLast = std::numeric_limits<Wide>::max();
    Wide limit = ranked[lines.first - 1]; // What is behind it is not needed, nor what is equal once there are enough before that.
    bool takesLimit = true;
    // Of many equal ones few are kept.
    constexpr int64_t kMore = 32;
    int64_t found = 0, most = std::min(lines.count, 2 * lines.first + kMore);
    auto keepFirst = [&] { std::nth_element(entries, entries + lines.first - 1, entries + found, isBefore); };
    for (int64_t at = 0; at < blocks; ++at) {
      if (takesLimit ? least[at] > limit : least[at] >= limit)
        continue;
      int64_t begin = at * block, many = std::min(block, lines.count - begin);
      keys[0].keys->read(data, first, lines.inner, begin, many, chunk);
      Wide end = takesLimit && limit < kLast ? Wide(limit + 1) : limit;
      bool takesAll = takesLimit && limit == kLast;
      for (int64_t i = 0; i < many; ++i) {
        entries[found] = {chunk[i], uint32_t(begin + i)};
        found += int64_t{takesAll} | int64_t{chunk[i] < end};
      }
      if (found < most)
        continue;
      keepFirst();
      found = lines.first;
      limit = entries[lines.first - 1].key;
      takesLimit = false; // Equal ones that come later are behind.
    }
    if (found > lines.first)
      keepFirst();
    std::sort(entries, entries + lines.first, isBefore);
  }

  void sortLine(One *entries, int64_t first, std::span<const std::byte *const> reads,
                std::span<std::byte *const> writes) const {
    One *other = entries + lines.count;
    constexpr int64_t kFewOf = kSmallestBlock; // Where one in so many is needed, finding these is less than sorting all.
    if (keys.size() == 1 && lines.first > 0 && lines.first * kFewOf <= lines.count) {
      findFirst(first, reads, entries);
    } else {
      // Sorts are stable: by the last key first, and where an earlier one finds elements equal that order stays.
      for (const KeyedInput &one : llvm::reverse(keys)) {
        fill(one, first, reads, entries, &one == &keys.back());
        if (One *sorted = sortEntries(entries, other, lines.count, one.keys->bits()); sorted != entries)
          std::swap(entries, other);
      }
    }
    for (size_t k = 0; k < inputs.size(); ++k) {
      const std::byte *source = inputs[k] == kCounted ? nullptr : reads[inputs[k]] + first * bytes[k];
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
    for (int64_t i = 0; i < needed() && source; ++i)
      target[i * lines.inner] = source[int64_t(entries[i].index) * lines.inner];
    for (int64_t i = 0; i < needed() && !source; ++i)
      target[i * lines.inner] = T(entries[i].index);
  }

  int64_t needed() const { return lines.first > 0 ? lines.first : lines.count; }

  SortedLines lines;
  std::vector<KeyedInput> keys; // The first one first.
  std::vector<unsigned> inputs; // Which of what is read each is.
  std::vector<int64_t> bytes;   // Of their elements.
};

} // namespace

Result<KernelPointer> sortKernel(stablehlo::SortOp op) {
  Error refusal{ErrorCode::Unsupported, "there is no sort of such elements or with such a comparator"};
  Block &body = op.getComparator().front();
  auto count = unsigned(op.getInputs().size());
  Comparator comparator(body.getTerminator()->getOperand(0), count, [&](Value value) -> std::optional<ComparedElement> {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || argument.getOwner() != &body)
      return std::nullopt;
    return ComparedElement{argument.getArgNumber() / 2, argument.getArgNumber() % 2 == 1};
  });
  std::vector<ElementOrder> orders = ordersOf(comparator, count);
  if (orders.empty())
    return refusal;
  auto isCounted = [&](unsigned input) { return bool(op.getInputs()[input].getDefiningOp<stablehlo::IotaOp>()); };
  std::vector<KeyedInput> keys;
  bool isWide = false;
  for (const ElementOrder &order : orders) {
    Type element = cast<RankedTensorType>(op.getInputs()[order.operand].getType()).getElementType();
    keys.push_back({order.operand, isCounted(order.operand) ? keysOfPlaces(order) : keysOf(element, order)});
    if (!keys.back().keys)
      return refusal;
    isWide |= keys.back().keys->bits() > 32;
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
  for (auto [k, input] : llvm::enumerate(op.getInputs())) {
    inputs.push_back(isCounted(unsigned(k)) ? kCounted : cast<BlockArgument>(input).getArgNumber());
    Type element = cast<RankedTensorType>(input.getType()).getElementType();
    bytes.push_back(dev::byteSizeOf(RankedTensorType::get({}, element)).value_or(0));
    // Counted indices are whole numbers that hold every place.
    auto integer = dyn_cast<IntegerType>(element);
    if (bytes.back() == 0 || (inputs.back() == kCounted && (!integer || integer.getWidth() < 32)))
      return refusal;
  }
  if (isWide)
    return KernelPointer(std::make_unique<SortKernel<uint64_t>>(lines, std::move(keys), std::move(inputs), std::move(bytes)));
  return KernelPointer(std::make_unique<SortKernel<uint32_t>>(lines, std::move(keys), std::move(inputs), std::move(bytes)));
}

} // namespace cupel::compiler
