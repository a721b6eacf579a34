#include "cupel/compiler/analysis/Cost.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/SymbolTable.h"

#include <cmath>
#include <llvm/ADT/StringSet.h>
#include <map>

namespace cupel::compiler {

using namespace mlir;
using runtime::CostEstimate;

namespace {

int64_t elementsOf(mlir::Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  return ranked && ranked.hasStaticShape() ? ranked.getNumElements() : 0;
}

bool isTranscendental(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("cbrt", "cosine", "exponential", "exponential_minus_one", "log", true)
      .Cases("log_plus_one", "logistic", "power", "rsqrt", "sine", true)
      .Cases("sqrt", "tan", "tanh", "atan2", true)
      .Default(false);
}

/// Moves or names values without computing.
bool isMovement(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("constant", "reshape", "broadcast_in_dim", "transpose", "slice", true)
      .Cases("dynamic_slice", "dynamic_update_slice", "concatenate", "gather", "iota", true)
      .Cases("pad", "reverse", "tuple", "get_tuple_element", "bitcast_convert", true)
      .Cases("optimization_barrier", "after_all", "create_token", "partition_id", true)
      .Cases("replica_id", "return", "custom_call", "composite", "while", true)
      .Cases("case", "if", true)
      .Default(false);
}

class Estimator {
public:
  CostEstimate of(func::FuncOp function) {
    auto [it, isNew] = known.try_emplace(function.getOperation());
    if (isNew && !function.isExternal()) {
      CostEstimate cost = of(function.getBody());
      // Arguments and what is returned belong to the caller.
      known[function.getOperation()] = cost;
      return cost;
    }
    return known[function.getOperation()];
  }

private:
  CostEstimate of(Region &region) {
    CostEstimate total;
    for (Block &block : region)
      for (Operation &op : block)
        add(op, total);
    return total;
  }

  /// Adds an operation and what it runs.
  void add(Operation &op, CostEstimate &total) {
    ++total.operations;
    StringRef name = op.getName().stripDialect();
    double in = 0, out = 0, results = 0;
    for (mlir::Value operand : op.getOperands())
      in += bytesOf(operand.getType());
    for (mlir::Value result : op.getResults()) {
      out += bytesOf(result.getType());
      results += elementsOf(result.getType());
    }
    if (!op.hasTrait<OpTrait::IsTerminator>())
      total.bytesAccessed += in + out;
    if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
      double depth = 1;
      auto lhs = dyn_cast<RankedTensorType>(op.getOperand(0).getType());
      for (int64_t dimension : dot.getDotDimensionNumbers().getLhsContractingDimensions())
        if (lhs && dimension < lhs.getRank() && !lhs.isDynamicDim(dimension))
          depth *= lhs.getDimSize(dimension);
      total.flops += 2 * results * depth;
    } else if (name == "dot" || name == "convolution") {
      // Every result element takes the other operand's elements of one output feature.
      auto rhs = dyn_cast<RankedTensorType>(op.getOperand(1).getType());
      double features = 1;
      if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
        if (int64_t at = convolution.getDimensionNumbers().getKernelOutputFeatureDimension();
            rhs && at < rhs.getRank())
          features = std::max<int64_t>(rhs.getDimSize(at), 1);
      total.flops += 2 * results * elementsOf(op.getOperand(1).getType()) / features;
    } else if (name == "custom_call") {
      // What they do is not known; factorizations are the costliest.
      double elements = 0;
      for (mlir::Value operand : op.getOperands())
        elements += elementsOf(operand.getType());
      total.flops += 16 * elements * std::sqrt(elements) + results;
    } else if (isTranscendental(name)) {
      total.transcendentals += results;
    } else if (op.getNumRegions() && op.getName().getDialectNamespace() == "stablehlo" &&
               !isMovement(name)) {
      total.flops += op.getNumOperands() ? elementsOf(op.getOperand(0).getType()) : 0;
    } else if (!isMovement(name)) {
      total.flops += results;
    }
    if (name == "while")
      total.hasLoop = true;
    if (name == "custom_call" || name == "infeed" || name == "outfeed" || name == "send" ||
        name == "recv")
      total.hasSideEffect = true;
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      total.callsPython |= call.getCallTargetName().starts_with("cupel_python_");

    auto merge = [&](const CostEstimate &cost) {
      total.flops += cost.flops;
      total.transcendentals += cost.transcendentals;
      total.bytesAccessed += cost.bytesAccessed;
      total.operations += cost.operations;
      total.hasLoop |= cost.hasLoop;
      total.hasSideEffect |= cost.hasSideEffect;
      total.callsPython |= cost.callsPython;
    };
    // Bodies on scalars are counted with the operation that applies them.
    bool runsRegions = name == "while" || name == "case" || name == "if" ||
                       name == "manual_computation" || name == "named_computation" ||
                       name == "async_start";
    for (Region &region : op.getRegions())
      if (runsRegions)
        merge(of(region));
    SymbolRefAttr callee;
    if (auto call = dyn_cast<func::CallOp>(op))
      callee = call.getCalleeAttr();
    else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op))
      callee = FlatSymbolRefAttr::get(op.getContext(), composite.getDecomposition());
    if (callee)
      if (auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(&op, callee))
        merge(of(function));
  }

  std::map<Operation *, CostEstimate> known;
};

} // namespace

int64_t bytesOf(mlir::Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked || !ranked.hasStaticShape())
    return 0;
  mlir::Type element = ranked.getElementType();
  int64_t bits = 8;
  if (auto complex = dyn_cast<ComplexType>(element))
    bits = 2 * complex.getElementType().getIntOrFloatBitWidth();
  else if (element.isIntOrFloat())
    bits = element.getIntOrFloatBitWidth();
  int64_t total;
  if (__builtin_mul_overflow(ranked.getNumElements(), (bits + 7) / 8, &total))
    return INT64_MAX / 4;
  return total;
}

CostEstimate estimateCost(func::FuncOp entry) { return Estimator().of(entry); }

} // namespace cupel::compiler
