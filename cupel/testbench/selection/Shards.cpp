#include "cupel/testbench/selection/Shards.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <queue>

namespace cupel::testbench::selection {

Result<Shard> parseShard(std::string_view text) {
  auto number = [](std::string_view digits) -> std::optional<uint32_t> {
    uint32_t value = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size())
      return std::nullopt;
    return value;
  };
  size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    std::optional<uint32_t> index = number(text.substr(0, slash));
    std::optional<uint32_t> count = number(text.substr(slash + 1));
    if (index && count && *index >= 1 && *index <= *count)
      return Shard{*index - 1, *count};
  }
  return Error{"--shard " + std::string(text.substr(0, 40)) +
               ": expected i/n with i from 1 to n, such as 2/5"};
}

std::vector<uint32_t> assignShards(std::span<const std::optional<double>> seconds, uint32_t count) {
  std::vector<uint32_t> shards(seconds.size(), 0);
  if (count <= 1)
    return shards;
  auto isKnown = [](const std::optional<double> &s) { return s && std::isfinite(*s) && *s >= 0; };
  double sum = 0;
  size_t known = 0;
  for (const std::optional<double> &s : seconds)
    if (isKnown(s)) {
      sum += *s;
      ++known;
    }
  double average = known ? sum / double(known) : 1;
  if (average <= 0)
    average = 1;
  std::vector<double> cost(seconds.size());
  std::vector<uint32_t> order(seconds.size());
  for (uint32_t i = 0; i < seconds.size(); ++i) {
    cost[i] = isKnown(seconds[i]) ? *seconds[i] : average;
    order[i] = i;
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return cost[a] != cost[b] ? cost[a] > cost[b] : a < b; });

  // The tests in it decide between shards of equal load, so that tests that take no time at all
  // are spread too.
  struct Load {
    double seconds;
    uint32_t tests, shard;
    bool operator>(const Load &other) const {
      if (seconds != other.seconds)
        return seconds > other.seconds;
      return tests != other.tests ? tests > other.tests : shard > other.shard;
    }
  };
  std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
  for (uint32_t shard = 0; shard < std::min<size_t>(count, seconds.size()); ++shard)
    loads.push({0, 0, shard});
  for (uint32_t item : order) {
    Load least = loads.top();
    loads.pop();
    shards[item] = least.shard;
    loads.push({least.seconds + cost[item], least.tests + 1, least.shard});
  }
  return shards;
}

} // namespace cupel::testbench::selection
