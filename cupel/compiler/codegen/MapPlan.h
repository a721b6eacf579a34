// A map that is ready to be written: loops in the order of the first output's memory, and where an
// input runs across them, tiles or interleaved vectors. PlanMap.cpp makes and writes it, TiledMap.cpp
// writes tiles, InterleavedMap.cpp what is interleaved.

#pragma once

#include "cupel/compiler/codegen/Plans.h"
#include "cupel/compiler/codegen/RowOfMap.h"

namespace cupel::codegen {

struct MapPlan {
  LoopNest nest; ///< Views: inputs, then outputs.
  size_t inputs;
  BodyOps body;
  /// The dimension along which inputs that run across the rows lie in memory; such inputs are
  /// turned round in tiles of `tileRows` rows.
  std::optional<size_t> across;
  int64_t tileRows = 0;
  /// Rows are shorter than a vector: the last two dimensions have changed places, and results are
  /// interleaved.
  bool isInterleaved = false;
  int64_t piece = 0; ///< Elements of a row that are one unit of work; a multiple of the lanes.

  int64_t length() const { return nest.sizes.back(); }
  int64_t pieces() const { return (length() + piece - 1) / piece; }
  ArrayRef<View> inputViews() const { return ArrayRef(nest.views).take_front(inputs); }
  ArrayRef<View> outputViews() const { return ArrayRef(nest.views).drop_front(inputs); }
  /// Whether an input is turned round in tiles.
  bool isTurned(size_t input) const {
    const View &view = nest.views[input];
    int64_t stride = view.strides.back();
    return across && view.valid.empty() && view.strides[*across] == 1 && stride != 0 &&
           stride != 1 && stride != -1;
  }
  /// Decides whether there are tiles.
  void chooseTiles();
  /// Decides whether results are interleaved, for vectors of so many lanes.
  void chooseInterleaving(unsigned lanes);
  void emitInterleavedUnit(Emitter &e, const KernelArguments &arguments, V unit) const;
  void emitTiledUnit(Emitter &e, const KernelArguments &arguments, V unit) const;
};

} // namespace cupel::codegen
