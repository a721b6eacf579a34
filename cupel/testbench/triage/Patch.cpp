#include "cupel/testbench/triage/Patch.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <vector>

namespace cupel::testbench::triage {
namespace {

using Lines = std::vector<std::string_view>;

/// With their line breaks: the last line may have none.
Lines linesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

struct Edit {
  char kind; ///< ' ', '-' or '+'.
  std::string_view line;
};

/// The shortest way from one text to the other (Myers' greedy algorithm), for the middle that
/// remains once both ends are taken off.
std::vector<Edit> shortestEdits(const Lines &a, const Lines &b) {
  const int64_t n = int64_t(a.size()), m = int64_t(b.size()), most = n + m;
  std::vector<std::vector<int64_t>> trace;
  std::vector<int64_t> furthest(size_t(2 * most + 2), 0);
  auto at = [&](std::vector<int64_t> &v, int64_t k) -> int64_t & { return v[size_t(k + most)]; };
  for (int64_t d = 0; d <= most; ++d) {
    trace.push_back(furthest);
    bool isDone = false;
    for (int64_t k = -d; k <= d && !isDone; k += 2) {
      bool down = k == -d || (k != d && at(furthest, k - 1) < at(furthest, k + 1));
      int64_t x = down ? at(furthest, k + 1) : at(furthest, k - 1) + 1, y = x - k;
      while (x < n && y < m && a[size_t(x)] == b[size_t(y)])
        ++x, ++y;
      at(furthest, k) = x;
      isDone = x >= n && y >= m;
    }
    if (isDone)
      break;
  }
  std::vector<Edit> edits;
  int64_t x = n, y = m;
  for (int64_t d = int64_t(trace.size()) - 1; d >= 0; --d) {
    std::vector<int64_t> &v = trace[size_t(d)];
    int64_t k = x - y;
    bool down = k == -d || (k != d && at(v, k - 1) < at(v, k + 1));
    int64_t previousK = down ? k + 1 : k - 1;
    int64_t previousX = at(v, previousK), previousY = previousX - previousK;
    while (d > 0 ? x > previousX && y > previousY : x > 0 && y > 0)
      edits.push_back({' ', a[size_t(--x)]}), --y;
    if (d > 0)
      edits.push_back(down ? Edit{'+', b[size_t(--y)]} : Edit{'-', a[size_t(--x)]});
  }
  std::reverse(edits.begin(), edits.end());
  return edits;
}

std::string range(size_t begin, size_t count) {
  return count == 1 ? fmt::format("{}", begin + 1)
                    : fmt::format("{},{}", count ? begin + 1 : begin, count);
}

} // namespace

std::string unifiedDiff(std::string_view path, std::string_view before, std::string_view after,
                        bool existed) {
  if (before == after)
    return "";
  Lines a = linesOf(before), b = linesOf(after);
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head])
    ++head;
  while (tail < a.size() - head && tail < b.size() - head &&
         a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  std::vector<Edit> edits;
  for (size_t i = 0; i < head; ++i)
    edits.push_back({' ', a[i]});
  for (const Edit &edit : shortestEdits(Lines(a.begin() + long(head), a.end() - long(tail)),
                                        Lines(b.begin() + long(head), b.end() - long(tail))))
    edits.push_back(edit);
  for (size_t i = a.size() - tail; i < a.size(); ++i)
    edits.push_back({' ', a[i]});

  constexpr size_t kContext = 3;
  std::string text =
      fmt::format("--- {}\n+++ b/{}\n", existed ? fmt::format("a/{}", path) : "/dev/null", path);
  size_t lineA = 0, lineB = 0;
  for (size_t i = 0; i < edits.size();) {
    // The next change, and how far it and those close to it go.
    size_t first = i;
    while (first < edits.size() && edits[first].kind == ' ')
      ++first;
    if (first == edits.size())
      break;
    size_t begin = std::max(i, first >= kContext ? first - kContext : 0), last = first;
    for (size_t j = first; j < edits.size() && j <= last + 2 * kContext; ++j)
      if (edits[j].kind != ' ')
        last = j;
    size_t end = std::min(edits.size(), last + kContext + 1);
    lineA += begin - i;
    lineB += begin - i;
    size_t countA = 0, countB = 0;
    std::string body;
    for (size_t j = begin; j < end; ++j) {
      countA += edits[j].kind != '+';
      countB += edits[j].kind != '-';
      body += edits[j].kind;
      body += edits[j].line;
      if (!edits[j].line.ends_with('\n'))
        body += "\n\\ No newline at end of file\n";
    }
    text += fmt::format("@@ -{} +{} @@\n{}", range(lineA, countA), range(lineB, countB), body);
    lineA += countA;
    lineB += countB;
    i = end;
  }
  return text;
}

} // namespace cupel::testbench::triage
