#include "cupel/support/ProcessTree.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace cupel {

namespace {

/// Nobody has more processes than this below a worker and means well.
constexpr size_t kMaxProcesses = 4096;

/// An open file that closes itself.
struct Descriptor {
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  int number;
};

/// The numbers in a file of numbers and spaces.
template <typename Number>
size_t readNumbers(int folder, const char *path, std::span<Number> into) {
  Descriptor file(openat(folder, path, O_RDONLY | O_CLOEXEC));
  if (file.number < 0)
    return 0;
  size_t count = 0;
  char buffer[4096];
  uint64_t value = 0;
  bool inside = false;
  for (ssize_t got; (got = read(file.number, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        value = value * 10 + uint64_t(buffer[i] - '0');
        inside = true;
      } else if (inside) {
        if (count < into.size())
          into[count++] = Number(value);
        value = 0;
        inside = false;
      }
    }
  if (inside && count < into.size())
    into[count++] = Number(value);
  return count;
}

/// A directory entry as the kernel writes it; opendir() would allocate.
struct KernelEntry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[];
};

void sleepMilliseconds(long milliseconds) {
  timespec time{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  nanosleep(&time, nullptr);
}

} // namespace

bool hasEnded(pid_t process) {
  char path[64], buffer[512];
  std::snprintf(path, sizeof path, "/proc/%d/stat", int(process));
  Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
  if (file.number < 0)
    return true;
  ssize_t got = read(file.number, buffer, sizeof buffer - 1);
  if (got <= 0)
    return true;
  buffer[got] = 0;
  const char *end = std::strrchr(buffer, ')'); // The name before it may hold anything.
  return !end || (end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X'));
}

size_t childrenOf(pid_t process, std::span<pid_t> into) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", int(process));
  Descriptor folder(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.number < 0)
    return 0;
  size_t count = 0;
  alignas(KernelEntry) char buffer[4096];
  for (long got; (got = syscall(SYS_getdents64, folder.number, buffer, sizeof buffer)) > 0;)
    for (long at = 0; at < got;) {
      auto *entry = reinterpret_cast<const KernelEntry *>(buffer + at);
      at += entry->length;
      if (entry->name[0] < '0' || entry->name[0] > '9')
        continue;
      std::snprintf(path, sizeof path, "%.20s/children", entry->name);
      count += readNumbers(folder.number, path, into.subspan(count));
    }
  return count;
}

size_t descendantsOf(pid_t process, std::span<pid_t> into, std::span<const pid_t> leftOut) {
  auto childrenLeftIn = [&](pid_t parent, std::span<pid_t> where) {
    size_t found = childrenOf(parent, where), count = 0;
    for (size_t i = 0; i < found; ++i)
      if (std::ranges::find(leftOut, where[i]) == leftOut.end())
        where[count++] = where[i];
    return count;
  };
  size_t count = childrenLeftIn(process, into);
  for (size_t next = 0; next < count; ++next)
    count += childrenLeftIn(into[next], into.subspan(count));
  return count;
}

bool killDescendants(pid_t process, int patienceMilliseconds, pid_t spare,
                     std::span<const pid_t> leftOut) {
  static thread_local std::array<pid_t, kMaxProcesses> found;
  for (int waited = 0;; ++waited) {
    size_t count = descendantsOf(process, found, leftOut), alive = 0;
    // Stopped first, so that none forks while the others die.
    for (int signal : {SIGSTOP, SIGKILL})
      for (size_t i = 0; i < count; ++i)
        if (found[i] != spare)
          kill(found[i], signal);
    for (size_t i = 0; i < count; ++i)
      alive += found[i] != spare && !hasEnded(found[i]);
    if (!alive)
      return true;
    if (waited >= patienceMilliseconds)
      return false;
    sleepMilliseconds(1);
  }
}

uint64_t residentBytes(pid_t process, bool shared) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/statm", int(process));
  std::array<uint64_t, 3> numbers{}; // Pages: of the address space, in memory, shared.
  if (readNumbers<uint64_t>(AT_FDCWD, path, numbers) != 3)
    return 0;
  static const uint64_t pageSize = uint64_t(sysconf(_SC_PAGESIZE));
  uint64_t resident = numbers[1];
  return (shared ? resident : resident - std::min(numbers[2], resident)) * pageSize;
}

uint64_t residentBytesOfTree(pid_t process) {
  std::array<pid_t, 256> below;
  uint64_t total = residentBytes(process, true);
  size_t count = descendantsOf(process, below);
  for (size_t i = 0; i < count; ++i)
    total += residentBytes(below[i], false);
  return total;
}

std::optional<uint64_t> availableMemory() {
  std::FILE *file = std::fopen("/proc/meminfo", "re");
  if (!file)
    return std::nullopt;
  std::optional<uint64_t> bytes;
  char line[128];
  unsigned long long kibibytes = 0;
  while (!bytes && std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "MemAvailable: %llu", &kibibytes) == 1)
      bytes = uint64_t{kibibytes} << 10;
  std::fclose(file);
  return bytes;
}

bool hasRoomFor(uint64_t bytes) {
  constexpr uint64_t kSmall = uint64_t{1} << 28;
  return bytes < kSmall || bytes <= availableMemory().value_or(bytes);
}

} // namespace cupel
