#include "cupel/compiler/passes/CutIntoPieces.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/InlineCalls.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

#include <limits>

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_CUTINTOPIECES
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

constexpr uint64_t kNoCut = std::numeric_limits<uint64_t>::max();

/// Everything an operation reads, the values that its regions capture included.
SmallVector<Value> readBy(Operation *op) {
  SmallVector<Value> values(op->getOperands());
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  values.append(captured.begin(), captured.end());
  return values;
}

/// What handing a value from piece to piece costs; kNoCut where it cannot be handed on.
uint64_t costOf(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !type.hasStaticShape())
    return kNoCut;
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    return uint64_t(type.getNumElements()) * complex.getElementType().getIntOrFloatBitWidth() / 4;
  if (!element.isIntOrFloat())
    return kNoCut;
  return uint64_t(type.getNumElements()) * std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

class Cutter {
public:
  explicit Cutter(func::FuncOp entry, Counts counts = Counts::WhatIsNotMoved)
      : entry(entry), body(entry.getBody().front()) {
    findParts(counts);
  }

  const std::vector<Operation *> &counted() const { return parts; }

  std::vector<ProgramPiece> cut(const std::vector<size_t> &ends) {
    std::vector<ProgramPiece> pieces;
    for (auto [i, argument] : llvm::enumerate(entry.getArguments()))
      numbers[argument] = uint32_t(i);
    next = entry.getNumArguments();
    size_t begin = 0;
    for (size_t end : ends) {
      pieces.push_back(makePiece(begin, end, pieces.size()));
      begin = end;
    }
    callFrom(pieces);
    return pieces;
  }

  /// Where pieces end: of the places around each equal share the cheapest one.
  std::vector<size_t> chooseEnds(uint32_t count) {
    std::vector<size_t> ends;
    if (parts.empty())
      return ends;
    std::vector<uint64_t> costs = costsOfCuts();
    if (count >= parts.size()) {
      for (size_t place = 1; place < parts.size(); ++place)
        if (costs[place] != kNoCut)
          ends.push_back(place);
      ends.push_back(parts.size());
      return ends;
    }
    double share = double(parts.size()) / std::max(1u, count);
    size_t previous = 0;
    for (uint32_t k = 1; k < count; ++k) {
      double ideal = share * k;
      size_t first = std::max<size_t>(previous + 1, size_t(std::max(0.0, ideal - share / 2)));
      size_t last = std::min<size_t>(parts.size(), size_t(ideal + share / 2) + 1);
      size_t best = 0;
      uint64_t least = kNoCut;
      auto distance = [&](size_t place) { return std::abs(double(place) - ideal); };
      for (size_t place = first; place < last; ++place)
        if (costs[place] != kNoCut &&
            (costs[place] < least ||
             (costs[place] == least && distance(place) < distance(best)))) {
          best = place;
          least = costs[place];
        }
      if (!best)
        continue;
      ends.push_back(best);
      previous = best;
    }
    ends.push_back(parts.size());
    return ends;
  }

  /// A private function of these operations beside the entry function.
  func::FuncOp makeFunction(ArrayRef<size_t> own, const std::string &name, Gives gives,
                            llvm::SetVector<Value> &taken, SmallVector<Value> &given) {
    llvm::DenseSet<Operation *> chosen;
    for (size_t i : own)
      chosen.insert(parts[i]);
    for (size_t i : own) {
      for (Value value : readBy(parts[i])) {
        Operation *op = value.getDefiningOp();
        if (!op || (!chosen.contains(op) && !made.contains(op)))
          taken.insert(value);
      }
      for (Value value : parts[i]->getResults())
        if (gives == Gives::Everything || isReadBeyond(value, chosen))
          given.push_back(value);
    }
    OpBuilder builder(entry.getContext());
    builder.setInsertionPoint(entry);
    auto type = builder.getFunctionType(TypeRange(ValueRange(taken.getArrayRef())),
                                        TypeRange(ValueRange(given)));
    auto function = builder.create<func::FuncOp>(parts[own.front()]->getLoc(), name, type);
    function.setPrivate();
    SymbolTable(entry->getParentOfType<ModuleOp>()).insert(function);
    Block *block = function.addEntryBlock();
    builder.setInsertionPointToStart(block);
    IRMapping mapping;
    for (auto [value, argument] : llvm::zip_equal(taken, block->getArguments()))
      mapping.map(value, argument);
    for (size_t i : own) {
      for (Value value : readBy(parts[i]))
        make(value, builder, mapping);
      builder.clone(*parts[i], mapping);
    }
    SmallVector<Value> results;
    for (Value value : given)
      results.push_back(mapping.lookup(value));
    builder.create<func::ReturnOp>(entry.getLoc(), results);
    for (auto [i, value] : llvm::enumerate(taken))
      if (Attribute lies = liesAs(value)) {
        function.setArgAttr(unsigned(i), shardingName(lies), lies);
        function.setArgAttr(unsigned(i), kLiesAttr, lies);
      }
    for (auto [i, value] : llvm::enumerate(given))
      if (Attribute lies = liesAs(value))
        function.setResultAttr(unsigned(i), shardingName(lies), lies);
    return function;
  }

private:
  /// How a value lies on devices; null where nothing is said of it.
  Attribute liesAs(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return argument.getOwner() == &body
                 ? func::FuncOp(entry).getArgAttr(argument.getArgNumber(), kLiesAttr)
                 : Attribute();
    auto result = cast<OpResult>(value);
    auto marks = result.getOwner()->getAttrOfType<ArrayAttr>(kLiesAttr);
    return marks && isa<sdy::TensorShardingAttr>(marks[result.getResultNumber()])
               ? marks[result.getResultNumber()]
               : Attribute();
  }
  static StringRef shardingName(Attribute lies) {
    return isa<StringAttr>(lies) ? "mhlo.sharding" : "sdy.sharding";
  }

  /// Whether somebody reads it who is not among these, or nobody reads anything of its operation.
  bool isReadBeyond(Value value, const llvm::DenseSet<Operation *> &chosen) const {
    if (value.getDefiningOp()->use_empty())
      return true;
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      Operation *own = body.findAncestorOpInBlock(*user);
      return !own || !chosen.contains(own);
    });
  }

  /// Sorts operations into those that every piece makes for itself, because they are made of
  /// constants alone, and those that are divided among pieces.
  void findParts(Counts counts) {
    for (Operation &op : body.without_terminator()) {
      // Arithmetic on constants is the device's to do once.
      bool isSimple = counts == Counts::AllButConstants ? op.hasTrait<OpTrait::ConstantLike>()
                      : op.getNumOperands()             ? op.hasTrait<stablehlo::MovesElements>()
                                            : !op.hasTrait<stablehlo::DependsOnProcess>();
      bool isMade = isSimple && isMemoryEffectFree(&op) && op.getNumRegions() == 0 &&
                    llvm::all_of(op.getOperands(), [&](Value value) {
                      return value.getDefiningOp() && made.contains(value.getDefiningOp());
                    });
      if (isMade)
        made.insert(&op);
      else
        parts.push_back(&op);
    }
    for (auto [i, op] : llvm::enumerate(parts)) {
      for (Value value : readBy(op))
        lastUse[value] = i;
      for (Value value : op->getResults())
        lastUse.try_emplace(value, i);
    }
    for (Value value : body.getTerminator()->getOperands())
      lastUse[value] = parts.size();
  }

  /// The cost of a cut in front of each operation, by what is alive there.
  std::vector<uint64_t> costsOfCuts() {
    std::vector<int64_t> change(parts.size() + 1);
    std::vector<int64_t> blocked(parts.size() + 1);
    for (auto [i, op] : llvm::enumerate(parts))
      for (Value value : op->getResults()) {
        size_t last = std::min(lastUse[value], parts.size() - 1);
        uint64_t cost = costOf(value);
        if (last <= i)
          continue;
        // Alive at the cuts in front of i + 1 to last.
        std::vector<int64_t> &counts = cost == kNoCut ? blocked : change;
        int64_t by = cost == kNoCut ? 1 : int64_t(cost);
        counts[i + 1] += by;
        counts[last + 1] -= by;
      }
    std::vector<uint64_t> costs(parts.size());
    int64_t alive = 0, blocks = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      alive += change[i];
      blocks += blocked[i];
      costs[i] = blocks ? kNoCut : uint64_t(alive);
    }
    return costs;
  }

  /// Makes in a piece what it needs of constants.
  void make(Value value, OpBuilder &builder, IRMapping &mapping) {
    Operation *op = value.getDefiningOp();
    if (mapping.contains(value) || !op || !made.contains(op))
      return;
    for (Value operand : op->getOperands())
      make(operand, builder, mapping);
    builder.clone(*op, mapping);
  }

  ProgramPiece makePiece(size_t begin, size_t end, size_t number) {
    std::vector<size_t> own;
    for (size_t i = begin; i < end; ++i)
      own.push_back(i);
    llvm::SetVector<Value> taken;
    SmallVector<Value> given;
    func::FuncOp function =
        makeFunction(own, "piece_" + std::to_string(number), Gives::WhatIsNeeded, taken, given);
    ProgramPiece piece{.function = function, .takes = {}, .gives = next, .begin = begin, .end = end};
    for (Value value : taken)
      piece.takes.push_back(numbers.lookup(value));
    for (Value value : given)
      numbers[value] = next++;
    givenBy.push_back(std::move(given));
    return piece;
  }

  /// Replaces the operations of the entry function by calls of the pieces.
  void callFrom(std::vector<ProgramPiece> &pieces) {
    Operation *end = body.getTerminator();
    OpBuilder builder(end);
    std::vector<Value> values(entry.getArguments().begin(), entry.getArguments().end());
    for (auto [piece, given] : llvm::zip_equal(pieces, givenBy)) {
      SmallVector<Value> operands;
      for (uint32_t number : piece.takes)
        operands.push_back(values[number]);
      auto call = builder.create<func::CallOp>(piece.function.getLoc(), piece.function, operands);
      values.insert(values.end(), call.result_begin(), call.result_end());
    }
    // What is not counted is a constant and stays.
    for (OpOperand &operand : end->getOpOperands())
      if (auto found = numbers.find(operand.get()); found != numbers.end())
        operand.set(values[found->second]);
    for (Operation *op : llvm::reverse(parts))
      op->erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  func::FuncOp entry;
  Block &body;
  std::vector<Operation *> parts;
  llvm::DenseSet<Operation *> made;
  llvm::DenseMap<Value, size_t> lastUse;
  llvm::DenseMap<Value, uint32_t> numbers;
  std::vector<SmallVector<Value>> givenBy;
  uint32_t next = 0;
};

} // namespace

bool makeOneList(func::FuncOp entry) {
  const bool keepsComposites = entry->getParentOp()->hasAttr(kKeepsCompositesAttr);
  if (!entry.getBody().hasOneBlock() || !inlineCalls(entry, keepsComposites))
    return false;
  entry.setName("main");
  return true;
}

FailureOr<std::vector<ProgramPiece>> cutIntoPieces(func::FuncOp entry, uint32_t count,
                                                   Counts counts) {
  if (!makeOneList(entry))
    return failure();
  Cutter cutter(entry, counts);
  return cutter.cut(cutter.chooseEnds(count));
}

FailureOr<std::vector<ProgramPiece>> cutIntoPieces(func::FuncOp entry, std::vector<size_t> ends,
                                                   Counts counts) {
  if (!makeOneList(entry))
    return failure();
  return Cutter(entry, counts).cut(ends);
}

std::vector<Operation *> countedOperations(func::FuncOp entry, Counts counts) {
  return Cutter(entry, counts).counted();
}

OwningOpRef<ModuleOp> programOf(const ProgramPiece &piece) {
  func::FuncOp function = piece.function;
  auto from = function->getParentOfType<ModuleOp>();
  OwningOpRef<ModuleOp> program = ModuleOp::create(function.getLoc());
  // For how many devices it is, for one.
  (*program)->setDiscardableAttrs(from->getDiscardableAttrDictionary());
  OpBuilder builder = OpBuilder::atBlockEnd(program->getBody());
  auto main = cast<func::FuncOp>(builder.clone(*function));
  main.setPublic();
  SmallVector<func::FuncOp> open = {main};
  llvm::DenseSet<StringAttr> present;
  while (!open.empty()) {
    auto uses = SymbolTable::getSymbolUses(open.pop_back_val());
    if (!uses)
      continue;
    for (SymbolTable::SymbolUse use : *uses) {
      auto name = use.getSymbolRef().getRootReference();
      Operation *needed = from.lookupSymbol(name);
      if (!needed || !present.insert(name).second)
        continue;
      Operation *own = builder.clone(*needed);
      if (auto called = dyn_cast<func::FuncOp>(own))
        open.push_back(called);
    }
  }
  main.setName("main");
  return program;
}

Selection selectOperations(func::FuncOp entry, ArrayRef<size_t> numbers, Gives gives,
                           Counts counts) {
  Selection selection;
  llvm::SetVector<Value> taken;
  Cutter cutter(entry, counts);
  func::FuncOp function = cutter.makeFunction(numbers, "selected", gives, taken, selection.gives);
  selection.takes.assign(taken.begin(), taken.end());
  selection.program = programOf({function, {}, 0});
  function.erase();
  return selection;
}

namespace {

struct CutIntoPiecesPass : public impl::CutIntoPiecesBase<CutIntoPiecesPass> {
  using CutIntoPiecesBase::CutIntoPiecesBase;
  void runOnOperation() override {
    func::FuncOp entry = entryOf(getOperation());
    if (!entry || entry.isExternal())
      return;
    if (failed(cutIntoPieces(entry, pieces))) {
      entry.emitError("it cannot be cut into pieces: it has several blocks, or its calls cannot be "
                      "put in line");
      signalPassFailure();
    }
  }
};

} // namespace

} // namespace cupel::compiler
