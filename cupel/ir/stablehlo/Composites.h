// The composites that Cupel knows by name: the one table that frontends write them by, the compiler
// will recognise them by, and the documentation is made from (Composites.def). Holds no mathematics:
// what a composite computes is its decomposition.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cupel::stablehlo {

enum class Composite : uint8_t {
#define CUPEL_COMPOSITE(id, name, operands, attributes, meaning) id,
#include "cupel/ir/stablehlo/Composites.def"
#undef CUPEL_COMPOSITE
};

/// Lists as they stand in the table, separated by ", ".
struct CompositeForm {
  std::string_view name, operands, attributes;
};

inline constexpr auto kComposites = std::to_array<CompositeForm>({
#define CUPEL_COMPOSITE(id, name, operands, attributes, meaning) {name, operands, attributes},
#include "cupel/ir/stablehlo/Composites.def"
#undef CUPEL_COMPOSITE
});

constexpr const CompositeForm &formOf(Composite composite) {
  return kComposites[static_cast<size_t>(composite)];
}

} // namespace cupel::stablehlo
