#include "cupel/reference/Indexing.h"

#include "cupel/reference/DataMovement.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/StridedCopy.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Kind;
using tensor::Shape;
using tensor::Storage;
using tensor::Tensor;

namespace {

std::string described(const Tensor &value) {
  return tensor::describe(value.elementType(), value.shape());
}

bool contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool inRange(std::span<const int64_t> list, int64_t rank) {
  return std::all_of(list.begin(), list.end(), [&](int64_t d) { return d >= 0 && d < rank; });
}

} // namespace

Result<std::vector<int64_t>> readIntegers(const Tensor &values) {
  if (tensor::isFloat(values.dtype()) || tensor::isComplex(values.dtype()))
    return Error{"expected integers, got " + described(values)};
  Result<Tensor> flat = values.contiguous();
  if (!flat)
    return flat.error();
  if (Status status = reserveScratch(flat->size() * int64_t{sizeof(int64_t)}); !status)
    return status.error();
  std::vector<int64_t> result(static_cast<size_t>(flat->size()));
  tensor::dispatch(flat->dtype(), [&]<DType type>() {
    if constexpr (!tensor::isFloat(type) && !tensor::isComplex(type)) {
      const auto *data = flat->dataAs<Storage<type>>();
      for (size_t i = 0; i < result.size(); ++i) {
        if constexpr (type == DType::U64)
          result[i] = static_cast<int64_t>(
              std::min<uint64_t>(data[i], std::numeric_limits<int64_t>::max()));
        else
          result[i] = static_cast<int64_t>(data[i]);
      }
    }
  });
  return result;
}

Result<std::vector<int64_t>> readScalars(std::span<const Tensor> scalars) {
  std::vector<int64_t> result;
  for (const Tensor &scalar : scalars) {
    if (scalar.size() != 1)
      return Error{"expected an integer scalar, got " + described(scalar)};
    Result<std::vector<int64_t>> value = readIntegers(scalar);
    if (!value)
      return value;
    result.push_back(value->front());
  }
  return result;
}

namespace {

/// Clamps the start of each dimension so that `sizes` elements fit.
Result<std::vector<int64_t>> clampedStarts(std::string_view op, const Tensor &operand,
                                           std::span<const int64_t> starts,
                                           std::span<const int64_t> sizes) {
  auto rank = static_cast<size_t>(operand.rank());
  if (starts.size() != rank || sizes.size() != rank)
    return Error{std::string(op) + ": " + std::to_string(starts.size()) + " start indices and " +
                 std::to_string(sizes.size()) + " sizes for " + described(operand)};
  std::vector<int64_t> clamped(rank);
  for (size_t d = 0; d < rank; ++d) {
    int64_t size = operand.shape()[d];
    if (sizes[d] < 0 || sizes[d] > size)
      return Error{std::string(op) + ": slice size " + std::to_string(sizes[d]) +
                   " does not fit dimension " + std::to_string(d) + " of " + described(operand)};
    clamped[d] = std::clamp<int64_t>(starts[d], 0, size - sizes[d]);
  }
  return clamped;
}

} // namespace

Result<Tensor> dynamicSlice(const Tensor &operand, std::span<const int64_t> starts,
                            std::span<const int64_t> sizes) {
  Result<std::vector<int64_t>> start = clampedStarts("dynamic_slice", operand, starts, sizes);
  if (!start)
    return start.error();
  std::vector<int64_t> limit = *start, stride(sizes.size(), 1);
  for (size_t d = 0; d < limit.size(); ++d)
    limit[d] += sizes[d];
  return slice(operand, *start, limit, stride);
}

Result<Tensor> dynamicUpdateSlice(Tensor operand, const Tensor &update,
                                  std::span<const int64_t> starts) {
  if (update.dtype() != operand.dtype())
    return Error{"dynamic_update_slice: " + described(update) + " cannot update " +
                 described(operand)};
  Result<std::vector<int64_t>> start =
      clampedStarts("dynamic_update_slice", operand, starts, update.shape());
  if (!start)
    return start.error();
  if (update.size() == 0)
    return operand;
  std::byte *data = operand.mutableData();
  if (!data) {
    Result<Tensor> copy = Tensor::uninitialized(
        operand.elementType(), Shape(operand.shape().begin(), operand.shape().end()));
    if (!copy)
      return copy;
    data = copy->mutableData();
    copyTo(data, operand);
    operand = std::move(*copy);
  }
  int64_t offset = 0;
  for (size_t d = 0; d < start->size(); ++d)
    offset += (*start)[d] * operand.strides()[d];
  StridedCopy(update.shape(), operand.strides(), update.strides(), info(operand.dtype()).bytes)
      .run(data + offset, update.data());
  return operand;
}

Result<Tensor> realDynamicSlice(const Tensor &operand, const Tensor &starts, const Tensor &limits,
                                const Tensor &strides) {
  std::vector<int64_t> lists[3];
  const Tensor *sources[] = {&starts, &limits, &strides};
  for (int i = 0; i < 3; ++i) {
    Result<std::vector<int64_t>> values = readIntegers(*sources[i]);
    if (!values)
      return Error{"real_dynamic_slice: " + values.message()};
    lists[i] = std::move(*values);
  }
  Result<Tensor> result = slice(operand, lists[0], lists[1], lists[2]);
  if (!result)
    return Error{"real_dynamic_" + result.message()};
  return result;
}

Result<Tensor> gather(const Tensor &operand, const Tensor &startIndices,
                      const GatherNumbers &numbers, std::span<const int64_t> sliceSizes) {
  int64_t rank = operand.rank(), indexRank = startIndices.rank();
  int64_t vectorDim = numbers.indexVectorDim;
  int64_t vectorSize = vectorDim == indexRank                    ? 1
                       : vectorDim >= 0 && vectorDim < indexRank ? startIndices.dim(vectorDim)
                                                                 : -1;
  if (static_cast<int64_t>(sliceSizes.size()) != rank || vectorSize < 0 ||
      vectorSize != static_cast<int64_t>(numbers.startIndexMap.size()) ||
      numbers.operandBatchingDims.size() != numbers.startIndicesBatchingDims.size() ||
      !inRange(numbers.startIndexMap, rank) || !inRange(numbers.operandBatchingDims, rank) ||
      !inRange(numbers.collapsedSliceDims, rank) ||
      !inRange(numbers.startIndicesBatchingDims, indexRank))
    return Error{"gather: the dimension numbers do not fit " + described(operand) + " and " +
                 described(startIndices)};
  for (int64_t d = 0; d < rank; ++d)
    if (sliceSizes[d] < 0 || sliceSizes[d] > operand.dim(d))
      return Error{"gather: slice size " + std::to_string(sliceSizes[d]) +
                   " does not fit dimension " + std::to_string(d) + " of " + described(operand)};

  // The result: index dimensions in the places that are not offset dimensions, slices in those.
  std::vector<int64_t> indexDims, sliceDims;
  for (int64_t d = 0; d < indexRank; ++d)
    if (d != vectorDim)
      indexDims.push_back(d);
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(numbers.collapsedSliceDims, d) && !contains(numbers.operandBatchingDims, d))
      sliceDims.push_back(d);
  auto resultRank = static_cast<int64_t>(indexDims.size() + numbers.offsetDims.size());
  if (sliceDims.size() != numbers.offsetDims.size() || !inRange(numbers.offsetDims, resultRank))
    return Error{"gather: offset_dims do not fit " + described(operand)};
  Shape shape;
  std::vector<int64_t> batchResultDims;
  for (int64_t d = 0; d < resultRank; ++d) {
    auto at = std::find(numbers.offsetDims.begin(), numbers.offsetDims.end(), d);
    if (at != numbers.offsetDims.end()) {
      shape.push_back(sliceSizes[sliceDims[at - numbers.offsetDims.begin()]]);
    } else {
      if (batchResultDims.size() == indexDims.size())
        return Error{"gather: offset_dims are not unique"};
      shape.push_back(startIndices.dim(indexDims[batchResultDims.size()]));
      batchResultDims.push_back(d);
    }
  }
  Result<Tensor> result = Tensor::uninitialized(operand.elementType(), shape);
  if (!result || result->size() == 0)
    return result;
  for (int64_t d = 0; d < rank; ++d)
    if (operand.dim(d) == 0)
      return Error{"gather: nothing to read from in " + described(operand)};
  for (size_t i = 0; i < numbers.operandBatchingDims.size(); ++i)
    if (operand.dim(numbers.operandBatchingDims[i]) <
        startIndices.dim(numbers.startIndicesBatchingDims[i]))
      return Error{"gather: batching dimensions of " + described(operand) + " and " +
                   described(startIndices) + " differ"};
  Result<std::vector<int64_t>> read = readIntegers(startIndices);
  if (!read)
    return Error{"gather: " + read.message()};
  const std::vector<int64_t> &indices = *read;
  std::vector<int64_t> indexStrides = contiguousStrides(startIndices.shape(), 1);
  int64_t vectorStride = vectorDim == indexRank ? 0 : indexStrides[vectorDim];

  // Where each index vector's slice starts in the operand, in bytes, in the order of index
  // dimensions.
  struct BatchDim {
    int64_t size, index, result, operand;
  };
  std::vector<BatchDim> batch;
  int64_t batchCount = 1;
  for (size_t i = 0; i < indexDims.size(); ++i) {
    int64_t d = indexDims[i];
    BatchDim dim{startIndices.dim(d), indexStrides[d], result->strides()[batchResultDims[i]], 0};
    for (size_t k = 0; k < numbers.operandBatchingDims.size(); ++k)
      if (numbers.startIndicesBatchingDims[k] == d)
        dim.operand = operand.strides()[numbers.operandBatchingDims[k]];
    batch.push_back(dim);
    batchCount *= dim.size;
  }
  struct VectorEntry {
    int64_t highest, stride;
  };
  std::vector<VectorEntry> entries;
  for (int64_t d : numbers.startIndexMap)
    entries.push_back({operand.dim(d) - std::max<int64_t>(sliceSizes[d], 1), operand.strides()[d]});
  if (Status status = reserveScratch(batchCount * 2 * int64_t{sizeof(int64_t)}); !status)
    return status.error();
  std::vector<int64_t> sources(static_cast<size_t>(batchCount)),
      targets(static_cast<size_t>(batchCount));
  forBlocks(batchCount, 4, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> position(batch.size(), 0);
    int64_t index = 0, target = 0, base = 0;
    for (int64_t d = static_cast<int64_t>(batch.size()) - 1, rest = begin; d >= 0; --d) {
      position[d] = rest % batch[d].size;
      rest /= batch[d].size;
      index += position[d] * batch[d].index;
      target += position[d] * batch[d].result;
      base += position[d] * batch[d].operand;
    }
    for (int64_t b = begin; b < end; ++b) {
      int64_t source = base;
      for (size_t k = 0; k < entries.size(); ++k) {
        int64_t start = indices[index + static_cast<int64_t>(k) * vectorStride];
        source += std::clamp<int64_t>(start, 0, entries[k].highest) * entries[k].stride;
      }
      sources[b] = source;
      targets[b] = target;
      for (size_t d = batch.size(); d-- > 0;) {
        index += batch[d].index;
        target += batch[d].result;
        base += batch[d].operand;
        if (++position[d] < batch[d].size)
          break;
        index -= batch[d].index * batch[d].size;
        target -= batch[d].result * batch[d].size;
        base -= batch[d].operand * batch[d].size;
        position[d] = 0;
      }
    }
  });
  if (isStopped())
    return stoppedError();

  int64_t bytes = info(operand.dtype()).bytes;
  Shape sliceShape;
  std::vector<int64_t> sliceTarget, sliceSource;
  int64_t sliceCount = 1;
  for (size_t i = 0; i < sliceDims.size(); ++i) {
    sliceShape.push_back(sliceSizes[sliceDims[i]]);
    sliceTarget.push_back(result->strides()[numbers.offsetDims[i]]);
    sliceSource.push_back(operand.strides()[sliceDims[i]]);
    sliceCount *= sliceShape.back();
  }
  std::byte *to = result->mutableData();
  const std::byte *from = operand.data();
  StridedCopy copy(sliceShape, sliceTarget, sliceSource, bytes);
  if (copy.contiguousBytes() == bytes) { // single elements
    dispatchBytes(bytes, [&](auto type) {
      forBlocks(batchCount, 2, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b)
          std::memcpy(to + targets[b], from + sources[b], sizeof(type));
      });
    });
  } else if (copy.contiguousBytes() > 0) {
    auto run = static_cast<size_t>(copy.contiguousBytes());
    forBlocks(batchCount, 8 + 0.12 * static_cast<double>(run), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        std::memcpy(to + targets[b], from + sources[b], run);
    });
  } else if (batchCount > 1 && batch.back().result == bytes) {
    // Index dimensions are innermost in the result (columns are gathered): write those in a row.
    forEach(sliceCount, 2 * static_cast<double>(batchCount), [&](int64_t s) {
      int64_t target = 0, source = 0;
      for (size_t d = sliceShape.size(); d-- > 0; s /= sliceShape[d]) {
        target += s % sliceShape[d] * sliceTarget[d];
        source += s % sliceShape[d] * sliceSource[d];
      }
      dispatchBytes(bytes, [&](auto type) {
        for (int64_t b = 0; b < batchCount; ++b)
          std::memcpy(to + target + targets[b], from + source + sources[b], sizeof(type));
      });
    });
  } else {
    double each = 10 + 0.3 * static_cast<double>(sliceCount * bytes);
    forBlocks(batchCount, each, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b)
        copy.run(to + targets[b], from + sources[b]);
    });
  }
  return result;
}

Result<Tensor> torchIndexSelect(const Tensor &operand, const Tensor &index, int64_t dim,
                                int64_t batchDims) {
  if (batchDims < 0 || batchDims > index.rank() || dim < batchDims || dim >= operand.rank())
    return Error{"torch_index_select: dim " + std::to_string(dim) + " and batch_dims " +
                 std::to_string(batchDims) + " do not fit " + described(operand) + " and " +
                 described(index)};
  GatherNumbers numbers;
  for (int64_t d = 0; d < batchDims; ++d) {
    if (operand.dim(d) != index.dim(d))
      return Error{"torch_index_select: batch dimensions of " + described(operand) + " and " +
                   described(index) + " differ"};
    numbers.operandBatchingDims.push_back(d);
    numbers.startIndicesBatchingDims.push_back(d);
  }
  std::vector<int64_t> sizes(operand.shape().begin(), operand.shape().end());
  for (int64_t d = 0; d < batchDims; ++d)
    sizes[d] = std::min<int64_t>(sizes[d], 1);
  sizes[dim] = std::min<int64_t>(sizes[dim], 1);
  for (int64_t d = batchDims; d < dim; ++d)
    numbers.offsetDims.push_back(d);
  for (int64_t d = dim + 1; d < operand.rank(); ++d)
    numbers.offsetDims.push_back(d - 1 + index.rank() - batchDims);
  numbers.collapsedSliceDims = {dim};
  numbers.startIndexMap = {dim};
  numbers.indexVectorDim = index.rank();
  return gather(operand, index, numbers, sizes);
}

} // namespace cupel::reference
