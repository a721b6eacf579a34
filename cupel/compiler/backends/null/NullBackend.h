// The smallest backend there is, and the one to copy: it runs programs whose results are their
// arguments and refuses all others by the name of the first operation. For tests, for measuring
// what everything around a backend costs, and for whoever writes a backend; see Backend.h for what
// one has to do.

#pragma once

#include "cupel/compiler/backends/Backend.h"

namespace cupel::compiler {

const Backend &nullBackend();

} // namespace cupel::compiler
