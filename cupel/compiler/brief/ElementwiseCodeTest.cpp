// Every elementwise operation on every element type against the reference's kernels, for every
// instruction set: the same bits, or within a stated error where functions are approximated.

#include "cupel/compiler/brief/KernelTesting.h"
#include "cupel/reference/Elementwise.h"
#include "cupel/tensor/Float.h"

#include <bit>
#include <cmath>

using namespace cupel;
using namespace cupel::codegen;
using reference::ElementOp;
using tensor::DType;
using tensor::Tensor;

namespace {

constexpr DType kTypes[] = {DType::I1,  DType::I8,  DType::I16, DType::I32, DType::I64,
                            DType::U8,  DType::U16, DType::U32, DType::U64, DType::F16,
                            DType::BF16, DType::F32, DType::F64};

std::string tensorOf(DType type) { return "tensor<" + std::string(tensor::info(type).name) + ">"; }

bool isApproximate(ElementOp op) {
  switch (op) {
  case ElementOp::Cbrt:
  case ElementOp::Cosine:
  case ElementOp::Exponential:
  case ElementOp::ExponentialMinusOne:
  case ElementOp::Log:
  case ElementOp::LogPlusOne:
  case ElementOp::Logistic:
  case ElementOp::Rsqrt:
  case ElementOp::Sine:
  case ElementOp::Tan:
  case ElementOp::Tanh:
  case ElementOp::Power:
  case ElementOp::Atan2:
    return true;
  default:
    return false;
  }
}

/// A function of one operation; empty if the specification does not have it on the type.
std::string functionOf(ElementOp op, DType type, DType result) {
  std::string name(reference::name(op)), t = tensorOf(type), r = tensorOf(result);
  std::string head = "func.func @f(";
  int operands = reference::operandCount(op);
  std::string types, values;
  for (int i = 0; i < operands; ++i) {
    std::string mine = op == ElementOp::Select && i == 0 ? "tensor<i1>" : t;
    std::string value = "%a" + std::to_string(i);
    head += (i ? ", " : "") + value + ": " + mine;
    types += (i ? ", " : "") + mine;
    values += (i ? ", " : "") + value;
  }
  head += ") -> " + r + " { %r = ";
  std::string tail = " : (" + types + ") -> " + r + " return %r : " + r + " }";
  if (name.starts_with("compare ")) {
    size_t comma = name.find(',');
    std::string direction = name.substr(8, 2);
    return head + "stablehlo.compare " + direction + ", " + values +
           (comma == std::string::npos ? "" : ", TOTALORDER") + tail;
  }
  if (op == ElementOp::ReducePrecision)
    return head + "\"stablehlo.reduce_precision\"(" + values +
           ") {exponent_bits = 4 : i32, mantissa_bits = 3 : i32}" + tail;
  return head + "\"stablehlo." + name + "\"(" + values + ")" + tail;
}

/// Patterns at which types and functions change their mind, then any pattern, then small numbers.
void fill(DType type, char *bytes, int64_t count, uint32_t seed) {
  std::mt19937_64 random(seed);
  int size = tensor::info(type).bytes;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t pattern = random();
    if (type == DType::I1) {
      pattern &= 1;
    } else if (tensor::isFloat(type)) {
      constexpr double kSpecial[] = {0.0, 1.0, 0.5, 2.0, 3.0, INFINITY, NAN, 1e-40, 1e-310, 88.8,
                                     -104.0, 1e30, 6.5e4, 0.49999997, 1.5, 2.5, 4503599627370497.5};
      double value = 0;
      bool isPattern = random() % 3 == 0;
      if (random() % 4 == 0)
        value = kSpecial[random() % std::size(kSpecial)] * (random() % 2 ? 1 : -1);
      else
        value = std::ldexp(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5,
                           static_cast<int>(random() % 9));
      if (!isPattern)
        tensor::dispatch(type, [&]<DType t>() {
          if constexpr (tensor::isFloat(t)) {
            auto stored = tensor::fromDouble<t>(value);
            pattern = 0;
            std::memcpy(&pattern, &stored, sizeof(stored));
          }
        });
    } else if (random() % 2) {
      pattern = static_cast<uint64_t>(static_cast<int64_t>(random() % 21) - 10);
    }
    std::memcpy(bytes + i * size, &pattern, size);
  }
}

double valueOf(DType type, const char *at) {
  double value = 0;
  tensor::dispatch(type, [&]<DType t>() {
    if constexpr (tensor::isFloat(t)) {
      tensor::Storage<t> stored;
      std::memcpy(&stored, at, sizeof(stored));
      value = tensor::toDouble<t>(stored);
    }
  });
  return value;
}

/// Steps between two floats of the type.
double stepsBetween(DType type, double a, double b) {
  int mantissa = type == DType::F64 ? 52 : type == DType::F32 ? 23 : type == DType::F16 ? 10 : 7;
  int least = type == DType::F64 ? -1022 : type == DType::F16 ? -14 : -126;
  int exponent = b == 0 ? least : std::max(least, std::ilogb(b));
  return std::fabs(a - b) / std::ldexp(1.0, exponent - mantissa);
}

/// Nothing if right.
std::string compare(ElementOp op, DType type, const char *mine, const char *right, int64_t i) {
  int size = tensor::info(type).bytes;
  if (std::memcmp(mine + i * size, right + i * size, size) == 0)
    return "";
  if (!tensor::isFloat(type))
    return "differs";
  double a = valueOf(type, mine + i * size), b = valueOf(type, right + i * size);
  if (std::isnan(a) && std::isnan(b))
    return "";
  std::string text = std::to_string(a) + " instead of " + std::to_string(b);
  if (!isApproximate(op) || std::isnan(a) || std::isnan(b) || std::signbit(a) != std::signbit(b))
    return text;
  if (std::isinf(a) || std::isinf(b))
    return text;
  // f32: VectorMathTest has the exact bounds. f64: the C library's own, where the reference mends
  // it. f16, bf16: rounded from f32 and not from f64.
  double limit = type == DType::F32 ? 2 : type == DType::F64 ? 4 : 1;
  return stepsBetween(type, a, b) <= limit ? "" : text;
}

void check(Bodies &bodies, ElementOp op, DType type, DType result, const std::string &targetName,
           const Target &target) {
  std::string text = functionOf(op, type, result);
  mlir::Block *body = bodies.parse(text);
  ASSERT_TRUE(body) << text;
  auto loop = reference::findElementwise(op, type, result);
  ASSERT_TRUE(loop) << text;
  loop->exponentBits = 4;
  loop->mantissaBits = 3;
  size_t operands = static_cast<size_t>(reference::operandCount(op));
  // Sizes are part of the code: each pair of operation and type takes one of the small ones.
  static int turn = 0;
  constexpr int64_t kSmall[] = {0, 1, 7, 16, 17};
  for (int64_t n : {kSmall[turn++ % 5], int64_t{1000}}) {
    MapKernel kernel{{n}, {}, {View::contiguous(result, {n})}, body};
    std::vector<std::unique_ptr<GuardedBytes>> in;
    std::vector<const void *> inputs;
    std::vector<Tensor> tensors;
    for (size_t k = 0; k < operands; ++k) {
      DType mine = op == ElementOp::Select && k == 0 ? DType::I1 : type;
      kernel.inputs.push_back(View::contiguous(mine, {n}));
      in.push_back(std::make_unique<GuardedBytes>(n * tensor::info(mine).bytes));
      fill(mine, in.back()->data(), n, static_cast<uint32_t>(n + 10 * k));
      inputs.push_back(in.back()->data());
      Result<Tensor> copy = Tensor::uninitialized(mine, {n});
      ASSERT_TRUE(copy);
      if (n)
        std::memcpy(copy->mutableData(), in.back()->data(), in.back()->size);
      tensors.push_back(*copy);
    }
    auto code = make(kernel, target);
    ASSERT_TRUE(code) << text << ": " << code.message();
    GuardedBytes out(n * tensor::info(result).bytes);
    runInPieces(*code, inputs, {out.data()}, 3);
    EXPECT_TRUE(out.isClean()) << text;
    if (code->work && n == 1000 && brief::isExact(*body)) { // Then code may take its place at any time.
      auto other = make(kernel);
      ASSERT_TRUE(other) << text;
      GuardedBytes bits(out.size);
      runInPieces(*other, inputs, {bits.data()}, 3);
      int size = tensor::info(result).bytes;
      for (int64_t i = 0; i < n; ++i)
        EXPECT_TRUE(std::memcmp(bits.data() + i * size, out.data() + i * size, size) == 0 ||
                    (std::isnan(valueOf(result, bits.data() + i * size)) &&
                     std::isnan(valueOf(result, out.data() + i * size))))
            << text << " at " << i << " of " << n;
    }
    std::vector<const Tensor *> addresses;
    for (Tensor &each : tensors)
      addresses.push_back(&each);
    auto expected = reference::elementwise(*loop, addresses, {});
    ASSERT_TRUE(expected);
    for (int64_t i = 0; i < n; ++i) {
      std::string wrong = compare(op, result, out.data(),
                                  reinterpret_cast<const char *>(expected->data()), i);
      if (wrong.empty())
        continue;
      std::string at;
      for (size_t k = 0; k < operands; ++k) {
        DType mine = kernel.inputs[k].type;
        at += " " + std::to_string(valueOf(mine, in[k]->data() + i * tensor::info(mine).bytes));
      }
      ADD_FAILURE() << text << " on " << targetName << " at" << at << " (" << i << " of " << n
                    << "): " << wrong;
      return;
    }
  }
}

class ElementwiseCodeTest : public testing::TestWithParam<std::pair<std::string, Target>> {};

TEST_P(ElementwiseCodeTest, EveryOperationOnEveryTypeIsTheReferences) {
  const auto &[name, target] = GetParam();
  Bodies bodies;
  int checked = 0, refused = 0;
  for (ElementOp op : reference::kElementOps)
    for (DType type : kTypes) {
      if (op == ElementOp::Convert || op == ElementOp::Complex || op == ElementOp::Imag)
        continue;
      std::string_view opName = reference::name(op);
      bool isPredicate = opName.starts_with("compare") || op == ElementOp::IsFinite;
      if (!reference::findElementwise(op, type, isPredicate ? DType::I1 : type))
        continue;
      // Defined by the reference, not by the dialect.
      if (tensor::info(type).kind == tensor::Kind::Unsigned &&
          (op == ElementOp::Abs || op == ElementOp::Sign))
        continue;
      if (opName.find("TOTAL") != opName.npos && !tensor::isFloat(type))
        continue;
      if (op == ElementOp::ReducePrecision && type == DType::F16) {
        mlir::Block *body = bodies.parse(functionOf(op, type, type));
        MapKernel kernel{{4}, {View::contiguous(type, {4})}, {View::contiguous(type, {4})}, body};
        Status status = supports(kernel);
        ASSERT_FALSE(status);
        EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
        ++refused;
        continue;
      }
      check(bodies, op, type, isPredicate ? DType::I1 : type, name, target);
      ++checked;
    }
  EXPECT_EQ(refused, 1);
  EXPECT_GE(checked, 330);
}

TEST_P(ElementwiseCodeTest, EveryConversionIsTheReferences) {
  const auto &[name, target] = GetParam();
  Bodies bodies;
  for (DType from : kTypes)
    for (DType to : kTypes)
      check(bodies, ElementOp::Convert, from, to, name, target);
}

INSTANTIATE_TEST_SUITE_P(Targets, ElementwiseCodeTest, testing::ValuesIn(withBrief(namedTargets())),
                         [](const auto &info) { return info.param.first; });

} // namespace
