// What can be said of a test that is right by the reference and fails all the same (its own checks
// ask for more, or other inputs than its own show it), and of one that cannot be taken apart.

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/reference/Plan.h"
#include "cupel/testbench/worker/Explain.h"
#include "cupel/testbench/worker/Looks.h"
#include "cupel/testbench/worker/NearbyInputs.h"
#include "cupel/testbench/worker/Trials.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::Explanation;
using Answer = Explanation::Answer;

namespace {

/// More operations than these are no answer.
constexpr size_t kMostNamed = 3;
/// How many other sets of inputs are tried; a run tries fewer.
constexpr uint32_t kLooks = 4;

/// What the function computes, without the values it starts from and hands back.
std::vector<mlir::Operation *> computationsOf(mlir::ModuleOp module) {
  std::vector<mlir::Operation *> found;
  if (mlir::func::FuncOp entry = compiler::entryOf(module); entry && !entry.isExternal())
    for (mlir::Operation &op : entry.getBody().front()) {
      bool isValue = op.hasTrait<mlir::OpTrait::ConstantLike>();
      bool isToken = op.getNumOperands() == 0 && mlir::isMemoryEffectFree(&op);
      if (!isValue && !isToken && !op.hasTrait<mlir::OpTrait::IsTerminator>())
        found.push_back(&op);
    }
  return found;
}

} // namespace

bool Explainer::failsWithOtherInputs(const Prepared &given, Explanation &found) {
  const TensorLists own = plain->workload.inputs;
  for (uint32_t look = 1; look <= kLooks; ++look) {
    std::optional<TensorLists> others;
    if (!given.otherInputs)
      others = nearbyInputs(own, plain->ownInputs, look);
    else if (Result<TensorLists> made = given.otherInputs(look); made)
      others = std::move(*made);
    if (!others)
      break;
    plain->workload.inputs = std::move(*others);
    Result<TensorLists> golden = prober.evaluate(*plain);
    if (!golden)
      continue;
    plain->workload.expected = std::move(*golden);
    Result<TriedPiece> tried = prober.probe(*plain);
    if (!tried || tried->passed)
      continue;
    failure = *tried;
    found.outcome = failure.failure ? failure.failure->outcome : "incorrect";
    found.stage = failure.failure ? failure.failure->stage : "compare";
    found.remarks.push_back("it is right for the inputs of the test, and wrong for others of their kind");
    return true;
  }
  plain->workload.inputs = own;
  return false;
}

bool Explainer::isGoldenAlone(const TensorLists &expected, const std::string &whose,
                              Explanation &found) {
  if (!isEvaluated)
    return false;
  Result<std::vector<tensor::Tensor>> given = prober.execute(*plain);
  // Devices that hold different copies of results agree with nobody.
  if (!given || given->size() != plain->workload.expected.front().size())
    return false;
  Result<std::string> differs = prober.describeDifference(*plain, expected, {*given});
  if (!differs || !differs->empty())
    return false;
  Result<std::string> reference =
      prober.describeDifference(*plain, expected, plain->workload.expected);
  if (!reference || reference->empty())
    return false; // Within the noise of this program all of them agree.
  found.answer = Answer::WrongGolden;
  found.outcome = "incorrect";
  found.stage = "compare";
  found.worst = *reference;
  found.sentence = fmt::format("the device agrees with {}, and the reference disagrees with both: {}",
                               whose, *reference);
  return true;
}

bool Explainer::failsInParts(uint32_t pieces, Explanation &found) {
  const TriedPiece wrong{.passed = false};
  Result<Blame> blame = findBlame(*plain, seamsLike(wrong), pieces);
  if (!blame || !blame->program)
    return false;
  failure = blame->tried;
  found.outcome = "incorrect";
  found.stage = "compare";
  tell(*blame, found);
  found.remarks.push_back("the test is right as a whole: what is wrong in it does not show there");
  confirm(*blame->program, found);
  save(*blame->program, found);
  return true;
}

bool Explainer::failsOwnChecks(const Prepared &given, Explanation &found) {
  if (!given.program().selfChecking && given.workload.checks.empty())
    return false;
  seams.tell("its own checks");
  results::TestRecord record = seams.runHere(given.clone());
  if (!results::isFailure(record.outcome))
    return false;
  found.answer = Answer::OwnChecks;
  found.outcome = "incorrect";
  found.stage = "compare";
  found.worst = record.message;
  found.sentence = "its own checks fail, and by the reference and the noise of the device's precision the "
                   "results are right: " +
                   record.message;
  nameFew(found);
  return true;
}

bool Explainer::nameFew(Explanation &found) {
  std::vector<mlir::Operation *> all = computationsOf(*plain->read->module);
  if (all.empty() || all.size() > kMostNamed)
    return false;
  for (mlir::Operation *op : all)
    found.operations.push_back(forPeople(describeOperation(op)));
  return true;
}

void Explainer::nameUncut(Explanation &found) {
  if (found.answer != Answer::WholeOnly || !found.operations.empty())
    return;
  if (nameFew(found)) {
    found.answer = found.operations.size() == 1 ? Answer::OperationAlone : Answer::Neighbours;
    found.sentence = "the program is no more than this: " + found.worst;
    return;
  }
  // A compiler that refuses an operation says which: 'stablehlo.name' op, and where it stands.
  mlir::Operation *guilty = nullptr;
  plain->read->module->walk([&](mlir::Operation *op) {
    std::string text = fmt::format("'{}' op", op->getName().getStringRef());
    if (found.worst.find(text) == std::string::npos)
      return mlir::WalkResult::advance();
    std::string place = reference::describeLocation(op->getLoc());
    bool isThere = !place.empty() && found.worst.find(place) != std::string::npos;
    if (!guilty || isThere)
      guilty = op;
    return isThere ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
  });
  if (!guilty)
    return;
  found.operations.push_back(forPeople(describeOperation(guilty)));
  found.remarks.push_back("the operation is the one that the device's own message names; the program "
                          "cannot be taken apart to try it alone");
}

} // namespace cupel::testbench::worker
