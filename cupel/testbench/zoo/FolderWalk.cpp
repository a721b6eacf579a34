#include "cupel/testbench/zoo/FolderWalk.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::zoo {
namespace {

/// Deeper than any tree of tests; paths end to be usable somewhere beyond.
constexpr int kMaxFolderDepth = 256;

class Walk {
public:
  Walk(const std::function<void(const WalkedFile &)> &visit, std::vector<Remark> &problems)
      : visit(visit), problems(problems) {}

  void folder(int parent, const char *name, std::string &path, int depth) {
    auto problem = [&](int error) {
      problems.push_back(
          {path, 0, 0, fmt::format("the folder cannot be read: {}", strerror(error))});
    };
    if (depth > kMaxFolderDepth) {
      problems.push_back({path, 0, 0, "folders are nested too deeply; nothing below is looked at"});
      return;
    }
    int handle =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
    DIR *stream = handle < 0 ? nullptr : fdopendir(handle);
    if (!stream) {
      problem(errno);
      if (handle >= 0)
        close(handle);
      return;
    }
    std::vector<std::string> folders, files;
    const dirent *entry = nullptr;
    while ((errno = 0, entry = readdir(stream))) {
      std::string_view entryName = entry->d_name;
      unsigned char type = entry->d_type;
      if (type == DT_UNKNOWN) {
        struct stat info = {};
        if (fstatat(handle, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
          continue;
        type = S_ISDIR(info.st_mode)   ? DT_DIR
               : S_ISREG(info.st_mode) ? DT_REG
               : S_ISLNK(info.st_mode) ? DT_LNK
                                       : DT_UNKNOWN;
      }
      if (type == DT_DIR) {
        if (!entryName.starts_with('.') && entryName != "__pycache__")
          folders.emplace_back(entryName);
      } else if (type == DT_REG) {
        files.emplace_back(entryName);
      } else if (type == DT_LNK) {
        struct stat info = {};
        if (fstatat(handle, entry->d_name, &info, 0) == 0 && S_ISREG(info.st_mode))
          files.emplace_back(entryName);
      }
    }
    if (errno)
      problem(errno);
    std::sort(files.begin(), files.end());
    for (const std::string &file : files)
      visit({path, file});
    std::sort(folders.begin(), folders.end());
    for (const std::string &sub : folders) {
      size_t length = path.size();
      path += '/';
      path += sub;
      folder(handle, sub.c_str(), path, depth + 1);
      path.resize(length);
    }
    closedir(stream);
  }

private:
  const std::function<void(const WalkedFile &)> &visit;
  std::vector<Remark> &problems;
};

} // namespace

void walkFolder(const std::string &root, const std::function<void(const WalkedFile &)> &visit,
                std::vector<Remark> &problems) {
  std::string path = root;
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  Walk(visit, problems).folder(AT_FDCWD, root.c_str(), path, 0);
}

} // namespace cupel::testbench::zoo
