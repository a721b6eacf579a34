#include "cupel/compiler/tensor/Group.h"

#include "cupel/compiler/codegen/Elementwise.h"
#include "cupel/compiler/tensor/OperationMarks.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace cupel::tir {

/// How far behind the last member others are looked for, and how large a group grows.
static constexpr int kWindow = 200;
static constexpr size_t kMostMembers = 256;

int64_t countOf(Value value) { return cast<RankedTensorType>(value.getType()).getNumElements(); }

bool isCompiledTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && !tensor.getEncoding() &&
         tensor.getNumElements() > 0 && codegen::elementTypeOf(type);
}

bool isFusible(Operation *op) {
  if (!isElementwise(*op) || op->getNumRegions() != 0 ||
      op->getNumResults() != 1)
    return false;
  return llvm::all_of(op->getOperandTypes(), isCompiledTensor) &&
         llvm::all_of(op->getResultTypes(), isCompiledTensor) && codegen::checkElementwise(op);
}

bool isSimpleReduction(Operation *op) {
  auto reduce = dyn_cast<stablehlo::ReduceOp>(op);
  return reduce && reduce.getInputs().size() == 1 && isCompiledTensor(reduce.getInputs()[0].getType()) &&
         isCompiledTensor(reduce.getResult(0).getType()) &&
         cast<RankedTensorType>(reduce.getInputs()[0].getType()).getElementType() ==
             cast<RankedTensorType>(reduce.getResult(0).getType()).getElementType() &&
         simpleCombiner(reduce.getBody()) && splatOf(reduce.getInitValues()[0]);
}

bool Group::isLink(Operation *op) const {
  return isa<stablehlo::ReshapeOp>(op) ||
         (links == Links::ReshapesAndBroadcasts && isa<stablehlo::BroadcastInDimOp>(op));
}

bool Group::isUsedByMembersOnly(Operation *op) const {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return members.contains(user) || taken.contains(user) ||
           (isLink(user) && isUsedByMembersOnly(user));
  });
}

void Group::takeProducers(Operation *op, llvm::function_ref<bool(Operation *)> takes) {
  SmallVector<Operation *> waiting = {op};
  while (!waiting.empty())
    for (Value operand : waiting.pop_back_val()->getOperands()) {
      Operation *producer = throughReshapes(operand).getDefiningOp();
      if (!producer || members.size() >= kMostMembers || members.contains(producer) ||
          taken.contains(producer) ||
          producer->getBlock() != op->getBlock() || producer->hasAttr(kAloneAttr) ||
          !isUsedByMembersOnly(producer) || !takes(producer))
        continue;
      members.insert(producer);
      waiting.push_back(producer);
    }
}

void Group::grow(llvm::function_ref<bool(Operation *)> takes,
                 llvm::function_ref<bool(Operation *)> takesProducer) {
  if (last->hasAttr(kAloneAttr)) {
    steps.push_back({members.size(), last});
    return;
  }
  takeProducers(last, takesProducer);
  steps.push_back({members.size(), last});
  llvm::DenseSet<Operation *> behind; // What needs the group and is none of it,
  llvm::DenseSet<Operation *> linked; // and of that what only passes on what members make.
  int sinceLast = 0;
  for (Operation *op = last->getNextNode(); op && sinceLast < kWindow; op = op->getNextNode()) {
    // Whatever acts outside keeps its place among its kind.
    if (op->hasTrait<OpTrait::IsTerminator>() || members.size() >= kMostMembers ||
        !isMemoryEffectFree(op))
      break;
    if (taken.contains(op))
      continue;
    ++sinceLast;
    bool needs = false, isBlocked = false;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp()) {
        needs |= contains(maker) || behind.contains(maker);
        isBlocked |= behind.contains(maker) && !linked.contains(maker);
      }
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp(); inner != op && maker)
          isBlocked |= contains(maker) || behind.contains(maker);
    });
    needs |= isBlocked;
    if ((!needs && !wide) || contains(op))
      continue;
    if (!needs) {
      if (op->hasAttr(kAloneAttr) || !takes(op))
        continue;
      members.insert(op);
      takeProducers(op, takesProducer);
      last = op;
      steps.push_back({members.size(), op});
      sinceLast = 0;
    } else if (!isBlocked && isLink(op)) {
      behind.insert(op);
      linked.insert(op);
    } else if (!isBlocked && !op->hasAttr(kAloneAttr) && takes(op)) {
      members.insert(op);
      takeProducers(op, takesProducer);
      last = op;
      steps.push_back({members.size(), op});
      sinceLast = 0;
    } else {
      behind.insert(op);
    }
  }
}

SmallVector<Value> Group::escaping() const {
  SmallVector<Value> values;
  for (Operation *op : members)
    if (!isUsedByMembersOnly(op))
      llvm::append_range(values, op->getResults());
  return values;
}

bool Group::cut() {
  if (steps.size() <= 1)
    return false;
  steps.pop_back();
  while (members.size() > steps.back().first)
    members.pop_back();
  last = steps.back().second;
  return true;
}

Value Group::cutToOneResult() {
  do {
    SmallVector<Value> values = escaping();
    if (values.size() == 1)
      return values[0];
  } while (cut());
  return {};
}

Location Group::locationFrom(Operation *first) const {
  SmallVector<Location> all{first->getLoc()};
  for (Operation *op : members)
    all.push_back(op->getLoc());
  return FusedLoc::get(first->getContext(), all);
}

Operation *Group::place() {
  llvm::DenseSet<Operation *> moved;
  SmallVector<Operation *> order;
  for (Operation *op = members[0]; op != last; op = op->getNextNode()) {
    if (members.contains(op) || taken.contains(op))
      continue;
    bool needs = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          needs |= members.contains(maker) || moved.contains(maker);
    });
    if (needs) {
      moved.insert(op);
      order.push_back(op);
    }
  }
  Operation *after = last;
  for (Operation *op : order) {
    op->moveAfter(after);
    after = op;
  }
  return last;
}

Value BodyWriter::constant(TypedAttr number) {
  auto type = RankedTensorType::get({}, number.getType());
  return builder.create<stablehlo::ConstantOp>(
      location, type, DenseElementsAttr::get(type, ArrayRef<Attribute>{number}));
}

Value BodyWriter::copy(Operation *op, ValueRange operands, ArrayRef<int64_t> shape) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addAttributes(op->getAttrs());
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  state.addTypes(RankedTensorType::get(shape, type.getElementType()));
  return builder.create(state)->getResult(0);
}

SmallVector<Operation *> operationsOf(Block &block) {
  SmallVector<Operation *> all;
  for (Operation &op : block.without_terminator())
    all.push_back(&op);
  return all;
}

void eraseUnused(Block &block) {
  auto isUnused = [](Operation *op) {
    return !op->hasTrait<OpTrait::IsTerminator>() && op->use_empty() && isMemoryEffectFree(op);
  };
  // In whatever order they stand: what was taken into a group may use what was moved behind it.
  llvm::SetVector<Operation *> unused;
  for (Operation &op : block)
    if (isUnused(&op))
      unused.insert(&op);
  while (!unused.empty()) {
    Operation *op = unused.pop_back_val();
    llvm::SetVector<Operation *> makers;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && maker->getBlock() == &block)
          makers.insert(maker);
    });
    op->erase();
    for (Operation *maker : makers)
      if (isUnused(maker))
        unused.insert(maker);
  }
}

void rewriteEach(ModuleOp module, llvm::function_ref<void(Operation *op)> rewrite) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Block &block = function.getBody().front();
    for (Operation *op : operationsOf(block))
      rewrite(op);
    eraseUnused(block);
  }
}

void formGroups(ModuleOp module, llvm::function_ref<void(Operation *op, Taken &taken)> form) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    Block &block = function.getBody().front();
    eraseUnused(block);
    Taken taken;
    for (Operation *op : operationsOf(block))
      form(op, taken);
    eraseUnused(block);
  }
}

} // namespace cupel::tir
