// Elementwise operations as loops over lanes: one table from (operation, element type) to a typed
// loop. Tensors (Elementwise.h) and compiled regions (ElementProgram.h) both run on these, so an
// operation means the same in both. Knows nothing of MLIR and nothing of shapes.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <optional>
#include <string_view>

namespace cupel::reference {

// X(enumerator, name of the stablehlo operation, operands)
#define CUPEL_ELEMENT_OPS(X)                                                                       \
  X(Abs, "abs", 1)                                                                                 \
  X(Cbrt, "cbrt", 1)                                                                               \
  X(Ceil, "ceil", 1)                                                                               \
  X(Convert, "convert", 1)                                                                         \
  X(Cosine, "cosine", 1)                                                                           \
  X(CountLeadingZeros, "count_leading_zeros", 1)                                                   \
  X(Exponential, "exponential", 1)                                                                 \
  X(ExponentialMinusOne, "exponential_minus_one", 1)                                               \
  X(Floor, "floor", 1)                                                                             \
  X(Imag, "imag", 1)                                                                               \
  X(IsFinite, "is_finite", 1)                                                                      \
  X(Log, "log", 1)                                                                                 \
  X(LogPlusOne, "log_plus_one", 1)                                                                 \
  X(Logistic, "logistic", 1)                                                                       \
  X(Negate, "negate", 1)                                                                           \
  X(Not, "not", 1)                                                                                 \
  X(Popcnt, "popcnt", 1)                                                                           \
  X(Real, "real", 1)                                                                               \
  X(ReducePrecision, "reduce_precision", 1)                                                        \
  X(RoundNearestAfz, "round_nearest_afz", 1)                                                       \
  X(RoundNearestEven, "round_nearest_even", 1)                                                     \
  X(Rsqrt, "rsqrt", 1)                                                                             \
  X(Sign, "sign", 1)                                                                               \
  X(Sine, "sine", 1)                                                                               \
  X(Sqrt, "sqrt", 1)                                                                               \
  X(Tan, "tan", 1)                                                                                 \
  X(Tanh, "tanh", 1)                                                                               \
  X(Add, "add", 2)                                                                                 \
  X(And, "and", 2)                                                                                 \
  X(Atan2, "atan2", 2)                                                                             \
  X(Complex, "complex", 2)                                                                         \
  X(Divide, "divide", 2)                                                                           \
  X(Maximum, "maximum", 2)                                                                         \
  X(Minimum, "minimum", 2)                                                                         \
  X(Multiply, "multiply", 2)                                                                       \
  X(Or, "or", 2)                                                                                   \
  X(Power, "power", 2)                                                                             \
  X(Remainder, "remainder", 2)                                                                     \
  X(ShiftLeft, "shift_left", 2)                                                                    \
  X(ShiftRightArithmetic, "shift_right_arithmetic", 2)                                             \
  X(ShiftRightLogical, "shift_right_logical", 2)                                                   \
  X(Subtract, "subtract", 2)                                                                       \
  X(Xor, "xor", 2)                                                                                 \
  X(Equal, "compare EQ", 2)                                                                        \
  X(NotEqual, "compare NE", 2)                                                                     \
  X(GreaterEqual, "compare GE", 2)                                                                 \
  X(Greater, "compare GT", 2)                                                                      \
  X(LessEqual, "compare LE", 2)                                                                    \
  X(Less, "compare LT", 2)                                                                         \
  X(TotalEqual, "compare EQ, TOTALORDER", 2)                                                       \
  X(TotalNotEqual, "compare NE, TOTALORDER", 2)                                                    \
  X(TotalGreaterEqual, "compare GE, TOTALORDER", 2)                                                \
  X(TotalGreater, "compare GT, TOTALORDER", 2)                                                     \
  X(TotalLessEqual, "compare LE, TOTALORDER", 2)                                                   \
  X(TotalLess, "compare LT, TOTALORDER", 2)                                                        \
  X(Clamp, "clamp", 3)                                                                             \
  X(Select, "select", 3)

enum class ElementOp : uint8_t {
#define X(name, text, operands) name,
  CUPEL_ELEMENT_OPS(X)
#undef X
};

inline constexpr ElementOp kElementOps[] = {
#define X(name, text, operands) ElementOp::name,
    CUPEL_ELEMENT_OPS(X)
#undef X
};

/// "add" for Add; comparisons say their direction.
std::string_view name(ElementOp op);
int operandCount(ElementOp op);
/// The operation "stablehlo.NAME" that needs nothing but its name to be known.
std::optional<ElementOp> parseElementOp(std::string_view name);

/// What a loop works on. An operand that is `scalar` has one element, used for all lanes. The
/// output may be one of the operands' own memory, else it must not overlap them.
struct LoopArguments {
  const void *in[3] = {};
  bool scalar[3] = {};
  void *out = nullptr;
  int64_t lanes = 0;
  int exponentBits = 0, mantissaBits = 0; // reduce_precision
};

using LoopFunction = void (*)(const LoopArguments &);

/// A way to compute one operation on one element type.
class Loop {
public:
  /// The loop for an operation; `operand` is the type of its (last) operand, `result` that of its
  /// result. Nothing if the operation is not defined on it.
  static std::optional<Loop> find(ElementOp op, tensor::DType operand, tensor::DType result);

  void run(const LoopArguments &arguments) const {
    if (path == Path::Direct)
      function(arguments);
    else
      runWidened(arguments);
  }

private:
  /// Direct: the loop itself works on the type. Else chunks are widened, computed and rounded once.
  enum class Path : uint8_t { Direct, Float, Double, ComplexDouble, Convert };
  Loop(LoopFunction function, Path path, int operands, tensor::DType operand, tensor::DType result)
      : function(function), path(path), operands(static_cast<uint8_t>(operands)), operand(operand),
        result(result) {}
  void runWidened(const LoopArguments &arguments) const;

  LoopFunction function;
  Path path;
  uint8_t operands;
  tensor::DType operand, result;
};

// The tables behind `Loop::find`, one file each; null where undefined.
LoopFunction integerLoop(ElementOp op, tensor::DType type);
LoopFunction booleanLoop(ElementOp op);
LoopFunction floatLoop(ElementOp op);  // on f32
LoopFunction doubleLoop(ElementOp op); // on f64; transcendental functions only here
LoopFunction
narrowLoop(ElementOp op); // on f64 for operands and results of f32 and below; their memory is apart
LoopFunction complexLoop(ElementOp op);       // on complex<f32>: what needs no wider type
LoopFunction complexDoubleLoop(ElementOp op); // on complex<f64>
LoopFunction selectLoop(int bytes);

} // namespace cupel::reference
