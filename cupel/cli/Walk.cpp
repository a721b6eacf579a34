#include "cupel/cli/Walk.h"

#include "cupel/cli/ProgramDiagnostics.h"
#include "cupel/cli/ProgramText.h"
#include "cupel/cli/Programs.h"
#include "cupel/ir/Dialects.h"
#include "cupel/support/Error.h"
#include "cupel/support/Files.h"

#include <chrono>
#include <llvm/Support/Format.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/MLIRContext.h>

namespace cupel::cli {

using namespace mlir;

namespace {

/// What one program came to.
struct Row {
  unsigned ops = 0;
  size_t artifactBytes = 0;
  std::string failure; ///< The step that failed; empty if none did.
};

std::string printed(Program &program) {
  std::string text;
  llvm::raw_string_ostream os(text);
  (void)writeProgram(program, Emit::Text, vhlo::kCurrentVersion, os);
  return text;
}

Row walk(MLIRContext &context, llvm::MemoryBufferRef bytes) {
  Row row;
  Program original = readProgram(bytes, &context);
  if (!original) {
    row.failure = "cannot be read";
    return row;
  }
  original.module->walk([&](Operation *op) { row.ops += op != original.module->getOperation(); });

  std::string artifact;
  llvm::raw_string_ostream os(artifact);
  if (failed(writeProgram(original, Emit::Portable, vhlo::kCurrentVersion, os))) {
    row.failure = "cannot be written as an artifact";
    return row;
  }
  row.artifactBytes = artifact.size();

  Program copy =
      readProgram(llvm::MemoryBufferRef(artifact, bytes.getBufferIdentifier()), &context);
  if (!copy)
    row.failure = "its artifact cannot be read";
  else if (printed(original) != printed(copy))
    row.failure = "its artifact holds another program";
  return row;
}

Row walkFile(const DialectRegistry &registry, const std::string &path) {
  Result<FileContents> contents = readInput(path);
  Status status = contents ? checkIsProgram(path, contents->bytes()) : Error{contents.message()};
  if (!status) {
    reportError("", status.message(), kExitFailure);
    return {.failure = "cannot be read"};
  }
  auto buffer = llvm::MemoryBuffer::getMemBuffer(contents->bytes(), path);
  llvm::MemoryBufferRef bytes = *buffer;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ProgramDiagnosticHandler handler(&context, sources, llvm::errs());
  return walk(context, bytes);
}

} // namespace

int runWalk(const std::vector<std::string> &paths) {
  DialectRegistry registry;
  ir::registerAllDialects(registry);
  size_t width = 8;
  for (const std::string &path : paths)
    width = std::max(width, llvm::sys::path::stem(path).size());

  llvm::raw_ostream &os = llvm::outs();
  os << llvm::left_justify("program", width) << "   ops   artifact      time   round trip\n";
  size_t failures = 0;
  for (const std::string &path : paths) {
    auto begin = std::chrono::steady_clock::now();
    Row row = walkFile(registry, path);
    std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    failures += !row.failure.empty();
    os << llvm::left_justify(llvm::sys::path::stem(path), width)
       << llvm::format("%6u %8zu B %6.1f ms   ", row.ops, row.artifactBytes, wall.count())
       << (row.failure.empty() ? "equal" : "FAILED: " + row.failure) << '\n';
  }
  os << "\n"
     << paths.size() - failures << " of " << paths.size()
     << " programs were read, verified, written as portable artifacts (version "
     << vhlo::kCurrentVersion.str() << "), read back and found equal.\n";
  return failures ? kExitFailure : kExitSuccess;
}

} // namespace cupel::cli
