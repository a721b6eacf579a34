// Maps: rows of the innermost dimension in pieces of a fixed size, a vector at a time.

#include "cupel/compiler/codegen/Plans.h"
#include "cupel/compiler/codegen/RowOfMap.h"

namespace cupel::codegen {
namespace {

/// Elements of a row that are one unit of work; a multiple of any number of lanes.
constexpr int64_t kPiece = 4096;

struct MapPlan {
  LoopNest nest; // views: inputs, then outputs
  size_t inputs;
  mlir::Block *body;

  size_t outer() const { return nest.sizes.size() - 1; }
  int64_t length() const { return nest.sizes.back(); }
  int64_t pieces() const { return (length() + kPiece - 1) / kPiece; }
  ArrayRef<View> inputViews() const { return ArrayRef(nest.views).take_front(inputs); }
  ArrayRef<View> outputViews() const { return ArrayRef(nest.views).drop_front(inputs); }

  void emit(Emitter &e) const;
  void emitUnit(Emitter &e, const KernelArguments &arguments, V unit) const;
};

void MapPlan::emitUnit(Emitter &e, const KernelArguments &arguments, V unit) const {
  V piece = e.i64(0);
  if (pieces() > 1) {
    piece = e.CreateURem(unit, e.i64(pieces()));
    unit = e.CreateUDiv(unit, e.i64(pieces()));
  }
  SmallVector<V> indices = unflatten(e, ArrayRef(nest.sizes).drop_back(), unit);
  SmallVector<RowAccess> in, out;
  for (size_t k = 0; k < inputs; ++k)
    in.push_back(rowAccess(e, inputViews()[k], arguments.inputs[k], indices));
  for (size_t k = 0; k < outputViews().size(); ++k)
    out.push_back(rowAccess(e, outputViews()[k], arguments.outputs[k], indices));
  RowOfMap row(e, *body, in, outer());
  V begin = e.CreateMul(piece, e.i64(kPiece));
  V end = e.min64(e.CreateAdd(begin, e.i64(kPiece)), e.i64(length()));
  bool whole = length() % e.lanes == 0;
  e.loop(begin, end, e.lanes,
         [&](V i) { storeVectors(e, out, row.compute(e, i, end, whole), i, end, whole); });
}

void MapPlan::emit(Emitter &e) const {
  KernelArguments arguments = beginKernel(e, "stage0", inputs, nest.views.size() - inputs);
  e.loop(arguments.begin, arguments.end, 1, [&](V unit) { emitUnit(e, arguments, unit); });
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

KernelPlan planMap(const MapKernel &kernel, const Target &) {
  MapPlan plan{{kernel.sizes, kernel.inputs}, kernel.inputs.size(), kernel.body};
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
  int64_t rows = plan.nest.count() / std::max<int64_t>(1, plan.length());
  int64_t units = plan.nest.count() == 0 ? 0 : rows * plan.pieces();
  KernelPlan result;
  result.stages.push_back({nullptr, units, std::min(plan.length(), kPiece)});
  result.emit = [plan = std::move(plan)](Emitter &e) { plan.emit(e); };
  return result;
}

} // namespace cupel::codegen
