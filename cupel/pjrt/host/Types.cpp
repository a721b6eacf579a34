#include "cupel/pjrt/host/Types.h"

using namespace cupel::pjrt;
using cupel::tensor::DType;

PJRT_Buffer_Type cupel::pjrt::bufferType(DType type) {
  switch (type) {
  case DType::I1:
    return PJRT_Buffer_Type_PRED;
  case DType::I2:
    return PJRT_Buffer_Type_S2;
  case DType::I4:
    return PJRT_Buffer_Type_S4;
  case DType::I8:
    return PJRT_Buffer_Type_S8;
  case DType::I16:
    return PJRT_Buffer_Type_S16;
  case DType::I32:
    return PJRT_Buffer_Type_S32;
  case DType::I64:
    return PJRT_Buffer_Type_S64;
  case DType::U2:
    return PJRT_Buffer_Type_U2;
  case DType::U4:
    return PJRT_Buffer_Type_U4;
  case DType::U8:
    return PJRT_Buffer_Type_U8;
  case DType::U16:
    return PJRT_Buffer_Type_U16;
  case DType::U32:
    return PJRT_Buffer_Type_U32;
  case DType::U64:
    return PJRT_Buffer_Type_U64;
  case DType::F4E2M1FN:
    return PJRT_Buffer_Type_F4E2M1FN;
  case DType::F6E2M3FN:
    return PJRT_Buffer_Type_F6E2M3FN;
  case DType::F6E3M2FN:
    return PJRT_Buffer_Type_F6E3M2FN;
  case DType::F8E3M4:
    return PJRT_Buffer_Type_F8E3M4;
  case DType::F8E8M0FNU:
    return PJRT_Buffer_Type_F8E8M0FNU;
  case DType::F8E4M3:
    return PJRT_Buffer_Type_F8E4M3;
  case DType::F8E4M3FN:
    return PJRT_Buffer_Type_F8E4M3FN;
  case DType::F8E4M3FNUZ:
    return PJRT_Buffer_Type_F8E4M3FNUZ;
  case DType::F8E4M3B11FNUZ:
    return PJRT_Buffer_Type_F8E4M3B11FNUZ;
  case DType::F8E5M2:
    return PJRT_Buffer_Type_F8E5M2;
  case DType::F8E5M2FNUZ:
    return PJRT_Buffer_Type_F8E5M2FNUZ;
  case DType::F16:
    return PJRT_Buffer_Type_F16;
  case DType::BF16:
    return PJRT_Buffer_Type_BF16;
  case DType::F32:
    return PJRT_Buffer_Type_F32;
  case DType::F64:
    return PJRT_Buffer_Type_F64;
  case DType::C64:
    return PJRT_Buffer_Type_C64;
  case DType::C128:
    return PJRT_Buffer_Type_C128;
  }
  __builtin_unreachable();
}

std::optional<DType> cupel::pjrt::dtypeOf(int type) {
  for (int i = 0; i < tensor::kDTypeCount; ++i)
    if (bufferType(static_cast<DType>(i)) == type)
      return static_cast<DType>(i);
  return std::nullopt;
}

void cupel::pjrt::normalizeElements(DType type, std::span<std::byte> bytes) {
  unsigned bits = tensor::info(type).bits;
  if (bits >= 8)
    return;
  unsigned spare = 8 - bits;
  bool isSigned = tensor::info(type).kind == tensor::Kind::Signed;
  for (std::byte &byte : bytes) {
    auto value = static_cast<uint8_t>(byte);
    if (type == DType::I1)
      value = value != 0;
    else if (isSigned)
      value =
          static_cast<uint8_t>(static_cast<int8_t>(static_cast<uint8_t>(value << spare)) >> spare);
    else
      value = static_cast<uint8_t>(static_cast<uint8_t>(value << spare) >> spare);
    byte = static_cast<std::byte>(value);
  }
}
