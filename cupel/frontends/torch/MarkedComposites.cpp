#include "cupel/frontends/torch/MarkedComposites.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/IRMapping.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/Support/JSON.h>
#include <map>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

/// One call of a user's function.
struct Marked {
  std::string name;
  DictionaryAttr attributes;
  std::map<int64_t, stablehlo::CustomCallOp> inputs, outputs; // By position.
};

Attribute attributeOf(const llvm::json::Value &value, Builder &builder) {
  if (auto flag = value.getAsBoolean())
    return builder.getBoolAttr(*flag);
  if (auto number = value.getAsInteger())
    return builder.getI64IntegerAttr(*number);
  // Written as text: numbers of JSON do not tell 2.0 from 2, and have neither infinity nor NaN.
  if (const llvm::json::Object *tagged = value.getAsObject()) {
    std::optional<StringRef> text = tagged->getString("float");
    double number = 0;
    return text && !text->getAsDouble(number) ? builder.getF32FloatAttr(float(number)) : Attribute();
  }
  if (auto text = value.getAsString())
    return builder.getStringAttr(*text);
  const llvm::json::Array *list = value.getAsArray();
  SmallVector<int64_t> numbers;
  if (list)
    for (const llvm::json::Value &one : *list)
      if (auto number = one.getAsInteger())
        numbers.push_back(*number);
  if (!list || numbers.size() != list->size())
    return {};
  return DenseIntElementsAttr::get(
      RankedTensorType::get({int64_t(numbers.size())}, builder.getI64Type()), ArrayRef(numbers));
}

Status readMark(stablehlo::CustomCallOp call, llvm::MapVector<int64_t, Marked> &all) {
  Error malformed{ErrorCode::InvalidModel, "cupel::mark_tensor has a mark that is none"};
  auto config = call->getAttrOfType<StringAttr>("backend_config");
  if (!config)
    return malformed;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(config.getValue());
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return malformed;
  }
  const llvm::json::Object *mark = parsed->getAsObject();
  std::optional<int64_t> id = mark ? mark->getInteger("id") : std::nullopt,
                         position = mark ? mark->getInteger("position") : std::nullopt;
  std::optional<StringRef> name = mark ? mark->getString("name") : std::nullopt;
  std::optional<bool> isInput = mark ? mark->getBoolean("is_input") : std::nullopt;
  if (!id || !position || !name || name->empty() || !isInput)
    return malformed;
  Marked &marked = all[*id];
  marked.name = name->str();
  Builder builder(call.getContext());
  SmallVector<NamedAttribute> attributes;
  if (const llvm::json::Object *given = mark->getObject("attributes"))
    for (const auto &[key, value] : *given) {
      Attribute made = attributeOf(value, builder);
      if (!made)
        return Error{ErrorCode::InvalidModel, "the composite " + marked.name + " has an attribute '" + key.str() +
                                                  "' that is neither a number, a text nor a list of integers"};
      attributes.push_back(builder.getNamedAttr(key.str(), made));
    }
  marked.attributes = builder.getDictionaryAttr(attributes);
  (*isInput ? marked.inputs : marked.outputs)[*position] = call;
  return {};
}

/// What the outputs are computed by, from the marks of inputs on, in order.
Result<SmallVector<Operation *>> between(const Marked &marked, func::FuncOp function) {
  llvm::DenseSet<Operation *> found;
  SmallVector<Value> waiting;
  for (auto [position, output] : marked.outputs)
    waiting.push_back(output->getOperand(0));
  llvm::DenseSet<Operation *> starts;
  for (auto [position, input] : marked.inputs)
    starts.insert(input);
  while (!waiting.empty()) {
    Value value = waiting.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op)
      return Error{ErrorCode::InvalidModel, "the composite " + marked.name +
                                                " depends on something that is not marked as an input (mark_inputs)"};
    if (starts.contains(op) || !found.insert(op).second)
      continue;
    llvm::append_range(waiting, op->getOperands());
    op->walk([&](Operation *inner) { // Values from outside that regions read.
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == op->getBlock())
          waiting.push_back(operand);
    });
  }
  SmallVector<Operation *> order;
  for (Operation &op : function.getBody().front())
    if (found.contains(&op))
      order.push_back(&op);
  return order;
}

Status outline(Marked &marked, func::FuncOp function) {
  Result<SmallVector<Operation *>> body = between(marked, function);
  if (!body)
    return body.error();
  Operation *place = marked.outputs.begin()->second;
  for (auto [position, output] : marked.outputs)
    if (output->isBeforeInBlock(place))
      place = output;
  SmallVector<Type> inputTypes, resultTypes;
  SmallVector<Value> operands;
  for (auto [position, input] : marked.inputs) {
    operands.push_back(input->getOperand(0));
    inputTypes.push_back(input.getResult(0).getType());
  }
  for (auto [position, output] : marked.outputs)
    resultTypes.push_back(output.getResult(0).getType());
  for (Operation *op : *body)
    if (!op->isBeforeInBlock(place))
      return Error{ErrorCode::InvalidModel, "the composite " + marked.name + " goes on behind its first output (mark_outputs marks all at once)"};

  auto module = function->getParentOfType<ModuleOp>();
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  std::string symbol = marked.name + ".impl";
  for (int i = 0; module.lookupSymbol(symbol); ++i)
    symbol = marked.name + ".impl_" + std::to_string(i);
  auto impl = builder.create<func::FuncOp>(place->getLoc(), symbol, builder.getFunctionType(inputTypes, resultTypes));
  impl.setPrivate();
  builder.setInsertionPointToStart(impl.addEntryBlock());
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip(marked.inputs, impl.getArguments()))
    mapping.map(input.second.getResult(0), argument);
  for (Operation *op : *body)
    builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (auto [position, output] : marked.outputs)
    results.push_back(mapping.lookup(output->getOperand(0)));
  builder.create<func::ReturnOp>(place->getLoc(), results);

  builder.setInsertionPoint(place);
  OperationState state(place->getLoc(), stablehlo::CompositeOp::getOperationName());
  state.addOperands(operands);
  state.addTypes(resultTypes);
  state.addAttribute("name", builder.getStringAttr(marked.name));
  state.addAttribute("composite_attributes", marked.attributes);
  state.addAttribute("decomposition", FlatSymbolRefAttr::get(builder.getStringAttr(symbol)));
  Operation *composite = builder.create(state);
  for (auto [output, result] : llvm::zip(marked.outputs, composite->getResults()))
    output.second.getResult(0).replaceAllUsesWith(result);
  return {};
}

} // namespace

Status outlineMarked(func::FuncOp function, bool keep) {
  llvm::MapVector<int64_t, Marked> all;
  SmallVector<stablehlo::CustomCallOp> marks;
  Status status;
  function.walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() != kMarkCall)
      return;
    marks.push_back(call);
    if (status && keep)
      status = readMark(call, all);
  });
  if (!status)
    return status;
  for (auto &[id, marked] : all) // Inner ones end before those around them.
    if (!marked.outputs.empty() && !marked.inputs.empty())
      if (Status made = outline(marked, function); !made)
        return made;
  for (stablehlo::CustomCallOp mark : llvm::reverse(marks)) {
    mark.getResult(0).replaceAllUsesWith(mark->getOperand(0));
    mark->erase();
  }
  return {};
}

} // namespace cupel::frontends::torch_import
