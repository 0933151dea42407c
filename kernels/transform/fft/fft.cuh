// Products by complex floating-point transforms, exact: low (mod 2^BITS), wide (2 * BITS) and the
// low square, for BITS = 65536 PARTS, PARTS = 1 .. 4.
//
// Digits. An operand is n = BITS / 16 digits d[j] of -2^15 .. 2^15, balanced by handing the sign
// bit of a digit to the next one; the top digit stays unsigned, up to 2^16. So the polynomials a, b
// with these digits give the integers at t = 2^16, all columns of a b are below 2^30 (n + 3).
//
// Right-angle convolution. a b mod t^n - i has the low columns of a b as its real and the high
// columns as its imaginary parts: one complex transform of n points does what two real ones of 2n
// points would.
//
// Parts. t^n - i is the product of t^m - e(theta_k) over k < PARTS, with m = 4096, theta_k = (k +
// 1/4) / PARTS and e(x) = exp(2 pi i x). A part is the operand mod t^m - e(theta_k): m points that
// 256 threads hold, 16 each. Columns j + m s of the product come from points j of all parts: the
// real part of the mean of y_k[j] e(-s theta_k), where s >= PARTS gives the high columns, since
// e(-PARTS theta_k) = -i.
//
// Transforms. t^m - e(theta) = (t^(m/2) - e(theta/2)) (t^(m/2) + e(theta/2)): a level of splitting
// takes
//     a, b -> a + b e(theta/2), a - b e(theta/2)
// to polynomials modulo t^(m/2) - e(theta/2) and t^(m/2) - e(theta/2 + 1/2); after 11 levels there
// are m/2 nodes, pairs modulo t^2 - w with w = e((theta + r) 2 / m), r in bit-reversed order. They
// are multiplied as they are,
//     (a0 + a1 t) (b0 + b1 t) = a0 b0 + w a1 b1 + (a0 b1 + a1 b0) t,
// since a twelfth level there and back would take more, and w is the rotation of the level before.
// Four levels are done in registers at a time: columns of 256 points apart, then of 16 apart, then
// 16 in a row. Only the first of the two exchanges concerns all threads. The inverse, of even and
// of odd points each, is that of the ordinary transform (J. W. Cooley and J. W. Tukey, 1965) from
// bit-reversed order, then a rotation of points 2 j and 2 j + 1 by -2 j theta / m. Within four
// levels that begin with theta, the rotations of a level are those of its first node, e(theta /
// 2^(level+1)), turned by a constant 0 .. 3 sixteenths and whole quarters: four rotations from a
// table do for 15 nodes. The first pass has the same for all threads, where constant memory may
// have every one.
//
// Blocks. A block that has a row to itself does part after part and keeps the points of those done
// in device memory. Where there are clusters (compute capability 9.0), two or four blocks take a
// part each; each then reads its share of the columns, of all pieces of 4096, from the points in
// the others' shared memory, and tells them what carries come out of it.
//
// Exactness. Let eps = 2^-53. A complex rounding is a factor 1 + d, |d| <= eps, since it is one in
// each component. A product with a rotation is cos (1 + d) of (u, v) with tan (1 + d), and one
// rounding: |error| <= 3 eps |b|; a constant turn after it has another tangent (exact for an
// eighth), cosine and product of cosines: 4 eps more; the addition rounds once. So a level changes
// a path from an input to an output by a factor 1 + d with |d| <= 4 eps, or 8 eps where there is a
// constant turn. On the forward way that bounds the error's Euclidean norm. A node's product has
// coefficients of at most |A| |B|, the norms of its pairs, and errors of 9 eps times that: two
// roundings in a1 b1, 6 eps for w with an eighth turn, one addition; or four in a sum of two
// products. On the way back, where a sum over all nodes with |A| |B| <= m/2 |a| |b| in total is
// left, each number is bounded (the method of R. Brent, C. Percival and P. Zimmermann, Math. Comp.
// 76, 2007, who have 4 eps for a level). `worst_error` adds up all factors, those for parts and
// weights too, and multiplies by |a| |b| <= 2^30 (n + 3). It is below 0.43 at 2^18 bits, so that
// rounding to the nearest integer is right for every operand.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/lookahead.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "mul/product.cuh"
#include "transform/bit_reversal.cuh"
#include "transform/fft/rotation.cuh"

namespace gpuint {

// The strategy. It multiplies whole rows only: products inside of other kernels have other lengths.
struct Fft {};

namespace fft {

constexpr u32 POINTS = 4096, RADIX = 16, LEVELS = 4, THREADS = 256;
constexpr u32 TAIL = 2, TAIL_LEVELS = 1;  // points of a node, and the levels that it saves
constexpr u32 PART_BITS = 16 * POINTS, PART_LIMBS = PART_BITS / 32;

// e(theta_k j / denominator)
template <u32 PARTS>
__host__ __device__ constexpr exact::Unit part_unit(u32 k, u32 j, u32 denominator) {
  return exact::unit((4 * k + 1) * j, 4 * PARTS * denominator);
}

// cos (u + i v)
struct Turned {
  double cos, u, v;
};

GPUINT_DEVICE Turned turn(Rotation by, Complex z) {
  return {by.cos, fma(-by.tan, z.im, z.re), fma(by.tan, z.re, z.im)};
}

enum class Way { Split, Join };

// The rotations of a pass for COUNT groups of threads: e(theta / 2^(level+1)), theta = (base +
// order(group)) / COUNT.
template <u32 COUNT, u32 LEVELS = fft::LEVELS>
struct PassTable {
  Rotation at[LEVELS][COUNT] = {};

  __host__ __device__ constexpr PassTable() {}

  template <class Order>
  __host__ __device__ constexpr PassTable(u32 base, u32 base_denominator, Order order) {
    for (u32 level = 0; level < LEVELS; ++level) {
      const u32 turn = COUNT << (level + 1);
      const exact::Progression<COUNT> units(exact::unit(base, base_denominator * turn),
                                            exact::unit(1, turn));
      for (u32 i = 0; i < COUNT; ++i) at[level][i] = exact::rotation(units.at[order(i)]);
    }
  }
};

template <u32 BITS>
struct Reversed {
  __host__ __device__ constexpr u32 operator()(u32 i) const { return bit_reversed(i, BITS); }
};
struct Natural {
  __host__ __device__ constexpr u32 operator()(u32 i) const { return i; }
};

// The rotations of the first pass, which are the same for all threads, each constant turn with its
// own.
struct FirstPass {
  Rotation at[LEVELS][4] = {};

  __host__ __device__ constexpr FirstPass() {}

  __host__ __device__ constexpr FirstPass(u32 base, u32 base_denominator) {
    for (u32 level = 0; level < LEVELS; ++level) {
      const exact::Unit first = exact::unit(base, base_denominator << (level + 1));
      for (u32 j = 0; j < 4; ++j) at[level][j] = exact::rotation(first * exact::unit(j, 16));
    }
  }

  GPUINT_DEVICE Turned operator()(Way, u32 level, u32 sixteenths, Complex z) const {
    return turn(at[level][sixteenths], z);
  }
};

// What depends on the part, the same for all threads.
template <u32 PARTS>
struct PartConstants {
  FirstPass first;
  Complex coarse[RADIX] = {};     // e(-theta 256 i / POINTS) TAIL / POINTS
  Complex turns[2 * PARTS] = {};  // e(theta s)

  __host__ __device__ constexpr PartConstants() {}

  __host__ __device__ constexpr explicit PartConstants(u32 k) : first(4 * k + 1, 4 * PARTS) {
    for (u32 i = 0; i < RADIX; ++i) {
      const exact::Unit unit = part_unit<PARTS>(k, i, RADIX);
      coarse[i] = {unit.cos.hi * TAIL / POINTS, -unit.sin.hi * TAIL / POINTS};
    }
    for (u32 s = 0; s < 2 * PARTS; ++s) {
      const exact::Unit unit = part_unit<PARTS>(k, s, 1);
      turns[s] = {unit.cos.hi, unit.sin.hi};
    }
  }
};

// What depends on the part and on the thread.
template <u32 PARTS>
struct PartTables {
  PassTable<16> second;                        // by group of 16 threads
  PassTable<256, LEVELS - TAIL_LEVELS> third;  // by thread
  Rotation weights[256 / TAIL] = {};  // e(theta TAIL j / POINTS), conjugated where it is used

  __host__ __device__ constexpr PartTables() {}

  __host__ __device__ constexpr explicit PartTables(u32 k)
      : second(4 * k + 1, 4 * PARTS, Reversed<4>{}), third(4 * k + 1, 4 * PARTS, Reversed<8>{}) {
    const exact::Progression<256 / TAIL> fine(exact::unit(0, 1), part_unit<PARTS>(k, TAIL, POINTS));
    for (u32 j = 0; j < 256 / TAIL; ++j) weights[j] = exact::rotation(fine.at[j]);
  }
};

template <u32 PARTS>
struct Constants {
  PartConstants<PARTS> part[PARTS];

  __host__ __device__ constexpr Constants() {
    for (u32 k = 0; k < PARTS; ++k) part[k] = PartConstants<PARTS>(k);
  }
};

template <u32 PARTS>
struct Tables {
  PartTables<PARTS> part[PARTS];
  PassTable<16 / TAIL> second;  // of the inverse, by TAIL threads of a group
  PassTable<256 / TAIL> third;  // of the inverse, by TAIL threads

  __host__ __device__ constexpr Tables() : second(0, 1, Natural{}), third(0, 1, Natural{}) {
    for (u32 k = 0; k < PARTS; ++k) part[k] = PartTables<PARTS>(k);
  }
};

template <u32 PARTS>
__constant__ constexpr Constants<PARTS> CONSTANTS{};

template <u32 PARTS>
__device__ constexpr Tables<PARTS> TABLES{};

// e(j / 16)
GPUINT_DEVICE Rotation constant_turn(u32 j) {
  return j == 0   ? Rotation{1, 0}
         : j == 1 ? Rotation{0.92387953251128675613, 0.41421356237309504880}
         : j == 2 ? Rotation{0.70710678118654752440, 1}
                  : Rotation{0.38268343236508977173, 2.41421356237309504880};
}

// The rotations of a pass. The nodes of a level that differ by more than quarter turns are constant
// turns, in sixteenths, from the first one.

template <u32 LEVELS>
struct Rotations {
  Rotation at[LEVELS];

  template <u32 COUNT>
  GPUINT_DEVICE Rotations(const PassTable<COUNT, LEVELS>& table, u32 group) {
    GPUINT_UNROLL(4)
    for (u32 level = 0; level < LEVELS; ++level) at[level] = table.at[level][group];
  }

  GPUINT_DEVICE Turned operator()(Way way, u32 level, u32 sixteenths, Complex z) const {
    Rotation by = at[level], more = constant_turn(sixteenths);
    if (way == Way::Join) by.tan = -by.tan, more.tan = -more.tan;
    const Turned once = turn(by, z);
    if (sixteenths == 0) return once;
    const Turned twice = turn(more, {once.u, once.v});
    return {once.cos * twice.cos, twice.u, twice.v};
  }
};

// Where theta is 0.
struct Constant {
  GPUINT_DEVICE Turned operator()(Way way, u32, u32 sixteenths, Complex z) const {
    if (sixteenths == 0) return {1, z.re, z.im};
    Rotation by = constant_turn(sixteenths);
    if (way == Way::Join) by.tan = -by.tan;
    return turn(by, z);
  }
};

// a + z i^quarters
GPUINT_DEVICE Complex sum(Complex a, Turned z, u32 quarters) {
  const double cos = quarters % 4 < 2 ? z.cos : -z.cos;
  return quarters % 2 == 0 ? Complex{fma(cos, z.u, a.re), fma(cos, z.v, a.im)}
                           : Complex{fma(-cos, z.v, a.re), fma(cos, z.u, a.im)};
}

// a, b = a + z i^quarters, a - z i^quarters
GPUINT_DEVICE void butterfly(Complex& a, Complex& b, Turned z, u32 quarters) {
  const Complex c = a;
  a = sum(c, z, quarters);
  b = sum(c, z, quarters + 2);
}

// Sixteenths of a turn from a level's first node to node 2 (NODE / 2).
template <u32 LEVEL, u32 NODE>
constexpr u32 SIXTEENTHS = bit_reversed(NODE & ~1u, LEVEL) << (LEVELS - 1 - LEVEL);

// A node and all below it to LEVELS levels, depth first: few rotations are needed at a time.
template <u32 LEVEL, u32 NODE, u32 LEVELS, class Turn>
GPUINT_DEVICE void split(Complex (&x)[RADIX], const Turn& turn) {
  constexpr u32 HALF = RADIX >> (LEVEL + 1), FIRST = NODE * 2 * HALF;
  GPUINT_UNROLL(8)
  for (u32 i = FIRST; i < FIRST + HALF; ++i)
    butterfly(x[i], x[i + HALF], turn(Way::Split, LEVEL, SIXTEENTHS<LEVEL, NODE>, x[i + HALF]),
              NODE % 2);
  if constexpr (LEVEL + 1 < LEVELS)
    split<LEVEL + 1, 2 * NODE, LEVELS>(x, turn), split<LEVEL + 1, 2 * NODE + 1, LEVELS>(x, turn);
}

// Joins what was split, all of it or (STEP = TAIL) down to nodes of TAIL points.
template <u32 LEVEL, u32 NODE, u32 STEP, class Turn>
GPUINT_DEVICE void join(Complex (&x)[RADIX], const Turn& turn) {
  constexpr u32 HALF = 1 << LEVEL, QUARTER = max_of(HALF / 2, 1), FIRST = NODE * 2 * HALF;
  if constexpr (HALF > STEP)
    join<LEVEL - 1, 2 * NODE, STEP>(x, turn), join<LEVEL - 1, 2 * NODE + 1, STEP>(x, turn);
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < HALF; ++i) {
    const u32 first = i / STEP * STEP;
    butterfly(x[FIRST + i], x[FIRST + i + HALF],
              turn(Way::Join, LEVEL, first % QUARTER * (8 / HALF), x[FIRST + i + HALF]),
              first < QUARTER ? 0 : 3);
  }
}

// The first pass, over real numbers if there is one part.
template <u32 PARTS>
GPUINT_DEVICE void split_digits(Complex (&x)[RADIX], const FirstPass& turn) {
  if constexpr (PARTS == 1) {
    const Rotation by = turn.at[0][0];
    const double sin = by.cos * by.tan;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < RADIX / 2; ++i) {
      const double a = x[i].re, b = x[i + RADIX / 2].re;
      x[i] = {fma(by.cos, b, a), sin * b};
      x[i + RADIX / 2] = {fma(-by.cos, b, a), -sin * b};
    }
    split<1, 0, LEVELS>(x, turn), split<1, 1, LEVELS>(x, turn);
  } else {
    split<0, 0, LEVELS>(x, turn);
  }
}

// The points of a part in shared memory, where 16-byte accesses of eight neighbouring threads meet
// all banks, whichever of the three ways they take.
//
// The word just below is 0. Places that depend on it are worked out anew for every transform: ptxas
// would keep those of one transform for the next, in local memory.
struct Exchange {
  Complex* at;
  u32 thread;

  GPUINT_DEVICE static u32* zero(unsigned char* bytes) { return reinterpret_cast<u32*>(bytes) - 1; }

  GPUINT_DEVICE explicit Exchange(unsigned char* bytes)
      : at(reinterpret_cast<Complex*>(bytes)),
        thread(threadIdx.x + *static_cast<volatile u32*>(zero(bytes))) {}

  // Point thread + 256 i.
  GPUINT_DEVICE Complex& column(u32 i) const { return at[(thread ^ (thread / 16 % 8)) + 256 * i]; }
  // Point 256 group + 16 i + lane, for the groups of 16 threads.
  GPUINT_DEVICE Complex& strided(u32 i) const {
    return at[thread / 16 * 256 + 16 * i + (thread % 16 ^ i % 8)];
  }
  // Point 256 group + 16 lane + i.
  GPUINT_DEVICE Complex& row(u32 i) const {
    return at[thread * 16 + (i % 8 ^ thread % 8) + i / 8 * 8];
  }
};

using Last = Rotations<LEVELS - TAIL_LEVELS>;

// Splits points thread + 256 i of a part into nodes of TAIL points, points 16 thread + i; the
// rotations of the last pass. Calls `then` when this thread has read all it needs from the
// exchange.
template <u32 PARTS, class Then>
GPUINT_DEVICE Last transform(Complex (&x)[RADIX], u32 k, unsigned char* bytes, Then then) {
  const Exchange exchange(bytes);
  const PartTables<PARTS>& tables = TABLES<PARTS>.part[k];
  split_digits<PARTS>(x, CONSTANTS<PARTS>.part[k].first);
  __syncthreads();  // nobody reads any more what was there
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.column(i) = x[i];
  const Rotations<LEVELS> second(tables.second, exchange.thread / 16);
  __syncthreads();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.strided(i);
  split<0, 0, LEVELS>(x, second);
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.strided(i) = x[i];
  const Last third(tables.third, exchange.thread);
  __syncwarp();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.row(i);
  then();
  split<0, 0, LEVELS - TAIL_LEVELS>(x, third);
  return third;
}

GPUINT_DEVICE Complex add_product(Complex sum, Complex a, Complex b) {
  return {fma(-a.im, b.im, fma(a.re, b.re, sum.re)), fma(a.im, b.re, fma(a.re, b.im, sum.im))};
}

// x = a x in all nodes from NODE on: products of polynomials modulo t^TAIL - w, w a rotation of the
// last level. Point i of a is other(i).
template <u32 NODE, class Other>
GPUINT_DEVICE void multiply(Complex (&x)[RADIX], const Last& turn, const Other& other) {
  constexpr u32 LEVEL = LEVELS - TAIL_LEVELS - 1, FIRST = NODE * TAIL;
  Complex a[TAIL], b[TAIL];
  GPUINT_UNROLL(4)
  for (u32 i = 0; i < TAIL; ++i) a[i] = other(FIRST + i), b[i] = x[FIRST + i];
  GPUINT_UNROLL(4)
  for (u32 k = 0; k < TAIL; ++k) {
    Complex low{0, 0}, high{0, 0};
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < TAIL; ++i) {
      if (i <= k)
        low = add_product(low, a[i], b[k - i]);
      else
        high = add_product(high, a[i], b[k + TAIL - i]);
    }
    x[FIRST + k] = low;
    if (k + 1 < TAIL)
      x[FIRST + k] = sum(low, turn(Way::Split, LEVEL, SIXTEENTHS<LEVEL, NODE / 2>, high),
                         NODE / 2 % 2 + NODE % 2 * 2);
  }
  if constexpr (FIRST + TAIL < RADIX) multiply<NODE + 1>(x, turn, other);
}

// The way back, but for the weights and the factor POINTS / TAIL.
template <u32 PARTS>
GPUINT_DEVICE void inverse(Complex (&x)[RADIX], unsigned char* bytes) {
  const Exchange exchange(bytes);
  join<LEVELS - 1, 0, TAIL>(x, Constant{});
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.row(i) = x[i];
  const Rotations<LEVELS> second(TABLES<PARTS>.second, exchange.thread % 16 / TAIL);
  __syncwarp();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.strided(i);
  join<LEVELS - 1, 0, 1>(x, second);
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.strided(i) = x[i];
  const Rotations<LEVELS> third(TABLES<PARTS>.third, exchange.thread / TAIL);
  __syncthreads();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.column(i);
  join<LEVELS - 1, 0, 1>(x, third);
}

// The most that a column of a product differs from its integer before it is rounded.
__host__ __device__ constexpr double worst_error(u32 parts) {
  const double pass = 4 + 4 + 7 + 8, last_pass = 4 + 4 + 7, first_pass_back = 1 + 1 + 3,
               weights = 7, products = 9;
  const double sums_there = parts == 1 ? 0 : 2.0 * parts, sums_back = parts == 1 ? 0 : 3.0 * parts;
  const double there = 2 * pass + last_pass + sums_there,
               back = first_pass_back + 2 * pass + weights + sums_back;
  const double relative = (2 * there + products + back) / (1ull << 53);
  return (1 << 30) * (POINTS * parts + 3.0) * relative * (1 + relative);
}

}  // namespace fft

template <class S, Extent E, u32 OPERANDS, bool CLUSTERS = ptx::CLUSTERS>
struct FftProduct {
  static constexpr u32 PARTS = S::BITS / fft::PART_BITS;
  static_assert(S::BITS % fft::PART_BITS == 0 && fft::worst_error(PARTS) < 0.5,
                "columns must round to the right integers");
  static constexpr u32 LIMBS = S::BITS / 32;
  static constexpr u32 PIECES =
      E == Extent::Wide ? 2 * PARTS : PARTS;  // pieces of PART_LIMBS limbs

  using Complex = gpuint::Complex;
  using G = Group<fft::THREADS>;

  static constexpr u32 THREADS = fft::THREADS;
  static constexpr u32 ROWS = 1;
  static constexpr u32 CLUSTER = CLUSTERS && fft::RADIX % PARTS == 0 ? PARTS : 1;
  // Values of the first operand that a thread keeps in registers; the others go to shared memory,
  // and two blocks have room.
  static constexpr u32 KEPT = 4;
  static constexpr u32 STORED = OPERANDS == 1 ? 0 : fft::RADIX - KEPT;
  static constexpr u32 TAILS = 16 * sizeof(u32), FLAGS = CLUSTER == 1 ? 0 : 2 * PARTS * sizeof(u32);
  static constexpr u32 EXCHANGE =
      round_up(G::SCRATCH_BYTES + TAILS + FLAGS + u32{sizeof(u32)}, 128);
  static constexpr u32 VALUES = EXCHANGE + fft::POINTS * sizeof(Complex);
  // Columns of a cluster's block: those of a piece from each of PARTS, and those just below.
  static constexpr u32 COLUMNS = CLUSTER == 1 ? 0 : (fft::POINTS + 16 * PIECES) * u32{sizeof(i64)};
  static constexpr u32 SHARED =
      VALUES + max_of(STORED * fft::THREADS * u32{sizeof(Complex)}, COLUMNS);
  static constexpr u32 SCRATCH = PARTS == CLUSTER ? 0 : PARTS * fft::POINTS * sizeof(Complex);
  static constexpr u32 MIN_BLOCKS = 2;
  static constexpr u32 PERSISTENT = CLUSTERS && PARTS == CLUSTER ? 0 : 1;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    if (threadIdx.x == 0)
      *fft::Exchange::zero(shared + EXCHANGE) = 0;  // digits are awaited before it is looked at
    GPUINT_UNROLL(1)
    for (u64 row = blockIdx.x / CLUSTER; row < o.rows; row += gridDim.x / CLUSTER) {
      Complex x[fft::RADIX];
      if constexpr (PARTS == CLUSTER) {
        const u32 k = blockIdx.x % PARTS;
        prefetch(o, row, k);
        multiply_part(o, row, k, x, shared);
        if constexpr (PARTS == 1)
          write_columns(o, row, x, shared);
        else
          write_together(o, row, k, x, shared);
      } else {
        GPUINT_UNROLL(1)
        for (u32 k = 0; k < PARTS; ++k) prefetch(o, row, k);
        GPUINT_UNROLL(1)
        for (u32 k = 0; k < PARTS; ++k) {
          multiply_part(o, row, k, x, shared);
          Complex* const to = points(o, k);
          GPUINT_UNROLL(16)
          for (u32 i = 0; i < fft::RADIX; ++i) to[i * fft::THREADS] = x[i];
          __syncthreads();  // nobody reads any more what is in shared memory
        }
        write_columns(o, row, x, shared);
      }
    }
  }

 private:
  // Asks for a part of what is read soon: the second operand, and the first one of the row that
  // this block or, where each block has but one row, about the next one begins with: an H200 runs
  // 264 at a time.
  GPUINT_DEVICE static void prefetch(const Operands& o, u64 row, u32 k) {
    constexpr u32 LINE = 32;  // limbs
    const u32 thread = ptx::recomputed(threadIdx.x);
    if (thread >= fft::PART_LIMBS / LINE) return;
    const u64 at = row * LIMBS + k * fft::PART_LIMBS + LINE * thread;
    if (OPERANDS == 2) ptx::prefetch(static_cast<const u32*>(o.in[1]) + at);
    const u64 ahead = PERSISTENT == 1 ? gridDim.x : 264 / CLUSTER;
    if (row + ahead < o.rows) ptx::prefetch(static_cast<const u32*>(o.in[0]) + at + ahead * LIMBS);
  }

  // The product in part k: points thread + 256 i, but for the factor 1 / PARTS.
  GPUINT_DEVICE static void multiply_part(const Operands& o, u64 row, u32 k,
                                          Complex (&x)[fft::RADIX], unsigned char* shared) {
    fetch(o, 0, row, shared);
    read(shared, k, x);
    if constexpr (OPERANDS == 1) {
      const fft::Last last = fft::transform<PARTS>(x, k, shared + EXCHANGE, [] {});
      fft::multiply<0>(x, last, [&](u32 i) { return x[i]; });
    } else {
      fft::transform<PARTS>(x, k, shared + EXCHANGE, [&] {
        __syncthreads();  // nobody reads points any more
        fetch(o, 1, row, shared);
      });
      Complex* const stored =
          reinterpret_cast<Complex*>(shared + VALUES) + ptx::recomputed(threadIdx.x);
      GPUINT_UNROLL(16)
      for (u32 i = KEPT; i < fft::RADIX; ++i) stored[(i - KEPT) * fft::THREADS] = x[i];
      Complex kept[KEPT];
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < KEPT; ++i) kept[i] = x[i];
      read(shared, k, x);
      const fft::Last last = fft::transform<PARTS>(x, k, shared + EXCHANGE, [] {});
      const Complex* const aside =
          reinterpret_cast<const Complex*>(shared + VALUES) + ptx::recomputed(threadIdx.x);
      fft::multiply<0>(x, last, [&](u32 i) {
        return i < KEPT ? kept[i < KEPT ? i : 0] : aside[(i - KEPT) * fft::THREADS];
      });
    }
    fft::inverse<PARTS>(x, shared + EXCHANGE);
    weigh(k, x);
  }

  // Where this thread keeps its points of the product in part k.
  GPUINT_DEVICE static Complex* points(const Operands& o, u32 k) {
    return reinterpret_cast<Complex*>(o.scratch + u64(blockIdx.x) * SCRATCH) + k * fft::POINTS +
           ptx::recomputed(threadIdx.x);
  }

  // Digits on their way: the operand in the exchange, 256 digits at a time and 16 bytes more, so
  // that column 31 modulo 32 of all rows, from which a warp takes what carries into its first
  // column, is spread over the banks.
  static constexpr u32 STAGE_ROW = 256 * 2 + 16;
  static_assert(PARTS * fft::RADIX * STAGE_ROW <= fft::POINTS * sizeof(Complex), "the digits fit");

  GPUINT_DEVICE static void fetch(const Operands& o, u32 operand, u64 row, unsigned char* shared) {
    const u32 thread = ptx::recomputed(threadIdx.x);
    const unsigned char* const from =
        static_cast<const unsigned char*>(o.in[operand]) + row * (4 * LIMBS) + thread * 16;
    unsigned char* const to = shared + EXCHANGE + thread / 32 * STAGE_ROW + thread % 32 * 16;
    GPUINT_UNROLL(8)
    for (u32 c = 0; c < 2 * PARTS; ++c)
      ptx::copy_async(from + c * (16 * fft::THREADS), to + c * (fft::THREADS / 32 * STAGE_ROW));
  }

  // Points thread + 256 i of a part of the operand that was fetched: digits thread + 256 i + 4096 s
  // for all s.
  GPUINT_DEVICE static void read(unsigned char* shared, u32 k, Complex (&x)[fft::RADIX]) {
    const u32 thread = ptx::recomputed(threadIdx.x), lane = thread % 32;
    const unsigned char* const from = shared + EXCHANGE + thread * 2;
    ptx::await_copies();
    __syncthreads();
    const auto add = [&](u32 s, bool lowest) {
      const auto digit_at = [&](i32 at) { return *reinterpret_cast<const i16*>(from + at); };
      // Bit 15 - i of `signs`: the sign of the digit before.
      i32 digit[fft::RADIX];
      u32 own = 0;
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        digit[i] = digit_at((s * fft::RADIX + i) * STAGE_ROW);
        own = own << 1 | static_cast<u32>(digit[i]) >> 31;
      }
      // Lane i looks at the one before row i's first digit of this warp, which may be the last one
      // of the row below.
      const i32 before = (s * fft::RADIX + lane) * STAGE_ROW - 2 * lane -
                         (thread < 32 ? STAGE_ROW - 2 * 256 + 2 : 2);
      const bool negative =
          lane < fft::RADIX && (s + lane != 0 || thread >= 32) && digit_at(before) < 0;
      const u32 first = __brev(__ballot_sync(~0u, negative)) >> 16;
      u32 signs = __shfl_up_sync(~0u, own, 1);
      if (lane == 0) signs = first;
      const Complex turn = lowest ? Complex{1, 0} : fft::CONSTANTS<PARTS>.part[k].turns[s];
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        const bool top = s == PARTS - 1 && i == fft::RADIX - 1 && thread == fft::THREADS - 1;
        const i32 balanced =
            digit[i] + static_cast<i32>(signs >> (15 - i) & 1) + (top ? digit[i] & 0x10000 : 0);
        // 2^52 + 2^15 + balanced, less what it should not have.
        const double value = __hiloint2double(0x43300000, balanced + 0x8000) - 4503599627403264.0;
        if (lowest)
          x[i] = {value, 0};
        else
          x[i] = {fma(value, turn.re, x[i].re), fma(value, turn.im, x[i].im)};
      }
    };
    add(0, true);
    GPUINT_UNROLL(1)
    for (u32 s = 1; s < ptx::recomputed(PARTS); ++s) add(s, false);
  }

  // Point j = thread + 256 i times e(-j' theta / POINTS) TAIL / POINTS, j' being j rounded down to
  // a multiple of TAIL.
  GPUINT_DEVICE static void weigh(u32 k, Complex (&x)[fft::RADIX]) {
    Rotation fine =
        fft::TABLES<PARTS>.part[ptx::recomputed(k)].weights[ptx::recomputed(threadIdx.x) /
                                                            fft::TAIL];
    fine.tan = -fine.tan;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) {
      const fft::Turned z = fft::turn(fine, x[i]);
      const Complex coarse = fft::CONSTANTS<PARTS>.part[k].coarse[i];
      x[i] = {z.cos * fma(-coarse.im, z.v, coarse.re * z.u),
              z.cos * fma(coarse.im, z.u, coarse.re * z.v)};
    }
  }

  // What a part has of the columns of a piece: the real part of y e(-theta piece).
  GPUINT_DEVICE static double project(u32 k, u32 piece, Complex y, double sum) {
    if constexpr (PARTS == 1) return piece == 0 ? y.re : y.im;
    const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[piece];
    return fma(turn.im, y.im, fma(turn.re, y.re, sum));
  }

  // The mean over all parts, rounded.
  GPUINT_DEVICE static i64 rounded(double sum) {
    constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
    const double rounded = fma(sum, 1.0 / PARTS, ROUNDER);
    GPUINT_ASSERT(fabs(fma(sum, 1.0 / PARTS, ROUNDER - rounded)) <= fft::worst_error(PARTS),
                  "columns are near integers");
    return __double_as_longlong(rounded) - 0x4338000000000000;
  }

  GPUINT_DEVICE static i64 column(u32 piece, const Complex (&y)[PARTS]) {
    double sum = 0;
    GPUINT_UNROLL(4)
    for (u32 k = 0; k < PARTS; ++k) sum = project(k, piece, y[k], sum);
    return rounded(sum);
  }

  // The columns, two pieces at a time, make limbs: where one block has all parts.
  GPUINT_DEVICE static void write_columns(const Operands& o, u64 row,
                                          const Complex (&x)[fft::RADIX], unsigned char* shared) {
    G group(shared);
    i64* const columns = reinterpret_cast<i64*>(shared + EXCHANGE);
    u32* const tails = reinterpret_cast<u32*>(shared + G::SCRATCH_BYTES);
    group.sync();  // nobody reads any more what was there
    u32 above = 0;
    GPUINT_UNROLL(1)
    for (u32 first = 0; first < PIECES; first += 2) {
      const u32 thread = ptx::recomputed(threadIdx.x);
      const auto store = [&](u32 i, const Complex(&y)[PARTS]) {
        columns[place(thread + 256 * i)] = column(first, y);
        if (PIECES > 1)
          columns[fft::POINTS + place(thread + 256 * i)] = column(min_of(first + 1, PIECES - 1), y);
      };
      if constexpr (PARTS == 1) {
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) store(i, {x[i]});
      } else {
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < fft::RADIX; ++i) {
          Complex y[PARTS];
          GPUINT_UNROLL(4)
          for (u32 k = 0; k < PARTS; ++k) y[k] = points(o, k)[i * fft::THREADS];
          store(i, y);
        }
      }
      group.sync();
      above = resolve(group, columns, tails, above, piece_of(o, row, first));
      if (first + 1 < PIECES)
        above = resolve(group, columns + fft::POINTS, tails, above, piece_of(o, row, first + 1));
    }
  }

  // The same where every block of a cluster has a part. Block k works out the columns of its share,
  // POINTS / PARTS columns in a row of every piece, from the points that all blocks have there, and
  // makes limbs of them.
  GPUINT_DEVICE static void write_together(const Operands& o, u64 row, u32 k,
                                           const Complex (&x)[fft::RADIX], unsigned char* shared) {
    constexpr u32 SHARE = fft::RADIX / PARTS, ROUNDS = PIECES / PARTS;
    G group(shared);
    const u32 thread = ptx::recomputed(threadIdx.x);
    u32* const tails = reinterpret_cast<u32*>(shared + G::SCRATCH_BYTES);
    i64* const columns = reinterpret_cast<i64*>(shared + VALUES);
    i64* const below_share = columns + fft::POINTS;
    const fft::Exchange exchange(shared + EXCHANGE);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) exchange.column(i) = x[i];
    ptx::cluster_sync();
    const auto points_of = [&](Complex* at, Complex(&y)[PARTS]) {
      GPUINT_UNROLL(4)
      for (u32 b = 0; b < PARTS; ++b) y[b] = *ptx::of_block(at, b);
    };
    // The 16 columns below the share, of the same piece or, of the first share, of the piece below.
    if (thread >= fft::THREADS - 16) {
      Complex y[PARTS];
      points_of(&exchange.column((SHARE * k + fft::RADIX - 1) % fft::RADIX), y);
      for (u32 piece = k == 0 ? 1 : 0; piece < PIECES; ++piece)
        below_share[piece * 16 + thread % 16] = column(k == 0 ? piece - 1 : piece, y);
    }
    Complex y[SHARE][PARTS];
    GPUINT_UNROLL(16)
    for (u32 n = 0; n < SHARE; ++n) points_of(&exchange.column(SHARE * k + n), y[n]);

    // Warps of a piece in this share; this one's piece, the first warp and the first thread having
    // the lowest columns.
    constexpr u32 WARPS = G::WARPS / PARTS, FIELD = (1u << WARPS) - 1;
    const u32 warp = thread / 32, mine = warp / WARPS;
    u32 limbs[ROUNDS][8], g[ROUNDS], p[ROUNDS], warps_g[ROUNDS], warps_p[ROUNDS], all_g = 0,
                                                                                  all_p = 0;
    GPUINT_UNROLL(2)
    for (u32 round = 0; round < ROUNDS; ++round) {
      // Since the second barrier of the round before, nobody reads its columns.
      GPUINT_UNROLL(4)
      for (u32 s = 0; s < PARTS; ++s) {
        const u32 piece = round * PARTS + s;
        GPUINT_UNROLL(16)
        for (u32 n = 0; n < SHARE; ++n)
          columns[place((s * SHARE + n) * fft::THREADS + thread)] = column(piece, y[n]);
      }
      group.sync();
      const bool lowest = round + mine + k == 0;
      const u32 handed = add_columns(columns, lowest && thread == 0, limbs[round]);
      if (group.lane == 31) tails[warp] = handed;
      u32 below = group.from_below(handed);
      group.sync();
      if (group.lane == 0) {
        if (warp % WARPS != 0) {
          below = tails[warp - 1];
        } else if (lowest) {
          below = 0;
        } else {
          u32 unused[8];
          const longlong2* const pairs =
              reinterpret_cast<const longlong2*>(below_share) + (round * PARTS + mine) * 8;
          below = add_up([&](u32 i) { return pairs[i]; }, false, unused);
        }
      }
      const Out out = take(limbs[round], below);
      g[round] = group.vote(out.generate), p[round] = group.vote(out.propagate);
      const u32 word =
          group.gather(CarryLookahead(g[round], p[round]).out_of(32) | (p[round] == ~0u ? 2u : 0u));
      warps_g[round] = __ballot_sync(~0u, word & 1), warps_p[round] = __ballot_sync(~0u, word & 2);
      GPUINT_UNROLL(4)
      for (u32 s = 0; s < PARTS; ++s) {
        const u32 at = (round * PARTS + s) * PARTS + k;
        const u32 of_g = warps_g[round] >> s * WARPS & FIELD,
                  of_p = warps_p[round] >> s * WARPS & FIELD;
        all_g |= CarryLookahead(of_g, of_p).out_of(WARPS) << at;
        all_p |= (of_p == FIELD ? 1u : 0u) << at;
      }
    }
    // Shares of pieces generate or propagate carries like threads and warps: bit piece * PARTS +
    // block.
    u32* const flags = reinterpret_cast<u32*>(shared + G::SCRATCH_BYTES + TAILS);
    if (thread < PARTS) {
      u32* const to = ptx::of_block(flags + 2 * k, thread);
      to[0] = all_g, to[1] = all_p;
    }
    ptx::cluster_sync();
    all_g = flags[0], all_p = flags[1];
    GPUINT_UNROLL(4)
    for (u32 b = 1; b < PARTS; ++b) all_g |= flags[2 * b], all_p |= flags[2 * b + 1];
    const CarryLookahead shares(all_g, all_p);
    GPUINT_UNROLL(2)
    for (u32 round = 0; round < ROUNDS; ++round) {
      const u32 piece = round * PARTS + mine;
      const u32 of_g = warps_g[round] >> mine * WARPS & FIELD,
                of_p = warps_p[round] >> mine * WARPS & FIELD;
      const u32 into_share = shares.into(piece * PARTS + k);
      const u32 into_warp = CarryLookahead(of_g, of_p, into_share).into(warp % WARPS);
      apply_carry<Direction::Add>(limbs[round],
                                  CarryLookahead(g[round], p[round], into_warp).into(group.lane));
      u32* const to = piece_of(o, row, piece);
      if (to != nullptr)
        store_limbs(limbs[round],
                    to + (k * fft::PART_LIMBS / PARTS) - mine * (fft::PART_LIMBS / PARTS));
    }
  }

  // Where column j stands: pairs of columns, spread over the banks for threads that read 16 in a
  // row.
  GPUINT_DEVICE static u32 place(u32 j) { return j ^ (j / 16 % 8) * 2; }

  // Where a piece of the result goes; null if it is not wanted.
  GPUINT_DEVICE static u32* piece_of(const Operands& o, u64 row, u32 piece) {
    const u32 half = piece / PARTS;
    u32* const limbs = half_of_product<E>(o, row, half, LIMBS);
    return limbs == nullptr ? nullptr : limbs + (piece - half * PARTS) * fft::PART_LIMBS;
  }

  // 16 columns, pair i of which is at(i), make 8 limbs, before carries come in, and what is handed
  // on to the next 16. Sums of columns are signed, so 2^30 more than there is is handed on, which
  // the next one takes off first, unless it has the lowest columns. Since columns are below 2^45,
  // what is handed on is between 0 and 2^31.
  template <class At>
  GPUINT_DEVICE static u32 add_up(const At& at, bool lowest, u32 (&limbs)[8]) {
    constexpr i64 BIAS = 1 << 30;
    i64 sum = lowest ? 0 : -BIAS;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < 8; ++i) {
      const longlong2 pair = at(i);
      sum += pair.x;
      limbs[i] = static_cast<u32>(sum) & 0xffff;
      sum = (sum >> 16) + pair.y;
      limbs[i] |= static_cast<u32>(sum) << 16;
      sum >>= 16;
    }
    return static_cast<u32>(sum + BIAS);
  }

  // The same of columns 16 thread and up.
  GPUINT_DEVICE static u32 add_columns(const i64* columns, bool lowest, u32 (&limbs)[8]) {
    const u32 thread = ptx::recomputed(threadIdx.x);
    return add_up(
        [&](u32 i) {
          return *reinterpret_cast<const longlong2*>(columns + place(16 * thread + 2 * i));
        },
        lowest, limbs);
  }

  // Takes what was handed on; whether a carry goes out, and whether one would go through.
  struct Out {
    bool generate, propagate;
  };
  GPUINT_DEVICE static Out take(u32 (&limbs)[8], u32 below) {
    u32 carry = 0;
    limbs[0] = add_carry<u32>(limbs[0], below, carry);
    u32 all = limbs[0];
    GPUINT_UNROLL(7)
    for (u32 i = 1; i < 8; ++i) {
      limbs[i] = add_carry<u32>(limbs[i], 0, carry);
      all &= limbs[i];
    }
    return {carry != 0, all == ~0u};
  }

  GPUINT_DEVICE static void store_limbs(const u32 (&limbs)[8], u32* to) {
    if (to == nullptr) return;
    const u32 thread = ptx::recomputed(threadIdx.x);
    store_word(to + 8 * thread, limbs);
    store_word(to + 8 * thread + 4, limbs + 4);
  }

  // The limbs of a piece, given what carries into it; what carries out of it.
  GPUINT_DEVICE static u32 resolve(G& group, const i64* columns, u32* tails, u32 above, u32* to) {
    const u32 thread = ptx::recomputed(threadIdx.x);
    // `above` is 0 only where nothing was handed on.
    u32 limbs[8];
    const u32 handed = add_columns(columns, thread == 0 && above == 0, limbs);
    if (group.lane == 31) tails[thread / 32] = handed;
    u32 below = group.from_below(handed);
    group.sync();
    if (group.lane == 0) below = thread == 0 ? above : tails[thread / 32 - 1];
    const u32 last = tails[G::WARPS - 1];
    const Out out = take(limbs, below);
    const Carries carries = resolve_carries(group, out.generate, out.propagate, 0, 0);
    apply_carry<Direction::Add>(limbs, carries.in);
    store_limbs(limbs, to);
    return last + carries.out;
  }
};

template <class S>
struct MulLow<S, Fft> : FftProduct<S, Extent::Low, 2> {};
template <class S>
struct MulWide<S, Fft> : FftProduct<S, Extent::Wide, 2> {};
template <class S>
struct SquareLow<S, Fft> : FftProduct<S, Extent::Low, 1> {};

}  // namespace gpuint
