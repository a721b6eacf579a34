// The steps of Fourier transforms compiled for any processor.

#include "cupel/kernels/FftSteps.h"

namespace cupel::kernels {

template <typename T> const FftTable<T> &fftBaseline() { return Steps<T>::table; }
template const FftTable<float> &fftBaseline();
template const FftTable<double> &fftBaseline();

} // namespace cupel::kernels
