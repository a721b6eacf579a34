// What moved since a date: tests that fail now and did not, tests that pass now and did not, tests
// that cannot make up their minds, and tests that became worse without changing sides; and how PCCs
// drifted. From outcomes in brief, of as many runs as are given; knows no store.
#pragma once

#include "cupel/results/store/Store.h"

#include <map>
#include <string>
#include <vector>

namespace cupel::testbench::triage {

/// One outcome of a test, with what its run happened in.
struct Sighting {
  results::OutcomeRow row;
  double at = 0; ///< When its run began.
  std::string arch, device;
  std::string commit; ///< Of the run's environment; empty where it is not known.
};

struct MovementOptions {
  double pccStep = 0.001;    ///< A PCC moved: by more than this.
  double slowerFactor = 1.5; ///< Slower: by more than this factor ...
  double noiseSeconds = 0.5; ///< ... and by more than this much.
};

/// A test on one architecture and device.
struct Moved {
  std::string name, arch, device;
  std::string before, now; ///< Outcomes; before is empty where it was not there.
  std::string run;         ///< In which it was first seen to be so.
  std::string why;         ///< Reason or message of now, or what became worse.
};

struct Drift {
  std::string name, arch, device;
  double before = 0, now = 0, least = 0, most = 0;
  double slope = 0; ///< A run, by least squares.
  uint64_t runs = 0;
};

struct Movement {
  std::vector<Moved> newFailures, fixed, flaky, worse;
  std::vector<Drift> drift; ///< Most lost first.
};

/// `sightings` in any order. What a test was before is its last verdict before `since`, what it is
/// now its last one of all. Flaky: its tries in one run did not all end alike, or it passed, failed
/// and passed (or the other way round) without a change of the commit.
Movement movementSince(std::vector<Sighting> sightings, double since,
                       const MovementOptions &options = {});

} // namespace cupel::testbench::triage
