// The steps of Fourier transforms compiled for AVX2.

#include "cupel/kernels/FftSteps.h"

namespace cupel::kernels {

template <typename T> const FftTable<T> &fftV3() { return Steps<T>::table; }
template const FftTable<float> &fftV3();
template const FftTable<double> &fftV3();

} // namespace cupel::kernels
