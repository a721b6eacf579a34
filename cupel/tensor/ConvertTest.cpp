#include "cupel/tensor/Convert.h"

#include "cupel/tensor/SlowFormats.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace cupel;
using namespace cupel::tensor;

namespace {

using Int = __int128;

/// A value as mathematics has it: an exact integer, or a float (long double holds all of ours).
struct Exact {
  bool isInteger;
  Int integer;
  long double real;
};

std::vector<slow::Reference> makeReferences() {
  std::vector<slow::Reference> all;
  for (const slow::Format &f : slow::kFormats)
    all.emplace_back(f);
  return all;
}
const slow::Reference &referenceOf(DType type) {
  static const std::vector<slow::Reference> all = makeReferences();
  return all[slow::find(type) - slow::kFormats];
}

template <DType type> Exact exactValue(Storage<type> stored) {
  if constexpr (isComplex(type))
    return {false, 0, stored.real()};
  else if constexpr (!isFloat(type))
    return {true, stored, static_cast<long double>(stored)};
  else if constexpr (std::is_floating_point_v<Storage<type>>)
    return {false, 0, stored};
  else
    return {false, 0, referenceOf(type).decode(stored)};
}

template <DType type> bool isRight(const Exact &from, Storage<type> got) {
  constexpr DTypeInfo to = info(type);
  if constexpr (to.kind == Kind::Boolean) {
    return got == (from.isInteger ? from.integer != 0 : !(from.real == 0));
  } else if constexpr (to.kind == Kind::Signed || to.kind == Kind::Unsigned) {
    bool isSigned = to.kind == Kind::Signed;
    Int range = Int{1} << to.bits;
    Int low = isSigned ? -range / 2 : 0, high = low + range - 1;
    Int expected;
    if (from.isInteger) {
      expected = ((from.integer - low) % range + range) % range + low;
    } else if (std::isnan(from.real)) {
      expected = 0;
    } else {
      long double whole = std::trunc(from.real);
      expected = whole < static_cast<long double>(low)    ? low
                 : whole > static_cast<long double>(high) ? high
                                                          : static_cast<Int>(whole);
    }
    return got == expected;
  } else if constexpr (to.kind == Kind::Complex) {
    constexpr DType part = type == DType::C64 ? DType::F32 : DType::F64;
    return isRight<part>(from, got.real()) && got.imag() == 0;
  } else if constexpr (std::is_floating_point_v<Storage<type>>) {
    if (std::isnan(from.real))
      return std::isnan(got);
    auto expected = static_cast<Storage<type>>(from.real); // one rounding, done by the machine
    return got == expected && std::signbit(got) == std::signbit(expected);
  } else {
    int expected = referenceOf(type).encode(from.real);
    return expected < 0 ? referenceOf(type).isNan(got) : got == expected;
  }
}

template <DType to> void checkTo(const Tensor &source, const std::vector<Exact> &exact) {
  Result<Tensor> result = convert(source, to);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->dtype(), to);
  if (source.dtype() == to) {
    ASSERT_EQ(std::memcmp(result->data(), source.data(), source.byteSize()), 0);
    return;
  }
  const auto *got = result->dataAs<Storage<to>>();
  for (size_t i = 0; i < exact.size(); ++i)
    ASSERT_TRUE(isRight<to>(exact[i], got[i]))
        << info(source.dtype()).name << " to " << info(to).name << ", value "
        << static_cast<double>(exact[i].real) << " at " << i;
}

template <DType from> void checkAll(const std::vector<Storage<from>> &values) {
  Tensor source = Tensor::of<from>({static_cast<int64_t>(values.size())}, values);
  std::vector<Exact> exact;
  for (Storage<from> value : values)
    exact.push_back(exactValue<from>(value));
  for (int t = 0; t < kDTypeCount; ++t) {
    auto to = static_cast<DType>(t);
    if (!isComplex(from) || !isComplex(to)) // both parts: tested below
      dispatch(to, [&]<DType type>() { checkTo<type>(source, exact); });
  }
}

TEST(Convert, EveryValueOfEightAndSixteenBitTypesToEveryType) {
  for (int t = 0; t < kDTypeCount; ++t)
    dispatch(static_cast<DType>(t), [&]<DType from>() {
      if constexpr (info(from).bits <= 16) {
        std::vector<Storage<from>> values;
        for (int i = 0; i < (1 << info(from).bits); ++i) {
          if constexpr (info(from).kind == Kind::Signed)
            values.push_back(static_cast<Storage<from>>(i - (1 << (info(from).bits - 1))));
          else
            values.push_back(static_cast<Storage<from>>(i));
        }
        checkAll<from>(values);
      }
    });
}

TEST(Convert, SamplesOfWideIntegers) {
  uint64_t state = 7;
  std::vector<uint64_t> bits;
  for (int bit = 0; bit < 64; ++bit)
    for (int64_t delta : {-1, 0, 1}) {
      bits.push_back((uint64_t{1} << bit) + delta);
      bits.push_back(-(uint64_t{1} << bit) + delta);
      bits.push_back((uint64_t{1} << bit) + (uint64_t{1} << (bit / 2)) + delta);
    }
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    bits.push_back(state >> (i % 64));
  }
  auto check = [&]<DType from>() {
    std::vector<Storage<from>> values;
    for (uint64_t b : bits)
      values.push_back(static_cast<Storage<from>>(b));
    checkAll<from>(values);
  };
  check.operator()<DType::I32>();
  check.operator()<DType::U32>();
  check.operator()<DType::I64>();
  check.operator()<DType::U64>();
}

TEST(Convert, SamplesOfWideFloats) {
  std::vector<double> values = {0.0,
                                -0.0,
                                0.5,
                                -0.5,
                                0.99999,
                                -0.99999,
                                1.5,
                                -1.5,
                                127.5,
                                128.0,
                                -128.5,
                                -129.0,
                                255.9,
                                256.0,
                                3.4e38,
                                1.79e308,
                                5e-324,
                                HUGE_VAL,
                                -HUGE_VAL,
                                std::nan(""),
                                0x1p63,
                                0x1p64,
                                -0x1p63,
                                0x1p31,
                                -0x1p31,
                                0x1p32,
                                std::nextafter(0x1p63, 0),
                                std::nextafter(0x1p64, 0)};
  uint64_t state = 11;
  for (int i = 0; i < 20000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values.push_back(std::bit_cast<double>(state));
    values.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(state)), -(i % 80)));
  }
  std::vector<float> singles;
  for (double v : values)
    singles.push_back(static_cast<float>(v));
  std::vector<std::complex<float>> c64;
  std::vector<std::complex<double>> c128;
  for (size_t i = 0; i < values.size(); ++i) {
    c64.emplace_back(singles[i], 3.0f);
    c128.emplace_back(values[i], -2.0);
  }
  checkAll<DType::F64>(values);
  checkAll<DType::F32>(singles);
  checkAll<DType::C64>(c64);
  checkAll<DType::C128>(c128);
}

TEST(Convert, ComplexKeepsBothParts) {
  Tensor wide = Tensor::of<DType::C128>({2}, {{1.0 + 0x1p-40, -2.0}, {1e300, 0.5}});
  Result<Tensor> narrow = convert(wide, DType::C64);
  EXPECT_EQ(narrow->dataAs<std::complex<float>>()[0], (std::complex<float>(1.0f, -2.0f)));
  EXPECT_EQ(narrow->dataAs<std::complex<float>>()[1], (std::complex<float>(HUGE_VALF, 0.5f)));
  Result<Tensor> back = convert(*narrow, DType::C128);
  EXPECT_EQ(back->dataAs<std::complex<double>>()[0], (std::complex<double>(1.0, -2.0)));
}

TEST(Convert, TakesViewsScalarsAndEmptyTensors) {
  Tensor t = Tensor::of<DType::F32>({2, 2}, {1.5f, 2.5f, 3.5f, 4.5f});
  Result<Tensor> turned = convert(t.transposed(std::vector<int64_t>{1, 0}), DType::I32);
  const int32_t *got = turned->dataAs<int32_t>();
  EXPECT_EQ((std::vector<int32_t>(got, got + 4)), (std::vector<int32_t>{1, 3, 2, 4}));
  EXPECT_EQ(convert(Tensor::of<DType::F32>({0, 3}, {}), DType::F16)->size(), 0);
  EXPECT_EQ(*convert(Tensor::of<DType::I8>({}, {-1}), DType::U4)->dataAs<uint8_t>(), 15);
  EXPECT_EQ(convert(t, DType::F32)->data(), t.data());
}

TEST(Convert, RefusesQuantizedTensors) {
  auto q = std::make_shared<Quantization>();
  Tensor t = Tensor::of<DType::I8>({1}, {1}).withElementType({DType::I8, q});
  EXPECT_FALSE(convert(t, DType::F32));
}

} // namespace
