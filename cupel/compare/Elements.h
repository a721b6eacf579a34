// Reads the elements of any tensor as doubles, a block at a time: the common ground on which
// different types are compared. Nothing is lost: what a double cannot hold of a 64-bit integer
// comes as a second number, and quantized values are (stored - zero point) * scale.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::compare {

class ElementReader {
public:
  /// A complex element is two parts; a real tensor read with `parts` 2 has imaginary parts of zero.
  static Result<ElementReader> make(const tensor::Tensor &tensor, int parts);

  const tensor::Tensor &tensor() const { return source; }
  int parts() const { return partsPerElement; }
  int64_t size() const { return source.size() * partsPerElement; }
  /// Whether values need the second number.
  bool isWide() const { return wide; }

  /// Parts first .. first + count; value = high + low. `low` is written (and may be null) only
  /// unless `isWide`. Reads from an even part if there are two an element.
  void read(int64_t first, int64_t count, double *high, double *low) const;
  /// One part, rounded to a double.
  double at(int64_t part) const;
  /// An element as text: `digits` significant ones, or as many as tell it from its neighbours (0).
  std::string text(int64_t position, int digits) const;

private:
  tensor::Tensor source; // contiguous
  int partsPerElement = 1;
  bool wide = false;
  int64_t inner = 1; // elements a quantization slice is long
};

/// What a part is stored as: the element type of a complex number, else the type itself.
tensor::DType partType(tensor::DType type);
/// Bits behind the leading one: the precision. 0 for integers.
int mantissaBits(tensor::DType type);

} // namespace cupel::compare
