#include "cupel/results/store/Libpq.h"

#include <dlfcn.h>
#include <mutex>
#include <string>

namespace cupel::results {
namespace {

/// What loading found: the functions, or why there are none.
struct Loaded {
  Libpq functions{};
  std::string error;

  Loaded() {
    void *library = ::dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      error = "a store in PostgreSQL needs libpq.so.5 (Debian: apt-get install libpq5): " +
              std::string(::dlerror());
      return;
    }
    auto take = [&](const char *name, auto &function) {
      void *found = ::dlsym(library, name);
      if (!found && error.empty())
        error = std::string("libpq.so.5 is too old: it has no ") + name;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(found);
    };
    Libpq &f = functions;
    take("PQconnectdbParams", f.connectdbParams);
    take("PQfinish", f.finish);
    take("PQreset", f.reset);
    take("PQstatus", f.status);
    take("PQerrorMessage", f.errorMessage);
    take("PQserverVersion", f.serverVersion);
    take("PQtransactionStatus", f.transactionStatus);
    take("PQexec", f.exec);
    take("PQexecParams", f.execParams);
    take("PQprepare", f.prepare);
    take("PQexecPrepared", f.execPrepared);
    take("PQresultStatus", f.resultStatus);
    take("PQresultErrorField", f.resultErrorField);
    take("PQcmdTuples", f.cmdTuples);
    take("PQntuples", f.ntuples);
    take("PQgetvalue", f.getvalue);
    take("PQgetlength", f.getlength);
    take("PQgetisnull", f.getisnull);
    take("PQclear", f.clear);
    take("PQputCopyData", f.putCopyData);
    take("PQputCopyEnd", f.putCopyEnd);
    take("PQgetResult", f.getResult);
    take("PQsetNoticeProcessor", f.setNoticeProcessor);
    take("PQconninfoParse", f.conninfoParse);
    take("PQconninfoFree", f.conninfoFree);
    take("PQfreemem", f.freemem);
  }
};

} // namespace

Result<const Libpq *> Libpq::load() {
  static const Loaded loaded;
  if (!loaded.error.empty())
    return Error{loaded.error};
  return &loaded.functions;
}

} // namespace cupel::results
