// Programs for the C API: frontends' forms made into StableHLO, as text or portable artifact.

#include "cupel/capi/Api.h"
#include "cupel/capi/Errors.h"
#include "cupel/capi/Shardings.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/frontends/torch/Import.h"
#include "cupel/frontends/torch/ProgramJson.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/Portable.h"
#include "cupel/ir/portable/PrintProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

using namespace cupel;
using namespace mlir;

struct CupelModule {
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
};

namespace {

/// Keeps the first error that is reported while it lives.
class FirstError {
public:
  explicit FirstError(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error && text.empty())
            text = diagnostic.str();
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};

char *copied(const std::string &bytes, size_t *size) {
  auto *memory = static_cast<char *>(std::malloc(bytes.size() + 1));
  if (!memory)
    return nullptr;
  std::memcpy(memory, bytes.c_str(), bytes.size() + 1);
  *size = bytes.size();
  return memory;
}

/// Sizes of the inputs as the importer takes them: shapes by position among the tensors, numbers by
/// name.
Status readSizes(const nlohmann::json &sizes, const frontends::torch_import::Program &program,
                 frontends::torch_import::ImportOptions &options) {
  if (!sizes.is_array() || sizes.size() != program.inputs.size())
    return Error{"\"inputs\" should be a list of " + std::to_string(program.inputs.size()) +
                 " shapes and numbers"};
  size_t tensors = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].is_number_integer()) {
      options.numbers[program.inputs[i].name] = sizes[i].get<int64_t>();
      continue;
    }
    auto isSize = [](const nlohmann::json &size) { return size.is_number_integer(); };
    if (!sizes[i].is_array() || !std::ranges::all_of(sizes[i], isSize))
      return Error{"\"inputs\"[" + std::to_string(i) + "] is neither a shape nor a number"};
    options.shapes[std::to_string(tensors++)] = sizes[i].get<tensor::Shape>();
  }
  return {};
}

std::optional<vhlo::Version> parseVersion(const char *text) {
  if (!text || !*text)
    return vhlo::kCurrentVersion;
  unsigned major = 0, minor = 0, patch = 0;
  if (std::sscanf(text, "%u.%u.%u", &major, &minor, &patch) != 3)
    return std::nullopt;
  return std::min(vhlo::Version{major, minor, patch}, vhlo::kCurrentVersion);
}

} // namespace

CupelModule *cupel_torch_import(const char *program, size_t size, const char *options,
                                char **error) {
  namespace torch = frontends::torch_import;
  Result<torch::Program> read = torch::parseProgram({program, size}, "program");
  if (!read)
    return capi::failed(error, read.message());
  nlohmann::json given = nlohmann::json::parse(options, nullptr, false);
  if (!given.is_object())
    return capi::failed(error, "the options are not a JSON object");
  torch::ImportOptions how;
  nlohmann::json shardings;
  for (const auto &[name, value] : given.items()) {
    if (name == "composites" && value.is_boolean()) {
      how.composites = value.get<bool>();
    } else if (name == "inputs") {
      if (Status sizes = readSizes(value, *read, how); !sizes)
        return capi::failed(error, sizes.message());
    } else if (name == "shardings") {
      shardings = value;
    } else {
      return capi::failed(error, "option \"" + name + "\" does not exist or has another type");
    }
  }
  DialectRegistry registry;
  ir::registerAllDialects(registry);
  auto result = std::make_unique<CupelModule>();
  result->context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  result->context->loadAllAvailableDialects();
  FirstError first(result->context.get());
  Result<torch::Imported> imported = torch::importProgram(*read, *result->context, how);
  if (!imported)
    return capi::failed(error, imported.message());
  if (!imported->weights.empty())
    return capi::failed(error, "the program holds the tensor '" + imported->weights[0].first +
                                   "', which has to be an input here");
  result->module = std::move(imported->module);
  if (failed(compiler::lowerChlo(*result->module)))
    return capi::failed(error, "chlo cannot be lowered: " + first.text);
  if (Status split = capi::addShardings(*result->module, shardings); !split)
    return capi::failed(error, split.message());
  return result.release();
}

char *cupel_module_text(CupelModule *module, size_t *size, char **error) {
  std::string text;
  llvm::raw_string_ostream out(text);
  ir::printProgram(*module->module, out);
  char *memory = copied(text, size);
  return memory ? memory : capi::failed(error, "no memory for the text");
}

char *cupel_module_portable(CupelModule *module, const char *version, size_t *size, char **error) {
  std::optional<vhlo::Version> target = parseVersion(version);
  if (!target)
    return capi::failed(error, std::string("'") + version + "' is no version");
  FirstError first(module->context.get());
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  if (failed(portable::writePortable(*module->module, *target, out)))
    return capi::failed(error, first.text);
  char *memory = copied(bytes, size);
  return memory ? memory : capi::failed(error, "no memory for the artifact");
}

size_t cupel_module_results(CupelModule *module) {
  auto main = module->module->lookupSymbol<func::FuncOp>("main");
  return main ? main.getNumResults() : 0;
}

void cupel_module_close(CupelModule *module) { delete module; }
