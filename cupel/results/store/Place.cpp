#include "cupel/results/store/Place.h"

namespace cupel::results {

bool isDatabaseAddress(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

StorePlace StorePlace::of(std::string text, std::string files) {
  if (isDatabaseAddress(text))
    return {std::move(files), std::move(text)};
  return {std::move(text), {}};
}

} // namespace cupel::results
