#include "cupel/compiler/backends/cpu/LaunchWatch.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace cupel::compiler {

namespace {

/// Memory between two pages that nobody may touch.
class GuardedMemory {
public:
  GuardedMemory(int64_t size, bool isAtEnd) {
    auto page = size_t(sysconf(_SC_PAGESIZE));
    size_t inner = (size_t(size) + page - 1) / page * page;
    whole = inner + 2 * page;
    void *mapped = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      return;
    base = static_cast<std::byte *>(mapped);
    if (inner != 0 && mprotect(base + page, inner, PROT_READ | PROT_WRITE) != 0)
      return;
    memory = base + page + (isAtEnd ? inner - size_t(size) : 0);
  }
  ~GuardedMemory() {
    if (base)
      munmap(base, whole);
  }
  GuardedMemory(const GuardedMemory &) = delete;
  GuardedMemory &operator=(const GuardedMemory &) = delete;

  std::byte *get() const { return memory; } // Null if there was none.

private:
  std::byte *base = nullptr, *memory = nullptr;
  size_t whole = 0;
};

class GuardPages final : public LaunchWatch {
public:
  explicit GuardPages(bool isAtEnd) : isAtEnd(isAtEnd) {}

  Status run(const Kernel &kernel, LaunchContext &context, const LaunchMemory &memory) override {
    // What runs other programs hands their launches on to here.
    if (!kernel.programs().empty())
      return kernel.run(context, memory.reads, memory.writes);
    // What is written in place of what is read is one memory here as well.
    std::map<const std::byte *, std::unique_ptr<GuardedMemory>> copies;
    std::vector<const std::byte *> reads;
    std::vector<std::byte *> writes;
    bool isOut = false;
    auto guarded = [&](const std::byte *from, int64_t bytes, bool isRead) {
      auto &copy = copies[bytes == 0 ? nullptr : from];
      if (!copy) {
        copy = std::make_unique<GuardedMemory>(bytes, isAtEnd);
        isOut |= !copy->get();
        if (isRead && copy->get() && bytes != 0)
          std::memcpy(copy->get(), from, size_t(bytes));
      }
      return copy->get();
    };
    for (size_t i = 0; i < memory.reads.size(); ++i)
      reads.push_back(guarded(memory.reads[i], memory.bytes[i], true));
    for (size_t i = 0; i < memory.writes.size(); ++i)
      writes.push_back(guarded(memory.writes[i], memory.bytes[memory.reads.size() + i], false));
    GuardedMemory workspace(kernel.workspaceBytes() + 63, false); // Aligned, as kernels expect.
    if (isOut || !workspace.get())
      return Error{ErrorCode::OutOfMemory, "there is no memory for guarded copies"};
    LaunchContext guardedContext{context.process, context.arguments, workspace.get()};
    if (Status status = kernel.run(guardedContext, reads, writes); !status)
      return status;
    for (size_t i = 0; i < memory.writes.size(); ++i)
      if (int64_t bytes = memory.bytes[memory.reads.size() + i]; bytes != 0)
        std::memcpy(memory.writes[i], writes[i], size_t(bytes));
    return {};
  }

private:
  bool isAtEnd;
};

} // namespace

std::unique_ptr<LaunchWatch> makeGuardPages(bool isAtEnd) {
  return std::make_unique<GuardPages>(isAtEnd);
}

LaunchWatch *guardPages() {
  static LaunchWatch *const watch = []() -> LaunchWatch * {
    const char *wanted = std::getenv("CUPEL_GUARD_PAGES");
    if (!wanted || !*wanted)
      return nullptr;
    return makeGuardPages(std::string_view(wanted) != "begin").release();
  }();
  return watch;
}

} // namespace cupel::compiler
