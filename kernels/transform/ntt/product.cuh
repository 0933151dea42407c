// Products by number-theoretic transforms, in integers only: low (mod 2^BITS), wide (2 * BITS) and
// the low square, for powers of two BITS from 2^16 to 2^20.
//
// Digits. An operand is n = BITS / 32 digits of 32 bits: the polynomial a with these digits gives
// the integer at t = 2^32. The columns of a b are below n 2^64 <= 2^79, so that they are determined
// by their residues modulo three primes just below 2^27, whose product is above 2^80 (J. M.
// Pollard, Math. Comp. 25, 1971; the arithmetic is in residue.cuh).
//
// Parts. a b mod t^n - 1 is lo + hi and a b mod t^n + 1 is lo - hi, where lo and hi are the n lower
// and upper columns. So two cyclic products of n points give both halves, and no operand is padded
// with zeros: a is its own remainder in both.
//
// Transforms. With c = z^n for c = 1, -1 and w of order n, the values of a polynomial mod t^n - c
// are those at z w^f, f < n. A thread has 32 points, and a warp 1024. For point 1024 i + 32 j + l
// and value f = k + WARPS (m + 32 q), where WARPS = n / 1024,
//     (z w^f)^(1024 i + 32 j + l)
//         = z^(1024 i) (w^1024)^(i k)  u^(32 j + l) v^(32 j m) v^(l m) v^(32 l q),
// with u = z w^k and v = w^WARPS, of order 1024. That makes three passes (J. W. Cooley and J. W.
// Tukey, 1965):
//   first   points 1024 apart times z^(1024 i), sums over i; an exchange between all threads gives
//           results k to warp k;
//   middle  points 32 apart times u^l, the same for all points of a thread, and u^(32 j), the same
//           for all threads of a warp; sums over j; results m times v^(l m), the same for all
//           warps; an exchange within the warp;
//   last    sums over l of 32 points in a row.
// No table has more than n / 32 or 1024 entries: one more product per point in the middle replaces
// tables of n entries, for which the L1 cache has no room. The inverse takes the same steps in
// reverse order with inverse factors. Sums with inverse elements are those with the elements
// themselves, read backwards (k is -k). So all nine passes of a product modulo a prime are one loop
// around the same sums, which fits the instruction caches.
//
// Sums. t^(2h) - r^2 = (t^h - r) (t^h + r): a level of splitting computes a, b -> a + r b, a - r b,
// and 31 of the 80 products of 32 points are by 1. All roots are constants for the compiler.
// Residues are lazy: a level adds 2P to their bound, and doubles it if the factor is 1; `Sums`
// tracks the bound and reduces residues before it exceeds 32 P.
//
// Integers. The residues of lo and hi are kept in device memory until those of the third prime are
// computed. H. Garner's mixed digits (IRE Trans. Electronic Computers 8, 1959) combine them into
// columns of three limbs, and carries are resolved as in carry.cuh.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/ptx.cuh"
#include "mul/product_rows.cuh"
#include "transform/common.cuh"
#include "transform/ntt/residue.cuh"
#include "tuning/transform.cuh"

namespace gpuint {

namespace ntt {

constexpr u32 PRIMES = 3;
constexpr u32 P[PRIMES] = {131923969, 132120577, 132710401};

constexpr u32 PER_THREAD = 32, PER_WARP = 32 * PER_THREAD;

__host__ __device__ constexpr u32 log_of(u32 power_of_two) {
  u32 log = 0;
  while (power_of_two >> log != 1) ++log;
  return log;
}

// Returns true if columns of n digit products are below the product of the primes, compared by the
// upper 64 of 128 bits.
__host__ __device__ constexpr bool columns_fit(u32 n) {
  const u64 two = u64(P[0]) * P[1];
  const u64 upper = ((two >> 32) * P[2] + ((two & 0xffffffff) * P[2] >> 32)) >> 32;
  return n <= upper;
}

// Passes: three in each direction.
enum class Pass { First, Middle, Last, LastInverse, MiddleInverse, FirstInverse };

// Factors of the middle pass in one direction, for u = first step^k.
template <u32 WARPS>
struct MiddleTable {
  Factor warp[WARPS][32] = {};     // u^(32 j) for warp k
  Factor thread[WARPS * 32] = {};  // u^l for lane l of warp k, of the inverse times 2^32 / 2n

  __host__ __device__ constexpr MiddleTable() {}

  template <class F>
  __host__ __device__ constexpr MiddleTable(F, u32 first, u32 step, u32 scale) {
    u32 u = first;
    for (u32 k = 0; k < WARPS; ++k) {
      const u32 leap = F::power(u, 32);
      u32 coarse = 1, fine = scale;
      for (u32 j = 0; j < 32; ++j) {
        warp[k][j] = F::factor(coarse);
        thread[32 * k + j] = F::factor(fine);
        coarse = F::product(coarse, leap);
        fine = F::product(fine, u);
      }
      u = F::product(u, step);
    }
  }
};

// Powers i j of an element of order 1024.
struct LaneTable {
  Factor at[32][32] = {};

  template <class F>
  __host__ __device__ constexpr LaneTable(F, u32 element) {
    u32 step = 1;
    for (u32 i = 0; i < 32; ++i) {
      u32 power = 1;
      for (u32 j = 0; j < 32; ++j) {
        at[i][j] = F::factor(power);
        power = F::product(power, step);
      }
      step = F::product(step, element);
    }
  }
};

template <class F, u32 WARPS>
struct Tables {
  static constexpr u32 N = WARPS * PER_WARP;
  LaneTable lanes[2];
  MiddleTable<WARPS> middle[2][2];  // by part and direction

  __host__ __device__ constexpr Tables()
      : lanes{{F{}, F::root(1024)}, {F{}, F::inverse(F::root(1024))}},
        middle{{table(0, false), table(0, true)}, {table(1, false), table(1, true)}} {}

  __host__ __device__ static constexpr MiddleTable<WARPS> table(u32 part, bool inverse) {
    const u32 z = part == 0 ? 1 : F::root(2 * N), w = F::root(N);
    if (!inverse) return {F{}, z, w, 1};
    const u32 limb = static_cast<u32>((1ull << 32) % F::P);
    return {F{}, F::inverse(z), F::inverse(w), F::product(limb, F::inverse(2 * N))};
  }
};

template <class F, u32 WARPS>
__device__ constexpr Tables<F, WARPS> TABLES{};

// Sums of `COUNT` points x[OFFSET + STRIDE i] times powers i k of an element of that order: result
// k is point `bit_reversed(k)`. All are lazy residues, below START P before.
template <class F, u32 COUNT, u32 STRIDE, u32 OFFSET>
struct Sums {
  static constexpr u32 LEVELS = log_of(COUNT);
  static constexpr u32 START = 3;

  // Returns true if the product by 1 in the first node of a level must be reduced: without
  // reduction the points double.
  __host__ __device__ static constexpr bool must_reduce(u32 level, u32 bound) {
    return 2 * bound + 2 * (LEVELS - 1 - level) > F::MAX_MULTIPLE;
  }

  // A node and all below it, depth first.
  template <u32 LEVEL, u32 NODE, u32 BOUND>
  GPUINT_DEVICE static void split(u32 (&x)[PER_THREAD]) {
    constexpr u32 HALF = COUNT >> (LEVEL + 1), FIRST = NODE * 2 * HALF;
    constexpr Factor ROOT = F::factor(F::power(F::root(2u << LEVEL), bit_reversed(NODE, LEVEL)));
    constexpr bool REDUCE = must_reduce(LEVEL, BOUND);
    constexpr u32 GROWTH = NODE != 0 || REDUCE ? 2 : BOUND;
    static_assert(BOUND + GROWTH <= F::MAX_MULTIPLE, "a lazy residue is a limb");
    GPUINT_UNROLL(16)
    for (u32 i = FIRST; i < FIRST + HALF; ++i) {
      u32 &a = x[OFFSET + STRIDE * i], &b = x[OFFSET + STRIDE * (i + HALF)];
      GPUINT_ASSERT(a / F::P < BOUND && b / F::P < BOUND, "lazy residues keep their bound");
      const u32 turned = NODE != 0 ? F::times(ROOT, b) : REDUCE ? F::reduced(b) : b;
      const u32 sum = a + turned;
      b = a - turned + GROWTH * F::P;
      a = sum;
    }
    if constexpr (HALF > 1) {
      split<LEVEL + 1, 2 * NODE, BOUND + GROWTH>(x);
      split<LEVEL + 1, 2 * NODE + 1, BOUND + GROWTH>(x);
    }
  }

  GPUINT_DEVICE static void run(u32 (&x)[PER_THREAD]) {
    split<0, 0, START>(x);
    if constexpr (OFFSET + 1 < STRIDE) Sums<F, COUNT, STRIDE, OFFSET + 1>::run(x);
  }
};

// The points in shared memory, with a limb left out after every 32, so that lanes on neighbouring
// points and on neighbouring rows of 32 both reach all banks.
struct Exchange {
  u32* at;
  GPUINT_DEVICE explicit Exchange(unsigned char* bytes) : at(reinterpret_cast<u32*>(bytes)) {}

  __host__ __device__ static constexpr u32 bytes(u32 points) {
    return 33 * (points / 32) * sizeof(u32);
  }

  // Point thread; point thread + 32 i is 33 i further.
  GPUINT_DEVICE u32* column() const {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    return at + thread + thread / 32;
  }
  // Point lane of the warp's own 1024; point lane + 32 i is 33 i further.
  GPUINT_DEVICE u32* strided() const {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    return at + thread / 32 * (33 * 32) + thread % 32;
  }
  // Point 32 lane of the warp's own; its neighbours follow.
  GPUINT_DEVICE u32* row() const { return at + ptx::rematerialize(threadIdx.x) * 33; }
};

}  // namespace ntt

template <class S, Extent E, u32 OPERANDS>
struct NttProduct {
  static constexpr u32 N = S::BITS / 32;  // points, digits and limbs
  static constexpr u32 WARPS = N / ntt::PER_WARP;
  static_assert(S::BITS % 32 == 0 && N == WARPS * ntt::PER_WARP && WARPS >= 2 && WARPS <= 32 &&
                    (WARPS & (WARPS - 1)) == 0,
                "powers of two that a block's threads hold");
  static_assert(ntt::columns_fit(N), "residues say what a column is");

  static constexpr u32 THREADS = N / ntt::PER_THREAD;
  static constexpr u32 ROWS = 1;
  using G = Group<THREADS>;
  static constexpr u32 HALVES = E == Extent::Wide ? 2 : 1;
  // Rows of N residues in device memory: of lo and hi modulo each prime, and transforms of the
  // first operand, which hi overwrites later.
  static constexpr u32 WAITING = ntt::PRIMES * HALVES + (HALVES == 1 && OPERANDS == 2 ? 1 : 0);
  // State of all threads that does not fit in registers. Volatile, so that it is read at each use.
  struct Place {
    u64 row;
    u64 scratch;  // offset of this block's part of device memory, in limbs
  };
  static constexpr u32 EXCHANGE =
      round_up(G::SCRATCH_BYTES + (WARPS + 1) * sizeof(u64) + sizeof(Place), 16);
  static constexpr u32 SHARED = EXCHANGE + ntt::Exchange::bytes(N);
  static constexpr u32 SCRATCH = WAITING * N * sizeof(u32);
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(NttPolicy::REGISTERS, THREADS);
  static constexpr u32 PERSISTENT = 1;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    GPUINT_UNROLL(1)
    for (u64 row = blockIdx.x; row < o.rows;) {
      if (threadIdx.x == 0) {
        place_of(shared).row = row;
        place_of(shared).scratch = u64(blockIdx.x) * (SCRATCH / sizeof(u32));
      }
      __syncthreads();
      multiply<0>(o, shared);
      multiply<1>(o, shared);
      multiply<2>(o, shared);
      write(o, place_of(shared).row, shared);
      row = place_of(shared).row + gridDim.x;
      __syncthreads();
    }
  }

 private:
  using Points = u32[ntt::PER_THREAD];
  // Indices of tables by direction.
  static constexpr u32 FORWARD = static_cast<u32>(Direction::Forward);
  static constexpr u32 INVERSE = static_cast<u32>(Direction::Inverse);
  // Columns of the first pass that a thread has, WARPS points each.
  static constexpr u32 COLUMNS = 32 / WARPS;

  GPUINT_DEVICE static volatile Place& place_of(unsigned char* shared) {
    return *reinterpret_cast<volatile Place*>(shared + G::SCRATCH_BYTES +
                                              (WARPS + 1) * sizeof(u64));
  }

  // A row of residues in device memory.
  GPUINT_DEVICE static u32* waiting(const Operands& o, unsigned char* shared, u32 i) {
    return reinterpret_cast<u32*>(o.scratch) + place_of(shared).scratch + i * N;
  }
  template <u32 PRIME>
  GPUINT_DEVICE static u32* residues(const Operands& o, unsigned char* shared, u32 half) {
    return waiting(o, shared, PRIME * HALVES + half) + ptx::rematerialize(threadIdx.x);
  }
  template <u32 PRIME>
  GPUINT_DEVICE static u32* transformed(const Operands& o, unsigned char* shared) {
    return waiting(o, shared, HALVES == 1 ? ntt::PRIMES : PRIME * HALVES + 1) +
           ptx::rematerialize(threadIdx.x);
  }

  // Passes of a part: three for each operand, and three of the inverse.
  static constexpr u32 PASSES = 3 * (OPERANDS + 1);

  // Part, operand and pass of a step of the loop. The last operand's points are
  // multiplied by the first one's, or by themselves.
  struct Step {
    u32 part, operand;
    ntt::Pass pass;
    GPUINT_DEVICE explicit Step(u32 step) {
      step = ptx::rematerialize(step);
      part = step < PASSES ? 0 : 1;
      step -= part * PASSES;
      operand = step / 3;
      pass = static_cast<ntt::Pass>(step % 3 + (operand == OPERANDS ? 3 : 0));
    }
  };

  // Prefetches N limbs, a line of 32 per thread. The residues of wide products do not fit the L2
  // cache.
  GPUINT_DEVICE static void prefetch(const u32* limbs) {
    if constexpr (E == Extent::Wide) ptx::prefetch(limbs + 32 * ptx::rematerialize(threadIdx.x));
  }

  // Residues of lo, and of hi if it is wanted, modulo one prime.
  template <u32 PRIME>
  GPUINT_DEVICE static void multiply(const Operands& o, unsigned char* shared) {
    using F = Field<ntt::P[PRIME]>;
    const ntt::Exchange exchange(shared + EXCHANGE);
    Points x;
    GPUINT_UNROLL(1)
    for (u32 step = 0; step < 2 * PASSES; ++step) {
      const Step at(step);
      load_points<PRIME>(o, shared, exchange, at, x);
      if (WARPS < 32 && (at.pass == ntt::Pass::First || at.pass == ntt::Pass::FirstInverse))
        ntt::Sums<F, WARPS, COLUMNS, 0>::run(x);
      else
        ntt::Sums<F, 32, 1, 0>::run(x);
      store_points<PRIME>(o, shared, exchange, Step(step), x);
    }
  }

  // Points of a pass, times the factors before its sums.
  template <u32 PRIME>
  GPUINT_DEVICE static void load_points(const Operands& o, unsigned char* shared,
                                        const ntt::Exchange& exchange, const Step& at, Points& x) {
    using F = Field<ntt::P[PRIME]>;
    const auto& tables = ntt::TABLES<F, WARPS>;
    if (at.pass == ntt::Pass::First) {
      read<F>(o, at.operand, place_of(shared).row, at.part, x);
    } else if (at.pass == ntt::Pass::Middle) {
      load_strided<F>(exchange, tables.middle[at.part][FORWARD].thread, x);
      if (at.operand + 1 < OPERANDS)
        prefetch(static_cast<const u32*>(o.in[1]) + place_of(shared).row * N);
      const Factor* const warp =
          tables.middle[at.part][FORWARD].warp[ptx::rematerialize(threadIdx.x) / 32];
      GPUINT_UNROLL(32)
      for (u32 i = 1; i < 32; ++i) x[i] = F::times(warp[i], x[i]);
    } else if (at.pass == ntt::Pass::Last) {
      const u32* const from = exchange.row();
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) x[i] = from[i];
    } else if (at.pass == ntt::Pass::MiddleInverse) {
      load_strided<F>(exchange, tables.middle[at.part][INVERSE].thread, x);
      prefetch_first_operand<PRIME>(o, shared, at.part);
      if (at.part == 1) prefetch(waiting(o, shared, PRIME * HALVES));
    } else if (at.pass == ntt::Pass::FirstInverse) {
      const u32* const from = exchange.column();
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) x[i] = from[column_of(i)];
    }  // products are in registers
  }

  // Results of a pass, times the factors after its sums, where the next pass reads them.
  template <u32 PRIME>
  GPUINT_DEVICE static void store_points(const Operands& o, unsigned char* shared,
                                         const ntt::Exchange& exchange, const Step& at, Points& x) {
    using F = Field<ntt::P[PRIME]>;
    const auto& tables = ntt::TABLES<F, WARPS>;
    if (at.pass == ntt::Pass::First) {
      if (at.operand == 1) __syncthreads();  // all have taken the first operand's points
      u32* const to = exchange.column();
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) to[column_of(result<Direction::Forward, WARPS>(i))] = x[i];
      __syncthreads();
    } else if (at.pass == ntt::Pass::Middle) {
      const Factor* const lane = &tables.lanes[FORWARD].at[0][ptx::rematerialize(threadIdx.x) % 32];
      store_strided<F, Direction::Forward>(exchange, lane, 32, x);
      __syncwarp();
    } else if (at.pass == ntt::Pass::Last) {
      finish<PRIME>(o, shared, at.operand, x);
    } else if (at.pass == ntt::Pass::LastInverse) {
      const Factor* const lane = &tables.lanes[INVERSE].at[0][ptx::rematerialize(threadIdx.x) % 32];
      u32* const to = exchange.row();
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) {
        const u32 j = result<Direction::Inverse, 32>(i);
        to[j] = j == 0 ? x[i] : F::times(lane[32 * j], x[i]);
      }
      __syncwarp();
    } else if (at.pass == ntt::Pass::MiddleInverse) {
      const Factor* const warp =
          tables.middle[at.part][INVERSE].warp[ptx::rematerialize(threadIdx.x) / 32];
      store_strided<F, Direction::Inverse>(exchange, warp, 1, x);
      __syncthreads();
    } else {
      put<PRIME>(o, shared, at.part, x);
    }
  }

  // Prefetches the first operand of the product that follows: of this row, or of the block's next.
  template <u32 PRIME>
  GPUINT_DEVICE static void prefetch_first_operand(const Operands& o, unsigned char* shared,
                                                   u32 part) {
    const u64 row = PRIME == ntt::PRIMES - 1 && part == 1 ? place_of(shared).row + gridDim.x
                                                          : place_of(shared).row;
    if (row < o.rows) prefetch(static_cast<const u32*>(o.in[0]) + row * N);
  }

  // Index of the sums' result at point i of a thread, in a pass of COUNT points.
  template <Direction DIRECTION, u32 COUNT>
  __host__ __device__ static constexpr u32 result(u32 i) {
    constexpr u32 APART = 32 / COUNT;
    const u32 k = bit_reversed(i / APART, ntt::log_of(COUNT));
    return i % APART + APART * (DIRECTION == Direction::Forward ? k : (COUNT - k) % COUNT);
  }

  // Distance of point thread + THREADS i from point thread in shared memory.
  __host__ __device__ static constexpr u32 column_of(u32 i) { return i * (THREADS + WARPS); }

  // Points 32 apart, times the common factor of a thread.
  template <class F>
  GPUINT_DEVICE static void load_strided(const ntt::Exchange& exchange,
                                         const Factor (&table)[THREADS], Points& x) {
    const Factor by = table[ptx::rematerialize(threadIdx.x)];
    const u32* const from = exchange.strided();
    GPUINT_UNROLL(32)
    for (u32 i = 0; i < 32; ++i) x[i] = F::times(by, from[33 * i]);
  }

  // Results k of 32 sums times factors[stride k], factor 0 being 1, to points 32 apart. The next
  // pass sums them without other factors, so that the first one is reduced.
  template <class F, Direction DIRECTION>
  GPUINT_DEVICE static void store_strided(const ntt::Exchange& exchange, const Factor* factors,
                                          u32 stride, const Points& x) {
    u32* const to = exchange.strided();
    GPUINT_UNROLL(32)
    for (u32 i = 0; i < 32; ++i) {
      const u32 k = result<DIRECTION, 32>(i);
      to[33 * k] = k == 0 ? F::reduced(x[i]) : F::times(factors[stride * k], x[i]);
    }
  }

  // Digits thread + THREADS i, as input of the sums.
  template <class F>
  GPUINT_DEVICE static void read(const Operands& o, u32 operand, u64 row, u32 part, Points& x) {
    const u32* const digits =
        static_cast<const u32*>(OPERANDS == 2 && operand == 1 ? o.in[1] : o.in[0]) + row * N +
        ptx::rematerialize(threadIdx.x);
    GPUINT_UNROLL(32)
    for (u32 i = 0; i < 32; ++i) x[i] = __ldg(digits + i * THREADS);
    turn<F, Direction::Forward>(part, x);
  }

  // Points of place i in a sum times z^(1024 i) or its inverse; below 2P. In part 1, z^1024 is of
  // order 2 WARPS.
  template <class F, Direction DIRECTION>
  GPUINT_DEVICE static void turn(u32 part, Points& x) {
    if (part == 0) {
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) x[i] = F::reduced(x[i]);
    } else {
      turn_point<F, DIRECTION, 0>(x);
    }
  }

  template <class F, Direction DIRECTION, u32 I>
  GPUINT_DEVICE static void turn_point(Points& x) {
    constexpr u32 J = (DIRECTION == Direction::Forward ? I : result<DIRECTION, WARPS>(I)) / COLUMNS;
    constexpr u32 EXPONENT = DIRECTION == Direction::Forward ? J : (2 * WARPS - J) % (2 * WARPS);
    constexpr Factor BY = F::factor(F::power(F::root(2 * WARPS), EXPONENT));
    x[I] = J == 0 ? F::reduced(x[I]) : F::times(BY, x[I]);
    if constexpr (I + 1 < 32) turn_point<F, DIRECTION, I + 1>(x);
  }

  // Values at the thread's points: the first operand's are stored for the second's; products are
  // left in the order of the inverse.
  template <u32 PRIME>
  GPUINT_DEVICE static void finish(const Operands& o, unsigned char* shared, u32 operand,
                                   Points& x) {
    using F = Field<ntt::P[PRIME]>;
    if constexpr (OPERANDS == 1) {
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) x[i] = F::montgomery(F::reduced(x[i]), x[i]);
    } else {
      u32* const aside = transformed<PRIME>(o, shared);
      if (operand == 0) {
        GPUINT_UNROLL(32)
        for (u32 i = 0; i < 32; ++i) aside[i * THREADS] = F::reduced(x[i]);
        return;
      }
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) x[i] = F::montgomery(aside[i * THREADS], x[i]);
    }
    GPUINT_UNROLL(32)
    for (u32 i = 0; i < 32; ++i) {
      const u32 k = result<Direction::Forward, 32>(i);
      if (k <= i) continue;
      const u32 other = x[k];
      x[k] = x[i];
      x[i] = other;
    }
  }

  // Halves of lo + hi, as the inverse computes them, are kept for those of lo - hi: their sum is lo
  // and their difference hi.
  template <u32 PRIME>
  GPUINT_DEVICE static void put(const Operands& o, unsigned char* shared, u32 part, Points& x) {
    using F = Field<ntt::P[PRIME]>;
    turn<F, Direction::Inverse>(part, x);
    u32* const low = residues<PRIME>(o, shared, 0);
    if (part == 0) {
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) low[result<Direction::Inverse, WARPS>(i) * THREADS] = x[i];
    } else {
      u32* const high = residues<PRIME>(o, shared, HALVES - 1);
      GPUINT_UNROLL(32)
      for (u32 i = 0; i < 32; ++i) {
        const u32 at = result<Direction::Inverse, WARPS>(i) * THREADS;
        const u32 sum = low[at];
        low[at] = F::reduced(sum + x[i]);
        if (HALVES == 2) high[at] = F::reduced(sum - x[i] + 2 * F::P);
      }
    }
  }

  // A column from residues below 2P.
  struct Column {
    u64 low;
    u32 high;
  };

  GPUINT_DEVICE static Column column(u32 r0, u32 r1, u32 r2) {
    using F0 = Field<ntt::P[0]>;
    using F1 = Field<ntt::P[1]>;
    using F2 = Field<ntt::P[2]>;
    static_assert(F0::P < F1::P && F1::P < F2::P,
                  "a residue modulo a prime is one modulo the next");
    constexpr u64 BOTH = u64(F0::P) * F1::P;
    constexpr Factor FIRST_IN_SECOND = F1::factor(F1::inverse(F0::P));
    constexpr Factor FIRST_IN_THIRD = F2::factor(F2::inverse(F0::P));
    constexpr Factor SECOND_IN_THIRD = F2::factor(F2::inverse(F1::P));
    const u32 first = F0::least(r0);
    const u32 second = F1::least(F1::times(FIRST_IN_SECOND, r1 - first + F1::P));
    const u32 third = F2::least(
        F2::times(SECOND_IN_THIRD, F2::times(FIRST_IN_THIRD, r2 - first + F2::P) - second + F2::P));
    // first + P0 second + P0 P1 third
    const u64 below = first + u64(F0::P) * second + u64(static_cast<u32>(BOTH)) * third;
    const u64 above = u64(static_cast<u32>(BOTH >> 32)) * third + (below >> 32);
    const Column column{above << 32 | static_cast<u32>(below), static_cast<u32>(above >> 32)};
    GPUINT_ASSERT(column.high < N, "a column is a sum of N products at most");
    return column;
  }

  // Combines columns into limbs: first lo's, then hi's.
  GPUINT_DEVICE static void write(const Operands& o, u64 row, unsigned char* shared) {
    G group(shared);
    u64* const tails = reinterpret_cast<u64*>(shared + G::SCRATCH_BYTES);
    group.sync();  // all residues are there
    if (threadIdx.x == 0) tails[0] = 0;
    GPUINT_UNROLL(1)
    for (u32 half = 0; half < HALVES; ++half) {
      u32* const limbs = half_of_product<E>(o, row, half, N);
      GPUINT_UNROLL(1)
      for (u32 first = 0; first < N; first += WORD * THREADS)
        resolve(group, waiting(o, shared, half) + first, tails,
                limbs == nullptr ? limbs : limbs + first);
    }
  }

  // The limbs of some columns, a word per thread. A thread's carry, less than 2^49, is two limbs
  // that the next thread adds; the second carry is at most 1, and then the thread's limbs are
  // small. The carry into warp i is tails[i]: for the first warp, the carry of the columns before.
  GPUINT_DEVICE static void resolve(G& group, const u32* residues, u64* tails, u32* to) {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    u64 sum = 0;
    u32 r[ntt::PRIMES][WORD], limbs[WORD];
    GPUINT_UNROLL(3)
    for (u32 prime = 0; prime < ntt::PRIMES; ++prime)
      load_word(residues + prime * HALVES * N + WORD * thread, r[prime]);
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) {
      const Column next = column(r[0][i], r[1][i], r[2][i]);
      const u64 low = next.low + sum;
      limbs[i] = static_cast<u32>(low);
      sum = (u64(next.high) + (low < sum)) << 32 | low >> 32;
    }
    const u32 below_low = group.from_below(static_cast<u32>(sum)),
              below_high = group.from_below(static_cast<u32>(sum >> 32));
    if (group.lane == 31) tails[thread / 32 + 1] = sum;
    group.sync();
    u64 below = u64(below_high) << 32 | below_low;
    if (group.lane == 0) below = tails[thread / 32];
    if (thread == 0) tails[0] = tails[WARPS];
    u32 carry = 0;
    limbs[0] = add_carry<u32>(limbs[0], static_cast<u32>(below), carry);
    limbs[1] = add_carry<u32>(limbs[1], static_cast<u32>(below >> 32), carry);
    u32 all = limbs[0] & limbs[1];
    GPUINT_UNROLL(2)
    for (u32 i = 2; i < WORD; ++i) {
      limbs[i] = add_carry<u32>(limbs[i], 0, carry);
      all &= limbs[i];
    }
    const Carries carries = resolve_carries(group, carry != 0, all == ~0u, 0, 0);
    apply_carry<Sign::Plus>(limbs, carries.in);
    if (to != nullptr) store_word(to + WORD * thread, limbs);
    if (carry != 0) GPUINT_RARE(TransformCarry);
    if (thread == 0) tails[0] += carries.out;
  }
};

}  // namespace gpuint
