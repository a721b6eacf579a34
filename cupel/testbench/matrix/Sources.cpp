#include "cupel/testbench/matrix/Sources.h"

#include "cupel/frontends/onnx/DataSets.h"
#include "cupel/frontends/torch/Archive.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/support/Files.h"
#include "cupel/testbench/GeneratedFolder.h"
#include "cupel/testbench/config/Yaml.h"
#include "cupel/testbench/opcases/Case.h"
#include "cupel/testbench/zoo/FolderWalk.h"
#include "cupel/testbench/zoo/Zoo.h"
#include "cupel/workload/Folder.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/stat.h>

namespace cupel::testbench::matrix {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxCaseFileBytes = config::YamlFile::kMaxBytes;

std::string absolute(const std::string &path) {
  std::error_code error;
  std::string full = fs::absolute(path, error).lexically_normal().string();
  while (full.size() > 1 && full.ends_with('/'))
    full.pop_back();
  return full;
}

std::string parentOf(const std::string &path) { return path.substr(0, path.rfind('/')); }

bool isBelow(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && (folder.ends_with('/') || path[folder.size()] == '/'));
}

/// Whether a chunk of text is a program: has anything but blanks and comments.
bool hasCode(std::string_view chunk) {
  while (!chunk.empty()) {
    size_t end = std::min(chunk.find('\n'), chunk.size() - 1) + 1;
    std::string_view line = chunk.substr(0, end);
    chunk.remove_prefix(end);
    size_t first = line.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && !line.substr(first).starts_with("//"))
      return true;
  }
  return false;
}

/// The first part has the file's id as it is.
TestFile::Part numberedPart(uint32_t number) {
  TestFile::Part part;
  part.part = number;
  if (number)
    part.suffix = fmt::format("#{}", number + 1);
  return part;
}

/// Of the programs of a text those that are more than blanks and comments, by their numbers.
std::vector<uint32_t> programNumbers(std::string_view text, const std::vector<std::string> &chunks) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < chunks.size() && !ir::isBytecode(text); ++i)
    if (hasCode(chunks[i]))
      numbers.push_back(i);
  // A file of nothing but comments is still listed: running it says what is wrong.
  if (numbers.empty())
    numbers.push_back(0);
  return numbers;
}

class Finder {
public:
  Finder(const SourceOptions &options, Sources &out) : options(options), out(out) {}

  Status run() {
    for (const std::string &zoo : options.zoos)
      if (Status status = loadersBelow(absolute(zoo)); !status)
        return status;
    std::vector<std::string> given;
    for (const std::string &path : options.paths)
      given.push_back(absolute(path));
    if (Status status = testsBelow(given, true); !status)
      return status;
    std::vector<std::string> cases;
    for (const std::string &path : options.opCases)
      cases.push_back(absolute(path));
    return testsBelow(cases, false);
  }

private:
  Status loadersBelow(const std::string &root) {
    struct stat info = {};
    if (stat(root.c_str(), &info) != 0)
      return Error{fmt::format("{}: {}", root, strerror(errno))};
    if (!S_ISDIR(info.st_mode))
      return Error{fmt::format("{}: a zoo is a folder", root)};
    zoo::walkFolder(
        root,
        [&](const zoo::WalkedFile &file) {
          if (file.name == "loader.py")
            loader(root, std::string(file.folder));
        },
        out.errors);
    return {};
  }

  void loader(const std::string &root, const std::string &folder) {
    if (folder.size() <= root.size())
      return;
    std::string_view framework = std::string_view(folder).substr(folder.rfind('/') + 1);
    if (std::find(options.frameworks.begin(), options.frameworks.end(), framework) ==
        options.frameworks.end())
      return;
    std::string modelPath = folder.substr(root.size() + (root == "/" ? 0 : 1));
    if (zoo::isExcludedLoader(modelPath)) {
      out.excludedLoaders.push_back(modelPath);
      return;
    }
    std::string file = folder + "/loader.py";
    if (seen.insert(file).second)
      out.loaders.push_back({root, std::move(file), std::move(modelPath)});
  }

  /// The root of the zoo that a loader's folder belongs to: a named one that contains it, else the
  /// nearest folder above with the loaders' base module, else what was given.
  std::string rootOf(const std::string &folder, const std::string &given) {
    for (const auto *list : {&options.zoos, &options.knownZoos})
      for (const std::string &zoo : *list)
        if (std::string root = absolute(zoo); isBelow(folder, root) && folder != root)
          return root;
    auto [place, isNew] = roots.try_emplace(given);
    if (isNew) {
      place->second = given;
      for (std::string current = given; current.size() > 1; current = parentOf(current)) {
        struct stat info = {};
        if (stat((current + "/base.py").c_str(), &info) == 0 &&
            stat((current + "/config.py").c_str(), &info) == 0) {
          place->second = current;
          break;
        }
        if (current.find('/', 1) == std::string::npos)
          break;
      }
    }
    return place->second;
  }

  Status testsBelow(const std::vector<std::string> &given, bool all) {
    if (given.empty())
      return {};
    // Ids are relative to the deepest folder that holds everything given.
    std::string common;
    std::vector<bool> isFolder;
    for (const std::string &path : given) {
      struct stat info = {};
      if (stat(path.c_str(), &info) != 0)
        return Error{fmt::format("{}: {}", path, strerror(errno))};
      isFolder.push_back(S_ISDIR(info.st_mode));
      std::string folder = isFolder.back() ? path : parentOf(path);
      if (folder.empty())
        folder = "/";
      if (common.empty())
        common = folder;
      while (!isBelow(folder, common))
        common = parentOf(common).empty() ? "/" : parentOf(common);
    }
    for (size_t i = 0; i < given.size(); ++i) {
      const std::string &path = given[i];
      if (!isFolder[i]) {
        size_t before = out.files.size() + out.loaders.size() + out.excludedLoaders.size();
        size_t errors = out.errors.size();
        file(parentOf(path), path.substr(path.rfind('/') + 1), parentOf(path), common, all);
        if (out.files.size() + out.loaders.size() + out.excludedLoaders.size() == before &&
            out.errors.size() == errors && !seen.contains(path))
          return Error{
              fmt::format("{}: this is no test: not a program, model, archive, loader of a "
                          "chosen framework or file of operator cases",
                          path)};
        continue;
      }
      zoo::walkFolder(
          path,
          [&](const zoo::WalkedFile &walked) {
            file(std::string(walked.folder), walked.name, path, common, all);
          },
          out.errors);
    }
    return {};
  }

  void file(const std::string &folder, std::string_view name, const std::string &given,
            const std::string &common, bool all) {
    auto full = [&] { return folder + "/" + std::string(name); };
    auto idOf = [&](const std::string &path) {
      return path.size() > common.size() ? path.substr(common.size() + (common == "/" ? 0 : 1))
                                         : path.substr(path.rfind('/') + 1);
    };
    bool mayBeOfWorkload = name.starts_with("program") || name.ends_with(".json");
    if (all && mayBeOfWorkload && isWorkload(folder)) {
      // What lies in it is no test of its own.
      add({&kindOf("workloads"), folder, idOf(folder), {{}}});
      return;
    }
    const Kind *kind = kindOfFile(name);
    if (!kind || kind->suite == "workloads" || (!all && kind->suite != "opcases"))
      return;
    if (kind->suite == "generated") {
      if (isGenerated(folder))
        add({kind, folder, idOf(folder), {{}}});
      return;
    }
    // The stages of generated code are no tests of their own, unless they are named.
    auto isInside = [&](const std::string &where) { return isBelow(where, given) && isGenerated(where); };
    if (isInside(folder) || isInside(parentOf(folder)))
      return;
    if (kind->suite == "opcases")
      opCases(kind, full(), idOf(full()));
    else if (kind->suite == "models")
      loader(rootOf(folder, given), folder);
    else if (kind->suite == "onnx")
      onnx(kind, folder, full(), idOf);
    else if (kind->suite == "pt2")
      add(archive(kind, full(), idOf(full())));
    else
      program(kind, full(), idOf(full()));
  }

  bool isGenerated(const std::string &folder) {
    auto [known, isNew] = generated.try_emplace(folder, false);
    if (isNew)
      known->second = isGeneratedFolder(folder);
    return known->second;
  }

  /// Files of a folder come one after another.
  bool isWorkload(const std::string &folder) {
    if (folder != lastFolder) {
      lastFolder = folder;
      lastIsWorkload = workload::isWorkloadFolder(folder);
    }
    return lastIsWorkload;
  }

  void program(const Kind *kind, const std::string &path, std::string id) {
    TestFile file{kind, path, std::move(id), {}};
    if (path.ends_with(".mlir") && !seen.contains(path)) {
      Result<FileContents> contents = readInput(path);
      if (!contents) {
        out.errors.push_back({"", 0, 0, contents.message()});
        return;
      }
      std::string_view text = contents->bytes();
      for (uint32_t number : programNumbers(text, ir::splitPrograms(text)))
        file.parts.push_back(numberedPart(number));
    } else {
      file.parts.emplace_back();
    }
    add(std::move(file));
  }

  void add(TestFile file) {
    if (seen.insert(file.file).second)
      out.files.push_back(std::move(file));
  }

  template <typename IdOf>
  void onnx(const Kind *kind, const std::string &folder, const std::string &path,
            const IdOf &idOf) {
    // In ONNX's own layout the folder is the test and each data set a case of it.
    bool isLayout = path.ends_with("/model.onnx");
    uint32_t sets = frontends::onnx_import::countDataSets(path);
    TestFile file{kind, path, isLayout ? idOf(folder) : idOf(path), {}};
    for (uint32_t i = 0; i < std::max(sets, 1u); ++i)
      file.parts.push_back(numberedPart(i));
    add(std::move(file));
  }

  /// Each program of an archive is a test; one that is alone, or that nobody named, has the
  /// archive's id. What cannot be read is a test too: running it says what is wrong.
  static TestFile archive(const Kind *kind, const std::string &path, std::string id) {
    namespace torch = frontends::torch_import;
    TestFile file{kind, path, std::move(id), {}};
    std::vector<std::string> programs = torch::programsIn(path);
    for (size_t i = 0; i < std::max<size_t>(programs.size(), 1); ++i) {
      TestFile::Part part;
      part.part = uint32_t(i);
      if (programs.size() > 1 && programs[i] != torch::kDefaultProgram)
        part.suffix = "#" + tensor::printable(programs[i]);
      file.parts.push_back(std::move(part));
    }
    return file;
  }

  void opCases(const Kind *kind, const std::string &path, std::string id) {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0 || static_cast<uint64_t>(info.st_size) > kMaxCaseFileBytes)
      return;
    Result<FileContents> contents = readInput(path, kMaxCaseFileBytes);
    if (!contents) {
      out.errors.push_back({"", 0, 0, contents.message()});
      return;
    }
    // Most YAML files are something else: only one with the key at the left margin is parsed.
    std::string_view text = contents->bytes();
    bool has = text.starts_with("cases:") || text.find("\ncases:") != std::string_view::npos;
    if (!has || !seen.insert(path).second)
      return;
    std::vector<config::Diagnostic> diagnostics;
    config::YamlFile yaml(path, std::string(text), diagnostics);
    if (!diagnostics.empty()) {
      out.errors.push_back(
          {path, diagnostics[0].line, diagnostics[0].column, diagnostics[0].message});
      return;
    }
    opcases::CaseFile cases = opcases::readCases(yaml);
    std::move(cases.problems.begin(), cases.problems.end(), std::back_inserter(out.errors));
    TestFile file{kind, path, std::move(id), {}};
    file.model = std::move(cases.model);
    for (opcases::Case &one : cases.cases) {
      TestFile::Part part;
      part.part = one.number;
      part.suffix = "#" + one.name;
      part.markers = std::move(one.marks);
      part.names = {one.op, file.model};
      part.key = one.key();
      part.signature = one.signature();
      part.op = std::move(one.op);
      part.rtol = one.rtol;
      part.atol = one.atol;
      file.parts.push_back(std::move(part));
    }
    if (!file.parts.empty())
      out.files.push_back(std::move(file));
  }

  const SourceOptions &options;
  Sources &out;
  std::set<std::string> seen;
  std::string lastFolder;
  bool lastIsWorkload = false;
  std::map<std::string, bool> generated;
  std::map<std::string, std::string> roots;
};

} // namespace

Result<std::vector<TestItem>> programsIn(const std::vector<std::string> &inputs) {
  std::vector<std::string> files;
  for (const std::string &input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      files.push_back(input);
      continue;
    }
    std::vector<Remark> problems;
    std::vector<std::string> found;
    zoo::walkFolder(
        input,
        [&](const zoo::WalkedFile &walked) {
          for (std::string_view ending : {".mlir", ".mlirbc", ".bc"})
            if (walked.name.ends_with(ending))
              found.push_back(std::string(walked.folder) + "/" + std::string(walked.name));
        },
        problems);
    if (!problems.empty())
      return Error{problems[0].text()};
    if (found.empty())
      return Error{input + ": no .mlir, .mlirbc or .bc file lies below this folder"};
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  std::vector<TestItem> items;
  for (const std::string &file : files) {
    Result<FileContents> contents = readInput(file);
    std::string_view text = contents ? contents->bytes() : std::string_view();
    std::vector<std::string> chunks = ir::splitPrograms(text);
    for (uint32_t number : programNumbers(text, chunks)) {
      TestItem item;
      item.suite = "programs";
      item.id = item.file = file;
      item.part = number;
      if (chunks.size() > 1) // Each is preceded by the line breaks that keep its place.
        item.id += fmt::format(":{}", std::min(chunks[number].find_first_not_of('\n'),
                                               chunks[number].size()) + 1);
      items.push_back(std::move(item));
    }
  }
  return items;
}

Result<Sources> findSources(const SourceOptions &options) {
  Sources sources;
  if (Status status = Finder(options, sources).run(); !status)
    return status.error();
  std::sort(sources.loaders.begin(), sources.loaders.end(),
            [](const LoaderSource &a, const LoaderSource &b) {
              return std::tie(a.root, a.modelPath) < std::tie(b.root, b.modelPath);
            });
  std::sort(sources.files.begin(), sources.files.end(), [](const TestFile &a, const TestFile &b) {
    return std::tie(a.kind, a.id) < std::tie(b.kind, b.id);
  });
  return sources;
}

} // namespace cupel::testbench::matrix
