// The one table of operations that are evaluated: name -> the function that plans it. Each family
// of operations registers its own in its own file (Plan<Family>.cpp).

#pragma once

#include "cupel/reference/Plan.h"
#include "cupel/reference/PlanElementwise.h"
#include "cupel/reference/RegionFunction.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace cupel::reference {

/// What a planner may ask about the function it plans for.
class Planning {
public:
  explicit Planning(Plan &plan, mlir::ModuleOp module) : plan(plan), module(module) {}

  /// Plans a region of one block, whose values live in the frame of the function. Arguments are
  /// kept (never consumed) if `keepArguments`.
  Result<const BlockPlan *> region(mlir::Region &region, bool keepArguments = false);

  /// A region on scalars, for kernels.
  Result<std::shared_ptr<const RegionFunction>> function(mlir::Region &region);

  /// The plan of a function of the module, which may not be ready before the run.
  Result<const FunctionPlan *> call(mlir::StringRef name);

  int slot(mlir::Value value);
  /// Makes two values share a slot.
  void alias(mlir::Value value, int slot) { slots[value] = slot; }

  mlir::ModuleOp getModule() const { return module; }

  Status planFunction(mlir::func::FuncOp function);

private:
  Status planBlock(mlir::Block &block, BlockPlan &result, bool keepArguments);

  Plan &plan;
  mlir::ModuleOp module;
  llvm::DenseMap<mlir::Value, int> slots;
  int64_t nextNumber = 0;
  int slotCount = 0;
  std::vector<std::string> pending; // Functions that are called and not planned yet.
  friend class Plan;
};

using Planner = Result<StepFunction> (*)(mlir::Operation *op, Planning &planning);

class Registry {
public:
  /// All families.
  static const Registry &get();

  void add(mlir::StringRef name, Planner planner) { planners[name] = planner; }
  /// The same of an operation that can move its operand itself, while it reads it, if that is the only one beside an initial value
  /// (Step::movesParts).
  void addMover(mlir::StringRef name, Planner planner) {
    add(name, planner);
    movers.insert(name);
  }
  bool isMover(mlir::StringRef name) const { return movers.contains(name); }
  Planner find(mlir::StringRef name) const { return planners.lookup(name); }
  std::vector<std::string> names() const;

private:
  llvm::StringMap<Planner> planners;
  llvm::StringSet<> movers;
};

// The families.
void registerBasics(Registry &registry); // constants, tuples, tokens, calls, checks
void registerControlFlow(Registry &registry);
void registerElementwise(Registry &registry);
void registerDataMovement(Registry &registry);
void registerReductions(Registry &registry);
void registerLinear(Registry &registry);
void registerQuantized(Registry &registry);
void registerProbes(Registry &registry);
void registerCollectives(Registry &registry);
void registerProcesses(Registry &registry); // ids, channels, feeds, futures, grids
void registerManual(Registry &registry); // computations on the pieces devices hold

// What planners share.

/// The element type a type stands for; `index` counts as i64.
Result<tensor::ElementType> elementTypeOf(mlir::Type type);
/// The sizes of a ranked tensor type, -1 where unknown.
tensor::Shape shapeOf(mlir::Type type);
/// The element type of a tensor-typed value of an operation.
Result<tensor::ElementType> resultElement(mlir::Operation *op, unsigned i = 0);
Result<tensor::ElementType> operandElement(mlir::Operation *op, unsigned i);
/// The value of a constant; borrows the attribute's memory where the forms agree.
Result<tensor::Tensor> constantTensor(mlir::ElementsAttr value, mlir::Type type);
/// The scalar's or the elements' values as i64.
Result<std::vector<int64_t>> integersOf(const tensor::Tensor &tensor);
std::vector<int64_t> toVector(mlir::ArrayRef<int64_t> values);
/// Dequantizes the operands, runs what `planner` plans on real numbers, and quantizes the results.
Result<StepFunction> planThroughRealNumbers(mlir::Operation *op, Planning &planning,
                                            Planner planner);
/// A value as a region takes it: in a wider type where the program promotes.
Result<tensor::Tensor> promoted(tensor::Tensor tensor, const tensor::ElementType &type);
/// An elementwise operation on quantized values.
Result<StepFunction> planQuantizedElementwise(mlir::Operation *op, const ElementOpOf &element);
/// The custom calls SPMDFullToShardShape and SPMDShardToFullShape.
Result<StepFunction> planShardShapeCall(mlir::Operation *op, Planning &planning);
/// An error if a tensor of this shape is impossible or beyond the limits.
Status reserveFor(GridProcess &process, tensor::DType type, std::span<const int64_t> shape);

} // namespace cupel::reference
