// Constants, tokens, tuples, functions, checks and the operations of the interpreter dialect that
// concern one process.

#include "cupel/reference/Checks.h"
#include "cupel/reference/PlanCommunication.h"
#include "cupel/reference/PlanForeignCalls.h"
#include "cupel/reference/Registry.h"
#include "cupel/tensor/Print.h"

#include "cupel/ir/check/CallChecks.h"
#include "cupel/ir/check/Check.h"
#include "cupel/ir/interpreter/Interpreter.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/AsmState.h"

namespace cupel::reference {

using namespace mlir;
using tensor::Tensor;

namespace {

Result<StepFunction> planConstant(Operation *op, Planning &) {
  auto elements = op->getAttrOfType<ElementsAttr>("value");
  if (!elements)
    return Error{"the constant has no elements that could be read"};
  Result<Tensor> value = constantTensor(elements, op->getResult(0).getType());
  if (!value)
    return value.error();
  return StepFunction(
      [value = std::move(*value)](GridProcess &, StepArguments &arguments) -> Status {
        arguments.set(0, value);
        return {};
      });
}

/// Results are the operands: optimization_barrier and what has no meaning on one device.
Result<StepFunction> planIdentity(Operation *, Planning &) {
  return StepFunction([](GridProcess &, StepArguments &arguments) -> Status {
    for (size_t i = 0; i < arguments.resultCount(); ++i)
      arguments.set(i, arguments.take(i));
    return {};
  });
}

Result<StepFunction> planToken(Operation *, Planning &) {
  return StepFunction([](GridProcess &, StepArguments &arguments) -> Status {
    arguments.set(0, Value::Token());
    return {};
  });
}

Result<StepFunction> planTuple(Operation *, Planning &) {
  return StepFunction([](GridProcess &, StepArguments &arguments) -> Status {
    std::vector<Value> values;
    for (size_t i = 0; i < arguments.size(); ++i)
      values.push_back(arguments.take(i));
    arguments.set(0, Value::pack(std::move(values)));
    return {};
  });
}

Result<StepFunction> planGetTupleElement(Operation *op, Planning &) {
  size_t index = cast<stablehlo::GetTupleElementOp>(op).getIndex();
  return StepFunction([index](GridProcess &, StepArguments &arguments) -> Status {
    arguments.set(0, arguments.value(0).values()[index]);
    return {};
  });
}

StepFunction callStep(const FunctionPlan *callee) {
  return [callee](GridProcess &process, StepArguments &arguments) -> Status {
    std::vector<Value> values, results;
    for (size_t i = 0; i < arguments.size(); ++i)
      values.push_back(arguments.take(i));
    if (Status status = callFunction(process, *callee, std::move(values), results); !status)
      return status;
    for (size_t i = 0; i < results.size(); ++i)
      arguments.set(i, std::move(results[i]));
    return {};
  };
}

Result<StepFunction> planCall(Operation *op, Planning &planning) {
  Result<const FunctionPlan *> callee = planning.call(cast<func::CallOp>(op).getCallee());
  if (!callee)
    return callee.error();
  return callStep(*callee);
}

Result<StepFunction> planComposite(Operation *op, Planning &planning) {
  auto composite = cast<stablehlo::CompositeOp>(op);
  Result<const FunctionPlan *> callee = planning.call(composite.getDecomposition());
  if (!callee)
    return callee.error();
  return callStep(*callee);
}

/// A region that takes the operands and gives the results, such as a named computation.
Result<StepFunction> planInlineRegion(Operation *op, Planning &planning) {
  Region &region = op->getRegion(0);
  if (region.getArgumentTypes() != op->getOperandTypes())
    return Error{"the region takes other types than the operation"};
  Result<const BlockPlan *> body = planning.region(region);
  if (!body)
    return body.error();
  return StepFunction([body = *body](GridProcess &process, StepArguments &arguments) -> Status {
    for (size_t i = 0; i < arguments.size(); ++i)
      arguments.frame[body->arguments[i]] = arguments.take(i);
    std::vector<Value> results;
    if (Status status = runBlock(process, arguments.frame, *body, results); !status)
      return status;
    for (size_t i = 0; i < results.size(); ++i)
      arguments.set(i, std::move(results[i]));
    return {};
  });
}

StepFunction checkStep(std::function<Status(const Tensor &, const Tensor &)> check) {
  return [check = std::move(check)](GridProcess &, StepArguments &arguments) -> Status {
    return check(arguments.tensor(0), arguments.tensor(1));
  };
}

Result<StepFunction> planCustomCall(Operation *op, Planning &planning) {
  auto call = cast<stablehlo::CustomCallOp>(op);
  StringRef target = call.getCallTargetName();
  bool twoTensors = op->getNumOperands() == 2 &&
                    llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
  if (target.starts_with("check.") && !twoTensors)
    return Error{"@" + target.str() + " takes two tensors"};
  if (target == "check.expect_eq")
    return checkStep(expectEqual);
  if (target == "check.expect_close")
    return checkStep([](const Tensor &actual, const Tensor &expected) {
      return expectClose(actual, expected, 0, check::kCloseUlps);
    });
  if (target == "check.expect_almost_eq")
    return checkStep([](const Tensor &actual, const Tensor &expected) {
      return expectAlmostEqual(actual, expected, check::kAlmostEqTolerance);
    });
  if (target == "check.eq") {
    if (op->getNumResults() != 1)
      return Error{"@check.eq has one result"};
    return StepFunction([](GridProcess &, StepArguments &arguments) -> Status {
      const Tensor &expected = arguments.tensor(0), &actual = arguments.tensor(1);
      bool exact = !isFloat(actual.dtype()) && !isComplex(actual.dtype());
      Status status =
          exact ? expectEqual(actual, expected)
                : expectAlmostEqual(actual, expected, check::kEqTolerance);
      if (!status)
        return status;
      arguments.set(0, Tensor::of<tensor::DType::I1>({}, {1}));
      return {};
    });
  }
  // What JAX writes for shapes it knows at run time only: a condition and the sizes to name.
  if (target == "shape_assertion" && op->getNumOperands() && !op->getNumResults()) {
    std::string message = "a shape is not as the program asks for";
    if (auto given = op->getAttrOfType<StringAttr>("error_message"))
      message = given.str();
    return StepFunction([message](GridProcess &, StepArguments &arguments) -> Status {
      Result<std::vector<int64_t>> condition = integersOf(arguments.tensor(0));
      if (!condition)
        return condition.error();
      if (condition->size() == 1 && condition->front())
        return {};
      std::string text = message;
      for (size_t i = 1; i < arguments.size(); ++i)
        if (size_t at = text.find("{" + std::to_string(i - 1) + "}"); at != std::string::npos)
          if (Result<std::vector<int64_t>> size = integersOf(arguments.tensor(i));
              size && size->size() == 1)
            text.replace(at, text.find('}', at) + 1 - at, std::to_string(size->front()));
      return Error{text};
    });
  }
  // Where and how a value lies means nothing to the value itself.
  if (llvm::is_contained({"Sharding", "LayoutConstraint", "annotate_device_placement"}, target) &&
      op->getNumOperands() == 1 && op->getNumResults() == 1 &&
      op->getOperand(0).getType() == op->getResult(0).getType())
    return planIdentity(op, planning);
  // These keep what they use in the program, or say in which order to compute it: they do nothing.
  if ((target == "dce_sink" || target == "control_dep") && !op->getNumResults())
    return StepFunction([](GridProcess &, StepArguments &) { return Status{}; });
  if (target == "ragged_all_to_all")
    return planRaggedAllToAll(op, planning);
  if (target == "SPMDFullToShardShape" || target == "SPMDShardToFullShape")
    return planShardShapeCall(op, planning);
  Result<StepFunction> foreign = planForeignCall(op);
  if (!foreign || *foreign)
    return foreign;
  return Error{ErrorCode::Unsupported, "a custom call of @" + target.str() + " is not evaluated"};
}

Result<StepFunction> planExpectEq(Operation *, Planning &) { return checkStep(expectEqual); }

Result<StepFunction> planExpectAlmostEq(Operation *op, Planning &) {
  double tolerance = cast<check::ExpectAlmostEqOp>(op).getTolerance().convertToDouble();
  return checkStep([tolerance](const Tensor &actual, const Tensor &expected) {
    return expectAlmostEqual(actual, expected, tolerance);
  });
}

Result<StepFunction> planExpectEqConst(Operation *op, Planning &) {
  auto check = cast<check::ExpectEqConstOp>(op);
  Result<Tensor> expected = constantTensor(check.getValue(), check.getLhs().getType());
  if (!expected)
    return expected.error();
  return StepFunction([expected = std::move(*expected)](GridProcess &, StepArguments &arguments) {
    return expectEqual(arguments.tensor(0), expected);
  });
}

Result<StepFunction> planExpectAlmostEqConst(Operation *op, Planning &) {
  auto check = cast<check::ExpectAlmostEqConstOp>(op);
  double tolerance = check.getTolerance().convertToDouble();
  Result<Tensor> expected = constantTensor(check.getValue(), check.getLhs().getType());
  if (!expected)
    return expected.error();
  return StepFunction(
      [expected = std::move(*expected), tolerance](GridProcess &, StepArguments &arguments) {
        return expectAlmostEqual(arguments.tensor(0), expected, tolerance);
      });
}

Result<StepFunction> planExpectClose(Operation *op, Planning &) {
  auto check = cast<check::ExpectCloseOp>(op);
  uint64_t least = check.getMinUlpDifference(), most = check.getMaxUlpDifference();
  return checkStep([least, most](const Tensor &actual, const Tensor &expected) {
    return expectClose(actual, expected, least, most);
  });
}

Result<StepFunction> planPrint(Operation *op, Planning &) {
  // The operand's name in the program, as a reader of the program sees it.
  std::string name;
  llvm::raw_string_ostream os(name);
  mlir::Value operand = op->getOperand(0);
  operand.printAsOperand(os, OpPrintingFlags());
  return StepFunction([name](GridProcess &process, StepArguments &arguments) -> Status {
    std::string text = name + " = " + tensor::tensorText(arguments.tensor(0)) + "\n";
    if (process.run.options.print)
      process.run.options.print(text);
    else
      llvm::outs() << text;
    return {};
  });
}

} // namespace

void registerBasics(Registry &registry) {
  registry.add("stablehlo.constant", planConstant);
  registry.add("sdy.constant", planConstant);
  registry.add("stablehlo.optimization_barrier", planIdentity);
  registry.add("stablehlo.after_all", planToken);
  registry.add("stablehlo.create_token", planToken);
  registry.add("stablehlo.tuple", planTuple);
  registry.add("stablehlo.get_tuple_element", planGetTupleElement);
  registry.add("stablehlo.composite", planComposite);
  registry.add("stablehlo.custom_call", planCustomCall);
  registry.add("func.call", planCall);
  registry.add("check.expect_eq", planExpectEq);
  registry.add("check.expect_eq_const", planExpectEqConst);
  registry.add("check.expect_almost_eq", planExpectAlmostEq);
  registry.add("check.expect_almost_eq_const", planExpectAlmostEqConst);
  registry.add("check.expect_close", planExpectClose);
  registry.add("interpreter.print", planPrint);
  // The value of a whole tensor does not depend on how it is split. Shardy's collectives move
  // pieces (or add up what is still to be added up) so that the whole stays what it is.
  for (const char *name :
       {"sharding_constraint", "reshard", "propagation_barrier", "data_flow_edge", "sharding_group",
        "all_gather", "all_slice", "all_to_all", "collective_permute", "all_reduce",
        "reduce_scatter", "sharded_to_unreduced", "replicated_to_unreduced"})
    registry.add(std::string("sdy.") + name, planIdentity);
  registry.add("sdy.named_computation", planInlineRegion);
}

} // namespace cupel::reference
