#include "cupel/frontends/torch/Archive.h"

#include "cupel/support/TemporaryFolder.h"
#include "cupel/tensor/Zip.h"

#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::frontends::torch_import;

namespace {

/// A program that adds a weight of two floats to its input.
constexpr const char *kProgram = R"({
  "graph_module": {
    "graph": {
      "inputs": [{"as_tensor": {"name": "p_w"}}, {"as_tensor": {"name": "x"}}],
      "outputs": [{"as_tensor": {"name": "add"}}],
      "nodes": [{"target": "torch.ops.aten.add.Tensor",
                 "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                            {"name": "other", "arg": {"as_tensor": {"name": "p_w"}}, "kind": 1}],
                 "outputs": [{"as_tensor": {"name": "add"}}], "metadata": {}}],
      "tensor_values": {
        "p_w": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": true, "strides": [{"as_int": 1}],
                "storage_offset": {"as_int": 0}, "layout": 7, "device": {"type": "cpu"}},
        "x": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "strides": [{"as_int": 1}],
              "storage_offset": {"as_int": 0}, "layout": 7, "device": {"type": "cpu"}},
        "add": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, "strides": [{"as_int": 1}],
                "storage_offset": {"as_int": 0}, "layout": 7, "device": {"type": "cpu"}}},
      "sym_int_values": {}, "sym_bool_values": {}, "custom_obj_values": {}},
    "signature": {
      "input_specs": [{"parameter": {"arg": {"name": "p_w"}, "parameter_name": "w"}},
                      {"user_input": {"arg": {"as_tensor": {"name": "x"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "add"}}}}]},
    "module_call_graph": []},
  "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
  "verifiers": ["TRAINING"], "torch_version": "2.13.0"})";

std::string config(const std::string &sizes, const std::string &strides, int offset) {
  return R"({"config": {"w": {"path_name": "weight_0", "is_param": true, "use_pickle": false,
    "tensor_meta": {"dtype": 7, "sizes": [)" +
         sizes + R"(], "requires_grad": true, "strides": [)" + strides +
         R"(], "storage_offset": {"as_int": )" + std::to_string(offset) + R"(}, "layout": 7}}}})";
}

class ArchiveTest : public testing::Test {
protected:
  using Records = std::map<std::string, std::string>;
  static Records good() {
    float values[] = {0, 1, 2, 3};
    return {{"root/models/model.json", kProgram},
            {"root/data/weights/model_weights_config.json",
             config(R"({"as_int": 2})", R"({"as_int": 1})", 1)},
            {"root/data/weights/weight_0",
             std::string(reinterpret_cast<const char *>(values), sizeof(values))},
            {"root/byteorder", "little"}};
  }
  Result<Program> read(const Records &records, bool compress = false) {
    std::vector<tensor::ZipSource> sources;
    for (const auto &[name, contents] : records)
      sources.push_back({name, "", contents});
    std::string path = (folder.path / "file.pt2").string();
    EXPECT_TRUE(tensor::writeZip(path, sources, compress));
    Result<Archive> archive = Archive::open(path);
    if (!archive)
      return archive.error();
    return archive->program();
  }
  void refuses(const Records &records, const std::string &words, bool compress = false) {
    Result<Program> program = read(records, compress);
    ASSERT_FALSE(program) << words;
    EXPECT_NE(program.message().find(words), std::string::npos) << program.message();
    EXPECT_EQ(program.message().find('\n'), std::string::npos) << program.message();
  }
  TemporaryFolder folder{"cupel-archive"};
};

TEST_F(ArchiveTest, ReadsAProgramAndItsWeights) {
  Result<Program> program = read(good());
  ASSERT_TRUE(program) << program.message();
  EXPECT_EQ(program->graph.nodes.size(), 1u);
  EXPECT_TRUE(program->isTraining);
  const tensor::Tensor &w = program->weights.at("w");
  ASSERT_EQ(w.size(), 2);
  EXPECT_EQ(w.dataAs<float>()[0], 1);
  EXPECT_EQ(w.dataAs<float>()[1], 2);
}

TEST_F(ArchiveTest, AppliesStridesToStorages) {
  Records records = good();
  records["root/data/weights/model_weights_config.json"] =
      config(R"({"as_int": 2})", R"({"as_int": 3})", 0);
  Result<Program> program = read(records);
  ASSERT_TRUE(program) << program.message();
  EXPECT_EQ(program->weights.at("w").dataAs<float>()[1], 3);
  records["root/data/weights/model_weights_config.json"] =
      config(R"({"as_int": 2})", R"({"as_int": 0})", 2);
  program = read(records);
  ASSERT_TRUE(program) << program.message();
  EXPECT_EQ(program->weights.at("w").dataAs<float>()[1], 2);
  // A record without bytes stands for zeros.
  records["root/data/weights/weight_0"] = "";
  program = read(records);
  ASSERT_TRUE(program) << program.message();
  EXPECT_EQ(program->weights.at("w").dataAs<float>()[1], 0);
}

TEST_F(ArchiveTest, RefusesWithThePlace) {
  Records records = good();
  records.erase("root/data/weights/weight_0");
  refuses(records, "weight_0");
  records = good();
  records.erase("root/data/weights/model_weights_config.json");
  refuses(records, "holds no value for 'w'");
  records = good();
  records.erase("root/models/model.json");
  refuses(records, "holds no program");
  records = good();
  records["root/byteorder"] = "big";
  refuses(records, "byte order");
  records = good();
  records["root/models/model.json"] = std::string(kProgram).substr(0, 500);
  refuses(records, "not valid JSON");
  auto changed = [&](const std::string &from, const std::string &to, const std::string &words) {
    Records copy = good();
    std::string &json = copy["root/models/model.json"];
    json.replace(json.find(from), from.size(), to);
    refuses(copy, words);
  };
  changed(R"("major": 8)", R"("major": 9)", "schema_version.major");
  changed(R"("dtype": 7)", R"("dtype": 99)", "tensor_values.p_w.dtype");
  changed(R"("sizes": [{"as_int": 2}])", R"("sizes": [{"as_int": -2}])", "negative");
  changed(R"({"as_tensor": {"name": "p_w"}})", R"({"as_nothing": 1})",
          "graph_module.graph.inputs[0]");
  for (const char *bad : {R"({"as_int": 5})", R"({"as_int": 4611686018427387904})"}) {
    records = good();
    records["root/data/weights/model_weights_config.json"] = config(bad, R"({"as_int": 1})", 0);
    EXPECT_FALSE(read(records));
  }
  // What expands to more than any file of its size could mean.
  records = good();
  records["root/data/weights/model_weights_config.json"] =
      config(R"({"as_int": 1000000000000})", R"({"as_int": 0})", 0);
  refuses(records, "bytes");
  // Brackets without end.
  records = good();
  records["root/models/model.json"] =
      R"({"graph_module": )" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  refuses(records, "graph_module");
  // Compressed records could hide anything.
  refuses(good(), "compressed", true);
}

} // namespace
