#include "cupel/workload/Folder.h"

#include "cupel/support/Files.h"
#include "cupel/workload/Tensors.h"
#include "cupel/workload/WorkloadJson.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

using namespace cupel;
using namespace cupel::workload;
using nlohmann::ordered_json;
using tensor::Tensor;
namespace fs = std::filesystem;

static constexpr const char *kProvenanceFile = "workload.json";
static constexpr const char *kNoiseCenterFile = "noise-center.safetensors";

static Result<std::vector<ProgramBytes>> readPrograms(const fs::path &folder) {
  std::vector<ProgramBytes> programs;
  std::error_code error;
  std::vector<fs::path> files;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder, error)) {
    std::string name = entry.path().filename().string();
    if (name == "program.mlirbc" || name == "program.mlir" ||
        (name.starts_with("program-v") && name.ends_with(".mlirbc")))
      files.push_back(entry.path());
  }
  std::ranges::sort(files);
  fs::path unversioned;
  for (const fs::path &file : files) {
    Result<FileContents> contents = readInput(file.string());
    if (!contents)
      return contents.error();
    ProgramBytes program{artifactVersion(contents->bytes()), std::string(contents->bytes())};
    if (program.bytes.empty())
      return Error{file.string() + ": is empty"};
    if (!program.version && file.extension() == ".mlirbc")
      unversioned = file;
    programs.push_back(std::move(program));
  }
  // All versions of a program are saved at once. A device would be given another one, and nobody would hear of it.
  if (!unversioned.empty() && std::ranges::any_of(programs, [](const ProgramBytes &program) { return program.version.has_value(); }))
    return Error{unversioned.string() + ": is damaged: it is no portable program, and the others beside it are; save the workload again"};
  if (programs.empty())
    return Error{folder.string() + ": holds no program.mlirbc, so it is not a saved workload"};
  return programs;
}

Result<Workload> cupel::workload::readWorkload(const std::string &folder) {
  fs::path root(folder);
  std::error_code error;
  if (!fs::is_directory(root, error))
    return Error{folder + ": no such folder"};
  Workload workload;
  std::optional<compare::Tolerance> forFloats;
  workload.name = fs::path(fs::weakly_canonical(root, error)).filename().string();
  Result<std::vector<ProgramBytes>> programs = readPrograms(root);
  if (!programs)
    return programs.error();
  workload.programs = std::move(*programs);

  if (fs::path options = root / "options.json"; fs::exists(options, error)) {
    Result<FileContents> text = readInput(options.string());
    if (!text)
      return text.error();
    ordered_json json = ordered_json::parse(text->bytes(), nullptr, false);
    if (json.is_discarded())
      return Error{options.string() + ": is not JSON"};
    if (Status read = optionsFromJson(options.string(), json, workload, forFloats); !read)
      return read.error();
  }
  if (fs::path origin = root / kProvenanceFile; fs::exists(origin, error)) {
    Result<FileContents> text = readInput(origin.string());
    if (!text)
      return text.error();
    ordered_json json = ordered_json::parse(text->bytes(), nullptr, false);
    if (json.is_discarded())
      return Error{origin.string() + ": is not JSON"};
    if (Status read = provenanceFromJson(origin.string(), json, workload.provenance); !read)
      return read.error();
  }
  if (fs::path file = root / "inputs.safetensors"; fs::exists(file, error)) {
    auto tensors = readTensors(file.string());
    if (!tensors)
      return tensors.error();
    workload.inputs = std::move(*tensors);
  } else {
    workload.inputs.emplace_back();
  }
  size_t devices = static_cast<size_t>(workload.options.replicas * workload.options.partitions);
  if (workload.inputs.size() != 1 && workload.inputs.size() != devices)
    return Error{fmt::format("{}: inputs for {} devices, but the program runs on {}", folder,
                             workload.inputs.size(), devices)};
  if (fs::path file = root / "constants.safetensors"; fs::exists(file, error)) {
    auto tensors = readTensors(file.string());
    if (!tensors)
      return tensors.error();
    if (tensors->size() != 1)
      return Error{file.string() + ": constants do not belong to devices"};
    workload.constants = std::move(tensors->front());
  }
  if (fs::path file = root / "expected.safetensors"; fs::exists(file, error)) {
    auto tensors = readTensors(file.string());
    if (!tensors)
      return tensors.error();
    workload.expected = std::move(*tensors);
    if (workload.expected.size() != 1 && workload.expected.size() != devices)
      return Error{fmt::format("{}: results of {} devices are expected, but the program runs on {}",
                               folder, workload.expected.size(), devices)};
  }
  for (int i = 1;; ++i) {
    fs::path file = root / fmt::format("noise-{}.safetensors", i);
    if (!fs::exists(file, error))
      break;
    auto tensors = readTensors(file.string());
    if (!tensors)
      return tensors.error();
    workload.noise.push_back(std::move(*tensors));
  }
  if (fs::path file = root / kNoiseCenterFile; fs::exists(file, error)) {
    auto tensors = readTensors(file.string());
    if (!tensors)
      return tensors.error();
    workload.noiseCenter = std::move(*tensors);
  }
  if (forFloats && workload.tolerances.empty() && !workload.expected.empty())
    for (const Tensor &value : workload.expected.front())
      workload.tolerances.push_back(tensor::isFloat(value.dtype()) ||
                                            tensor::isComplex(value.dtype())
                                        ? *forFloats
                                        : compare::Tolerance());
  return workload;
}

Status cupel::workload::writeWorkload(const std::string &folder, const Workload &workload) {
  fs::path root(folder);
  std::error_code error;
  fs::create_directories(root, error);
  if (error)
    return Error{fmt::format("{}: cannot be created: {}", folder, error.message())};
  for (size_t i = 0; i < workload.programs.size(); ++i) {
    const ProgramBytes &program = workload.programs[i];
    std::string name = i == 0 ? "program.mlirbc"
                       : program.version
                           ? fmt::format("program-v{}.mlirbc", toString(*program.version))
                           : fmt::format("program-v0.0.{}.mlirbc", i);
    if (Status written = writeOutput((root / name).string(), program.bytes); !written)
      return written;
  }
  auto writeJson = [&](const char *name, const ordered_json &json) {
    return writeOutput((root / name).string(),
                       json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  };
  if (Status written = writeJson("options.json", optionsToJson(workload)); !written)
    return written;
  if (workload.provenance != Provenance())
    if (Status written = writeJson(kProvenanceFile, provenanceToJson(workload.provenance));
        !written)
      return written;
  if (Status written = writeTensors((root / "inputs.safetensors").string(), workload.inputs);
      !written)
    return written;
  if (!workload.constants.empty())
    if (Status written =
            writeTensors((root / "constants.safetensors").string(), {workload.constants});
        !written)
      return written;
  for (size_t i = 0; i < workload.noise.size(); ++i)
    if (Status written = writeTensors(
            (root / fmt::format("noise-{}.safetensors", i + 1)).string(), workload.noise[i]);
        !written)
      return written;
  if (!workload.noiseCenter.empty())
    if (Status written = writeTensors((root / kNoiseCenterFile).string(), workload.noiseCenter);
        !written)
      return written;
  if (workload.expected.empty())
    return {};
  return writeTensors((root / "expected.safetensors").string(), workload.expected);
}

Status cupel::workload::saveWorkload(const std::string &folder, const Workload &workload) {
  fs::path target = fs::path(folder).lexically_normal(), parent = target.parent_path();
  std::error_code error;
  if (!parent.empty())
    fs::create_directories(parent, error);
  if (error)
    return Error{fmt::format("{}: cannot be created: {}", parent.string(), error.message())};
  // Hidden from those who look for tests below, should we be killed half way.
  std::string pattern = (parent / fmt::format(".{}-XXXXXX", target.filename().string())).string();
  if (!::mkdtemp(pattern.data()))
    return Error{fmt::format("{}: cannot be created: {}", folder, std::strerror(errno))};
  Status written = writeWorkload(pattern, workload);
  if (written) {
    fs::permissions(pattern, fs::perms(0755), error);
    fs::remove_all(target, error); // What an earlier try of the same test left.
    fs::rename(pattern, target, error);
    if (error)
      written = Error{fmt::format("{}: cannot be put in its place: {}", folder, error.message())};
  }
  if (!written)
    fs::remove_all(pattern, error);
  return written;
}

bool cupel::workload::isWorkloadFolder(const std::string &folder) {
  std::error_code error;
  fs::path root(folder);
  if (fs::exists(root / kProvenanceFile, error))
    return true;
  return fs::exists(root / "options.json", error) &&
         (fs::exists(root / "program.mlirbc", error) || fs::exists(root / "program.mlir", error));
}
