// The steps of Fourier transforms compiled for AVX-512.

#include "cupel/kernels/FftSteps.h"

namespace cupel::kernels {

template <typename T> const FftTable<T> &fftV4() { return Steps<T>::table; }
template const FftTable<float> &fftV4();
template const FftTable<double> &fftV4();

} // namespace cupel::kernels
