#include "cupel/calls/Ffi.h"
#include "cupel/calls/FfiAbi.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace cupel;
using namespace cupel::calls;
using tensor::DType;
using tensor::Tensor;

namespace {

/// Answers the question about itself; true if that was all.
bool answeredMetadata(ffi::CallFrame *frame, int major = ffi::kMajor) {
  auto *extension = frame->header.extensions;
  if (!extension || extension->type != ffi::kMetadataExtension)
    return false;
  auto &metadata = *reinterpret_cast<ffi::MetadataExtension *>(extension)->metadata;
  metadata.version.major = major;
  metadata.version.minor = ffi::kMinor;
  return true;
}

ffi::Buffer &operand(ffi::CallFrame *frame, int64_t i) {
  return *static_cast<ffi::Buffer *>(frame->operands.values[i]);
}
ffi::Buffer &result(ffi::CallFrame *frame, int64_t i) {
  return *static_cast<ffi::Buffer *>(frame->results.values[i]);
}

/// Copies memory as it lies; what the layouts say decides what that means.
ffi::Error *copyBytes(ffi::CallFrame *frame) {
  if (answeredMetadata(frame))
    return nullptr;
  EXPECT_EQ(frame->stage, ffi::kExecute);
  const ffi::Buffer &from = operand(frame, 0);
  int64_t count = 1;
  for (int64_t d = 0; d < from.rank; ++d)
    count *= from.dims[d];
  std::memcpy(result(frame, 0).data, from.data, count * sizeof(float));
  return nullptr;
}

ffi::Error *scale(ffi::CallFrame *frame) {
  if (answeredMetadata(frame))
    return nullptr;
  EXPECT_EQ(frame->attributes.size, 3);
  // Names come sorted: by, label, nested.
  EXPECT_EQ(std::string(frame->attributes.names[0]->data, frame->attributes.names[0]->size), "by");
  auto *by = static_cast<ffi::Scalar *>(frame->attributes.values[0]);
  auto *label = static_cast<ffi::ByteSpan *>(frame->attributes.values[1]);
  auto *nested = static_cast<ffi::Attributes *>(frame->attributes.values[2]);
  EXPECT_EQ(by->type, 11);
  EXPECT_EQ(std::string(label->data, label->size), "twice");
  EXPECT_EQ(nested->size, 1);
  EXPECT_EQ(static_cast<ffi::Array *>(nested->values[0])->size, 2u);
  float factor = *static_cast<const float *>(by->value);
  for (int64_t i = 0; i < operand(frame, 0).dims[0]; ++i)
    static_cast<float *>(result(frame, 0).data)[i] =
        factor * static_cast<float *>(operand(frame, 0).data)[i];
  return nullptr;
}

ffi::Error *refuse(ffi::CallFrame *frame) {
  if (answeredMetadata(frame))
    return nullptr;
  ffi::ErrorCreateArgs args{{sizeof args, nullptr}, "the handler does not feel like it", 13};
  return frame->api->createError(&args);
}

ffi::Error *refuseArgument(ffi::CallFrame *frame) {
  if (answeredMetadata(frame))
    return nullptr;
  ffi::ErrorCreateArgs args{{sizeof args, nullptr}, "not this one", 3};
  return frame->api->createError(&args);
}

ffi::Error *answerLater(ffi::CallFrame *frame) {
  if (answeredMetadata(frame))
    return nullptr;
  ffi::FutureArgs args{{sizeof args, nullptr}, nullptr};
  frame->api->createFuture(&args);
  frame->future = args.future;
  std::thread([api = frame->api, future = args.future,
               data = static_cast<float *>(result(frame, 0).data)] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    data[0] = 42;
    ffi::FutureArgs done{{sizeof done, nullptr}, future};
    api->setFutureAvailable(&done);
  }).detach();
  return nullptr;
}

ffi::Error *fromTheFuture(ffi::CallFrame *frame) {
  answeredMetadata(frame, 9);
  return nullptr;
}

Result<std::vector<Tensor>>
run(ffi::Handler *handler, std::vector<Tensor> operands, std::vector<CallType> results,
    const CallAttributes &attributes = {}, std::vector<std::vector<int64_t>> operandLayouts = {},
    std::vector<std::vector<int64_t>> resultLayouts = {}, std::vector<int64_t> shared = {}) {
  Result<CallHandler> adapted = ffi::adapt({.instantiate = nullptr,
                                            .prepare = nullptr,
                                            .initialize = nullptr,
                                            .execute = reinterpret_cast<void *>(handler)});
  if (!adapted)
    return adapted.error();
  return (*adapted)(
      CustomCall{"test", operands, results, attributes, {}, operandLayouts, resultLayouts, shared});
}

Tensor matrix() { return Tensor::of<DType::F32>({2, 3}, {1, 2, 3, 4, 5, 6}); }

std::vector<float> valuesOf(const Tensor &tensor) {
  Tensor packed = std::move(*tensor.contiguous());
  return {packed.dataAs<float>(), packed.dataAs<float>() + packed.size()};
}

TEST(Ffi, HandsOverRowMajorByDefault) {
  auto results =
      run(copyBytes, {matrix().transposed(std::vector<int64_t>{1, 0})}, {{DType::F32, {3, 2}}});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(valuesOf((*results)[0]), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(Ffi, HonoursLayouts) {
  // Column-major in, row-major out, bytes copied: the 2x3 matrix reads as its columns in a row.
  auto results = run(copyBytes, {matrix()}, {{DType::F32, {2, 3}}}, {}, {{0, 1}}, {{1, 0}});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(valuesOf((*results)[0]), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  // Column-major both ways: nothing changes.
  results = run(copyBytes, {matrix()}, {{DType::F32, {2, 3}}}, {}, {{0, 1}}, {{0, 1}});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(valuesOf((*results)[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Ffi, RefusesLayoutsThatAreNone) {
  EXPECT_FALSE(run(copyBytes, {matrix()}, {{DType::F32, {2, 3}}}, {}, {{0, 0}}));
  EXPECT_FALSE(run(copyBytes, {matrix()}, {{DType::F32, {2, 3}}}, {}, {{0}}));
}

TEST(Ffi, PassesAttributes) {
  CallAttributes attributes, nested;
  CallScalar by;
  by.type = DType::F32;
  float two = 2;
  std::memcpy(by.bits, &two, sizeof two);
  attributes["by"].value = by;
  attributes["label"].value = std::string("twice");
  nested["sizes"].value = CallArray{DType::I64, std::vector<std::byte>(16), 2};
  attributes["nested"].value = std::make_shared<const CallAttributes>(nested);
  auto results = run(scale, {Tensor::of<DType::F32>({2}, {3, 4})}, {{DType::F32, {2}}}, attributes);
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(valuesOf((*results)[0]), (std::vector<float>{6, 8}));
}

TEST(Ffi, ReportsTheHandlersError) {
  auto results = run(refuse, {}, {});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.message(), "the handler does not feel like it");
  EXPECT_EQ(results.error().code, ErrorCode::Internal);
  Result<std::vector<Tensor>> other = run(refuseArgument, {}, {});
  EXPECT_EQ(other.message(), "not this one");
  EXPECT_EQ(other.error().code, ErrorCode::InvalidArgument);
}

TEST(Ffi, WaitsForAFuture) {
  auto results = run(answerLater, {}, {{DType::F32, {1}}});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(valuesOf((*results)[0]), (std::vector<float>{42}));
}

TEST(Ffi, RefusesOtherVersions) {
  auto results = run(fromTheFuture, {}, {});
  ASSERT_FALSE(results);
  EXPECT_NE(results.message().find("9.3"), std::string::npos);
}

ffi::Error *doNothing(ffi::CallFrame *frame) {
  answeredMetadata(frame);
  return nullptr;
}

TEST(Ffi, ResultsThatShareMemoryStartAsTheOperand) {
  auto results = run(doNothing, {matrix()}, {{DType::F32, {2, 3}}}, {}, {}, {}, {0});
  ASSERT_TRUE(results) << results.message();
  EXPECT_EQ(valuesOf((*results)[0]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_FALSE(run(doNothing, {matrix()}, {{DType::F32, {2, 2}}}, {}, {}, {}, {0}));
  EXPECT_FALSE(run(doNothing, {matrix()}, {{DType::F32, {2, 3}}}, {}, {}, {}, {1}));
}

TEST(Ffi, TypesKeepTheirNumbers) {
  int64_t first = ffi::registerType("cupel.test.first");
  EXPECT_NE(ffi::registerType("cupel.test.second"), first);
  EXPECT_EQ(ffi::registerType("cupel.test.first"), first);
}

} // namespace
