// One verb's options: CLI11 with Cupel's help layout (every verb shows examples), one-line errors
// and exit codes. Used by the verbs that are served without MLIR. CLI11 itself stays in
// CommandLine.cpp, because its templates cost each file that sees them seconds to compile.
#pragma once

#include "cupel/cli/Verbs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace cupel::cli {

/// One option or positional argument, to say more about it: each member returns the option itself.
class Option {
public:
  explicit Option(CLI::Option *option) : option(option) {}

  /// What stands for the value in the help text.
  Option &placeholder(const std::string &text);
  Option &required(bool yes = true);
  Option &oneOf(const std::vector<std::string> &words);
  Option &between(double low, double high);
  Option &positive();
  /// Makes no sense without the option `other`.
  Option &needs(const std::string &other);
  Option &excludes(const Option &other);
  /// The help text shows the value that the variable has now.
  Option &showDefault();
  /// A list takes one value each time the option is given, and keeps all.
  Option &repeatable();
  /// A list takes one value each time the option is given; what follows is a positional argument.
  Option &oneValueEach();
  Option &delimiter(char between);

private:
  CLI::Option *option;
};

/// What options are added to: a verb, or one of its actions. The variables must live until the verb
/// has parsed; they keep their values where nothing is given.
class Options {
public:
  explicit Options(CLI::App *app) : app(app) {}

  Option option(const std::string &name, std::string &value, const std::string &help);
  Option option(const std::string &name, std::vector<std::string> &value, const std::string &help);
  Option option(const std::string &name, uint32_t &value, const std::string &help);
  Option option(const std::string &name, uint64_t &value, const std::string &help);
  Option option(const std::string &name, double &value, const std::string &help);
  Option flag(const std::string &name, bool &value, const std::string &help);

  /// An option that was added before, by its name.
  Option added(const std::string &name);
  /// Whether an option stood on the command line.
  bool given(const std::string &name) const;

  /// A verb with actions wants one of them.
  Options action(const std::string &name, const std::string &help);
  /// Whether this action was asked for.
  bool chosen() const;

protected:
  CLI::App *app;
};

class CommandLine : public Options {
public:
  CommandLine(std::string verb, std::string description);
  ~CommandLine();
  CommandLine(const CommandLine &) = delete;
  CommandLine &operator=(const CommandLine &) = delete;

  /// Adds a line to the examples that end the help text.
  void example(std::string_view command, std::string_view meaning);

  /// Parses; returns an exit code where the verb must not go on (help was asked for, or an error
  /// printed).
  std::optional<int> parse(const Arguments &arguments);

private:
  std::unique_ptr<CLI::App> owned;
  std::string verb;
  std::string examples;
};

} // namespace cupel::cli
