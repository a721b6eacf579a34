#include "cupel/reference/PlanMesh.h"

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/SymbolTable.h"

namespace cupel::reference {

using namespace mlir;

std::optional<int64_t> NamedMesh::find(StringRef axis) const {
  auto found = llvm::find(axes, axis);
  return found == axes.end() ? std::nullopt : std::optional<int64_t>(found - axes.begin());
}

namespace {

Result<NamedMesh> meshOfDictionary(DictionaryAttr dictionary) {
  // What JAX leaves on an sdy.mesh: {axes = [{name = "x", size = 2 : i64}], device_ids = ...}
  NamedMesh result;
  auto axes = dictionary.getAs<ArrayAttr>("axes");
  if (!axes)
    return Error{"the attribute stablehlo.mesh has no axes"};
  for (Attribute entry : axes) {
    auto axis = dyn_cast<DictionaryAttr>(entry);
    auto name = axis ? axis.getAs<StringAttr>("name") : StringAttr();
    auto size = axis ? axis.getAs<IntegerAttr>("size") : IntegerAttr();
    if (!name || !size)
      return Error{"an axis of the attribute stablehlo.mesh lacks its name or size"};
    result.axes.push_back(name.str());
    result.mesh.axisSizes.push_back(size.getInt());
  }
  if (auto ids = dictionary.getAs<DenseIntElementsAttr>("device_ids"))
    for (const APInt &id : ids.getValues<APInt>())
      result.mesh.deviceIds.push_back(id.getSExtValue());
  return result;
}

} // namespace

Result<NamedMesh> namedMesh(Attribute meshOrSymbol, ModuleOp module) {
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(meshOrSymbol)) {
    Operation *op = SymbolTable::lookupSymbolIn(module, symbol);
    if (!op)
      return Error{"the module has no mesh @" + symbol.getValue().str()};
    if (auto mesh = dyn_cast<sdy::MeshOp>(op))
      return namedMesh(mesh.getMesh(), module);
    if (Attribute mesh = op->getAttr("stablehlo.mesh"); mesh && !isa<FlatSymbolRefAttr>(mesh))
      return namedMesh(mesh, module);
    return Error{"@" + symbol.getValue().str() +
                 " is no mesh: neither an sdy.mesh nor an operation with the attribute "
                 "stablehlo.mesh"};
  }
  NamedMesh result;
  if (auto given = dyn_cast<stablehlo::MeshAttr>(meshOrSymbol)) {
    for (stablehlo::MeshAxisAttr axis : given.getAxes()) {
      result.axes.push_back(axis.getName().str());
      result.mesh.axisSizes.push_back(axis.getSize());
    }
    if (DenseIntElementsAttr ids = given.getDeviceIds())
      for (const APInt &id : ids.getValues<APInt>())
        result.mesh.deviceIds.push_back(id.getSExtValue());
    return result;
  }
  if (auto given = dyn_cast<sdy::MeshAttr>(meshOrSymbol)) {
    for (sdy::MeshAxisAttr axis : given.getAxes()) {
      result.axes.push_back(axis.getName().str());
      result.mesh.axisSizes.push_back(axis.getSize());
    }
    // A mesh of one device alone says which by its id; here it is the only one.
    if (!given.isMaximal())
      result.mesh.deviceIds.assign(given.getDeviceIds().begin(), given.getDeviceIds().end());
    return result;
  }
  if (auto given = dyn_cast<DictionaryAttr>(meshOrSymbol))
    return meshOfDictionary(given);
  return Error{"this is no mesh"};
}

} // namespace cupel::reference
