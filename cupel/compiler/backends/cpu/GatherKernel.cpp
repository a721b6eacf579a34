#include "cupel/compiler/backends/cpu/GatherKernel.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/IndexReader.h"
#include "cupel/compiler/backends/cpu/Threads.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

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
    for (auto [size, source, target] : llvm::zip(sizes, boxFrom, boxTo))
      boxDimensions.push_back({size, source * element, target * element});
    // One element, and not two of half the size that lie apart.
    isOneElement = box.bytes() == element && llvm::isPowerOf2_64(uint64_t(element)) && element <= 8;
    isRow = box.isOneRun() && box.bytes() >= kLine;
    isShortRow = box.isOneRun() && isKnownRow(box.bytes());
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
    // Elements of one dimension, for all others, which stay where they are: rows are what is walked, and places are looked up once.
    if (batches.size() == 1 && numbers.getStartIndexMap().size() == 1) {
      int64_t d = numbers.getStartIndexMap()[0];
      bool takesAllOthers = numbers.getCollapsedSliceDims() == ArrayRef(d) && from.size() == to.size() && llvm::is_sorted(numbers.getOffsetDims()) &&
                            !llvm::is_contained(numbers.getOffsetDims(), d);
      for (int64_t k = 0; k < int64_t(from.size()); ++k)
        takesAllOthers = takesAllOthers && op.getSliceSizes()[k] == (k == d ? 1 : from[k]);
      int64_t size = fromSteps[d] * element;
      if (takesAllOthers && (size > 8 || llvm::isPowerOf2_64(uint64_t(size)))) {
        rows = size > 0 ? box.bytes() / size : 0;
        rowLength = from[d];
        unit = size;
      }
    }
    joinBatches();
    // Places of a plane of the result, which are the same for every element of a box: planes are what is walked.
    int64_t boxElements = element > 0 ? box.bytes() / element : 0;
    for (size_t d = batches.size(); d-- > 0 && (batches[d].size == 1 || batches[d].to == planeCount * element);)
      planeCount *= batches[d].size;
    constexpr int64_t kFewestPlanes = 2, kSmallestPlane = 16;
    isByPlanes = boxElements >= kFewestPlanes && planeCount >= kSmallestPlane && llvm::isPowerOf2_64(uint64_t(element)) && element <= 8;
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
    if (isByPlanes)
      return runByPlanes(reads, writes);
    // More than caches hold is written past them, so that nothing is read only to be written over.
    bool isStreamed = isRow && count * box.bytes() >= kLarge && box.bytes() % kLine == 0 &&
                      reinterpret_cast<uintptr_t>(writes[0]) % kLine == 0;
    bool isByElements = (isOneElement || isShortRow) && !batches.empty() && index.isSigned() && index.width() >= 4;
    double one = isByElements ? 1.0 + double(box.bytes()) * 0.02 : 3 + double(box.bytes()) * 0.1;
    int64_t perPart = kernelPool().unitsPerPart(count, one);
    kernelPool().parallelFor((count + perPart - 1) / perPart, one * double(perPart), [&](int64_t part) {
      int64_t begin = part * perPart, end = std::min(count, begin + perPart);
      if (isByElements)
        elements(reads[operand], reads[indices], writes[0], begin, end);
      else
        boxes(reads[operand], reads[indices], writes[0], begin, end, isStreamed);
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
    // Neighbours that stay neighbours are copied together: padding by reflection is little else.
    SmallVector<Stretch> stretches;
    constexpr size_t kMostStretches = 64;
    for (int64_t i = 0; i < count && (unit > 8 || stretches.size() <= kMostStretches); i += stretches.back().count) {
      int64_t many = 1;
      while (i + many < count && places[i + many] == places[i] + many)
        ++many;
      stretches.push_back({places[i], many});
    }
    if (unit > 8 || (stretches.size() <= kMostStretches && int64_t(stretches.size()) * 8 <= count))
      return copyStretches(reads[operand], stretches, writes[0]);
    double one = 2 + double(count) * 0.5;
    int64_t perPart = kernelPool().unitsPerPart(rows, one);
    kernelPool().parallelFor((rows + perPart - 1) / perPart, one * double(perPart), [&](int64_t part) {
      int64_t begin = part * perPart, end = std::min(rows, begin + perPart);
      switch (unit) {
      case 1: return pickInRows<uint8_t>(reads[operand], places, begin, end, writes[0]);
      case 2: return pickInRows<uint16_t>(reads[operand], places, begin, end, writes[0]);
      case 4: return pickInRows<uint32_t>(reads[operand], places, begin, end, writes[0]);
      default: return pickInRows<uint64_t>(reads[operand], places, begin, end, writes[0]);
      }
    });
    return {};
  }
  /// Dimensions of the batch along which all steps go on as in the one before them are one, so that
  /// what is done for a stretch of the inmost is not done for every element.
  void joinBatches() {
    SmallVector<Batch, 4> joined;
    for (const Batch &one : batches) {
      if (one.size == 1)
        continue;
      auto goesOn = [&](int64_t Batch::*step) {
        return joined.back().*step == one.*step * one.size;
      };
      if (!joined.empty() && goesOn(&Batch::index) && goesOn(&Batch::to) && goesOn(&Batch::from))
        joined.back() = {joined.back().size * one.size, one.index, one.to, one.from};
      else
        joined.push_back(one);
    }
    if (joined.empty() && !batches.empty())
      joined.push_back(batches.back());
    batches.assign(joined.begin(), joined.end());
  }

  struct Stretch {
    int64_t from, count; // In elements of a row.
  };
  Status copyStretches(const std::byte *from, ArrayRef<Stretch> stretches, std::byte *to) const {
    double one = 4 * double(stretches.size()) + double(count * unit) * 0.05;
    int64_t perPart = kernelPool().unitsPerPart(rows, one);
    kernelPool().parallelFor((rows + perPart - 1) / perPart, one * double(perPart), [&](int64_t part) {
      int64_t begin = part * perPart, end = std::min(rows, begin + perPart);
      std::byte *target = to + begin * count * unit;
      for (int64_t row = begin; row < end; ++row)
        for (const Stretch &stretch : stretches) {
          auto bytes = size_t(stretch.count * unit);
          const std::byte *source = from + (row * rowLength + stretch.from) * unit;
          if (bytes == 4) // The usual one that is short.
            std::memcpy(target, source, 4);
          else
            std::memcpy(target, source, bytes);
          target += bytes;
        }
    });
    return {};
  }

  /// Some places are found, which stay near, and are looked up in some planes.
  Status runByPlanes(std::span<const std::byte *const> reads, std::span<std::byte *const> writes) const {
    constexpr double kNanosecondsPerPlace = 1.5, kNanosecondsPerElement = 0.5;
    constexpr int64_t kPlacesAtOnce = 2048, kElementsAtOnce = 1 << 16;
    int64_t boxElements = box.bytes() / element, outer = count / planeCount, many = std::min(planeCount, kPlacesAtOnce);
    int64_t pieces = (planeCount + many - 1) / many, atOnce = std::min(boxElements, (kElementsAtOnce + many - 1) / many);
    int64_t groups = (boxElements + atOnce - 1) / atOnce;
    double one = double(many) * (kNanosecondsPerPlace + kNanosecondsPerElement * double(atOnce));
    kernelPool().parallelFor(outer * pieces * groups, one, [&](int64_t unit) {
      int64_t places[kPlacesAtOnce], inPlane = unit % pieces * many, first = unit / pieces / groups * planeCount + inPlane;
      int64_t group = unit / pieces % groups, found = std::min(many, planeCount - inPlane);
      const std::byte *at = reads[indices];
      if (index.isSigned() && index.width() == 8)
        findPlaces([at](int64_t number) { return reinterpret_cast<const int64_t *>(at)[number]; }, reads[operand], writes[0], first, first + found, places);
      else if (index.isSigned() && index.width() == 4)
        findPlaces([at](int64_t number) { return int64_t{reinterpret_cast<const int32_t *>(at)[number]}; }, reads[operand], writes[0], first,
                   first + found, places);
      else
        findPlaces([at, this](int64_t number) { return index.read(at, number); }, reads[operand], writes[0], first, first + found, places);
      SmallVector<int64_t, 4> place(batches.size());
      int64_t vector = 0;
      const std::byte *ignored = reads[operand];
      std::byte *result = writes[0];
      enter(first, place, vector, ignored, result);
      for (int64_t number = group * atOnce; number < std::min(boxElements, (group + 1) * atOnce); ++number) {
        const std::byte *source = reads[operand];
        std::byte *target = result;
        int64_t inBox = number;
        for (const BoxDimension &one : llvm::reverse(boxDimensions)) {
          source += inBox % one.size * one.from;
          target += inBox % one.size * one.to;
          inBox /= one.size;
        }
        switch (element) {
        case 1: pickPlane<uint8_t>(source, places, found, target); break;
        case 2: pickPlane<uint16_t>(source, places, found, target); break;
        case 4: pickPlane<uint32_t>(source, places, found, target); break;
        default: pickPlane<uint64_t>(source, places, found, target);
        }
      }
    });
    return {};
  }
  /// Where index vectors [begin, end) point to, in bytes from the first element: one stretch of the
  /// inmost batch after the other. places[0] is that of `begin`.
  template <typename Read>
  void findPlaces(Read read, const std::byte *data, std::byte *result, int64_t begin, int64_t end,
                  int64_t *places) const {
    const Batch &inmost = batches.back();
    for (int64_t i = begin; i < end;) {
      SmallVector<int64_t, 4> place(batches.size());
      int64_t vector = 0;
      const std::byte *from = data;
      std::byte *ignored = result;
      enter(i, place, vector, from, ignored);
      int64_t first = from - data, many = std::min(end - i, inmost.size - place.back());
      auto walk = [&](auto placeOf) {
        for (int64_t k = 0, indexStep = inmost.index, fromStep = inmost.from; k < many; ++k)
          places[i - begin + k] = first + k * fromStep + placeOf(vector + k * indexStep);
      };
      auto held = [read](int64_t vector, const Part &part) {
        return part.hold(read(vector + part.index)) * part.from;
      };
      switch (parts.size()) {
      case 1:
        walk([held, one = parts[0]](int64_t at) { return held(at, one); });
        break;
      case 2:
        walk([held, one = parts[0], two = parts[1]](int64_t at) {
          return held(at, one) + held(at, two);
        });
        break;
      case 3:
        walk([held, one = parts[0], two = parts[1], three = parts[2]](int64_t at) {
          return held(at, one) + held(at, two) + held(at, three);
        });
        break;
      default:
        walk([held, this](int64_t at) {
          int64_t sum = 0;
          for (const Part &part : parts)
            sum += held(at, part);
          return sum;
        });
      }
      i += many;
    }
  }
  template <typename T> static void pickPlane(const std::byte *source, const int64_t *places, int64_t many, std::byte *to) {
    T *target = reinterpret_cast<T *>(to);
    for (int64_t i = 0; i < many; ++i)
      target[i] = *reinterpret_cast<const T *>(source + places[i]);
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

  /// Where index vector `number` lies, and what belongs to it.
  void enter(int64_t number, MutableArrayRef<int64_t> place, int64_t &vector, const std::byte *&from, std::byte *&to) const {
    for (size_t d = batches.size(); d-- > 0;) {
      place[d] = number % batches[d].size;
      number /= batches[d].size;
      vector += place[d] * batches[d].index;
      to += place[d] * batches[d].to;
      from += place[d] * batches[d].from;
    }
  }

  /// Elements that lie side by side, so few that copying them takes less than a call of the function that copies any number.
  template <size_t size> struct Row {
    std::byte bytes[size];
  };
  /// Coordinates, colours, complex numbers, boxes.
  static bool isKnownRow(int64_t bytes) { return llvm::is_contained({6, 12, 16, 24, 32, 48}, bytes); }

  /// Single elements or short rows: one stretch of the inmost batch after the other.
  void elements(const std::byte *from, const std::byte *at, std::byte *to, int64_t begin, int64_t end) const {
    auto ofIndex = [&]<typename Index>() {
      switch (box.bytes()) {
      case 1: return elements<Index, uint8_t>(from, at, to, begin, end);
      case 2: return elements<Index, uint16_t>(from, at, to, begin, end);
      case 4: return elements<Index, uint32_t>(from, at, to, begin, end);
      case 6: return elements<Index, Row<6>>(from, at, to, begin, end);
      case 12: return elements<Index, Row<12>>(from, at, to, begin, end);
      case 16: return elements<Index, Row<16>>(from, at, to, begin, end);
      case 24: return elements<Index, Row<24>>(from, at, to, begin, end);
      case 32: return elements<Index, Row<32>>(from, at, to, begin, end);
      case 48: return elements<Index, Row<48>>(from, at, to, begin, end);
      default: return elements<Index, uint64_t>(from, at, to, begin, end);
      }
    };
    index.width() == 8 ? ofIndex.operator()<int64_t>() : ofIndex.operator()<int32_t>();
  }
  template <typename Index, typename T>
  void elements(const std::byte *from, const std::byte *at, std::byte *to, int64_t begin, int64_t end) const {
    const Batch &inmost = batches.back();
    for (int64_t i = begin; i < end;) {
      SmallVector<int64_t, 4> place(batches.size());
      int64_t vector = 0, many = 0;
      const std::byte *source = from;
      std::byte *target = to;
      enter(i, place, vector, source, target);
      many = std::min(end - i, inmost.size - place.back());
      const auto *vectors = reinterpret_cast<const Index *>(at) + vector;
      // Nothing that is written changes what is read: numbers are held in registers, and the usual
      // steps are known.
      auto walk = [&](auto placeOf) {
        auto inSteps = [&, placeOf](auto indexStep, auto toStep, auto fromStep) {
          for (int64_t k = 0; k < many; ++k)
            *reinterpret_cast<T *>(target + k * toStep) = *reinterpret_cast<const T *>(
                source + k * fromStep + placeOf(vectors + k * indexStep));
        };
        if (inmost.to == int64_t(sizeof(T)) && inmost.from == 0 &&
            inmost.index == int64_t(parts.size()) && parts.size() <= 2)
          parts.size() == 1 ? inSteps(Known<1>(), Known<int64_t(sizeof(T))>(), Known<0>())
                            : inSteps(Known<2>(), Known<int64_t(sizeof(T))>(), Known<0>());
        else
          inSteps(inmost.index, inmost.to, inmost.from);
      };
      auto held = [](const Index *vector, const Part &part) {
        return part.hold(vector[part.index]) * part.from;
      };
      if (parts.size() == 1) {
        Part one = parts[0];
        if (one.from == int64_t(sizeof(T)) && one.index == 0)
          walk([last = one.last](const Index *vector) {
            return Part{0, last, 0}.hold(*vector) * int64_t(sizeof(T));
          });
        else
          walk([held, one](const Index *vector) { return held(vector, one); });
      } else if (parts.size() == 2) {
        Part one = parts[0], two = parts[1];
        walk([held, one, two](const Index *vector) {
          return held(vector, one) + held(vector, two);
        });
      } else {
        walk([held, this](const Index *vector) {
          int64_t sum = 0;
          for (const Part &part : parts)
            sum += held(vector, part);
          return sum;
        });
      }
      i += many;
    }
  }

  void boxes(const std::byte *from, const std::byte *at, std::byte *to, int64_t begin,
             int64_t end, bool isStreamed) const {
    Waiting waiting;
    SmallVector<int64_t, 4> place(batches.size());
    int64_t vector = 0;
    enter(begin, place, vector, from, to);
    for (int64_t i = begin; i < end; ++i) {
      const std::byte *start = from;
      for (const Part &part : parts)
        start += std::clamp<int64_t>(index.read(at, vector + part.index), 0, part.last) * part.from;
      if (isRow) {
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
    /// Nearly all places are inside: a branch that is foreseen costs less than two choices.
    int64_t hold(int64_t place) const {
      if (__builtin_expect(uint64_t(place) > uint64_t(last), 0))
        return place < 0 ? 0 : last;
      return place;
    }
  };
  template <int64_t number> using Known = std::integral_constant<int64_t, number>;
  IndexReader index;
  int64_t element, operandBytes, count = 1;
  unsigned operand, indices;
  BoxCopy box;
  bool isOneElement = false, isRow = false, isShortRow = false;
  struct BoxDimension {
    int64_t size, from, to; // Steps in bytes.
  };
  std::vector<BoxDimension> boxDimensions;
  bool isByPlanes = false;
  int64_t planeCount = 1; // Elements of the result that lie side by side, one of each box.
  int64_t rows = 0, rowLength = 0, unit = 0; // Where elements of rows are picked, of so many bytes.
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
