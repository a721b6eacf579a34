#include "cupel/ir/vhlo/Bytecode.h"

#include "cupel/ir/vhlo/Builtin.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace cupel::vhlo;

namespace {

/// Reads the fields of one entry. A count read from the file is never trusted with memory: lists
/// grow element by element, and each element takes at least one byte of the file.
class FieldReader {
public:
  explicit FieldReader(DialectBytecodeReader &reader) : reader(reader) {}

  template <typename T, typename ReadFn>
  LogicalResult list(SmallVectorImpl<T> &values, ReadFn read) {
    uint64_t count;
    if (failed(reader.readVarInt(count)))
      return failure();
    for (uint64_t i = 0; i != count; ++i) {
      FailureOr<T> value = read();
      if (failed(value))
        return failure();
      values.push_back(*value);
    }
    return success();
  }
  LogicalResult integers(SmallVectorImpl<int64_t> &values) {
    return list(values, [&] { return integer(); });
  }
  LogicalResult types(SmallVectorImpl<Type> &values) {
    return list(values, [&]() -> FailureOr<Type> {
      Type type;
      if (failed(reader.readType(type)))
        return failure();
      return type;
    });
  }
  FailureOr<int64_t> integer() {
    int64_t value;
    if (failed(reader.readSignedVarInt(value)))
      return failure();
    return value;
  }
  FailureOr<APFloat> number() {
    return reader.readAPFloatWithKnownSemantics(APFloat::IEEEdouble());
  }
  /// An attribute of a certain class, by a reference to the file's attribute table.
  template <typename T = Attribute> FailureOr<T> attribute(StringRef what) {
    Attribute attr;
    if (failed(reader.readAttribute(attr)))
      return failure();
    if constexpr (std::is_same_v<T, Attribute>)
      return attr;
    else if (auto result = llvm::dyn_cast_or_null<T>(attr))
      return result;
    reader.emitError() << what << " has an unexpected kind: " << attr;
    return failure();
  }

  DialectBytecodeReader &reader;
};

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

Type readRanked(FieldReader &in, TypeCode code) {
  Attribute encoding;
  if (code == TypeCode::RankedTensorWithEncoding) {
    code = TypeCode::RankedTensor;
    if (failed(in.reader.readAttribute(encoding)))
      return {};
  }
  SmallVector<int64_t> shape;
  Type element;
  if (failed(in.integers(shape)) || failed(in.reader.readType(element)))
    return {};
  for (int64_t size : shape)
    if (size < 0 && size != ShapedType::kDynamic) {
      in.reader.emitError() << "a tensor has the negative size " << size;
      return {};
    }
  return RankedV1Type::get(in.reader.getContext(), code, shape, element, encoding);
}

Type readQuantized(FieldReader &in) {
  uint64_t flags;
  Type storage, expressed;
  int64_t zeroPoint, min, max;
  if (failed(in.reader.readVarInt(flags)) || failed(in.reader.readType(storage)) ||
      failed(in.reader.readType(expressed)))
    return {};
  FailureOr<APFloat> scale = in.number();
  if (failed(scale) || failed(in.reader.readSignedVarInt(zeroPoint)) ||
      failed(in.reader.readSignedVarInt(min)) || failed(in.reader.readSignedVarInt(max)))
    return {};
  return QuantizedV1Type::get(in.reader.getContext(), flags, storage, expressed, *scale, zeroPoint,
                              min, max);
}

Type readQuantizedPerAxis(FieldReader &in) {
  uint64_t flags, dimension;
  Type storage, expressed;
  int64_t min, max;
  SmallVector<APFloat> scales;
  SmallVector<int64_t> zeroPoints;
  if (failed(in.reader.readVarInt(flags)) || failed(in.reader.readType(storage)) ||
      failed(in.reader.readType(expressed)) || failed(in.reader.readVarInt(dimension)) ||
      failed(in.reader.readSignedVarInt(min)) || failed(in.reader.readSignedVarInt(max)) ||
      failed(in.list(scales, [&] { return in.number(); })) || failed(in.integers(zeroPoints)))
    return {};
  return QuantizedPerAxisV1Type::get(in.reader.getContext(), flags, storage, expressed, dimension,
                                     scales, zeroPoints, min, max);
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Attribute readEnum(FieldReader &in, const AttrInfo &info) {
  uint64_t value;
  if (failed(in.reader.readVarInt(value)))
    return {};
  if (value >= info.keywords.size() || info.keywords[value].empty()) {
    in.reader.emitError() << info.mnemonic << " has no value " << value;
    return {};
  }
  return EnumV1Attr::get(in.reader.getContext(), info.code, value);
}

Attribute readInteger(FieldReader &in) {
  ScalarV1Type type;
  if (failed(in.reader.readType(type)))
    return {};
  const TypeInfo &info = infoOf(type.getCode());
  if (info.kind == ScalarKind::Float || info.kind == ScalarKind::Opaque) {
    in.reader.emitError() << "an integer has the type " << type;
    return {};
  }
  FailureOr<APInt> value = in.reader.readAPIntWithKnownWidth(info.width);
  if (failed(value))
    return {};
  return IntegerV1Attr::get(in.reader.getContext(), type, *value);
}

Attribute readFloat(FieldReader &in) {
  ScalarV1Type type;
  if (failed(in.reader.readType(type)))
    return {};
  const llvm::fltSemantics *semantics = semanticsOf(type);
  if (!semantics) {
    in.reader.emitError() << "a single number of type " << type << " cannot be read";
    return {};
  }
  FailureOr<APFloat> value = in.reader.readAPFloatWithKnownSemantics(*semantics);
  if (failed(value))
    return {};
  return FloatV1Attr::get(in.reader.getContext(), type, *value);
}

Attribute readTensor(FieldReader &in) {
  Type type;
  ArrayRef<char> data;
  if (failed(in.reader.readType(type)) || failed(in.reader.readBlob(data)))
    return {};
  auto attr = TensorV1Attr::get(in.reader.getContext(), type, data);
  if (!isWellFormed(attr)) {
    in.reader.emitError() << data.size() << " bytes are not the elements of a tensor of type "
                          << type;
    return {};
  }
  return attr;
}

Attribute readDictionary(FieldReader &in) {
  using Entry = std::pair<Attribute, Attribute>;
  SmallVector<Entry> entries;
  if (failed(in.list(entries, [&]() -> FailureOr<Entry> {
        FailureOr<StringV1Attr> key = in.attribute<StringV1Attr>("the name of a dictionary entry");
        if (failed(key))
          return failure();
        FailureOr<Attribute> value = in.attribute("");
        if (failed(value))
          return failure();
        return Entry(*key, *value);
      })))
    return {};
  return DictionaryV1Attr::get(in.reader.getContext(), entries);
}

Attribute readAlias(FieldReader &in) {
  SmallVector<int64_t> outputs, operands;
  int64_t index;
  if (failed(in.integers(outputs)) || failed(in.reader.readSignedVarInt(index)) ||
      failed(in.integers(operands)))
    return {};
  return OutputOperandAliasV1Attr::get(in.reader.getContext(), outputs, index, operands);
}

Attribute readResultAccuracy(FieldReader &in) {
  FailureOr<APFloat> atol = in.number();
  if (failed(atol))
    return {};
  FailureOr<APFloat> rtol = in.number();
  if (failed(rtol))
    return {};
  FailureOr<int64_t> ulps = in.integer();
  if (failed(ulps))
    return {};
  FailureOr<EnumV1Attr> mode = in.attribute<EnumV1Attr>("the mode of a result accuracy");
  if (failed(mode))
    return {};
  if (mode->getCode() != AttrCode::ResultAccuracyMode) {
    in.reader.emitError() << "the mode of a result accuracy has an unexpected kind: " << *mode;
    return {};
  }
  return ResultAccuracyV1Attr::get(in.reader.getContext(), *atol, *rtol, *ulps, *mode);
}

Attribute readAxisRef(FieldReader &in) {
  FailureOr<StringV1Attr> name = in.attribute<StringV1Attr>("the name of an axis");
  uint64_t hasSubAxis;
  if (failed(name) || failed(in.reader.readVarInt(hasSubAxis)))
    return {};
  Attribute subAxis;
  if (hasSubAxis) {
    FailureOr<SubAxisInfoV1Attr> info = in.attribute<SubAxisInfoV1Attr>("a sub-axis");
    if (failed(info))
      return {};
    subAxis = *info;
  }
  return AxisRefV1Attr::get(in.reader.getContext(), *name, subAxis);
}

Attribute readMeshAxis(FieldReader &in) {
  FailureOr<StringV1Attr> name = in.attribute<StringV1Attr>("the name of a mesh axis");
  if (failed(name))
    return {};
  FailureOr<int64_t> size = in.integer();
  if (failed(size))
    return {};
  return MeshAxisV1Attr::get(in.reader.getContext(), *name, *size);
}

Attribute readMesh(FieldReader &in) {
  FailureOr<ArrayV1Attr> axes = in.attribute<ArrayV1Attr>("the axes of a mesh");
  Attribute deviceIds;
  if (failed(axes) || failed(in.reader.readOptionalAttribute(deviceIds)))
    return {};
  return MeshV1Attr::get(in.reader.getContext(), *axes, deviceIds);
}

Attribute readReplicaGroups(FieldReader &in) {
  FailureOr<Attribute> mesh = in.attribute("");
  if (failed(mesh))
    return {};
  FailureOr<ArrayV1Attr> axes = in.attribute<ArrayV1Attr>("the axes of replica groups");
  if (failed(axes))
    return {};
  return ReplicaGroupMeshAxesV1Attr::get(in.reader.getContext(), *mesh, *axes);
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

struct VhloBytecode final : BytecodeDialectInterface {
  explicit VhloBytecode(Dialect *dialect) : BytecodeDialectInterface(dialect) {}

  Type readType(DialectBytecodeReader &reader) const override {
    uint64_t code;
    if (failed(reader.readVarInt(code)))
      return {};
    const TypeInfo *info = findType(code);
    if (!info) {
      reader.emitError() << "type code " << code << " is not known up to version "
                         << kCurrentVersion.str() << " of the portable format";
      return {};
    }
    MLIRContext *context = getContext();
    if (info->kind != ScalarKind::Structured)
      return ScalarV1Type::get(context, info->code);

    FieldReader in(reader);
    switch (info->code) {
    case TypeCode::Complex:
    case TypeCode::UnrankedTensor: {
      Type element;
      if (failed(reader.readType(element)))
        return {};
      return WrapperV1Type::get(context, info->code, element);
    }
    case TypeCode::Tuple:
    case TypeCode::Future: {
      SmallVector<Type> types;
      if (failed(in.types(types)))
        return {};
      return ListV1Type::get(context, info->code, types);
    }
    case TypeCode::Function: {
      SmallVector<Type> inputs, outputs;
      if (failed(in.types(inputs)) || failed(in.types(outputs)))
        return {};
      return FunctionV1Type::get(context, inputs, outputs);
    }
    case TypeCode::Quantized:
      return readQuantized(in);
    case TypeCode::QuantizedPerAxis:
      return readQuantizedPerAxis(in);
    default:
      return readRanked(in, info->code);
    }
  }

  LogicalResult writeType(Type type, DialectBytecodeWriter &writer) const override {
    const TypeInfo *info = typeInfoOf(type);
    if (!info)
      return failure();
    TypeCode code = info->code;
    if (auto ranked = llvm::dyn_cast<RankedV1Type>(type); ranked && ranked.getEncoding())
      code = TypeCode::RankedTensorWithEncoding;
    writer.writeVarInt(uint64_t(code));
    TypeSwitch<Type>(type)
        .Case([&](WrapperV1Type type) { writer.writeType(type.getElement()); })
        .Case([&](ListV1Type type) { writer.writeTypes(type.getTypes()); })
        .Case([&](FunctionV1Type type) {
          writer.writeTypes(type.getInputs());
          writer.writeTypes(type.getOutputs());
        })
        .Case([&](RankedV1Type type) {
          if (type.getEncoding())
            writer.writeAttribute(type.getEncoding());
          writer.writeSignedVarInts(type.getShape());
          writer.writeType(type.getElement());
        })
        .Case([&](QuantizedV1Type type) {
          writer.writeVarInt(type.getFlags());
          writer.writeType(type.getStorage());
          writer.writeType(type.getExpressed());
          writer.writeAPFloatWithKnownSemantics(type.getScale());
          writer.writeSignedVarInt(type.getZeroPoint());
          writer.writeSignedVarInt(type.getStorageMin());
          writer.writeSignedVarInt(type.getStorageMax());
        })
        .Case([&](QuantizedPerAxisV1Type type) {
          writer.writeVarInt(type.getFlags());
          writer.writeType(type.getStorage());
          writer.writeType(type.getExpressed());
          writer.writeVarInt(type.getDimension());
          writer.writeSignedVarInt(type.getStorageMin());
          writer.writeSignedVarInt(type.getStorageMax());
          writer.writeList(type.getScales(), [&](const APFloat &scale) {
            writer.writeAPFloatWithKnownSemantics(scale);
          });
          writer.writeSignedVarInts(type.getZeroPoints());
        });
    return success();
  }

  Attribute readAttribute(DialectBytecodeReader &reader) const override {
    uint64_t code;
    if (failed(reader.readVarInt(code)))
      return {};
    const AttrInfo *info = findAttr(code);
    if (!info) {
      reader.emitError() << "attribute code " << code << " is not known up to version "
                         << kCurrentVersion.str() << " of the portable format";
      return {};
    }
    FieldReader in(reader);
    if (!info->keywords.empty())
      return readEnum(in, *info);
    MLIRContext *context = getContext();
    switch (info->code) {
    case AttrCode::Array: {
      SmallVector<Attribute> values;
      if (failed(in.list(values, [&] { return in.attribute(""); })))
        return {};
      return ArrayV1Attr::get(context, values);
    }
    case AttrCode::Boolean: {
      uint64_t value;
      if (failed(reader.readVarInt(value)))
        return {};
      if (value > 1) {
        reader.emitError() << "a boolean has the value " << value;
        return {};
      }
      return BooleanV1Attr::get(context, value);
    }
    case AttrCode::Dictionary:
      return readDictionary(in);
    case AttrCode::Float:
      return readFloat(in);
    case AttrCode::Integer:
      return readInteger(in);
    case AttrCode::OutputOperandAlias:
      return readAlias(in);
    case AttrCode::String: {
      StringRef value;
      if (failed(reader.readString(value)))
        return {};
      return StringV1Attr::get(context, value);
    }
    case AttrCode::Tensor:
      return readTensor(in);
    case AttrCode::Type: {
      Type type;
      if (failed(reader.readType(type)))
        return {};
      return TypeV1Attr::get(context, type);
    }
    case AttrCode::TypeExtensions: {
      SmallVector<int64_t> bounds;
      if (failed(in.integers(bounds)))
        return {};
      return TypeExtensionsV1Attr::get(context, bounds);
    }
    case AttrCode::ResultAccuracy:
      return readResultAccuracy(in);
    case AttrCode::SubAxisInfo: {
      int64_t preSize, size;
      if (failed(reader.readSignedVarInt(preSize)) || failed(reader.readSignedVarInt(size)))
        return {};
      return SubAxisInfoV1Attr::get(context, preSize, size);
    }
    case AttrCode::AxisRef:
      return readAxisRef(in);
    case AttrCode::ReplicaGroupMeshAxes:
      return readReplicaGroups(in);
    case AttrCode::MeshAxis:
      return readMeshAxis(in);
    case AttrCode::Mesh:
      return readMesh(in);
    default:
      llvm_unreachable("enumerations were read above");
    }
  }

  LogicalResult writeAttribute(Attribute attr, DialectBytecodeWriter &writer) const override {
    const AttrInfo *info = attrInfoOf(attr);
    if (!info)
      return failure();
    writer.writeVarInt(uint64_t(info->code));
    TypeSwitch<Attribute>(attr)
        .Case([&](EnumV1Attr attr) { writer.writeVarInt(attr.getValue()); })
        .Case([&](ArrayV1Attr attr) { writer.writeAttributes(attr.getValue()); })
        .Case([&](BooleanV1Attr attr) { writer.writeVarInt(attr.getValue()); })
        .Case([&](DictionaryV1Attr attr) {
          writer.writeList(attr.getValue(), [&](const auto &entry) {
            writer.writeAttribute(entry.first);
            writer.writeAttribute(entry.second);
          });
        })
        .Case([&](FloatV1Attr attr) {
          writer.writeType(attr.getType());
          writer.writeAPFloatWithKnownSemantics(attr.getValue());
        })
        .Case([&](IntegerV1Attr attr) {
          writer.writeType(attr.getType());
          writer.writeAPIntWithKnownWidth(attr.getValue());
        })
        .Case([&](OutputOperandAliasV1Attr attr) {
          writer.writeSignedVarInts(attr.getOutputTupleIndices());
          writer.writeSignedVarInt(attr.getOperandIndex());
          writer.writeSignedVarInts(attr.getOperandTupleIndices());
        })
        .Case([&](StringV1Attr attr) { writer.writeOwnedString(attr.getValue()); })
        .Case([&](TensorV1Attr attr) {
          writer.writeType(attr.getType());
          writer.writeOwnedBlob(attr.getData());
        })
        .Case([&](TypeV1Attr attr) { writer.writeType(attr.getValue()); })
        .Case([&](TypeExtensionsV1Attr attr) { writer.writeSignedVarInts(attr.getBounds()); })
        .Case([&](ResultAccuracyV1Attr attr) {
          writer.writeAPFloatWithKnownSemantics(attr.getAtol());
          writer.writeAPFloatWithKnownSemantics(attr.getRtol());
          writer.writeSignedVarInt(attr.getUlps());
          writer.writeAttribute(attr.getMode());
        })
        .Case([&](SubAxisInfoV1Attr attr) {
          writer.writeSignedVarInt(attr.getPreSize());
          writer.writeSignedVarInt(attr.getSize());
        })
        .Case([&](AxisRefV1Attr attr) {
          writer.writeAttribute(attr.getName());
          writer.writeVarInt(attr.getSubAxisInfo() ? 1 : 0);
          if (attr.getSubAxisInfo())
            writer.writeAttribute(attr.getSubAxisInfo());
        })
        .Case([&](ReplicaGroupMeshAxesV1Attr attr) {
          writer.writeAttribute(attr.getMesh());
          writer.writeAttribute(attr.getAxes());
        })
        .Case([&](MeshAxisV1Attr attr) {
          writer.writeAttribute(attr.getName());
          writer.writeSignedVarInt(attr.getSize());
        })
        .Case([&](MeshV1Attr attr) {
          writer.writeAttribute(attr.getAxes());
          writer.writeOptionalAttribute(attr.getDeviceIds());
        });
    return success();
  }
};

} // namespace

void cupel::vhlo::addBytecodeInterface(VhloDialect &dialect) {
  dialect.addInterfaces<VhloBytecode>();
}
