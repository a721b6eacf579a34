#include "cupel/pjrt/plugin/Options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace cupel::pjrt {

using Type = OptionInfo::Type;

static constexpr OptionInfo kClientOptions[] = {
    {"arch", Type::String, "cpu", "CUPEL_ARCH",
     "The architecture whose devices are made up: a built-in name (those of zoo/archs: cpu, n300, "
     "...) or the path of a descriptor."},
    {"num_devices", Type::Integer, "the chips of the architecture", "CUPEL_NUM_DEVICES",
     "How many devices there are; for cpu any number, for others at most their chips."},
    {"memory_limit", Type::Integer, "the memory of the architecture", "CUPEL_MEMORY_LIMIT",
     "Bytes of memory of each device; 0: no limit."},
    {"export_path", Type::String, "none", "CUPEL_DUMP_DIR",
     "A folder that gets every stage of every compiled program, under irs/."},
    {"accumulate", Type::String, "native", "CUPEL_ACCUMULATE",
     "How sums and products of floats of 32 bits and below accumulate: native (step by step in the "
     "program's own types, as the golden reference does) or f64 (rounded once at the end; such programs "
     "run on the reference). The Python package asks for f64 on the backend reference, which is nearer to "
     "what JAX's users are used to.", "native f64"},
    {"scatter", Type::String, "elements", "CUPEL_SCATTER",
     "What a scatter skips where a window hangs over an edge: elements (those outside, as the "
     "specification and the golden reference do) or windows (all of it, as XLA does). The Python "
     "package asks for windows, which JAX's programs mean.", "elements windows"},
    {"number_formats", Type::String, "architecture", "CUPEL_NUMBER_FORMATS",
     "What devices compute in: architecture (its element types; what a program computes in others, "
     "such as f64 on n300, is rounded to the nearest of them after every operation) or program "
     "(its own "
     "types, whatever the architecture has).", "architecture program"},
    {"experimental_weight_dtype", Type::String, "none", "CUPEL_WEIGHT_DTYPE",
     "What weights of products are held in: bfp8 (or bfp_bf8) or bfp_bf4, block floats of sixteen numbers "
     "that share an exponent; or an object of JSON that maps patterns of names to these or to bf16 (as "
     "they are), such as {\"layers.*.mlp.*\": \"bfp_bf4\", \"default\": \"bfp_bf8\"}. A weight is the right "
     "side of a product that is a constant or an argument, by the name in its location; never that of a "
     "convolution."},
    {"partition", Type::String, "split", "CUPEL_PARTITION",
     "How programs on whole tensors are computed of which devices hold pieces: split (every device "
     "computes its pieces, with collectives, where that can be done without more work) or whole "
     "(pieces are put together and one computes for all devices).", "split whole"},
    {"backend", Type::String, "cpu", "CUPEL_BACKEND",
     "What makes programs run: cpu (compiled for the host's processor), reference (the golden "
     "reference's kernels) or null (programs whose results are their arguments, for measuring what "
     "everything else costs).", "cpu reference null"},
    {"strict", Type::Boolean, "false", "CUPEL_STRICT",
     "A program that is to be split over devices and cannot be is an error; otherwise a warning on "
     "standard error, and `partition` in the cost analysis, say why it is computed whole."},
    {"num_threads", Type::Integer, "as many as there are cores", "CUPEL_NUM_THREADS",
     "Threads that kernels of the backend cpu use, in all clients of the process; 0: as many as there "
     "are cores. Results do not depend on it."},
    {"opt_bisect_limit", Type::Integer, "none", "CUPEL_OPT_BISECT_LIMIT",
     "Only the first so many of the rewrites that the compiler may leave are done; -1: all. The cost "
     "analysis then says in `rewrites` how many there were, and in `last_rewrite` which was the last: "
     "between a limit that is right and the next that is wrong stands the wrong rewrite."},
    {"machine_code", Type::String, "where_it_pays", "CUPEL_MACHINE_CODE",
     "What the backend cpu makes machine code for: where_it_pays (what is small and outside of loops is "
     "run operation by operation, which is sooner done than code is made) or always.", "where_it_pays always"},
    {"plant_wrong_rewrite", Type::Integer, "0", "CUPEL_PLANT_WRONG_REWRITE",
     "For tests of those who look for wrong rewrites: the backend cpu swaps the operands of all sums "
     "and makes the one of this number, from 1 on, a difference. 0: it does not."},
    {"host_reads", Type::String, "in_place", "CUPEL_HOST_READS",
     "How hosts get at what is in a device's own memory: in_place (it is the host's memory and "
     "says so) or copied (as from a device with a memory of its own, so that a host can tell and guard "
     "transfers: jax.transfer_guard_device_to_host).", "in_place copied"},
};

static constexpr OptionInfo kCompileOptions[] = {
    {"export_path", Type::String, "that of the client", "",
     "A folder that gets the stages of this program, under irs/."},
    {"accumulate", Type::String, "that of the client", "",
     "How sums and products accumulate in this program: native or f64.", "native f64"},
    {"scatter", Type::String, "that of the client", "",
     "What a scatter of this program skips: elements or windows.", "elements windows"},
    {"number_formats", Type::String, "that of the client", "",
     "What this program is computed in: architecture or program.", "architecture program"},
    {"experimental_weight_dtype", Type::String, "that of the client", "",
     "What weights of this program's products are held in; empty text: in the program's own types."},
    {"partition", Type::String, "that of the client", "",
     "How this program is computed if devices hold pieces: split or whole.", "split whole"},
    {"backend", Type::String, "that of the client", "", "What makes this program run.", "cpu reference null"},
    {"strict", Type::Boolean, "that of the client", "",
     "This program is split over its devices if it is to be, or not compiled."},
    {"opt_bisect_limit", Type::Integer, "that of the client", "",
     "How many of the rewrites that may be left are done to this program; -1: all."},
    {"machine_code", Type::String, "that of the client", "",
     "What of this program machine code is made for: where_it_pays or always.", "where_it_pays always"},
    {"plant_wrong_rewrite", Type::Integer, "that of the client", "",
     "For tests: which rewrite of this program is wrong; 0: none."},
};

std::span<const OptionInfo> clientOptions() { return kClientOptions; }
std::span<const OptionInfo> compileOptions() { return kCompileOptions; }

static size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t corner = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t next = std::min({row[j + 1] + 1, row[j] + 1, corner + (a[i] != b[j])});
      corner = std::exchange(row[j + 1], next);
    }
  }
  return row.back();
}

static std::optional<int64_t> parseInteger(std::string_view text) {
  int64_t value;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

Status Options::set(std::string_view name, OptionValue value) {
  auto option = std::find_if(table.begin(), table.end(),
                             [&](const OptionInfo &one) { return one.name == name; });
  if (option == table.end()) {
    auto nearest = std::min_element(table.begin(), table.end(), [&](const auto &a, const auto &b) {
      return distance(a.name, name) < distance(b.name, name);
    });
    // JAX looks for the first words.
    bool isClient = table.data() == kClientOptions;
    std::string message = "No such " + std::string(isClient ? "client" : "compile") + " option: '" +
                          std::string(name) + "'; the nearest is '" + std::string(nearest->name) +
                          "'";
    // Too far away to have been meant.
    if (distance(nearest->name, name) * 2 > nearest->name.size()) {
      message += " of";
      for (const OptionInfo &one : table)
        message += (&one == &table.front() ? " " : ", ") + std::string(one.name);
    }
    return Error{ErrorCode::InvalidArgument, message};
  }
  bool fits = false;
  switch (option->type) {
  case Type::String:
    fits = std::holds_alternative<std::string>(value);
    break;
  case Type::Integer:
    if (auto *text = std::get_if<std::string>(&value))
      if (std::optional<int64_t> number = parseInteger(*text))
        value = *number;
    fits = std::holds_alternative<int64_t>(value);
    break;
  case Type::Boolean:
    if (auto *text = std::get_if<std::string>(&value); text && (*text == "true" || *text == "1"))
      value = true;
    else if (text && (*text == "false" || *text == "0"))
      value = false;
    fits = std::holds_alternative<bool>(value);
    break;
  }
  if (!fits) {
    const auto *text = std::get_if<std::string>(&value);
    return Error{ErrorCode::InvalidArgument,
                 "the option '" + std::string(name) + "' takes " +
                     (option->type == Type::String    ? "text"
                      : option->type == Type::Integer ? "a whole number"
                                                      : "true or false") +
                     (text ? ", not '" + *text + "'" : "")};
  }
  values[option->name] = std::move(value);
  return {};
}

std::optional<std::string> Options::string(std::string_view name) const {
  if (auto it = values.find(name); it != values.end())
    return std::get<std::string>(it->second);
  for (const OptionInfo &option : table)
    if (option.name == name && !option.environment.empty())
      if (const char *text = std::getenv(std::string(option.environment).c_str()); text && *text)
        return text;
  return std::nullopt;
}

Result<std::optional<int64_t>> Options::integer(std::string_view name) const {
  if (auto it = values.find(name); it != values.end())
    return std::optional(std::get<int64_t>(it->second));
  for (const OptionInfo &option : table)
    if (option.name == name && !option.environment.empty())
      if (const char *text = std::getenv(std::string(option.environment).c_str()); text && *text) {
        std::optional<int64_t> number = parseInteger(text);
        if (!number)
          return Error{ErrorCode::InvalidArgument, std::string(option.environment) + " is '" +
                                                       text + "', which is no whole number"};
        return number;
      }
  return std::optional<int64_t>();
}

Result<std::optional<bool>> Options::boolean(std::string_view name) const {
  if (auto it = values.find(name); it != values.end())
    return std::optional(std::get<bool>(it->second));
  for (const OptionInfo &option : table)
    if (option.name == name && !option.environment.empty())
      if (const char *text = std::getenv(std::string(option.environment).c_str()); text && *text) {
        std::string_view given = text;
        bool isTrue = given == "true" || given == "1";
        if (!isTrue && given != "false" && given != "0")
          return Error{std::string(option.environment) + " is '" + text +
                       "', which is neither true nor false"};
        return std::optional(isTrue);
      }
  return std::optional<bool>();
}

static Result<bool> choice(const Options &options, std::string_view name, std::string_view usual,
                            std::string_view other, bool isOtherByDefault) {
  std::optional<std::string> given = options.string(name);
  if (!given)
    return isOtherByDefault;
  if (*given != usual && *given != other)
    return Error{ErrorCode::InvalidArgument, "the option '" + std::string(name) + "' is '" +
                                                 *given + "'; it takes " + std::string(other) +
                                                 " or " + std::string(usual)};
  return *given == other;
}

Status chooseNumerics(const Options &options, Numerics &numerics) {
  Result<bool> wide = choice(options, "accumulate", "native", "f64", numerics.wideAccumulation);
  Result<bool> windows =
      choice(options, "scatter", "elements", "windows", numerics.scatterSkipsWindows);
  Result<bool> program =
      choice(options, "number_formats", "architecture", "program", numerics.programTypes);
  Result<bool> whole = choice(options, "partition", "split", "whole", numerics.computesWhole);
  for (const Result<bool> *chosen : {&wide, &windows, &program, &whole})
    if (!*chosen)
      return chosen->error();
  numerics = {*wide, *windows, *program, *whole};
  return {};
}

Status chooseRewrites(const Options &options, Rewrites &rewrites) {
  for (auto [name, least, number] :
       {std::tuple("opt_bisect_limit", int64_t(-1), &rewrites.limit),
        std::tuple("plant_wrong_rewrite", int64_t(0), &rewrites.wrong)}) {
    Result<std::optional<int64_t>> given = options.integer(name);
    if (!given)
      return given.error();
    if (*given && **given < least)
      return Error{ErrorCode::InvalidArgument, "the option '" + std::string(name) + "' is " +
                                                   std::to_string(**given) + "; the least is " +
                                                   std::to_string(least)};
    *number = given->value_or(*number);
  }
  Result<bool> always =
      choice(options, "machine_code", "where_it_pays", "always", rewrites.alwaysCode);
  if (!always)
    return always.error();
  rewrites.alwaysCode = *always;
  return {};
}

Result<bool> choosesCopies(const Options &options) {
  return choice(options, "host_reads", "in_place", "copied", false);
}

std::string optionsPage() {
  auto rows = [](std::span<const OptionInfo> table) {
    std::string text =
        "| option | type | default | environment | meaning |\n|---|---|---|---|---|\n";
    for (const OptionInfo &option : table)
      text += "| `" + std::string(option.name) + "` | " +
              (option.type == Type::String    ? "text"
               : option.type == Type::Integer ? "integer"
                                              : "boolean") +
              " | " + std::string(option.defaultText) + " | " +
              (option.environment.empty() ? "" : "`" + std::string(option.environment) + "`") +
              " | " + std::string(option.help) + " |\n";
    return text;
  };
  return "# Options of the plugin\n\n"
         "Made from the tables in `cupel/pjrt/plugin/Options.cpp`. An option that is not listed is "
         "refused, with the nearest name.\n\n"
         "## When a client is created\n\n"
         "`register_plugin(..., options={...})`, or `JAX_PJRT_CLIENT_CREATE_OPTIONS=name:value`; "
         "an "
         "option wins over its environment variable.\n\n" +
         rows(kClientOptions) +
         "\n## When a program is compiled\n\n"
         "`jax.jit(f, compiler_options={...})` or `lowered.compile(compiler_options={...})`. "
         "Options "
         "of XLA's own compilers (`xla_...`) are taken and have no effect; a value that is not of "
         "the "
         "option's type is refused.\n\n" +
         rows(kCompileOptions);
}

} // namespace cupel::pjrt
