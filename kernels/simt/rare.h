// Paths of kernels that few operands take, counted: a test shows that its operands take them
// (tests/rare_paths.rs).
//
// Counts are of the whole process, over all launches and threads. They are relaxed atomics, so
// ThreadSanitizer reports no race in them and they add no order between threads.
#pragma once
#include "types.h"

// X(name): where, and what happens
#define GPUINT_RARE_PATHS(X)                                                                       \
  X(CarryThroughWarp)    /* carry.cuh: every lane of a group hands a carry or a borrow on */       \
  X(CarryIntoRound)      /* carry.cuh: one enters a further round of chunks */                     \
  X(BorrowBeyondTile)    /* columns.cuh: the borrow of a tile reaches its last overflow limb */    \
  X(SeedOfOnes)          /* refine.cuh: the divisor's top words are all ones */                    \
  X(SeedDigitOfOnes)     /* refine.cuh: an estimated digit of the seed would not fit a limb */     \
  X(SeedSecondAddBack)   /* refine.cuh: an estimated digit is too large by two */                  \
  X(NoResidual)          /* step.cuh: a Newton step has nothing to add */                          \
  X(QuotientCarry)       /* quotient.cuh: a block of quotient is beta^t or more */                 \
  X(WholeQuotientCarry)  /* quotient.cuh: the same of a quotient in one block */                   \
  X(LastSubtraction)     /* quotient.cuh: the divisor goes into the last remainder */              \
  X(IncrementBeyondLimb) /* div/stores.cuh: a 1 added to a quotient runs over limbs */             \
  X(ResidueBeyondWords)  /* modular.cuh: a lazy residue is longer than the divisor's words */      \
  X(LaneFullLimb) /* div/lanes/division.cuh: a divisor whose top limb needs a word above it */     \
  X(LaneQuotientCarry) /* div/lanes/division.cuh: as in quotient.cuh */                            \
  X(LaneLastSubtraction)                                                                           \
  X(LaneCarry)            /* div/lanes/division.cuh: what goes to the next lane carries on */      \
  X(TileCarries)          /* tile_carries.cuh: a limb of a tile carries */                         \
  X(OperandBeyondModulus) /* modular/linear.cuh: a sum is not below the modulus when corrected */  \
  X(FoldIsNegative)       /* modular/fold.cuh: the quotient is one too large */                    \
  X(PowerProduct)         /* a product of a power, which is not rare: for counting them */         \
  X(FusedCarries)         /* fused/products.cuh: a limb of a sum carries */                        \
  X(FusedLongOperands) /* modular/tensor/kernels.cuh: no operand fits the length of the divisor */ \
  X(FusedQuotientInDoubt) /* fused/barrett.cuh: a quotient may be one too small */                 \
  X(FusedClassApart)      /* div/fused.cuh: warps have enough rows of one class */                 \
  X(TransformCarry) /* transform/ntt/product.cuh: what a thread is given runs over its word */     \
  X(ShortByLanes)   /* div/short_divisors.cuh: a batch has enough short divisors for lanes */      \
  X(FftSeedAddBack) /* div/fft/seed.cuh: the remainder is as long as the divisor */                \
  X(FftSeedBorrow)  /* div/fft/seed.cuh: the lowest limb of a seed is 0 or 1 */                    \
  X(FftCarryRuns)   /* div/fft/resolve.cuh: a carry runs beyond the limb that it is for */         \
  X(FftCompared)    /* div/fft/reduce.cuh: a remainder near the divisor */                         \
  X(FftNoQuotient)  /* div/fft/divide.cuh: a block of quotient is 0 */                             \
  X(FftFinalSubtraction)  /* div/fft/divide.cuh: the last block of quotient is too small */        \
  X(FftLongResidue)       /* modular/fft/barrett.cuh: a residue is 2^BITS or more */               \
  X(FftLastSubtraction)   /* modular/fft/barrett.cuh: the modulus goes into the last remainder */  \
  X(FftLongFactors)       /* modular/fft/products.cuh: both factors are longer than the modulus */ \
  X(WrongComparison)      /* euclid/binary.cuh: the leading bits do not tell the smaller number */ \
  X(EuclidSubtraction)    /* euclid.cuh: no step is certain from the leading bits */               \
  X(HalfGcdSubtraction)   /* half_gcd.cuh: the same */                                             \
  X(WindowSubtraction)    /* windows.cuh: the same */                                              \
  X(WindowDifference)     /* windows.cuh: windows agree in their upper half */                     \
  X(RootQuotientCarry)    /* root/isqrt.cuh: a block of root is B^8 or more */                     \
  X(RootLaneCarry)        /* root/isqrt.cuh: what goes to the next lane carries on */              \
  X(RootLastSubtraction)  /* root/isqrt.cuh: the last remainder reaches the next square */         \
  X(RootFullQuotient)     /* root/level.cuh: the quotient of a level is b */                       \
  X(LongCarryThroughWarp) /* long/carries.cuh: a carry runs over 32 limbs */                       \
  X(LongCarryLooksBack)   /* long/carries.cuh: 32 tiles pass a carry on */                         \
  X(SecondPrime)          /* verify/equation.cuh: the prime divides a divisor */

namespace gpuint::simt {

enum class Rare : u32 {
#define GPUINT_RARE_NAME(name) name,
  GPUINT_RARE_PATHS(GPUINT_RARE_NAME)
#undef GPUINT_RARE_NAME
      COUNT
};

extern u64 rare_counts[static_cast<u32>(Rare::COUNT)];

inline void count_rare(Rare path) {
  __atomic_fetch_add(&rare_counts[static_cast<u32>(path)], 1, __ATOMIC_RELAXED);
}

}  // namespace gpuint::simt

#define GPUINT_RARE(path) ::gpuint::simt::count_rare(::gpuint::simt::Rare::path)
