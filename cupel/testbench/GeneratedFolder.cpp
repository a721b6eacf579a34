#include "cupel/testbench/GeneratedFolder.h"

#include "cupel/support/Files.h"

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cupel::testbench {

using nlohmann::json;

namespace {

constexpr uint64_t kMaxManifestBytes = 64 << 20;
constexpr const char *kManifest = "/manifest.json", *kGenerator = "cupel codegen";

std::vector<std::string> namesIn(const json &manifest, const char *key) {
  std::vector<std::string> names;
  if (auto list = manifest.find(key); list != manifest.end() && list->is_array())
    for (const json &one : *list)
      names.push_back(one.is_object() ? one.value("name", "") : "");
  return names;
}

} // namespace

bool isGeneratedFolder(const std::string &path) {
  if (::access((path + kManifest).c_str(), R_OK) != 0)
    return false;
  Result<FileContents> file = readInput(path + kManifest, kMaxManifestBytes);
  // Others have manifests too: most are told apart without reading them as JSON.
  if (!file || file->bytes().find(kGenerator) == std::string_view::npos)
    return false;
  json manifest = json::parse(file->bytes(), nullptr, false);
  return manifest.is_object() && manifest.contains("generator") && manifest["generator"] == kGenerator;
}

Result<GeneratedFolder> GeneratedFolder::read(const std::string &path) {
  Result<FileContents> file = readInput(path + kManifest, kMaxManifestBytes);
  if (!file)
    return file.error();
  json manifest = json::parse(file->bytes(), nullptr, false);
  if (!manifest.is_object() || !manifest.contains("generator") || manifest["generator"] != kGenerator)
    return Error{path + kManifest + ": is no manifest of cupel codegen"};
  GeneratedFolder folder;
  folder.path = path;
  std::string language = manifest.contains("language") && manifest["language"].is_string()
                             ? manifest["language"].get<std::string>()
                             : "";
  if (language != "py" && language != "cpp")
    return Error{path + kManifest + ": the language is '" + language + "'; there are py and cpp"};
  folder.isCpp = language == "cpp";
  folder.hasTensors = manifest.value("export_tensors", json()) == true;
  json program = manifest.value("program", json("irs/shlo.mlir"));
  folder.program = program.is_string() ? program.get<std::string>() : "irs/shlo.mlir";
  folder.inputs = namesIn(manifest, "inputs");
  folder.weights = namesIn(manifest, "weights");
  folder.outputs = namesIn(manifest, "outputs");
  return folder;
}

} // namespace cupel::testbench
