#include "cupel/cli/Ops.h"

#include "cupel/cli/ModelRequest.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/cli/Programs.h"
#include "cupel/reference/Registry.h"
#include "cupel/support/Files.h"

#include <algorithm>
#include <fmt/format.h>
#include <llvm/Support/raw_ostream.h>

namespace cupel::cli {

using namespace mlir;
using frontends::SurveyedNode;
using State = SurveyedNode::State;

namespace {

constexpr const char *kVerb = "ops";
constexpr size_t kShownFailures = 20;
constexpr size_t kTypesWidth = 76;

/// One way an operator is used.
struct Form {
  std::vector<std::string> operands, results;
  int64_t count = 0;
};

/// All uses of one operator at one version.
struct OpUse {
  std::string op;
  int64_t version = 0, count = 0;
  int64_t states[4] = {};
  std::vector<Form> forms; ///< The most frequent first.
  std::vector<const SurveyedNode *> failures;

  int64_t in(State state) const { return states[size_t(state)]; }
};

/// Tensors in few characters, whatever the format calls them: `f32[2,3]` for tensor<2x3xf32>.
std::vector<std::string> shortened(const std::vector<std::string> &types) {
  std::vector<std::string> result;
  for (llvm::StringRef type : types) {
    llvm::StringRef rest = type;
    if (!rest.ends_with(">") || !rest.consume_front("tensor<")) {
      result.push_back(type.str());
      continue;
    }
    rest = rest.drop_back();
    std::string sizes;
    while (true) {
      llvm::StringRef size =
          rest.take_while([](char c) { return (c >= '0' && c <= '9') || c == '?'; });
      if (size.empty() || !rest.drop_front(size.size()).starts_with("x"))
        break;
      sizes += (sizes.empty() ? "" : ",") + size.str();
      rest = rest.drop_front(size.size() + 1);
    }
    result.push_back(rest.str() + "[" + sizes + "]");
  }
  return result;
}

std::vector<OpUse> usesOf(const frontends::ModelSurvey &survey) {
  std::map<std::pair<std::string, int64_t>, OpUse> uses;
  for (const SurveyedNode &node : survey.nodes) {
    OpUse &use = uses[{node.op, node.version}];
    use.op = node.op;
    use.version = node.version;
    ++use.count;
    ++use.states[size_t(node.state)];
    if (node.state == State::Failed)
      use.failures.push_back(&node);
    Form made{shortened(node.operands), shortened(node.results), 0};
    auto same = std::ranges::find_if(use.forms, [&](const Form &form) {
      return form.operands == made.operands && form.results == made.results;
    });
    if (same == use.forms.end())
      same = use.forms.insert(same, std::move(made));
    ++same->count;
  }
  std::vector<OpUse> sorted;
  for (auto &[key, use] : uses) {
    std::ranges::sort(use.forms, {}, [](const Form &form) {
      return std::tuple(-form.count, form.operands, form.results);
    });
    sorted.push_back(std::move(use));
  }
  // What fails first, then what there is most of.
  std::ranges::sort(sorted, {}, [](const OpUse &use) {
    return std::tuple(use.in(State::Failed) == 0, -use.count, use.op, use.version);
  });
  return sorted;
}

std::string joined(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string typesOf(const Form &form) {
  return joined(form.operands) + " -> " +
         (form.results.empty() ? std::string("?") : joined(form.results));
}

std::string stateOf(const OpUse &use) {
  std::string text;
  for (State state : {State::Lowered, State::Folded, State::Failed, State::Unreached})
    if (int64_t count = use.in(state))
      text += (text.empty() ? "" : ", ") +
              (count == use.count ? std::string(frontends::name(state))
                                  : fmt::format("{} {}", count, frontends::name(state)));
  return text;
}

std::string typeOf(const frontends::Argument &input) {
  return shortened({tensor::describe(input.type, input.shape)}).front();
}

llvm::json::Object toJson(const SurveyedNode &node) {
  return llvm::json::Object{
      {"node", node.name},
      {"reason", std::string(frontends::reasonOf(node.failure->code))},
      {"kind", std::string(name(kindOf(node.failure->code)))},
      {"message", node.failure->message}};
}

void printJson(const ModelRequest &request, const frontends::ModelSurvey &survey,
               const std::vector<OpUse> &uses) {
  llvm::json::Array ops, inputs, notes;
  int64_t states[4] = {};
  for (const OpUse &use : uses) {
    llvm::json::Array forms, failures;
    for (const Form &form : use.forms)
      forms.push_back(llvm::json::Object{{"operands", llvm::json::Array(form.operands)},
                                         {"results", llvm::json::Array(form.results)},
                                         {"count", form.count}});
    for (const SurveyedNode *node : use.failures)
      failures.push_back(toJson(*node));
    llvm::json::Object entry{{"op", use.op},
                             {"version", use.version},
                             {"count", use.count},
                             {"supported", use.in(State::Failed) == 0},
                             {"forms", std::move(forms)},
                             {"failures", std::move(failures)}};
    for (State state : {State::Lowered, State::Folded, State::Failed, State::Unreached}) {
      entry[llvm::StringRef(frontends::name(state))] = use.in(state);
      states[size_t(state)] += use.in(state);
    }
    ops.push_back(std::move(entry));
  }
  for (const frontends::Argument &input : survey.inputs)
    inputs.push_back(llvm::json::Object{{"name", input.name}, {"type", typeOf(input)}});
  for (const auto *list : {&request.notes, &survey.notes})
    for (const std::string &note : *list)
      notes.push_back(note);
  llvm::json::Object whole{{"file", request.file},
                           {"inputs", std::move(inputs)},
                           {"notes", std::move(notes)},
                           {"nodes", int64_t(survey.nodes.size())},
                           {"ops", std::move(ops)}};
  for (State state : {State::Lowered, State::Folded, State::Failed, State::Unreached})
    whole[llvm::StringRef(frontends::name(state))] = states[size_t(state)];
  if (survey.failure)
    whole["failure"] = llvm::json::Object{
        {"reason", std::string(frontends::reasonOf(survey.failure->code))},
        {"kind", std::string(name(kindOf(survey.failure->code)))},
        {"message", survey.failure->message}};
  llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(whole))) << "\n";
}

void printTable(const ModelRequest &request, const frontends::ModelSurvey &survey,
                const std::vector<OpUse> &uses) {
  size_t width = 8, stateWidth = 8;
  bool hasVersions = false;
  for (const OpUse &use : uses) {
    width = std::max(width, use.op.size());
    stateWidth = std::max(stateWidth, stateOf(use).size());
    hasVersions |= use.version != 0;
  }
  std::string out =
      fmt::format("{:<{}}  {}{:>6}  {:<{}}  {}\n", "operator", width, hasVersions ? "opset  " : "",
                  "count", "state", stateWidth, "types, where there is most of them");
  int64_t failed = 0, unreached = 0;
  for (const OpUse &use : uses) {
    std::string types = typesOf(use.forms.front());
    if (types.size() > kTypesWidth)
      types = types.substr(0, kTypesWidth - 3) + "...";
    if (use.forms.size() > 1)
      types += fmt::format(" (and {} more)", use.forms.size() - 1);
    out += fmt::format("{:<{}}  {}{:>6}  {:<{}}  {}\n", use.op, width,
                       hasVersions ? fmt::format("{:>5}  ", use.version) : "", use.count,
                       stateOf(use), stateWidth, types);
    failed += use.in(State::Failed);
    unreached += use.in(State::Unreached);
  }
  for (const auto *list : {&request.notes, &survey.notes})
    for (const std::string &note : *list)
      out += "note: " + note + "\n";
  out += fmt::format("\n{} nodes of {} operators: {} supported, {} fail", survey.nodes.size(),
                     uses.size(), int64_t(survey.nodes.size()) - failed - unreached, failed);
  if (unreached)
    out += fmt::format(", {} not reached because of these", unreached);
  out += "\n";
  if (survey.failure)
    out += "  " + describe(*survey.failure) + "\n";
  size_t shown = 0;
  for (const OpUse &use : uses)
    for (const SurveyedNode *node : use.failures)
      if (++shown <= kShownFailures)
        out += "  " + describe(*node->failure) + "\n";
  if (shown > kShownFailures)
    out += fmt::format("  ... and {} more (--format json has all)\n", shown - kShownFailures);
  llvm::outs() << out;
}

int printKnown(bool asJson) {
  llvm::json::Object formats;
  for (const frontends::ModelFormat &format : frontends::modelFormats()) {
    if (!format.operators)
      continue;
    llvm::json::Object operators;
    for (const frontends::KnownOperator &known : format.operators()) {
      operators[known.op] = llvm::json::Array(known.versions);
      if (asJson)
        continue;
      std::string versions;
      for (int64_t version : known.versions)
        versions += fmt::format("{}{}", versions.empty() ? "from " : ", ", version);
      llvm::outs() << fmt::format("{:<6}  {:<40}  {}\n", format.ending, known.op, versions);
    }
    formats[llvm::StringRef(format.ending)] = std::move(operators);
  }
  if (asJson)
    llvm::outs() << llvm::formatv("{0:2}", llvm::json::Value(std::move(formats))) << "\n";
  return kExitSuccess;
}

std::string typeText(mlir::Type type) {
  if (auto ranked = dyn_cast<RankedTensorType>(type); ranked && ranked.hasStaticShape())
    if (Result<tensor::ElementType> element = reference::elementTypeOf(ranked.getElementType()))
      return tensor::describe(*element, {ranked.getShape().data(), ranked.getShape().size()});
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// A program's operations, which need no lowering.
std::optional<int> surveyProgram(const ModelRequest &request, ModelContext &context,
                                 frontends::ModelSurvey &survey) {
  Result<FileContents> contents = readInput(request.file);
  if (!contents)
    return reportError(kVerb, contents.message(), kExitUsage);
  std::string name = displayName(request.file);
  if (Status status = ir::checkIsProgram(name, contents->bytes()); !status)
    return reportError(kVerb, status.message(), kExitFailure);
  std::vector<std::string> parts;
  if (!ir::isBytecode(contents->bytes()))
    parts = ir::splitPrograms(contents->bytes());
  else
    parts.emplace_back(contents->bytes());
  for (const std::string &part : parts) {
    cli::Program program = readProgram(llvm::MemoryBufferRef(part, name), &context.get());
    if (!program)
      return reportError(kVerb, context.complaint, kExitFailure);
    program.module->walk([&](Operation *op) {
      llvm::StringRef dialect = op->getName().getDialectNamespace();
      if (dialect != "stablehlo" && dialect != "chlo" && dialect != "check" && dialect != "sdy")
        return;
      SurveyedNode node;
      node.op = op->getName().getStringRef().str();
      for (mlir::Type type : op->getOperandTypes())
        node.operands.push_back(typeText(type));
      for (mlir::Type type : op->getResultTypes())
        node.results.push_back(typeText(type));
      survey.nodes.push_back(std::move(node));
    });
  }
  return std::nullopt;
}

} // namespace

int runOps(const char *text) {
  Result<llvm::json::Object> object = workerRequest(text);
  if (!object)
    return reportError(kVerb, object.message(), kExitUsage);
  bool asJson = object->getString("format").value_or("") == "json";
  if (object->getBoolean("known").value_or(false))
    return printKnown(asJson);
  Result<ModelRequest> request = ModelRequest::parse(kVerb, *object);
  if (!request)
    return reportError(kVerb, request.message(), kExitUsage);
  ModelContext context;
  frontends::ModelSurvey survey;
  if (frontends::modelFormatOf(request->file)) {
    if (std::optional<int> code = request->load())
      return *code;
    survey = request->model->survey(context.get(), request->options);
  } else if (std::optional<int> code = surveyProgram(*request, context, survey)) {
    return *code;
  }
  std::vector<OpUse> uses = usesOf(survey);
  if (asJson)
    printJson(*request, survey, uses);
  else
    printTable(*request, survey, uses);
  bool isWhole = !survey.failure && std::ranges::none_of(survey.nodes, [](const auto &node) {
    return node.state == State::Failed;
  });
  return isWhole ? kExitSuccess : kExitFailure;
}

} // namespace cupel::cli
