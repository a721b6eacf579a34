// What one execution of a one-op program costs in the plugin, seen through its table: execute, ask
// for the completion event, destroy everything. The goal is 40 microseconds.

#include "cupel/pjrt/Structs.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

extern "C" const PJRT_Api *GetPjrtApi();

using namespace cupel::pjrt;

static const PJRT_Api *api = GetPjrtApi();

static void check(PJRT_Error *error) {
  if (!error)
    return;
  auto message = makeStruct<PJRT_Error_Message_Args>();
  message.error = error;
  api->PJRT_Error_Message(&message);
  std::fprintf(stderr, "%.*s\n", static_cast<int>(message.message_size), message.message);
  std::exit(1);
}

static double microseconds() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int main() {
  auto create = makeStruct<PJRT_Client_Create_Args>();
  check(api->PJRT_Client_Create(&create));
  auto devices = makeStruct<PJRT_Client_Devices_Args>();
  devices.client = create.client;
  check(api->PJRT_Client_Devices(&devices));

  std::string text = "func.func @main(%a: tensor<128xf32>, %b: tensor<128xf32>) -> tensor<128xf32> "
                     "{\n %0 = stablehlo.add %a, %b : tensor<128xf32>\n return %0 : "
                     "tensor<128xf32>\n}";
  auto program = makeStruct<PJRT_Program>();
  program.code = text.data();
  program.code_size = text.size();
  program.format = "mlir";
  program.format_size = 4;
  auto compile = makeStruct<PJRT_Client_Compile_Args>();
  compile.client = create.client;
  compile.program = &program;
  constexpr int kCompiles = 200, kRuns = 20000;
  std::vector<double> compiles, runs;
  for (int i = 0; i < kCompiles; ++i) {
    double start = microseconds();
    check(api->PJRT_Client_Compile(&compile));
    compiles.push_back(microseconds() - start);
    if (i + 1 < kCompiles) {
      auto drop = makeStruct<PJRT_LoadedExecutable_Destroy_Args>();
      drop.executable = compile.executable;
      check(api->PJRT_LoadedExecutable_Destroy(&drop));
    }
  }

  std::vector<float> data(128, 1);
  int64_t dims[] = {128};
  auto put = makeStruct<PJRT_Client_BufferFromHostBuffer_Args>();
  put.client = create.client;
  put.data = data.data();
  put.type = PJRT_Buffer_Type_F32;
  put.dims = dims;
  put.num_dims = 1;
  put.device = devices.devices[0];
  check(api->PJRT_Client_BufferFromHostBuffer(&put));
  PJRT_Buffer *arguments[] = {put.buffer, put.buffer};
  PJRT_Buffer *const *argumentLists[] = {arguments};
  for (int i = 0; i < kRuns; ++i) {
    PJRT_Buffer *results[1];
    PJRT_Buffer **resultLists[] = {results};
    PJRT_Event *events[1];
    auto options = makeStruct<PJRT_ExecuteOptions>();
    auto run = makeStruct<PJRT_LoadedExecutable_Execute_Args>();
    run.executable = compile.executable;
    run.options = &options;
    run.argument_lists = argumentLists;
    run.num_devices = 1;
    run.num_args = 2;
    run.output_lists = resultLists;
    run.device_complete_events = events;
    double start = microseconds();
    check(api->PJRT_LoadedExecutable_Execute(&run));
    auto wait = makeStruct<PJRT_Event_Await_Args>();
    wait.event = events[0];
    check(api->PJRT_Event_Await(&wait));
    auto dropEvent = makeStruct<PJRT_Event_Destroy_Args>();
    dropEvent.event = events[0];
    check(api->PJRT_Event_Destroy(&dropEvent));
    auto dropBuffer = makeStruct<PJRT_Buffer_Destroy_Args>();
    dropBuffer.buffer = results[0];
    check(api->PJRT_Buffer_Destroy(&dropBuffer));
    runs.push_back(microseconds() - start);
  }
  std::sort(compiles.begin(), compiles.end());
  std::sort(runs.begin(), runs.end());
  std::printf("compile, one operation:  median %.1f us, 99 %% below %.1f us\n",
              compiles[kCompiles / 2], compiles[kCompiles * 99 / 100]);
  std::printf("execute, one operation:  median %.2f us, 99 %% below %.2f us (goal: 40 us)\n",
              runs[kRuns / 2], runs[kRuns * 99 / 100]);
}
