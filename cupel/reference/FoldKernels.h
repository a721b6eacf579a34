// Typed loops of folds with a known function: over rows (the folded elements lie together) and over
// columns (neighbouring results do). Used by Reductions only.

#pragma once

#include "cupel/reference/Accumulate.h"
#include "cupel/reference/ElementFunction.h"
#include "cupel/reference/FoldLayout.h"

namespace cupel::reference {

/// What a loop is asked to do: `input` holds elements of `stored`, results are of `result`
/// (different only where narrow floats were widened), `init` is one element of `result`.
struct KnownFold {
  KnownFunction function;
  tensor::DType stored, result;
  Accumulate accumulate;
  const std::byte *input;
  const std::byte *init;
  std::byte *output; // contiguous, layout.keptCount elements
};

/// Whether there is a loop. Narrow floats are then expected widened to f32.
bool hasKnownFold(KnownFunction function, tensor::DType type, Accumulate accumulate);

/// The sums of elements of f32, rounded once to the fold's result type (any float up to f32, or
/// complex<f32>, whose parts are summed each for themselves), as ExactSum.h has it.
void foldSums(const KnownFold &fold, const FoldLayout &layout);

/// Both counts of the layout must be positive.
void foldKnown(const KnownFold &fold, const FoldLayout &layout);

} // namespace cupel::reference
