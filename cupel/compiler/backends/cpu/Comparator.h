// What a body says of pairs of elements: comparators of sorts and of reductions that pick an element. A body that
// only compares the two elements of an operand with each other or with themselves, and joins what that gives, is a
// function of how they relate; a table of it proves which order it is, however it is written.

#pragma once

#include "cupel/compiler/device/DeviceIr.h"

#include <functional>
#include <vector>

namespace cupel::compiler {

/// How the first element relates to the second. Elements without NaN have the first three.
enum class Relation : uint8_t { Before, Equal, After, FirstIsNan, SecondIsNan, BothAreNan };
inline constexpr unsigned kRelations = 6;

/// An operand's element, and whether it is the first or the second.
struct ComparedElement {
  unsigned operand;
  bool isSecond;
};

/// What a comparator says of two elements of one operand.
struct ElementOrder {
  unsigned operand = 0;
  bool isDescending = false;
  /// Of floats: zeros are equal and all NaNs are; else by their bits as numbers with a sign.
  bool isCanonical = false;
  /// Of canonical floats: before all numbers or behind them.
  bool nansFirst = false;
};

class Comparator {
public:
  /// `result` is an i1 of a body; `elementOf` says which of its values are elements.
  Comparator(mlir::Value result, unsigned operands,
             llvm::function_ref<std::optional<ComparedElement>(mlir::Value)> elementOf);

  /// Whether the body is a function of relations; all below asks for that.
  bool isKnown() const { return known; }
  /// Whether relations of the operand matter.
  bool uses(unsigned operand) const { return operands[operand].isUsed; }
  /// Those that two of its elements can have.
  llvm::ArrayRef<Relation> relationsOf(unsigned operand) const;
  /// By the bits of floats, which then have no NaN.
  bool isByBits(unsigned operand) const { return operands[operand].isByBits; }
  bool operator()(llvm::ArrayRef<Relation> relations) const { return evaluate(result, relations); }

private:
  struct Operand {
    bool isUsed = false, isFloat = false, isByBits = false, isByNumber = false;
  };
  struct Compared {
    ComparedElement left, right;
    bool isTotal;
  };

  bool look(mlir::Value value);
  std::optional<Compared> comparedBy(mlir::Operation *compare) const;
  bool evaluate(mlir::Value value, llvm::ArrayRef<Relation> relations) const;

  mlir::Value result;
  llvm::DenseMap<mlir::Value, ComparedElement> elements; // Also those with their zeros and NaNs made one.
  llvm::DenseSet<mlir::Value> seen, canonical;
  std::vector<Operand> operands;
  bool known = false;
};

/// The keys by which a strict comparator orders, the first one first; empty where it is no such order. Where it says
/// nothing of NaNs, they stand where their bits would be.
std::vector<ElementOrder> ordersOf(const Comparator &comparator, unsigned operands);

} // namespace cupel::compiler
