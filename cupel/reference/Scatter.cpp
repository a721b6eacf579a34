// Scatter, declared in Indexing.h: the inverse walk of gather, in the order of the updates.

#include "cupel/reference/Indexing.h"
#include "cupel/reference/KnownOps.h"
#include "cupel/reference/LaneUpdates.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/StridedCopy.h"

#include <algorithm>
#include <cstring>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Shape;
using tensor::Storage;
using tensor::Tensor;

namespace {

bool contains(std::span<const int64_t> list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool inRange(std::span<const int64_t> list, int64_t rank) {
  return std::all_of(list.begin(), list.end(), [&](int64_t d) { return d >= 0 && d < rank; });
}

/// Indices beyond this are out of every tensor's bounds; sums with window offsets cannot overflow.
constexpr int64_t kFar = int64_t{1} << 61;

/// target[i * step] = body(target[i * step], update[i]).
using RowFunction = void (*)(std::byte *target, int64_t step, const std::byte *update,
                             int64_t count);

template <KnownFunction function, DType type>
void updateRow(std::byte *target, int64_t step, const std::byte *update, int64_t count) {
  using S = Storage<type>;
  S *to = reinterpret_cast<S *>(target);
  const S *from = reinterpret_cast<const S *>(update);
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i)
      to[i] = applyKnown<function, type>(to[i], from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i)
      to[i * step] = applyKnown<function, type>(to[i * step], from[i]);
  }
}

template <typename T>
void overwriteRow(std::byte *target, int64_t step, const std::byte *update, int64_t count) {
  if (step == 1) {
    std::memcpy(target, update, static_cast<size_t>(count) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(target + i * step * int64_t{sizeof(T)}, update + i * int64_t{sizeof(T)}, sizeof(T));
}

/// Null if the body has to be called.
RowFunction rowFunction(const ElementFunction &body, const tensor::ElementType &type) {
  std::optional<KnownFunction> known = body.known();
  if (!known)
    return nullptr;
  RowFunction row = nullptr;
  if (*known == KnownFunction::Second) {
    dispatchBytes(info(type.storage).bytes, [&](auto size) { row = overwriteRow<decltype(size)>; });
    return row;
  }
  if (type.quantization)
    return nullptr;
  dispatchKnown(*known, [&]<KnownFunction function>() {
    tensor::dispatch(type.storage, [&]<DType dtype>() {
      if constexpr (hasKnown(function, dtype))
        row = updateRow<function, dtype>;
    });
  });
  return row;
}

/// One dimension of the updates tensor.
struct UpdateDim {
  int64_t size = 0;
  int64_t stride = 0;       // in elements of the updates
  int64_t operandDim = -1;  // window dimensions: which dimension of the input they run along
  int64_t indexStride = 0;  // scatter dimensions: stride in the indices
  int64_t batchingDim = -1; // scatter dimensions: the input dimension they are shared with
};

/// Walks the updates in row-major order, or in another one, one block of trailing window dimensions at
/// a time, and calls `block(target element, first update element, block shape)` for what lies in bounds.
class Walk {
public:
  Walk(std::vector<UpdateDim> dims, const Tensor &input, std::span<const int64_t> indexMap,
       const std::vector<int64_t> &indices, int64_t vectorStride, uint64_t order)
      : dims(std::move(dims)), shape(input.shape().begin(), input.shape().end()),
        strides(contiguousStrides(shape, 1)), indexMap(indexMap), indices(indices),
        vectorStride(vectorStride), order(order) {
    for (size_t u = 0; u < this->dims.size(); ++u)
      if (this->dims[u].operandDim < 0)
        outer = u + 1;
    isBlockDim.assign(shape.size(), false);
    for (size_t u = outer; u < this->dims.size(); ++u)
      isBlockDim[this->dims[u].operandDim] = true;
  }

  /// Strides, in elements of the input, of the dimensions of a block.
  std::vector<int64_t> blockStrides() const {
    std::vector<int64_t> result;
    for (size_t u = outer; u < dims.size(); ++u)
      result.push_back(strides[dims[u].operandDim]);
    return result;
  }
  std::vector<int64_t> updateStrides() const {
    std::vector<int64_t> result;
    for (size_t u = outer; u < dims.size(); ++u)
      result.push_back(dims[u].stride);
    return result;
  }

  template <typename F> Status run(F &&block) const {
    for (const UpdateDim &dim : dims)
      if (dim.size == 0)
        return {};
    std::vector<int64_t> whole;
    for (size_t u = outer; u < dims.size(); ++u)
      whole.push_back(dims[u].size);
    // The last outer dimension runs in the inner loop (it is a scatter dimension, unless there is
    // none at all); `axes` says where each dimension of the input comes from there.
    int64_t count = outer == 0 ? 1 : dims[outer - 1].size;
    int64_t updateStep = outer == 0 ? 0 : dims[outer - 1].stride;
    int64_t indexStep = outer == 0 ? 0 : dims[outer - 1].indexStride;
    std::vector<Axis> axes(shape.size());
    for (size_t d = 0; d < shape.size(); ++d)
      axes[d] = {shape[d] - 1, strides[d], -1, 0, 0};
    for (size_t u = outer; u < dims.size(); ++u)
      axes[dims[u].operandDim].highest = shape[dims[u].operandDim] - dims[u].size;
    for (size_t k = 0; k < indexMap.size(); ++k)
      axes[indexMap[k]].entry = static_cast<int64_t>(k) * vectorStride;
    if (outer > 0 && dims[outer - 1].batchingDim >= 0)
      axes[dims[outer - 1].batchingDim].step = 1;

    std::vector<int64_t> at(outer, 0), position(shape.size());
    while (true) {
      int64_t update = 0, index = 0;
      for (Axis &axis : axes)
        axis.base = 0;
      for (size_t u = 0; u + 1 < outer; ++u) {
        int64_t here = turn(at[u], u);
        update += here * dims[u].stride;
        index += here * dims[u].indexStride;
        int64_t d = dims[u].operandDim >= 0 ? dims[u].operandDim : dims[u].batchingDim;
        if (d >= 0)
          axes[d].base += here;
      }
      for (int64_t step = 0; step < count; ++step) {
        int64_t i = outer == 0 ? step : turn(step, outer - 1);
        int64_t vector = index + i * indexStep; // where the index vector starts; it may be empty
        int64_t target = 0;
        bool inside = true;
        for (size_t d = 0; d < axes.size(); ++d) {
          const Axis &axis = axes[d];
          int64_t place = axis.base + i * axis.step;
          if (axis.entry >= 0)
            place += std::clamp(indices[vector + axis.entry], -kFar, kFar);
          position[d] = place;
          inside &= (place >= 0) & (place <= axis.highest);
          target += place * (inside ? axis.stride : 0);
        }
        if (inside) {
          if (Status status = block(target, update + i * updateStep, whole); !status)
            return status;
        } else if (Status status = clipped(position, update + i * updateStep, block); !status) {
          return status;
        }
      }
      size_t u = outer == 0 ? 0 : outer - 1;
      while (u-- > 0) {
        if (++at[u] < dims[u].size)
          break;
        at[u] = 0;
      }
      if (u == static_cast<size_t>(-1))
        return {};
    }
  }

private:
  /// How one dimension of the input is addressed in the inner loop.
  struct Axis {
    int64_t highest; // position at which a whole block still fits
    int64_t stride;
    int64_t entry;      // offset in the index vector, -1: not indexed
    int64_t step, base; // moved by the inner loop and by the outer ones
  };

  /// Which one of dimension `u` comes at this place: another one comes last in every order.
  int64_t turn(int64_t place, size_t u) const {
    if (order == 0)
      return place;
    int64_t size = dims[u].size;
    uint64_t mixed = (order + u + 1) * 0x9e3779b97f4a7c15;
    place = (place + int64_t((mixed >> 33) % uint64_t(size))) % size;
    return mixed >> 32 & 1 ? size - 1 - place : place;
  }

  /// Of a block that hangs over the edge, the part inside counts.
  template <typename F>
  Status clipped(const std::vector<int64_t> &position, int64_t update, F &&block) const {
    std::vector<int64_t> part(dims.size() - outer);
    int64_t target = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!isBlockDim[d] && (position[d] < 0 || position[d] >= shape[d]))
        return {};
      target += isBlockDim[d] ? 0 : position[d] * strides[d];
    }
    for (size_t u = outer; u < dims.size(); ++u) {
      int64_t start = position[dims[u].operandDim], size = shape[dims[u].operandDim];
      int64_t low = std::max<int64_t>(-start, 0), high = std::min(dims[u].size, size - start);
      if (low >= high)
        return {};
      part[u - outer] = high - low;
      target += (start + low) * strides[dims[u].operandDim];
      update += low * dims[u].stride;
    }
    return block(target, update, part);
  }

  std::vector<UpdateDim> dims;
  Shape shape;
  std::vector<int64_t> strides;
  std::span<const int64_t> indexMap;
  const std::vector<int64_t> &indices;
  int64_t vectorStride;
  uint64_t order;
  size_t outer = 0; // dimensions up to the last scatter dimension
  std::vector<bool> isBlockDim;
};

/// Calls `row(target, update)` for each row of a block, `target` and `update` being elements.
template <typename F>
Status forRows(int64_t target, int64_t update, std::span<const int64_t> shape,
               std::span<const int64_t> targetStrides, std::span<const int64_t> updateStrides,
               F &&row) {
  if (shape.size() <= 1)
    return row(target, update);
  for (int64_t i = 0; i < shape[0]; ++i)
    if (Status status =
            forRows(target + i * targetStrides[0], update + i * updateStrides[0], shape.subspan(1),
                    targetStrides.subspan(1), updateStrides.subspan(1), row);
        !status)
      return status;
  return {};
}

/// Sends windows that hang over an edge so far away that nothing of them is left.
void moveOutside(std::vector<int64_t> &indices, int64_t vectorStride,
                 std::span<const int64_t> indexMap, std::span<const int64_t> shape,
                 std::span<const UpdateDim> dims) {
  std::vector<int64_t> highest;
  for (int64_t d : indexMap) {
    highest.push_back(shape[d] - 1);
    for (const UpdateDim &dim : dims)
      if (dim.operandDim == d)
        highest.back() = shape[d] - dim.size;
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    size_t k = vectorStride ? i / static_cast<size_t>(vectorStride) % indexMap.size() : 0;
    if (indices[i] < 0 || indices[i] > highest[k])
      indices[i] = kFar;
  }
}

} // namespace

Result<std::vector<Tensor>> scatter(std::vector<Tensor> inputs, const Tensor &scatterIndices,
                                    std::span<const Tensor> updates, const ScatterNumbers &numbers,
                                    const ElementFunction &body) {
  size_t n = inputs.size();
  if (n == 0 || updates.size() != n || body.argumentTypes().size() != 2 * n ||
      body.resultTypes().size() != n)
    return Error{"scatter: inputs, updates and body do not agree in number"};
  for (size_t i = 0; i < n; ++i)
    for (DType type : {updates[i].dtype(), body.argumentTypes()[i].storage,
                       body.argumentTypes()[i + n].storage, body.resultTypes()[i].storage})
      if (type != inputs[i].dtype())
        return Error{"scatter: input " + std::to_string(i) + " is of " +
                     std::string(info(inputs[i].dtype()).name) + ", its updates or body of " +
                     std::string(info(type).name)};
  int64_t rank = inputs[0].rank(), indexRank = scatterIndices.rank(),
          updateRank = updates[0].rank();
  int64_t vectorDim = numbers.indexVectorDim;
  int64_t vectorSize = vectorDim == indexRank                    ? 1
                       : vectorDim >= 0 && vectorDim < indexRank ? scatterIndices.dim(vectorDim)
                                                                 : -1;
  std::vector<int64_t> windowDims, indexDims;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(numbers.insertedWindowDims, d) && !contains(numbers.inputBatchingDims, d))
      windowDims.push_back(d);
  for (int64_t d = 0; d < indexRank; ++d)
    if (d != vectorDim)
      indexDims.push_back(d);
  bool fits = vectorSize == static_cast<int64_t>(numbers.scatterDimsToOperandDims.size()) &&
              windowDims.size() == numbers.updateWindowDims.size() &&
              updateRank == static_cast<int64_t>(windowDims.size() + indexDims.size()) &&
              inRange(numbers.scatterDimsToOperandDims, rank) &&
              inRange(numbers.inputBatchingDims, rank) &&
              inRange(numbers.scatterIndicesBatchingDims, indexRank) &&
              inRange(numbers.updateWindowDims, updateRank) &&
              numbers.inputBatchingDims.size() == numbers.scatterIndicesBatchingDims.size();
  for (size_t i = 1; i < n; ++i)
    fits &= std::ranges::equal(inputs[i].shape(), inputs[0].shape()) &&
            std::ranges::equal(updates[i].shape(), updates[0].shape());
  std::vector<UpdateDim> dims(static_cast<size_t>(updateRank));
  if (fits) {
    std::vector<int64_t> indexStrides = contiguousStrides(scatterIndices.shape(), 1);
    std::vector<int64_t> updateStrides = contiguousStrides(updates[0].shape(), 1);
    size_t nextIndexDim = 0;
    for (int64_t u = 0; u < updateRank; ++u) {
      UpdateDim &dim = dims[u];
      dim.size = updates[0].dim(u);
      dim.stride = updateStrides[u];
      auto window = std::ranges::find(numbers.updateWindowDims, u);
      if (window != numbers.updateWindowDims.end()) {
        dim.operandDim = windowDims[window - numbers.updateWindowDims.begin()];
        continue;
      }
      if (nextIndexDim == indexDims.size()) {
        fits = false;
        break;
      }
      int64_t d = indexDims[nextIndexDim++];
      fits &= dim.size == scatterIndices.dim(d);
      dim.indexStride = indexStrides[d];
      for (size_t k = 0; k < numbers.inputBatchingDims.size(); ++k)
        if (numbers.scatterIndicesBatchingDims[k] == d)
          dim.batchingDim = numbers.inputBatchingDims[k];
    }
  }
  if (!fits)
    return Error{"scatter: the dimension numbers do not fit " +
                 tensor::describe(inputs[0].elementType(), inputs[0].shape()) + ", indices " +
                 tensor::describe(scatterIndices.elementType(), scatterIndices.shape()) +
                 " and updates " + tensor::describe(updates[0].elementType(), updates[0].shape())};
  Result<std::vector<int64_t>> indices = readIntegers(scatterIndices);
  if (!indices)
    return Error{"scatter: " + indices.message()};

  std::vector<std::byte *> results;
  std::vector<Tensor> flat;
  for (size_t i = 0; i < n; ++i) {
    std::byte *data = inputs[i].mutableData();
    if (!data && inputs[i].size() > 0) {
      Result<Tensor> copy = Tensor::uninitialized(
          inputs[i].elementType(), Shape(inputs[i].shape().begin(), inputs[i].shape().end()));
      if (!copy)
        return copy.error();
      data = copy->mutableData();
      copyTo(data, inputs[i]);
      inputs[i] = std::move(*copy);
    }
    results.push_back(data);
    Result<Tensor> update = updates[i].contiguous();
    if (!update)
      return update.error();
    flat.push_back(std::move(*update));
  }
  if (inputs[0].size() == 0 || updates[0].size() == 0 ||
      (n == 1 && body.known() == KnownFunction::First))
    return inputs;

  int64_t vectorStride =
      vectorDim == indexRank ? 0 : contiguousStrides(scatterIndices.shape(), 1)[vectorDim];
  if (numbers.skipsWholeWindows)
    moveOutside(*indices, vectorStride, numbers.scatterDimsToOperandDims, inputs[0].shape(), dims);
  Walk walk(std::move(dims), inputs[0], numbers.scatterDimsToOperandDims, *indices, vectorStride,
            numbers.order);
  std::vector<int64_t> targetStrides = walk.blockStrides(), updateStrides = walk.updateStrides();

  if (RowFunction row = n == 1 ? rowFunction(body, inputs[0].elementType()) : nullptr) {
    int64_t bytes = info(inputs[0].dtype()).bytes;
    int64_t step = targetStrides.empty() ? 1 : targetStrides.back();
    // Every thread goes through all updates and applies, in their order, what falls into its own
    // part of the result.
    auto part = [&](int64_t low, int64_t high) {
      int64_t polls = 0;
      return walk.run([&](int64_t target, int64_t update, std::span<const int64_t> shape) {
        int64_t count = shape.empty() ? 1 : shape.back();
        return forRows(target, update, shape, targetStrides, updateStrides,
                       [&](int64_t to, int64_t from) -> Status {
                         if ((polls += count + 8) > 100'000) {
                           polls = 0;
                           if (isStopped())
                             return stoppedError();
                         }
                         int64_t first = to >= low ? 0 : (low - to + step - 1) / step;
                         int64_t last = to + (count - 1) * step < high ? count
                                        : to >= high                   ? 0
                                                     : (high - to + step - 1) / step;
                         if (first < last)
                           row(results[0] + (to + first * step) * bytes, step,
                               flat[0].data() + (from + first) * bytes, last - first);
                         return {};
                       });
      });
    };
    int64_t size = inputs[0].size();
    bool worth = updates[0].size() > 200'000 && updates[0].size() / 8 > scatterIndices.size();
    int64_t parts = worth ? workThreads() : 1;
    std::vector<Status> outcomes(static_cast<size_t>(parts));
    forEach(parts, static_cast<double>(updates[0].size()), [&](int64_t i) {
      auto from = static_cast<int64_t>(static_cast<__int128>(size) * i / parts);
      auto to = static_cast<int64_t>(static_cast<__int128>(size) * (i + 1) / parts);
      outcomes[static_cast<size_t>(i)] = part(from, to);
    });
    for (const Status &status : outcomes)
      if (!status)
        return status.error();
    return inputs;
  }

  LaneUpdates lanes(body, results);
  std::vector<int64_t> bytes;
  for (const Tensor &input : inputs)
    bytes.push_back(info(input.dtype()).bytes);
  std::vector<const std::byte *> values(n);
  int64_t step = targetStrides.empty() ? 1 : targetStrides.back();
  std::vector<std::vector<std::byte>> fresh(n);
  auto updateWholeRow = [&](int64_t to, int64_t from, int64_t count) -> Status {
    std::vector<const void *> arguments;
    std::vector<void *> outputs;
    for (size_t k = 0; k < n; ++k) {
      fresh[k].resize(static_cast<size_t>(count * bytes[k]));
      outputs.push_back(fresh[k].data());
      arguments.push_back(results[k] + to * bytes[k]);
    }
    for (size_t k = 0; k < n; ++k)
      arguments.push_back(flat[k].data() + from * bytes[k]);
    if (Status status = body.run(arguments, outputs, count); !status)
      return status;
    for (size_t k = 0; k < n; ++k)
      std::memcpy(results[k] + to * bytes[k], fresh[k].data(), fresh[k].size());
    return {};
  };
  Status status = walk.run([&](int64_t target, int64_t update, std::span<const int64_t> shape) {
    int64_t count = shape.empty() ? 1 : shape.back();
    return forRows(target, update, shape, targetStrides, updateStrides,
                   [&](int64_t to, int64_t from) -> Status {
                     // Long rows are lanes enough by themselves; elements of one are distinct.
                     if (count >= 64 && step == 1) {
                       if (Status status = lanes.flush(); !status)
                         return status;
                       return updateWholeRow(to, from, count);
                     }
                     for (int64_t i = 0; i < count; ++i) {
                       for (size_t k = 0; k < n; ++k)
                         values[k] = flat[k].data() + (from + i) * bytes[k];
                       if (Status status = lanes.add(to + i * step, values); !status)
                         return status;
                     }
                     return {};
                   });
  });
  if (!status)
    return status.error();
  if (Status rest = lanes.flush(); !rest)
    return rest.error();
  return inputs;
}

} // namespace cupel::reference
