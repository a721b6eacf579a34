// A PostgreSQL server for tests: made in a folder of its own, run by an unprivileged user, reachable
// through a socket there and by nothing else, and gone when the process ends, however it ends: a
// keeper beside it stops the server and removes the folder once nobody is left to want them. One a
// process; each test gets a database of its own.
#pragma once

#include "cupel/results/store/Database.h"
#include "cupel/results/store/Place.h"

#include <string>
#include <vector>

namespace cupel::results {

class PostgresServer {
public:
  /// The one of this process; started when it is asked for the first time. One that is durable syncs
  /// to the disk, as those of labs do.
  static PostgresServer &get(bool durable = false);

  /// Why there is none; empty: there is one.
  const std::string &missing() const { return reason; }
  /// The address of a new, empty database.
  std::string newDatabase();
  /// An address of a database, by this role.
  std::string address(const std::string &database, const std::string &role = "cupel") const;
  void execute(const std::string &database, const std::string &sql);
  const std::string &folder() const { return place; }

  /// As if the machine had lost its power; `start` brings it back.
  void kill();
  void start();

private:
  explicit PostgresServer(bool durable);
  ~PostgresServer();
  /// Runs a program of PostgreSQL's as an unprivileged user; its exit code.
  int runTool(const std::vector<std::string> &words);
  /// Starts the process that cleans up when this one has gone, by whatever death.
  void startKeeper();

  std::string place, tools, reason;
  int databases = 0;
  bool durable;
  int keeper = -1;   ///< Its process.
  int lifeline = -1; ///< Closed, by us or by our death, it tells the keeper to begin.
};

} // namespace cupel::results
