// Tensors on storages: sizes, strides and an offset applied to the bytes of a whole storage, as
// PyTorch's files describe them. Used by the readers of archives and pickles.
#pragma once

#include "cupel/tensor/MappedFile.h"
#include "cupel/tensor/Tensor.h"

namespace cupel::frontends::torch_import {

/// Bytes that the tensors of one file of this size may take as copies: what expands to more is
/// hostile.
inline uint64_t copyBudget(uint64_t fileBytes) { return 2 * fileBytes + (uint64_t{1} << 28); }

/// The tensor as a view of the storage where its elements lie one after another, else a dense copy
/// (whose bytes are taken from `budget`). Storage that is missing though the tensor has elements
/// means zeros, as torch's own loader has it. What reaches outside the storage is an error.
Result<tensor::Tensor> tensorOnStorage(tensor::DType type, tensor::Shape sizes,
                                       const tensor::Shape &strides, int64_t offset,
                                       const tensor::SharedBytes &storage, uint64_t &budget);
/// The same for complex32, made into complex<f32>.
Result<tensor::Tensor> complexHalfOnStorage(tensor::Shape sizes, tensor::Shape strides,
                                            int64_t offset, const tensor::SharedBytes &storage,
                                            uint64_t &budget);

} // namespace cupel::frontends::torch_import
