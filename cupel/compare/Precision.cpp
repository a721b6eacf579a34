#include "cupel/compare/Precision.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

using namespace cupel;
using namespace cupel::compare;

// bfp8 shares an exponent among 16 numbers: a small one beside a large one has fewer bits than its 7.
static constexpr Precision kPrecisions[] = {
    {"f64", 0x1p-52}, {"f32", 0x1p-23}, {"tf32", 0x1p-10}, {"f16", 0x1p-10},
    {"bf16", 0x1p-7}, {"bfp8", 0x1p-6}, {"fp8", 0x1p-3},
};

std::span<const Precision> compare::precisions() { return kPrecisions; }

const Precision *compare::findPrecision(std::string_view name) {
  for (const Precision &precision : kPrecisions)
    if (precision.name == name)
      return &precision;
  return nullptr;
}

static Result<Precision> parseOne(std::string_view text) {
  if (const Precision *found = findPrecision(text))
    return *found;
  std::string known;
  for (const Precision &precision : kPrecisions)
    known += (known.empty() ? "" : ", ") + std::string(precision.name);
  return Error{fmt::format("'{}' is no precision that devices compute in; there are {}", text,
                           known)};
}

Result<DevicePrecision> DevicePrecision::parse(std::string_view text) {
  DevicePrecision made;
  Precision *parts[] = {&made.products, &made.rest, &made.doubles};
  size_t count = 0;
  for (size_t begin = 0; begin <= text.size(); ++count) {
    size_t end = std::min(text.find('/', begin), text.size());
    Result<Precision> one = parseOne(text.substr(begin, end - begin));
    if (!one)
      return one.error();
    if (count == std::size(parts))
      return Error{fmt::format("'{}' is no precision; write PRODUCTS, PRODUCTS/REST or "
                               "PRODUCTS/REST/DOUBLES",
                               text)};
    *parts[count] = *one;
    begin = end + 1;
  }
  if (count == 1)
    made.rest = made.products;
  return made;
}

DevicePrecision DevicePrecision::coarsenedTo(const Precision &narrow) const {
  DevicePrecision made = *this;
  for (Precision *each : {&made.products, &made.rest})
    if (each->step < narrow.step)
      *each = narrow;
  return made;
}

std::string DevicePrecision::text() const {
  if (doubles.name != "f64")
    return fmt::format("{}/{}/{}", products.name, rest.name, doubles.name);
  return products == rest ? std::string(products.name)
                          : fmt::format("{}/{}", products.name, rest.name);
}
