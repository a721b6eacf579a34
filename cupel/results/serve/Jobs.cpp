#include "cupel/results/serve/Jobs.h"

#include "cupel/results/report/Rerun.h"
#include "cupel/results/serve/Api.h"
#include "cupel/results/serve/Archive.h"
#include "cupel/support/Files.h"
#include "cupel/support/Process.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::results::serve {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::system_clock;
namespace fs = std::filesystem;

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

HttpAnswer answerWith(const Json &json, int status = 200) {
  return {.status = status, .body = json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"};
}

std::string_view name(JobField::Kind kind) {
  switch (kind) {
  case JobField::Kind::Choice: return "choice";
  case JobField::Kind::Integer: return "integer";
  case JobField::Kind::Toggle: return "toggle";
  case JobField::Kind::Text: return "text";
  case JobField::Kind::Nodes: return "nodes";
  case JobField::Kind::Edits: return "edits";
  case JobField::Kind::File: return "file";
  }
  return "";
}

} // namespace

struct Jobs::Job {
  enum class State : uint8_t { Waiting, Running, Done, Failed, Cancelled };
  static constexpr std::string_view kStates[] = {"waiting", "running", "done", "failed", "cancelled"};

  uint64_t number = 0;
  std::string kind, title, key, folder;
  JobPlan plan;
  std::atomic<bool> stop = false;
  // Guarded by the mutex of Jobs:
  State state = State::Waiting;
  size_t step = 0; ///< The command that runs, from 1 on.
  double asked = 0, started = 0, ended = 0;
  std::string log, message;
  bool isLogCut = false;
  Json result = nullptr;

  bool isOver() const { return state != State::Waiting && state != State::Running; }
  Json brief() const {
    size_t last = log.find_last_not_of('\n');
    size_t begin = last == std::string::npos ? 0 : log.rfind('\n', last) + 1;
    return {{"id", number}, {"kind", kind}, {"title", title}, {"key", key}, {"state", kStates[size_t(state)]},
            {"step", step}, {"steps", plan.commands.size()}, {"asked_at", asked}, {"started_at", started}, {"ended_at", ended},
            {"seconds", started == 0 ? 0 : (ended == 0 ? now() : ended) - started},
            {"last_line", last == std::string::npos ? "" : log.substr(begin, last - begin + 1)}, {"message", message}, {"result", result}};
  }
};

Jobs::Jobs(std::vector<JobKind> kinds, Planner plan, Limits limits)
    : kinds(std::move(kinds)), plan(std::move(plan)), limits(limits) {
  for (size_t i = 0; i < limits.atOnce; ++i)
    workers.emplace_back([this] { work(); });
}

Jobs::~Jobs() {
  {
    std::lock_guard lock(mutex);
    isOver = true;
    for (auto &[number, job] : jobs)
      job->stop = true;
  }
  changed.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void Jobs::work() {
  while (true) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return isOver || !waiting.empty(); });
      if (isOver)
        return;
      job = waiting.front();
      waiting.pop_front();
      if (job->stop)
        continue;
      job->state = Job::State::Running;
      job->started = now();
    }
    carryOut(*job);
    std::lock_guard lock(mutex);
    forgetOldest();
  }
}

void Jobs::carryOut(Job &job) {
  auto log = [&](std::string_view text) {
    std::lock_guard lock(mutex);
    size_t room = limits.logBytes - std::min(limits.logBytes, job.log.size());
    job.log += text.substr(0, room);
    job.isLogCut |= room < text.size();
  };
  auto end = [&](Job::State state, std::string message, Json result = nullptr) {
    std::lock_guard lock(mutex);
    job.state = state;
    job.message = std::move(message);
    job.result = std::move(result);
    job.ended = now();
  };
  for (const JobCommand &command : job.plan.commands) {
    {
      std::lock_guard lock(mutex);
      ++job.step;
    }
    std::string shown = fs::path(command.words.front()).filename().string();
    for (size_t i = 1; i < command.words.size(); ++i)
      shown += " " + shellWord(command.words[i]);
    log("$ " + shown + "\n");
    Result<JobEnd> ended = runJobCommand(command, job.folder, limits.time, job.stop, log);
    if (!ended)
      return end(Job::State::Failed, ended.message());
    if (ended->wasStopped)
      return end(Job::State::Cancelled, "called off");
    if (ended->ranOutOfTime)
      return end(Job::State::Failed, fmt::format("ended after {} s, its limit", limits.time.count()));
    bool isGood = ended->exitCode == 0 || std::ranges::find(command.alsoGood, ended->exitCode) != command.alsoGood.end();
    if (!isGood)
      return end(Job::State::Failed, ended->exitCode > 128 ? "ended by " + describeSignal(ended->exitCode - 128)
                                                           : fmt::format("ended with exit code {}", ended->exitCode));
  }
  Result<std::string> came = job.plan.finish ? job.plan.finish() : Result<std::string>("{}");
  if (!came)
    return end(Job::State::Failed, came.message());
  Json result = Json::parse(*came, nullptr, /*allow_exceptions=*/false);
  if (!result.is_object())
    return end(Job::State::Failed, "what came of it cannot be read");
  std::string sentence = result.value("sentence", "");
  end(Job::State::Done, sentence, std::move(result));
}

void Jobs::forgetOldest() {
  for (auto at = jobs.begin(); jobs.size() > limits.kept && at != jobs.end();) {
    if (!at->second->isOver()) {
      ++at;
      continue;
    }
    std::error_code error;
    fs::remove_all(at->second->folder, error);
    at = jobs.erase(at);
  }
}

std::shared_ptr<Jobs::Job> Jobs::find(std::string_view text) {
  uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return nullptr;
  std::lock_guard lock(mutex);
  auto found = jobs.find(number);
  return found == jobs.end() ? nullptr : found->second;
}

HttpAnswer Jobs::start(const HttpRequest &request) {
  Json body = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (!body.is_object() || !body.contains("kind") || !body["kind"].is_string())
    return refuse(400, "a job is a JSON object with kind, key and values");
  auto kind = std::ranges::find(kinds, body["kind"].get<std::string>(), &JobKind::name);
  if (kind == kinds.end())
    return refuse(404, "there is no such kind of job");
  std::string key = body.contains("key") && body["key"].is_string() ? body["key"].get<std::string>() : "";
  JobValues values;
  for (const JobField &field : kind->fields)
    values[field.name] = field.kind == JobField::Kind::File ? "" : field.initial;
  const Json form = body.contains("values") ? body["values"] : Json::object();
  if (!form.is_object())
    return refuse(400, "values is no JSON object");
  for (const auto &[given, value] : form.items()) {
    auto field = std::ranges::find(kind->fields, given, &JobField::name);
    if (field == kind->fields.end() || !value.is_string())
      return refuse(400, fmt::format("'{}' is no field of this job with a text as its value", given));
    Result<std::string> checked = checkJobValue(*field, value.get<std::string>());
    if (!checked)
      return refuse(400, checked.message());
    values[given] = std::move(*checked);
  }
  auto job = std::make_shared<Job>();
  {
    std::lock_guard lock(mutex);
    if (isOver || scratch.path.empty())
      return refuse(503, "no job can be started");
    if (waiting.size() >= limits.waiting)
      return refuse(429, fmt::format("{} jobs are waiting already", waiting.size()));
    job->number = next++;
  }
  job->folder = (scratch.path / std::to_string(job->number)).string();
  std::error_code error;
  fs::create_directories(job->folder, error);
  Result<JobPlan> made = plan(*kind, key, values, job->folder);
  if (!made) {
    fs::remove_all(job->folder, error);
    return refuse(400, made.message());
  }
  job->kind = kind->name;
  job->key = key;
  job->title = made->title;
  job->plan = std::move(*made);
  job->asked = now();
  {
    std::lock_guard lock(mutex);
    jobs[job->number] = job;
    waiting.push_back(job);
  }
  changed.notify_one();
  return answerWith({{"id", job->number}}, 201);
}

HttpAnswer Jobs::list() {
  Json forms = Json::array(), all = Json::array();
  for (const JobKind &kind : kinds) {
    Json fields = Json::array();
    for (const JobField &field : kind.fields) {
      Json entry = {{"name", field.name}, {"label", field.label}, {"help", field.help}, {"kind", name(field.kind)}, {"initial", field.initial}};
      if (!field.choices.empty())
        entry["choices"] = field.choices;
      if (field.kind == JobField::Kind::Integer) {
        entry["least"] = field.least;
        entry["most"] = field.most;
      }
      for (const EditOption &one : field.edits)
        entry["options"].push_back({{"name", one.name}, {"label", one.label}, {"help", one.help}, {"choices", one.choices}});
      fields.push_back(std::move(entry));
    }
    forms.push_back({{"name", kind.name}, {"title", kind.title}, {"summary", kind.summary}, {"needs_program", kind.needsProgram}, {"fields", std::move(fields)}});
  }
  std::lock_guard lock(mutex);
  for (auto at = jobs.rbegin(); at != jobs.rend(); ++at)
    all.push_back(at->second->brief());
  return answerWith({{"schema", "cupel-jobs-1"}, {"kinds", std::move(forms)}, {"jobs", std::move(all)}});
}

HttpAnswer Jobs::show(const std::shared_ptr<Job> &job, const HttpRequest &request) {
  std::lock_guard lock(mutex);
  Json entry = job->brief();
  size_t from = 0;
  std::string asked = request.parameter("from", "0");
  std::from_chars(asked.data(), asked.data() + asked.size(), from);
  entry["log"] = job->log.substr(std::min(from, job->log.size()));
  entry["log_bytes"] = job->log.size();
  entry["log_is_cut"] = job->isLogCut;
  return answerWith(entry);
}

HttpAnswer Jobs::download(const std::shared_ptr<Job> &job, const HttpRequest &request) {
  std::string wanted = request.parameter("name");
  Json files;
  {
    std::lock_guard lock(mutex);
    files = job->result.is_object() ? job->result.value("files", Json::array()) : Json::array();
  }
  // What the job says it made, and nothing else.
  if (std::ranges::none_of(files, [&](const Json &file) { return file.is_string() && file.get<std::string>() == wanted; }))
    return refuse(404, "this job made no such file");
  Result<std::string> path = within({job->folder}, (fs::path(job->folder) / wanted).string());
  if (!path)
    return refuse(403, path.message());
  std::error_code error;
  std::string base = fs::path(wanted).filename().string();
  Result<std::string> bytes = std::string();
  if (fs::is_directory(*path, error)) {
    bytes = archiveOf(*path);
    base += ".tar";
  } else if (Result<FileContents> contents = readInput(*path)) {
    bytes = std::string(contents->bytes());
  } else {
    bytes = contents.error();
  }
  if (!bytes)
    return refuse(404, bytes.message());
  std::ranges::replace_if(base, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-'; }, '_');
  return {.type = "application/octet-stream", .body = std::move(*bytes),
          .headers = {{"Content-Disposition", "attachment; filename=\"" + base + "\""}}};
}

HttpAnswer Jobs::answer(const HttpRequest &request) {
  std::string_view rest = std::string_view(request.path).substr(kRoot.size());
  bool isQuestion = request.method == "GET" || request.method == "HEAD";
  if (rest.empty())
    return isQuestion ? list() : start(request);
  rest.remove_prefix(1);
  std::string_view number = rest.substr(0, rest.find('/'));
  std::shared_ptr<Job> job = find(number);
  if (!job)
    return refuse(404, "there is no such job");
  std::string_view what = rest.substr(number.size());
  if (what.empty() && isQuestion)
    return show(job, request);
  if (what == "/file" && isQuestion)
    return download(job, request);
  if (what != "/cancel" || isQuestion)
    return refuse(isQuestion ? 404 : 405, "no such question");
  std::lock_guard lock(mutex);
  job->stop = true;
  if (job->state == Job::State::Waiting) {
    job->state = Job::State::Cancelled;
    job->message = "called off before it began";
    std::erase(waiting, job);
  }
  return answerWith({{"id", job->number}});
}

std::string Jobs::describe() {
  return "\n## jobs\n"
         "Work that is started from the pages, and may be by others: each job is a few commands of `cupel` in processes of their own, "
         "which end with the server. Two run at once, up to 16 wait. To start or end one takes the token, on 127.0.0.1 too: "
         "`Authorization: Bearer TOKEN`; with `--read-only` there are none.\n\n"
         "| request | body or parameters | answer |\n|---|---|---|\n"
         "| `GET jobs` | | `kinds` with the `fields` of their forms, and the `jobs`, newest first: `id`, `kind`, `title`, `state` (waiting, running, done, failed, cancelled), `step` of `steps`, `seconds`, `last_line` of the log, `message`, `result` |\n"
         "| `POST jobs` | `{\"kind\": \"run\", \"key\": \"program\", \"values\": {\"device\": \"cupel\", \"seed\": \"3\"}}`; `key` is that of an open graph, values are texts | `id`; 400 where a value is not one that its field allows, 429 where too many wait |\n"
         "| `GET jobs/ID` | `from`: the log from this byte on | as in the list, with the `log` |\n"
         "| `GET jobs/ID/file` | `name`: one of the `files` of its result | the file, or a folder as a tar archive |\n"
         "| `POST jobs/ID/cancel` | | `id`; what it started is ended |\n";
}

} // namespace cupel::results::serve
