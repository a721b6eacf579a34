// The requirement files beside a loader.

#include "cupel/testbench/requirements/Environments.h"

#include "cupel/support/ContentCache.h"
#include "cupel/support/Files.h"

#include <cstdlib>
#include <filesystem>
#include <set>

namespace cupel::testbench::requirements {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 20;

/// The file that a line `-r FILE`, `--requirement=FILE` or `-c FILE` includes; empty for others.
std::string_view includedFile(std::string_view line) {
  size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  line.remove_prefix(begin);
  for (std::string_view option : {"--requirement", "--constraint", "-r", "-c"}) {
    if (!line.starts_with(option))
      continue;
    std::string_view rest = line.substr(option.size());
    size_t name = rest.find_first_not_of(" \t=");
    bool separated = option.size() == 2 || name != 0;
    if (!separated || name == std::string_view::npos)
      continue;
    rest.remove_prefix(name);
    rest = rest.substr(0, rest.find(" #"));
    return rest.substr(0, rest.find_last_not_of(" \t\r") + 1);
  }
  return {};
}

/// Adds a file and what it includes to the text that is hashed.
Status collect(const fs::path &path, std::set<std::string> &seen, std::string &contents) {
  std::string name = path.lexically_normal();
  if (!seen.insert(name).second)
    return {};
  Result<FileContents> file = readInput(path, kMostBytes);
  if (!file)
    return file.error();
  contents += path.filename().string() + "\n" + std::to_string(file->bytes().size()) + "\n";
  contents += file->bytes();
  for (std::string_view rest = file->bytes(); !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view included = includedFile(rest.substr(0, end));
    // What comes from elsewhere is pip's business.
    if (!included.empty() && included.find("://") == std::string_view::npos)
      if (Status status = collect(path.parent_path() / included, seen, contents); !status)
        return status;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

bool isSet(const char *name) {
  const char *value = std::getenv(name);
  return value && std::string_view(value) == "1";
}

} // namespace

Result<std::optional<Requirements>> readRequirements(const std::string &loaderFolder) {
  std::error_code error;
  fs::path folder = fs::absolute(loaderFolder, error);
  if (!fs::exists(folder / "requirements.txt", error))
    return std::optional<Requirements>();
  Requirements found;
  found.folder = folder;
  std::set<std::string> seen;
  struct Row {
    const char *name;
    std::string *path;
  };
  for (const Row &row :
       {Row{"requirements.txt", &found.install}, Row{"requirements.nodeps.txt", &found.noDeps},
        Row{"requirements.nodeps.nobuildisolation.txt", &found.noBuildIsolation},
        Row{"uninstall_first.txt", &found.uninstallFirst},
        Row{"system-requirements.txt", &found.system}}) {
    if (!fs::exists(folder / row.name, error))
      continue;
    *row.path = folder / row.name;
    // What is missing on the machine decides nothing about the environment.
    if (row.path == &found.system)
      continue;
    if (Status status = collect(*row.path, seen, found.contents); !status)
      return Error{"requirements: " + status.message()};
  }
  return std::optional(std::move(found));
}

std::string defaultCacheFolder() { return cacheFolder("environments"); }

bool disabledByEnvironment() {
  return isSet("CUPEL_DISABLE_MODEL_REQS") || isSet("TT_XLA_DISABLE_MODEL_REQS");
}

bool verboseByEnvironment() { return isSet("TT_XLA_REQS_DEBUG"); }

} // namespace cupel::testbench::requirements
