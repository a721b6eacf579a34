// SHA-256 (FIPS 180-4), the name that content goes by: artifacts in the results store, environments
// of models, caches. Not meant to keep secrets.
#pragma once

#include "cupel/support/Error.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace cupel {

/// Fed in pieces; `finish` may be called once.
class Sha256 {
public:
  /// By the processor's instructions for it, where it has some; tests ask for it without.
  explicit Sha256(bool isPlain = false) : isPlain(isPlain) {}
  void update(std::string_view bytes);
  /// 64 lower-case hexadecimal digits.
  std::string finish();

private:
  void blocks(const unsigned char *bytes, size_t count);
  void block(const unsigned char *bytes);

  bool isPlain;

  std::array<uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending{};
  uint64_t length = 0; ///< Bytes seen so far.
};

std::string sha256(std::string_view bytes);

} // namespace cupel
