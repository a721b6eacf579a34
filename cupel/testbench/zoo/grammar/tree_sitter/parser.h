// What the generated source of tree-sitter's Python grammar 0.23.6 expects of `tree_sitter/parser.h`
// beyond the header of the library it is linked with (0.20.7, the same binary interface). Only the
// grammar's two C files are compiled against it; nothing of ours may include it.
#pragma once

#include_next <tree_sitter/parser.h>

#ifndef ADVANCE_MAP

typedef struct {
  int32_t start;
  int32_t end;
} TSCharacterRange;

// The ranges are sorted and disjoint; both ends belong to them.
static inline bool set_contains(TSCharacterRange *ranges, uint32_t count, int32_t character) {
  uint32_t low = 0, high = count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (ranges[middle].end < character)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && ranges[low].start <= character;
}

// Pairs of a character and the state it leads to.
#define ADVANCE_MAP(...)                                                                           \
  {                                                                                                \
    static const uint16_t kPairs[] = {__VA_ARGS__};                                                \
    for (uint32_t i = 0; i < sizeof(kPairs) / sizeof(kPairs[0]); i += 2) {                         \
      if (kPairs[i] == lookahead) {                                                                \
        state = kPairs[i + 1];                                                                     \
        goto next_state;                                                                           \
      }                                                                                            \
    }                                                                                              \
  }

// The library's own macro wants the last two fields named, the grammar gives them by position.
#undef REDUCE
#define REDUCE(symbolValue, childCount, precedence, production)                                    \
  {                                                                                                \
    {                                                                                              \
      .reduce = {                                                                                  \
        .type = TSParseActionTypeReduce,                                                           \
        .symbol = symbolValue,                                                                     \
        .child_count = childCount,                                                                 \
        .dynamic_precedence = precedence,                                                          \
        .production_id = production                                                                \
      },                                                                                           \
    }                                                                                              \
  }

#endif
