#include "cupel/compiler/analysis/MemoryEstimate.h"

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/ReadInPlace.h"
#include "cupel/reference/ShardsOf.h"
#include "cupel/compiler/analysis/Cost.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/RegionUtils.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

/// A function called from many places is gone through in each of them, up to this many operations
/// altogether; calls beyond count with their results alone.
constexpr int64_t kMostOperations = 200'000;
constexpr int kMostCalls = 100; // Within each other.

/// The memory that values lie in, by number. A tuple or a future has several.
using Memories = SmallVector<int, 1>;

/// Result i is operand i, or reads it where it lies.
bool handsOn(Operation &op) {
  if (reference::isReadInPlace(&op))
    return true;
  if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
    return op.getNumOperands() == 1 && op.getNumResults() == 1 &&
           llvm::is_contained({"Sharding", "LayoutConstraint", "annotate_device_placement"},
                              call.getCallTargetName());
  // Elements of less than a byte are kept in whole ones, so that bytes may differ all the same.
  if (op.hasTrait<stablehlo::KeepsBytes>())
    return llvm::all_of(llvm::zip_equal(op.getOperandTypes(), op.getResultTypes()), [](auto pair) {
      return bytesOf(std::get<0>(pair)) == bytesOf(std::get<1>(pair));
    });
  return (op.getName().getDialectNamespace() == "sdy" && op.getNumRegions() == 0 &&
          op.getNumOperands() == op.getNumResults());
}

/// Writes into operand i where it may, to give result i.
bool updatesInPlace(Operation &op, unsigned operand) {
  return op.hasTrait<stablehlo::UpdatesOperands>() && operand < op.getNumResults();
}

class Simulation {
public:
  int64_t peak = 0;

  /// Memory that nobody has yet.
  int make(int64_t bytes) {
    objects.push_back({bytes, 0});
    return static_cast<int>(objects.size()) - 1;
  }
  void hold(int memory) {
    if (memory >= 0 && objects[memory].holders++ == 0)
      grow(objects[memory].bytes);
  }
  void drop(int memory) {
    if (memory >= 0 && --objects[memory].holders == 0)
      live -= objects[memory].bytes;
  }
  void touch(int64_t more) { peak = std::max(peak, live + more); }

  /// Goes through a function with arguments that the callee holds already; gives results, held.
  SmallVector<Memories> call(func::FuncOp function, ArrayRef<Memories> arguments) {
    llvm::DenseMap<mlir::Value, Memories> frame;
    for (auto [argument, memories] : llvm::zip(function.getArguments(), arguments))
      frame[argument] = memories;
    return run(function.getBody().front(), frame, /*keepArguments=*/false);
  }

private:
  using Frame = llvm::DenseMap<mlir::Value, Memories>;

  struct Object {
    int64_t bytes;
    int holders;
  };

  void grow(int64_t bytes) {
    live += bytes;
    peak = std::max(peak, live);
  }
  void holdAll(const Memories &memories) {
    for (int memory : memories)
      hold(memory);
  }
  void dropAll(const Memories &memories) {
    for (int memory : memories)
      drop(memory);
  }

  SmallVector<Memories> run(Block &block, Frame &frame, bool keepArguments) {
    auto isOwn = [&](mlir::Value value) {
      if (auto argument = dyn_cast<BlockArgument>(value))
        return argument.getOwner() == &block && !keepArguments;
      return value.getDefiningOp()->getBlock() == &block;
    };
    // Who uses a value last; operations that use it within their regions count.
    llvm::DenseMap<mlir::Value, Operation *> last;
    llvm::DenseMap<Operation *, llvm::SetVector<mlir::Value>> captures;
    for (Operation &op : block) {
      for (mlir::Value operand : op.getOperands())
        last[operand] = &op;
      if (!op.getNumRegions())
        continue;
      llvm::SetVector<mlir::Value> &captured = captures[&op];
      for (Region &region : op.getRegions())
        getUsedValuesDefinedAbove(region, captured);
      for (mlir::Value value : captured)
        last[value] = &op;
    }
    Operation *terminator = block.getTerminator();
    for (Operation &op : block.without_terminator()) {
      ++operations;
      const llvm::SetVector<mlir::Value> *captured = op.getNumRegions() ? &captures[&op] : nullptr;
      auto endsHere = [&](mlir::Value value) {
        return isOwn(value) && last.lookup(value) == &op &&
               !(captured && captured->contains(value));
      };
      SmallVector<Memories> results = step(op, frame, endsHere);
      results.resize(op.getNumResults());
      for (auto [result, memories] : llvm::zip(op.getResults(), results)) {
        frame[result] = memories;
        if (!last.contains(result)) {
          dropAll(memories);
          frame.erase(result);
        }
      }
      auto release = [&](mlir::Value value) {
        if (!isOwn(value) || last.lookup(value) != &op)
          return;
        if (auto it = frame.find(value); it != frame.end()) {
          dropAll(it->second);
          frame.erase(it);
        }
      };
      for (mlir::Value operand : op.getOperands())
        release(operand);
      if (captured)
        for (mlir::Value value : *captured)
          release(value);
    }
    SmallVector<Memories> results;
    for (mlir::Value value : terminator->getOperands()) {
      results.push_back(frame.lookup(value));
      holdAll(results.back());
    }
    for (mlir::Value value : terminator->getOperands())
      if (auto it = frame.find(value); it != frame.end() && isOwn(value)) {
        dropAll(it->second);
        frame.erase(it);
      }
    if (!keepArguments)
      for (BlockArgument argument : block.getArguments())
        if (auto it = frame.find(argument); it != frame.end()) {
          dropAll(it->second); // Never used.
          frame.erase(it);
        }
    return results;
  }

  /// Moves or shares the operands of an operation that runs something with them.
  template <typename EndsHere>
  SmallVector<Memories> take(Operation &op, Frame &frame, EndsHere endsHere) {
    SmallVector<Memories> taken;
    for (mlir::Value operand : op.getOperands()) {
      auto it = frame.find(operand);
      taken.push_back(it == frame.end() ? Memories() : it->second);
      if (it != frame.end() && endsHere(operand) && llvm::count(op.getOperands(), operand) == 1)
        frame.erase(it);
      else
        holdAll(taken.back());
    }
    return taken;
  }

  template <typename EndsHere>
  SmallVector<Memories> step(Operation &op, Frame &frame, EndsHere endsHere) {
    SmallVector<Memories> results;
    if (op.hasTrait<stablehlo::Loops>())
      return runLoop(op, take(op, frame, endsHere), frame);
    if (op.hasTrait<stablehlo::Branches>()) {
      for (Region &region : op.getRegions()) {
        for (const Memories &memories : results)
          dropAll(memories);
        results = run(region.front(), frame, false);
      }
      return results;
    }
    func::FuncOp callee;
    if (auto call = dyn_cast<func::CallOp>(op))
      callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(&op, call.getCalleeAttr());
    else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
      callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
          &op, FlatSymbolRefAttr::get(op.getContext(), composite.getDecomposition()));
    if (callee && !callee.isExternal() && depth < kMostCalls && operations < kMostOperations) {
      ++depth;
      results = call(callee, take(op, frame, endsHere));
      --depth;
      return results;
    }
    if (isa<sdy::NamedComputationOp>(op) || op.hasTrait<stablehlo::RunsOnce>()) {
      Block &body = op.getRegion(0).front();
      SmallVector<Memories> arguments = take(op, frame, endsHere);
      for (auto [argument, memories] : llvm::zip(body.getArguments(), arguments))
        frame[argument] = memories;
      results = run(body, frame, false);
      if (!op.hasTrait<stablehlo::Packs>())
        return results;
      Memories all;
      for (const Memories &memories : results)
        all.append(memories);
      return {all};
    }
    if (op.hasTrait<stablehlo::Unpacks>()) {
      Memories all = frame.lookup(op.getOperand(0));
      for (unsigned i = 0; i < op.getNumResults(); ++i) {
        auto index = op.getAttrOfType<IntegerAttr>("index");
        size_t at = index ? index.getInt() : i;
        results.push_back(at < all.size() ? Memories{all[at]} : Memories());
        holdAll(results.back());
      }
      return results;
    }
    if (op.hasTrait<stablehlo::Packs>()) {
      Memories all;
      for (mlir::Value operand : op.getOperands())
        all.append(frame.lookup(operand));
      holdAll(all);
      return {all};
    }
    if (auto manual = dyn_cast<sdy::ManualComputationOp>(op)) {
      runManual(manual, frame);
    } else if (op.hasTrait<OpTrait::ConstantLike>()) {
      return results; // It is part of the program.
    } else if (handsOn(op)) {
      for (mlir::Value operand : op.getOperands()) {
        results.push_back(frame.lookup(operand));
        holdAll(results.back());
      }
      return results;
    }
    bool isOne = op.hasTrait<stablehlo::Elementwise>();
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      int64_t bytes = bytesOf(result.getType());
      int reused = -1;
      for (auto [j, operand] : llvm::enumerate(op.getOperands())) {
        if (reused >= 0 || !(isOne || (j == i && updatesInPlace(op, j))) || !endsHere(operand))
          continue;
        // The one holder is the operand itself, or several operands that are the same value.
        Memories own = frame.lookup(operand);
        if (own.size() == 1 && own[0] >= 0 && objects[own[0]].holders == 1 &&
            objects[own[0]].bytes == bytes && bytesOf(operand.getType()) == bytes &&
            elementsOf(operand) == elementsOf(result))
          reused = own[0];
      }
      results.push_back({reused >= 0 ? reused : make(bytes)});
      holdAll(results.back());
    }
    if (auto greedy = dyn_cast<stablehlo::ScratchOpInterface>(op))
      touch(greedy.getScratchBytes());
    return results;
  }

  static int64_t elementsOf(mlir::Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() ? type.getNumElements() : -1;
  }

  SmallVector<Memories> runLoop(Operation &loop, SmallVector<Memories> values, Frame &frame) {
    Block &condition = loop.getRegion(0).front(), &body = loop.getRegion(1).front();
    // The second turn has values of the loop's own, the third finds nothing new.
    for (int turn = 0; turn < 2; ++turn) {
      for (auto [argument, memories] : llvm::zip(condition.getArguments(), values))
        frame[argument] = memories;
      for (const Memories &memories : run(condition, frame, /*keepArguments=*/true))
        dropAll(memories);
      for (mlir::Value argument : condition.getArguments())
        frame.erase(argument);
      if (operations > kMostOperations)
        break;
      for (auto [argument, memories] : llvm::zip(body.getArguments(), values))
        frame[argument] = memories;
      values = run(body, frame, false);
    }
    return values;
  }

  /// Every device runs the body at the same time, on pieces of its own.
  void runManual(sdy::ManualComputationOp manual, Frame &frame) {
    auto module = manual->getParentOfType<ModuleOp>();
    int64_t devices = 1;
    for (sdy::TensorShardingPerValueAttr all :
         {manual.getInShardingsAttr(), manual.getOutShardingsAttr()})
      for (sdy::TensorShardingAttr sharding : all.getShardings())
        if (sdy::MeshAttr mesh = reference::meshOf(sharding, module))
          if (Result<int64_t> count = reference::deviceCount(mesh))
            devices = std::max(devices, *count);
    int64_t outerPeak = std::exchange(peak, 0), outerLive = std::exchange(live, 0);
    Block &body = manual.getBody().front();
    for (BlockArgument argument : body.getArguments()) {
      frame[argument] = {make(bytesOf(argument.getType()))};
      holdAll(frame[argument]);
    }
    for (const Memories &memories : run(body, frame, false))
      dropAll(memories);
    live = outerLive;
    int64_t inner = std::exchange(peak, outerPeak);
    if (__builtin_mul_overflow(inner, devices, &inner))
      inner = INT64_MAX / 4;
    touch(inner);
  }

  std::vector<Object> objects;
  int64_t live = 0, operations = 0;
  int depth = 0;
};

} // namespace

MemoryEstimate estimateMemory(func::FuncOp entry, ArrayRef<bool> mayReuse, ArrayRef<bool> isMade) {
  if (entry.isExternal())
    return {};
  Simulation simulation;
  SmallVector<Memories> arguments;
  llvm::DenseSet<int> given, kept;
  for (auto [i, argument] : llvm::enumerate(entry.getArguments())) {
    bool made = i < isMade.size() && isMade[i], own = i < mayReuse.size() && mayReuse[i];
    int memory = simulation.make(made ? bytesOf(argument.getType()) : 0);
    if (!made)
      given.insert(memory);
    simulation.hold(memory);
    if (!made && !own) {
      simulation.hold(memory); // The caller's.
      kept.insert(memory);
    }
    arguments.push_back({memory});
  }
  SmallVector<Memories> results = simulation.call(entry, arguments);
  MemoryEstimate estimate;
  // An argument that is returned is copied unless it is given up; constants are lent.
  int64_t copies = 0;
  llvm::SmallDenseSet<int> seen;
  for (auto [value, memories] :
       llvm::zip(entry.getBody().front().getTerminator()->getOperands(), results)) {
    if (memories.size() != 1)
      continue;
    int64_t bytes = bytesOf(value.getType());
    if (kept.contains(memories[0]))
      copies += bytes;
    else if (!given.contains(memories[0]) && seen.insert(memories[0]).second)
      estimate.resultBytes += bytes;
  }
  simulation.touch(copies);
  estimate.resultBytes += copies;
  estimate.peakBytes = simulation.peak;
  return estimate;
}

int64_t temporaryBytes(func::FuncOp entry, const runtime::ProgramInfo &info,
                       const Devices &devices) {
  auto isTiled = [](const runtime::ValueInfo &value) {
    return value.shards.kind == tensor::Shards::Kind::Tiled;
  };
  SmallVector<bool> mayReuse, isMade;
  for (const runtime::ValueInfo &argument : info.arguments) {
    mayReuse.push_back(argument.isDonor && !devices.isGathered());
    isMade.push_back(devices.isGathered() && isTiled(argument));
  }
  MemoryEstimate memory = estimateMemory(entry, mayReuse, isMade);
  if (!devices.isGathered())
    return memory.peakBytes - memory.resultBytes;
  // Whole results and the pieces that are cut of them are there at the same time.
  int64_t pieces = 0, wholes = 0;
  for (const runtime::ValueInfo &result : info.results)
    (isTiled(result) ? pieces : wholes) +=
        result.shardBytes() * (isTiled(result) ? devices.partitions : 1);
  int64_t peak = std::max(memory.peakBytes, memory.resultBytes + pieces);
  int64_t all = std::max<int64_t>(peak - pieces - wholes, 0);
  return devices.view == View::Global ? all / devices.partitions : all;
}

} // namespace cupel::compiler
