#include "cupel/pjrt/plugin/ElementTypes.h"

#include <utility>

namespace cupel::pjrt {

using tensor::DType;

static constexpr std::pair<DType, PJRT_Buffer_Type> kTypes[] = {
    {DType::I1, PJRT_Buffer_Type_PRED},
    {DType::I2, PJRT_Buffer_Type_S2},
    {DType::I4, PJRT_Buffer_Type_S4},
    {DType::I8, PJRT_Buffer_Type_S8},
    {DType::I16, PJRT_Buffer_Type_S16},
    {DType::I32, PJRT_Buffer_Type_S32},
    {DType::I64, PJRT_Buffer_Type_S64},
    {DType::U2, PJRT_Buffer_Type_U2},
    {DType::U4, PJRT_Buffer_Type_U4},
    {DType::U8, PJRT_Buffer_Type_U8},
    {DType::U16, PJRT_Buffer_Type_U16},
    {DType::U32, PJRT_Buffer_Type_U32},
    {DType::U64, PJRT_Buffer_Type_U64},
    {DType::F8E4M3, PJRT_Buffer_Type_F8E4M3},
    {DType::F8E4M3FN, PJRT_Buffer_Type_F8E4M3FN},
    {DType::F8E4M3FNUZ, PJRT_Buffer_Type_F8E4M3FNUZ},
    {DType::F8E4M3B11FNUZ, PJRT_Buffer_Type_F8E4M3B11FNUZ},
    {DType::F8E5M2, PJRT_Buffer_Type_F8E5M2},
    {DType::F8E5M2FNUZ, PJRT_Buffer_Type_F8E5M2FNUZ},
    {DType::F16, PJRT_Buffer_Type_F16},
    {DType::BF16, PJRT_Buffer_Type_BF16},
    {DType::F32, PJRT_Buffer_Type_F32},
    {DType::F64, PJRT_Buffer_Type_F64},
    {DType::C64, PJRT_Buffer_Type_C64},
    {DType::C128, PJRT_Buffer_Type_C128},
};
static_assert(std::size(kTypes) == tensor::kDTypeCount);

PJRT_Buffer_Type bufferType(DType type) {
  for (auto [ours, theirs] : kTypes)
    if (ours == type)
      return theirs;
  return PJRT_Buffer_Type_INVALID;
}

std::optional<DType> elementType(PJRT_Buffer_Type type) {
  for (auto [ours, theirs] : kTypes)
    if (theirs == type)
      return ours;
  return std::nullopt;
}

} // namespace cupel::pjrt
