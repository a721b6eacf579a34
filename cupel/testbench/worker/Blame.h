// Finds the operation that makes a test fail: the program is cut into pieces, each is fed the
// reference's values, the first piece that fails is taken apart into single operations, and where
// none of them fails alone, the smallest group that does is found. What stands in loops and branches
// is looked at too. Knows devices and comparisons only through what it is given; it never blames
// what is right alone and in its context.
#pragma once

#include "cupel/testbench/worker/Intermediates.h"
#include "cupel/testbench/worker/Probe.h"

#include <functional>

namespace cupel::testbench::worker {

struct BlameSeams {
  /// The reference's results of a piece.
  Evaluate evaluate;
  /// Whether the device gives these results; `passed` is false only where it fails as the test does.
  /// An error ends the search: nothing can be said.
  std::function<Result<TriedPiece>(Prepared &piece)> tryOnDevice;
  /// The same for several at once, in their order; empty: one after another.
  std::function<std::vector<Result<TriedPiece>>(std::span<Prepared *>)> tryAll = {};
  /// The same, where `passed` is false whatever is wrong; empty: nobody asks. A loop may have no end
  /// because something in it is wrong.
  std::function<Result<TriedPiece>(Prepared &piece)> tryForAnything = {};
  /// What the intermediate values of a piece may take; 0: anything. Pieces are made smaller for it.
  uint64_t memoryBytes = 0;
  /// False where it is known that values do not matter: `evaluate` makes them up.
  bool hasValues = true;
  /// What is tried is put into a loop, a branch, ... first (Surroundings.h).
  bool isPlaced = false;
  /// Is told how far the search is; may be empty.
  std::function<void(const std::string &line)> tell = {};
};

struct Blame {
  /// Operation: fails alone. Group: these fail together, and no fewer of them. Context: fails within
  /// the whole program alone, where its operands are right and its result is not. Accumulation:
  /// every piece is right, so that what is wrong adds up, or arises between pieces.
  enum class Kind { Operation, Group, Context, Accumulation };
  Kind kind = Kind::Accumulation;
  std::vector<BlamedOperation> operations = {}; ///< None for Accumulation.
  std::string sentence = {};                    ///< Of the smallest program that fails.
  TriedPiece tried = {};                        ///< What came of that.
  /// Of a group with wrong results: whose result is the first wrong value among them.
  std::optional<BlamedOperation> firstWrong = {};
  /// In which loop or branch it stands: "in iteration 3 of stablehlo.while (model.py:9:2)".
  std::string inside = {};
  /// What it must stand in to fail: "in a loop"; empty: it fails anywhere.
  std::string onlyIn = {};
  /// The program, with its inputs and the values that the reference has; nothing for Accumulation.
  std::optional<Prepared> program = {};
  /// Where calls are put in line it does not fail any more.
  bool needsCalls = false;
  size_t probes = 0; ///< Pieces that ran on the device.
};

/// `count` is how many pieces are tried before one of them is looked at more closely. The test must
/// be one that fails. An error says why it cannot be taken apart.
Result<Blame> findBlame(const Prepared &whole, const BlameSeams &seams, uint32_t count = 24);

/// Looks into the loop or branch that is to blame alone, and blames what is in it where that fails.
Status lookInside(Blame &blame, const BlameSeams &seams, uint32_t count);

/// Looks at the constants beside an operation that is to blame alone: blames one of them where it is
/// wrong itself, and all together where the operation is right once they are arguments.
Status lookAtConstants(Blame &blame, const BlameSeams &seams);

/// The smallest choice of operations that fails still, of one that does; deterministic.
Result<std::vector<size_t>> smallestChoice(const Intermediates &from, const BlameSeams &seams,
                                           compiler::Gives gives, Blame &blame);

/// One line: "stablehlo.tanh alone is wrong: ...".
std::string describe(const Blame &blame);

} // namespace cupel::testbench::worker
