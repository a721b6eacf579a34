// A database as the store needs it, whichever it is: statements that are prepared once, rows read by
// position, transactions that roll back unless they are committed. SQLite.cpp and Postgres.cpp are
// the two there are; statements are written once, in SQLite's words (`?` and `?1` for parameters),
// and only what this header names may differ between them. Errors are thrown as DatabaseError inside
// the store and turned into a Status at its interface; nothing else may see them.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::results {

struct DatabaseError {
  std::string message;
};

/// A prepared statement of one of the databases. Parameters count from 1, columns from 0.
class Statement {
public:
  virtual ~Statement() = default;
  virtual void bindText(int parameter, std::string_view text) = 0;
  /// The same of a text that stays where it is until `reset`.
  virtual void bindTextInPlace(int parameter, std::string_view text) { bindText(parameter, text); }
  virtual void bindInteger(int parameter, int64_t value) = 0;
  virtual void bindReal(int parameter, double value) = 0; ///< NaN stays NaN.
  virtual void bindNull(int parameter) = 0;
  /// Whether there is (another) row.
  virtual bool step() = 0;
  virtual std::string text(int column) = 0;
  virtual int64_t integer(int column) = 0;
  virtual std::optional<double> real(int column) = 0;
  virtual void reset() noexcept = 0;
};

/// A statement in use: binds in order, steps through rows, reads columns in order.
class Query {
public:
  explicit Query(Statement &statement) : statement(statement) {}
  Query(const Query &) = delete;
  Query &operator=(const Query &) = delete;
  ~Query() { statement.reset(); }

  Query &bind(std::string_view text) {
    isInPlace ? statement.bindTextInPlace(++parameter, text) : statement.bindText(++parameter, text);
    return *this;
  }
  Query &bind(const std::string &text) { return bind(std::string_view(text)); }
  Query &bind(const char *text) { return bind(std::string_view(text)); }
  Query &bind(int64_t value) { return statement.bindInteger(++parameter, value), *this; }
  Query &bind(uint64_t value) { return bind(int64_t(value)); }
  Query &bind(uint32_t value) { return bind(int64_t(value)); }
  Query &bind(int value) { return bind(int64_t(value)); }
  Query &bind(bool value) { return bind(int64_t(value)); }
  Query &bind(double value) { return statement.bindReal(++parameter, value), *this; }
  Query &bindNull() { return statement.bindNull(++parameter), *this; }
  template <typename T> Query &bind(const std::optional<T> &value) {
    return value ? bind(*value) : bindNull();
  }
  template <typename... Values> Query &with(const Values &...values) {
    (bind(values), ...);
    return *this;
  }

  bool next() {
    column = 0;
    return statement.step();
  }
  /// For statements without rows.
  void run() {
    while (next()) {
    }
  }

  /// For statements that are run thousands of times: no text is copied.
  template <typename... Values> void runWith(const Values &...values) {
    isInPlace = true;
    with(values...).run();
    statement.reset();
  }

  // Columns, one after another from the left.
  std::string text() { return statement.text(column++); }
  int64_t integer() { return statement.integer(column++); }
  std::optional<double> maybeReal() { return statement.real(column++); }
  double real() { return maybeReal().value_or(0); }

private:
  Statement &statement;
  int parameter = 0, column = 0;
  bool isInPlace = false;
};

class Database {
public:
  enum class Kind { Sqlite, Postgres };
  /// Rows that are many come a part at a time; inside of a transaction only.
  enum class Rows { Together, Streamed };

  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;
  virtual ~Database() = default;

  virtual Kind kind() const = 0;
  /// What messages call it: a path, or an address without secrets.
  virtual const std::string &name() const = 0;

  /// `sql` must be a literal: statements are kept by its address.
  virtual Query query(const char *sql, Rows rows = Rows::Together) = 0;
  /// One or more statements without parameters or rows, in the database's own words.
  virtual void execute(const std::string &sql) = 0;
  /// Rows in the binary form of PostgreSQL's COPY (CopyRows.h) into a table; the fastest way in, where
  /// the database has it.
  virtual void copyIn(const std::string &tableAndColumns, std::string_view rows) {
    throw DatabaseError{name() + ": cannot COPY into " + tableAndColumns};
  }
  /// Rows that the last statement changed.
  virtual int64_t changes() const = 0;

  virtual void begin(bool write) = 0;
  virtual void commit() = 0;
  /// Does nothing outside of a transaction.
  virtual void rollback() noexcept = 0;
  /// Until the transaction ends nobody else holds the lock of that name.
  virtual void lock(std::string_view name) = 0;

  /// 0: there is no store yet. Throws where there is something else.
  virtual int64_t schemaVersion() = 0;
  virtual void setSchemaVersion(int64_t version) = 0;
  /// The statements of a migration, which are written for SQLite, in this database's words.
  virtual std::string inDialect(std::string_view schema) const = 0;

  /// Where somebody wants to know (tests of query plans): the statements that this thread asks, in
  /// the words of their database.
  static inline thread_local std::vector<std::string> *asked = nullptr;

  uint64_t undone = 0; ///< Transactions that were not committed: what they entered is gone.

protected:
  Database() = default;
};

/// A file; made where it is missing and `create` says so.
std::unique_ptr<Database> openSqlite(const std::string &path, bool readOnly, bool create);
/// `postgresql://...`, by libpq, which brings passwords and certificates from its own places.
std::unique_ptr<Database> openPostgres(const std::string &address, bool readOnly);

/// Two writers wait for each other instead of failing halfway.
class Transaction {
public:
  explicit Transaction(Database &db) : db(db) { db.begin(/*write=*/true); }
  Transaction(const Transaction &) = delete;
  ~Transaction() {
    if (!open)
      return;
    ++db.undone;
    db.rollback();
  }
  void commit() {
    db.commit();
    open = false;
  }

private:
  Database &db;
  bool open = true;
};

/// A snapshot for several queries that must agree.
class ReadTransaction {
public:
  explicit ReadTransaction(Database &db) : db(db) { db.begin(/*write=*/false); }
  ReadTransaction(const ReadTransaction &) = delete;
  ~ReadTransaction() { db.rollback(); }

private:
  Database &db;
};

} // namespace cupel::results
