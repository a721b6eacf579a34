#include "cupel/ir/Dialects.h"

#include "cupel/ir/check/Check.h"
#include "cupel/ir/chlo/Chlo.h"
#include "cupel/ir/interpreter/Interpreter.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/ir/vhlo/Vhlo.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/QuantOps.h"

namespace cupel::ir {

void registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantizationDialect,
                  check::CheckDialect, chlo::ChloDialect, interpreter::InterpreterDialect,
                  sdy::SdyDialect, stablehlo::StablehloDialect, vhlo::VhloDialect>();
  mlir::func::registerInlinerExtension(registry);
}

} // namespace cupel::ir
