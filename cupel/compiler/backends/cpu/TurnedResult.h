// Blocks of a convolution's result on their way to where channels lie first: an epilogue around another one, which takes each finished block
// from the kernel, whose rows are pixels, and writes its columns. Used by ConvolutionKernel; kernels get no place for a result then.

#pragma once

#include "cupel/kernels/Epilogue.h"
#include "cupel/kernels/Isa.h"

#include <algorithm>

namespace cupel::compiler {

class TurnedResult {
public:
  /// `end` and this hold as long as the call does. An image of the result has so many pixels of each of so many channels.
  TurnedResult(const kernels::Epilogue &end, float *result, int64_t pixels, int64_t channels)
      : end(end), result(result), pixels(pixels), channels(channels), operand(this), whole(end) {
    whole.function = &turn;
    whole.operands = &operand;
    whole.takesUnits = true; // A few pixels of many channels are written part of a line by part of a line.
  }
  TurnedResult(const TurnedResult &) = delete;
  TurnedResult &operator=(const TurnedResult &) = delete;

  const kernels::Epilogue &epilogue() const { return whole; }

private:
  static void turn(void *const *operands, float *block, int64_t stride, int64_t row, int64_t rows, int64_t column, int64_t columns) {
    const auto &self = *static_cast<const TurnedResult *>(operands[0]);
    if (self.end.function)
      self.end.function(self.end.operands, block, stride, row, rows, column, columns);
    for (int64_t endRow = row + rows; row < endRow;) { // One image after the other.
      int64_t image = row / self.pixels, pixel = row % self.pixels, count = std::min(endRow - row, self.pixels - pixel);
      kernels::currentKernels().transpose(block, stride, count, columns, self.result + (image * self.channels + column) * self.pixels + pixel,
                                          self.pixels, /*isLarge=*/false);
      block += count * stride;
      row += count;
    }
  }

  const kernels::Epilogue &end;
  float *result;
  int64_t pixels, channels;
  void *operand;
  kernels::Epilogue whole;
};

} // namespace cupel::compiler
