#include "tests/fuzz/OnnxInputs.h"

#include "onnx-ml.pb.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>

namespace cupel::fuzz {

namespace {

using onnx::AttributeProto;
using onnx::GraphProto;
using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using onnx::ValueInfoProto;

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed * 0x9E3779B97F4A7C15ull + 77) { engine.discard(1); }
  uint64_t below(uint64_t limit) { return limit ? engine() % limit : 0; }
  template <typename List> auto &pick(List &list) { return list[below(std::size(list))]; }

private:
  std::mt19937_64 engine;
};

constexpr int64_t kNumbers[] = {
    0,         1,         -1,        2,         3,         4,         7,        -2, 255, 1 << 20,
    1ll << 31, 1ll << 32, 1ll << 40, 1ll << 62, INT64_MAX, INT64_MIN, -1000000, 17, 33,  100};

constexpr const char *kOps[] = {"Add",
                                "MatMul",
                                "Conv",
                                "Reshape",
                                "Slice",
                                "Concat",
                                "Gather",
                                "GatherND",
                                "ScatterND",
                                "Loop",
                                "Scan",
                                "If",
                                "Resize",
                                "Pad",
                                "TopK",
                                "Einsum",
                                "LSTM",
                                "Attention",
                                "Softmax",
                                "Split",
                                "Tile",
                                "Expand",
                                "Transpose",
                                "MaxPool",
                                "Where",
                                "OneHot",
                                "Range",
                                "Cast",
                                "QuantizeLinear",
                                "DequantizeLinear",
                                "LayerNormalization",
                                "ConvTranspose",
                                "GridSample",
                                "DFT",
                                "STFT",
                                "CumSum",
                                "ReduceSum",
                                "Squeeze",
                                "Unsqueeze",
                                "DepthToSpace",
                                "Col2Im",
                                "CenterCropPad",
                                "RoiAlign",
                                "DeformConv",
                                "MaxUnpool",
                                "AveragePool",
                                "LpPool",
                                "LRN",
                                "ConstantOfShape",
                                "EyeLike",
                                "Trilu",
                                "Constant",
                                "Identity",
                                "Shape",
                                "QLinearConv",
                                "QLinearMatMul",
                                "MatMulInteger",
                                "ConvInteger",
                                "DynamicQuantizeLinear",
                                "Clip",
                                "GatherElements",
                                "ScatterElements",
                                "ReverseSequence",
                                "Compress",
                                "NonZero",
                                "Unique",
                                "SequenceAt",
                                "SplitToSequence",
                                "GroupNormalization",
                                "BatchNormalization",
                                "GRU",
                                "RNN",
                                "RotaryEmbedding",
                                "TensorScatter",
                                "LinearAttention",
                                "MelWeightMatrix",
                                "Det",
                                "Gemm",
                                "NegativeLogLikelihoodLoss",
                                "Adam",
                                "Momentum",
                                "ArgMax",
                                "BitShift",
                                "Mod",
                                "AffineGrid",
                                "Upsample",
                                "InstanceNormalization",
                                "Flatten",
                                "SpaceToDepth",
                                "Hardmax",
                                "LogSoftmax",
                                "MeanVarianceNormalization",
                                "LpNormalization",
                                "GlobalLpPool",
                                "MaxRoiPool",
                                "BitCast"};

/// Every graph of a model: its own, those of nodes' attributes, and functions are left alone.
void collect(GraphProto &graph, std::vector<GraphProto *> &graphs) {
  graphs.push_back(&graph);
  for (NodeProto &node : *graph.mutable_node())
    for (AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        collect(*attribute.mutable_g(), graphs);
}

void changeAttribute(AttributeProto &attribute, Random &random) {
  switch (random.below(6)) {
  case 0:
    attribute.set_i(random.pick(kNumbers));
    break;
  case 1:
    for (int i = 0; i < attribute.ints_size(); ++i)
      if (random.below(2))
        attribute.set_ints(i, random.pick(kNumbers));
    break;
  case 2:
    attribute.add_ints(random.pick(kNumbers));
    break;
  case 3:
    attribute.clear_ints();
    attribute.set_f(random.below(2) ? -1e30f : 0.0f / 1.0f);
    break;
  case 4:
    attribute.set_s(random.below(2) ? "nonsense" : "");
    break;
  default:
    attribute.set_name(attribute.name() + "x");
  }
}

void changeTensor(TensorProto &tensor, Random &random) {
  switch (random.below(5)) {
  case 0:
    if (tensor.dims_size())
      tensor.set_dims(int(random.below(tensor.dims_size())), random.pick(kNumbers));
    break;
  case 1:
    tensor.set_data_type(int32_t(random.below(32)));
    break;
  case 2: {
    std::string *raw = tensor.mutable_raw_data();
    if (!raw->empty())
      (*raw)[random.below(raw->size())] = char(random.below(256));
    break;
  }
  case 3:
    for (int i = 0; i < tensor.int64_data_size(); ++i)
      tensor.set_int64_data(i, random.pick(kNumbers));
    break;
  default: {
    // A shape, an index or a size that is off.
    std::string *raw = tensor.mutable_raw_data();
    int64_t number = random.pick(kNumbers);
    if (raw->size() >= 8)
      raw->replace(8 * random.below(raw->size() / 8), 8,
                   std::string(reinterpret_cast<const char *>(&number), 8));
  }
  }
}

void changeNode(NodeProto &node, GraphProto &graph, Random &random) {
  switch (random.below(9)) {
  case 0:
    if (node.input_size())
      node.mutable_input()->RemoveLast();
    break;
  case 1:
    if (node.input_size())
      node.set_input(int(random.below(node.input_size())), "");
    break;
  case 2: { // An operand of another kind: whatever the graph has.
    std::vector<std::string> names;
    for (const ValueInfoProto &input : graph.input())
      names.push_back(input.name());
    for (const TensorProto &tensor : graph.initializer())
      names.push_back(tensor.name());
    for (const NodeProto &other : graph.node())
      names.insert(names.end(), other.output().begin(), other.output().end());
    if (names.empty())
      break;
    if (node.input_size() && random.below(3))
      node.set_input(int(random.below(node.input_size())), random.pick(names));
    else
      node.add_input(random.pick(names));
    break;
  }
  case 3:
    node.set_op_type(random.pick(kOps));
    break;
  case 4:
    if (node.attribute_size())
      changeAttribute(*node.mutable_attribute(int(random.below(node.attribute_size()))), random);
    break;
  case 5:
    if (node.attribute_size())
      node.mutable_attribute()->DeleteSubrange(int(random.below(node.attribute_size())), 1);
    break;
  case 6:
    if (node.output_size() && random.below(2))
      node.mutable_output()->RemoveLast();
    else
      node.add_output("more" + std::to_string(random.below(4)));
    break;
  case 7: {
    static constexpr const char *kNames[] = {
        "axis", "axes",         "perm",      "group",      "pads",        "strides", "to",
        "mode", "kernel_shape", "dilations", "block_size", "num_heads",   "K",       "N",
        "bits", "direction",    "layout",    "equation",   "output_shape"};
    AttributeProto *added = node.add_attribute();
    added->set_name(random.pick(kNames));
    added->set_i(random.pick(kNumbers));
    for (uint64_t i = random.below(5); i > 0; --i)
      added->add_ints(random.pick(kNumbers));
    break;
  }
  default:
    if (node.attribute_size())
      changeAttribute(*node.mutable_attribute(int(random.below(node.attribute_size()))), random);
  }
}

void changeInput(ValueInfoProto &input, Random &random) {
  onnx::TypeProto_Tensor *type = input.mutable_type()->mutable_tensor_type();
  switch (random.below(5)) {
  case 0:
    type->set_elem_type(int32_t(random.below(32)));
    break;
  case 1:
    type->mutable_shape()->add_dim()->set_dim_value(random.pick(kNumbers));
    break;
  case 2:
    if (type->shape().dim_size())
      type->mutable_shape()->mutable_dim()->RemoveLast();
    break;
  case 3:
    type->clear_shape();
    break;
  default:
    if (int dims = type->shape().dim_size())
      type->mutable_shape()
          ->mutable_dim(int(random.below(dims)))
          ->set_dim_value(random.pick(kNumbers));
  }
}

void changeModel(ModelProto &model, Random &random) {
  std::vector<GraphProto *> graphs;
  collect(*model.mutable_graph(), graphs);
  GraphProto &graph = *random.pick(graphs);
  uint64_t what = random.below(12);
  if (what < 5 && graph.node_size()) {
    changeNode(*graph.mutable_node(int(random.below(graph.node_size()))), graph, random);
  } else if (what < 7 && graph.initializer_size()) {
    changeTensor(*graph.mutable_initializer(int(random.below(graph.initializer_size()))), random);
  } else if (what < 9 && graph.input_size()) {
    changeInput(*graph.mutable_input(int(random.below(graph.input_size()))), random);
  } else if (what == 9 && graph.node_size() > 1) {
    graph.mutable_node()->SwapElements(int(random.below(graph.node_size())),
                                       int(random.below(graph.node_size())));
  } else if (what == 10 && model.opset_import_size()) {
    model.mutable_opset_import(0)->set_version(int64_t(random.below(30)));
  } else if (graph.node_size()) {
    graph.mutable_node()->DeleteSubrange(int(random.below(graph.node_size())), 1);
  }
}

ValueInfoProto value(const std::string &name, int32_t type, std::vector<int64_t> dims) {
  ValueInfoProto info;
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  info.mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int64_t dim : dims)
    info.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(dim);
  return info;
}

NodeProto node(const std::string &op, std::vector<std::string> inputs,
               std::vector<std::string> outputs) {
  NodeProto made;
  made.set_op_type(op);
  made.set_name("the_" + op);
  for (const std::string &name : inputs)
    made.add_input(name);
  for (const std::string &name : outputs)
    made.add_output(name);
  return made;
}

TensorProto external(const std::string &location, const std::string &offset,
                     const std::string &length) {
  TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.add_dims(3);
  tensor.set_data_location(TensorProto::EXTERNAL);
  for (auto [key, text] : {std::pair("location", location), std::pair("offset", offset),
                           std::pair("length", length)}) {
    auto *entry = tensor.add_external_data();
    entry->set_key(key);
    entry->set_value(text);
  }
  return tensor;
}

/// A function that calls `called`.
onnx::FunctionProto calling(const std::string &name, const std::string &called) {
  onnx::FunctionProto function;
  function.set_name(name);
  function.set_domain("own");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  auto *own = function.add_opset_import();
  own->set_domain("own");
  own->set_version(1);
  *function.add_node() = node(called, {"a"}, {"b"});
  function.mutable_node(0)->set_domain("own");
  return function;
}

std::vector<Input> handMade() {
  std::vector<Input> inputs;
  auto add = [&](const std::string &name, const std::function<void(ModelProto &)> &spoil) {
    ModelProto model = soundModel();
    spoil(model);
    inputs.push_back({name, model.SerializeAsString()});
  };
  add("a node that feeds itself",
      [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_input(0, "y"); });
  add("two nodes that feed each other", [](ModelProto &m) {
    m.mutable_graph()->mutable_node(0)->set_input(0, "z");
    *m.mutable_graph()->add_node() = node("Relu", {"y"}, {"z"});
  });
  add("nodes in the wrong order", [](ModelProto &m) {
    *m.mutable_graph()->add_node() = node("Relu", {"x"}, {"z"});
    m.mutable_graph()->mutable_node(0)->set_input(0, "z");
  });
  add("one result twice",
      [](ModelProto &m) { *m.mutable_graph()->add_node() = node("Relu", {"x"}, {"y"}); });
  add("one input twice",
      [](ModelProto &m) { *m.mutable_graph()->add_input() = value("x", 1, {2, 3}); });
  add("a result named as an input",
      [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_output(0, "x"); });
  add("an operand that nothing computes",
      [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_input(0, "nowhere"); });
  add("an output that nothing computes",
      [](ModelProto &m) { m.mutable_graph()->mutable_output(0)->set_name("nowhere"); });
  add("no operand", [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->clear_input(); });
  for (int32_t type : {0, 8, 99, -1, 14})
    add("an input of type " + std::to_string(type),
        [&](ModelProto &m) { *m.mutable_graph()->mutable_input(0) = value("x", type, {2, 3}); });
  for (int64_t size : {int64_t(-1), INT64_MIN, INT64_MAX, int64_t(1) << 40, int64_t(0)}) {
    add("an input of size " + std::to_string(size), [&](ModelProto &m) {
      *m.mutable_graph()->mutable_input(0) = value("x", 1, {2, size, size});
    });
    add("a tensor of size " + std::to_string(size), [&](ModelProto &m) {
      TensorProto *tensor = m.mutable_graph()->add_initializer();
      tensor->set_name("w");
      tensor->set_data_type(1);
      tensor->add_dims(size);
      tensor->add_dims(size);
      tensor->set_raw_data("1234");
      *m.mutable_graph()->mutable_node(0) = node("MatMul", {"x", "w"}, {"y"});
    });
    add("Expand to " + std::to_string(size), [&](ModelProto &m) {
      TensorProto *tensor = m.mutable_graph()->add_initializer();
      tensor->set_name("shape");
      tensor->set_data_type(TensorProto::INT64);
      tensor->add_dims(2);
      tensor->add_int64_data(size);
      tensor->add_int64_data(3);
      *m.mutable_graph()->mutable_node(0) = node("Expand", {"x", "shape"}, {"y"});
      *m.mutable_graph()->add_node() = node("ConstantOfShape", {"shape"}, {"z"});
      *m.mutable_graph()->add_node() = node("Tile", {"x", "shape"}, {"t"});
      *m.mutable_graph()->add_node() = node("Reshape", {"x", "shape"}, {"u"});
    });
  }
  add("a function that calls itself", [](ModelProto &m) {
    *m.add_functions() = calling("f", "f");
    auto *own = m.add_opset_import();
    own->set_domain("own");
    own->set_version(1);
    *m.mutable_graph()->mutable_node(0) = node("f", {"x"}, {"y"});
    m.mutable_graph()->mutable_node(0)->set_domain("own");
  });
  add("functions that call each other", [](ModelProto &m) {
    *m.add_functions() = calling("f", "g");
    *m.add_functions() = calling("g", "f");
    auto *own = m.add_opset_import();
    own->set_domain("own");
    own->set_version(1);
    *m.mutable_graph()->mutable_node(0) = node("f", {"x"}, {"y"});
    m.mutable_graph()->mutable_node(0)->set_domain("own");
  });
  add("functions that double thirty times", [](ModelProto &m) {
    auto *own = m.add_opset_import();
    own->set_domain("own");
    own->set_version(1);
    for (int i = 0; i < 30; ++i) {
      onnx::FunctionProto function = calling("f" + std::to_string(i), "f" + std::to_string(i + 1));
      function.mutable_node(0)->set_output(0, "c");
      *function.add_node() = node("f" + std::to_string(i + 1), {"c"}, {"b"});
      function.mutable_node(1)->set_domain("own");
      *m.add_functions() = function;
    }
    *m.add_functions() = calling("f30", "f31");
    m.mutable_functions(30)->mutable_node(0)->set_domain("");
    m.mutable_functions(30)->mutable_node(0)->set_op_type("Relu");
    *m.mutable_graph()->mutable_node(0) = node("f0", {"x"}, {"y"});
    m.mutable_graph()->mutable_node(0)->set_domain("own");
  });
  add("concatenations that double forty times", [](ModelProto &m) {
    m.mutable_graph()->clear_node();
    std::string last = "x";
    for (int i = 0; i < 60; ++i) {
      std::string next = i == 59 ? "y" : "c" + std::to_string(i);
      NodeProto *concat = m.mutable_graph()->add_node();
      *concat = node("Concat", {last, last}, {next});
      AttributeProto *axis = concat->add_attribute();
      axis->set_name("axis");
      axis->set_type(AttributeProto::INT);
      axis->set_i(0);
      last = next;
    }
  });
  add("a loop of very many trips", [](ModelProto &m) {
    TensorProto *trips = m.mutable_graph()->add_initializer();
    trips->set_name("trips");
    trips->set_data_type(TensorProto::INT64);
    trips->add_int64_data(INT64_MAX);
    NodeProto loop = node("Loop", {"trips", "", "x"}, {"y", "all"});
    AttributeProto *body = loop.add_attribute();
    body->set_name("body");
    body->set_type(AttributeProto::GRAPH);
    GraphProto *graph = body->mutable_g();
    *graph->add_input() = value("i", 7, {});
    *graph->add_input() = value("go", 9, {});
    *graph->add_input() = value("a", 1, {2, 3});
    *graph->add_node() = node("Concat", {"a", "a"}, {"b"});
    *graph->add_output() = value("go", 9, {});
    *graph->add_output() = value("b", 1, {});
    *graph->add_output() = value("b", 1, {});
    *m.mutable_graph()->mutable_node(0) = loop;
  });
  add("graphs inside graphs", [](ModelProto &m) {
    GraphProto *graph = m.mutable_graph();
    for (int depth = 0; depth < 25; ++depth) {
      NodeProto *branch = depth == 0 ? graph->mutable_node(0) : graph->add_node();
      *branch = node("If", {"c"}, {"y"});
      AttributeProto *then = branch->add_attribute(), *otherwise = branch->add_attribute();
      then->set_name("then_branch");
      otherwise->set_name("else_branch");
      then->set_type(AttributeProto::GRAPH);
      otherwise->set_type(AttributeProto::GRAPH);
      *otherwise->mutable_g()->add_node() = node("Relu", {"x"}, {"y"});
      *otherwise->mutable_g()->add_output() = value("y", 1, {2, 3});
      graph = then->mutable_g();
      *graph->add_output() = value("y", 1, {2, 3});
    }
    *graph->add_node() = node("Relu", {"x"}, {"y"});
    *m.mutable_graph()->add_input() = value("c", 9, {});
  });
  for (auto [name, location, offset, length] :
       {std::tuple("outside", "../w.bin", "0", "24"),
        std::tuple("absolute", "/etc/passwd", "0", "24"),
        std::tuple("nowhere", "missing.bin", "0", "24"), std::tuple("nameless", "", "0", "24"),
        std::tuple("past the end", "CMakeLists.txt", "100000000", "24"),
        std::tuple("overflowing", "CMakeLists.txt", "9223372036854775807", "9223372036854775807"),
        std::tuple("negative", "CMakeLists.txt", "-8", "24"),
        std::tuple("no number", "CMakeLists.txt", "1e3", "24"),
        std::tuple("too short", "CMakeLists.txt", "0", "8"),
        std::tuple("a folder", ".", "0", "24")})
    add(std::string("external data ") + name, [&](ModelProto &m) {
      *m.mutable_graph()->add_initializer() = external(location, offset, length);
      *m.mutable_graph()->mutable_node(0) = node("Add", {"x", "w"}, {"y"});
    });
  for (int64_t version : {int64_t(-1), int64_t(0), int64_t(2), int64_t(15), INT64_MAX})
    add("IR version " + std::to_string(version), [&](ModelProto &m) { m.set_ir_version(version); });
  for (int64_t version : {int64_t(-1), int64_t(0), int64_t(29), INT64_MAX})
    add("opset " + std::to_string(version),
        [&](ModelProto &m) { m.mutable_opset_import(0)->set_version(version); });
  add("a domain that is not imported",
      [](ModelProto &m) { m.mutable_graph()->mutable_node(0)->set_domain("com.example"); });
  add("no graph", [](ModelProto &m) { m.clear_graph(); });
  add("a huge sparse tensor", [](ModelProto &m) {
    auto *sparse = m.mutable_graph()->add_sparse_initializer();
    sparse->mutable_values()->set_name("w");
    sparse->mutable_values()->set_data_type(1);
    sparse->mutable_values()->add_dims(1);
    sparse->mutable_values()->add_float_data(1);
    sparse->mutable_indices()->set_data_type(TensorProto::INT64);
    sparse->mutable_indices()->add_dims(1);
    sparse->mutable_indices()->add_int64_data(5);
    sparse->add_dims(1 << 30);
    sparse->add_dims(1 << 30);
    *m.mutable_graph()->mutable_node(0) = node("Add", {"x", "w"}, {"y"});
  });
  return inputs;
}

} // namespace

ModelProto soundModel() {
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  GraphProto *graph = model.mutable_graph();
  graph->set_name("graph");
  *graph->add_input() = value("x", TensorProto::FLOAT, {2, 3});
  *graph->add_output() = value("y", TensorProto::FLOAT, {2, 3});
  *graph->add_node() = node("Relu", {"x"}, {"y"});
  return model;
}

OnnxInputs::OnnxInputs(std::vector<CorpusFile> corpus, const OnnxAmounts &amounts, uint64_t seed)
    : byHand(handMade()), changedModels(amounts.models), seed(seed) {
  uint64_t length = 0;
  for (const CorpusFile &file : corpus) {
    length += file.content.size();
    auto model = std::make_unique<ModelProto>();
    if (model->ParseFromString(file.content))
      models.emplace_back(std::filesystem::path(file.path).parent_path().filename().string() + "/" +
                              std::filesystem::path(file.path).filename().string(),
                          std::move(model));
  }
  Amounts byBytes;
  byBytes.everyCut = UINT64_MAX / 2;
  byBytes.cutStep = std::max<uint64_t>(length / std::max<uint64_t>(amounts.cuts, 1), 1);
  byBytes.changes = amounts.changes;
  byBytes.tears = amounts.tears;
  bytes = std::make_unique<Inputs>(std::move(corpus), byBytes, seed);
  if (models.empty())
    changedModels = 0;
}
OnnxInputs::~OnnxInputs() = default;

uint64_t OnnxInputs::size() const { return byHand.size() + bytes->size() + changedModels; }

std::string OnnxInputs::kind(uint64_t number) const {
  if (number < byHand.size())
    return "made by hand";
  number -= byHand.size();
  return number < bytes->size() ? bytes->kind(number) : "changed model";
}

Input OnnxInputs::make(uint64_t number) const {
  if (number < byHand.size())
    return byHand[number];
  number -= byHand.size();
  return number < bytes->size() ? bytes->make(number) : changed(number - bytes->size());
}

Input OnnxInputs::changed(uint64_t index) const {
  Random random(seed * 1000003 + index);
  const auto &[name, original] = random.pick(models);
  ModelProto model = *original;
  for (uint64_t steps = 1 + random.below(3); steps > 0; --steps)
    changeModel(model, random);
  return {name + " changed, number " + std::to_string(index), model.SerializeAsString()};
}

std::vector<CorpusFile> readOnnxCorpus(const std::vector<std::string> &folders, uint64_t largest) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  for (const std::string &folder : folders)
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().extension() == ".onnx" &&
          entry.file_size() <= largest)
        paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  std::vector<CorpusFile> files;
  for (const std::string &path : paths) {
    std::ifstream stream(path, std::ios::binary);
    files.push_back({path, std::string(std::istreambuf_iterator<char>(stream), {}), true});
  }
  return files;
}

} // namespace cupel::fuzz
