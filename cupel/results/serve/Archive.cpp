#include "cupel/results/serve/Archive.h"

#include "cupel/support/Files.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace cupel::results::serve {

namespace fs = std::filesystem;

namespace {

/// POSIX ustar: a block of 512 bytes of fields, then the contents in whole blocks.
Status addEntry(std::string &tar, const std::string &name, std::string_view bytes, bool isFolder) {
  std::string prefix, rest = name;
  if (rest.size() > 100) {
    size_t cut = name.rfind('/', 155);
    if (cut == std::string::npos || name.size() - cut - 1 > 100)
      return Error{name + ": this path is too long for an archive"};
    prefix = name.substr(0, cut);
    rest = name.substr(cut + 1);
  }
  std::string block(512, '\0');
  auto put = [&](size_t at, std::string_view text) { std::copy(text.begin(), text.end(), block.begin() + ptrdiff_t(at)); };
  put(0, rest);
  put(100, isFolder ? "0000755" : "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", bytes.size()));
  put(136, "00000000000");
  put(148, "        ");
  put(156, isFolder ? "5" : "0");
  put(257, std::string_view("ustar\00000", 8));
  put(345, prefix);
  unsigned sum = 0;
  for (unsigned char byte : block)
    sum += byte;
  put(148, fmt::format("{:06o}", sum));
  block[154] = '\0';
  tar += block;
  tar += bytes;
  tar.append((512 - bytes.size() % 512) % 512, '\0');
  return {};
}

} // namespace

Result<std::string> within(const std::vector<std::string> &roots, const std::string &path) {
  std::error_code error;
  fs::path real = fs::canonical(path, error);
  if (error)
    return Error{path + " is not there any more"};
  for (const std::string &root : roots) {
    fs::path top = fs::canonical(root, error);
    if (error)
      continue;
    if (std::mismatch(top.begin(), top.end(), real.begin(), real.end()).first == top.end())
      return real.string();
  }
  return Error{path + " lies outside of the results store and of the folder that is served"};
}

Result<std::string> archiveOf(const std::string &folder, uint64_t most) {
  std::error_code error;
  fs::path top = fs::canonical(folder, error);
  if (error || !fs::is_directory(top, error))
    return Error{folder + ": no such folder"};
  std::string tar, name = top.filename().string();
  if (Status status = addEntry(tar, name + "/", "", true); !status)
    return status.error();
  std::vector<fs::path> paths;
  for (fs::recursive_directory_iterator at(top, fs::directory_options::none, error), end; at != end && !error; at.increment(error))
    if (!at->is_symlink())
      paths.push_back(at->path());
  if (error)
    return Error{folder + ": " + error.message()};
  std::sort(paths.begin(), paths.end());
  for (const fs::path &path : paths) {
    std::string inside = name + "/" + path.lexically_relative(top).string();
    if (fs::is_directory(path, error)) {
      if (Status status = addEntry(tar, inside + "/", "", true); !status)
        return status.error();
    } else if (fs::is_regular_file(path, error)) {
      if (tar.size() + fs::file_size(path, error) > most)
        return Error{folder + ": more than " + std::to_string(most >> 20) + " MiB; copy the folder itself"};
      Result<FileContents> contents = readInput(path.string());
      if (!contents)
        return contents.error();
      if (Status status = addEntry(tar, inside, contents->bytes(), false); !status)
        return status.error();
    }
  }
  tar.append(1024, '\0');
  return tar;
}

} // namespace cupel::results::serve
