#include "cupel/testbench/zoo/Loader.h"

#include "cupel/testbench/zoo/Evaluator.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench {

std::string Remark::text() const {
  std::string out = file;
  if (line)
    out += fmt::format(":{}:{}", line, column);
  return out.empty() ? message : out + ": " + message;
}

namespace zoo {
namespace {

/// The methods a worker may call, beyond those every loader has.
constexpr std::string_view kMethods[] = {
    "load_model",      "load_inputs",        "load_config",
    "load_shard_spec", "get_mesh_config",    "unpack_forward_output",
    "decode_output",   "load_inputs_decode", "load_inputs_prefill"};

Remark remark(const Why *why) {
  return {std::string(why->file), why->line, why->column, why->message};
}

class Reader {
public:
  Reader(Evaluator &evaluator, ModuleState *module) : evaluator(evaluator), module(module) {}

  /// The variants of a class with their model info; nothing, with `why` set, if they are not known.
  std::optional<std::vector<Variant>> variants(Class *type, const Why **why,
                                               std::vector<Remark> *doubts) {
    const Node *at = type->node;
    std::optional<Value> query = evaluator.classAttribute(type, "query_available_variants");
    if (!query) {
      *why = evaluator
                 .unknown(at, module,
                          fmt::format("class '{}' has no query_available_variants", type->name))
                 .why;
      return std::nullopt;
    }
    Value known =
        evaluator.call(evaluator.attribute(Value::of(type), "query_available_variants", at, module),
                       {}, at, module);
    std::vector<std::pair<Value, std::string>> keys;
    if (known.kind == ValueKind::Dict && !known.dict->tainted) {
      for (auto &[key, value] : known.dict->entries)
        keys.emplace_back(key, std::string());
    } else if (!known.isNone()) {
      *why = known.isUnknown()               ? known.why
             : known.kind == ValueKind::Dict ? known.dict->tainted
                                             : evaluator
                                                   .unknown(at, module,
                                                            "query_available_variants returns "
                                                            "something else than a dictionary")
                                                   .why;
      return std::nullopt;
    }
    for (auto &[key, name] : keys) {
      Value value = key.kind == ValueKind::Member ? key.member->value : key;
      std::optional<std::string> text = evaluator.stringOf(value);
      if (!text) {
        *why = value.isUnknown()
                   ? value.why
                   : evaluator.unknown(at, module, "a variant has a name that is not known").why;
        return std::nullopt;
      }
      name = std::move(*text);
    }
    std::vector<Variant> made;
    if (keys.empty()) {
      made.emplace_back();
      describe(type, Value(), made.back(), doubts);
    }
    for (auto &[key, name] : keys) {
      made.push_back({name, {}, {}, {}, {}, {}});
      describe(type, key, made.back(), doubts);
    }
    return made;
  }

private:
  void describe(Class *type, Value variant, Variant &out, std::vector<Remark> *doubts) {
    if (!doubts)
      return;
    const Node *at = type->node;
    Arguments arguments;
    arguments.named.emplace_back("variant", variant);
    Value info = evaluator.call(evaluator.attribute(Value::of(type), "get_model_info", at, module),
                                std::move(arguments), at, module);
    auto doubt = [&](const Why *why, std::string_view what) {
      Remark made = remark(why);
      made.message = fmt::format("{} cannot be told: {}", what, made.message);
      if (std::find(doubts->begin(), doubts->end(), made) == doubts->end())
        doubts->push_back(std::move(made));
    };
    if (info.kind != ValueKind::Instance) {
      doubt(info.isUnknown()
                ? info.why
                : evaluator.unknown(at, module, "get_model_info returns no record").why,
            "the model info");
      return;
    }
    std::pair<std::string_view, std::string *> fields[] = {{"model", &out.model},
                                                           {"group", &out.group},
                                                           {"task", &out.task},
                                                           {"source", &out.source},
                                                           {"framework", &out.framework}};
    for (auto &[name, target] : fields) {
      Value *value = info.instance->find(name);
      if (!value)
        continue;
      Value plain = value->kind == ValueKind::Member ? value->member->value : *value;
      if (std::optional<std::string> text = evaluator.stringOf(plain); text && !plain.isNone())
        *target = std::move(*text);
      else if (name == "group")
        doubt(plain.isUnknown() ? plain.why : evaluator.unknown(at, module, "it is no text").why,
              "the model group");
    }
  }

  Evaluator &evaluator;
  ModuleState *module;
};

std::vector<std::string> parametersOf(const Function *function) {
  std::vector<std::string> names;
  bool first = function->form != FunctionForm::StaticMethod;
  for (const Node *parameter : function->node->child(0)->children) {
    if (std::exchange(first, false))
      continue;
    auto form = static_cast<ParameterForm>(parameter->flag);
    names.push_back(std::string(form == ParameterForm::Star         ? "*"
                                : form == ParameterForm::DoubleStar ? "**"
                                                                    : "") +
                    std::string(parameter->text));
  }
  return names;
}

} // namespace

Loader readLoader(Evaluator &evaluator, const std::string &file, std::string modelPath) {
  Loader loader;
  loader.file = file;
  loader.modelPath = std::move(modelPath);
  loader.framework = loader.modelPath.substr(loader.modelPath.rfind('/') + 1);
  evaluator.resetBudget();
  const Why *why = nullptr;
  auto finish = [&](Loader::State state) -> Loader & {
    loader.state = state;
    if (why)
      loader.why = remark(why);
    loader.dependencies = evaluator.dependencies(file);
    return loader;
  };
  ModuleState *module = evaluator.module(file, &why);
  if (!module)
    return finish(Loader::Broken);

  std::optional<Value> found = evaluator.global(module, "ModelLoader");
  if (!found)
    found = evaluator.unknown(nullptr, module, "the file defines no class ModelLoader");
  if (found->kind != ValueKind::Class) {
    why = found->isUnknown() ? found->why
                             : evaluator.unknown(nullptr, module, "ModelLoader is not a class").why;
    return finish(Loader::Undecided);
  }
  Class *type = found->type;
  Reader reader(evaluator, module);
  std::optional<std::vector<Variant>> variants = reader.variants(type, &why, &loader.doubts);
  if (!variants)
    return finish(Loader::Undecided);
  loader.variants = std::move(*variants);

  std::vector<std::string_view> names = module->globals.names();
  std::sort(names.begin(), names.end());
  for (std::string_view name : names) {
    Value *value = module->globals.find(name);
    // What another module defines belongs to that module.
    if (value->kind != ValueKind::Class || value->type->module != module || value->type == type ||
        value->type->name == "ForgePrefillModel" ||
        !evaluator.hasBaseNamed(value->type, "ForgePrefillModel"))
      continue;
    loader.hasPrefill = true;
    std::optional<std::vector<Variant>> own = reader.variants(value->type, &why, &loader.doubts);
    if (!own)
      return finish(Loader::Undecided);
    for (Variant &variant : *own)
      if (std::none_of(loader.prefillVariants.begin(), loader.prefillVariants.end(),
                       [&](const Variant &v) { return v.name == variant.name; }))
        loader.prefillVariants.push_back(std::move(variant));
  }

  for (std::string_view name : kMethods) {
    Class *definer = nullptr;
    std::optional<Value> method = evaluator.classAttribute(type, name, &definer);
    if (!method || !definer)
      continue;
    loader.hasDecode |= name == "load_inputs_decode";
    if (definer->name == "ForgeModel" || definer->name == "ForgePrefillModel")
      continue;
    loader.methods.push_back({std::string(name), method->kind == ValueKind::Function
                                                     ? parametersOf(method->function)
                                                     : std::vector<std::string>{}});
  }
  return finish(Loader::Decided);
}

} // namespace zoo
} // namespace cupel::testbench
