#include "cupel/ir/portable/PrintProgram.h"

#include "cupel/ir/bytecode/TextFloats.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

StringRef cupel::ir::rareFloatIn(ModuleOp module) {
  StringRef found;
  auto look = [&](TypeRange types) {
    for (Type type : types)
      if (auto shaped = llvm::dyn_cast<ShapedType>(type); shaped && found.empty())
        found = stablehlo::rareFloatName(shaped.getElementType());
  };
  module.walk([&](Operation *op) {
    look(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        look(block.getArgumentTypes());
    if (auto function = llvm::dyn_cast<FunctionOpInterface>(op)) {
      look(function.getArgumentTypes());
      look(function.getResultTypes());
    }
    return found.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found;
}

void cupel::ir::printProgram(ModuleOp module, llvm::raw_ostream &os, const OpPrintingFlags &flags,
                             FallbackAsmResourceMap *resources) {
  AsmState state(module, flags, /*locationMap=*/nullptr, resources);
  if (rareFloatIn(module).empty()) {
    module->print(os, state);
    return;
  }
  std::string text;
  llvm::raw_string_ostream printed(text);
  module->print(printed, state);
  os << bytecode::nameRareFloats(std::move(text));
}
