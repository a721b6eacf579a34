#include "cupel/pjrt/device/Print.h"

#include <fmt/format.h>

using namespace cupel::device;
using nlohmann::ordered_json;

std::string cupel::device::dump(const ordered_json &json) {
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

static std::string inlineDump(const ordered_json &json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

static std::string text(const ordered_json &json, const char *key) {
  auto found = json.find(key);
  return found == json.end()  ? ""
         : found->is_string() ? found->get<std::string>()
                              : inlineDump(*found);
}

/// The first line of a text, shortened.
static std::string brief(std::string line, size_t most = 160) {
  line = line.substr(0, line.find('\n'));
  return line.size() > most ? line.substr(0, most) + "..." : line;
}

static void addLine(std::string &out, std::string_view name, std::string_view value) {
  out += fmt::format("{:<12} {}\n", name, value);
}

/// The end of what the plugin printed, indented.
static std::string outputTail(const ordered_json &answer, size_t lines) {
  std::string printed = text(answer, "output"), out;
  while (printed.ends_with('\n'))
    printed.pop_back();
  if (printed.empty())
    return "";
  size_t start = printed.size();
  for (size_t i = 0; i < lines && start != std::string::npos && start > 0; ++i)
    start = printed.rfind('\n', start - 1);
  std::string_view rest =
      std::string_view(printed).substr(start == std::string::npos || start == 0 ? 0 : start + 1);
  while (!rest.empty()) {
    size_t end = std::min(rest.find('\n'), rest.size());
    out += fmt::format("    {}\n", brief(std::string(rest.substr(0, end)), 200));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

static void addPlugin(std::string &out, const ordered_json &plugin) {
  addLine(out, "PJRT API",
          fmt::format("{}, table of {} bytes (Cupel knows {})", text(plugin, "api_version"),
                      text(plugin, "table_bytes"), text(plugin, "known_table_bytes")));
  addLine(out, "functions",
          fmt::format("{} of {}", text(plugin, "functions"), text(plugin, "known_functions")));
  const ordered_json &missing = plugin["missing_functions"];
  std::string list;
  for (const ordered_json &name : missing)
    list += (list.empty() ? "" : ", ") + name.get<std::string>();
  addLine(out, "missing", missing.empty() ? "none of those that Cupel uses" : list);
  list.clear();
  for (const ordered_json &extension : plugin["extensions"])
    list += fmt::format(
        "{}{}{}", list.empty() ? "" : ", ", text(extension, "name"),
        text(extension, "name") == "unknown" ? fmt::format(" ({})", text(extension, "type")) : "");
  addLine(out, "extensions", list.empty() ? "none" : list);
  for (const auto &[name, value] : plugin["attributes"].items())
    addLine(out, "attribute", fmt::format("{} = {}", name, brief(inlineDump(value))));
}

static void addClient(std::string &out, const ordered_json &client) {
  addLine(out, "platform", text(client, "platform"));
  addLine(out, "version", brief(text(client, "platform_version")));
  addLine(out, "devices", fmt::format("{}", client["devices"].size()));
  for (const ordered_json &device : client["devices"]) {
    addLine(out, "",
            fmt::format(
                "{}: {}{}{}", text(device, "id"), text(device, "kind"),
                device.value("addressable", false) ? "" : ", not addressable",
                device["memories"].empty() ? "" : ", memories " + inlineDump(device["memories"])));
    for (const auto &[name, value] : device["attributes"].items())
      addLine(out, "", fmt::format("   {} = {}", name, brief(inlineDump(value), 100)));
  }
  std::string list;
  for (const ordered_json &memory : client["memories"])
    list +=
        fmt::format("{}{}: {}", list.empty() ? "" : ", ", text(memory, "id"), text(memory, "kind"));
  addLine(out, "memories", list.empty() ? "none" : list);
}

std::string cupel::device::formatInfo(const std::string &plugin, const ordered_json &answer) {
  std::string out;
  addLine(out, "plugin", plugin);
  if (auto found = answer.find("plugin"); found != answer.end())
    addPlugin(out, *found);
  if (auto found = answer.find("client"); found != answer.end())
    addClient(out, *found);
  if (auto found = answer.find("self_test"); found != answer.end())
    addLine(out, "self-test",
            fmt::format("{} ({})", found->value("passed", false) ? "passed" : "FAILED",
                        text(*found, "program")));
  if (auto found = answer.find("precision"); found != answer.end()) {
    if (found->contains("products"))
      addLine(out, "products", fmt::format("computed in {} (declared: {})",
                                           text(*found, "products"), text(*found, "declared")));
    else if (found->contains("failure"))
      addLine(out, "products", "cannot be measured: " + text((*found)["failure"], "message"));
    if (found->contains("warning"))
      addLine(out, "warning", text(*found, "warning"));
  }
  if (auto found = answer.find("warnings"); found != answer.end())
    for (const ordered_json &warning : *found)
      addLine(out, "warning", warning.get<std::string>());
  if (text(answer, "outcome") == "passed")
    return out + "\nThis plugin can be used.\n";
  out += fmt::format("\nThis plugin cannot be used: {}\n", answer.contains("failure")
                                                               ? text(answer["failure"], "message")
                                                               : text(answer, "outcome"));
  if (std::string tail = outputTail(answer, 8); !tail.empty())
    out += "The end of what it printed:\n" + tail;
  return out;
}

std::string cupel::device::formatRun(const ordered_json &answer) {
  std::string outcome = text(answer, "outcome");
  std::string times;
  if (auto found = answer.find("stages"); found != answer.end())
    for (const ordered_json &stage : *found)
      times += fmt::format("{}{} {:.3g} s", times.empty() ? "" : ", ", text(stage, "name"),
                           stage.value("seconds", 0.0));
  std::string out = fmt::format("{:<13} {}{}{}\n", outcome, text(answer, "workload"),
                                times.empty() ? "" : "  ", times);
  if (auto found = answer.find("failure"); found != answer.end())
    out += fmt::format("              {}\n", text(*found, "message"));
  if (auto found = answer.find("comparisons"); found != answer.end())
    for (const ordered_json &comparison : *found)
      if (!comparison.value("passed", false))
        out += fmt::format("              {}: {}\n", text(comparison, "what"),
                           text(comparison, "sentence"));
  if (auto found = answer.find("warnings"); found != answer.end())
    for (const ordered_json &warning : *found)
      out += fmt::format("              warning: {}\n", warning.get<std::string>());
  if (outcome == "crashed" || outcome == "exited")
    out += outputTail(answer, 4);
  return out;
}
