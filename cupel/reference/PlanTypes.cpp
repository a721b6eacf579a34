// Types and constants of MLIR as the reference has them.

#include "cupel/reference/Registry.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Widen.h"

#include "mlir/Dialect/Quant/QuantTypes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace cupel::reference {

using namespace mlir;
using tensor::DType;
using tensor::ElementType;
using tensor::Tensor;

static Result<DType> plainType(mlir::Type type) {
  if (type.isIndex())
    return DType::I64;
  if (auto complex = dyn_cast<ComplexType>(type)) {
    if (complex.getElementType().isF32())
      return DType::C64;
    if (complex.getElementType().isF64())
      return DType::C128;
  }
  if (stablehlo::isRareFloat(type))
    return *tensor::parseDType(stablehlo::rareFloatName(type));
  std::string text;
  llvm::raw_string_ostream os(text);
  type.print(os);
  if (std::optional<DType> known = tensor::parseDType(os.str()))
    return *known;
  return Error{ErrorCode::Unsupported, "elements of type " + os.str() + " are not evaluated"};
}

Result<ElementType> elementTypeOf(mlir::Type type) {
  auto quantized = dyn_cast<quant::QuantizedType>(type);
  if (!quantized) {
    Result<DType> plain = plainType(type);
    if (!plain)
      return plain.error();
    return ElementType(*plain);
  }
  std::optional<DType> storage =
      tensor::parseDType((quantized.isSigned() ? "i" : "ui") +
                         std::to_string(quantized.getStorageTypeIntegralWidth()));
  Result<DType> expressed = plainType(quantized.getExpressedType());
  if (!storage || !expressed)
    return Error{ErrorCode::Unsupported, "this quantized type is not evaluated"};
  auto numbers = std::make_shared<tensor::Quantization>();
  numbers->expressed = *expressed;
  numbers->storageMin = quantized.getStorageTypeMin();
  numbers->storageMax = quantized.getStorageTypeMax();
  if (auto whole = dyn_cast<quant::UniformQuantizedType>(type)) {
    numbers->scales = {whole.getScale()};
    numbers->zeroPoints = {whole.getZeroPoint()};
  } else if (auto axis = dyn_cast<quant::UniformQuantizedPerAxisType>(type)) {
    numbers->axis = axis.getQuantizedDimension();
    numbers->scales.assign(axis.getScales().begin(), axis.getScales().end());
    numbers->zeroPoints.assign(axis.getZeroPoints().begin(), axis.getZeroPoints().end());
  } else {
    return Error{ErrorCode::Unsupported, "this kind of quantized type is not evaluated"};
  }
  return ElementType(*storage, std::move(numbers));
}

tensor::Shape shapeOf(mlir::Type type) {
  tensor::Shape shape;
  for (int64_t size : cast<RankedTensorType>(type).getShape())
    shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return shape;
}

static Result<ElementType> elementOf(mlir::Type type) {
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    return elementTypeOf(ranked.getElementType());
  return Error{"a ranked tensor is needed here"};
}
Result<ElementType> resultElement(Operation *op, unsigned i) {
  return elementOf(op->getResult(i).getType());
}
Result<ElementType> operandElement(Operation *op, unsigned i) {
  return elementOf(op->getOperand(i).getType());
}

Result<Tensor> constantTensor(ElementsAttr value, mlir::Type type) {
  Result<ElementType> element = elementOf(type);
  if (!element)
    return element.error();
  tensor::Shape shape = shapeOf(type);
  DType dtype = element->storage;
  int bytes = info(dtype).bytes;
  std::optional<int64_t> count = tensor::elementCount(shape);
  if (!count)
    return Error{"the constant's shape is impossible"};

  // Sub-byte values as we keep them: extended to a byte.
  auto normalise = [&](Tensor &tensor) {
    int bits = info(dtype).bits;
    if (bits >= 8 || dtype == DType::I1)
      return;
    auto *values = tensor.mutableAs<uint8_t>();
    for (int64_t i = 0; i < tensor.size(); ++i)
      values[i] =
          info(dtype).kind == tensor::Kind::Signed
              ? static_cast<uint8_t>(static_cast<int8_t>(values[i] << (8 - bits)) >> (8 - bits))
              : values[i] & ((1 << bits) - 1);
  };

  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (auto bits = dyn_cast<stablehlo::BitsAttr>(value))
    dense = bits.getBits();
  if (dense) {
    ArrayRef<char> raw = dense.getRawData();
    auto rawBytes = std::as_bytes(std::span(raw.data(), raw.size()));
    bool splat = dense.isSplat();
    if (dtype == DType::I1) {
      Result<Tensor> result = Tensor::uninitialized(*element, splat ? tensor::Shape{} : shape);
      if (!result)
        return result;
      auto *values = result->mutableAs<uint8_t>();
      for (int64_t i = 0; i < result->size(); ++i)
        values[i] = splat ? (raw[0] != 0) : (raw[i / 8] >> (i % 8)) & 1;
      return splat ? result->broadcastTo(shape, {}) : result;
    }
    if (static_cast<int64_t>(raw.size()) < (splat ? 1 : *count) * bytes)
      return Error{"the constant has too few bytes"};
    if (info(dtype).bits < 8 || !Tensor::isAligned(dtype, rawBytes.data())) {
      Result<Tensor> result = Tensor::uninitialized(*element, splat ? tensor::Shape{} : shape);
      if (!result)
        return result;
      std::copy_n(raw.data(), result->byteSize(), reinterpret_cast<char *>(result->mutableData()));
      normalise(*result);
      return splat ? result->broadcastTo(shape, {}) : result;
    }
    Result<Tensor> result = Tensor::borrow(*element, splat ? tensor::Shape{} : shape, rawBytes);
    if (!result || !splat)
      return result;
    return result->broadcastTo(shape, {});
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return Error{"the program does not hold the data of resource '" +
                   resource.getRawHandle().getKey().str() + "'"};
    ArrayRef<char> raw = blob->getData();
    if (dtype != DType::I1 && info(dtype).bits >= 8) {
      if (static_cast<int64_t>(raw.size()) < *count * bytes)
        return Error{"the resource is smaller than its type"};
      auto rawBytes = std::as_bytes(std::span(raw.data(), raw.size()));
      if (Tensor::isAligned(dtype, rawBytes.data()))
        return Tensor::borrow(*element, shape, rawBytes);
      Result<Tensor> result = Tensor::uninitialized(*element, shape);
      if (result)
        std::memcpy(result->mutableData(), raw.data(), result->byteSize());
      return result;
    }
    // One byte each, or packed.
    bool packed = static_cast<int64_t>(raw.size()) < *count;
    int bits = info(dtype).bits, perByte = 8 / bits;
    if (static_cast<int64_t>(raw.size()) * perByte < *count)
      return Error{"the resource is smaller than its type"};
    Result<Tensor> result = Tensor::uninitialized(*element, shape);
    if (!result)
      return result;
    auto *values = result->mutableAs<uint8_t>();
    for (int64_t i = 0; i < *count; ++i)
      values[i] = packed ? (static_cast<uint8_t>(raw[i / perByte]) >> (i % perByte * bits)) &
                               ((1 << bits) - 1)
                         : raw[i];
    normalise(*result);
    return result;
  }
  return Error{ErrorCode::Unsupported, "this form of constant is not evaluated"};
}

Result<std::vector<int64_t>> integersOf(const Tensor &given) {
  Result<Tensor> tensor = given.contiguous();
  if (!tensor)
    return tensor.error();
  DType type = tensor->dtype();
  if (!isInteger(type) && type != DType::I1)
    return Error{"integers are needed here"};
  std::vector<int64_t> values(tensor->size());
  convertLanes(type, DType::I64, tensor->data(), values.data(), tensor->size());
  return values;
}

std::vector<int64_t> toVector(ArrayRef<int64_t> values) { return {values.begin(), values.end()}; }

Status reserveFor(GridProcess &process, DType type, std::span<const int64_t> shape) {
  std::optional<int64_t> bytes = tensor::byteCount(type, shape);
  if (!bytes)
    return Error{"a tensor of shape " + tensor::describe(type, shape) + " is impossible"};
  return process.run.reserve(*bytes);
}

} // namespace cupel::reference
