// How attributes of the sdy dialect are stored in bytecode. The codes and the order of the fields
// are Shardy's and never change; a new form of an attribute gets a new code. Bytes come from
// anywhere, so nothing is reserved by a count that was read, every attribute is checked for its
// kind, and nesting is bounded (an attribute may name itself).

#include "cupel/ir/sdy/Sdy.h"
#include "cupel/ir/sdy/SdyVersion.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace cupel::sdy {
namespace {

enum class Code : uint64_t {
  ManualAxes = 0,
  MeshAxis = 1,
  Mesh = 2,
  SubAxisInfo = 3,
  AxisRef = 4,
  DimensionSharding = 5,
  TensorSharding = 6,
  TensorShardingPerValue = 7,
  DimMapping = 8,
  TensorMapping = 9,
  OpShardingRule = 10,
  AxisRefList = 11,
  ListOfAxisRefLists = 12,
  AllToAllParam = 13,
  AllToAllParamList = 14,
  TensorShardingWithUnreduced = 15,
  TensorShardingPerValueWithUnreduced = 16,
  TensorShardingWithReductionOp = 17,
};

/// Valid attributes nest five deep: shardings, sharding, dimension, axis, part of an axis.
constexpr unsigned kMaxNesting = 16;

//===--------------------------------------------------------------------------------------------===//
// Reading
//===--------------------------------------------------------------------------------------------===//

/// Reads one attribute; `operator()` of each field returns failure after having said why.
class Reader {
public:
  Reader(MLIRContext *context, DialectBytecodeReader &reader) : context(context), reader(reader) {}

  Attribute read();

private:
  template <typename T> LogicalResult list(SmallVectorImpl<T> &values) {
    uint64_t count = 0;
    if (failed(reader.readVarInt(count)))
      return failure();
    // Each element takes at least a byte, so a count beyond the bytes ends with the reader's error.
    for (uint64_t i = 0; i < count; ++i) {
      T value{};
      if (failed(element(value)))
        return failure();
      values.push_back(value);
    }
    return success();
  }
  LogicalResult element(int64_t &value) { return reader.readSignedVarInt(value); }
  template <typename T> LogicalResult element(T &attribute) {
    return reader.readAttribute(attribute);
  }

  /// Reads a list of attributes of one kind into an attribute that holds just them.
  template <typename AttrT, typename ElementT> Attribute readListAttr() {
    SmallVector<ElementT> values;
    if (failed(list(values)))
      return {};
    return AttrT::get(context, ArrayRef<ElementT>(values));
  }

  template <typename AttrT, typename... Args> Attribute checked(Args &&...args) {
    return AttrT::getChecked([&] { return reader.emitError(); }, context,
                             std::forward<Args>(args)...);
  }

  Attribute readMeshAxis();
  Attribute readMesh();
  Attribute readSubAxisInfo();
  Attribute readAxisRef();
  Attribute readDimensionSharding();
  Attribute readTensorSharding(bool hasUnreduced, bool hasReductionOp);
  Attribute readDimMapping();
  Attribute readOpShardingRule();
  Attribute readAllToAllParam();

  MLIRContext *context;
  DialectBytecodeReader &reader;
};

Attribute Reader::readMeshAxis() {
  StringRef name;
  int64_t size = 0;
  if (failed(reader.readString(name)) || failed(reader.readSignedVarInt(size)))
    return {};
  return checked<MeshAxisAttr>(name, size);
}

Attribute Reader::readMesh() {
  SmallVector<MeshAxisAttr> axes;
  SmallVector<int64_t> deviceIds;
  if (failed(list(axes)) || failed(list(deviceIds)))
    return {};
  return checked<MeshAttr>(ArrayRef<MeshAxisAttr>(axes), ArrayRef<int64_t>(deviceIds));
}

Attribute Reader::readSubAxisInfo() {
  int64_t preSize = 0, size = 0;
  if (failed(reader.readSignedVarInt(preSize)) || failed(reader.readSignedVarInt(size)))
    return {};
  return checked<SubAxisInfoAttr>(preSize, size);
}

Attribute Reader::readAxisRef() {
  StringRef name;
  SubAxisInfoAttr part;
  if (failed(reader.readString(name)) || failed(reader.readOptionalAttribute(part)))
    return {};
  return AxisRefAttr::get(context, name, part);
}

Attribute Reader::readDimensionSharding() {
  SmallVector<AxisRefAttr> axes;
  bool isClosed = false, hasPriority = false;
  uint64_t priority = 0;
  if (failed(list(axes)) || failed(reader.readBool(isClosed)) ||
      failed(reader.readVarIntWithFlag(priority, hasPriority)))
    return {};
  return DimensionShardingAttr::get(
      context, axes, isClosed,
      hasPriority ? std::optional<int64_t>(static_cast<int64_t>(priority)) : std::nullopt);
}

Attribute Reader::readTensorSharding(bool hasUnreduced, bool hasReductionOp) {
  Attribute meshOrRef;
  SmallVector<DimensionShardingAttr> dimensions;
  SmallVector<AxisRefAttr> replicated, unreduced;
  std::optional<ReductionOp> reductionOp = ReductionOp::Sum;
  if (failed(reader.readAttribute(meshOrRef)) || failed(list(dimensions)) ||
      failed(list(replicated)) || (hasUnreduced && failed(list(unreduced))))
    return {};
  if (hasReductionOp) {
    int64_t value = 0;
    if (failed(reader.readSignedVarInt(value)))
      return {};
    reductionOp = 0 <= value && value <= getMaxEnumValForReductionOp()
                      ? symbolizeReductionOp(static_cast<uint32_t>(value))
                      : std::nullopt;
    if (!reductionOp) {
      reader.emitError("unknown kind of reduction in an sdy sharding: ") << value;
      return {};
    }
  }
  return checked<TensorShardingAttr>(meshOrRef, ArrayRef<DimensionShardingAttr>(dimensions),
                                     ArrayRef<AxisRefAttr>(replicated),
                                     ArrayRef<AxisRefAttr>(unreduced), *reductionOp);
}

Attribute Reader::readDimMapping() {
  SmallVector<int64_t> factors;
  if (failed(list(factors)))
    return {};
  return checked<DimMappingAttr>(ArrayRef<int64_t>(factors));
}

Attribute Reader::readOpShardingRule() {
  SmallVector<int64_t> factorSizes, reduction, needReplication, permutation, blockedPropagation;
  SmallVector<TensorMappingAttr> operands, results;
  bool isCustom = false;
  if (failed(list(factorSizes)) || failed(list(operands)) || failed(list(results)) ||
      failed(list(reduction)) || failed(list(needReplication)) || failed(list(permutation)) ||
      failed(list(blockedPropagation)) || failed(reader.readBool(isCustom)))
    return {};
  return OpShardingRuleAttr::get(context, factorSizes, operands, results, reduction,
                                 needReplication, permutation, blockedPropagation, isCustom);
}

Attribute Reader::readAllToAllParam() {
  SmallVector<AxisRefAttr> axes;
  int64_t sourceDim = 0, targetDim = 0;
  if (failed(list(axes)) || failed(reader.readSignedVarInt(sourceDim)) ||
      failed(reader.readSignedVarInt(targetDim)))
    return {};
  return AllToAllParamAttr::get(context, axes, sourceDim, targetDim);
}

Attribute Reader::read() {
  uint64_t code = 0;
  if (failed(reader.readVarInt(code)))
    return {};
  switch (static_cast<Code>(code)) {
  case Code::ManualAxes:
    return readListAttr<ManualAxesAttr, StringAttr>();
  case Code::MeshAxis:
    return readMeshAxis();
  case Code::Mesh:
    return readMesh();
  case Code::SubAxisInfo:
    return readSubAxisInfo();
  case Code::AxisRef:
    return readAxisRef();
  case Code::DimensionSharding:
    return readDimensionSharding();
  case Code::TensorSharding:
    return readTensorSharding(/*hasUnreduced=*/false, /*hasReductionOp=*/false);
  case Code::TensorShardingWithUnreduced:
    return readTensorSharding(/*hasUnreduced=*/true, /*hasReductionOp=*/false);
  case Code::TensorShardingWithReductionOp:
    return readTensorSharding(/*hasUnreduced=*/true, /*hasReductionOp=*/true);
  case Code::TensorShardingPerValue:
  case Code::TensorShardingPerValueWithUnreduced:
    return readListAttr<TensorShardingPerValueAttr, TensorShardingAttr>();
  case Code::DimMapping:
    return readDimMapping();
  case Code::TensorMapping:
    return readListAttr<TensorMappingAttr, DimMappingAttr>();
  case Code::OpShardingRule:
    return readOpShardingRule();
  case Code::AxisRefList:
    return readListAttr<AxisRefListAttr, AxisRefAttr>();
  case Code::ListOfAxisRefLists:
    return readListAttr<ListOfAxisRefListsAttr, AxisRefListAttr>();
  case Code::AllToAllParam:
    return readAllToAllParam();
  case Code::AllToAllParamList:
    return readListAttr<AllToAllParamListAttr, AllToAllParamAttr>();
  }
  reader.emitError("unknown sdy attribute code ")
      << code << "; the file was likely written by a newer version of Shardy";
  return {};
}

//===--------------------------------------------------------------------------------------------===//
// Writing
//===--------------------------------------------------------------------------------------------===//

class Writer {
public:
  explicit Writer(DialectBytecodeWriter &writer) : writer(writer) {}

  /// Fails, without having written anything, for what the format cannot express.
  LogicalResult write(Attribute attribute);

private:
  void code(Code code) { writer.writeVarInt(static_cast<uint64_t>(code)); }
  void list(ArrayRef<int64_t> values) { writer.writeSignedVarInts(values); }
  template <typename T> void list(ArrayRef<T> attributes) { writer.writeAttributes(attributes); }

  template <typename T> LogicalResult writeList(Code attributeCode, ArrayRef<T> values) {
    code(attributeCode);
    list(values);
    return success();
  }

  LogicalResult write(MeshAttr mesh);
  LogicalResult write(DimensionShardingAttr sharding);
  LogicalResult write(TensorShardingAttr sharding);
  LogicalResult write(TensorShardingPerValueAttr shardings);
  LogicalResult write(OpShardingRuleAttr rule);

  DialectBytecodeWriter &writer;
};

LogicalResult Writer::write(MeshAttr mesh) {
  code(Code::Mesh);
  list(mesh.getAxes());
  list(mesh.getDeviceIds());
  return success();
}

LogicalResult Writer::write(DimensionShardingAttr sharding) {
  code(Code::DimensionSharding);
  list(sharding.getAxes());
  writer.writeOwnedBool(sharding.getIsClosed());
  writer.writeVarIntWithFlag(sharding.getPriority().value_or(0),
                             sharding.getPriority().has_value());
  return success();
}

LogicalResult Writer::write(TensorShardingAttr sharding) {
  bool hasUnreduced = !sharding.getUnreducedAxes().empty();
  bool hasReductionOp = hasUnreduced && sharding.getReductionOp() != ReductionOp::Sum;
  if (hasReductionOp) {
    // An older reader could only take this for a sum. As text, which failing here leads to, it is
    // at least refused there.
    auto version = writer.getDialectVersion(SdyDialect::getDialectNamespace());
    if (succeeded(version) &&
        static_cast<const SdyVersion &>(**version) < SdyVersion::firstWithReductionOp())
      return failure();
  }
  code(hasReductionOp ? Code::TensorShardingWithReductionOp
       : hasUnreduced ? Code::TensorShardingWithUnreduced
                      : Code::TensorSharding);
  writer.writeAttribute(sharding.getMeshOrRef());
  list(sharding.getDimShardings());
  list(sharding.getReplicatedAxes());
  if (hasUnreduced)
    list(sharding.getUnreducedAxes());
  if (hasReductionOp)
    writer.writeSignedVarInt(static_cast<int64_t>(sharding.getReductionOp()));
  return success();
}

LogicalResult Writer::write(TensorShardingPerValueAttr shardings) {
  bool hasUnreduced = llvm::any_of(shardings.getShardings(), [](TensorShardingAttr sharding) {
    return !sharding.getUnreducedAxes().empty();
  });
  return writeList(hasUnreduced ? Code::TensorShardingPerValueWithUnreduced
                                : Code::TensorShardingPerValue,
                   shardings.getShardings());
}

LogicalResult Writer::write(OpShardingRuleAttr rule) {
  code(Code::OpShardingRule);
  list(rule.getFactorSizes());
  list(rule.getOperandMappings());
  list(rule.getResultMappings());
  list(rule.getReductionFactors());
  list(rule.getNeedReplicationFactors());
  list(rule.getPermutationFactors());
  list(rule.getBlockedPropagationFactors());
  writer.writeOwnedBool(rule.getIsCustomRule());
  return success();
}

LogicalResult Writer::write(Attribute attribute) {
  return llvm::TypeSwitch<Attribute, LogicalResult>(attribute)
      .Case<MeshAttr, DimensionShardingAttr, TensorShardingAttr, TensorShardingPerValueAttr,
            OpShardingRuleAttr>([&](auto typed) { return write(typed); })
      .Case([&](ManualAxesAttr axes) { return writeList(Code::ManualAxes, axes.getValue()); })
      .Case([&](MeshAxisAttr axis) {
        code(Code::MeshAxis);
        writer.writeOwnedString(axis.getName());
        writer.writeSignedVarInt(axis.getSize());
        return success();
      })
      .Case([&](SubAxisInfoAttr part) {
        code(Code::SubAxisInfo);
        writer.writeSignedVarInt(part.getPreSize());
        writer.writeSignedVarInt(part.getSize());
        return success();
      })
      .Case([&](AxisRefAttr axis) {
        code(Code::AxisRef);
        writer.writeOwnedString(axis.getName());
        writer.writeOptionalAttribute(axis.getSubAxisInfo());
        return success();
      })
      .Case([&](DimMappingAttr mapping) {
        return writeList(Code::DimMapping, mapping.getFactorIndices());
      })
      .Case([&](TensorMappingAttr mapping) {
        return writeList(Code::TensorMapping, mapping.getDimMappings());
      })
      .Case([&](AxisRefListAttr axes) { return writeList(Code::AxisRefList, axes.getValue()); })
      .Case([&](ListOfAxisRefListsAttr lists) {
        return writeList(Code::ListOfAxisRefLists, lists.getValue());
      })
      .Case([&](AllToAllParamAttr param) {
        code(Code::AllToAllParam);
        list(param.getAxes());
        writer.writeSignedVarInt(param.getSrcDim());
        writer.writeSignedVarInt(param.getTgtDim());
        return success();
      })
      .Case([&](AllToAllParamListAttr params) {
        return writeList(Code::AllToAllParamList, params.getValue());
      })
      .Default(failure());
}

//===--------------------------------------------------------------------------------------------===//
// Interface
//===--------------------------------------------------------------------------------------------===//

struct BytecodeInterface : public BytecodeDialectInterface {
  explicit BytecodeInterface(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    thread_local unsigned nesting = 0;
    if (nesting >= kMaxNesting) {
      reader.emitError("sdy attributes are nested deeper than any valid file has them");
      return {};
    }
    ++nesting;
    auto leave = llvm::make_scope_exit([] { --nesting; });
    return Reader(getContext(), reader).read();
  }

  LogicalResult writeAttribute(Attribute attribute, DialectBytecodeWriter &writer) const override {
    return Writer(writer).write(attribute);
  }

  std::unique_ptr<DialectVersion> readVersion(DialectBytecodeReader &reader) const override {
    SdyVersion version(0, 0, 0);
    for (uint64_t &number : version.numbers)
      if (failed(reader.readVarInt(number)))
        return nullptr;
    // A newer version need not use anything new; what is new has an attribute code of its own, and
    // that is reported where it occurs.
    return std::make_unique<SdyVersion>(version);
  }

  void writeVersion(DialectBytecodeWriter &writer) const override {
    auto version = writer.getDialectVersion(SdyDialect::getDialectNamespace());
    if (failed(version))
      return;
    for (uint64_t number : static_cast<const SdyVersion &>(**version).numbers)
      writer.writeVarInt(number);
  }
};

} // namespace

void SdyDialect::addBytecodeInterface() { addInterfaces<BytecodeInterface>(); }

} // namespace cupel::sdy
