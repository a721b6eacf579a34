#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "cupel/ir/stablehlo/StablehloDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "cupel/ir/stablehlo/StablehloTypes.cpp.inc"

namespace cupel::stablehlo {

namespace {
/// Everything of this dialect may be inlined: functions and composites are only structure.
struct Inliner : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Operation *, bool) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void StablehloDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
  addInterfaces<Inliner>();
}

void StablehloDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "cupel/ir/stablehlo/StablehloTypes.cpp.inc"
      >();
}

void StablehloDialect::registerOps() { registerStablehloDialectOperations(this); }

Operation *StablehloDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type,
                                                 Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return builder.create<ConstantOp>(loc, type, elements);
}

} // namespace cupel::stablehlo
