// MLIR 19 does not parse the element types f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E3M4 and f8E8M0FNU, nor
// constants of them. Before its parser sees a text, their names become those of stablehlo's own
// types, and constants the bits that stand for them; when programs are written the names are plain
// again, so that every newer MLIR reads them. Strings and comments are left alone, lines stay where
// they are. Used by Prepare.h on the way in and by whoever prints programs for others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cupel::bytecode {

/// `tensor<4xf8E3M4>` as `tensor<4x!stablehlo.f8E3M4>`, and `dense<1.0> : tensor<f8E3M4>` as
/// `#stablehlo.bits<dense<48> : tensor<ui8>> : tensor<!stablehlo.f8E3M4>` (as `"0x30" :
/// !vhlo.tensor_v1<!vhlo.f8E3M4_v1>` inside #vhlo.tensor_v1). Nothing where the text names none of
/// the types.
std::optional<std::string> spellRareFloats(std::string_view text);

/// The way back, for text that MLIR 19 printed.
std::string nameRareFloats(std::string text);

/// The element type at the end of an identifier ("f8E3M4", "x8xf8E3M4"), if it is one of the five.
std::optional<std::string_view> rareFloatAtEnd(std::string_view identifier);

} // namespace cupel::bytecode
