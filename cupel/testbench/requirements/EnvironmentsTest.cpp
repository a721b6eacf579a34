// Environments made from wheels that the test makes itself: no network.

#include "cupel/testbench/requirements/Environments.h"

#include "cupel/support/Files.h"
#include "cupel/support/Process.h"
#include "cupel/support/Sha256.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace cupel;
using namespace cupel::testbench::requirements;
namespace fs = std::filesystem;

namespace {

// A wheel is a zip file with a module, METADATA, WHEEL and RECORD.
constexpr const char *kMakeWheel = R"py(
import sys, zipfile
folder, name, version, *requires = sys.argv[1:]
info = f"{name}-{version}.dist-info"
files = {
    f"{name}/__init__.py": f"version = {version!r}\n",
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires),
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tool = {name}:main\n",
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{folder}/{name}-{version}-py3-none-any.whl", "w") as wheel:
    for path, text in files.items():
        wheel.writestr(path, text)
)py";

std::string run(const std::vector<std::string> &words) {
  Result<CommandOutput> output = runCommand(words, std::chrono::seconds(120));
  EXPECT_TRUE(output) << output.message();
  EXPECT_EQ(output->exitCode, 0) << output->text;
  std::string text = output->text;
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

/// Names and contents of everything below a folder.
std::string digest(const fs::path &folder) {
  std::vector<std::string> names;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.is_symlink() && entry.path().extension() != ".pyc")
      names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  Sha256 hash;
  for (const std::string &name : names) {
    hash.update(name);
    if (Result<FileContents> contents = readInput(name))
      hash.update(contents->bytes());
  }
  return hash.finish();
}

class Environments : public testing::Test {
protected:
  /// A base environment with demo 1.0 and helper 1.0, and wheels of more; made once for all tests.
  static void SetUpTestSuite() {
    python = findOnPath("python3");
    if (python.empty())
      return;
    std::string pattern = fs::temp_directory_path() / "cupel-requirements-XXXXXX";
    root = ::mkdtemp(pattern.data());
    fs::create_directories(root + "/wheels");
    auto wheel = [&](std::vector<std::string> arguments) {
      std::vector<std::string> words = {python, "-c", kMakeWheel, root + "/wheels"};
      words.insert(words.end(), arguments.begin(), arguments.end());
      run(words);
    };
    wheel({"demo", "1.0"});
    wheel({"demo", "2.0"});
    wheel({"helper", "1.0"});
    wheel({"needy", "1.0", "absent_package"});
    wheel({"chained", "1.0", "demo==2.0"});
    // With the pip of the machine's Python, which is quicker than another one.
    Result<CommandOutput> made = runCommand(
        {python, "-m", "venv", "--without-pip", "--system-site-packages", root + "/base"},
        std::chrono::seconds(120));
    if (!made || made->exitCode != 0)
      return;
    std::string interpreter = root + "/base/bin/python";
    Result<CommandOutput> pip =
        runCommand({interpreter, "-m", "pip", "--version"}, std::chrono::seconds(120));
    if (!pip || pip->exitCode != 0)
      return;
    base = interpreter;
    run({base, "-m", "pip", "install", "--no-index", "--find-links", root + "/wheels",
         "--disable-pip-version-check", "--quiet", "demo==1.0", "helper"});
  }
  static void TearDownTestSuite() {
    std::error_code error;
    if (!root.empty())
      fs::remove_all(root, error);
  }

  void SetUp() override {
    if (base.empty())
      GTEST_SKIP() << "needs python3 with venv and pip";
    ::unsetenv("CUPEL_DISABLE_MODEL_REQS");
    ::unsetenv("TT_XLA_DISABLE_MODEL_REQS");
    ::unsetenv("TT_XLA_REQS_DEBUG");
    folder = root + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    options.cacheFolder = folder + "/cache";
    options.basePython = base;
    options.pipArguments = {"--no-index", "--find-links", root + "/wheels"};
    options.timeoutSeconds = 120;
    options.log = [this](std::string_view line) { log.emplace_back(line); };
  }

  /// A loader's folder with these files.
  std::string loader(const std::string &name,
                     const std::vector<std::pair<std::string, std::string>> &files) {
    std::string place = folder + "/" + name + "/pytorch";
    fs::create_directories(place);
    for (const auto &[file, text] : files)
      std::ofstream(place + "/" + file) << text;
    return place;
  }

  static std::string imported(const std::string &interpreter, const std::string &module) {
    return run({interpreter, "-c", "import " + module + "; print(" + module + ".version)"});
  }

  static inline std::string python, root, base;
  std::string folder;
  EnvironmentOptions options;
  std::vector<std::string> log;
};

TEST_F(Environments, ALoaderWithoutRequirementsUsesTheBase) {
  Result<std::string> found = pythonFor(loader("plain", {{"loader.py", ""}}), options);
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(*found, base);
  EXPECT_FALSE(fs::exists(options.cacheFolder));
  // As upstream has it: other lists alone count for nothing.
  found = pythonFor(loader("lists", {{"requirements.nodeps.txt", "demo==2.0\n"}}), options);
  EXPECT_EQ(*found, base);
}

TEST_F(Environments, IsLayeredOnTheBaseAndLeavesItAlone) {
  std::string before = digest(root + "/base");
  std::string place = loader("newer", {{"requirements.txt", "demo == 2.0  # >= 1; not < 2\n"}});
  ::setenv("TT_XLA_REQS_DEBUG", "1", 1);
  Result<std::string> found = pythonFor(place, options);
  ::unsetenv("TT_XLA_REQS_DEBUG");
  ASSERT_TRUE(found) << found.message();
  ASSERT_GE(log.size(), 3u);
  EXPECT_TRUE(log[1].starts_with("python -m venv (")) << log[1];
  EXPECT_TRUE(log[2].starts_with("pip install -r requirements.txt (")) << log[2];
  EXPECT_NE(*found, base);
  EXPECT_EQ(imported(*found, "demo"), "2.0");
  EXPECT_EQ(imported(*found, "helper"), "1.0"); // The base's.
  EXPECT_EQ(imported(base, "demo"), "1.0");
  EXPECT_EQ(digest(root + "/base"), before);
  // A script of a package runs in the place it was moved to.
  std::string script = fs::path(*found).parent_path() / "demo-tool";
  Result<FileContents> text = readInput(script);
  ASSERT_TRUE(text) << text.message();
  EXPECT_EQ(text->bytes().find(".tmp/"), std::string_view::npos) << text->bytes();

  // Again, and from another loader that asks for the same: found, not made.
  auto made = fs::last_write_time(script);
  options.verbose = true;
  std::string same = loader("same", {{"requirements.txt", "demo == 2.0  # >= 1; not < 2\n"}});
  EXPECT_EQ(*pythonFor(same, options), *found);
  EXPECT_EQ(fs::last_write_time(script), made);
  auto list = listEnvironments(options.cacheFolder);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ((*list)[0].description, "demo == 2.0");
  EXPECT_TRUE((*list)[0].inUse);
  EXPECT_GT((*list)[0].bytes, 1000u);
}

TEST_F(Environments, KnowsAllLists) {
  std::string place =
      loader("lists", {{"requirements.txt", "helper\n"},
                       {"requirements.nodeps.txt", "needy\n"},
                       {"requirements.nodeps.nobuildisolation.txt", "chained\n"},
                       {"system-requirements.txt", "no-such-debian-package-xyz\n"}});
  Result<std::string> found = pythonFor(place, options);
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(imported(*found, "needy"), "1.0");   // Its dependency does not exist.
  EXPECT_EQ(imported(*found, "chained"), "1.0"); // And its own is not followed.
  EXPECT_EQ(imported(*found, "demo"), "1.0");
  if (!findOnPath("dpkg-query").empty()) {
    ASSERT_EQ(log.size(), 1u);
    EXPECT_NE(log[0].find("sudo apt-get install no-such-debian-package-xyz"), std::string::npos);
  }
}

TEST_F(Environments, HidesWhatIsToBeUninstalledFirst) {
  std::string place = loader("without", {{"requirements.txt", "chained\n"},
                                         {"uninstall_first.txt", "# not this one\nHelper\n"}});
  std::string before = digest(root + "/base");
  Result<std::string> found = pythonFor(place, options);
  ASSERT_TRUE(found) << found.message();
  Result<CommandOutput> output = runCommand({*found, "-c", "import helper"});
  ASSERT_TRUE(output);
  EXPECT_NE(output->exitCode, 0);
  EXPECT_NE(output->text.find("No module named 'helper'"), std::string::npos) << output->text;
  EXPECT_EQ(imported(*found, "demo"), "2.0"); // With its dependency this time.
  EXPECT_EQ(imported(base, "helper"), "1.0");
  EXPECT_EQ(digest(root + "/base"), before);
}

TEST_F(Environments, EachLoaderIsToldOfItsOwnFolder) {
  const std::string asks = "no_such_package==8\n";
  for (const char *name : {"asks_first", "asks_again"}) {
    std::string place = loader(name, {{"requirements.txt", asks}});
    Result<std::string> found = pythonFor(place, options);
    ASSERT_FALSE(found);
    EXPECT_TRUE(found.message().starts_with("requirements: " + place + ": pip install"))
        << found.message();
  }
}

TEST_F(Environments, WhatGitSaidStandsFirst) {
  std::string place = loader(
      "cloned", {{"requirements.txt", "git+file://" + root + "/no_such_repository.git@abc\n"}});
  if (Result<CommandOutput> git = runCommand({"git", "--version"}, std::chrono::seconds(60));
      !git || git->exitCode != 0)
    GTEST_SKIP() << "needs git";
  Result<std::string> found = pythonFor(place, options);
  ASSERT_FALSE(found);
  EXPECT_NE(found.message().find("failed with exit code 1: fatal: '" + root +
                                 "/no_such_repository.git' does not appear to be a git repository"),
            std::string::npos)
      << found.message();
  EXPECT_EQ(found.message().find("subprocess"), std::string::npos) << found.message();
  EXPECT_EQ(found.message().find("See above"), std::string::npos) << found.message();
}

TEST_F(Environments, AFailingInstallIsAnErrorWithPipsLastLines) {
  std::string place = loader("broken", {{"requirements.txt", "no_such_package==9\n"}});
  Result<std::string> found = pythonFor(place, options);
  ASSERT_FALSE(found);
  EXPECT_TRUE(found.message().starts_with("requirements: " + place)) << found.message();
  EXPECT_NE(found.message().find("pip install -r requirements.txt failed"), std::string::npos);
  EXPECT_NE(found.message().find("No matching distribution found for no_such_package==9"),
            std::string::npos)
      << found.message();
  EXPECT_EQ(found.message().find('\n'), std::string::npos);
  EXPECT_TRUE(listEnvironments(options.cacheFolder)->empty());
  for (const auto &entry : fs::directory_iterator(options.cacheFolder))
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  // Every variant of the model hears the same, without another attempt.
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(pythonFor(place, options).message(), found.message());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(100));
}

TEST_F(Environments, ChangedFilesMakeAnotherOne) {
  std::string place =
      loader("included", {{"requirements.txt", "-r more.txt\n"}, {"more.txt", "demo==1.0\n"}});
  auto first = readRequirements(place);
  std::ofstream(place + "/more.txt") << "demo==2.0\n";
  auto second = readRequirements(place);
  ASSERT_TRUE(first && second);
  EXPECT_NE((*first)->contents, (*second)->contents);
  // A circle of includes ends.
  std::ofstream(place + "/more.txt") << "-r requirements.txt\n--requirement=more.txt\n";
  EXPECT_TRUE(readRequirements(place));
  std::ofstream(place + "/more.txt") << "-c nowhere.txt\n";
  auto missing = readRequirements(place);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.message().find("nowhere.txt: no such file"), std::string::npos);
}

TEST_F(Environments, PackagesBesideALoaderAreItsOwn) {
  auto contentsOf = [](const std::string &place) {
    auto found = readRequirements(place);
    EXPECT_TRUE(found) << found.message();
    return found ? (*found)->contents : std::string();
  };
  auto put = [](const std::string &file, std::string_view text) {
    fs::create_directories(fs::path(file).parent_path());
    std::ofstream(file) << text;
  };
  int number = 0;
  for (std::string line : {"./package", "-e ./package  # in place", "--editable=package/",
                           "mine @ file:package/", "./package[more] ; python_version > '3'"}) {
    std::string name = "own" + std::to_string(number++);
    std::string first = loader(name, {{"requirements.txt", line + "\n"}});
    std::string second = loader(name + "too", {{"requirements.txt", line + "\n"}});
    put(first + "/package/mine/__init__.py", "VERSION = 1");
    put(second + "/package/mine/__init__.py", "VERSION = 1");
    std::string before = contentsOf(first);
    EXPECT_EQ(before, contentsOf(second)) << line;
    put(second + "/package/mine/__init__.py", "VERSION = 2");
    EXPECT_NE(before, contentsOf(second)) << line;
    put(first + "/package/build/lib/mine.py", "made by pip");
    put(first + "/package/mine.egg-info/PKG-INFO", "made by pip");
    EXPECT_EQ(before, contentsOf(first)) << line;
    put(first + "/package/mine/more.py", "");
    EXPECT_NE(before, contentsOf(first)) << line;
  }
  // What is a name stays one, whatever lies beside it.
  std::string named = loader("named", {{"requirements.txt", "package\n-f wheels/\n./nowhere\n"}});
  std::string before = contentsOf(named);
  put(named + "/package/mine.py", "");
  EXPECT_EQ(before, contentsOf(named));
}

TEST_F(Environments, ReasonsStandBeforeWhatElsePipSays) {
  std::string place = loader("loud", {{"requirements.txt", "./package\n"},
                                      {"requirements.nodeps.txt", "no_such_package==9\n"}});
  fs::create_directories(place + "/package");
  std::ofstream(place + "/package/setup.py")
      << "import sys\nprint('error: no compiler here', file=sys.stderr)\n"
         "for i in range(3): print('about line', i, file=sys.stderr)\nsys.exit(1)\n";
  Result<std::string> found = pythonFor(place, options);
  ASSERT_FALSE(found);
  std::string said = found.message().substr(found.message().find("exit code 1: ") + 13);
  EXPECT_TRUE(said.starts_with("error:") || said.starts_with("ERROR:")) << found.message();
}

TEST_F(Environments, CanBeTurnedOff) {
  std::string place = loader("off", {{"requirements.txt", "demo==2.0\n"}});
  for (const char *name : {"CUPEL_DISABLE_MODEL_REQS", "TT_XLA_DISABLE_MODEL_REQS"}) {
    ::setenv(name, "1", 1);
    EXPECT_EQ(*pythonFor(place, options), base);
    ::setenv(name, "0", 1);
    EXPECT_FALSE(disabledByEnvironment());
    ::unsetenv(name);
  }
  EXPECT_FALSE(fs::exists(options.cacheFolder));
}

TEST_F(Environments, ManyProcessesMakeItOnce) {
  std::string place = loader("many", {{"requirements.txt", "demo==2.0\n"}});
  std::string counter = folder + "/made";
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    pid_t child = ::fork();
    if (child == 0) {
      options.verbose = true;
      bool made = false;
      options.log = [&](std::string_view line) { made |= line.starts_with("making "); };
      Result<std::string> found = pythonFor(place, options);
      ::_exit(!found ? 2 : made ? 1 : 0);
    }
    children.push_back(child);
  }
  int makers = 0;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
    makers += WEXITSTATUS(status);
  }
  EXPECT_EQ(makers, 1);
}

TEST_F(Environments, AKilledMakerLeavesNothingThatCounts) {
  std::string place = loader("killed", {{"requirements.txt", "demo==2.0\n"}});
  for (int delay : {20, 150, 400}) {
    pid_t child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);
      ::_exit(pythonFor(place, options) ? 0 : 1);
    }
    ::usleep(useconds_t(delay) * 1000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  Result<std::string> found = pythonFor(place, options);
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(imported(*found, "demo"), "2.0");
}

TEST_F(Environments, TheLeastRecentlyUsedGoFirst) {
  auto environment = [&](const char *name, int bytes, int age) {
    fs::path path = fs::path(options.cacheFolder) / name;
    fs::create_directories(path / "bin");
    std::ofstream(path / "cupel-environment") << bytes << "\n" << name << "==1\n";
    fs::last_write_time(path / "cupel-environment",
                        fs::file_time_type::clock::now() - std::chrono::hours(age));
  };
  environment("old", 100, 3);
  environment("held", 100, 2);
  environment("newer", 100, 1);
  environment("newest", 100, 0);
  fs::create_directories(options.cacheFolder + "/half.tmp/bin"); // Of a maker that was killed.
  int holder = ::open((options.cacheFolder + "/held.lock").c_str(), O_RDWR | O_CREAT, 0666);
  ASSERT_EQ(::flock(holder, LOCK_SH), 0);

  auto list = listEnvironments(options.cacheFolder);
  ASSERT_TRUE(list) << list.message();
  ASSERT_EQ(list->size(), 4u);
  EXPECT_EQ((*list)[0].key, "newest");
  EXPECT_EQ((*list)[0].description, "newest==1");
  EXPECT_EQ((*list)[3].key, "old");
  EXPECT_TRUE((*list)[2].inUse);
  EXPECT_FALSE((*list)[3].inUse);
  auto removed = trimEnvironments(options.cacheFolder, 400);
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->empty());
  removed = trimEnvironments(options.cacheFolder, 250);
  ASSERT_TRUE(removed) << removed.message();
  ASSERT_EQ(removed->size(), 2u);
  EXPECT_EQ((*removed)[0].key, "old");
  EXPECT_EQ((*removed)[1].key, "newer"); // The one between is in use.
  EXPECT_FALSE(fs::exists((*removed)[0].path));
  removed = trimEnvironments(options.cacheFolder, 0);
  ASSERT_EQ(removed->size(), 1u);
  EXPECT_TRUE(fs::exists(options.cacheFolder + "/held/bin"));
  ::close(holder);
  EXPECT_EQ(trimEnvironments(options.cacheFolder, 0)->size(), 1u);
  EXPECT_TRUE(listEnvironments(folder + "/none")->empty());
}

TEST_F(Environments, AHangingInstallEnds) {
  // A package that never finishes building; pip and what it started are killed.
  std::string source = folder + "/hangs";
  fs::create_directories(source);
  std::ofstream(source + "/setup.py") << "import time\ntime.sleep(1000)\n";
  std::string place = loader("hang", {{"requirements.txt", source + "\n"}});
  options.timeoutSeconds = 3;
  options.pipArguments.push_back("--no-build-isolation");
  auto begin = std::chrono::steady_clock::now();
  Result<std::string> found = pythonFor(place, options);
  ASSERT_FALSE(found);
  EXPECT_NE(found.message().find("did not end within 3 s"), std::string::npos) << found.message();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

} // namespace
