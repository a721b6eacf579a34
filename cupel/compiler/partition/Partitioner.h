// The partitioner at work on one function: a rule for every kind of operation, which builds what
// one device does. Internal to Partition*.cpp; see Partition.h for what it is for.

#pragma once

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/runtime/Executable.h"
#include "cupel/compiler/partition/DeviceBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace cupel::compiler {

/// What a device has of a value.
struct Local {
  mlir::Value value;
  Split split;
  /// The program itself says that the value is to be summed up; otherwise that is so only until
  /// somebody needs the sum.
  bool keepsSummands = false;
};

inline int64_t rankOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getRank();
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}

class Partitioner {
public:
  Partitioner(mlir::ModuleOp module, mlir::func::FuncOp entry, sdy::MeshAttr mesh)
      : module(module), entry(entry), mesh(mesh), device(module.getContext(), mesh) {}

  Status run(const runtime::ProgramInfo &info);

private:
  //===--------------------------------------------------------------------===//
  // Splits
  //===--------------------------------------------------------------------===//

  /// The number of an axis; -1 for a part of one, which no rule knows.
  int wholeAxis(sdy::AxisRefAttr axis) const;
  std::optional<Split> splitOf(sdy::TensorShardingAttr sharding);

  /// Notes why the program cannot be split, for those who ask; false, for those who return it.
  bool refuse(const llvm::Twine &why);

  /// How devices hold an argument or a result; false if not in a way that we can say.
  bool boundary(mlir::Value value, sdy::TensorShardingAttr sharding, const runtime::ValueInfo &info,
                mlir::SmallVector<Split> &splits);

  /// Where sharding propagation would have values.
  void findHints();

  Split hintOf(mlir::Value value);

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  const Local &local(mlir::Value value);

  /// The value, split so.
  mlir::Value as(mlir::Value value, const Split &wanted);
  mlir::Value whole(mlir::Value value) { return as(value, Split::whole(rankOf(value))); }

  /// The value with its summands added up, for good where that is possible.
  Local reduced(mlir::Value value);

  void set(mlir::Value value, mlir::Value here, Split split, bool keepsSummands = false);

  /// The same operation on other operands and types; what its regions use of outside is whole.
  mlir::Operation *again(mlir::Operation &op, mlir::ArrayRef<mlir::Value> operands,
                         mlir::ArrayRef<mlir::Type> types);

  bool computeWhole(mlir::Operation &op);

  /// The split that costs least for operands that must all be split alike: the one that those which
  /// are split share, else what propagation found, else that of the most pieces. `keep` says which
  /// dimensions may be split.
  Split common(mlir::Operation &op, mlir::ArrayRef<mlir::Value> operands,
               llvm::function_ref<bool(int64_t)> keep = nullptr);

  //===--------------------------------------------------------------------===//
  // Operations
  //===--------------------------------------------------------------------===//

  bool lower(mlir::Block &block);

  bool lower(mlir::Operation &op);

  /// How to split one kind of operation. Kinds are told by name only where a rule is about what the
  /// one operation means; each of Partition*.cpp adds those it has. All else is told by traits.
  using Rule = bool (Partitioner::*)(mlir::Operation &op);
  using Rules = llvm::StringMap<Rule>;
  static const Rules &rules();
  static void addElementRules(Rules &rules);
  static void addSumRules(Rules &rules);
  static void addCallRules(Rules &rules);

  /// Whether every device may compute it for itself, of the same whole operands.
  static bool isAlikeEverywhere(mlir::Operation &op);

  bool lowerConstant(mlir::Operation &op);

  bool lowerIota(mlir::Operation &op);

  /// The axes that an elementwise operation leaves to be summed over, if it may.
  MeshAxes summandsThrough(mlir::Operation &op);

  bool lowerElementwise(mlir::Operation &op);

  bool lowerConstraint(mlir::Operation &op, sdy::TensorShardingAttr sharding);

  /// A computation that says itself what each device does.
  bool lowerManual(sdy::ManualComputationOp manual);

  /// An operation that moves elements of one operand along with their summands.
  bool move(mlir::Operation &op, const Split &from, Split to);

  bool lowerBroadcast(mlir::Operation &op);

  bool lowerTranspose(mlir::Operation &op);

  bool lowerReshape(mlir::Operation &op);

  bool lowerReduce(mlir::Operation &op);

  bool lowerDot(mlir::Operation &op);

  bool lowerConvolution(mlir::Operation &op);

  /// The dimensions of indices without that of the components.
  static mlir::SmallVector<int64_t> withoutVector(int64_t rank, int64_t vectorDim);

  /// Every device looks up the indices it has, in the dimensions it has where slices are whole.
  bool lowerGather(mlir::Operation &op);

  static int64_t positionOf(mlir::ArrayRef<int64_t> list, int64_t wanted);

  /// Every device writes the updates it has, in the dimensions it has where windows are whole.
  /// Where updates of one place may be on several devices, they add them to zeros, as summands.
  bool lowerScatter(mlir::Operation &op);

  /// The split in which something goes through control flow.
  Split carried(mlir::Value value, mlir::Value result);

  bool lowerLoop(mlir::Operation &op);

  bool lowerBranches(mlir::Operation &op);

  /// A call to the outside that every device makes for the pieces it has.
  bool callApart(mlir::Operation &op);

  bool lowerCustomCall(mlir::Operation &op);

  /// Operations whose operands and results lie over each other, and that leave some dimensions
  /// alone: pieces along those are computed apart.
  std::optional<bool> lowerAlongDimensions(mlir::Operation &op);

  mlir::ModuleOp module;
  mlir::func::FuncOp entry;
  sdy::MeshAttr mesh;
  DeviceBuilder device;
  llvm::DenseMap<mlir::Value, Local> map;
  llvm::DenseMap<mlir::Value, mlir::SmallVector<MeshAxes, 4>> hints;
  Local nothing;
  bool failed = false;
  std::string reason; // Why something cannot be split; the first one that was found.
};

} // namespace cupel::compiler
