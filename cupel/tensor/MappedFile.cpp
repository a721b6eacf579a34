#include "cupel/tensor/MappedFile.h"

#include "cupel/support/Files.h"
#include "cupel/tensor/MappedPages.h"

#include <cstdint>
#include <fcntl.h>
#include <iterator>
#include <linux/magic.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

namespace cupel::tensor {
namespace {

/// Where files are mapped now: pages of other memory would be lost if they were given back.
class Mappings {
public:
  void add(const void *address, size_t size, bool isOnDisk) {
    std::lock_guard lock(mutex);
    all[reinterpret_cast<uintptr_t>(address)] = {reinterpret_cast<uintptr_t>(address) + size, isOnDisk};
  }
  void remove(const void *address) {
    std::lock_guard lock(mutex);
    all.erase(reinterpret_cast<uintptr_t>(address));
  }
  void giveBack(std::span<const std::byte> bytes);
  bool contain(std::span<const std::byte> bytes) {
    auto begin = reinterpret_cast<uintptr_t>(bytes.data());
    std::lock_guard lock(mutex);
    return find(begin, begin + bytes.size()) != nullptr;
  }

private:
  struct Mapping {
    uintptr_t end = 0;
    bool isOnDisk = false; // Else the file lies in memory itself.
  };
  /// The one that has all of this, or null.
  const Mapping *find(uintptr_t begin, uintptr_t end) const {
    auto behind = all.upper_bound(begin);
    return behind != all.begin() && end <= std::prev(behind)->second.end ? &std::prev(behind)->second : nullptr;
  }

  std::mutex mutex;
  std::map<uintptr_t, Mapping> all; // by where they begin
};

/// Never destroyed: files of other globals may be unmapped later.
Mappings &mappings() {
  static Mappings &all = *new Mappings;
  return all;
}

/// Pages that hold nothing but these bytes; empty where there are none.
struct WholePages {
  uintptr_t begin, end;

  explicit WholePages(std::span<const std::byte> bytes) {
    auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto first = reinterpret_cast<uintptr_t>(bytes.data());
    begin = (first + page - 1) & ~(page - 1);
    end = (first + bytes.size()) & ~(page - 1);
  }
  bool isEmpty() const { return end <= begin; }
  void giveBack() const { ::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED); }
};

void Mappings::giveBack(std::span<const std::byte> bytes) {
  WholePages pages(bytes);
  if (pages.isEmpty())
    return;
  std::lock_guard lock(mutex); // Nobody unmaps the file meanwhile.
  // What lies in memory itself would stay there, and only be counted no longer.
  if (const Mapping *mapping = find(pages.begin, pages.end); mapping && mapping->isOnDisk)
    pages.giveBack();
}

} // namespace

void giveBackPages(std::span<const std::byte> bytes) { mappings().giveBack(bytes); }
bool areMapped(std::span<const std::byte> bytes) { return mappings().contain(bytes); }

std::span<const std::byte> contiguousBytes(const Tensor &tensor) {
  std::optional<int64_t> size = byteCount(tensor.dtype(), tensor.shape());
  if (!size || !tensor.data() || !tensor.isContiguous())
    return {};
  return {tensor.data(), size_t(*size)};
}

Result<SharedBytes> mapFile(const std::string &path) {
  int fd = path == "-" ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (fd >= 0 && ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    auto size = static_cast<size_t>(status.st_size);
    void *mapping = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping != MAP_FAILED) {
      struct statfs disk;
      mappings().add(mapping, size,
                     ::fstatfs(fd, &disk) == 0 && disk.f_type != TMPFS_MAGIC && disk.f_type != RAMFS_MAGIC);
      ::close(fd);
      return SharedBytes{{static_cast<const std::byte *>(mapping), size},
                         std::shared_ptr<const void>(mapping,
                                                     [size](const void *p) {
                                                       mappings().remove(p);
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
  WholePages pages(bytes);
  if (!isMapped || pages.isEmpty())
    return owner;
  // Others who read them get them from the file again.
  return std::shared_ptr<const void>(bytes.data(),
                                     [file = owner, pages](const void *) { pages.giveBack(); });
}

std::string printable(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 60))
    out += c >= ' ' && c <= '~' ? c : '?';
  return out;
}

} // namespace cupel::tensor
