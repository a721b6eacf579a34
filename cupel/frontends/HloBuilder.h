// Writes StableHLO for frontends: tensors of static shape in, tensors out, with NumPy's
// broadcasting where that is what a frontend means. Used by the lowerings of ONNX and PyTorch
// operators, which check what users may get wrong and say it in their own words. What they let
// through that still cannot be is remembered in `problem()`, never a crash. Knows no outside
// format.
#pragma once

#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/tensor/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>

namespace cupel::frontends {

using Dims = llvm::SmallVector<int64_t, 6>;

/// What a reduction combines elements with.
enum class Fold { Add, Multiply, Max, Min, And, Or };

class HloBuilder {
public:
  /// Writes into the body of `function`, at its end. Constants go to its start, so that regions see
  /// them.
  explicit HloBuilder(mlir::func::FuncOp function);

  mlir::MLIRContext *context() { return ops.getContext(); }
  mlir::ModuleOp module();
  mlir::OpBuilder &builder() { return ops; }
  mlir::Location location() const { return loc; }
  void setLocation(mlir::Location location) { loc = location; }

  /// The first thing asked for that cannot be: shapes that do not broadcast, dimensions out of
  /// range, sizes below zero or past counting. Empty while all is well; otherwise what was written
  /// since is of no use.
  const std::string &problem() const { return impossible; }
  /// For a caller that throws away what it wrote and goes another way.
  void forgetProblem() { impossible.clear(); }
  /// Whether composites are written as such; else their decompositions stand in their place.
  bool keepsComposites() const { return compositesKept; }
  void keepComposites(bool keep) { compositesKept = keep; }
  /// Remembers `what` unless the condition holds; returns the condition.
  bool possible(bool condition, llvm::StringRef what) {
    if (!condition && impossible.empty())
      impossible = what.str();
    return condition;
  }

  // Types.
  static mlir::RankedTensorType typeOf(mlir::Value value);
  static llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }
  static int64_t rankOf(mlir::Value value) { return typeOf(value).getRank(); }
  static int64_t countOf(mlir::Value value) { return typeOf(value).getNumElements(); }
  static mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
  static bool isFloat(mlir::Value value) { return stablehlo::isFloat(elementOf(value)); }
  static bool isInteger(mlir::Value value) {
    return llvm::isa<mlir::IntegerType>(elementOf(value)) && !isBool(value);
  }
  static bool isUnsigned(mlir::Value value) { return elementOf(value).isUnsignedInteger(); }
  static bool isBool(mlir::Value value) { return elementOf(value).isInteger(1); }
  static bool isComplex(mlir::Value value) {
    return llvm::isa<mlir::ComplexType>(elementOf(value));
  }
  mlir::Type f16() { return ops.getF16Type(); }
  mlir::Type f32() { return ops.getF32Type(); }
  mlir::Type f64() { return ops.getF64Type(); }
  mlir::Type i1() { return ops.getI1Type(); }
  mlir::Type i32() { return ops.getI32Type(); }
  mlir::Type i64() { return ops.getI64Type(); }

  // Constants.
  mlir::Value constant(const tensor::Tensor &tensor);
  /// A number in every element; rounded to the type for floats, cut to it for integers.
  mlir::Value splat(double number, mlir::Type element, llvm::ArrayRef<int64_t> shape = {});
  mlir::Value splatInteger(int64_t number, mlir::Type element, llvm::ArrayRef<int64_t> shape = {});
  /// `number` in the type and shape of `value`.
  mlir::Value like(mlir::Value value, double number);
  mlir::Value integers(llvm::ArrayRef<int64_t> values); // tensor<Nxi64>
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, int64_t dimension, mlir::Type element);
  /// The smallest or largest value of a type: infinities for floats.
  mlir::Value lowest(mlir::Type element, llvm::ArrayRef<int64_t> shape = {});
  mlir::Value highest(mlir::Type element, llvm::ArrayRef<int64_t> shape = {});

  // Elementwise. Operands have one type; use `broadcast` first where shapes differ.
  template <typename Op> mlir::Value unary(mlir::Value x) {
    return ops.create<Op>(loc, mlir::TypeRange{x.getType()}, mlir::ValueRange{x});
  }
  template <typename Op> mlir::Value unary(mlir::Value x, mlir::Type element) {
    return ops.create<Op>(loc, mlir::TypeRange{withElement(x, element)}, mlir::ValueRange{x});
  }
  template <typename Op> mlir::Value binary(mlir::Value x, mlir::Value y) {
    possible(elementOf(x) == elementOf(y), "operands differ in element type");
    auto [a, b] = broadcastPair(x, y);
    return ops.create<Op>(loc, mlir::TypeRange{a.getType()}, mlir::ValueRange{a, b});
  }
  // Binary operations broadcast both operands as NumPy does.
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value subtract(mlir::Value x, mlir::Value y);
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  mlir::Value divide(mlir::Value x, mlir::Value y);
  mlir::Value remainder(mlir::Value x, mlir::Value y);
  mlir::Value maximum(mlir::Value x, mlir::Value y);
  mlir::Value minimum(mlir::Value x, mlir::Value y);
  mlir::Value power(mlir::Value x, mlir::Value y);
  mlir::Value logicalAnd(mlir::Value x, mlir::Value y);
  mlir::Value logicalOr(mlir::Value x, mlir::Value y);
  mlir::Value logicalNot(mlir::Value x);
  mlir::Value negate(mlir::Value x);
  mlir::Value abs(mlir::Value x);
  mlir::Value exp(mlir::Value x);
  mlir::Value log(mlir::Value x);
  mlir::Value sqrt(mlir::Value x);
  mlir::Value rsqrt(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  mlir::Value logistic(mlir::Value x);
  mlir::Value floor(mlir::Value x);
  mlir::Value ceil(mlir::Value x);
  mlir::Value square(mlir::Value x) { return multiply(x, x); }
  mlir::Value compare(mlir::Value x, mlir::Value y, stablehlo::ComparisonDirection direction);
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value notEqual(mlir::Value x, mlir::Value y);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value lessEqual(mlir::Value x, mlir::Value y);
  mlir::Value greater(mlir::Value x, mlir::Value y);
  mlir::Value greaterEqual(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value clamp(mlir::Value low, mlir::Value x, mlir::Value high);
  /// What lies beyond low or high is thrown back inside, as often as it takes.
  mlir::Value reflect(mlir::Value x, double low, double high);
  /// As stablehlo.convert; to i1: whether it differs from zero.
  mlir::Value convert(mlir::Value x, mlir::Type element);

  // Shapes.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcastInDim(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                             llvm::ArrayRef<int64_t> dimensions);
  /// To a shape that `x` broadcasts to by NumPy's rule.
  mlir::Value broadcastTo(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  /// The shape two shapes broadcast to; nothing if they do not.
  static std::optional<Dims> broadcastShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
  std::pair<mlir::Value, mlir::Value> broadcastPair(mlir::Value x, mlir::Value y);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> permutation);
  mlir::Value reverse(mlir::Value x, llvm::ArrayRef<int64_t> dimensions);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> start, llvm::ArrayRef<int64_t> limit,
                    llvm::ArrayRef<int64_t> stride = {});
  /// Elements start..limit of one dimension.
  mlir::Value sliceDim(mlir::Value x, int64_t dimension, int64_t start, int64_t limit,
                       int64_t stride = 1);
  mlir::Value concatenate(llvm::ArrayRef<mlir::Value> values, int64_t dimension);
  mlir::Value pad(mlir::Value x, mlir::Value value, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high, llvm::ArrayRef<int64_t> interior = {});
  mlir::Value unsqueeze(mlir::Value x, int64_t dimension);
  /// Starts are scalar integers, one a dimension; out of range they are moved inside.
  mlir::Value dynamicSlice(mlir::Value x, mlir::ValueRange starts, llvm::ArrayRef<int64_t> sizes);
  mlir::Value dynamicUpdateSlice(mlir::Value x, mlir::Value update, mlir::ValueRange starts);

  // Reductions; `keepDims` leaves reduced dimensions with size 1. Sums of narrow floats are left to
  // the executing side, as StableHLO means them.
  mlir::Value reduce(mlir::Value x, llvm::ArrayRef<int64_t> dimensions, Fold fold,
                     bool keepDims = false);
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> dimensions, bool keepDims = false);
  mlir::Value initialValue(Fold fold, mlir::Type element);
  mlir::Value fold(Fold fold, mlir::Value x, mlir::Value y);
  struct Window {
    Dims sizes, strides, baseDilations, dilations; // One a dimension; empty: ones.
    Dims low, high;                                // Padding.
  };
  mlir::Value reduceWindow(mlir::Value x, const Window &window, Fold fold);
  /// Position of the largest (smallest) element along a dimension, the first or last of equals; NaN
  /// counts as larger (smaller) than everything.
  mlir::Value argExtreme(mlir::Value x, int64_t dimension, bool largest, bool last,
                         mlir::Type index, bool keepDims);

  // Products.
  mlir::Value dotGeneral(mlir::Value x, mlir::Value y, llvm::ArrayRef<int64_t> batchX,
                         llvm::ArrayRef<int64_t> batchY, llvm::ArrayRef<int64_t> contractX,
                         llvm::ArrayRef<int64_t> contractY, mlir::Type element = {});
  /// NumPy's matmul, vectors and broadcast batches included.
  mlir::Value matmul(mlir::Value x, mlir::Value y, mlir::Type element = {});
  struct Convolution {
    Dims strides, low, high, baseDilations, kernelDilations; // One a spatial dimension.
    int64_t groups = 1;
    bool reverseKernel = false;
  };
  /// x [N, C, ...], kernel [O, C/groups, ...] -> [N, O, ...].
  mlir::Value convolution(mlir::Value x, mlir::Value kernel, const Convolution &how,
                          mlir::Type element = {});

  // Indexing. Indices are integers in range.
  /// x[..., indices, ...] along one dimension, as numpy.take.
  mlir::Value take(mlir::Value x, mlir::Value indices, int64_t dimension);
  /// result[i0, i1, ...] = x[i0, .., indices[i0, i1, ...], ..].
  mlir::Value takeAlong(mlir::Value x, mlir::Value indices, int64_t dimension);
  /// Rows of indices (last dimension) select from the leading dimensions of x after `batch` common
  /// ones.
  mlir::Value gatherNd(mlir::Value x, mlir::Value indices, int64_t batch = 0);
  /// Writes (fold empty) or folds updates into x at rows of indices.
  mlir::Value scatterNd(mlir::Value x, mlir::Value indices, mlir::Value updates,
                        std::optional<Fold> fold);
  mlir::Value scatterAlong(mlir::Value x, mlir::Value indices, mlir::Value updates,
                           int64_t dimension, std::optional<Fold> fold);
  /// Negative integers count from `size`.
  mlir::Value wrapIndices(mlir::Value indices, int64_t size);

  // Regions.
  using Body = std::function<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>;
  llvm::SmallVector<mlir::Value>
  whileLoop(mlir::ValueRange initial, const std::function<mlir::Value(mlir::ValueRange)> &condition,
            const Body &body);
  llvm::SmallVector<mlir::Value>
  ifElse(mlir::Value condition, const std::function<llvm::SmallVector<mlir::Value>()> &then,
         const std::function<llvm::SmallVector<mlir::Value>()> &otherwise);
  /// Sorts all operands along a dimension by a comparator on (a0, b0, a1, b1, ...).
  llvm::SmallVector<mlir::Value> sort(mlir::ValueRange operands, int64_t dimension, bool stable,
                                      const std::function<mlir::Value(mlir::ValueRange)> &before);
  /// `stablehlo.composite` of this name; the body becomes its decomposition. It sees its arguments
  /// only. Importers write those of a table (math/Composites.h).
  llvm::SmallVector<mlir::Value> composite(
      llvm::StringRef name, mlir::ValueRange operands, mlir::DictionaryAttr attributes,
      const std::function<llvm::SmallVector<mlir::Value>(HloBuilder &, mlir::ValueRange)> &body);

  mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> shape, mlir::Type element);

private:
  mlir::RankedTensorType withElement(mlir::Value x, mlir::Type element) {
    return tensorType(shapeOf(x), element);
  }
  /// Fills a region on scalars with one fold of its two arguments.
  void foldRegion(mlir::Region &region, mlir::Type element, std::optional<Fold> fold);
  bool isDimension(mlir::Value x, int64_t dimension) {
    return possible(dimension >= 0 && dimension < rankOf(x), "a dimension is out of range");
  }
  bool areDimensions(mlir::Value x, llvm::ArrayRef<int64_t> dimensions);
  mlir::Value extreme(mlir::Type element, llvm::ArrayRef<int64_t> shape, bool highest);

  mlir::func::FuncOp function;
  mlir::OpBuilder ops;
  mlir::Location loc;
  mlir::Operation *lastConstant = nullptr;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants;
  std::string impossible;
  bool compositesKept = true;
  llvm::StringMap<unsigned> decompositions; ///< How many of each name are made.
};

/// A tensor as an attribute of the type it has.
mlir::ElementsAttr denseAttribute(mlir::MLIRContext *context, const tensor::Tensor &tensor);
mlir::Type elementTypeFor(mlir::MLIRContext *context, tensor::DType type);

} // namespace cupel::frontends
