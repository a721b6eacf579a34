#include "cupel/testbench/slurm/Commands.h"

#include "cupel/support/Process.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

namespace cupel::testbench::slurm {
namespace {

constexpr std::chrono::seconds kPatience(75); ///< Tools try for a minute to reach a controller.

constexpr std::string_view kAway = "the controller does not answer";

Result<CommandOutput> run(std::vector<std::string> command) {
  // Slurm keeps the environment of a job for all to read who may.
  command.insert(command.begin(), {"env", "-u", "PGPASSWORD"});
  return runCommand(command, kPatience);
}

/// Runs it; its output, or what it complained of.
Result<std::string> ask(const std::vector<std::string> &command, const Profile &profile = {}) {
  Result<CommandOutput> output = run(command);
  if (!output)
    return Error{ErrorCode::Unavailable,
                 "Slurm: " + command.front() +
                     " did not answer; is the controller up? (scontrol ping tells)"};
  // Ctrl-C on a terminal reaches it as well.
  if (output->exitCode > 128)
    return Error{ErrorCode::Unavailable, "Slurm: " + command.front() + " was killed"};
  if (output->exitCode != 0) {
    std::string why = explain(output->text, profile);
    bool isAway = why.starts_with(kAway);
    return Error{isAway ? ErrorCode::Unavailable : ErrorCode::InvalidArgument,
                 "Slurm: " + command.front() + ": " + why};
  }
  return std::move(output->text);
}

/// `{arch}` replaced; an error where there is none to put there.
Result<std::string> withArch(std::string text, const JobRequest &request, const Profile &profile) {
  constexpr std::string_view kArch = "{arch}";
  for (size_t at; (at = text.find(kArch)) != std::string::npos;) {
    if (request.arch.empty())
      return Error{fmt::format("profile '{}' of Slurm says '{}': give --arch", profile.name, text)};
    text.replace(at, kArch.size(), request.arch);
  }
  return text;
}

} // namespace

bool isAway(const Error &error) { return error.code == ErrorCode::Unavailable; }

bool LiveTask::isHeldByAccident() const {
  return state == "PENDING" && (reason.find("requeued held") != std::string::npos ||
                                reason.find("requeued_held") != std::string::npos);
}

bool LiveTask::isHeldByUser() const { return state == "PENDING" && reason == "JobHeldUser"; }

std::string explain(std::string_view said, const Profile &profile) {
  // The first complaint that is not about trying again.
  std::string line;
  std::istringstream lines{std::string(said)};
  for (std::string each; std::getline(lines, each);) {
    size_t colon = each.find("error: ");
    std::string text = colon == std::string::npos ? each : each.substr(colon + 7);
    if (text.find("retrying") == std::string::npos && !text.empty() && line.empty())
      line = text;
  }
  auto says = [&](std::string_view word) {
    return std::ranges::search(said, word, [](unsigned char a, unsigned char b) {
             return std::tolower(a) == std::tolower(b);
           }).begin() != said.end();
  };
  std::string of = fmt::format("of profile '{}' in cupel.yaml", profile.name);
  if (says("invalid partition"))
    return line + fmt::format(" (partition {}; sinfo lists those there are)", of);
  if (says("invalid account") || says("account/partition"))
    return line + fmt::format(" (account {}; sacctmgr show associations lists yours)", of);
  if (says("generic resource") || says("gres"))
    return line + fmt::format(" (gres {}; sinfo -o '%P %G' lists those there are)", of);
  if (says("invalid feature"))
    return line + fmt::format(" (constraint {}; sinfo -o '%P %f' lists those there are)", of);
  if (says("time limit"))
    return line + fmt::format(" (time {}; sinfo -o '%P %l' lists the limits)", of);
  if (says("node configuration is not available"))
    return line + fmt::format(" (no node has so much: memory, cpus and gres {})", of);
  if (says("configuration source") || says("configuration file") || says("cannot stat file"))
    return "this machine belongs to no cluster: no slurm.conf was found (SLURM_CONF names one)";
  if (says("contact slurm controller") || says("unable to contact") || says("connect failure") ||
      says("connection refused") || says("socket timed out") || says("communications connection") ||
      says("zero bytes were transmitted") || says("munge") || says("protocol authentication"))
    return std::string(kAway) + "; is slurmctld up? (scontrol ping tells)";
  return line.empty() ? "it failed and did not say why" : line;
}

Status findCluster() {
  for (const char *tool : {"sbatch", "squeue", "scancel", "scontrol"})
    if (findOnPath(tool).empty())
      return Error{fmt::format("--on slurm: {} is not on the PATH; is this a machine of the "
                               "cluster? (Debian: slurm-client)",
                               tool)};
  // Its tools would look for it for a minute.
  std::error_code error;
  if (const char *file = std::getenv("SLURM_CONF"); file && *file && !std::filesystem::exists(file, error))
    return Error{fmt::format("--on slurm: SLURM_CONF names {}, which is not there", file)};
  Result<CommandOutput> ping = run({"scontrol", "ping"});
  if (!ping)
    return Error{"--on slurm: " + ping.message()};
  if (ping->exitCode != 0 || ping->text.find("UP") == std::string::npos)
    return Error{"--on slurm: " + (ping->text.find("DOWN") != std::string::npos
                                       ? "the controller is down; is slurmctld running? (scontrol "
                                         "ping tells)"
                                       : explain(ping->text, {}))};
  return {};
}

Result<uint32_t> largestArray() {
  Result<std::string> text = ask({"scontrol", "show", "config"});
  if (!text)
    return text.error();
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("MaxArraySize"))
      if (size_t equals = line.find('='); equals != std::string::npos)
        return uint32_t(std::max(1l, std::strtol(line.c_str() + equals + 1, nullptr, 10) - 1));
  return 1000; // Slurm's own default, less one: numbers begin at 0.
}

Result<std::vector<std::string>> submitWords(const Profile &profile, const JobRequest &request) {
  std::string tasks = request.tasks;
  if (profile.atOnce)
    tasks += fmt::format("%{}", profile.atOnce);
  std::vector<std::string> words = {"--parsable", "--job-name=" + request.name, "--array=" + tasks,
                                    "--requeue", "--open-mode=append",
                                    "--output=" + request.logs + "/%A_%a.txt",
                                    "--chdir=" + request.folder, "--nodes=1", "--ntasks=1"};
  auto add = [&](std::string_view option, const std::string &value) {
    if (!value.empty())
      words.push_back(fmt::format("--{}={}", option, value));
  };
  add("partition", profile.partition);
  add("account", profile.account);
  add("time", profile.time);
  add("exclude", request.excludedNodes);
  if (profile.cpus)
    add("cpus-per-task", std::to_string(profile.cpus));
  // What was measured, and a quarter more.
  if (uint64_t bytes = std::max(profile.memoryBytes, request.needs.memoryBytes / 4 * 5))
    add("mem", fmt::format("{}M", (bytes + (1 << 20) - 1) >> 20));
  for (auto [option, value] : {std::pair("gres", &profile.gres), {"constraint", &profile.constraint}}) {
    Result<std::string> text = withArch(*value, request, profile);
    if (!text)
      return text.error();
    if (!text->empty())
      add(option, *text + (value == &profile.gres ? fmt::format(":{}", request.needs.chips) : ""));
  }
  words.insert(words.end(), profile.options.begin(), profile.options.end());
  words.push_back(request.script);
  words.push_back(std::to_string(request.firstChunk));
  return words;
}

Result<std::string> submit(const Profile &profile, const JobRequest &request) {
  Result<std::vector<std::string>> words = submitWords(profile, request);
  if (!words)
    return words.error();
  words->insert(words->begin(), "sbatch");
  Result<std::string> text = ask(*words, profile);
  if (!text)
    return text.error();
  // `12` or `12;cluster`, maybe after warnings.
  std::istringstream lines(*text);
  std::string number;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && std::isdigit(static_cast<unsigned char>(line[0])))
      number = line.substr(0, line.find(';'));
  if (number.empty())
    return Error{"Slurm: sbatch did not say which job it made: " + text->substr(0, text->find('\n'))};
  return number;
}

Result<std::string> findArray(const std::string &name) {
  Result<std::string> text =
      ask({"squeue", "--noheader", "--states=all", "--name=" + name, "--format=%F"});
  if (!text)
    return text.error();
  std::istringstream lines(*text);
  std::string number;
  lines >> number;
  return number;
}

std::vector<LiveTask> parseLiveTasks(std::string_view text) {
  std::vector<LiveTask> tasks;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, '|');)
      fields.push_back(field);
    if (fields.size() == 5)
      fields.emplace_back(); // One that waits is on no node.
    if (fields.size() == 6 && !fields[0].empty() &&
        std::ranges::all_of(fields[0], [](unsigned char c) { return std::isdigit(c); }))
      tasks.push_back({fields[0], fields[1], fields[2], fields[3], fields[4], fields[5]});
  }
  return tasks;
}

Result<std::vector<LiveTask>> liveTasks(const std::vector<std::string> &names) {
  if (names.empty())
    return std::vector<LiveTask>();
  Result<std::string> text =
      ask({"squeue", "--noheader", "--array", fmt::format("--name={}", fmt::join(names, ",")),
           "--format=%F|%K|%j|%T|%r|%N"});
  if (!text)
    return text.error();
  return parseLiveTasks(*text);
}

std::vector<NodesOut> parseNodesOut(std::string_view text) {
  std::vector<NodesOut> out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    size_t bar = line.find('|');
    if (bar == std::string::npos || !bar)
      continue;
    std::string node = line.substr(0, bar), reason = line.substr(bar + 1);
    auto known = std::ranges::find(out, reason, &NodesOut::reason);
    if (known == out.end())
      known = out.insert(out.end(), {{}, reason});
    // A node is listed once for each of its partitions.
    if (!std::ranges::count(known->nodes, node))
      known->nodes.push_back(node);
  }
  return out;
}

Result<std::vector<NodesOut>> nodesOut() {
  Result<std::string> text =
      ask({"sinfo", "--noheader", "--Node", "--states=down,drain,fail", "--format=%N|%E"});
  if (!text)
    return text.error();
  return parseNodesOut(*text);
}

std::string explain(const std::vector<NodesOut> &out) {
  constexpr size_t kNamed = 8;
  std::string text;
  for (const NodesOut &each : out) {
    std::vector<std::string> named(each.nodes.begin(),
                                   each.nodes.begin() + std::min(kNamed, each.nodes.size()));
    std::string more = each.nodes.size() > kNamed
                           ? fmt::format(" and {} more", each.nodes.size() - kNamed)
                           : "";
    text += fmt::format("{}{}{} take no jobs: {}", text.empty() ? "" : "; ", fmt::join(named, ","),
                        more, each.reason);
  }
  return text.empty() ? text
                      : text + " (scontrol update NodeName=... State=RESUME puts a node back)";
}

Status cancelArrays(const std::vector<std::string> &jobs) {
  if (jobs.empty())
    return {};
  std::vector<std::string> command = {"scancel", "--quiet"};
  command.insert(command.end(), jobs.begin(), jobs.end());
  Result<std::string> text = ask(command);
  return text ? Status() : Status(text.error());
}

Status release(const LiveTask &task) {
  Result<std::string> text = ask({"scontrol", "release", task.job + "_" + task.number});
  return text ? Status() : Status(text.error());
}

Status drainNode(const std::string &node, const std::string &reason) {
  Result<std::string> text =
      ask({"scontrol", "update", "NodeName=" + node, "State=DRAIN", "Reason=" + reason});
  return text ? Status() : Status(text.error());
}

} // namespace cupel::testbench::slurm
