// The Python files of a zoo: finds the file behind an import, reads and parses each at most once,
// and remembers what every file looked like, so that a cache can tell later whether it still does.
// Shared by the evaluators of all threads. Reads files below the zoo's root only.
#pragma once

#include "cupel/testbench/zoo/PythonSyntax.h"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cupel::testbench::zoo {

/// What a file looked like when it was read.
struct FileStamp {
  static constexpr uint64_t kMissing = ~uint64_t{0};
  uint64_t size = kMissing;
  int64_t modified = 0; ///< Nanoseconds.

  bool operator==(const FileStamp &) const = default;
};

/// The stamp of `path` now.
FileStamp stampOf(const std::string &path);

/// One file: its tree, or why there is none.
struct SourceFile {
  FileStamp stamp;
  std::shared_ptr<const PythonModule> module;
  SyntaxProblem problem; ///< Set where `module` is null.
  bool tooLarge = false; ///< Then it is not wrong, just not read.
};

class ModuleLibrary {
public:
  /// `root` is the folder that relative imports may not leave and that holds the zoo's package.
  explicit ModuleLibrary(std::string root);

  /// Reads and parses `path` unless that was done before.
  std::shared_ptr<const SourceFile> read(const std::string &path);

  /// Where an import leads.
  struct Target {
    enum { Outside, File, Folder, Nowhere } kind = Outside;
    std::string path;
  };
  /// `from DOTTED import ...` in the file `importer`; every path that was looked at is appended to
  /// `looked`.
  Target resolve(const std::string &importer, std::string_view dotted,
                 std::vector<std::string> &looked);
  /// The module `name` inside the folder of a package.
  Target inside(const std::string &folder, std::string_view name, std::vector<std::string> &looked);

  /// The stamp of a file as this library saw it.
  FileStamp stamp(const std::string &path);

  const std::string &root() const { return rootFolder; }

private:
  struct Entry {
    std::once_flag once;
    std::shared_ptr<const SourceFile> file;
  };

  std::string rootFolder, rootName;
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Entry>> files;
  std::unordered_map<std::string, FileStamp> stamps;
  std::unordered_map<std::string, bool> folders;
};

} // namespace cupel::testbench::zoo
