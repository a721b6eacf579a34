#include "cupel/capi/Shardings.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/frontends/torch/ShardingCall.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <limits>
#include <nlohmann/json.hpp>

namespace cupel::capi {

using namespace mlir;
using nlohmann::json;

namespace {

constexpr char kMesh[] = "mesh";

Result<sdy::MeshAttr> meshOf(const json &given, MLIRContext *context) {
  SmallVector<sdy::MeshAxisAttr> axes;
  int64_t devices = 1;
  for (const json &axis : given) {
    if (!axis.is_array() || axis.size() != 2 || !axis[0].is_string() ||
        !axis[1].is_number_integer() || axis[1].get<int64_t>() < 1)
      return Error{"an axis of a mesh is a name and a number of devices: " + axis.dump()};
    if (axis[1].get<int64_t>() > std::numeric_limits<int32_t>::max() / devices)
      return Error{"a mesh of more devices than can be counted: " + given.dump()};
    devices *= axis[1].get<int64_t>();
    axes.push_back(
        sdy::MeshAxisAttr::get(context, axis[0].get<std::string>(), axis[1].get<int64_t>()));
  }
  if (axes.empty())
    return Error{"a mesh has at least one axis"};
  return sdy::MeshAttr::get(context, axes, {});
}

/// `spec`, or nothing split where it is null.
Result<sdy::TensorShardingAttr> shardingOf(const json &spec, mlir::Type type, sdy::MeshAttr mesh) {
  MLIRContext *context = mesh.getContext();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return Error{"a sharding stands at something that is no tensor"};
  if (!spec.is_null() && (!spec.is_array() || int64_t(spec.size()) != tensor.getRank()))
    return Error{"the sharding " + spec.dump() + " stands at a tensor of rank " +
                 std::to_string(tensor.getRank())};
  SmallVector<sdy::DimensionShardingAttr> dims;
  for (int64_t dim = 0; dim < tensor.getRank(); ++dim) {
    SmallVector<sdy::AxisRefAttr> axes;
    int64_t pieces = 1;
    for (const json &axis : spec.is_null() ? json::array() : spec[dim]) {
      std::optional<int64_t> size =
          axis.is_string() ? mesh.getAxisSize(axis.get<std::string>()) : std::nullopt;
      if (!size)
        return Error{"the mesh has no axis " + axis.dump()};
      pieces *= *size;
      axes.push_back(sdy::AxisRefAttr::get(context, axis.get<std::string>(), {}));
    }
    if (tensor.getDimSize(dim) % pieces)
      return Error{"dimension " + std::to_string(dim) + " of size " +
                   std::to_string(tensor.getDimSize(dim)) + " cannot be split into " +
                   std::to_string(pieces) + " equal pieces"};
    dims.push_back(sdy::DimensionShardingAttr::get(context, axes, /*is_closed=*/true, std::nullopt));
  }
  return sdy::TensorShardingAttr::get(context, FlatSymbolRefAttr::get(context, kMesh), dims, {}, {},
                                      sdy::ReductionOp::Sum);
}

/// The constraints that stand in the program, each as its call and what it says.
SmallVector<stablehlo::CustomCallOp> constraintsIn(ModuleOp module) {
  SmallVector<stablehlo::CustomCallOp> found;
  module.walk([&](stablehlo::CustomCallOp call) {
    if (call.getCallTargetName() == frontends::torch_import::kShardingCall)
      found.push_back(call);
  });
  return found;
}

} // namespace

Status addShardings(ModuleOp module, const json &given) {
  MLIRContext *context = module.getContext();
  if (given.is_null()) {
    for (stablehlo::CustomCallOp call : constraintsIn(module)) {
      call->replaceAllUsesWith(call->getOperands());
      call->erase();
    }
    return {};
  }
  if (!given.is_object() || !given.contains("mesh") || !given.contains("inputs") ||
      given.size() != 2)
    return Error{"\"shardings\" has a \"mesh\" and \"inputs\""};
  Result<sdy::MeshAttr> mesh = meshOf(given["mesh"], context);
  if (!mesh)
    return mesh.error();
  func::FuncOp entry = compiler::entryOf(module);
  const json &inputs = given["inputs"];
  if (!entry || !inputs.is_array() || inputs.size() != entry.getNumArguments())
    return Error{"there are " + std::to_string(inputs.size()) + " shardings for " +
                 std::to_string(entry ? entry.getNumArguments() : 0) + " arguments"};
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  builder.create<sdy::MeshOp>(module.getLoc(), kMesh, *mesh);
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto sharding = shardingOf(inputs[i], entry.getArgumentTypes()[i], *mesh);
    if (!sharding)
      return sharding.error().within("argument " + std::to_string(i));
    entry.setArgAttr(i, "sdy.sharding", *sharding);
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto whole = shardingOf(json(), entry.getResultTypes()[i], *mesh);
    if (!whole)
      return whole.error().within("result " + std::to_string(i));
    entry.setResultAttr(i, "sdy.sharding", *whole);
  }
  for (stablehlo::CustomCallOp call : constraintsIn(module)) {
    auto text = call->getAttrOfType<StringAttr>("backend_config");
    json spec = json::parse(text ? text.str() : "", nullptr, false);
    auto sharding = shardingOf(spec, call->getResult(0).getType(), *mesh);
    if (!sharding)
      return sharding.error().within("a constraint of the model");
    builder.setInsertionPoint(call);
    auto made = builder.create<sdy::ShardingConstraintOp>(
        call.getLoc(), call->getResult(0).getType(), call->getOperand(0), *sharding);
    call->getResult(0).replaceAllUsesWith(made.getResult());
    call->erase();
  }
  int32_t devices = 1;
  for (sdy::MeshAxisAttr axis : mesh->getAxes())
    devices *= int32_t(axis.getSize());
  module->setAttr("mhlo.num_partitions", builder.getI32IntegerAttr(devices));
  module->setAttr("mhlo.num_replicas", builder.getI32IntegerAttr(1));
  return {};
}

} // namespace cupel::capi
