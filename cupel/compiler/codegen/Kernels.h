// What machine code is made of: a body of StableHLO operations, the loops around it, and views that
// say how each operand lies in memory. The CPU backend fills these in and hands them to Codegen.h.
// Plain values: nothing here owns memory or knows how code is made; bodies belong to the caller.

#pragma once

#include "cupel/tensor/DType.h"

#include "mlir/IR/Block.h"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace cupel::codegen {

/// Loop indices in [begin, end) are in memory; outside lies padding.
struct ValidRange {
  int64_t begin = 0, end = 0;
  bool operator==(const ValidRange &) const = default;
};

/// How an operand is reached from loop indices: element `offset + sum(index[d] * strides[d])` of
/// its buffer. A stride of 0 repeats (broadcast), a negative one runs backwards. Only loop indices
/// within all ranges of `valid` touch memory.
struct View {
  tensor::DType type = tensor::DType::F32;
  int64_t offset = 0;
  std::vector<int64_t> strides; ///< In elements, one a loop dimension.
  std::vector<ValidRange> valid; ///< One a loop dimension, or empty: no padding. Inputs only.
  uint64_t padding = 0; ///< The stored bits of the element outside, in the low bits.
  /// Of a row's input: so many neighbours along the row are one element, the next of which lies the row's stride further. More than one
  /// only without ranges, and then at least kFewestRepeated.
  int64_t repeated = 1;

  static View contiguous(tensor::DType type, const std::vector<int64_t> &sizes) {
    View view;
    view.type = type;
    view.strides.resize(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d])
      view.strides[d] = stride;
    return view;
  }
};

/// No vector has more lanes: it holds elements of two neighbours at most.
inline constexpr int64_t kFewestRepeated = 32;

/// For every index: outputs = body(inputs). The body works on 0-d tensors; its arguments are the
/// inputs, its terminator's operands the outputs. An output may lie on an input if both views are
/// the same; other overlaps are the caller's mistake.
struct MapKernel {
  std::vector<int64_t> sizes;
  std::vector<View> inputs, outputs;
  mlir::Block *body = nullptr;
};

/// For every outer index one row: outputs = body(inputs). Arguments and results of the body are
/// rows (`tensor<LENGTHxT>`) or scalars of the row (`tensor<T>`); views have a stride for each
/// outer dimension and, last, one for the row (0 for scalars). Overlaps as for maps.
struct RowKernel {
  std::vector<int64_t> outer;
  int64_t length = 0;
  std::vector<View> inputs, outputs;
  mlir::Block *body = nullptr;
  bool isReadSoon = false; ///< Results are read while they are in the cache, however many there are.
};

enum class Combiner : uint8_t { Add, Multiply, Maximum, Minimum, And, Or, Xor };

/// Reduces the loop dimensions marked in `reduced`: output = combine(initial, body(inputs) over
/// them). The body is a map's body with one result; the output's view has stride 0 along reduced
/// dimensions and may not overlap the inputs.
struct Reduction {
  std::vector<int64_t> sizes;
  std::vector<bool> reduced;
  std::vector<View> inputs;
  View output;
  Combiner combiner = Combiner::Add;
  uint64_t initial = 0; ///< Stored bits of an element of the output's type.
  mlir::Block *body = nullptr;
};

/// An epilogue: each element of a block of a row-major f32 result becomes body(element, operands)
/// in place. The body is a map's body whose first argument is the element; views of the operands
/// have two strides, along rows and along columns of the whole result. With `result`, elements are `element`, stay
/// what they are, and what is made of them is written there: one more buffer behind the operands.
struct BlockMap {
  std::vector<View> operands;
  mlir::Block *body = nullptr;
  tensor::DType element = tensor::DType::F32;
  std::optional<View> result;
};

/// The kernel of a step that is no function of a few elements.
using StepKernel = std::variant<std::monostate, MapKernel, RowKernel, Reduction>;

/// A place along one dimension that is known when the loop runs: `first` plus the index times `step`.
struct LoopIndex {
  int buffer = 0;
  tensor::DType type = tensor::DType::I32;
  int64_t offset = 0; ///< Which element of the buffer it is.
  int64_t last = 0;   ///< The largest that lies inside; the smallest is 0.
  int64_t step = 0;   ///< Elements.
};

/// Work within a loop. Buffers are numbers in the caller's table of addresses.
struct LoopStep {
  enum class Kind : uint8_t {
    Call,   ///< The caller does it, who is told `call`.
    Points, ///< A map's body on `points` elements at once, in registers; without a body, a copy.
    Kernel, ///< `kernel`, on this thread; nothing but its buffers and a little of the stack.
    Take,   ///< `points` elements of the input, from where `indices` say, held inside.
    Put,    ///< The first input's elements into the output, which lies on the second, at such a place.
    PutIf,  ///< The same, but nothing where an index lies outside.
    AddIf,  ///< Added to what is there, likewise.
  };
  Kind kind = Kind::Call;
  int64_t call = -1;
  std::vector<int> inputs, outputs;
  /// Points: one stride of 1 for what lies in step, none for a single element.
  std::vector<View> inputViews, outputViews;
  mlir::Block *body = nullptr;
  int64_t points = 1;
  StepKernel kernel;
  std::vector<LoopIndex> indices;
  tensor::DType type = tensor::DType::F32; ///< Of what is taken or put.
};

/// Steps that are repeated while the element (i1) of buffer `test` is true behind them. After each
/// repetition the addresses of `swaps` change places in the table. Buffers are written once in a
/// repetition and read after that, or before it where another lies on them. The second of a pair of
/// `inPlace` lies on the first, which the next repetition reads. What is put goes into an output
/// that lies on the memory it changes.
struct LoopKernel {
  std::vector<LoopStep> steps;
  std::vector<std::pair<int, int>> swaps, inPlace;
  std::vector<int> temporaries; ///< Nobody reads them behind the repetition that wrote them.
  int test = 0;
};

/// As many vectors of a step's points are held in registers.
inline constexpr int64_t kMostPointVectors = 4;

} // namespace cupel::codegen
