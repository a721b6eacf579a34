#include "cupel/results/store/Database.h"

#include <chrono>
#include <cmath>
#include <limits>
#include <sqlite3.h>
#include <thread>

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

} // namespace

Query::Query(sqlite3 *db, sqlite3_stmt *statement) : db(db), statement(statement) {}

Query::~Query() {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

Query &Query::bind(std::string_view text) {
  // A null pointer would bind NULL.
  const char *data = text.data() ? text.data() : "";
  if (sqlite3_bind_text64(statement, ++parameter, data, text.size(), SQLITE_TRANSIENT,
                          SQLITE_UTF8) != SQLITE_OK)
    fail(db);
  return *this;
}

Query &Query::bind(int64_t value) {
  if (sqlite3_bind_int64(statement, ++parameter, value) != SQLITE_OK)
    fail(db);
  return *this;
}

Query &Query::bind(double value) {
  if (std::isnan(value))
    return bind(std::string_view("nan"));
  if (sqlite3_bind_double(statement, ++parameter, value) != SQLITE_OK)
    fail(db);
  return *this;
}

Query &Query::bindNull() {
  if (sqlite3_bind_null(statement, ++parameter) != SQLITE_OK)
    fail(db);
  return *this;
}

bool Query::next() {
  column = 0;
  switch (sqlite3_step(statement)) {
  case SQLITE_ROW:
    return true;
  case SQLITE_DONE:
    return false;
  default:
    fail(db);
  }
}

std::string Query::text() {
  int at = column++;
  const auto *data = reinterpret_cast<const char *>(sqlite3_column_text(statement, at));
  return data ? std::string(data, size_t(sqlite3_column_bytes(statement, at))) : std::string();
}

int64_t Query::integer() { return sqlite3_column_int64(statement, column++); }

double Query::real() { return maybeReal().value_or(0); }

std::optional<double> Query::maybeReal() {
  int at = column++;
  switch (sqlite3_column_type(statement, at)) {
  case SQLITE_NULL:
    return std::nullopt;
  case SQLITE_TEXT:
    return std::numeric_limits<double>::quiet_NaN();
  default:
    return sqlite3_column_double(statement, at);
  }
}

namespace {

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

} // namespace

/// On a disk that is mounted read-only SQLite cannot make the files that let readers and writers
/// share a store. Nobody can write there, so none are needed.
void Database::openUnshared() {
  sqlite3_close_v2(db);
  db = nullptr;
  std::string uri = "file:" + uriPath(file) + "?immutable=1";
  if (sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) !=
      SQLITE_OK)
    throw DatabaseError{file + ": cannot be opened (" + (db ? sqlite3_errmsg(db) : "no memory") +
                        ")"};
}

Database::Database(const std::string &path, bool readOnly, bool create) : file(path) {
  int flags = readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
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
    execute("PRAGMA foreign_keys = ON");
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
  } catch (...) {
    sqlite3_close_v2(db);
    throw;
  }
}

Database::~Database() {
  for (auto [sql, statement] : statements)
    sqlite3_finalize(statement);
  sqlite3_close_v2(db);
}

Query Database::query(const char *sql) {
  sqlite3_stmt *&statement = statements[sql];
  if (!statement &&
      sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
    fail(db);
  return Query(db, statement);
}

void Database::execute(const std::string &sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    fail(db);
}

int64_t Database::lastRowId() const { return sqlite3_last_insert_rowid(db); }
int64_t Database::changes() const { return sqlite3_changes64(db); }

int64_t Database::userVersion() {
  Query version = query("PRAGMA user_version");
  version.next();
  return version.integer();
}

Transaction::~Transaction() {
  // Some errors (a full disk) have rolled back already.
  if (open && !sqlite3_get_autocommit(db.handle()))
    sqlite3_exec(db.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  db.query("COMMIT").run();
  open = false;
}

ReadTransaction::~ReadTransaction() {
  if (!sqlite3_get_autocommit(db.handle()))
    sqlite3_exec(db.handle(), "COMMIT", nullptr, nullptr, nullptr);
}

} // namespace cupel::results
