#include "cupel/testbench/matrix/Collect.h"

#include "cupel/results/Suites.h"
#include "cupel/support/Text.h"
#include "cupel/testbench/config/TestId.h"
#include "cupel/testbench/matrix/NamedTests.h"
#include "cupel/testbench/matrix/Project.h"
#include "cupel/testbench/matrix/Select.h"
#include "cupel/testbench/matrix/Sources.h"
#include "cupel/testbench/matrix/Table.h"
#include "cupel/testbench/selection/Keywords.h"
#include "cupel/testbench/selection/Names.h"
#include "cupel/testbench/selection/Preset.h"
#include "cupel/testbench/selection/Shards.h"
#include "cupel/testbench/zoo/Zoo.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <thread>
#include <unordered_set>

namespace cupel::testbench::matrix {

using selection::Expression;
using selection::ItemSet;

namespace {

std::string cacheFolder(const CollectOptions &options) {
  if (!options.useCache)
    return "";
  if (!options.cache.empty())
    return options.cache;
  if (const char *given = getenv("CUPEL_CACHE"); given && *given)
    return given;
  if (const char *common = getenv("XDG_CACHE_HOME"); common && *common)
    return std::string(common) + "/cupel";
  const char *home = getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/cupel" : "";
}

bool existsOnDisk(const std::string &path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0;
}

} // namespace

Collection::Collection() : tests(std::make_unique<Table>()) {}
Collection::Collection(Collection &&) noexcept = default;
Collection &Collection::operator=(Collection &&) noexcept = default;
Collection::~Collection() = default;

TestItem Collection::item(size_t index) const {
  TestItem item = tests->item(selected[index].row, annotation(index));
  if (selected[index].twin != kNone)
    tests->appendFullName(selected[index].twin, item.duplicateOf);
  return item;
}

std::vector<TestItem> Collection::items() const {
  std::vector<TestItem> all;
  all.reserve(size());
  for (size_t i = 0; i < size(); ++i)
    all.push_back(item(i));
  return all;
}

void Collection::appendId(size_t index, std::string &out) const {
  tests->appendId(selected[index].row, out);
}

void Collection::appendFullName(size_t index, std::string &out) const {
  tests->appendFullName(selected[index].row, out);
}

const Annotation &Collection::annotation(size_t index) const {
  return annotations[selected[index].annotation];
}

/// One call of `collect`, step by step.
class Collector {
public:
  explicit Collector(const CollectOptions &options) : options(options) {}
  ~Collector() {
    if (configReader.joinable())
      configReader.join();
  }

  Result<Collection> run() {
    for (Status (Collector::*step)() :
         {&Collector::readArguments, &Collector::startConfiguration, &Collector::find,
          &Collector::readAll, &Collector::choose, &Collector::narrow, &Collector::findTwins})
      if (Status status = (this->*step)(); !status)
        return status.error();
    return std::move(made);
  }

private:
  Status readArguments() {
    for (const std::string &argument : options.arguments) {
      // What exists is a path. So is what can only be meant as one.
      if (existsOnDisk(argument))
        paths.push_back(argument);
      else if (argument.starts_with('/') || argument.starts_with("./") ||
               argument.starts_with("../"))
        return Error{fmt::format("{}: no such file or folder", argument)};
      else
        ids.push_back(argument);
    }
    if (options.useProject) {
      std::string file = options.project.empty() ? findProjectFile(".") : options.project;
      if (!file.empty()) {
        Result<Project> read = readProject(file);
        if (!read)
          return read.error();
        project = std::move(*read);
        made.projectFile = project.file;
        made.resultsStore = project.results.value_or("");
      }
    }
    frameworks = options.frameworks;
    if (!project.frameworks.empty() && frameworks == CollectOptions().frameworks)
      frameworks = project.frameworks;
    if (Status known = checkFrameworks(); !known)
      return known;
    std::vector<std::string_view> suites;
    for (const results::Suite &suite : results::suites())
      suites.push_back(suite.name);
    for (const std::string &framework : frameworks)
      if (framework != "pytorch" && framework != "jax" &&
          std::find(suites.begin(), suites.end(), framework) == suites.end())
        suites.push_back(framework);
    for (const std::string &suite : options.suites)
      if (std::find(suites.begin(), suites.end(), suite) == suites.end()) {
        std::string_view near = nearestWord(suite, suites);
        return Error{fmt::format("there is no suite '{}'{}; there are: {}", suite,
                                 near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                                 fmt::join(suites, ", "))};
      }
    for (auto &[text, target, name] : {std::tuple(&options.keyword, &base.keyword, "-k"),
                                       std::tuple(&options.markers, &base.markers, "-m")}) {
      Result<Expression> parsed = Expression::parse(*text);
      if (!parsed)
        return Error{fmt::format("{} '{}': {}", name, *text, parsed.message())};
      *target = std::move(*parsed);
    }
    base.suites = options.suites;
    return {};
  }

  /// An architecture that neither we have nor the configuration names: whatever it was meant for
  /// would not hold, and tests run as if nothing had been said.
  Status checkArch() const {
    if (options.arch.empty() || options.arch == "cpu" || existsOnDisk(options.arch))
      return {}; // A file describes one of the user's own.
    std::vector<std::string_view> archs = config::knownArchs();
    for (const config::Entry &entry : configuration.entries()) {
      for (const config::Override &override : entry.overrides)
        archs.push_back(override.arch);
      for (std::string_view arch : entry.supportedArchs({}))
        archs.push_back(arch);
    }
    std::sort(archs.begin(), archs.end());
    archs.erase(std::unique(archs.begin(), archs.end()), archs.end());
    if (std::binary_search(archs.begin(), archs.end(), std::string_view(options.arch)))
      return {};
    std::string_view near = nearestWord(options.arch, archs);
    return Error{
        fmt::format("--arch {}: there is no such architecture, and the configuration names "
                    "none{}; there are: {}",
                    options.arch, near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                    fmt::join(archs, ", "))};
  }

  /// Folders by whose name loaders of a framework are known.
  Status checkFrameworks() const {
    const std::vector<std::string_view> known(std::begin(config::kFrameworks),
                                              std::end(config::kFrameworks));
    for (const std::string &framework : frameworks)
      if (std::find(known.begin(), known.end(), framework) == known.end()) {
        std::string_view near = nearestWord(framework, known);
        return Error{fmt::format("--frameworks {}: no loaders of it are known{}; there are: {}",
                                 framework,
                                 near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near),
                                 fmt::join(known, ", "))};
      }
    return {};
  }

  /// The configuration is parsed while files are looked for and loaders read.
  Status startConfiguration() {
    std::vector<std::string> paths = project.config;
    if (!options.config.empty())
      paths = {options.config};
    for (const std::string &path : paths)
      if (!existsOnDisk(path))
        return Error{fmt::format("--config {}: no such file or folder", path)};
    if (!paths.empty())
      configReader =
          std::thread([this, paths] { configuration = config::Configuration::load(paths); });
    return {};
  }

  Status find() {
    SourceOptions wanted;
    wanted.frameworks = frameworks;
    wanted.paths = paths;
    if (!options.zoo.empty())
      wanted.zoos = {options.zoo};
    if (paths.empty()) {
      if (options.zoo.empty())
        wanted.zoos = project.zoo;
      wanted.opCases = project.opCases;
      wanted.paths = project.programs;
      bool isNothing = wanted.zoos.empty() && wanted.opCases.empty() && wanted.paths.empty() &&
                       options.config.empty() && project.config.empty();
      if (isNothing && !ids.empty())
        return Error{fmt::format("{}: no such file or folder; if it is the id of a test, name the "
                                 "file or folder to look in as well",
                                 ids.front())};
      if (isNothing)
        return Error{project.file.empty()
                         ? "no path is given, no --zoo, and there is no cupel.yaml here or above; "
                           "name a file or folder, or see `cupel list --help`"
                         : fmt::format("{}: names no zoo, programs or op_cases; name a file or "
                                       "folder",
                                       project.file)};
    } else {
      // Loaders below a path are named from the zoo they belong to.
      wanted.knownZoos = project.zoo;
    }
    Result<Sources> found = findSources(wanted);
    if (!found)
      return found.error();
    sources = std::move(*found);
    for (Remark &remark : sources.errors)
      made.errors.push_back(std::move(remark));
    if (!project.markers.empty())
      checkMarks();
    return {};
  }

  /// Where the project registers marks, one that it does not is probably misspelt.
  void checkMarks() {
    std::vector<std::string_view> known(project.markers.begin(), project.markers.end());
    known.insert(known.end(), {"skip", "xfail"});
    for (std::string_view name : selection::wellKnownMarkers())
      known.push_back(name);
    for (const TestFile &file : sources.files)
      for (const TestFile::Part &part : file.parts)
        for (const std::string &mark : part.markers)
          if (std::find(known.begin(), known.end(), mark) == known.end()) {
            std::string_view near = nearestWord(mark, known);
            made.warnings.push_back(
                {file.file, 0, 0,
                 fmt::format("{}: the mark '{}' is not registered in {}{}", part.suffix, mark,
                             project.file,
                             near.empty() ? "" : fmt::format("; did you mean '{}'?", near))});
          }
  }

  Status readAll() {
    std::vector<zoo::Loader> loaders = readLoaders();
    if (configReader.joinable())
      configReader.join();
    if (Status known = checkArch(); !known)
      return known;

    // What is wrong with the configuration is judged by `cupel config check`; here it is a hint.
    for (const config::Diagnostic &diagnostic : configuration.diagnostics()) {
      if (diagnostic.severity == config::Severity::Note)
        continue;
      Remark remark{diagnostic.file, diagnostic.line, diagnostic.column,
                    fmt::format("{}{}{} [{}]", diagnostic.message,
                                diagnostic.hint.empty() ? "" : "; ", diagnostic.hint,
                                config::info(diagnostic.code).id)};
      if (config::isValueNotTaken(diagnostic.code))
        made.notTaken.push_back(remark);
      made.warnings.push_back(std::move(remark));
    }
    for (const zoo::Loader &loader : loaders) {
      if (loader.state == zoo::Loader::Undecided)
        made.undecided.push_back({loader.modelPath, loader.why});
      else if (loader.state == zoo::Loader::Broken)
        made.errors.push_back(loader.why);
      made.doubts.insert(made.doubts.end(), loader.doubts.begin(), loader.doubts.end());
    }
    made.tests->build(std::move(loaders), std::move(sources.files), std::move(configuration),
                      made.errors);
    made.found = made.tests->size();
    return {};
  }

  std::vector<zoo::Loader> readLoaders() {
    zoo::ReadOptions read;
    read.threads = options.threads;
    read.cacheFolder = cacheFolder(options);
    read.importUndecided = options.importUndecided;
    read.python = options.python;
    std::vector<zoo::Loader> loaders;
    const std::vector<LoaderSource> &from = sources.loaders;
    // One zoo after the other; nearly always there is one.
    for (size_t begin = 0, end = 0; begin < from.size(); begin = end) {
      std::vector<zoo::LoaderFile> files;
      for (; end < from.size() && from[end].root == from[begin].root; ++end)
        files.push_back({from[end].file, from[end].modelPath});
      read.root = from[begin].root;
      zoo::ReadLoaders result = zoo::readLoaders(files, read);
      std::move(result.loaders.begin(), result.loaders.end(), std::back_inserter(loaders));
      std::move(result.warnings.begin(), result.warnings.end(), std::back_inserter(made.warnings));
    }
    std::sort(loaders.begin(), loaders.end(), [](const zoo::Loader &a, const zoo::Loader &b) {
      return std::tie(a.modelPath, a.file) < std::tie(b.modelPath, b.file);
    });
    return loaders;
  }

  /// -k, -m, --suite and --preset.
  Status choose() {
    Table &table = *made.tests;
    if (options.preset.empty()) {
      made.annotations.push_back(table.annotate(options.arch));
      made.excluded = made.annotations[0].excludedCount;
      warnOfMarkers(base.markers);
      select(table, made.annotations[0], base).forEach([&](size_t row) {
        made.selected.push_back({static_cast<uint32_t>(row), 0});
      });
      return {};
    }
    Result<selection::PresetJobs> jobs = selection::findPresetJobs(options.preset);
    if (!jobs)
      return jobs.error();
    for (const std::string &warning : jobs->warnings)
      made.warnings.push_back({"", 0, 0, warning});
    // Each job sees the configuration of its own architecture; a test that several jobs run is
    // listed as the first of them sees it.
    std::vector<uint32_t> of(table.size(), kNone);
    for (const selection::PresetJob &job : jobs->jobs)
      if (Status status = chooseJob(job, of); !status)
        return status;
    for (uint32_t row = 0; row < table.size(); ++row)
      if (of[row] != kNone)
        made.selected.push_back({row, of[row]});
    if (!made.annotations.empty())
      made.excluded = made.annotations[0].excludedCount;
    return {};
  }

  Status chooseJob(const selection::PresetJob &job, std::vector<uint32_t> &of) {
    Table &table = *made.tests;
    std::string_view path = job.path;
    if (path.starts_with("./"))
      path.remove_prefix(2);
    selection::ItemName name = selection::parseItemName(path);
    // A job may also name the whole folder of these tests, or a single one of them.
    bool isOurs = name.file == selection::kPytestFile ||
                  selection::kPytestFile.starts_with(fmt::format("{}/", path)) || path == ".";
    if (!isOurs || (!name.function.empty() && name.suite.empty())) {
      made.warnings.push_back(
          {"", 0, 0,
           fmt::format("{}: runs {}, which is no test made from a zoo", job.where(), path)});
      return {};
    }
    Selection wanted = base;
    if (!name.suite.empty()) {
      if (!base.suites.empty() &&
          std::find(base.suites.begin(), base.suites.end(), name.suite) == base.suites.end())
        return {};
      wanted.suites = {std::string(name.suite)};
    } else if (base.suites.empty()) {
      for (const results::Suite &suite : results::suites())
        if (suite.fromZoo)
          wanted.suites.emplace_back(suite.name);
    }
    wanted.framework = name.framework;
    for (auto &[text, target, given] :
         {std::tuple(&job.keyword, &wanted.keyword, &options.keyword),
          std::tuple(&job.markers, &wanted.markers, &options.markers)}) {
      if (text->empty())
        continue;
      Result<Expression> parsed =
          Expression::parse(given->empty() ? *text : fmt::format("({}) and ({})", *text, *given));
      if (!parsed)
        return Error{fmt::format("{}: '{}': {}", job.where(), *text, parsed.message())};
      *target = std::move(*parsed);
    }
    std::string arch = options.arch.empty() ? job.arch : options.arch;
    uint32_t annotation = 0;
    while (annotation < made.annotations.size() && made.annotations[annotation].arch != arch)
      ++annotation;
    if (annotation == made.annotations.size())
      made.annotations.push_back(table.annotate(arch));
    warnOfMarkers(wanted.markers);
    select(table, made.annotations[annotation], wanted).forEach([&](size_t row) {
      if (of[row] == kNone)
        of[row] = annotation;
    });
    return {};
  }

  void warnOfMarkers(const Expression &expression) {
    std::vector<std::string_view> present(made.tests->markerNames.begin(),
                                          made.tests->markerNames.end());
    for (std::string &warning : selection::unknownMarkers(expression, present)) {
      Remark remark{"", 0, 0, std::move(warning)};
      if (std::find(made.warnings.begin(), made.warnings.end(), remark) == made.warnings.end())
        made.warnings.push_back(std::move(remark));
    }
  }

  /// Ids, -R, --resume and --shard.
  Status narrow() {
    Table &table = *made.tests;
    if (!options.models.empty())
      if (Status status = chooseModels(); !status)
        return status;
    if (!ids.empty()) {
      std::vector<bool> named(table.size()), chosen(table.size());
      for (const Collection::Chosen &test : made.selected)
        chosen[test.row] = true;
      for (const std::string &text : ids) {
        Result<std::vector<uint32_t>> rows = testsNamed(table, text, options.suites);
        if (!rows)
          return rows.error();
        if (std::none_of(rows->begin(), rows->end(), [&](uint32_t row) { return chosen[row]; }))
          if (Status status = tellLeftOut(text, *rows); !status)
            return status;
        for (uint32_t row : *rows)
          named[row] = true;
      }
      std::erase_if(made.selected, [&](const auto &chosen) { return !named[chosen.row]; });
    }
    std::string name;
    auto nameOf = [&](uint32_t row) -> const std::string & {
      name.clear();
      table.appendFullName(row, name);
      return name;
    };
    if (options.only) {
      std::unordered_set<std::string_view> wanted(options.only->begin(), options.only->end());
      std::erase_if(made.selected,
                    [&](const auto &chosen) { return !wanted.contains(nameOf(chosen.row)); });
    }
    if (options.succeededBefore)
      std::erase_if(made.selected, [&](const auto &chosen) {
        auto before = options.succeededBefore->find(nameOf(chosen.row));
        return before != options.succeededBefore->end() && before->second;
      });
    if (options.shards > 1) {
      std::vector<std::optional<double>> seconds(made.selected.size());
      if (options.knownSeconds)
        for (size_t i = 0; i < seconds.size(); ++i)
          seconds[i] = options.knownSeconds(nameOf(made.selected[i].row));
      std::vector<uint32_t> shardOf = selection::assignShards(seconds, options.shards);
      size_t kept = 0;
      for (size_t i = 0; i < made.selected.size(); ++i)
        if (shardOf[i] == options.shard)
          made.selected[kept++] = made.selected[i];
      made.selected.resize(kept);
    }
    return {};
  }

  const TestFile *caseFileOf(uint32_t row) const {
    const Table &table = *made.tests;
    uint32_t file = table.beginnings[table.rows[row].beginning].file;
    return file != kNone && table.files[file].kind->deduplicated ? &table.files[file] : nullptr;
  }

  /// --model: names are taken as people write them, `gpt_oss` and `GPT-oss` being the same.
  Status chooseModels() {
    auto plain = [](std::string_view name) {
      std::string out(name);
      for (char &c : out)
        c = c == '-' ? '_' : char(std::tolower(static_cast<unsigned char>(c)));
      return out;
    };
    std::vector<std::string_view> known;
    std::unordered_set<std::string> wanted;
    for (const TestFile &file : made.tests->files)
      if (file.kind->deduplicated)
        known.push_back(file.model);
    for (const std::string &name : options.models) {
      if (std::none_of(known.begin(), known.end(),
                       [&](std::string_view other) { return plain(other) == plain(name); })) {
        std::string_view near = nearestWord(name, known);
        return Error{fmt::format("--model {}: no operator cases of such a model were found{}", name,
                                 near.empty() ? "; --list-models shows those there are"
                                              : fmt::format("; did you mean '{}'?", near))};
      }
      wanted.insert(plain(name));
    }
    std::erase_if(made.selected, [&](const auto &chosen) {
      const TestFile *file = caseFileOf(chosen.row);
      return !file || !wanted.contains(plain(file->model));
    });
    return {};
  }

  /// Of operator cases that test the same the first stands for the others, unless it is more
  /// lenient than they are.
  Status findTwins() {
    if (!options.dedupe)
      return {};
    const Table &table = *made.tests;
    std::unordered_map<std::string_view, std::vector<uint32_t>> kept;
    for (Collection::Chosen &chosen : made.selected) {
      const TestFile *file = caseFileOf(chosen.row);
      if (!file)
        continue;
      auto partOf = [&](uint32_t row) -> const TestFile::Part & {
        return caseFileOf(row)->parts[table.endings[table.rows[row].ending].part];
      };
      const TestFile::Part &part = partOf(chosen.row);
      auto isAsStrict = [](const std::optional<double> &mine, const std::optional<double> &other) {
        return mine == other || (mine && other && *mine <= *other);
      };
      std::vector<uint32_t> &same = kept[part.key];
      for (uint32_t row : same)
        if (const TestFile::Part &first = partOf(row);
            isAsStrict(first.rtol, part.rtol) && isAsStrict(first.atol, part.atol))
          chosen.twin = row;
      if (chosen.twin == kNone)
        same.push_back(chosen.row);
    }
    return {};
  }

  /// Of what was named nothing is selected. Suites and names that exclude each other are a mistake;
  /// what expressions or the configuration leave out is said, or nobody would miss it.
  Status tellLeftOut(const std::string &text, const std::vector<uint32_t> &rows) {
    const Table &table = *made.tests;
    auto isAsked = [&](uint32_t row) {
      return base.suites.empty() || std::find(base.suites.begin(), base.suites.end(),
                                              table.suiteOf(row)) != base.suites.end();
    };
    if (!rows.empty() && std::none_of(rows.begin(), rows.end(), isAsked))
      return Error{fmt::format("'{}' is of suite {}, which --suite {} leaves out; add the suite, or "
                               "leave out the test",
                               text, table.suiteOf(rows.front()), fmt::join(base.suites, ","))};
    auto isExcluded = [&](uint32_t row) {
      return std::any_of(made.annotations.begin(), made.annotations.end(),
                         [&](const Annotation &annotation) { return annotation.excluded[row]; });
    };
    std::vector<std::string_view> reasons;
    if (rows.empty())
      reasons.push_back("there is no test of it in what was found");
    else if (std::any_of(rows.begin(), rows.end(), isExcluded))
      reasons.push_back("the configuration has EXCLUDE_MODEL for it");
    else
      for (auto &[given, why] : {std::pair(!options.keyword.empty(), "-k leaves it out"),
                                 std::pair(!options.markers.empty(), "-m leaves it out"),
                                 std::pair(!options.models.empty(), "--model leaves it out"),
                                 std::pair(!options.preset.empty(), "--preset leaves it out")})
        if (given)
          reasons.push_back(why);
    // First: of many remarks only some are shown.
    made.warnings.insert(made.warnings.begin(),
                         {"", 0, 0,
                          fmt::format("'{}' is named and not selected: {}", text,
                                      fmt::join(reasons, ", or "))});
    return {};
  }

  const CollectOptions &options;
  Collection made;
  Project project;
  std::vector<std::string> paths, ids, frameworks;
  Sources sources;
  Selection base;
  config::Configuration configuration;
  std::thread configReader;
};

Result<Collection> collect(const CollectOptions &options) { return Collector(options).run(); }

} // namespace cupel::testbench::matrix
