#include "cupel/testbench/procedures/LoaderText.h"

#include <algorithm>

namespace cupel::testbench::procedures {
namespace {

size_t lineStart(std::string_view text, size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1; // npos + 1 is 0.
}

std::string lineAt(std::string_view text, uint32_t line) {
  size_t begin = 0;
  for (uint32_t i = 1; i < line && begin < text.size(); ++i)
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  std::string_view found = text.substr(begin, text.find('\n', begin) - begin);
  size_t first = std::min(found.find_first_not_of(" \t"), found.size());
  return std::string(found.substr(first));
}

} // namespace

std::string indentOf(std::string_view text, size_t at) {
  size_t begin = lineStart(text, at), end = text.find_first_not_of(" \t", begin);
  return std::string(text.substr(begin, std::min(end, text.size()) - begin));
}

Result<LoaderFix> replaced(std::string_view text, size_t begin, size_t end, std::string_view with,
                           uint32_t line) {
  LoaderFix fix;
  fix.text = std::string(text.substr(0, begin)) + std::string(with) + std::string(text.substr(end));
  // The first line that is another one.
  size_t same = size_t(std::ranges::mismatch(text, fix.text).in2 - fix.text.begin());
  fix.line = std::max(
      line, uint32_t(1 + std::count(fix.text.begin(), fix.text.begin() + long(same), '\n')));
  fix.what = lineAt(fix.text, fix.line);
  if (Result<PythonTree> tree = PythonTree::parse(fix.text); !tree)
    return tree.error().within("after the edit");
  return fix;
}

Result<LoaderFix> inserted(std::string_view text, size_t at, std::string_view insertion,
                           uint32_t line) {
  return replaced(text, at, at, insertion, line);
}

Result<LoaderFix> insertedLine(std::string_view text, size_t at, std::string_view lines) {
  size_t end = text.find('\n', at);
  if (end == std::string_view::npos)
    return inserted(text, text.size(), "\n" + std::string(lines), 0);
  return inserted(text, end + 1, lines, 0);
}

} // namespace cupel::testbench::procedures
