// Functions of an artifact that use types this MLIR lacks.

#include "cupel/ir/portable/Conversion.h"
#include "cupel/ir/vhlo/Builtin.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;

namespace {

/// Finds the first type that this MLIR lacks inside types and attributes.
class Finder {
public:
  std::optional<vhlo::TypeCode> find(Type type) {
    auto [it, isNew] = cache.try_emplace(type);
    if (isNew)
      it->second = search(type);
    return it->second;
  }
  template <typename T> static std::optional<vhlo::TypeCode> search(T value) {
    std::optional<vhlo::TypeCode> found;
    value.walk([&](vhlo::ScalarV1Type type) {
      if (!vhlo::isMissingInMlir(type.getCode()))
        return WalkResult::advance();
      found = type.getCode();
      return WalkResult::interrupt();
    });
    return found;
  }

private:
  llvm::DenseMap<Type, std::optional<vhlo::TypeCode>> cache;
};

struct Obstacle {
  std::string what;
  Location location;
};

std::optional<Obstacle> findObstacle(Operation *function, Finder &finder) {
  std::optional<Obstacle> obstacle;
  auto check = [&](std::optional<vhlo::TypeCode> code, Location location) {
    if (code)
      obstacle = Obstacle{"uses type '" + vhlo::plainName(vhlo::infoOf(*code)) +
                              "', which does not exist in MLIR 19, which Cupel is built on",
                          location};
    return obstacle.has_value();
  };
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Also those of other dialects, which artifacts may hold since 1.11.0.
    for (NamedAttribute attr : op->getAttrDictionary())
      if (check(Finder::search(attr.getValue()), op->getLoc()))
        return WalkResult::interrupt();
    for (Type type : op->getResultTypes())
      if (check(finder.find(type), op->getLoc()))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          if (check(finder.find(argument.getType()), argument.getLoc()))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return obstacle;
}

/// The functions an operation names.
SmallVector<StringRef> namedFunctions(Operation *op) {
  SmallVector<StringRef> names;
  for (StringRef key : {"callee", "decomposition", "called_computations"}) {
    Attribute attr = vhlo::attributeOf(op, key);
    if (auto string = llvm::dyn_cast_or_null<vhlo::StringV1Attr>(attr))
      names.push_back(string.getValue());
    if (auto array = llvm::dyn_cast_or_null<vhlo::ArrayV1Attr>(attr))
      for (Attribute element : array.getValue())
        if (auto string = llvm::dyn_cast<vhlo::StringV1Attr>(element))
          names.push_back(string.getValue());
  }
  return names;
}

StringRef nameOf(Operation *function) {
  auto name = llvm::dyn_cast_or_null<vhlo::StringV1Attr>(vhlo::attributeOf(function, "sym_name"));
  return name ? name.getValue() : "";
}

} // namespace

LogicalResult cupel::portable::handleMissingTypes(ModuleOp module, bool allowPartial) {
  Finder finder;
  llvm::MapVector<Operation *, Obstacle> obstacles;
  llvm::StringSet<> lost;
  SmallVector<Operation *> functions;
  for (Operation &op : module.getOps()) {
    const vhlo::OpInfo *info = vhlo::infoOf(&op);
    if (!info || info->base != "func")
      continue;
    functions.push_back(&op);
    if (auto obstacle = findObstacle(&op, finder)) {
      obstacles.insert({&op, *obstacle});
      lost.insert(nameOf(&op));
    }
  }
  if (obstacles.empty())
    return success();

  if (!allowPartial) {
    for (auto &[function, obstacle] : obstacles)
      emitError(obstacle.location) << "function '" << nameOf(function) << "' " << obstacle.what;
    return failure();
  }

  // A function that calls one that is left out cannot stay either.
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation *function : functions) {
      if (obstacles.contains(function))
        continue;
      function->walk([&](Operation *op) {
        for (StringRef name : namedFunctions(op))
          if (lost.contains(name)) {
            obstacles.insert(
                {function, {("uses '" + name + "', which is left out").str(), op->getLoc()}});
            lost.insert(nameOf(function));
            changed = true;
            return WalkResult::interrupt();
          }
        return WalkResult::advance();
      });
    }
  }
  for (auto &[function, obstacle] : obstacles) {
    emitWarning(obstacle.location)
        << "function '" << nameOf(function) << "' is left out: it " << obstacle.what;
    function->erase();
  }
  return success();
}
