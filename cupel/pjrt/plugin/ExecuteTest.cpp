// Compiling, running, failing and saving, as a host sees it.

#include "cupel/pjrt/plugin/PluginTesting.h"
#include "cupel/pjrt/plugin/WaitingHost.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>

namespace cupel::pjrt {
namespace {

TEST_F(PluginTest, CompileErrors) {
  PJRT_LoadedExecutable *executable = nullptr;
  EXPECT_EQ(compile("nonsense", executable).code, PJRT_Error_Code_INVALID_ARGUMENT);
  Problem hlo = compile(kAdd, executable, options(), "hlo");
  EXPECT_EQ(hlo.code, PJRT_Error_Code_UNIMPLEMENTED);
  EXPECT_NE(hlo.text.find("XLA_STABLEHLO_COMPILE"), std::string::npos);
  EXPECT_EQ(compile(kAdd, executable, "\xff\xff").code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(compile(kAdd, executable, options(1, 9)).code, PJRT_Error_Code_INVALID_ARGUMENT);
}

TEST_F(PluginTest, RunsAndDonates) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  const float ones[] = {1, 1, 1}, twos[] = {2, 2, 2};
  PJRT_Buffer *a = put(ones, {3}), *b = put(twos, {3});
  std::vector<std::vector<PJRT_Buffer *>> results(1, std::vector<PJRT_Buffer *>(1));
  EXPECT_EQ(execute(add, {{a, b}}, results, {0}).code, 0);
  EXPECT_FALSE(isDeleted(a)); // Told to keep it.
  destroy(results[0][0]);
  EXPECT_EQ(execute(add, {{a, b}}, results).code, 0);
  EXPECT_TRUE(isDeleted(a));
  EXPECT_FALSE(isDeleted(b));
  std::vector<float> values;
  EXPECT_EQ(get(results[0][0], values).code, 0);
  EXPECT_EQ(values, (std::vector<float>{3, 3, 3}));
  destroy(results[0][0]);
  EXPECT_EQ(execute(add, {{a, b}}, results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(execute(add, {{b, b}}, results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  EXPECT_EQ(execute(add, {{b}}, results).code, PJRT_Error_Code_INVALID_ARGUMENT);
  PJRT_Buffer *elsewhere = put(ones, {3}, {}, 2);
  Problem wrong = execute(add, {{elsewhere, b}}, results);
  EXPECT_NE(wrong.text.find("CupelDevice(id=2)"), std::string::npos) << wrong.text;
  for (PJRT_Buffer *buffer : {a, b, elsewhere})
    destroy(buffer);
  destroy(add);
}

TEST(WaitingHostTest, IsOneThatAsksAtOnceAndAgain) {
  WaitingHost host;
  constexpr int64_t kTook = 1'000'000;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(host.runsItself());
    host.ran(100, kTook, 150);
  }
  // Runs on the host's own thread are looked at as well.
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(host.runsItself());
    host.ranItself(100, kTook, [] { return int64_t{150}; });
  }
  EXPECT_TRUE(host.runsItself());
  host.ranItself(100, kTook, [] { return int64_t{0}; });
  EXPECT_FALSE(host.runsItself()) << "it went on without asking";
  EXPECT_FALSE(host.runsItself()) << "once is not enough";
  for (int i = 0; i < 3; ++i)
    host.ran(100, kTook, 150);
  EXPECT_TRUE(host.runsItself());
  host.ranItself(100, kTook, [] { return 100 + kTook / 2; });
  EXPECT_FALSE(host.runsItself()) << "it had something else to do";
  for (int i = 0; i < 3; ++i)
    host.ran(100, kTook, 150);
  EXPECT_TRUE(host.runsItself());
  host.ran(100, kTook, 100 + kTook / 2);
  EXPECT_FALSE(host.runsItself()) << "it had something else to do";
  for (int i = 0; i < 9; ++i)
    host.ran(100, kTook, 0);
  EXPECT_FALSE(host.runsItself()) << "nobody asked";
  for (int i = 0; i < 9; ++i)
    host.ran(100, WaitingHost::kLongestNanoseconds, 150);
  EXPECT_FALSE(host.runsItself()) << "what waking costs is not noticed";
}

TEST_F(PluginTest, AHostThatWaitsIsNotWoken) {
  PJRT_LoadedExecutable *program = nullptr;
  PJRT_Buffer *x = nullptr;
  auto listen = [](PJRT_Event *event) {
    auto on = makeStruct<PJRT_Event_OnReady_Args>();
    on.event = event;
    on.callback = [](PJRT_Error *, void *) {};
    expectFine(api()->PJRT_Event_OnReady(&on));
  };
  auto runsAtOnce = [&](bool waits) {
    Launch launch(program, {x});
    bool atOnce = launch.isReady();
    listen(launch.event); // As JAX does with every run: to be told is not to wait.
    if (!waits)
      do // Neither is to look.
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      while (!launch.isReady());
    EXPECT_EQ(await(launch.event).code, 0);
    destroy(launch.result);
    return atOnce;
  };
  // Long enough on this machine that to run it at once is not for its briefness, and short enough
  // that waking is noticed.
  for (int64_t size = int64_t{1} << 15; size <= int64_t{1} << 24; size *= 2) {
    std::string type = "tensor<" + std::to_string(size) + "xf32>";
    program = compiled(
        "func.func @main(%a: " + type + ") -> " + type + " {\n  %0 = stablehlo.sine %a : " + type +
        "\n  %1 = stablehlo.power %0, %a : " + type + "\n  return %1 : " + type + "\n}");
    std::vector<float> data(size_t(size), 0.5f);
    x = put(data.data(), {size});
    auto shortest = std::chrono::nanoseconds::max();
    for (int i = 0; i < 5; ++i) {
      runsAtOnce(false);
      auto begin = std::chrono::steady_clock::now();
      runsAtOnce(true);
      shortest = std::min(shortest, std::chrono::steady_clock::now() - begin);
    }
    if (shortest > std::chrono::microseconds(500))
      break;
    destroy(x);
    destroy(program);
  }
  auto isKept = [&] { // Once while its ways were not known; more only where the machine was busy.
    int kept = 0;
    for (int i = 0; i < 8; ++i)
      kept += runsAtOnce(false);
    return kept == 8;
  };
  EXPECT_FALSE(isKept()) << "a host that does not wait was kept waiting";
  int atOnce = 0;
  for (int i = 0; i < 500 && !(atOnce = runsAtOnce(true)); ++i)
    ;
  EXPECT_TRUE(atOnce) << "a host that waits was woken 500 times";
  // It may have changed its ways, and wait by a callback that it leaves with a result.
  EXPECT_FALSE(isKept()) << "a host that waits no more was kept waiting";
  auto runsForResult = [&] {
    Launch launch(program, {x});
    bool atOnce = launch.isReady();
    auto ready = makeStruct<PJRT_Buffer_ReadyEvent_Args>();
    ready.buffer = launch.result;
    expectFine(api()->PJRT_Buffer_ReadyEvent(&ready));
    listen(ready.event);
    while (!launch.isReady())
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    EXPECT_EQ(await(ready.event).code, 0);
    EXPECT_EQ(await(launch.event).code, 0);
    destroy(launch.result);
    return atOnce;
  };
  auto isConvinced = [&] {
    for (int i = 0; i < 500; ++i)
      if (runsForResult())
        return true;
    return false;
  };
  EXPECT_TRUE(isConvinced()) << "a host that waits for a result was woken 500 times";
  // Where a result is there, JAX only looks at it.
  auto looksAtOnce = [&] {
    Launch launch(program, {x});
    auto ready = makeStruct<PJRT_Buffer_ReadyEvent_Args>();
    ready.buffer = launch.result;
    expectFine(api()->PJRT_Buffer_ReadyEvent(&ready));
    auto look = makeStruct<PJRT_Event_IsReady_Args>();
    look.event = ready.event;
    expectFine(api()->PJRT_Event_IsReady(&look));
    std::this_thread::sleep_for(std::chrono::milliseconds(3)); // What follows is not at once.
    EXPECT_EQ(await(ready.event).code, 0);
    EXPECT_EQ(await(launch.event).code, 0);
    destroy(launch.result);
    return look.is_ready;
  };
  // If to look were no question, the first such run would be the last at once however often one
  // tries; a look that the machine delays ends a row as well, so that one row may be short.
  int longestRow = 0;
  for (int attempt = 0; attempt < 50 && longestRow <= 4 && isConvinced(); ++attempt) {
    int row = 0;
    while (row < 12 && looksAtOnce())
      ++row;
    longestRow = std::max(longestRow, row);
  }
  EXPECT_GT(longestRow, 4) << "a host that looks at what is there was taken for one that does not wait";
  destroy(x);
  destroy(program);
}

/// Nobody knows beforehand how long a loop takes; what has been short does not wait for a thread again.
TEST_F(PluginTest, ALoopThatWasShortIsRunAtOnce) {
  PJRT_LoadedExecutable *loop = compiled(R"(func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %few = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<3xf32> cond {
    %t = stablehlo.compare LT, %i, %few : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.add %y, %y : tensor<3xf32>
    stablehlo.return %next, %z : tensor<i32>, tensor<3xf32>
  }
  return %0#1 : tensor<3xf32>
})");
  const float ones[] = {1, 1, 1};
  PJRT_Buffer *x = put(ones, {3});
  int readyAtOnce = 0;
  for (int i = 0; i < 50; ++i) {
    Launch run(loop, {x});
    readyAtOnce += run.isReady();
    EXPECT_EQ(await(run.event).code, 0);
    std::vector<float> values;
    EXPECT_EQ(get(run.result, values).code, 0);
    EXPECT_EQ(values, (std::vector<float>{8, 8, 8}));
    destroy(run.result);
  }
  EXPECT_GE(readyAtOnce, 25); // A run that is interrupted does not count as short.
  destroy(x);
  destroy(loop);
}

TEST_F(PluginTest, WaitsForArgumentsThatAreStillToCome) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  int64_t dims[] = {3};
  auto spec = makeStruct<PJRT_ShapeSpec>();
  spec.dims = dims;
  spec.num_dims = 1;
  spec.element_type = PJRT_Buffer_Type_F32;
  auto create = makeStruct<PJRT_Client_CreateBuffersForAsyncHostToDevice_Args>();
  create.client = client;
  create.shape_specs = &spec;
  create.num_shape_specs = 1;
  create.memory = memory();
  expectFine(api()->PJRT_Client_CreateBuffersForAsyncHostToDevice(&create));
  auto retrieve = makeStruct<PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer_Args>();
  retrieve.transfer_manager = create.transfer_manager;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_RetrieveBuffer(&retrieve));

  const float data[] = {1, 2, 3};
  PJRT_Buffer *b = put(data, {3});
  Launch run(add, {retrieve.buffer_out, b});
  EXPECT_FALSE(run.isReady());
  // The host may drop its handles at once.
  destroy(retrieve.buffer_out);
  destroy(b);

  auto transfer = makeStruct<PJRT_AsyncHostToDeviceTransferManager_TransferData_Args>();
  transfer.transfer_manager = create.transfer_manager;
  transfer.data = data;
  transfer.transfer_size = 8;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer));
  EXPECT_EQ(await(transfer.done_with_h2d_transfer).code, 0);
  transfer.data = data + 2;
  transfer.offset = 8;
  transfer.transfer_size = 8;
  EXPECT_EQ(take(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer)).code,
            PJRT_Error_Code_INVALID_ARGUMENT);
  transfer.transfer_size = 4;
  transfer.is_last_transfer = true;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_TransferData(&transfer));
  EXPECT_EQ(await(transfer.done_with_h2d_transfer).code, 0);
  EXPECT_EQ(await(run.event).code, 0);
  std::vector<float> values;
  EXPECT_EQ(get(run.result, values).code, 0);
  EXPECT_EQ(values, (std::vector<float>{2, 4, 6}));
  destroy(run.result);
  auto drop = makeStruct<PJRT_AsyncHostToDeviceTransferManager_Destroy_Args>();
  drop.transfer_manager = create.transfer_manager;
  expectFine(api()->PJRT_AsyncHostToDeviceTransferManager_Destroy(&drop));
  destroy(add);
}

TEST_F(PluginTest, FailuresTravelAlong) {
  auto make = makeStruct<PJRT_Client_CreateErrorBuffer_Args>();
  int64_t dims[] = {3};
  make.client = client;
  make.error_code = PJRT_Error_Code_DATA_LOSS;
  make.error_message = "spilt";
  make.error_message_size = 5;
  make.shape_dims = dims;
  make.shape_num_dims = 1;
  make.shape_element_type = PJRT_Buffer_Type_F32;
  make.memory = memory();
  expectFine(api()->PJRT_Client_CreateErrorBuffer(&make));
  PJRT_LoadedExecutable *add = compiled(kAdd);
  const float ones[] = {1, 1, 1};
  PJRT_Buffer *b = put(ones, {3});
  std::vector<std::vector<PJRT_Buffer *>> results(1, std::vector<PJRT_Buffer *>(1));
  Problem problem = execute(add, {{make.buffer, b}}, results);
  EXPECT_EQ(problem.code, PJRT_Error_Code_DATA_LOSS);
  EXPECT_EQ(problem.text, "spilt");
  std::vector<float> values;
  EXPECT_EQ(get(results[0][0], values).code, PJRT_Error_Code_DATA_LOSS);
  for (PJRT_Buffer *buffer : {make.buffer, b, results[0][0]})
    destroy(buffer);
  destroy(add);
}

TEST_F(PluginTest, AFailingDeviceReleasesTheOthers) {
  PJRT_LoadedExecutable *program =
      compiled("func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {\n"
               "  %c = stablehlo.constant dense<1.0> : tensor<1xf32>\n"
               "  stablehlo.custom_call @check.expect_eq(%x, %c) {has_side_effect = true} : "
               "(tensor<1xf32>, tensor<1xf32>) -> ()\n"
               "  %0 = \"stablehlo.all_reduce\"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : "
               "tensor<1x4xi64>}> ({\n"
               "  ^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
               "    %s = stablehlo.add %a, %b : tensor<f32>\n"
               "    stablehlo.return %s : tensor<f32>\n"
               "  }) : (tensor<1xf32>) -> tensor<1xf32>\n"
               "  return %0 : tensor<1xf32>\n}",
               options(4, 1));
  const float one = 1, two = 2;
  for (bool fails : {true, false}) {
    std::vector<std::vector<PJRT_Buffer *>> arguments, results;
    for (int i = 0; i < 4; ++i) {
      arguments.push_back({put(fails && i == 2 ? &two : &one, {1}, {}, i)});
      results.push_back({nullptr});
    }
    Problem problem = execute(program, arguments, results);
    for (int i = 0; i < 4; ++i) {
      std::vector<float> values;
      Problem read = get(results[i][0], values);
      if (fails) {
        EXPECT_EQ(read.code, PJRT_Error_Code_FAILED_PRECONDITION);
        EXPECT_NE(read.text.find("check.expect_eq"), std::string::npos) << read.text;
      } else {
        EXPECT_EQ(values, std::vector<float>{4});
      }
      destroy(arguments[i][0]);
      destroy(results[i][0]);
    }
    EXPECT_EQ(problem.code, fails ? PJRT_Error_Code_FAILED_PRECONDITION : 0);
  }
  destroy(program);
}

TEST_F(PluginTest, CallbacksOutliveTheirEvents) {
  auto create = makeStruct<PJRT_Event_Create_Args>();
  expectFine(api()->PJRT_Event_Create(&create));
  std::atomic<int> calls = 0;
  auto on = makeStruct<PJRT_Event_OnReady_Args>();
  on.event = create.event;
  on.user_arg = &calls;
  on.callback = [](PJRT_Error *error, void *user) {
    take(error);
    ++*static_cast<std::atomic<int> *>(user);
  };
  expectFine(api()->PJRT_Event_OnReady(&on));
  expectFine(api()->PJRT_Event_OnReady(&on));
  EXPECT_EQ(calls, 0);
  auto set = makeStruct<PJRT_Event_Set_Args>();
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = "x";
  set.error_message_size = 1;
  expectFine(api()->PJRT_Event_Set(&set));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(take(api()->PJRT_Event_Set(&set)).code, PJRT_Error_Code_FAILED_PRECONDITION);
  expectFine(api()->PJRT_Event_OnReady(&on)); // At once.
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(await(create.event).code, PJRT_Error_Code_ABORTED);
}

TEST_F(PluginTest, ACallbackMayDestroyTheEventThatIsBeingSet) {
  auto create = makeStruct<PJRT_Event_Create_Args>();
  expectFine(api()->PJRT_Event_Create(&create));
  struct Told {
    PJRT_Event *event;
    std::vector<std::string> texts;
  } told{create.event, {}};
  auto on = makeStruct<PJRT_Event_OnReady_Args>();
  on.event = create.event;
  on.user_arg = &told;
  on.callback = [](PJRT_Error *error, void *user) {
    Told &told = *static_cast<Told *>(user);
    told.texts.push_back(take(error).text);
    auto destroy = makeStruct<PJRT_Event_Destroy_Args>();
    destroy.event = std::exchange(told.event, nullptr);
    expectFine(api()->PJRT_Event_Destroy(&destroy));
  };
  for (int i = 0; i < 3; ++i)
    expectFine(api()->PJRT_Event_OnReady(&on));
  const std::string text = "long enough that it needs memory of its own";
  auto set = makeStruct<PJRT_Event_Set_Args>();
  set.event = create.event;
  set.error_code = PJRT_Error_Code_ABORTED;
  set.error_message = text.data();
  set.error_message_size = text.size();
  expectFine(api()->PJRT_Event_Set(&set));
  EXPECT_EQ(told.texts, std::vector<std::string>(3, text));
}

TEST_F(PluginTest, EmptyBuffersComeBack) {
  PJRT_Buffer *empty = put(nullptr, {2, 0});
  std::vector<float> values = {1};
  EXPECT_EQ(get(empty, values).code, 0);
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(get(empty, values, {0, 1}).code, 0);
  destroy(empty);
}

TEST_F(PluginTest, MemoryIsLimited) {
  destroyClient(client);
  client = makeClient(1, 100);
  const float data[20] = {};
  PJRT_Buffer *first = put(data, {15});
  auto args = makeStruct<PJRT_Client_BufferFromHostBuffer_Args>();
  int64_t dims[] = {20};
  args.client = client;
  args.data = data;
  args.type = PJRT_Buffer_Type_F32;
  args.dims = dims;
  args.num_dims = 1;
  args.memory = memory();
  Problem problem = take(api()->PJRT_Client_BufferFromHostBuffer(&args));
  EXPECT_EQ(problem.code, PJRT_Error_Code_RESOURCE_EXHAUSTED);
  EXPECT_NE(problem.text.find("a tensor<20xf32> needs 80 bytes; 40 of 100 are free"),
            std::string::npos)
      << problem.text;
  EXPECT_NE(problem.text.find("60 bytes tensor<15xf32> (from the host)"), std::string::npos);
  destroy(first);
  expectFine(api()->PJRT_Client_BufferFromHostBuffer(&args));
  EXPECT_EQ(await(args.done_with_host_buffer).code, 0);
  destroy(args.buffer);
}

TEST_F(PluginTest, SavesAndLoads) {
  PJRT_LoadedExecutable *add = compiled(kAdd);
  auto get = makeStruct<PJRT_LoadedExecutable_GetExecutable_Args>();
  get.loaded_executable = add;
  expectFine(api()->PJRT_LoadedExecutable_GetExecutable(&get));
  auto save = makeStruct<PJRT_Executable_Serialize_Args>();
  save.executable = get.executable;
  expectFine(api()->PJRT_Executable_Serialize(&save));
  std::string bytes(save.serialized_bytes, save.serialized_bytes_size);
  save.serialized_executable_deleter(save.serialized_executable);
  auto drop = makeStruct<PJRT_Executable_Destroy_Args>();
  drop.executable = get.executable;
  expectFine(api()->PJRT_Executable_Destroy(&drop));
  destroy(add);
  auto load = makeStruct<PJRT_Executable_DeserializeAndLoad_Args>();
  load.struct_size =
      offsetof(PJRT_Executable_DeserializeAndLoad_Args, overridden_serialized_compile_options);
  load.client = client;
  load.serialized_executable = bytes.data();
  load.serialized_executable_size = bytes.size();
  expectFine(api()->PJRT_Executable_DeserializeAndLoad(&load));
  destroy(load.loaded_executable);
  for (size_t size : {size_t{0}, size_t{1}, bytes.size() / 2}) {
    load.serialized_executable_size = size;
    EXPECT_NE(take(api()->PJRT_Executable_DeserializeAndLoad(&load)).code, 0);
  }
  // Whichever byte a disk loses, nothing else is computed in place of what was saved.
  load.serialized_executable_size = bytes.size();
  for (size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] ^= 1;
    Problem problem = take(api()->PJRT_Executable_DeserializeAndLoad(&load));
    EXPECT_TRUE(problem.code == PJRT_Error_Code_DATA_LOSS ||
                problem.code == PJRT_Error_Code_INVALID_ARGUMENT)
        << "byte " << at << ": " << problem.text;
    bytes[at] ^= 1;
  }
  load.serialized_executable_size = bytes.size() - 1;
  EXPECT_NE(take(api()->PJRT_Executable_DeserializeAndLoad(&load)).text.find("is damaged"),
            std::string::npos);
}

TEST_F(PluginTest, TopologiesAreSavedAndCompiledFor) {
  // One of the architectures that ship, and a descriptor of the user's own.
  std::string file = testing::TempDir() + "cupel-own-arch.yaml";
  std::ofstream(file) << "name: own\nchips: 4\nmesh: [2, 2]\ndram_bytes: 1_000_000\n";
  for (std::string name : {std::string("n300"), file, std::string("cpu:3")}) {
    auto create = makeStruct<PJRT_TopologyDescription_Create_Args>();
    create.topology_name = name.data();
    create.topology_name_size = name.size();
    expectFine(api()->PJRT_TopologyDescription_Create(&create));
    ASSERT_TRUE(create.topology) << name;
    auto save = makeStruct<PJRT_TopologyDescription_Serialize_Args>();
    save.topology = create.topology;
    expectFine(api()->PJRT_TopologyDescription_Serialize(&save));
    auto load = makeStruct<PJRT_TopologyDescription_Deserialize_Args>();
    load.serialized_topology = save.serialized_bytes;
    load.serialized_topology_size = save.serialized_bytes_size;
    expectFine(api()->PJRT_TopologyDescription_Deserialize(&load));
    ASSERT_TRUE(load.topology) << name;
    save.serialized_topology_deleter(save.serialized_topology);
    uint64_t fingerprints[2];
    size_t devices[2];
    PJRT_TopologyDescription *both[] = {create.topology, load.topology};
    for (int i = 0; i < 2; ++i) {
      auto print = makeStruct<PJRT_TopologyDescription_Fingerprint_Args>();
      print.topology = both[i];
      expectFine(api()->PJRT_TopologyDescription_Fingerprint(&print));
      fingerprints[i] = print.fingerprint;
      auto list = makeStruct<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
      list.topology = both[i];
      expectFine(api()->PJRT_TopologyDescription_GetDeviceDescriptions(&list));
      devices[i] = list.num_descriptions;
    }
    EXPECT_EQ(fingerprints[0], fingerprints[1]);
    EXPECT_EQ(devices[0], devices[1]);
    EXPECT_EQ(devices[0], name == "n300" ? 2u : name == "cpu:3" ? 3u : 4u);

    std::string text = kAdd, settings = options(), format = "mlir";
    auto program = makeStruct<PJRT_Program>();
    program.code = text.data();
    program.code_size = text.size();
    program.format = format.data();
    program.format_size = format.size();
    auto compile = makeStruct<PJRT_Compile_Args>();
    compile.topology = load.topology;
    compile.program = &program;
    compile.compile_options = settings.data();
    compile.compile_options_size = settings.size();
    expectFine(api()->PJRT_Compile(&compile));
    auto drop = makeStruct<PJRT_Executable_Destroy_Args>();
    drop.executable = compile.executable;
    expectFine(api()->PJRT_Executable_Destroy(&drop));
    for (PJRT_TopologyDescription *topology : both) {
      auto end = makeStruct<PJRT_TopologyDescription_Destroy_Args>();
      end.topology = topology;
      expectFine(api()->PJRT_TopologyDescription_Destroy(&end));
    }
  }
}

} // namespace
} // namespace cupel::pjrt
