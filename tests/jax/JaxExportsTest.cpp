// Real exports of JAX must be read as tests/jax/data/index.tsv says: artifacts unchanged and with
// their locations, those of types that MLIR 19 lacks as well. Where the project's virtual
// environment has JAX, the full set is exported anew and held to its own index.
#include "cupel/ir/Dialects.h"
#include "cupel/ir/bytecode/Prepare.h"
#include "cupel/ir/portable/ReadProgram.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;

namespace {
struct Export {
  std::string file, dialect, version, expected;
};

std::vector<Export> readIndex(const std::string &folder) {
  std::vector<Export> exports;
  std::ifstream stream(folder + "/index.tsv");
  std::string line;
  while (std::getline(stream, line)) {
    std::istringstream fields(line);
    Export entry;
    if (std::getline(fields, entry.file, '\t') && std::getline(fields, entry.dialect, '\t') &&
        std::getline(fields, entry.version, '\t') && std::getline(fields, entry.expected, '\t'))
      exports.push_back(std::move(entry));
  }
  return exports;
}

/// Reads one export and compares what happens with what the index says.
void check(const std::string &folder, const Export &entry) {
  SCOPED_TRACE(entry.file);
  auto buffer = llvm::MemoryBuffer::getFile(folder + "/" + entry.file);
  ASSERT_TRUE(bool(buffer)) << "the index names a file that is not there";
  llvm::StringRef content = (*buffer)->getBuffer();
  cupel::bytecode::Prepared prepared =
      cupel::bytecode::prepareForMlir({content.data(), content.size()});
  // All exports have location ranges, so all that pass are rewritten.
  if (entry.expected == "prepare" || (entry.expected == "read" && prepared.isBytecode())) {
    EXPECT_TRUE(prepared.ok()) << prepared.error();
    EXPECT_TRUE(prepared.isCopy());
  }
  if (entry.expected == "prepare")
    return;

  DialectRegistry registry;
  cupel::ir::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = cupel::ir::readProgram(**buffer, ParserConfig(&context));
  ASSERT_EQ(entry.expected, "read");
  ASSERT_TRUE(bool(module)) << messages;
  bool located = false;
  module->walk([&](Operation *op) {
    op->getLoc()->walk([&](Attribute attribute) {
      auto location = llvm::dyn_cast<FileLineColLoc>(attribute);
      if (location && location.getFilename().getValue().ends_with("export_programs.py") &&
          location.getLine())
        located = true;
      return WalkResult::advance();
    });
  });
  EXPECT_TRUE(located) << "no location in export_programs.py was kept";
}

void checkAll(const std::string &folder, size_t atLeast) {
  std::vector<Export> exports = readIndex(folder);
  EXPECT_GE(exports.size(), atLeast);
  for (const Export &entry : exports)
    check(folder, entry);
}
} // namespace

TEST(JaxExports, CheckedInAreRead) { checkAll(CUPEL_SOURCE "/tests/jax/data", 50); }

TEST(JaxExports, FreshAreRead) {
  std::string python = CUPEL_SOURCE "/.venv/bin/python";
  if (!std::filesystem::exists(python) ||
      std::system((python + " -c 'import jax' >/dev/null 2>&1").c_str()) != 0)
    GTEST_SKIP()
        << "JAX is not in .venv; install tests/requirements.txt there to export the full set";
  std::string folder = testing::TempDir() + "/cupel-jax-exports-" + std::to_string(getpid());
  std::string command =
      python + " " + CUPEL_SOURCE + "/tests/jax/export_programs.py " + folder + " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  checkAll(folder, 100);
  std::filesystem::remove_all(folder);
}
