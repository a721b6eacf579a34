// `cupel-lsp`: MLIR's language server with Cupel's dialects. Started by `cupel lsp` or by an
// editor.

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Quant/QuantOps.h>
#include <mlir/IR/DialectRegistry.h>
#include <mlir/Tools/mlir-lsp-server/MlirLspServerMain.h>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::func::FuncDialect, mlir::quant::QuantizationDialect>();
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
