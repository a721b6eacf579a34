// A region on scalars (the body of reduce, scatter, sort, map, ...) as something a kernel can call:
// compiled once, then run over many elements at a time. Kernels look at `known()` first and take a
// typed loop for the usual reducers. Knows nothing of MLIR; the plan makes these from regions.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <optional>
#include <span>

namespace cupel::reference {

/// Bodies that kernels have loops of their own for. Operands are (accumulator, element).
enum class KnownFunction : uint8_t {
  Add,
  Multiply,
  Minimum,
  Maximum,
  And,
  Or,
  Xor,
  Second, // returns the element: scatter that overwrites
  First,  // returns the accumulator
  Less,
  Greater,
  LessEqual,
  GreaterEqual, // comparators of one pair, IEEE
  LessTotal,
  GreaterTotal, // total order on floats
};

class ElementFunction {
public:
  virtual ~ElementFunction() = default;

  virtual std::span<const tensor::ElementType> argumentTypes() const = 0;
  virtual std::span<const tensor::ElementType> resultTypes() const = 0;

  /// Which known function of one accumulator/element (or one compared pair) this is, if any.
  virtual std::optional<KnownFunction> known() const = 0;

  /// Whether several threads may call `run` at a time.
  virtual bool isParallel() const { return false; }

  /// Evaluates `lanes` independent calls: arguments[i] and results[i] point to `lanes` contiguous
  /// stored elements of the i-th type. Results may not overlap arguments. An error (a failed check,
  /// a step limit) stops the program.
  virtual Status run(std::span<const void *const> arguments, std::span<void *const> results,
                     int64_t lanes) const = 0;
};

} // namespace cupel::reference
