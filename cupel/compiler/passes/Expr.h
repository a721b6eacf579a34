// Elementwise stablehlo written as formulas: `atan2(x, sqrt((1 - x) * (1 + x)))` builds the
// operations that compute it, for tensors of static and of dynamic shape. The decompositions of
// chlo are written with it. All expressions of one Emitter have one shape, and only elementwise
// operations are built: what looks at positions belongs elsewhere.
#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/DenseMap.h"

namespace cupel::compiler {

class Expr;

/// Where expressions are built, and the shape that all of them have.
class Emitter {
public:
  /// Results have the shape `shape`; its dynamic sizes are those of `shapeSource`.
  Emitter(mlir::OpBuilder &builder, mlir::Location loc, mlir::RankedTensorType shape,
          mlir::Value shapeSource)
      : builder(builder), loc(loc), shape(shape), shapeSource(shapeSource) {}

  mlir::MLIRContext *getContext() const { return builder.getContext(); }
  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

  Expr wrap(mlir::Value value);

  /// `value` in every element: rounded to nearest for floats, exact for integers.
  Expr constant(double value, mlir::Type elementType);
  Expr constant(const llvm::APFloat &value, mlir::Type elementType);
  Expr constant(const llvm::APInt &value, mlir::Type elementType);

  /// An elementwise operation with this element type.
  template <typename OpT>
  Expr make(mlir::Type elementType, mlir::ValueRange operands,
            llvm::ArrayRef<mlir::NamedAttribute> attributes = {});

  /// A scalar attribute in every element.
  Expr splat(mlir::TypedAttr scalar);

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::RankedTensorType shape;
  mlir::Value shapeSource;
  mlir::Value dynamicShape;                               // sizes as a tensor, once asked for
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants; // by scalar value
};

/// A tensor in a formula.
class Expr {
public:
  Expr(Emitter &emitter, mlir::Value value) : emitter(&emitter), value(value) {}

  mlir::Value getValue() const { return value; }
  Emitter &getEmitter() const { return *emitter; }
  mlir::Type getElementType() const { return mlir::getElementTypeOrSelf(value.getType()); }
  bool isComplex() const { return llvm::isa<mlir::ComplexType>(getElementType()); }

  /// `number` in the element type and shape of this expression.
  Expr like(double number) const { return emitter->constant(number, getElementType()); }

private:
  Emitter *emitter;
  mlir::Value value;
};

/// An operand of a formula: an expression, or a number that takes the type of its partner.
class Operand {
public:
  Operand(const Expr &expr) : expr(expr) {}
  Operand(double number) : number(number) {}
  Operand(int number) : number(number) {}

  bool isNumber() const { return !expr; }
  const Expr &getExpr() const { return *expr; }
  /// This operand as an expression of the type of `partner`.
  Expr resolve(const Expr &partner) const { return expr ? *expr : partner.like(number); }

private:
  std::optional<Expr> expr;
  double number = 0;
};

template <typename OpT>
Expr Emitter::make(mlir::Type elementType, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  auto op =
      builder.create<OpT>(loc, mlir::TypeRange{shape.clone(elementType)}, operands, attributes);
  return Expr(*this, op->getResult(0));
}

// Arithmetic.
Expr operator+(const Operand &a, const Operand &b);
Expr operator-(const Operand &a, const Operand &b);
Expr operator*(const Operand &a, const Operand &b);
Expr operator/(const Operand &a, const Operand &b);
Expr operator-(const Expr &x);
Expr maximum(const Operand &a, const Operand &b);
Expr minimum(const Operand &a, const Operand &b);
Expr remainder(const Operand &a, const Operand &b);
Expr power(const Operand &a, const Operand &b);
Expr atan2(const Operand &y, const Operand &x);

Expr abs(const Expr &x);
Expr sign(const Expr &x); // keeps the sign of zero and NaN
Expr floor(const Expr &x);
Expr sqrt(const Expr &x);
Expr exp(const Expr &x);
Expr expm1(const Expr &x);
Expr log(const Expr &x);
Expr log1p(const Expr &x);
Expr sin(const Expr &x);
Expr cos(const Expr &x);
Expr tan(const Expr &x);

// Comparisons and logic.
Expr operator<(const Operand &a, const Operand &b);
Expr operator<=(const Operand &a, const Operand &b);
Expr operator>(const Operand &a, const Operand &b);
Expr operator>=(const Operand &a, const Operand &b);
Expr operator==(const Operand &a, const Operand &b);
Expr operator!=(const Operand &a, const Operand &b);
Expr operator&(const Expr &a, const Expr &b); // also on integers, bit by bit
Expr operator|(const Expr &a, const Expr &b);
Expr operator^(const Expr &a, const Expr &b);
Expr operator!(const Expr &x);
Expr isFinite(const Expr &x);
/// `ifTrue` where `condition` holds, else `ifFalse`; one of the two may be a number.
Expr select(const Expr &condition, const Operand &ifTrue, const Operand &ifFalse);

// Integers.
Expr shiftLeft(const Operand &a, const Operand &b);
Expr shiftRightLogical(const Operand &a, const Operand &b);
Expr shiftRightArithmetic(const Operand &a, const Operand &b);

// Types.
Expr convert(const Expr &x, mlir::Type elementType);
Expr bitcast(const Expr &x, mlir::Type elementType);
Expr real(const Expr &z);
Expr imag(const Expr &z);
Expr complex(const Expr &re, const Expr &im);
/// Float format with fewer bits, in the same element type.
Expr reducePrecision(const Expr &x, int exponentBits, int mantissaBits);

// Composites.
/// Value of the polynomial with these coefficients, highest power first (Horner's rule).
Expr polynomial(const Expr &x, llvm::ArrayRef<double> coefficients);
/// The sign bit is set: true for -0 as well.
Expr signBit(const Expr &x);
/// `magnitude` (not negative) with the sign bit of `signSource`.
Expr withSignOf(const Expr &magnitude, const Expr &signSource);

/// Properties of a float type, as numbers to write formulas with.
double largestFinite(mlir::Type elementType);
double smallestNormal(mlir::Type elementType);
double epsilon(mlir::Type elementType); // distance from 1 to the next larger number

} // namespace cupel::compiler
