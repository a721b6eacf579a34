// What operations say of themselves (OpFacts.td has the meanings): passes and analyses ask
// `op.hasTrait<Collective>()` or an interface instead of keeping names. Part of Stablehlo.h; the
// traits check nothing.

#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

namespace cupel::stablehlo {

/// An empty trait: a fact that is stated by being there.
template <typename ConcreteOp, template <typename> class Trait>
using Fact = mlir::OpTrait::TraitBase<ConcreteOp, Trait>;

template <typename Op> class Elementwise : public Fact<Op, Elementwise> {};
template <typename Op> class Transcendental : public Fact<Op, Transcendental> {};
template <typename Op> class KeepsNumbers : public Fact<Op, KeepsNumbers> {};
template <typename Op> class YieldsBits : public Fact<Op, YieldsBits> {};
template <typename Op> class NoArithmetic : public Fact<Op, NoArithmetic> {};
template <typename Op> class MovesElements : public Fact<Op, MovesElements> {};
template <typename Op> class Linear : public Fact<Op, Linear> {};
template <typename Op> class LinearInEach : public Fact<Op, LinearInEach> {};
template <typename Op> class LinearInFirst : public Fact<Op, LinearInFirst> {};
template <typename Op> class LinearButRounds : public Fact<Op, LinearButRounds> {};
template <typename Op> class Collective : public Fact<Op, Collective> {};
template <typename Op> class DependsOnProcess : public Fact<Op, DependsOnProcess> {};
template <typename Op> class ActsOutside : public Fact<Op, ActsOutside> {};
template <typename Op> class Opaque : public Fact<Op, Opaque> {};
template <typename Op> class Startable : public Fact<Op, Startable> {};
template <typename Op> class Loops : public Fact<Op, Loops> {};
template <typename Op> class Branches : public Fact<Op, Branches> {};
template <typename Op> class RunsOnce : public Fact<Op, RunsOnce> {};
template <typename Op> class Identity : public Fact<Op, Identity> {};
template <typename Op> class KeepsBytes : public Fact<Op, KeepsBytes> {};
template <typename Op> class UpdatesOperands : public Fact<Op, UpdatesOperands> {};
template <typename Op> class Packs : public Fact<Op, Packs> {};
template <typename Op> class Unpacks : public Fact<Op, Unpacks> {};
template <typename Op> class ShapeFromValues : public Fact<Op, ShapeFromValues> {};

/// A dimension of an operand and one of a result that go together.
struct DimensionLink {
  unsigned operand;
  int64_t operandDim;
  unsigned result;
  int64_t resultDim;
  /// The size up to which they agree, where one is the outermost part of the other; 0: they are one
  /// dimension if their sizes are equal, and have nothing to do with each other otherwise.
  int64_t outer = 0;
};

/// How dimensions of operands and results relate.
struct DimensionRule {
  llvm::SmallVector<DimensionLink, 4> links;
  /// Operands are handed on element for element, not combined, repeated or left out.
  bool passesElements = false;
  /// The first `apartOperands` operands and all results lie over each other, and pieces along the
  /// dimensions `apart` can be computed apart from each other. 0 operands: nothing is known.
  unsigned apartOperands = 0;
  llvm::SmallVector<int64_t, 4> apart;
  /// The attribute that lists sizes of those dimensions, which are smaller for a piece.
  llvm::StringRef sizes;
};

/// That of the operation; operands and results of one shape go together if it has none of its own.
DimensionRule dimensionRuleOf(mlir::Operation *op);

} // namespace cupel::stablehlo

#include "cupel/ir/stablehlo/OpFacts.h.inc"
