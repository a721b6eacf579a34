// The requirement files beside a loader.

#include "cupel/testbench/requirements/Environments.h"

#include "cupel/support/ContentCache.h"
#include "cupel/support/Files.h"
#include "cupel/support/Sha256.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

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

/// What a line names on this machine, as a path (`./package`, `-e package/`, `x @ file:///x.whl`,
/// `wheels/x.whl`); empty for what pip has to look for elsewhere.
fs::path localPlace(std::string_view line, const fs::path &folder) {
  std::string_view rest = line.substr(0, std::min(line.find(" #"), line.find(" ;")));
  auto trim = [&] {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    rest = rest.substr(0, rest.find_last_not_of(" \t\r") + 1);
  };
  trim();
  for (std::string_view option : {"--editable", "-e"}) {
    if (rest.starts_with(option)) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t=", option.size()), rest.size()));
      break;
    }
  }
  if (size_t at = rest.find(" @ "); at != std::string_view::npos)
    rest.remove_prefix(at + 3);
  trim();
  if (rest.starts_with("file:")) {
    rest.remove_prefix(5);
    if (rest.starts_with("//"))
      rest.remove_prefix(2);
  }
  if (rest.empty() || rest.front() == '#' || rest.front() == '-' ||
      rest.find("://") != std::string_view::npos)
    return {};
  // Extras stand behind the path.
  if (rest.ends_with(']'))
    rest = rest.substr(0, rest.rfind('['));
  // As pip tells a path from a name.
  bool isArchive = rest.ends_with(".whl") || rest.ends_with(".zip") || rest.ends_with(".tar.gz");
  if (rest.find('/') == std::string_view::npos && !rest.starts_with(".") && !isArchive)
    return {};
  std::error_code error;
  fs::path place = folder / rest;
  return fs::exists(place, error) ? place : fs::path();
}

/// Made by building, in the source's own folder: says nothing of the source.
bool isBuilt(const fs::path &path) {
  std::string name = path.filename();
  return name == "build" || name == "dist" || name == "__pycache__" || name == ".git" ||
         name.ends_with(".egg-info");
}

/// Adds a package on this machine to the text that is hashed: names and hashes of its files.
Status collectPackage(const fs::path &place, std::string &contents) {
  std::vector<fs::path> files;
  std::error_code error;
  if (fs::is_directory(place, error)) {
    fs::recursive_directory_iterator at(place, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      if (isBuilt(at->path()))
        at.disable_recursion_pending();
      else if (at->is_regular_file(error))
        files.push_back(at->path());
    }
    std::sort(files.begin(), files.end());
  } else {
    files.push_back(place);
  }
  if (error)
    return Error{place.string() + ": cannot be read: " + error.message()};
  for (const fs::path &path : files) {
    Result<FileContents> file = readInput(path);
    if (!file)
      return file.error();
    contents += path.lexically_relative(place).string() + " " + sha256(file->bytes()) + "\n";
  }
  return {};
}

/// Adds a file, what it includes and packages beside it to the text that is hashed: two loaders may
/// both ask for `./package`, and each has its own.
Status collect(const fs::path &path, const fs::path &folder, std::set<std::string> &seen,
               std::string &contents) {
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
    std::string_view line = rest.substr(0, end);
    std::string_view included = includedFile(line);
    // What comes from elsewhere is pip's business.
    if (!included.empty() && included.find("://") == std::string_view::npos)
      if (Status status = collect(path.parent_path() / included, folder, seen, contents); !status)
        return status;
    // pip is started in the loader's folder, and looks for packages from there.
    fs::path place = included.empty() ? localPlace(line, folder) : fs::path();
    if (!place.empty() && seen.insert(place.lexically_normal()).second)
      if (Status status = collectPackage(place, contents); !status)
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
    if (Status status = collect(*row.path, folder, seen, found.contents); !status)
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
