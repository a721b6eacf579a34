// Evaluates nodes on known values with the golden reference, so that shape arithmetic is gone
// before the program is written.

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/onnx/Importer.h"
#include "cupel/reference/Plan.h"
#include "onnx-ml.pb.h"

namespace cupel::frontends::onnx_import {

using namespace mlir;
using tensor::Tensor;

namespace {

// Beyond this, evaluating at import costs more than it saves.
constexpr int64_t kMaxElements = 1 << 16;
constexpr int64_t kMaxBetween = 1 << 22;

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

/// Weights of 8 bits that are dequantized stay what they are in the program: devices multiply integers as such.
bool areQuantizedWeights(const proto::NodeProto &node, ArrayRef<Item> inputs) {
  if (node.op_type() != "DequantizeLinear" || inputs.empty() || !inputs[0].known || inputs[0].coded)
    return false;
  const Tensor &tensor = *inputs[0].known;
  return tensor.shape().size() >= 2 &&
         (tensor.dtype() == tensor::DType::I8 || tensor.dtype() == tensor::DType::U8);
}

/// Whether nothing in between is so large that evaluating it costs time or memory worth the name.
bool isCheap(ModuleOp module) {
  int64_t total = 0;
  module.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto type = dyn_cast<RankedTensorType>(result.getType()))
        total += std::min(type.getNumElements(), kMaxBetween);
  });
  return total < kMaxBetween;
}

} // namespace

Result<bool> Importer::fold(const OpEntry &entry, const proto::NodeProto &node, int64_t opset,
                            const SmallVector<Item> &inputs, SmallVector<Item> &results) {
  if (!entry.foldable || folding || !isWorthFolding(inputs) || areQuantizedWeights(node, inputs))
    return false;
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<func::FuncOp>(builder.getUnknownLoc(), "main",
                                               builder.getFunctionType({}, {}));
  function.addEntryBlock();
  HloBuilder scratch(function);
  scratch.keepComposites(false);
  HloBuilder *outer = std::exchange(current, &scratch);
  folding = true;
  SmallVector<Item> fresh = inputs;
  for (Item &item : fresh)
    item.value = {};
  Node folded(*this, node, opset, std::move(fresh));
  Status status = entry.lower(folded);
  folding = false;
  current = outer;
  if (status && !scratch.problem().empty())
    status = folded.error("its operands or attributes do not fit: " + scratch.problem());
  if (!status)
    return status.error();

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
  if (elements > kMaxElements || !isCheap(*module))
    return false;
  if (!values.empty()) {
    scratch.builder().create<func::ReturnOp>(scratch.location(), values);
    function.setFunctionType(builder.getFunctionType({}, ValueRange(values).getTypes()));
    if (std::optional<std::string> complaint = verifyComplaint(*module))
      return refuse(ErrorCode::InvalidModel, *complaint);
    if (failed(compiler::lowerChlo(*module)))
      return folded.refuse(ErrorCode::NotYet, "could not be evaluated: chlo cannot be lowered");
    auto plan = reference::Plan::create(*module);
    if (!plan)
      return folded.refuse(ErrorCode::NotYet, "could not be evaluated: " + plan.message());
    reference::RunOptions runOptions;
    runOptions.maxSteps = 1 << 20;
    runOptions.timeoutSeconds = 10;
    runOptions.threads = 1;
    reference::Run run(runOptions);
    auto evaluated = (*plan)->run(run, {});
    if (!evaluated)
      return folded.error("could not be evaluated: " + evaluated.message());
    for (auto [place, value] : llvm::zip(places, *evaluated)) {
      // Constants borrow the scratch module's memory, which ends here.
      Result<Tensor> copy =
          Tensor::uninitialized(value.tensor().elementType(),
                                {value.tensor().shape().begin(), value.tensor().shape().end()});
      Result<Tensor> packed = value.tensor().contiguous();
      if (!copy || !packed)
        return refuse(ErrorCode::NotYet, "no memory to evaluate a node");
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
