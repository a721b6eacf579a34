// Maps with inputs that run across the rows (transposed ones): reading them along a row would touch
// a cache line for each element. A tile is read along the memory, turned round in registers and
// kept in the frame, from where the rows of the map take it.

#include "cupel/compiler/codegen/MapPlan.h"

namespace cupel::codegen {
namespace {

/// Bytes of a row of a tile in the input: a cache line.
constexpr int64_t kLine = 64;
constexpr int64_t kTiledPiece = 1024;

/// `rows` as a matrix of lanes x lanes becomes its columns.
void transpose(Emitter &e, MutableArrayRef<V> rows) {
  unsigned lanes = e.lanes;
  // Blocks of half the size change places, at every size.
  for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
    SmallVector<int> upper, lower;
    for (unsigned lane = 0; lane < lanes; ++lane) {
      bool isSecond = lane & distance;
      upper.push_back(static_cast<int>(isSecond ? lanes + lane - distance : lane));
      lower.push_back(static_cast<int>(isSecond ? lanes + lane : lane + distance));
    }
    for (unsigned r = 0; r < lanes; ++r) {
      if (r & distance)
        continue;
      V a = rows[r], b = rows[r + distance];
      rows[r] = e.CreateShuffleVector(a, b, upper);
      rows[r + distance] = e.CreateShuffleVector(a, b, lower);
    }
  }
}

} // namespace

void MapPlan::chooseTiles() {
  for (size_t k = 0; k < inputs && !across; ++k)
    for (size_t d = 0; d + 1 < nest.sizes.size(); ++d) {
      across = d;
      if (isTurned(k) && nest.sizes[d] >= 4 && length() >= 4) {
        tileRows = kLine / std::min<int64_t>(4, tensor::info(nest.views[k].type).bytes);
        piece = kTiledPiece;
        return;
      }
      across.reset();
    }
}

/// Unit: the outer dimensions without `across`, a group of its indices, and a piece of the row.
void MapPlan::emitTiledUnit(Emitter &e, const KernelArguments &arguments, V unit) const {
  SmallVector<int64_t> sizes(ArrayRef(nest.sizes).drop_back());
  int64_t rows = sizes[*across];
  sizes[*across] = (rows + tileRows - 1) / tileRows;
  sizes.push_back(pieces());
  SmallVector<V> indices = unflatten(e, sizes, unit);
  V begin = e.CreateMul(indices.pop_back_val(), e.i64(piece));
  V end = e.min64(e.CreateAdd(begin, e.i64(piece)), e.i64(length()));
  V firstRow = e.CreateMul(indices[*across], e.i64(tileRows));
  V rowCount = e.min64(e.i64(tileRows), e.CreateSub(e.i64(rows), firstRow));

  /// An input that is turned round, with its tile: a vector for each row.
  struct Turned {
    RowAccess source; // At row 0 of the tile, along the row of the map.
    V tile;
    View view; // Of the tile.
  };
  std::vector<std::unique_ptr<Turned>> turned(inputs);
  SmallVector<V> atFirst = indices;
  atFirst[*across] = firstRow;
  for (size_t k = 0; k < inputs; ++k) {
    if (!isTurned(k))
      continue;
    turned[k] = std::make_unique<Turned>();
    turned[k]->source = rowAccess(e, inputViews()[k], arguments.inputs[k], atFirst);
    turned[k]->tile = e.frameVectors(e.storageType(inputViews()[k].type), tileRows);
    turned[k]->view.type = inputViews()[k].type;
    turned[k]->view.strides.assign(nest.sizes.size(), 1);
  }

  auto fill = [&](const Turned &input, V i) {
    llvm::Type *element = e.storageType(input.view.type);
    V isWhole = e.CreateAnd(e.CreateICmpSLE(e.CreateAdd(i, e.i64(e.lanes)), end),
                            e.CreateICmpEQ(rowCount, e.i64(tileRows)));
    auto sourceAt = [&](V index, V row) {
      V offset = e.CreateAdd(e.CreateMul(index, e.i64(input.source.stride)), row);
      return e.CreateGEP(element, input.source.base, offset);
    };
    auto wholly = [&] {
      // Each line lies in a page of its own, where the processor does not look ahead by itself.
      for (unsigned lane = 0; lane < e.lanes; ++lane)
        e.prefetch(sourceAt(e.CreateAdd(i, e.i64(lane + 2 * e.lanes)), e.i64(0)));
      for (int64_t group = 0; group < tileRows; group += e.lanes) {
        SmallVector<V> vectors;
        for (unsigned lane = 0; lane < e.lanes; ++lane)
          vectors.push_back(e.CreateAlignedLoad(
              e.vectorOf(element), sourceAt(e.CreateAdd(i, e.i64(lane)), e.i64(group)),
              llvm::Align(tensor::info(input.view.type).bytes)));
        transpose(e, vectors);
        for (unsigned row = 0; row < e.lanes; ++row)
          e.CreateStore(vectors[row],
                        e.at(input.tile, e.vectorOf(element), e.i64(group + row)));
      }
      return SmallVector<V>();
    };
    auto partly = [&] {
      V count = e.min64(e.i64(e.lanes), e.CreateSub(end, i));
      e.loop(e.i64(0), count, 1, [&](V lane) {
        e.loop(e.i64(0), rowCount, 1, [&](V row) {
          V value = e.CreateLoad(element, sourceAt(e.CreateAdd(i, lane), row));
          V place = e.CreateAdd(e.CreateMul(row, e.i64(e.lanes)), lane);
          e.CreateStore(value, e.at(input.tile, element, place));
        });
      });
      return SmallVector<V>();
    };
    e.branch(isWhole, wholly, partly);
  };

  bool whole = length() % e.lanes == 0;
  e.loop(begin, end, e.lanes, [&](V i) {
    for (const auto &input : turned)
      if (input)
        fill(*input, i);
    e.loop(e.i64(0), rowCount, 1, [&](V row) {
      SmallVector<V> here = indices;
      here[*across] = e.CreateAdd(firstRow, row);
      SmallVector<RowAccess> in, out;
      for (size_t k = 0; k < inputs; ++k) {
        if (!turned[k]) {
          in.push_back(rowAccess(e, inputViews()[k], arguments.inputs[k], here));
          continue;
        }
        // So that index i of the row is the first of the tile's.
        V place = e.CreateSub(e.CreateMul(row, e.i64(e.lanes)), i);
        llvm::Type *element = e.storageType(turned[k]->view.type);
        in.push_back({&turned[k]->view, 1, e.CreateGEP(element, turned[k]->tile, place)});
      }
      for (size_t k = 0; k < outputViews().size(); ++k)
        out.push_back(rowAccess(e, outputViews()[k], arguments.outputs[k], here));
      RowOfMap map(e, *body, in, here.size());
      storeVectors(e, out, map.compute(e, i, end, whole), i, end, whole);
    });
  });
}

} // namespace cupel::codegen
