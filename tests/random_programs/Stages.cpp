// Every stage of the compiler against the program it began with: after each pass the module is
// written out as StableHLO again and evaluated by the golden reference. A wrong rewrite is found at
// its pass. Takes programs by seed, and files and folders of programs and models.

#include "tests/random_programs/Corpus.h"
#include "tests/random_programs/Difference.h"
#include "tests/random_programs/Evaluate.h"
#include "tests/random_programs/Generate.h"
#include "tests/random_programs/Reached.h"

#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/ir/Dialects.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <cstdio>
#include <cstdlib>

using namespace cupel;
using namespace mlir;
using random_programs::CorpusProgram;
using random_programs::Roundings;
using tensor::Tensor;

namespace {

using Results = std::vector<Tensor>;

/// Programs that one context serves: what they leave in it is freed with it.
constexpr int kProgramsOfContext = 200;
/// Evaluating a program at ten stages takes a while.
constexpr int64_t kMostElements = int64_t{1} << 22;

/// What a stage computes.
Result<Results> evaluateStage(ModuleOp module, const std::vector<Tensor> &arguments) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addPass(dev::createExpandDeviceIr());
  manager.addPass(tir::createExpandTensorIr());
  if (failed(manager.run(*copy)))
    return Error{"the stage has no expansion"};
  return random_programs::evaluate(*copy, arguments);
}

const DialectRegistry &registry() {
  static const DialectRegistry all = [] {
    DialectRegistry registry;
    ir::registerAllDialects(registry);
    dev::registerDialects(registry);
    dev::registerPasses();
    return registry;
  }();
  return all;
}

class Comparison {
public:
  MLIRContext &context() {
    if (used++ % kProgramsOfContext == 0) {
      held = std::make_unique<MLIRContext>(registry(), MLIRContext::Threading::DISABLED);
      held->loadAllAvailableDialects();
      held->getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
    }
    return *held;
  }

  /// Counts and prints what came of the program.
  void judge(const std::string &name, Result<CorpusProgram> program,
             const std::vector<Roundings> &roundings = {}) {
    if (!program)
      return refuse(program.message());
    std::string what = check(*program, roundings);
    if (what.empty())
      return;
    ++failed;
    std::printf("FAILED  %s: %s\n", name.c_str(), what.c_str());
    std::fflush(stdout);
  }

  /// Programs by seed are there to reach every form that the compiler has.
  void judgeReach() {
    for (const std::string &name : reached.missing(*held)) {
      ++failed;
      std::printf("FAILED  no random program comes to %s\n", name.c_str());
    }
    std::string kernels;
    for (const auto &[kind, count] : reached.kernels())
      kernels += (kernels.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
    std::printf("kernels of random programs: %s\n", kernels.c_str());
  }

  int finish() const {
    for (const auto &[reason, count] : refusals)
      std::printf("%lld: %s\n", (long long)count, reason.c_str());
    std::printf("%lld stages\n%lld passed, %lld failed, %lld refused\n", (long long)stages,
                (long long)passed, (long long)failed, (long long)refused);
    return failed ? 1 : 0;
  }

private:
  void refuse(const std::string &reason) {
    ++refused;
    ++refusals[reason.substr(0, reason.find_first_of(":\n"))];
  }

  /// Empty if all stages agree, or there is nothing to compare; else the first that does not.
  std::string check(CorpusProgram &program, const std::vector<Roundings> &roundings) {
    ModuleOp module = *program.module;
    const bool isRandom = !roundings.empty();
    int64_t largest = 0;
    module.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.hasStaticShape())
          largest = std::max(largest, tensor.getNumElements());
    });
    if (largest > kMostElements) {
      refuse("it is too large to be evaluated at every stage");
      return "";
    }
    Result<Results> expected = random_programs::evaluate(module, program.arguments);
    if (!expected) {
      refuse("the reference refuses it");
      return "";
    }
    // Where sums cancel, roundings are measured.
    OwningOpRef<ModuleOp> first = module.clone();
    std::optional<Result<std::vector<double>>> noise;
    PassManager whole(module.getContext(), ModuleOp::getOperationName());
    dev::buildDevicePipeline(whole);
    for (Pass &pass : whole.getPasses()) {
      std::string name = pass.getArgument().str();
      PassManager one(module.getContext(), ModuleOp::getOperationName());
      if (mlir::failed(parsePassPipeline(name, one)) || mlir::failed(one.run(module)) ||
          mlir::failed(verify(module)))
        return "pass " + name + " fails";
      Result<Results> actual = evaluateStage(module, program.arguments);
      if (!actual)
        return "after " + name + ": " + actual.message();
      ++stages;
      if (isRandom)
        reached.addOperations(module);
      for (size_t i = 0; i < expected->size(); ++i) {
        const Roundings allowed = i < roundings.size() ? roundings[i] : Roundings::Usual;
        const Tensor &before = (*expected)[i], &after = (*actual)[i];
        std::string what = random_programs::difference(before, after, allowed);
        if (what.empty())
          continue;
        if (!noise)
          noise = random_programs::noiseOf(*first, program.arguments, *expected);
        if (allowed == Roundings::None ||
            !random_programs::difference(before, after, allowed, *noise ? (**noise)[i] : 0).empty())
          return "after " + name + ", result " + std::to_string(i) + ": " + what;
      }
    }
    if (isRandom)
      reached.addKernels(module);
    ++passed;
    return "";
  }

  std::unique_ptr<MLIRContext> held;
  int64_t used = 0, passed = 0, failed = 0, refused = 0, stages = 0;
  std::map<std::string, int64_t> refusals;
  random_programs::Reached reached;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fputs("usage: cupel_compare_stages FIRST_SEED COUNT EVERY [FILE or FOLDER...]\n"
               "Programs of COUNT seeds, and every EVERY-th file of those named.\n",
               stderr);
    return 2;
  }
  Comparison comparison;
  uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  for (int64_t i = 0; i < std::atoll(argv[2]); ++i, ++seed) {
    random_programs::Program program = random_programs::generate(seed);
    MLIRContext &context = comparison.context();
    comparison.judge("seed " + std::to_string(seed),
                     random_programs::readCorpusProgram(program.text, program.arguments.front(), context),
                     program.roundings);
  }
  constexpr int64_t kEnoughToReachAll = 300;
  if (std::atoll(argv[2]) >= kEnoughToReachAll)
    comparison.judgeReach();
  auto every = std::max<size_t>(1, std::strtoull(argv[3], nullptr, 10));
  std::vector<std::string> files = random_programs::filesBelow({argv + 4, argv + argc});
  for (size_t i = 0; i < files.size(); i += every) {
    int part = 0;
    MLIRContext &context = comparison.context();
    for (Result<CorpusProgram> &program : random_programs::readCorpusFile(files[i], context))
      comparison.judge(files[i] + ", part " + std::to_string(part++), std::move(program));
  }
  return comparison.finish();
}
