// The expressions of -k and -m, as pytest has them: words joined by `or`, `and`, `not` and
// parentheses, `not` binding tightest. Compiled once, then evaluated for one item through a
// callback or for all items at once on bit sets, a set for each word. What a word means is the
// caller's business (Keywords.h has pytest's rules).
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::selection {

/// Which items of a table are meant, one bit an item.
class ItemSet {
public:
  ItemSet() = default;
  explicit ItemSet(size_t size, bool value = false);

  size_t size() const { return itemCount; }
  bool test(size_t item) const { return blocks[item / 64] >> (item % 64) & 1; }
  void set(size_t item) { blocks[item / 64] |= uint64_t{1} << (item % 64); }
  void reset(size_t item) { blocks[item / 64] &= ~(uint64_t{1} << (item % 64)); }
  size_t count() const;

  ItemSet &operator&=(const ItemSet &other);
  ItemSet &operator|=(const ItemSet &other);
  void flip();

  template <typename Function> void forEach(Function &&function) const {
    for (size_t i = 0; i < blocks.size(); ++i)
      for (uint64_t left = blocks[i]; left; left &= left - 1)
        function(i * 64 + size_t(__builtin_ctzll(left)));
  }
  /// The bits, 64 items a word; bits past the end are zero.
  std::span<const uint64_t> words() const { return blocks; }
  std::span<uint64_t> words() { return blocks; }

  bool operator==(const ItemSet &) const = default;

private:
  void clearTail();
  size_t itemCount = 0;
  std::vector<uint64_t> blocks;
};

class Expression {
public:
  /// Matches every item, as an empty text does.
  Expression() = default;

  /// Fails with pytest's message: `at column 5: expected right parenthesis; got end of input`.
  static Result<Expression> parse(std::string_view text);

  bool isEmpty() const { return code.empty(); }
  /// The distinct words, in the order they first occur.
  std::span<const std::string> words() const { return distinctWords; }

  /// `holds(w)` says whether words()[w] is true of the item.
  template <typename Function> bool evaluate(Function &&holds) const {
    if (code.empty())
      return true;
    bool stack[kMaxStack];
    uint32_t top = 0;
    for (const Step &step : code) {
      switch (step.kind) {
      case Step::Word:
        stack[top++] = holds(step.word);
        break;
      case Step::Not:
        stack[top - 1] = !stack[top - 1];
        break;
      case Step::And:
        --top;
        stack[top - 1] = stack[top - 1] && stack[top];
        break;
      case Step::Or:
        --top;
        stack[top - 1] = stack[top - 1] || stack[top];
        break;
      }
    }
    return stack[0];
  }

  /// All items at once. `sets[w]` are those of which words()[w] is true; all of size `itemCount`.
  ItemSet evaluate(size_t itemCount, std::span<const ItemSet *const> sets) const;

private:
  friend class ExpressionParser;
  static constexpr uint32_t kMaxStack = 256;
  struct Step {
    enum Kind : uint8_t { Word, Not, And, Or } kind;
    uint32_t word = 0;
  };
  std::vector<Step> code; ///< In reverse Polish order.
  std::vector<std::string> distinctWords;
};

} // namespace cupel::testbench::selection
