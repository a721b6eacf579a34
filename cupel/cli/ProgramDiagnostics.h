// Prints MLIR's diagnostics about one program: with the source line where the location lies in the
// program's own text, with the location alone where it lies elsewhere. Unlike MLIR's handler it
// never opens the files that locations name: a program from somebody else may name any.
#pragma once

#include <llvm/Support/SourceMgr.h>
#include <mlir/IR/Diagnostics.h>

namespace cupel::cli {

class ProgramDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  /// `sources` holds the program as its main buffer, under the name that its locations have.
  ProgramDiagnosticHandler(mlir::MLIRContext *context, llvm::SourceMgr &sources,
                           llvm::raw_ostream &os);

private:
  void print(mlir::Location location, const llvm::Twine &message,
             mlir::DiagnosticSeverity severity);

  llvm::SourceMgr &sources;
  llvm::raw_ostream &os;
  bool saidWhichFile = false;
};

} // namespace cupel::cli
