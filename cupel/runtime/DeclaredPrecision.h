// What a device says it computes in, by its name and the architecture of the run: a result is judged
// by limits that follow from it. Used wherever results are judged; opens nothing.

#pragma once

#include "cupel/compare/Precision.h"

#include <string>

namespace cupel::runtime {

/// Of `plugin.so?precision=bf16`; else what the architecture of the run declares for a plugin that is
/// not ours; else f32. Our own plugin and the reference compute in f32 whatever they present, and in
/// f32 what a program says in f64 where the architecture has no f64.
Result<compare::DevicePrecision> declaredPrecision(const std::string &device,
                                                   const std::string &arch);

/// The name as whoever opens the device takes it: `precision` is an option of our own plugin alone.
std::string withoutPrecision(const std::string &device);

} // namespace cupel::runtime
