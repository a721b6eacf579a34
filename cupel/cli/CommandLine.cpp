#include "cupel/cli/CommandLine.h"
#include "cupel/support/Error.h"

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace cupel::cli {

CommandLine::CommandLine(std::string verb, std::string description)
    : app(std::move(description)), verb(std::move(verb)) {
  app.name("cupel " + this->verb);
}

void CommandLine::example(std::string_view command, std::string_view meaning) {
  examples += fmt::format("  {:<32} {}\n", command, meaning);
}

std::optional<int> CommandLine::parse(const Arguments &arguments) {
  app.footer("Examples:\n" + examples);
  Arguments reversed(arguments.rbegin(), arguments.rend()); // CLI11 takes them from the back.
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp &) {
    // A verb with actions shows the options of each.
    bool hasActions = !app.get_subcommands({}).empty();
    fmt::print("{}",
               app.help("", hasActions ? CLI::AppFormatMode::All : CLI::AppFormatMode::Normal));
    return kExitSuccess;
  } catch (const CLI::ParseError &error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return reportError(verb, fmt::format("{} (cupel {} --help explains)", message, verb),
                       kExitUsage);
  }
  return std::nullopt;
}

} // namespace cupel::cli
