// DivRem by cached transforms, from 2^15 bits on, for all divisors, including those longer than a
// transform.
//
// 1. Classes (div/classify.cuh). v is shifted up to V of exactly m = 32 P bits, for the least P of
//    512 .. 8192 that suffices; u is shifted likewise when it is read. The rows of a class are a
//    list, and each kernel has one length of transform. In rows of MIN_FUSED_LIMBS limbs or more,
//    fused products divide by divisors of up to 1024 limbs (div/fused.cuh), and P is 2048 or more.
// 2. Reciprocals: limb by limb to 64 digits (seed.cuh), then Newton's iteration with transforms of
//    half the result's digits (newton.cuh).
// 3. Blocks of quotient of m / 2 bits (divide.cuh): reciprocals and blocks are half as long as the
//    divisor, so v of N / 2 bits costs 2 + 2 * 4 + 5 (1/2 + 1/4 + ..) = 15 transforms, where blocks
//    as long as the divisor would cost 18.
// 4. Divisors longer than the largest class, in pieces (divide_long.cuh).
// 5. Rows with short divisors, which lanes divide in less time if the batch has enough of them
//    (div/short_divisors.cuh).
// Prepared divisors skip step 2: a prefix of the recorded reciprocal is one of half the length.
//
// Products are modulo 2^m + 1. The part of an operand above P digits is an imaginary part of point
// 0, so the length of a transform includes no guard digits: the reciprocal has one digit and a bit
// more than V, and R five bits more.
#pragma once
#include "div/by_prepared.cuh"
#include "div/classify.cuh"
#include "div/div.cuh"
#include "div/fft/divide.cuh"
#include "div/fft/divide_long.cuh"
#include "div/fft/newton.cuh"
#include "div/fft/seed.cuh"
#include "div/fused.cuh"
#include "div/short_divisors.cuh"
#include "transform/fft/product.cuh"

namespace gpuint {

namespace fft_division {

// Phases of a plan: fused products divide by the divisors of their classes, if there are any.
template <class Plan, class Classes = typename Plan::Fused>
struct PhasesOf {
  template <class... More>
  using Type = Sequence<Classify<Plan>, DivideShort<Plan>, DivideByClasses<Plan, Classes>, More...>;
};
template <class Plan>
struct PhasesOf<Plan, FusedClasses<>> {
  template <class... More>
  using Type = Sequence<Classify<Plan>, DivideShort<Plan>, More...>;
};

template <class S, u32 LARGEST = Plan<S>::LARGEST>
struct Phases;
template <class S>
struct Phases<S, 512> {
  using Type = typename PhasesOf<Plan<S>>::template Type<Seed<Plan<S>>, Newton<Plan<S>, 64>,
                                                         Newton<Plan<S>, 128>, Newton<Plan<S>, 256>,
                                                         DivideLong<S>, Divide<S, 512>>;
};
template <class S>
struct Phases<S, 1024> {
  using Type = typename PhasesOf<Plan<S>>::template Type<
      Seed<Plan<S>>, Newton<Plan<S>, 64>, Newton<Plan<S>, 128>, Newton<Plan<S>, 256>,
      Newton<Plan<S>, 512>, DivideLong<S>, Divide<S, 1024>, Divide<S, 512>>;
};
template <class S>
struct Phases<S, 2048> {
  using Type = typename PhasesOf<Plan<S>>::template Type<
      Seed<Plan<S>>, Newton<Plan<S>, 64>, Newton<Plan<S>, 128>, Newton<Plan<S>, 256>,
      Newton<Plan<S>, 512>, Newton<Plan<S>, 1024>, DivideLong<S>, Divide<S, 2048>>;
};
template <class S>
struct Phases<S, 4096> {
  using Type = typename PhasesOf<Plan<S>>::template Type<
      Seed<Plan<S>>, Newton<Plan<S>, 64>, Newton<Plan<S>, 128>, Newton<Plan<S>, 256>,
      Newton<Plan<S>, 512>, Newton<Plan<S>, 1024>, Newton<Plan<S>, 2048>, DivideLong<S>,
      Divide<S, 4096>, Divide<S, 2048>>;
};
template <class S>
struct Phases<S, 8192> {
  using Type = typename PhasesOf<Plan<S>>::template Type<
      Seed<Plan<S>>, Newton<Plan<S>, 64>, Newton<Plan<S>, 128>, Newton<Plan<S>, 256>,
      Newton<Plan<S>, 512>, Newton<Plan<S>, 1024>, Newton<Plan<S>, 2048>, Newton<Plan<S>, 4096>,
      DivideLong<S>, Divide<S, 8192>, Divide<S, 4096>, Divide<S, 2048>>;
};

// Phases of a division by prepared divisors, whose reciprocals are prefixes of the records'.
template <class S, u32 LARGEST = Plan<S>::LARGEST>
struct PreparedPhases;
template <class S>
struct PreparedPhases<S, 512> {
  using Type =
      typename PhasesOf<Plan<S, true>>::template Type<DivideLong<S, true>, Divide<S, 512, true>>;
};
template <class S>
struct PreparedPhases<S, 1024> {
  using Type =
      typename PhasesOf<Plan<S, true>>::template Type<DivideLong<S, true>, Divide<S, 1024, true>,
                                                      Divide<S, 512, true>>;
};
template <class S>
struct PreparedPhases<S, 2048> {
  using Type =
      typename PhasesOf<Plan<S, true>>::template Type<DivideLong<S, true>, Divide<S, 2048, true>>;
};
template <class S>
struct PreparedPhases<S, 4096> {
  using Type =
      typename PhasesOf<Plan<S, true>>::template Type<DivideLong<S, true>, Divide<S, 4096, true>,
                                                      Divide<S, 2048, true>>;
};

}  // namespace fft_division

}  // namespace gpuint
