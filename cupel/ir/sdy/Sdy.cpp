#include "cupel/ir/sdy/Sdy.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

// The generated attribute parsers call these, so they must be declared before.
#include "cupel/ir/sdy/SdyAssembly.h"

using namespace mlir;
using namespace cupel::sdy;

#include "cupel/ir/sdy/SdyDialect.cpp.inc"

#include "cupel/ir/sdy/SdyEnums.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "cupel/ir/sdy/SdyAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "cupel/ir/sdy/SdyOps.cpp.inc"

void SdyDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "cupel/ir/sdy/SdyOps.cpp.inc"
      >();
  addBytecodeInterface();
}

void SdyDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "cupel/ir/sdy/SdyAttrs.cpp.inc"
      >();
}
