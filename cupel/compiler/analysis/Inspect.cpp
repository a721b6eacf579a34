#include "cupel/compiler/analysis/Inspect.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Registry.h"
#include "cupel/reference/ShardsOf.h"

namespace cupel::compiler {

using namespace mlir;
using runtime::ProgramInfo;
using runtime::ValueInfo;
using tensor::Shards;

namespace {

std::string stringOf(DictionaryAttr attributes, StringRef name) {
  auto text = attributes ? attributes.getAs<StringAttr>(name) : StringAttr();
  return text ? text.str() : "";
}

Result<std::optional<Shards>> shardsIn(DictionaryAttr attributes, int64_t rank, ModuleOp module,
                                       int64_t partitions) {
  std::optional<Shards> none;
  if (!attributes)
    return none;
  if (auto sharding = attributes.getAs<sdy::TensorShardingAttr>("sdy.sharding")) {
    sdy::MeshAttr mesh = reference::meshOf(sharding, module);
    if (!mesh)
      return Error{"the mesh of a sharding is not in the module"};
    Result<Shards> shards = reference::shardsOf(sharding, mesh);
    if (!shards)
      return shards.error();
    if (shards->kind == Shards::Kind::Tiled && static_cast<int64_t>(shards->tiles.size()) != rank)
      return Error{"a sharding of rank " + std::to_string(shards->tiles.size()) +
                   " stands at a tensor of rank " + std::to_string(rank)};
    for (int64_t device : shards->devices)
      if (device < 0 || device >= partitions) {
        if (partitions == 1) // Compiled for one device: the mesh is only spoken of.
          return none;
        return Error{"a sharding names device " + std::to_string(device) +
                     "; the program is compiled for " + std::to_string(partitions)};
      }
    return std::optional(*shards);
  }
  if (auto text = attributes.getAs<StringAttr>("mhlo.sharding")) {
    if (partitions == 1)
      return none;
    Result<Shards> shards = Shards::parse(text.getValue(), rank, partitions);
    if (!shards)
      return shards.error();
    return std::optional(*shards);
  }
  return none;
}

Status describeValue(mlir::Type type, DictionaryAttr attributes, ModuleOp module,
                      int64_t partitions, ValueInfo &info) {
  if (auto whole = attributes ? attributes.getAs<TypeAttr>(kWholeTypeAttr) : TypeAttr())
    type = whole.getValue();
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked) {
    info.isToken = true;
    info.type = tensor::DType::I1;
    info.shape = {0};
    std::string text;
    llvm::raw_string_ostream(text) << type;
    if (text != "!stablehlo.token")
      return Error{ErrorCode::Unsupported,
                   "arguments and results of type " + text + " are not supported"};
    return {};
  }
  Result<tensor::ElementType> element = reference::elementTypeOf(ranked.getElementType());
  if (!element)
    return element.error().as(ErrorCode::Unsupported);
  info.type = *element;
  info.shape = reference::shapeOf(type);
  Result<std::optional<Shards>> shards = shardsIn(attributes, ranked.getRank(), module, partitions);
  if (!shards)
    return shards.error().as(ErrorCode::InvalidArgument);
  if (*shards) {
    info.shards = **shards;
    info.hasShards = true;
  }
  info.memoryKind = stringOf(attributes, "mhlo.memory_kind");
  info.layoutMode = stringOf(attributes, "mhlo.layout_mode");
  return {};
}

/// The layout in which a value that may lie in any costs nothing: where it comes from a
/// transposition, its elements stay where they were.
std::string freeLayout(mlir::Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return "";
  // Dimension i of the result is dimension order[i] of what is looked at.
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  while (Operation *op = value.getDefiningOp()) {
    if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
      for (int64_t &dim : order)
        dim = transpose.getPermutation()[dim];
    } else if (!isa<sdy::ShardingConstraintOp>(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  std::string text = "}";
  for (int64_t dim = 0; dim < type.getRank(); ++dim) // The major ones last.
    text = (dim + 1 < type.getRank() ? "," : "") +
           std::to_string(llvm::find(order, dim) - order.begin()) + text;
  return "{" + text;
}

/// An offered argument is given up only where a result of its size can take its memory; hosts go on
/// using the others.
void keepUselessDonors(ProgramInfo &info) {
  std::vector<bool> taken(info.results.size());
  for (const ValueInfo &argument : info.arguments)
    if (argument.aliasedResult >= 0)
      taken[argument.aliasedResult] = true;
  for (ValueInfo &argument : info.arguments) {
    if (!argument.isDonor || argument.aliasedResult >= 0 || argument.isToken ||
        argument.isDynamic())
      continue;
    argument.isDonor = false;
    for (size_t i = 0; i < info.results.size() && !argument.isDonor; ++i) {
      const ValueInfo &result = info.results[i];
      if (taken[i] || result.isToken || result.isDynamic() ||
          result.memoryKind != argument.memoryKind || result.shardBytes() != argument.shardBytes())
        continue;
      taken[i] = argument.isDonor = true;
    }
  }
}

} // namespace

Result<ProgramInfo> describe(ModuleOp module, func::FuncOp entry) {
  ProgramInfo info;
  Devices devices = Devices::of(module);
  info.replicas = devices.replicas;
  info.partitions = devices.partitions;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    ValueInfo value;
    DictionaryAttr attributes = entry.getArgAttrDict(i);
    if (Status verdict =
            describeValue(entry.getArgumentTypes()[i], attributes, module, info.partitions, value);
        !verdict)
      return verdict.error().within("argument " + std::to_string(i));
    if (attributes) {
      if (auto alias = attributes.getAs<IntegerAttr>("tf.aliasing_output")) {
        value.aliasedResult = alias.getInt();
        value.isDonor = true;
      }
      if (auto donor = attributes.getAs<BoolAttr>("jax.buffer_donor"))
        value.isDonor |= donor.getValue();
    }
    info.arguments.push_back(std::move(value));
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    ValueInfo value;
    if (Status verdict = describeValue(entry.getResultTypes()[i], entry.getResultAttrDict(i),
                                        module, info.partitions, value);
        !verdict)
      return verdict.error().within("result " + std::to_string(i));
    if (value.layoutMode == "auto" && entry.getBody().hasOneBlock())
      value.layoutMode = freeLayout(entry.getBody().front().getTerminator()->getOperand(i));
    info.results.push_back(std::move(value));
  }
  for (ValueInfo &argument : info.arguments)
    if (argument.aliasedResult < -1 ||
        argument.aliasedResult >= static_cast<int64_t>(info.results.size()))
      return Error{ErrorCode::InvalidArgument, "an argument is aliased to result " +
                                                   std::to_string(argument.aliasedResult) +
                                                   ", which is not there"};
  keepUselessDonors(info);
  return info;
}

} // namespace cupel::compiler
