#include "cupel/compiler/backends/cpu/ScatterKernel.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/Combine.h"
#include "cupel/compiler/backends/cpu/IndexReader.h"
#include "cupel/compiler/backends/cpu/Threads.h"
#include "cupel/kernels/Isa.h"
#include "cupel/reference/Indexing.h"

#include <algorithm>
#include <cstring>

namespace cupel::compiler {

using namespace mlir;

namespace {

/// to[i * step] = combined(to[i * step], from[i * fromStep]); steps in bytes.
using RowFunction = void (*)(std::byte *to, int64_t step, const std::byte *from, int64_t fromStep,
                             int64_t count);

template <Combine combine, typename T>
void combineRow(std::byte *to, int64_t step, const std::byte *from, int64_t fromStep,
                int64_t count) {
  if (step == sizeof(T) && fromStep == sizeof(T)) {
    auto *target = reinterpret_cast<T *>(to);
    const auto *source = reinterpret_cast<const T *>(from);
    for (int64_t i = 0; i < count; ++i)
      target[i] = combined<combine, T>(target[i], source[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    auto &target = *reinterpret_cast<T *>(to + i * step);
    target = combined<combine, T>(target, *reinterpret_cast<const T *>(from + i * fromStep));
  }
}

#if defined(__x86_64__)
/// The same in vectors of 256 bits: most of what is added to rows of features is done here.
template <Combine combine, typename T>
__attribute__((target("avx2"))) void combineRowAvx2(std::byte *to, int64_t step, const std::byte *from, int64_t fromStep, int64_t count) {
  if (step != sizeof(T) || fromStep != sizeof(T))
    return combineRow<combine, T>(to, step, from, fromStep, count);
  auto *__restrict target = reinterpret_cast<T *>(to);
  const auto *__restrict source = reinterpret_cast<const T *>(from);
  for (int64_t i = 0; i < count; ++i)
    target[i] = combined<combine, T>(target[i], source[i]);
}
#endif

template <Combine combine, typename T> RowFunction rowFunction() {
#if defined(__x86_64__)
  if (kernels::hasIsa(kernels::Isa::V3))
    return combineRowAvx2<combine, T>;
#endif
  return combineRow<combine, T>;
}

/// A line of updates of single elements, each at a place of its own: where it lies in bytes, from the one before and from place 0.
struct ElementLine {
  std::byte *to;
  const std::byte *from, *at;
  int64_t toStep, placeStep, places, fromStep, atStep, count;
};
using LineFunction = void (*)(const ElementLine &line);

template <Combine combine, typename T, typename Index> void combineElements(const ElementLine &line) {
  for (int64_t i = 0; i < line.count; ++i) {
    Index place;
    std::memcpy(&place, line.at + i * line.atStep, sizeof(place));
    if (place < 0 || int64_t(place) >= line.places)
      continue;
    auto &target = *reinterpret_cast<T *>(line.to + i * line.toStep + int64_t(place) * line.placeStep);
    target = combined<combine, T>(target, *reinterpret_cast<const T *>(line.from + i * line.fromStep));
  }
}

/// to[places[i]] = combined(to[places[i]], from[i]) in bytes from `to`; negative places are nowhere.
using PlaneFunction = void (*)(std::byte *to, const int64_t *places, const std::byte *from, int64_t count);

template <Combine combine, typename T> void combinePlane(std::byte *to, const int64_t *places, const std::byte *from, int64_t count) {
  const auto *source = reinterpret_cast<const T *>(from);
  for (int64_t i = 0; i < count; ++i) {
    if (places[i] < 0)
      continue;
    auto &target = *reinterpret_cast<T *>(to + places[i]);
    target = combined<combine, T>(target, source[i]);
  }
}

class ScatterKernel final : public Kernel {
public:
  /// `line`: for indices as they are here, or null.
  ScatterKernel(stablehlo::ScatterOp op, RowFunction row, LineFunction line, PlaneFunction plane, int64_t element)
      : row(row), line(line), plane(plane), element(element), index(op.getScatterIndices().getType()),
        skipsWindows(op->hasAttr(reference::kWholeWindowsAttr)),
        input(cast<BlockArgument>(op.getInputs()[0]).getArgNumber()),
        indices(cast<BlockArgument>(op.getScatterIndices()).getArgNumber()),
        updates(cast<BlockArgument>(op.getUpdates()[0]).getArgNumber()) {
    auto numbers = op.getScatterDimensionNumbers();
    auto shape = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
    ArrayRef<int64_t> to = shape(op.getInputs()[0]), at = shape(op.getScatterIndices()),
                      from = shape(op.getUpdates()[0]);
    SmallVector<int64_t> toSteps = stridesOf(to), atSteps = stridesOf(at), fromSteps = stridesOf(from);
    whole = BoxCopy(to, toSteps, toSteps, element);
    int64_t vectorDim = numbers.getIndexVectorDim();
    // Where windows begin in each dimension, and how far they reach.
    size_t next = 0;
    for (size_t d = 0; d < to.size(); ++d) {
      bool isWindow = !llvm::is_contained(numbers.getInsertedWindowDims(), int64_t(d)) &&
                      !llvm::is_contained(numbers.getInputBatchingDims(), int64_t(d));
      Dimension one{to[d], 1, toSteps[d] * element, 0, -1};
      if (isWindow) {
        int64_t there = numbers.getUpdateWindowDims()[next++];
        one.window = from[there];
        one.from = fromSteps[there] * element;
      }
      for (auto [k, operand] : llvm::enumerate(numbers.getScatterDimsToOperandDims()))
        if (operand == int64_t(d))
          one.index = vectorDim < int64_t(at.size()) ? int64_t(k) * atSteps[vectorDim] : 0;
      dimensions.push_back(one);
    }
    size_t batch = 0;
    for (size_t d = 0; d < from.size(); ++d) {
      if (llvm::is_contained(numbers.getUpdateWindowDims(), int64_t(d)))
        continue;
      size_t inIndices = batch++;
      inIndices += int64_t(inIndices) >= vectorDim ? 1 : 0;
      Batch one{from[d], atSteps[inIndices], fromSteps[d] * element, -1};
      for (auto [ours, theirs] :
           llvm::zip(numbers.getInputBatchingDims(), numbers.getScatterIndicesBatchingDims()))
        if (theirs == int64_t(inIndices))
          one.dimension = int(ours);
      batches.push_back(one);
      count *= from[d];
    }
    int64_t updateBytes = element;
    for (int64_t size : from) {
      isEmpty |= size == 0;
      updateBytes *= size;
    }
    // Windows that are whole rows of the outermost dimension, one for each of a single batch's indices.
    isOfRows = !isEmpty && batches.size() == 1 && batches[0].dimension < 0 && !dimensions.empty() && dimensions[0].index >= 0 &&
               dimensions[0].window == 1 && dimensions[0].from == 0;
    for (const Dimension &one : llvm::ArrayRef(dimensions).drop_front(isOfRows ? 1 : 0)) {
      isOfRows = isOfRows && one.index < 0 && one.window == one.size && (one.from == one.to || one.size == 1);
      rowElements *= one.size;
    }
    // Elements by themselves, at places of one dimension in the others' batches.
    int64_t found = llvm::count_if(dimensions, [](const Dimension &one) { return one.index >= 0; });
    isOfElements = line && !isEmpty && !batches.empty() && found == 1 && numbers.getUpdateWindowDims().empty();
    for (auto [number, one] : llvm::enumerate(dimensions)) {
      bool isOfBatch = llvm::any_of(batches, [number = int(number)](const Batch &batch) { return batch.dimension == number; });
      isOfElements = isOfElements && one.window == 1 && (one.index >= 0) != isOfBatch;
      if (one.index >= 0)
        placed = number;
    }
    // Windows that are whole dimensions, each element of which is updated at the same places by updates that lie side by side.
    int64_t window = 1, side = element;
    isByPlanes = plane && !isEmpty && count > 0;
    for (const Dimension &one : dimensions) {
      isByPlanes = isByPlanes && (one.index >= 0 ? one.window == 1 : one.window == one.size);
      window *= one.window;
    }
    for (const Batch &batch : llvm::reverse(batches)) {
      isByPlanes = isByPlanes && batch.dimension < 0 && (batch.size == 1 || batch.from == side);
      side *= batch.size;
    }
    constexpr int64_t kFewestPlanes = 2, kSmallestPlane = 16;
    isByPlanes = isByPlanes && window >= kFewestPlanes && count >= kSmallestPlane;
    planes = window;
    // Threads take stretches of the outermost dimension, and of all updates those that lie there: looking
    // for them has to be little beside the work.
    constexpr int64_t kSmallestRow = 64, kLeast = 1 << 19;
    bool isOfBatch = llvm::any_of(batches, [](const Batch &one) { return one.dimension == 0; });
    isShared = !isEmpty && !dimensions.empty() && dimensions[0].index >= 0 && dimensions[0].window == 1 &&
               !isOfBatch && updateBytes / std::max<int64_t>(1, count) >= kSmallestRow &&
               updateBytes + whole.bytes() >= kLeast;
    // Sorting them must be little, too, and what they go to more than lies near anyway.
    isSorted = isShared && whole.bytes() > kNear && batches.size() == 1 && batches[0].dimension < 0 &&
               count * int64_t(sizeof(Update)) <= whole.bytes() / 4;
  }

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    bool isInPlace = writes[0] == reads[input];
    if (isByPlanes && whole.bytes() > 0) {
      if (!isInPlace)
        whole.runShared(reads[input], writes[0]);
      return updatePlanes(context, reads, writes[0]);
    }
    if (isEmpty || whole.bytes() == 0 || !isShared) {
      if (!isInPlace)
        whole.runShared(reads[input], writes[0]);
      if (isEmpty || whole.bytes() == 0)
        return {};
      return isOfElements ? updateElements(context, reads, writes[0]) : updateRows(context, reads, writes[0], 0, -1);
    }
    if (isSorted)
      return updateBlocks(context, reads, writes[0], isInPlace);
    const kernels::Pool &pool = kernelPool();
    int64_t rows = dimensions[0].size, parts = std::min<int64_t>(rows, pool.threads());
    double nanoseconds = double(whole.bytes()) * 0.2 / double(parts);
    pool.parallelFor(parts, nanoseconds, [&](int64_t part) {
      int64_t begin = rows * part / parts, end = rows * (part + 1) / parts, step = dimensions[0].to;
      if (!isInPlace)
        std::memcpy(writes[0] + begin * step, reads[input] + begin * step, size_t((end - begin) * step));
      (void)updateRows(context, reads, writes[0], begin, end); // Whether it was stopped is asked below.
    });
    return context.process.run.stopped();
  }
  std::string_view kind() const override { return "scatter"; }

private:
  /// An update by itself: where its index vector and its elements are.
  struct Update {
    int64_t vector;
    const std::byte *from;
  };

  /// Some rows are copied, and what is added to them is while they are near: updates are sorted by where they go, and stay
  /// in their order there.
  Status updateBlocks(LaunchContext &context, std::span<const std::byte *const> reads, std::byte *to, bool isInPlace) const {
    constexpr int64_t kBlockBytes = 1 << 18; // A part of a common second-level cache.
    const kernels::Pool &pool = kernelPool();
    int64_t rows = dimensions[0].size, step = dimensions[0].to, blockRows = std::max<int64_t>(1, kBlockBytes / step);
    int64_t blocks = (rows + blockRows - 1) / blockRows;
    const Batch &batch = batches[0];
    auto rowOf = [&](int64_t i) { return index.read(reads[indices], i * batch.index + dimensions[0].index); };
    std::vector<int64_t> ends(size_t(blocks) + 1);
    for (int64_t i = 0; i < count; ++i)
      if (int64_t row = rowOf(i); row >= 0 && row < rows)
        ++ends[size_t(row / blockRows) + 1];
    for (int64_t block = 0; block < blocks; ++block)
      ends[size_t(block) + 1] += ends[size_t(block)];
    std::vector<Update> sorted(size_t(ends.back()));
    // Moved on from the first of a block to the first of the next one.
    for (int64_t i = 0; i < count; ++i)
      if (int64_t row = rowOf(i); row >= 0 && row < rows)
        sorted[size_t(ends[size_t(row / blockRows)]++)] = {i * batch.index, reads[updates] + i * batch.from};
    double nanoseconds = double(whole.bytes()) * 0.2 / double(blocks);
    pool.parallelFor(blocks, nanoseconds, [&](int64_t block) {
      if (!context.process.run.stopped())
        return;
      int64_t first = block * blockRows, bytes = (std::min(rows, first + blockRows) - first) * step;
      if (!isInPlace)
        std::memcpy(to + first * step, reads[input] + first * step, size_t(bytes));
      SmallVector<int64_t, 4> start(dimensions.size());
      int64_t inmost = rowElements > 1 ? step / rowElements : step;
      for (int64_t i = block > 0 ? ends[size_t(block) - 1] : 0; i < ends[size_t(block)]; ++i) {
        const Update &update = sorted[size_t(i)];
        if (i + kAhead < ends[size_t(block)]) // Between updates of a block lie those of others.
          fetchLines<0>(sorted[size_t(i + kAhead)].from, step);
        if (isOfRows) {
          row(to + index.read(reads[indices], update.vector + dimensions[0].index) * step, inmost, update.from, inmost, rowElements);
          continue;
        }
        for (size_t d = 0; d < dimensions.size(); ++d)
          start[d] = dimensions[d].index >= 0 ? index.read(reads[indices], update.vector + dimensions[d].index) : 0;
        window(start, update.from, to);
      }
    });
    return context.process.run.stopped();
  }

  /// Places are found once; then each element of the windows is updated at all of them, in their order, by one thread.
  Status updatePlanes(LaunchContext &context, std::span<const std::byte *const> reads, std::byte *to) const {
    AlignedMemory memory(count * int64_t(sizeof(int64_t)));
    auto *places = static_cast<int64_t *>(memory.get());
    if (!places)
      return Error{ErrorCode::OutOfMemory, "there is no memory to scatter with"};
    constexpr double kNanosecondsPerPlace = 3, kNanosecondsPerElement = 1, kNanosecondsPerRun = 6;
    constexpr int64_t kPlacesAtOnce = 1 << 12;
    kernelPool().parallelFor((count + kPlacesAtOnce - 1) / kPlacesAtOnce, kNanosecondsPerPlace * double(kPlacesAtOnce), [&](int64_t part) {
      findPlaces(reads[indices], part * kPlacesAtOnce, std::min(count, (part + 1) * kPlacesAtOnce), places);
    });
    std::vector<Run> runs = runsOf(places);
    double nanoseconds = runs.empty() ? kNanosecondsPerElement * double(count)
                                      : kNanosecondsPerRun * double(runs.size()) + kNanosecondsPerElement / 4 * double(count);
    kernelPool().parallelFor(planes, nanoseconds, [&](int64_t number) {
      if (!context.process.run.stopped())
        return;
      std::byte *target = to;
      const std::byte *source = reads[updates];
      for (const Dimension &one : llvm::reverse(dimensions)) {
        target += number % one.window * one.to;
        source += number % one.window * one.from;
        number /= one.window;
      }
      if (runs.empty())
        return plane(target, places, source, count);
      for (const Run &run : runs)
        row(target + run.to, run.step, source + run.first * element, element, run.count);
    });
    return context.process.run.stopped();
  }
  /// Where updates [begin, end) go, in bytes from the first element; -1: nowhere.
  void findPlaces(const std::byte *at, int64_t begin, int64_t end, int64_t *places) const {
    SmallVector<int64_t, 4> place(batches.size());
    int64_t vector = 0, number = begin;
    for (size_t b = batches.size(); b-- > 0; number /= batches[b].size) {
      place[b] = number % batches[b].size;
      vector += place[b] * batches[b].index;
    }
    for (int64_t i = begin; i < end; ++i) {
      places[i] = 0;
      for (const Dimension &one : dimensions) {
        int64_t start = one.index >= 0 ? index.read(at, vector + one.index) : 0;
        if (start < 0 || start >= one.size) {
          places[i] = -1;
          break;
        }
        places[i] += start * one.to;
      }
      for (size_t b = batches.size(); b-- > 0;) {
        vector += batches[b].index;
        if (++place[b] < batches[b].size)
          break;
        vector -= batches[b].index * batches[b].size;
        place[b] = 0;
      }
    }
  }

  /// Updates one after the other whose places are equally far apart.
  struct Run {
    int64_t first, count, to, step; // The last two in bytes.
  };
  /// Nothing where runs are so short that each update by itself takes less.
  std::vector<Run> runsOf(const int64_t *places) const {
    constexpr int64_t kShortest = 8; // On average.
    std::vector<Run> runs;
    for (int64_t i = 0; i < count;) {
      if (places[i] < 0) {
        ++i;
        continue;
      }
      if (int64_t(runs.size()) * kShortest >= count)
        return {};
      Run run{i, 1, places[i], element};
      if (i + 1 < count && places[i + 1] >= 0) {
        run.step = places[i + 1] - places[i];
        while (i + run.count < count && places[i + run.count] >= 0 && places[i + run.count] - places[i + run.count - 1] == run.step)
          ++run.count;
      }
      runs.push_back(run);
      i += run.count;
    }
    return runs;
  }

  /// Threads take stretches of a batch whose elements no other part of it meets; without one, it is one thread's work.
  Status updateElements(LaunchContext &context, std::span<const std::byte *const> reads, std::byte *to) const {
    constexpr double kNanosecondsPerElement = 1.5;
    const kernels::Pool &pool = kernelPool();
    size_t shared = batches.size();
    for (size_t b = 0; b < batches.size(); ++b)
      if (batches[b].dimension >= 0 && (shared == batches.size() || batches[b].size > batches[shared].size))
        shared = b;
    int64_t size = shared < batches.size() ? batches[shared].size : 1, parts = std::min<int64_t>(size, pool.threads());
    pool.parallelFor(parts, double(count) * kNanosecondsPerElement / double(parts), [&](int64_t part) {
      updateLines(context, reads, to, shared, size * part / parts, size * (part + 1) / parts);
    });
    return context.process.run.stopped();
  }

  /// All lines along the last batch, in their order; of the batch `shared` only [begin, end).
  void updateLines(LaunchContext &context, std::span<const std::byte *const> reads, std::byte *to, size_t shared, int64_t begin, int64_t end) const {
    struct Loop {
      int64_t size, to, from, at; // Steps in bytes.
    };
    SmallVector<Loop, 4> loops;
    ElementLine one{to, reads[updates], reads[indices] + dimensions[placed].index * index.width(), 0, dimensions[placed].to, dimensions[placed].size, 0, 0, 0};
    for (auto [b, batch] : llvm::enumerate(batches)) {
      Loop loop{batch.size, batch.dimension >= 0 ? dimensions[size_t(batch.dimension)].to : 0, batch.from, batch.index * index.width()};
      if (b == shared) {
        loop.size = end - begin;
        one.to += begin * loop.to;
        one.from += begin * loop.from;
        one.at += begin * loop.at;
      }
      loops.push_back(loop);
    }
    Loop inmost = loops.pop_back_val();
    one.toStep = inmost.to;
    one.fromStep = inmost.from;
    one.atStep = inmost.at;
    one.count = inmost.size;
    SmallVector<int64_t, 4> at(loops.size());
    constexpr int64_t kBetweenQuestions = 1 << 16; // Elements.
    int64_t asked = 0;
    while (true) {
      line(one);
      if ((asked += one.count) >= kBetweenQuestions) {
        if (!context.process.run.stopped())
          return;
        asked = 0;
      }
      size_t d = loops.size();
      while (d-- > 0) {
        one.to += loops[d].to;
        one.from += loops[d].from;
        one.at += loops[d].at;
        if (++at[d] < loops[d].size)
          break;
        one.to -= loops[d].to * loops[d].size;
        one.from -= loops[d].from * loops[d].size;
        one.at -= loops[d].at * loops[d].size;
        at[d] = 0;
      }
      if (d == size_t(-1))
        return;
    }
  }

  /// All updates in their order; those alone that begin in rows [begin, end) unless `end` is negative.
  Status updateRows(LaunchContext &context, std::span<const std::byte *const> reads, std::byte *to,
                    int64_t begin, int64_t end) const {
    if (isOfRows)
      return updateWholeRows(context, reads, to, begin, end < 0 ? dimensions[0].size : end);
    SmallVector<int64_t, 4> place(batches.size()), start(dimensions.size());
    int64_t vector = 0;
    const std::byte *from = reads[updates];
    for (int64_t i = 0; i < count; ++i) {
      if (i % 4096 == 4095)
        if (Status status = context.process.run.stopped(); !status)
          return status;
      for (size_t d = 0; d < dimensions.size(); ++d)
        start[d] = dimensions[d].index >= 0
                       ? index.read(reads[indices], vector + dimensions[d].index)
                       : 0;
      for (size_t b = 0; b < batches.size(); ++b)
        if (batches[b].dimension >= 0)
          start[batches[b].dimension] = place[b];
      if (isShared && batches.size() == 1 && i + kAhead < count)
        fetch(to, index.read(reads[indices], vector + kAhead * batches[0].index + dimensions[0].index), begin, end < 0 ? dimensions[0].size : end);
      if (end < 0 || (start[0] >= begin && start[0] < end))
        window(start, from, to);
      for (size_t b = batches.size(); b-- > 0;) {
        vector += batches[b].index;
        from += batches[b].from;
        if (++place[b] < batches[b].size)
          break;
        vector -= batches[b].index * batches[b].size;
        from -= batches[b].from * batches[b].size;
        place[b] = 0;
      }
    }
    return {};
  }

  /// The same where a window is a row: places are the only thing to look up. Those inside are found first, without a branch:
  /// of what is shared among threads it would be taken at random.
  Status updateWholeRows(LaunchContext &context, std::span<const std::byte *const> reads, std::byte *to, int64_t begin, int64_t end) const {
    constexpr int64_t kAtOnce = 512;
    struct Found {
      int64_t place, update;
    } found[kAtOnce + 1];
    const std::byte *from = reads[updates], *at = reads[indices];
    int64_t step = batches[0].index, first = dimensions[0].index, rowBytes = dimensions[0].to, elements = rowElements;
    int64_t inmost = elements > 1 ? rowBytes / elements : rowBytes;
    for (int64_t next = 0; next < count; next += kAtOnce) {
      if (next % (8 * kAtOnce) == 0)
        if (Status status = context.process.run.stopped(); !status)
          return status;
      int64_t many = 0, last = std::min(count, next + kAtOnce);
      for (int64_t i = next; i < last; ++i) {
        int64_t place = index.read(at, i * step + first);
        found[many] = {place, i};
        many += int64_t{place >= begin} & int64_t{place < end};
      }
      for (int64_t i = 0; i < many; ++i) {
        if (i + kAhead < many) {
          fetchLines<1>(to + found[i + kAhead].place * rowBytes, rowBytes);
          fetchLines<0>(from + found[i + kAhead].update * batches[0].from, rowBytes);
        }
        row(to + found[i].place * rowBytes, inmost, from + found[i].update * batches[0].from, inmost, elements);
      }
    }
    return {};
  }

  /// Begins to bring the row of a later update, if it is one of [begin, end): another thread's would be taken from it.
  void fetch(const std::byte *to, int64_t row, int64_t begin, int64_t end) const {
    if (row >= begin && row < end)
      fetchLines<1>(to + row * dimensions[0].to, dimensions[0].to);
  }
  template <int isWritten> static void fetchLines(const std::byte *first, int64_t bytes) {
    constexpr int64_t kLines = 4; // The processor sees where it goes on.
    for (int64_t at = 0; at < std::min(bytes, kLines * kLine); at += kLine)
      __builtin_prefetch(first + at, isWritten);
  }

  /// One window: what lies inside, or nothing where that is asked for and some of it does not.
  void window(ArrayRef<int64_t> start, const std::byte *from, std::byte *to) const {
    struct Part {
      int64_t size, to, from;
    };
    SmallVector<Part, 4> parts;
    for (size_t d = 0; d < dimensions.size(); ++d) {
      const Dimension &one = dimensions[d];
      // Far outside nothing is left, and nothing overflows.
      if (start[d] >= one.size || start[d] <= -one.window)
        return;
      int64_t first = std::max<int64_t>(0, -start[d]);
      int64_t last = std::min(one.window, one.size - start[d]);
      if (skipsWindows && (first > 0 || last < one.window))
        return;
      to += (start[d] + first) * one.to;
      from += first * one.from;
      if (last - first != 1)
        parts.push_back({last - first, one.to, one.from});
    }
    Part inmost{1, 0, 0};
    if (!parts.empty())
      inmost = parts.pop_back_val();
    if (parts.empty())
      return row(to, inmost.to, from, inmost.from, inmost.size);
    SmallVector<int64_t, 4> at(parts.size());
    while (true) {
      row(to, inmost.to, from, inmost.from, inmost.size);
      size_t d = parts.size();
      while (d-- > 0) {
        to += parts[d].to;
        from += parts[d].from;
        if (++at[d] < parts[d].size)
          break;
        to -= parts[d].to * parts[d].size;
        from -= parts[d].from * parts[d].size;
        at[d] = 0;
      }
      if (d == size_t(-1))
        return;
    }
  }

  struct Dimension {
    int64_t size, window, to, from; // Steps in bytes.
    int64_t index;                  // Where in an index vector its start is; -1: it has none.
  };
  struct Batch {
    int64_t size, index, from;
    int dimension; // Of the input, where windows begin at the batch's own number; else -1.
  };
  static constexpr int64_t kAhead = 3; // Updates.
  static constexpr int64_t kLine = 64, kNear = 1 << 20; // Bytes: of a line of the caches, and of what lies near anyway.
  RowFunction row;
  LineFunction line;
  PlaneFunction plane;
  int64_t element; // Bytes of one.
  IndexReader index;
  bool isByPlanes = false;
  int64_t planes = 1; // Elements of a window.
  bool skipsWindows, isEmpty = false, isShared = false, isSorted = false, isOfRows = false, isOfElements = false;
  size_t placed = 0; // The dimension that places of elements are in.
  int64_t rowElements = 1; // Where windows are rows.
  unsigned input, indices, updates;
  BoxCopy whole;
  int64_t count = 1;
  std::vector<Dimension> dimensions;
  std::vector<Batch> batches;
};

} // namespace

Result<KernelPointer> scatterKernel(stablehlo::ScatterOp op) {
  Error refusal{ErrorCode::Unsupported, "there is no scatter of such tensors or with such a body"};
  if (op.getInputs().size() != 1 || !IndexReader::reads(op.getScatterIndices().getType()))
    return refusal;
  std::optional<Combine> combine = combineOf(op.getUpdateComputation());
  Type type = cast<RankedTensorType>(op.getInputs()[0].getType()).getElementType();
  if (!combine || cast<RankedTensorType>(op->getResult(0).getType()).getElementType() != type ||
      cast<RankedTensorType>(op.getUpdates()[0].getType()).getElementType() != type)
    return refusal;
  int64_t element = dev::byteSizeOf(RankedTensorType::get({}, type)).value_or(0);
  RowFunction row = nullptr;
  LineFunction line = nullptr;
  PlaneFunction plane = nullptr;
  IndexReader index(op.getScatterIndices().getType());
  dispatchCombine(*combine, type, [&]<Combine which, typename T>() {
    row = rowFunction<which, T>();
    plane = combinePlane<which, T>;
    if (index.isSigned() && index.width() == 8)
      line = combineElements<which, T, int64_t>;
    else if (index.isSigned() && index.width() == 4)
      line = combineElements<which, T, int32_t>;
  });
  if (!row && *combine == Combine::Second)
    row = element == 1   ? combineRow<Combine::Second, uint8_t>
          : element == 2 ? combineRow<Combine::Second, uint16_t>
          : element == 8 ? combineRow<Combine::Second, uint64_t>
                         : nullptr;
  if (!row)
    return refusal;
  return KernelPointer(std::make_unique<ScatterKernel>(op, row, line, plane, element));
}

} // namespace cupel::compiler
