// Matrix products in f32: a left side of any strides times a right side that was packed once
// (weights), and batches of products with both sides as they lie (attention). Used by the runtime of
// device programs. Results do not depend on the number of threads, on how the work is cut or on the
// other rows of a product; they do depend on the instruction set (Isa.h). Nothing is allocated for
// a call beyond the scratch of the threads, nothing outside the named elements is read. Operands
// may lie anywhere; those on multiples of 64 bytes are the fastest.

#pragma once

#include "cupel/kernels/Epilogue.h"
#include "cupel/kernels/Pool.h"

#include <array>
#include <memory>
#include <string_view>

namespace cupel::kernels {

struct KernelTable;

/// Element (i, j) is data[i * rowStride + j * columnStride]; strides may be zero or negative.
struct MatrixView {
  const float *data;
  int64_t rowStride;
  int64_t columnStride = 1;
};

/// A right side in the order in which the kernels of one instruction set read it. Immutable once
/// packed and shared by copies.
class PackedMatrix {
public:
  PackedMatrix() = default;

  int64_t rows() const { return depth; }
  int64_t columns() const { return width; }
  int64_t bytes() const { return size; }
  /// As they lie: of f32 the elements in another order, with zeros between them.
  const float *elements() const { return data.get(); }

private:
  friend class PackedAccess;

  int64_t depth = 0, width = 0, size = 0;
  int64_t panels = 0;
  bool hasPairs = false; // Of bf16; else f32, whatever was packed.
  const KernelTable *kernels = nullptr;
  std::shared_ptr<float[]> data;
};

/// Packs `rows` (the depth of the product) x `columns`.
PackedMatrix packMatrix(MatrixView b, int64_t rows, int64_t columns, const Pool &pool);

/// The same in memory of the caller's: so many floats, on a multiple of 64 bytes, which live as long as the matrix is used. `packedMatrixAt` is
/// what was put there.
int64_t packedFloats(int64_t rows, int64_t columns);
void packMatrixInto(MatrixView b, int64_t rows, int64_t columns, float *memory, const Pool &pool);
PackedMatrix packedMatrixAt(float *memory, int64_t rows, int64_t columns);

/// C[0, rows) = A * B, then the epilogue. C is row-major and overlaps neither A nor B. Without `c` only the epilogue
/// sees it; that is not for a batch.
void multiply(int64_t rows, MatrixView a, const PackedMatrix &b, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool);

/// A matrix in bf16: the upper halves of floats.
struct Bf16View {
  const uint16_t *data;
  int64_t rowStride;
  int64_t columnStride = 1;
};

/// What multiplies pairs of bf16: "AMX_BF16" or "AVX512_BF16", where the processor has it and CUPEL_KERNELS lets it; else
/// empty.
std::string_view bf16Instructions();
bool multipliesBf16();

/// In bf16 with f32 sums: where the processor multiplies pairs of them (AVX512_BF16 or AMX, which take
/// denormal numbers for zero), elsewhere in f32, where each product is exact. Both are within the
/// bound of a sum in f32 in any order. A right side packed from bf16 goes with a left one in bf16.
PackedMatrix packMatrix(Bf16View b, int64_t rows, int64_t columns, const Pool &pool);
void multiply(int64_t rows, Bf16View a, const PackedMatrix &b, float *c, int64_t ldc,
              const Epilogue &epilogue, const Pool &pool);

/// Products of the same shape side by side. Batch dimensions count from the outermost; unused ones
/// are 1.
struct ProductBatch {
  static constexpr int kDimensions = 4;
  using Dimensions = std::array<int64_t, kDimensions>;

  Dimensions sizes = {1, 1, 1, 1};
  Dimensions aStrides = {}, bStrides = {}, cStrides = {};
  int64_t rows = 0, columns = 0, depth = 0;
};

/// Whether rows of A are multiplied by the single column of B where they lie, which nothing is gained by packing.
bool readsRowsOfColumn(MatrixView a, int64_t depth, int64_t columns);

/// C = A * B for each, both as they lie. An epilogue sees rows of all products one below the other:
/// `row` counts from the first product's first row, columns are a product's own.
void multiplyBatch(const ProductBatch &batch, MatrixView a, MatrixView b, float *c, int64_t ldc,
                   const Epilogue &epilogue, const Pool &pool);

} // namespace cupel::kernels
