#include "cupel/support/Sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace cupel {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#if defined(__x86_64__)

/// Whether the processor has instructions for this hash, and those that they are used with.
bool hasInstructions() {
  unsigned a, b, c, d;
  constexpr unsigned kSsse3 = 1u << 9, kSse41 = 1u << 19, kSha = 1u << 29;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & kSsse3) && (c & kSse41) &&
         __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & kSha);
}

/// Two rounds at a time by the processor's instructions, which keep a, b, e, f in one register and
/// c, d, g, h in another.
__attribute__((target("sha,sse4.1,ssse3"))) void
blocksByInstructions(uint32_t *state, const unsigned char *bytes, size_t count) {
  const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto *at = reinterpret_cast<__m128i *>(state);
  __m128i low = _mm_shuffle_epi32(_mm_loadu_si128(at), 0xb1);      // b a d c
  __m128i high = _mm_shuffle_epi32(_mm_loadu_si128(at + 1), 0x1b); // h g f e
  __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
  for (; count > 0; --count, bytes += 64) {
    __m128i abefBefore = abef, cdghBefore = cdgh, words[4];
    for (int i = 0; i < 4; ++i)
      words[i] = _mm_shuffle_epi8(
          _mm_loadu_si128(reinterpret_cast<const __m128i *>(bytes) + i), bigEndian);
#pragma clang loop unroll(full)
    for (int i = 0; i < 16; ++i) { // four rounds each
      __m128i now = words[i % 4];
      __m128i added = _mm_add_epi32(
          now, _mm_loadu_si128(reinterpret_cast<const __m128i *>(kRound + 4 * i)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, added);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(added, 0x0e));
      // The four words that are sixteen further on.
      __m128i next = words[(i + 1) % 4], third = words[(i + 2) % 4], last = words[(i + 3) % 4];
      __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(now, next), _mm_alignr_epi8(last, third, 4));
      words[i % 4] = _mm_sha256msg2_epu32(sum, last);
    }
    abef = _mm_add_epi32(abef, abefBefore);
    cdgh = _mm_add_epi32(cdgh, cdghBefore);
  }
  low = _mm_shuffle_epi32(abef, 0x1b), high = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(at, _mm_blend_epi16(low, high, 0xf0));
  _mm_storeu_si128(at + 1, _mm_alignr_epi8(high, low, 8));
}

#endif

} // namespace

void Sha256::blocks(const unsigned char *bytes, size_t count) {
#if defined(__x86_64__)
  static const bool isFast = hasInstructions();
  if (isFast && !isPlain)
    return blocksByInstructions(state.data(), bytes, count);
#endif
  for (; count > 0; --count, bytes += 64)
    block(bytes);
}

void Sha256::block(const unsigned char *bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(bytes[4 * i]) << 24 | uint32_t(bytes[4 * i + 1]) << 16 |
           uint32_t(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3);
    uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                  ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  uint32_t add[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += add[i];
}

void Sha256::update(std::string_view bytes) {
  size_t filled = length % 64;
  length += bytes.size();
  while (!bytes.empty()) {
    if (filled == 0 && bytes.size() >= 64) {
      size_t count = bytes.size() / 64;
      blocks(reinterpret_cast<const unsigned char *>(bytes.data()), count);
      bytes.remove_prefix(64 * count);
      continue;
    }
    size_t take = std::min(bytes.size(), 64 - filled);
    std::memcpy(pending.data() + filled, bytes.data(), take);
    bytes.remove_prefix(take);
    filled += take;
    if (filled == 64) {
      blocks(pending.data(), 1);
      filled = 0;
    }
  }
}

std::string Sha256::finish() {
  uint64_t bits = length * 8;
  std::string padding(1, char(0x80));
  padding.append((119 - length % 64) % 64, '\0');
  for (int shift = 56; shift >= 0; shift -= 8)
    padding.push_back(char(bits >> shift));
  update(padding);
  std::string hex;
  for (uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4)
      hex.push_back("0123456789abcdef"[word >> shift & 15]);
  return hex;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

} // namespace cupel
