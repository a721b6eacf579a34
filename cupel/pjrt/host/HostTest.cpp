// The host against the fault plugin (tests/pjrt/fault_plugin), in this process: everything that
// does not kill it. Crashes and hangs are tested through cupel-device (tests/pjrt/check_device.py).
#include "cupel/pjrt/host/Client.h"
#include "cupel/pjrt/host/RunWorkload.h"
#include "cupel/pjrt/host/Types.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <thread>
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#endif

using namespace cupel;
using namespace cupel::pjrt;
using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

namespace {

/// A plugin that answered with nonsense or not at all is left alone with what it handed out before,
/// for nobody can tell what giving that back would do: no leak that could be mended.
struct LeaksOfABadPlugin {
#if __has_feature(address_sanitizer)
  explicit LeaksOfABadPlugin(std::string_view fault)
      : isExpected(fault == "event-never" || fault == "copy-never" || fault == "result-null" ||
                   fault == "results-overrun") {
    if (isExpected)
      __lsan_disable();
  }
  ~LeaksOfABadPlugin() {
    if (isExpected)
      __lsan_enable();
  }
  bool isExpected;
#else
  explicit LeaksOfABadPlugin(std::string_view) {}
  ~LeaksOfABadPlugin() {}
#endif
};

/// Loads a copy of the plugin, since a process keeps one table a file, under a fault.
class HostTest : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "cupel-host-test-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  void TearDown() override {
    ::unsetenv("CUPEL_FAULT");
    fs::remove_all(folder);
  }

  static void setFault(const char *fault) { ::setenv("CUPEL_FAULT", fault, 1); }

  Result<std::shared_ptr<Plugin>> loadCopy(const std::string &of = CUPEL_FAULT_PLUGIN) {
    fs::path copy = folder / (std::to_string(++copies) + ".so");
    fs::copy_file(of, copy);
    return Plugin::load(copy.string());
  }

  Result<std::shared_ptr<Client>> makeClient() {
    Result<std::shared_ptr<Plugin>> plugin = loadCopy();
    if (!plugin)
      return plugin.error();
    return Client::create(*plugin);
  }

  /// Everything that one execution of "return the argument" takes.
  Result<Tensor> roundTrip(const Tensor &input, std::string_view program = "echo 1") {
    Result<std::shared_ptr<Client>> client = makeClient();
    if (!client)
      return client.error();
    plugin = (*client)->plugin();
    return roundTripOn(**client, input, program);
  }
  Result<Tensor> roundTripOn(Client &client, const Tensor &input, std::string_view program) {
    Result<Executable> executable = client.compile(program, CompileOptions());
    if (!executable)
      return executable.error();
    Result<Buffer> argument = client.toDevice(input, client.devices().front(), soon());
    if (!argument)
      return argument.error();
    std::vector<std::vector<const Buffer *>> arguments = {{&*argument}};
    auto results = executable->execute(arguments, soon());
    if (!results)
      return results.error();
    if (Status ready = results->front().front().waitUntilReady(soon()); !ready)
      return ready.error();
    return results->front().front().toHost(soon());
  }

  Deadline soon() const { return deadlineIn(seconds); }

  double seconds = 5;
  fs::path folder;
  int copies = 0;
  std::shared_ptr<Plugin> plugin;
};

Tensor someFloats() { return Tensor::of<DType::F32>({2, 3}, {1, 2, 3, 4, 5, 6}); }

TEST_F(HostTest, RunsAProgram) {
  Result<Tensor> result = roundTrip(someFloats());
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(result->dtype(), DType::F32);
  EXPECT_TRUE(std::ranges::equal(result->shape(), tensor::Shape{2, 3}));
  EXPECT_TRUE(std::equal(result->dataAs<float>(), result->dataAs<float>() + 6,
                         someFloats().dataAs<float>()));
}

/// Whether a buffer is read where it lies, a plugin shows and nobody assumes.
TEST_F(HostTest, ReadsInPlaceWhatAPluginLends) {
  for (auto [fault, isLent] : {std::pair{"", false},
                               {"lends", true},
                               {"lends-columns", false},
                               {"lends-nothing", false}}) {
    setFault(fault);
    Result<std::shared_ptr<Client>> client = makeClient();
    ASSERT_TRUE(client) << client.message();
    Result<Buffer> made = (*client)->toDevice(someFloats(), (*client)->devices().front(), soon());
    ASSERT_TRUE(made) << made.message();
    auto buffer = std::make_shared<Buffer>(std::move(*made));
    Result<std::optional<Tensor>> value = Buffer::inPlace(buffer);
    ASSERT_TRUE(value) << fault << ": " << value.message();
    ASSERT_EQ(value->has_value(), isLent) << fault;
    if (!isLent)
      continue;
    // The tensor outlives whoever asked for it, and gives the buffer back in the end.
    buffer.reset();
    EXPECT_TRUE(std::equal((*value)->dataAs<float>(), (*value)->dataAs<float>() + 6,
                           someFloats().dataAs<float>()));
    value->reset();
    EXPECT_TRUE((*client)->plugin()->complaints().empty());
  }
}

TEST_F(HostTest, GivesATensorUntilThePluginIsDoneWithIt) {
  setFault("");
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client) << client.message();
  auto values = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  std::weak_ptr<std::vector<float>> held = values;
  Result<Tensor> tensor = Tensor::borrow(DType::F32, {2, 3}, std::as_bytes(std::span(*values)), values);
  ASSERT_TRUE(tensor) << tensor.message();
  values.reset();
  Result<Buffer> made = (*client)->give(std::exchange(*tensor, Tensor()), (*client)->devices().front());
  ASSERT_TRUE(made) << made.message();
  Result<Tensor> back = made->toHost(soon());
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(back->dataAs<float>()[5], 6);
  *made = Buffer();
  for (int i = 0; i < 1000 && !held.expired(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(held.expired());
}

/// A plugin that writes to what it was lent must not change what others here read, nor what it is judged by.
TEST_F(HostTest, LendsNothingThatOthersHold) {
  setFault("spoils-lent");
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client) << client.message();
  Workload workload;
  workload.programs.push_back({std::nullopt, "echo 2"});
  Result<LoadedWorkload> loaded = LoadedWorkload::compile(**client, workload);
  ASSERT_TRUE(loaded) << loaded.message();
  Tensor own = someFloats();
  std::weak_ptr<int> alive;
  auto handOver = [&](bool lends) {
    auto owner = std::make_shared<int>();
    alive = owner;
    static const float numbers[] = {7, 8};
    Tensor borrowed = *Tensor::borrow(DType::F32, {2}, std::as_bytes(std::span(numbers)), std::move(owner));
    TensorLists inputs = {{own, someFloats(), std::move(borrowed)}};
    Result<BufferLists> buffers = loaded->handOver(std::move(inputs), lends, soon());
    EXPECT_TRUE(buffers) << buffers.message();
    EXPECT_TRUE(alive.expired()); // Copied, and gone.
    Result<TensorLists> back = LoadedWorkload::readBack(*buffers, soon());
    EXPECT_TRUE(back) << back.message();
    return std::move(*back);
  };
  auto isRight = [](const Tensor &tensor) {
    return std::memcmp(tensor.data(), someFloats().data(), size_t(tensor.byteSize())) == 0;
  };
  for (bool lends : {false, true}) {
    TensorLists back = handOver(lends);
    EXPECT_TRUE(isRight(own));
    EXPECT_TRUE(isRight(back[0][0]));
    EXPECT_EQ(isRight(back[0][1]), !lends); // Nobody else has that one.
    EXPECT_EQ(back[0][2].dataAs<float>()[1], 8);
  }
}

TEST_F(HostTest, CopiesWhatHasNoPlaceForTheHost) {
  setFault("lends");
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client) << client.message();
  for (const Tensor &tensor :
       {Tensor::of<DType::I4>({2}, {1, -2}), *Tensor::zeros(DType::F32, {0})}) {
    Result<Buffer> made = (*client)->toDevice(tensor, (*client)->devices().front(), soon());
    ASSERT_TRUE(made) << made.message();
    Result<std::optional<Tensor>> value =
        Buffer::inPlace(std::make_shared<Buffer>(std::move(*made)));
    ASSERT_TRUE(value) << value.message();
    EXPECT_FALSE(value->has_value());
  }
  setFault("lends-no-address");
  Result<Buffer> made = (*client)->toDevice(someFloats(), (*client)->devices().front(), soon());
  ASSERT_TRUE(made) << made.message();
  Result<std::optional<Tensor>> value = Buffer::inPlace(std::make_shared<Buffer>(std::move(*made)));
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::BadAnswer);
}

TEST_F(HostTest, DescribesDevicesAndMemories) {
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client) << client.message();
  EXPECT_EQ((*client)->platformName(), "fault");
  ASSERT_EQ((*client)->devices().size(), 2u);
  EXPECT_EQ((*client)->devices()[1].id, 1);
  EXPECT_EQ((*client)->devices()[1].kind, "fault device");
  EXPECT_EQ((*client)->devices()[1].memoryIds, std::vector<int>{1});
  EXPECT_TRUE((*client)->devices()[1].isAddressable);
  EXPECT_EQ((*client)->memories()[0].kind, "device");
  EXPECT_EQ((*client)->findDevice(1), &(*client)->devices()[1]);
  EXPECT_EQ((*client)->findDevice(9), nullptr);
  EXPECT_EQ((*client)->plugin()->stablehloVersion(), (std::vector<int64_t>{1, 13, 0}));
  ASSERT_EQ((*client)->plugin()->extensions().size(), 1u);
  EXPECT_EQ((*client)->plugin()->extensions()[0].name, "Example");
  EXPECT_TRUE((*client)->plugin()->missingFunctions().empty());
}

TEST_F(HostTest, TransfersEveryType) {
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client);
  for (int i = 0; i < tensor::kDTypeCount; ++i) {
    auto type = static_cast<DType>(i);
    SCOPED_TRACE(tensor::info(type).name);
    EXPECT_EQ(dtypeOf(bufferType(type)), type);
    Result<Tensor> input = Tensor::zeros(type, {5});
    ASSERT_TRUE(input);
    auto *bytes = reinterpret_cast<unsigned char *>(input->mutableData());
    for (int64_t b = 0; b < input->byteSize(); ++b)
      bytes[b] = static_cast<unsigned char>(b * 7 + 1);
    normalizeElements(type, {input->mutableData(), static_cast<size_t>(input->byteSize())});
    Result<Tensor> result = roundTripOn(**client, *input, "echo 1");
    ASSERT_TRUE(result) << result.message();
    EXPECT_EQ(result->dtype(), type);
    EXPECT_TRUE(std::equal(bytes, bytes + input->byteSize(),
                           reinterpret_cast<const unsigned char *>(result->data())));
  }
}

TEST_F(HostTest, SpareBitsOfSmallIntegersDoNotMatter) {
  setFault("spare-bits");
  Result<Tensor> result = roundTrip(Tensor::of<DType::I4>({4}, {-8, -1, 0, 7}));
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(std::vector<int8_t>(result->dataAs<int8_t>(), result->dataAs<int8_t>() + 4),
            (std::vector<int8_t>{-8, -1, 0, 7}));
}

TEST_F(HostTest, EmptyTensorsAndScalarsTravel) {
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client);
  Result<Tensor> empty = roundTripOn(**client, Tensor::of<DType::F32>({0, 3}, {}), "echo 1");
  ASSERT_TRUE(empty) << empty.message();
  EXPECT_EQ(empty->size(), 0);
  Result<Tensor> scalar = roundTripOn(**client, Tensor::of<DType::F64>({}, {2.5}), "echo 1");
  ASSERT_TRUE(scalar) << scalar.message();
  EXPECT_EQ(*scalar->dataAs<double>(), 2.5);
}

TEST_F(HostTest, RunsOnSeveralDevices) {
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client);
  CompileOptions options;
  options.replicas = 2;
  options.deviceIds = {0, 1};
  Result<Executable> executable = (*client)->compile("echo 1 on 2", options);
  ASSERT_TRUE(executable) << executable.message();
  std::vector<Buffer> buffers;
  std::vector<std::vector<const Buffer *>> arguments;
  for (int d = 0; d < 2; ++d) {
    Result<Buffer> buffer =
        (*client)->toDevice(Tensor::of<DType::I32>({1}, {d}), (*client)->devices()[d], soon());
    ASSERT_TRUE(buffer);
    buffers.push_back(std::move(*buffer));
  }
  for (const Buffer &buffer : buffers)
    arguments.push_back({&buffer});
  auto results = executable->execute(arguments, soon());
  ASSERT_TRUE(results) << results.message();
  ASSERT_EQ(results->size(), 2u);
  for (int d = 0; d < 2; ++d) {
    Result<Tensor> value = (*results)[d][0].toHost(soon());
    ASSERT_TRUE(value);
    EXPECT_EQ(*value->dataAs<int32_t>(), d);
  }
  // Fewer argument lists than devices is our own mistake, said so before the plugin is asked.
  auto wrong = executable->execute({arguments.data(), 1}, soon());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::Host);
}

TEST_F(HostTest, ManyThreadsShareAClient) {
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client);
  std::vector<std::thread> threads;
  std::atomic<int> passed = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Result<Tensor> result = roundTripOn(**client, Tensor::of<DType::I32>({1}, {t}), "echo 1");
        passed += result && *result->dataAs<int32_t>() == t;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(passed, 1600);
}

struct FaultCase {
  const char *fault;
  std::optional<ErrorCode> code; ///< Nothing: the plugin's own.
  const char *call;    ///< Which call the failure names; "" for none.
  const char *message; ///< Part of it.
};

class FaultTest : public HostTest, public ::testing::WithParamInterface<FaultCase> {};

TEST_P(FaultTest, IsOneClearError) {
  setFault(GetParam().fault);
  seconds = 0.2;
  LeaksOfABadPlugin leaks(GetParam().fault);
  Result<Tensor> result = roundTrip(someFloats());
  ASSERT_FALSE(result);
  const Error &error = result.error();
  if (GetParam().code)
    EXPECT_EQ(name(error.code), name(*GetParam().code)) << error.message;
  else
    EXPECT_TRUE(isPluginsOwn(error)) << error.message;
  EXPECT_EQ(error.place.call, GetParam().call) << error.message;
  EXPECT_THAT(error.message, HasSubstr(GetParam().message));
  EXPECT_EQ(error.message.find('\n'), std::string::npos);
}

constexpr auto kLoad = ErrorCode::PluginNotLoadable;
constexpr auto kPlugin = std::nullopt;
constexpr auto kBad = ErrorCode::BadAnswer;
constexpr auto kLate = ErrorCode::NoAnswer;

const FaultCase kFaultCases[] = {
    {"table-null", kLoad, "", "GetPjrtApi returned null"},
    {"table-tiny", kLoad, "", "16 bytes long"},
    {"table-huge", kLoad, "", "cannot be"},
    {"table-short", kLoad, "", "before functions that every host needs"},
    {"major-wrong", kLoad, "", "speaks PJRT 7.100"},
    {"minor-old", kLoad, "", "Cupel needs 0.57 or newer"},
    {"initialize-error", kPlugin, "PJRT_Plugin_Initialize", "FAILED_PRECONDITION: no driver"},
    {"attributes-null", kBad, "PJRT_Plugin_Attributes", "null"},
    {"attribute-type", kBad, "PJRT_Plugin_Attributes", "unknown type 99"},
    {"client-error", kPlugin, "PJRT_Client_Create",
     "UNAVAILABLE: the device is | in use by process 1"},
    {"client-null", kBad, "PJRT_Client_Create", "no client"},
    {"platform-null", kBad, "PJRT_Client_PlatformName", "null string of 5"},
    {"devices-null", kBad, "PJRT_Client_Devices", "2 devices in a null list"},
    {"devices-too-many", kBad, "PJRT_Client_Devices", "cannot be"},
    {"device-null", kBad, "PJRT_Client_Devices", "number 1 of its 2 devices is null"},
    {"device-ids-equal", kBad, "PJRT_DeviceDescription_Id", "two devices have the id 0"},
    {"device-stranger", kBad, "PJRT_Client_AddressableDevices", "not among"},
    {"description-null", kBad, "PJRT_Device_GetDescription", "no description"},
    {"compile-error", kPlugin, "PJRT_Client_Compile", "INVALID_ARGUMENT: op 'x.y'"},
    {"compile-null", kBad, "PJRT_Client_Compile", "no executable"},
    {"compile-missing", ErrorCode::FunctionMissing, "PJRT_Client_Compile", "does not have"},
    {"error-without-message", kPlugin, "PJRT_Client_Compile",
     "RESOURCE_EXHAUSTED: (the plugin gave no message)"},
    {"error-without-code", kPlugin, "PJRT_Client_Compile", "UNKNOWN: too large"},
    {"error-code-unknown", kPlugin, "PJRT_Client_Compile", "error code 4711 does not exist"},
    {"executable-null", kBad, "PJRT_LoadedExecutable_GetExecutable", "no executable"},
    {"executable-no-devices", kBad, "PJRT_LoadedExecutable_AddressableDevices", "0 devices"},
    {"outputs-too-many", kBad, "PJRT_Executable_NumOutputs", "cannot be"},
    {"outputs-more", kBad, "PJRT_LoadedExecutable_Execute", "result 1 on device 0 is null"},
    {"transfer-error", kPlugin, "PJRT_Client_BufferFromHostBuffer", "RESOURCE_EXHAUSTED"},
    {"buffer-null", kBad, "PJRT_Client_BufferFromHostBuffer", "no buffer"},
    {"execute-error", kPlugin, "PJRT_LoadedExecutable_Execute", "RESOURCE_EXHAUSTED: out of"},
    {"result-null", kBad, "PJRT_LoadedExecutable_Execute", "result 0 on device 0 is null"},
    {"results-overrun", kBad, "PJRT_LoadedExecutable_Execute", "wrote result 2"},
    {"event-never", kLate, "PJRT_LoadedExecutable_Execute", "deadline"},
    {"event-error", kPlugin, "PJRT_LoadedExecutable_Execute", "INTERNAL: the kernel failed"},
    {"ready-error", kPlugin, "PJRT_Buffer_ReadyEvent", "never computed"},
    {"ready-null", kBad, "PJRT_Buffer_ReadyEvent", "no event"},
    {"dtype-garbage", kBad, "PJRT_Buffer_ElementType", "123 is no element type"},
    {"dtype-s1", ErrorCode::Host, "PJRT_Buffer_ElementType", "S1"},
    {"dims-negative", kBad, "PJRT_Buffer_Dimensions", "[-3]"},
    {"dims-huge", kBad, "PJRT_Buffer_Dimensions", "more elements than can be counted"},
    {"dims-null", kBad, "PJRT_Buffer_Dimensions", "2 dimensions in a null list"},
    {"rank-huge", kBad, "PJRT_Buffer_Dimensions", "dimensions in a list"},
    {"size-wrong", kBad, "PJRT_Buffer_ToHostBuffer", "wants 32 bytes for tensor<2x3xf32>"},
    {"copy-error", kPlugin, "PJRT_Buffer_ToHostBuffer", "DATA_LOSS: parity"},
    {"copy-short", kBad, "PJRT_Buffer_ToHostBuffer", "did not write all of the 24 bytes"},
    {"copy-overrun", kBad, "PJRT_Buffer_ToHostBuffer", "wrote past the 24 bytes"},
    {"copy-never", kLate, "PJRT_Buffer_ToHostBuffer", "deadline"},
    {"copy-event-null", kBad, "PJRT_Buffer_ToHostBuffer", "no event"},
};

INSTANTIATE_TEST_SUITE_P(Faults, FaultTest, ::testing::ValuesIn(kFaultCases), [](const auto &info) {
  std::string name = info.param.fault;
  std::ranges::replace(name, '-', '_');
  return name;
});

// What may look odd and still has to work.
class OddityTest : public HostTest, public ::testing::WithParamInterface<const char *> {};
TEST_P(OddityTest, Works) {
  setFault(GetParam());
  Result<Tensor> result = roundTrip(someFloats());
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(result->size(), 6);
}
INSTANTIATE_TEST_SUITE_P(Oddities, OddityTest,
                         ::testing::Values("minor-new", "api-0.57", "extension-loop",
                                           "callbacks-missing", "only-await", "event-late",
                                           "event-null", "event-twice"));

TEST_F(HostTest, ACallbackThatComesTwiceIsComplainedAbout) {
  setFault("event-twice");
  Result<Tensor> result = roundTrip(someFloats());
  ASSERT_TRUE(result) << result.message();
  ASSERT_EQ(plugin->complaints().size(), 1u);
  EXPECT_THAT(plugin->complaints()[0], HasSubstr("more than once"));
}

TEST_F(HostTest, AfterAMissedDeadlineThePluginIsLeftAlone) {
  setFault("event-never");
  seconds = 0.1;
  LeaksOfABadPlugin leaks("event-never");
  EXPECT_FALSE(roundTrip(someFloats()));
  EXPECT_TRUE(plugin->isGivenUp());
}

TEST_F(HostTest, NoDevicesIsAClientWithoutDevices) {
  setFault("no-devices");
  Result<std::shared_ptr<Client>> client = makeClient();
  ASSERT_TRUE(client) << client.message();
  EXPECT_TRUE((*client)->addressableDevices().empty());
}

TEST_F(HostTest, MissingFunctionsAreNamed) {
  setFault("compile-missing");
  Result<std::shared_ptr<Plugin>> loaded = loadCopy();
  ASSERT_TRUE(loaded);
  EXPECT_EQ((*loaded)->missingFunctions(), std::vector<std::string>{"PJRT_Client_Compile"});
}

TEST_F(HostTest, WhatIsNoPluginSaysSo) {
  Result<std::shared_ptr<Plugin>> none = Plugin::load((folder / "missing.so").string());
  ASSERT_FALSE(none);
  EXPECT_THAT(none.message(), HasSubstr("no such file"));
  Result<std::shared_ptr<Plugin>> directory = Plugin::load(folder.string());
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.message(), HasSubstr("is a folder"));
  Result<std::shared_ptr<Plugin>> text = loadCopy(__FILE__);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.message(), HasSubstr("cannot be loaded"));
  Result<std::shared_ptr<Plugin>> other = loadCopy(CUPEL_FAULT_PLUGIN_WITHOUT_ENTRY);
  ASSERT_FALSE(other);
  EXPECT_THAT(other.message(), HasSubstr("exports no GetPjrtApi"));
}

TEST_F(HostTest, OptionsReachTheClient) {
  Result<std::shared_ptr<Plugin>> loaded = loadCopy();
  ASSERT_TRUE(loaded);
  Result<std::shared_ptr<Client>> unknown = Client::create(*loaded, {{"colour", true}});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.message(), HasSubstr("INVALID_ARGUMENT: unknown option colour"));
  Result<std::shared_ptr<Client>> failing =
      Client::create(*loaded, {{"fault", std::string("client-null")}});
  ASSERT_FALSE(failing);
  EXPECT_EQ(errorClass(failing.error()), "bad_answer");
}

TEST_F(HostTest, TheListOfUsedFunctionsIsTrue) {
  // Every function that the sources call is in the list, and no other.
  std::set<std::string> used;
  for (const fs::directory_entry &entry : fs::directory_iterator(CUPEL_HOST_SOURCES)) {
    std::string name = entry.path().filename().string();
    if (!name.ends_with(".cpp") || name.ends_with("Test.cpp"))
      continue;
    std::ifstream file(entry.path());
    std::string text((std::istreambuf_iterator<char>(file)), {});
    constexpr std::string_view kMark = "&PJRT_Api::";
    for (size_t at = 0; (at = text.find(kMark, at)) != std::string::npos;) {
      at += kMark.size();
      used.insert(text.substr(
          at, text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_", at) -
                  at));
    }
  }
  std::set<std::string> listed(Plugin::usedFunctions().begin(), Plugin::usedFunctions().end());
  EXPECT_EQ(used, listed);
}

} // namespace
