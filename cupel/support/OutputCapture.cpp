#include "cupel/support/OutputCapture.h"

#include <algorithm>

namespace cupel {

void OutputCapture::append(std::string_view bytes) {
  count += bytes.size();
  size_t first = std::min<size_t>(bytes.size(), half - std::min<uint64_t>(half, head.size()));
  head.append(bytes.substr(0, first));
  bytes.remove_prefix(first);
  if (bytes.size() > half)
    bytes.remove_prefix(bytes.size() - half);
  tail.append(bytes);
  // Cut now and then, not every time.
  if (tail.size() > 2 * half + 4096)
    tail.erase(0, tail.size() - half);
}

void OutputCapture::clear() {
  count = 0;
  head.clear();
  tail.clear();
}

std::string OutputCapture::text(uint64_t most) const {
  uint64_t kept = std::min(half, most / 2);
  std::string_view begin = head, end = tail;
  if (count <= 2 * kept)
    return head + tail;
  if (tail.empty())
    end = begin; // All of it is in the head.
  begin = begin.substr(0, kept);
  end.remove_prefix(end.size() - std::min<uint64_t>(kept, end.size()));
  uint64_t missing = count - begin.size() - end.size();
  std::string result(begin);
  if (missing)
    result += "\n[... " + std::to_string(missing) + " of " + std::to_string(count) +
              " bytes of output left out ...]\n";
  return result.append(end);
}

std::string OutputCapture::lastLine() const {
  std::string all = text();
  size_t end = all.find_last_not_of(" \t\r\n");
  if (end == std::string::npos)
    return {};
  size_t begin = all.rfind('\n', end);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return all.substr(begin, end + 1 - begin);
}

} // namespace cupel
