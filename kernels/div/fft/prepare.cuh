// Prepare by transforms: records whose reciprocals are those of newton.cuh, for powers of two from
// 2^15 to 2^18 bits.
//
// 1. The divisor v is copied into its record, and rows with v != 0 are listed.
// 2. Reciprocals: limb by limb to 64 digits of 16 bits (seed.cuh), then Newton's iteration until X
//    = 2^(m + 16) / nu - e, 1 <= e < 7.1, m = BITS, V = v 2^s = nu 2^m. X stands in the record,
//    its top limb at the end, and grows downwards.
// 3. The record's reciprocal has 111 bits more: Y = 2^111 X + G, 0 < 2^111 e - G < 2, so that 0 <
//    2^(m + 128) / (2 nu) - Y < 2, the contract of refine.cuh.
//
// G. e V = 2^(2m + 16) - V X is below 2^(m + 3), so it is known modulo B^(N + 1), B = 2^32, from
// the limbs N - 5 .. N of V X: 6 N products of limbs. Columns below N - 5 add up to less than N
// B^(N - 4). So with the sum S of columns N - 5 .. N, in units of B^(N - 5), and
//     U = (-S mod B^6) - N B,   Xt = floor(X / B^(N - 4))   (five limbs),
//     G = floor(U Xt / 2^193)
// THEOREM. 0 < 2^111 e - G < 2.
// Proof. U B^(N - 5) < e V <= (U + N B) B^(N - 5), and 2^(2m + 16) / V = X + e. So 2^111 e = 2^111
// e V (X + e) / 2^(2m + 16) is more than 2^(111 - 2m - 16) U B^(N - 5) Xt B^(N - 4) = U Xt / 2^193
// >= G. It exceeds U Xt / 2^193 by three terms: N B^(N - 4) 2^111 / V <= N 2^-16 for the columns,
// which is at most 1/8; 2^111 e (B^(N - 4) + e) / (X + e) for the end of X, which is below 2^(114
// - 144 + 1); the floor costs less than 1. QED.
//
// At 2^18 bits the last step has two parts (newton_in_parts.cuh). A step of P points has five
// transforms, so a record costs about ten transforms of N points.
#pragma once
#include "core/group.cuh"
#include "core/rows.cuh"
#include "div/fft/newton.cuh"
#include "div/fft/newton_in_parts.cuh"
#include "div/fft/seed.cuh"
#include "div/prepare.cuh"

namespace gpuint {

namespace fft_division {

// Rows of a batch of divisors. The workspace lists the nonzero ones.
template <class Shape>
struct RecordPlan {
  using S = Shape;
  static constexpr u32 FIRST = 0, SMALLEST = SMALLEST_CLASS<S>, ROW_BYTES = sizeof(u32);
  static_assert(is_transform_width(S::BITS) && S::LIMB_BITS == 32, "");

  const Operands& o;
  GPUINT_DEVICE explicit RecordPlan(const Operands& operands) : o(operands) {}

  GPUINT_DEVICE u32* list() const { return reinterpret_cast<u32*>(o.workspace); }
  // Every row needs a reciprocal of the whole width.
  GPUINT_DEVICE u32 rows_from(u32) const { return o.counters[0]; }
  GPUINT_DEVICE u32 row_from_top(u32 index) const { return list()[index]; }

  GPUINT_DEVICE u32* record(u32 row) const {
    return static_cast<u32*>(o.out[0]) + u64(row) * Record<S>::LIMBS;
  }
  GPUINT_DEVICE const u32* divisor(u32 row) const { return record(row) + Record<S>::V; }
  GPUINT_DEVICE u32 divisor_bits(u32 row) const { return *record(row); }
  // The top p + 1 limbs of X.
  GPUINT_DEVICE u32* inverse(u32 row, u32 p) const {
    return record(row) + Record<S>::Y_END - (p + 1);
  }
};

// First phase: copies divisors and lists them.
template <class S>
struct CopyDivisors {
  using Plan = RecordPlan<S>;
  using G = Group<256>;
  static constexpr u32 THREADS = G::THREADS, ROWS = 1, SHARED = G::SCRATCH_BYTES, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 512 / THREADS, PERSISTENT = 0, ROW_BYTES = Plan::ROW_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Plan plan(o);
    G group(shared);
    for (u32 row = blockIdx.x; row < o.rows; row += gridDim.x) {
      u32* const record = plan.record(row);
      const u32 bits = group.max(copy_in<S>(group, input_row<S>(o, 0, row), record + Record<S>::V));
      if (group.rank == 0) {
        if (bits == 0) {
          set_status(o.status, row);
        } else {
          clear_word(record);
          *record = bits;
          clear_word(record + WORD);
          clear_word(record + Record<S>::V + S::N);
          plan.list()[atomicAdd(o.counters, 1u)] = row;
        }
      }
    }
  }
};

// Last phase: Y from X.
template <class S>
struct CompleteReciprocal {
  using Plan = RecordPlan<S>;
  static constexpr u32 THREADS = 256, WARPS = THREADS / 32, ROWS = 1, SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = 512 / THREADS, PERSISTENT = 0, ROW_BYTES = Plan::ROW_BYTES;
  static constexpr u32 COLUMNS = 6, TOP = 5, LIMBS = S::N + WORD;
  static_assert(S::N <= 8192, "the columns left out add up to 1/8 at most");
  static_assert((LIMBS / WORD - 1) % THREADS == 0, "thread 0 stores the word that G is added to");

  struct Shared {
    u64 sums[WARPS][COLUMNS];
    u32 g[4];
    u32 word;
  };
  static constexpr u32 SHARED = sizeof(Shared);

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* bytes) {
    const Plan plan(o);
    Shared& shared = *reinterpret_cast<Shared*>(bytes);
    for (u32 index = blockIdx.x; index < plan.rows_from(0); index += gridDim.x) {
      const u32 row = plan.row_from_top(index);
      // Y's place; X begins three limbs above.
      u32* const y = plan.inverse(row, LIMBS - 1);
      add_columns(plan, row, y + 3, shared);
      __syncthreads();
      if (threadIdx.x == 0) compute_end(y + 3, shared);
      shift(y, shared.g);
      // Its barriers end the work on the row.
      add_at<THREADS>(y, 3, LIMBS, shared.g[3], &shared.word, threadIdx.x, [](u32 l) { return l; });
    }
  }

 private:
  // Columns N - 5 .. N of V X, by warp.
  GPUINT_DEVICE static void add_columns(const Plan& plan, u32 row, const u32* x, Shared& shared) {
    constexpr u32 FIRST = S::N + 1 - COLUMNS;
    const Shifted v(plan.divisor(row), S::N, S::BITS - plan.divisor_bits(row));
    u64 sum[COLUMNS] = {};
    GPUINT_UNROLL(4)
    for (u32 i = threadIdx.x; i < S::N; i += THREADS) {
      const u32 limb = v[i];
      GPUINT_UNROLL(6)
      for (u32 c = 0; c < COLUMNS; ++c) {
        const u32 at = FIRST + c - i;  // may be below 0
        const u64 product = at <= S::N ? u64(limb) * x[at] : 0;
        sum[c] += static_cast<u32>(product);
        if (c + 1 < COLUMNS) sum[c + 1] += product >> 32;
      }
    }
    GPUINT_UNROLL(6)
    for (u32 c = 0; c < COLUMNS; ++c) {
      GPUINT_UNROLL(5)
      for (u32 distance = 16; distance > 0; distance /= 2)
        sum[c] += __shfl_xor_sync(~0u, sum[c], distance);
      if (threadIdx.x % 32 == 0) shared.sums[threadIdx.x / 32][c] = sum[c];
    }
  }

  // G, by one thread.
  GPUINT_DEVICE static void compute_end(const u32* x, Shared& shared) {
    u32 u[COLUMNS];
    u64 sum = 0;
    u32 carry = 1;
    GPUINT_UNROLL(6)
    for (u32 c = 0; c < COLUMNS; ++c) {
      GPUINT_UNROLL(8)
      for (u32 w = 0; w < WARPS; ++w) sum += shared.sums[w][c];
      if (c == 1) sum += S::N;
      u[c] = add_carry<u32>(~static_cast<u32>(sum), 0, carry);
      sum >>= 32;
    }
    GPUINT_ASSERT(u[COLUMNS - 1] < 8, "e V is below 2^(m + 3)");
    u32 product[COLUMNS + TOP] = {};
    GPUINT_UNROLL(5)
    for (u32 j = 0; j < TOP; ++j) {
      const u32 limb = x[S::N + 1 - TOP + j];
      u64 above = 0;
      GPUINT_UNROLL(6)
      for (u32 i = 0; i < COLUMNS; ++i) {
        above += u64(u[i]) * limb + product[i + j];
        product[i + j] = static_cast<u32>(above);
        above >>= 32;
      }
      product[COLUMNS + j] = static_cast<u32>(above);
    }
    GPUINT_UNROLL(4)
    for (u32 k = 0; k < 4; ++k) shared.g[k] = __funnelshift_r(product[6 + k], product[7 + k], 1);
  }

  // 2^111 X and the low limbs of G, word by word from above: X is 96 bits above Y already.
  GPUINT_DEVICE static void shift(u32* y, const u32* g) {
    constexpr u32 WORDS = LIMBS / WORD;
    GPUINT_UNROLL(1)
    for (u32 first = 0; first < WORDS; first += THREADS) {
      const u32 from_top = first + threadIdx.x;
      const bool is_there = from_top < WORDS;
      u32* const at = y + (is_there ? WORDS - 1 - from_top : 0) * WORD;
      const bool is_lowest = at == y;
      u32 word[WORD], below = 0;
      load_word(at, word);
      if (is_lowest)
        word[0] = word[1] = word[2] = 0;
      else
        below = at[-1];
      __syncthreads();  // limbs below have been read, and G is there
      GPUINT_UNROLL(4)
      for (u32 i = WORD - 1; i > 0; --i) word[i] = __funnelshift_l(word[i - 1], word[i], 15);
      word[0] = __funnelshift_l(below, word[0], 15);
      if (is_lowest) word[0] = g[0], word[1] = g[1], word[2] = g[2];
      if (is_there) store_word(at, word);
    }
  }
};

// Phases of a width by its limbs, which are the points of the last step.
template <class S, u32 LIMBS = S::N>
struct PreparePhases;
template <class S>
using RecordSeed = Seed<RecordPlan<S>>;
template <class S, u32 P>
using RecordStep = Newton<RecordPlan<S>, P>;
template <class S>
struct PreparePhases<S, 1024> {
  using Type =
      Sequence<CopyDivisors<S>, RecordSeed<S>, RecordStep<S, 64>, RecordStep<S, 128>,
               RecordStep<S, 256>, RecordStep<S, 512>, RecordStep<S, 1024>, CompleteReciprocal<S>>;
};
template <class S>
struct PreparePhases<S, 2048> {
  using Type = Sequence<CopyDivisors<S>, RecordSeed<S>, RecordStep<S, 64>, RecordStep<S, 128>,
                        RecordStep<S, 256>, RecordStep<S, 512>, RecordStep<S, 1024>,
                        RecordStep<S, 2048>, CompleteReciprocal<S>>;
};
template <class S>
struct PreparePhases<S, 4096> {
  using Type = Sequence<CopyDivisors<S>, RecordSeed<S>, RecordStep<S, 64>, RecordStep<S, 128>,
                        RecordStep<S, 256>, RecordStep<S, 512>, RecordStep<S, 1024>,
                        RecordStep<S, 2048>, RecordStep<S, 4096>, CompleteReciprocal<S>>;
};
template <class S>
struct PreparePhases<S, 8192> {
  using Type =
      Sequence<CopyDivisors<S>, RecordSeed<S>, RecordStep<S, 64>, RecordStep<S, 128>,
               RecordStep<S, 256>, RecordStep<S, 512>, RecordStep<S, 1024>, RecordStep<S, 2048>,
               RecordStep<S, 4096>, NewtonInParts<RecordPlan<S>>, CompleteReciprocal<S>>;
};

}  // namespace fft_division

}  // namespace gpuint
