#include "cupel/runtime/Stages.h"

#include "llvm/Support/raw_ostream.h"

#include <atomic>
#include <cstdio>
#include <filesystem>

namespace cupel::runtime {

void StageWriter::write(const std::string &stage, mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(false);
  module->print(os, flags);
  stages.push_back({stage, text + "\n"});
}

Status StageWriter::finish() {
  static std::atomic<int> next = 0;
  std::string safe;
  for (char c : programName)
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' ? c : '_';
  std::filesystem::path root = std::filesystem::path(folder) / "irs";
  std::error_code error;
  std::filesystem::create_directories(root, error);
  // Numbers go on where an earlier process stopped.
  std::filesystem::path place;
  while (!error) {
    char number[16];
    std::snprintf(number, sizeof number, "%04d-", next++);
    place = root / (number + safe.substr(0, 100));
    if (std::filesystem::create_directory(place, error))
      break;
  }
  if (error)
    return Error{"the stages cannot be written to " + place.string() + ": " + error.message()};
  for (const auto &[stage, text] : stages) {
    std::string path = (place / (stage + ".mlir")).string();
    std::FILE *file = std::fopen(path.c_str(), "w");
    bool done = file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (file)
      done &= std::fclose(file) == 0;
    if (!done)
      return Error{path + ": cannot be written"};
  }
  return {};
}

} // namespace cupel::runtime
