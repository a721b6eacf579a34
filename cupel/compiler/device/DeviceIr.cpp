#include "cupel/compiler/device/DeviceIr.h"

#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;
using namespace cupel;
using namespace cupel::dev;

#include "cupel/compiler/device/DeviceDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "cupel/compiler/device/DeviceTypes.cpp.inc"

#define GET_OP_CLASSES
#include "cupel/compiler/device/DeviceOps.cpp.inc"

void DevDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "cupel/compiler/device/DeviceTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "cupel/compiler/device/DeviceOps.cpp.inc"
      >();
}

std::optional<int64_t> dev::byteSizeOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return std::nullopt;
  Type element = tensor.getElementType();
  int64_t bytes = 1;
  if (auto complex = dyn_cast<ComplexType>(element)) {
    bytes = 2;
    element = complex.getElementType();
  }
  if (!element.isIntOrFloat())
    return std::nullopt;
  bytes *= (element.getIntOrFloatBitWidth() + 7) / 8;
  for (int64_t size : tensor.getShape())
    if (__builtin_mul_overflow(bytes, size, &bytes))
      return std::nullopt;
  return bytes;
}

Value dev::rootOf(Value buffer) {
  while (auto as = buffer.getDefiningOp<AsOp>())
    buffer = as.getSource();
  return buffer;
}

static int64_t bytesOf(Value buffer) {
  return byteSizeOf(cast<BufferType>(buffer.getType()).getTensor()).value_or(0);
}

Operation &dev::workOf(LaunchOp launch) {
  Block &body = launch.getBody().front();
  return body.without_terminator().empty() ? body.back() : *std::prev(body.end(), 2);
}

/// Whether what is read there is one operand, once, and nothing else is read from that memory.
static bool isOnlyOperandOf(LaunchOp launch, unsigned read) {
  Value source = rootOf(launch.getReads()[read]);
  return launch.getBody().getArgument(read).hasOneUse() &&
         llvm::count_if(launch.getReads(),
                        [&](Value buffer) { return rootOf(buffer) == source; }) == 1;
}

/// Whether a convolution's epilogue reads there, for each element of a result in bf16, the element at the same place: its sums
/// are elsewhere until they are rounded.
static bool isAddedInStep(tir::ConvolutionOp op, LaunchOp launch, unsigned read) {
  auto result = cast<RankedTensorType>(op.getResult().getType());
  auto extra = cast<RankedTensorType>(cast<BufferType>(launch.getReads()[read].getType()).getTensor());
  if (op.getTurned() || !result.getElementType().isBF16() || extra.getElementType() != result.getElementType())
    return false;
  int64_t columns = op.filters();
  constexpr unsigned kFirstExtra = 2; // The image has no view.
  for (unsigned i = kFirstExtra; i < op->getNumOperands(); ++i)
    if (op->getOperand(i) == launch.getBody().getArgument(read))
      return cast<tir::ViewAttr>(op.getViews()[i - 1]).isIdentity({result.getNumElements() / std::max<int64_t>(columns, 1), columns});
  return false;
}

bool dev::mayWriteOver(LaunchOp launch, unsigned read, unsigned written) {
  Value source = rootOf(launch.getReads()[read]);
  if (bytesOf(launch.getReads()[read]) != bytesOf(launch.getWrites()[written]))
    return false;
  Operation &op = workOf(launch);
  auto isOnlyOperand = [&](unsigned operand) {
    return op.getOperand(operand) == launch.getBody().getArgument(read) && isOnlyOperandOf(launch, read);
  };
  // Kernels that cannot do it in place compute aside and copy.
  if (isa<stablehlo::DynamicUpdateSliceOp>(op) ||
      (isa<stablehlo::ScatterOp>(op) && launch.getWrites().size() == 1))
    return isOnlyOperand(0);
  if (auto loop = dyn_cast<tir::WhileOp>(op))
    return isOnlyOperand(written);
  if (op.hasTrait<OpTrait::IsTerminator>())
    return true; // A copy.
  if (auto convolution = dyn_cast<tir::ConvolutionOp>(op))
    return isAddedInStep(convolution, launch, read) && isOnlyOperandOf(launch, read);
  auto map = dyn_cast<tir::MapOp>(op);
  if (!map)
    return false;
  auto readType = cast<BufferType>(launch.getReads()[read].getType()).getTensor();
  auto writtenType = cast<BufferType>(launch.getWrites()[written].getType()).getTensor();
  if (readType.getElementType() != writtenType.getElementType())
    return false;
  // Whatever reads that memory reads it in step.
  for (auto [i, buffer] : llvm::enumerate(launch.getReads())) {
    if (rootOf(buffer) != source)
      continue;
    for (auto [input, view] : llvm::zip(map.getInputs(), map.getViews().getAsRange<tir::ViewAttr>()))
      if (input == launch.getBody().getArgument(i) && !view.isIdentity(map.getSizes()))
        return false;
  }
  return true;
}

bool dev::mayWriteOverArgument(ProgramOp program, int64_t number) {
  Value argument, result;
  for (Operation &op : program.getBody().front()) {
    if (auto one = dyn_cast<ArgumentOp>(op); one && int64_t(one.getNumber()) == number)
      argument = one.getBuffer();
    if (auto one = dyn_cast<ResultOp>(op); one && int64_t(one.getNumber()) == number)
      result = one.getBuffer();
  }
  if (!argument || !result || bytesOf(argument) != bytesOf(result))
    return false;
  bool isWritten = false;
  for (auto launch : program.getBody().getOps<LaunchOp>()) {
    auto isRead = [&](unsigned r) { return rootOf(launch.getReads()[r]) == argument; };
    for (unsigned w = 0; w < launch.getWrites().size(); ++w) {
      if (rootOf(launch.getWrites()[w]) != result)
        continue;
      isWritten = true;
      for (unsigned r = 0; r < launch.getReads().size(); ++r)
        if (isRead(r) && !mayWriteOver(launch, r, w))
          return false;
    }
    bool writes = llvm::any_of(launch.getWrites(),
                               [&](Value buffer) { return rootOf(buffer) == result; });
    if (isWritten && !writes)
      for (unsigned r = 0; r < launch.getReads().size(); ++r)
        if (isRead(r))
          return false;
  }
  return isWritten;
}

LogicalResult AsOp::verify() {
  if (bytesOf(getSource()) != bytesOf(getBuffer()))
    return emitOpError("changes the number of bytes");
  return success();
}

LogicalResult LaunchOp::verify() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getReads().size())
    return emitOpError("needs an argument of its body for each buffer that it reads");
  for (auto [argument, buffer] : llvm::zip(body.getArguments(), getReads()))
    if (argument.getType() != cast<BufferType>(buffer.getType()).getTensor())
      return emitOpError() << "argument " << argument.getArgNumber()
                           << " of the body is not what its buffer holds";
  auto yield = dyn_cast<dev::YieldOp>(body.getTerminator());
  if (!yield || yield.getValues().size() != getWrites().size())
    return emitOpError("must yield a value for each buffer that it writes");
  for (auto [value, buffer] : llvm::zip(yield.getValues(), getWrites())) {
    if (value.getType() != cast<BufferType>(buffer.getType()).getTensor())
      return emitOpError("yields what its buffer does not hold");
    if (isa_and_nonnull<ArgumentOp, dev::ConstantOp>(rootOf(buffer).getDefiningOp()))
      return emitOpError("writes to memory that is only read");
  }
  for (Operation &op : body.without_terminator())
    if (&op != &workOf(*this) && !isa<stablehlo::IotaOp, stablehlo::SliceOp>(op))
      return emitOpError("holds more than one operation besides indices that are counted and slices that are read");
  return success();
}

LogicalResult ProgramOp::verify() {
  for (int64_t number : getInPlace().value_or(ArrayRef<int64_t>()))
    if (!mayWriteOverArgument(*this, number))
      return emitOpError() << "writes result " << number << " over an argument that is needed";
  // When each piece of the arena is needed: from the launch that writes it to the last that reads.
  struct Use {
    int64_t first = -1, last = -1;
  };
  llvm::MapVector<Value, Use> uses;
  int64_t time = 0;
  for (Operation &op : getBody().front()) {
    if (auto place = dyn_cast<PlaceOp>(op)) {
      int64_t end;
      if (int64_t(place.getOffset()) < 0 || place.getOffset() % kAlignment ||
          __builtin_add_overflow(int64_t(place.getOffset()), bytesOf(place.getBuffer()), &end) ||
          end > int64_t(getArena()))
        return place.emitOpError("does not lie in the arena");
      uses.insert({place.getBuffer(), {}});
    } else if (auto launch = dyn_cast<LaunchOp>(op)) {
      ++time;
      for (Value buffer : launch.getReads())
        if (auto found = uses.find(rootOf(buffer)); found != uses.end()) {
          if (found->second.first < 0)
            return launch.emitOpError("reads memory that nobody has written");
          found->second.last = time;
        }
      for (Value buffer : launch.getWrites())
        if (auto found = uses.find(rootOf(buffer)); found != uses.end()) {
          if (found->second.first >= 0)
            return launch.emitOpError("writes a buffer a second time");
          found->second = {time, time};
        }
    } else if (!isa<ArgumentOp, dev::ConstantOp, ResultOp, AsOp>(op)) {
      return op.emitOpError("is no operation of a device program");
    }
  }
  // In the order of their beginnings, against those that are still alive by offset.
  SmallVector<std::pair<Value, Use>> order(uses.begin(), uses.end());
  llvm::sort(order, [](auto &a, auto &b) { return a.second.first < b.second.first; });
  std::map<int64_t, std::pair<Value, Use>> alive;
  std::multimap<int64_t, int64_t> ends; // When -> offset.
  auto offsetOf = [](Value buffer) { return int64_t(buffer.getDefiningOp<PlaceOp>().getOffset()); };
  for (auto &[buffer, use] : order) {
    if (use.first < 0 || bytesOf(buffer) == 0)
      continue;
    while (!ends.empty() && ends.begin()->first < use.first) {
      auto one = alive.find(ends.begin()->second);
      if (one != alive.end() && one->second.second.last == ends.begin()->first)
        alive.erase(one);
      ends.erase(ends.begin());
    }
    int64_t begin = offsetOf(buffer), end = begin + bytesOf(buffer);
    auto next = alive.lower_bound(begin);
    auto clashes = [&](std::map<int64_t, std::pair<Value, Use>>::iterator other) {
      auto &[there, other_use] = other->second;
      if (other->first >= end || other->first + bytesOf(there) <= begin)
        return false;
      // Handed over within a launch.
      if (other->first != begin || other_use.last != use.first)
        return true;
      for (Operation *user : buffer.getUsers())
        if (auto launch = dyn_cast<LaunchOp>(user))
          for (auto [w, written] : llvm::enumerate(launch.getWrites()))
            if (rootOf(written) == buffer)
              for (auto [r, read] : llvm::enumerate(launch.getReads()))
                if (rootOf(read) == there && mayWriteOver(launch, r, w))
                  return false;
      return true;
    };
    SmallVector<std::map<int64_t, std::pair<Value, Use>>::iterator, 4> near;
    for (auto it = next; it != alive.end() && it->first < end; ++it)
      near.push_back(it);
    if (next != alive.begin())
      near.push_back(std::prev(next));
    for (auto it : near)
      if (clashes(it))
        return buffer.getDefiningOp()->emitOpError("overlaps memory that is still needed");
    alive[begin] = {buffer, use};
    ends.insert({use.last, begin});
  }
  return success();
}
