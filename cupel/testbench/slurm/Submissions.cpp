#include "cupel/testbench/slurm/Submissions.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace cupel::testbench::slurm {

using Json = nlohmann::json;

Result<Submissions> Submissions::open(const std::string &path) {
  Submissions submissions(path);
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);)
    if (!in.eof())
      submissions.take(line);
  return submissions;
}

void Submissions::take(const std::string &line) {
  Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return;
  std::string name = json.value("submit", json.value("submitted", json.value("refused", "")));
  if (json.contains("submit")) {
    list.push_back({name, json.value("class", 0u), json.value("tasks", ""), ""});
    return;
  }
  for (size_t i = list.size(); i-- > 0;) {
    if (list[i].name != name)
      continue;
    if (json.contains("refused"))
      list.erase(list.begin() + long(i));
    else
      list[i].job = json.value("job", "");
    return;
  }
}

Status Submissions::append(const std::string &line) const {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return Error{path + ": " + std::strerror(errno)};
  // What a full disk cut off must not swallow the next line.
  off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  std::string text = line + "\n";
  if (size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n')
    text.insert(0, "\n");
  bool isWritten = ::write(file, text.data(), text.size()) == ssize_t(text.size()) && ::fsync(file) == 0;
  int why = errno;
  ::close(file);
  if (isWritten)
    return {};
  return Error{why == ENOSPC || why == EDQUOT ? ErrorCode::OutOfMemory : ErrorCode::Unknown,
               path + ": " + std::strerror(why)};
}

bool isFullDisk(const Error &error) { return error.code == ErrorCode::OutOfMemory; }

Status Submissions::intend(const Submission &submission) {
  std::string line = Json({{"submit", submission.name},
                           {"class", submission.resources},
                           {"tasks", submission.tasks}})
                         .dump();
  if (Status status = append(line); !status)
    return status;
  take(line);
  return {};
}

Status Submissions::submitted(const std::string &name, const std::string &job) {
  std::string line = Json({{"submitted", name}, {"job", job}}).dump();
  take(line); // True whether or not it can be written; who comes later asks Slurm.
  return append(line);
}

Status Submissions::refused(const std::string &name) {
  std::string line = Json({{"refused", name}}).dump();
  take(line);
  return append(line);
}

} // namespace cupel::testbench::slurm
