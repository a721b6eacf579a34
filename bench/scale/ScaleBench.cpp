// A lab of a thousand machines, played event by event: tests are cut by the plan that `cupel` makes,
// blocks are claimed and stolen by the same decisions, machines die in the middle and are found dead
// late. Prints how long it all takes beside the least that is possible on machines that never die
// (all work shared evenly, or the longest test), whose ratio must be at most 1.1; and the same
// without stealing, and without measured durations.

#include "cupel/testbench/scale/Progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <random>
#include <string>

using namespace cupel::testbench::scale;

namespace {

struct Lab {
  uint32_t nodes = 1000, tests = 100'000;
  double deaths = 0.02;      ///< Of all machines, somewhere in the run; half of them come back.
  double unknown = 0.02;     ///< Tests that nobody measured.
  double noise = 0.25;       ///< By how much a test takes longer or shorter than it did.
  double startSeconds = 3;   ///< Of a job: the scheduler, the environment, the first worker.
  double blockSeconds = 0.3; ///< Of a block: claiming it, workers.
  double foundDead = 40;     ///< Until a claim without a sign of life is free.
  double backSeconds = 600;  ///< Until a machine that died is there again.
  uint64_t seed = 1;
  bool isStealing = true, isMeasured = true;
};

struct Outcome {
  double makespan = 0, bound = 0;
  uint64_t lost = 0, deaths = 0, stolen = 0, undone = 0;
};

/// Durations as the zoo has them: most take seconds, a few take many minutes.
double durationOf(std::mt19937_64 &random) {
  double seconds = std::lognormal_distribution<>(std::log(12.0), 1.1)(random);
  return std::clamp(seconds, 0.2, 900.0);
}

enum class What : uint8_t { Free, Finished, Died, FoundDead, Back };

struct Event {
  double time;
  What what;
  uint32_t node;
  uint64_t life; ///< Of the machine: what it had begun dies with it.
  BlockPlace block;
  bool operator>(const Event &other) const { return time > other.time; }
};

Outcome play(const Lab &lab) {
  std::mt19937_64 random(lab.seed);
  std::vector<PlannedTest> tests;
  std::vector<double> real;
  double total = 0, longest = 0;
  for (uint32_t i = 0; i < lab.tests; ++i) {
    double before = durationOf(random);
    real.push_back(before * std::exp(std::normal_distribution<>(0, lab.noise)(random)));
    total += real.back();
    longest = std::max(longest, real.back());
    bool isUnknown = !lab.isMeasured || std::uniform_real_distribution<>()(random) < lab.unknown;
    tests.push_back({"t" + std::to_string(i), "models", isUnknown ? -1 : before});
  }
  Outcome outcome;
  outcome.bound = std::max(total / lab.nodes, longest);
  Plan plan = makePlan(tests, {.slots = lab.nodes, .mostChunks = 4 * lab.nodes});
  Progress progress(plan);

  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::vector<uint64_t> lives(lab.nodes, 0);
  std::vector<bool> isUp(lab.nodes, true), isIdle(lab.nodes, false);
  std::vector<std::optional<BlockPlace>> running(lab.nodes);
  std::vector<std::optional<uint32_t>> chunkOf(lab.nodes);
  uint32_t nextChunk = 0;
  for (uint32_t node = 0; node < lab.nodes; ++node)
    events.push({std::uniform_real_distribution<>(0, 2)(random), What::Free, node, 0, {}});
  for (uint32_t node = 0; node < lab.nodes; ++node)
    if (std::uniform_real_distribution<>()(random) < lab.deaths)
      events.push({std::uniform_real_distribution<>(0, outcome.bound)(random), What::Died, node, 0, {}});

  auto wake = [&](double time) {
    for (uint32_t node = 0; node < lab.nodes; ++node)
      if (isIdle[node] && isUp[node]) {
        isIdle[node] = false;
        events.push({time, What::Free, node, lives[node], {}});
      }
  };
  auto begin = [&](double time, uint32_t node) {
    double cost = 0;
    // A task ends when its chunk is; the scheduler then starts the next one of the array.
    std::optional<BlockPlace> place;
    while (true) {
      if (chunkOf[node]) {
        place = progress.next(*chunkOf[node]);
        if (place && place->chunk != *chunkOf[node] &&
            (nextChunk < plan.chunks.size() || !lab.isStealing))
          place.reset(); // Nobody steals while whole chunks wait for a machine.
        if (place)
          break;
      }
      if (nextChunk == plan.chunks.size())
        break;
      chunkOf[node] = nextChunk++;
      cost += lab.startSeconds;
    }
    if (!place) {
      isIdle[node] = true;
      return;
    }
    outcome.stolen += place->chunk != *chunkOf[node];
    progress.set(*place, Progress::State::Claimed);
    running[node] = place;
    double seconds = lab.blockSeconds;
    for (uint32_t test : plan.chunks[place->chunk].blocks[place->block].tests)
      seconds += real[test];
    events.push({time + cost + seconds, What::Finished, node, lives[node], *place});
  };
  while (!events.empty() && !progress.isDone()) {
    Event event = events.top();
    events.pop();
    switch (event.what) {
    case What::Free:
      if (event.life == lives[event.node] && isUp[event.node])
        begin(event.time, event.node);
      break;
    case What::Finished:
      if (event.life != lives[event.node])
        break;
      progress.set(event.block, Progress::State::Done);
      running[event.node].reset();
      outcome.makespan = event.time;
      begin(event.time, event.node);
      break;
    case What::Died:
      if (!isUp[event.node])
        break;
      ++outcome.deaths;
      isUp[event.node] = isIdle[event.node] = false;
      ++lives[event.node];
      if (running[event.node]) {
        ++outcome.lost;
        events.push({event.time + lab.foundDead, What::FoundDead, event.node, 0,
                     *std::exchange(running[event.node], std::nullopt)});
      }
      if (outcome.deaths % 2)
        events.push({event.time + lab.backSeconds, What::Back, event.node, 0, {}});
      break;
    case What::FoundDead:
      progress.set(event.block, Progress::State::Free);
      wake(event.time);
      break;
    case What::Back:
      isUp[event.node] = true;
      begin(event.time, event.node);
      break;
    }
  }
  for (const Chunk &chunk : plan.chunks)
    for (uint32_t block = 0; block < chunk.blocks.size(); ++block)
      outcome.undone +=
          progress.get({uint32_t(&chunk - plan.chunks.data()), block}) != Progress::State::Done;
  return outcome;
}

double tell(const char *what, const Outcome &outcome) {
  double ratio = outcome.makespan / outcome.bound;
  std::printf("%-34s %9.0f s, at least %7.0f s: ratio %.3f; %llu machines died, %llu blocks were "
              "lost, %llu stolen%s\n",
              what, outcome.makespan, outcome.bound, ratio, (unsigned long long)outcome.deaths,
              (unsigned long long)outcome.lost, (unsigned long long)outcome.stolen,
              outcome.undone ? ", SOME WERE NEVER RUN" : "");
  return outcome.undone ? 1e9 : ratio;
}

} // namespace

int main(int count, char **arguments) {
  Lab lab;
  bool isStrict = false;
  for (int i = 1; i < count; ++i) {
    std::string word = arguments[i];
    const char *value = i + 1 < count ? arguments[i + 1] : "0";
    if (word == "--strict")
      isStrict = true;
    else if (word == "--nodes" && ++i)
      lab.nodes = uint32_t(std::max(1, std::atoi(value)));
    else if (word == "--tests" && ++i)
      lab.tests = uint32_t(std::max(1, std::atoi(value)));
    else if (word == "--deaths" && ++i)
      lab.deaths = std::atof(value);
    else if (word == "--seed" && ++i)
      lab.seed = std::strtoull(value, nullptr, 10);
    else
      return std::printf("usage: bench_scale [--nodes N] [--tests N] [--deaths SHARE] [--seed N] "
                         "[--strict]\n"),
             2;
  }
  std::printf("%u tests on %u machines\n", lab.tests, lab.nodes);
  double worst = 0;
  for (uint64_t seed = lab.seed; seed < lab.seed + 3; ++seed) {
    Lab each = lab;
    each.seed = seed;
    worst = std::max(worst, tell(("as it is, seed " + std::to_string(seed)).c_str(), play(each)));
  }
  Lab quiet = lab, greedy = lab, blind = lab;
  quiet.deaths = 0;
  worst = std::max(worst, tell("no machine dies", play(quiet)));
  // The two that show what it is good for are not judged.
  greedy.isStealing = false;
  greedy.deaths = 0;
  tell("without stealing, no machine dies", play(greedy));
  blind.isMeasured = false;
  tell("without measured durations", play(blind));
  std::printf("worst ratio %.3f (goal <= 1.1)%s\n", worst, worst > 1.1 ? "   NOT REACHED" : "");
  return isStrict && worst > 1.1;
}
