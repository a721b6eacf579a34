#include "cupel/testbench/matrix/Table.h"

#include "cupel/testbench/config/ArchSkips.h"
#include "cupel/testbench/selection/Keywords.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::matrix {
namespace {

constexpr std::string_view kParallelisms[] = {"single_device", "data_parallel", "tensor_parallel"};
constexpr std::string_view kRunModes[] = {"inference", "training"};
constexpr std::string_view kShardings[] = {"single_device",
                                           "tensor_parallel",
                                           "megatron-no_dp-tensor_parallel",
                                           "fsdp-no_dp-tensor_parallel",
                                           "fsdp-dp-tensor_parallel",
                                           "megatron-dp-tensor_parallel"};
constexpr std::string_view kMeshes[] = {"mesh_default", "mesh_1x4", "mesh_2x2",
                                        "mesh_1x8",     "mesh_2x4", "mesh_4x8"};
constexpr uint32_t kPrefillLengths[] = {128, 1024, 2048, 4096, 8192};
constexpr uint32_t kPrefillBatches[] = {1, 4};

constexpr std::string_view kSkipMark = "skip", kXfailMark = "xfail";

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ::tolower);
  return out;
}

/// What pytest's own marks say of a test, whoever gave them: a file of cases, an entry's `markers`
/// or the architecture. A status that says the same keeps its reason.
void heedPytestMarks(TestItem &item, std::string_view arch) {
  using config::TestStatus;
  auto has = [&](std::string_view mark) {
    return std::find(item.markers.begin(), item.markers.end(), mark) != item.markers.end();
  };
  TestStatus &status = item.expectation.status;
  if (has(kSkipMark) && status != TestStatus::NotSupportedSkip) {
    std::string_view why = config::skipReason(arch, item.id);
    status = TestStatus::NotSupportedSkip;
    item.expectation.reason = why.empty() ? "the test is marked 'skip'" : std::string(why);
  } else if (has(kXfailMark) && status != TestStatus::KnownFailureXfail &&
             status != TestStatus::NotSupportedSkip) {
    status = TestStatus::KnownFailureXfail;
    item.expectation.reason = "the test is marked 'xfail'";
  }
}

} // namespace

uint8_t Table::suite(std::string_view name) {
  for (size_t i = 0; i < suites.size(); ++i)
    if (suites[i] == name)
      return static_cast<uint8_t>(i);
  suites.emplace_back(name);
  return static_cast<uint8_t>(suites.size() - 1);
}

uint32_t Table::ending(Ending made) {
  // Files of many parts share their endings; those of models are made once.
  std::string key = fmt::format("{}\n{}", made.text, made.part);
  auto [place, isNew] =
      endingNumbers.emplace(std::move(key), static_cast<uint32_t>(endings.size()));
  if (isNew)
    endings.push_back(std::move(made));
  return place->second;
}

uint32_t Table::marker(std::string_view name) {
  auto found = markerNumbers.find(name);
  if (found != markerNumbers.end())
    return found->second;
  markerNames.emplace_back(name);
  return markerNumbers.emplace(std::string(name), static_cast<uint32_t>(markerNames.size() - 1))
      .first->second;
}

void Table::build(std::vector<zoo::Loader> readLoaders, std::vector<TestFile> found,
                  config::Configuration loaded, std::vector<Remark> &errors) {
  loaders = std::move(readLoaders);
  files = std::move(found);
  configuration = std::move(loaded);
  addLoaders(errors);
  addPlaceholders();
  addFiles();
}

void Table::addLoaders(std::vector<Remark> &errors) {
  std::vector<uint32_t> plain, single, decode, prefill;
  for (std::string_view parallelism : kParallelisms)
    for (std::string_view runMode : kRunModes) {
      uint32_t made = ending(
          {fmt::format("-{}-{}", parallelism, runMode), parallelism, runMode, {}, {}, {}, 0, 0, 0});
      plain.push_back(made);
      if (parallelism == kParallelisms[0])
        single.push_back(made);
    }
  auto language = [&](std::string_view phase, uint32_t length, uint32_t batch,
                      std::vector<uint32_t> &out) {
    for (std::string_view sharding : kShardings)
      for (std::string_view mesh : kMeshes)
        for (std::string_view runMode : kRunModes)
          out.push_back(ending({fmt::format("-{}-seq_{}-batch_{}-{}-{}-{}", phase, length, batch,
                                            sharding, mesh, runMode),
                                sharding == kShardings[0] ? kParallelisms[0] : kParallelisms[2],
                                runMode, phase, sharding, mesh, length, batch, 0}));
  };
  language("llm_decode", 1, 1, decode);
  for (uint32_t length : kPrefillLengths)
    for (uint32_t batch : kPrefillBatches)
      language("llm_prefill", length, batch, prefill);

  // A model path may be found in two zoos, a variant name twice in one loader.
  auto begin = [&](uint32_t loader, uint32_t variant, bool isPrefill) {
    const zoo::Loader &from = loaders[loader];
    const std::string &name = (isPrefill ? from.prefillVariants : from.variants)[variant].name;
    beginnings.push_back({name.empty() ? from.modelPath : from.modelPath + "-" + name, loader,
                          variant, isPrefill, kNone, kNone});
    return static_cast<uint32_t>(beginnings.size() - 1);
  };
  for (uint32_t i = 0; i + 1 < loaders.size();) {
    if (loaders[i].modelPath != loaders[i + 1].modelPath) {
      ++i;
      continue;
    }
    errors.push_back({loaders[i + 1].file, 0, 0,
                      fmt::format("the model '{}' is there twice; the other one is {}",
                                  loaders[i].modelPath, loaders[i].file)});
    loaders.erase(loaders.begin() + i + 1);
  }
  struct Pending {
    uint32_t beginning;
    const std::vector<uint32_t> *endings;
    std::string_view suite;
  };
  std::vector<Pending> models[2], others, llms, opByOp;
  for (uint32_t i = 0; i < loaders.size(); ++i) {
    const zoo::Loader &loader = loaders[i];
    if (loader.state != zoo::Loader::Decided)
      continue;
    bool isTorch = loader.framework == "pytorch", isJax = loader.framework == "jax";
    for (uint32_t v = 0; v < loader.variants.size(); ++v) {
      // Enum members with different names and equal texts cannot be told apart by their ids.
      bool isRepeated = false;
      for (uint32_t earlier = 0; earlier < v && !isRepeated; ++earlier)
        isRepeated = loader.variants[earlier].name == loader.variants[v].name;
      if (isRepeated)
        continue;
      uint32_t beginning = begin(i, v, false);
      if (!isTorch && !isJax) {
        others.push_back({beginning, &plain, loader.framework});
        continue;
      }
      models[isJax].push_back({beginning, &plain, "models"});
      opByOp.push_back({beginning, &single, "op_by_op"});
      if (isTorch && loader.hasDecode)
        llms.push_back({beginning, &decode, "llm"});
    }
    if (isTorch && loader.hasPrefill)
      for (uint32_t v = 0; v < loader.prefillVariants.size(); ++v)
        llms.push_back({begin(i, v, true), &prefill, "llm"});
  }
  for (auto *list : {&models[0], &models[1], &llms, &opByOp, &others})
    for (const Pending &pending : *list) {
      uint8_t number = suite(pending.suite);
      for (uint32_t end : *pending.endings)
        rows.push_back({pending.beginning, end, number});
    }
}

void Table::addPlaceholders() {
  uint32_t end = kNone;
  std::span<const config::Entry> models = configuration.placeholders();
  for (uint32_t i = 0; i < models.size(); ++i) {
    if (models[i].shadowed)
      continue;
    if (end == kNone)
      end = ending({"", {}, {}, {}, {}, {}, 0, 0, 0});
    beginnings.push_back({std::string(models[i].id), kNone, 0, false, kNone, i});
    rows.push_back({static_cast<uint32_t>(beginnings.size() - 1), end, suite("placeholder")});
  }
}

void Table::addFiles() {
  for (uint32_t i = 0; i < files.size(); ++i) {
    const TestFile &file = files[i];
    beginnings.push_back({file.id, kNone, 0, false, i, kNone});
    auto beginning = static_cast<uint32_t>(beginnings.size() - 1);
    uint8_t number = suite(file.kind->suite);
    for (uint32_t part = 0; part < file.parts.size(); ++part)
      rows.push_back(
          {beginning, ending({file.parts[part].suffix, {}, {}, {}, {}, {}, 0, 0, part}), number});
  }
}

const zoo::Variant *Table::variantOf(const Beginning &beginning) const {
  if (beginning.loader == kNone)
    return nullptr;
  const zoo::Loader &loader = loaders[beginning.loader];
  return &(beginning.isPrefill ? loader.prefillVariants : loader.variants)[beginning.variant];
}

std::string_view Table::group(const Beginning &beginning) const {
  const zoo::Variant *variant = variantOf(beginning);
  return variant ? std::string_view(variant->group) : std::string_view();
}

void Table::appendId(uint32_t row, std::string &out) const {
  out += beginnings[rows[row].beginning].text;
  out += endings[rows[row].ending].text;
}

void Table::appendFullName(uint32_t row, std::string &out) const {
  out += suiteOf(row);
  out += "::";
  appendId(row, out);
}

std::string_view Table::frameworkOf(uint32_t row) const {
  const Beginning &beginning = beginnings[rows[row].beginning];
  return beginning.loader == kNone ? std::string_view() : loaders[beginning.loader].framework;
}

uint32_t Table::markerSet(uint32_t row, uint32_t entryNumber, std::string_view arch) {
  const Beginning &beginning = beginnings[rows[row].beginning];
  const Ending &end = endings[rows[row].ending];
  std::string_view suiteName = suiteOf(row);
  bool isLoader = beginning.loader != kNone;
  std::vector<uint32_t> set;
  auto add = [&](std::string_view name) {
    uint32_t number = marker(name);
    if (std::find(set.begin(), set.end(), number) == set.end())
      set.push_back(number);
  };
  if (isLoader || suiteName == "placeholder")
    for (std::string_view name : selection::markersOfPytestItems())
      add(name);
  if (suiteName == "placeholder") {
    // Upstream gives these nothing else.
    add("placeholder");
  } else {
    if (suiteName == "llm")
      add("llm");
    if (!isLoader)
      add(suiteName);
    if (!end.runMode.empty())
      add(end.runMode);
    if (!end.parallelism.empty())
      add(end.parallelism);
    config::Fields fields;
    if (entryNumber != kNone)
      fields = configuration.entries()[entryNumber].resolved(arch);
    add(lower(config::name(fields.status.value_or(config::TestStatus::Unspecified))));
    bool hasSchedule = false;
    if (fields.markers)
      for (std::string_view name : *fields.markers) {
        add(name);
        hasSchedule |= name == "nightly" || name == "weekly";
      }
    if (std::string_view of = group(beginning); !of.empty()) {
      if (of == "red" || of == "generality" || of == "vulcan")
        add(of);
      if (!hasSchedule)
        add(of == "red" || of == "priority" ? "nightly" : "weekly");
    }
    if (fields.bringupStatus)
      add(lower(config::name(*fields.bringupStatus)));
    auto addArch = [&](std::string_view name) {
      add(name);
      if (name.find('-') != std::string_view::npos) {
        std::string underscored(name);
        std::replace(underscored.begin(), underscored.end(), '-', '_');
        add(underscored);
      }
    };
    if (fields.supportedArchs && !fields.supportedArchs->empty())
      for (std::string_view name : *fields.supportedArchs)
        addArch(name);
    else if (isLoader)
      for (std::string_view name : config::kDefaultArchs)
        addArch(name);
    if (isLoader && config::hasSkips(arch)) {
      std::string id;
      appendId(row, id);
      if (!config::skipReason(arch, id).empty())
        add(kSkipMark);
    }
  }
  if (beginning.file != kNone)
    for (const std::string &name : files[beginning.file].parts[end.part].markers)
      add(name);
  auto [place, isNew] = setNumbers.emplace(set, static_cast<uint32_t>(markerSets.size()));
  if (isNew)
    markerSets.push_back(std::move(set));
  return place->second;
}

Annotation Table::annotate(std::string_view arch) {
  Annotation made;
  made.arch = arch;
  made.markers.resize(rows.size());
  made.entries.resize(rows.size(), kNone);
  made.excluded.resize(rows.size());
  const config::Entry *first = configuration.entries().data();
  // Most rows have no entry, and what such a row is marked with depends on few things.
  std::unordered_map<uint64_t, uint32_t> common;
  std::map<std::string_view, uint32_t> groups;
  std::string id;
  bool hasEntries = !configuration.entries().empty(), hasSkips = config::hasSkips(arch);
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const Row &current = rows[row];
    const Beginning &beginning = beginnings[current.beginning];
    const config::Entry *entry = nullptr;
    bool isSkipped = false;
    if ((hasEntries || hasSkips) && beginning.placeholder == kNone) {
      id.clear();
      appendId(row, id);
      entry = configuration.find(id);
      isSkipped = hasSkips && !config::skipReason(arch, id).empty();
    }
    if (entry) {
      auto number = static_cast<uint32_t>(entry - first);
      made.entries[row] = number;
      made.markers[row] = markerSet(row, number, arch);
      if (entry->resolved(arch).status == config::TestStatus::ExcludeModel) {
        made.excluded[row] = true;
        ++made.excludedCount;
      }
      continue;
    }
    if (beginning.file != kNone || isSkipped) {
      made.markers[row] = markerSet(row, kNone, arch);
      continue;
    }
    const Ending &end = endings[current.ending];
    uint32_t groupNumber =
        groups.emplace(group(beginning), static_cast<uint32_t>(groups.size())).first->second;
    uint64_t key =
        uint64_t{groupNumber} << 32 | uint64_t{current.suite} << 24 |
        uint64_t(end.runMode == kRunModes[1]) << 8 |
        uint64_t(std::find(std::begin(kParallelisms), std::end(kParallelisms), end.parallelism) -
                 std::begin(kParallelisms));
    auto [place, isNew] = common.try_emplace(key);
    if (isNew)
      place->second = markerSet(row, kNone, arch);
    made.markers[row] = place->second;
  }
  return made;
}

TestItem Table::item(uint32_t row, const Annotation &annotation) const {
  const Beginning &beginning = beginnings[rows[row].beginning];
  const Ending &end = endings[rows[row].ending];
  TestItem item;
  item.suite = suiteOf(row);
  appendId(row, item.id);
  item.parallelism = end.parallelism;
  item.runMode = end.runMode;
  item.phase = end.phase;
  item.sharding = end.sharding;
  item.mesh = end.mesh;
  item.sequenceLength = end.sequenceLength;
  item.batchSize = end.batchSize;
  if (beginning.loader != kNone) {
    const zoo::Loader &loader = loaders[beginning.loader];
    const zoo::Variant &variant = *variantOf(beginning);
    item.file = loader.file;
    item.framework = loader.framework;
    item.modelPath = loader.modelPath;
    item.variant = variant.name;
    item.modelName = variant.model;
    item.group = variant.group;
    item.task = variant.task;
    item.source = variant.source;
  } else if (beginning.file != kNone) {
    item.file = files[beginning.file].file;
    const TestFile::Part &part = files[beginning.file].parts[end.part];
    item.part = part.part;
    item.op = part.op;
    item.signature = part.signature;
    item.modelName = files[beginning.file].model;
  }
  for (uint32_t number : markerSets[annotation.markers[row]])
    item.markers.push_back(markerNames[number]);
  if (beginning.placeholder != kNone) {
    item.expectation =
        configuration.expectation(configuration.placeholders()[beginning.placeholder], {});
    item.file = item.expectation.file;
  } else if (annotation.entries[row] != kNone) {
    item.expectation = configuration.expectation(configuration.entries()[annotation.entries[row]],
                                                 annotation.arch);
  }
  // Of a file's test the configuration knows better than the file.
  if (beginning.file == kNone || annotation.entries[row] == kNone)
    heedPytestMarks(item, annotation.arch);
  return item;
}

uint32_t Table::find(std::string_view suiteName, std::string_view id) {
  if (byName.empty()) {
    byName.reserve(rows.size());
    std::string name;
    for (uint32_t row = 0; row < rows.size(); ++row) {
      name.clear();
      appendFullName(row, name);
      byName.emplace(name, row);
    }
  }
  auto found = byName.find(fmt::format("{}::{}", suiteName, id));
  return found == byName.end() ? kNone : found->second;
}

} // namespace cupel::testbench::matrix
