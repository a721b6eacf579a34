// Recognises common pictures of a wrong result (transposed, shifted, zeroed, repeated, scaled, ...)
// and names them: what an engineer looks for first. Called for results that were judged wrong,
// never for correct ones; says nothing unless the picture explains nearly every wrong element.

#pragma once

#include "cupel/compare/Statistics.h"

namespace cupel::compare {

/// For example "rows 32..63 are zero"; empty if none is recognised. `found` are the statistics of
/// comparing the two, which have the same shape.
std::string recognisePicture(const tensor::Tensor &actual, const tensor::Tensor &expected,
                             const Statistics &found, int threads = 1);

} // namespace cupel::compare
