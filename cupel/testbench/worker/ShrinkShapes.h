// Makes the tensors of a program smaller: dimensions that operations hold to the same size are found
// and shrunk together, so that a program stays one. Used by whoever reduces a failing program. It
// knows of each operation which of its sizes belong together; sizes that it knows nothing of stay as
// they are.
#pragma once

#include "cupel/testbench/worker/Prepared.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace cupel::testbench::worker {

class ShapeClasses {
public:
  /// Of a program whose entry function is one list of operations. It must outlive this.
  explicit ShapeClasses(const Prepared &program);

  /// Sizes that can be made smaller, the largest first.
  struct Class {
    int64_t size = 0;
    std::vector<std::pair<mlir::Value, int64_t>> dimensions; ///< Value and dimension.
  };
  const std::vector<Class> &classes() const { return found; }

  /// The program with these classes at these sizes, and the first elements of its inputs; nothing
  /// where that is no program. What it should give is not known.
  std::optional<Prepared> shrunk(const std::vector<std::pair<size_t, int64_t>> &sizes) const;

private:
  const Prepared &whole;
  std::vector<Class> found;
};

/// The elements of a tensor up to these sizes.
tensor::Tensor firstElements(const tensor::Tensor &given, const tensor::Shape &shape);

} // namespace cupel::testbench::worker
