#include "cupel/testbench/requirements/Environments.h"

#include "cupel/support/Files.h"
#include "cupel/support/Process.h"
#include "cupel/support/Sha256.h"
#include "cupel/testbench/requirements/Build.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cupel::testbench::requirements {

namespace fs = std::filesystem;

namespace {

/// Of what decides an environment beside its inputs; raised when `build` changes.
constexpr const char *kFormat = "cupel-environment-1\n";
constexpr const char *kMarker = "cupel-environment"; ///< In a finished one: size and description.

/// A lock file of one environment, held by whoever makes it (alone) or uses it (shared).
class Lock {
public:
  Lock() = default;
  Lock(Lock &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Lock &operator=(Lock &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Lock() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  static Result<Lock> open(const std::string &path) {
    Lock lock;
    lock.descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock.descriptor < 0)
      return Error{path + ": cannot be made: " + std::strerror(errno)};
    return lock;
  }
  bool tryAlone() { return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0; }
  void alone() { wait(LOCK_EX); }
  void shared() { wait(LOCK_SH); }

private:
  void wait(int operation) {
    while (::flock(descriptor, operation) != 0 && errno == EINTR) {
    }
  }
  int descriptor = -1;
};

uint64_t bytesBelow(const fs::path &folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder, error);
       it != fs::recursive_directory_iterator(); it.increment(error)) {
    struct stat info;
    if (::lstat(it->path().c_str(), &info) == 0)
      bytes += uint64_t(info.st_blocks) * 512;
    if (error)
      break;
  }
  return bytes;
}

/// The first lines that name something, for lists.
std::string describe(const Requirements &requirements) {
  std::string text;
  for (const std::string &path :
       {requirements.install, requirements.noDeps, requirements.noBuildIsolation}) {
    Result<FileContents> contents =
        path.empty() ? Result<FileContents>(Error{"none"}) : readInput(path);
    if (!contents)
      continue;
    std::string_view rest = contents->bytes();
    while (!rest.empty() && text.size() < 100) {
      size_t end = std::min(rest.find('\n'), rest.size());
      std::string_view line = rest.substr(0, end);
      line = line.substr(0, line.find('#'));
      while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
        line.remove_suffix(1);
      if (!line.empty())
        text += (text.empty() ? "" : " ") + std::string(line);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return text.substr(0, 100);
}

void touch(const fs::path &path) { ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0); }

double modifiedAt(const fs::path &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0
             ? double(info.st_mtim.tv_sec) + double(info.st_mtim.tv_nsec) * 1e-9
             : 0;
}

/// Debian packages that are asked for and not installed, for a line in the log.
void mentionSystemPackages(const Requirements &requirements, const EnvironmentOptions &options) {
  std::string dpkg = findOnPath("dpkg-query");
  if (requirements.system.empty() || dpkg.empty())
    return;
  Result<FileContents> contents = readInput(requirements.system);
  if (!contents)
    return;
  std::string missing;
  for (std::string_view rest = contents->bytes(); !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    name = name.substr(0, name.find_first_of("#= \t\r"));
    if (name.empty() || name.front() == '-')
      continue;
    Result<CommandOutput> status = runCommand({dpkg, "-W", "-f", "${Status}", "--", name});
    if (status && status->text.find("install ok installed") == std::string::npos)
      missing += " " + name;
  }
  if (!missing.empty())
    say(options, "system-requirements.txt asks for Debian packages that are not installed: sudo "
                 "apt-get install" +
                     missing);
}

/// What makers and removers that were killed left of this environment; whoever calls holds its
/// lock.
void removeLeftovers(const fs::path &path) {
  std::error_code error;
  std::string prefix = path.filename().string() + ".tmp";
  std::vector<fs::path> doomed = {path};
  for (const fs::directory_entry &entry : fs::directory_iterator(path.parent_path(), error))
    if (entry.path().filename().string().starts_with(prefix))
      doomed.push_back(entry.path());
  for (const fs::path &each : doomed)
    fs::remove_all(each, error);
}

struct Held {
  std::mutex mutex;
  std::map<std::string, Lock> locks;           ///< By path: used until this process ends.
  std::map<std::string, std::string> failures; ///< By path: what pip said.
};
Held &held() {
  static Held instance;
  return instance;
}

Result<std::string> makeOrFind(const Requirements &requirements, const BaseEnvironment &base,
                               const EnvironmentOptions &options, const std::string &path) {
  Result<Lock> lock = Lock::open(path + ".lock");
  if (!lock)
    return lock.error();
  std::string marker = path + "/" + kMarker;
  std::error_code error;
  lock->shared();
  if (!fs::exists(marker, error)) {
    // A shared lock is given up before it can be had alone: look again afterwards.
    if (!lock->tryAlone()) {
      say(options, "waiting for another process that makes this environment");
      lock->alone();
    }
    if (!fs::exists(marker, error)) {
      // A name of our own: what a killed maker started may still be writing to its folder.
      std::string temporary = path + ".tmp" + std::to_string(::getpid());
      removeLeftovers(path);
      if (options.verbose)
        say(options, "making " + path + " for " + requirements.folder);
      Status status = build(requirements, base, options, temporary, path);
      if (status)
        status = writeOutput(temporary + "/" + kMarker, std::to_string(bytesBelow(temporary)) +
                                                            "\n" + describe(requirements) + "\n");
      if (status && ::rename(temporary.c_str(), path.c_str()) != 0)
        status = Error{path + ": cannot be put in place: " + std::strerror(errno)};
      if (!status) {
        fs::remove_all(temporary, error);
        return status.error();
      }
      lock->shared();
      if (Result<std::vector<CachedEnvironment>> removed =
              trimEnvironments(options.cacheFolder, options.limitBytes);
          removed && options.verbose)
        for (const CachedEnvironment &old : *removed)
          say(options, "removed " + old.path + ", which was not used for longest");
    } else {
      lock->shared();
    }
  } else if (options.verbose) {
    say(options, "found " + path + " for " + requirements.folder);
  }
  touch(marker);
  held().locks.insert_or_assign(path, std::move(*lock));
  return path + "/bin/python";
}

} // namespace

Result<std::string> pythonFor(const std::string &loaderFolder, const EnvironmentOptions &given) {
  EnvironmentOptions options = given;
  options.verbose = options.verbose || verboseByEnvironment();
  if (disabledByEnvironment()) {
    if (options.verbose)
      say(options, "turned off by an environment variable");
    return options.basePython;
  }
  Result<std::optional<Requirements>> requirements = readRequirements(loaderFolder);
  if (!requirements)
    return requirements.error();
  if (!*requirements)
    return options.basePython;
  Result<BaseEnvironment> base = describeBase(options.basePython);
  if (!base)
    return Error{"requirements: " + base.message()};
  std::error_code error;
  fs::create_directories(options.cacheFolder, error);
  fs::path cache = fs::canonical(options.cacheFolder, error);
  if (error)
    return Error{"requirements: " + options.cacheFolder + ": " + error.message()};
  options.cacheFolder = cache;

  std::string arguments;
  for (const std::string &word : options.pipArguments)
    arguments += word + "\n";
  std::string key =
      sha256(kFormat + (*requirements)->contents + "\n" + base->fingerprint + arguments)
          .substr(0, 32);
  std::string path = cache / key;
  std::lock_guard guard(held().mutex);
  // What failed is shared by all loaders that ask for the same; each is told of its own folder.
  const std::string where = "requirements: " + (*requirements)->folder + ": ";
  if (auto failed = held().failures.find(path); failed != held().failures.end())
    return Error{where + failed->second};
  if (held().locks.contains(path))
    return path + "/bin/python";
  mentionSystemPackages(**requirements, options);
  Result<std::string> python = makeOrFind(**requirements, *base, options, path);
  if (python)
    return python;
  held().failures[path] = python.message();
  return Error{where + python.message()};
}

Result<std::vector<CachedEnvironment>> listEnvironments(const std::string &cacheFolder) {
  std::vector<CachedEnvironment> list;
  std::error_code error;
  if (!fs::exists(cacheFolder, error))
    return list;
  for (const fs::directory_entry &entry : fs::directory_iterator(cacheFolder, error)) {
    fs::path marker = entry.path() / kMarker;
    std::error_code ignored;
    if (!entry.is_directory(ignored) || entry.path().extension().string().starts_with(".tmp") ||
        !fs::exists(marker, ignored))
      continue;
    CachedEnvironment found;
    found.key = entry.path().filename();
    found.path = entry.path();
    found.lastUsed = modifiedAt(marker);
    if (Result<FileContents> contents = readInput(marker)) {
      std::string_view text = contents->bytes();
      size_t end = std::min(text.find('\n'), text.size());
      found.bytes = std::strtoull(std::string(text.substr(0, end)).c_str(), nullptr, 10);
      text.remove_prefix(std::min(end + 1, text.size()));
      found.description = text.substr(0, text.find('\n'));
    }
    if (Result<Lock> lock = Lock::open(found.path + ".lock"))
      found.inUse = !lock->tryAlone();
    list.push_back(std::move(found));
  }
  if (error)
    return Error{cacheFolder + ": cannot be read: " + error.message()};
  std::sort(list.begin(), list.end(), [](const CachedEnvironment &a, const CachedEnvironment &b) {
    return a.lastUsed > b.lastUsed;
  });
  return list;
}

Result<std::vector<CachedEnvironment>> trimEnvironments(const std::string &cacheFolder,
                                                        uint64_t limitBytes) {
  Result<std::vector<CachedEnvironment>> list = listEnvironments(cacheFolder);
  if (!list)
    return list;
  uint64_t total = 0;
  for (const CachedEnvironment &each : *list)
    total += each.bytes;
  std::vector<CachedEnvironment> removed;
  for (auto oldest = list->rbegin(); oldest != list->rend() && total > limitBytes; ++oldest) {
    Result<Lock> lock = Lock::open(oldest->path + ".lock");
    if (!lock || !lock->tryAlone())
      continue; // Somebody works with it.
    // Out of sight first: a half-removed one must never be found.
    std::string doomed = oldest->path + ".tmp" + std::to_string(::getpid());
    std::error_code error;
    fs::remove_all(doomed, error);
    if (::rename(oldest->path.c_str(), doomed.c_str()) != 0)
      return Error{oldest->path + ": cannot be removed: " + std::strerror(errno)};
    fs::remove_all(doomed, error);
    if (error)
      return Error{doomed + ": cannot be removed: " + error.message()};
    total -= std::min(total, oldest->bytes);
    removed.push_back(*oldest);
  }
  return removed;
}

} // namespace cupel::testbench::requirements
