// The kernel that there is for everything: the golden reference's plan of one operation.

#include "cupel/compiler/backends/cpu/Kernel.h"
#include "cupel/compiler/tensor/TensorIr.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"

#include "mlir/IR/IRMapping.h"

#include <cstring>

namespace cupel::compiler {

using namespace mlir;
using tensor::Tensor;

namespace {

struct BufferShape {
  tensor::ElementType type;
  tensor::Shape shape;
  size_t bytes = 0;

  static Result<BufferShape> of(Type type) {
    auto ranked = cast<RankedTensorType>(type);
    Result<tensor::ElementType> element = reference::elementTypeOf(ranked.getElementType());
    if (!element)
      return element.error();
    BufferShape shape{*element, reference::shapeOf(type)};
    std::optional<int64_t> bytes = tensor::byteCount(element->storage, shape.shape);
    if (!bytes)
      return Error{ErrorCode::OutOfMemory, "a tensor has more elements than memory can hold"};
    shape.bytes = size_t(*bytes);
    return shape;
  }
};

class ReferenceKernel final : public Kernel {
public:
  /// Other devices read the operands of collectives, possibly when this one is on its way again:
  /// `meets` asks for copies.
  ReferenceKernel(std::unique_ptr<reference::Plan> plan, std::vector<BufferShape> reads,
                  std::vector<BufferShape> writes, bool meets)
      : plan(std::move(plan)), readShapes(std::move(reads)), writeShapes(std::move(writes)),
        meets(meets) {}

  Status run(LaunchContext &context, std::span<const std::byte *const> reads,
             std::span<std::byte *const> writes) const override {
    std::vector<reference::Value> values, results;
    values.reserve(reads.size());
    for (size_t i = 0; i < reads.size(); ++i) {
      Result<Tensor> tensor = Tensor::borrow(readShapes[i].type, readShapes[i].shape,
                                             {reads[i], readShapes[i].bytes});
      if (!tensor)
        return tensor.error().as(ErrorCode::Internal);
      if (meets) {
        Result<Tensor> copy = Tensor::uninitialized(readShapes[i].type, readShapes[i].shape);
        if (!copy)
          return copy.error().as(ErrorCode::OutOfMemory);
        if (readShapes[i].bytes != 0)
          std::memcpy(copy->mutableData(), reads[i], readShapes[i].bytes);
        *tensor = std::move(*copy);
      }
      values.push_back(std::move(*tensor));
    }
    if (Status status =
            reference::callFunction(context.process, plan->entry(), std::move(values), results);
        !status)
      return context.process.run.failure().value_or(status.error());
    for (size_t i = 0; i < writes.size(); ++i) {
      Result<Tensor> whole = results[i].tensor().contiguous();
      if (!whole)
        return whole.error().as(ErrorCode::OutOfMemory);
      if (writeShapes[i].bytes != 0)
        std::memcpy(writes[i], whole->data(), writeShapes[i].bytes);
    }
    return {};
  }

  bool isFallback() const override { return true; }
  std::string_view kind() const override { return "reference"; }

private:
  std::unique_ptr<reference::Plan> plan;
  std::vector<BufferShape> readShapes, writeShapes;
  bool meets;
};

} // namespace

Result<KernelPointer> referenceKernel(dev::LaunchOp launch, ModuleOp functions) {
  Block &body = launch.getBody().front();
  SmallVector<Type> arguments(body.getArgumentTypes()),
      results(body.getTerminator()->getOperandTypes());
  std::vector<BufferShape> reads, writes;
  for (auto [types, shapes] : {std::pair(&arguments, &reads), std::pair(&results, &writes)})
    for (Type type : *types) {
      Result<BufferShape> shape = BufferShape::of(type);
      if (!shape)
        return shape.error();
      shapes->push_back(std::move(*shape));
    }
  OpBuilder builder = OpBuilder::atBlockEnd(functions.getBody());
  std::string name = "launch_" + std::to_string(functions.getBody()->getOperations().size());
  auto function = builder.create<func::FuncOp>(
      launch.getLoc(), name, FunctionType::get(launch.getContext(), arguments, results));
  builder.setInsertionPointToStart(function.addEntryBlock());
  IRMapping mapping;
  mapping.map(body.getArguments(), function.getArguments());
  SmallVector<Operation *> ours;
  for (Operation &op : body.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    if (isa<tir::TirDialect>(copy->getDialect()))
      ours.push_back(copy);
  }
  SmallVector<Value> values;
  for (Value value : body.getTerminator()->getOperands())
    values.push_back(mapping.lookup(value));
  builder.create<func::ReturnOp>(launch.getLoc(), values);
  for (Operation *op : ours)
    if (failed(tir::expand(op)))
      return Error{ErrorCode::Internal, "an operation of tensor IR cannot be expanded"};
  bool meets = false;
  function.walk([&](Operation *op) { meets |= op->hasTrait<stablehlo::Collective>(); });
  Result<std::unique_ptr<reference::Plan>> plan = reference::Plan::create(functions, name);
  if (!plan)
    return plan.error();
  return KernelPointer(
      std::make_unique<ReferenceKernel>(std::move(*plan), std::move(reads), std::move(writes), meets));
}

} // namespace cupel::compiler
