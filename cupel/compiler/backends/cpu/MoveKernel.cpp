#include "cupel/compiler/backends/cpu/MoveKernel.h"

#include "cupel/compiler/backends/cpu/Boxes.h"
#include "cupel/compiler/backends/cpu/GatherKernel.h"
#include "cupel/compiler/backends/cpu/IndexReader.h"
#include "cupel/compiler/backends/cpu/Threads.h"

#include <array>
#include <cstring>

namespace cupel::compiler {

using namespace mlir;

namespace {

llvm::ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}
unsigned argumentOf(Value value) { return cast<BlockArgument>(value).getArgNumber(); }
int64_t elementBytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return dev::byteSizeOf(RankedTensorType::get({}, type.getElementType())).value_or(0);
}

/// Where a box lies in a tensor: the start in each dimension, held inside.
class Start {
public:
  Start(ValueRange indices, llvm::ArrayRef<int64_t> whole, llvm::ArrayRef<int64_t> box,
        int64_t elementBytes) {
    llvm::SmallVector<int64_t> strides = stridesOf(whole);
    for (size_t d = 0; d < indices.size(); ++d)
      if (whole[d] != box[d])
        parts.push_back({IndexReader(indices[d].getType()), argumentOf(indices[d]),
                         whole[d] - box[d], strides[d] * elementBytes});
  }

  int64_t bytes(std::span<const std::byte *const> reads) const {
    int64_t offset = 0;
    for (const Part &part : parts)
      offset += std::clamp<int64_t>(part.index.read(reads[part.argument], 0), 0, part.last) *
                part.step;
    return offset;
  }

private:
  struct Part {
    IndexReader index;
    unsigned argument;
    int64_t last, step;
  };
  std::vector<Part> parts;
};

class SliceKernel final : public Kernel {
public:
  explicit SliceKernel(stablehlo::DynamicSliceOp op)
      : start(op.getStartIndices(), shapeOf(op.getOperand()), shapeOf(op.getResult()),
              elementBytesOf(op.getOperand())),
        copy(shapeOf(op.getResult()), stridesOf(shapeOf(op.getOperand())),
             stridesOf(shapeOf(op.getResult())), elementBytesOf(op.getOperand())),
        operand(argumentOf(op.getOperand())) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    copy.runShared(reads[operand] + start.bytes(reads), writes[0]);
    return {};
  }
  std::string_view kind() const override { return "slice"; }

private:
  Start start;
  BoxCopy copy;
  unsigned operand;
};

/// In place where the plan has put the result on the operand.
class UpdateKernel final : public Kernel {
public:
  explicit UpdateKernel(stablehlo::DynamicUpdateSliceOp op)
      : start(op.getStartIndices(), shapeOf(op.getOperand()), shapeOf(op.getUpdate()),
              elementBytesOf(op.getOperand())),
        whole(shapeOf(op.getOperand()), stridesOf(shapeOf(op.getOperand())),
              stridesOf(shapeOf(op.getOperand())), elementBytesOf(op.getOperand())),
        part(shapeOf(op.getUpdate()), stridesOf(shapeOf(op.getUpdate())),
             stridesOf(shapeOf(op.getOperand())), elementBytesOf(op.getOperand())),
        operand(argumentOf(op.getOperand())), update(argumentOf(op.getUpdate())) {}

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    if (writes[0] != reads[operand])
      whole.runShared(reads[operand], writes[0]);
    part.runShared(reads[update], writes[0] + start.bytes(reads));
    return {};
  }
  std::string_view kind() const override { return "update"; }

private:
  Start start;
  BoxCopy whole, part;
  unsigned operand, update;
};

/// A row is what lies behind one index of the dimensions before that of the concatenation: a stretch of each input. Inputs may be
/// slices along that dimension or of the outermost ones, which are read where they lie.
class ConcatenateKernel final : public Kernel {
public:
  explicit ConcatenateKernel(stablehlo::ConcatenateOp op) {
    auto dimension = op.getDimension();
    llvm::ArrayRef<int64_t> shape = shapeOf(op.getResult());
    int64_t inner = elementBytesOf(op.getResult()), offset = 0; // Bytes of one index of that dimension.
    for (int64_t size : shape.drop_front(dimension + 1))
      inner *= size;
    for (int64_t size : shape.take_front(dimension))
      rows *= size;
    rowBytes = shape[dimension] * inner;
    for (Value input : op.getInputs()) {
      auto slice = input.getDefiningOp<stablehlo::SliceOp>();
      Value source = slice ? slice.getOperand() : input;
      int64_t begin = slice ? slice.getStartIndices()[dimension] * inner : 0;
      if (slice) // Dimensions before it are cut where they begin only (isReadByConcatenations).
        for (auto [start, stride] : llvm::zip(slice.getStartIndices().take_front(dimension), stridesOf(shapeOf(source))))
          begin += start * stride * elementBytesOf(source);
      int64_t bytes = shapeOf(input)[dimension] * inner, step = shapeOf(source)[dimension] * inner;
      parts.push_back({BoxCopy({rows, bytes}, {step, 1}, {rowBytes, 1}, 1), argumentOf(source), begin, bytes, step, offset});
      offset += bytes;
    }
    isOfPairs = parts.size() == 2 && llvm::all_of(parts, [](const Part &part) { return (part.bytes == 4 || part.bytes == 8) && part.step == part.bytes; }) &&
                parts[0].bytes == parts[1].bytes;
  }

  Status run(LaunchContext &, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    constexpr int64_t kManyRows = 16, kBlockBytes = 1 << 17; // Which stay in a cache until all inputs have been there.
    if (rows < kManyRows) {
      for (const Part &part : parts)
        part.all.runShared(reads[part.argument] + part.from, writes[0] + part.to);
      return {};
    }
    int64_t perBlock = std::max<int64_t>(1, kBlockBytes / std::max<int64_t>(1, rowBytes));
    constexpr double kNanosecondsPerByte = 0.1;
    kernelPool().parallelFor((rows + perBlock - 1) / perBlock, double(perBlock * rowBytes) * kNanosecondsPerByte, [&](int64_t block) {
      int64_t first = block * perBlock, count = std::min(rows - first, perBlock);
      if (isOfPairs) {
        int64_t at = first * parts[0].bytes;
        return pairNumbers(reads[parts[0].argument] + parts[0].from + at, reads[parts[1].argument] + parts[1].from + at, writes[0] + first * rowBytes, count);
      }
      for (const Part &part : parts)
        copyRows(reads[part.argument] + part.from + first * part.step, part.step, writes[0] + part.to + first * rowBytes, count, part.bytes);
    });
    return {};
  }
  std::string_view kind() const override { return "concatenate"; }

private:
  struct Part {
    BoxCopy all;
    unsigned argument;
    int64_t from, bytes, step, to; // In bytes: of the first row, of each, from row to row; in a row of the result.
  };

  void copyRows(const std::byte *from, int64_t step, std::byte *to, int64_t count, int64_t bytes) const {
    switch (bytes) { // Numbers and pairs of them: nothing that a call is worth.
    case 1: return copyNumbers<uint8_t>(from, step, to, count);
    case 2: return copyNumbers<uint16_t>(from, step, to, count);
    case 4: return copyNumbers<uint32_t>(from, step, to, count);
    case 8: return copyNumbers<uint64_t>(from, step, to, count);
    case 12: return copyNumbers<std::array<uint32_t, 3>>(from, step, to, count); // And what pixels of few channels are.
    case 16: return copyNumbers<std::array<uint32_t, 4>>(from, step, to, count);
    case 32: return copyNumbers<std::array<uint32_t, 8>>(from, step, to, count);
    case 64: return copyNumbers<std::array<uint32_t, 16>>(from, step, to, count);
    default:
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(to + i * rowBytes, from + i * step, size_t(bytes));
    }
  }
  /// Numbers of two arrays side by side: what a loop over both has vectors for.
  void pairNumbers(const std::byte *a, const std::byte *b, std::byte *to, int64_t count) const {
    return parts[0].bytes == 4 ? paired<uint32_t>(a, b, to, count) : paired<uint64_t>(a, b, to, count);
  }
  template <typename T> static void paired(const std::byte *a, const std::byte *b, std::byte *to, int64_t count) {
    const auto *first = reinterpret_cast<const T *>(a), *second = reinterpret_cast<const T *>(b);
    auto *__restrict both = reinterpret_cast<T *>(to);
    for (int64_t i = 0; i < count; ++i) {
      both[2 * i] = first[i];
      both[2 * i + 1] = second[i];
    }
  }
  template <typename T> void copyNumbers(const std::byte *from, int64_t step, std::byte *to, int64_t count) const {
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(to + i * rowBytes, from + i * step, sizeof(T));
  }

  int64_t rows = 1, rowBytes = 0;
  bool isOfPairs = false;
  std::vector<Part> parts;
};

/// Numbers along one dimension: each is repeated `inner` times, all of it `outer` times.
template <typename T> class IotaKernel final : public Kernel {
public:
  IotaKernel(int64_t outer, int64_t size, int64_t inner) : outer(outer), size(size), inner(inner) {}

  Status run(LaunchContext &, std::span<const std::byte *const>,
             std::span<std::byte *const> writes) const override {
    auto *to = reinterpret_cast<T *>(writes[0]);
    constexpr int64_t kPart = 1 << 16;
    if (inner == 1 && size > 1) {
      int64_t perRow = (size + kPart - 1) / kPart;
      kernelPool().parallelFor(outer * perRow, double(std::min(size, kPart)) * 0.3, [&](int64_t at) {
        int64_t row = at / perRow, begin = at % perRow * kPart;
        fill(to + row * size, begin, std::min(size, begin + kPart));
      });
      return {};
    }
    int64_t rows = outer * size, perPart = std::max<int64_t>(1, kPart / std::max<int64_t>(1, inner));
    kernelPool().parallelFor((rows + perPart - 1) / perPart, double(perPart * inner) * 0.3,
                             [&](int64_t part) {
                               for (int64_t row = part * perPart;
                                    row < std::min(rows, (part + 1) * perPart); ++row)
                                 std::fill_n(to + row * inner, inner, T(row % size));
                             });
    return {};
  }
  std::string_view kind() const override { return "iota"; }

private:
  static void fill(T *to, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = static_cast<T>(i);
  }

  int64_t outer, size, inner;
};

Result<KernelPointer> make(stablehlo::IotaOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  int64_t outer = 1, inner = 1, d = int64_t(op.getIotaDimension());
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != d)
      (i < d ? outer : inner) *= type.getDimSize(i);
  int64_t size = type.getDimSize(d);
  auto made = [&]<typename T>(T) {
    return KernelPointer(std::make_unique<IotaKernel<T>>(outer, size, inner));
  };
  Type element = type.getElementType();
  if (element.isF32())
    return made(float());
  if (element.isF64())
    return made(double());
  if (auto integer = dyn_cast<IntegerType>(element))
    switch (integer.getWidth()) { // Integers wrap, so the sign changes nothing.
    case 8: return made(uint8_t());
    case 16: return made(uint16_t());
    case 32: return made(uint32_t());
    case 64: return made(uint64_t());
    default: break;
    }
  return Error{ErrorCode::Unsupported, "there is no iota of this element type"};
}

} // namespace

Result<KernelPointer> moveKernel(Operation *op) {
  ValueRange starts;
  if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op))
    starts = slice.getStartIndices();
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    starts = update.getStartIndices();
  for (Value start : starts)
    if (!IndexReader::reads(start.getType()))
      return Error{ErrorCode::Unsupported, "there are no slices at indices of this type"};
  if (auto slice = dyn_cast<stablehlo::DynamicSliceOp>(op))
    return KernelPointer(std::make_unique<SliceKernel>(slice));
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return KernelPointer(std::make_unique<UpdateKernel>(update));
  if (auto concatenate = dyn_cast<stablehlo::ConcatenateOp>(op))
    return KernelPointer(std::make_unique<ConcatenateKernel>(concatenate));
  if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
    return gatherKernel(gather);
  if (auto iota = dyn_cast<stablehlo::IotaOp>(op))
    return make(iota);
  return Error{ErrorCode::Unsupported, "this moves nothing to a place known at run time"};
}

} // namespace cupel::compiler
