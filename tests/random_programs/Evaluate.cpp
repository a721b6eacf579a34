#include "tests/random_programs/Evaluate.h"

#include "tests/random_programs/Difference.h"

#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"

#include "mlir/Pass/PassManager.h"

namespace cupel::random_programs {

using tensor::Tensor;

namespace {

constexpr double kStepOfF32 = 0x1p-23;
/// One run may move values to where they do no harm.
constexpr uint64_t kJitteredRuns = 3;

} // namespace

Result<std::vector<Tensor>> evaluate(mlir::ModuleOp module, const std::vector<Tensor> &arguments, reference::RunOptions options) {
  auto plan = reference::Plan::create(module);
  if (!plan)
    return plan.error();
  options.threads = 1;
  reference::Run run(std::move(options));
  auto values = (*plan)->run(run, {arguments.begin(), arguments.end()});
  if (!values)
    return values.error();
  std::vector<Tensor> results;
  for (reference::Value &value : *values) {
    Result<Tensor> whole = value.tensor().contiguous();
    if (!whole)
      return whole.error();
    results.push_back(std::move(*whole));
  }
  return results;
}

Result<std::vector<double>> noiseOf(mlir::ModuleOp module, const std::vector<Tensor> &arguments, const std::vector<Tensor> &expected) {
  std::vector<double> noise(expected.size());
  for (uint64_t seed = 0; seed <= kJitteredRuns; ++seed) {
    reference::RunOptions options;
    if (seed == 0)
      options.accumulate = reference::Accumulate::Wide;
    else
      options.jitter = {.products = kStepOfF32, .rest = kStepOfF32, .seed = seed};
    auto results = evaluate(module, arguments, std::move(options));
    if (!results)
      return results.error();
    for (size_t i = 0; i < expected.size(); ++i)
      noise[i] = std::max(noise[i], largestDistance(expected[i], (*results)[i]));
  }
  return noise;
}

/// Runs passes over a program as text, and gives it to `use`.
template <typename F>
static auto withProgram(const std::string &program, llvm::function_ref<void(mlir::PassManager &)> add, F &&use)
    -> decltype(use(mlir::ModuleOp())) {
  mlir::DialectRegistry registry;
  ir::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = ir::readProgram(llvm::MemoryBufferRef(program, "program"), mlir::ParserConfig(&context));
  if (!module)
    return Error{"the program is none"};
  mlir::PassManager passes(&context);
  add(passes);
  if (failed(passes.run(*module)))
    return Error{"the program cannot be lowered"};
  return use(*module);
}

Result<std::vector<double>> noiseOf(const std::string &program, const std::vector<Tensor> &arguments, const std::vector<Tensor> &expected) {
  return withProgram(program, [](mlir::PassManager &passes) { passes.addPass(compiler::createLowerChlo()); },
                     [&](mlir::ModuleOp module) { return noiseOf(module, arguments, expected); });
}

Result<std::string> narrowed(const std::string &program, bool kept) {
  return withProgram(program, [&](mlir::PassManager &passes) { passes.addPass(compiler::createNarrowProducts({kept})); },
                     [](mlir::ModuleOp module) -> Result<std::string> {
                       std::string text;
                       llvm::raw_string_ostream stream(text);
                       module.print(stream);
                       return text;
                     });
}

} // namespace cupel::random_programs
