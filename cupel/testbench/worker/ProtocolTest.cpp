#include "cupel/testbench/worker/Protocol.h"

#include <gtest/gtest.h>

namespace cupel::testbench::worker {
namespace {

TEST(Protocol, RequestsSurvive) {
  Request request;
  request.number = 7;
  request.device = "reference";
  request.seed = ~uint64_t{0};
  request.timeoutSeconds = 1.5;
  request.memoryLimitBytes = 1 << 30;
  request.item.suite = "programs";
  request.item.id = "a/b-0";
  request.item.file = "a/b.mlir";
  request.item.part = 3;
  request.item.expectation.hasEntry = true;
  request.item.expectation.requiredPcc = 0.97;
  request.item.expectation.assertPcc = false;
  request.item.expectation.filechecks = {"x.ttnn.mlir"};
  request.shapes = {"x=2x3", "a=b="};
  Result<Request> back = decodeRequest(encode(request));
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(back->shapes, request.shapes);
  EXPECT_EQ(back->item, request.item);
  EXPECT_EQ(back->number, 7u);
  EXPECT_EQ(back->seed, ~uint64_t{0});
  EXPECT_EQ(back->timeoutSeconds, 1.5);
  EXPECT_EQ(back->memoryLimitBytes, uint64_t{1} << 30);
  EXPECT_EQ(back->device, "reference");
  request.kind = Request::Kind::Health;
  back = decodeRequest(encode(request));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, Request::Kind::Health);
}

TEST(Protocol, RepliesSurvive) {
  Result<Reply> hello = decodeReply(encode(Hello{1, "x 2"}));
  ASSERT_TRUE(hello);
  EXPECT_EQ(std::get<Hello>(*hello).worker, "x 2");
  Result<Reply> stage = decodeReply(encode(StageEntered{5, results::Stage::Compile}));
  ASSERT_TRUE(stage);
  EXPECT_EQ(std::get<StageEntered>(*stage).number, 5u);
  EXPECT_EQ(std::get<StageEntered>(*stage).stage, results::Stage::Compile);
  Finished finished{6, {}, {12, 345}};
  finished.record.outcome = results::Outcome::Failed;
  finished.record.message = "line\nbreak \xff";
  Result<Reply> back = decodeReply(encode(finished));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<Finished>(*back).number, 6u);
  EXPECT_EQ(std::get<Finished>(*back).kept, (std::vector<pid_t>{12, 345}));
  EXPECT_EQ(std::get<Finished>(*back).record.outcome, results::Outcome::Failed);
}

TEST(Protocol, GarbageIsAnError) {
  for (const char *text :
       {"", "x", "stage", "stage 1", "stage 1 nowhere", "stage x load", "result", "result 1\n",
        "result 1\n[]", "result 1 x\n{}", "result 1 \n{}", "result 1 1 99999999999\n{}",
        "result 1\n{}", "result 1\n{\"outcome\":3}", "hello", "hello\n{\"protocol\":\"a\"}",
        "test 1\n{}"})
    EXPECT_FALSE(decodeReply(text)) << text;
  for (const char *text : {"", "stage 1 load", "test", "test 1", "test 1\n{\"part\":\"x\"}",
                           "test 1\n{\"filechecks\":[1]}", "test -1\n{}"})
    EXPECT_FALSE(decodeRequest(text)) << text;
}

TEST(Protocol, FramesComeInAnyPieces) {
  std::string bytes = framed("one") + framed("") + framed(std::string(100'000, 'x'));
  for (size_t step : {size_t{1}, size_t{3}, size_t{70'000}, bytes.size()}) {
    FrameReader reader;
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size(); at += step) {
      reader.append(std::string_view(bytes).substr(at, step));
      while (true) {
        auto next = reader.next();
        ASSERT_TRUE(next);
        if (!*next)
          break;
        found.emplace_back(**next);
      }
    }
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0], "one");
    EXPECT_EQ(found[1], "");
    EXPECT_EQ(found[2].size(), 100'000u);
    EXPECT_FALSE(reader.hasRest());
  }
}

TEST(Protocol, AFrameThatIsTooLongIsAnError) {
  FrameReader reader;
  reader.append("GET / HTTP/1.1\r\n");
  EXPECT_FALSE(reader.next());
}

} // namespace
} // namespace cupel::testbench::worker
