#include "cupel/compiler/codegen/Loops.h"

#include "llvm/IR/IntrinsicsX86.h"

#include <algorithm>
#include <numeric>

namespace cupel::codegen {

//===----------------------------------------------------------------------===//
// Loop nests
//===----------------------------------------------------------------------===//

namespace {
bool hasRange(const View &view, size_t d, int64_t size) {
  return !view.valid.empty() && (view.valid[d].begin > 0 || view.valid[d].end < size);
}
} // namespace

int64_t LoopNest::count() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

void LoopNest::dropUnits() {
  for (View &view : views) {
    bool isPadded = false;
    for (size_t d = 0; d < sizes.size(); ++d)
      isPadded |= hasRange(view, d, sizes[d]);
    if (!isPadded)
      view.valid.clear();
  }
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] != 1 ||
        std::ranges::any_of(views, [&](const View &view) { return hasRange(view, d, 1); }))
      continue;
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(d));
    for (View &view : views) {
      view.strides.erase(view.strides.begin() + static_cast<ptrdiff_t>(d));
      if (!view.valid.empty())
        view.valid.erase(view.valid.begin() + static_cast<ptrdiff_t>(d));
    }
  }
}

void LoopNest::sort(size_t leading) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<int64_t> key = views[leading].strides;
  std::ranges::sort(order, [&](size_t a, size_t b) {
    int64_t left = std::abs(key[a]), right = std::abs(key[b]);
    return left != right ? left > right : a < b;
  });
  auto apply = [&](auto &values) {
    auto old = values;
    for (size_t d = 0; d < order.size(); ++d)
      values[d] = old[order[d]];
  };
  apply(sizes);
  for (View &view : views) {
    apply(view.strides);
    if (!view.valid.empty())
      apply(view.valid);
  }
}

void LoopNest::merge(size_t first, size_t last) {
  for (size_t d = last; d-- > first + 1;) {
    bool fits = std::ranges::all_of(views, [&](const View &view) {
      return view.strides[d - 1] == view.strides[d] * sizes[d] && !hasRange(view, d, sizes[d]) &&
             !hasRange(view, d - 1, sizes[d - 1]);
    });
    if (!fits)
      continue;
    sizes[d - 1] *= sizes[d];
    sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(d));
    for (View &view : views) {
      view.strides[d - 1] = view.strides[d];
      view.strides.erase(view.strides.begin() + static_cast<ptrdiff_t>(d));
      if (!view.valid.empty()) {
        view.valid[d - 1] = {0, sizes[d - 1]};
        view.valid.erase(view.valid.begin() + static_cast<ptrdiff_t>(d));
      }
    }
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

SmallVector<V> unflatten(Emitter &e, ArrayRef<int64_t> sizes, V flat) {
  SmallVector<V> indices(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    // Numbers are never negative: unsigned division by a constant is cheaper.
    indices[d] = d == 0 ? flat : e.CreateURem(flat, e.i64(sizes[d]));
    if (d > 0)
      flat = e.CreateUDiv(flat, e.i64(sizes[d]));
  }
  return indices;
}

RowAccess rowAccess(Emitter &e, const View &view, V buffer, ArrayRef<V> outer) {
  RowAccess access{&view};
  V offset = e.i64(view.offset);
  V isValid = nullptr;
  for (size_t d = 0; d < outer.size(); ++d) {
    if (view.strides[d])
      offset = e.CreateAdd(offset, e.CreateMul(outer[d], e.i64(view.strides[d])));
    if (view.valid.empty())
      continue;
    V above = e.CreateICmpSGE(outer[d], e.i64(view.valid[d].begin));
    V within = e.CreateAnd(above, e.CreateICmpSLT(outer[d], e.i64(view.valid[d].end)));
    isValid = isValid ? e.CreateAnd(isValid, within) : within;
  }
  bool hasRow = view.strides.size() > outer.size();
  access.stride = hasRow ? view.strides[outer.size()] : 0;
  // Not "in bounds": index 0 of a padded row may lie before the buffer.
  access.base = e.CreateGEP(e.storageType(view.type), buffer, offset);
  if (!view.valid.empty()) {
    V from = hasRow ? e.i64(view.valid[outer.size()].begin) : e.i64(0);
    V to = hasRow ? e.i64(view.valid[outer.size()].end) : e.i64(1);
    access.from = from;
    access.to = isValid ? e.CreateSelect(isValid, to, e.i64(0)) : to;
  }
  return access;
}

bool isWorthFetching(const RowAccess &row, int64_t count) {
  constexpr int64_t kLargeBytes = int64_t{1} << 20;
  return row.stride == 1 && row.view->repeated == 1 && row.view->valid.empty() &&
         count * tensor::info(row.view->type).bytes >= kLargeBytes;
}

void fetchAhead(Emitter &e, const RowAccess &row, V i) {
  e.prefetch(e.CreateGEP(e.storageType(row.view->type), row.base, i));
}

int64_t touchedBytes(const View &view, ArrayRef<int64_t> sizes) {
  int64_t count = tensor::info(view.type).bytes;
  for (auto [size, stride] : llvm::zip(sizes, view.strides))
    count *= stride == 0 ? 1 : size;
  return count / view.repeated;
}

bool letStream(Emitter &e, RowAccess &row, int64_t count, int64_t allBytes) {
  // What is smaller may still be there when the next kernel reads it, or when this one writes it again.
  constexpr int64_t kLargeBytes = int64_t{12} << 20, kCaches = int64_t{24} << 20, kLine = 64;
  int64_t bytes = tensor::info(row.view->type).bytes;
  if (!e.target.hasScale || row.stride != 1 || bytes * int64_t(e.lanes) != kLine ||
      count * bytes < kLargeBytes || allBytes < kCaches)
    return false;
  V address = e.CreatePtrToInt(row.base, e.getInt64Ty());
  row.streams = e.CreateICmpEQ(e.CreateAnd(address, e.i64(kLine - 1)), e.i64(0));
  return true;
}

void endStreams(Emitter &e) { e.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {}); }

void vectorLoop(Emitter &e, V begin, V end, unsigned together, int64_t size,
                MutableArrayRef<V> carried,
                llvm::function_ref<void(ArrayRef<V>, MutableArrayRef<V>)> body) {
  int64_t step = int64_t(e.lanes) * together;
  V one = begin;
  if (together > 1) {
    bool isAll = size > 0 && size % step == 0;
    V count = e.CreateSub(end, begin);
    one = isAll ? end : e.CreateAdd(begin, e.CreateSub(count, e.CreateURem(count, e.i64(step))));
    e.loop(begin, one, step, carried, [&](V i, MutableArrayRef<V> now) {
      SmallVector<V> starts;
      for (unsigned k = 0; k < together; ++k)
        starts.push_back(k ? e.CreateAdd(i, e.i64(int64_t(e.lanes) * k)) : i);
      body(starts, now);
    });
    if (isAll)
      return;
  }
  e.loop(one, end, e.lanes, carried, [&](V i, MutableArrayRef<V> now) { body(i, now); });
}

bool isScalarAlongRow(const View &view, size_t outer) {
  if (view.strides.size() <= outer)
    return true;
  return view.strides[outer] == 0 && view.valid.empty();
}

V loadScalar(Emitter &e, const RowAccess &access) {
  llvm::Type *type = e.storageType(access.view->type);
  V stored;
  if (access.from) {
    V isThere = e.CreateICmpSLT(access.from, access.to);
    V padding = e.CreateExtractElement(e.storedSplat(access.view->type, access.view->padding),
                                       uint64_t{0});
    stored = e.branch(
        isThere, [&] { return SmallVector<V>{e.CreateLoad(type, access.base)}; },
        [&] { return SmallVector<V>{padding}; })[0];
  } else {
    stored = e.CreateLoad(type, access.base);
  }
  return e.toCompute(access.view->type, e.splat(stored));
}

namespace {

int64_t bytesOf(const RowAccess &row) { return tensor::info(row.view->type).bytes; }
llvm::Align alignOf(const RowAccess &row) {
  return llvm::Align(static_cast<uint64_t>(bytesOf(row)));
}

V addressOf(Emitter &e, const RowAccess &row, V index) {
  return e.CreateGEP(e.storageType(row.view->type), row.base,
                     row.stride == 1 ? index : e.CreateMul(index, e.i64(row.stride)));
}

V reversed(Emitter &e, V vector) {
  SmallVector<int> order;
  for (unsigned lane = 0; lane < e.lanes; ++lane)
    order.push_back(static_cast<int>(e.lanes - 1 - lane));
  return e.CreateShuffleVector(vector, order);
}

/// Lanes [0, count) of elements that repeat: of one element, or of two that are neighbours.
V loadRepeated(Emitter &e, const RowAccess &row, V i, V count) {
  int64_t repeated = row.view->repeated;
  llvm::Type *element = e.storageType(row.view->type);
  V first = e.CreateUDiv(i, e.i64(repeated));
  V low = e.CreateLoad(element, addressOf(e, row, first));
  if (repeated % int64_t(e.lanes) == 0)
    return e.splat(low);
  V left = e.CreateSub(e.i64(repeated), e.CreateURem(i, e.i64(repeated)));
  V second = e.CreateAdd(first, e.CreateZExt(e.CreateICmpSLT(left, count), e.getInt64Ty()));
  V high = e.CreateLoad(element, addressOf(e, row, second));
  V isLow = e.CreateICmpSLT(e.laneNumbers(e.getInt32Ty()), e.splat(e.CreateTrunc(left, e.getInt32Ty())));
  return e.CreateSelect(isLow, e.splat(low), e.splat(high));
}

/// Neighbours in the row lie up to this far apart: all that lies between is read in vectors, of which lanes are picked.
constexpr int64_t kNear = 4;
V loadNear(Emitter &e, const RowAccess &row, V i) {
  int64_t step = std::abs(row.stride), lanes = int64_t(e.lanes), span = (lanes - 1) * step + 1;
  llvm::Type *element = e.storageType(row.view->type), *vector = e.vectorOf(element);
  V lowest = addressOf(e, row, row.stride > 0 ? i : e.CreateAdd(i, e.i64(lanes - 1)));
  V result = llvm::PoisonValue::get(vector);
  for (int64_t k = 0; k < step; ++k) {
    int64_t begin = std::min(k * lanes, span - lanes); // The last one ends with the last element: nothing behind it is read.
    SmallVector<int> order;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t place = (row.stride > 0 ? lane : lanes - 1 - lane) * step;
      bool isHere = place >= begin && place < begin + lanes;
      order.push_back(int(isHere ? lanes + place - begin : lane));
    }
    V part = e.CreateAlignedLoad(vector, e.CreateGEP(element, lowest, e.i64(begin)), alignOf(row));
    result = e.CreateShuffleVector(result, part, order);
  }
  return result;
}

/// All lanes exist.
V loadWhole(Emitter &e, const RowAccess &row, V i) {
  llvm::Type *element = e.storageType(row.view->type), *vector = e.vectorOf(element);
  if (row.view->repeated > 1)
    return loadRepeated(e, row, i, e.i64(e.lanes));
  if (row.stride == 1)
    return e.CreateAlignedLoad(vector, addressOf(e, row, i), alignOf(row));
  if (row.stride == -1) {
    V last = addressOf(e, row, e.CreateAdd(i, e.i64(e.lanes - 1)));
    return reversed(e, e.CreateAlignedLoad(vector, last, alignOf(row)));
  }
  if (row.stride == 0)
    return e.splat(e.CreateLoad(element, row.base));
  if (std::abs(row.stride) <= kNear && e.lanes > 1)
    return loadNear(e, row, i);
  V first = addressOf(e, row, i);
  V result = llvm::PoisonValue::get(vector);
  for (unsigned lane = 0; lane < e.lanes; ++lane) {
    V address = e.CreateGEP(element, first, e.i64(row.stride * lane));
    result = e.CreateInsertElement(result, e.CreateLoad(element, address), uint64_t{lane});
  }
  return result;
}

/// Lane numbers in [0, lanes] of a row index.
V laneOf(Emitter &e, V index, V i) {
  V lane = e.CreateSub(index, i);
  return e.max64(e.i64(0), e.min64(e.i64(e.lanes), lane));
}

bool hasMaskedMoves(Emitter &e, const RowAccess &row) {
  return row.stride == 1 && e.target.maskedBytes && bytesOf(row) >= e.target.maskedBytes;
}

V maskOf(Emitter &e, V from, V to) {
  V numbers = e.laneNumbers(e.getInt32Ty());
  V below = e.CreateICmpSLT(numbers, e.splat(e.CreateTrunc(to, e.getInt32Ty())));
  if (auto *constant = llvm::dyn_cast<llvm::ConstantInt>(from); constant && constant->isZero())
    return below;
  V first = e.splat(e.CreateTrunc(from, e.getInt32Ty()));
  return e.CreateAnd(below, e.CreateICmpSGE(numbers, first));
}

/// Lanes [from, to) exist, the others are `rest`.
V loadPart(Emitter &e, const RowAccess &row, V i, V from, V to, V rest) {
  llvm::Type *element = e.storageType(row.view->type), *vector = e.vectorOf(element);
  if (row.view->repeated > 1) // Without ranges: `from` is 0.
    return loadRepeated(e, row, i, to);
  if (hasMaskedMoves(e, row))
    return e.CreateMaskedLoad(vector, addressOf(e, row, i), alignOf(row), maskOf(e, from, to),
                              rest);
  V memory = e.frameVector(element);
  e.CreateStore(rest, memory);
  e.loop(from, to, 1, [&](V lane) {
    V value = e.CreateLoad(element, addressOf(e, row, e.CreateAdd(i, lane)));
    e.CreateStore(value, e.at(memory, element, lane));
  });
  return e.CreateLoad(vector, memory);
}

void storeWhole(Emitter &e, const RowAccess &row, V stored, V i) {
  if (row.streams) {
    auto store = [&](llvm::Align align) {
      return e.CreateAlignedStore(stored, addressOf(e, row, i), align);
    };
    e.branch(
        row.streams,
        [&] {
          auto *one = llvm::ConstantAsMetadata::get(e.getInt32(1));
          store(llvm::Align(64))->setMetadata(llvm::LLVMContext::MD_nontemporal,
                                              llvm::MDNode::get(e.getContext(), one));
          return SmallVector<V>();
        },
        [&] {
          store(alignOf(row));
          return SmallVector<V>();
        });
    return;
  }
  if (row.stride == 1 || row.stride == -1) {
    V at = row.stride == 1 ? i : e.CreateAdd(i, e.i64(e.lanes - 1));
    e.CreateAlignedStore(row.stride == 1 ? stored : reversed(e, stored), addressOf(e, row, at),
                         alignOf(row));
    return;
  }
  V first = addressOf(e, row, i);
  llvm::Type *element = e.storageType(row.view->type);
  for (unsigned lane = 0; lane < e.lanes; ++lane)
    e.CreateStore(e.CreateExtractElement(stored, uint64_t{lane}),
                  e.CreateGEP(element, first, e.i64(row.stride * lane)));
}

void storePart(Emitter &e, const RowAccess &row, V stored, V i, V count) {
  if (hasMaskedMoves(e, row)) {
    e.CreateMaskedStore(stored, addressOf(e, row, i), alignOf(row), maskOf(e, e.i64(0), count));
    return;
  }
  llvm::Type *element = e.storageType(row.view->type);
  V memory = e.frameVector(element);
  e.CreateStore(stored, memory);
  e.loop(e.i64(0), count, 1, [&](V lane) {
    V value = e.CreateLoad(element, e.at(memory, element, lane));
    e.CreateStore(value, addressOf(e, row, e.CreateAdd(i, lane)));
  });
}

V isWhole(Emitter &e, V i, V end) {
  return e.CreateICmpSLE(e.CreateAdd(i, e.i64(e.lanes)), end);
}

} // namespace

SmallVector<V> loadVectors(Emitter &e, ArrayRef<RowAccess> rows, V i, V end, bool whole) {
  SmallVector<V> stored(rows.size());
  SmallVector<size_t> plain, padded;
  for (size_t k = 0; k < rows.size(); ++k)
    (rows[k].from ? padded : plain).push_back(k);
  auto loadAll = [&] {
    SmallVector<V> loaded;
    for (size_t k : plain)
      loaded.push_back(loadWhole(e, rows[k], i));
    return loaded;
  };
  SmallVector<V> loaded;
  if (!plain.empty())
    loaded = whole ? loadAll() : e.branch(isWhole(e, i, end), loadAll, [&] {
      SmallVector<V> parts;
      V count = e.CreateSub(end, i);
      for (size_t k : plain) {
        V zeros = e.storedSplat(rows[k].view->type, 0);
        parts.push_back(loadPart(e, rows[k], i, e.i64(0), count, zeros));
      }
      return parts;
    });
  for (size_t n = 0; n < plain.size(); ++n)
    stored[plain[n]] = loaded[n];
  for (size_t k : padded) {
    const RowAccess &row = rows[k];
    V to = e.min64(row.to, end);
    V rest = e.storedSplat(row.view->type, row.view->padding);
    V isInside = e.CreateAnd(e.CreateICmpSGE(i, row.from), isWhole(e, i, to));
    stored[k] = e.branch(
        isInside, [&] { return SmallVector<V>{loadWhole(e, row, i)}; },
        [&] {
          V from = laneOf(e, row.from, i);
          return SmallVector<V>{loadPart(e, row, i, from, laneOf(e, to, i), rest)};
        })[0];
  }
  for (size_t k = 0; k < rows.size(); ++k)
    stored[k] = e.toCompute(rows[k].view->type, stored[k]);
  return stored;
}

void storeVectors(Emitter &e, ArrayRef<RowAccess> rows, ArrayRef<V> values, V i, V end,
                  bool whole) {
  if (rows.empty())
    return;
  SmallVector<V> stored;
  for (auto [row, value] : llvm::zip(rows, values))
    stored.push_back(e.toStorage(row.view->type, value));
  auto storeAll = [&] {
    for (auto [row, value] : llvm::zip(rows, stored))
      storeWhole(e, row, value, i);
    return SmallVector<V>();
  };
  if (whole) {
    storeAll();
    return;
  }
  e.branch(isWhole(e, i, end), storeAll, [&] {
    V count = e.CreateSub(end, i);
    for (auto [row, value] : llvm::zip(rows, stored))
      storePart(e, row, value, i, count);
    return SmallVector<V>();
  });
}

void storeScalar(Emitter &e, const RowAccess &access, V value) {
  V stored = e.toStorage(access.view->type, value);
  e.CreateStore(e.CreateExtractElement(stored, uint64_t{0}), access.base);
}

} // namespace cupel::codegen
