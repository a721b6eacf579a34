#include "cupel/pjrt/plugin/ElementTypes.h"

namespace cupel::pjrt {

using tensor::DType;

struct TypeNames {
  DType ours;
  PJRT_Buffer_Type theirs;
  int64_t primitive;
};
static constexpr TypeNames kTypes[] = {
    {DType::I1, PJRT_Buffer_Type_PRED, 1},
    {DType::I2, PJRT_Buffer_Type_S2, 26},
    {DType::I4, PJRT_Buffer_Type_S4, 21},
    {DType::I8, PJRT_Buffer_Type_S8, 2},
    {DType::I16, PJRT_Buffer_Type_S16, 3},
    {DType::I32, PJRT_Buffer_Type_S32, 4},
    {DType::I64, PJRT_Buffer_Type_S64, 5},
    {DType::U2, PJRT_Buffer_Type_U2, 27},
    {DType::U4, PJRT_Buffer_Type_U4, 22},
    {DType::U8, PJRT_Buffer_Type_U8, 6},
    {DType::U16, PJRT_Buffer_Type_U16, 7},
    {DType::U32, PJRT_Buffer_Type_U32, 8},
    {DType::U64, PJRT_Buffer_Type_U64, 9},
    {DType::F4E2M1FN, PJRT_Buffer_Type_F4E2M1FN, 32},
    {DType::F6E2M3FN, PJRT_Buffer_Type_F6E2M3FN, 36},
    {DType::F6E3M2FN, PJRT_Buffer_Type_F6E3M2FN, 35},
    {DType::F8E3M4, PJRT_Buffer_Type_F8E3M4, 29},
    {DType::F8E8M0FNU, PJRT_Buffer_Type_F8E8M0FNU, 33},
    {DType::F8E4M3, PJRT_Buffer_Type_F8E4M3, 28},
    {DType::F8E4M3FN, PJRT_Buffer_Type_F8E4M3FN, 20},
    {DType::F8E4M3FNUZ, PJRT_Buffer_Type_F8E4M3FNUZ, 25},
    {DType::F8E4M3B11FNUZ, PJRT_Buffer_Type_F8E4M3B11FNUZ, 23},
    {DType::F8E5M2, PJRT_Buffer_Type_F8E5M2, 19},
    {DType::F8E5M2FNUZ, PJRT_Buffer_Type_F8E5M2FNUZ, 24},
    {DType::F16, PJRT_Buffer_Type_F16, 10},
    {DType::BF16, PJRT_Buffer_Type_BF16, 16},
    {DType::F32, PJRT_Buffer_Type_F32, 11},
    {DType::F64, PJRT_Buffer_Type_F64, 12},
    {DType::C64, PJRT_Buffer_Type_C64, 15},
    {DType::C128, PJRT_Buffer_Type_C128, 18},
};
static_assert(std::size(kTypes) == tensor::kDTypeCount);

PJRT_Buffer_Type bufferType(DType type) {
  for (auto [ours, theirs, primitive] : kTypes)
    if (ours == type)
      return theirs;
  return PJRT_Buffer_Type_INVALID;
}

std::optional<DType> elementType(PJRT_Buffer_Type type) {
  for (auto [ours, theirs, primitive] : kTypes)
    if (theirs == type)
      return ours;
  return std::nullopt;
}

int64_t primitiveType(DType type) {
  for (auto [ours, theirs, primitive] : kTypes)
    if (ours == type)
      return primitive;
  return 0;
}

} // namespace cupel::pjrt
