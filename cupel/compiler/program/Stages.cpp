#include "cupel/compiler/program/Stages.h"

#include "cupel/ir/portable/PrintProgram.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

namespace cupel::compiler {

void StageWriter::write(const std::string &stage, mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(false);
  ir::printProgram(module, os, flags);
  writeText(stage + ".mlir", text + "\n");
}

void StageWriter::writeText(const std::string &file, std::string text) {
  files.push_back({file, std::move(text)});
}

namespace {

class AfterChanges : public mlir::PassInstrumentation {
public:
  AfterChanges(StageWriter &writer, std::string prefix)
      : writer(writer), prefix(std::move(prefix)) {}

  void runBeforePass(mlir::Pass *, mlir::Operation *op) override { before.emplace(op); }

  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    auto module = mlir::dyn_cast<mlir::ModuleOp>(op);
    if (module && before && *before != mlir::OperationFingerPrint(op))
      writer.write(prefix + "_" + stageAfter(pass->getArgument()), module);
  }

private:
  /// These are called by what the program is then.
  static std::string stageAfter(llvm::StringRef pass) {
    return llvm::StringSwitch<std::string>(pass)
        .Case("lower-chlo", "lowered")
        .Case("round-to-types", "rounded")
        .Case("partition", "partitioned")
        .Default(pass.str());
  }

  StageWriter &writer;
  std::string prefix;
  std::optional<mlir::OperationFingerPrint> before;
};

} // namespace

std::unique_ptr<mlir::PassInstrumentation> StageWriter::watch(std::string prefix) {
  return std::make_unique<AfterChanges>(*this, std::move(prefix));
}

/// The number after the greatest that a folder's entries begin with.
static int firstFreeNumber(const std::filesystem::path &root) {
  int next = 0;
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(root, error))
    if (int number; std::sscanf(entry.path().filename().c_str(), "%d-", &number) == 1)
      next = std::max(next, number < INT_MAX ? number + 1 : number);
  return next;
}

Status StageWriter::finish() {
  std::string safe;
  for (char c : programName)
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ? c : '_';
  std::filesystem::path root = std::filesystem::path(folder) / "irs";
  std::error_code error;
  std::filesystem::create_directories(root, error);
  // Numbers go on where an earlier process stopped. Processes side by side may use the same one;
  // a folder is never used twice.
  static std::mutex mutex;
  static std::map<std::string, int> &nextNumbers = *new std::map<std::string, int>;
  std::lock_guard lock(mutex);
  std::filesystem::path place = root;
  int &next = nextNumbers[root.string()];
  if (!error && next == 0)
    next = firstFreeNumber(root);
  while (!error) {
    char number[16];
    std::snprintf(number, sizeof number, "%04d-", next++);
    place = root / (number + safe.substr(0, 100));
    if (std::filesystem::create_directory(place, error))
      break;
  }
  if (error)
    return Error{"the stages cannot be written to " + place.string() + ": " + error.message() +
                 " (the folder comes from the option export_path or from CUPEL_DUMP_DIR)"};
  for (const auto &[name, text] : files) {
    std::string path = (place / name).string();
    std::FILE *file = std::fopen(path.c_str(), "w");
    bool done = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file)
      done &= std::fclose(file) == 0;
    if (!done)
      return Error{path + ": cannot be written"};
  }
  return {};
}

} // namespace cupel::compiler
