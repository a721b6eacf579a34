#include "cupel/support/CommandWords.h"

#include <cctype>

namespace cupel {

Result<std::vector<std::string>> commandWords(std::string_view text) {
  std::vector<std::string> words;
  bool inWord = false;
  char quote = 0;
  auto add = [&](char c) {
    if (!inWord)
      words.emplace_back();
    inWord = true;
    if (c)
      words.back() += c;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote) {
      if (c == quote)
        quote = 0;
      else if (quote == '"' && c == '\\' && i + 1 < text.size() &&
               std::string_view("\"\\$`").find(text[i + 1]) != std::string_view::npos)
        add(text[++i]);
      else
        add(c);
    } else if (c == '\'' || c == '"') {
      quote = c;
      add(0); // '' is a word as well.
    } else if (c == '\\' && i + 1 < text.size()) {
      add(text[++i]);
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      inWord = false;
    } else {
      add(c);
    }
  }
  if (quote)
    return Error{std::string("a ") + quote + " is not closed in: " + std::string(text)};
  return words;
}

std::string quotedForShell(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(word);
  std::string quoted = "'";
  for (char c : word)
    c == '\'' ? void(quoted += "'\\''") : quoted.push_back(c);
  return quoted + "'";
}

} // namespace cupel
