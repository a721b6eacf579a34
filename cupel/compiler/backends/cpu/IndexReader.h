// Reads indices of any integer type as numbers of 64 bits; one that is larger is the largest. Used by
// kernels that find places at run time.

#pragma once

#include "mlir/IR/BuiltinTypes.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

namespace cupel::compiler {

class IndexReader {
public:
  static bool reads(mlir::Type tensor) {
    auto type = mlir::dyn_cast<mlir::IntegerType>(
        mlir::cast<mlir::RankedTensorType>(tensor).getElementType());
    return type && (type.getWidth() == 8 || type.getWidth() == 16 || type.getWidth() == 32 ||
                    type.getWidth() == 64);
  }

  IndexReader() = default;
  explicit IndexReader(mlir::Type tensor) {
    auto type = mlir::cast<mlir::IntegerType>(
        mlir::cast<mlir::RankedTensorType>(tensor).getElementType());
    bytes = uint8_t((type.getWidth() + 7) / 8);
    isUnsigned = type.isUnsigned();
  }

  int width() const { return bytes; } ///< Bytes of an index.
  bool isSigned() const { return !isUnsigned; }

  int64_t read(const std::byte *from, int64_t at) const {
    switch (bytes) {
    case 1: return isUnsigned ? load<uint8_t>(from, at) : load<int8_t>(from, at);
    case 2: return isUnsigned ? load<uint16_t>(from, at) : load<int16_t>(from, at);
    case 4: return isUnsigned ? load<uint32_t>(from, at) : load<int32_t>(from, at);
    default: {
      auto value = load<int64_t>(from, at);
      return isUnsigned && value < 0 ? std::numeric_limits<int64_t>::max() : value;
    }
    }
  }

private:
  template <typename T> static int64_t load(const std::byte *from, int64_t at) {
    T value;
    std::memcpy(&value, from + at * int64_t(sizeof(T)), sizeof(T));
    return static_cast<int64_t>(value);
  }

  uint8_t bytes = 4;
  bool isUnsigned = false;
};

} // namespace cupel::compiler
