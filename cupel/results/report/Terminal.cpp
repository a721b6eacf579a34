#include "cupel/results/report/Terminal.h"

#include "cupel/results/report/Text.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <map>
#include <sys/ioctl.h>
#include <unistd.h>

namespace cupel::results {
namespace {

/// A bar is redrawn at most this often.
constexpr double kRedrawSeconds = 0.1;
constexpr size_t kMostRunningLines = 8;

double steadySeconds() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

std::string clockText(double seconds) {
  auto whole = uint64_t(std::max(0.0, seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole % 3600 / 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

/// The size of the terminal as it is now, where there is one.
void askSize(TerminalOptions &options) {
  winsize size{};
  if (::ioctl(::fileno(options.out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 &&
      size.ws_row > 0) {
    options.width = size.ws_col;
    options.height = size.ws_row;
  }
}

class TerminalReporter : public Reporter {
public:
  explicit TerminalReporter(TerminalOptions options) : options(std::move(options)) {
    if (!this->options.clock)
      this->options.clock = steadySeconds;
  }

  ~TerminalReporter() override { erase(); }

  void runStarted(const RunInfo &run) override {
    selected = run.selected;
    begin = options.clock();
    std::string on = run.device.empty() ? "" : " on " + run.device;
    if (!run.arch.empty())
      on += " as " + run.arch;
    above(oneLine(fmt::format("Run {}: {}{}", run.id, counted(run.selected, "test"), on)) + "\n");
  }

  void testStarted(std::string_view fullName, uint32_t slot, uint32_t attempt) override {
    running[slot] = {std::string(fullName), Stage::None, attempt, options.clock()};
    tick();
  }

  void stageEntered(std::string_view fullName, uint32_t slot, Stage stage) override {
    if (auto found = running.find(slot); found != running.end() && found->second.name == fullName)
      found->second.stage = stage;
    tick();
  }

  void testEnded(const TestRecord &record) override {
    tally.add(record);
    std::string name = record.fullName();
    std::erase_if(running, [&](const auto &entry) { return entry.second.name == name; });
    bool remarkable = isBad(record.outcome) || record.flaky;
    bool show = options.quiet || options.live ? remarkable : true;
    if (show)
      above(testLine(record, options.colour) + "\n");
    tick();
  }

  void note(std::string_view line) override { above("note: " + oneLine(line) + "\n"); }

  void tick() override {
    if (!options.live || options.clock() - drawnAt < kRedrawSeconds)
      return;
    erase();
    draw();
  }

  void runEnded(const RunInfo &run, const RunChanges *changes) override {
    running.clear();
    erase();
    ended = true;
    put("\n" + summaryText(run, tally, changes, options));
  }

private:
  struct Running {
    std::string name;
    Stage stage = Stage::None;
    uint32_t attempt = 1;
    double since = 0;
  };

  /// Nobody listening any more (a closed pipe) is no reason to stop a run.
  void put(std::string_view text) {
    (void)std::fwrite(text.data(), 1, text.size(), options.out);
    (void)std::fflush(options.out);
  }

  /// Prints lines that stay, above the bar.
  void above(std::string_view text) {
    bool wasDrawn = drawnLines > 0;
    erase();
    put(text);
    if (wasDrawn && !ended)
      draw();
  }

  void erase() {
    if (drawnLines == 0)
      return;
    // To the first column of the bar's first line, then clear to the end of the screen.
    put(fmt::format("\r{}\x1b[J", drawnLines > 1 ? fmt::format("\x1b[{}A", drawnLines - 1) : ""));
    drawnLines = 0;
  }

  void draw() {
    double now = options.clock();
    askSize(options);
    // What scrolls off the top could not be erased.
    size_t mostRunning =
        std::min<size_t>(kMostRunningLines, options.height > 4 ? options.height - 4 : 1);
    uint64_t done = tally.total();
    double elapsed = now - begin;
    std::string right = fmt::format(" {}/{}", done, selected);
    if (uint64_t bad = tally.bad())
      right += fmt::format(", {} bad", bad);
    right += " " + clockText(elapsed);
    if (done > 0 && done < selected)
      right += " left " + clockText(elapsed / double(done) * double(selected - done));
    size_t width = std::max<size_t>(options.width, 20);
    size_t room = width > right.size() + 13 ? std::min<size_t>(width - right.size() - 3, 40) : 10;
    size_t full =
        selected ? std::min<size_t>(size_t(double(room) * double(done) / selected), room) : room;
    std::string bar = "[" + std::string(full, '#') + std::string(room - full, '.') + "]";
    std::string text = cutTo(bar + right, width - 1);
    size_t lines = 1, shown = 0;
    for (const auto &[slot, test] : running) {
      if (++shown > mostRunning) {
        text += fmt::format("\n  ... and {} more", running.size() - mostRunning);
        ++lines;
        break;
      }
      std::string stage(test.stage == Stage::None ? "start" : name(test.stage));
      std::string again = test.attempt > 1 ? fmt::format(" (try {})", test.attempt) : "";
      text += "\n" + cutTo(fmt::format("  {:<9} {:>6}  {}{}", stage, clockText(now - test.since),
                                       test.name, again),
                           width - 1);
      ++lines;
    }
    put(text);
    drawnLines = lines;
    drawnAt = now;
  }

  TerminalOptions options;
  Tally tally;
  std::map<uint32_t, Running> running;
  uint64_t selected = 0;
  double begin = 0, drawnAt = -1e9;
  size_t drawnLines = 0;
  bool ended = false;
};

} // namespace

Reporter::~Reporter() = default;

TerminalOptions TerminalOptions::forStream(std::FILE *out) {
  TerminalOptions options;
  options.out = out;
  const char *term = std::getenv("TERM");
  const char *noColour = std::getenv("NO_COLOR");
  bool terminal = ::isatty(::fileno(out)) && term && std::string_view(term) != "dumb";
  options.live = terminal;
  options.colour = terminal && !(noColour && *noColour);
  if (terminal)
    askSize(options);
  return options;
}

std::unique_ptr<Reporter> makeTerminalReporter(TerminalOptions options) {
  return std::make_unique<TerminalReporter>(std::move(options));
}

} // namespace cupel::results
