#include "cupel/testbench/procedures/ShadowZoo.h"

#include "cupel/support/Files.h"

#include <filesystem>
#include <set>

namespace cupel::testbench::procedures {

namespace fs = std::filesystem;

namespace {

/// Links all files of `from` into `to`, but those that are changed. Folders and loaders are real
/// ones: whoever looks for loaders follows no links.
Status mirror(const fs::path &from, const fs::path &to, const fs::path &below,
              const std::set<fs::path> &changed) {
  std::error_code error;
  fs::create_directories(to, error);
  for (const fs::directory_entry &entry : fs::directory_iterator(from, error)) {
    fs::path name = entry.path().filename(), path = below / name;
    if (name == "__pycache__" || changed.contains(path))
      continue; // What was compiled from the files as they were.
    bool isFolder =
        entry.is_directory(error) && !entry.is_symlink(error) && !name.string().starts_with('.');
    if (isFolder) {
      if (Status status = mirror(entry.path(), to / name, path, changed); !status)
        return status;
    } else if (name == "loader.py") {
      fs::copy_file(entry.path(), to / name, error);
    } else {
      fs::create_symlink(entry.path(), to / name, error);
    }
    if (error)
      break;
  }
  return error ? Status(Error{from.string() + ": " + error.message()}) : Status();
}

} // namespace

Result<ShadowZoo> ShadowZoo::make(const std::string &root,
                                  const std::vector<std::pair<std::string, std::string>> &files) {
  ShadowZoo zoo;
  zoo.folder = std::make_unique<TemporaryFolder>("cupel-zoo");
  if (zoo.folder->path.empty())
    return Error{"no temporary folder could be made"};
  std::error_code error;
  fs::path real = fs::canonical(root, error);
  if (error)
    return Error{root + ": " + error.message()};
  zoo.name = real.filename().string();
  std::set<fs::path> changed;
  for (const auto &[path, text] : files)
    changed.insert(path);
  if (Status status = mirror(real, zoo.root(), "", changed); !status)
    return status.error();
  for (const auto &[path, text] : files)
    if (Status status = writeOutput((fs::path(zoo.root()) / path).string(), text); !status)
      return status.error();
  return zoo;
}

} // namespace cupel::testbench::procedures
