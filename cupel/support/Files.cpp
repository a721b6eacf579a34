#include "cupel/support/Files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel {
namespace {

/// Small files are cheaper to copy than to map.
constexpr size_t kMapFromBytes = size_t{1} << 20;

class FileDescriptor {
public:
  explicit FileDescriptor(int fd, bool owned = true) : fd(fd), owned(owned) {}
  ~FileDescriptor() {
    if (owned && fd >= 0)
      ::close(fd);
  }
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  int get() const { return fd; }
  /// Closes now; false if the kernel reports a late write error.
  bool close() {
    int closing = std::exchange(fd, -1);
    return ::close(closing) == 0;
  }

private:
  int fd;
  bool owned;
};

std::string humanSize(uint64_t bytes) {
  static constexpr const char *kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[64];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

Error tooLarge(const std::string &name, uint64_t maxBytes, uint64_t size) {
  std::string what = size ? "is " + humanSize(size) : "goes on";
  return {name + ": " + what + ", beyond the " + humanSize(maxBytes) +
          " that Cupel reads from one file"};
}

Error failed(const std::string &name, const char *action, int error) {
  return {name + ": cannot " + action + ": " + std::strerror(error)};
}

Result<FileContents> readToEnd(int fd, const std::string &name, size_t expected,
                               uint64_t maxBytes) {
  std::string bytes;
  size_t used = 0;
  bytes.resize(expected + 1);
  while (true) {
    if (used == bytes.size())
      bytes.resize(bytes.size() * 2);
    ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return failed(name, "read", errno);
    if (got == 0)
      break;
    used += static_cast<size_t>(got);
    if (used > maxBytes)
      return tooLarge(name, maxBytes, 0);
  }
  bytes.resize(used);
  return FileContents(std::move(bytes));
}

bool writeAll(int fd, std::span<const std::string_view> pieces) {
  for (std::string_view bytes : pieces)
    while (!bytes.empty()) {
      ssize_t put = ::write(fd, bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR)
        continue;
      if (put < 0)
        return false;
      bytes.remove_prefix(static_cast<size_t>(put));
    }
  return true;
}

/// The mode a newly created file would get.
mode_t defaultMode() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

Status writeInPlace(const std::string &path, const std::string &name,
                    std::span<const std::string_view> pieces) {
  bool isStdout = path == "-";
  FileDescriptor fd(isStdout ? STDOUT_FILENO : ::open(path.c_str(), O_WRONLY | O_CLOEXEC),
                    !isStdout);
  if (fd.get() < 0)
    return failed(name, "open for writing", errno);
  if (!writeAll(fd.get(), pieces))
    return failed(name, "write", errno);
  return {};
}

} // namespace

FileContents::FileContents(FileContents &&other) noexcept
    : owned(std::move(other.owned)), mapping(std::exchange(other.mapping, nullptr)),
      mappingSize(other.mappingSize) {}

FileContents &FileContents::operator=(FileContents &&other) noexcept {
  std::swap(owned, other.owned);
  std::swap(mapping, other.mapping);
  std::swap(mappingSize, other.mappingSize);
  return *this;
}

FileContents::~FileContents() {
  if (mapping)
    ::munmap(const_cast<char *>(mapping), mappingSize);
}

std::string displayName(const std::string &path) { return path == "-" ? "<stdin>" : path; }

Result<FileContents> readInput(const std::string &path, uint64_t maxBytes) {
  std::string name = displayName(path);
  bool isStdin = path == "-";
  FileDescriptor fd(isStdin ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC), !isStdin);
  if (fd.get() < 0) {
    if (errno == ENOENT)
      return Error{name + ": no such file"};
    return failed(name, "open", errno);
  }
  struct stat info;
  if (::fstat(fd.get(), &info) != 0)
    return failed(name, "read", errno);
  if (S_ISDIR(info.st_mode))
    return Error{name + ": is a directory, not a file"};
  if (!S_ISREG(info.st_mode))
    return readToEnd(fd.get(), name, 1 << 16, maxBytes);

  uint64_t size = static_cast<uint64_t>(info.st_size);
  if (size > maxBytes)
    return tooLarge(name, maxBytes, size);
  // A mapping ends in zeros up to the page's end, which gives the NUL byte unless the size is a
  // multiple of the page's.
  bool endsInsidePage = size % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) != 0;
  if (size >= kMapFromBytes && endsInsidePage && !isStdin) {
    void *mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (mapping != MAP_FAILED)
      return FileContents(static_cast<const char *>(mapping), size);
  }
  return readToEnd(fd.get(), name, size, maxBytes);
}

Status writeOutput(const std::string &path, std::string_view bytes) {
  return writeOutput(path, std::span(&bytes, 1));
}

Status writeOutput(const std::string &path, std::span<const std::string_view> pieces) {
  if (path == "-")
    return writeInPlace(path, "<stdout>", pieces);
  struct stat info;
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return Error{path + ": is a directory, not a file"};
  if (exists && !S_ISREG(info.st_mode))
    return writeInPlace(path, path, pieces);

  std::string temporary = path + ".XXXXXX";
  FileDescriptor fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (fd.get() < 0)
    return failed(path, "create", errno);
  ::fchmod(fd.get(), exists ? info.st_mode & 07777 : defaultMode());
  bool written = writeAll(fd.get(), pieces) && fd.close();
  if (written && ::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  int error = errno;
  ::unlink(temporary.c_str());
  return failed(path, "write", error);
}

} // namespace cupel
