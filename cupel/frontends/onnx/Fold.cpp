// Evaluates nodes on known values with the golden reference, so that shape arithmetic is gone
// before the program is written.

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/onnx/Importer.h"
#include "cupel/reference/Plan.h"
#include "onnx-ml.pb.h"

#include "mlir/IR/Verifier.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::Tensor;

namespace {

// Beyond this, evaluating at import costs more than it saves.
constexpr int64_t kMaxElements = 1 << 16;

bool isWorthFolding(ArrayRef<Item> inputs) {
  int64_t elements = 0;
  for (const Item &input : inputs) {
    if (input.isAbsent())
      continue;
    if (!input.known)
      return false;
    elements += input.known->size();
  }
  return elements <= kMaxElements;
}

} // namespace

Result<bool> Importer::fold(const OpEntry &entry, const proto::NodeProto &node, int64_t opset,
                            const SmallVector<Item> &inputs, SmallVector<Item> &results) {
  if (!entry.foldable || folding || !isWorthFolding(inputs))
    return false;
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<func::FuncOp>(builder.getUnknownLoc(), "main",
                                               builder.getFunctionType({}, {}));
  function.addEntryBlock();
  HloBuilder scratch(function);
  HloBuilder *outer = std::exchange(current, &scratch);
  folding = true;
  SmallVector<Item> fresh = inputs;
  for (Item &item : fresh)
    item.value = {};
  Node folded(*this, node, opset, std::move(fresh));
  Status status = entry.lower(folded);
  folding = false;
  current = outer;
  if (!status)
    return Error{status.message()};

  SmallVector<Value> values;
  SmallVector<unsigned> places;
  int64_t elements = 0;
  for (auto [i, item] : llvm::enumerate(folded.results)) {
    if (item.elements)
      return false; // A sequence: made again in the program.
    if (item.value && !item.known) {
      values.push_back(item.value);
      places.push_back(i);
      elements += HloBuilder::countOf(item.value);
    }
  }
  if (elements > kMaxElements)
    return false;
  if (!values.empty()) {
    scratch.builder().create<func::ReturnOp>(scratch.location(), values);
    function.setFunctionType(builder.getFunctionType({}, ValueRange(values).getTypes()));
    if (failed(verify(*module)) || failed(compiler::lowerChlo(*module)))
      return refuse(Refusal::NotYet, "a node could not be evaluated: its program does not verify");
    auto plan = reference::Plan::create(*module);
    if (!plan)
      return refuse(Refusal::NotYet, "a node could not be evaluated: " + plan.message());
    reference::RunOptions runOptions;
    runOptions.maxSteps = 1 << 20;
    reference::Run run(runOptions);
    auto evaluated = (*plan)->run(run, {});
    if (!evaluated)
      return refuse(Refusal::Invalid, "a node could not be evaluated: " + evaluated.message());
    for (auto [place, value] : llvm::zip(places, *evaluated)) {
      // Constants borrow the scratch module's memory, which ends here.
      Result<Tensor> copy =
          Tensor::uninitialized(value.tensor().elementType(),
                                {value.tensor().shape().begin(), value.tensor().shape().end()});
      Result<Tensor> packed = value.tensor().contiguous();
      if (!copy || !packed)
        return refuse(Refusal::NotYet, "no memory to evaluate a node");
      if (copy->byteSize())
        std::memcpy(copy->mutableData(), packed->data(), copy->byteSize());
      folded.results[place].known = std::move(*copy);
    }
  }
  for (Item &item : folded.results)
    item.value = {};
  results = std::move(folded.results);
  return true;
}

} // namespace cupel::frontends::onnx_import
