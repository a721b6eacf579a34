#include "cupel/cli/CommandLine.h"
#include "cupel/support/CommandLineMistakes.h"
#include "cupel/support/Error.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace cupel::cli {

Option &Option::placeholder(const std::string &text) {
  option->type_name(text);
  return *this;
}

Option &Option::required(bool yes) {
  option->required(yes);
  return *this;
}

Option &Option::oneOf(const std::vector<std::string> &words) {
  option->check(CLI::IsMember(words));
  return *this;
}

Option &Option::between(double low, double high) {
  // By itself it would call every number FLOAT, whole ones too.
  option->check(CLI::Range(low, high, "between").description(fmt::format("{} to {}", low, high)));
  return *this;
}

Option &Option::positive() {
  option->check(CLI::PositiveNumber);
  return *this;
}

Option &Option::needs(const std::string &other) {
  option->needs(other);
  return *this;
}

Option &Option::excludes(const Option &other) {
  option->excludes(other.option);
  return *this;
}

Option &Option::showDefault() {
  option->capture_default_str();
  return *this;
}

Option &Option::repeatable() {
  option->expected(1)->take_all();
  return *this;
}

Option &Option::oneValueEach() {
  option->allow_extra_args(false);
  return *this;
}

Option &Option::delimiter(char between) {
  option->delimiter(between);
  return *this;
}

Option Options::option(const std::string &name, std::string &value, const std::string &help) {
  return Option(app->add_option(name, value, help));
}

Option Options::option(const std::string &name, std::vector<std::string> &value,
                       const std::string &help) {
  return Option(app->add_option(name, value, help));
}

Option Options::option(const std::string &name, uint32_t &value, const std::string &help) {
  return Option(app->add_option(name, value, help));
}

Option Options::option(const std::string &name, uint64_t &value, const std::string &help) {
  return Option(app->add_option(name, value, help));
}

Option Options::option(const std::string &name, double &value, const std::string &help) {
  return Option(app->add_option(name, value, help));
}

Option Options::flag(const std::string &name, bool &value, const std::string &help) {
  return Option(app->add_flag(name, value, help));
}

Option Options::added(const std::string &name) { return Option(app->get_option(name)); }

bool Options::given(const std::string &name) const { return app->count(name) > 0; }

Options Options::action(const std::string &name, const std::string &help) {
  app->require_subcommand(1);
  return Options(app->add_subcommand(name, help));
}

bool Options::chosen() const { return app->parsed(); }

CommandLine::CommandLine(std::string verb, std::string description)
    : Options(nullptr), owned(std::make_unique<CLI::App>(std::move(description))),
      verb(std::move(verb)) {
  app = owned.get();
  app->name("cupel " + this->verb);
}

CommandLine::~CommandLine() = default;

void CommandLine::example(std::string_view command, std::string_view meaning) {
  examples += fmt::format("  {:<32} {}\n", command, meaning);
}

std::optional<int> CommandLine::parse(const Arguments &arguments) {
  app->footer("Examples:\n" + examples);
  auto mistake = [&](std::string message) {
    std::replace(message.begin(), message.end(), '\n', ' ');
    return reportError(verb, fmt::format("{} (cupel {} --help explains)", message, verb),
                       kExitUsage);
  };
  if (std::optional<std::string> missing = describeMissingValue(*app, arguments))
    return mistake(*missing);
  Arguments reversed(arguments.rbegin(), arguments.rend()); // CLI11 takes them from the back.
  try {
    app->parse(reversed);
  } catch (const CLI::CallForHelp &) {
    // A verb with actions shows the options of each.
    bool hasActions = !app->get_subcommands({}).empty();
    fmt::print("{}",
               app->help("", hasActions ? CLI::AppFormatMode::All : CLI::AppFormatMode::Normal));
    return kExitSuccess;
  } catch (const CLI::ParseError &error) {
    bool isLeftOver = dynamic_cast<const CLI::ExtrasError *>(&error) != nullptr;
    return mistake(isLeftOver ? describeLeftOver(*app) : error.what());
  }
  return std::nullopt;
}

} // namespace cupel::cli
