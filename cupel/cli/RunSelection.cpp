#include "cupel/cli/RunSelection.h"

#include "cupel/cli/ProgramText.h"
#include "cupel/support/Files.h"

#include <algorithm>
#include <filesystem>
#include <unordered_set>

namespace cupel::cli {

namespace fs = std::filesystem;

Result<Selection> selectTests(const testbench::matrix::CollectOptions &options) {
  Selection selection;
  std::vector<std::string> files;
  for (const std::string &argument : options.arguments) {
    std::error_code error;
    if (!fs::exists(argument, error))
      return Error{argument + ": no such file or folder"};
    if (!fs::is_directory(argument, error)) {
      files.push_back(argument);
      continue;
    }
    for (fs::recursive_directory_iterator it(argument, error), end; !error && it != end;
         it.increment(error)) {
      std::string path = it->path();
      if (path.ends_with(".mlir") || path.ends_with(".mlirbc") || path.ends_with(".mlir.bc"))
        files.push_back(path);
    }
  }
  std::ranges::sort(files);
  std::unordered_set<std::string> only;
  if (options.only)
    only.insert(options.only->begin(), options.only->end());
  for (const std::string &file : files) {
    Result<FileContents> contents = readInput(file);
    size_t parts = 1;
    if (contents && !isBytecode(contents->bytes()))
      parts = splitPrograms(contents->bytes()).size();
    for (size_t part = 0; part < parts; ++part) {
      testbench::TestItem item;
      item.suite = "programs";
      item.id = parts == 1 ? file : file + "#" + std::to_string(part);
      item.file = fs::absolute(file);
      item.part = uint32_t(part);
      ++selection.found;
      if (!options.only || only.contains(item.fullName()))
        selection.items.push_back(std::move(item));
    }
  }
  return selection;
}

} // namespace cupel::cli
