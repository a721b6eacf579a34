#include "cupel/testbench/worker/ExtractOnnx.h"

#include "onnx-ml.pb.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <unordered_map>

namespace cupel::testbench::worker {

namespace {

namespace proto = frontends::onnx_import::proto;
using frontends::onnx_import::Model;
using opcases::Case;
using opcases::Input;
using opcases::TensorSpec;
using opcases::Value;

/// Nodes that are one call of torch on all their operands, in their order.
const std::map<std::string_view, std::string_view> &plainOperators() {
  static const std::map<std::string_view, std::string_view> kOperators = {
      {"Add", "torch.add"},
      {"Sub", "torch.sub"},
      {"Mul", "torch.mul"},
      {"Pow", "torch.pow"},
      {"MatMul", "torch.matmul"},
      {"Relu", "torch.relu"},
      {"Sigmoid", "torch.sigmoid"},
      {"Tanh", "torch.tanh"},
      {"Exp", "torch.exp"},
      {"Log", "torch.log"},
      {"Sqrt", "torch.sqrt"},
      {"Reciprocal", "torch.reciprocal"},
      {"Abs", "torch.abs"},
      {"Neg", "torch.neg"},
      {"Erf", "torch.erf"},
      {"Floor", "torch.floor"},
      {"Ceil", "torch.ceil"},
      {"Round", "torch.round"},
      {"Sign", "torch.sign"},
      {"Sin", "torch.sin"},
      {"Cos", "torch.cos"},
      {"Softplus", "torch.nn.functional.softplus"},
      {"Mish", "torch.nn.functional.mish"},
      {"HardSwish", "torch.nn.functional.hardswish"},
      {"Where", "torch.where"},
      {"Equal", "torch.eq"},
      {"Greater", "torch.gt"},
      {"GreaterOrEqual", "torch.ge"},
      {"Less", "torch.lt"},
      {"LessOrEqual", "torch.le"},
      {"And", "torch.logical_and"},
      {"Or", "torch.logical_or"},
      {"Not", "torch.logical_not"},
      {"PRelu", "torch.nn.functional.prelu"},
  };
  return kOperators;
}

std::string torchName(tensor::DType type) {
  using tensor::DType;
  static const std::pair<DType, const char *> kNames[] = {
      {DType::F32, "float32"}, {DType::F16, "float16"},  {DType::BF16, "bfloat16"},
      {DType::F64, "float64"}, {DType::I64, "int64"},    {DType::I32, "int32"},
      {DType::I16, "int16"},   {DType::I8, "int8"},      {DType::U8, "uint8"},
      {DType::I1, "bool"},     {DType::U16, "uint16"},   {DType::U32, "uint32"},
      {DType::U64, "uint64"},  {DType::C64, "complex64"}};
  for (const auto &[known, text] : kNames)
    if (known == type)
      return text;
  return "";
}

/// `tensor<2x3xf32>`; false for what is no such type.
bool parseType(std::string_view text, TensorSpec &out) {
  if (!text.starts_with("tensor<") || !text.ends_with('>'))
    return false;
  text.remove_prefix(7);
  text.remove_suffix(1);
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    int64_t size = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end == text.data() + text.size() || *end != 'x')
      return false;
    out.shape.push_back(size);
    text.remove_prefix(size_t(end - text.data()) + 1);
  }
  std::optional<tensor::DType> type = tensor::parseDType(text);
  out.dtype = type ? torchName(*type) : "";
  if (type && tensor::isInteger(*type)) {
    out.init = "randint";
    out.low = 0;
    out.high = 10;
  }
  return !out.dtype.empty();
}

Value listOf(const std::vector<int64_t> &items) {
  std::vector<Value> values;
  for (int64_t item : items)
    values.push_back(Value::of(item));
  return Value::list(std::move(values));
}

class Extractor {
public:
  explicit Extractor(const Model &model) : model(model) {
    for (const proto::OperatorSetIdProto &set : model.proto().opset_import())
      if (set.domain().empty() || set.domain() == "ai.onnx")
        opset = set.version();
    const proto::GraphProto &graph = model.proto().graph();
    for (const proto::TensorProto &tensor : graph.initializer())
      constants[tensor.name()] = &tensor;
    for (const proto::NodeProto &node : graph.node())
      if (node.op_type() == "Constant" && node.output_size() == 1)
        for (const proto::AttributeProto &attribute : node.attribute())
          if (attribute.name() == "value" && attribute.has_t())
            constants[node.output(0)] = &attribute.t();
  }

  /// False where no call of torch stands for the node; `why` tells.
  bool make(const proto::NodeProto &given, const SurveyedTypes &surveyed, Case &made,
            std::string &reason) {
    node = &given;
    types = &surveyed;
    one = &made;
    why.clear();
    bool isDone = lower(given.op_type());
    reason = why.empty() ? "no call of torch stands for it" : why;
    return isDone;
  }

private:
  // --- what the node says -----------------------------------------------------------------------

  const proto::AttributeProto *attribute(std::string_view name) const {
    for (const proto::AttributeProto &found : node->attribute())
      if (found.name() == name)
        return &found;
    return nullptr;
  }
  int64_t integer(std::string_view name, int64_t missing) const {
    const proto::AttributeProto *found = attribute(name);
    return found && found->has_i() ? found->i() : missing;
  }
  double real(std::string_view name, double missing) const {
    const proto::AttributeProto *found = attribute(name);
    // As it is written: the shortest decimal of the float.
    return found && found->has_f() ? std::stod(fmt::format("{}", found->f())) : missing;
  }
  std::vector<int64_t> integers(std::string_view name) const {
    const proto::AttributeProto *found = attribute(name);
    return found ? std::vector<int64_t>(found->ints().begin(), found->ints().end())
                 : std::vector<int64_t>();
  }
  /// The integers of a constant operand.
  std::optional<std::vector<int64_t>> constant(int operand) const {
    if (operand >= node->input_size())
      return std::nullopt;
    auto found = constants.find(node->input(operand));
    if (found == constants.end())
      return std::nullopt;
    Result<tensor::Tensor> value = model.tensor(*found->second);
    if (!value || value->dtype() != tensor::DType::I64 || value->size() > 64)
      return std::nullopt;
    Result<tensor::Tensor> dense = value->contiguous();
    if (!dense)
      return std::nullopt;
    const auto *data = dense->dataAs<int64_t>();
    return std::vector<int64_t>(data, data + dense->size());
  }
  bool has(int operand) const {
    return operand < node->input_size() && !node->input(operand).empty();
  }
  std::optional<TensorSpec> tensorOf(int operand) {
    TensorSpec spec;
    if (!has(operand) || size_t(operand) >= types->operands.size() ||
        !parseType(types->operands[size_t(operand)], spec)) {
      why = fmt::format("the type of operand {} is not known", operand);
      return std::nullopt;
    }
    return spec;
  }

  // --- what the case gets -----------------------------------------------------------------------

  bool tensor(int operand) {
    std::optional<TensorSpec> spec = tensorOf(operand);
    if (!spec)
      return false;
    Input input;
    input.kind = Input::Kind::Tensor;
    input.tensors.push_back(std::move(*spec));
    one->inputs.push_back(std::move(input));
    return true;
  }
  bool allTensors() {
    for (int i = 0; i < node->input_size(); ++i)
      if (!tensor(i))
        return false;
    return true;
  }
  void value(Value given) {
    Input input;
    input.value = std::move(given);
    one->inputs.push_back(std::move(input));
  }
  void attr(std::string name, Value given) {
    Input input;
    input.value = std::move(given);
    one->attrs.emplace_back(std::move(name), std::move(input));
  }
  int64_t rankOf(int operand) {
    std::optional<TensorSpec> spec = tensorOf(operand);
    return spec ? int64_t(spec->shape.size()) : 0;
  }

  /// Padding as torch has it, the same on both sides.
  bool pads(std::vector<int64_t> &both, size_t count) {
    std::vector<int64_t> given = integers("pads");
    const proto::AttributeProto *automatic = attribute("auto_pad");
    if (automatic && automatic->s() != "NOTSET" && automatic->s() != "VALID" &&
        !automatic->s().empty()) {
      why = "it pads automatically";
      return false;
    }
    if (given.empty())
      given.assign(2 * count, 0);
    if (given.size() != 2 * count) {
      why = "its padding does not fit its rank";
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      if (given[i] != given[i + count]) {
        why = "it pads its two sides differently";
        return false;
      }
      both.push_back(given[i]);
    }
    return true;
  }
  void window(std::string_view from, std::string to, size_t count) {
    std::vector<int64_t> given = integers(from);
    if (given.size() == count && std::ranges::any_of(given, [](int64_t n) { return n != 1; }))
      attr(std::move(to), listOf(given));
  }

  bool lower(const std::string &op) {
    if (auto plain = plainOperators().find(op); plain != plainOperators().end()) {
      one->op = plain->second;
      return allTensors();
    }
    if (op == "Div") {
      // Integers are divided towards zero.
      one->op = "torch.div";
      if (!allTensors())
        return false;
      if (one->inputs[0].tensors[0].init == "randint") {
        attr("rounding_mode", Value::of(std::string("trunc")));
        one->inputs[1].tensors[0].low = 1;
      }
      return true;
    }
    if (op == "Max" || op == "Min") {
      one->op = op == "Max" ? "torch.maximum" : "torch.minimum";
      return node->input_size() == 2 && allTensors();
    }
    if (op == "Softmax" || op == "LogSoftmax") {
      one->op = op == "Softmax" ? "torch.softmax" : "torch.log_softmax";
      int64_t axis = integer("axis", opset < 13 ? 1 : -1);
      if (opset < 13 && axis != -1 && axis != rankOf(0) - 1) {
        why = "before opset 13 it is over all dimensions from its axis on";
        return false;
      }
      attr("dim", Value::of(axis));
      return tensor(0);
    }
    if (op == "LeakyRelu" || op == "Elu") {
      one->op = op == "Elu" ? "torch.nn.functional.elu" : "torch.nn.functional.leaky_relu";
      attr(op == "Elu" ? "alpha" : "negative_slope",
           Value::of(real("alpha", op == "Elu" ? 1.0 : 0.01)));
      return tensor(0);
    }
    if (op == "Gelu") {
      const proto::AttributeProto *approximate = attribute("approximate");
      one->op = "torch.nn.functional.gelu";
      if (approximate && approximate->s() == "tanh")
        attr("approximate", Value::of(std::string("tanh")));
      return tensor(0);
    }
    if (op == "Concat") {
      one->op = "torch.cat";
      Input input;
      input.kind = Input::Kind::TensorList;
      for (int i = 0; i < node->input_size(); ++i) {
        std::optional<TensorSpec> spec = tensorOf(i);
        if (!spec)
          return false;
        input.tensors.push_back(std::move(*spec));
      }
      one->inputs.push_back(std::move(input));
      attr("dim", Value::of(integer("axis", 0)));
      return true;
    }
    if (op == "Transpose") {
      std::vector<int64_t> order = integers("perm");
      if (order.empty())
        for (int64_t i = rankOf(0); i-- > 0;)
          order.push_back(i);
      one->op = "torch.permute";
      attr("dims", listOf(order));
      return tensor(0);
    }
    if (op == "Reshape" || op == "Expand") {
      std::optional<std::vector<int64_t>> shape = constant(1);
      if (!shape) {
        why = "its shape is computed";
        return false;
      }
      if (op == "Reshape") {
        // 0 keeps the size that is there.
        std::optional<TensorSpec> from = tensorOf(0);
        for (size_t i = 0; from && i < shape->size() && i < from->shape.size(); ++i)
          if ((*shape)[i] == 0 && !integer("allowzero", 0))
            (*shape)[i] = from->shape[i];
      }
      one->op = op == "Reshape" ? "torch.reshape" : "torch.Tensor.expand";
      if (!tensor(0))
        return false;
      if (op == "Expand") {
        // ONNX broadcasts both ways.
        const std::vector<int64_t> &from = one->inputs[0].tensors[0].shape;
        if (shape->size() < from.size())
          shape->insert(shape->begin(), from.size() - shape->size(), 1);
        for (size_t i = 0; i < from.size(); ++i)
          if (int64_t &size = (*shape)[shape->size() - from.size() + i]; size == 1)
            size = from[i];
      }
      value(listOf(*shape));
      return true;
    }
    if (op == "Flatten") {
      if (integer("axis", 1) != 1) {
        why = "it flattens at another axis";
        return false;
      }
      one->op = "torch.flatten";
      attr("start_dim", Value::of(int64_t(1)));
      return tensor(0);
    }
    if (op == "Unsqueeze" || op == "Squeeze") {
      std::optional<std::vector<int64_t>> axes = constant(1);
      if (!axes && attribute("axes"))
        axes = integers("axes");
      if (!axes || axes->size() != 1) {
        why = "it has not just one axis that is known";
        return false;
      }
      one->op = op == "Unsqueeze" ? "torch.unsqueeze" : "torch.squeeze";
      attr("dim", Value::of(axes->front()));
      return tensor(0);
    }
    if (op == "ReduceMean" || op == "ReduceSum" || op == "ReduceMax" || op == "ReduceMin") {
      std::optional<std::vector<int64_t>> axes = constant(1);
      if (attribute("axes"))
        axes = integers("axes");
      if (has(1) && !axes) {
        why = "its axes are computed";
        return false;
      }
      one->op = op == "ReduceMean"  ? "torch.mean"
                : op == "ReduceSum" ? "torch.sum"
                : op == "ReduceMax" ? "torch.amax"
                                    : "torch.amin";
      if (!axes || axes->empty()) {
        axes.emplace();
        for (int64_t i = 0; i < rankOf(0); ++i)
          axes->push_back(i);
      }
      attr("dim", listOf(*axes));
      attr("keepdim", Value::of(integer("keepdims", 1) != 0));
      return tensor(0);
    }
    if (op == "Clip") {
      why = "its bounds are tensors";
      return false;
    }
    if (op == "Gemm") {
      // The form linear layers are exported in.
      if (integer("transA", 0) || !integer("transB", 0) || real("alpha", 1) != 1 ||
          real("beta", 1) != 1) {
        why = "only the form of a linear layer is one call";
        return false;
      }
      one->op = "torch.nn.functional.linear";
      return allTensors();
    }
    if (op == "Conv")
      return convolution();
    if (op == "MaxPool" || op == "AveragePool")
      return pool(op == "MaxPool");
    if (op == "GlobalAveragePool") {
      int64_t count = rankOf(0) - 2;
      if (count < 1 || count > 3)
        return false;
      one->op = fmt::format("torch.nn.functional.adaptive_avg_pool{}d", count);
      if (!tensor(0))
        return false;
      value(Value::of(int64_t(1)));
      return true;
    }
    if (op == "BatchNormalization") {
      // X, scale, B, mean, var there; input, mean, var, weight, bias here.
      one->op = "torch.nn.functional.batch_norm";
      attr("eps", Value::of(real("epsilon", 1e-5)));
      return tensor(0) && tensor(3) && tensor(4) && tensor(1) && tensor(2);
    }
    if (op == "LayerNormalization") {
      std::optional<TensorSpec> scale = tensorOf(1);
      if (!scale)
        return false;
      one->op = "torch.nn.functional.layer_norm";
      if (!tensor(0))
        return false;
      value(listOf(scale->shape));
      if (!tensor(1) || (has(2) && !tensor(2)))
        return false;
      attr("eps", Value::of(real("epsilon", 1e-5)));
      return true;
    }
    if (op == "Gather") {
      std::optional<TensorSpec> data = tensorOf(0), indices = tensorOf(1);
      if (!data || !indices)
        return false;
      int64_t axis = integer("axis", 0);
      auto rank = int64_t(data->shape.size());
      axis = axis < 0 ? axis + rank : axis;
      bool isEmbedding = axis == 0 && rank == 2;
      if (axis < 0 || axis >= rank || (!isEmbedding && indices->shape.size() != 1) ||
          data->shape[size_t(axis)] < 1) {
        why = "it is neither an embedding nor a selection by a list";
        return false;
      }
      one->op = isEmbedding ? "torch.embedding" : "torch.index_select";
      if (!tensor(0))
        return false;
      if (!isEmbedding)
        value(Value::of(axis));
      if (!tensor(1))
        return false;
      one->inputs.back().tensors[0].high = double(data->shape[size_t(axis)]);
      return true;
    }
    return false;
  }

  bool convolution() {
    int64_t count = rankOf(0) - 2;
    std::vector<int64_t> padding;
    if (count < 1 || count > 3 || !pads(padding, size_t(count)))
      return false;
    one->op = fmt::format("torch.nn.functional.conv{}d", count);
    window("strides", "stride", size_t(count));
    if (std::ranges::any_of(padding, [](int64_t n) { return n != 0; }))
      attr("padding", listOf(padding));
    window("dilations", "dilation", size_t(count));
    if (int64_t groups = integer("group", 1); groups != 1)
      attr("groups", Value::of(groups));
    return allTensors();
  }

  bool pool(bool isMax) {
    int64_t count = rankOf(0) - 2;
    std::vector<int64_t> padding, kernel = integers("kernel_shape");
    if (count < 1 || count > 3 || kernel.size() != size_t(count) || !pads(padding, size_t(count)) ||
        node->output_size() != 1)
      return false;
    bool isPadded = std::ranges::any_of(padding, [](int64_t n) { return n != 0; });
    one->op = fmt::format("torch.nn.functional.{}_pool{}d", isMax ? "max" : "avg", count);
    attr("kernel_size", listOf(kernel));
    std::vector<int64_t> strides = integers("strides");
    attr("stride", listOf(strides.empty() ? std::vector<int64_t>(size_t(count), 1) : strides));
    if (isPadded)
      attr("padding", listOf(padding));
    if (isMax)
      window("dilations", "dilation", size_t(count));
    else if (isPadded)
      attr("count_include_pad", Value::of(integer("count_include_pad", 0) != 0));
    if (integer("ceil_mode", 0))
      attr("ceil_mode", Value::of(true));
    return tensor(0);
  }

  const Model &model;
  int64_t opset = 1; ///< Of the standard's own operators.
  std::unordered_map<std::string, const proto::TensorProto *> constants;
  const proto::NodeProto *node = nullptr;
  const SurveyedTypes *types = nullptr;
  Case *one = nullptr;
  std::string why;
};

} // namespace

ExtractedCases extractOnnxCases(const Model &model, const std::vector<SurveyedTypes> &nodes,
                                const std::string &name) {
  ExtractedCases out;
  out.file.model = name;
  std::unordered_map<std::string, const SurveyedTypes *> byName;
  for (const SurveyedTypes &node : nodes)
    byName.emplace(node.name, &node);
  Extractor extractor(model);
  CaseCollector collector(out);
  for (const proto::NodeProto &node : model.proto().graph().node()) {
    if (node.op_type() == "Constant" || node.op_type() == "Identity")
      continue;
    ++out.calls;
    std::string nodeName =
        !node.name().empty() || !node.output_size() ? node.name() : node.output(0);
    auto types = byName.find(nodeName);
    Case one;
    std::string why = "the importer did not get there";
    bool isStandard = node.domain().empty() || node.domain() == "ai.onnx";
    if (types == byName.end() || !isStandard || !extractor.make(node, *types->second, one, why)) {
      out.leftOut.push_back(fmt::format("{} ({}): {}", node.op_type(), nodeName, why));
      continue;
    }
    std::string lower = node.op_type();
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    collector.add(std::move(one), lower,
                  [&] { return fmt::format("Node: {} ({})\n", nodeName, node.op_type()); });
  }
  collector.finish();
  return out;
}

} // namespace cupel::testbench::worker
