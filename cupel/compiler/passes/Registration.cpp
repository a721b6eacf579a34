#include "cupel/compiler/passes/Passes.h"

namespace cupel::compiler {

namespace generated {
#define GEN_PASS_REGISTRATION
#include "cupel/compiler/passes/Passes.h.inc"
} // namespace generated

void registerPasses() { generated::registerCupelPasses(); }

} // namespace cupel::compiler
