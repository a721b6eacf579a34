// Feeds damaged `.pt2` archives to the reader and the importer: bytes of the file, fields of its
// JSON (with the archive around it intact), weights' configurations and pickles. Every input is
// made from a seed and its number, so that one that kills the process can be made again.
//
// usage: cupel_torch_fuzz [--count N] [--seed N] [--first N] [--write NUMBER FILE] FILE.pt2...
//
// Inputs run in a child process with limits on memory and time; a child that dies is a failure, and
// the next one goes on behind it. The last line is `N passed, N failed`.

#include "cupel/frontends/torch/Archive.h"
#include "cupel/frontends/torch/Import.h"
#include "cupel/ir/Dialects.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Zip.h"
#include "tests/torch/Mutations.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cupel;
using namespace cupel::frontends::torch_import;

namespace {

// One input may take this long before it counts as hanging.
constexpr unsigned kSecondsPerInput = 30;
#ifdef CUPEL_SANITIZED
constexpr rlim_t kMemory = RLIM_INFINITY; // The sanitizer reserves terabytes.
#else
constexpr rlim_t kMemory = rlim_t{6} << 30;
#endif

/// What parent and child share.
struct Progress {
  uint64_t current = 0, read = 0, imported = 0, refused = 0;
  char message[256] = {};
};

void run(const std::string &bytes, mlir::MLIRContext &context, Progress &progress) {
  tensor::SharedBytes file{{reinterpret_cast<const std::byte *>(bytes.data()), bytes.size()},
                           nullptr};
  Result<Archive> archive = Archive::parse(file, "input.pt2");
  if (!archive) {
    ++progress.refused;
    return;
  }
  for (const std::string &name : archive->programs()) {
    Result<Program> program = archive->program(name);
    if (!program) {
      if (program.message().empty() || program.message().find('\n') != std::string::npos)
        std::abort(); // Every refusal is one line that says something.
      ++progress.refused;
      return;
    }
    ++progress.read;
    ImportFailure failure;
    auto imported = importProgram(*program, context, {}, failure);
    if (!imported && failure.message.empty())
      std::abort();
    ++(imported ? progress.imported : progress.refused);
  }
}

[[noreturn]] void child(const torch_fuzz::Mutations &mutations, uint64_t seed, uint64_t first,
                        uint64_t end, Progress &progress) {
  rlimit memory{kMemory, kMemory};
  setrlimit(RLIMIT_AS, &memory);
  mlir::DialectRegistry registry;
  ir::registerAllDialects(registry);
  std::unique_ptr<mlir::MLIRContext> context;
  for (uint64_t i = first; i < end; ++i) {
    progress.current = i;
    if (!context || i % 128 == 0) {
      context =
          std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
      context->loadAllAvailableDialects();
      context->getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
    }
    alarm(kSecondsPerInput);
    run(mutations.make(seed, i), *context, progress);
    alarm(0);
  }
  progress.current = end;
  _exit(0);
}

} // namespace

int main(int argc, char **argv) {
  uint64_t count = 10000, seed = 1, first = 0;
  std::optional<uint64_t> wanted;
  std::string target;
  torch_fuzz::Mutations mutations;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    auto number = [&] { return i + 1 < argc ? std::strtoull(argv[++i], nullptr, 10) : 0; };
    if (argument == "--count") {
      count = number();
    } else if (argument == "--seed") {
      seed = number();
    } else if (argument == "--first") {
      first = number();
    } else if (argument == "--write") {
      wanted = number();
      target = i + 1 < argc ? argv[++i] : "";
    } else {
      if (Status status = mutations.add(argument); !status) {
        std::fprintf(stderr, "cupel_torch_fuzz: error: %s\n", status.message().c_str());
        return 2;
      }
    }
  }
  if (mutations.empty()) {
    std::fprintf(stderr, "usage: cupel_torch_fuzz [--count N] [--seed N] [--first N] "
                         "[--write NUMBER FILE] FILE.pt2...\n");
    return 2;
  }
  if (wanted)
    return writeOutput(target, mutations.make(seed, *wanted)) ? 0 : 1;
  auto *progress = static_cast<Progress *>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  new (progress) Progress;
  uint64_t failed = 0, end = first + count;
  for (uint64_t next = first; next < end;) {
    pid_t process = fork();
    if (process == 0)
      child(mutations, seed, next, end, *progress);
    int status = 0;
    waitpid(process, &status, 0);
    if (progress->current >= end)
      break;
    ++failed;
    const char *why = !WIFSIGNALED(status)          ? "ended the process"
                      : WTERMSIG(status) == SIGALRM ? "hangs"
                                                    : strsignal(WTERMSIG(status));
    std::printf("FAILED input %llu of seed %llu: %s (%s)\n",
                static_cast<unsigned long long>(progress->current),
                static_cast<unsigned long long>(seed), why,
                mutations.describe(seed, progress->current).c_str());
    std::fflush(stdout);
    next = progress->current + 1;
  }
  std::printf("%llu programs were read, %llu imported, %llu inputs refused\n",
              static_cast<unsigned long long>(progress->read),
              static_cast<unsigned long long>(progress->imported),
              static_cast<unsigned long long>(progress->refused));
  std::printf("%llu passed, %llu failed\n", static_cast<unsigned long long>(count - failed),
              static_cast<unsigned long long>(failed));
  return failed ? 1 : 0;
}
