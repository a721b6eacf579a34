// A test taken apart: its program in pieces that run one after another, each fed with the values
// that the reference has at that place. On a device of a narrow precision the noise of a whole
// model hides faults that show in a piece of it. Used by whoever judges a device by pieces; the
// values are the reference's, never the device's, so that no piece is blamed for the one before.
#pragma once

#include "cupel/testbench/worker/Prepared.h"

#include <optional>

namespace cupel::testbench::worker {

class Pieces {
public:
  /// Cuts a copy of the test's program into about `count` pieces. An error says why it cannot be
  /// cut: it is for several devices, checks itself, or its calls cannot be put in line.
  static Result<Pieces> of(const Prepared &whole, uint32_t count);
  /// With the cuts behind so many operations each (compiler::cutIntoPieces).
  static Result<Pieces> at(const Prepared &whole, std::vector<size_t> ends);

  size_t size() const { return cut.size(); }
  /// A piece that has not been given yet, to look at.
  const Program &at(size_t number) const { return cut[number].read->program; }
  /// Where the next piece stands: "piece 3 of 24 (model.py:17:4)".
  std::string describeNext() const;
  /// The next piece with its inputs; nothing behind the last one. What it expects is not known.
  std::optional<Prepared> next();
  /// The right results of the piece that was given last. Must be said before the next one is taken.
  void setResults(const std::vector<tensor::Tensor> &results);

private:
  static Result<Pieces> cutBy(const Prepared &whole, const auto &how);

  struct Piece {
    std::unique_ptr<ProgramReader::Read> read;
    std::vector<uint32_t> takes;
    uint32_t gives = 0;
    std::string place;
  };
  const Prepared *whole = nullptr;
  std::vector<Piece> cut;
  size_t given = 0; ///< How many pieces have been.
  /// By number; those that no piece takes any more are let go of.
  std::vector<std::optional<tensor::Tensor>> values;
  std::vector<size_t> lastTaker;
};

} // namespace cupel::testbench::worker
