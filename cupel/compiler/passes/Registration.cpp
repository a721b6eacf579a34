#include "cupel/compiler/passes/Passes.h"
#include "cupel/compiler/passes/Pipelines.h"

namespace cupel::compiler {

namespace generated {
#define GEN_PASS_REGISTRATION
#include "cupel/compiler/passes/Passes.h.inc"
} // namespace generated

void registerPasses() {
  generated::registerCupelPasses();
  registerPipelines();
}

} // namespace cupel::compiler
