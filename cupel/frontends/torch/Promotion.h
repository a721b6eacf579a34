// The element type PyTorch computes in for several operands: tensors with dimensions count before
// tensors of rank 0, and those before Python numbers, which only raise the kind (bool, integer,
// float, complex). Used by Node and by lowerings that promote values of their own.
#pragma once

#include "cupel/frontends/torch/Node.h"

namespace cupel::frontends::torch_import {

/// The type two types promote to, ranks aside; null is nothing.
mlir::Type promoteTypes(mlir::Type a, mlir::Type b);

class Promotion {
public:
  explicit Promotion(mlir::MLIRContext *context) : context(context) {}
  void add(mlir::Value tensor);
  void add(const Scalar &number);
  /// f32 if nothing was added.
  mlir::Type result() const;

private:
  mlir::MLIRContext *context;
  mlir::Type tensors, scalars, numbers;
};

/// The value of a tensor of one element.
Scalar scalarOfTensor(const tensor::Tensor &tensor);

} // namespace cupel::frontends::torch_import
