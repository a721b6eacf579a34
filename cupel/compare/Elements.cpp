#include "cupel/compare/Elements.h"

#include "cupel/compare/Lanes.h"
#include "cupel/tensor/Convert.h"
#include "cupel/tensor/ConvertElement.h"

#include <fmt/format.h>

using namespace cupel;
using namespace cupel::compare;
using namespace cupel::tensor;

DType compare::partType(DType type) {
  return type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
}

int compare::mantissaBits(DType type) {
  return dispatch(partType(type), []<DType t>() {
    if constexpr (isNarrowFloat(t))
      return FormatOf<t>::value.mantissaBits;
    else
      return t == DType::F32 ? 23 : t == DType::F64 ? 52 : 0;
  });
}

Result<ElementReader> ElementReader::make(const Tensor &tensor, int parts) {
  ElementReader reader;
  Result<Tensor> contiguous = tensor.contiguous();
  if (!contiguous)
    return contiguous.error();
  reader.source = std::move(*contiguous);
  reader.partsPerElement = parts;
  const ElementType &type = tensor.elementType();
  reader.wide = !type.quantization && (type.storage == DType::I64 || type.storage == DType::U64);
  if (type.quantization && type.quantization->axis >= 0)
    for (int64_t i = type.quantization->axis + 1; i < tensor.rank(); ++i)
      reader.inner *= std::max<int64_t>(tensor.dim(i), 1);
  return reader;
}

namespace {
/// high holds the upper 53 bits exactly, low the remaining 11.
template <typename Integer>
void readWide(const Integer *source, int64_t count, double *high, double *low) {
  constexpr Integer lowBits = 0x7ff;
  for (int64_t i = 0; i < count; ++i) {
    high[i] = static_cast<double>(static_cast<Integer>(source[i] & ~lowBits));
    low[i] = static_cast<double>(source[i] & lowBits);
  }
}
} // namespace

void ElementReader::read(int64_t first, int64_t count, double *high, double *low) const {
  DType type = source.dtype();
  const DTypeInfo &i = info(type);
  if (partsPerElement == 2) {
    const std::byte *from = source.data() + first / 2 * i.bytes;
    if (type == DType::C128)
      std::copy_n(reinterpret_cast<const double *>(from), count, high);
    else if (type == DType::C64)
      widen(Source::F32, from, count, high);
    else { // a real tensor: read the values into the upper half, then spread them out
      ElementReader real = *this;
      real.partsPerElement = 1;
      int64_t half = count / 2;
      real.read(first / 2, half, high + half, low ? low + half : nullptr);
      for (int64_t k = 0; k < half; ++k) {
        high[2 * k] = high[half + k];
        if (low)
          low[2 * k] = wide ? low[half + k] : 0;
      }
      for (int64_t k = 0; k < half; ++k) {
        high[2 * k + 1] = 0;
        if (low)
          low[2 * k + 1] = 0;
      }
      return;
    }
    if (low)
      std::fill_n(low, count, 0.0);
    return;
  }
  const std::byte *from = source.data() + first * i.bytes;
  if (wide) {
    if (type == DType::I64)
      readWide(reinterpret_cast<const int64_t *>(from), count, high, low);
    else
      readWide(reinterpret_cast<const uint64_t *>(from), count, high, low);
    return;
  }
  if (type == DType::F64)
    std::copy_n(reinterpret_cast<const double *>(from), count, high);
  else if (type == DType::F32)
    widen(Source::F32, from, count, high);
  else if (type == DType::BF16 || type == DType::F16)
    widen(type == DType::F16 ? Source::F16 : Source::BF16, from, count, high);
  else
    convertElements(type, from, DType::F64, high, count);
  if (const Quantization *q = source.elementType().quantization.get()) {
    int64_t slices = static_cast<int64_t>(q->scales.size());
    for (int64_t k = 0; k < count; ++k) {
      int64_t slice = q->axis < 0 ? 0 : (first + k) / inner % slices;
      high[k] = (high[k] - static_cast<double>(q->zeroPoints[slice])) * q->scales[slice];
    }
  }
  if (low)
    std::fill_n(low, count, 0.0);
}

double ElementReader::at(int64_t part) const {
  DType type = source.dtype();
  if (partsPerElement == (isComplex(type) ? 2 : 1)) { // the usual types, without a detour
    switch (partType(type)) {
    case DType::F32:
      return source.dataAs<float>()[part];
    case DType::F64:
      return source.dataAs<double>()[part];
    case DType::BF16:
      return toDouble<DType::BF16>(source.dataAs<uint16_t>()[part]);
    case DType::F16:
      return toDouble<DType::F16>(source.dataAs<uint16_t>()[part]);
    default:
      break;
    }
  }
  double high[2], low[2];
  int64_t first = part / partsPerElement * partsPerElement;
  read(first, partsPerElement, high, wide ? low : nullptr);
  return wide ? high[part - first] + low[part - first] : high[part - first];
}

std::string ElementReader::text(int64_t position, int digits) const {
  DType type = source.dtype();
  const std::byte *from = source.data() + position * info(type).bytes;
  if (!source.elementType().quantization) {
    if (type == DType::I1)
      return *reinterpret_cast<const uint8_t *>(from) ? "true" : "false";
    if (type == DType::U64)
      return fmt::format("{}", *reinterpret_cast<const uint64_t *>(from));
    if (isInteger(type)) {
      int64_t value;
      convertElements(type, from, DType::I64, &value, 1);
      return fmt::format("{}", value);
    }
  }
  auto number = [&](double value) {
    if (digits)
      return fmt::format("{:.{}g}", value, digits);
    return partType(type) == DType::F64 ? fmt::format("{}", value)
                                        : fmt::format("{}", static_cast<float>(value));
  };
  if (isComplex(type))
    return fmt::format("({}, {})", number(at(2 * position)), number(at(2 * position + 1)));
  return number(at(position * partsPerElement));
}
