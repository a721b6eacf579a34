// Finds the operation that makes a test fail: the program is cut into pieces, each is fed the
// reference's values, the first piece that fails is cut into single operations, and where none of
// them fails alone, the smallest run of neighbours that does is found. Knows devices and comparisons
// only through what it is given; it never blames what is right alone and in its context.
#pragma once

#include "cupel/testbench/worker/Pieces.h"

#include <functional>

namespace cupel::testbench::worker {

/// What came of a piece on the device under test.
struct TriedPiece {
  bool passed = false;
  std::string sentence; ///< Why not, or how well.
};

struct BlameSeams {
  /// The reference's results of a piece.
  std::function<Result<TensorLists>(Prepared &piece)> evaluate;
  /// Whether the device gives these results. An error ends the search: nothing can be said.
  std::function<Result<TriedPiece>(Prepared &piece)> tryOnDevice;
};

/// An operation as people know it.
struct BlamedOperation {
  std::string name;  ///< `stablehlo.add`
  std::string types; ///< `(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>`
  std::string place; ///< `model.py:17:4`
  bool operator==(const BlamedOperation &) const = default;
};

struct Blame {
  /// Operation: fails alone. Group: these neighbours fail together, and no fewer of them.
  /// Accumulation: every piece is right, so that what is wrong adds up, or arises between pieces.
  enum class Kind { Operation, Group, Accumulation };
  Kind kind = Kind::Accumulation;
  std::vector<BlamedOperation> operations; ///< None for Accumulation.
  std::string sentence;                    ///< Of the smallest program that fails.
  /// That program, with its inputs and the values that the reference has; nothing for Accumulation.
  std::optional<Prepared> program;
  size_t tried = 0; ///< Pieces that ran on the device.
};

/// `count` is how many pieces are tried before one of them is looked at more closely. The test must
/// be one that fails. An error says why it cannot be taken apart.
Result<Blame> findBlame(const Prepared &whole, const BlameSeams &seams, uint32_t count = 24);

/// One line: "stablehlo.tanh alone is wrong: ...".
std::string describe(const Blame &blame);

} // namespace cupel::testbench::worker
