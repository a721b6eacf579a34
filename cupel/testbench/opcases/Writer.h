// Writes operator cases as a file that the reader takes: what `cupel ops extract` makes of a model.
// What is a default is left out, so that the file says what a person would have written.
#pragma once

#include "cupel/testbench/opcases/Case.h"

#include <string>

namespace cupel::testbench::opcases {

/// `heading` becomes comments at the top. The file's defaults are `dtype` for tensors, `seed` and
/// the tolerances of `defaults`.
std::string toYaml(const CaseFile &file, const Case &defaults, const std::string &heading);

} // namespace cupel::testbench::opcases
