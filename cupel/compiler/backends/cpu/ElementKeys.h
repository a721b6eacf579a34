// Elements as unsigned numbers whose order is the one that a comparator asks for (Comparator.h).

#pragma once

#include "cupel/compiler/backends/cpu/Comparator.h"
#include "cupel/kernels/Keys.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>

namespace cupel::compiler {

/// Without branches, so that compilers make vectors of it.
template <typename Bits> struct FloatKey {
  Bits infinity;     // Magnitudes above it are NaN; the largest of all where there is none.
  Bits negativeZero; // Becomes zero.
  Bits flip;         // All ones: the other way round.
  Bits nan;
  static FloatKey of(Bits infinity, const ElementOrder &order) {
    constexpr auto kSign = Bits(Bits{1} << (sizeof(Bits) * 8 - 1)), kAll = Bits(~Bits{0});
    return {order.isCanonical ? infinity : Bits(kSign - 1), order.isCanonical ? kSign : Bits{0},
            order.isDescending ? kAll : Bits{0}, order.nansFirst ? Bits{0} : kAll};
  }
  Bits operator()(Bits bits) const {
    constexpr int kTop = sizeof(Bits) * 8 - 1;
    constexpr auto kSign = Bits(Bits{1} << kTop);
    bits = bits == negativeZero ? Bits{0} : bits;
    auto negative = Bits(std::make_signed_t<Bits>(bits) >> kTop);
    auto key = Bits(bits ^ (negative | kSign) ^ flip);
    return Bits(bits & Bits(~kSign)) > infinity ? nan : key;
  }
};
template <typename Bits> struct IntegerKey {
  Bits sign, flip;
  Bits operator()(Bits bits) const { return Bits(bits ^ sign ^ flip); }
};

/// Keys of the elements of lines, which lie `step` apart.
class ElementKeys {
public:
  virtual ~ElementKeys() = default;
  virtual int bits() const = 0;
  /// Of elements [begin, begin + count) of the line whose element 0 is number `first`.
  virtual void read(const std::byte *data, int64_t first, int64_t step, int64_t begin, int64_t count, uint32_t *keys) const = 0;
  virtual void read(const std::byte *data, int64_t first, int64_t step, int64_t begin, int64_t count, uint64_t *keys) const = 0;
  /// How keys are made of floats of 32 bits; nothing of other elements.
  virtual std::optional<kernels::FloatOrder> floatOrder() const { return std::nullopt; }
  /// Of one element.
  virtual uint64_t at(const std::byte *data, int64_t place) const = 0;
};

/// Null where elements of the type have no such numbers.
std::unique_ptr<const ElementKeys> keysOf(mlir::Type element, const ElementOrder &order);
/// Of what a launch counts: an element's key is its place in its line.
std::unique_ptr<const ElementKeys> keysOfPlaces(const ElementOrder &order);

} // namespace cupel::compiler
