#include "cupel/testbench/requirements/Build.h"

#include "cupel/support/Files.h"
#include "cupel/testbench/requirements/Command.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <unistd.h>

namespace cupel::testbench::requirements {

namespace fs = std::filesystem;

namespace {

// Prints what describeBase reads: packages first, then folders, then whether there is pip.
constexpr const char *kDescribe = R"py(
import importlib.metadata, importlib.util, os, sys
print("python", sys.version.split()[0], sys.implementation.cache_tag, os.path.realpath(sys.executable), sys.prefix)
for name in sorted({f"{d.metadata['Name']}=={d.version}" for d in importlib.metadata.distributions()}):
    print("dist", name)
for path in sys.path:
    if os.path.basename(path) in ("site-packages", "dist-packages") and os.path.isdir(path):
        print("site", path)
if importlib.util.find_spec("pip"):
    print("pip")
)py";

// Prints the top-level names in a site-packages folder that belong to distributions.
constexpr const char *kFilesOf = R"py(
import importlib.metadata, os, re, sys
folder, wanted = sys.argv[1], {re.sub(r"[-_.]+", "-", name).lower() for name in sys.argv[2:]}
for d in importlib.metadata.distributions(path=[folder]):
    if re.sub(r"[-_.]+", "-", d.metadata["Name"] or "").lower() not in wanted:
        continue
    names = {str(f).split("/")[0] for f in d.files or ()}
    names |= set((d.read_text("top_level.txt") or "").split())
    path = getattr(d, "_path", None)
    if path is not None:
        names.add(os.path.basename(str(path)))
    for name in sorted(names):
        if name not in ("..", "__pycache__", ""):
            print(name)
            print(name + ".py")
)py";

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> list;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
      line.remove_suffix(1);
    if (!line.empty())
      list.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

/// A line without what pip puts in front of the lines of others.
std::string_view bare(std::string_view line) {
  return line.substr(std::min(line.find_first_not_of(" \t|"), line.size()));
}

/// Whether a line of pip, or of what it runs, says what went wrong.
bool saysWhy(const std::string &line) {
  std::string_view words = bare(line);
  return words.starts_with("ERROR:") || words.starts_with("error:") || words.starts_with("fatal:");
}

/// Whether a line is progress, advice, or pip's word that somebody else has said what went wrong.
bool saysNothing(const std::string &line) {
  std::string_view words = bare(line);
  return words.starts_with("[notice]") ||
         words.find("WARNING: Running pip as") != std::string_view::npos ||
         words == "error: subprocess-exited-with-error" ||
         words.starts_with("note: This error originates from a subprocess") ||
         words.ends_with("See above for output.");
}

/// The last lines in one, those that say what went wrong before the others: reports cut long texts.
/// What git or a compiler said stands before all that pip has to say of it, and is looked for
/// farther up.
std::string lastLines(const std::string &output, size_t most = 6) {
  std::vector<std::string> all = lines(output);
  std::erase_if(all, saysNothing);
  std::vector<std::string> kept;
  auto keep = [&](const std::string &line) {
    std::string words(bare(line));
    if (kept.size() < most && std::ranges::find(kept, words) == kept.end())
      kept.push_back(std::move(words));
  };
  constexpr size_t kFarther = 4;
  const size_t first = all.size() - std::min(all.size(), kFarther * most);
  for (size_t i = first; i < all.size(); ++i)
    if (saysWhy(all[i]))
      keep(all[i]);
  for (size_t i = all.size() - std::min(all.size(), most); i < all.size(); ++i)
    keep(all[i]);
  std::string text;
  for (const std::string &line : kept)
    text += (text.empty() ? "" : " | ") + line;
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text;
}

/// Ours without what would lead Python elsewhere or let pip ask questions.
std::vector<std::string> cleanEnvironment() {
  std::vector<std::string> list;
  for (char **entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    std::string_view name = text.substr(0, text.find('='));
    if (name != "PYTHONPATH" && name != "PYTHONHOME" && name != "PIP_REQUIRE_VIRTUALENV" &&
        name != "PIP_TARGET" && name != "PIP_PREFIX" && name != "PIP_USER" &&
        name != "VIRTUAL_ENV" && name != "PYTHONSTARTUP")
      list.emplace_back(text);
  }
  list.push_back("PIP_NO_INPUT=1");
  list.push_back("PIP_DISABLE_PIP_VERSION_CHECK=1");
  list.push_back("PYTHONNOUSERSITE=1");
  return list;
}

Result<std::string> runOrExplain(const std::vector<std::string> &words, const std::string &folder,
                                 uint32_t timeout, const std::string &what) {
  Command command;
  command.words = words;
  command.folder = folder;
  command.environment = cleanEnvironment();
  command.timeoutSeconds = timeout;
  Result<CommandEnd> end = runToEnd(command);
  if (!end)
    return end.error().within(what);
  if (end->timedOut)
    return Error{what + " did not end within " + std::to_string(timeout) +
                 " s: " + lastLines(end->output)};
  if (end->exitCode != 0)
    return Error{what + " failed with exit code " + std::to_string(end->exitCode) + ": " +
                 lastLines(end->output)};
  return std::move(end->output);
}

/// Text that stands inside '...' in Python.
std::string pythonText(const std::string &text) {
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\\' || c == '\'')
      quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

/// The names in a list of requirements, without versions.
std::vector<std::string> namesIn(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string &line : lines(text)) {
    size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '#' || line[begin] == '-')
      continue;
    size_t end = begin;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) ||
                                 line[end] == '-' || line[end] == '_' || line[end] == '.'))
      ++end;
    if (end > begin)
      names.push_back(line.substr(begin, end - begin));
  }
  return names;
}

/// A folder of links to everything in `site` but what belongs to the distributions in `hidden`.
Status makeLayer(const BaseEnvironment &base, const std::string &site,
                 const std::vector<std::string> &hidden, const fs::path &layer) {
  std::vector<std::string> words = {base.python, "-c", kFilesOf, site};
  words.insert(words.end(), hidden.begin(), hidden.end());
  Result<std::string> output = runOrExplain(words, "", 60, "asking for the files of packages");
  if (!output)
    return output.error();
  std::set<std::string> leftOut;
  for (std::string &name : lines(*output))
    leftOut.insert(std::move(name));
  std::error_code error;
  fs::create_directories(layer, error);
  for (const fs::directory_entry &entry : fs::directory_iterator(site, error)) {
    std::string name = entry.path().filename();
    if (!leftOut.contains(name))
      fs::create_symlink(entry.path(), layer / name, error);
    if (error)
      return Error{(layer / name).string() + ": cannot be made: " + error.message()};
  }
  return {};
}

/// What names the folder it was made in must name the one it will be in.
Status moveNames(const fs::path &folder, const std::string &from, const std::string &to) {
  std::vector<fs::path> files = {folder / "pyvenv.cfg"};
  std::error_code error;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder / "bin", error))
    if (entry.is_regular_file() && !entry.is_symlink())
      files.push_back(entry.path());
  // The file that leads to the layer.
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder / "lib", error)) {
    if (entry.path().filename() == "_cupel_base.pth")
      files.push_back(entry.path());
  }
  for (const fs::path &path : files) {
    Result<FileContents> contents = readInput(path);
    if (!contents)
      continue;
    std::string text(contents->bytes());
    // Programs in machine code do not name it in a way that could be put right.
    if (text.starts_with("\x7f"
                         "ELF") ||
        text.find(from) == std::string::npos)
      continue;
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
    if (Status status = writeOutput(path, text); !status)
      return status;
  }
  return {};
}

} // namespace

void say(const EnvironmentOptions &options, const std::string &line) {
  if (options.log)
    options.log(line);
  else
    std::fprintf(stderr, "requirements: %s\n", line.c_str());
}

Result<BaseEnvironment> describeBase(const std::string &python) {
  static std::mutex mutex;
  static std::map<std::string, BaseEnvironment> known;
  std::lock_guard guard(mutex);
  if (auto found = known.find(python); found != known.end())
    return found->second;
  BaseEnvironment base;
  base.python = python;
  Result<std::string> output =
      runOrExplain({python, "-c", kDescribe}, "", 60, "asking " + python + " for its packages");
  if (!output)
    return output.error();
  for (const std::string &line : lines(*output)) {
    if (line.starts_with("site "))
      base.folders.push_back(line.substr(5));
    else if (line == "pip")
      base.hasPip = true;
    base.fingerprint += line + "\n";
  }
  return known.emplace(python, std::move(base)).first->second;
}

Status build(const Requirements &requirements, const BaseEnvironment &base,
             const EnvironmentOptions &options, const std::string &folder,
             const std::string &final) {
  auto step = [&](const std::vector<std::string> &words, const std::string &what) -> Status {
    auto begin = std::chrono::steady_clock::now();
    Result<std::string> output =
        runOrExplain(words, requirements.folder, options.timeoutSeconds, what);
    if (options.verbose) {
      std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%.1f s", took.count());
      say(options, what + (output ? "" : " FAILED") + " (" + seconds + ")");
    }
    return output ? Status() : Status(Error{output.message()});
  };

  // Without a pip of its own: the base's installs into it.
  std::vector<std::string> make = {base.python, "-m", "venv", folder};
  if (base.hasPip)
    make.insert(make.begin() + 3, "--without-pip");
  if (Status status = step(make, "python -m venv"); !status)
    return status;

  std::string python = folder + "/bin/python";
  Result<std::string> site =
      runOrExplain({python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"}, "", 60,
                   "asking the new environment for its folder");
  if (!site)
    return site.error();
  std::string own = lines(*site).empty() ? "" : lines(*site).front();

  std::vector<std::string> below = base.folders;
  if (!requirements.uninstallFirst.empty()) {
    Result<FileContents> text = readInput(requirements.uninstallFirst);
    if (!text)
      return text.error();
    std::vector<std::string> hidden = namesIn(text->bytes());
    for (size_t i = 0; i < below.size(); ++i) {
      fs::path layer = fs::path(folder) / ("base" + std::to_string(i));
      if (Status status = makeLayer(base, below[i], hidden, layer); !status)
        return status;
      below[i] = layer;
    }
  }
  // Behind our own packages; with the base's own .pth files.
  std::string pth = "import site;";
  for (const std::string &path : below)
    pth += " site.addsitedir(" + pythonText(path) + ");";
  if (Status status = writeOutput(own + "/_cupel_base.pth", pth + "\n"); !status)
    return status;

  std::vector<std::string> pip =
      base.hasPip
          ? std::vector<std::string>{base.python, "-m", "pip", "--python", python, "install"}
          : std::vector<std::string>{python, "-m", "pip", "install"};
  pip.insert(pip.end(), options.pipArguments.begin(), options.pipArguments.end());
  auto install = [&](const std::string &file, std::vector<std::string> more) -> Status {
    if (file.empty())
      return {};
    std::vector<std::string> words = pip;
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("-r");
    words.push_back(file);
    std::string what = "pip install";
    for (const std::string &word : more)
      what += " " + word;
    return step(words, what + " -r " + fs::path(file).filename().string());
  };
  if (Status status = install(requirements.install, {}); !status)
    return status;
  if (Status status = install(requirements.noDeps, {"--no-deps"}); !status)
    return status;
  if (Status status = install(requirements.noBuildIsolation, {"--no-deps", "--no-build-isolation"});
      !status)
    return status;
  return moveNames(folder, folder, final);
}

} // namespace cupel::testbench::requirements
