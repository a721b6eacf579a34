#include "cupel/compiler/analysis/Propagate.h"

#include "cupel/ir/sdy/SdyAxes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/ShardsOf.h"

#include "mlir/IR/SymbolTable.h"

#include <map>
#include <numeric>

namespace cupel::compiler {

using namespace mlir;
using Axes = SmallVector<sdy::AxisRefAttr, 2>;

namespace {

/// What is known of one value.
struct State {
  sdy::MeshAttr mesh; // Whose axes these are; null while there are none.
  SmallVector<Axes, 4> dims;
  SmallVector<bool, 4> fixed; // No more axes may be added.
  Axes forbidden;             // Must stay unused.
};

/// Two dimensions that are split alike. `outer`: the size up to which they agree, where one of them
/// is the outermost part of the other. `passes`: the operation between them hands its operand on
/// element for element, and is followed before those that combine.
struct Link {
  mlir::Value from, to;
  int64_t fromDim, toDim;
  int64_t outer;
  bool passes;
};

int64_t rankOf(mlir::Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() ? type.getRank() : -1;
}
int64_t sizeOf(mlir::Value value, int64_t dim) {
  return cast<RankedTensorType>(value.getType()).getDimSize(dim);
}

} // namespace

class ShardingAnalysis::Propagation {
public:
  Propagation(ModuleOp module, func::FuncOp entry) : module(module), entry(entry) {}

  void run() {
    seedFunction(entry);
    visit(entry);
    if (!isSeeded)
      return;
    follow(/*onlyPassing=*/true);
    follow(/*onlyPassing=*/false);
  }

  const llvm::DenseMap<mlir::Value, State> &all() const { return states; }
  const State *find(mlir::Value value) const {
    auto it = states.find(value);
    return it == states.end() ? nullptr : &it->second;
  }

private:
  void follow(bool onlyPassing) {
    auto takesPart = [&](const Link &link) { return link.passes || !onlyPassing; };
    for (int round = 0; round < 16; ++round) {
      bool changed = false;
      for (const Link &link : links)
        if (takesPart(link))
          changed |= flow(link.from, link.fromDim, link.to, link.toDim, link.outer);
      if (changed && round < 8)
        continue; // Forwards first.
      for (const Link &link : llvm::reverse(links))
        if (takesPart(link))
          changed |= flow(link.to, link.toDim, link.from, link.fromDim, link.outer);
      if (!changed)
        break;
    }
  }

  State *stateOf(mlir::Value value) {
    int64_t rank = rankOf(value);
    if (rank < 0)
      return nullptr;
    State &state = states[value];
    if (state.dims.empty() && rank) {
      state.dims.resize(rank);
      state.fixed.resize(rank, false);
    }
    return &state;
  }

  void seed(mlir::Value value, sdy::TensorShardingAttr sharding) {
    sdy::MeshAttr its = reference::meshOf(sharding, module);
    if (!its || its.isMaximal() || its.getAxes().empty())
      return;
    State *state = stateOf(value);
    if (!state || sharding.getDimShardings().size() != state->dims.size())
      return;
    isSeeded = true;
    state->mesh = its;
    for (auto [i, dim] : llvm::enumerate(sharding.getDimShardings())) {
      state->dims[i].assign(dim.getAxes().begin(), dim.getAxes().end());
      state->fixed[i] = dim.getIsClosed() || !dim.getAxes().empty();
    }
    state->forbidden.assign(sharding.getReplicatedAxes().begin(),
                            sharding.getReplicatedAxes().end());
  }

  void seedFunction(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments())
      if (auto sharding = function.getArgAttrOfType<sdy::TensorShardingAttr>(
              argument.getArgNumber(), "sdy.sharding"))
        seed(argument, sharding);
  }

  static bool overlaps(const State &state, sdy::AxisRefAttr axis) {
    sdy::AxisSpan span = sdy::AxisSpan::get(axis, state.mesh);
    auto clashes = [&](sdy::AxisRefAttr other) {
      return other.getName() == axis.getName() &&
             span.overlaps(sdy::AxisSpan::get(other, state.mesh));
    };
    return llvm::any_of(state.forbidden, clashes) ||
           llvm::any_of(state.dims, [&](const Axes &axes) { return llvm::any_of(axes, clashes); });
  }

  bool flow(mlir::Value from, int64_t fromDim, mlir::Value to, int64_t toDim, int64_t outer) {
    State *source = stateOf(from), *target = stateOf(to);
    if (!source || !target)
      return false;
    source = stateOf(from); // The map may have moved.
    const Axes axes = source->dims[fromDim];
    if (axes.empty() || target->fixed[toDim] || !target->dims[toDim].empty())
      return false;
    std::optional<int64_t> parts = sdy::getShardedSize(axes, source->mesh);
    if (!parts || *parts <= 1 || outer % *parts)
      return false;
    // A program may speak of its devices as several meshes; a value keeps to the one it has.
    if (!target->mesh)
      target->mesh = source->mesh;
    if (target->mesh != source->mesh)
      return false;
    for (sdy::AxisRefAttr axis : axes)
      if (overlaps(*target, axis))
        return false;
    target->dims[toDim] = axes;
    return true;
  }

  void link(mlir::Value from, int64_t fromDim, mlir::Value to, int64_t toDim, int64_t outer = 0) {
    if (rankOf(from) < 0 || rankOf(to) < 0)
      return;
    if (!outer) {
      if (sizeOf(from, fromDim) != sizeOf(to, toDim))
        return;
      outer = sizeOf(from, fromDim);
    }
    links.push_back({from, to, fromDim, toDim, outer, passes});
  }

  void linkAll(mlir::Value from, mlir::Value to) {
    if (rankOf(from) >= 0 && rankOf(from) == rankOf(to))
      for (int64_t i = 0; i < rankOf(from); ++i)
        link(from, i, to, i);
  }
  void linkLists(ValueRange from, ValueRange to) {
    for (auto [a, b] : llvm::zip(from, to))
      linkAll(a, b);
  }

  /// Dimensions go together as far as they begin with the same factors, and these may be split.
  void linkRule(Operation &op, sdy::OpShardingRuleAttr rule) {
    SmallVector<std::pair<mlir::Value, sdy::TensorMappingAttr>> values;
    auto add = [&](mlir::Value value, sdy::TensorMappingAttr mapping) {
      if (static_cast<int64_t>(mapping.getDimMappings().size()) == rankOf(value))
        values.emplace_back(value, mapping);
    };
    for (auto [operand, mapping] : llvm::zip(op.getOperands(), rule.getOperandMappings()))
      add(operand, mapping);
    for (auto [result, mapping] : llvm::zip(op.getResults(), rule.getResultMappings()))
      add(result, mapping);
    auto maySplit = [&](int64_t factor) {
      return !llvm::is_contained(rule.getNeedReplicationFactors(), factor) &&
             !llvm::is_contained(rule.getBlockedPropagationFactors(), factor);
    };
    auto linkDims = [&](auto &from, int64_t fromDim, auto &to, int64_t toDim) {
      int64_t outer = 1;
      for (auto [a, b] : llvm::zip(from.second.getDimMappings()[fromDim].getFactorIndices(),
                                   to.second.getDimMappings()[toDim].getFactorIndices())) {
        if (a != b || !maySplit(a))
          break;
        outer *= rule.getFactorSizes()[a];
      }
      if (outer > 1)
        link(from.first, fromDim, to.first, toDim, outer);
    };
    for (size_t i = 0; i < values.size(); ++i)
      for (size_t j = i + 1; j < values.size(); ++j)
        for (int64_t from = 0; from < rankOf(values[i].first); ++from)
          for (int64_t to = 0; to < rankOf(values[j].first); ++to)
            linkDims(values[i], from, values[j], to);
  }

  void visit(func::FuncOp function) {
    if (function.isExternal() || !seen.insert(function).second)
      return;
    for (Operation &op : function.getBody().front())
      visit(op);
  }

  void visit(Operation &op) {
    passes = true; // Shardings, groups, calls and control flow hand on what they get.
    if (auto sharding = op.getAttrOfType<sdy::TensorShardingPerValueAttr>("sdy.sharding"))
      for (auto [result, one] : llvm::zip(op.getResults(), sharding.getShardings()))
        seed(result, one);
    if (auto rule = op.getAttrOfType<sdy::OpShardingRuleAttr>("sdy.sharding_rule")) {
      linkRule(op, rule);
    } else if (auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op)) {
      seed(constraint.getResult(), constraint.getSharding());
      linkAll(constraint.getInput(), constraint.getResult());
    } else if (auto reshard = dyn_cast<sdy::ReshardOp>(op)) {
      seed(reshard.getResult(), reshard.getSharding());
    } else if (auto manual = dyn_cast<sdy::ManualComputationOp>(op)) {
      for (auto [result, sharding] :
           llvm::zip(op.getResults(), manual.getOutShardingsAttr().getShardings())) {
        seed(result, sharding);
        // The shardings say of manual axes all there is to say; only the others may be found.
        if (State *state = stateOf(result))
          for (StringAttr axis : manual.getManualAxes())
            state->forbidden.push_back(sdy::AxisRefAttr::get(op.getContext(), axis.getValue(), {}));
      }
      // The body's arguments stand for how it wants its operands as well.
      for (auto [operand, inside, sharding] :
           llvm::zip(op.getOperands(), manual.getBody().getArguments(),
                     manual.getInShardingsAttr().getShardings())) {
        seed(inside, sharding);
        for (int64_t dim = 0; dim < rankOf(operand); ++dim)
          link(operand, dim, inside, dim, sizeOf(operand, dim));
      }
      Block &body = manual.getBody().front();
      visitBlock(body);
      linkLists(body.getTerminator()->getOperands(), op.getResults());
    } else if (auto group = dyn_cast<sdy::ShardingGroupOp>(op)) {
      auto [first, isNew] = groups.try_emplace(group.getGroupId(), group.getInput());
      if (!isNew)
        linkAll(first->second, group.getInput());
    } else if (isa<sdy::PropagationBarrierOp>(op)) {
      // Nothing passes.
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      visitCall(op, SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(&op, call.getCalleeAttr()));
    } else if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
      visitCall(op, module.lookupSymbol<func::FuncOp>(composite.getDecomposition()));
    } else if (op.hasTrait<stablehlo::Loops>()) {
      Region &body = op.getRegion(1);
      linkLists(op.getOperands(), body.getArguments());
      linkLists(op.getOperands(), op.getResults());
      visitBlock(body.front());
      linkLists(body.front().getTerminator()->getOperands(), op.getResults());
    } else if (op.hasTrait<stablehlo::Branches>()) {
      for (Region &region : op.getRegions()) {
        visitBlock(region.front());
        linkLists(region.front().getTerminator()->getOperands(), op.getResults());
      }
    } else if (isa<sdy::NamedComputationOp>(op)) {
      linkLists(op.getOperands(), op.getRegion(0).getArguments());
      visitBlock(op.getRegion(0).front());
      linkLists(op.getRegion(0).front().getTerminator()->getOperands(), op.getResults());
    } else {
      stablehlo::DimensionRule rule = stablehlo::dimensionRuleOf(&op);
      passes = rule.passesElements;
      for (const stablehlo::DimensionLink &one : rule.links)
        link(op.getOperand(one.operand), one.operandDim, op.getResult(one.result), one.resultDim,
             one.outer);
    }
  }

  void visitBlock(Block &block) {
    for (Operation &op : block)
      visit(op);
    passes = true; // Control flow hands on.
  }

  void visitCall(Operation &op, func::FuncOp callee) {
    if (!callee || callee.isExternal())
      return;
    linkLists(op.getOperands(), callee.getArguments());
    visit(callee);
    passes = true;
    linkLists(callee.getBody().front().getTerminator()->getOperands(), op.getResults());
  }

  ModuleOp module;
  func::FuncOp entry;
  bool isSeeded = false;
  bool passes = true; // Of the operation that is being visited.
  llvm::DenseMap<mlir::Value, State> states;
  llvm::DenseSet<Operation *> seen;
  std::map<uint64_t, mlir::Value> groups; // The first value of each.
  std::vector<Link> links;
};

ShardingAnalysis::ShardingAnalysis(ModuleOp module, func::FuncOp entry)
    : propagation(std::make_unique<Propagation>(module, entry)) {
  propagation->run();
}

ShardingAnalysis::~ShardingAnalysis() = default;

sdy::TensorShardingAttr ShardingAnalysis::of(mlir::Value value) const {
  const State *state = propagation->find(value);
  if (!state || !state->mesh)
    return {};
  sdy::MeshAttr mesh = state->mesh;
  MLIRContext *context = mesh.getContext();
  SmallVector<sdy::DimensionShardingAttr> dims;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  for (auto [size, axes] : llvm::zip_equal(shape, state->dims)) {
    std::optional<int64_t> parts = sdy::getShardedSize(axes, mesh);
    bool even = parts && *parts && size % *parts == 0;
    dims.push_back(sdy::DimensionShardingAttr::get(
        context, even ? ArrayRef<sdy::AxisRefAttr>(axes) : ArrayRef<sdy::AxisRefAttr>(),
        /*is_closed=*/true, std::nullopt));
  }
  return sdy::TensorShardingAttr::get(context, mesh, dims, {}, {}, sdy::ReductionOp::Sum);
}

std::optional<tensor::Shards> ShardingAnalysis::shardsOf(mlir::Value value) const {
  sdy::TensorShardingAttr sharding = of(value);
  if (!sharding)
    return std::nullopt;
  Result<tensor::Shards> shards =
      reference::shardsOf(sharding, propagation->find(value)->mesh);
  return shards ? std::optional(std::move(*shards)) : std::nullopt;
}

void ShardingAnalysis::forEach(
    llvm::function_ref<void(mlir::Value, sdy::MeshAttr, ArrayRef<Axes>)> found) const {
  for (const auto &[value, state] : propagation->all())
    if (state.mesh)
      found(value, state.mesh, state.dims);
}

} // namespace cupel::compiler
