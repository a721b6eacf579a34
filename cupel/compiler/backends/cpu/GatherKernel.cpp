#include "cupel/compiler/backends/cpu/GatherKernel.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/IndexReader.h"
#include "cupel/compiler/backends/cpu/Threads.h"

#include <algorithm>
#include <cstring>

namespace cupel::compiler {

using namespace mlir;

namespace {

class GatherKernel final : public Kernel {
public:
  GatherKernel(stablehlo::GatherOp op, int64_t elementBytes)
      : index(op.getStartIndices().getType()), element(elementBytes),
        operandBytes(cast<RankedTensorType>(op.getOperand().getType()).getNumElements() * elementBytes),
        operand(cast<BlockArgument>(op.getOperand()).getArgNumber()),
        indices(cast<BlockArgument>(op.getStartIndices()).getArgNumber()) {
    auto numbers = op.getDimensionNumbers();
    ArrayRef<int64_t> from = cast<RankedTensorType>(op.getOperand().getType()).getShape(),
                      at = cast<RankedTensorType>(op.getStartIndices().getType()).getShape(),
                      to = cast<RankedTensorType>(op.getResult().getType()).getShape();
    SmallVector<int64_t> fromSteps = stridesOf(from), atSteps = stridesOf(at), toSteps = stridesOf(to);
    // The box: what is neither collapsed nor of a batch, at the result's offset dimensions.
    SmallVector<int64_t> sizes, boxFrom, boxTo;
    size_t offset = 0;
    for (size_t d = 0; d < from.size(); ++d) {
      if (llvm::is_contained(numbers.getCollapsedSliceDims(), int64_t(d)) ||
          llvm::is_contained(numbers.getOperandBatchingDims(), int64_t(d)))
        continue;
      sizes.push_back(op.getSliceSizes()[d]);
      boxFrom.push_back(fromSteps[d]);
      boxTo.push_back(toSteps[numbers.getOffsetDims()[offset++]]);
    }
    box = BoxCopy(sizes, boxFrom, boxTo, element);
    // One element, and not two of half the size that lie apart.
    isOneWord = element == 4 && box.bytes() == 4;
    isRow = box.isOneRun() && box.bytes() >= kLine;
    // Where each index vector comes from, and where its box goes.
    size_t batch = 0;
    int64_t vectorDim = numbers.getIndexVectorDim();
    for (size_t d = 0; d < to.size(); ++d) {
      if (llvm::is_contained(numbers.getOffsetDims(), int64_t(d)))
        continue;
      size_t inIndices = batch + (int64_t(batch) >= vectorDim ? 1 : 0);
      Batch one{to[d], atSteps[inIndices], toSteps[d] * element, 0};
      for (auto [ours, theirs] :
           llvm::zip(numbers.getOperandBatchingDims(), numbers.getStartIndicesBatchingDims()))
        if (theirs == int64_t(inIndices))
          one.from = fromSteps[ours] * element;
      batches.push_back(one);
      count *= to[d];
      ++batch;
    }
    // Elements of the inmost dimension, for all others: rows are what is walked, and places are looked up once.
    int64_t inmost = int64_t(from.size()) - 1;
    bool takesAllOthers = inmost >= 0 && numbers.getStartIndexMap() == ArrayRef(inmost) && numbers.getCollapsedSliceDims() == ArrayRef(inmost) &&
                          op.getSliceSizes().drop_back() == from.drop_back() && llvm::is_sorted(numbers.getOffsetDims());
    if (takesAllOthers && batches.size() == 1 && batches[0].to == element && llvm::isPowerOf2_64(uint64_t(element)) && element <= 8) {
      rows = box.bytes() / element;
      rowLength = from.back();
    }
    for (auto [k, d] : llvm::enumerate(numbers.getStartIndexMap()))
      parts.push_back({vectorDim < int64_t(at.size()) ? int64_t(k) * atSteps[vectorDim] : 0,
                       from[d] - op.getSliceSizes()[d], fromSteps[d] * element});
  }

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    if (count == 0 || box.bytes() == 0)
      return {};
    if (rows > 1)
      return runByRows(reads, writes);
    // More than caches hold is written past them, so that nothing is read only to be written over.
    bool isStreamed = isRow && count * box.bytes() >= kLarge && box.bytes() % kLine == 0 &&
                      reinterpret_cast<uintptr_t>(writes[0]) % kLine == 0;
    double one = 3 + double(box.bytes()) * 0.1;
    auto perPart = std::max<int64_t>(1, int64_t(30'000 / one));
    kernelPool().parallelFor((count + perPart - 1) / perPart, one * double(perPart), [&](int64_t part) {
      boxes(reads[operand], reads[indices], writes[0], part * perPart,
            std::min(count, (part + 1) * perPart), isStreamed);
    });
    return {};
  }
  std::string_view kind() const override { return "gather"; }

  runtime::Reading readingOf(unsigned read) const override {
    bool isPart = read == operand && read != indices && count * box.bytes() <= operandBytes / 4;
    return isPart ? runtime::Reading::Sparse : runtime::Reading::Whole;
  }

private:
  Status runByRows(std::span<const std::byte *const> reads, std::span<std::byte *const> writes) const {
    AlignedMemory memory(count * int64_t(sizeof(int64_t)));
    auto *places = static_cast<int64_t *>(memory.get());
    if (!places)
      return Error{ErrorCode::OutOfMemory, "there is no memory to gather with"};
    for (int64_t i = 0; i < count; ++i)
      places[i] = std::clamp<int64_t>(index.read(reads[indices], i * batches[0].index), 0, parts[0].last);
    double one = 2 + double(count) * 0.5;
    auto perPart = std::max<int64_t>(1, int64_t(30'000 / one));
    kernelPool().parallelFor((rows + perPart - 1) / perPart, one * double(perPart), [&](int64_t part) {
      int64_t begin = part * perPart, end = std::min(rows, begin + perPart);
      switch (element) {
      case 1: return pickInRows<uint8_t>(reads[operand], places, begin, end, writes[0]);
      case 2: return pickInRows<uint16_t>(reads[operand], places, begin, end, writes[0]);
      case 4: return pickInRows<uint32_t>(reads[operand], places, begin, end, writes[0]);
      default: return pickInRows<uint64_t>(reads[operand], places, begin, end, writes[0]);
      }
    });
    return {};
  }
  template <typename T>
  void pickInRows(const std::byte *from, const int64_t *places, int64_t begin, int64_t end, std::byte *to) const {
    for (int64_t row = begin; row < end; ++row) {
      const T *source = reinterpret_cast<const T *>(from) + row * rowLength;
      T *target = reinterpret_cast<T *>(to) + row * count;
      for (int64_t i = 0; i < count; ++i)
        target[i] = source[places[i]];
    }
  }

  static constexpr int64_t kLine = 64, kLarge = int64_t{12} << 20; // Bytes.

  /// Rows that have been found but not copied: their first lines are on their way meanwhile.
  struct Waiting {
    static constexpr int kMost = 8;
    const std::byte *from[kMost];
    std::byte *to[kMost];
    int count = 0;
  };
  void copyAll(Waiting &rows, bool isStreamed) const {
    for (int i = 0; i < rows.count; ++i)
      if (isStreamed)
        copyPastCaches(rows.from[i], rows.to[i], box.bytes());
      else
        std::memcpy(rows.to[i], rows.from[i], size_t(box.bytes()));
    rows.count = 0;
  }
  static void copyPastCaches(const std::byte *from, std::byte *to, int64_t bytes) {
    using Vector = float __attribute__((vector_size(16)));
    for (int64_t i = 0; i < bytes; i += int64_t(sizeof(Vector))) {
      Vector part;
      std::memcpy(&part, from + i, sizeof(part));
      __builtin_nontemporal_store(part, reinterpret_cast<Vector *>(to + i));
    }
  }

  void boxes(const std::byte *from, const std::byte *at, std::byte *to, int64_t begin,
             int64_t end, bool isStreamed) const {
    Waiting waiting;
    SmallVector<int64_t, 4> place(batches.size());
    int64_t vector = 0, rest = begin;
    for (size_t d = batches.size(); d-- > 0;) {
      place[d] = rest % batches[d].size;
      rest /= batches[d].size;
      vector += place[d] * batches[d].index;
      to += place[d] * batches[d].to;
      from += place[d] * batches[d].from;
    }
    for (int64_t i = begin; i < end; ++i) {
      const std::byte *start = from;
      for (const Part &part : parts)
        start += std::clamp<int64_t>(index.read(at, vector + part.index), 0, part.last) * part.from;
      if (isOneWord) {
        std::memcpy(to, start, 4);
      } else if (isRow) {
        for (int64_t line = 0; line < std::min(box.bytes(), 4 * kLine); line += kLine)
          __builtin_prefetch(start + line);
        waiting.from[waiting.count] = start;
        waiting.to[waiting.count++] = to;
        if (waiting.count == Waiting::kMost)
          copyAll(waiting, isStreamed);
      } else {
        box.run(start, to);
      }
      for (size_t d = batches.size(); d-- > 0;) {
        vector += batches[d].index;
        to += batches[d].to;
        from += batches[d].from;
        if (++place[d] < batches[d].size)
          break;
        vector -= batches[d].index * batches[d].size;
        to -= batches[d].to * batches[d].size;
        from -= batches[d].from * batches[d].size;
        place[d] = 0;
      }
    }
    copyAll(waiting, isStreamed);
#if defined(__x86_64__)
    if (isStreamed)
      __builtin_ia32_sfence(); // Whoever is told that it is done has to see it.
#endif
  }

  struct Batch {
    int64_t size, index, to, from; // Steps: of indices in elements, of the others in bytes.
  };
  struct Part {
    int64_t index, last, from;
  };
  IndexReader index;
  int64_t element, operandBytes, count = 1;
  unsigned operand, indices;
  BoxCopy box;
  bool isOneWord = false, isRow = false;
  int64_t rows = 0, rowLength = 0; // Where elements of rows are picked.
  std::vector<Batch> batches;
  std::vector<Part> parts; // Of an index vector.
};

} // namespace

Result<KernelPointer> gatherKernel(stablehlo::GatherOp op) {
  auto type = cast<RankedTensorType>(op.getOperand().getType());
  int64_t element = dev::byteSizeOf(RankedTensorType::get({}, type.getElementType())).value_or(0);
  if (element == 0 || !IndexReader::reads(op.getStartIndices().getType()))
    return Error{ErrorCode::Unsupported, "there is no gather of such elements or indices"};
  return KernelPointer(std::make_unique<GatherKernel>(op, element));
}

} // namespace cupel::compiler
