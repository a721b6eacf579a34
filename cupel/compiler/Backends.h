// The backends there are, by name. A new one gets a line in Backends.cpp, and every test of
// backends then runs over it too. Used by `compile`, and by whoever lists them.

#pragma once

#include "cupel/compiler/backends/Backend.h"

#include <span>

namespace cupel::compiler {

/// The first one is taken where nobody asks for another.
std::span<const Backend *const> backends();

/// An unknown name is an error that says the nearest one.
Result<const Backend *> findBackend(std::string_view name);

} // namespace cupel::compiler
