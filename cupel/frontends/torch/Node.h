// One ATen call as a lowering sees it: arguments by their names in the operator's schema, defaults
// filled in, symbolic sizes replaced by numbers; results with the types that the program declares.
// The importer makes it; the files under ops/ use it. Complaints stick: the first one is kept, what
// is asked for afterwards yields harmless values, and the importer stops after the lowering. So a
// lowering is written straight on and never asserts on a program.
#pragma once

#include "cupel/frontends/HloBuilder.h"
#include "cupel/frontends/torch/Program.h"

namespace cupel::frontends::torch_import {

/// A Scalar argument.
struct Scalar {
  enum class Kind : uint8_t { Bool, Integer, Real, Complex } kind = Kind::Real;
  int64_t integer = 0;
  std::complex<double> number = 0; ///< Also of integers and bools.

  double real() const { return number.real(); }
};

/// What a name of the graph stands for while it is imported.
struct Item {
  mlir::Value value; ///< Null for what is no tensor.
  /// A number known at import: a size, or what was computed from sizes.
  std::optional<Scalar> number;
  /// A tensor whose value is known at import (a constant of the archive, or folded).
  std::optional<tensor::Tensor> known;
  /// The element is a Python number in the place of a tensor: it promotes like one.
  bool wrapped = false;
  /// The tensor of the graph that the value was read from; for the importer.
  std::shared_ptr<struct Alias> alias;
};

class Importer;

/// An argument, resolved.
struct Resolved {
  Argument argument;             ///< Without names of symbols: these are numbers now.
  Item item;                     ///< Of a tensor.
  llvm::SmallVector<Item> items; ///< Of a list of tensors; one without a value is None.
};

class Node {
public:
  HloBuilder &b;

  /// "aten.add.Tensor"; for an in-place call the functional operator's name.
  llvm::StringRef target() const { return name; }
  llvm::StringRef overload() const;

  // Arguments, by name. Asking for one that the schema does not have is a complaint.
  bool declares(llvm::StringRef argument) const { return find(argument); }
  /// Whether it is there and not None.
  bool has(llvm::StringRef argument) const;
  bool isTensor(llvm::StringRef argument) const;
  /// A tensor. A number where the schema has a Tensor (or a Scalar) becomes one of rank 0.
  mlir::Value in(llvm::StringRef argument);
  /// The same, converted to an element type.
  mlir::Value in(llvm::StringRef argument, mlir::Type element);
  llvm::ArrayRef<int64_t> shape(llvm::StringRef argument) {
    return HloBuilder::shapeOf(in(argument));
  }
  int64_t rank(llvm::StringRef argument) { return HloBuilder::rankOf(in(argument)); }
  mlir::Type element(llvm::StringRef argument) { return HloBuilder::elementOf(in(argument)); }
  /// Whether it is a number that promotes like a Python number.
  bool isWrapped(llvm::StringRef argument) const;
  /// Tensor[] or Tensor?[]: null where None.
  llvm::SmallVector<mlir::Value> list(llvm::StringRef argument);
  /// Value of a tensor that is known at import.
  std::optional<tensor::Tensor> known(llvm::StringRef argument) const;
  std::optional<tensor::Tensor> known(mlir::Value value) const;
  /// Strides and offset that torch's tensor has, for as_strided and its like.
  Dims strides(llvm::StringRef argument) const;
  int64_t offset(llvm::StringRef argument) const;

  int64_t integer(llvm::StringRef argument, int64_t missing = 0);
  double real(llvm::StringRef argument, double missing = 0);
  bool flag(llvm::StringRef argument, bool missing = false);
  Scalar scalar(llvm::StringRef argument);
  std::string text(llvm::StringRef argument, llvm::StringRef missing = "");
  Dims integers(llvm::StringRef argument); ///< Empty if None. One number counts as a list of one.
  llvm::SmallVector<double> reals(llvm::StringRef argument);
  llvm::SmallVector<bool> flags(llvm::StringRef argument);
  /// Null if None.
  mlir::Type dtype(llvm::StringRef argument);
  /// An int[N] argument as torch reads it: one number stands for `count` of them, empty for
  /// `missing`.
  Dims repeated(llvm::StringRef argument, size_t count, llvm::ArrayRef<int64_t> missing = {});

  /// A dimension in -rank .. rank - 1 made non-negative; a tensor of rank 0 counts as rank 1.
  int64_t dim(llvm::StringRef argument, int64_t rank);
  int64_t wrapDim(int64_t dim, int64_t rank);
  /// Several of them, without doubles; None or empty: all, if `emptyIsAll`.
  Dims dims(llvm::StringRef argument, int64_t rank, bool emptyIsAll = true);

  /// The element type torch computes in for these arguments (tensors with dimensions count before
  /// those of rank 0, and those before Python numbers); names or values.
  mlir::Type promote(llvm::ArrayRef<llvm::StringRef> arguments);
  /// What a floating-point function computes in: promoted, integers and bools become f32.
  mlir::Type promoteToFloat(llvm::ArrayRef<llvm::StringRef> arguments);
  /// The type in which torch's CPU kernels compute on this element type (f32 for bf16 and f16).
  mlir::Type computeType(mlir::Type element);

  // Results.
  size_t outputCount() const { return results.size(); }
  /// Whether anybody reads result i.
  bool wants(size_t i) const;
  /// The type the program declares for result i (of a list: its first); null if it is no tensor.
  mlir::RankedTensorType resultType(size_t i = 0) const;
  llvm::ArrayRef<int64_t> resultShape(size_t i = 0) const;
  mlir::Type resultElement(size_t i = 0) const;
  /// The declared types of a result that is a list of tensors.
  llvm::ArrayRef<mlir::RankedTensorType> resultTypes(size_t i = 0) const;
  /// The result; converted to the declared element type. A shape other than declared is a
  /// complaint.
  void out(mlir::Value value) { out(0, value); }
  void out(size_t i, mlir::Value value);
  void outList(size_t i, llvm::ArrayRef<mlir::Value> values);
  void outNumber(size_t i, Scalar number);
  /// The new value of an argument that the operator changes beside its results, as batch_norm does
  /// with its running statistics; converted to the argument's element type.
  void write(llvm::StringRef argument, mlir::Value value);

  // Complaints; all name operator, overload, argument shapes and the model's source line.
  void refuse(ErrorCode code, const std::string &message);
  /// The program contradicts itself.
  void fail(const std::string &message) { refuse(ErrorCode::InvalidModel, message); }
  /// Could be, but is not.
  void notYet(const std::string &message) { refuse(ErrorCode::NotYet, message); }
  bool failed() const;

  /// Lowers a subgraph (higher-order operators) in place.
  llvm::SmallVector<mlir::Value> inlineGraph(llvm::StringRef argument, mlir::ValueRange inputs);

private:
  friend class Importer;
  Node(Importer &importer, HloBuilder &builder, std::string name);
  const Resolved *find(llvm::StringRef argument) const;

  struct Result {
    llvm::SmallVector<mlir::RankedTensorType, 1> types;
    bool isList = false, wanted = true, isNumber = false;
    bool hasHalfParts = false; ///< Complex numbers whose parts are rounded to f16.
    llvm::SmallVector<Item, 1> items;
  };
  Importer &importer;
  std::string name;
  const GraphNode *source = nullptr;
  std::vector<std::pair<std::string, Resolved>> arguments; ///< In the schema's order.
  llvm::SmallVector<Result, 1> results;
};

} // namespace cupel::frontends::torch_import
