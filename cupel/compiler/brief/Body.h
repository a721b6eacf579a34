// A kernel's body (compiler/codegen/Body.h) as a list of loops over short arrays, one an operation.
// Made once by Brief.cpp from a block of StableHLO, which it then no longer needs.

#pragma once

#include "cupel/compiler/brief/ElementLoops.h"
#include "cupel/compiler/codegen/Kernels.h"
#include "cupel/support/Error.h"

#include <cstddef>

namespace cupel::brief {

/// Takes `count` elements of a compute type into one, which `into` holds before and after.
using CombineLoop = void (*)(const void *elements, int64_t count, void *into);
CombineLoop combineLoop(codegen::Combiner combiner, DType type);

class Body {
public:
  /// `width` elements at most are worked on at once: the length of a row, or as many elements of a map as
  /// there is room for. The block has been checked (codegen::supports); `isRow` says how.
  static Result<Body> make(mlir::Block &block, int64_t width, bool isRow);

  /// Memory that arrays take, aligned to 64 bytes.
  int64_t scratchBytes() const { return bytes; }
  /// Fills in constants, before the first `run` on this memory.
  void begin(std::byte *scratch) const;
  /// Of `count` elements; of rows all.
  void run(std::byte *scratch, int64_t count) const;

  std::byte *input(std::byte *scratch, size_t number) const { return scratch + inputs[number].place; }
  std::byte *output(std::byte *scratch, size_t number) const {
    return scratch + outputs[number].place;
  }
  bool isRowInput(size_t number) const { return inputs[number].isRow; }
  bool isRowOutput(size_t number) const { return outputs[number].isRow; }
  size_t inputCount() const { return inputs.size(); }
  size_t outputCount() const { return outputs.size(); }

  /// About how long an element takes.
  double nanosecondsPerElement() const { return nanoseconds; }
  size_t stepCount() const { return steps.size(); }

private:
  struct Array {
    int64_t place = 0;
    bool isRow = true; // Else a single element; all arrays of maps are rows.
  };
  struct Step {
    enum Kind : uint8_t { Loop, Spread, Combine } kind = Loop;
    bool isRow = true;
    uint8_t elementBytes = 0; // Of what is spread, or of a combination's result.
    ElementLoop loop = nullptr;
    CombineLoop combine = nullptr;
    int64_t in[3] = {0, 0, 0}, out = 0;
    LoopFacts facts;
  };
  struct Constant {
    int64_t place, count;
    uint64_t bits; // In the compute type.
    uint8_t elementBytes;
  };
  struct Counted { // Numbers from 0 on.
    int64_t place;
    DType type;
  };
  class Maker;

  static void spread(const std::byte *element, int64_t bytes, int64_t count, std::byte *to);

  std::vector<Step> steps;
  std::vector<Constant> constants;
  std::vector<Counted> counted;
  std::vector<Array> inputs, outputs;
  int64_t width = 0, bytes = 0;
  double nanoseconds = 0;
};

} // namespace cupel::brief
