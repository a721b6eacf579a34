#include "tests/conformance/Vectors.h"

#include <algorithm>
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

static std::vector<std::string> list(const std::string &text, char separator) {
  return text == "-" ? std::vector<std::string>() : split(text, separator);
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
    rows.push_back({columns[0], split(columns[2], '+'), columns[3], list(columns[5], ','),
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

bool cupel::conformance::namesAny(std::string_view text, const std::vector<std::string> &words) {
  return std::any_of(words.begin(), words.end(), [&](const std::string &word) {
    for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      // Inside a longer word (f8E3M4 in f8E3M4FN) it is another type.
      size_t end = at + word.size();
      if (end == text.size() || !std::isalnum(static_cast<unsigned char>(text[end])))
        return true;
    }
    return false;
  });
}

std::string cupel::conformance::withoutFunctionsNaming(std::string_view text,
                                                       const std::vector<std::string> &types,
                                                       std::vector<std::string> &leftOut) {
  // Functions begin in the first column and end with a brace in the first column.
  static const std::regex name("func\\.func (?:public |private )?@\"?([A-Za-z0-9_.$-]+)");
  std::string result, comments, function;
  bool inFunction = false;
  auto flush = [&] {
    std::smatch match;
    if (namesAny(function, types)) {
      if (std::regex_search(function, match, name))
        leftOut.push_back(match[1]);
    } else {
      result += comments + function;
    }
    comments.clear();
    function.clear();
    inFunction = false;
  };
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line += '\n';
    if (inFunction) {
      function += line;
      if (line.starts_with("}"))
        flush();
    } else if (line.starts_with("func.func")) {
      function = line;
      inFunction = true;
      // A declaration is one line.
      if (line.find(" private ") != std::string::npos && line.find('{') == std::string::npos)
        flush();
    } else if (line.starts_with("//")) {
      comments += line;
    } else {
      result += comments + line;
      comments.clear();
    }
  }
  result += comments + function;
  return result;
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
