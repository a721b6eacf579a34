// What the verifiers and the type inference of stablehlo ops share: where errors go, sizes that may
// be unknown or bounded, checks of dimension lists, the computations in regions. Used by the
// Verify*.cpp files only. Nothing here may assume well-formed input: attributes and regions come
// from whoever wrote the program.

#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"

#include <optional>
#include <string>

namespace cupel::stablehlo::verify {

/// Where a check reports: to an op that exists, or (while types are inferred) to a place where one
/// is being made, which may be unknown.
class Reporter {
public:
  explicit Reporter(mlir::Operation *op) : op(op) {}

  template <typename OpT> static Reporter inferring(std::optional<mlir::Location> location) {
    return Reporter(OpT::getOperationName(), location);
  }

  template <typename... Args> mlir::LogicalResult error(const Args &...args) const {
    if (!op && !location)
      return mlir::failure();
    mlir::InFlightDiagnostic diagnostic = op ? op->emitOpError() : mlir::emitError(*location);
    if (!op)
      diagnostic << "'" << llvm::Twine(opName) << "' op ";
    (append(diagnostic, args), ...);
    return diagnostic;
  }

private:
  Reporter(llvm::StringRef opName, std::optional<mlir::Location> location)
      : opName(opName), location(location) {}

  // A diagnostic may outlive the strings that go into it, and copies only twines.
  template <typename T> static void append(mlir::InFlightDiagnostic &diagnostic, const T &value) {
    if constexpr (std::is_convertible_v<const T &, llvm::StringRef>)
      diagnostic << llvm::Twine(llvm::StringRef(value));
    else
      diagnostic << value;
  }

  mlir::Operation *op = nullptr;
  llvm::StringRef opName;
  std::optional<mlir::Location> location;
};

//===----------------------------------------------------------------------===//
// Sizes and shapes
//===----------------------------------------------------------------------===//

/// The size of a dimension: known, or unknown with or without an upper bound.
struct Dim {
  int64_t size = mlir::ShapedType::kDynamic;
  int64_t bound = mlir::ShapedType::kDynamic;

  bool isKnown() const { return !mlir::ShapedType::isDynamic(size); }
  bool isBounded() const { return !isKnown() && !mlir::ShapedType::isDynamic(bound); }
  /// The largest size possible at run time, if there is one.
  std::optional<int64_t> limit() const;
};

/// Dimension `index`, which must exist, of `type`.
Dim getDim(mlir::RankedTensorType type, int64_t index);
bool areCompatible(Dim a, Dim b);
/// The more specific of two sizes; none if they contradict each other.
std::optional<Dim> merge(Dim a, Dim b);
/// The size that comes of `size` by a monotone function, which gives none where the result does not
/// fit into 64 bits.
std::optional<Dim> map(Dim dim, llvm::function_ref<std::optional<int64_t>(int64_t)> function);

/// A shape under construction.
struct Shape {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> bounds;

  Shape() = default;
  explicit Shape(mlir::RankedTensorType type);
  void push(Dim dim);
  void set(int64_t index, Dim dim);
  mlir::RankedTensorType withElementType(mlir::Type elementType) const;
};

/// Element count; none if a size is unknown or the count does not fit into 64 bits.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> sizes);

/// "?" for unknown, "<=n" for bounded.
std::string toString(Dim dim);
/// "[1, ?, 3]"
std::string toString(llvm::ArrayRef<int64_t> values);

inline mlir::RankedTensorType tensor(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
inline mlir::RankedTensorType tensor(mlir::Type type) {
  return llvm::cast<mlir::RankedTensorType>(type);
}

/// `type` with another element type; sizes and bounds stay.
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type elementType);

/// The values of a rank-1 stablehlo.constant of exactly `count` integers; none for anything else.
std::optional<llvm::SmallVector<int64_t>> getConstant(mlir::Value value, int64_t count);

/// A shape given by the operand `name` must have one entry per dimension of `result` and, where it
/// is a constant, the same sizes.
mlir::LogicalResult verifyShapeOperand(Reporter report, mlir::Value shape, llvm::StringRef name,
                                       mlir::RankedTensorType result);

//===----------------------------------------------------------------------===//
// Lists of dimensions
//===----------------------------------------------------------------------===//

/// All of `dims` are in [0, rank). `name` and `what` (whose rank it is) go into the message.
mlir::LogicalResult verifyInRange(Reporter report, llvm::StringRef name,
                                  llvm::ArrayRef<int64_t> dims, int64_t rank, llvm::StringRef what);
mlir::LogicalResult verifyUnique(Reporter report, llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> dims);
mlir::LogicalResult verifySorted(Reporter report, llvm::StringRef name,
                                 llvm::ArrayRef<int64_t> dims);
/// `count` entries, one per dimension of `what`.
mlir::LogicalResult verifyOnePerDimension(Reporter report, llvm::StringRef name, size_t count,
                                          int64_t rank, llvm::StringRef what);

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

/// `from` may be computed on as `to`: compatible, or `to` is a type of the same class (integer,
/// float, complex, quantized) that is at least as wide.
bool isPromotable(mlir::Type from, mlir::Type to);

/// Quantized types that differ in scales, zero points and quantized dimension at most.
bool haveSameStorage(mlir::Type a, mlir::Type b);

//===----------------------------------------------------------------------===//
// Computations in regions
//===----------------------------------------------------------------------===//

/// What a region of one block takes and returns.
struct Computation {
  llvm::SmallVector<mlir::Type> arguments;
  llvm::SmallVector<mlir::Type> results;
};
/// None (and no diagnostic) if the region is not one block that ends in stablehlo.return.
std::optional<Computation> findComputation(mlir::Region &region);
/// The same, with a diagnostic.
mlir::FailureOr<Computation> getComputation(Reporter report, mlir::Region &region,
                                            llvm::StringRef name);

bool isScalarOf(mlir::Type type, mlir::Type elementType);
bool isScalarPred(mlir::Type type);

/// A computation that reduces tensors of the types `inputs`, with initial values of the types
/// `inits` (none: no initial values): takes N accumulated and N new values and returns N. They are
/// scalars, or, as programs in the wild have it, tensors of some of the dimensions `rows`.
mlir::LogicalResult verifyReducer(Reporter report, mlir::Region &region, llvm::StringRef name,
                                  mlir::TypeRange inputs, mlir::TypeRange inits,
                                  llvm::ArrayRef<int64_t> rows = {});

/// The element type of result `index` of a reduction by `region`; `fallback` if the region does not
/// tell.
mlir::Type getReducedElementType(mlir::Region &region, unsigned index, mlir::Type fallback);

} // namespace cupel::stablehlo::verify
