#include "cupel/testbench/opcases/DTypes.h"

#include <array>
#include <utility>

namespace cupel::testbench::opcases {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 39> kDTypes = {{
    {"fp16", "float16"},
    {"bf16", "bfloat16"},
    {"fp32", "float32"},
    {"float16", "float16"},
    {"bfloat16", "bfloat16"},
    {"float32", "float32"},
    {"int64", "int64"},
    {"bool", "bool"},
    {"fp64", "float64"},
    {"float64", "float64"},
    {"half", "float16"},
    {"float", "float32"},
    {"double", "float64"},
    {"int8", "int8"},
    {"int16", "int16"},
    {"int32", "int32"},
    {"short", "int16"},
    {"int", "int32"},
    {"long", "int64"},
    {"i8", "int8"},
    {"i16", "int16"},
    {"i32", "int32"},
    {"i64", "int64"},
    {"uint8", "uint8"},
    {"uint16", "uint16"},
    {"uint32", "uint32"},
    {"uint64", "uint64"},
    {"u8", "uint8"},
    {"complex32", "complex32"},
    {"complex64", "complex64"},
    {"complex128", "complex128"},
    {"cfloat", "complex64"},
    {"cdouble", "complex128"},
    {"float8_e4m3fn", "float8_e4m3fn"},
    {"float8_e5m2", "float8_e5m2"},
    {"float8_e4m3fnuz", "float8_e4m3fnuz"},
    {"float8_e5m2fnuz", "float8_e5m2fnuz"},
    {"fp8_e4m3", "float8_e4m3fn"},
    {"fp8_e5m2", "float8_e5m2"},
}};

} // namespace

std::string_view canonicalDType(std::string_view name) {
  if (name.starts_with("torch."))
    name.remove_prefix(6);
  for (const auto &[spelt, means] : kDTypes)
    if (spelt == name)
      return means;
  return {};
}

std::vector<std::string_view> dtypeNames() {
  std::vector<std::string_view> names;
  for (const auto &[spelt, means] : kDTypes)
    names.push_back(spelt);
  return names;
}

} // namespace cupel::testbench::opcases
