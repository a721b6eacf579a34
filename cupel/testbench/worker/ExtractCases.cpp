#include "cupel/testbench/worker/ExtractCases.h"

#include "cupel/compare/Defaults.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace cupel::testbench::worker {

namespace {

namespace torch = frontends::torch_import;
using opcases::Case;
using opcases::Input;
using opcases::TensorSpec;
using opcases::Value;
using tensor::DType;

/// What integers are drawn from where nothing is known of what they mean.
constexpr double kPlainIntegers = 10;

std::string_view torchName(DType type) {
  switch (type) {
  case DType::F16:
    return "float16";
  case DType::BF16:
    return "bfloat16";
  case DType::F32:
    return "float32";
  case DType::F64:
    return "float64";
  case DType::I8:
    return "int8";
  case DType::I16:
    return "int16";
  case DType::I32:
    return "int32";
  case DType::I64:
    return "int64";
  case DType::U8:
    return "uint8";
  case DType::U16:
    return "uint16";
  case DType::U32:
    return "uint32";
  case DType::U64:
    return "uint64";
  case DType::I1:
    return "bool";
  case DType::C64:
    return "complex64";
  case DType::C128:
    return "complex128";
  case DType::F8E4M3FN:
    return "float8_e4m3fn";
  case DType::F8E5M2:
    return "float8_e5m2";
  case DType::F8E4M3FNUZ:
    return "float8_e4m3fnuz";
  case DType::F8E5M2FNUZ:
    return "float8_e5m2fnuz";
  case DType::F8E8M0FNU:
    return "float8_e8m0fnu";
  default:
    return "";
  }
}

/// Where in the model a call stands: the innermost frame of its stack trace that is not torch's
/// own. Folders of the machine that exported it are left out.
std::string sourceOf(const torch::GraphNode &node) {
  const std::string &trace = node.stackTrace;
  constexpr std::string_view kFrame = "File \"";
  size_t frame = trace.rfind(kFrame);
  for (size_t at = frame; at != std::string::npos;
       at = at ? trace.rfind(kFrame, at - 1) : std::string::npos) {
    std::string_view path = std::string_view(trace).substr(at, trace.find('\n', at) - at);
    if (path.find("/torch/") == std::string_view::npos) {
      frame = at;
      break;
    }
  }
  size_t end = frame == std::string::npos ? frame : trace.find('"', frame + kFrame.size());
  if (end == std::string::npos)
    return "";
  std::string path = trace.substr(frame + kFrame.size(), end - frame - kFrame.size());
  size_t cut = path.rfind('/');
  if (cut != std::string::npos && cut > 0)
    cut = path.rfind('/', cut - 1);
  if (cut != std::string::npos)
    path.erase(0, cut + 1);
  size_t lineEnd = std::min(trace.find('\n', end), trace.size());
  std::string_view rest = std::string_view(trace).substr(end, lineEnd - end);
  std::string text = "File: " + path;
  if (size_t number = rest.find("line "); number != std::string_view::npos) {
    rest.remove_prefix(number + 5);
    text += ":" + std::string(rest.substr(0, rest.find(',')));
  }
  text += "\n";
  if (lineEnd < trace.size()) {
    size_t codeEnd = std::min(trace.find('\n', lineEnd + 1), trace.size());
    std::string code = trace.substr(lineEnd + 1, codeEnd - lineEnd - 1);
    if (size_t first = code.find_first_not_of(" \t"); first != std::string::npos)
      text += "Code: " + code.substr(first) + "\n";
  }
  return text;
}

bool isDense(const TensorSpec &tensor, const std::vector<int64_t> &strides) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 0)
      return true;
    if (tensor.shape[i] != 1 && strides[i] != expected)
      return false;
    expected *= tensor.shape[i];
  }
  return true;
}

/// One call on its way to a case.
class Call {
public:
  Call(const torch::Graph &graph, const torch::GraphNode &node) : graph(graph), node(node) {}

  /// False where no case can say it; `why` then tells.
  bool make(Case &one, std::string &why) {
    one.op = node.target;
    bool isLeading = true;
    for (const torch::NamedArgument &argument : node.inputs) {
      // Where a tensor lies is the test's business.
      if (argument.value.as<torch::Device>() || argument.name == "pin_memory" ||
          argument.name == "non_blocking" || argument.name == "generator")
        continue;
      Input input;
      if (!convert(argument, input, why))
        return false;
      bool isTensor = input.kind != Input::Kind::Value;
      // Tensors come first; everything from the first other argument on goes by name, which torch
      // takes for every argument.
      isLeading &= isTensor;
      if (isLeading)
        one.inputs.push_back(std::move(input));
      else
        one.attrs.emplace_back(argument.name, std::move(input));
    }
    return true;
  }

private:
  const torch::TensorMeta *metaOf(const torch::Name &name) const {
    auto found = graph.tensors.find(name.text);
    return found == graph.tensors.end() ? nullptr : &found->second;
  }
  const torch::TensorMeta *metaOf(std::string_view argument) const {
    for (const torch::NamedArgument &one : node.inputs)
      if (one.name == argument)
        if (const auto *name = one.value.as<torch::Name>())
          return metaOf(*name);
    return nullptr;
  }
  std::optional<int64_t> integer(std::string_view argument) const {
    for (const torch::NamedArgument &one : node.inputs)
      if (one.name == argument)
        if (const auto *number = one.value.as<int64_t>())
          return *number;
    return std::nullopt;
  }
  std::optional<int64_t> sizeOf(std::string_view argument, int64_t dim) const {
    const torch::TensorMeta *meta = metaOf(argument);
    if (!meta || meta->sizes.empty())
      return std::nullopt;
    auto rank = int64_t(meta->sizes.size());
    if (dim < -rank || dim >= rank)
      return std::nullopt;
    return meta->sizes[size_t(dim < 0 ? dim + rank : dim)].value;
  }
  bool calls(std::string_view op) const {
    std::string_view target = node.target;
    size_t at = target.find("aten.");
    if (at == std::string_view::npos)
      return false;
    target.remove_prefix(at + 5);
    target = target.substr(0, target.find('.'));
    return target == op ||
           (target.size() == op.size() + 1 && target.starts_with(op) && target.ends_with('_'));
  }

  /// How large integers may be at this place, because they are places in another tensor.
  double highOf(std::string_view argument, size_t element) const {
    std::optional<int64_t> size;
    if (calls("embedding") && argument == "indices")
      size = sizeOf("weight", 0);
    else if ((calls("index") || calls("index_put") || calls("_unsafe_index") ||
              calls("_unsafe_index_put")) &&
             argument == "indices")
      size = sizeOf("self", int64_t(element));
    else if (argument == "index")
      size = sizeOf("self", integer("dim").value_or(0));
    else if (argument == "target")
      size = sizeOf("self", -1);
    return size && *size > 0 ? double(*size) : kPlainIntegers;
  }
  /// Whether places must not repeat: of several writes to one any may win.
  bool wantsDistinct(std::string_view argument) const {
    return (calls("index_put") && argument == "indices") ||
           (argument == "index" &&
            (calls("scatter") || calls("index_copy") || calls("index_fill") || calls("index_add")));
  }

  bool tensor(const torch::Name &name, std::string_view argument, size_t element, TensorSpec &out,
              std::string &why) {
    const torch::TensorMeta *meta = metaOf(name);
    if (!meta) {
      why = "'" + name.text + "' has no type";
      return false;
    }
    out.dtype = torchName(meta->type);
    if (out.dtype.empty()) {
      why = "torch has no such dtype";
      return false;
    }
    std::vector<int64_t> strides;
    for (const torch::SymInt &size : meta->sizes) {
      if (!size.hasValue) {
        why = "a size of '" + name.text + "' depends on data";
        return false;
      }
      out.shape.push_back(size.value);
    }
    for (const torch::SymInt &stride : meta->strides)
      strides.push_back(stride.value);
    if (tensor::isInteger(meta->type)) {
      double high = highOf(argument, element);
      if (wantsDistinct(argument) && out.shape.size() == 1) {
        out.init = "arange";
      } else {
        out.init = "randint";
        out.low = 0;
        out.high = high;
      }
    }
    if (strides.size() == out.shape.size() && !isDense(out, strides)) {
      out.preset = "strided";
      std::vector<Value> items;
      for (int64_t stride : strides)
        items.push_back(Value::of(stride));
      out.presetArgs.emplace_back("strides", Value::list(std::move(items)));
    }
    return true;
  }

  template <typename T> static Value listOf(const std::vector<T> &items) {
    std::vector<Value> values;
    for (const T &item : items) {
      if constexpr (std::is_same_v<T, std::string>)
        values.push_back(Value::of(std::string(item)));
      else
        values.push_back(Value::of(T(item)));
    }
    return Value::list(std::move(values));
  }
  bool number(const torch::SymNumber &symbol, Value &out, std::string &why) const {
    if (const auto *name = std::get_if<torch::Name>(&symbol.value)) {
      auto found = graph.symbols.find(name->text);
      if (found == graph.symbols.end() || !found->second.hasValue) {
        why = "the size '" + name->text + "' is not known";
        return false;
      }
      out = Value::of(found->second.value);
    } else if (const auto *integer = std::get_if<int64_t>(&symbol.value)) {
      out = Value::of(*integer);
    } else if (const auto *real = std::get_if<double>(&symbol.value)) {
      out = Value::of(*real);
    } else {
      out = Value::of(std::get<bool>(symbol.value));
    }
    return true;
  }

  bool convert(const torch::NamedArgument &argument, Input &input, std::string &why) {
    const torch::Argument &given = argument.value;
    if (given.isNone())
      return true;
    if (const auto *name = given.as<torch::Name>()) {
      input.kind = Input::Kind::Tensor;
      return tensor(*name, argument.name, 0, input.tensors.emplace_back(), why);
    }
    if (const auto *names = given.as<std::vector<torch::Name>>()) {
      input.kind = Input::Kind::TensorList;
      for (size_t i = 0; i < names->size(); ++i)
        if (!tensor((*names)[i], argument.name, i, input.tensors.emplace_back(), why))
          return false;
      return true;
    }
    if (const auto *names = given.as<torch::Argument::OptionalNames>()) {
      input.kind = Input::Kind::TensorList;
      for (size_t i = 0; i < names->size(); ++i) {
        TensorSpec &spec = input.tensors.emplace_back();
        if (!(*names)[i])
          spec.isNone = true;
        else if (!tensor(*(*names)[i], argument.name, i, spec, why))
          return false;
      }
      return true;
    }
    if (const auto *integer = given.as<int64_t>())
      input.value = Value::of(*integer);
    else if (const auto *real = given.as<double>())
      input.value = Value::of(*real);
    else if (const auto *flag = given.as<bool>())
      input.value = Value::of(*flag);
    else if (const auto *text = given.as<std::string>())
      input.value = Value::of(std::string(*text));
    else if (const auto *integers = given.as<std::vector<int64_t>>())
      input.value = listOf(*integers);
    else if (const auto *reals = given.as<std::vector<double>>())
      input.value = listOf(*reals);
    else if (const auto *flags = given.as<std::vector<bool>>())
      input.value = listOf(*flags);
    else if (const auto *texts = given.as<std::vector<std::string>>())
      input.value = listOf(*texts);
    else if (const auto *symbol = given.as<torch::SymNumber>())
      return number(*symbol, input.value, why);
    else if (const auto *symbols = given.as<std::vector<torch::SymNumber>>()) {
      std::vector<Value> values;
      for (const torch::SymNumber &one : *symbols)
        if (!number(one, values.emplace_back(), why))
          return false;
      input.value = Value::list(std::move(values));
    } else if (const auto *type = given.as<DType>())
      input.value = Value::of("torch." + std::string(torchName(*type)));
    else if (const auto *format = given.as<torch::MemoryFormat>()) {
      static constexpr const char *kFormats[] = {"torch.contiguous_format", "torch.channels_last",
                                                 "torch.channels_last_3d", "torch.preserve_format"};
      input.value = Value::of(std::string(kFormats[size_t(*format)]));
    } else if (given.as<torch::Layout>())
      input.value = Value::of(std::string("torch.strided"));
    else {
      why = "the argument '" + argument.name + "' has a form that cases have no place for";
      return false;
    }
    return true;
  }

  const torch::Graph &graph;
  const torch::GraphNode &node;
};

/// Calls that compute nothing a device would be asked for.
bool isBookkeeping(std::string_view target) {
  for (std::string_view part :
       {"._assert", ".sym_", ".lift_fresh", ".detach", ".alias.", "_operator.", "math.",
        "torch.sym_", ".item.", "._local_scalar_dense"})
    if (target.find(part) != std::string_view::npos)
      return true;
  return false;
}

} // namespace

void CaseCollector::add(Case one, const std::string &operatorName,
                        const std::function<std::string()> &describe) {
  auto [found, isNew] = seen.try_emplace(one.key(), Seen{out.file.cases.size()});
  if (!isNew) {
    ++found->second.calls;
    return;
  }
  one.name = fmt::format("{}_{}", operatorName, ++counters[operatorName]);
  one.description = describe();
  one.number = uint32_t(out.file.cases.size());
  for (const Input &input : one.inputs)
    for (const TensorSpec &tensor : input.tensors)
      if (tensor.init == "rand")
        ++dtypes[tensor.dtype];
  out.file.cases.push_back(std::move(one));
}

void CaseCollector::finish() {
  for (const auto &[key, entry] : seen)
    if (entry.calls > 1)
      out.file.cases[entry.place].description += fmt::format("Calls: {}\n", entry.calls);
  // The file's dtype is that of most tensors.
  out.defaults.dtype = "float32";
  size_t most = 0;
  for (const auto &[dtype, count] : dtypes)
    if (count > most) {
      most = count;
      out.defaults.dtype = dtype;
    }
  out.defaults.seed = 0;
  bool isNarrow = out.defaults.dtype == "float16" || out.defaults.dtype == "bfloat16";
  compare::Closeness close = compare::extractedCloseness(isNarrow);
  out.defaults.rtol = close.rtol;
  out.defaults.atol = close.atol;
  for (Case &one : out.file.cases) {
    one.dtype = out.defaults.dtype;
    one.rtol = out.defaults.rtol;
    one.atol = out.defaults.atol;
  }
}

ExtractedCases extractCases(const torch::Program &program, const std::string &model) {
  ExtractedCases out;
  out.file.model = model;
  CaseCollector collector(out);
  for (const torch::GraphNode &node : program.graph.nodes) {
    if (isBookkeeping(node.target))
      continue;
    ++out.calls;
    Case one;
    std::string why;
    if (!node.target.starts_with("torch.ops.aten.")) {
      out.leftOut.push_back(node.target + ": no operator of ATen");
      continue;
    }
    if (!Call(program.graph, node).make(one, why)) {
      out.leftOut.push_back(node.target + ": " + why);
      continue;
    }
    std::string name = node.target.substr(15);
    name = name.substr(0, name.find('.'));
    collector.add(std::move(one), name, [&] { return sourceOf(node); });
  }
  collector.finish();
  return out;
}

} // namespace cupel::testbench::worker
