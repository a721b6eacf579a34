// libpq, loaded when the first store in PostgreSQL is opened: `cupel` starts without it and without
// the libraries that it brings, and runs where it is not installed. Used by Postgres.cpp only.
#pragma once

#include "cupel/support/Error.h"

#include <libpq-fe.h>

namespace cupel::results {

/// Its functions, by their own names.
struct Libpq {
  decltype(&::PQconnectdbParams) connectdbParams;
  decltype(&::PQfinish) finish;
  decltype(&::PQreset) reset;
  decltype(&::PQstatus) status;
  decltype(&::PQerrorMessage) errorMessage;
  decltype(&::PQserverVersion) serverVersion;
  decltype(&::PQtransactionStatus) transactionStatus;
  decltype(&::PQexec) exec;
  decltype(&::PQexecParams) execParams;
  decltype(&::PQprepare) prepare;
  decltype(&::PQexecPrepared) execPrepared;
  decltype(&::PQresultStatus) resultStatus;
  decltype(&::PQresultErrorField) resultErrorField;
  decltype(&::PQcmdTuples) cmdTuples;
  decltype(&::PQntuples) ntuples;
  decltype(&::PQgetvalue) getvalue;
  decltype(&::PQgetlength) getlength;
  decltype(&::PQgetisnull) getisnull;
  decltype(&::PQclear) clear;
  decltype(&::PQputCopyData) putCopyData;
  decltype(&::PQputCopyEnd) putCopyEnd;
  decltype(&::PQgetResult) getResult;
  decltype(&::PQsetNoticeProcessor) setNoticeProcessor;
  decltype(&::PQconninfoParse) conninfoParse;
  decltype(&::PQconninfoFree) conninfoFree;
  decltype(&::PQfreemem) freemem;

  /// The library; the error says which package brings it.
  static Result<const Libpq *> load();
};

} // namespace cupel::results
