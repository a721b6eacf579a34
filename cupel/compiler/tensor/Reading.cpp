#include "cupel/compiler/tensor/Reading.h"

using namespace mlir;

namespace cupel::tir {

namespace {

ArrayRef<int64_t> shapeOf(Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

/// Where along one dimension of a value a loop reads: `start + sum(step * index)`.
struct Position {
  int64_t start = 0;
  SmallVector<std::pair<size_t, int64_t>, 2> steps; // Dimension of the loop, step.
};

} // namespace

LoopNest::LoopNest(ArrayRef<int64_t> sizes, ArrayRef<int> marks) : extents(sizes), labels(marks) {}

bool isMove(Operation *op) {
  if (auto pad = dyn_cast<stablehlo::PadOp>(op))
    return llvm::all_of(pad.getInteriorPadding(), [](int64_t size) { return size == 0; });
  return isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp, stablehlo::TransposeOp,
             stablehlo::SliceOp, stablehlo::ReverseOp>(op);
}

bool isReadByConcatenations(stablehlo::SliceOp slice) {
  ArrayRef<int64_t> from = cast<RankedTensorType>(slice.getOperand().getType()).getShape(),
                    to = cast<RankedTensorType>(slice.getResult().getType()).getShape();
  return llvm::all_of(slice.getStrides(), [](int64_t step) { return step == 1; }) && llvm::all_of(slice->getUsers(), [&](Operation *user) {
           auto joined = dyn_cast<stablehlo::ConcatenateOp>(user);
           if (!joined)
             return false;
           for (size_t d = 0; d < from.size(); ++d) {
             // One index of the outer dimensions is where it begins, and no more.
             bool isBegin = d < joined.getDimension() && llvm::all_of(to.take_front(d), [](int64_t size) { return size == 1; });
             if (from[d] != to[d] && d != joined.getDimension() && !isBegin)
               return false;
           }
           return true;
         });
}

Value throughReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<stablehlo::ReshapeOp>())
    value = reshape.getOperand();
  return value;
}

TypedAttr splatOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      auto values = dyn_cast<DenseElementsAttr>(constant.getValue());
      if (!values || !values.isSplat() || values.empty())
        return {};
      return dyn_cast<TypedAttr>(values.getSplatValue<Attribute>());
    }
    if (!isMove(op) || isa<stablehlo::PadOp>(op))
      return {};
    value = op->getOperand(0);
  }
  return {};
}

bool LoopNest::split(size_t dimension, int64_t inner) {
  int64_t size = extents[dimension];
  if (labels[dimension] == kWhole || inner <= 1 || inner >= size || size % inner != 0)
    return false;
  for (const Reading &reading : all)
    if (!reading.valid.empty() &&
        (reading.valid[2 * dimension] != 0 || reading.valid[2 * dimension + 1] != size))
      return false;
  extents[dimension] = size / inner;
  extents.insert(extents.begin() + dimension + 1, inner);
  labels.insert(labels.begin() + dimension + 1, labels[dimension]);
  for (Reading &reading : all) {
    int64_t step = reading.strides[dimension];
    reading.strides[dimension] = step * inner;
    reading.strides.insert(reading.strides.begin() + dimension + 1, step);
    if (reading.valid.empty())
      continue;
    reading.valid[2 * dimension + 1] = size / inner;
    int64_t bounds[] = {0, inner};
    reading.valid.insert(reading.valid.begin() + 2 * dimension + 2, bounds, bounds + 2);
  }
  return true;
}

/// Replaces what a reading reads by the operand of the operation that makes it, if that can be told.
bool LoopNest::follow(size_t number) {
  Operation *op = all[number].value.getDefiningOp();
  if (!op || !isMove(op) || !cast<RankedTensorType>(op->getOperand(0).getType()).hasStaticShape())
    return false;
  if (isa<stablehlo::ReshapeOp>(op)) {
    all[number].value = op->getOperand(0);
    return true;
  }
  ArrayRef<int64_t> shape = shapeOf(all[number].value);
  SmallVector<int64_t> steps = rowMajorStrides(shape);
  // Splitting makes the loop finer each time, so this ends.
  for (bool again = true; again;) {
    again = false;
    Reading &reading = all[number];
    auto begin = [&](size_t d) { return reading.valid.empty() ? 0 : reading.valid[2 * d]; };
    auto count = [&](size_t d) {
      return reading.valid.empty() ? extents[d] : reading.valid[2 * d + 1] - reading.valid[2 * d];
    };
    int64_t rest = reading.offset;
    for (size_t d = 0; d < extents.size(); ++d) {
      if (count(d) <= 0)
        return false;
      rest += reading.strides[d] * begin(d);
    }
    // Where the first element that is read lies.
    SmallVector<Position> positions(shape.size());
    if (rest < 0)
      return false;
    for (size_t k = 0; k < shape.size(); ++k) {
      positions[k].start = rest / steps[k];
      rest %= steps[k];
      if (positions[k].start >= shape[k])
        return false;
    }
    SmallVector<int64_t> low(shape.size()), high(shape.size());
    for (size_t k = 0; k < shape.size(); ++k)
      low[k] = high[k] = positions[k].start;
    for (size_t d = 0; d < extents.size() && !again; ++d) {
      int64_t stride = reading.strides[d], n = count(d);
      if (stride == 0 || n == 1)
        continue;
      int64_t distance = std::abs(stride);
      std::optional<size_t> along;
      for (size_t k = 0; k < shape.size(); ++k)
        if (shape[k] > 1 && steps[k] <= distance && distance % steps[k] == 0) {
          along = k;
          break;
        }
      if (!along)
        return false;
      int64_t step = distance / steps[*along], reach = step * (n - 1);
      if (stride < 0)
        low[*along] -= reach;
      else
        high[*along] += reach;
      if (low[*along] < 0 || high[*along] >= shape[*along]) {
        if (shape[*along] % step != 0 || !split(d, shape[*along] / step))
          return false;
        again = true;
        break;
      }
      positions[*along].steps.push_back({d, stride < 0 ? -step : step});
    }
    if (again)
      continue;

    // The same of the operand.
    ArrayRef<int64_t> source = shapeOf(op->getOperand(0));
    SmallVector<Position> there(source.size());
    SmallVector<int64_t> valid(reading.valid);
    TypedAttr padding = reading.padding;
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      for (auto [k, from] : llvm::enumerate(transpose.getPermutation()))
        there[from] = positions[k];
    } else if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      for (auto [j, k] : llvm::enumerate(broadcast.getBroadcastDimensions()))
        if (source[j] != 1)
          there[j] = positions[k];
    } else if (auto slice = dyn_cast<stablehlo::SliceOp>(op)) {
      for (size_t k = 0; k < source.size(); ++k) {
        int64_t step = slice.getStrides()[k];
        there[k].start = slice.getStartIndices()[k] + step * positions[k].start;
        for (auto [d, by] : positions[k].steps)
          there[k].steps.push_back({d, by * step});
      }
    } else if (auto reverse = dyn_cast<stablehlo::ReverseOp>(op)) {
      there = positions;
      for (int64_t k : reverse.getDimensions()) {
        there[k].start = source[k] - 1 - there[k].start;
        for (auto &[d, by] : there[k].steps)
          by = -by;
      }
    } else {
      auto pad = cast<stablehlo::PadOp>(op);
      TypedAttr number = splatOf(pad.getPaddingValue());
      if (!number || (padding && padding != number))
        return false;
      padding = number;
      if (valid.empty())
        for (int64_t size : extents)
          valid.append({0, size});
      there = positions;
      for (size_t k = 0; k < source.size(); ++k) {
        int64_t start = positions[k].start - pad.getEdgePaddingLow()[k];
        if (positions[k].steps.empty()) {
          if (start < 0 || start >= source[k])
            return false;
          there[k].start = start;
          continue;
        }
        if (positions[k].steps.size() != 1 || positions[k].steps[0].second <= 0)
          return false;
        auto [d, step] = positions[k].steps[0];
        for (size_t other = 0; other < positions.size(); ++other)
          if (other != k && llvm::any_of(positions[other].steps,
                                         [&, d = d](auto &one) { return one.first == d; }))
            return false; // A diagonal.
        // Counted from where the reading is valid now: 0 <= start + step * i < size.
        int64_t first = start >= 0 ? 0 : (-start + step - 1) / step;
        int64_t end = start >= source[k] ? 0 : (source[k] - 1 - start) / step + 1;
        int64_t from = valid[2 * d], to = valid[2 * d + 1];
        end = std::min(end, to - from);
        if (first >= end)
          return false;
        valid[2 * d] = from + first;
        valid[2 * d + 1] = from + end;
        there[k].start = start + step * first;
      }
    }
    SmallVector<int64_t> sourceSteps = rowMajorStrides(source);
    Reading next{op->getOperand(0), 0, SmallVector<int64_t>(extents.size(), 0), valid, padding};
    for (size_t k = 0; k < source.size(); ++k) {
      next.offset += there[k].start * sourceSteps[k];
      for (auto [d, by] : there[k].steps)
        next.strides[d] += by * sourceSteps[k];
    }
    for (size_t d = 0; d < extents.size(); ++d)
      next.offset -= next.strides[d] * (valid.empty() ? 0 : valid[2 * d]);
    reading = std::move(next);
    return true;
  }
  return false;
}

size_t LoopNest::add(Value value, ArrayRef<int64_t> strides,
                     llvm::function_ref<bool(Value)> isSource) {
  size_t number = all.size();
  all.push_back({value, 0, SmallVector<int64_t>(strides), {}, {}});
  while (!(isSource && isSource(all[number].value)) && follow(number))
    ;
  // Dimensions of size one are read at their beginning, whatever the stride.
  for (size_t d = 0; d < extents.size(); ++d)
    if (extents[d] == 1)
      all[number].strides[d] = 0;
  for (size_t i = 0; i < number; ++i)
    if (all[i].value == all[number].value && all[i].offset == all[number].offset &&
        all[i].strides == all[number].strides && all[i].valid == all[number].valid &&
        all[i].padding == all[number].padding) {
      all.pop_back();
      return i;
    }
  return number;
}

bool LoopNest::collapse() {
  auto isWhole = [&](const Reading &reading, size_t d) {
    return reading.valid.empty() ||
           (reading.valid[2 * d] == 0 && reading.valid[2 * d + 1] == extents[d]);
  };
  auto drop = [&](size_t d) {
    extents.erase(extents.begin() + d);
    labels.erase(labels.begin() + d);
    for (Reading &reading : all) {
      reading.strides.erase(reading.strides.begin() + d);
      if (!reading.valid.empty())
        reading.valid.erase(reading.valid.begin() + 2 * d, reading.valid.begin() + 2 * d + 2);
    }
  };
  for (size_t d = 0; d + 1 < extents.size();) {
    bool merges = labels[d] == labels[d + 1];
    for (const Reading &reading : all) {
      bool inStep = extents[d] == 1 || extents[d + 1] == 1 ||
                    reading.strides[d] == reading.strides[d + 1] * extents[d + 1];
      merges &= inStep && isWhole(reading, d) && isWhole(reading, d + 1);
    }
    if (!merges) {
      ++d;
      continue;
    }
    int64_t size = extents[d] * extents[d + 1];
    // The dimension that is left keeps the stride of the inner one, unless that has one element.
    for (Reading &reading : all) {
      if (extents[d + 1] == 1)
        reading.strides[d + 1] = reading.strides[d];
      if (!reading.valid.empty())
        reading.valid[2 * d + 3] = size;
    }
    extents[d + 1] = size;
    drop(d);
  }
  for (size_t d = 0; d + 1 < extents.size(); ++d)
    if (labels[d] == labels[d + 1])
      return false;
  return true;
}

ViewAttr LoopNest::view(size_t number) const {
  const Reading &reading = all[number];
  return ViewAttr::get(reading.value.getContext(), reading.offset, reading.strides, reading.valid,
                       reading.padding);
}

} // namespace cupel::tir
