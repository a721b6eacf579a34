// Every stage of the compiler against the program it began with: after each pass the module is
// written out as StableHLO again and evaluated by the golden reference. A wrong rewrite is found at
// its pass. Takes programs by seed, and files.

#include "tests/random_programs/Difference.h"
#include "tests/random_programs/Generate.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/passes/HoistConstants.h"
#include "cupel/compiler/passes/InlineCalls.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"
#include "cupel/support/Files.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <cstdio>
#include <cstdlib>

using namespace cupel;
using namespace mlir;
using tensor::Tensor;

namespace {

using Results = std::vector<Tensor>;

Result<Results> evaluate(ModuleOp module, const std::vector<Tensor> &arguments) {
  auto plan = reference::Plan::create(module);
  if (!plan)
    return plan.error();
  reference::RunOptions options;
  options.threads = 1;
  reference::Run run(options);
  auto values = (*plan)->run(run, {arguments.begin(), arguments.end()});
  if (!values)
    return values.error();
  Results results;
  for (reference::Value &value : *values) {
    Result<Tensor> whole = value.tensor().contiguous();
    if (!whole)
      return whole.error();
    results.push_back(std::move(*whole));
  }
  return results;
}

/// What a stage computes.
Result<Results> evaluateStage(ModuleOp module, const std::vector<Tensor> &arguments) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addPass(dev::createExpandDeviceIr());
  manager.addPass(tir::createExpandTensorIr());
  if (failed(manager.run(*copy)))
    return Error{"the stage has no expansion"};
  return evaluate(*copy, arguments);
}

class Stages {
public:
  Stages() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    dev::registerPasses();
  }

  /// Empty if all stages agree, or the program has none; else the first that does not.
  std::string check(const std::string &text, std::vector<Tensor> arguments,
                    const std::vector<bool> &isExact, bool mayRefuse) {
    ParserConfig config(&context);
    OwningOpRef<ModuleOp> module = ir::readProgram(llvm::MemoryBufferRef(text, "program"), config);
    if (!module || failed(compiler::lowerChlo(*module)))
      return "cannot be read";
    std::vector<ElementsAttr> hoisted;
    if (mayRefuse) { // A program that checks itself: what it checks are results, on given inputs.
      PassManager manager(&context, ModuleOp::getOperationName());
      manager.addPass(compiler::createExtractChecks());
      if (failed(manager.run(*module)))
        return "";
      hoisted = compiler::hoistConstants(*module);
    }
    func::FuncOp entry = compiler::entryOf(*module);
    if (!entry || !compiler::inlineCalls(entry) || !isPlain(entry))
      return mayRefuse ? "" : "is no program of static shapes";
    entry.setSymName("main");
    if (arguments.empty())
      for (Type type : ArrayRef(entry.getArgumentTypes()).drop_back(hoisted.size())) {
        auto element = reference::elementTypeOf(cast<RankedTensorType>(type).getElementType());
        Result<Tensor> filled = tensor::Tensor::zeros(*element, reference::shapeOf(type));
        arguments.push_back(seeded(std::move(*filled)));
      }
    for (auto [value, type] :
         llvm::zip(hoisted, ArrayRef(entry.getArgumentTypes()).take_back(hoisted.size()))) {
      Result<Tensor> given = reference::constantTensor(value, type);
      if (!given)
        return "";
      arguments.push_back(std::move(*given));
    }
    Result<Results> expected = evaluate(*module, arguments);
    if (!expected)
      return mayRefuse ? "" : "the reference refuses it: " + expected.message();
    ++programs;
    PassManager whole(&context, ModuleOp::getOperationName());
    dev::buildDevicePipeline(whole);
    for (Pass &pass : whole.getPasses()) {
      PassManager one(&context, ModuleOp::getOperationName());
      if (failed(parsePassPipeline(pass.getArgument(), one)) || failed(one.run(*module)) || failed(verify(*module)))
        return "pass " + pass.getArgument().str() + " fails";
      Result<Results> actual = evaluateStage(*module, arguments);
      if (!actual)
        return "after " + pass.getArgument().str() + ": " + actual.message();
      ++stages;
      for (size_t i = 0; i < expected->size(); ++i) {
        std::string what = random_programs::difference((*expected)[i], (*actual)[i],
                                                       i < isExact.size() && isExact[i]);
        if (!what.empty())
          return "after " + pass.getArgument().str() + ", result " + std::to_string(i) + ": " + what;
      }
    }
    return "";
  }

  int64_t programs = 0, stages = 0;

private:
  static const DialectRegistry &registry() {
    static const DialectRegistry all = [] {
      DialectRegistry registry;
      ir::registerAllDialects(registry);
      dev::registerDialects(registry);
      return registry;
    }();
    return all;
  }

  static bool isPlain(func::FuncOp entry) {
    bool plain = true;
    for (Type type : entry.getArgumentTypes())
      plain &= dev::byteSizeOf(type).has_value();
    entry.walk([&](Operation *op) {
      plain &= !op->hasTrait<stablehlo::Collective>() && !op->hasTrait<stablehlo::ActsOutside>() &&
               op->getName().getDialectNamespace() != "check" &&
               op->getName().getDialectNamespace() != "interpreter";
      if (op->getBlock() == &entry.getBody().front())
        for (Type type : op->getResultTypes())
          plain &= dev::byteSizeOf(type).has_value();
    });
    return plain;
  }

  static Tensor seeded(Tensor tensor) {
    uint64_t state = 12345;
    for (int64_t i = 0; i < tensor.size(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      double real = double(state >> 40) / double(1 << 23) - 1;
      switch (tensor.dtype()) {
      case tensor::DType::F32: tensor.mutableAs<float>()[i] = float(real); break;
      case tensor::DType::F64: tensor.mutableAs<double>()[i] = real; break;
      default: break; // Zeros are numbers of every type.
      }
    }
    return tensor;
  }

  MLIRContext context;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fputs("usage: cupel_compare_stages FIRST_SEED COUNT [FILE.mlir...]\n", stderr);
    return 2;
  }
  Stages stages;
  int64_t passed = 0, failed = 0;
  auto judge = [&](const std::string &name, const std::string &what) {
    ++(what.empty() ? passed : failed);
    if (!what.empty())
      std::printf("FAILED  %s: %s\n", name.c_str(), what.c_str());
  };
  uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  for (int64_t i = 0; i < std::atoll(argv[2]); ++i) {
    random_programs::Program program = random_programs::generate(seed + uint64_t(i));
    judge("seed " + std::to_string(seed + uint64_t(i)),
          stages.check(program.text, program.arguments, program.isExact, false));
  }
  for (int i = 3; i < argc; ++i) {
    Result<FileContents> file = readInput(argv[i]);
    if (!file) {
      judge(argv[i], file.message());
      continue;
    }
    int part = 0;
    for (const std::string &text : ir::splitPrograms(file->bytes()))
      judge(std::string(argv[i]) + ", part " + std::to_string(part++), stages.check(text, {}, {}, true));
  }
  std::printf("%lld stages of %lld programs\n%lld passed, %lld failed\n", (long long)stages.stages,
              (long long)stages.programs, (long long)passed, (long long)failed);
  return failed ? 1 : 0;
}
