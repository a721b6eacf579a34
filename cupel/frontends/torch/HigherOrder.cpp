// Operators whose arguments are graphs: branches, loops, scans, and wrappers that only set a mode.

#include "cupel/frontends/torch/Importer.h"
#include "cupel/frontends/torch/ops/Lowering.h"

#include <fmt/format.h>

namespace cupel::frontends::torch_import {

using namespace mlir;

namespace {

const Graph *graphOf(const GraphNode &node, size_t i) {
  const SubGraph *sub = i < node.inputs.size() ? node.inputs[i].value.as<SubGraph>() : nullptr;
  return sub ? sub->graph.get() : nullptr;
}

} // namespace

Result<std::vector<Entry>> Importer::entriesOf(Scope &scope, const Argument &argument) {
  std::vector<Entry> entries;
  auto add = [&](const Name &name) {
    const Entry *found = find(scope, name);
    if (found)
      entries.push_back(*found);
    return found != nullptr;
  };
  auto missing = [&](const Name &name) {
    return refuse(ErrorCode::InvalidModel, "'" + name.text + "' is used before it is computed");
  };
  if (const Name *name = argument.as<Name>()) {
    if (!add(*name))
      return missing(*name);
  } else if (const auto *names = argument.as<std::vector<Name>>()) {
    for (const Name &name : *names)
      if (!add(name))
        return missing(name);
  } else if (const auto *names = argument.as<Argument::OptionalNames>()) {
    for (const std::optional<Name> &name : *names) {
      if (!name)
        entries.emplace_back();
      else if (!add(*name))
        return missing(*name);
    }
  } else if (const auto *number = argument.as<SymNumber>()) {
    Result<Number> value = numberOf(scope, *number);
    if (!value)
      return value.error();
    entries.emplace_back().number = *value;
  } else if (const auto *numbers = argument.as<std::vector<SymNumber>>()) {
    for (const SymNumber &one : *numbers) {
      Result<Number> value = numberOf(scope, one);
      if (!value)
        return value.error();
      entries.emplace_back().number = *value;
    }
  } else if (const auto *integer = argument.as<int64_t>()) {
    entries.emplace_back().number = Number::of(*integer);
  } else if (const auto *integers = argument.as<std::vector<int64_t>>()) {
    for (int64_t integer : *integers)
      entries.emplace_back().number = Number::of(integer);
  } else if (const auto *real = argument.as<double>()) {
    entries.emplace_back().number = Number::of(*real);
  } else if (const auto *flag = argument.as<bool>()) {
    entries.emplace_back().number = Number::of(*flag);
  } else {
    entries.emplace_back();
  }
  return entries;
}

Status Importer::bindResults(Scope &scope, const GraphNode &node, ArrayRef<Entry> entries) {
  size_t next = 0;
  for (const Argument &output : node.outputs) {
    size_t count = 1;
    if (const auto *names = output.as<std::vector<Name>>())
      count = names->size();
    if (next + count > entries.size())
      return refuse(ErrorCode::InvalidModel,
                    fmt::format("yields {} results, the program takes more", entries.size()));
    if (Status status = bindResult(scope, output, entries.slice(next, count), count != 1); !status)
      return status;
    next += count;
  }
  return {};
}

Status Importer::importHigherOrder(Scope &scope, const GraphNode &node, StringRef name) {
  HloBuilder &b = *builder;
  Location location = b.location();
  // Operands from one argument on, lists flattened.
  auto operandsFrom = [&](size_t first) -> Result<std::vector<Entry>> {
    std::vector<Entry> entries;
    for (size_t i = first; i < node.inputs.size(); ++i) {
      Result<std::vector<Entry>> some = entriesOf(scope, node.inputs[i].value);
      if (!some)
        return some;
      entries.insert(entries.end(), some->begin(), some->end());
    }
    return entries;
  };
  auto inlineAt = [&](size_t graph, size_t operands) -> Status {
    const Graph *body = graphOf(node, graph);
    if (!body)
      return refuse(ErrorCode::InvalidModel, fmt::format("argument {} should be a graph", graph));
    Result<std::vector<Entry>> entries = operandsFrom(operands);
    if (!entries)
      return entries.error();
    Result<std::vector<Entry>> results = inlineGraph(*body, *entries);
    if (!results)
      return results.error();
    return bindResults(scope, node, *results);
  };
  if (name == "wrap_with_set_grad_enabled")
    return inlineAt(1, 2);
  if (name == "wrap_with_autocast") {
    const auto *type = node.inputs.size() > 3 ? node.inputs[1].value.as<tensor::DType>() : nullptr;
    const auto *enabled = node.inputs.size() > 3 ? node.inputs[2].value.as<bool>() : nullptr;
    Type wanted = type ? elementTypeFor(&context, *type) : Type(b.builder().getBF16Type());
    Type outer = std::exchange(autocast, !enabled || *enabled ? wanted : Type());
    Status status = inlineAt(4, 5);
    autocast = outer;
    return status;
  }
  if (name == "wrap" || name == "strict_mode" || name == "tag_activation_checkpoint")
    return inlineAt(0, 1);
  if (name == "hints_wrapper")
    return inlineAt(0, 1);
  if (name == "invoke_subgraph")
    return inlineAt(0, 2);
  if (name == "with_effects")
    return importWithEffects(scope, node);

  // Values of the operand lists from one argument on.
  auto valuesOf = [&](size_t i, SmallVector<Value> &values) -> Status {
    if (i >= node.inputs.size())
      return {};
    Result<std::vector<Entry>> entries = entriesOf(scope, node.inputs[i].value);
    if (!entries)
      return entries.error();
    for (const Entry &entry : *entries) {
      if (entry.tensor)
        values.push_back(read(*entry.tensor));
      else if (entry.number)
        values.push_back(entry.number->isReal() ? b.splat(entry.number->real, b.f64())
                                                : b.splatInteger(entry.number->integer, b.i64()));
    }
    return {};
  };
  Status inner; // The first error inside of a region.
  auto body = [&](const Graph &graph, ArrayRef<Value> values) -> SmallVector<Value> {
    SmallVector<Entry> entries;
    for (Value value : values)
      entries.push_back(fresh(value));
    Result<std::vector<Entry>> results = inlineGraph(graph, entries);
    b.setLocation(location);
    SmallVector<Value> outputs;
    if (!results) {
      if (inner)
        inner = Error{results.message()};
      return outputs;
    }
    for (const Entry &entry : *results) {
      if (entry.tensor)
        outputs.push_back(read(*entry.tensor));
      else if (entry.number)
        outputs.push_back(b.splatInteger(entry.number->integer, b.i64()));
    }
    return outputs;
  };
  auto bindValues = [&](ArrayRef<Value> values) -> Status {
    if (!inner)
      return inner;
    if (failure)
      return *failure;
    SmallVector<Entry> entries;
    for (Value value : values)
      entries.push_back(fresh(value));
    return bindResults(scope, node, entries);
  };
  auto typesOf = [](ArrayRef<Value> values) {
    return SmallVector<Type>(ValueRange(values).getTypes());
  };

  if (name == "cond") {
    const Graph *first = graphOf(node, 1), *second = graphOf(node, 2);
    if (!first || !second)
      return refuse(ErrorCode::InvalidModel, "takes a predicate and two graphs");
    Resolved predicate;
    if (Status status = resolve(scope, node.inputs[0].value, predicate); !status)
      return status;
    if (!predicate.item.value) {
      const auto *flag = predicate.argument.as<bool>();
      const auto *integer = predicate.argument.as<int64_t>();
      if (!flag && !integer && !predicate.item.number)
        return refuse(ErrorCode::InvalidModel, "the predicate is neither a tensor nor a number");
      bool holds = flag ? *flag : integer ? *integer != 0 : predicate.item.number->integer != 0;
      return inlineAt(holds ? 1 : 2, 3);
    }
    SmallVector<Value> operands;
    for (size_t i = 3; i < node.inputs.size(); ++i)
      if (Status status = valuesOf(i, operands); !status)
        return status;
    Value condition = cast(b, b.reshape(predicate.item.value, {}), b.i1());
    // Both branches are lowered apart first: a region must not be left half written.
    SmallVector<Type> types;
    auto results = b.ifElse(
        condition,
        [&] {
          SmallVector<Value> values = body(*first, operands);
          types = typesOf(values);
          return values;
        },
        [&] {
          SmallVector<Value> values = body(*second, operands);
          if (inner && typesOf(values) != types && !failure)
            inner = refuse(ErrorCode::InvalidModel, "the branches yield different types");
          return values;
        });
    return bindValues(results);
  }

  if (name == "while_loop") {
    const Graph *test = graphOf(node, 0), *step = graphOf(node, 1);
    if (!test || !step)
      return refuse(ErrorCode::InvalidModel, "takes two graphs");
    SmallVector<Value> carried, more;
    if (Status status = valuesOf(2, carried); !status)
      return status;
    if (Status status = valuesOf(3, more); !status)
      return status;
    auto all = [&](ValueRange values) {
      SmallVector<Value> list(values);
      list.append(more);
      return list;
    };
    auto results = b.whileLoop(
        carried,
        [&](ValueRange values) -> Value {
          SmallVector<Value> outputs = body(*test, all(values));
          if (outputs.size() != 1 || HloBuilder::countOf(outputs[0]) != 1) {
            if (inner)
              inner = refuse(ErrorCode::InvalidModel, "the condition should be one bool");
            return b.splatInteger(0, b.i1());
          }
          return cast(b, b.reshape(outputs[0], {}), b.i1());
        },
        [&](ValueRange values) {
          SmallVector<Value> outputs = body(*step, all(values));
          if (inner && typesOf(outputs) != SmallVector<Type>(values.getTypes()) &&
              !failure)
            inner = refuse(ErrorCode::InvalidModel, "the loop's values change their types");
          return outputs;
        });
    return bindValues(results);
  }

  if (name == "scan" || name == "map_impl" || name == "associative_scan") {
    const Graph *step = graphOf(node, 0);
    if (!step)
      return refuse(ErrorCode::InvalidModel, "takes a graph");
    bool isScan = name == "scan", isAssociative = name == "associative_scan";
    SmallVector<Value> carried, elements, more;
    if (isScan)
      if (Status status = valuesOf(1, carried); !status)
        return status;
    if (Status status = valuesOf(isScan ? 2 : 1, elements); !status)
      return status;
    if (Status status = valuesOf(isScan ? 3 : 2, more); !status)
      return status;
    if (elements.empty() || llvm::any_of(elements, [&](Value x) {
          return HloBuilder::rankOf(x) == 0 ||
                 HloBuilder::shapeOf(x)[0] != HloBuilder::shapeOf(elements[0])[0];
        }))
      return refuse(ErrorCode::InvalidModel, "goes over tensors of one length");
    int64_t length = HloBuilder::shapeOf(elements[0])[0];
    // Element i of a tensor's first dimension, which is dropped.
    auto at = [&](Value x, Value i) {
      Dims sizes(HloBuilder::shapeOf(x));
      sizes[0] = 1;
      SmallVector<Value> starts(sizes.size(), b.splatInteger(0, b.i64()));
      starts[0] = i;
      return b.reshape(b.dynamicSlice(x, starts, sizes), ArrayRef<int64_t>(sizes).drop_front());
    };
    auto put = [&](Value all, Value one, Value i) {
      SmallVector<Value> starts(HloBuilder::rankOf(all), b.splatInteger(0, b.i64()));
      starts[0] = i;
      return b.dynamicUpdateSlice(all, b.unsqueeze(one, 0), starts);
    };
    // What is stacked has the types of the graph's own outputs.
    SmallVector<RankedTensorType> stacked;
    size_t firstStacked = isAssociative ? 0 : carried.size();
    for (size_t i = firstStacked; i < step->outputs.size(); ++i) {
      const Name *output = step->outputs[i].as<Name>();
      auto meta = output ? step->tensors.find(output->text) : step->tensors.end();
      if (meta == step->tensors.end())
        return refuse(ErrorCode::NotYet, "stacks something that is no tensor");
      Result<RankedTensorType> type = typeOf(meta->second);
      if (!type)
        return type.error();
      Dims shape{length};
      shape.append(type->getShape().begin(), type->getShape().end());
      stacked.push_back(RankedTensorType::get(shape, type->getElementType()));
    }
    size_t carries = carried.size();
    if (isAssociative) {
      // The running value starts as the first element.
      if (length == 0)
        return bindValues(elements);
      Value zero = b.splatInteger(0, b.i64());
      for (Value x : elements)
        carried.push_back(at(x, zero));
      carries = carried.size();
    }
    SmallVector<Value> initial{b.splatInteger(isAssociative ? 1 : 0, b.i64())};
    initial.append(carried);
    for (auto [i, type] : llvm::enumerate(stacked)) {
      Value all = b.splat(0, type.getElementType(), type.getShape());
      if (isAssociative)
        all = put(all, carried[i], b.splatInteger(0, b.i64()));
      initial.push_back(all);
    }
    auto results = b.whileLoop(
        initial,
        [&](ValueRange values) -> Value {
          return b.less(values[0], b.splatInteger(length, b.i64()));
        },
        [&](ValueRange values) {
          SmallVector<Value> arguments(values.slice(1, carries));
          for (Value x : elements)
            arguments.push_back(at(x, values[0]));
          arguments.append(more);
          SmallVector<Value> outputs = body(*step, arguments);
          SmallVector<Value> next{b.add(values[0], b.splatInteger(1, b.i64()))};
          if (!inner || outputs.size() != (isAssociative ? carries : carries + stacked.size())) {
            if (inner)
              inner = refuse(ErrorCode::InvalidModel, "the graph yields another number of results");
            next.append(values.begin() + 1, values.end());
            return next;
          }
          for (size_t i = 0; i < carries; ++i) {
            if (outputs[i].getType() != values[1 + i].getType() && inner)
              inner = refuse(ErrorCode::InvalidModel, "the carried values change their types");
            next.push_back(outputs[i]);
          }
          for (size_t i = 0; i < stacked.size(); ++i) {
            Value one = outputs[firstStacked + i];
            if (HloBuilder::shapeOf(one) != stacked[i].getShape().drop_front() ||
                HloBuilder::elementOf(one) != stacked[i].getElementType()) {
              if (inner)
                inner = refuse(ErrorCode::InvalidModel,
                               "a stacked result has another type than declared");
              next.push_back(values[1 + carries + i]);
              continue;
            }
            next.push_back(put(values[1 + carries + i], one, values[0]));
          }
          return next;
        });
    SmallVector<Value> kept(results.begin() + 1 + (isAssociative ? carries : 0), results.end());
    return bindValues(kept);
  }
  return refuse(ErrorCode::NotYet, "this higher-order operator has no lowering");
}

Status Importer::importWithEffects(Scope &scope, const GraphNode &node) {
  // Token, operator, its arguments -> token, its results.
  const Operator *target = node.inputs.size() > 1 ? node.inputs[1].value.as<Operator>() : nullptr;
  const auto *text = node.inputs.size() > 1 ? node.inputs[1].value.as<std::string>() : nullptr;
  if (!target && !text)
    return refuse(ErrorCode::InvalidModel, "names no operator");
  GraphNode &made = madeNodes.emplace_back();
  made.target = target ? target->target : *text;
  made.stackTrace = node.stackTrace;
  StringRef name = made.target;
  name.consume_front("torch.ops.");
  const Schema *schema = findSchema(std::string_view(name));
  for (size_t i = 2; i < node.inputs.size(); ++i) {
    std::string argument = node.inputs[i].name;
    if (argument.empty() && schema && i - 2 < schema->arguments.size())
      argument = schema->arguments[i - 2].name;
    made.inputs.push_back({argument, node.inputs[i].value});
  }
  if (!node.outputs.empty()) {
    if (const Name *token = node.outputs[0].as<Name>())
      scope.names[token->text].isToken = true;
    made.outputs.assign(node.outputs.begin() + 1, node.outputs.end());
  }
  return importNode(scope, made);
}

/// What autocast on the CPU does to a call's operands: products in the narrow type, some functions
/// in f32, and everything in the widest type that its operands have.
void Importer::castOperands(StringRef target, Arguments &arguments) {
  enum class Policy { None, Narrow, Wide, Widest };
  StringRef name = target.split('.').second.split('.').first;
  Policy policy =
      llvm::StringSwitch<Policy>(name)
          .Cases("conv1d", "conv2d", "conv3d", "conv_tbc", "convolution", Policy::Narrow)
          .Cases("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "_convolution",
                 Policy::Narrow)
          .Cases("bmm", "mm", "linalg_vecdot", "baddbmm", "addmm", "addbmm", "linear",
                 Policy::Narrow)
          .Cases("matmul", "mv", "addmv", "_addmm_activation", "mkldnn_rnn_layer", Policy::Narrow)
          .Cases("scaled_dot_product_attention", "_native_multi_head_attention", "einsum", "dot",
                 "vdot", "chain_matmul", "linalg_multi_dot", Policy::Narrow)
          .Cases("avg_pool3d", "binary_cross_entropy", "grid_sampler", "polar", "prod", "quantile",
                 Policy::Wide)
          .Cases("nanquantile", "stft", "cdist", "trace", "view_as_complex", "cholesky",
                 Policy::Wide)
          .Cases("cholesky_inverse", "cholesky_solve", "inverse", "lu_solve", "orgqr", "ormqr",
                 Policy::Wide)
          .Cases("pinverse", "max_pool3d", "max_unpool2d", "max_unpool3d", "adaptive_avg_pool3d",
                 Policy::Wide)
          .Cases("reflection_pad1d", "reflection_pad2d", "replication_pad1d", "replication_pad2d",
                 "replication_pad3d", "mse_loss", Policy::Wide)
          .Cases("cosine_embedding_loss", "nll_loss", "nll_loss2d", "hinge_embedding_loss",
                 "poisson_nll_loss", "smooth_l1_loss", Policy::Wide)
          .Cases("cross_entropy_loss", "l1_loss", "huber_loss", "margin_ranking_loss",
                 "soft_margin_loss", "triplet_margin_loss", Policy::Wide)
          .Cases("multi_margin_loss", "ctc_loss", "kl_div", "multilabel_margin_loss",
                 "binary_cross_entropy_with_logits", Policy::Wide)
          .Cases("fft_fft", "fft_ifft", "fft_rfft", "fft_irfft", "linalg_cond", "linalg_svd",
                 "linalg_inv", "linalg_solve", "linalg_cholesky", Policy::Wide)
          .Cases("cat", "stack", "index_copy", Policy::Widest)
          .Default(Policy::None);
  if (policy == Policy::None)
    return;
  Type wanted = policy == Policy::Wide ? builder->f32() : autocast;
  auto each = [&](auto &&visit) {
    for (auto &[key, resolved] : arguments) {
      visit(resolved.item);
      for (Item &item : resolved.items)
        visit(item);
    }
  };
  if (policy == Policy::Widest)
    each([&](Item &item) {
      if (item.value && HloBuilder::isFloat(item.value) &&
          HloBuilder::elementOf(item.value).getIntOrFloatBitWidth() > 16)
        wanted = builder->f32();
    });
  each([&](Item &item) {
    if (item.value && HloBuilder::isFloat(item.value) &&
        !HloBuilder::elementOf(item.value).isF64() && HloBuilder::elementOf(item.value) != wanted) {
      item.value = cast(*builder, item.value, wanted);
      item.alias = nullptr;
    }
  });
}

} // namespace cupel::frontends::torch_import
