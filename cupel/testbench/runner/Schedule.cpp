#include "cupel/testbench/runner/Schedule.h"

#include <algorithm>

namespace cupel::testbench::runner {

namespace {

/// A test that needs much waits until so many others went ahead of it; then they wait for it.
constexpr uint32_t kPatience = 16;

/// What a test is set aside where nothing is known of it, at most.
constexpr uint64_t kUnknownMemory = uint64_t{1} << 30;

} // namespace

Schedule::Schedule(std::vector<Forecast> given, std::vector<size_t> waiting,
                   const std::vector<DeviceSpec> &specs, uint64_t memoryBudget, unsigned jobs)
    : forecasts(std::move(given)), line(std::move(waiting)), memoryBudget(memoryBudget),
      defaultReservation(std::min(kUnknownMemory, memoryBudget / std::max(1u, jobs))) {
  for (const DeviceSpec &spec : specs)
    devices.push_back({spec});
  // A test nobody knows counts as the mean of those that are known.
  double sum = 0;
  size_t known = 0;
  for (size_t test : line)
    if (forecasts[test].seconds >= 0) {
      sum += forecasts[test].seconds;
      ++known;
    }
  double mean = known ? sum / double(known) : 0;
  auto seconds = [&](size_t test) {
    return forecasts[test].seconds >= 0 ? forecasts[test].seconds : mean;
  };
  std::ranges::sort(line, [&](size_t a, size_t b) {
    if (forecasts[a].group != forecasts[b].group)
      return forecasts[a].group < forecasts[b].group;
    return seconds(a) != seconds(b) ? seconds(a) > seconds(b) : a < b;
  });
}

uint64_t Schedule::reservation(size_t test) const {
  uint64_t known = forecasts[test].memoryBytes;
  return known ? known + known / 4 : defaultReservation;
}

bool Schedule::fits(size_t test, const DeviceState &device) const {
  if (device.spec.chips && device.usedChips + forecasts[test].chips > device.spec.chips)
    return false;
  // One test always may run, whatever it needs.
  return running == 0 || usedMemory + reservation(test) <= memoryBudget;
}

std::optional<size_t> Schedule::take(size_t number) {
  DeviceState &device = devices[number];
  if (device.bad)
    return std::nullopt;
  for (size_t i = at; i < line.size(); ++i) {
    if (i > at && passedOver >= kPatience)
      return std::nullopt;
    size_t test = line[i];
    if (!fits(test, device))
      continue;
    passedOver = i == at ? 0 : passedOver + 1;
    if (i == at)
      ++at;
    else
      line.erase(line.begin() + ptrdiff_t(i));
    device.usedChips += forecasts[test].chips;
    usedMemory += reservation(test);
    ++running;
    return test;
  }
  return std::nullopt;
}

void Schedule::release(size_t test, size_t number) {
  devices[number].usedChips -= forecasts[test].chips;
  usedMemory -= reservation(test);
  --running;
}

void Schedule::putBack(size_t test, bool first) {
  if (!first)
    line.push_back(test);
  else if (at)
    line[--at] = test;
  else
    line.insert(line.begin(), test);
}

std::vector<size_t> Schedule::takeAll() {
  std::vector<size_t> rest(line.begin() + ptrdiff_t(at), line.end());
  line.clear();
  at = 0;
  return rest;
}

std::vector<std::pair<size_t, std::string>> Schedule::takeHopeless() {
  uint32_t most = 0;
  bool any = false;
  for (const DeviceState &device : devices)
    if (!device.bad) {
      any = true;
      most = std::max(most, device.spec.chips ? device.spec.chips : ~0u);
    }
  std::vector<std::pair<size_t, std::string>> hopeless;
  std::vector<size_t> kept;
  for (size_t i = at; i < line.size(); ++i) {
    uint32_t needed = forecasts[line[i]].chips;
    if (!any)
      hopeless.emplace_back(line[i], "");
    else if (needed > most)
      hopeless.emplace_back(line[i], "needs " + std::to_string(needed) +
                                         " devices, and there are " + std::to_string(most));
    else
      kept.push_back(line[i]);
  }
  line = std::move(kept);
  at = 0;
  return hopeless;
}

} // namespace cupel::testbench::runner
