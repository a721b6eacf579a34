// Maps: rows of the innermost dimension in pieces of a fixed size, a vector at a time.

#include "cupel/compiler/codegen/MapPlan.h"

namespace cupel::codegen {
namespace {

constexpr int64_t kPiece = 4096;

/// Unit: the outer dimensions and a piece of the row. Returns whether some results go past the caches.
bool emitUnit(Emitter &e, const MapPlan &plan, const KernelArguments &arguments, V unit) {
  V piece = e.i64(0);
  if (plan.pieces() > 1) {
    piece = e.CreateURem(unit, e.i64(plan.pieces()));
    unit = e.CreateUDiv(unit, e.i64(plan.pieces()));
  }
  SmallVector<V> indices = unflatten(e, ArrayRef(plan.nest.sizes).drop_back(), unit);
  SmallVector<RowAccess> in, out;
  for (size_t k = 0; k < plan.inputs; ++k)
    in.push_back(rowAccess(e, plan.inputViews()[k], arguments.inputs[k], indices));
  for (size_t k = 0; k < plan.outputViews().size(); ++k)
    out.push_back(rowAccess(e, plan.outputViews()[k], arguments.outputs[k], indices));
  bool streams = false;
  int64_t bytes = 0;
  for (const View &view : plan.nest.views)
    bytes += touchedBytes(view, plan.nest.sizes);
  for (RowAccess &access : out)
    streams |= letStream(e, access, plan.nest.count(), bytes);
  RowOfMap row(e, plan.body, in, indices.size());
  V begin = e.CreateMul(piece, e.i64(plan.piece));
  V end = e.min64(e.CreateAdd(begin, e.i64(plan.piece)), e.i64(plan.length()));
  bool whole = plan.length() % e.lanes == 0;
  e.loop(begin, end, e.lanes,
         [&](V i) { storeVectors(e, out, row.compute(e, i, end, whole), i, end, whole); });
  return streams;
}

void emitMap(Emitter &e, const MapPlan &plan) {
  KernelArguments arguments =
      beginKernel(e, "stage0", plan.inputs, plan.nest.views.size() - plan.inputs);
  bool streams = false;
  e.loop(arguments.begin, arguments.end, 1, [&](V unit) {
    if (plan.across)
      plan.emitTiledUnit(e, arguments, unit);
    else if (plan.isInterleaved)
      plan.emitInterleavedUnit(e, arguments, unit);
    else
      streams = emitUnit(e, plan, arguments, unit);
  });
  if (streams)
    endStreams(e);
  e.CreateRetVoid();
}

} // namespace

KernelArguments beginKernel(Emitter &e, llvm::StringRef name, size_t inputs, size_t outputs) {
  llvm::Type *pointer = e.getPtrTy(), *number = e.getInt64Ty();
  llvm::Function *function = e.beginFunction(name, {pointer, pointer, number, number, pointer});
  auto load = [&](unsigned argument, size_t count) {
    SmallVector<V> buffers;
    for (size_t k = 0; k < count; ++k)
      buffers.push_back(e.CreateLoad(
          pointer, e.at(function->getArg(argument), pointer, e.i64(static_cast<int64_t>(k)))));
    return buffers;
  };
  KernelArguments arguments;
  arguments.inputs = load(0, inputs);
  arguments.outputs = load(1, outputs);
  arguments.begin = function->getArg(2);
  arguments.end = function->getArg(3);
  arguments.scratch = function->getArg(4);
  return arguments;
}

KernelPlan planMap(const MapKernel &kernel, const Target &target) {
  MapPlan plan{{kernel.sizes, kernel.inputs}, kernel.inputs.size(), BodyOps(*kernel.body), {}, 0,
               false, kPiece};
  for (const View &view : kernel.outputs)
    plan.nest.views.push_back(view);
  plan.nest.dropUnits();
  plan.nest.sort(plan.inputs);
  plan.nest.merge(0, plan.nest.sizes.size());
  if (plan.nest.sizes.empty()) {
    plan.nest.sizes = {1};
    for (View &view : plan.nest.views)
      view.strides = {1};
  }
  plan.chooseTiles();
  plan.chooseInterleaving(target.lanes);
  int64_t units = plan.pieces();
  for (size_t d = 0; d + 1 + plan.isInterleaved < plan.nest.sizes.size(); ++d) {
    int64_t group = plan.across == d ? plan.tileRows : 1;
    units *= (plan.nest.sizes[d] + group - 1) / group;
  }
  int64_t elements = std::min(plan.length(), plan.piece) * std::max<int64_t>(1, plan.tileRows);
  if (plan.isInterleaved)
    elements *= plan.nest.sizes[plan.nest.sizes.size() - 2];
  KernelPlan result;
  result.stages.push_back({nullptr, units, std::max<int64_t>(1, elements)});
  result.emit = [plan = std::move(plan)](Emitter &e) { emitMap(e, plan); };
  return result;
}

} // namespace cupel::codegen
