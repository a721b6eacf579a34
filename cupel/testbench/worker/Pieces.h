// A test taken apart: its program in pieces that run one after another, each fed with the values
// that the reference has at that place. On a device of a narrow precision the noise of a whole
// model hides faults that show in a piece of it. Used by whoever judges a device by pieces; the
// values are the reference's, never the device's, so that no piece is blamed for the one before.
#pragma once

#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/testbench/worker/Prepared.h"

#include <optional>

namespace cupel::testbench::worker {

class Pieces {
public:
  /// Cuts a copy of the test's program into about `count` pieces. An error says why it cannot be
  /// cut: it checks itself, computes on pieces of whole tensors, or its calls cannot be put in
  /// line. `tells` says of each result whether it tells anything of what computed it; empty: all
  /// do.
  static Result<Pieces> of(const Prepared &whole, uint32_t count,
                           compiler::Counts counts = compiler::Counts::WhatIsNotMoved,
                           const std::vector<bool> &tells = {});
  /// With the cuts behind so many operations each (compiler::cutIntoPieces).
  static Result<Pieces> at(const Prepared &whole, std::vector<size_t> ends);

  size_t size() const { return cut.size(); }
  size_t left() const { return cut.size() - given; }
  /// A piece that has not been given yet, to look at.
  const Program &at(size_t number) const { return cut[number].read->program; }
  /// Where the next piece stands: "piece 3 of 24 (model.py:17:4)".
  std::string describeNext() const;
  /// Pieces from here on that compute something of which only results speak that tell nothing, and
  /// whether the next one does.
  size_t hidingLeft() const;
  bool nextHides() const { return given < cut.size() && cut[given].hides; }
  /// The next piece with its inputs; nothing behind the last one. What it expects is not known.
  std::optional<Prepared> next();
  /// The right results of the piece that was given last, those of several processes one after
  /// another. Must be said before the next one is taken.
  void setResults(const std::vector<tensor::Tensor> &results);

private:
  static Result<Pieces> cutBy(const Prepared &whole, const auto &how, compiler::Counts counts,
                              const std::vector<bool> &tells);

  struct Piece {
    std::unique_ptr<ProgramReader::Read> read;
    std::vector<uint32_t> takes;
    uint32_t gives = 0;
    std::string place;
    bool hides = false;
  };
  const Prepared *whole = nullptr;
  std::vector<Piece> cut;
  size_t given = 0; ///< How many pieces have been.
  size_t processes = 1;
  /// By number, of each process; those that no piece takes any more are let go of.
  std::vector<std::vector<tensor::Tensor>> values;
  std::vector<size_t> lastTaker;
};

/// Of each argument of a test, its value for each of so many processes; an error where the test
/// cannot be taken apart because of how it is run.
Result<std::vector<std::vector<tensor::Tensor>>> inputsByProcess(const Prepared &whole,
                                                                 size_t processes);

/// A part of a test as a test of its own, with these values (by argument, then by process). What it
/// expects is not known.
Prepared partOf(const Prepared &whole, std::unique_ptr<ProgramReader::Read> read,
                const std::vector<std::vector<tensor::Tensor>> &values);

} // namespace cupel::testbench::worker
