// A worker that misbehaves on request, for the tests of the runner: the test's file says in one
// line how far to go and what to do there ("execute segfault"). With what it does well it takes the
// same code as the real worker (serve), so that the faults are the only difference.

#include "cupel/testbench/worker/OwnProcesses.h"
#include "cupel/testbench/worker/Serve.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace cupel;
using namespace cupel::testbench::worker;
using results::Outcome;
using results::Stage;
using results::TestRecord;

namespace {

ServeOptions options;
bool isFirst = false; ///< Of the two servers of a test.
bool isGivenUp = false; ///< A device, by a test of this process.

/// By the signal also where a sanitizer would rather tell about it.
__attribute__((no_sanitize("undefined", "address"))) void crash() {
  std::signal(SIGSEGV, SIG_DFL);
  *static_cast<volatile int *>(nullptr) = 1;
}

[[noreturn]] void loop() {
  for (volatile uint64_t i = 0;; i = i + 1)
    ;
}

/// A process that nobody waits for and that holds every pipe; in a session of its own if `far`.
void leaveProcess(bool far, const std::string &mark, bool keep = false) {
  if (pid_t child = fork(); child != 0) {
    if (keep)
      keepProcess(child);
    // Not before it is really there.
    for (int number = 0, i = 0; i < 1000 && !(std::ifstream(mark) >> number); ++i)
      usleep(1000);
    return;
  }
  if (far) {
    setsid();
    if (fork() != 0)
      _exit(0);
  }
  std::ofstream(mark) << getpid();
  while (true)
    pause();
}

void allocate() {
  std::vector<char *> blocks;
  while (true) {
    constexpr size_t kBlock = 16 << 20;
    char *block = static_cast<char *>(std::malloc(kBlock));
    if (!block)
      std::abort();
    std::memset(block, 1, kBlock);
    blocks.push_back(block);
  }
}

/// So many MiB for a second.
void hold(size_t mebibytes) {
  std::vector<char> block(mebibytes << 20, 1);
  usleep(1'000'000);
  block[block.size() / 2] = 2; // Nothing may take it for unused.
}

void printMuch(uint64_t bytes) {
  std::string line(1 << 16, 'x');
  line.back() = '\n';
  for (uint64_t sent = 0; sent < bytes; sent += line.size())
    if (write(1, line.data(), line.size()) < 0)
      return;
}

/// Passes from the second time on; the times are counted in a file.
bool isFirstTime(const std::string &file) {
  bool first = access(file.c_str(), F_OK) != 0;
  std::ofstream(file) << "seen";
  return first;
}

TestRecord failed(const std::string &message) {
  TestRecord record;
  record.outcome = Outcome::Failed;
  record.errorClass = "fake";
  record.message = message;
  return record;
}

TestRecord act(const std::string &action, const std::string &argument, const std::string &device) {
  TestRecord record;
  record.outcome = Outcome::Passed;
  if (action == "fail")
    return failed("failed as asked");
  if (action == "segfault") {
    std::signal(SIGSEGV, SIG_DFL);
    crash();
  } else if (action == "abort") {
    std::abort();
  } else if (action == "exit") {
    _exit(std::atoi(argument.c_str()));
  } else if (action == "loop") {
    loop();
  } else if (action == "ignore-term") {
    std::signal(SIGTERM, SIG_IGN);
    loop();
  } else if (action == "allocate") {
    allocate();
  } else if (action == "hold") {
    hold(std::strtoull(argument.c_str(), nullptr, 10));
  } else if (action == "child") {
    leaveProcess(false, argument);
  } else if (action == "keep") {
    leaveProcess(false, argument, true);
  } else if (action == "expect-kept") {
    int process = 0;
    std::ifstream(argument) >> process;
    if (kill(process, 0) != 0)
      return failed("the process that the worker keeps is gone");
  } else if (action == "daemon") {
    leaveProcess(true, argument);
  } else if (action == "child-and-die") {
    leaveProcess(true, argument);
    usleep(50'000);
    std::abort();
  } else if (action == "child-and-loop") {
    leaveProcess(true, argument);
    loop();
  } else if (action == "print") {
    printMuch(std::strtoull(argument.c_str(), nullptr, 10));
  } else if (action == "say") {
    std::printf("%s\n", argument.c_str());
  } else if (action == "times") {
    record.stages = {{Stage::Load, std::strtod(argument.c_str(), nullptr)}, {Stage::Reference, 1}};
  } else if (action == "close-standard") {
    for (int i = 0; i < 3; ++i)
      close(i);
  } else if (action == "close-all") {
    for (int i = 0; i < 1024; ++i)
      close(i);
  } else if (action == "close-and-loop") {
    for (int i = 0; i < 1024; ++i)
      close(i);
    loop();
  } else if (action == "kill-parents-group") {
    kill(-getpgid(getppid()), SIGKILL);
    usleep(500'000);
  } else if (action == "kill-own-group") {
    kill(0, SIGKILL);
    usleep(500'000);
  } else if (action == "garbage") {
    [[maybe_unused]] ssize_t ignored = write(options.replies, "garbage garbage garbage", 23);
    usleep(500'000);
  } else if (action == "crash-later") {
    std::thread([] {
      usleep(30'000);
      std::abort();
    }).detach();
  } else if (action == "sleep") {
    usleep(useconds_t(std::atof(argument.c_str()) * 1e6));
  } else if (action == "flaky") {
    if (isFirstTime(argument))
      return failed("the first try fails");
  } else if (action == "flaky-crash") {
    if (isFirstTime(argument))
      std::abort();
  } else if (action == "break-device") {
    std::ofstream(device) << "broken";
    std::abort();
  } else if (action == "await") {
    while (access(argument.c_str(), F_OK) != 0)
      usleep(1000);
  } else if (action == "deaf-until") {
    // Hears no further request once the other worker is at its test, and is gone once the file is
    // there.
    while (access((argument + ".deaf.began").c_str(), F_OK) != 0)
      usleep(1000);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      return failed("no pipe");
    dup2(ends[0], options.requests);
    std::thread([argument] {
      usleep(300'000); // The next test is on its way by now.
      std::ofstream(argument + ".deaf") << "deaf";
      while (access(argument.c_str(), F_OK) != 0)
        usleep(1000);
      std::abort();
    }).detach();
  } else if (action == "break-device-after") {
    std::ofstream(argument + ".began") << "began";
    while (access(argument.c_str(), F_OK) != 0)
      usleep(1000);
    std::ofstream(device) << "broken";
    std::abort();
  } else if (action == "stop-guard") {
    kill(getppid(), SIGSTOP);
    std::abort();
  } else if (action == "change-surroundings") {
    setenv("FAKE_LEAK", "1", 1);
    [[maybe_unused]] int ignored = chdir("/");
    umask(0777);
  } else if (action == "give-up") {
    isGivenUp = true;
    record.notes[kGivenUpNote] = "fake did not answer in time";
  } else if (action == "expect-device") {
    if (isGivenUp)
      return failed("the device was given up in the test before");
  } else if (action == "expect-surroundings") {
    char folder[4096];
    if (std::getenv("FAKE_LEAK"))
      return failed("the environment of the test before is still there");
    if (!getcwd(folder, sizeof folder) || std::string(folder) == "/")
      return failed("the folder of the test before is still there");
    if (access("litter", F_OK) == 0)
      return failed("a file of the test before is still there");
    int file = open("litter", O_CREAT | O_WRONLY, 0644);
    struct stat status;
    if (fstat(file, &status) != 0 || (status.st_mode & 0777) != 0644)
      return failed("the umask of the test before is still there");
    close(file);
  } else if (action != "pass") {
    return failed("unknown action '" + action + "'");
  }
  return record;
}

/// Saves a test that failed, as the fourth word of its line says.
TestRecord keep(const KeepRequest &request, const std::string &how) {
  if (how == "keep-segfault")
    crash();
  if (how == "keep-loop")
    loop();
  TestRecord record;
  record.outcome = Outcome::Failed;
  if (how == "keep-refuse") {
    record.message = "it is too large";
    return record;
  }
  std::filesystem::create_directories(request.folder);
  std::ofstream(request.folder + "/how") << request.outcome << " " << request.stage;
  record.outcome = Outcome::Passed;
  record.reproduction = request.folder;
  record.notes["bytes"] = "1000";
  return record;
}

TestRecord handle(const Request &request, Progress &progress) {
  std::string stage, action, argument;
  if (request.kind == Request::Kind::Health) {
    // A device of the name FILE is good as long as that file is not there.
    TestRecord record;
    bool bad = access(request.device.c_str(), F_OK) == 0;
    record.outcome = bad ? Outcome::Failed : Outcome::Passed;
    record.message = bad ? "the fake device is broken" : "";
    return record;
  }
  std::string path = request.item.file;
  if (!path.starts_with('/'))
    path = request.folder + "/" + path;
  std::ifstream file(path);
  std::string line;
  // Either the line itself, or a comment in a program.
  while (std::getline(file, line) && !line.starts_with("// fake: ") && line.starts_with("//"))
    ;
  // Of two servers the second does what the second line says, if the first handed something over.
  if (request.item.suite == "opcases" && !isFirst) {
    if (request.handover.find("from the first") == std::string::npos)
      return failed("nothing was handed over");
    std::getline(file, line);
  }
  std::istringstream words(line.starts_with("// fake: ") ? line.substr(9) : line);
  words >> stage >> action >> argument;
  if (request.kind == Request::Kind::Keep) {
    std::string how;
    words >> how;
    return keep(request.keep, how);
  }
  for (Stage next : {Stage::Load, Stage::Frontend, Stage::Compile, Stage::Execute, Stage::Reference,
                     Stage::Compare}) {
    if (next != Stage::Load)
      progress.enter(next);
    if (results::name(next) != stage)
      continue;
    TestRecord record = act(action, argument, request.device);
    if (isFirst && record.outcome == Outcome::Passed)
      progress.handover = R"({"said":"from the first"})";
    return record;
  }
  TestRecord record;
  record.outcome = Outcome::Passed;
  return record;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  int protocol = kProtocolVersion;
  for (auto at = arguments.begin(); at != arguments.end();)
    if (*at == "serve") {
      at = arguments.erase(at);
    } else if (at->starts_with("--speak=")) {
      protocol = std::atoi(at->c_str() + 8);
      at = arguments.erase(at);
    } else if (*at == "--first") {
      isFirst = true;
      at = arguments.erase(at);
    } else if (*at == "--die") {
      std::fprintf(stderr, "this worker cannot start\n");
      return 3;
    } else {
      ++at;
    }
  Result<ServeOptions> parsed = ServeOptions::parse(arguments);
  if (!parsed) {
    std::fprintf(stderr, "%s\n", parsed.message().c_str());
    return 2;
  }
  options = *parsed;
  options.name = "fake worker";
  if (protocol != kProtocolVersion) {
    std::string frame = framed(encode(Hello{protocol, "an older fake worker"}));
    [[maybe_unused]] ssize_t ignored = write(options.replies, frame.data(), frame.size());
    usleep(1'000'000);
    return 0;
  }
  return serve(options, handle);
}
