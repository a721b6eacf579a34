#include "cupel/frontends/ShapeOption.h"

#include <charconv>
#include <fmt/format.h>

namespace cupel::frontends {

Result<std::map<std::string, std::vector<int64_t>>>
parseShapes(const std::vector<std::string> &texts) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string &text : texts) {
    // Names may hold an equals sign, sizes never do.
    size_t equals = text.rfind('=');
    auto wrong = [&] {
      return Error{fmt::format("--shape {}: wants NAME=2x3, or NAME= for a scalar", text)};
    };
    if (equals == std::string::npos || equals == 0)
      return wrong();
    std::vector<int64_t> sizes;
    std::string_view rest = std::string_view(text).substr(equals + 1);
    while (!rest.empty()) {
      int64_t size = 0;
      auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
      if (error != std::errc() || size < 0)
        return wrong();
      rest.remove_prefix(size_t(end - rest.data()));
      if (!rest.empty() && (rest[0] != 'x' || rest.size() == 1))
        return wrong();
      if (!rest.empty())
        rest.remove_prefix(1);
      sizes.push_back(size);
    }
    if (!shapes.emplace(text.substr(0, equals), std::move(sizes)).second)
      return Error{fmt::format("--shape {}: this input has a shape already", text)};
  }
  return shapes;
}

} // namespace cupel::frontends
