#include "cupel/results/RecordJson.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace cupel::results {

namespace {

using Json = nlohmann::json;

// One list of fields a record, walked by the writer and by the reader.
template <typename Record, typename Visitor>
void fields(Record &r, Visitor &&visit)
  requires std::is_same_v<std::remove_const_t<Record>, StageTime>
{
  visit("stage", r.stage);
  visit("seconds", r.seconds);
}

template <typename Record, typename Visitor>
void fields(Record &r, Visitor &&visit)
  requires std::is_same_v<std::remove_const_t<Record>, ComparisonRecord>
{
  visit("output", r.output);
  visit("passed", r.passed);
  visit("pcc", r.pcc);
  visit("max_absolute", r.maxAbsolute);
  visit("max_relative", r.maxRelative);
  visit("relative_l2", r.relativeL2);
  visit("pcc_threshold", r.pccThreshold);
  visit("atol_threshold", r.atolThreshold);
  visit("rtol_threshold", r.rtolThreshold);
  visit("pcc_asserted", r.pccAsserted);
  visit("atol_asserted", r.atolAsserted);
  visit("allclose_asserted", r.allcloseAsserted);
  visit("sentence", r.sentence);
  visit("rule", r.rule);
  visit("strict_passed", r.strictPassed);
  visit("strict_sentence", r.strictSentence);
  visit("precision", r.precision);
  visit("noise", r.noise);
  visit("worst_in_noise", r.worstInNoise);
  visit("whole_in_noise", r.wholeInNoise);
}

template <typename Record, typename Visitor>
void fields(Record &r, Visitor &&visit)
  requires std::is_same_v<std::remove_const_t<Record>, ReasonRecord>
{
  visit("name", r.name);
  visit("description", r.description);
  visit("component", r.component);
  visit("summary", r.summary);
}

template <typename Record, typename Visitor>
void fields(Record &r, Visitor &&visit)
  requires std::is_same_v<std::remove_const_t<Record>, ArtifactRecord>
{
  visit("name", r.name);
  visit("sha256", r.sha256);
  visit("bytes", r.bytes);
}

template <typename Record, typename Visitor>
void fields(Record &r, Visitor &&visit)
  requires std::is_same_v<std::remove_const_t<Record>, TestRecord>
{
  visit("suite", r.suite);
  visit("id", r.id);
  visit("file", r.file);
  visit("part", r.part);
  visit("framework", r.framework);
  visit("model_path", r.modelPath);
  visit("variant", r.variant);
  visit("parallelism", r.parallelism);
  visit("run_mode", r.runMode);
  visit("model_name", r.modelName);
  visit("group", r.group);
  visit("task", r.task);
  visit("source", r.source);
  visit("phase", r.phase);
  visit("arch", r.arch);
  visit("sequence_length", r.sequenceLength);
  visit("batch_size", r.batchSize);
  visit("markers", r.markers);
  visit("test_status", r.testStatus);
  visit("bringup_status", r.bringupStatus);
  visit("outcome", r.outcome);
  visit("last_stage", r.lastStage);
  visit("stages", r.stages);
  visit("started_at", r.startedAt);
  visit("seconds", r.seconds);
  visit("peak_memory_bytes", r.peakMemoryBytes);
  visit("attempts", r.attempts);
  visit("flaky", r.flaky);
  visit("try_outcomes", r.tryOutcomes);
  visit("device", r.device);
  visit("exit_code", r.exitCode);
  visit("signal", r.signal);
  visit("error_class", r.errorClass);
  visit("message", r.message);
  visit("output", r.output);
  visit("comparisons", r.comparisons);
  visit("reasons", r.reasons);
  visit("guidance", r.guidance);
  visit("artifacts", r.artifacts);
  visit("shapes_taken", r.shapesTaken);
  visit("shapes_not_taken", r.shapesNotTaken);
  visit("reproduction", r.reproduction);
  visit("notes", r.notes);
}

template <typename Record, typename Visitor>
void fields(Record &r, Visitor &&visit)
  requires std::is_same_v<std::remove_const_t<Record>, RunInfo>
{
  visit("id", r.id);
  visit("started_at", r.startedAt);
  visit("ended_at", r.endedAt);
  visit("command_line", r.commandLine);
  visit("arch", r.arch);
  visit("device", r.device);
  visit("plugin", r.plugin);
  visit("selected", r.selected);
  visit("exit_code", r.exitCode);
  visit("environment", r.environment);
  visit("shard", r.shard);
}

template <typename T> struct isVector : std::false_type {};
template <typename T> struct isVector<std::vector<T>> : std::true_type {};
template <typename T> struct isOptional : std::false_type {};
template <typename T> struct isOptional<std::optional<T>> : std::true_type {};

bool isEmpty(const Json &json) {
  return json.is_null() || (json.is_string() && json.get_ref<const std::string &>().empty()) ||
         ((json.is_array() || json.is_object()) && json.empty());
}

template <typename T> Json write(const T &value) {
  if constexpr (isOptional<T>::value) {
    return value ? write(*value) : Json();
  } else if constexpr (isVector<T>::value) {
    Json array = Json::array();
    for (const auto &element : value)
      array.push_back(write(element));
    return array;
  } else if constexpr (std::is_enum_v<T>) {
    return name(value);
  } else if constexpr (std::is_same_v<T, double>) {
    // A figure that is NaN or infinite has no JSON number; it is kept as a word.
    if (std::isfinite(value))
      return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                       std::is_same_v<T, std::map<std::string, std::string>>) {
    return Json(value);
  } else {
    Json object = Json::object();
    fields(value, [&](const char *key, const auto &field) {
      if (Json json = write(field); !isEmpty(json))
        object[key] = std::move(json);
    });
    return object;
  }
}

/// Thrown inside this file only.
struct WrongKind {
  std::string message;
};

template <typename T> void read(const Json &json, const char *key, T &into) {
  auto wrong = [&](std::string_view expected) {
    return WrongKind{"field '" + std::string(key) + "' of a record should be " +
                     std::string(expected) + " but is " + json.dump().substr(0, 60)};
  };
  if constexpr (isOptional<T>::value) {
    if (!json.is_null()) {
      into.emplace();
      read(json, key, *into);
    }
  } else if constexpr (std::is_same_v<T, Outcome> || std::is_same_v<T, Stage>) {
    if (!json.is_string())
      throw wrong("a word");
    auto parsed = [&] {
      const std::string &text = json.get_ref<const std::string &>();
      if constexpr (std::is_same_v<T, Outcome>)
        return parseOutcome(text);
      else
        return parseStage(text);
    }();
    if (!parsed)
      throw wrong("an outcome or stage this version of Cupel knows");
    into = *parsed;
  } else if constexpr (isVector<T>::value) {
    if (!json.is_array())
      throw wrong("a list");
    for (const Json &element : json) {
      into.emplace_back();
      read(element, key, into.back());
    }
  } else if constexpr (std::is_same_v<T, double>) {
    if (json.is_string()) {
      const std::string &text = json.get_ref<const std::string &>();
      if (text != "nan" && text != "inf" && text != "-inf")
        throw wrong("a number");
      into = std::strtod(text.c_str(), nullptr);
    } else if (json.is_number()) {
      into = json.get<double>();
    } else {
      throw wrong("a number");
    }
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean())
      throw wrong("true or false");
    into = json.get<bool>();
  } else if constexpr (std::is_integral_v<T>) {
    if (!json.is_number_integer())
      throw wrong("a whole number");
    into = json.get<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string())
      throw wrong("a text");
    into = json.get<std::string>();
  } else if constexpr (std::is_same_v<T, std::map<std::string, std::string>>) {
    if (!json.is_object())
      throw wrong("an object");
    for (const auto &[name, value] : json.items())
      read(value, key, into[name]);
  } else {
    if (!json.is_object())
      throw wrong("an object");
    fields(into, [&](const char *name, auto &field) {
      if (auto found = json.find(name); found != json.end())
        read(*found, name, field);
    });
  }
}

template <typename T> Result<T> fromJson(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Error{"not a JSON object: " + std::string(text.substr(0, 60))};
  try {
    T record;
    read(json, "record", record);
    return record;
  } catch (const WrongKind &wrong) {
    return Error{wrong.message};
  }
}

/// Output of a test may hold any bytes; what is not UTF-8 is replaced.
std::string dump(const Json &json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::string toJson(const TestRecord &record) { return dump(write(record)); }
std::string toJson(const RunInfo &run) { return dump(write(run)); }

Result<TestRecord> testRecordFromJson(std::string_view text) { return fromJson<TestRecord>(text); }
Result<RunInfo> runInfoFromJson(std::string_view text) { return fromJson<RunInfo>(text); }

} // namespace cupel::results
