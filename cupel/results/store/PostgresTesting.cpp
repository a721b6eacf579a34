#include "cupel/results/store/PostgresTesting.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <fcntl.h>
#include <pwd.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace cupel::results {
namespace {

namespace fs = std::filesystem;

/// The newest server there is; Debian does not put these programs on the PATH.
std::string findTools() {
  std::string found;
  int newest = 14;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator("/usr/lib/postgresql", error))
    if (int version = std::atoi(entry.path().filename().c_str());
        version > newest && fs::exists(entry.path() / "bin/initdb")) {
      newest = version;
      found = entry.path() / "bin";
    }
  return found;
}

const passwd *unprivileged() { return ::geteuid() == 0 ? ::getpwnam("nobody") : nullptr; }

/// In a child: becomes that user (nobody: stays who it is), with its output in the file, and starts
/// the program.
[[noreturn]] void become(const passwd *user, const char *output, char *const *arguments) {
  if (user && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0))
    ::_exit(126);
  int out = ::open(output, O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(out, 1);
  ::dup2(out, 2);
  if (::chdir("/") == 0)
    ::execv(arguments[0], arguments);
  ::_exit(127);
}

} // namespace

PostgresServer &PostgresServer::get(bool durable) {
  static PostgresServer server(durable);
  return server;
}

PostgresServer::PostgresServer(bool durable) : durable(durable) {
  tools = findTools();
  if (tools.empty()) {
    reason = "PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)";
    return;
  }
  std::string pattern = fs::temp_directory_path() / "cupel-pg-XXXXXX";
  place = ::mkdtemp(pattern.data());
  if (const passwd *user = unprivileged())
    if (::chown(place.c_str(), user->pw_uid, user->pw_gid) != 0)
      reason = "the folder of the server cannot be given to " + std::string(user->pw_name);
  startKeeper();
  if (reason.empty() && runTool({tools + "/initdb", "-D", place + "/data", "-A", "trust", "-U",
                                 "cupel", "--no-locale", "-E", "UTF8", "--no-sync"}) != 0)
    reason = "initdb failed; " + place + "/log says why";
  if (reason.empty())
    start();
}

PostgresServer::~PostgresServer() {
  if (keeper < 0)
    return;
  ::close(lifeline);
  int status = 0;
  ::waitpid(keeper, &status, 0);
}

void PostgresServer::startKeeper() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    reason = "no pipe to the keeper of the server";
    return;
  }
  // Its text: the keeper is another user, who may not read where the sources lie.
  std::ifstream file(CUPEL_KEEP_POSTGRES);
  const std::string script{std::istreambuf_iterator<char>(file), {}};
  if (script.empty()) {
    reason = "the keeper's script is not there: " CUPEL_KEEP_POSTGRES;
    return;
  }
  const char *const words[] = {"/bin/sh", "-c", script.c_str(), "keeper", tools.c_str(),
                               place.c_str(), nullptr};
  const passwd *user = unprivileged();
  keeper = ::fork();
  if (keeper == 0) {
    ::setsid(); // A Ctrl-C that ends us must not end it.
    ::dup2(ends[0], 0);
    become(user, "/dev/null", const_cast<char *const *>(words));
  }
  ::close(ends[0]);
  lifeline = ends[1];
}

void PostgresServer::start() {
  std::string options = "-k " + place + " -c listen_addresses=''" + (durable ? "" : " -c fsync=off");
  if (runTool({tools + "/pg_ctl", "-D", place + "/data", "-w", "-l", place + "/log", "-o", options,
               "start"}) != 0)
    reason = "the server did not start; " + place + "/log says why";
}

void PostgresServer::kill() {
  runTool({tools + "/pg_ctl", "-D", place + "/data", "-m", "immediate", "stop"});
}

int PostgresServer::runTool(const std::vector<std::string> &words) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  std::string log = place + "/log";
  const passwd *user = unprivileged();
  pid_t child = ::fork();
  if (child == 0)
    become(user, log.c_str(), arguments.data());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string PostgresServer::address(const std::string &database, const std::string &role) const {
  return "postgresql:///" + database + "?host=" + place + "&user=" + role;
}

void PostgresServer::execute(const std::string &database, const std::string &sql) {
  openPostgres(address(database), /*readOnly=*/false)->execute(sql);
}

std::string PostgresServer::newDatabase() {
  std::string name = "store" + std::to_string(++databases) + "_" + std::to_string(::getpid());
  execute("postgres", "CREATE DATABASE " + name);
  return address(name);
}

} // namespace cupel::results
