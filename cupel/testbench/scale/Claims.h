// Who runs which block, by files in a folder that all machines share: a claim is a file that only
// one can make, its date says that its owner lives, and another file says that the block is done. A
// claim whose owner was not heard of for too long may be taken over, by making the next one. Two may
// then run one block at the same time: their outcomes are kept apart by the number of the claim.
// Needs no server; it never waits.
#pragma once

#include "cupel/testbench/scale/Progress.h"

#include <map>
#include <string>

namespace cupel::testbench::scale {

struct Claim {
  BlockPlace place;
  uint32_t generation = 0; ///< How many claimed the block before.

  /// `3.0.1`: chunk, block, generation.
  std::string name() const;
};

class Claims {
public:
  /// `staleSeconds`: after so long without a sign of life an owner is taken for dead.
  Claims(std::string folder, const Plan &plan, double staleSeconds);
  /// Makes the folder.
  Status prepare();

  /// The next block for a task of chunk `own`, claimed in the name of `owner`; nothing where all are
  /// done or somebody else's.
  Result<std::optional<Claim>> claim(uint32_t own, const std::string &owner);
  /// A sign of life; an error where the claim is gone.
  Status beat(const Claim &claim);
  /// Every test of the block has an outcome.
  Status done(const Claim &claim);
  /// It turned out not to be done.
  Status reopen(BlockPlace place);
  /// Gives a block back at once, rather than being found dead later.
  Status giveBack(const Claim &claim);

  /// Looks at the folder again.
  Status refresh();
  const Progress &progress() const { return state; }
  /// Who holds blocks now, by the names of their claims.
  const std::map<std::string, std::string> &owners() const { return holders; }

private:
  std::string path(const std::string &name) const { return folder + "/" + name; }

  std::string folder;
  std::string self; ///< A name that nobody else has, for files of our own.
  const Plan &plan;
  double staleSeconds;
  Progress state;
  std::map<BlockPlace, uint32_t> generations; ///< The newest claim of each block.
  std::map<std::string, std::string> holders;
};

} // namespace cupel::testbench::scale
