// PostgreSQL 15 and later through libpq: a server that many machines share. Statements come in
// SQLite's words and are translated here; results are read whole, or through a cursor where they are
// many; a connection that was cut is made again at the next transaction.

#include "cupel/results/store/Database.h"
#include "cupel/results/store/Libpq.h"
#include "cupel/results/store/Place.h"
#include "cupel/results/store/PlainText.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unordered_map>
#include <vector>

namespace cupel::results {
namespace {

constexpr int kOldestServer = 150000;
constexpr int kRowsAtATime = 2000; ///< Of a cursor.
/// Of advisory locks: "cupl", beside the hash of what is locked.
constexpr int32_t kLockSpace = 0x6375706c;

/// `?` and `?2` become `$1` and `$2`; what stands in quotes stays.
std::string withDollars(std::string_view sql) {
  std::string text;
  int number = 0;
  bool quoted = false;
  for (size_t i = 0; i < sql.size(); ++i) {
    quoted ^= sql[i] == '\'';
    if (sql[i] != '?' || quoted) {
      text += sql[i];
      continue;
    }
    text += '$';
    if (i + 1 == sql.size() || !std::isdigit(static_cast<unsigned char>(sql[i + 1])))
      text += std::to_string(++number);
  }
  return text;
}

/// The first line of what libpq says, without its `ERROR:` and its place in the address.
std::string firstLine(const char *message) {
  std::string_view text(message ? message : "");
  text = text.substr(0, text.find('\n'));
  for (std::string_view word : {"ERROR:", "FATAL:"})
    if (size_t at = text.find(word); at != std::string_view::npos)
      text = text.substr(at + word.size());
  while (text.starts_with(' '))
    text.remove_prefix(1);
  return text.empty() ? "no reason given" : std::string(text);
}

class PostgresDatabase;

class PostgresStatement : public Statement {
public:
  PostgresStatement(PostgresDatabase &db, const char *sql, size_t number, Database::Rows rows)
      : db(db), sql(withDollars(sql)), name(fmt::format("cupel{}", number)), rows(rows) {}
  ~PostgresStatement() override { reset(); }

  void bindText(int parameter, std::string_view text) override;
  void bindInteger(int parameter, int64_t value) override { place(parameter, std::to_string(value)); }
  void bindReal(int parameter, double value) override { place(parameter, fmt::format("{}", value)); }
  void bindNull(int parameter) override { place(parameter, std::nullopt); }
  bool step() override;
  std::string text(int column) override;
  int64_t integer(int column) override { return std::strtoll(value(column), nullptr, 10); }
  std::optional<double> real(int column) override;
  void reset() noexcept override;

private:
  void place(int parameter, std::optional<std::string> value) {
    if (size_t(parameter) > values.size())
      values.resize(size_t(parameter));
    values[size_t(parameter) - 1] = std::move(value);
  }
  const char *value(int column) const;
  void start();
  void fetch();

  PostgresDatabase &db;
  std::string sql, name;
  Database::Rows rows;
  uint64_t preparedIn = 0; ///< Which connection knows it.
  std::vector<std::optional<std::string>> values;
  PGresult *result = nullptr;
  int row = -1, count = 0;
  bool more = false; ///< The cursor may have more.
};

class PostgresDatabase : public Database {
public:
  PostgresDatabase(const Libpq &pq, const std::string &address, bool readOnly);
  ~PostgresDatabase() override {
    statements.clear();
    pq.finish(connection);
  }

  Kind kind() const override { return Kind::Postgres; }
  const std::string &name() const override { return address; }
  Query query(const char *sql, Rows rows) override {
    std::unique_ptr<PostgresStatement> &statement = statements[sql];
    if (!statement)
      statement = std::make_unique<PostgresStatement>(*this, sql, statements.size(), rows);
    if (asked)
      asked->push_back(withDollars(sql));
    return Query(*statement);
  }
  void execute(const std::string &sql) override { pq.clear(checked(pq.exec(connection, sql.c_str()))); }
  void copyIn(const std::string &tableAndColumns, std::string_view rows) override;
  int64_t changes() const override { return changed; }

  void begin(bool write) override {
    whileIdle([&] {
      execute(write ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    });
  }
  void commit() override { execute("COMMIT"); }
  void rollback() noexcept override {
    PGTransactionStatusType status = pq.transactionStatus(connection);
    if (status == PQTRANS_INTRANS || status == PQTRANS_INERROR)
      pq.clear(pq.exec(connection, "ROLLBACK"));
  }
  void lock(std::string_view name) override {
    query("SELECT pg_advisory_xact_lock(?, hashtext(?))", Rows::Together).with(kLockSpace, name).run();
  }

  int64_t schemaVersion() override;
  void setSchemaVersion(int64_t version) override {
    execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL); "
            "DELETE FROM schema_version; INSERT INTO schema_version VALUES (" +
            std::to_string(version) + ")");
  }
  std::string inDialect(std::string_view schema) const override;

  /// Throws where the result is an error; clears it then.
  PGresult *checked(PGresult *result);
  [[noreturn]] void lost();
  /// Makes the connection again where it was cut, outside of a transaction.
  void reconnect();
  /// Does the first thing after a pause: a connection that was cut meanwhile is made again.
  template <typename Work> void whileIdle(Work &&work) {
    reconnect();
    try {
      work();
    } catch (const DatabaseError &) {
      if (!isLost && pq.status(connection) == CONNECTION_OK)
        throw;
      reconnect();
      work();
    }
  }

  const Libpq &pq;
  PGconn *connection = nullptr;
  uint64_t connections = 0; ///< How many there have been.
  int64_t changed = 0;
  bool isLost = false; ///< The server said goodbye.

private:
  void prepareSession();

  std::string address;
  bool readOnly;
  std::unordered_map<const char *, std::unique_ptr<PostgresStatement>> statements;
};

PostgresDatabase::PostgresDatabase(const Libpq &pq, const std::string &address, bool readOnly)
    : pq(pq), address(address), readOnly(readOnly) {
  // What stands before the address is overruled by it.
  const char *const words[] = {"connect_timeout", "tcp_user_timeout", "dbname",
                               "fallback_application_name", "client_encoding", nullptr};
  const char *const values[] = {"10", "30000", address.c_str(), "cupel", "UTF8", nullptr};
  connection = pq.connectdbParams(words, values, /*expand_dbname=*/1);
  try {
    if (!connection || pq.status(connection) != CONNECTION_OK)
      lost();
    if (int version = pq.serverVersion(connection); version < kOldestServer)
      throw DatabaseError{fmt::format("{}: the server is PostgreSQL {}, and Cupel needs {} or later",
                                      address, version / 10000, kOldestServer / 10000)};
    prepareSession();
  } catch (...) {
    pq.finish(connection);
    throw;
  }
}

void PostgresDatabase::prepareSession() {
  ++connections;
  // Notices (a table that exists already) are nobody's news.
  pq.setNoticeProcessor(connection, [](void *, const char *) {}, nullptr);
  if (readOnly)
    execute("SET default_transaction_read_only = on");
}

void PostgresDatabase::lost() {
  isLost = true;
  throw DatabaseError{address + ": the database cannot be reached: " +
                      firstLine(connection ? pq.errorMessage(connection) : "no memory")};
}

void PostgresDatabase::reconnect() {
  if (!isLost && pq.status(connection) == CONNECTION_OK)
    return;
  pq.reset(connection);
  if (pq.status(connection) != CONNECTION_OK)
    lost();
  isLost = false;
  prepareSession();
}

PGresult *PostgresDatabase::checked(PGresult *result) {
  switch (pq.resultStatus(result)) {
  case PGRES_COMMAND_OK:
  case PGRES_TUPLES_OK:
  case PGRES_COPY_IN:
    changed = std::strtoll(pq.cmdTuples(result), nullptr, 10);
    return result;
  default:
    break;
  }
  const char *field = pq.resultErrorField(result, PG_DIAG_SQLSTATE);
  std::string state = field ? field : "";
  const char *primary = pq.resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  std::string message = primary ? primary : firstLine(pq.errorMessage(connection));
  pq.clear(result);
  // A shutdown, or a connection that somebody ended.
  if (pq.status(connection) != CONNECTION_OK || state.empty() || state.starts_with("57P") ||
      state.starts_with("08")) {
    isLost = true;
    throw DatabaseError{address + ": the database cannot be reached: " + message};
  }
  if (state == "53100")
    throw DatabaseError{address + ": no room left on the server's disk"};
  if (state == "42501")
    throw DatabaseError{address + ": this role may not do that (" + message +
                        "); a role that only reads can show, diff and serve"};
  if (state == "25006")
    throw DatabaseError{address + ": cannot be written (read-only)"};
  throw DatabaseError{address + ": " + message};
}

void PostgresDatabase::copyIn(const std::string &tableAndColumns, std::string_view rows) {
  pq.clear(checked(pq.exec(connection, ("COPY " + tableAndColumns + " FROM STDIN (FORMAT binary)").c_str())));
  constexpr size_t kPiece = 1 << 20;
  for (size_t at = 0; at < rows.size(); at += kPiece)
    if (std::string_view piece = rows.substr(at, kPiece);
        pq.putCopyData(connection, piece.data(), int(piece.size())) != 1)
      lost();
  if (pq.putCopyEnd(connection, nullptr) != 1)
    lost();
  // One result of the copy, then none.
  PGresult *ended = pq.getResult(connection);
  while (PGresult *another = pq.getResult(connection))
    pq.clear(another);
  pq.clear(checked(ended));
}

int64_t PostgresDatabase::schemaVersion() {
  reconnect();
  {
    // One look: between two of them somebody else may make the tables of an empty database.
    Query tables = query("SELECT coalesce(sum((tablename = 'schema_version')::int), 0), coalesce(min(tablename), '') "
                         "FROM pg_tables WHERE schemaname = current_schema()",
                         Rows::Together);
    tables.next();
    const int64_t ours = tables.integer();
    const std::string first = tables.text();
    if (ours == 0 && !first.empty())
      throw DatabaseError{fmt::format(
          "{}: this database is not Cupel's: it has a table '{}'; name an empty one (createdb), "
          "or a schema of its own with ?options=-csearch_path%3DNAME",
          address, first)};
    if (ours == 0)
      return 0;
  }
  Query version = query("SELECT coalesce(max(version), -1) FROM schema_version", Rows::Together);
  version.next();
  int64_t found = version.integer();
  if (found < 0)
    throw DatabaseError{address + ": its table schema_version is empty; it is not Cupel's, or damaged"};
  return found;
}

std::string PostgresDatabase::inDialect(std::string_view schema) const {
  std::string text(schema);
  auto replace = [&](std::string_view from, std::string_view to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  replace("INTEGER PRIMARY KEY", "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY");
  replace(" INTEGER", " BIGINT");
  replace(" REAL", " DOUBLE PRECISION");
  replace(" WITHOUT ROWID", "");
  return text;
}

void PostgresStatement::bindText(int parameter, std::string_view text) {
  place(parameter, plainText(text));
}

void PostgresStatement::start() {
  std::vector<const char *> words;
  for (const std::optional<std::string> &value : values)
    words.push_back(value ? value->c_str() : nullptr);
  int number = int(words.size());
  if (rows == Database::Rows::Streamed) {
    std::string declare = "DECLARE " + name + " NO SCROLL CURSOR FOR " + sql;
    db.pq.clear(db.checked(db.pq.execParams(db.connection, declare.c_str(), number, nullptr,
                                            words.data(), nullptr, nullptr, 0)));
    more = true;
    return fetch();
  }
  auto execute = [&] {
    if (preparedIn != db.connections) {
      db.pq.clear(
          db.checked(db.pq.prepare(db.connection, name.c_str(), sql.c_str(), 0, nullptr)));
      preparedIn = db.connections;
    }
    result = db.checked(db.pq.execPrepared(db.connection, name.c_str(), number, words.data(),
                                           nullptr, nullptr, 0));
  };
  PGTransactionStatusType status = db.pq.transactionStatus(db.connection);
  if (status == PQTRANS_IDLE || status == PQTRANS_UNKNOWN)
    db.whileIdle(execute);
  else
    execute();
  count = db.pq.ntuples(result);
}

void PostgresStatement::fetch() {
  db.pq.clear(std::exchange(result, nullptr));
  std::string next = fmt::format("FETCH {} FROM {}", kRowsAtATime, name);
  result = db.checked(db.pq.exec(db.connection, next.c_str()));
  count = db.pq.ntuples(result);
  row = -1;
  more = count == kRowsAtATime;
}

bool PostgresStatement::step() {
  if (!result)
    start();
  if (row + 1 >= count && more)
    fetch();
  return ++row < count;
}

const char *PostgresStatement::value(int column) const {
  return db.pq.getvalue(result, row, column);
}

std::string PostgresStatement::text(int column) {
  return std::string(value(column), size_t(db.pq.getlength(result, row, column)));
}

std::optional<double> PostgresStatement::real(int column) {
  if (db.pq.getisnull(result, row, column))
    return std::nullopt;
  return std::strtod(value(column), nullptr);
}

void PostgresStatement::reset() noexcept {
  if (result)
    db.pq.clear(result);
  if (rows == Database::Rows::Streamed && result &&
      db.pq.transactionStatus(db.connection) == PQTRANS_INTRANS)
    db.pq.clear(db.pq.exec(db.connection, ("CLOSE " + name).c_str()));
  result = nullptr;
  row = -1;
  count = 0;
  more = false;
  values.clear();
}

} // namespace

std::unique_ptr<Database> openPostgres(const std::string &address, bool readOnly) {
  Result<const Libpq *> pq = Libpq::load();
  if (!pq)
    throw DatabaseError{pq.message()};
  if (Status status = refuseSecrets(address); !status)
    throw DatabaseError{status.message()};
  return std::make_unique<PostgresDatabase>(**pq, address, readOnly);
}

Status refuseSecrets(const std::string &address) {
  Result<const Libpq *> pq = Libpq::load();
  if (!pq)
    return pq.error();
  char *message = nullptr;
  PQconninfoOption *options = (*pq)->conninfoParse(address.c_str(), &message);
  if (!options) {
    // Its words may hold what was typed: whoever mistyped an address may have put a password in it.
    (*pq)->freemem(message);
    return Error{"the address of the results store is not one that libpq understands; write "
                 "postgresql://HOST/NAME or postgresql:///NAME?host=/FOLDER"};
  }
  bool isSecret = false;
  for (PQconninfoOption *option = options; option->keyword; ++option)
    isSecret |= std::strstr(option->keyword, "password") && option->val && *option->val;
  (*pq)->conninfoFree(options);
  if (isSecret)
    return Error{"the address of the results store holds a password, which every user could read "
                 "with ps; put it in ~/.pgpass (PGPASSFILE) or a service file (PGSERVICEFILE)"};
  return {};
}

} // namespace cupel::results
