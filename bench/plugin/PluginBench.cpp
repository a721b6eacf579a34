// What the plugin costs, seen through its table: compiling a program of one operation and one of
// 5,000, and executing one operation (execute, wait for the completion event, destroy everything).
// The goals are 0.5 s and 40 microseconds. With --strict the exit code says whether they are met.

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

static void compileAndDrop(PJRT_Client_Compile_Args &compile) {
  check(api->PJRT_Client_Compile(&compile));
  auto drop = makeStruct<PJRT_LoadedExecutable_Destroy_Args>();
  drop.executable = compile.executable;
  check(api->PJRT_LoadedExecutable_Destroy(&drop));
}

/// Two kinds of operations in turn, each on the last two results, so that nothing falls away.
static std::string longProgram(int operations) {
  std::string text =
      "func.func @main(%v0: tensor<16xf32>, %v1: tensor<16xf32>) -> tensor<16xf32> {\n";
  for (int i = 0; i < operations; ++i)
    text += " %v" + std::to_string(i + 2) + " = stablehlo." + (i % 2 ? "add" : "multiply") + " %v" +
            std::to_string(i) + ", %v" + std::to_string(i + 1) + " : tensor<16xf32>\n";
  return text + " return %v" + std::to_string(operations + 1) + " : tensor<16xf32>\n}";
}

int main(int argc, char **argv) {
  bool isStrict = argc > 1 && std::strcmp(argv[1], "--strict") == 0;
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
  std::string many = longProgram(5000);
  auto manyProgram = makeStruct<PJRT_Program>();
  manyProgram.code = many.data();
  manyProgram.code_size = many.size();
  manyProgram.format = "mlir";
  manyProgram.format_size = 4;
  auto compileMany = makeStruct<PJRT_Client_Compile_Args>();
  compileMany.client = create.client;
  compileMany.program = &manyProgram;
  std::vector<double> manyCompiles;
  for (int i = 0; i < 5; ++i) {
    double start = microseconds();
    compileAndDrop(compileMany);
    manyCompiles.push_back((microseconds() - start) / 1e6);
  }

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
  std::sort(manyCompiles.begin(), manyCompiles.end());
  double planning = manyCompiles[manyCompiles.size() / 2] / 0.5, running = runs[kRuns / 2] / 40;
  std::printf("compile, 5,000 operations: median %.3f s, %.2f of the goal of 0.5 s\n",
              manyCompiles[manyCompiles.size() / 2], planning);
  std::printf(
      "execute, one operation:  median %.2f us, 99 %% below %.2f us, %.2f of the goal of 40 "
      "us\n",
      runs[kRuns / 2], runs[kRuns * 99 / 100], running);
  return isStrict && (planning > 1 || running > 1) ? 1 : 0;
}
