#include "cupel/compiler/backends/cpu/ElementKeys.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

/// `Stored` are the bits of elements, `KeyOf` makes numbers of them.
template <typename Stored, typename KeyOf> class KeysOfElements final : public ElementKeys {
public:
  explicit KeysOfElements(KeyOf keyOf) : keyOf(keyOf) {}
  int bits() const override { return int(sizeof(Stored)) * 8; }
  void read(const std::byte *data, int64_t first, int64_t step, int64_t begin, int64_t count, uint32_t *keys) const override {
    readInto(data, first, step, begin, count, keys);
  }
  void read(const std::byte *data, int64_t first, int64_t step, int64_t begin, int64_t count, uint64_t *keys) const override {
    readInto(data, first, step, begin, count, keys);
  }
  uint64_t at(const std::byte *data, int64_t place) const override {
    return keyOf(reinterpret_cast<const Stored *>(data)[place]);
  }

  std::optional<kernels::FloatOrder> floatOrder() const override {
    if constexpr (std::is_same_v<KeyOf, FloatKey<uint32_t>>)
      return kernels::FloatOrder{keyOf.infinity, keyOf.negativeZero, keyOf.flip, keyOf.nan};
    return std::nullopt;
  }

private:
  template <typename Wide>
  void readInto(const std::byte *data, int64_t first, int64_t step, int64_t begin, int64_t count, Wide *keys) const {
    const auto *from = reinterpret_cast<const Stored *>(data) + first + begin * step;
    if constexpr (std::is_same_v<KeyOf, FloatKey<uint32_t>> && std::is_same_v<Wide, uint32_t>)
      if (step == 1)
        return kernels::floatKeys(from, count, *floatOrder(), keys);
    KeyOf local = keyOf; // Known not to change while keys are written.
    if (step == 1)
      for (int64_t i = 0; i < count; ++i)
        keys[i] = Wide(local(from[i]));
    else
      for (int64_t i = 0; i < count; ++i)
        keys[i] = Wide(local(from[i * step]));
  }
  KeyOf keyOf;
};

class KeysOfPlaces final : public ElementKeys {
public:
  explicit KeysOfPlaces(bool isDescending) : flip(isDescending ? ~uint32_t{0} : 0) {}
  int bits() const override { return 32; }
  void read(const std::byte *, int64_t, int64_t, int64_t begin, int64_t count, uint32_t *keys) const override {
    for (int64_t i = 0; i < count; ++i)
      keys[i] = uint32_t(begin + i) ^ flip;
  }
  void read(const std::byte *, int64_t, int64_t, int64_t begin, int64_t count, uint64_t *keys) const override {
    for (int64_t i = 0; i < count; ++i)
      keys[i] = uint32_t(begin + i) ^ flip;
  }
  uint64_t at(const std::byte *, int64_t place) const override { return uint32_t(place) ^ flip; }

private:
  uint32_t flip;
};

} // namespace

std::unique_ptr<const ElementKeys> keysOf(Type element, const ElementOrder &order) {
  auto made = []<typename Stored>(auto keyOf) -> std::unique_ptr<const ElementKeys> {
    return std::make_unique<KeysOfElements<Stored, decltype(keyOf)>>(keyOf);
  };
  if (element.isF32())
    return made.operator()<uint32_t>(FloatKey<uint32_t>::of(0x7f800000, order));
  if (element.isF64())
    return made.operator()<uint64_t>(FloatKey<uint64_t>::of(0x7ff0000000000000, order));
  if (element.isF16())
    return made.operator()<uint16_t>(FloatKey<uint16_t>::of(0x7c00, order));
  if (element.isBF16())
    return made.operator()<uint16_t>(FloatKey<uint16_t>::of(0x7f80, order));
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer)
    return nullptr;
  auto ofIntegers = [&]<typename Stored>() {
    bool isSigned = !integer.isUnsigned() && integer.getWidth() > 1;
    auto sign = Stored(isSigned ? Stored{1} << (sizeof(Stored) * 8 - 1) : 0);
    return made.operator()<Stored>(IntegerKey<Stored>{sign, Stored(order.isDescending ? ~Stored{0} : Stored{0})});
  };
  switch (integer.getWidth()) {
  case 1:
  case 8: return ofIntegers.operator()<uint8_t>();
  case 16: return ofIntegers.operator()<uint16_t>();
  case 32: return ofIntegers.operator()<uint32_t>();
  case 64: return ofIntegers.operator()<uint64_t>();
  default: return nullptr;
  }
}

std::unique_ptr<const ElementKeys> keysOfPlaces(const ElementOrder &order) {
  return std::make_unique<KeysOfPlaces>(order.isDescending);
}

} // namespace cupel::compiler
