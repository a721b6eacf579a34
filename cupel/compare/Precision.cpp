#include "cupel/compare/Precision.h"

#include <fmt/format.h>

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
  size_t slash = text.find('/');
  Result<Precision> products = parseOne(text.substr(0, slash));
  if (!products)
    return products.error();
  Result<Precision> rest =
      slash == std::string_view::npos ? products : parseOne(text.substr(slash + 1));
  if (!rest)
    return rest.error();
  return DevicePrecision{*products, *rest};
}

std::string DevicePrecision::text() const {
  return products == rest ? std::string(products.name)
                          : fmt::format("{}/{}", products.name, rest.name);
}
