#include "cupel/compiler/backends/Backend.h"

#include "cupel/compiler/rewrites/Rewrites.h"

namespace cupel::compiler {

static constexpr std::string_view kMagic = "cupel executable 3\n";

/// `program`, which is new, must outlive the call: nothing of it may end while its context is held.
static Result<ExecutablePointer> attempt(const Backend &backend, std::string_view source,
                                         const CompileOptions &options,
                                         const std::shared_ptr<DeviceProgram> &program,
                                         const std::string &whyWhole = {}) {
  ContextLease lease(static_cast<int64_t>(source.size()));
  std::optional<RewriteCounter> rewrites;
  if (options.rewriteLimit >= 0 || !options.dumpFolder.empty())
    rewrites.emplace(*lease, options.rewriteLimit);
  Result<ExecutablePointer> made = [&]() -> Result<ExecutablePointer> {
    if (Status status = prepare(*program, source, options, lease); !status)
      return status.error();
    if (!whyWhole.empty())
      program->info.notes["partition"] = "whole (" + whyWhole + ")";
    return backend.compile(program);
  }();
  if (made && options.enablesTrace) {
    std::string &note = program->info.notes["trace"];
    if (note.empty()) // Nobody took it up.
      note = std::string(runtime::kNotRecorded) + "it runs whole on the backend " +
             (program->info.notes.contains("backend") ? program->info.notes["backend"]
                                                      : std::string(backend.name()));
  }
  if (made && options.rewriteLimit >= 0) {
    program->info.notes["rewrites"] = rewrites->summary();
    if (const Rewrite *last = rewrites->last())
      program->info.notes["last_rewrite"] = describe(*last);
  }
  if (!program->stages.isOn())
    return made;
  std::string list; // Also of what failed.
  for (const Rewrite &one : rewrites->all())
    list += describe(one) + "\n";
  program->stages.writeText("rewrites.txt", std::move(list));
  Status written = program->stages.finish();
  program->stages = StageWriter();
  if (made && !written)
    return written.error();
  return made;
}

Result<ExecutablePointer> Backend::compileSource(std::string_view source,
                                                 const CompileOptions &options) const {
  auto program = std::make_shared<DeviceProgram>();
  Result<ExecutablePointer> made = attempt(*this, source, options, program);
  if (made && options.enablesTrace && options.isStrict) // Here, where nobody holds the context.
    if (const std::string &note = program->info.notes["trace"]; note.starts_with(runtime::kNotRecorded))
      return Error{ErrorCode::Unsupported,
                   "the program's commands cannot be recorded (enable_trace, strict); " + note};
  bool wasSplit = options.isGlobal && options.splitsWork && program->devices.partitions > 1 &&
                  program->devices.view == View::Own;
  if (made || !wasSplit || options.isStrict)
    return made;
  CompileOptions whole = options;
  whole.splitsWork = false;
  auto again = std::make_shared<DeviceProgram>();
  return attempt(*this, source, whole, again, made.message());
}

Result<ExecutablePointer> Backend::load(std::string_view bytes, const TraceRegionPointer &region) const {
  size_t end = bytes.find('\n');
  if (end == std::string_view::npos)
    return Error{"the saved executable has no program"};
  Result<CompileOptions> options = parseCompileOptions(bytes.substr(0, end));
  if (!options)
    return options.error().within("the saved executable cannot be read");
  options->backend = name();
  options->traceRegion = region;
  return compileSource(bytes.substr(end + 1), *options);
}

std::string savedForm(std::string_view backend, std::string_view bytes) {
  return std::string(kMagic) + std::string(backend) + "\n" + std::string(bytes);
}

std::string sourceForm(const DeviceProgram &program) {
  return savedForm(program.options.backend, describe(program.options) + "\n" + program.source);
}

Result<SavedExecutable> parseSavedForm(std::string_view bytes) {
  Error malformed{"the bytes are no saved executable of this version"};
  if (!bytes.starts_with(kMagic))
    return malformed;
  bytes.remove_prefix(kMagic.size());
  size_t end = bytes.find('\n');
  if (end == std::string_view::npos)
    return malformed;
  return SavedExecutable{bytes.substr(0, end), bytes.substr(end + 1)};
}

} // namespace cupel::compiler
