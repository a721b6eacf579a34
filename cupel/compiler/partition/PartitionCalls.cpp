#include "cupel/compiler/partition/PartitionCalls.h"

#include "cupel/calls/CallPartitioners.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/ir/sdy/SdyAxes.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/ShardsOf.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cupel::compiler {

using namespace mlir;
using calls::CallPartitioner;
using calls::CallPartitioners;
using calls::PartitionedCall;
using calls::PlacedValue;
using tensor::Shards;

namespace {

constexpr char kShardingRule[] = "sdy.sharding_rule", kSharding[] = "sdy.sharding";

//===----------------------------------------------------------------------===//
// From devices back to axes
//===----------------------------------------------------------------------===//

/// The smallest part of an axis that a sharding can name: of a prime number of places.
struct Digit {
  sdy::AxisSpan span;
  int64_t step; // Between devices that differ in it only.

  int64_t of(int64_t device) const { return device / step % span.size(); }
};

SmallVector<Digit> digitsOf(sdy::MeshAttr mesh, int64_t devices) {
  SmallVector<Digit> digits;
  int64_t step = devices;
  for (sdy::MeshAxisAttr axis : mesh.getAxes()) {
    int64_t begin = 1, rest = axis.getSize();
    for (int64_t prime = 2; rest > 1; ++prime)
      for (; rest % prime == 0; rest /= prime) {
        step /= prime;
        digits.push_back({{axis.getName(), begin, begin * prime}, step});
        begin *= prime;
      }
  }
  return digits;
}

/// The sharding of a mesh that lays tiles where these shards do; null if the mesh has none.
sdy::TensorShardingAttr shardingOn(sdy::MeshOp place, const Shards &shards, int64_t rank) {
  sdy::MeshAttr mesh = place.getMesh();
  MLIRContext *context = place.getContext();
  SmallVector<SmallVector<sdy::AxisRefAttr, 2>> axes(rank);
  if (shards.kind == Shards::Kind::Tiled) {
    Result<int64_t> count = reference::deviceCount(mesh);
    if (!count || static_cast<int64_t>(shards.tiles.size()) != rank || shards.summands != 1)
      return {};
    // Which tile each device has, by the device's place in the mesh.
    SmallVector<SmallVector<int64_t>> tileOf;
    for (int64_t n = 0; n < *count; ++n) {
      int64_t at = shards.place(mesh.getDeviceIds().empty() ? n : mesh.getDeviceIds()[n]);
      if (at < 0)
        return {};
      at /= shards.copies();
      SmallVector<int64_t> tile(rank);
      for (int64_t dim = rank; dim-- > 0; at /= shards.tiles[dim])
        tile[dim] = at % shards.tiles[dim];
      tileOf.push_back(std::move(tile));
    }
    SmallVector<Digit> digits = digitsOf(mesh, *count);
    for (int64_t dim = 0; dim < rank; ++dim) {
      SmallVector<std::pair<int64_t, const Digit *>> weights;
      for (const Digit &digit : digits)
        if (int64_t weight = tileOf[digit.step][dim])
          weights.emplace_back(weight, &digit);
      for (int64_t n = 0; n < *count; ++n) {
        int64_t sum = 0;
        for (auto [weight, digit] : weights)
          sum += weight * digit->of(n);
        if (sum != tileOf[n][dim])
          return {};
      }
      llvm::sort(weights, [](auto &a, auto &b) { return a.first > b.first; });
      int64_t left = shards.tiles[dim];
      for (auto [weight, digit] : weights) {
        if (weight * digit->span.size() != left)
          return {};
        left = weight;
        sdy::appendAxis(axes[dim], digit->span.toAttr(mesh), mesh);
      }
      if (left != 1)
        return {};
    }
  } else if (shards.kind != Shards::Kind::Replicated) {
    return {};
  }
  SmallVector<sdy::DimensionShardingAttr> dims;
  for (ArrayRef<sdy::AxisRefAttr> list : axes)
    dims.push_back(
        sdy::DimensionShardingAttr::get(context, list, /*is_closed=*/true, std::nullopt));
  return sdy::TensorShardingAttr::get(context, FlatSymbolRefAttr::get(place.getSymNameAttr()), dims,
                                      {}, {}, sdy::ReductionOp::Sum);
}

int64_t rankOf(mlir::Value value) { return cast<RankedTensorType>(value.getType()).getRank(); }

/// One sharding for each value, all of one mesh.
sdy::TensorShardingPerValueAttr shardingsOn(sdy::MeshOp mesh, const std::vector<Shards> &shards,
                                            ValueRange values) {
  SmallVector<sdy::TensorShardingAttr> list;
  for (auto [one, value] : llvm::zip_equal(shards, values)) {
    list.push_back(shardingOn(mesh, one, rankOf(value)));
    if (!list.back())
      return {};
  }
  return sdy::TensorShardingPerValueAttr::get(mesh.getContext(), list);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

struct Call {
  stablehlo::CustomCallOp op;
  std::shared_ptr<const CallPartitioner> author;
  std::string target, config;
  std::vector<PlacedValue> operands, results;

  std::string authorName() const { return "the partitioner of @" + target; }
  Error error(const std::string &message) const {
    return {ErrorCode::InvalidProgram, authorName() + " " + message};
  }
};

class CallsPartition {
public:
  CallsPartition(ModuleOp module, func::FuncOp entry, int64_t partitions,
                 const RunsOutside &outside)
      : module(module), entry(entry), partitions(partitions), outside(outside) {}

  Result<bool> run();

private:
  Status describe(MutableArrayRef<Call> calls);
  Status place(Call &call);
  Status inlineInto(Call &call, const PartitionedCall &answer);
  /// The author's program, and only its `main`: the rest has moved into ours.
  Result<func::FuncOp> read(const Call &call, const PartitionedCall &answer,
                            OwningOpRef<ModuleOp> &program);
  void import(ModuleOp program);
  /// The meshes that may say how pieces lie; the last is made for the purpose.
  SmallVector<sdy::MeshOp> meshes();

  ModuleOp module;
  func::FuncOp entry;
  int64_t partitions;
  const RunsOutside &outside;
};

/// Finds out how operands and results of calls lie.
Status CallsPartition::describe(MutableArrayRef<Call> calls) {
  ShardingAnalysis shardings(module, entry);
  for (Call &call : calls) {
    auto fill = [&](ValueRange values, std::vector<PlacedValue> &placed) -> Status {
      placed.clear();
      for (mlir::Value value : values) {
        auto type = dyn_cast<RankedTensorType>(value.getType());
        if (!type || !type.hasStaticShape())
          return Error{"@" + call.target + " is split by its author, and takes or gives what is no "
                       "tensor of a static shape"};
        Result<tensor::ElementType> element = reference::elementTypeOf(type.getElementType());
        if (!element)
          return element.error();
        placed.push_back({element->storage, reference::shapeOf(type),
                          shardings.shardsOf(value).value_or(Shards())});
      }
      return {};
    };
    if (Status status = fill(call.op->getOperands(), call.operands); !status)
      return status;
    if (Status status = fill(call.op->getResults(), call.results); !status)
      return status;
  }
  return {};
}

SmallVector<sdy::MeshOp> CallsPartition::meshes() {
  SmallVector<sdy::MeshOp> all;
  for (auto mesh : module.getOps<sdy::MeshOp>())
    if (Result<int64_t> count = reference::deviceCount(mesh.getMesh());
        !mesh.getMesh().isMaximal() && count && *count == partitions)
      all.push_back(mesh);
  if (!all.empty())
    return all;
  MLIRContext *context = module.getContext();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto axis = sdy::MeshAxisAttr::get(context, "devices", partitions);
  auto mesh = builder.create<sdy::MeshOp>(module.getLoc(), "devices",
                                          sdy::MeshAttr::get(context, {axis}, {}));
  SymbolTable(module).insert(mesh);
  return {mesh};
}

/// Where no rule says how results lie, the author may: from who uses them, else from the operands.
Status CallsPartition::place(Call &call) {
  bool isUsedSplit = llvm::any_of(call.results, [](const PlacedValue &result) {
    return result.shards.kind == Shards::Kind::Tiled;
  });
  CallPartitioner::Placement placement(std::nullopt);
  outside([&] {
    placement = isUsedSplit ? call.author->fromUsers(call.results, call.config)
                            : call.author->fromOperands(call.operands, call.results, call.config);
  });
  if (!placement)
    return placement.error().within(call.authorName());
  if (!*placement)
    return {};
  if ((*placement)->size() != call.results.size())
    return call.error("places another number of results than there are");
  for (sdy::MeshOp mesh : meshes())
    if (auto shardings = shardingsOn(mesh, **placement, call.op->getResults())) {
      call.op->setAttr(kSharding, shardings);
      return {};
    }
  return call.error("places results in a way that no mesh of the program has");
}

void CallsPartition::import(ModuleOp program) {
  for (Operation &op : llvm::make_early_inc_range(*program.getBody())) {
    auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
    if (!name || name == "main")
      continue;
    Operation *there = module.lookupSymbol(name);
    auto mesh = dyn_cast<sdy::MeshOp>(op);
    if (auto same = dyn_cast_or_null<sdy::MeshOp>(there);
        mesh && same && same.getMesh() == mesh.getMesh())
      continue;
    if (there) {
      std::string unique;
      for (int number = 0; there; ++number) {
        unique = (name.getValue() + "_partitioned_" + Twine(number)).str();
        there = program.lookupSymbol(unique) ? &op : module.lookupSymbol(unique);
      }
      auto fresh = StringAttr::get(module.getContext(), unique);
      (void)SymbolTable::replaceAllSymbolUses(&op, fresh, program);
      SymbolTable::setSymbolName(&op, fresh);
    }
    op.remove();
    module.push_back(&op);
    if (auto function = dyn_cast<func::FuncOp>(op))
      function.setPrivate();
  }
}

Result<func::FuncOp> CallsPartition::read(const Call &call, const PartitionedCall &answer,
                                          OwningOpRef<ModuleOp> &program) {
  std::string complaint;
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
        complaint = diagnostic.str();
      return success();
    });
    auto bytes = llvm::MemoryBuffer::getMemBufferCopy(answer.program, "partitioned call");
    ParserConfig config(module.getContext());
    program = ir::readProgram(bytes->getMemBufferRef(), config);
  }
  if (!program)
    return call.error("gives a program that cannot be read: " + complaint);
  auto main = program->lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal() || !main.getBody().hasOneBlock())
    return call.error("gives a program without a function main");
  return main;
}

Status CallsPartition::inlineInto(Call &call, const PartitionedCall &answer) {
  OwningOpRef<ModuleOp> program;
  Result<func::FuncOp> main = read(call, answer, program);
  if (!main)
    return main.error();
  stablehlo::CustomCallOp op = call.op;
  auto fits = [&](const std::vector<Shards> &shards, TypeRange wholes,
                  TypeRange pieces) -> std::string {
    if (shards.size() != wholes.size() || pieces.size() != wholes.size())
      return "takes or gives another number of values than the call";
    for (auto [one, whole, piece] : llvm::zip_equal(shards, wholes, pieces)) {
      auto type = cast<RankedTensorType>(whole);
      if (one.kind == Shards::Kind::Tiled && one.tiles.size() != type.getShape().size())
        return "splits a value of another rank than the call's";
      if (!one.isEven(type.getShape()))
        return "splits a value unevenly";
      auto expected = RankedTensorType::get(one.shardShape(type.getShape()), type.getElementType());
      std::string text;
      llvm::raw_string_ostream(text)
          << "gives a program for a piece of type " << piece << " where it is a " << expected;
      if (piece != expected)
        return text;
    }
    return "";
  };
  for (std::string problem :
       {fits(answer.operands, op->getOperandTypes(), main->getArgumentTypes()),
        fits(answer.results, op->getResultTypes(), main->getResultTypes())})
    if (!problem.empty())
      return call.error(problem);

  import(*program);
  OpBuilder builder(op);
  for (sdy::MeshOp mesh : meshes()) {
    auto in = shardingsOn(mesh, answer.operands, op->getOperands());
    auto out = shardingsOn(mesh, answer.results, op->getResults());
    if (!in || !out)
      continue;
    SmallVector<StringAttr> axes;
    for (sdy::MeshAxisAttr axis : mesh.getMesh().getAxes())
      axes.push_back(builder.getStringAttr(axis.getName()));
    auto manual = builder.create<sdy::ManualComputationOp>(
        op.getLoc(), op->getResultTypes(), op->getOperands(), in, out,
        sdy::ManualAxesAttr::get(op.getContext(), axes));
    manual.getBody().takeBody(main->getBody());
    Operation *end = manual.getBody().front().getTerminator();
    builder.setInsertionPoint(end);
    builder.create<sdy::ReturnOp>(end->getLoc(), end->getOperands());
    end->erase();
    op->replaceAllUsesWith(manual);
    op->erase();
    return {};
  }
  return call.error("splits values in a way that no mesh of the program has");
}

Result<bool> CallsPartition::run() {
  std::vector<Call> calls;
  module.walk<WalkOrder::PreOrder>([&](stablehlo::CustomCallOp op) {
    if (auto author = CallPartitioners::get().find(op.getCallTargetName().str())) {
      auto config = op->getAttrOfType<StringAttr>("backend_config");
      calls.push_back({op, std::move(author), op.getCallTargetName().str(),
                       config ? config.str() : "", {}, {}});
    }
  });
  if (calls.empty())
    return false;
  for (const Call &call : calls)
    if (call.op->getParentOfType<sdy::ManualComputationOp>())
      return Error{"@" + call.target + ", which its author splits, stands in a computation that is "
                   "split already"};
  for (Call &call : calls)
    if (!call.op->hasAttr(kShardingRule) && !call.op->hasAttr(kSharding)) {
      // Nobody else may think that dimensions of one size go together.
      call.op->setAttr(kShardingRule, sdy::OpShardingRuleAttr::get(module.getContext(), {}, {}, {},
                                                                   {}, {}, {}, {}, true));
      if (Status status = describe(call); !status)
        return status.error();
      if (Status status = place(call); !status)
        return status.error();
    }
  if (Status status = describe(calls); !status)
    return status.error();
  std::vector<Result<PartitionedCall>> answers;
  outside([&] {
    for (const Call &call : calls)
      answers.push_back(call.author->partition(call.operands, call.results, call.config));
  });
  for (auto [call, answer] : llvm::zip_equal(calls, answers)) {
    if (!answer)
      return answer.error().within(call.authorName());
    if (Status status = inlineInto(call, *answer); !status)
      return status.error();
  }
  return true;
}

} // namespace

Result<bool> partitionCalls(ModuleOp module, func::FuncOp entry, int64_t partitions,
                            const RunsOutside &outside) {
  return CallsPartition(module, entry, partitions, outside).run();
}

} // namespace cupel::compiler
