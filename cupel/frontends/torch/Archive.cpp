#include "cupel/frontends/torch/Archive.h"

#include "cupel/frontends/torch/Pickle.h"
#include "cupel/frontends/torch/ProgramJson.h"
#include "cupel/frontends/torch/Weights.h"
#include "cupel/tensor/Zip.h"

#include <algorithm>
#include <set>

namespace cupel::frontends::torch_import {

using tensor::Shape;
using tensor::SharedBytes;
using tensor::Tensor;

namespace {

/// Records up to this size have their checksums verified; larger ones are weights, which are not
/// touched before they are used.
constexpr uint64_t kVerifiedBytes = 1 << 20;
/// A program's JSON beyond this is refused: as values it takes many times its size.
constexpr uint64_t kMaxJsonBytes = uint64_t{1} << 28;

std::string_view textOf(const SharedBytes &bytes) {
  return {reinterpret_cast<const char *>(bytes.bytes.data()), bytes.bytes.size()};
}

Result<Shape> numbers(const std::vector<SymInt> &values, const char *what) {
  Shape result;
  for (const SymInt &value : values) {
    if (value.isSymbolic())
      return Error{std::string("has a symbolic ") + what};
    result.push_back(value.value);
  }
  return result;
}

/// All records lie below one folder, whatever its name; the oldest files have none.
std::string rootOf(const std::vector<tensor::ZipEntry> &entries) {
  if (entries.empty())
    return {};
  const std::string &first = entries.front().name;
  size_t slash = first.find('/');
  if (slash == std::string::npos)
    return {};
  std::string root = first.substr(0, slash + 1);
  bool isCommon = std::ranges::all_of(
      entries, [&](const tensor::ZipEntry &entry) { return entry.name.starts_with(root); });
  return isCommon ? root : std::string();
}

constexpr const char *kLegacyProgram = "serialized_exported_program.json";

/// The program that a record without its root holds.
std::optional<std::string> programOf(const std::string &record) {
  constexpr std::string_view kFolder = "models/", kEnding = ".json";
  if (!record.starts_with(kFolder) || !record.ends_with(kEnding) ||
      record.size() < kFolder.size() + kEnding.size() ||
      record.find('/', kFolder.size()) != std::string::npos)
    return std::nullopt;
  return record.substr(kFolder.size(), record.size() - kFolder.size() - kEnding.size());
}

} // namespace

std::vector<std::string> programsIn(const std::string &path) {
  std::vector<std::string> names;
  Result<SharedBytes> file = tensor::mapFile(path);
  if (!file)
    return names;
  Result<std::vector<tensor::ZipEntry>> entries = tensor::readStoredZip(*file, 0);
  if (!entries)
    return names;
  std::string root = rootOf(*entries);
  bool isLegacy = false;
  for (const tensor::ZipEntry &entry : *entries) {
    std::string record = entry.name.substr(root.size());
    if (std::optional<std::string> name = programOf(record))
      names.push_back(std::move(*name));
    isLegacy |= record == kLegacyProgram;
  }
  if (names.empty() && isLegacy)
    names.emplace_back(kDefaultProgram);
  std::ranges::sort(names);
  return names;
}

std::string fileOfProgram(const std::string &path, const std::string &program, size_t count) {
  constexpr std::string_view kEnding = ".pt2";
  if (count <= 1 || program == kDefaultProgram || !path.ends_with(kEnding))
    return path;
  return path.substr(0, path.size() - kEnding.size()) + "." + program + std::string(kEnding);
}

Result<Archive> Archive::open(const std::string &path) {
  Result<SharedBytes> file = tensor::mapFile(path);
  if (!file)
    return file.error();
  return parse(*file, path);
}

Result<Archive> Archive::parse(const SharedBytes &file, const std::string &path) {
  Result<std::vector<tensor::ZipEntry>> entries = tensor::readStoredZip(file, kVerifiedBytes);
  if (!entries)
    return entries.error().within(path);
  Archive archive;
  archive.path = path;
  archive.fileBytes = file.bytes.size();
  std::string root = rootOf(*entries);
  for (tensor::ZipEntry &entry : *entries) {
    std::string name = entry.name.substr(root.size());
    if (!archive.records.emplace(name, entry.contents).second)
      return Error{path + ": record '" + tensor::printable(name) + "' stands twice"};
  }
  for (const auto &[name, contents] : archive.records)
    if (std::optional<std::string> program = programOf(name))
      archive.names.push_back(std::move(*program));
  if (archive.names.empty() && archive.find(kLegacyProgram)) {
    archive.legacy = true;
    archive.names.emplace_back(kDefaultProgram);
  }
  if (const SharedBytes *order = archive.find("byteorder");
      order && !textOf(*order).starts_with("little"))
    return Error{path + ": was written with byte order '" +
                 tensor::printable(textOf(*order).substr(0, 16)) + "'; only little is read"};
  if (archive.names.empty())
    return Error{path + ": holds no program: there is no models/*.json in it. Files made by "
                        "torch.save or torch.jit.save are not read; use torch.export.save"};
  return archive;
}

const SharedBytes *Archive::find(const std::string &record) const {
  auto found = records.find(record);
  return found == records.end() ? nullptr : &found->second;
}

Result<Program> Archive::program(const std::string &wanted) const {
  std::string name = wanted, all;
  for (const std::string &one : names)
    all += (all.empty() ? "" : ", ") + tensor::printable(one);
  if (name.empty()) {
    if (names.size() == 1) {
      name = names.front();
    } else if (std::ranges::find(names, kDefaultProgram) != names.end()) {
      name = kDefaultProgram;
    } else {
      return Error{path + ": holds several programs: " + all + "; --program chooses one"};
    }
  }
  std::string record = legacy ? kLegacyProgram : "models/" + name + ".json";
  const SharedBytes *json = find(record);
  if (!json || std::ranges::find(names, name) == names.end())
    return Error{path + ": holds no program '" + tensor::printable(name) + "'; it has " + all};
  if (json->bytes.size() > kMaxJsonBytes)
    return Error{path + ": " + record + " is larger than " + std::to_string(kMaxJsonBytes) +
                 " bytes"};
  Result<Program> program = parseProgram(textOf(*json), path + ": " + tensor::printable(record));
  if (!program)
    return program;
  program->name = name;
  if (Status status = readWeights(*program); !status)
    return status.error().within(path);
  return program;
}

/// Adds the tensors of a dictionary that torch.save wrote.
Status Archive::readPickledWeights(Program &program, const std::string &record) const {
  const SharedBytes *file = find(record);
  if (!file || file->bytes.empty())
    return {};
  Result<Pickle> pickle = Pickle::read(*file, tensor::printable(record));
  if (!pickle)
    return pickle.error();
  Result<std::map<std::string, Tensor>> tensors = pickle->namedTensors();
  if (!tensors)
    return tensors.error();
  for (auto &[name, value] : *tensors)
    program.weights.insert_or_assign(name, std::move(value));
  return {};
}

Status Archive::readWeights(Program &program) const {
  uint64_t budget = copyBudget(fileBytes);
  for (const char *kind : {"weights", "constants"}) {
    std::string folder = std::string("data/") + kind + "/";
    std::string config = folder + program.name + "_" + kind + "_config.json";
    Status status;
    if (find(config))
      status = readConfig(program, config, folder, budget);
    else if (legacy) // torch <= 2.7
      status =
          readPickledWeights(program, kind == std::string("weights") ? "serialized_state_dict.pt"
                                                                     : "serialized_constants.pt");
    else
      status = readPickledWeights(program, folder + program.name + ".pt");
    if (!status)
      return status;
  }
  for (const InputSpec &input : program.inputs)
    if ((input.kind == InputKind::Parameter || input.kind == InputKind::Buffer ||
         input.kind == InputKind::TensorConstant) &&
        !program.weights.count(input.target))
      return Error{"holds no value for '" + tensor::printable(input.target) + "' (input '" +
                   tensor::printable(input.name) + "')"};
  // What the program was exported with, if it can be read; it is not needed.
  const SharedBytes *samples =
      find(legacy ? "serialized_example_inputs.pt" : "data/sample_inputs/" + program.name + ".pt");
  if (samples && !samples->bytes.empty())
    if (Result<Pickle> pickle = Pickle::read(*samples, "sample inputs"))
      if (Result<std::vector<Tensor>> tensors = pickle->allTensors())
        program.sampleInputs = std::move(*tensors);
  return {};
}

Status Archive::readConfig(Program &program, const std::string &record, const std::string &folder,
                           uint64_t &budget) const {
  Result<std::vector<WeightEntry>> entries =
      parseWeightsConfig(textOf(*find(record)), tensor::printable(record));
  if (!entries)
    return entries.error();
  // What nobody reads need not be readable.
  std::set<std::string> wanted;
  for (const InputSpec &input : program.inputs)
    if (input.kind == InputKind::Parameter || input.kind == InputKind::Buffer ||
        input.kind == InputKind::TensorConstant)
      wanted.insert(input.target);
  for (const WeightEntry &entry : *entries) {
    auto wrong = [&](const std::string &what) {
      return Error{tensor::printable(record) + ": '" + tensor::printable(entry.name) + "' " + what};
    };
    if (!wanted.count(entry.name))
      continue;
    const SharedBytes *storage = find(folder + entry.record);
    if (!storage)
      return wrong("lies in record '" + tensor::printable(entry.record) +
                   "', which is not in the archive");
    if (entry.usePickle) {
      // A tensor by itself, or a wrapper that holds one.
      Result<Pickle> pickle = Pickle::read(*storage, "its pickle");
      if (!pickle)
        return wrong("cannot be read: " + pickle.message());
      if (pickle->root().kind != PickleValue::Kind::Tensor)
        return wrong("is stored as a pickle of something that is no tensor");
      program.weights.insert_or_assign(entry.name, pickle->root().tensor);
      continue;
    }
    if (!entry.meta)
      return wrong("has no sizes and type");
    if (!entry.unreadable.empty())
      return wrong(entry.unreadable);
    Result<Shape> sizes = numbers(entry.meta->sizes, "size"),
                  strides = numbers(entry.meta->strides, "stride");
    if (!sizes || !strides || entry.meta->offset.isSymbolic())
      return wrong("has symbolic sizes");
    Result<Tensor> value =
        entry.meta->hasHalfParts
            ? complexHalfOnStorage(*sizes, *strides, entry.meta->offset.value, *storage, budget)
            : tensorOnStorage(entry.meta->type, *sizes, *strides, entry.meta->offset.value,
                              *storage, budget);
    if (!value)
      return wrong(value.message());
    program.weights.insert_or_assign(entry.name, std::move(*value));
  }
  return {};
}

} // namespace cupel::frontends::torch_import
