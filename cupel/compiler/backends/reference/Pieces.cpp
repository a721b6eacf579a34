#include "cupel/compiler/backends/reference/Pieces.h"

#include "cupel/reference/ShardsOf.h"

namespace cupel::compiler {

using runtime::ProcessTensors;
using runtime::ProgramInfo;
using runtime::ValueInfo;
using tensor::Shards;
using tensor::Tensor;

Result<std::vector<Tensor>> gather(const ProgramInfo &info, const ProcessTensors &arguments,
                                   int64_t replica) {
  std::vector<Tensor> wholes;
  int64_t first = replica * info.partitions;
  for (size_t i = 0; i < info.arguments.size(); ++i) {
    const ValueInfo &value = info.arguments[i];
    std::vector<Tensor> pieces;
    for (int64_t partition = 0; partition < info.partitions; ++partition)
      pieces.push_back(arguments[first + partition][i]);
    if (value.isToken) {
      wholes.push_back(pieces[0]);
      continue;
    }
    Result<Tensor> whole = reference::assembleSum(value.shards, pieces, value.shape);
    if (!whole)
      return whole.error().within("argument " + std::to_string(i)).as(ErrorCode::Internal);
    wholes.push_back(std::move(*whole));
  }
  return wholes;
}

Result<ProcessTensors> scatter(const ProgramInfo &info, std::vector<std::vector<Tensor>> wholes,
                               const std::function<Result<Tensor>(Tensor)> &finish) {
  ProcessTensors results(info.processCount());
  for (size_t replica = 0; replica < wholes.size(); ++replica)
    for (size_t i = 0; i < info.results.size(); ++i)
      for (int64_t partition = 0; partition < info.partitions; ++partition) {
        Tensor &whole = wholes[replica][i];
        std::vector<Tensor> &own = results[replica * info.partitions + partition];
        if (info.results[i].isToken) {
          own.push_back(Tensor());
          continue;
        }
        Result<Tensor> piece = info.results[i].shards.piece(whole, partition);
        if (!piece)
          return piece.error().within("result " + std::to_string(i)).as(ErrorCode::Internal);
        Result<Tensor> one = finish(std::move(*piece));
        if (!one)
          return one.error();
        // One copy for all who hold the whole.
        if (partition == 0 && info.results[i].shards.kind != Shards::Kind::Tiled)
          whole = *one;
        own.push_back(std::move(*one));
      }
  return results;
}

} // namespace cupel::compiler
