#include "cupel/cli/ProgramDiagnostics.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Location.h>

namespace cupel::cli {

using namespace mlir;

namespace {

llvm::SourceMgr::DiagKind kindOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return llvm::SourceMgr::DK_Note;
  case DiagnosticSeverity::Warning:
    return llvm::SourceMgr::DK_Warning;
  case DiagnosticSeverity::Error:
    return llvm::SourceMgr::DK_Error;
  case DiagnosticSeverity::Remark:
    return llvm::SourceMgr::DK_Remark;
  }
  llvm_unreachable("all severities are handled");
}

/// The first file location inside `location` that `accept` takes.
FileLineColLoc findFileLocation(Location location,
                                llvm::function_ref<bool(FileLineColLoc)> accept) {
  FileLineColLoc found;
  location->walk([&](Location part) {
    if (auto fileLocation = dyn_cast<FileLineColLoc>(part); fileLocation && accept(fileLocation)) {
      found = fileLocation;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

} // namespace

ProgramDiagnosticHandler::ProgramDiagnosticHandler(MLIRContext *context, llvm::SourceMgr &sources,
                                                   llvm::raw_ostream &os)
    : ScopedDiagnosticHandler(context), sources(sources), os(os) {
  setHandler([this](Diagnostic &diagnostic) {
    print(diagnostic.getLocation(), diagnostic.str(), diagnostic.getSeverity());
    for (Diagnostic &note : diagnostic.getNotes())
      print(note.getLocation(), note.str(), note.getSeverity());
  });
}

void ProgramDiagnosticHandler::print(Location location, const llvm::Twine &message,
                                     DiagnosticSeverity severity) {
  unsigned buffer = sources.getMainFileID();
  llvm::StringRef program = sources.getMemoryBuffer(buffer)->getBufferIdentifier();
  auto isOurs = [&](FileLineColLoc at) { return at.getFilename() == program; };
  if (FileLineColLoc at = findFileLocation(location, isOurs)) {
    // Bytecode has no lines to show; its locations have line and column zero.
    if (llvm::SMLoc where = sources.FindLocForLineAndColumn(buffer, at.getLine(), at.getColumn());
        at.getLine() != 0 && where.isValid()) {
      sources.PrintMessage(os, where, kindOf(severity), message);
      return;
    }
  }

  auto isAny = [](FileLineColLoc) { return true; };
  FileLineColLoc elsewhere = findFileLocation(location, isAny);
  bool known = elsewhere && elsewhere.getFilename() != program;
  std::string name =
      known ? (llvm::Twine(elsewhere.getFilename()) + ":" + llvm::Twine(elsewhere.getLine()) + ":" +
               llvm::Twine(elsewhere.getColumn()))
                  .str()
            : program.str();
  llvm::SMDiagnostic(name, kindOf(severity), message.str()).print(nullptr, os);
  if (known && !saidWhichFile) {
    saidWhichFile = true;
    llvm::SMDiagnostic(program, llvm::SourceMgr::DK_Note, "the program was read from this file")
        .print(nullptr, os);
  }
}

} // namespace cupel::cli
