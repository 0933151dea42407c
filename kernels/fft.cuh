// Products by complex floating-point transforms, exact: low (mod 2^BITS), wide (2 * BITS) and the low square, for
// BITS = 65536 PARTS, PARTS = 1 .. 4.
//
// Digits. An operand is n = BITS / 16 digits d[j] of -2^15 .. 2^15, balanced by handing the sign bit of a digit to the next one;
// the top digit stays unsigned, up to 2^16. So the polynomials a, b with these digits give the integers at t = 2^16, all
// columns of a b are below 2^30 (n + 3).
//
// Right-angle convolution. a b mod t^n - i has the low columns of a b as its real and the high columns as its imaginary parts:
// one complex transform of n points does what two real ones of 2n points would.
//
// Parts. t^n - i is the product of t^m - e(theta_k) over k < PARTS, with m = 4096, theta_k = (k + 1/4) / PARTS and
// e(x) = exp(2 pi i x). A part is the operand mod t^m - e(theta_k): m points that 256 threads hold, 16 each. Columns j + m s of
// the product come from points j of all parts: the real part of the mean of y_k[j] e(-s theta_k), where s >= PARTS gives the high
// columns, since e(-PARTS theta_k) = -i.
//
// Transforms. t^m - e(theta) = (t^(m/2) - e(theta/2)) (t^(m/2) + e(theta/2)): a level of splitting takes
//     a, b -> a + b e(theta/2), a - b e(theta/2)
// to polynomials modulo t^(m/2) - e(theta/2) and t^(m/2) - e(theta/2 + 1/2); after 12 levels there are m numbers, the values at
// e((theta + r) / m), r in bit-reversed order. Four levels are done in registers at a time: columns of 256 points apart, then of
// 16 apart, then 16 in a row. Only the first of the two exchanges concerns all threads. The inverse is that of the ordinary
// transform (J. W. Cooley and J. W. Tukey, 1965) from bit-reversed order, then a rotation of point j by -j theta / m.
// Within four levels that begin with theta, the rotations of a level are those of its first node, e(theta / 2^(level+1)), turned by
// a constant 0 .. 3 sixteenths: four rotations from the table do for 15 nodes.
//
// Exactness. Let eps = 2^-53. A complex rounding is a factor 1 + d, |d| <= eps, since it is one in each component. A product with
// a rotation is cos (1 + d) of (u, v) with tan (1 + d), and one rounding: |error| <= 3 eps |b|; a constant turn after it has
// another tangent (exact for an eighth), cosine and product of cosines: 4 eps more; the addition rounds once. So a level changes a
// path from an input to an output by a factor 1 + d with |d| <= 4 eps, or 8 eps where there is a constant turn. On the forward way
// that bounds the error's Euclidean norm, on the way back, where a sum over all values with |A B| <= m |a| |b| is left, each
// number (the method of R. Brent, C. Percival and P. Zimmermann, Math. Comp. 76, 2007, who have 4 eps for a level). `worst_error`
// adds up all factors, those for parts, products and weights too, and multiplies by |a| |b| <= 2^30 (n + 3). It is below 0.45 at
// 2^18 bits, so that rounding to the nearest integer is right for every operand.
#pragma once
#include "carry.cuh"
#include "product.cuh"
#include "ptx.cuh"
#include "rotation.cuh"

namespace gpuint {

// The strategy. It multiplies whole rows only: products inside of other kernels have other lengths.
struct Fft {};

namespace fft {

constexpr u32 POINTS = 4096, RADIX = 16, LEVELS = 4, THREADS = 256;
constexpr u32 PART_BITS = 16 * POINTS, PART_LIMBS = PART_BITS / 32;

// e(theta_k j / denominator)
template <u32 PARTS>
__host__ __device__ constexpr exact::Unit part_unit(u32 k, u32 j, u32 denominator) {
  return exact::unit((4 * k + 1) * j, 4 * PARTS * denominator);
}

// The rotations of a pass for COUNT groups of threads: e(theta / 2^(level+1)), theta = (base + order(group)) / COUNT.
template <u32 COUNT>
struct PassTable {
  Rotation at[LEVELS][COUNT] = {};

  __host__ __device__ constexpr PassTable() {}

  template <class Order>
  __host__ __device__ constexpr PassTable(u32 base, u32 base_denominator, Order order) {
    for (u32 level = 0; level < LEVELS; ++level) {
      const u32 turn = COUNT << (level + 1);
      const exact::Progression<COUNT> units(exact::unit(base, base_denominator * turn), exact::unit(1, turn));
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

// What depends on the part.
template <u32 PARTS>
struct PartTables {
  PassTable<1> first;
  PassTable<16> second;           // by group of 16 threads
  PassTable<256> third;           // by thread
  Rotation weights[256] = {};     // e(theta j / POINTS), conjugated where it is used
  Complex coarse[RADIX] = {};     // e(-theta 256 i / POINTS) / POINTS
  Complex turns[2 * PARTS] = {};  // e(theta s)

  __host__ __device__ constexpr PartTables() {}

  __host__ __device__ constexpr explicit PartTables(u32 k)
      : first(4 * k + 1, 4 * PARTS, Reversed<0>{}),
        second(4 * k + 1, 4 * PARTS, Reversed<4>{}),
        third(4 * k + 1, 4 * PARTS, Reversed<8>{}) {
    const exact::Progression<256> fine(exact::unit(0, 1), part_unit<PARTS>(k, 1, POINTS));
    for (u32 j = 0; j < 256; ++j) weights[j] = exact::rotation(fine.at[j]);
    for (u32 i = 0; i < RADIX; ++i) {
      const exact::Unit unit = part_unit<PARTS>(k, i, RADIX);
      coarse[i] = {unit.cos.hi / POINTS, -unit.sin.hi / POINTS};
    }
    for (u32 s = 0; s < 2 * PARTS; ++s) {
      const exact::Unit unit = part_unit<PARTS>(k, s, 1);
      turns[s] = {unit.cos.hi, unit.sin.hi};
    }
  }
};

template <u32 PARTS>
struct Tables {
  PartTables<PARTS> part[PARTS];
  PassTable<16> second;  // of the inverse, by thread of its group
  PassTable<256> third;  // of the inverse, by thread

  __host__ __device__ constexpr Tables() : second(0, 1, Natural{}), third(0, 1, Natural{}) {
    for (u32 k = 0; k < PARTS; ++k) part[k] = PartTables<PARTS>(k);
  }
};

template <u32 PARTS>
__device__ constexpr Tables<PARTS> TABLES{};

// cos (u + i v)
struct Turned {
  double cos, u, v;
};

GPUINT_DEVICE Turned turn(Rotation by, Complex z) { return {by.cos, fma(-by.tan, z.im, z.re), fma(by.tan, z.re, z.im)}; }

// e(j / 16)
GPUINT_DEVICE Rotation constant_turn(u32 j) {
  return j == 0   ? Rotation{1, 0}
         : j == 1 ? Rotation{0.92387953251128675613, 0.41421356237309504880}
         : j == 2 ? Rotation{0.70710678118654752440, 1}
                  : Rotation{0.38268343236508977173, 2.41421356237309504880};
}

// The rotations of a pass. The nodes of a level that differ by more than quarter turns are constant turns, in sixteenths, from the
// first one.
enum class Way { Split, Join };

template <u32 COUNT>
struct Tabled {
  const PassTable<COUNT>& table;
  u32 group;

  GPUINT_DEVICE Turned operator()(Way way, u32 level, u32 sixteenths, Complex z) const {
    Rotation by = table.at[level][group], more = constant_turn(sixteenths);
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

// a, b = a + z i^quarters, a - z i^quarters
GPUINT_DEVICE void butterfly(Complex& a, Complex& b, Turned z, u32 quarters) {
  const Complex c = a;
  const double u = quarters == 0 ? z.u : quarters == 1 ? -z.v : z.v;
  const double v = quarters == 0 ? z.v : quarters == 1 ? z.u : -z.u;
  a = {fma(z.cos, u, c.re), fma(z.cos, v, c.im)};
  b = {fma(-z.cos, u, c.re), fma(-z.cos, v, c.im)};
}

// A node and all below it, depth first: few rotations are needed at a time.
template <u32 LEVEL, u32 NODE, class Turn>
GPUINT_DEVICE void split(Complex (&x)[RADIX], const Turn& turn) {
  constexpr u32 HALF = RADIX >> (LEVEL + 1), FIRST = NODE * 2 * HALF;
  constexpr u32 SIXTEENTHS = bit_reversed(NODE & ~1u, LEVEL) << (LEVELS - 1 - LEVEL);
  GPUINT_UNROLL(8)
  for (u32 i = FIRST; i < FIRST + HALF; ++i)
    butterfly(x[i], x[i + HALF], turn(Way::Split, LEVEL, SIXTEENTHS, x[i + HALF]), NODE % 2);
  if constexpr (HALF > 1) split<LEVEL + 1, 2 * NODE>(x, turn), split<LEVEL + 1, 2 * NODE + 1>(x, turn);
}

template <u32 LEVEL, u32 NODE, class Turn>
GPUINT_DEVICE void join(Complex (&x)[RADIX], const Turn& turn) {
  constexpr u32 HALF = 1 << LEVEL, QUARTER = max_of(HALF / 2, 1), FIRST = NODE * 2 * HALF;
  if constexpr (HALF > 1) join<LEVEL - 1, 2 * NODE>(x, turn), join<LEVEL - 1, 2 * NODE + 1>(x, turn);
  GPUINT_UNROLL(8)
  for (u32 i = 0; i < HALF; ++i)
    butterfly(x[FIRST + i], x[FIRST + i + HALF], turn(Way::Join, LEVEL, i % QUARTER * (8 / HALF), x[FIRST + i + HALF]),
              i < QUARTER ? 0 : 3);
}

// The first pass, over real numbers if there is one part.
template <u32 PARTS>
GPUINT_DEVICE void split_digits(Complex (&x)[RADIX], const PassTable<1>& table) {
  const Tabled<1> turn{table, 0};
  if constexpr (PARTS == 1) {
    const Rotation by = table.at[0][0];
    const double sin = by.cos * by.tan;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < RADIX / 2; ++i) {
      const double a = x[i].re, b = x[i + RADIX / 2].re;
      x[i] = {fma(by.cos, b, a), sin * b};
      x[i + RADIX / 2] = {fma(-by.cos, b, a), -sin * b};
    }
    split<1, 0>(x, turn), split<1, 1>(x, turn);
  } else {
    split<0, 0>(x, turn);
  }
}

// The points of a part in shared memory, where 16-byte accesses of eight neighbouring threads meet all banks, whichever of the
// three ways they take.
struct Exchange {
  Complex* at;
  u32 thread = ptx::recomputed(threadIdx.x);

  GPUINT_DEVICE explicit Exchange(unsigned char* bytes) : at(reinterpret_cast<Complex*>(bytes)) {}

  // Point thread + 256 i.
  GPUINT_DEVICE Complex& column(u32 i) const { return at[(thread ^ (thread / 16 % 8)) + 256 * i]; }
  // Point 256 group + 16 i + lane, for the groups of 16 threads.
  GPUINT_DEVICE Complex& strided(u32 i) const { return at[thread / 16 * 256 + 16 * i + (thread % 16 ^ i % 8)]; }
  // Point 256 group + 16 lane + i.
  GPUINT_DEVICE Complex& row(u32 i) const { return at[thread * 16 + (i ^ thread % 8)]; }
};

// Values of the part, from points thread + 256 i of it: values 16 thread + i.
template <u32 PARTS>
GPUINT_DEVICE void transform(Complex (&x)[RADIX], const PartTables<PARTS>& tables, unsigned char* bytes) {
  const Exchange exchange(bytes);
  split_digits<PARTS>(x, tables.first);
  __syncthreads();  // nobody reads any more what was there
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.column(i) = x[i];
  __syncthreads();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.strided(i);
  split<0, 0>(x, Tabled<16>{tables.second, exchange.thread / 16});
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.strided(i) = x[i];
  __syncwarp();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.row(i);
  split<0, 0>(x, Tabled<256>{tables.third, exchange.thread});
}

// The way back, but for the weights and the factor POINTS.
template <u32 PARTS>
GPUINT_DEVICE void inverse(Complex (&x)[RADIX], unsigned char* bytes) {
  const Exchange exchange(bytes);
  join<LEVELS - 1, 0>(x, Constant{});
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.row(i) = x[i];
  __syncwarp();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.strided(i);
  join<LEVELS - 1, 0>(x, Tabled<16>{TABLES<PARTS>.second, exchange.thread % 16});
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) exchange.strided(i) = x[i];
  __syncthreads();
  GPUINT_UNROLL(16)
  for (u32 i = 0; i < RADIX; ++i) x[i] = exchange.column(i);
  join<LEVELS - 1, 0>(x, Tabled<256>{TABLES<PARTS>.third, exchange.thread});
}

// The most that a column of a product differs from its integer before it is rounded.
__host__ __device__ constexpr double worst_error(u32 parts) {
  const double pass = 4 + 4 + 7 + 8, first_pass_back = 1 + 1 + 3 + 4, weights = 7, products = 2;
  const double sums_there = parts == 1 ? 0 : 2.0 * parts, sums_back = parts == 1 ? 0 : 3.0 * parts;
  const double there = 3 * pass + sums_there, back = first_pass_back + 2 * pass + weights + sums_back;
  const double relative = (2 * there + products + back) / (1ull << 53);
  return (1 << 30) * (POINTS * parts + 3.0) * relative * (1 + relative);
}

}  // namespace fft

template <class S, Extent E, u32 OPERANDS>
struct FftProduct {
  static constexpr u32 PARTS = S::BITS / fft::PART_BITS;
  static_assert(S::BITS % fft::PART_BITS == 0 && fft::worst_error(PARTS) < 0.5, "columns must round to the right integers");
  static constexpr u32 LIMBS = S::BITS / 32;
  static constexpr u32 PIECES = E == Extent::Wide ? 2 * PARTS : PARTS;  // pieces of PART_LIMBS limbs

  using Complex = gpuint::Complex;
  using G = Group<fft::THREADS>;
  // Values that a thread can put aside in shared memory, so that two blocks have room.
  static constexpr u32 STORED = OPERANDS == 1 && PARTS == 1 ? 0 : 12;

  static constexpr u32 THREADS = fft::THREADS;
  static constexpr u32 ROWS = 1;
  static constexpr u32 TAILS = 16 * sizeof(u32);
  static constexpr u32 EXCHANGE = round_up(G::SCRATCH_BYTES + TAILS, 16);
  static constexpr u32 VALUES = EXCHANGE + fft::POINTS * sizeof(Complex);
  static constexpr u32 SHARED = VALUES + STORED * fft::THREADS * sizeof(Complex);
  static constexpr u32 SCRATCH = STORED == 0 ? 0 : (PARTS * fft::RADIX - STORED) * fft::THREADS * sizeof(Complex);
  static constexpr u32 MIN_BLOCKS = 2;
  static constexpr u32 PERSISTENT = 1;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    GPUINT_UNROLL(1)
    for (u64 row = blockIdx.x; row < o.rows; row += gridDim.x) {
      if constexpr (PARTS <= 2) prefetch(o, row + gridDim.x);
      Complex x[fft::RADIX];
      GPUINT_UNROLL(1)
      for (u32 k = 0; k < PARTS; ++k) {
        const auto& tables = fft::TABLES<PARTS>.part[k];
        read(o, 0, row, tables, x);
        fft::transform(x, tables, shared + EXCHANGE);
        if constexpr (OPERANDS == 1) {
          GPUINT_UNROLL(16)
          for (u32 i = 0; i < fft::RADIX; ++i) x[i] = product(x[i], x[i]);
        } else {
          GPUINT_UNROLL(16)
          for (u32 i = 0; i < fft::RADIX; ++i) aside(o, shared, i) = x[i];
          read(o, 1, row, tables, x);
          fft::transform(x, tables, shared + EXCHANGE);
          GPUINT_UNROLL(16)
          for (u32 i = 0; i < fft::RADIX; ++i) x[i] = product(aside(o, shared, i), x[i]);
        }
        fft::inverse<PARTS>(x, shared + EXCHANGE);
        weigh(tables, x);
        if (k + 1 < PARTS) {
          Complex* const to = points(o, k);
          GPUINT_UNROLL(16)
          for (u32 i = 0; i < fft::RADIX; ++i) to[i * fft::THREADS] = x[i];
        }
      }
      write(o, row, x, shared);
    }
  }

 private:
  // Asks for a row's operands, a line a thread.
  GPUINT_DEVICE static void prefetch(const Operands& o, u64 row) {
    constexpr u32 LINE = 32;  // limbs
    if (row >= o.rows || threadIdx.x >= LIMBS / LINE) return;
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < OPERANDS; ++i) ptx::prefetch(static_cast<const u32*>(o.in[i]) + row * LIMBS + LINE * threadIdx.x);
  }

  // Where this thread keeps its points of the product in part k.
  GPUINT_DEVICE static Complex* points(const Operands& o, u32 k) {
    return reinterpret_cast<Complex*>(o.scratch + u64(blockIdx.x) * SCRATCH) + k * fft::POINTS + ptx::recomputed(threadIdx.x);
  }

  // Where this thread puts values aside: STORED of them in shared memory, the others above the points of all parts but the last.
  GPUINT_DEVICE static Complex& aside(const Operands& o, unsigned char* shared, u32 i) {
    if (i >= STORED) return points(o, PARTS - 1)[(i - STORED) * fft::THREADS];
    return (reinterpret_cast<Complex*>(shared + VALUES) + ptx::recomputed(threadIdx.x))[i * fft::THREADS];
  }

  // Points thread + 256 i of a part of an operand: digits thread + 256 i + 4096 s for all s.
  GPUINT_DEVICE static void read(const Operands& o, u32 operand, u64 row, const fft::PartTables<PARTS>& tables,
                                 Complex (&x)[fft::RADIX]) {
    const u16* const digits = static_cast<const u16*>(o.in[operand]) + row * (2 * LIMBS);
    const u32 thread = ptx::recomputed(threadIdx.x);
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) x[i] = {0, 0};
    GPUINT_UNROLL(1)
    for (u32 s = 0; s < ptx::recomputed(PARTS); ++s) {
      const u32 first = s * fft::POINTS + thread;
      u32 digit[fft::RADIX];
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) digit[i] = __ldg(digits + first + 256 * i);
      const Complex turn = PARTS == 1 ? Complex{1, 0} : tables.turns[s];
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        const u32 carry = i == 0 && first == 0 ? 0 : __ldg(digits + first + 256 * i - 1) >> 15;
        const bool top = s == PARTS - 1 && i == fft::RADIX - 1 && thread == fft::THREADS - 1;
        const u32 balanced = digit[i] + carry - (top ? 0 : (digit[i] >> 15) << 16);
        // 2^52 + 2^31 + balanced, less what it should not have.
        const double value = __hiloint2double(0x43300000, static_cast<int>(balanced ^ 0x80000000)) - 4503601774854144.0;
        if constexpr (PARTS == 1)
          x[i] = {value, 0};
        else
          x[i] = {fma(value, turn.re, x[i].re), fma(value, turn.im, x[i].im)};
      }
    }
  }

  GPUINT_DEVICE static Complex product(Complex a, Complex b) {
    return {fma(-a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)};
  }

  // Point j = thread + 256 i times e(-j theta / POINTS) / POINTS.
  GPUINT_DEVICE static void weigh(const fft::PartTables<PARTS>& tables, Complex (&x)[fft::RADIX]) {
    Rotation fine = tables.weights[ptx::recomputed(threadIdx.x)];
    fine.tan = -fine.tan;
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) {
      const fft::Turned z = fft::turn(fine, x[i]);
      const Complex y = product(tables.coarse[i], {z.u, z.v});
      x[i] = {z.cos * y.re, z.cos * y.im};
    }
  }

  // What a part has of the columns of a piece: the real part of y e(-theta piece).
  GPUINT_DEVICE static double project(u32 k, u32 piece, Complex y, double sum) {
    if constexpr (PARTS == 1) return piece == 0 ? y.re : y.im;
    const Complex turn = fft::TABLES<PARTS>.part[k].turns[piece];
    return fma(turn.im, y.im, fma(turn.re, y.re, sum));
  }

  // The mean over all parts, rounded.
  GPUINT_DEVICE static i64 rounded(double sum) {
    constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
    const double rounded = fma(sum, 1.0 / PARTS, ROUNDER);
    GPUINT_ASSERT(fabs(fma(sum, 1.0 / PARTS, ROUNDER - rounded)) <= fft::worst_error(PARTS), "columns are near integers");
    return __double_as_longlong(rounded) - 0x4338000000000000;
  }

  // The columns, two pieces at a time, make limbs.
  GPUINT_DEVICE static void write(const Operands& o, u64 row, const Complex (&x)[fft::RADIX], unsigned char* shared) {
    G group(shared);
    i64* const columns = reinterpret_cast<i64*>(shared + EXCHANGE);
    u32* const tails = reinterpret_cast<u32*>(shared + G::SCRATCH_BYTES);
    group.sync();  // nobody reads any more what was there
    if constexpr (PARTS > 1) {
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) aside(o, shared, i) = x[i];
    }
    u32 above = 0;
    GPUINT_UNROLL(1)
    for (u32 first = 0; first < PIECES; first += 2) {
      const u32 thread = ptx::recomputed(threadIdx.x);
      const auto store = [&](u32 i, Complex last) {
        double sums[2] = {};
        GPUINT_UNROLL(4)
        for (u32 k = 0; k < PARTS; ++k) {
          const Complex y = k + 1 < PARTS ? points(o, k)[i * fft::THREADS] : last;
          sums[0] = project(k, first, y, sums[0]);
          if (PIECES > 1) sums[1] = project(k, min_of(first + 1, PIECES - 1), y, sums[1]);
        }
        columns[place(thread + 256 * i)] = rounded(sums[0]);
        if (PIECES > 1) columns[fft::POINTS + place(thread + 256 * i)] = rounded(sums[1]);
      };
      if constexpr (PARTS == 1) {
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) store(i, x[i]);
      } else {
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < fft::RADIX; ++i) store(i, aside(o, shared, i));
      }
      group.sync();
      above = resolve(group, columns, tails, above, piece_of(o, row, first));
      if (first + 1 < PIECES) above = resolve(group, columns + fft::POINTS, tails, above, piece_of(o, row, first + 1));
    }
  }

  // Where column j stands: pairs of columns, spread over the banks for threads that read 16 in a row.
  GPUINT_DEVICE static u32 place(u32 j) { return j ^ (j / 16 % 8) * 2; }

  // Where a piece of the result goes; null if it is not wanted.
  GPUINT_DEVICE static u32* piece_of(const Operands& o, u64 row, u32 piece) {
    const u32 half = piece / PARTS;
    u32* const limbs = half_of_product<E>(o, row, half, LIMBS);
    return limbs == nullptr ? nullptr : limbs + (piece - half * PARTS) * fft::PART_LIMBS;
  }

  // The limbs of a piece, 8 a thread from 16 columns, given what carries into it; what carries out of it. Sums of columns are
  // signed, so each thread hands on 2^30 more than it has, which the next one takes off first. Since columns are below 2^45, what
  // is handed on is between 0 and 2^31.
  GPUINT_DEVICE static u32 resolve(G& group, const i64* columns, u32* tails, u32 above, u32* to) {
    constexpr i64 BIAS = 1 << 30;
    const u32 thread = ptx::recomputed(threadIdx.x);
    // `above` is 0 only where nothing was handed on.
    i64 sum = thread == 0 && above == 0 ? 0 : -BIAS;
    u32 limbs[8];
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < 8; ++i) {
      const longlong2 pair = *reinterpret_cast<const longlong2*>(columns + place(16 * thread + 2 * i));
      sum += pair.x;
      limbs[i] = static_cast<u32>(sum) & 0xffff;
      sum = (sum >> 16) + pair.y;
      limbs[i] |= static_cast<u32>(sum) << 16;
      sum >>= 16;
    }
    const u32 handed = static_cast<u32>(sum + BIAS);
    if (group.lane == 31) tails[thread / 32] = handed;
    u32 below = group.from_below(handed);
    group.sync();
    if (group.lane == 0) below = thread == 0 ? above : tails[thread / 32 - 1];
    const u32 last = tails[G::WARPS - 1];
    u32 carry = 0;
    limbs[0] = add_carry<u32>(limbs[0], below, carry);
    u32 all = limbs[0];
    GPUINT_UNROLL(7)
    for (u32 i = 1; i < 8; ++i) {
      limbs[i] = add_carry<u32>(limbs[i], 0, carry);
      all &= limbs[i];
    }
    const Carries carries = resolve_carries(group, carry != 0, all == ~0u, 0, 0);
    apply_carry<Direction::Add>(limbs, carries.in);
    if (to != nullptr) {
      store_word(to + 8 * thread, limbs);
      store_word(to + 8 * thread + 4, limbs + 4);
    }
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
