#include "cupel/workload/Workload.h"

#include "cupel/support/Files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

using namespace cupel;
using namespace cupel::workload;
using nlohmann::ordered_json;
using tensor::DType;
using tensor::Tensor;
namespace fs = std::filesystem;

std::string cupel::workload::toString(const ProgramVersion &version) {
  return fmt::format("{}.{}.{}", version[0], version[1], version[2]);
}

static std::optional<ProgramVersion> parseVersion(std::string_view text) {
  ProgramVersion version{};
  for (int i = 0; i < 3; ++i) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version[i]);
    if (error != std::errc() || version[i] < 0)
      return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (i < 2) {
      if (!text.starts_with('.'))
        return std::nullopt;
      text.remove_prefix(1);
    }
  }
  return text.empty() ? std::optional(version) : std::nullopt;
}

std::optional<ProgramVersion> cupel::workload::artifactVersion(std::string_view bytes) {
  // Magic, the bytecode's own version in one or two bytes, then the producer up to a NUL.
  if (!bytes.starts_with("ML\xefR"))
    return std::nullopt;
  constexpr std::string_view kProducer = "StableHLO_v";
  size_t at = bytes.substr(0, 64).find(kProducer);
  if (at == std::string_view::npos)
    return std::nullopt;
  std::string_view rest = bytes.substr(at + kProducer.size());
  return parseVersion(rest.substr(0, rest.substr(0, 64).find('\0')));
}

// --- Tensors ----------------------------------------------------------------------------------

namespace {

/// How a type that safetensors lacks is kept: as bytes, with the bytes of an element as the last
/// dimension.
bool hasSafetensorsName(DType type) {
  switch (type) {
  case DType::I2:
  case DType::I4:
  case DType::U2:
  case DType::U4:
  case DType::F8E4M3:
  case DType::F8E4M3B11FNUZ:
  case DType::C128:
    return false;
  default:
    return true;
  }
}

constexpr std::string_view kTypeKey = "cupel.dtype.";

Result<Tensor> asBytes(const Tensor &tensor) {
  Result<Tensor> dense = tensor.contiguous();
  if (!dense)
    return dense;
  tensor::Shape shape(dense->shape().begin(), dense->shape().end());
  shape.push_back(tensor::info(tensor.dtype()).bytes);
  auto owner = std::make_shared<Tensor>(*dense);
  return Tensor::borrow(DType::U8, std::move(shape),
                        {dense->data(), static_cast<size_t>(dense->byteSize())}, owner);
}

Result<Tensor> fromBytes(const Tensor &bytes, DType type, const std::string &what) {
  tensor::Shape shape(bytes.shape().begin(), bytes.shape().end());
  if (bytes.dtype() != DType::U8 || shape.empty() || shape.back() != tensor::info(type).bytes)
    return Error{fmt::format("{}: says it holds {} as bytes, but is a {}", what,
                             tensor::info(type).name,
                             tensor::describe(bytes.elementType(), bytes.shape()))};
  shape.pop_back();
  // Mapped bytes need not be aligned for the type.
  Result<Tensor> result = Tensor::uninitialized(type, std::move(shape));
  if (!result)
    return result;
  Result<Tensor> dense = bytes.contiguous();
  if (!dense)
    return dense;
  std::copy_n(dense->data(), dense->byteSize(), result->mutableData());
  return result;
}

/// "3" or "d2/3".
bool parsePosition(std::string_view name, size_t &device, size_t &position, bool &hasDevice) {
  auto number = [](std::string_view text, size_t &value) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
  };
  size_t slash = name.find('/');
  hasDevice = slash != std::string_view::npos;
  device = 0;
  if (hasDevice && (!name.starts_with('d') || !number(name.substr(1, slash - 1), device)))
    return false;
  return number(hasDevice ? name.substr(slash + 1) : name, position);
}

} // namespace

Status cupel::workload::writeTensors(const std::string &path,
                                 const std::vector<std::vector<Tensor>> &tensors) {
  tensor::Safetensors contents;
  for (size_t d = 0; d < tensors.size(); ++d)
    for (size_t i = 0; i < tensors[d].size(); ++i) {
      std::string name = tensors.size() > 1 ? fmt::format("d{}/{}", d, i) : fmt::format("{}", i);
      Tensor tensor = tensors[d][i];
      if (tensor.elementType().quantization)
        tensor = tensor.withElementType(tensor.dtype());
      if (!hasSafetensorsName(tensor.dtype())) {
        contents.metadata[std::string(kTypeKey) + name] = tensor::info(tensor.dtype()).name;
        Result<Tensor> bytes = asBytes(tensor);
        if (!bytes)
          return bytes.error();
        tensor = *bytes;
      }
      contents.tensors.emplace_back(std::move(name), std::move(tensor));
    }
  return tensor::writeSafetensors(path, contents);
}

Result<std::vector<std::vector<Tensor>>> cupel::workload::readTensors(const std::string &path) {
  Result<tensor::Safetensors> contents = tensor::readSafetensors(path);
  if (!contents)
    return contents.error();
  std::map<std::pair<size_t, size_t>, Tensor> byPosition;
  size_t devices = 0;
  bool someHaveDevices = false, someHaveNot = false;
  for (auto &[name, tensor] : contents->tensors) {
    size_t device, position;
    bool hasDevice;
    if (!parsePosition(name, device, position, hasDevice))
      return Error{
          fmt::format("{}: tensor '{}' is not named by a position such as 0 or d1/0", path, name)};
    (hasDevice ? someHaveDevices : someHaveNot) = true;
    if (auto found = contents->metadata.find(std::string(kTypeKey) + name);
        found != contents->metadata.end()) {
      std::optional<DType> type = tensor::parseDType(found->second);
      if (!type)
        return Error{
            fmt::format("{}: tensor '{}' is of the unknown type '{}'", path, name, found->second)};
      Result<Tensor> decoded = fromBytes(tensor, *type, fmt::format("{}: tensor '{}'", path, name));
      if (!decoded)
        return decoded.error();
      tensor = *decoded;
    }
    devices = std::max(devices, device + 1);
    if (!byPosition.emplace(std::pair(device, position), std::move(tensor)).second)
      return Error{fmt::format("{}: two tensors stand at '{}'", path, name)};
  }
  if (someHaveDevices && someHaveNot)
    return Error{path + ": some tensors name a device and some do not"};
  if (devices > byPosition.size())
    return Error{fmt::format("{}: tensors for {} devices, but only {} tensors", path, devices,
                             byPosition.size())};
  std::vector<std::vector<Tensor>> result(std::max<size_t>(devices, 1));
  for (auto &[position, tensor] : byPosition) {
    if (position.second != result[position.first].size())
      return Error{fmt::format("{}: tensor {} of device {} is missing", path,
                               result[position.first].size(), position.first)};
    result[position.first].push_back(std::move(tensor));
  }
  return result;
}

// --- Options ----------------------------------------------------------------------------------

static constexpr std::string_view kCheckNames[] = {"equal", "almost_equal", "close"};

static ordered_json optionsToJson(const Workload &workload) {
  ordered_json json = {{"format", 1}, {"name", workload.name}};
  const CompileOptions &options = workload.options;
  json["replicas"] = options.replicas;
  json["partitions"] = options.partitions;
  if (workload.hasDeviceIds)
    json["device_ids"] = options.deviceIds;
  if (options.useSpmd)
    json["use_spmd"] = true;
  if (options.useShardy)
    json["use_shardy"] = true;
  if (!options.flags.empty()) {
    ordered_json &flags = json["compile_options"] = ordered_json::object();
    for (const auto &[name, value] : options.flags)
      std::visit([&, &key = name](const auto &v) { flags[key] = v; }, value);
  }
  const WorkloadTolerance &tolerance = workload.tolerance;
  if (tolerance != WorkloadTolerance()) {
    ordered_json &bounds = json["tolerance"] = ordered_json::object();
    if (tolerance.pcc)
      bounds["pcc"] = *tolerance.pcc;
    if (tolerance.atol)
      bounds["atol"] = *tolerance.atol;
    if (tolerance.rtol)
      bounds["rtol"] = *tolerance.rtol;
  }
  for (const WorkloadCheck &check : workload.checks) {
    ordered_json row = {{"kind", kCheckNames[static_cast<int>(check.kind)]},
                        {"actual", check.actual},
                        {check.isConstant ? "constant" : "expected", check.expected}};
    if (check.kind == WorkloadCheck::Kind::AlmostEqual)
      row["tolerance"] = check.tolerance;
    if (check.kind == WorkloadCheck::Kind::Close) {
      row["min_ulps"] = check.minUlps;
      row["max_ulps"] = check.maxUlps;
    }
    if (!check.location.empty())
      row["location"] = check.location;
    if (check.device)
      row["device"] = *check.device;
    json["checks"].push_back(std::move(row));
  }
  return json;
}

/// Reads fields of a JSON object and remembers the first thing that is wrong.
namespace {
class OptionsReader {
public:
  OptionsReader(std::string where, const ordered_json &object)
      : where(std::move(where)), object(object) {
    if (!object.is_object())
      fail("must be an object");
  }
  template <typename T> void read(const char *key, T &value, bool required = false) {
    known.push_back(key);
    auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end()) {
      if (required)
        fail(fmt::format("'{}' is missing", key));
      return;
    }
    // No exceptions cross here: get<T>() throws where the kind of value is wrong.
    try {
      value = found->template get<T>();
    } catch (const nlohmann::json::exception &) {
      fail(fmt::format("'{}' has the wrong type: {}", key, found->dump()));
    }
  }
  const ordered_json *child(const char *key) {
    known.push_back(key);
    if (!object.is_object())
      return nullptr;
    auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }
  /// Call last: names what nobody asked for.
  void rejectUnknown() {
    if (object.is_object())
      for (const auto &item : object.items())
        if (std::ranges::find(known, item.key()) == known.end())
          fail(fmt::format("'{}' is not an option (there are: {})", item.key(),
                           fmt::join(known, ", ")));
  }
  void fail(const std::string &what) {
    if (error.empty())
      error = where + ": " + what;
  }
  std::string where, error;

private:
  const ordered_json &object;
  std::vector<std::string> known;
};
} // namespace

static Status optionsFromJson(const std::string &path, const ordered_json &json,
                              Workload &workload) {
  OptionsReader reader(path, json);
  int64_t format = 1;
  reader.read("format", format);
  if (format != 1)
    reader.fail(fmt::format("format {} is newer than this Cupel understands (1)", format));
  reader.read("name", workload.name);
  CompileOptions &options = workload.options;
  reader.read("replicas", options.replicas);
  reader.read("partitions", options.partitions);
  reader.read("use_spmd", options.useSpmd);
  reader.read("use_shardy", options.useShardy);
  if (options.replicas < 1 || options.partitions < 1 || options.replicas > 65536 ||
      options.partitions > 65536)
    reader.fail("replicas and partitions must be between 1 and 65536");
  workload.hasDeviceIds = json.is_object() && json.contains("device_ids");
  reader.read("device_ids", options.deviceIds);
  if (workload.hasDeviceIds && reader.error.empty() &&
      static_cast<int64_t>(options.deviceIds.size()) != options.replicas * options.partitions)
    reader.fail(fmt::format("{} device_ids for {} replicas of {} partitions",
                            options.deviceIds.size(), options.replicas, options.partitions));
  if (const ordered_json *flags = reader.child("compile_options")) {
    if (!flags->is_object())
      reader.fail("'compile_options' must be an object");
    else
      for (const auto &[key, value] : flags->items()) {
        if (value.is_string())
          options.flags.emplace_back(key, value.get<std::string>());
        else if (value.is_boolean())
          options.flags.emplace_back(key, value.get<bool>());
        else if (value.is_number_integer())
          options.flags.emplace_back(key, value.get<int64_t>());
        else if (value.is_number())
          options.flags.emplace_back(key, value.get<double>());
        else
          reader.fail(fmt::format("compile option '{}' is neither text, number nor boolean", key));
      }
  }
  if (const ordered_json *bounds = reader.child("tolerance")) {
    OptionsReader inner(path + ": tolerance", *bounds);
    auto bound = [&](const char *key, std::optional<double> &out) {
      if (bounds->is_object() && bounds->contains(key)) {
        out = 0;
        inner.read(key, *out);
      }
    };
    bound("pcc", workload.tolerance.pcc);
    bound("atol", workload.tolerance.atol);
    bound("rtol", workload.tolerance.rtol);
    if (!inner.error.empty())
      return Error{inner.error};
  }
  if (const ordered_json *checks = reader.child("checks")) {
    if (!checks->is_array())
      reader.fail("'checks' must be a list");
    for (const ordered_json &row : *checks) {
      OptionsReader inner(fmt::format("{}: check {}", path, workload.checks.size()), row);
      WorkloadCheck check;
      std::string kind;
      inner.read("kind", kind, true);
      auto found = std::ranges::find(kCheckNames, kind);
      if (found == std::end(kCheckNames))
        inner.fail(
            fmt::format("'{}' is not a kind of check ({})", kind, fmt::join(kCheckNames, ", ")));
      check.kind = static_cast<WorkloadCheck::Kind>(found - std::begin(kCheckNames));
      inner.read("actual", check.actual, true);
      check.isConstant = row.is_object() && row.contains("constant");
      inner.read(check.isConstant ? "constant" : "expected", check.expected, true);
      inner.read("tolerance", check.tolerance);
      inner.read("min_ulps", check.minUlps);
      inner.read("max_ulps", check.maxUlps);
      inner.read("location", check.location);
      if (row.is_object() && row.contains("device"))
        inner.read("device", check.device.emplace());
      inner.rejectUnknown();
      if (!inner.error.empty())
        return Error{inner.error};
      workload.checks.push_back(std::move(check));
    }
  }
  reader.rejectUnknown();
  if (!reader.error.empty())
    return Error{reader.error};
  return {};
}

// --- Folders ----------------------------------------------------------------------------------

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
  for (const fs::path &file : files) {
    Result<FileContents> contents = readInput(file.string());
    if (!contents)
      return contents.error();
    ProgramBytes program{artifactVersion(contents->bytes()), std::string(contents->bytes())};
    if (program.bytes.empty())
      return Error{file.string() + ": is empty"};
    programs.push_back(std::move(program));
  }
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
    if (Status read = optionsFromJson(options.string(), json, workload); !read)
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
  std::string json =
      optionsToJson(workload).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
  if (Status written = writeOutput((root / "options.json").string(), json + "\n"); !written)
    return written;
  if (Status written = writeTensors((root / "inputs.safetensors").string(), workload.inputs);
      !written)
    return written;
  if (!workload.constants.empty())
    if (Status written =
            writeTensors((root / "constants.safetensors").string(), {workload.constants});
        !written)
      return written;
  if (workload.expected.empty())
    return {};
  return writeTensors((root / "expected.safetensors").string(), workload.expected);
}

Result<const ProgramBytes *>
Workload::programFor(const std::optional<std::vector<int64_t>> &pluginVersion) const {
  const ProgramBytes *best = nullptr;
  std::vector<std::string> available;
  for (const ProgramBytes &program : programs) {
    if (!program.version) {
      if (!best)
        best = &program; // Text: taken where no artifact fits.
      continue;
    }
    available.push_back(toString(*program.version));
    bool fits = !pluginVersion ||
                std::ranges::lexicographical_compare(*program.version, *pluginVersion) ||
                std::ranges::equal(*program.version, *pluginVersion);
    if (!fits)
      continue;
    // The newest that fits; the oldest where the plugin keeps its version to itself.
    if (!best || !best->version ||
        (pluginVersion ? *best->version < *program.version : *program.version < *best->version))
      best = &program;
  }
  if (best)
    return best;
  return Error{fmt::format("the plugin reads StableHLO up to {}, the workload holds {}; save it "
                           "for an older version",
                           fmt::join(*pluginVersion, "."), fmt::join(available, ", "))};
}
