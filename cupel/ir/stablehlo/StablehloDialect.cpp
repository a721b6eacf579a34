#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
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

namespace {

/// Portable artifacts hold tokens in this form inside of operations of other dialects. Everything
/// else of this dialect is stored as VHLO.
struct TokenBytecode : public mlir::BytecodeDialectInterface {
  explicit TokenBytecode(mlir::Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  static constexpr uint64_t kToken = 0;

  mlir::Type readType(mlir::DialectBytecodeReader &reader) const override {
    uint64_t code = 0;
    if (failed(reader.readVarInt(code)))
      return {};
    if (code != kToken) {
      reader.emitError() << "there is no stablehlo type of code " << code;
      return {};
    }
    return TokenType::get(getContext());
  }

  llvm::LogicalResult writeType(mlir::Type type,
                                mlir::DialectBytecodeWriter &writer) const override {
    if (!llvm::isa<TokenType>(type))
      return llvm::failure();
    writer.writeVarInt(kToken);
    return llvm::success();
  }

  mlir::Attribute readAttribute(mlir::DialectBytecodeReader &reader) const override {
    reader.emitError() << "attributes of stablehlo in bytecode are read as VHLO only; save the "
                          "program as a portable artifact or as text";
    return {};
  }
};

} // namespace

void StablehloDialect::initialize() {
  registerAttributes();
  registerTypes();
  registerOps();
  addInterfaces<Inliner, TokenBytecode>();
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
