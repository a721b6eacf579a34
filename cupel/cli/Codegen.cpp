#include "cupel/cli/Codegen.h"

#include "cupel/cli/ModelRequest.h"
#include "cupel/cli/Programs.h"
#include "cupel/compiler/standalone/Standalone.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Safetensors.h"
#include "cupel/workload/Folder.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <unistd.h>

namespace cupel::cli {

using namespace mlir;
using compiler::standalone::GeneratedFolder;
using compiler::standalone::GenerateOptions;
using tensor::Tensor;

namespace {

constexpr const char *kGenerate = "codegen";

struct Source {
  Program program;
  GenerateOptions options;
};

func::FuncOp entryFunction(ModuleOp module) {
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    return main;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic())
      return function;
  return {};
}

std::optional<int> importSource(ModelRequest &request, ModelContext &context, Source &source) {
  if (std::optional<int> code = request.load())
    return code;
  auto imported = request.model->import(context.get(), request.options);
  if (!imported)
    return reportError(kGenerate, request.file + ": " + describe(imported.error()), kExitFailure);
  for (const std::string &note : imported->notes)
    llvm::errs() << "cupel codegen: note: " << note << "\n";
  source.program.module = std::move(imported->module);
  source.options.inputs = imported->inputs.size();
  for (const frontends::Argument &input : imported->inputs)
    source.options.inputNames.push_back(input.name);
  source.options.weightValues = std::move(imported->weights);
  for (const auto &[name, value] : source.options.weightValues)
    source.options.weightNames.push_back(name);
  source.options.outputNames = imported->outputs;
  // By these names readers and `cupel eval` know arguments again.
  Block &body = source.program.module->lookupSymbol<func::FuncOp>("main").getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    size_t i = argument.getArgNumber(), inputs = source.options.inputs;
    const std::string &name =
        i < inputs ? source.options.inputNames[i] : source.options.weightNames[i - inputs];
    argument.setLoc(NameLoc::get(StringAttr::get(&context.get(), name)));
  }
  return std::nullopt;
}

/// A program's arguments are its inputs, but for the last ones of which the file of weights beside it
/// knows the names.
std::optional<int> readProgramSource(const ModelRequest &request, std::string_view bytes, ModelContext &context,
                                     Source &source) {
  std::string name = displayName(request.file);
  if (Status status = ir::checkIsProgram(name, bytes); !status)
    return reportError(kGenerate, status.message(), kExitFailure);
  if (!ir::isBytecode(bytes) && ir::splitPrograms(bytes).size() > 1)
    return reportError(kGenerate, name + ": holds several programs; code is made of one at a time",
                       kExitFailure);
  source.program = readProgram(llvm::MemoryBufferRef(bytes, name), &context.get());
  if (!source.program)
    return reportError(kGenerate, context.complaint, kExitFailure);
  func::FuncOp entry = entryFunction(*source.program.module);
  if (!entry || entry.isExternal())
    return reportError(kGenerate, name + ": has no function to generate code of", kExitFailure);
  std::vector<std::string> names;
  for (BlockArgument argument : entry.getArguments()) {
    auto located = argument.getLoc()->findInstanceOf<NameLoc>();
    names.push_back(located ? located.getName().str()
                            : "arg" + std::to_string(argument.getArgNumber()));
  }
  std::map<std::string, Tensor> byName;
  std::string weights = ir::programStem(request.file) + ".weights.safetensors";
  if (::access(weights.c_str(), F_OK) == 0) {
    Result<tensor::Safetensors> read = tensor::readSafetensors(weights);
    if (!read)
      return reportError(kGenerate, read.message(), kExitFailure);
    byName = {read->tensors.begin(), read->tensors.end()};
  }
  size_t inputs = names.size();
  while (inputs > 0 && byName.count(names[inputs - 1]))
    --inputs;
  source.options.inputs = inputs;
  source.options.inputNames.assign(names.begin(), names.begin() + long(inputs));
  source.options.weightNames.assign(names.begin() + long(inputs), names.end());
  for (const std::string &weight : source.options.weightNames)
    source.options.weightValues.emplace_back(weight, byName[weight]);
  return std::nullopt;
}

std::optional<int> readSource(const ModelRequest &request, ModelContext &context, Source &source) {
  Result<FileContents> contents = readInput(request.file);
  if (!contents)
    return reportError(kGenerate, contents.message(), kExitUsage);
  return readProgramSource(request, contents->bytes(), context, source);
}

/// A saved workload is a program with its inputs.
std::optional<int> readWorkloadSource(ModelRequest &request, ModelContext &context, Source &source) {
  Result<workload::Workload> read = workload::readWorkload(request.file);
  if (!read)
    return reportError(kGenerate, read.message(), kExitUsage);
  if (read->options.deviceCount() > 1 || read->inputs.size() > 1)
    return reportError(kGenerate, request.file + ": is for several devices; code is generated for one", kExitFailure);
  const std::vector<Tensor> &inputs = read->inputs.empty() ? std::vector<Tensor>() : read->inputs[0];
  for (size_t i = 0; i < inputs.size(); ++i)
    request.options.inputs["arg" + std::to_string(i)] = inputs[i];
  if (read->programs.empty())
    return reportError(kGenerate, request.file + ": has no program", kExitFailure);
  if (std::optional<int> code = readProgramSource(request, read->programs.front().bytes, context, source))
    return code;
  source.options.outputNames = read->provenance.resultNames;
  return std::nullopt;
}

/// Names are keys in files: equal ones get numbers.
void makeUnique(std::vector<std::string> &names, std::set<std::string> &used, const char *fallback) {
  for (size_t i = 0; i < names.size(); ++i) {
    std::string wanted = names[i].empty() ? fallback + std::to_string(i) : names[i];
    std::string name = wanted;
    for (int n = 1; !used.insert(name).second; ++n)
      name = wanted + "_" + std::to_string(n);
    names[i] = name;
  }
}

Status fillInputs(Source &source, const ModelRequest &request, const std::string &file, uint64_t seed) {
  std::map<std::string, Tensor> given = request.options.inputs;
  if (!file.empty()) {
    Result<tensor::Safetensors> read = tensor::readSafetensors(file);
    if (!read)
      return read.error();
    for (auto &[name, value] : read->tensors)
      given[name] = value;
  }
  func::FuncOp entry = entryFunction(*source.program.module);
  for (size_t i = 0; i < source.options.inputs; ++i) {
    const std::string &name = source.options.inputNames[i];
    auto type = dyn_cast<RankedTensorType>(entry.getArgumentTypes()[i]);
    if (!type)
      continue;
    auto found = given.find(name);
    if (found == given.end())
      found = given.find("arg" + std::to_string(i)); // By its place.
    if (found != given.end()) {
      source.options.inputValues.emplace_back(name, found->second);
      continue;
    }
    if (!file.empty())
      return Error{file + ": has no tensor " + name + ", which is an input"};
    if (!type.hasStaticShape())
      return Error{"the input " + name + " has sizes that are known at run time only; give its value " +
                   "with --inputs, or generate without tensors (--no-tensors)"};
    Result<Tensor> made = madeUpInput(type, seed, i);
    if (!made)
      return made.error();
    source.options.inputValues.emplace_back(name, *made);
  }
  return {};
}

} // namespace

int runCodegen(const char *text) {
  Result<llvm::json::Object> object = workerRequest(text);
  if (!object)
    return reportError(kGenerate, object.message(), kExitUsage);
  Result<ModelRequest> request = ModelRequest::parse(kGenerate, *object);
  if (!request)
    return reportError(kGenerate, request.message(), kExitUsage);
  std::string output = object->getString("output").value_or("").str();
  while (request->file.size() > 1 && request->file.back() == '/')
    request->file.pop_back();
  ModelContext context;
  Source source;
  bool isModel = frontends::modelFormatOf(request->file) != nullptr;
  if (std::optional<int> code = isModel ? importSource(*request, context, source)
                                : workload::isWorkloadFolder(request->file)
                                    ? readWorkloadSource(*request, context, source)
                                    : readSource(*request, context, source))
    return *code;
  std::set<std::string> used;
  makeUnique(source.options.inputNames, used, "input");
  makeUnique(source.options.weightNames, used, "weight");
  for (size_t i = 0; i < source.options.weightValues.size(); ++i)
    source.options.weightValues[i].first = source.options.weightNames[i];
  std::set<std::string> outputs;
  makeUnique(source.options.outputNames, outputs, "output");
  source.options.model = request->file.substr(request->file.rfind('/') + 1);
  if (object->getString("language").value_or("py") == "cpp")
    source.options.language = compiler::standalone::Language::Cpp;
  source.options.exportTensors = object->getBoolean("export_tensors").value_or(true);
  if (source.options.exportTensors)
    if (Status status = fillInputs(source, *request, object->getString("inputs").value_or("").str(),
                                   uint64_t(object->getInteger("seed").value_or(0)));
        !status)
      return reportError(kGenerate, request->file + ": " + status.message(), kExitFailure);
  Result<GeneratedFolder> folder =
      compiler::standalone::generate(*source.program.module, source.options);
  if (!folder)
    return reportError(kGenerate,
                       request->file + ": " + folder.message() +
                           (context.complaint.empty() ? "" : " (" + context.complaint + ")"),
                       kExitFailure);
  if (Status status = compiler::standalone::writeFolder(output, *folder); !status)
    return reportError(kGenerate, status.message(), kExitUsage);
  llvm::outs() << output << ": " << folder->operations << " operations in " << folder->functions
               << " functions";
  if (folder->repeats)
    llvm::outs() << ", repeated blocks called " << folder->repeats << " times";
  llvm::outs() << "\n";
  return kExitSuccess;
}

} // namespace cupel::cli
