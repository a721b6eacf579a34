#include "cupel/ir/portable/Mapping.h"

#include "cupel/ir/stablehlo/Stablehlo.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;
using llvm::StringLiteral;

namespace {
#include "cupel/ir/vhlo/StablehloAttributes.inc"

//===----------------------------------------------------------------------===//
// Attributes of several parts, in the order of their parameters
//===----------------------------------------------------------------------===//

/// The parts of an attribute in their portable form.
class Parts {
public:
  explicit Parts(Encoder &encoder) : encoder(encoder) {}
  Parts &operator<<(ArrayRef<int64_t> values) { return add(encoder.integers(values)); }
  Parts &operator<<(int64_t value) { return add(encoder.integer(value)); }
  Parts &operator<<(bool value) { return add(vhlo::BooleanV1Attr::get(encoder.context, value)); }
  Parts &operator<<(Type type) {
    Type converted = encoder.type(type);
    return add(converted ? vhlo::TypeV1Attr::get(encoder.context, converted) : Attribute());
  }
  std::optional<SmallVector<Attribute>> take() {
    if (llvm::is_contained(values, Attribute()))
      return std::nullopt;
    return std::move(values);
  }

private:
  Parts &add(Attribute attr) {
    values.push_back(attr);
    return *this;
  }
  Encoder &encoder;
  SmallVector<Attribute> values;
};

/// Takes the parts one by one; after the first malformed one the rest are placeholders.
class PartReader {
public:
  PartReader(ArrayRef<Attribute> parts, Decoder &decoder) : parts(parts), decoder(decoder) {}
  SmallVector<int64_t> integers() { return take(&Decoder::integers); }
  int64_t integer() { return take(&Decoder::integer); }
  bool boolean() { return take(&Decoder::boolean); }
  Type type() {
    auto attr = llvm::dyn_cast<vhlo::TypeV1Attr>(parts[next++]);
    Type result = attr ? decoder.type(attr.getValue()) : Type();
    ok &= bool(result);
    return result;
  }
  bool ok = true;

private:
  template <typename T> T take(std::optional<T> (Decoder::*read)(Attribute)) {
    std::optional<T> value = (decoder.*read)(parts[next++]);
    ok &= value.has_value();
    return value.value_or(T());
  }
  ArrayRef<Attribute> parts;
  Decoder &decoder;
  unsigned next = 0;
};

std::optional<SmallVector<Attribute>> split(stablehlo::ConvDimensionNumbersAttr attr, Parts parts) {
  return (parts << attr.getInputBatchDimension() << attr.getInputFeatureDimension()
                << attr.getInputSpatialDimensions() << attr.getKernelInputFeatureDimension()
                << attr.getKernelOutputFeatureDimension() << attr.getKernelSpatialDimensions()
                << attr.getOutputBatchDimension() << attr.getOutputFeatureDimension()
                << attr.getOutputSpatialDimensions())
      .take();
}

Attribute joinConvolution(PartReader in, MLIRContext *context) {
  int64_t inputBatch = in.integer(), inputFeature = in.integer();
  auto inputSpatial = in.integers();
  int64_t kernelInput = in.integer(), kernelOutput = in.integer();
  auto kernelSpatial = in.integers();
  int64_t outputBatch = in.integer(), outputFeature = in.integer();
  auto outputSpatial = in.integers();
  if (!in.ok)
    return {};
  return stablehlo::ConvDimensionNumbersAttr::get(context, inputBatch, inputFeature, inputSpatial,
                                                  kernelInput, kernelOutput, kernelSpatial,
                                                  outputBatch, outputFeature, outputSpatial);
}

std::optional<SmallVector<Attribute>> split(stablehlo::DotDimensionNumbersAttr attr, Parts parts) {
  return (parts << attr.getLhsBatchingDimensions() << attr.getRhsBatchingDimensions()
                << attr.getLhsContractingDimensions() << attr.getRhsContractingDimensions())
      .take();
}

Attribute joinDot(PartReader in, MLIRContext *context) {
  auto lhsBatching = in.integers(), rhsBatching = in.integers();
  auto lhsContracting = in.integers(), rhsContracting = in.integers();
  if (!in.ok)
    return {};
  return stablehlo::DotDimensionNumbersAttr::get(context, lhsBatching, rhsBatching, lhsContracting,
                                                 rhsContracting);
}

std::optional<SmallVector<Attribute>> split(stablehlo::DotAlgorithmAttr attr, Parts parts) {
  return (parts << attr.getLhsPrecisionType() << attr.getRhsPrecisionType()
                << attr.getAccumulationType() << attr.getLhsComponentCount()
                << attr.getRhsComponentCount() << attr.getNumPrimitiveOperations()
                << attr.getAllowImpreciseAccumulation())
      .take();
}

Attribute joinDotAlgorithm(PartReader in, MLIRContext *context) {
  Type lhs = in.type(), rhs = in.type(), accumulation = in.type();
  int64_t lhsCount = in.integer(), rhsCount = in.integer(), operations = in.integer();
  bool imprecise = in.boolean();
  if (!in.ok)
    return {};
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  auto emit = [&] { return emitError(UnknownLoc::get(context)); };
  return stablehlo::DotAlgorithmAttr::getChecked(llvm::function_ref<InFlightDiagnostic()>(emit),
                                                 context, lhs, rhs, accumulation, lhsCount,
                                                 rhsCount, operations, imprecise);
}

std::optional<SmallVector<Attribute>> split(stablehlo::GatherDimensionNumbersAttr attr,
                                            Parts parts) {
  return (parts << attr.getOffsetDims() << attr.getCollapsedSliceDims()
                << attr.getOperandBatchingDims() << attr.getStartIndicesBatchingDims()
                << attr.getStartIndexMap() << attr.getIndexVectorDim())
      .take();
}

Attribute joinGather(PartReader in, MLIRContext *context) {
  auto offset = in.integers(), collapsed = in.integers(), operandBatching = in.integers();
  auto indicesBatching = in.integers(), startMap = in.integers();
  int64_t vectorDim = in.integer();
  if (!in.ok)
    return {};
  return stablehlo::GatherDimensionNumbersAttr::get(context, offset, collapsed, operandBatching,
                                                    indicesBatching, startMap, vectorDim);
}

std::optional<SmallVector<Attribute>> split(stablehlo::ScatterDimensionNumbersAttr attr,
                                            Parts parts) {
  return (parts << attr.getUpdateWindowDims() << attr.getInsertedWindowDims()
                << attr.getInputBatchingDims() << attr.getScatterIndicesBatchingDims()
                << attr.getScatterDimsToOperandDims() << attr.getIndexVectorDim())
      .take();
}

Attribute joinScatter(PartReader in, MLIRContext *context) {
  auto window = in.integers(), inserted = in.integers(), inputBatching = in.integers();
  auto indicesBatching = in.integers(), scatterDims = in.integers();
  int64_t vectorDim = in.integer();
  if (!in.ok)
    return {};
  return stablehlo::ScatterDimensionNumbersAttr::get(context, window, inserted, inputBatching,
                                                     indicesBatching, scatterDims, vectorDim);
}

} // namespace

ArrayRef<AttributeMapping> cupel::portable::mappingOf(StringRef op) {
  const OpMapping *it = llvm::lower_bound(
      kMappings, op, [](const OpMapping &mapping, StringRef key) { return mapping.op < key; });
  return it != std::end(kMappings) && it->op == op ? it->attributes : ArrayRef<AttributeMapping>();
}

std::optional<SmallVector<Attribute>> cupel::portable::encode(Codec codec, Attribute attr,
                                                              Encoder &encoder) {
  MLIRContext *context = encoder.context;
  auto single = [](Attribute value) -> std::optional<SmallVector<Attribute>> {
    if (!value)
      return std::nullopt;
    return SmallVector<Attribute>{value};
  };
  // An operation that verifies has attributes of the right class.
  switch (codec) {
  case Codec::Plain:
  case Codec::Integers:
  case Codec::Booleans:
  case Codec::Symbol:
  case Codec::Symbols:
  case Codec::Version:
    return single(encoder.attribute(attr));
  case Codec::Unit:
    return single(vhlo::BooleanV1Attr::get(context, true));
  case Codec::ApiVersion:
    return single(vhlo::EnumV1Attr::get(context, vhlo::AttrCode::CustomCallApiVersion,
                                        llvm::cast<IntegerAttr>(attr).getInt()));
  case Codec::ChannelId:
    return single(encoder.integer(llvm::cast<stablehlo::ChannelHandleAttr>(attr).getHandle()));
  case Codec::Channel: {
    auto channel = llvm::cast<stablehlo::ChannelHandleAttr>(attr);
    return (Parts(encoder) << channel.getHandle() << channel.getType()).take();
  }
  case Codec::Convolution:
    return split(llvm::cast<stablehlo::ConvDimensionNumbersAttr>(attr), Parts(encoder));
  case Codec::Dot:
    return split(llvm::cast<stablehlo::DotDimensionNumbersAttr>(attr), Parts(encoder));
  case Codec::DotAlgorithm:
    return split(llvm::cast<stablehlo::DotAlgorithmAttr>(attr), Parts(encoder));
  case Codec::Gather:
    return split(llvm::cast<stablehlo::GatherDimensionNumbersAttr>(attr), Parts(encoder));
  case Codec::Scatter:
    return split(llvm::cast<stablehlo::ScatterDimensionNumbersAttr>(attr), Parts(encoder));
  }
  llvm_unreachable("all codecs are handled above");
}

Attribute cupel::portable::decode(Codec codec, ArrayRef<Attribute> portable, Decoder &decoder) {
  MLIRContext *context = decoder.context;
  PartReader parts(portable, decoder);
  auto symbol = [&](Attribute attr) -> Attribute {
    auto name = decoder.string(attr);
    return name ? FlatSymbolRefAttr::get(context, *name) : Attribute();
  };
  switch (codec) {
  case Codec::Plain:
    return decoder.attribute(portable[0]);
  case Codec::Integers: {
    auto values = decoder.integers(portable[0]);
    return values ? DenseI64ArrayAttr::get(context, *values) : Attribute();
  }
  case Codec::Booleans: {
    auto values = decoder.integers(portable[0]);
    if (!values)
      return {};
    SmallVector<bool> booleans(values->begin(), values->end());
    return DenseBoolArrayAttr::get(context, booleans);
  }
  case Codec::Symbol:
    return symbol(portable[0]);
  case Codec::Symbols: {
    auto array = llvm::dyn_cast<vhlo::ArrayV1Attr>(portable[0]);
    if (!array)
      return {};
    SmallVector<Attribute> symbols;
    for (Attribute element : array.getValue()) {
      symbols.push_back(symbol(element));
      if (!symbols.back())
        return {};
    }
    return ArrayAttr::get(context, symbols);
  }
  case Codec::Unit: {
    auto value = decoder.boolean(portable[0]);
    return value ? UnitAttr::get(context) : Attribute();
  }
  case Codec::ApiVersion: {
    auto value = llvm::dyn_cast<vhlo::EnumV1Attr>(portable[0]);
    if (!value || value.getCode() != vhlo::AttrCode::CustomCallApiVersion)
      return {};
    return decoder.attribute(value);
  }
  case Codec::Version: {
    auto value = decoder.integer(portable[0]);
    return value && llvm::isInt<32>(*value)
               ? IntegerAttr::get(IntegerType::get(context, 32), *value)
               : Attribute();
  }
  case Codec::ChannelId: {
    auto handle = decoder.integer(portable[0]);
    return handle ? stablehlo::ChannelHandleAttr::get(context, *handle, 0) : Attribute();
  }
  case Codec::Channel: {
    int64_t handle = parts.integer(), type = parts.integer();
    return parts.ok ? stablehlo::ChannelHandleAttr::get(context, handle, type) : Attribute();
  }
  case Codec::Convolution:
    return joinConvolution(parts, context);
  case Codec::Dot:
    return joinDot(parts, context);
  case Codec::DotAlgorithm:
    return joinDotAlgorithm(parts, context);
  case Codec::Gather:
    return joinGather(parts, context);
  case Codec::Scatter:
    return joinScatter(parts, context);
  }
  llvm_unreachable("all codecs are handled above");
}
