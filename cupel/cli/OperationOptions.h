// Options of single operations as one table: the worker does them (GraphEdits.cpp), forms of the pages
// and --help are made of it. Holds no MLIR, so that all of them can read it.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace cupel::cli {

enum class OperationOption : unsigned char {
#define OPERATION_OPTION(enumerator, name, choices, label, help) enumerator,
#include "cupel/cli/OperationOptions.def"
};

struct OperationOptionInfo {
  OperationOption option;
  std::string_view name;
  std::string_view choices; ///< Separated by spaces; empty: the name says all.
  std::string_view label, help;
};

inline constexpr auto kOperationOptions = std::to_array<OperationOptionInfo>({
#define OPERATION_OPTION(enumerator, name, choices, label, help)                                   \
  {OperationOption::enumerator, name, choices, label, help},
#include "cupel/cli/OperationOptions.def"
});

/// `fusion-barrier (...), precision=bf16|f16|tf32|fp8 (...) and placement=reference (...)`, or the
/// names alone.
inline std::string listOperationOptions(bool withHelp) {
  std::string text;
  for (const OperationOptionInfo &one : kOperationOptions) {
    if (!text.empty())
      text += &one == &kOperationOptions.back() ? " or " : ", ";
    text += one.name;
    if (!one.choices.empty())
      text += "=";
    for (char c : one.choices)
      text += c == ' ' ? '|' : c;
    if (withHelp)
      text += " (" + std::string(one.help) + ")";
  }
  return text;
}

} // namespace cupel::cli
