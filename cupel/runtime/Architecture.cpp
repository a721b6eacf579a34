#include "cupel/runtime/Architecture.h"

#include "cupel/runtime/BuiltInArchitectures.h"
#include "cupel/support/Files.h"
#include "cupel/support/Text.h"

#include <algorithm>
#include <charconv>
#include <libfyaml.h>
#include <memory>

namespace cupel::runtime {

std::vector<int64_t> Architecture::coordinates(int64_t chip) const {
  std::vector<int64_t> place(mesh.size());
  for (size_t i = mesh.size(); i-- > 0; chip /= mesh[i])
    place[i] = chip % mesh[i];
  return place;
}

namespace {

constexpr int64_t kMostChips = 4096;

struct DocumentDeleter {
  void operator()(fy_document *document) const { fy_document_destroy(document); }
};
struct DiagDeleter {
  void operator()(fy_diag *diag) const { fy_diag_destroy(diag); }
};

/// Reads one descriptor; keeps the first complaint.
class Reader {
public:
  explicit Reader(const std::string &origin) : origin(origin) {}

  std::string complaint;

  void complain(fy_node *at, const std::string &message) {
    if (!complaint.empty())
      return;
    complaint = origin;
    fy_token *token = at ? startToken(at) : nullptr;
    if (const fy_mark *mark = token ? fy_token_start_mark(token) : nullptr)
      complaint += ":" + std::to_string(mark->line + 1) + ":" + std::to_string(mark->column + 1);
    complaint += ": " + message;
  }

  std::string text(fy_node *node) {
    size_t size = 0;
    const char *scalar = node ? fy_node_get_scalar(node, &size) : nullptr;
    if (!scalar) {
      complain(node, "a plain value is due here");
      return "";
    }
    return {scalar, size};
  }

  int64_t number(fy_node *node) {
    std::string digits;
    for (char c : text(node))
      if (c != '_')
        digits += c;
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < 0)
      complain(node, "'" + digits + "' is no number of zero or more");
    return value;
  }

  std::vector<fy_node *> list(fy_node *node) {
    std::vector<fy_node *> items;
    if (!fy_node_is_sequence(node)) {
      complain(node, "a list in brackets is due here");
      return items;
    }
    void *state = nullptr;
    while (fy_node *item = fy_node_sequence_iterate(node, &state))
      items.push_back(item);
    return items;
  }

private:
  static fy_token *startToken(fy_node *node) {
    if (fy_node_is_scalar(node))
      return fy_node_get_scalar_token(node);
    return nullptr;
  }

  const std::string &origin;
};

} // namespace

Result<Architecture> parseArchitecture(std::string_view yaml, const std::string &origin) {
  fy_parse_cfg config = {};
  config.flags = static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_COLLECT_DIAG);
  fy_diag_cfg quiet;
  fy_diag_cfg_default(&quiet);
  quiet.fp = nullptr; // What is wrong is ours to tell.
  quiet.output_fn = [](fy_diag *, void *, const char *, size_t) {};
  std::unique_ptr<fy_diag, DiagDeleter> diag(fy_diag_create(&quiet));
  fy_diag_set_collect_errors(diag.get(), true);
  config.diag = diag.get();
  std::unique_ptr<fy_document, DocumentDeleter> document(
      fy_document_build_from_string(&config, yaml.data(), yaml.size()));
  if (!document) {
    void *state = nullptr;
    if (fy_diag_error *error = fy_diag_errors_iterate(diag.get(), &state))
      return Error{origin + ":" + std::to_string(std::max(error->line, 1)) + ":" +
                   std::to_string(std::max(error->column, 1)) + ": " + error->msg};
    return Error{origin + (yaml.empty() ? ": is empty" : ": this is no YAML") +
                 "; a descriptor is a mapping with name, chips, mesh, dram_bytes, ..."};
  }
  Reader reader(origin);
  Architecture result;
  fy_node *root = fy_document_root(document.get());
  if (!root || !fy_node_is_mapping(root))
    return Error{origin + ": a descriptor is a mapping with name, chips, mesh, dram_bytes, ..."};
  bool hasName = false, hasChips = false;
  void *state = nullptr;
  while (fy_node_pair *pair = fy_node_mapping_iterate(root, &state)) {
    fy_node *keyNode = fy_node_pair_key(pair), *value = fy_node_pair_value(pair);
    std::string key = reader.text(keyNode);
    if (key == "name") {
      result.name = reader.text(value);
      hasName = !result.name.empty();
    } else if (key == "description") {
      result.description = reader.text(value);
    } else if (key == "chips") {
      result.chips = reader.number(value);
      hasChips = true;
      if (result.chips < 1 || result.chips > kMostChips)
        reader.complain(value, "an architecture has 1 to " + std::to_string(kMostChips) + " chips");
    } else if (key == "mesh") {
      for (fy_node *item : reader.list(value))
        result.mesh.push_back(reader.number(item));
    } else if (key == "dram_bytes") {
      result.dramBytes = reader.number(value);
    } else if (key == "sram_bytes") {
      result.sramBytes = reader.number(value);
    } else if (key == "dtypes") {
      for (fy_node *item : reader.list(value)) {
        std::string name = reader.text(item);
        if (std::optional<tensor::DType> type = tensor::parseDType(name))
          result.dtypes.push_back(*type);
        else
          reader.complain(item, "'" + name + "' is no element type");
      }
    } else if (key == "precision") {
      Result<compare::DevicePrecision> precision =
          compare::DevicePrecision::parse(reader.text(value));
      if (precision)
        result.precision = *precision;
      else
        reader.complain(value, precision.message());
    } else if (key == "tile") {
      for (fy_node *item : reader.list(value))
        result.tile.push_back(reader.number(item));
    } else {
      reader.complain(keyNode, "'" + key +
                                   "' is not known; name, description, chips, mesh, dram_bytes, "
                                   "sram_bytes, dtypes and tile are");
    }
  }
  if (!reader.complaint.empty())
    return Error{reader.complaint};
  if (!hasName || !hasChips)
    return Error{origin + ": " + (hasName ? "chips" : "name") + " is missing"};
  if (result.mesh.empty())
    result.mesh = {result.chips};
  int64_t product = 1;
  for (int64_t size : result.mesh)
    if (size < 1 || size > kMostChips || (product *= size) > kMostChips)
      return Error{origin + ": the mesh is impossible"};
  if (product != result.chips)
    return Error{origin + ": the mesh has " + std::to_string(product) + " places for " +
                 std::to_string(result.chips) + " chips"};
  return result;
}

std::vector<std::string> architectureNames() {
  std::vector<std::string> names;
  for (const BuiltInArchitecture &one : builtInArchitectures())
    if (one.isDescribed)
      names.emplace_back(one.name);
  return names;
}

Result<Architecture> findArchitecture(const std::string &nameOrPath) {
  for (const BuiltInArchitecture &one : builtInArchitectures())
    if (one.name == nameOrPath && one.isDescribed)
      return parseArchitecture(one.yaml, "zoo/archs/" + nameOrPath + ".yaml");
  if (nameOrPath.find('/') != std::string::npos || nameOrPath.ends_with(".yaml")) {
    Result<FileContents> contents = readInput(nameOrPath);
    if (!contents)
      return contents.error();
    return parseArchitecture(contents->bytes(), nameOrPath);
  }
  std::string known;
  for (const std::string &name : architectureNames())
    known += (known.empty() ? "" : ", ") + name;
  return Error{"there is no architecture '" + nameOrPath + "'; built in are " + known +
               ", and a path names a descriptor of your own"};
}

} // namespace cupel::runtime
