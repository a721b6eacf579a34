#include "cupel/reference/Elementwise.h"

#include "cupel/reference/Parallel.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <string>

namespace cupel::reference {

using tensor::DType;
using tensor::Tensor;

Result<ElementwiseOp> findElementwise(ElementOp op, DType operand, DType result) {
  if (std::optional<Loop> loop = Loop::find(op, operand, result))
    return ElementwiseOp{op, *loop, result};
  return Error{ErrorCode::Unsupported, std::string(name(op)) + " is not evaluated on elements of type " +
               std::string(info(operand).name)};
}

namespace {

/// Whether all elements are one and the same in memory.
bool isSplat(const Tensor &tensor) {
  for (int64_t i = 0; i < tensor.rank(); ++i)
    if (tensor.dim(i) != 1 && tensor.strides()[i] != 0)
      return false;
  return true;
}

/// Whether the last dimensions, from `from` on, are one run of neighbours, or one element.
bool isRun(const Tensor &tensor, int64_t from) {
  int64_t step = info(tensor.dtype()).bytes;
  for (int64_t d = tensor.rank() - 1; d >= from; --d) {
    if (tensor.dim(d) != 1 && tensor.strides()[d] != step)
      return false;
    step *= tensor.dim(d);
  }
  return true;
}
bool isOneElement(const Tensor &tensor, int64_t from) {
  for (int64_t d = from; d < tensor.rank(); ++d)
    if (tensor.dim(d) != 1 && tensor.strides()[d] != 0)
      return false;
  return true;
}

/// From which dimension on all operands are runs or one element each, and how many elements that
/// is; operands of another rank than the result's are one element anyway.
struct Row {
  int64_t from, length = 1;
};
Row commonRow(std::span<const Tensor *const> operands, const Tensor &shaped) {
  Row row{shaped.rank()};
  while (row.from > 0 &&
         std::ranges::all_of(operands, [&](const Tensor *operand) {
           return operand->rank() != shaped.rank() || isRun(*operand, row.from - 1) ||
                  isOneElement(*operand, row.from - 1);
         }))
    row.length *= shaped.dim(--row.from);
  return row;
}

/// About how long an element takes; only sizes of blocks depend on it.
double nanosecondsOf(const ElementwiseOp &op, DType operand) {
  bool basic = floatLoop(op.op) || op.op == ElementOp::Select || op.op == ElementOp::Convert;
  bool narrow = tensor::isNarrowFloat(operand) || tensor::isNarrowFloat(op.result);
  if (tensor::isComplex(operand))
    return basic ? 1 : 40;
  if (tensor::isFloat(operand) && !basic)
    return 8;
  return narrow ? 1 : 0.25;
}

/// Lane i depends on lane i alone: blocks of lanes go side by side.
void runLoop(const ElementwiseOp &op, const LoopArguments &arguments, int64_t operands,
             std::span<const int> bytes, double nanoseconds) {
  int64_t resultBytes = info(op.result).bytes;
  forBlocks(
      arguments.lanes, nanoseconds,
      [&](int64_t begin, int64_t end) {
        LoopArguments part = arguments;
        for (int64_t i = 0; i < operands; ++i)
          if (!part.scalar[i])
            part.in[i] = static_cast<const std::byte *>(part.in[i]) + begin * bytes[i];
        part.out = static_cast<std::byte *>(part.out) + begin * resultBytes;
        part.lanes = end - begin;
        op.loop.run(part);
      },
      64);
}

/// The same for operands that lie row by row, each a run or one element.
void runRows(const ElementwiseOp &op, const LoopArguments &arguments,
             std::span<const Tensor *const> operands, const Tensor &shaped, Row row,
             double nanoseconds) {
  const int64_t rows = arguments.lanes / row.length;
  const int64_t rowBytes = row.length * info(op.result).bytes;
  forBlocks(rows, nanoseconds * static_cast<double>(row.length), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> index(row.from);
    for (int64_t d = row.from - 1, left = begin; d >= 0; --d) {
      index[d] = left % shaped.dim(d);
      left /= shaped.dim(d);
    }
    LoopArguments part = arguments;
    part.lanes = row.length;
    for (size_t i = 0; i < operands.size(); ++i)
      part.scalar[i] = operands[i]->rank() != shaped.rank() || isOneElement(*operands[i], row.from);
    for (int64_t r = begin; r < end; ++r) {
      for (size_t i = 0; i < operands.size(); ++i) {
        const Tensor &operand = *operands[i];
        int64_t offset = 0;
        for (int64_t d = 0; operand.rank() == shaped.rank() && d < row.from; ++d)
          offset += index[d] * operand.strides()[d];
        part.in[i] = operand.data() + offset;
      }
      part.out = static_cast<std::byte *>(arguments.out) + r * rowBytes;
      op.loop.run(part);
      for (int64_t d = row.from - 1; d >= 0 && ++index[d] == shaped.dim(d); --d)
        index[d] = 0;
    }
  });
}

} // namespace

bool readsRows(const Tensor &tensor) {
  const Tensor *one[] = {&tensor};
  return tensor.size() == 0 || commonRow(one, tensor).length >= kLongRow;
}

Result<Tensor> elementwise(const ElementwiseOp &op, std::span<const Tensor *const> operands,
                           std::span<Tensor *const> reusable) {
  // The shape comes from the operand that has one; scalars go with any.
  const Tensor *shaped = operands[0];
  for (const Tensor *operand : operands)
    if (operand->rank() > shaped->rank())
      shaped = operand;
  for (const Tensor *operand : operands)
    if (operand->rank() != 0 && !std::ranges::equal(operand->shape(), shaped->shape()))
      return Error{"operands of shapes " +
                   tensor::describe(operand->elementType(), operand->shape()) + " and " +
                   tensor::describe(shaped->elementType(), shaped->shape()) +
                   " do not go together"};

  LoopArguments arguments;
  arguments.lanes = shaped->size();
  arguments.exponentBits = op.exponentBits;
  arguments.mantissaBits = op.mantissaBits;
  Tensor copies[3];
  int elementBytes[3] = {};
  const Row row = commonRow(operands, *shaped);
  const bool isByRows = row.from > 0 && row.length >= kLongRow && arguments.lanes > 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    const Tensor *operand = operands[i];
    if (isByRows)
      continue; // They are read as they lie.
    arguments.scalar[i] = arguments.lanes != 1 && isSplat(*operand);
    if (!arguments.scalar[i] && !operand->isContiguous()) {
      Result<Tensor> copy = operand->contiguous();
      if (!copy)
        return copy.error();
      copies[i] = std::move(*copy);
      operand = &copies[i];
    }
    arguments.in[i] = operand->data();
    elementBytes[i] = info(operand->dtype()).bytes;
  }
  double nanoseconds = nanosecondsOf(op, operands.back()->dtype());
  auto run = [&](std::byte *out) {
    arguments.out = out;
    if (isByRows)
      return runRows(op, arguments, operands, *shaped, row, nanoseconds);
    runLoop(op, arguments, static_cast<int64_t>(operands.size()), elementBytes, nanoseconds);
  };

  int bytes = info(op.result).bytes;
  tensor::Shape shape(shaped->shape().begin(), shaped->shape().end());
  for (Tensor *candidate : reusable) {
    if (!std::ranges::equal(candidate->shape(), shape) || info(candidate->dtype()).bytes != bytes ||
        !candidate->isContiguous())
      continue;
    if (std::byte *memory = candidate->mutableData()) {
      run(memory);
      return candidate->withElementType(op.result);
    }
  }
  Result<Tensor> result = Tensor::uninitialized(op.result, std::move(shape));
  if (!result)
    return result;
  run(result->mutableData());
  return result;
}

Result<Tensor> elementwise(const ElementwiseOp &op,
                           std::initializer_list<const Tensor *> operands) {
  return elementwise(op, std::span<const Tensor *const>(operands.begin(), operands.size()), {});
}

Result<Tensor> convert(const Tensor &operand, DType type) {
  if (operand.dtype() == type)
    return operand;
  Result<ElementwiseOp> op = findElementwise(ElementOp::Convert, operand.dtype(), type);
  if (!op)
    return op.error();
  return elementwise(*op, {&operand});
}

} // namespace cupel::reference
