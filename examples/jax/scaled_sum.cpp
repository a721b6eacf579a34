// An FFI handler of a user's own: result = scale * (a + b) on f32 tensors. Built against the headers
// that come with JAX (jax.ffi.include_dir()) and called by ffi_handler.py.

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

static ffi::Error scaledSum(ffi::Buffer<ffi::F32> a, ffi::Buffer<ffi::F32> b, float scale,
                            ffi::ResultBuffer<ffi::F32> result) {
  size_t size = result->element_count();
  if (a.element_count() != size || b.element_count() != size)
    return ffi::Error::InvalidArgument("ScaledSum takes tensors of one size");
  for (size_t i = 0; i < size; ++i)
    result->typed_data()[i] = scale * (a.typed_data()[i] + b.typed_data()[i]);
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(ScaledSum, scaledSum,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Attr<float>("scale")
                                  .Ret<ffi::Buffer<ffi::F32>>());
