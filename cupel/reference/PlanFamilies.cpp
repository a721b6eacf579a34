// Families whose kernels are still to come.

#include "cupel/reference/Registry.h"

namespace cupel::reference {
void registerLinear(Registry &) {}
void registerCommunication(Registry &) {}
Result<StepFunction> planQuantizedElementwise(mlir::Operation *, const ElementOpOf &element) {
  return Error{std::string(name(element.op)) + " is not evaluated on quantized tensors"};
}
} // namespace cupel::reference
