#include "cupel/ir/bytecode/DialectEncodings.h"

#include <span>

using namespace cupel::bytecode;

namespace {
using Patterns = std::span<const char *const>;

constexpr const char *kVhloAttributes[] = {
    "*",       // 0 argument result alias, unreadable
    "[a]",     // 1 array
    "v",       // 2 boolean
    "v",       // 3 comparison direction
    "v",       // 4 comparison type
    "v",       // 5 custom call api version
    "[aa]",    // 6 dictionary
    "v",       // 7 fft type
    "t*",      // 8 float, as wide as its type says
    "t*",      // 9 integer, as wide as its type says
    "[z]z[z]", // 10 output operand alias
    "v",       // 11 precision
    "v",       // 12 rng algorithm
    "v",       // 13 rng distribution
    "s",       // 14 string
    "td",      // 15 tensor
    "v",       // 16 transpose
    "t",       // 17 type
    "[z]",     // 18 type extensions
    "v",       // 19 result accuracy mode
    "zzza",    // 20 result accuracy
    "zz",      // 21 sub axis info
    "aC",      // 22 axis reference
    "aa",      // 23 replica group mesh axes
    "az",      // 24 mesh axis
    "ao",      // 25 mesh
};

constexpr const char *kVhloTypes[] = {
    "",  // 0 bool
    "t", // 1 complex
    "",
    "",
    "",
    "",
    "",
    "",       // 2-7 floats
    "[t][t]", // 8 function
    "",       // 9 index
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",        // 10-19 integers
    "St",      // 20 ranked tensor
    "aSt",     // 21 ranked tensor with encoding
    "",        // 22 token
    "[t]",     // 23 tuple
    "vttzzzz", // 24 uniform quantized
    "t",       // 25 unranked tensor
    "",        // 26 witness
    "",
    "",
    "",             // 27-29 floats
    "vttvzz[z][z]", // 30 per-axis quantized
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",
    "",    // 31-40 si2 ui2 none tf32 and small floats
    "St",  // 41 ranked buffer
    "[t]", // 42 future
};

constexpr const char *kSdyAttributes[] = {
    "[a]",                    // 0 manual axes
    "sz",                     // 1 mesh axis
    "[a][z]",                 // 2 mesh
    "zz",                     // 3 sub axis info
    "so",                     // 4 axis reference
    "[a]bv",                  // 5 dimension sharding
    "a[a][a]",                // 6 tensor sharding, first form
    "[a]",                    // 7 tensor sharding per value, first form
    "[z]",                    // 8 dimension mapping
    "[a]",                    // 9 tensor mapping
    "[z][a][a][z][z][z][z]b", // 10 operation sharding rule
    "[a]",                    // 11 axis reference list
    "[a]",                    // 12 list of axis reference lists
    "[a]zz",                  // 13 all-to-all parameter
    "[a]",                    // 14 all-to-all parameter list
    "a[a][a][a]",             // 15 tensor sharding, second form
    "[a]",                    // 16 tensor sharding per value, second form
    "a[a][a][a]z",            // 17 tensor sharding, third form
};

constexpr const char *kStablehloAttributes[] = {
    nullptr,            // 0
    "zz",               // 1 channel handle
    "v",                // 2 comparison direction
    "v",                // 3 comparison type
    "zz[z]zz[z]zz[z]",  // 4 convolution dimension numbers
    "[z][z][z][z]",     // 5 dot dimension numbers
    "v",                // 6 fft type
    "[z][z][z][z][z]z", // 7 gather dimension numbers
    "v",                // 8 precision
    "v",                // 9 rng algorithm
    "v",                // 10 rng distribution
    "[z][z][z][z][z]z", // 11 scatter dimension numbers
    "v",                // 12 transpose
    "[z]",              // 13 type extensions
    "[z]z[z]",          // 14 output operand alias
    "tttzzzb",          // 15 dot algorithm
    "v",                // 16 result accuracy mode
    "zzza",             // 17 result accuracy
    "a[a]",             // 18 replica group mesh axes
    "zz",               // 19 sub axis info
    "sc",               // 20 axis reference
    "sz",               // 21 mesh axis
    "ac",               // 22 mesh
};

constexpr const char *kStablehloTypes[] = {
    "",    // 0 token
    "[t]", // 1 future
};

constexpr const char *kChloAttributes[] = {
    "v", // 0 comparison direction
    "v", // 1 comparison type
};

constexpr const char *kQuantTypes[] = {
    nullptr,        // 0
    "vtzz",         // 1 any
    "vttzz",        // 2 any with expressed type
    "tzz",          // 3 calibrated
    "vttzzzz",      // 4 uniform
    "vttvzz[z][z]", // 5 uniform per axis
};

const char *at(Patterns patterns, uint64_t code) {
  return code < patterns.size() ? patterns[code] : nullptr;
}
} // namespace

const char *cupel::bytecode::attributePattern(std::string_view dialect, uint64_t code) {
  if (dialect == "vhlo")
    return at(kVhloAttributes, code);
  if (dialect == "stablehlo")
    return at(kStablehloAttributes, code);
  if (dialect == "sdy")
    return at(kSdyAttributes, code);
  if (dialect == "chlo")
    return at(kChloAttributes, code);
  return nullptr;
}

const char *cupel::bytecode::typePattern(std::string_view dialect, uint64_t code) {
  if (dialect == "vhlo")
    return at(kVhloTypes, code);
  if (dialect == "stablehlo")
    return at(kStablehloTypes, code);
  if (dialect == "quant")
    return at(kQuantTypes, code);
  return nullptr;
}
