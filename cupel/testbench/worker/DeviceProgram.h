// A program made ready for a device that is reached through a plugin: its checks taken out, written
// as portable artifacts that the plugin reads. Used by the devices behind plugins and by those who
// save workloads.
#pragma once

#include "cupel/tensor/Shards.h"
#include "cupel/testbench/worker/Device.h"
#include "cupel/testbench/worker/Spread.h"
#include "cupel/workload/Workload.h"

#include <optional>

namespace cupel::testbench::worker {

struct DeviceProgram {
  /// Artifacts (at least one, in the order asked for), checks with their constants, and devices.
  /// Its inputs stand behind the program's own: constants that the device is to compute with.
  workload::Workload workload;
  /// The program's own results; what checks compare stands behind them.
  uint32_t ownResults = 0;
  /// A program that ran a grid of programs: the device and number of each of its results.
  struct GridResult {
    uint32_t device, index;
  };
  std::optional<std::vector<GridResult>> gridResults;
  /// Of a part of a program on whole tensors of which devices hold pieces: how these lie.
  std::optional<Spread> spread;
  /// A program on whole tensors of which every device holds pieces: how the arguments and the
  /// results lie over them. Empty where every device holds all; of a result that says nothing too.
  std::vector<std::optional<tensor::Shards>> argumentShards, resultShards;

  /// The arguments of every device out of those that the program is given, by device or one list
  /// for all; one list where all take the same. One list for all is cut where devices hold pieces.
  Result<std::vector<std::vector<tensor::Tensor>>>
  argumentsFor(const std::vector<std::vector<tensor::Tensor>> &given) const;
  /// The program's results, of the types it promises, out of those of every device. An error says
  /// what does not fit.
  Result<std::vector<tensor::Tensor>>
  resultsFrom(const std::vector<std::vector<tensor::Tensor>> &outputs,
              const std::vector<ValueType> &types) const;
  /// The workload that a device runs by itself for one that stands beside its program: inputs are
  /// those of the program, expected results lie one after another. An error where a device cannot
  /// be told which results are expected of it.
  Result<workload::Workload> complete(const workload::Workload &given) const;
};

/// On a constant: it stays one, where others of an entry function are given as arguments. Parts of a
/// program have it on what stood in a function or a region, where it stayed one too.
inline constexpr const char *kStaysConstant = "cupel.stays";

/// Takes away what stands at operations and arguments of parts for those alone who take programs apart.
void removeMarks(mlir::ModuleOp module);

/// Writes the program for each version that can say it; none asked for means the newest. An error
/// where no version can, or where its checks cannot be taken out.
Result<DeviceProgram> prepareForDevice(const Program &program,
                                       const std::vector<workload::ProgramVersion> &versions);

/// A device that is reached through a plugin: it runs complete workloads alone, and programs are
/// made into these for it.
class PluginDevice : public Device {
public:
  Result<std::unique_ptr<Executable>> compile(const Program &program, const Budget &budget) final;

private:
  /// Those that the plugin reads and we write, in the order of preference.
  virtual std::vector<workload::ProgramVersion> versions() const = 0;
};

/// The versions to write for a plugin that says it reads those up to `theirs`. One that does not
/// say gets 1.0.0, or the newest where the program needs more than that had.
std::vector<workload::ProgramVersion>
versionsFor(const std::optional<workload::ProgramVersion> &theirs);

/// The newest version that we write.
workload::ProgramVersion newestVersion();

} // namespace cupel::testbench::worker
