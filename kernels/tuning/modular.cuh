// Policies of modular arithmetic by groups of threads (modular/modular.cuh), as those of divisions
// (division.cuh). It keeps more from product to product than a division.
// Measured on an H200, 2026-11-20.
#pragma once
#include "core/math.cuh"
#include "core/shape.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// As many threads as the width's kernels have, but few enough to leave each the registers that it
// needs.
template <class S, class M>
struct ModularPolicy {
  using Product = M;
  static constexpr u32 MAX_THREADS = 512;
  using Rows = Regrouped<S, max_of(S::K, ceil_div(S::N, MAX_THREADS))>;
  static constexpr u32 REGISTERS = 96;
};
template <class S>
struct ModularPolicy<S, TensorCore> {
  using Product = PaddedTensorColumns<by_size(S::N, {{511, 3}, {ANY, 6}})>;
  using Rows = TensorRows<S>;
  static constexpr u32 REGISTERS = by_size(S::N, {{256, 128}, {ANY, 168}});
};

template <class S, class M>
struct PowerPolicy : ModularPolicy<S, M> {};
template <class S>
struct PowerPolicy<S, TensorCore> {
  using Product = PaddedTensorColumns<4>;
  using Rows = TensorRows<S>;
  static constexpr u32 REGISTERS = 168;
};

}  // namespace gpuint
