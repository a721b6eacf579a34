#include "cupel/results/OpTable.h"

#include "cupel/support/Files.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace cupel::results {

using Json = nlohmann::ordered_json;

namespace {

constexpr size_t kCellCharacters = 32'667;

constexpr std::string_view kStatusNames[] = {
    "NOT_STARTED",
    "CREATED_GRAPH",
    "CONVERTED_TO_TORCH_IR",
    "CONVERTED_TO_TORCH_BACKEND_IR",
    "CONVERTED_TO_STABLE_HLO",
    "CONVERTED_TO_TTIR",
    "CONVERTED_TO_TTNN",
    "EXECUTED",
};

std::string joinedSizes(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

Json tensorsJson(const std::vector<OpTensor> &tensors) {
  Json list = Json::array();
  for (const OpTensor &tensor : tensors)
    // Where it lies on the device is what PJRT does not tell.
    list.push_back({{"shape", tensor.shape},
                    {"data_type", tensor.type},
                    {"buffer_type", ""},
                    {"layout", ""},
                    {"grid_shape", Json::array()}});
  return list;
}

Json shapesJson(const std::vector<OpTensor> &tensors) {
  Json list = Json::array();
  for (const OpTensor &tensor : tensors)
    list.push_back(tensor.shapeText());
  return list;
}

std::vector<OpTensor> tensorsOf(const Json &list) {
  std::vector<OpTensor> tensors;
  for (const Json &one : list)
    tensors.push_back(
        {one.value("shape", std::vector<int64_t>()), one.value("data_type", std::string())});
  return tensors;
}

std::optional<double> numberOf(const std::string &text) {
  if (text.empty())
    return std::nullopt;
  if (text == "NaN")
    return NAN;
  if (text == "Inf")
    return INFINITY;
  return std::strtod(text.c_str(), nullptr);
}

Json recordJson(const OpTable &table, const OpRecord &op) {
  auto cut = [&](const std::string &text) {
    return op.status == OpStatus::Executed ? text.substr(0, kCellCharacters) : text;
  };
  Json json;
  if (!op.frameworkName.empty()) {
    json["framework_op_name"] = op.frameworkName;
    json["torch_name"] = op.frameworkName;
  }
  json["frontend"] = "cupel";
  json["backend"] = table.backend;
  json["model_name"] = table.model;
  json["model_group"] = table.group;
  json["global_op_idx"] = op.index;
  json["input_shapes"] = shapesJson(op.inputs);
  json["input_tensors"] = tensorsJson(op.inputs);
  json["output_shapes"] = shapesJson(op.outputs);
  json["output_tensors"] = tensorsJson(op.outputs);
  json["num_ops"] = op.count;
  json["compilation_status"] = int(op.status);
  json["parsed_stable_hlo_ops"] = !op.stablehloOps.empty();
  json["torch_ir_graph"] = cut(op.torchGraph);
  json["stable_hlo_graph"] = cut(op.stablehloGraph);
  Json &parts = json["stable_hlo_ops"] = Json::array();
  for (const StablehloOp &part : op.stablehloOps)
    parts.push_back({part.output, part.name, part.arguments, part.attributes, part.inputShapes,
                     part.outputShapes, part.text});
  json["ttir_graph"] = cut(op.tensorGraph);
  json["ttnn_graph"] = cut(op.deviceGraph);
  json["runtime_stack_dump"] = op.dump;
  json["pcc"] = numberText(op.pcc);
  json["atol"] = numberText(op.atol);
  json["compiled_json"] = "";
  // What tt-torch's files do not have.
  json["op_name"] = op.name;
  json["status"] = name(op.status);
  json["device"] = table.device;
  json["depth"] = table.depth;
  if (!op.failure.empty())
    json["failure"] = op.failure;
  if (!op.error.empty())
    json["error"] = op.error;
  if (op.passed)
    json["passed"] = *op.passed;
  if (!op.sentence.empty())
    json["sentence"] = op.sentence;
  if (!op.remark.empty())
    json["remark"] = op.remark;
  json["compile_seconds"] = op.compileSeconds;
  json["execute_seconds"] = op.executeSeconds;
  return json;
}

OpRecord recordOf(const std::string &key, const Json &json) {
  OpRecord op;
  op.key = key;
  auto text = [&](const char *field) { return json.value(field, std::string()); };
  op.name = text("op_name");
  op.frameworkName = text("framework_op_name");
  op.index = json.value("global_op_idx", 0u);
  op.count = json.value("num_ops", uint64_t{1});
  op.inputs = tensorsOf(json.value("input_tensors", Json::array()));
  op.outputs = tensorsOf(json.value("output_tensors", Json::array()));
  op.status = OpStatus(std::clamp(json.value("compilation_status", 0), 0, 7));
  op.torchGraph = text("torch_ir_graph");
  op.stablehloGraph = text("stable_hlo_graph");
  op.tensorGraph = text("ttir_graph");
  op.deviceGraph = text("ttnn_graph");
  op.dump = text("runtime_stack_dump");
  op.pcc = numberOf(text("pcc"));
  op.atol = numberOf(text("atol"));
  op.failure = text("failure");
  op.error = text("error");
  op.sentence = text("sentence");
  op.remark = text("remark");
  if (json.contains("passed"))
    op.passed = json["passed"].get<bool>();
  op.compileSeconds = json.value("compile_seconds", 0.0);
  op.executeSeconds = json.value("execute_seconds", 0.0);
  using Texts = std::vector<std::string>;
  for (const Json &part : json.value("stable_hlo_ops", Json::array()))
    if (part.is_array() && part.size() == 7)
      op.stablehloOps.push_back({.output = part[0].get<std::string>(),
                                 .name = part[1].get<std::string>(),
                                 .attributes = part[3].get<std::string>(),
                                 .text = part[6].get<std::string>(),
                                 .arguments = part[2].get<Texts>(),
                                 .inputShapes = part[4].get<Texts>(),
                                 .outputShapes = part[5].get<Texts>()});
  return op;
}

} // namespace

std::string_view name(OpStatus status) { return kStatusNames[size_t(status)]; }

std::string OpTensor::shapeText() const { return joinedSizes(shape); }

uint64_t OpTable::total() const {
  uint64_t sum = 0;
  for (const OpRecord &op : ops)
    sum += op.count;
  return sum;
}

std::string numberText(const std::optional<double> &number) {
  if (!number)
    return "";
  if (std::isnan(*number))
    return "NaN";
  if (std::isinf(*number))
    return "Inf";
  return Json(*number).dump();
}

std::string toJson(const OpTable &table) {
  Json json = Json::object();
  for (const OpRecord &op : table.ops)
    json[op.key] = recordJson(table, op);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<OpTable> readOpTable(const std::string &path) {
  Result<FileContents> file = readInput(path);
  if (!file)
    return file.error();
  Json json = Json::parse(file->bytes(), nullptr, false);
  if (!json.is_object())
    return Error{path + ": is no table of operations"};
  OpTable table;
  try {
    for (const auto &[key, record] : json.items()) {
      table.ops.push_back(recordOf(key, record));
      table.model = record.value("model_name", std::string());
      table.group = record.value("model_group", std::string());
      table.backend = record.value("backend", std::string());
      table.device = record.value("device", std::string());
      table.depth = record.value("depth", std::string("execute-op-by-op"));
    }
  } catch (const Json::exception &error) {
    return Error{path + ": is no table of operations: " + error.what()};
  }
  return table;
}

std::string opTableFile(std::string_view id) {
  std::string file;
  for (char c : id)
    file += std::isalnum(static_cast<unsigned char>(c)) || c == '/' ? c : '_';
  return file + "_unique_ops.json";
}

std::vector<MergedOp> mergeOps(const std::vector<OpTable> &tables) {
  std::vector<MergedOp> merged;
  std::unordered_map<std::string, size_t> places;
  for (const OpTable &table : tables)
    for (const OpRecord &op : table.ops) {
      auto [place, isNew] = places.try_emplace(table.backend + " " + op.key, merged.size());
      if (isNew)
        merged.push_back({op, {}, 0});
      MergedOp &one = merged[place->second];
      bool isWorse = op.status < one.op.status ||
                     (op.status == one.op.status && op.passed == false && one.op.passed != false);
      if (isWorse)
        one.op = op;
      one.models[table.model] += op.count;
      one.count += op.count;
    }
  return merged;
}

} // namespace cupel::results
