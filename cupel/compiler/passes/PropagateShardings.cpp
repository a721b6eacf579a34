#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/analysis/Propagate.h"
#include "cupel/compiler/passes/Passes.h"
#include "cupel/reference/ShardsOf.h"

using namespace mlir;

namespace cupel::compiler {

#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "cupel/compiler/passes/Passes.h.inc"

namespace {

struct PropagateShardingsPass : public impl::PropagateShardingsBase<PropagateShardingsPass> {
  using PropagateShardingsBase::PropagateShardingsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp entry = entryOf(module);
    Devices devices = Devices::of(module);
    if (!entry || entry.isExternal() || devices.partitions == 1 || devices.view == View::Own)
      return;
    SmallVector<unsigned> open;
    for (unsigned i = 0; i < entry.getNumResults(); ++i)
      if (mayGet(i) && isa<RankedTensorType>(entry.getResultTypes()[i]) &&
          !entry.getResultAttr(i, "sdy.sharding") && !entry.getResultAttr(i, "mhlo.sharding"))
        open.push_back(i);
    if (open.empty())
      return;
    ShardingAnalysis shardings(module, entry);
    Operation *end = entry.getBody().front().getTerminator();
    for (unsigned i : open)
      if (sdy::TensorShardingAttr found = shardings.of(end->getOperand(i));
          found && isEven(found, entry.getResultTypes()[i], devices.partitions))
        entry.setResultAttr(i, "sdy.sharding", found);
  }

private:
  bool mayGet(size_t i) const {
    return results.size() == 1 ? results[0] : i < results.size() && results[i];
  }

  /// Whether the sharding cuts a tensor into equal pieces for devices that are there.
  bool isEven(sdy::TensorShardingAttr sharding, Type type, int64_t partitions) {
    Result<tensor::Shards> shards =
        reference::shardsOf(sharding, reference::meshOf(sharding, getOperation()));
    return shards && shards->isEven(cast<RankedTensorType>(type).getShape()) &&
           llvm::all_of(shards->devices,
                        [&](int64_t device) { return device >= 0 && device < partitions; });
  }
};

} // namespace

} // namespace cupel::compiler
