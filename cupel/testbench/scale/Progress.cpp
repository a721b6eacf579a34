#include "cupel/testbench/scale/Progress.h"

#include <algorithm>

namespace cupel::testbench::scale {

Progress::Progress(const Plan &plan) : plan(plan) {
  for (const Chunk &chunk : plan.chunks) {
    states.emplace_back(chunk.blocks.size(), State::Free);
    freeSeconds.push_back(chunk.seconds);
    firstFree.push_back(0);
    open += chunk.blocks.size();
  }
  free = open;
}

void Progress::set(BlockPlace place, State state) {
  State &present = states[place.chunk][place.block];
  if (present == state)
    return;
  double seconds = plan.chunks[place.chunk].blocks[place.block].seconds;
  if (present == State::Free) {
    freeSeconds[place.chunk] -= seconds;
    --free;
  }
  if (state == State::Free) {
    freeSeconds[place.chunk] += seconds;
    ++free;
    firstFree[place.chunk] = std::min(firstFree[place.chunk], place.block);
  }
  open += present == State::Done;
  open -= state == State::Done;
  present = state;
  uint32_t &first = firstFree[place.chunk];
  while (first < states[place.chunk].size() && states[place.chunk][first] != State::Free)
    ++first;
}

std::optional<BlockPlace> Progress::next(uint32_t own) const {
  auto hasFree = [&](uint32_t chunk) { return firstFree[chunk] < states[chunk].size(); };
  if (hasFree(own))
    return BlockPlace{own, firstFree[own]};
  std::optional<uint32_t> latest;
  for (uint32_t chunk = 0; chunk < plan.chunks.size(); ++chunk)
    if (plan.chunks[chunk].resources == plan.chunks[own].resources && hasFree(chunk) &&
        (!latest || freeSeconds[chunk] > freeSeconds[*latest]))
      latest = chunk;
  if (!latest)
    return std::nullopt;
  return BlockPlace{*latest, firstFree[*latest]};
}

} // namespace cupel::testbench::scale
