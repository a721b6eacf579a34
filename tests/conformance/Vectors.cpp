#include "tests/conformance/Vectors.h"

#include <fstream>
#include <regex>
#include <sstream>

using namespace cupel::conformance;

static std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos)
      return parts;
    begin = end + 1;
  }
}

std::optional<std::string> cupel::conformance::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return std::nullopt;
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

std::optional<std::vector<Row>> cupel::conformance::readManifest(const std::string &folder) {
  std::optional<std::string> text = readFile(folder + "/manifest.tsv");
  if (!text)
    return std::nullopt;
  std::vector<Row> rows;
  for (const std::string &line : split(*text, '\n')) {
    std::vector<std::string> columns = split(line, '\t');
    if (columns.size() < 6 || columns[0] == "path")
      continue;
    rows.push_back({columns[0], split(columns[2], '+'), columns[3],
                    columns[4] == "-" ? "" : columns[4]});
  }
  return rows;
}

std::optional<std::vector<Exception>> cupel::conformance::readExceptions(const std::string &path) {
  std::optional<std::string> text = readFile(path);
  if (!text)
    return std::nullopt;
  std::vector<Exception> exceptions;
  for (const std::string &line : split(*text, '\n')) {
    std::vector<std::string> columns = split(line, '\t');
    if (columns.size() == 3 && columns[0].front() != '#')
      exceptions.push_back({columns[0], columns[1], columns[2]});
  }
  return exceptions;
}

std::vector<Chunk> cupel::conformance::splitChunks(std::string_view text) {
  std::vector<Chunk> chunks(1);
  std::string padding;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    padding += '\n';
    // Anywhere in a line, as MLIR's tools split.
    if (size_t separator = line.find("// -----"); separator != std::string::npos) {
      chunks.back().text += line.substr(0, separator) + '\n';
      chunks.push_back({padding, chunks.size()});
      continue;
    }
    chunks.back().text += line + '\n';
  }
  return chunks;
}

std::vector<ExpectedError> cupel::conformance::expectedErrors(std::string_view text) {
  static const std::regex comment("expected-error *(?:@([+-][0-9]+))? *\\{\\{(.*?)\\}\\}");
  std::vector<ExpectedError> errors;
  std::istringstream lines{std::string(text)};
  long number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (line.find("//") != std::string::npos && std::regex_search(line, match, comment))
      errors.push_back({number + (match[1].matched ? std::stol(match[1]) : 0), match[2]});
  }
  return errors;
}

std::optional<std::string> cupel::conformance::versionInName(std::string_view path) {
  static const std::regex version("\\.([0-9]+)_([0-9]+)_([0-9]+)\\.mlir");
  std::match_results<std::string_view::const_iterator> match;
  if (!std::regex_search(path.begin(), path.end(), match, version))
    return std::nullopt;
  return match[1].str() + "." + match[2].str() + "." + match[3].str();
}
