// A function of tensor IR as launches, and the plan of their memory: in the order of the program a
// launch takes the smallest free piece of the arena that is large enough, and gives back what it
// read for the last time. Large pieces lie around common middles, so that threads which have halves
// of tensors write over their own lines of memory, and not over those in another's cache.

#include "cupel/compiler/device/DeviceIr.h"
#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/Reading.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

#include <limits>
#include <map>
#include <vector>

using namespace mlir;

namespace cupel::dev {

namespace {

/// Free and taken pieces of a range that grows.
class Arena {
public:
  int64_t take(int64_t bytes) {
    auto fits = bySize.lower_bound({bytes, 0});
    if (fits != bySize.end()) {
      auto [size, offset] = *fits;
      bySize.erase(fits);
      byOffset.erase(offset);
      if (size > bytes)
        add(offset + bytes, size - bytes);
      return offset;
    }
    // The last piece, if it is free, grows.
    if (!byOffset.empty()) {
      auto [offset, size] = *byOffset.rbegin();
      if (offset + size == end) {
        remove(offset, size);
        end = offset + bytes;
        return offset;
      }
    }
    int64_t offset = end;
    end += bytes;
    return offset;
  }

  void give(int64_t offset, int64_t bytes) {
    auto next = byOffset.lower_bound(offset);
    if (next != byOffset.end() && next->first == offset + bytes) {
      int64_t more = next->second;
      remove(next->first, more);
      bytes += more;
    }
    auto before = byOffset.lower_bound(offset);
    if (before != byOffset.begin()) {
      --before;
      auto [start, size] = *before;
      if (start + size == offset) {
        remove(start, size);
        offset = start;
        bytes += size;
      }
    }
    add(offset, bytes);
  }

  int64_t end = 0;

private:
  void add(int64_t offset, int64_t bytes) {
    byOffset[offset] = bytes;
    bySize.insert({bytes, offset});
  }
  void remove(int64_t offset, int64_t bytes) {
    byOffset.erase(offset);
    bySize.erase({bytes, offset});
  }

  std::map<int64_t, int64_t> byOffset;
  std::set<std::pair<int64_t, int64_t>> bySize;
};

/// Places for large pieces, one at a time in each. A place is as large as the largest piece that
/// ever lies there, and all of them have the same middle: a thread that computes the first half of
/// each finds there what it wrote before, whatever their sizes are.
class Middles {
public:
  /// Less than this is moved between caches in no time that counts.
  static constexpr int64_t kFewestBytes = int64_t{1} << 15;

  size_t take(int64_t bytes) {
    size_t best = places.size();
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].isFree &&
          (best == places.size() || isBetter(places[i].bytes, places[best].bytes, bytes)))
        best = i;
    if (best == places.size())
      places.push_back({});
    places[best].isFree = false;
    places[best].bytes = std::max(places[best].bytes, bytes);
    return best;
  }

  void give(size_t place) { places[place].isFree = true; }

  /// When all have been taken: where places begin, from an offset on. The end of the last one.
  int64_t layOut(int64_t offset) {
    for (Place &place : places) {
      place.begin = offset;
      offset += place.bytes;
    }
    return offset;
  }

  int64_t offsetOf(size_t place, int64_t bytes) const {
    int64_t beside = (places[place].bytes - bytes) / 2;
    return places[place].begin + beside / kAlignment * kAlignment;
  }

private:
  struct Place {
    int64_t bytes = 0, begin = 0;
    bool isFree = true;
  };

  /// The smallest that is large enough, else the one that has to grow least.
  static bool isBetter(int64_t one, int64_t other, int64_t bytes) {
    if ((one >= bytes) != (other >= bytes))
      return one >= bytes;
    return one >= bytes ? one < other : one > other;
  }

  std::vector<Place> places;
};

class Lowering {
public:
  Lowering(func::FuncOp function, int64_t carried)
      : function(function), carried(carried), builder(function), location(function.getLoc()) {}

  FailureOr<ProgramOp> run() {
    program = builder.create<ProgramOp>(location, function.getSymNameAttr(),
                                        builder.getI64IntegerAttr(0), DenseI64ArrayAttr(), IntegerAttr());
    Block *body = builder.createBlock(&program.getBody());
    builder.setInsertionPointToStart(body);
    Block &source = function.getBody().front();
    for (BlockArgument argument : source.getArguments()) {
      if (!byteSizeOf(argument.getType()))
        return function.emitError() << "argument " << argument.getArgNumber()
                                    << " is no tensor of static shape and plain elements";
      buffers[argument] = builder.create<ArgumentOp>(location, bufferType(argument.getType()),
                                                     uint64_t(argument.getArgNumber()));
    }
    claimResults(source.getTerminator());
    for (Operation &op : source.without_terminator())
      if (failed(lower(op)))
        return failure();
    copyResults(source.getTerminator());
    place();
    SmallVector<int64_t> inPlace;
    for (int64_t number = 0; number < carried; ++number)
      if (mayWriteOverArgument(program, number) &&
          compiler::mayRewrite(program, "write-over-argument"))
        inPlace.push_back(number);
    if (!inPlace.empty())
      program.setInPlace(inPlace);
    return program;
  }

private:
  static BufferType bufferType(Type type) {
    return BufferType::get(type.getContext(), cast<RankedTensorType>(type));
  }

  /// The value that a chain of others which lie in the same memory begins with.
  static Value sourceOf(Value value) {
    while (value.getDefiningOp() && isSameMemory(*value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  }
  /// Another shape, complex numbers as pairs, or bytes in elements of another width.
  static bool isSameMemory(Operation &op) {
    auto bitsOf = [](Value value) {
      auto type = cast<RankedTensorType>(value.getType());
      return type.getElementType().isIntOrFloat() ? type.getElementTypeBitWidth() : 0;
    };
    if (auto bits = dyn_cast<stablehlo::BitcastConvertOp>(op))
      return bitsOf(bits.getOperand()) != bitsOf(bits.getResult()) && bitsOf(bits.getOperand()) >= 8 && bitsOf(bits.getResult()) >= 8;
    return isa<stablehlo::ReshapeOp, tir::AsOp>(op);
  }

  /// Results that a launch computes are written where they will be handed out.
  void claimResults(Operation *terminator) {
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      Value source = sourceOf(value);
      if (isa<BlockArgument>(source) || isa<stablehlo::ConstantOp>(source.getDefiningOp()))
        continue;
      if (claimed.try_emplace(source, i).second)
        direct.insert(i);
    }
  }

  void copyResults(Operation *terminator) {
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      if (direct.contains(i))
        continue;
      Value target =
          builder.create<ResultOp>(location, bufferType(value.getType()), uint64_t(i));
      auto launch = builder.create<LaunchOp>(location, ValueRange{buffers[value]}, ValueRange{target});
      OpBuilder::InsertionGuard guard(builder);
      Block *body = builder.createBlock(&launch.getBody(), {}, {value.getType()}, {location});
      builder.create<YieldOp>(location, body->getArguments());
    }
  }

  /// Indices along the lines that are sorted or reduced, which the kernel knows, and slices that it reads where they lie: nobody need
  /// write them to memory.
  static SmallVector<Operation *> countedBy(Operation &op) {
    std::optional<int64_t> along;
    if (auto sort = dyn_cast<stablehlo::SortOp>(op))
      along = int64_t(sort.getDimension()) < 0 ? int64_t(sort.getDimension()) + cast<RankedTensorType>(op.getOperand(0).getType()).getRank()
                                               : int64_t(sort.getDimension());
    else if (auto reduce = dyn_cast<stablehlo::ReduceOp>(op); reduce && reduce.getDimensions().size() == 1)
      along = reduce.getDimensions()[0];
    SmallVector<Operation *> counted;
    if (isa<stablehlo::ConcatenateOp>(op))
      for (Value operand : op.getOperands())
        if (auto slice = operand.getDefiningOp<stablehlo::SliceOp>(); slice && tir::isReadByConcatenations(slice) && !llvm::is_contained(counted, slice))
          counted.push_back(slice);
    for (Value operand : op.getOperands())
      if (auto iota = operand.getDefiningOp<stablehlo::IotaOp>();
          iota && along == int64_t(iota.getIotaDimension()) && !llvm::is_contained(counted, iota))
        counted.push_back(iota);
    return counted;
  }
  /// Whether everybody who reads the indices counts them instead.
  static bool isCountedByAll(stablehlo::IotaOp iota) {
    return llvm::all_of(iota->getUsers(), [&](Operation *user) { return llvm::is_contained(countedBy(*user), iota); });
  }

  LogicalResult lower(Operation &op) {
    if (auto iota = dyn_cast<stablehlo::IotaOp>(op); iota && !iota->use_empty() && isCountedByAll(iota))
      return success();
    if (auto slice = dyn_cast<stablehlo::SliceOp>(op); slice && !slice->use_empty() && tir::isReadByConcatenations(slice))
      return success();
    for (Type type : op.getResultTypes())
      if (!byteSizeOf(type))
        return op.emitOpError("has a result that is no tensor of static shape and plain elements");
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      buffers[constant] = builder.create<ConstantOp>(op.getLoc(), bufferType(constant.getType()),
                                                     constant.getValue());
      return success();
    }
    if (isSameMemory(op)) {
      buffers[op.getResult(0)] = builder.create<AsOp>(op.getLoc(), bufferType(op.getResult(0).getType()), buffers[op.getOperand(0)]);
      return success();
    }
    SmallVector<Operation *> counted = countedBy(op);
    llvm::SetVector<Value> operands;
    for (Value operand : op.getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && llvm::is_contained(counted, maker))
        operands.insert(maker->operand_begin(), maker->operand_end());
      else
        operands.insert(operand);
    SmallVector<Value> reads = operands.takeVector();
    llvm::SetVector<Value> captured;
    for (Region &region : op.getRegions())
      getUsedValuesDefinedAbove(region, captured);
    for (Value value : captured)
      if (!llvm::is_contained(reads, value))
        reads.push_back(value);
    SmallVector<Value> from, to;
    for (Value value : reads) {
      Value buffer = buffers.lookup(value);
      if (!buffer)
        return op.emitOpError("uses what is no tensor");
      from.push_back(buffer);
    }
    for (Value result : op.getResults()) {
      auto wanted = claimed.find(result);
      Value buffer;
      if (wanted == claimed.end()) {
        buffer = builder.create<PlaceOp>(op.getLoc(), bufferType(result.getType()), uint64_t(0));
      } else {
        Operation *terminator = function.getBody().front().getTerminator();
        Type type = terminator->getOperand(wanted->second).getType();
        buffer = builder.create<ResultOp>(op.getLoc(), bufferType(type), uint64_t(wanted->second));
        if (type != result.getType())
          buffer = builder.create<AsOp>(op.getLoc(), bufferType(result.getType()), buffer);
      }
      buffers[result] = buffer;
      to.push_back(buffer);
    }
    auto launch = builder.create<LaunchOp>(op.getLoc(), from, to);
    OpBuilder::InsertionGuard guard(builder);
    SmallVector<Type> types;
    SmallVector<Location> locations;
    for (Value value : reads) {
      types.push_back(value.getType());
      locations.push_back(value.getLoc());
    }
    Block *body = builder.createBlock(&launch.getBody(), {}, types, locations);
    IRMapping mapping;
    mapping.map(reads, body->getArguments());
    for (Operation *indices : counted)
      builder.clone(*indices, mapping);
    Operation *copy = builder.clone(op, mapping);
    builder.create<YieldOp>(op.getLoc(), copy->getResults());
    return success();
  }

  static int64_t paddedBytes(Value buffer) {
    int64_t bytes = *byteSizeOf(cast<BufferType>(buffer.getType()).getTensor());
    return std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  }

  /// What the launch runs; the launch itself if it only copies.
  static Operation *inner(LaunchOp launch) {
    Operation *op = &workOf(launch);
    return op->hasTrait<OpTrait::IsTerminator>() ? launch.getOperation() : op;
  }

  void place() {
    llvm::DenseMap<Value, LaunchOp> lastReads;
    for (auto launch : program.getBody().getOps<LaunchOp>()) {
      for (Value buffer : launch.getReads())
        lastReads[rootOf(buffer)] = launch;
      for (Value buffer : launch.getWrites())
        lastReads.try_emplace(rootOf(buffer), launch);
    }
    SmallVector<Change> changes;
    for (auto launch : program.getBody().getOps<LaunchOp>()) {
      llvm::SetVector<Value> ends; // Pieces that nobody needs after this launch.
      for (Value buffer : launch.getReads())
        if (Value root = rootOf(buffer); root.getDefiningOp<PlaceOp>() && lastReads[root] == launch)
          ends.insert(root);
      SmallVector<Value> unread;
      for (auto [w, buffer] : llvm::enumerate(launch.getWrites())) {
        Value root = rootOf(buffer);
        if (!root.getDefiningOp<PlaceOp>())
          continue;
        Change made{root, {}, false};
        for (auto [r, read] : llvm::enumerate(launch.getReads())) {
          Value source = rootOf(read);
          if (!ends.contains(source) || !mayWriteOver(launch, r, w) ||
              !compiler::mayRewrite(inner(launch), "write-over"))
            continue;
          made.over = source;
          ends.remove(source);
          break;
        }
        changes.push_back(made);
        if (lastReads[root] == launch)
          unread.push_back(root);
      }
      ends.insert(unread.begin(), unread.end());
      if (!ends.empty() && compiler::mayRewrite(inner(launch), "reuse-memory"))
        for (Value root : ends)
          changes.push_back({root, {}, true});
    }
    // Middles may leave more unused than they are worth.
    constexpr int64_t kNoMiddles = std::numeric_limits<int64_t>::max();
    int64_t least = layOut(changes, kNoMiddles), bytes = layOut(changes, Middles::kFewestBytes);
    program.setArena(bytes <= least + least / 2 ? bytes : layOut(changes, kNoMiddles));
  }

  /// What happens to memory in the order of the program: a piece is needed, in a place of its own
  /// or over another that is needed no more, or it is given back.
  struct Change {
    Value root, over;
    bool isGiven;
  };

  /// Says where pieces lie; those of so many bytes, and what is written over them, around middles.
  /// The size of the arena.
  static int64_t layOut(ArrayRef<Change> changes, int64_t fewestBytes) {
    Arena arena;
    Middles middles;
    llvm::DenseMap<Value, size_t> inMiddles;
    auto placeOf = [](Value root) { return root.getDefiningOp<PlaceOp>(); };
    for (const Change &change : changes) {
      int64_t bytes = paddedBytes(change.root);
      Value like = change.isGiven ? change.root : change.over;
      auto middle = like ? inMiddles.find(like) : inMiddles.end();
      bool hasMiddle = middle != inMiddles.end();
      if (change.isGiven && hasMiddle)
        middles.give(middle->second);
      else if (change.isGiven)
        arena.give(placeOf(change.root).getOffset(), bytes);
      else if (hasMiddle)
        inMiddles[change.root] = size_t(middle->second);
      else if (change.over)
        placeOf(change.root).setOffset(placeOf(change.over).getOffset());
      else if (bytes >= fewestBytes)
        inMiddles[change.root] = middles.take(bytes);
      else
        placeOf(change.root).setOffset(arena.take(bytes));
    }
    int64_t end = middles.layOut(arena.end);
    for (const Change &change : changes)
      if (auto middle = inMiddles.find(change.root); !change.isGiven && middle != inMiddles.end())
        placeOf(change.root)
            .setOffset(change.over ? placeOf(change.over).getOffset()
                                   : middles.offsetOf(middle->second, paddedBytes(change.root)));
    return end;
  }

  func::FuncOp function;
  int64_t carried;
  OpBuilder builder;
  Location location;
  ProgramOp program;
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseMap<Value, size_t> claimed; // Value -> the result that it is.
  llvm::DenseSet<size_t> direct;         // Results that are written by the launch that computes.
};

} // namespace

FailureOr<ProgramOp> lowerToDevice(func::FuncOp function, int64_t carried) {
  Lowering lowering(function, carried);
  return lowering.run();
}

} // namespace cupel::dev
