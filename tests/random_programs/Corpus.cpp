#include "tests/random_programs/Corpus.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/passes/HoistConstants.h"
#include "cupel/compiler/passes/InlineCalls.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/frontends/ModelImport.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Registry.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Safetensors.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <filesystem>

namespace cupel::random_programs {

using namespace mlir;
using tensor::Tensor;

namespace {

/// Numbers of about size one; zeros are numbers of every other type.
Tensor seeded(Tensor tensor) {
  uint64_t state = 12345;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double real = double(state >> 40) / double(1 << 23) - 1;
    if (tensor.dtype() == tensor::DType::F32)
      tensor.mutableAs<float>()[i] = float(real);
    else if (tensor.dtype() == tensor::DType::F64)
      tensor.mutableAs<double>()[i] = real;
  }
  return tensor;
}

/// What in the function cannot be compiled for one device; empty if there is nothing. Quantized types may be what can be written out.
std::string whyNotPlain(func::FuncOp given) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(given.getLoc());
  auto entry = cast<func::FuncOp>(given->clone());
  module->getBody()->push_back(entry);
  PassManager types(given.getContext(), ModuleOp::getOperationName());
  types.enableVerifier(false);
  types.addPass(tir::createQuantizedAsIntegers());
  if (entry.getBody().hasOneBlock() && failed(types.run(*module)))
    return "its quantized types cannot be written out";
  std::string reason;
  for (TypeRange types : {TypeRange(given.getArgumentTypes()), TypeRange(given.getResultTypes())})
    for (Type type : types)
      if (!dev::byteSizeOf(type))
        reason = "an argument or result is no tensor of static shape and plain elements";
  entry.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace(), name = op->getName().getStringRef();
    if (op->hasTrait<stablehlo::Collective>() || op->hasTrait<stablehlo::ActsOutside>() ||
        dialect == "check" || dialect == "interpreter")
      reason = "it holds " + name.str();
    if (op->getBlock() == &entry.getBody().front())
      for (Type type : op->getResultTypes())
        if (!dev::byteSizeOf(type))
          reason = name.str() + " gives no tensor of static shape and plain elements";
    return reason.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return reason;
}

/// To one function of static shapes, with a value for each argument; `given` are the first.
Result<CorpusProgram> prepared(OwningOpRef<ModuleOp> module, std::vector<Tensor> given) {
  if (!module)
    return Error{"it cannot be read"};
  if (failed(compiler::lowerChlo(*module)))
    return Error{"chlo cannot be lowered"};
  std::vector<ElementsAttr> hoisted;
  bool checks = false;
  module->walk([&](Operation *op) {
    auto call = dyn_cast<stablehlo::CustomCallOp>(op);
    checks |= op->getName().getDialectNamespace() == "check" ||
              (call && call.getCallTargetName().starts_with("check."));
  });
  if (checks) {
    PassManager manager(module->getContext(), ModuleOp::getOperationName());
    manager.addPass(compiler::createExtractChecks());
    if (failed(manager.run(*module)))
      return Error{"its checks cannot be made results"};
    hoisted = compiler::hoistConstants(*module);
  }
  func::FuncOp entry = compiler::entryOf(*module);
  if (!entry || entry.isExternal() || !compiler::inlineCalls(entry))
    return Error{"its calls cannot be put in line"};
  if (std::string reason = whyNotPlain(entry); !reason.empty())
    return Error{reason};
  entry.setSymName("main");
  ArrayRef<Type> types = entry.getArgumentTypes();
  for (Type type : types.drop_back(hoisted.size()).drop_front(std::min(given.size(), types.size()))) {
    auto element = reference::elementTypeOf(cast<RankedTensorType>(type).getElementType());
    if (!element)
      return element.error();
    Result<Tensor> filled = Tensor::zeros(*element, reference::shapeOf(type));
    if (!filled)
      return filled.error();
    given.push_back(seeded(std::move(*filled)));
  }
  for (auto [value, type] : llvm::zip(hoisted, types.take_back(hoisted.size()))) {
    Result<Tensor> constant = reference::constantTensor(value, type);
    if (!constant)
      return constant.error();
    given.push_back(std::move(*constant));
  }
  return CorpusProgram{std::move(module), std::move(given)};
}

/// What is stored with the model to be fed, by name.
std::map<std::string, Tensor> inputsOf(const frontends::ModelFile &model, const std::string &path) {
  Result<std::optional<frontends::ModelData>> data = model.testData(0);
  if (data && *data)
    return (*data)->inputs;
  std::map<std::string, Tensor> inputs;
  std::string beside = std::filesystem::path(path).replace_extension(".inputs.safetensors").string();
  if (std::filesystem::exists(beside))
    if (Result<tensor::Safetensors> file = tensor::readSafetensors(beside))
      for (auto &[name, tensor] : file->tensors)
        inputs.insert({name, tensor});
  return inputs;
}

Result<CorpusProgram> readModel(const std::string &path, MLIRContext &context) {
  auto model = frontends::loadModel(path);
  if (!model)
    return model.error();
  frontends::ImportOptions options;
  options.inputs = inputsOf(**model, path);
  std::map<std::string, Tensor> inputs = options.inputs;
  auto imported = (*model)->import(context, options);
  if (!imported)
    return imported.error();
  std::vector<Tensor> arguments;
  for (const frontends::Argument &input : imported->inputs) {
    auto found = inputs.find(input.name);
    if (found != inputs.end()) {
      Result<Tensor> whole = found->second.contiguous();
      if (!whole)
        return whole.error();
      arguments.push_back(std::move(*whole));
      continue;
    }
    Result<Tensor> filled = Tensor::zeros(input.type, input.shape);
    if (!filled)
      return filled.error();
    arguments.push_back(seeded(std::move(*filled)));
  }
  for (auto &[name, weight] : imported->weights) {
    Result<Tensor> whole = weight.contiguous();
    if (!whole)
      return whole.error();
    arguments.push_back(std::move(*whole));
  }
  return prepared(std::move(imported->module), std::move(arguments));
}

} // namespace

std::vector<std::string> filesBelow(const std::vector<std::string> &paths) {
  auto isProgram = [](const std::filesystem::path &path) {
    std::string name = path.filename().string();
    return frontends::modelFormatOf(name) || name.ends_with(".mlir") || name.ends_with(".mlirbc") ||
           name.ends_with(".mlir.bc");
  };
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    for (const auto &entry : std::filesystem::recursive_directory_iterator(path, error))
      if (entry.is_regular_file(error) && isProgram(entry.path()))
        files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

Result<CorpusProgram> readCorpusProgram(const std::string &text, std::vector<Tensor> arguments,
                                        MLIRContext &context) {
  ParserConfig config(&context);
  return prepared(ir::readProgram(llvm::MemoryBufferRef(text, "program"), config),
                  std::move(arguments));
}

std::vector<Result<CorpusProgram>> readCorpusFile(const std::string &path, MLIRContext &context) {
  std::vector<Result<CorpusProgram>> programs;
  if (frontends::modelFormatOf(path)) {
    programs.push_back(readModel(path, context));
    return programs;
  }
  Result<FileContents> file = readInput(path);
  if (!file) {
    programs.push_back(file.error());
  } else if (ir::isBytecode(file->bytes())) {
    programs.push_back(readCorpusProgram(std::string(file->bytes()), {}, context));
  } else {
    for (const std::string &text : ir::splitPrograms(file->bytes()))
      programs.push_back(readCorpusProgram(text, {}, context));
  }
  return programs;
}

} // namespace cupel::random_programs
