// A version of the portable format, X.Y.Z, and the few facts that hang on one: which versions exist
// and which level of MLIR bytecode a version is written in. Used by the op table, by the type and
// attribute tables and by the reader and writer of portable artifacts.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace cupel::vhlo {

struct Version {
  uint32_t major = 0;
  uint32_t minor = 0;
  uint32_t patch = 0;

  constexpr auto operator<=>(const Version &) const = default;

  std::string str() const;

  /// The version without its patch number: nothing in the format ever depended on one.
  constexpr Version withoutPatch() const { return {major, minor, 0}; }

  /// Reads "1.9.0"; nothing but three decimal numbers is a version.
  static std::optional<Version> parse(llvm::StringRef text);
};

/// The newest version, in which programs are converted to and from stablehlo.
inline constexpr Version kCurrentVersion = {1, 20, 0};
/// The oldest version that is read and written.
inline constexpr Version kMinimumVersion = {0, 9, 0};

/// Reads a target version given by a user; on failure `error` says what was wrong with it.
std::optional<Version> parseTargetVersion(llvm::StringRef text, std::string &error);

/// The level of MLIR bytecode that artifacts of a version are written in.
int64_t bytecodeLevel(Version version);

} // namespace cupel::vhlo
