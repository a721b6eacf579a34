// Takes the programs of a test apart into unique operations and has each tried alone: what fails
// then costs that operation and no other, and every operation is fed with the reference's values,
// never with the device's. Keeps the table on disk while it grows, so that a worker that is lost
// leaves what was known. Knows devices only through what it is given.
#pragma once

#include "cupel/frontends/ModelImport.h"
#include "cupel/results/OpTable.h"
#include "cupel/testbench/worker/Pieces.h"

#include <chrono>
#include <functional>
#include <unordered_map>

namespace cupel::testbench::worker {

struct OpByOpSeams {
  /// The reference's results of a piece.
  std::function<Result<TensorLists>(Prepared &piece)> evaluate;
  /// Tries a piece on the device and fills in what came of it, its status first. What the piece
  /// should give stands in its workload, unless nobody could evaluate it.
  std::function<void(Prepared &piece, results::OpRecord &op)> attempt;
  /// Whether there is time for another operation.
  std::function<bool()> hasTime;
};

class OpByOp {
public:
  /// `file` gets the table; operations that `doneFolder` knows of, from other models of the run,
  /// are not tried again. The table comes without operations.
  OpByOp(results::OpTable table, std::string file, std::string doneFolder);

  /// Goes through a program. An error says why it cannot be taken apart.
  Status add(const Prepared &whole, const OpByOpSeams &seams);
  /// Operators of a model that cannot be made into a program.
  void add(const frontends::ModelSurvey &survey);
  /// Writes the table; an error where it cannot be kept.
  Status save();

  const results::OpTable &table() const { return contents; }
  const std::string &path() const { return file; }
  /// Operations that had no turn, because no time was left.
  size_t waiting() const;

private:
  /// The place of an operation in the table, added where it is new; true: it is.
  std::pair<size_t, bool> place(results::OpRecord op);
  std::string doneFile(const std::string &key) const;
  bool takeOver(results::OpRecord &op) const;
  void handOn(const results::OpRecord &op) const;

  results::OpTable contents;
  std::string file, doneFolder;
  std::unordered_map<std::string, size_t> places;
  uint32_t next = 0; ///< The number of the next operation, over all graphs.
  std::chrono::steady_clock::time_point saved = {};
};

} // namespace cupel::testbench::worker
