// SQLite, embedded: a file in write-ahead mode that several processes share.

#include "cupel/results/store/Database.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <sqlite3.h>
#include <thread>
#include <unordered_map>

namespace cupel::results {
namespace {

/// How long a writer waits for another one.
constexpr int kBusyMilliseconds = 30'000;

[[noreturn]] void fail(sqlite3 *db) {
  std::string file = sqlite3_db_filename(db, "main") ? sqlite3_db_filename(db, "main") : "";
  int code = sqlite3_extended_errcode(db);
  switch (code & 0xff) {
  case SQLITE_FULL:
    throw DatabaseError{file + ": no room left on the disk (or within its quota)"};
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    throw DatabaseError{file + ": another process has kept it locked for " +
                        std::to_string(kBusyMilliseconds / 1000) + " s"};
  case SQLITE_READONLY:
    throw DatabaseError{file + ": cannot be written (read-only)"};
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    throw DatabaseError{file + ": is not a results store or is damaged (" + sqlite3_errmsg(db) +
                        "); move it away, the journals beside it are imported into a new one"};
  case SQLITE_IOERR:
    // A full disk shows here too where it is the shared-memory file that cannot grow.
    throw DatabaseError{file + ": cannot be read or written (" + sqlite3_errmsg(db) +
                        "); is the disk full?"};
  case SQLITE_CANTOPEN:
    throw DatabaseError{file + ": cannot be opened (" + sqlite3_errmsg(db) + ")"};
  default:
    throw DatabaseError{file + ": " + sqlite3_errmsg(db)};
  }
}


/// A statement of SQLite's, kept for the life of the connection.
class SqliteStatement : public Statement {
public:
  SqliteStatement(sqlite3 *db, const char *sql) : db(db) {
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
      fail(db);
  }
  ~SqliteStatement() override { sqlite3_finalize(statement); }

  void bindText(int parameter, std::string_view text) override {
    bind(parameter, text, SQLITE_TRANSIENT);
  }
  void bindTextInPlace(int parameter, std::string_view text) override {
    bind(parameter, text, SQLITE_STATIC);
  }
  void bindInteger(int parameter, int64_t value) override {
    check(sqlite3_bind_int64(statement, parameter, value));
  }
  /// NaN, which SQLite would turn into NULL, is kept as the text `nan`.
  void bindReal(int parameter, double value) override {
    if (std::isnan(value))
      return bindText(parameter, "nan");
    check(sqlite3_bind_double(statement, parameter, value));
  }
  void bindNull(int parameter) override { check(sqlite3_bind_null(statement, parameter)); }

  bool step() override {
    switch (sqlite3_step(statement)) {
    case SQLITE_ROW:
      return true;
    case SQLITE_DONE:
      return false;
    default:
      fail(db);
    }
  }
  std::string text(int column) override {
    const auto *data = reinterpret_cast<const char *>(sqlite3_column_text(statement, column));
    return data ? std::string(data, size_t(sqlite3_column_bytes(statement, column)))
                : std::string();
  }
  int64_t integer(int column) override { return sqlite3_column_int64(statement, column); }
  std::optional<double> real(int column) override {
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      return std::nullopt;
    case SQLITE_TEXT:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      return sqlite3_column_double(statement, column);
    }
  }
  void reset() noexcept override {
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
  }

private:
  void bind(int parameter, std::string_view text, sqlite3_destructor_type whose) {
    // A null pointer would bind NULL.
    const char *data = text.data() ? text.data() : "";
    check(sqlite3_bind_text64(statement, parameter, data, text.size(), whose, SQLITE_UTF8));
  }
  void check(int code) {
    if (code != SQLITE_OK)
      fail(db);
  }
  sqlite3 *db;
  sqlite3_stmt *statement = nullptr;
};

class SqliteDatabase : public Database {
public:
  SqliteDatabase(const std::string &path, bool readOnly, bool create);
  ~SqliteDatabase() override {
    statements.clear();
    sqlite3_close_v2(db);
  }

  Kind kind() const override { return Kind::Sqlite; }
  const std::string &name() const override { return file; }
  Query query(const char *sql, Rows) override {
    std::unique_ptr<SqliteStatement> &statement = statements[sql];
    if (!statement)
      statement = std::make_unique<SqliteStatement>(db, sql);
    if (asked)
      asked->push_back(sql);
    return Query(*statement);
  }
  void execute(const std::string &sql) override {
    if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      fail(db);
  }
  int64_t changes() const override { return sqlite3_changes64(db); }

  void begin(bool write) override { execute(write ? "BEGIN IMMEDIATE" : "BEGIN"); }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override {
    // Some errors (a full disk) have rolled back already.
    if (!sqlite3_get_autocommit(db))
      sqlite3_exec(db, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  void lock(std::string_view) override {} // Writers exclude each other already.

  int64_t schemaVersion() override {
    Query version = query("PRAGMA user_version", Rows::Together);
    version.next();
    return version.integer();
  }
  void setSchemaVersion(int64_t version) override {
    execute("PRAGMA user_version = " + std::to_string(version));
  }
  std::string inDialect(std::string_view schema) const override { return std::string(schema); }

private:
  void openUnshared();

  std::string file;
  sqlite3 *db = nullptr;
  std::unordered_map<const char *, std::unique_ptr<SqliteStatement>> statements;
};

/// A path as part of a file: URI.
std::string uriPath(const std::string &path) {
  std::string escaped;
  for (char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      char hex[4];
      std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned char>(c));
      escaped += hex;
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// On a disk that is mounted read-only SQLite cannot make the files that let readers and writers
/// share a store. Nobody can write there, so none are needed.
void SqliteDatabase::openUnshared() {
  sqlite3_close_v2(db);
  db = nullptr;
  std::string uri = "file:" + uriPath(file) + "?immutable=1";
  if (sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) !=
      SQLITE_OK)
    throw DatabaseError{file + ": cannot be opened (" + (db ? sqlite3_errmsg(db) : "no memory") +
                        ")"};
}

SqliteDatabase::SqliteDatabase(const std::string &path, bool readOnly, bool create) : file(path) {
  // A connection is one thread's at a time; SQLite's own locks would only cost.
  int flags = (readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_NOMUTEX;
  if (create && !readOnly)
    flags |= SQLITE_OPEN_CREATE;
  try {
    if (sqlite3_open_v2(path.c_str(), &db, flags, nullptr) != SQLITE_OK) {
      if (!db)
        throw DatabaseError{path + ": not enough memory to open it"};
      throw DatabaseError{path + ": cannot be opened (" + sqlite3_errmsg(db) + ")"};
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_busy_timeout(db, kBusyMilliseconds);
    if (readOnly && sqlite3_exec(db, "SELECT 1 FROM sqlite_master", nullptr, nullptr, nullptr) ==
                        SQLITE_CANTOPEN)
      openUnshared();
    // Whoever enters a row knows its run and its test; `cupel results check` looks (schema 5).
    execute("PRAGMA foreign_keys = OFF");
    if (readOnly)
      return;
    // Turning on write-ahead logging does not wait for a busy lock by itself; two processes that
    // make the same store at once meet here.
    for (int tries = 0;; ++tries) {
      try {
        execute("PRAGMA journal_mode = WAL");
        break;
      } catch (const DatabaseError &) {
        int code = sqlite3_errcode(db);
        if ((code != SQLITE_BUSY && code != SQLITE_LOCKED) || tries == 200)
          throw;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    // Survives the death of any process; what a power cut takes is in the journals.
    execute("PRAGMA synchronous = NORMAL");
    // A journal of thousands of outcomes is one transaction: its pages should wait in memory.
    execute("PRAGMA cache_size = -65536");
    // Its log goes into the file after 64 MB and not after 4: a page that every run changes goes once.
    execute("PRAGMA wal_autocheckpoint = 16384");
  } catch (...) {
    sqlite3_close_v2(db);
    throw;
  }
}

} // namespace

std::unique_ptr<Database> openSqlite(const std::string &path, bool readOnly, bool create) {
  return std::make_unique<SqliteDatabase>(path, readOnly, create);
}

} // namespace cupel::results
