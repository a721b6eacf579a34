// What Python (or any other language) calls: programs of frontends made into StableHLO, and devices
// reached through their PJRT plugins. Exported by lib/libcupel.so, bound by
// python/cupel/_native.py. Plain C types only; nothing is thrown across; every object is released
// by its own function.
//
// A function that can fail takes `char **error`: on failure it returns null (or false) and sets
// *error to a message that the caller frees with cupel_free.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CUPEL_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CupelDevice CupelDevice;
typedef struct CupelExecutable CupelExecutable;
typedef struct CupelResults CupelResults;
typedef struct CupelModule CupelModule;

/// A dense row-major array; whoever passes it owns everything it points to.
typedef struct CupelTensor {
  const void *data;
  uint64_t bytes;
  const int64_t *shape;
  int64_t rank;
  const char *type; ///< As StableHLO writes it: f32, bf16, i64, ui8, i1, complex<f32>.
} CupelTensor;

CUPEL_EXPORT void cupel_free(void *memory);

// Devices.

/// Loads a plugin and makes a client; `options` are "name=value". One client serves all threads.
CUPEL_EXPORT CupelDevice *cupel_device_open(const char *plugin, const char *const *options,
                                            size_t count, char **error);
CUPEL_EXPORT void cupel_device_close(CupelDevice *device);
CUPEL_EXPORT size_t cupel_device_count(const CupelDevice *device);
CUPEL_EXPORT const char *cupel_device_platform(const CupelDevice *device);

/// Compiles StableHLO (text, bytecode or a portable artifact) for device number `ordinal`;
/// `options` are the plugin's compile options as "name=value".
CUPEL_EXPORT CupelExecutable *cupel_compile(CupelDevice *device, size_t ordinal, const char *code,
                                            size_t size, const char *const *options, size_t count,
                                            char **error);
CUPEL_EXPORT void cupel_executable_close(CupelExecutable *executable);

/// Runs and waits. The plugin may read the inputs' memory in place; it is not used any more when
/// this returns.
CUPEL_EXPORT CupelResults *cupel_execute(CupelExecutable *executable, const CupelTensor *inputs,
                                         size_t count, char **error);
CUPEL_EXPORT size_t cupel_results_count(const CupelResults *results);
/// Result i; what it points to lives as long as `results`.
CUPEL_EXPORT CupelTensor cupel_results_get(const CupelResults *results, size_t i);
/// Makes result i live on by itself; released with cupel_result_release.
CUPEL_EXPORT void *cupel_results_keep(const CupelResults *results, size_t i);
CUPEL_EXPORT void cupel_result_release(void *kept);
CUPEL_EXPORT void cupel_results_close(CupelResults *results);

/// The StableHLO version the plugin says it reads, as "1.13.7"; empty where it does not say.
CUPEL_EXPORT const char *cupel_device_stablehlo_version(const CupelDevice *device);

/// The table of options (docs/reference/plugin-options.md) as JSON: a list of objects with name, type,
/// scopes (client, program, codegen), default, help, choices and aliases. Freed with cupel_free.
CUPEL_EXPORT char *cupel_options(void);

// Programs.

/// Lowers an exported PyTorch program, the text of a .pt2 archive's model.json, whose parameters
/// are inputs like all others. `options` is JSON: {"composites": bool, "inputs": [...]} with a
/// shape for each tensor and a number for each symbolic integer among the inputs, in their order;
/// {"shardings": {"mesh": [[name, size], ...], "inputs": [...]}} splits it over several devices
/// (Shardings.h).
CUPEL_EXPORT CupelModule *cupel_torch_import(const char *program, size_t size, const char *options,
                                             char **error);
/// StableHLO as text; freed with cupel_free.
CUPEL_EXPORT char *cupel_module_text(CupelModule *module, size_t *size, char **error);
/// A portable artifact for a version ("" or null: the newest); freed with cupel_free.
CUPEL_EXPORT char *cupel_module_portable(CupelModule *module, const char *version, size_t *size,
                                         char **error);
/// How many results its function `main` has: behind those of the program come new values of inputs
/// that it writes to.
CUPEL_EXPORT size_t cupel_module_results(CupelModule *module);
CUPEL_EXPORT void cupel_module_close(CupelModule *module);

// Comparison.

/// What a comparison asks for; a bound below zero is not asked for. With none the tensors must be
/// equal.
typedef struct CupelTolerance {
  double pcc, atol, rtol;
} CupelTolerance;

/// Compares as every part of Cupel does. Returns 1 if it holds, 0 if not, -1 (and *error) if it
/// could not be made; *sentence says what was found and is freed with cupel_free.
CUPEL_EXPORT int cupel_compare(const CupelTensor *actual, const CupelTensor *expected,
                               CupelTolerance tolerance, char **sentence, char **error);

/// What a comparator means where somebody asks for it and names no number: `required_pcc`,
/// `required_atol`, `allclose_rtol`, `allclose_atol`, `captured_share` of captured graphs, and
/// `tells_little` of noise. NaN for other names.
CUPEL_EXPORT double cupel_comparator_default(const char *name);

// Cupel's own verdict, which decides where no comparator is named: limits from what the device
// computes in and from the noise of the program. `precision` is as --precision takes it.

typedef struct CupelNoise CupelNoise;

/// Of a program in StableHLO on these inputs: it is evaluated when a judgement first needs it, once
/// as it is and `samples` times with every rounding moved. The inputs' memory must live as long.
/// Without code limits follow from the precision alone.
CUPEL_EXPORT CupelNoise *cupel_noise_open(const char *precision, const char *code, size_t size,
                                          const CupelTensor *inputs, size_t count, size_t samples,
                                          char **error);
CUPEL_EXPORT void cupel_noise_close(CupelNoise *noise);
/// As cupel_compare. `output` is the position among the program's results; one that it does not
/// have is judged by the precision alone, and the sentence says so. *share is the noise of the
/// output as a share of its size: from `tells_little` (cupel_comparator_default) on a wrong
/// result may well be within its limits, and pieces of the program have to tell.
CUPEL_EXPORT int cupel_judge(const CupelTensor *actual, const CupelTensor *expected,
                             CupelNoise *noise, size_t output, double *share, char **sentence,
                             char **error);
/// Whether a result is within what every program is allowed: then nobody need know its noise.
CUPEL_EXPORT int cupel_judge_without_noise(const CupelTensor *actual, const CupelTensor *expected,
                                           const char *precision, char **sentence, char **error);

#ifdef __cplusplus
}
#endif
