#include "cupel/frontends/torch/Promotion.h"

#include "cupel/tensor/Convert.h"

namespace cupel::frontends::torch_import {

using namespace mlir;

static bool isBoolean(Type type) { return type.isInteger(1); }

static Type complexOf(Type real) {
  // Complex numbers of narrow floats are not a type here: the next wider.
  MLIRContext *context = real.getContext();
  return ComplexType::get(real.isF64() ? Type(Float64Type::get(context))
                                       : Type(Float32Type::get(context)));
}

Type promoteTypes(Type a, Type b) {
  if (!a || a == b)
    return b ? b : a;
  if (!b)
    return a;
  MLIRContext *context = a.getContext();
  if (isa<ComplexType>(a) || isa<ComplexType>(b)) {
    if (!isa<ComplexType>(a))
      std::swap(a, b);
    Type part = cast<ComplexType>(a).getElementType();
    Type other = isa<ComplexType>(b) ? cast<ComplexType>(b).getElementType() : b;
    return part.isF64() || other.isF64() ? ComplexType::get(Float64Type::get(context)) : a;
  }
  if (isa<FloatType>(a) || isa<FloatType>(b)) {
    if (!isa<FloatType>(a))
      std::swap(a, b);
    auto other = dyn_cast<FloatType>(b);
    if (!other)
      return a;
    unsigned width = cast<FloatType>(a).getWidth();
    if (width != other.getWidth())
      return width > other.getWidth() ? a : b;
    return width == 16 ? Type(Float32Type::get(context)) : a; // bf16 and f16
  }
  if (isBoolean(a) || isBoolean(b))
    return isBoolean(a) ? b : a;
  auto left = cast<IntegerType>(a), right = cast<IntegerType>(b);
  if (left.isUnsigned() == right.isUnsigned())
    return left.getWidth() > right.getWidth() ? a : b;
  if (!left.isUnsigned())
    std::swap(left, right); // left unsigned, right signed
  if (right.getWidth() > left.getWidth())
    return right;
  return IntegerType::get(context, std::min(64u, 2 * left.getWidth()));
}

/// What a type of higher rank and one of lower rank give: the higher decides within its kind.
static Type combine(Type higher, Type lower) {
  if (!higher || !lower)
    return higher ? higher : lower;
  if (isa<ComplexType>(higher))
    return higher;
  if (isa<FloatType>(higher))
    return isa<ComplexType>(lower) ? complexOf(higher) : higher;
  if (isBoolean(higher) || isa<FloatType>(lower) || isa<ComplexType>(lower))
    return promoteTypes(higher, lower);
  return higher;
}

void Promotion::add(Value tensor) {
  Type element = HloBuilder::elementOf(tensor);
  Type &group = HloBuilder::rankOf(tensor) > 0 ? tensors : scalars;
  group = promoteTypes(group, element);
}

void Promotion::add(const Scalar &number) {
  Type type;
  switch (number.kind) {
  case Scalar::Kind::Bool:
    type = IntegerType::get(context, 1);
    break;
  case Scalar::Kind::Integer:
    type = IntegerType::get(context, 64);
    break;
  case Scalar::Kind::Real:
    type = Float32Type::get(context);
    break;
  case Scalar::Kind::Complex:
    type = ComplexType::get(Float32Type::get(context));
    break;
  }
  numbers = promoteTypes(numbers, type);
}

Type Promotion::result() const {
  Type type = combine(tensors, combine(scalars, numbers));
  return type ? type : Type(Float32Type::get(context));
}

Scalar scalarOfTensor(const tensor::Tensor &tensor) {
  Scalar scalar;
  tensor::Kind kind = tensor::info(tensor.dtype()).kind;
  if (kind == tensor::Kind::Float || kind == tensor::Kind::Complex) {
    Result<tensor::Tensor> wide = tensor::convert(tensor, tensor::DType::C128);
    scalar.kind = kind == tensor::Kind::Float ? Scalar::Kind::Real : Scalar::Kind::Complex;
    if (wide)
      scalar.number = *wide->dataAs<std::complex<double>>();
    return scalar;
  }
  Result<tensor::Tensor> wide = tensor::convert(tensor, tensor::DType::I64);
  scalar.kind = kind == tensor::Kind::Boolean ? Scalar::Kind::Bool : Scalar::Kind::Integer;
  if (wide)
    scalar.integer = *wide->dataAs<int64_t>();
  scalar.number = double(scalar.integer);
  return scalar;
}

} // namespace cupel::frontends::torch_import
