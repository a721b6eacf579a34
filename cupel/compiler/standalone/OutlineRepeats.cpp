// Repeated blocks become functions. Two runs of operations are equal if they do the same to values
// that they make themselves and to values from outside, whichever these are.

#include "cupel/compiler/standalone/Prepare.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace cupel::compiler::standalone {

using namespace mlir;

namespace {

constexpr size_t kSmallestBlock = 6, kLargestProgram = 20000;

bool isConstant(Operation *op) { return isa_and_nonnull<stablehlo::ConstantOp>(op); }

/// What an operation is, but for where its operands come from.
size_t hashOf(Operation *op) {
  llvm::hash_code hash = llvm::hash_combine(op->getName(), op->getAttrDictionary());
  for (mlir::Value operand : op->getOperands())
    hash = llvm::hash_combine(hash, operand.getType());
  for (mlir::Type type : op->getResultTypes())
    hash = llvm::hash_combine(hash, type);
  return hash;
}

struct Repeat {
  size_t begin = 0, period = 0, count = 0;
  size_t gain() const { return period * (count - 1); }
};

class Outliner {
public:
  explicit Outliner(func::FuncOp function) : function(function), symbols(getModule()) {
    hoistConstantWork();
    for (Operation &op : function.getBody().front().without_terminator())
      if (!isConstant(&op))
        ops.push_back(&op);
  }

  size_t run() {
    if (ops.size() < 2 * kSmallestBlock || ops.size() > kLargestProgram)
      return 0;
    for (Operation *op : ops)
      hashes.push_back(hashOf(op));
    size_t calls = 0;
    std::vector<char> taken(ops.size());
    while (std::optional<Repeat> repeat = best(taken)) {
      for (size_t i = repeat->begin; i < repeat->begin + repeat->period * repeat->count; ++i)
        taken[i] = 1;
      // The first block often takes what the others take from the block before them.
      Repeat later{repeat->begin + repeat->period, repeat->period, repeat->count - 1};
      Repeat earlier{repeat->begin, repeat->period, repeat->count - 1};
      for (const Repeat &tried : {*repeat, later, earlier})
        if (tried.count >= 2 && outline(tried)) {
          calls += tried.count;
          break;
        }
    }
    return calls;
  }

private:
  ModuleOp getModule() { return function->getParentOfType<ModuleOp>(); }

  /// What is computed from constants alone (a causal mask) stands in the first block that needs it,
  /// which would make that block another than the rest: it goes to the front.
  void hoistConstantWork() {
    Block &block = function.getBody().front();
    Operation *front = nullptr;
    llvm::SmallPtrSet<Operation *, 16> derived;
    for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
      bool isDerived = op.getNumRegions() == 0 && op.getNumResults() > 0 && !isa<func::CallOp>(op) &&
                       isMemoryEffectFree(&op) && llvm::all_of(op.getOperands(), [&](mlir::Value value) {
                         return derived.contains(value.getDefiningOp());
                       });
      if (!isDerived) {
        front = front ? front : &op;
        continue;
      }
      derived.insert(&op);
      if (front)
        op.moveBefore(front);
    }
  }

  /// The run that saves most lines; of equal ones that with the shortest block.
  std::optional<Repeat> best(const std::vector<char> &taken) const {
    Repeat found;
    size_t n = ops.size();
    for (size_t period = kSmallestBlock; period <= n / 2; ++period) {
      size_t length = 0;
      for (size_t i = 0; i + period <= n; ++i) {
        bool same = i + period < n && !taken[i] && !taken[i + period] && hashes[i] == hashes[i + period];
        if (same) {
          ++length;
          continue;
        }
        if (length >= period) {
          Repeat repeat{i - length, period, length / period + 1};
          if (repeat.gain() > found.gain())
            found = placed(repeat, length % period);
        }
        length = 0;
      }
    }
    if (found.count < 2)
      return std::nullopt;
    return found;
  }

  /// Moves the cut between blocks to where fewest values cross it.
  Repeat placed(Repeat repeat, size_t slack) const {
    size_t least = SIZE_MAX, offset = 0;
    for (size_t by = 0; by <= slack; ++by) {
      size_t crossing = crossingAt(repeat.begin + by + repeat.period);
      if (crossing < least) {
        least = crossing;
        offset = by;
      }
    }
    repeat.begin += offset;
    return repeat;
  }

  /// How many values made before a place are used behind it.
  size_t crossingAt(size_t place) const {
    size_t count = 0;
    Operation *at = ops[place];
    for (size_t i = place > 2000 ? place - 2000 : 0; i < place; ++i) {
      if (!ops[i])
        continue; // Outlined already.
      for (mlir::Value result : ops[i]->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              Operation *above = function.getBody().front().findAncestorOpInBlock(*user);
              return above == at || (above && at->isBeforeInBlock(above));
            }))
          ++count;
    }
    return count;
  }

  /// What the blocks take from outside, place for place: one row for each distinct combination.
  struct Inputs {
    std::vector<SmallVector<mlir::Value>> rows;
    std::map<std::vector<void *>, size_t> known;
    std::map<std::pair<size_t, unsigned>, size_t> uses; ///< (op, operand) -> row
    std::vector<std::pair<size_t, unsigned>> places;    ///< A use of each row.
  };

  bool outline(const Repeat &repeat) {
    std::vector<DenseMap<mlir::Value, std::pair<size_t, unsigned>>> inside(repeat.count);
    for (size_t k = 0; k < repeat.count; ++k)
      for (size_t i = 0; i < repeat.period; ++i) {
        Operation *op = ops[repeat.begin + k * repeat.period + i];
        if (op->getNumRegions())
          for (Region &region : op->getRegions())
            if (takesFromOutside(region))
              return false;
        for (OpResult result : op->getResults())
          inside[k][result] = {i, result.getResultNumber()};
      }
    Inputs inputs;
    for (size_t i = 0; i < repeat.period; ++i) {
      Operation *first = ops[repeat.begin + i];
      for (size_t k = 1; k < repeat.count; ++k)
        if (!sameBesideOperands(first, ops[repeat.begin + k * repeat.period + i]))
          return false;
      for (unsigned o = 0; o < first->getNumOperands(); ++o) {
        auto found = inside[0].find(first->getOperand(o));
        bool isInside = found != inside[0].end();
        SmallVector<mlir::Value> row;
        for (size_t k = 0; k < repeat.count; ++k) {
          mlir::Value operand = ops[repeat.begin + k * repeat.period + i]->getOperand(o);
          auto other = inside[k].find(operand);
          if ((other != inside[k].end()) != isInside || (isInside && other->second != found->second))
            return false;
          row.push_back(operand);
        }
        if (!isInside && !isSameConstant(row))
          addInput(inputs, i, o, std::move(row));
      }
    }
    // Results that somebody outside uses, of whichever block.
    std::set<std::pair<size_t, unsigned>> outputs;
    for (size_t k = 0; k < repeat.count; ++k)
      for (auto &[value, place] : inside[k])
        for (Operation *user : value.getUsers()) {
          Operation *above = function.getBody().front().findAncestorOpInBlock(*user);
          if (!above || above->getNumResults() == 0 || !inside[k].count(above->getResult(0)))
            outputs.insert(place);
        }
    if (outputs.empty())
      return false;
    write(repeat, inputs, outputs);
    return true;
  }

  static bool takesFromOutside(Region &region) {
    bool takes = false;
    region.walk([&](Operation *op) {
      for (mlir::Value operand : op->getOperands())
        takes |= !region.isAncestor(operand.getParentRegion());
    });
    return takes;
  }

  static bool sameBesideOperands(Operation *a, Operation *b) {
    if (a->getName() != b->getName() || a->getAttrDictionary() != b->getAttrDictionary() ||
        a->getOperandTypes() != b->getOperandTypes() || a->getResultTypes() != b->getResultTypes() ||
        a->getNumRegions() != b->getNumRegions())
      return false;
    for (unsigned i = 0; i < a->getNumRegions(); ++i)
      if (!OperationEquivalence::isRegionEquivalentTo(&a->getRegion(i), &b->getRegion(i),
                                                      OperationEquivalence::IgnoreLocations))
        return false;
    return true;
  }

  static bool isSameConstant(ArrayRef<mlir::Value> row) {
    auto first = row[0].getDefiningOp<stablehlo::ConstantOp>();
    return first && llvm::all_of(row, [&](mlir::Value value) {
             auto other = value.getDefiningOp<stablehlo::ConstantOp>();
             return other && other.getValue() == first.getValue();
           });
  }

  static void addInput(Inputs &inputs, size_t op, unsigned operand, SmallVector<mlir::Value> row) {
    std::vector<void *> key;
    for (mlir::Value value : row)
      key.push_back(value.getAsOpaquePointer());
    auto [at, isNew] = inputs.known.try_emplace(std::move(key), inputs.rows.size());
    if (isNew) {
      inputs.rows.push_back(std::move(row));
      inputs.places.emplace_back(op, operand);
    }
    inputs.uses[{op, operand}] = at->second;
  }

  void write(const Repeat &repeat, const Inputs &inputs,
             const std::set<std::pair<size_t, unsigned>> &outputs) {
    SmallVector<mlir::Type> argumentTypes, resultTypes;
    for (const auto &row : inputs.rows)
      argumentTypes.push_back(row[0].getType());
    for (auto [i, r] : outputs)
      resultTypes.push_back(ops[repeat.begin + i]->getResult(r).getType());
    OpBuilder builder(function.getContext());
    Location location = ops[repeat.begin]->getLoc();
    auto block = func::FuncOp::create(location, repeat.period >= 20 ? "layer" : "block",
                                      builder.getFunctionType(argumentTypes, resultTypes));
    block.setPrivate();
    Block *body = block.addEntryBlock();
    for (size_t i = 0; i < inputs.rows.size(); ++i)
      body->getArgument(i).setLoc(inputs.rows[i][0].getLoc());
    OpBuilder inner = OpBuilder::atBlockEnd(body);
    // Place for place: a value of the first block may be an argument here and a constant there.
    IRMapping made, constants;
    std::vector<Operation *> clones;
    for (size_t i = 0; i < repeat.period; ++i) {
      Operation *op = ops[repeat.begin + i];
      SmallVector<mlir::Value> operands;
      for (unsigned o = 0; o < op->getNumOperands(); ++o) {
        mlir::Value operand = op->getOperand(o);
        if (auto use = inputs.uses.find({i, o}); use != inputs.uses.end()) {
          operands.push_back(body->getArgument(use->second));
        } else if (made.contains(operand)) {
          operands.push_back(made.lookup(operand));
        } else {
          if (!constants.contains(operand))
            inner.clone(*operand.getDefiningOp(), constants);
          operands.push_back(constants.lookup(operand));
        }
      }
      clones.push_back(inner.clone(*op, made));
      clones.back()->setOperands(operands);
    }
    SmallVector<mlir::Value> returned;
    for (auto [i, r] : outputs)
      returned.push_back(clones[i]->getResult(r));
    inner.create<func::ReturnOp>(location, returned);
    symbols.insert(block);

    for (size_t k = 0; k < repeat.count; ++k) {
      Operation *last = ops[repeat.begin + (k + 1) * repeat.period - 1];
      OpBuilder at(last);
      SmallVector<mlir::Value> operands;
      // Asked anew: what the block before gave is now a result of its call.
      for (auto [i, o] : inputs.places)
        operands.push_back(ops[repeat.begin + k * repeat.period + i]->getOperand(o));
      auto call = at.create<func::CallOp>(ops[repeat.begin + k * repeat.period]->getLoc(), block, operands);
      size_t number = 0;
      for (auto [i, r] : outputs)
        ops[repeat.begin + k * repeat.period + i]->getResult(r).replaceAllUsesWith(call.getResult(number++));
      for (size_t i = repeat.period; i-- > 0;) {
        Operation *&op = ops[repeat.begin + k * repeat.period + i];
        op->erase();
        op = nullptr;
      }
    }
  }

  mutable func::FuncOp function;
  SymbolTable symbols;
  std::vector<Operation *> ops;
  std::vector<size_t> hashes;
};

} // namespace

/// The number that all elements of a value are, if that is written in the program.
static Attribute numberOf(mlir::Value value) {
  if (auto broadcast = value.getDefiningOp<stablehlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  auto constant = value.getDefiningOp<stablehlo::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() ? elements.getSplatValue<Attribute>() : Attribute();
}

/// Bounds of a relu6 are the same wherever a block is called: they are numbers of its function, not
/// tensors that it is given. Returns whether there were some.
static bool sinkNumbers(ModuleOp module, func::FuncOp function) {
  if (function.isPublic() || function.isExternal())
    return false;
  SmallVector<func::CallOp> calls;
  std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(function, module);
  if (!uses || uses->empty())
    return false;
  for (SymbolTable::SymbolUse use : *uses) {
    auto call = dyn_cast<func::CallOp>(use.getUser());
    if (!call)
      return false;
    calls.push_back(call);
  }
  llvm::BitVector sunk(function.getNumArguments());
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    Attribute number = type && type.hasStaticShape() ? numberOf(calls[0].getOperand(i)) : Attribute();
    bool isSame = number && !isa<quant::QuantizedType>(type.getElementType()) &&
                  llvm::all_of(calls, [&](func::CallOp call) { return numberOf(call.getOperand(i)) == number; });
    if (!isSame)
      continue;
    argument.replaceAllUsesWith(
        builder.create<stablehlo::ConstantOp>(function.getLoc(), DenseElementsAttr::get(type, number)));
    sunk.set(i);
  }
  if (sunk.none())
    return false;
  (void)function.eraseArguments(sunk);
  for (func::CallOp call : calls) {
    SmallVector<Operation *> makers;
    for (unsigned i : sunk.set_bits())
      if (Operation *maker = call.getOperand(i).getDefiningOp(); !llvm::is_contained(makers, maker))
        makers.push_back(maker);
    call->eraseOperands(sunk);
    // With a broadcast goes its constant.
    for (Operation *maker : makers)
      while (maker && isOpTriviallyDead(maker)) {
        Operation *source = maker->getNumOperands() ? maker->getOperand(0).getDefiningOp() : nullptr;
        maker->erase();
        maker = source;
      }
  }
  return true;
}

size_t outlineRepeats(func::FuncOp function) {
  size_t calls = Outliner(function).run();
  auto module = function->getParentOfType<ModuleOp>();
  // Functions call functions: what is sunk into one may be a number in the next.
  for (bool changed = calls > 0; changed;) {
    changed = false;
    for (func::FuncOp each : module.getOps<func::FuncOp>())
      changed |= sinkNumbers(module, each);
  }
  return calls;
}

} // namespace cupel::compiler::standalone
