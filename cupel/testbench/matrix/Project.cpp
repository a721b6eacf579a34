#include "cupel/testbench/matrix/Project.h"

#include "cupel/support/Files.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/config/Yaml.h"

#include <filesystem>
#include <fmt/format.h>

namespace cupel::testbench::matrix {
namespace {

namespace fs = std::filesystem;
using config::YamlNode;

/// One key of the file and where its value goes.
struct Key {
  std::string_view name;
  std::vector<std::string> Project::*list = nullptr;
  bool isPath = true;
};

constexpr std::string_view kResults = "results", kComparison = "comparison", kSlurm = "slurm";
constexpr Key kKeys[] = {{"zoo", &Project::zoo},
                         {"programs", &Project::programs},
                         {"op_cases", &Project::opCases},
                         {"config", &Project::config},
                         {"architectures", &Project::architectures},
                         {"frameworks", &Project::frameworks, false},
                         {"markers", &Project::markers, false}};

} // namespace

std::string findProjectFile(const std::string &folder) {
  std::error_code error;
  fs::path current = fs::absolute(folder, error).lexically_normal();
  while (true) {
    if (fs::path file = current / kProjectFile; fs::is_regular_file(file, error))
      return file.string();
    if (!current.has_relative_path())
      return "";
    current = current.parent_path();
  }
}

Result<Project> readProject(const std::string &file) {
  Result<FileContents> contents = readInput(file, config::YamlFile::kMaxBytes);
  if (!contents)
    return contents.error();
  std::vector<config::Diagnostic> diagnostics;
  config::YamlFile yaml(file, std::string(contents->bytes()), diagnostics);
  if (!diagnostics.empty())
    return Error{config::render(diagnostics.front())};

  std::error_code error;
  Project project;
  project.file = fs::absolute(file, error).lexically_normal().string();
  project.folder = fs::path(project.file).parent_path().string();
  const YamlNode *root = yaml.root();
  if (!root || root->isNull())
    return project;
  auto wrong = [&](const YamlNode &at, std::string message) {
    return Error{fmt::format("{}:{}:{}: {}", file, at.line, at.column, message)};
  };
  if (!root->isMapping())
    return wrong(*root, "a project file is a mapping of names to paths, such as `zoo: models`");
  for (size_t i = 0; i < root->pairCount(); ++i) {
    const YamlNode &key = root->key(i), &value = root->value(i);
    std::string_view name = key.isScalar() ? key.text : std::string_view();
    for (size_t k = 0; k < i; ++k)
      if (root->key(k).isScalar() && root->key(k).text == name)
        return wrong(key, fmt::format("'{}' stands here a second time (first in line {})", name,
                                      root->key(k).line));
    auto text = [&](const YamlNode &node) -> Result<std::string> {
      std::optional<std::string_view> word = config::asText(node);
      if (!word || word->empty())
        return wrong(node, fmt::format("'{}' wants a path, not {}", name, config::describe(node)));
      return std::string(*word);
    };
    auto path = [&](const std::string &word) {
      return (fs::path(project.folder) / word).lexically_normal().string();
    };
    if (name == kResults) {
      Result<std::string> word = text(value);
      if (!word)
        return word.error();
      // The address of a database is no path.
      project.results = word->find("://") != std::string::npos ? *word : path(*word);
      continue;
    }
    if (name == kComparison) {
      Result<std::string> word = text(value);
      if (!word || (*word != "strict" && *word != "pcc"))
        return wrong(value, "'comparison' is strict (by the noise of each program) or pcc");
      project.comparison = *word;
      continue;
    }
    if (name == kSlurm)
      continue; // Whoever runs on Slurm reads its profiles.
    const Key *known = nullptr;
    for (const Key &candidate : kKeys)
      if (candidate.name == name)
        known = &candidate;
    if (!known) {
      std::vector<std::string_view> names = {kResults, kComparison, kSlurm};
      for (const Key &candidate : kKeys)
        names.push_back(candidate.name);
      std::string_view near = nearestWord(name, names);
      return wrong(key,
                   fmt::format("unknown name '{}'{}", name,
                               near.empty() ? fmt::format("; there are: {}", fmt::join(names, ", "))
                                            : fmt::format("; did you mean '{}'?", near)));
    }
    std::vector<std::string> &list = project.*(known->list);
    for (const YamlNode &node : value.oneOrMany()) {
      Result<std::string> word = text(node);
      if (!word)
        return word.error();
      std::string full = known->isPath ? path(*word) : *word;
      if (known->isPath && !fs::exists(full, error))
        return wrong(node, fmt::format("'{}' does not exist", full));
      while (known->isPath && full.size() > 1 && full.ends_with('/'))
        full.pop_back();
      list.push_back(std::move(full));
    }
  }
  return project;
}

Result<std::optional<Project>> currentProject() {
  std::string file = findProjectFile(".");
  if (file.empty())
    return std::optional<Project>();
  Result<Project> project = readProject(file);
  if (!project)
    return project.error();
  return std::optional<Project>(std::move(*project));
}

} // namespace cupel::testbench::matrix
