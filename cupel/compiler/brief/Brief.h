// Kernels that are run operation by operation on short arrays, without machine code of their own: for
// what is so small that making code takes longer than running it a thousand times. Takes the kernels
// of compiler/codegen/Kernels.h; asked by the CPU backend. Results are within the same errors as those
// of code, but the same bits only where `isExact` says so: else who runs a kernel decides once which of the two it is. Nothing
// of the golden reference may appear here, which judges what this computes.

#pragma once

#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/support/Error.h"

#include <cstddef>
#include <memory>

namespace cupel::brief {

class Work {
public:
  virtual ~Work() = default;
  /// Inputs and outputs are the buffers that views refer to, in their order.
  virtual void run(const void *const *inputs, void *const *outputs, void *scratch) const = 0;

  int64_t scratchBytes = 0; ///< Memory that each call needs for itself, aligned to 64 bytes.
  double nanoseconds = 0;   ///< About how long a call takes.
};

/// An epilogue, in place on a block of a result (codegen::BlockFunction).
class BlockWork {
public:
  virtual ~BlockWork() = default;
  virtual void run(void *const *operands, float *block, int64_t stride, int64_t row, int64_t rows,
                   int64_t column, int64_t columns) const = 0;

  double nanosecondsPerElement = 0;
};

/// Whether the results of a map's body have the bits that machine code gives: all of it is rounded as
/// IEEE has it, or by the same functions.
bool isExact(mlir::Block &body);

/// ErrorCode::Unsupported for what cannot be run so or, by a first estimate, takes longer than `limit`
/// nanoseconds.
Result<std::unique_ptr<const Work>> prepare(const codegen::MapKernel &kernel, double limit);
Result<std::unique_ptr<const Work>> prepare(const codegen::RowKernel &kernel, double limit);
Result<std::unique_ptr<const Work>> prepare(const codegen::Reduction &kernel, double limit);
Result<std::unique_ptr<const BlockWork>> prepare(const codegen::BlockMap &kernel);

} // namespace cupel::brief
