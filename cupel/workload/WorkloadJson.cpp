#include "cupel/workload/WorkloadJson.h"
#include "cupel/support/JsonValues.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

using namespace cupel;
using namespace cupel::workload;
using nlohmann::ordered_json;

static constexpr std::string_view kCheckNames[] = {"equal", "almost_equal", "close"};

/// One list of bounds, walked by the writer and by the reader.
template <typename Visitor, typename T> static void bounds(T &tolerance, Visitor &&visit) {
  visit("pcc", tolerance.pcc);
  visit("atol", tolerance.atol);
  visit("rtol", tolerance.rtol);
  visit("largest", tolerance.largest);
  visit("relative_l2", tolerance.relativeL2);
  visit("cosine", tolerance.cosine);
}

static ordered_json toJson(const compare::Tolerance &tolerance) {
  ordered_json json = ordered_json::object();
  bounds(tolerance, [&](const char *key, const std::optional<double> &bound) {
    // JSON has no infinity.
    if (bound)
      json[key] = std::clamp(*bound, -std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::max());
  });
  if (tolerance.ulp)
    json["ulp"] = {tolerance.ulp->min, tolerance.ulp->max};
  if (tolerance.nan == compare::NanPolicy::Unequal)
    json["nan_equals_nan"] = false;
  if (tolerance.complex == compare::ComplexPolicy::Parts)
    json["complex_by_parts"] = true;
  return json;
}

ordered_json cupel::workload::optionsToJson(const Workload &workload) {
  ordered_json json = {{"format", 1}, {"name", workload.name}};
  const CompileOptions &options = workload.options;
  json["replicas"] = options.replicas;
  json["partitions"] = options.partitions;
  if (workload.hasDeviceIds)
    json["device_ids"] = options.deviceIds;
  if (options.useSpmd)
    json["use_spmd"] = true;
  if (options.useShardy)
    json["use_shardy"] = true;
  if (!options.flags.empty()) {
    ordered_json &flags = json["compile_options"] = ordered_json::object();
    for (const auto &[name, value] : options.flags)
      std::visit([&, &key = name](const auto &v) { flags[key] = v; }, value);
  }
  for (const compare::Tolerance &tolerance : workload.tolerances)
    json["tolerances"].push_back(toJson(tolerance));
  if (workload.precision != compare::DevicePrecision())
    json["precision"] = workload.precision.text();
  if (!workload.isAsserted)
    json["asserted"] = false;
  if (workload.expectsFirst)
    json["expects_first"] = true;
  for (const Check &check : workload.checks) {
    ordered_json row = {{"kind", kCheckNames[static_cast<int>(check.kind)]},
                        {"actual", check.actual},
                        {check.isConstant ? "constant" : "expected", check.expected}};
    if (check.kind == Check::Kind::AlmostEqual)
      row["tolerance"] = check.tolerance;
    if (check.kind == Check::Kind::Close) {
      row["min_ulps"] = check.minUlps;
      row["max_ulps"] = check.maxUlps;
    }
    if (!check.location.empty())
      row["location"] = check.location;
    if (check.device)
      row["device"] = *check.device;
    json["checks"].push_back(std::move(row));
  }
  return json;
}

/// Reads fields of a JSON object and remembers the first thing that is wrong.
namespace {
class OptionsReader {
public:
  OptionsReader(std::string where, const ordered_json &object)
      : where(std::move(where)), object(object) {
    if (!object.is_object())
      fail("must be an object");
  }
  template <typename T> void read(const char *key, T &value, bool required = false) {
    known.push_back(key);
    auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end()) {
      if (required)
        fail(fmt::format("'{}' is missing", key));
      return;
    }
    T read{};
    if (json_values::take(*found, read))
      value = std::move(read);
    else
      fail(fmt::format("'{}' has the wrong type: {}", key,
                       found->dump(-1, ' ', false, ordered_json::error_handler_t::replace)));
  }
  bool has(const char *key) const { return object.is_object() && object.contains(key); }
  const ordered_json *child(const char *key) {
    known.push_back(key);
    if (!object.is_object())
      return nullptr;
    auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }
  /// Call last: names what nobody asked for.
  void rejectUnknown() {
    if (object.is_object())
      for (const auto &item : object.items())
        if (std::ranges::find(known, item.key()) == known.end())
          fail(fmt::format("'{}' is not an option (there are: {})", item.key(),
                           fmt::join(known, ", ")));
  }
  void fail(const std::string &what) {
    if (error.empty())
      error = where + ": " + what;
  }
  std::string where, error;

private:
  const ordered_json &object;
  std::vector<std::string> known;
};
} // namespace

static Result<compare::Tolerance> toleranceFromJson(const std::string &where,
                                                    const ordered_json &json) {
  OptionsReader reader(where, json);
  compare::Tolerance tolerance;
  bounds(tolerance, [&](const char *key, std::optional<double> &bound) {
    if (reader.has(key))
      reader.read(key, bound.emplace());
  });
  if (reader.has("ulp")) {
    std::vector<uint64_t> range;
    reader.read("ulp", range);
    if (range.size() == 2)
      tolerance.ulp = compare::UlpRange{range[0], range[1]};
    else
      reader.fail("'ulp' must be the smallest and the largest distance");
  }
  bool nanEqualsNan = true, byParts = false;
  reader.read("nan_equals_nan", nanEqualsNan);
  reader.read("complex_by_parts", byParts);
  tolerance.nan = nanEqualsNan ? compare::NanPolicy::Equal : compare::NanPolicy::Unequal;
  tolerance.complex = byParts ? compare::ComplexPolicy::Parts : compare::ComplexPolicy::Modulus;
  reader.rejectUnknown();
  if (!reader.error.empty())
    return Error{reader.error};
  if (Status valid = tolerance.validate(); !valid)
    return Error{where + ": " + valid.message()};
  return tolerance;
}

Status cupel::workload::optionsFromJson(const std::string &path, const ordered_json &json,
                                        Workload &workload,
                                        std::optional<compare::Tolerance> &forFloats) {
  OptionsReader reader(path, json);
  int64_t format = 1;
  reader.read("format", format);
  if (format != 1)
    reader.fail(fmt::format("format {} is newer than this Cupel understands (1)", format));
  reader.read("name", workload.name);
  CompileOptions &options = workload.options;
  reader.read("replicas", options.replicas);
  reader.read("partitions", options.partitions);
  reader.read("use_spmd", options.useSpmd);
  reader.read("use_shardy", options.useShardy);
  if (options.replicas < 1 || options.partitions < 1 || options.replicas > 65536 ||
      options.partitions > 65536)
    reader.fail("replicas and partitions must be between 1 and 65536");
  workload.hasDeviceIds = reader.has("device_ids");
  reader.read("device_ids", options.deviceIds);
  if (workload.hasDeviceIds && reader.error.empty() &&
      static_cast<int64_t>(options.deviceIds.size()) != options.replicas * options.partitions)
    reader.fail(fmt::format("{} device_ids for {} replicas of {} partitions",
                            options.deviceIds.size(), options.replicas, options.partitions));
  if (const ordered_json *flags = reader.child("compile_options")) {
    if (!flags->is_object())
      reader.fail("'compile_options' must be an object");
    else
      for (const auto &[key, value] : flags->items()) {
        if (value.is_string())
          options.flags.emplace_back(key, value.get<std::string>());
        else if (value.is_boolean())
          options.flags.emplace_back(key, value.get<bool>());
        else if (value.is_number_integer())
          options.flags.emplace_back(key, value.get<int64_t>());
        else if (value.is_number())
          options.flags.emplace_back(key, value.get<double>());
        else
          reader.fail(fmt::format("compile option '{}' is neither text, number nor boolean", key));
      }
  }
  if (const ordered_json *bounds = reader.child("tolerance")) {
    Result<compare::Tolerance> read = toleranceFromJson(path + ": tolerance", *bounds);
    if (!read)
      return read.error();
    if (!read->isEmpty())
      forFloats = *read;
  }
  if (const ordered_json *list = reader.child("tolerances")) {
    if (!list->is_array() || list->empty())
      reader.fail("'tolerances' must be a list of at least one");
    for (const ordered_json &row : *list) {
      Result<compare::Tolerance> read = toleranceFromJson(
          fmt::format("{}: tolerance {}", path, workload.tolerances.size()), row);
      if (!read)
        return read.error();
      workload.tolerances.push_back(*read);
    }
  }
  if (reader.has("precision")) {
    std::string text;
    reader.read("precision", text);
    Result<compare::DevicePrecision> precision = compare::DevicePrecision::parse(text);
    if (precision)
      workload.precision = *precision;
    else
      reader.fail(precision.message());
  }
  reader.read("asserted", workload.isAsserted);
  reader.read("expects_first", workload.expectsFirst);
  if (const ordered_json *checks = reader.child("checks")) {
    if (!checks->is_array())
      reader.fail("'checks' must be a list");
    for (const ordered_json &row : *checks) {
      OptionsReader inner(fmt::format("{}: check {}", path, workload.checks.size()), row);
      Check check;
      std::string kind;
      inner.read("kind", kind, true);
      auto found = std::ranges::find(kCheckNames, kind);
      if (found == std::end(kCheckNames))
        inner.fail(
            fmt::format("'{}' is not a kind of check ({})", kind, fmt::join(kCheckNames, ", ")));
      check.kind = static_cast<Check::Kind>(found - std::begin(kCheckNames));
      inner.read("actual", check.actual, true);
      check.isConstant = inner.has("constant");
      inner.read(check.isConstant ? "constant" : "expected", check.expected, true);
      inner.read("tolerance", check.tolerance);
      inner.read("min_ulps", check.minUlps);
      inner.read("max_ulps", check.maxUlps);
      inner.read("location", check.location);
      if (inner.has("device"))
        inner.read("device", check.device.emplace());
      inner.rejectUnknown();
      if (!inner.error.empty())
        return Error{inner.error};
      workload.checks.push_back(std::move(check));
    }
  }
  reader.rejectUnknown();
  if (!reader.error.empty())
    return Error{reader.error};
  return {};
}

// --- Where it came from -----------------------------------------------------------------------

/// One list of fields, walked by the writer and by the reader.
template <typename Visitor, typename P> static void fields(P &p, Visitor &&visit) {
  visit("test", p.test);
  visit("file", p.file);
  visit("part", p.part);
  visit("frontend", p.frontend);
  visit("variant", p.variant);
  visit("parallelism", p.parallelism);
  visit("run_mode", p.runMode);
  visit("expectation", p.expectation);
  visit("wide_sums", p.wideSums);
  visit("result_names", p.resultNames);
  visit("device", p.device);
  visit("outcome", p.outcome);
  visit("stage", p.stage);
  visit("message", p.message);
  visit("versions", p.versions);
}

ordered_json cupel::workload::provenanceToJson(const Provenance &provenance) {
  ordered_json json = {{"format", 1}};
  fields(provenance, [&]<typename T>(const char *key, const T &value) {
    if (value != T())
      json[key] = value;
  });
  if (provenance.seed)
    json["seed"] = *provenance.seed;
  return json;
}

Status cupel::workload::provenanceFromJson(const std::string &path, const ordered_json &json,
                                           Provenance &provenance) {
  OptionsReader reader(path, json);
  fields(provenance, [&](const char *key, auto &value) { reader.read(key, value); });
  if (reader.has("seed"))
    reader.read("seed", provenance.seed.emplace());
  // Fields that later versions add are told to nobody.
  if (!reader.error.empty())
    return Error{reader.error};
  return {};
}
