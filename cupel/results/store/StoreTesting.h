// What tests of the store share: each runs over every database there is, on a new one.
#pragma once

#include "cupel/results/store/PostgresTesting.h"
#include "cupel/results/store/Store.h"
#include "cupel/results/store/TestFolder.h"

#include <gtest/gtest.h>
#include <string>

namespace cupel::results {

class OverDatabases : public testing::TestWithParam<Database::Kind> {
protected:
  void SetUp() override {
    if (!isPostgres())
      return;
    PostgresServer &server = PostgresServer::get();
    if (!server.missing().empty())
      GTEST_SKIP() << server.missing();
    address = server.newDatabase();
  }
  static bool isPostgres() { return GetParam() == Database::Kind::Postgres; }

  /// The test's one store, with its files in that folder.
  StorePlace at(const std::string &files) const { return {files, address}; }
  /// Its database, for whoever wants to look behind the store.
  std::unique_ptr<Database> database(const std::string &files) const {
    return isPostgres() ? openPostgres(address, false)
                        : openSqlite(files + "/results.sqlite", false, true);
  }

  TestFolder folder;
  std::string address; ///< Empty: a file.
};

inline std::string kindName(const testing::TestParamInfo<Database::Kind> &info) {
  return info.param == Database::Kind::Sqlite ? "Sqlite" : "Postgres";
}

inline Store openStore(const StorePlace &place) {
  Result<Store> store = Store::open(place);
  if (!store) {
    ADD_FAILURE() << store.message();
    std::abort();
  }
  return std::move(*store);
}

inline RunInfo begin(Store &store, double startedAt, std::string device = "reference") {
  RunInfo run;
  run.startedAt = startedAt;
  run.device = std::move(device);
  run.commandLine = {"cupel", "run", "a b"};
  run.environment = {{"git", "4df0411"}};
  run.selected = 2;
  Status status = store.beginRun(run);
  EXPECT_TRUE(status) << status.message();
  return run;
}

} // namespace cupel::results
