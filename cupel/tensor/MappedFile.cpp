#include "cupel/tensor/MappedFile.h"

#include "cupel/support/Files.h"

#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::tensor {

Result<SharedBytes> mapFile(const std::string &path) {
  int fd = path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    auto size = static_cast<size_t>(status.st_size);
    void *mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping != MAP_FAILED) {
      ::close(fd);
      return SharedBytes{{static_cast<const std::byte *>(mapping), size},
                         std::shared_ptr<const void>(mapping, [size](const void *p) {
                           ::munmap(const_cast<void *>(p), size);
                         }),
                         true};
    }
  }
  if (fd >= 0)
    ::close(fd);
  // Everything unusual, missing files included: the ordinary reader, which says what is wrong.
  Result<FileContents> contents = readInput(path, UINT64_MAX / 2);
  if (!contents)
    return contents.error();
  auto kept = std::make_shared<FileContents>(std::move(*contents));
  std::string_view text = kept->bytes();
  return SharedBytes{{reinterpret_cast<const std::byte *>(text.data()), text.size()}, kept};
}

std::shared_ptr<const void> SharedBytes::ownerOfPart() const {
  auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  uintptr_t begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) & ~(page - 1);
  uintptr_t end = (reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size()) & ~(page - 1);
  if (!isMapped || end <= begin)
    return owner;
  // Pages that hold nothing but these bytes; others who read them get them from the file again.
  return std::shared_ptr<const void>(bytes.data(), [file = owner, begin, end](const void *) {
    ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
  });
}

std::string printable(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 60))
    out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

} // namespace cupel::tensor
