// How the dimension numbers of chlo.ragged_dot are read: its mode and the order of its dimensions.
// The verifier and the pass lower-chlo use it.
#pragma once

#include "cupel/ir/chlo/Chlo.h"

namespace cupel::chlo {

/// What kind of dimension of lhs is ragged.
enum class RaggedDotMode { Free, Contracting, Batching };

RaggedDotMode getRaggedDotMode(RaggedDotDimensionNumbersAttr numbers);

/// The dimensions below `rank` that are in none of the lists.
llvm::SmallVector<int64_t> getFreeDimensions(int64_t rank,
                                             llvm::ArrayRef<llvm::ArrayRef<int64_t>> taken);

/// The dimensions of lhs that group_sizes has before its last one, if it has more than one.
llvm::SmallVector<int64_t> getGroupSizesPrefix(RaggedDotDimensionNumbersAttr numbers,
                                               int64_t lhsRank);

} // namespace cupel::chlo
