// Memory of mapped files that nobody needs for a while: whoever has handed a file's tensors on, to
// a device that has its own copy, lets the system have the pages. Used by the workers and by
// measurements. Never changes what is read there: the file has it.

#pragma once

#include "cupel/tensor/Tensor.h"

#include <cstddef>
#include <span>

namespace cupel::tensor {

/// Gives back the pages of these bytes if they lie in a file that mapFile (MappedFile.h) has
/// mapped; whoever reads them later gets them from the file again. Other memory stays as it is, that
/// of files which lie in memory themselves too.
void giveBackPages(std::span<const std::byte> bytes);

/// Whether these bytes lie in a file that mapFile has mapped: nobody in this process can write to them.
bool areMapped(std::span<const std::byte> bytes);

/// The bytes that a tensor's elements lie in, where they lie one behind the other; empty otherwise.
std::span<const std::byte> contiguousBytes(const Tensor &tensor);

} // namespace cupel::tensor
