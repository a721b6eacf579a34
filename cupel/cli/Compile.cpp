#include "cupel/cli/Compile.h"

#include "cupel/cli/CompileForCpu.h"
#include "cupel/cli/ModelRequest.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/cli/Programs.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/HloBuilder.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Safetensors.h"

#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace cupel::cli {

using namespace mlir;

namespace {

constexpr const char *kVerb = "compile";

void printNotes(const std::string &verb, const std::vector<std::string> &notes) {
  for (const std::string &note : notes)
    llvm::errs() << "cupel " << verb << ": note: " << note << "\n";
}

/// Turns the arguments that are weights into constants.
Status inlineWeights(Compiled &compiled) {
  auto main = compiled.module->lookupSymbol<func::FuncOp>("main");
  Block &body = main.getBody().front();
  frontends::HloBuilder builder(main);
  builder.builder().setInsertionPointToStart(&body);
  for (size_t i = compiled.weights.size(); i-- > 0;) {
    BlockArgument argument = body.getArgument(unsigned(compiled.inputs + i));
    builder.setLocation(argument.getLoc());
    argument.replaceAllUsesWith(builder.constant(compiled.weights[i].second));
    body.eraseArgument(argument.getArgNumber());
  }
  main.setFunctionType(FunctionType::get(main.getContext(), body.getArgumentTypes(),
                                         main.getFunctionType().getResults()));
  compiled.weights.clear();
  return {};
}

/// The exit code where there is nothing to write, which has then been reported.
std::optional<int> importModel(ModelRequest &request, ModelContext &context, Compiled &compiled) {
  if (std::optional<int> code = request.load())
    return code;
  auto imported = request.model->import(context.get(), request.options);
  if (!imported)
    return reportError(request.verb, request.file + ": " + describe(imported.error()), kExitFailure);
  printNotes(request.verb, request.notes);
  printNotes(request.verb, imported->notes);
  compiled.module = std::move(imported->module);
  // By these names the weights are found again.
  Block &body = compiled.module->lookupSymbol<func::FuncOp>("main").getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    size_t i = argument.getArgNumber(), inputs = imported->inputs.size();
    const std::string &name =
        i < inputs ? imported->inputs[i].name : imported->weights[i - inputs].first;
    argument.setLoc(NameLoc::get(StringAttr::get(&context.get(), name)));
  }
  compiled.weights = std::move(imported->weights);
  compiled.inputs = imported->inputs.size();
  return std::nullopt;
}

std::optional<int> readModule(const ModelRequest &request, ModelContext &context,
                              Compiled &compiled) {
  if (!request.options.shapes.empty())
    return reportError(request.verb, "--shape is for models; the sizes of a program stand in it",
                       kExitUsage);
  Result<FileContents> contents = readInput(request.file);
  if (!contents)
    return reportError(request.verb, contents.message(), kExitUsage);
  std::string name = displayName(request.file);
  if (Status status = ir::checkIsProgram(name, contents->bytes()); !status)
    return reportError(request.verb, status.message(), kExitFailure);
  if (!ir::isBytecode(contents->bytes()) && ir::splitPrograms(contents->bytes()).size() > 1)
    return reportError(request.verb,
                       name + ": holds several programs, separated by '" +
                           std::string(ir::kProgramSeparator) +
                           "'; one is written at a time (cupel opt --split-input-file prints all)",
                       kExitFailure);
  cli::Program program =
      readProgram(llvm::MemoryBufferRef(contents->bytes(), name), &context.get());
  if (!program)
    return reportError(request.verb, context.complaint, kExitFailure);
  compiled.module = std::move(program.module);
  compiled.resources = std::move(program.resources);
  return std::nullopt;
}

std::string weightsFile(const std::string &output) {
  return ir::programStem(output) + ".weights.safetensors";
}

} // namespace

std::optional<int> readAsStablehlo(ModelRequest &request, ModelContext &context,
                                   Compiled &compiled) {
  bool isModel = frontends::modelFormatOf(request.file) != nullptr;
  if (std::optional<int> code = isModel ? importModel(request, context, compiled)
                                        : readModule(request, context, compiled))
    return code;
  if (failed(compiler::lowerChlo(*compiled.module)))
    return reportError(request.verb, request.file + ": chlo cannot be lowered: " + context.complaint,
                       kExitFailure);
  return std::nullopt;
}

int runCompile(const char *text) {
  Result<llvm::json::Object> object = workerRequest(text);
  if (!object)
    return reportError(kVerb, object.message(), kExitUsage);
  Result<ModelRequest> request = ModelRequest::parse(kVerb, *object);
  if (!request)
    return reportError(kVerb, request.message(), kExitUsage);
  auto word = [&](llvm::StringRef key) { return object->getString(key).value_or("").str(); };
  std::string output = word("output"), target = word("target_version");
  bool isPortable = word("emit") == "portable", isInline = word("weights") == "inline";
  vhlo::Version version = vhlo::kCurrentVersion;
  if (!target.empty()) {
    std::string error;
    std::optional<vhlo::Version> wanted = vhlo::parseTargetVersion(target, error);
    if (!wanted)
      return reportError(kVerb, "--target-version: " + error, kExitUsage);
    version = *wanted;
  }
  if (isPortable && output == "-" && ::isatty(STDOUT_FILENO))
    return reportError(kVerb, "will not write binary output to a terminal; use -o FILE or a pipe",
                       kExitUsage);

  ModelContext context;
  Compiled compiled;
  bool isModel = frontends::modelFormatOf(request->file) != nullptr;
  if (std::optional<int> code = readAsStablehlo(*request, context, compiled))
    return *code;
  if (isInline)
    if (Status status = inlineWeights(compiled); !status)
      return reportError(kVerb, status.message(), kExitFailure);
  if (!compiled.weights.empty() && output == "-")
    return reportError(kVerb,
                       request->file + ": has " + std::to_string(compiled.weights.size()) +
                           " weights, which are written beside the output; use -o FILE, or "
                           "--weights=inline",
                       kExitUsage);

  Result<std::string> forCpu = compileForCpu(*object, context.get(), *compiled.module);
  if (!forCpu)
    return reportError(kVerb, request->file + ": " + forCpu.message(), kExitFailure);

  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (!forCpu->empty()) {
    os << *forCpu;
  } else if (isPortable) {
    if (failed(portable::writePortable(*compiled.module, version, os)))
      return reportError(kVerb, request->file + ": has no portable form: " + context.complaint,
                         kExitFailure);
  } else {
    OpPrintingFlags flags;
    // Locations hold the names of arguments, by which weights are found again, and of nodes.
    if (isModel)
      flags.enableDebugInfo();
    ir::printProgram(*compiled.module, os, flags, compiled.resources.get());
  }
  // The weights first: a program without them would be taken for one that has none.
  if (!compiled.weights.empty()) {
    tensor::Safetensors file;
    file.tensors = std::move(compiled.weights);
    if (Status status = tensor::writeSafetensors(weightsFile(output), file); !status)
      return reportError(kVerb, status.message() + " (--weights=inline keeps them in the program)",
                         kExitUsage);
  }
  if (Status status = writeOutput(output, bytes); !status)
    return reportError(kVerb, status.message(), kExitUsage);
  return kExitSuccess;
}

} // namespace cupel::cli
