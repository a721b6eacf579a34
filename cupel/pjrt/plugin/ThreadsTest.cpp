// Many threads of a host at once.

#include "cupel/pjrt/plugin/PluginTesting.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

namespace cupel::pjrt {
namespace {

TEST_F(PluginTest, ManyThreads) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 30; ++i) {
        const float a[] = {float(t), float(i), 0}, b[] = {1, 1, 1};
        PJRT_Buffer *x = put(a, {3}), *y = put(b, {3});
        std::vector<std::vector<PJRT_Buffer *>> results(1, std::vector<PJRT_Buffer *>(1));
        EXPECT_EQ(execute(add, {{x, y}}, results).code, 0);
        std::vector<float> values;
        EXPECT_EQ(get(results[0][0], values).code, 0);
        EXPECT_EQ(values, (std::vector<float>{float(t) + 1, float(i) + 1, 1}));
        for (PJRT_Buffer *buffer : {x, y, results[0][0]})
          destroy(buffer);
        if (i % 10 == 0)
          destroy(compiled(kAdd));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  destroy(add);
}

/// Takes long enough to be done by the device's thread; of its own size, so that memory is used
/// again.
constexpr const char *kLong =
    "func.func @main(%a: tensor<64x512xf32> {jax.buffer_donor = true}) -> tensor<64x512xf32> {\n"
    "  %0 = stablehlo.sine %a : tensor<64x512xf32>\n"
    "  %1 = stablehlo.add %0, %a : tensor<64x512xf32>\n"
    "  %2 = stablehlo.cosine %1 : tensor<64x512xf32>\n"
    "  return %2 : tensor<64x512xf32>\n}";

/// For a program of one argument: which are not to be donated.
std::vector<int64_t> kept(bool keeps) { return keeps ? std::vector<int64_t>{0} : std::vector<int64_t>{}; }

void onReady(PJRT_Event *event, std::function<void()> what) {
  auto args = makeStruct<PJRT_Event_OnReady_Args>();
  args.event = event;
  args.user_arg = new std::function<void()>(std::move(what));
  args.callback = [](PJRT_Error *error, void *argument) {
    take(error);
    auto *function = static_cast<std::function<void()> *>(argument);
    (*function)();
    delete function;
  };
  expectFine(api()->PJRT_Event_OnReady(&args));
  auto destroy = makeStruct<PJRT_Event_Destroy_Args>();
  destroy.event = event;
  expectFine(api()->PJRT_Event_Destroy(&destroy));
}

TEST_F(PluginTest, ThreadsDoDifferentThingsAtOnce) {
  PJRT_LoadedExecutable *program = compiled(kLong);
  std::vector<float> data(64 * 512, 0.5f);
  std::atomic<int> callbacks = 0;
  std::vector<std::thread> threads;
  constexpr int kThreads = 8, kRounds = 12;
  auto once = [](double a) { return std::cos(std::sin(a) + a); };
  const double expected = once(once(0.5));
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRounds; ++i) {
        PJRT_Buffer *start = put(data.data(), {64, 512});
        // A chain of runs of which only the end is waited for; what is between is dropped at once.
        Launch first(program, {start}, kept(i % 2 == 0));
        onReady(first.event, [&] { ++callbacks; });
        destroy(start);
        Launch second(program, {first.result}, kept(t % 2 == 0));
        destroy(first.result);
        auto stats = makeStruct<PJRT_Device_MemoryStats_Args>();
        stats.device = device();
        expectFine(api()->PJRT_Device_MemoryStats(&stats));
        if (i % 3 == 0) { // Nobody reads it.
          onReady(second.event, [&] { ++callbacks; });
          destroy(second.result);
          continue;
        }
        if (i % 3 == 1) {
          auto copy = makeStruct<PJRT_Buffer_CopyToDevice_Args>();
          copy.buffer = second.result;
          copy.dst_device = device(1 + t % 3);
          expectFine(api()->PJRT_Buffer_CopyToDevice(&copy));
          destroy(second.result);
          second.result = copy.dst_buffer;
        }
        std::vector<float> values;
        EXPECT_EQ(get(second.result, values).code, 0);
        EXPECT_NEAR(values.at(100), expected, 1e-5);
        EXPECT_EQ(await(second.event).code, 0);
        destroy(second.result);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  // Nothing is left on any device once everything is over.
  for (int i = 0; i < 1000 && callbacks < kThreads * (kRounds + kRounds / 3); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(callbacks, kThreads * (kRounds + kRounds / 3));
  destroy(program);
}

TEST_F(PluginTest, ABufferIsAskedAndCopiedAtOnce) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 20; ++i) {
    PJRT_Buffer *buffer = put(data, {2, 3});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        if (t % 2) {
          auto layout = makeStruct<PJRT_Buffer_GetMemoryLayout_Args>();
          layout.buffer = buffer;
          expectFine(api()->PJRT_Buffer_GetMemoryLayout(&layout));
          ASSERT_EQ(layout.layout.tiled.minor_to_major_size, 2u);
          EXPECT_EQ(layout.layout.tiled.minor_to_major[0], 1);
          return;
        }
        auto copy = makeStruct<PJRT_Buffer_CopyToDevice_Args>();
        copy.buffer = buffer;
        copy.dst_device = device(t);
        expectFine(api()->PJRT_Buffer_CopyToDevice(&copy));
        destroy(copy.dst_buffer);
      });
    for (std::thread &thread : threads)
      thread.join();
    destroy(buffer);
  }
}

TEST_F(PluginTest, OneOfManyThreadsFillsABuffer) {
  int64_t dims[] = {256};
  auto spec = makeStruct<PJRT_ShapeSpec>();
  spec.dims = dims;
  spec.num_dims = 1;
  spec.element_type = PJRT_Buffer_Type_F32;
  for (int i = 0; i < 20; ++i) {
    auto create = makeStruct<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
    create.client = client;
    create.shape_specs = &spec;
    create.num_shape_specs = 1;
    create.memory = memory();
    expectFine(api()->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create));
    std::atomic<int> winner = -1;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::vector<float> data(256, static_cast<float>(t));
        Problem problem;
        PJRT_Event *done = nullptr;
        if (t % 2) {
          auto args = makeStruct<PJRT_AsyncHostToDeviceTransferManager_TransferLiteral_Args>();
          args.transfer_manager = create.transfer_manager;
          args.data = data.data();
          args.shape_dims = dims;
          args.shape_num_dims = 1;
          args.shape_element_type = PJRT_Buffer_Type_F32;
          problem = take(api()->PJRT_AsyncHostToDeviceTransferManager_TransferLiteral(&args));
          done = args.done_with_h2d_transfer;
        } else {
          auto args = makeStruct<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
          args.transfer_manager = create.transfer_manager;
          args.data = data.data();
          args.transfer_size = 1024;
          args.is_last_transfer = true;
          problem = take(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&args));
          done = args.done_with_h2d_transfer;
        }
        if (problem.code) {
          EXPECT_EQ(problem.code, PJRT_Error_Code_FAILED_PRECONDITION) << problem.text;
          return;
        }
        EXPECT_EQ(await(done).code, 0);
        EXPECT_EQ(winner.exchange(t), -1);
      });
    for (std::thread &thread : threads)
      thread.join();
    auto retrieve = makeStruct<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
    retrieve.transfer_manager = create.transfer_manager;
    expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));
    std::vector<float> values;
    EXPECT_EQ(get(retrieve.buffer_out, values).code, 0);
    EXPECT_EQ(values, std::vector<float>(256, static_cast<float>(winner)));
    destroy(retrieve.buffer_out);
    auto drop = makeStruct<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
    drop.transfer_manager = create.transfer_manager;
    expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_Destroy(&drop));
  }
}

TEST_F(PluginTest, AClientMayGoWhileItsDevicesWork) {
  for (bool fromCallback : {false, true})
    for (int i = 0; i < 10; ++i) {
      PJRT_Client *other = makeClient(2);
      std::swap(client, other);
      PJRT_LoadedExecutable *program = compiled(kLong);
      std::vector<float> data(64 * 512, 0.5f);
      PJRT_Buffer *start = put(data.data(), {64, 512});
      Launch first(program, {start}, kept(true)), second(program, {first.result}, kept(true));
      for (PJRT_Buffer *buffer : {start, first.result, second.result})
        destroy(buffer);
      destroy(program);
      std::swap(client, other);
      std::atomic<bool> gone = false, told = false;
      onReady(second.event, [&] { told = true; });
      if (fromCallback)
        onReady(first.event, [&] {
          destroyClient(other);
          gone = true;
        });
      else {
        await(first.event);
        destroyClient(other);
        gone = true;
      }
      for (int wait = 0; wait < 1000 && !(gone && told); ++wait)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ASSERT_TRUE(gone && told);
    }
}

} // namespace
} // namespace cupel::pjrt
