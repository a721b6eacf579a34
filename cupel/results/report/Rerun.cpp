#include "cupel/results/report/Rerun.h"

#include "cupel/results/report/Text.h"

#include <algorithm>
#include <cctype>

namespace cupel::results {

std::string shellWord(std::string_view text) {
  auto plain = [](unsigned char c) {
    return std::isalnum(c) ||
           std::string_view("_-./:=@%+,~").find(char(c)) != std::string_view::npos;
  };
  if (!text.empty() && text.front() != '~' && std::all_of(text.begin(), text.end(), plain))
    return std::string(text);
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string wordsToRunAgain(const RunInfo &run, bool otherSelection) {
  static constexpr std::string_view kDropped[] = {"-R", "--junitxml", "--json", "--markdown",
                                                  "--results"};
  static constexpr std::string_view kSelecting[] = {"--shard", "-k", "-m", "--preset"};
  std::string text;
  const std::vector<std::string> &words = run.commandLine;
  bool known = words.size() >= 2 && words[1] == "run" &&
               std::find(words.begin(), words.end(), "--resume") == words.end();
  for (size_t i = 2; known && i < words.size(); ++i) {
    std::string_view option = std::string_view(words[i]).substr(0, words[i].find('='));
    auto isOneOf = [&](auto &list) {
      return std::find(std::begin(list), std::end(list), option) != std::end(list);
    };
    if (isOneOf(kDropped) || (otherSelection && isOneOf(kSelecting))) {
      i += option.size() == words[i].size(); // Its value is the next word.
      continue;
    }
    if (words[i].starts_with("-R") || words[i] == "--" ||
        (otherSelection && words[i].find("::") != std::string::npos))
      continue;
    text += " " + shellWord(words[i]);
  }
  if (!known && !run.device.empty())
    text += " --device " + shellWord(run.device);
  if (!known && !run.arch.empty())
    text += " --arch " + shellWord(run.arch);
  return text;
}

std::string rerunCommand(const RunInfo &run, const TestRecord &record, std::string_view tail,
                         std::string_view here) {
  std::string command = "cupel run" + wordsToRunAgain(run, /*otherSelection=*/true);
  command += " " + shellWord(record.fullName());
  command += tail;
  auto folder = run.environment.find("folder");
  if (folder != run.environment.end() && folder->second != here)
    command = "cd " + shellWord(folder->second) + " && " + command;
  return oneLine(command);
}

} // namespace cupel::results
