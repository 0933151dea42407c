// Twiddles of the transforms of passes.cuh, and their products with a point.
//
// Within four levels that begin with theta, the rotations of a level are those of its first node,
// e(theta / 2^(level+1)), turned by a constant 0 .. 3 sixteenths and whole quarters: four rotations
// from a table serve 15 nodes. In the first pass all threads have the same rotations, so constant
// memory holds each of them.
#pragma once
#include "core/math.cuh"
#include "transform/common.cuh"
#include "transform/fft/rotation.cuh"

namespace gpuint::fft {

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

// The rotations of the first pass, which are the same for all threads, each constant turn
// separately.
struct FirstPass {
  Rotation at[LEVELS][4] = {};

  __host__ __device__ constexpr FirstPass() {}

  __host__ __device__ constexpr FirstPass(u32 base, u32 base_denominator) {
    for (u32 level = 0; level < LEVELS; ++level) {
      const exact::Unit first = exact::unit(base, base_denominator << (level + 1));
      for (u32 j = 0; j < 4; ++j) at[level][j] = exact::rotation(first * exact::unit(j, 16));
    }
  }

  GPUINT_DEVICE Turned operator()(Direction, u32 level, u32 sixteenths, Complex z) const {
    return turn(at[level][sixteenths], z);
  }
};

// Constants of the part, the same for all threads and any number of points.
template <u32 PARTS>
struct PartConstants {
  FirstPass first;
  Complex coarse[RADIX] = {};     // e(-theta i / RADIX)
  Complex turns[2 * PARTS] = {};  // e(theta s)

  __host__ __device__ constexpr PartConstants() {}

  __host__ __device__ constexpr explicit PartConstants(u32 k) : first(4 * k + 1, 4 * PARTS) {
    for (u32 i = 0; i < RADIX; ++i) {
      const exact::Unit unit = part_unit<PARTS>(k, i, RADIX);
      coarse[i] = {unit.cos.hi, -unit.sin.hi};
    }
    for (u32 s = 0; s < 2 * PARTS; ++s) {
      const exact::Unit unit = part_unit<PARTS>(k, s, 1);
      turns[s] = {unit.cos.hi, unit.sin.hi};
    }
  }
};

// Constants of the part and the thread, for P points in a part.
template <u32 P, u32 PARTS>
struct PartTables {
  static constexpr u32 THREADS = P / RADIX;
  PassTable<16> second;                            // by sixteenth of the threads
  PassTable<THREADS, LEVELS - TAIL_LEVELS> third;  // by thread
  // e(theta TAIL j / P) TAIL / P, conjugated where it is used.
  Rotation weights[THREADS / TAIL] = {};

  __host__ __device__ constexpr PartTables() {}

  __host__ __device__ constexpr explicit PartTables(u32 k)
      : second(4 * k + 1, 4 * PARTS, Reversed<4>{}),
        third(4 * k + 1, 4 * PARTS, Reversed<log2_of(THREADS)>{}) {
    const exact::Progression<THREADS / TAIL> fine(exact::unit(0, 1), part_unit<PARTS>(k, TAIL, P));
    for (u32 j = 0; j < THREADS / TAIL; ++j) {
      weights[j] = exact::rotation(fine.at[j]);
      weights[j].cos *= static_cast<double>(TAIL) / P;
    }
  }
};

template <u32 PARTS>
struct Constants {
  PartConstants<PARTS> part[PARTS];

  __host__ __device__ constexpr Constants() {
    for (u32 k = 0; k < PARTS; ++k) part[k] = PartConstants<PARTS>(k);
  }
};

template <u32 P, u32 PARTS>
struct Tables {
  PartTables<P, PARTS> part[PARTS];
  PassTable<max_of(P / 256 / TAIL, 1)> second;  // of the inverse, by TAIL threads of a sixteenth
  PassTable<P / RADIX / TAIL> third;            // of the inverse, by TAIL threads

  __host__ __device__ constexpr Tables() : second(0, 1, Natural{}), third(0, 1, Natural{}) {
    for (u32 k = 0; k < PARTS; ++k) part[k] = PartTables<P, PARTS>(k);
  }
};

template <u32 PARTS>
__constant__ constexpr Constants<PARTS> CONSTANTS{};

template <u32 P, u32 PARTS>
__device__ constexpr Tables<P, PARTS> TABLES{};

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

  GPUINT_DEVICE Turned operator()(Direction direction, u32 level, u32 sixteenths, Complex z) const {
    Rotation by = at[level], more = constant_turn(sixteenths);
    if (direction == Direction::Inverse) by.tan = -by.tan, more.tan = -more.tan;
    const Turned once = turn(by, z);
    if (sixteenths == 0) return once;
    const Turned twice = turn(more, {once.u, once.v});
    return {once.cos * twice.cos, twice.u, twice.v};
  }
};

// For theta = 0.
struct Constant {
  GPUINT_DEVICE Turned operator()(Direction direction, u32, u32 sixteenths, Complex z) const {
    if (sixteenths == 0) return {1, z.re, z.im};
    Rotation by = constant_turn(sixteenths);
    if (direction == Direction::Inverse) by.tan = -by.tan;
    return turn(by, z);
  }
};

}  // namespace gpuint::fft
