// Opens loops and branches of a program that fails, so that what stands in them can be tried beside
// what stands around them: a branch in the place of the choice, one iteration in that of the loop.

#include "cupel/testbench/worker/Blame.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <cstring>
#include <fmt/format.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/Transforms/RegionUtils.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

namespace {

/// More than these are not opened, one after another.
constexpr size_t kMostOpened = 8;

struct Opened {
  Prepared program;
  bool isLoop = false;
  std::string where; ///< "in stablehlo.case (model.py:9:2)"
};

bool isControlFlow(mlir::Operation &op) {
  return mlir::isa<stablehlo::WhileOp, stablehlo::IfOp, stablehlo::CaseOp>(op);
}

/// With this region of the choice or loop number `wanted` in its place.
Result<Opened> open(const Prepared &from, size_t wanted, unsigned region) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(from.program().module).clone();
  mlir::func::FuncOp entry = compiler::entryOf(*module);
  auto all = llvm::make_filter_range(entry.getBody().front(), isControlFlow);
  mlir::Operation *op = &*std::next(all.begin(), ptrdiff_t(wanted));
  const bool isLoop = mlir::isa<stablehlo::WhileOp>(op);
  BlamedOperation named = describeOperation(op);
  mlir::Block &block = op->getRegion(region).front();
  mlir::OpBuilder builder(op);
  mlir::IRMapping mapping;
  for (auto [argument, operand] : llvm::zip(block.getArguments(), op->getOperands()))
    mapping.map(argument, operand);
  for (mlir::Operation &one : block.without_terminator())
    builder.clone(one, mapping);
  for (auto [result, given] : llvm::zip_equal(op->getResults(), block.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(given));
  op->erase();
  mlir::IRRewriter rewriter(entry.getContext());
  (void)mlir::runRegionDCE(rewriter, entry->getRegions());
  auto read = std::make_unique<ProgramReader::Read>();
  read->module = std::move(module);
  if (Status status = ProgramReader::describe(*read, from.program().name); !status)
    return status.error();
  Opened made{Prepared{std::move(read), from.workload, from.budget}, isLoop,
              fmt::format("in {} ({})", named.name, named.place)};
  made.program.read->program.runLike(from.program());
  return made;
}

bool isSame(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i) {
    Result<Tensor> x = a[i].contiguous(), y = b[i].contiguous();
    if (!x || !y || x->byteSize() != y->byteSize() ||
        std::memcmp(x->data(), y->data(), size_t(x->byteSize())) != 0)
      return false;
  }
  return true;
}

} // namespace

Result<bool> lookIntoOpened(const Prepared &program, const BlameSeams &seams, uint32_t count,
                            Blame &blame) {
  auto module = mlir::cast<mlir::ModuleOp>(program.program().module);
  std::vector<std::pair<size_t, unsigned>> choices;
  size_t number = 0;
  for (mlir::Operation &op : compiler::entryOf(module).getBody().front()) {
    if (!isControlFlow(op))
      continue;
    const bool isLoop = mlir::isa<stablehlo::WhileOp>(op);
    for (unsigned r = isLoop ? 1 : 0; r < op.getNumRegions(); ++r)
      choices.emplace_back(number, r);
    ++number;
  }
  if (choices.size() > kMostOpened)
    choices.resize(kMostOpened);
  for (auto [wanted, region] : choices) {
    Result<Opened> opened = open(program, wanted, region);
    if (!opened)
      continue;
    Result<TensorLists> expected = seams.evaluate(opened->program);
    if (!expected || expected->front().empty())
      continue;
    // A branch that the test does not take gives something else, and is not to blame.
    if (seams.hasValues && !opened->isLoop && !program.workload.expected.empty() &&
        !isSame(expected->front(), program.workload.expected.front()))
      continue;
    opened->program.workload.expected = std::move(*expected);
    ++blame.probes;
    Result<TriedPiece> tried = seams.tryOnDevice(opened->program);
    if (!tried)
      return tried.error();
    if (tried->passed)
      continue;
    Result<Blame> within = findBlame(opened->program, seams, count);
    if (!within || !within->program || within->kind == Blame::Kind::Accumulation)
      continue;
    within->probes += blame.probes;
    within->inside = within->inside.empty() ? opened->where : within->inside + ", " + opened->where;
    blame = std::move(*within);
    return true;
  }
  return false;
}

} // namespace cupel::testbench::worker
