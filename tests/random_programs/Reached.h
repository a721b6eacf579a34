// What programs come to in the compiler: the operations of each dialect at any stage, and the kernels that
// run them at the end. A form that random programs never reach is one that nothing tests by chance.

#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace cupel::random_programs {

class Reached {
public:
  /// Every operation of the module, also within others.
  void addOperations(mlir::ModuleOp module);
  /// The kernels of a module at the device stage.
  void addKernels(mlir::ModuleOp module);

  /// Of the compiler's own dialects: which operations no program came to.
  std::vector<std::string> missing(mlir::MLIRContext &context) const;
  /// How many launches each kind of kernel had; those of the golden reference by operation.
  const std::map<std::string, int64_t> &kernels() const { return ofKernel; }

private:
  std::map<std::string, int64_t> ofOperation, ofKernel;
};

} // namespace cupel::random_programs
