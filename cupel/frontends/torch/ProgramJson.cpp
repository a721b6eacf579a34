#include "cupel/frontends/torch/ProgramJson.h"

#include "cupel/frontends/torch/JsonCursor.h"

namespace cupel::frontends::torch_import {

using tensor::DType;

namespace {

/// torch's number of complex32.
constexpr int64_t kComplexHalf = 9;

/// Programs nest a few levels (a loop in a branch in a wrapper); what nests deeper is hostile.
constexpr int kMaxGraphDepth = 64;
/// The major version of the format that this reader knows.
constexpr int64_t kMajorVersion = 8;

class Reader {
public:
  Graph graph(const JsonCursor &at);
  Argument argument(const JsonCursor &at);
  GraphNode node(const JsonCursor &at);
  TensorMeta tensorMeta(const JsonCursor &at, std::string *unreadable = nullptr);
  SymInt symInt(const JsonCursor &at);
  InputSpec inputSpec(const JsonCursor &at);
  OutputSpec outputSpec(const JsonCursor &at);

private:
  Name bareName(const JsonCursor &at) {
    const JsonCursor inner = at["name"];
    return {inner.text()};
  }
  SymNumber symNumber(const JsonCursor &at);
  template <typename T, typename F> std::vector<T> list(const JsonCursor &at, F &&read) {
    std::vector<T> result;
    at.each([&](const JsonCursor &element) { result.push_back(read(element)); });
    return result;
  }

  int depth = 0;
};

DType dtypeAt(const JsonCursor &at) {
  Result<DType> type = dtypeOfNumber(at.integer());
  if (type)
    return *type;
  at.complain(type.message());
  return DType::F32;
}

SymInt Reader::symInt(const JsonCursor &at) {
  SymInt result;
  if (at.isInteger()) {
    result.value = at.integer();
    return result;
  }
  at.only([&](const std::string &key, const JsonCursor &inner) {
    if (key == "as_int") {
      result.value = inner.integer();
    } else if (key == "as_bool") {
      result.value = inner.flag();
    } else if (key == "as_float") {
      result.expression = "Float('" + std::to_string(inner.number()) + "')";
    } else if (key == "as_expr") {
      const JsonCursor expression = inner["expr_str"], hint = inner["hint"];
      result.expression = expression.text();
      result.hasValue = false;
      if (!hint.present())
        return;
      hint.only([&](const std::string &kind, const JsonCursor &number) {
        result.hasValue = true;
        if (kind == "as_int")
          result.value = number.integer();
        else if (kind == "as_bool")
          result.value = number.flag();
        else
          result.hasValue = false; // The value of a float is computed when it is needed.
      });
    } else {
      at.complain("has the unknown kind '" + tensor::printable(key) + "'");
    }
  });
  return result;
}

TensorMeta Reader::tensorMeta(const JsonCursor &at, std::string *unreadable) {
  TensorMeta meta;
  const JsonCursor type = at["dtype"], sizes = at["sizes"], strides = at["strides"],
                   offset = at["storage_offset"], gradient = at["requires_grad"],
                   layout = at["layout"];
  auto refuse = [&](const JsonCursor &place, const std::string &why) {
    if (unreadable)
      *unreadable = why;
    else
      place.complain(why);
  };
  Result<DType> known = dtypeOfNumber(type.integer());
  meta.hasHalfParts = type.integer() == kComplexHalf;
  if (known)
    meta.type = *known;
  else
    refuse(type, known.message());
  auto size = [&](const JsonCursor &element) { return symInt(element); };
  meta.sizes = list<SymInt>(sizes, size);
  if (strides.present())
    meta.strides = list<SymInt>(strides, size);
  if (offset.present())
    meta.offset = symInt(offset);
  if (gradient.present())
    meta.requiresGradient = gradient.flag();
  if (layout.present() && layout.integer() != 7)
    refuse(layout, "says that the tensor is sparse or of another layout; only strided tensors are "
                   "read");
  for (const SymInt &dimension : meta.sizes)
    if (!dimension.isSymbolic() && dimension.value < 0)
      sizes.complain("holds a negative size");
  return meta;
}

SymNumber Reader::symNumber(const JsonCursor &at) {
  SymNumber result;
  at.only([&](const std::string &key, const JsonCursor &inner) {
    if (key == "as_name")
      result.value = Name{inner.text()};
    else if (key == "as_int")
      result.value = inner.integer();
    else if (key == "as_float")
      result.value = inner.number();
    else if (key == "as_bool")
      result.value = inner.flag();
    else
      at.complain("has the unknown kind '" + tensor::printable(key) + "'");
  });
  return result;
}

Argument Reader::argument(const JsonCursor &at) {
  Argument result;
  at.only([&](const std::string &key, const JsonCursor &inner) {
    auto integer = [](const JsonCursor &x) { return x.integer(); };
    auto number = [](const JsonCursor &x) { return x.number(); };
    if (key == "as_none") {
    } else if (key == "as_tensor") {
      result.value = bareName(inner);
    } else if (key == "as_tensors") {
      result.value = list<Name>(inner, [&](const JsonCursor &x) { return bareName(x); });
    } else if (key == "as_optional_tensor" || key == "as_optional_tensors") {
      auto one = [&](const JsonCursor &x) {
        std::optional<Name> found;
        x.only([&](const std::string &kind, const JsonCursor &tensor) {
          if (kind == "as_tensor")
            found = bareName(tensor);
          else if (kind != "as_none")
            x.complain("should be a tensor or none");
        });
        return found;
      };
      if (key == "as_optional_tensors") {
        result.value = list<std::optional<Name>>(inner, one);
      } else if (std::optional<Name> tensor = one(inner)) {
        result.value = *tensor;
      }
    } else if (key == "as_int") {
      result.value = inner.integer();
    } else if (key == "as_ints") {
      result.value = list<int64_t>(inner, integer);
    } else if (key == "as_float") {
      result.value = inner.number();
    } else if (key == "as_floats") {
      result.value = list<double>(inner, number);
    } else if (key == "as_bool") {
      result.value = inner.flag();
    } else if (key == "as_bools") {
      result.value = list<bool>(inner, [](const JsonCursor &x) { return x.flag(); });
    } else if (key == "as_string") {
      result.value = inner.text();
    } else if (key == "as_strings") {
      result.value = list<std::string>(inner, [](const JsonCursor &x) { return x.text(); });
    } else if (key == "as_complex") {
      const JsonCursor real = inner["real"], imaginary = inner["imag"];
      result.value = std::complex<double>(real.number(), imaginary.number());
    } else if (key == "as_sym_int" || key == "as_sym_float" || key == "as_sym_bool") {
      result.value = symNumber(inner);
    } else if (key == "as_sym_ints" || key == "as_sym_floats" || key == "as_sym_bools") {
      result.value = list<SymNumber>(inner, [&](const JsonCursor &x) { return symNumber(x); });
    } else if (key == "as_scalar_type") {
      result.value = dtypeAt(inner);
    } else if (key == "as_memory_format") {
      int64_t format = inner.integer();
      if (format < 1 || format > 4)
        inner.complain("is no memory format");
      else
        result.value = static_cast<MemoryFormat>(format - 1);
    } else if (key == "as_layout") {
      result.value = Layout{static_cast<int>(inner.integer())};
    } else if (key == "as_device") {
      const JsonCursor type = inner["type"];
      result.value = Device{type.text()};
    } else if (key == "as_graph") {
      const JsonCursor name = inner["name"], body = inner["graph"];
      SubGraph sub{name.text(), nullptr};
      sub.graph = std::make_shared<const Graph>(graph(body));
      result.value = std::move(sub);
    } else if (key == "as_operator") {
      result.value = Operator{inner.text()};
    } else if (key == "as_custom_obj") {
      const JsonCursor name = inner["name"], type = inner["class_fqn"];
      result.value = CustomObject{name.text(), type.present() ? type.text() : ""};
    } else if (key == "as_int_lists") {
      result.value = list<std::vector<int64_t>>(
          inner, [&](const JsonCursor &x) { return list<int64_t>(x, integer); });
    } else {
      at.complain("has the kind '" + tensor::printable(key) + "', which is not read");
    }
  });
  return result;
}

GraphNode Reader::node(const JsonCursor &at) {
  GraphNode result;
  const JsonCursor target = at["target"], inputs = at["inputs"], outputs = at["outputs"],
                   metadata = at["metadata"];
  result.target = target.text();
  result.inputs = list<NamedArgument>(inputs, [&](const JsonCursor &x) {
    const JsonCursor name = x["name"], value = x["arg"];
    return NamedArgument{name.present() ? name.text() : "", argument(value)};
  });
  result.outputs = list<Argument>(outputs, [&](const JsonCursor &x) { return argument(x); });
  if (metadata.present()) {
    const JsonCursor trace = metadata["stack_trace"], modules = metadata["nn_module_stack"];
    if (trace.isString())
      result.stackTrace = trace.text();
    if (modules.isString())
      result.moduleStack = modules.text();
  }
  return result;
}

Graph Reader::graph(const JsonCursor &at) {
  Graph result;
  if (++depth > kMaxGraphDepth) {
    at.complain("nests graphs too deeply");
    return result;
  }
  auto read = [&](const JsonCursor &x) { return argument(x); };
  const JsonCursor inputs = at["inputs"], outputs = at["outputs"], nodes = at["nodes"],
                   tensors = at["tensor_values"], single = at["is_single_tensor_return"];
  result.inputs = list<Argument>(inputs, read);
  result.outputs = list<Argument>(outputs, read);
  result.nodes = list<GraphNode>(nodes, [&](const JsonCursor &x) { return node(x); });
  tensors.eachMember([&](const std::string &key, const JsonCursor &x) {
    result.tensors.emplace(key, tensorMeta(x));
  });
  for (const char *kind : {"sym_int_values", "sym_bool_values", "sym_float_values"}) {
    const JsonCursor symbols = at[kind];
    if (symbols.present())
      symbols.eachMember([&](const std::string &key, const JsonCursor &x) {
        result.symbols.emplace(key, symInt(x));
      });
  }
  if (single.present())
    result.singleTensorReturn = single.flag();
  --depth;
  return result;
}

InputSpec Reader::inputSpec(const JsonCursor &at) {
  InputSpec spec;
  at.only([&](const std::string &key, const JsonCursor &inner) {
    auto named = [&](InputKind kind, const char *target) {
      spec.kind = kind;
      const JsonCursor value = inner["arg"], of = inner[target];
      spec.name = bareName(value).text;
      spec.target = of.text();
    };
    if (key == "parameter") {
      named(InputKind::Parameter, "parameter_name");
    } else if (key == "buffer") {
      named(InputKind::Buffer, "buffer_name");
    } else if (key == "tensor_constant") {
      named(InputKind::TensorConstant, "tensor_constant_name");
    } else if (key == "custom_obj") {
      named(InputKind::CustomObject, "custom_obj_name");
    } else if (key == "token") {
      spec.kind = InputKind::Token;
      const JsonCursor value = inner["arg"];
      spec.name = bareName(value).text;
    } else if (key == "constant_input") {
      spec.kind = InputKind::ConstantInput;
      const JsonCursor name = inner["name"], value = inner["value"];
      spec.name = name.text();
      spec.constant = argument(value);
    } else if (key == "user_input") {
      const JsonCursor value = inner["arg"];
      spec.constant = argument(value);
      if (const Name *name = spec.constant.as<Name>())
        spec.name = name->text;
      else if (const auto *number = spec.constant.as<SymNumber>())
        if (const Name *symbol = std::get_if<Name>(&number->value))
          spec.name = symbol->text;
    } else {
      at.complain("has the unknown kind '" + tensor::printable(key) + "'");
    }
  });
  return spec;
}

OutputSpec Reader::outputSpec(const JsonCursor &at) {
  OutputSpec spec;
  at.only([&](const std::string &key, const JsonCursor &inner) {
    const JsonCursor value = inner["arg"];
    auto named = [&](OutputKind kind, const char *target) {
      spec.kind = kind;
      const JsonCursor of = inner[target];
      spec.target = of.text();
      spec.value.value = bareName(value);
    };
    if (key == "user_output")
      spec.value = argument(value);
    else if (key == "buffer_mutation")
      named(OutputKind::BufferMutation, "buffer_name");
    else if (key == "parameter_mutation")
      named(OutputKind::ParameterMutation, "parameter_name");
    else if (key == "user_input_mutation")
      named(OutputKind::UserInputMutation, "user_input_name");
    else if (key == "gradient_to_parameter")
      named(OutputKind::GradientToParameter, "parameter_name");
    else if (key == "gradient_to_user_input")
      named(OutputKind::GradientToUserInput, "user_input_name");
    else if (key == "loss_output") {
      spec.kind = OutputKind::Loss;
      spec.value.value = bareName(value);
    } else if (key == "token") {
      spec.kind = OutputKind::Token;
    } else {
      at.complain("has the unknown kind '" + tensor::printable(key) + "'");
    }
  });
  return spec;
}

} // namespace

Result<DType> dtypeOfNumber(int64_t number) {
  switch (number) {
  case 1:
    return DType::U8;
  case 2:
    return DType::I8;
  case 3:
    return DType::I16;
  case 4:
    return DType::I32;
  case 5:
    return DType::I64;
  case 6:
    return DType::F16;
  case 7:
    return DType::F32;
  case 8:
    return DType::F64;
  case kComplexHalf:
  case 10:
    return DType::C64;
  case 11:
    return DType::C128;
  case 12:
    return DType::I1;
  case 13:
    return DType::BF16;
  case 28:
    return DType::U16;
  case 29:
    return DType::F8E4M3FN;
  case 30:
    return DType::F8E5M2;
  case 31:
    return DType::F8E4M3FNUZ;
  case 32:
    return DType::F8E5M2FNUZ;
  case 33:
    return DType::F8E8M0FNU;
  case 34:
    return DType::U32;
  case 35:
    return DType::U64;
  default:
    return Error{"is the number " + std::to_string(number) + ", which stands for no element type"};
  }
}

Result<Program> parseProgram(std::string_view json, const std::string &where) {
  Result<JsonDocument> document = JsonDocument::parse(json, where);
  if (!document)
    return document.error();
  Program program;
  Reader reader;
  const JsonCursor root(*document);
  const JsonCursor version = root["schema_version"], module = root["graph_module"],
                   verifiers = root["verifiers"], torch = root["torch_version"],
                   ranges = root["range_constraints"];
  if (!module.present())
    return Error{where + ": is no exported program: it has no graph_module"};
  if (version.present()) {
    const JsonCursor major = version["major"];
    if (int64_t number = major.integer(); number != kMajorVersion)
      major.complain("is " + std::to_string(number) + "; this reader knows version " +
                     std::to_string(kMajorVersion) +
                     " of the format: export again with a current PyTorch");
  }
  const JsonCursor graph = module["graph"], signature = module["signature"],
                   calls = module["module_call_graph"];
  const JsonCursor inputs = signature["input_specs"], outputs = signature["output_specs"];
  program.graph = reader.graph(graph);
  inputs.each([&](const JsonCursor &x) { program.inputs.push_back(reader.inputSpec(x)); });
  outputs.each([&](const JsonCursor &x) { program.outputs.push_back(reader.outputSpec(x)); });
  if (calls.present())
    calls.each([&](const JsonCursor &call) {
      const JsonCursor name = call["fqn"], shape = call["signature"];
      if (!name.isString() || !name.text().empty() || !shape.present())
        return;
      const JsonCursor in = shape["in_spec"], out = shape["out_spec"];
      if (in.present())
        program.inputTree = in.text();
      if (out.present())
        program.outputTree = out.text();
    });
  if (verifiers.present()) {
    program.isTraining = false;
    verifiers.each([&](const JsonCursor &x) { program.isTraining |= x.text() == "TRAINING"; });
  } else if (const JsonCursor dialect = root["dialect"]; dialect.isString()) {
    program.isTraining = dialect.text() == "TRAINING";
  }
  if (torch.isString())
    program.torchVersion = torch.text();
  if (ranges.present())
    ranges.eachMember([&](const std::string &key, const JsonCursor &x) {
      const JsonCursor low = x["min_val"], high = x["max_val"];
      Program::Range &range = program.ranges[key];
      if (low.isInteger())
        range.low = low.integer();
      if (high.isInteger())
        range.high = high.integer();
    });
  if (document->complaint.empty() && program.inputs.size() != program.graph.inputs.size())
    inputs.complain("names " + std::to_string(program.inputs.size()) + " inputs, the graph has " +
                    std::to_string(program.graph.inputs.size()));
  if (document->complaint.empty() && program.outputs.size() != program.graph.outputs.size())
    outputs.complain("names " + std::to_string(program.outputs.size()) +
                     " outputs, the graph has " + std::to_string(program.graph.outputs.size()));
  if (!document->complaint.empty())
    return Error{document->complaint};
  return program;
}

Result<std::vector<WeightEntry>> parseWeightsConfig(std::string_view json,
                                                    const std::string &where) {
  Result<JsonDocument> document = JsonDocument::parse(json, where);
  if (!document)
    return document.error();
  std::vector<WeightEntry> entries;
  Reader reader;
  const JsonCursor root(*document);
  const JsonCursor config = root["config"];
  config.eachMember([&](const std::string &name, const JsonCursor &x) {
    const JsonCursor record = x["path_name"], pickled = x["use_pickle"], meta = x["tensor_meta"];
    WeightEntry entry;
    entry.name = name;
    entry.record = record.text();
    entry.usePickle = pickled.present() && pickled.flag();
    if (meta.present())
      entry.meta = reader.tensorMeta(meta, &entry.unreadable);
    entries.push_back(std::move(entry));
  });
  if (!document->complaint.empty())
    return Error{document->complaint};
  return entries;
}

} // namespace cupel::frontends::torch_import
