// Maps whose operands all lie along one line: code for any length, so that a program with many shapes has few kernels. Larger ones have code of their
// own, which knows whether the last vector is whole and what goes past the caches.

#include "cupel/compiler/codegen/MapPlan.h"

namespace cupel::codegen {
namespace {

/// Elements: so many take longer than code of their own could gain.
constexpr int64_t kMostFlat = int64_t{1} << 16;

} // namespace

std::optional<MapKernel> flattened(const MapKernel &kernel) {
  LoopNest nest{kernel.sizes, kernel.inputs};
  for (const View &view : kernel.outputs)
    nest.views.push_back(view);
  if (nest.count() > kMostFlat)
    return std::nullopt;
  nest.dropUnits();
  nest.sort(kernel.inputs.size());
  nest.merge(0, nest.sizes.size());
  if (nest.sizes.size() != 1 || nest.sizes[0] < 2)
    return std::nullopt;
  auto liesAlong = [](const View &view) { return view.valid.empty() && (view.strides[0] == 0 || view.strides[0] == 1); };
  if (!llvm::all_of(nest.views, liesAlong))
    return std::nullopt;
  MapKernel flat;
  flat.sizes = nest.sizes;
  auto outputs = nest.views.begin() + static_cast<ptrdiff_t>(kernel.inputs.size());
  flat.inputs.assign(nest.views.begin(), outputs);
  flat.outputs.assign(outputs, nest.views.end());
  flat.body = kernel.body;
  return flat;
}

std::vector<int64_t> takeOffsets(MapKernel &flat) {
  std::vector<int64_t> offsets;
  if (llvm::all_of(flat.inputs, [](const View &view) { return view.offset == 0; }))
    return offsets;
  for (View &view : flat.inputs)
    offsets.push_back(std::exchange(view.offset, 0) * int64_t{tensor::info(view.type).bytes});
  return offsets;
}

KernelPlan planFlatMap(const MapKernel &flat) {
  KernelPlan result;
  result.stages.push_back({nullptr, flat.sizes[0], 1});
  result.emit = [flat](Emitter &e) {
    KernelArguments arguments = beginKernel(e, "stage0", flat.inputs.size(), flat.outputs.size());
    SmallVector<RowAccess> in, out;
    for (auto [view, buffer] : llvm::zip(flat.inputs, arguments.inputs))
      in.push_back(rowAccess(e, view, buffer, {}));
    for (auto [view, buffer] : llvm::zip(flat.outputs, arguments.outputs))
      out.push_back(rowAccess(e, view, buffer, {}));
    BodyOps body(*flat.body);
    RowOfMap row(e, body, in, 0);
    e.loop(arguments.begin, arguments.end, e.lanes, [&](V i) {
      storeVectors(e, out, row.compute(e, i, arguments.end, false), i, arguments.end, false);
    });
    e.CreateRetVoid();
  };
  return result;
}

} // namespace cupel::codegen
