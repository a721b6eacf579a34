// A program made ready to run: functions as lists of steps with types resolved, values numbered,
// memory released at last use and regions on scalars compiled. Made once from a module, which (with
// its context) must outlive it; run any number of times, also side by side.

#pragma once

#include "cupel/reference/ElementFunction.h"
#include "cupel/reference/Execute.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <deque>
#include <map>

namespace cupel::reference {

/// The values of one call of a function, by number.
using Frame = std::vector<Value>;

struct OperandUse {
  int slot;
  bool consumes;     // Nobody uses the value afterwards, and this step only here.
  bool ends = false; // Nobody uses the value afterwards.
};

/// What a step works on: operands to look at or to take, results to fill.
class StepArguments {
public:
  StepArguments(Frame &frame, std::span<const OperandUse> uses, std::span<const int> results)
      : frame(frame), uses(uses), resultSlots(results) {}

  size_t size() const { return uses.size(); }
  const Value &value(size_t i) const { return frame[uses[i].slot]; }
  const tensor::Tensor &tensor(size_t i) const { return value(i).tensor(); }
  bool consumes(size_t i) const { return uses[i].consumes; }
  /// As `consumes`, but other operands may be the same value (as in x * x).
  bool ends(size_t i) const { return uses[i].ends; }
  /// The operand itself where nobody uses it afterwards, else a copy that shares its memory.
  Value take(size_t i) {
    return uses[i].consumes ? std::move(frame[uses[i].slot]) : frame[uses[i].slot];
  }
  tensor::Tensor takeTensor(size_t i) {
    // No ?: here: with one side const its value is a const reference, from which a copy is made.
    if (uses[i].consumes)
      return std::move(frame[uses[i].slot].tensor());
    return tensor(i);
  }
  tensor::Tensor &consumable(size_t i) { return frame[uses[i].slot].tensor(); }

  size_t resultCount() const { return resultSlots.size(); }
  void set(size_t i, Value value) { frame[resultSlots[i]] = std::move(value); }
  Value &result(size_t i) { return frame[resultSlots[i]]; }

  Frame &frame;

private:
  std::span<const OperandUse> uses;
  std::span<const int> resultSlots;
};

using StepFunction = std::function<Status(GridProcess &, StepArguments &)>;

struct Step {
  StepFunction run;
  std::vector<OperandUse> operands;
  std::vector<int> results;
  std::vector<int> releases; // Slots that nobody uses after this step.
  /// What the types of the results promise; -1 stands for a size known at run time only.
  struct Promise {
    bool isTensor = false;
    tensor::DType type = tensor::DType::F32;
    tensor::Shape shape;
  };
  std::vector<Promise> promises;
  int64_t bytes = 0; // Of results of static shape.
  int64_t number = 0;
  /// What a jittered run moves, and whether by the precision of products.
  Jittered jittered = Jittered::Nothing;
  bool isProduct = false;
  /// Whether it can move its first operand itself, while it reads it (GridProcess::moving).
  bool movesParts = false;
  /// Of sums: how many terms make one element, where that is known.
  int64_t terms = 1;
  mlir::Operation *op;
};

/// The steps of one block.
struct BlockPlan {
  std::vector<int> arguments; // Slots.
  std::vector<Step> steps;
  std::vector<OperandUse> results;
};

struct FunctionPlan {
  std::string name;
  BlockPlan body;
  int slotCount = 0;
  std::vector<mlir::Type> argumentTypes, resultTypes;
  /// Of the results, for those who print them.
  mlir::func::FuncOp op;
};

class Plan {
public:
  /// Plans every function of the module that `entry` can reach; an empty name is `main` or the only
  /// function. The module must be verified; chlo must have been lowered.
  static Result<std::unique_ptr<Plan>> create(mlir::ModuleOp module, const std::string &entry = {});

  const FunctionPlan &entry() const { return *entryPlan; }

  /// Runs the entry function, on every process of a grid with the same arguments; results of the
  /// processes lie one after another. On an error the run knows the failure.
  Result<std::vector<Value>> run(Run &run, std::vector<Value> arguments, uint32_t replicas = 1,
                                 uint32_t partitions = 1) const;
  /// The same with arguments by process, or one list that all take; results by process.
  Result<std::vector<std::vector<Value>>> runEach(Run &run,
                                                  std::vector<std::vector<Value>> arguments,
                                                  uint32_t replicas, uint32_t partitions) const;

private:
  friend class Planning;
  std::map<std::string, std::unique_ptr<FunctionPlan>> functions;
  std::deque<BlockPlan> blocks; // Of regions.
  FunctionPlan *entryPlan = nullptr;
};

/// Runs the steps of a block in a frame whose argument slots are filled; results are moved out.
Status runBlock(GridProcess &process, Frame &frame, const BlockPlan &block,
                std::vector<Value> &results);

/// Calls a function in a frame of its own.
Status callFunction(GridProcess &process, const FunctionPlan &function,
                    std::vector<Value> arguments, std::vector<Value> &results);

/// "file.mlir:3:8" where that is known.
std::string describeLocation(mlir::Location location);

} // namespace cupel::reference
