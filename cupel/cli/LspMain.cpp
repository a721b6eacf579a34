// `cupel-lsp`: MLIR's language server with Cupel's dialects. Started by `cupel lsp` or by an
// editor.

#include "cupel/ir/Dialects.h"

#include <mlir/Tools/mlir-lsp-server/MlirLspServerMain.h>

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  cupel::ir::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
