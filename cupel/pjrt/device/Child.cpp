#include "cupel/pjrt/device/Child.h"

#include "cupel/pjrt/host/PluginReport.h"
#include "cupel/pjrt/host/ProductPrecision.h"
#include "cupel/pjrt/host/RunWorkload.h"
#include "cupel/workload/Folder.h"
#include "cupel/workload/Judge.h"
#include "cupel/workload/Tensors.h"

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <unistd.h>

using namespace cupel;
using namespace cupel::pjrt;
using namespace cupel::workload;
using nlohmann::ordered_json;

namespace {

void reply(const ordered_json &json) {
  std::fflush(stdout); // What the plugin printed so far belongs before this.
  std::string line = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    ssize_t written = ::write(device::kReplyDescriptor, rest.data(), rest.size());
    if (written <= 0)
      ::_exit(0); // Whoever asked is gone.
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

class Child {
public:
  Child(std::string path, const std::vector<std::string> &options)
      : path(std::move(path)), optionTexts(options) {}

  ordered_json serve(const ordered_json &request) {
    std::string what = request.value("do", "");
    ordered_json answer;
    if (what == "info")
      answer = describe(request);
    else if (what == "run")
      answer = run(request);
    else
      answer = {
          {"outcome", "failed"},
          {"failure", {{"class", "usage"}, {"message", fmt::format("cannot do '{}'", what)}}}};
    if (plugin)
      for (const std::string &complaint : plugin->complaints())
        answer["warnings"].push_back(complaint);
    // After a missed deadline nothing of the plugin can be trusted: ask to be replaced.
    if (plugin && plugin->isGivenUp())
      answer["lost"] = true;
    return answer;
  }

private:
  void enter(std::string_view stage) { reply({{"stage", stage}}); }

  static ordered_json failed(const Error &error) {
    return {{"outcome", error.code == ErrorCode::NoAnswer ? "timed out" : "failed"},
            {"failure", describeError(error)}};
  }

  /// Loads the plugin and makes the client, once; later requests find them.
  Status open() {
    if (client)
      return {};
    std::vector<NamedValue> options;
    for (const std::string &text : optionTexts) {
      Result<NamedValue> value = parseNamedValue(text);
      if (!value)
        return Error{ErrorCode::Host, value.message()};
      options.push_back(std::move(*value));
    }
    if (!plugin) {
      enter("load");
      Result<std::shared_ptr<Plugin>> loaded = Plugin::open(path);
      if (!loaded)
        return loaded.error();
      plugin = *loaded;
      // Known already should the rest be lost.
      reply({{"partial", {{"plugin", describePlugin(*plugin)}}}});
    }
    enter("initialize");
    if (Status initialized = plugin->initialize(); !initialized)
      return initialized.error();
    enter("client");
    Result<std::shared_ptr<Client>> created = Client::create(plugin, options);
    if (!created)
      return created.error();
    client = *created;
    reply(
        {{"partial", {{"plugin", describePlugin(*plugin)}, {"client", describeClient(*client)}}}});
    return {};
  }

  ordered_json describe(const ordered_json &request) {
    Status opened = open();
    ordered_json answer = {{"outcome", "passed"}};
    if (!opened)
      answer = failed(opened.error());
    if (plugin)
      answer["plugin"] = describePlugin(*plugin);
    if (!client)
      return answer;
    answer["client"] = describeClient(*client);
    if (client->addressableDevices().empty()) {
      answer["outcome"] = "failed";
      answer["failure"] = {{"class", "no_devices"},
                           {"message", "the plugin has no device that can be used"}};
      return answer;
    }
    enter("self-test");
    answer["self_test"] = selfTest(*client, request.value("timeout", 60.0),
                                   [&](std::string_view stage) { enter(stage); });
    if (!answer["self_test"]["passed"].get<bool>()) {
      answer["outcome"] = "failed";
      answer["failure"] = answer["self_test"]["failure"];
    }
    // What a device multiplies in is worth knowing, and no reason to call it broken.
    Result<compare::DevicePrecision> declared =
        compare::DevicePrecision::parse(request.value("precision", "f32"));
    if (declared && answer["outcome"] == "passed") {
      enter("products");
      answer["precision"] = measureProducts(*client, *declared, request.value("timeout", 60.0),
                                            [&](std::string_view stage) { enter(stage); });
    }
    return answer;
  }

  ordered_json run(const ordered_json &request) {
    if (Status opened = open(); !opened)
      return failed(opened.error());
    enter("read");
    Result<Workload> workload = readWorkload(request.value("folder", ""));
    if (!workload)
      return failed(workload.error().as(ErrorCode::Host));
    if (std::string text = request.value("precision", ""); !text.empty())
      if (Result<compare::DevicePrecision> given = compare::DevicePrecision::parse(text);
          given && *given != workload->precision) {
        // Noise that was measured in another precision says nothing of this one.
        workload->precision = *given;
        workload->noise.clear();
        workload->noiseCenter.clear();
      }
    RunSettings settings{request.value("timeout", 300.0), request.value("repeat", 1u),
                         request.value("compile_only", false)};
    RunReport report =
        runWorkload(*client, *workload, settings, [&](std::string_view stage) { enter(stage); });

    ordered_json answer = {{"outcome", "ran"}, {"name", workload->name}};
    if (report.failure)
      answer = failed(*report.failure);
    answer["name"] = workload->name;
    if (report.programVersion)
      answer["program_version"] = toString(*report.programVersion);
    for (const RunReport::Stage &stage : report.stages)
      answer["stages"].push_back({{"name", stage.name}, {"seconds", stage.seconds}});
    if (!report.executeSeconds.empty())
      answer["execute_seconds"] = report.executeSeconds;
    if (!report.executable.name.empty())
      answer["executable"] = report.executable.name;
    if (!report.executable.notes.empty())
      answer["executable_notes"] = report.executable.notes;
    if (report.failure)
      return answer;
    if (settings.compilesOnly) {
      answer["outcome"] = "compiled";
      return answer;
    }
    for (const auto &list : report.results) {
      ordered_json types = ordered_json::array();
      for (const tensor::Tensor &tensor : list)
        types.push_back(tensor::describe(tensor.dtype(), tensor.shape()));
      answer["results"].push_back(std::move(types));
    }
    if (std::string out = request.value("out", ""); !out.empty()) {
      enter("write");
      std::error_code error;
      std::filesystem::create_directories(out, error);
      if (Status written = writeTensors(out + "/results.safetensors", report.results); !written)
        return failed(written.error().as(ErrorCode::Host));
    }
    enter("compare");
    judgeAll(*workload, report, answer);
    return answer;
  }

  static void judgeAll(const Workload &workload, const RunReport &report, ordered_json &answer) {
    if (!workload.isJudged())
      return;
    bool passed = true;
    std::set<std::string> tellLittle;
    for (const Judgement &judgement : judge(workload, report.results)) {
      passed = passed && judgement.passed;
      if (judgement.tellsLittle)
        tellLittle.insert(judgement.what);
      ordered_json row = {{"what", judgement.what},
                          {"passed", judgement.passed},
                          {"sentence", judgement.sentence}};
      if (report.results.size() > 1)
        row["device"] = judgement.device;
      answer["comparisons"].push_back(std::move(row));
    }
    answer["outcome"] = passed ? "passed" : "incorrect";
    // There is no reference here that could feed pieces: who reads that it passed must know what
    // that is worth.
    if (passed && !tellLittle.empty())
      answer["warnings"].push_back(fmt::format(
          "rounding decides {}, and a wrong result may be within such limits: `cupel run` judges the "
          "program of the workload by pieces",
          fmt::join(tellLittle, ", ")));
  }

  std::string path;
  std::vector<std::string> optionTexts;
  std::shared_ptr<Plugin> plugin;
  std::shared_ptr<Client> client;
};

} // namespace

int cupel::device::runChild(const std::string &plugin,
                            const std::vector<std::string> &clientOptions) {
  // Into a pipe the C library would keep what a plugin prints until the end, which may never come.
  std::setvbuf(stdout, nullptr, _IOLBF, 1 << 12);
  auto *child = new Child(plugin, clientOptions);
  std::string line;
  while (std::getline(std::cin, line)) {
    ordered_json request = ordered_json::parse(line, nullptr, false);
    if (!request.is_object())
      return 2;
    reply({{"done", child->serve(request)}});
  }
  delete child;
  return 0;
}
