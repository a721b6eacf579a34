// The part of a table that is made of integers, compiled for the instruction set of the file that includes it.

#pragma once

#include "cupel/kernels/ByteKernels.h"
#include "cupel/kernels/Isa.h"
#include "cupel/kernels/TileKernel.h"

namespace cupel::kernels {
namespace {

template <int vectors, int rows> constexpr void addIntegerTiles(KernelTable &table) {
  if constexpr (rows <= kTileRows[vectors - 1]) {
    table.integerTiles[vectors - 1][rows - 1] = computeTile<IntegerPairStep, rows, vectors>;
    table.byteTiles[0][vectors - 1][rows - 1] = computeTile<ByteStep<false>, rows, vectors>;
    table.byteTiles[1][vectors - 1][rows - 1] = computeTile<ByteStep<true>, rows, vectors>;
    addIntegerTiles<vectors, rows + 1>(table);
  }
}

constexpr void addIntegerKernels(KernelTable &table) {
  addIntegerTiles<1, 1>(table);
  addIntegerTiles<2, 1>(table);
  addIntegerTiles<3, 1>(table);
  addIntegerTiles<4, 1>(table);
  table.depthwiseBytes[0] = depthwiseBytes<false>;
  table.depthwiseBytes[1] = depthwiseBytes<true>;
}

} // namespace
} // namespace cupel::kernels
