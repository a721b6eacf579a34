// SQLite as the store needs it: a connection whose statements are prepared once, rows read by
// position, transactions that roll back unless they are committed. Errors are thrown as
// DatabaseError inside the store and turned into a Status at its interface; nothing else may see
// them.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3;
struct sqlite3_stmt;

namespace cupel::results {

struct DatabaseError {
  std::string message;
};

/// A prepared statement in use: binds in order, steps through rows, reads columns in order.
class Query {
public:
  Query(sqlite3 *db, sqlite3_stmt *statement);
  Query(const Query &) = delete;
  Query &operator=(const Query &) = delete;
  ~Query();

  Query &bind(std::string_view text);
  Query &bind(const std::string &text) { return bind(std::string_view(text)); }
  Query &bind(const char *text) { return bind(std::string_view(text)); }
  Query &bind(int64_t value);
  Query &bind(uint64_t value) { return bind(int64_t(value)); }
  Query &bind(uint32_t value) { return bind(int64_t(value)); }
  Query &bind(int value) { return bind(int64_t(value)); }
  Query &bind(bool value) { return bind(int64_t(value)); }
  /// NaN, which SQLite would turn into NULL, is kept as the text `nan`.
  Query &bind(double value);
  Query &bindNull();
  template <typename T> Query &bind(const std::optional<T> &value) {
    return value ? bind(*value) : bindNull();
  }
  template <typename... Values> Query &with(const Values &...values) {
    (bind(values), ...);
    return *this;
  }

  /// Whether there is (another) row.
  bool next();
  /// For statements without rows.
  void run() {
    while (next()) {
    }
  }

  // Columns, one after another from the left.
  std::string text();
  int64_t integer();
  double real();
  std::optional<double> maybeReal();

private:
  sqlite3 *db;
  sqlite3_stmt *statement;
  int parameter = 0, column = 0;
};

class Database {
public:
  /// Opens or (where `create`) makes the file. Throws.
  Database(const std::string &path, bool readOnly, bool create);
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;
  ~Database();

  /// `sql` must be a literal: statements are kept by its address.
  Query query(const char *sql);
  /// One or more statements without parameters or rows.
  void execute(const std::string &sql);
  int64_t lastRowId() const;
  int64_t changes() const;
  int64_t userVersion();

  const std::string &path() const { return file; }
  sqlite3 *handle() const { return db; }

private:
  void openUnshared();

  std::string file;
  sqlite3 *db = nullptr;
  std::unordered_map<const char *, sqlite3_stmt *> statements;
};

/// BEGIN IMMEDIATE, so that two writers wait for each other instead of failing halfway.
class Transaction {
public:
  explicit Transaction(Database &db) : db(db) { db.query("BEGIN IMMEDIATE").run(); }
  ~Transaction();
  void commit();

private:
  Database &db;
  bool open = true;
};

/// A snapshot for several queries that must agree.
class ReadTransaction {
public:
  explicit ReadTransaction(Database &db) : db(db) { db.query("BEGIN").run(); }
  ~ReadTransaction();

private:
  Database &db;
};

} // namespace cupel::results
