#include "cupel/testbench/worker/Protocol.h"

#include "cupel/results/RecordJson.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace cupel::testbench::worker {

namespace {

using Json = nlohmann::json;

// One list of fields a value, walked by the writer and by the reader.
template <typename Visitor, typename E> void expectationFields(E &e, Visitor &&visit) {
  visit("has_entry", e.hasEntry);
  visit("config_file", e.file);
  visit("config_line", e.line);
  visit("reason", e.reason);
  visit("required_pcc", e.requiredPcc);
  visit("required_atol", e.requiredAtol);
  visit("allclose_rtol", e.allcloseRtol);
  visit("allclose_atol", e.allcloseAtol);
  visit("assert_pcc", e.assertPcc);
  visit("assert_atol", e.assertAtol);
  visit("assert_allclose", e.assertAllclose);
  visit("batch_size", e.batchSize);
  visit("execution_pass", e.executionPass);
  visit("filechecks", e.filechecks);
  visit("optimization_level", e.optimizationLevel);
  visit("enable_weight_bfp8_conversion", e.enableWeightBfp8Conversion);
  visit("inject_custom_moe", e.injectCustomMoe);
  visit("emitpy_assert_exact", e.emitpyAssertExact);
}

template <typename Visitor, typename Item> void itemFields(Item &i, Visitor &&visit) {
  visit("suite", i.suite);
  visit("id", i.id);
  visit("file", i.file);
  visit("part", i.part);
  visit("framework", i.framework);
  visit("model_path", i.modelPath);
  visit("variant", i.variant);
  visit("parallelism", i.parallelism);
  visit("run_mode", i.runMode);
  visit("phase", i.phase);
  visit("sharding", i.sharding);
  visit("mesh", i.mesh);
  visit("sequence_length", i.sequenceLength);
  visit("llm_batch_size", i.batchSize);
  expectationFields(i.expectation, visit);
}

template <typename Visitor, typename R> void requestFields(R &r, Visitor &&visit) {
  visit("folder", r.folder);
  visit("device", r.device);
  visit("seed", r.seed);
  visit("timeout_seconds", r.timeoutSeconds);
  visit("threads", r.threads);
  visit("memory_limit_bytes", r.memoryLimitBytes);
  visit("arch", r.arch);
  visit("compile_backend", r.compileBackend);
  visit("repeat", r.repeat);
  visit("shapes", r.shapes);
  visit("comparison", r.comparison);
  visit("strict", r.strict);
  visit("noise", r.noise);
  visit("precision", r.precision);
  visit("pieces", r.pieces);
  visit("depth", r.depth);
  visit("op_by_op_backend", r.opByOpBackend);
  visit("op_tables", r.opTables);
  visit("op_timeout_seconds", r.opTimeoutSeconds);
  visit("tensors", r.tensors);
  visit("keep_folder", r.keep.folder);
  visit("keep_max_bytes", r.keep.maxBytes);
  visit("failed_outcome", r.keep.outcome);
  visit("failed_stage", r.keep.stage);
  visit("failed_message", r.keep.message);
  visit("save", r.keep.save);
  visit("explain", r.keep.explain);
  visit("search", r.search.what);
  visit("search_memory_bytes", r.search.memoryBytes);
  visit("search_probe_seconds", r.search.probeSeconds);
  visit("search_seconds", r.search.seconds);
  visit("search_tries", r.search.tries);
  visit("search_jobs", r.search.jobs);
  visit("search_folder", r.search.folder);
  visit("search_keep_folder", r.search.keepFolder);
  visit("search_fresh", r.search.isFresh);
  visit("bisect_passes", r.search.bisectPasses);
  itemFields(r.item, visit);
}

template <typename T> struct IsOptional : std::false_type {};
template <typename T> struct IsOptional<std::optional<T>> : std::true_type {};

struct Writer {
  Json object = Json::object();
  template <typename T> void operator()(const char *key, const T &value) {
    if constexpr (IsOptional<T>::value) {
      if (value)
        object[key] = *value;
    } else if (value != T()) {
      object[key] = value;
    }
  }
};

struct Reader {
  const Json &object;
  std::string error = {};

  template <typename T> void operator()(const char *key, T &value) {
    auto found = object.find(key);
    if (found == object.end())
      return;
    if constexpr (IsOptional<T>::value) {
      value.emplace();
      read(key, *found, *value);
    } else {
      read(key, *found, value);
    }
  }

private:
  template <typename T> void read(const char *key, const Json &json, T &value) {
    bool fits = false;
    if constexpr (std::is_same_v<T, bool>)
      fits = json.is_boolean();
    else if constexpr (std::is_integral_v<T>)
      fits = json.is_number_integer();
    else if constexpr (std::is_floating_point_v<T>)
      fits = json.is_number();
    else if constexpr (std::is_same_v<T, std::string>)
      fits = json.is_string();
    else {
      fits = json.is_array();
      if (fits)
        for (const Json &element : json)
          fits &= element.is_string();
    }
    if (fits)
      value = json.get<T>();
    else if (error.empty())
      error = "field '" + std::string(key) + "' has a value of the wrong kind: " +
              json.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60);
  }
};

std::string dump(const Json &json) {
  // Paths may hold any bytes; what is not UTF-8 is replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

constexpr const char *kHandover = "handover";

/// A JSON object with one more field, whose text is JSON already.
std::string withHandover(std::string object, const std::string &handover) {
  if (handover.empty())
    return object;
  object.pop_back();
  return object + (object == "{" ? "\"" : ",\"") + kHandover + "\":" + handover + "}";
}

/// The first three words of a payload's first line, and what follows the line.
struct Parts {
  std::string_view words[3];
  std::string_view body;
};

Parts split(std::string_view payload) {
  Parts parts;
  size_t end = payload.find('\n');
  std::string_view line = payload.substr(0, end);
  if (end != std::string_view::npos)
    parts.body = payload.substr(end + 1);
  for (std::string_view &word : parts.words) {
    size_t space = line.find(' ');
    word = line.substr(0, space);
    if (space == std::string_view::npos)
      break;
    line.remove_prefix(space + 1);
  }
  return parts;
}

Result<uint64_t> number(std::string_view word) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || word.empty())
    return Error{"'" + std::string(word.substr(0, 40)) + "' is no number of a request"};
  return value;
}

/// Something of a payload that can be shown in a message.
std::string excerpt(std::string_view payload) {
  std::string text(payload.substr(0, 40));
  for (char &c : text)
    if (c < ' ' || c > '~')
      c = '?';
  return text;
}

} // namespace

std::string encode(const Request &request) {
  std::string payload = request.kind == Request::Kind::Health ? "health "
                        : request.kind == Request::Kind::Keep ? "keep "
                                                              : "test ";
  payload += std::to_string(request.number) + "\n";
  Writer writer;
  requestFields(request, writer);
  return payload + withHandover(dump(writer.object), request.handover);
}

std::string encode(const Hello &hello) {
  return "hello\n" + dump({{"protocol", hello.protocol}, {"worker", hello.worker},
                          {"unusable", hello.unusable}});
}

std::string encode(const StageEntered &stage) {
  return "stage " + std::to_string(stage.number) + " " + std::string(results::name(stage.stage)) +
         "\n";
}

std::string encode(const Finished &finished) {
  std::string payload = "result " + std::to_string(finished.number);
  for (pid_t process : finished.kept)
    payload += " " + std::to_string(process);
  return payload + "\n" + withHandover(results::toJson(finished.record), finished.handover);
}

std::string encode(const Told &told) {
  return "told " + std::to_string(told.number) + "\n" + told.line;
}

Result<Request> decodeRequest(std::string_view payload) {
  Parts parts = split(payload);
  Request request;
  if (parts.words[0] == "health")
    request.kind = Request::Kind::Health;
  else if (parts.words[0] == "keep")
    request.kind = Request::Kind::Keep;
  else if (parts.words[0] != "test")
    return Error{"'" + excerpt(payload) + "' is no request this worker knows"};
  Result<uint64_t> of = number(parts.words[1]);
  if (!of)
    return of.error();
  request.number = *of;
  Json json = Json::parse(parts.body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Error{"the body of request " + std::to_string(*of) + " is no JSON object"};
  Reader reader{json};
  requestFields(request, reader);
  if (!reader.error.empty())
    return Error{"request " + std::to_string(*of) + ": " + reader.error};
  if (auto handover = json.find(kHandover); handover != json.end())
    request.handover = dump(*handover);
  return request;
}

Result<Reply> decodeReply(std::string_view payload) {
  Parts parts = split(payload);
  if (parts.words[0] == "hello") {
    Json json = Json::parse(parts.body, nullptr, /*allow_exceptions=*/false);
    Hello hello;
    if (!json.is_object())
      return Error{"the worker's hello is no JSON object"};
    Reader reader{json};
    reader("protocol", hello.protocol);
    reader("worker", hello.worker);
    reader("unusable", hello.unusable);
    if (!reader.error.empty())
      return Error{"the worker's hello: " + reader.error};
    return Reply(std::move(hello));
  }
  if (parts.words[0] == "stage") {
    Result<uint64_t> of = number(parts.words[1]);
    std::optional<results::Stage> stage = results::parseStage(parts.words[2]);
    if (!of || !stage)
      return Error{"the worker sent '" + excerpt(payload) + "', which names no stage of a test"};
    return Reply(StageEntered{*of, *stage});
  }
  if (parts.words[0] == "told") {
    Result<uint64_t> of = number(parts.words[1]);
    if (!of)
      return of.error();
    return Reply(Told{*of, std::string(parts.body)});
  }
  if (parts.words[0] == "result") {
    Result<uint64_t> of = number(parts.words[1]);
    if (!of)
      return of.error();
    Result<results::TestRecord> record = results::testRecordFromJson(parts.body);
    if (!record)
      return Error{"the worker's result: " + record.message()};
    if (record->outcome == results::Outcome::NotRun && record->message.empty())
      return Error{"the worker's result has neither an outcome nor a word on why there is none"};
    Finished finished{*of, std::move(*record)};
    if (parts.body.find(kHandover) != std::string_view::npos) {
      Json json = Json::parse(parts.body, nullptr, /*allow_exceptions=*/false);
      if (auto handover = json.find(kHandover); handover != json.end())
        finished.handover = dump(*handover);
    }
    std::string_view rest = payload.substr(0, payload.find('\n'));
    rest.remove_prefix(
        std::min(rest.size(), std::string_view("result ").size() + parts.words[1].size()));
    while (!rest.empty()) {
      rest.remove_prefix(1);
      size_t end = std::min(rest.find(' '), rest.size());
      Result<uint64_t> process = number(rest.substr(0, end));
      if (!process || *process > 0x7fffffff)
        return Error{"the worker keeps '" + excerpt(rest.substr(0, end)) +
                     "', which is no process"};
      finished.kept.push_back(pid_t(*process));
      rest.remove_prefix(end);
    }
    return Reply(std::move(finished));
  }
  return Error{"the worker sent '" + excerpt(payload) + "', which is no reply of the protocol"};
}

std::string framed(std::string_view payload) {
  std::string frame;
  frame.reserve(payload.size() + 4);
  for (int shift = 0; shift < 32; shift += 8)
    frame += char(uint32_t(payload.size()) >> shift);
  frame += payload;
  return frame;
}

Result<std::optional<std::string_view>> FrameReader::next() {
  // What was handed out last time may go now.
  if (consumed && consumed == buffer.size()) {
    buffer.clear();
    consumed = 0;
  } else if (consumed > (64 << 10)) {
    buffer.erase(0, consumed);
    consumed = 0;
  }
  std::string_view rest = std::string_view(buffer).substr(consumed);
  if (rest.size() < 4)
    return std::optional<std::string_view>();
  uint32_t size = 0;
  for (int i = 3; i >= 0; --i)
    size = size << 8 | uint8_t(rest[i]);
  if (size > kMaxFrameBytes)
    return Error{"a frame of " + std::to_string(size) + " bytes, which cannot be one of ours"};
  if (rest.size() - 4 < size)
    return std::optional<std::string_view>();
  consumed += 4 + size;
  return std::optional(rest.substr(4, size));
}

} // namespace cupel::testbench::worker
