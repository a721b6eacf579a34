#include "cupel/ir/vhlo/Version.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace cupel::vhlo;

std::string Version::str() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::optional<Version> Version::parse(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  text.split(parts, '.');
  if (parts.size() != 3)
    return std::nullopt;
  uint32_t numbers[3];
  for (auto [part, number] : llvm::zip_equal(parts, numbers))
    if (!llvm::all_of(part, llvm::isDigit) || part.getAsInteger(10, number))
      return std::nullopt;
  return Version{numbers[0], numbers[1], numbers[2]};
}

std::optional<Version> cupel::vhlo::parseTargetVersion(llvm::StringRef text, std::string &error) {
  if (text.empty()) {
    error = "No target version specified.\nTarget version must be of the form `#.#.#`.";
    return std::nullopt;
  }
  if (text == "current")
    return kCurrentVersion;
  if (text == "minimum")
    return kMinimumVersion;
  std::optional<Version> version = Version::parse(text);
  if (!version) {
    error = "Invalid target version argument '" + text.str() +
            "'. Target version must be of the form `#.#.#`, for example " + kCurrentVersion.str() +
            ".";
    return std::nullopt;
  }
  if (kCurrentVersion < *version) {
    error = "target version " + version->str() + " is greater than current version " +
            kCurrentVersion.str();
    return std::nullopt;
  }
  if (*version < kMinimumVersion) {
    error = "target version " + version->str() + " is less than minimum supported version " +
            kMinimumVersion.str();
    return std::nullopt;
  }
  return version;
}

int64_t cupel::vhlo::bytecodeLevel(Version version) {
  version = version.withoutPatch();
  if (version >= Version{0, 15, 0})
    return 6;
  if (version >= Version{0, 14, 0})
    return 4;
  if (version >= Version{0, 12, 0})
    return 3;
  if (version >= Version{0, 10, 0})
    return 1;
  return 0;
}
