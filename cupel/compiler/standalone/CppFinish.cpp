// Products and convolutions of generated C++ whose results only one loop reads: the loop becomes what they
// do with each row of results while it is in the cache.

#include "cupel/compiler/standalone/Cpp.h"

#include "llvm/ADT/STLExtras.h"

namespace cupel::compiler::standalone {

using namespace mlir;

static ArrayRef<int64_t> shapeOf(mlir::Value value) { return cast<RankedTensorType>(value.getType()).getShape(); }

static bool isPlainFloat(mlir::Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && type.getNumElements() > 0 && type.getElementType().isF32();
}

/// How many results of a kernel lie in a row that it tells of; 0 of what tells of none.
static int64_t rowOf(Operation *op) {
  if (op->getNumResults() != 1 || !llvm::all_of(op->getOperands(), isPlainFloat) || !isPlainFloat(op->getResult(0)))
    return 0;
  ArrayRef<int64_t> shape = shapeOf(op->getResult(0));
  size_t first = 0;
  if (auto dot = dyn_cast<stablehlo::DotGeneralOp>(op)) {
    auto numbers = dot.getDotDimensionNumbers();
    first = shapeOf(dot.getLhs()).size() - numbers.getLhsContractingDimensions().size();
  } else if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op)) {
    auto numbers = convolution.getDimensionNumbers();
    bool isInOrder = numbers.getOutputBatchDimension() == 0 && numbers.getOutputFeatureDimension() == 1 &&
                     llvm::is_sorted(numbers.getOutputSpatialDimensions());
    if (!isInOrder)
      return 0;
    first = 2;
  } else {
    return 0;
  }
  int64_t row = 1;
  for (int64_t size : shape.drop_front(first))
    row *= size;
  return row;
}

void CppWriter::findKernels(Block &block) {
  if (!searched.insert(&block).second)
    return;
  llvm::DenseMap<Operation *, Kernel> last;
  for (Operation &op : block) {
    Kernel kernel{&op, {}, {}, rowOf(&op)};
    if (kernel.row == 0)
      continue;
    kernel.value = op.getResult(0);
    // The same elements with another shape are the same elements.
    while (kernel.value.hasOneUse() && isa<stablehlo::ReshapeOp>(*kernel.value.user_begin()) &&
           (*kernel.value.user_begin())->getBlock() == &block) {
      kernel.reshapes.push_back(*kernel.value.user_begin());
      kernel.value = kernel.reshapes.back()->getResult(0);
    }
    Operation *root = nullptr;
    bool isFinished = !kernel.value.use_empty();
    for (Operation *user : kernel.value.getUsers()) {
      isFinished = isFinished && user->getBlock() == &block && isMap(user) && (!root || root == loopOf(user));
      root = isFinished ? loopOf(user) : nullptr;
    }
    // Results are written over those of the kernel.
    if (root && isPlainFloat(root->getResult(0)) && shapeOf(root->getResult(0)) == shapeOf(kernel.value))
      last[root] = kernel; // Of several the last: what the others gave is there by then.
  }
  for (auto &[root, kernel] : last) {
    postponed.insert(kernel.op);
    postponed.insert(kernel.reshapes.begin(), kernel.reshapes.end());
    kernels[root] = kernel;
  }
}

bool CppWriter::isPostponed(Operation *op) {
  if (isOnElements || !isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp, stablehlo::ReshapeOp>(op))
    return false;
  findKernels(*op->getBlock());
  return postponed.contains(op);
}

Result<bool> CppWriter::writeFinishedKernel(Operation *root) {
  findKernels(*root->getBlock());
  auto found = kernels.find(root);
  if (found == kernels.end())
    return false;
  Kernel kernel = found->second;
  Loop loop;
  loop.known[kernel.value] = "to[i]";
  Result<std::string> value = loopText(root, loop);
  if (!value)
    return value.error();
  LoopPlan plan = planOf(loop);
  if (!plan.isFlat && plan.inner % kernel.row != 0) {
    // The loop looks at less than a row at a time: it stays a loop.
    for (Operation *op : llvm::concat<Operation *const>(ArrayRef<Operation *>(kernel.op), kernel.reshapes)) {
      postponed.erase(op);
      if (Status status = writeOperation(op); !status)
        return status.error();
    }
    return false;
  }
  Result<std::string> call = callText(kernel.op, [&](mlir::Value operand) { return nameOf(operand); });
  if (!call)
    return call.error();
  std::string name = newName(root->getResult(0), stemOf(root));
  line("const " + cppTensorType(loop.type) + " " + name + " = " + StringRef(*call).drop_back().str() +
       ", [&](float *__restrict to, int64_t begin, int64_t end) {" + commentText(noteOn(root)));
  ++depth;
  if (!plan.isFlat) {
    std::string inner = std::to_string(plan.inner);
    line("const int64_t row = begin / " + inner + ", first = row * " + inner + ";");
    line("to += first;");
  }
  writeLoopBody(loop, plan, *value, plan.isFlat ? "begin" : "begin - first", plan.isFlat ? "end" : "end - first");
  --depth;
  std::vector<int64_t> shape(loop.type.getShape().begin(), loop.type.getShape().end());
  line(kernel.reshapes.empty() ? "});" : "}).reshaped(" + listText(shape) + ");");
  return true;
}

} // namespace cupel::compiler::standalone
