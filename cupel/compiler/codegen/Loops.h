// Loops over views: loop dimensions brought into the order of the memory and merged where all views
// allow, and vectors of elements read and written along the innermost one. No access leaves the
// elements that a view reaches, also where a vector is only partly filled. Used by the emitters of
// kernels.

#pragma once

#include "cupel/compiler/codegen/Emitter.h"
#include "cupel/compiler/codegen/Kernels.h"

namespace cupel::codegen {

/// Sizes of loops with the views that go with them.
struct LoopNest {
  std::vector<int64_t> sizes;
  std::vector<View> views;

  int64_t count() const; ///< The product of the sizes.
  /// Drops dimensions of size 1 and ranges that leave nothing out.
  void dropUnits();
  /// Sorts dimensions [0, sorted) by the stride of `views[leading]`, the largest first.
  void sort(size_t leading);
  /// Merges neighbours in [first, last) that are one stretch of memory in all views.
  void merge(size_t first, size_t last);
};

/// Views at one place of the outer loops: memory and the part of the row that is in it.
struct RowAccess {
  const View *view = nullptr;
  int64_t stride = 0;    ///< Along the row.
  V base = nullptr;      ///< The element at index 0 of the row (which need not be valid).
  V from = nullptr, to = nullptr; ///< What is valid, null where all is.
  V streams = nullptr; ///< Whether whole vectors are written past the caches; null where none is.
};

/// The index in each of the dimensions [0, outer) of a flat number.
SmallVector<V> unflatten(Emitter &e, ArrayRef<int64_t> sizes, V flat);
/// `stride` is that of dimension `sizes.size()`; 0 if the view has no further one.
RowAccess rowAccess(Emitter &e, const View &view, V buffer, ArrayRef<V> outer);

/// Whether what lies ahead of a row should be fetched by the way: processors that fetch ahead by
/// themselves stop at the end of a page. `count` elements are read in all.
bool isWorthFetching(const RowAccess &row, int64_t count);
/// Fetches what lies at index i of a row, which need not exist.
void fetchAhead(Emitter &e, const RowAccess &row, V i);

/// Lets whole vectors of a row that is written go past the caches, where the whole result of `count`
/// elements is large, all that the kernel reads and writes (`allBytes`) is larger than these, and a vector is a line of them. Returns whether
/// some may: then `endStreams` must stand at the function's end.
bool letStream(Emitter &e, RowAccess &row, int64_t count, int64_t allBytes);
/// Bytes that a view of a loop of such sizes touches: what it repeats counts once.
int64_t touchedBytes(const View &view, ArrayRef<int64_t> sizes);
/// Others see what went past the caches before what is written behind.
void endStreams(Emitter &e);

/// Calls `body` for the vectors of [begin, end): with `together` of them at a time, which are whole, and with
/// what is left one by one. `size` is a multiple of what there is in all, or 0 where that is not known.
void vectorLoop(Emitter &e, V begin, V end, unsigned together, int64_t size,
                MutableArrayRef<V> carried,
                llvm::function_ref<void(ArrayRef<V>, MutableArrayRef<V>)> body);

/// The element that all indices of the row share (stride 0 and no range along the row).
V loadScalar(Emitter &e, const RowAccess &access);
bool isScalarAlongRow(const View &view, size_t outer);

/// Elements [i, i + lanes) of rows, of which those below `end` exist; others have any value.
/// `whole` says that no vector is partly filled.
SmallVector<V> loadVectors(Emitter &e, ArrayRef<RowAccess> rows, V i, V end, bool whole);
void storeVectors(Emitter &e, ArrayRef<RowAccess> rows, ArrayRef<V> values, V i, V end, bool whole);
void storeScalar(Emitter &e, const RowAccess &access, V value);

} // namespace cupel::codegen
