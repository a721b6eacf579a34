// Maps whose rows are shorter than a vector, while the inputs lie along the dimension before (an image
// of three channels that is brought to channels inmost): some rows are computed side by side, a
// vector for each place in the row, and the vectors are interleaved in registers.

#include "cupel/compiler/codegen/MapPlan.h"

namespace cupel::codegen {
namespace {

constexpr int64_t kLongestRow = 8;
/// Of the body, which is written once for each place in a row.
constexpr size_t kMostInterleaved = 64;
constexpr int64_t kInterleavedPiece = 1024;

/// Element n of vector l becomes element n * vectors.size() + l of the results, one after the other.
SmallVector<V> interleave(Emitter &e, ArrayRef<V> vectors) {
  int count = static_cast<int>(vectors.size()), lanes = static_cast<int>(e.lanes);
  SmallVector<V> results;
  for (int r = 0; r < count; ++r) {
    V result = vectors[0];
    for (int l = 0; l < count; ++l) {
      SmallVector<int> order; // Lanes that others fill stay as they are.
      for (int lane = 0; lane < lanes; ++lane) {
        int place = r * lanes + lane;
        order.push_back(place % count == l ? lanes + place / count : lane);
      }
      result = e.CreateShuffleVector(result, vectors[l], order);
    }
    results.push_back(result);
  }
  return results;
}

} // namespace

void MapPlan::chooseInterleaving(unsigned lanes) {
  size_t rank = nest.sizes.size();
  if (rank < 2 || across)
    return;
  int64_t row = nest.sizes[rank - 1], rows = nest.sizes[rank - 2];
  if (row > kLongestRow || rows < int64_t(lanes) ||
      body.operations().size() * size_t(row) > kMostInterleaved)
    return;
  auto liesAcross = [&](const View &view) {
    return view.strides[rank - 2] == 1 && view.strides[rank - 1] != 1;
  };
  auto isPacked = [&](const View &view) {
    return view.strides[rank - 2] == row && view.strides[rank - 1] == 1;
  };
  if (!llvm::any_of(inputViews(), liesAcross) || !llvm::all_of(outputViews(), isPacked))
    return;
  isInterleaved = true;
  piece = kInterleavedPiece;
  std::swap(nest.sizes[rank - 1], nest.sizes[rank - 2]);
  for (View &view : nest.views) {
    std::swap(view.strides[rank - 1], view.strides[rank - 2]);
    if (!view.valid.empty())
      std::swap(view.valid[rank - 1], view.valid[rank - 2]);
  }
}

/// Unit: the outer dimensions and a piece of the rows.
void MapPlan::emitInterleavedUnit(Emitter &e, const KernelArguments &arguments, V unit) const {
  int64_t row = nest.sizes[nest.sizes.size() - 2];
  SmallVector<int64_t> sizes(ArrayRef(nest.sizes).drop_back(2));
  sizes.push_back(pieces());
  SmallVector<V> indices = unflatten(e, sizes, unit);
  V begin = e.CreateMul(indices.pop_back_val(), e.i64(piece));
  V end = e.min64(e.CreateAdd(begin, e.i64(piece)), e.i64(length()));
  indices.push_back(e.i64(0));
  SmallVector<RowAccess> out;
  for (size_t k = 0; k < outputViews().size(); ++k)
    out.push_back(rowAccess(e, outputViews()[k], arguments.outputs[k], indices));
  std::vector<std::unique_ptr<RowOfMap>> places;
  for (int64_t l = 0; l < row; ++l) {
    indices.back() = e.i64(l);
    SmallVector<RowAccess> in;
    for (size_t k = 0; k < inputs; ++k)
      in.push_back(rowAccess(e, inputViews()[k], arguments.inputs[k], indices));
    places.push_back(std::make_unique<RowOfMap>(e, body, in, indices.size()));
  }
  bool whole = length() % e.lanes == 0;
  e.loop(begin, end, e.lanes, [&](V i) {
    std::vector<SmallVector<V>> results;
    for (const auto &place : places)
      results.push_back(place->compute(e, i, end, whole));
    for (size_t k = 0; k < out.size(); ++k) {
      DType type = out[k].view->type;
      llvm::Type *element = e.storageType(type);
      llvm::Align align(tensor::info(type).bytes);
      SmallVector<V> vectors;
      for (const SmallVector<V> &result : results)
        vectors.push_back(e.toStorage(type, result[k]));
      vectors = interleave(e, vectors);
      V first = e.CreateGEP(element, out[k].base, e.CreateMul(i, e.i64(row)));
      auto storeAt = [&](V memory, llvm::Align aligned) {
        for (auto [n, vector] : llvm::enumerate(vectors))
          e.CreateAlignedStore(
              vector, e.at(memory, element, e.i64(int64_t(n) * int64_t(e.lanes))), aligned);
        return SmallVector<V>();
      };
      auto storePart = [&] {
        V memory = e.frameVectors(element, row);
        storeAt(memory, align);
        e.loop(e.i64(0), e.CreateMul(e.CreateSub(end, i), e.i64(row)), 1, [&](V n) {
          e.CreateStore(e.CreateLoad(element, e.at(memory, element, n)), e.at(first, element, n));
        });
        return SmallVector<V>();
      };
      if (whole)
        storeAt(first, align);
      else
        e.branch(e.CreateICmpSLE(e.CreateAdd(i, e.i64(e.lanes)), end),
                 [&] { return storeAt(first, align); }, storePart);
    }
  });
}

} // namespace cupel::codegen
