// Products modulo v by tensor cores, phase after phase: Barrett's reduction with the reciprocal of
// a record, for rows that a warp cannot keep in its registers from one product to the next.
//
// Let R = 2^m, m = BITS, n = m / 8 bytes, V = v 2^s in [R / 2, R), and R^2 / (2 V) = Y + e, where Y
// has the top m bits of the recorded reciprocal, and the limb below is the top limb of e, 0 < e < 1
// + 2^-60. Let l = s if s <= MAX_LATE, else 0. For T < R^2 / 2^(s - l) let
//     T 2^(s - l) / R = H + f,   H an integer, 0 <= f < 1.
// In units of 2^-32, S is H Y / R without the columns of bytes below a unit, plus the products of
// the top limbs of f and Y, and of H and e, without what is below a unit. Then
//     2^(l + 1) S / 2^32 = q + g / 2^32,   q an integer, 0 <= g < 2^32,   r = T - q v.
// THEOREM. g <= 2^32 T / v - 2^32 q < g + DELTA, DELTA = 2^(l + 1) (255 n + 8).
// Proof. T / (2 v) = 2^l (H + f) (R^2 / 2 V) / R. In units of 2^-32 of the rest, the columns left
// out are less than 255 n. f Y / R exceeds what is taken of it by less than 3, as does H e / R, and
// f e / R is less than 2^-20. 2^(l + 1) times the sum is the bound. QED.
//
// So r is in [g, g + DELTA) v / 2^32. It is computed modulo R, as q is. If g < 2^32 - DELTA, it is
// below v. Otherwise it is within v / 4 of v, and at least v exactly if r - v mod R, which is near
// 0, has its top bit clear.
//
// Long factors. T = a b < R^2 / 2^s if a or b is no longer than v; for moduli nearly as long as a
// row, s <= MAX_LATE, any T does. The first phase marks the other rows. There, b mod v, the same
// reduction of T = b < R, replaces b.
//
// Phases. T = a b is a wide product. Tensor cores compute the high tiles of H Y, and dot products
// of bytes the four columns below them. Resolving the low tiles of q v also subtracts them from T.
#pragma once
#include "core/record.cuh"
#include "modular/fft/products.cuh"
#include "fused/barrett.cuh"
#include "mul/tensor/product.cuh"
#include "tuning/mul.cuh"

namespace gpuint::tensor_modular {

using fft_modular::FactorRows;
using fft_modular::PhasesOfProduct;
using fft_modular::QuotientRows;
using fft_modular::Workspace;

template <class S, Extent E, u32 FACTORS, class Rows>
using Product =
    TensorProduct<S, E, FACTORS, TensorProductPolicy<S::BITS / (8 * TILE_DIGITS), E>, Rows>;

// Widths of the kernels: what is shorter stays in the registers of a warp, and longer rows are
// faster by transforms.
__host__ __device__ constexpr bool is_phase_width(u32 bits) { return bits == 32768; }

// q, of S in the workspace.
template <class S>
struct Quotients {
  const u32* s;  // the limb above the units
  u32 bits;

  GPUINT_DEVICE Quotients(const Operands& o, u64 row)
      : s(Workspace<S>::quotient(o, row)), bits(fft_modular::late_bits<S, MAX_LATE>(o, row) + 1) {}
  GPUINT_DEVICE u32 operator[](u32 k) const { return __funnelshift_l(*(s + k - 1), s[k], bits); }
  GPUINT_DEVICE bool is_in_doubt() const {
    constexpr u32 ERROR = 255 * 4 * S::N + 8;
    static_assert(ERROR <= 1u << (30 - 1 - MAX_LATE), "a remainder in doubt is near v");
    return *(s - 1) << bits >= 0u - (ERROR << bits);
  }
};

// Limb ~0 of H is the top limb of f.
template <class S, class Dividend>
struct Quotient : Product<S, Extent::Wide, 2, QuotientRows<S, Dividend, MAX_LATE>> {
  using Rows = QuotientRows<S, Dividend, MAX_LATE>;
  using Base = Product<S, Extent::Wide, 2, Rows>;
  using Base::LIMBS, Base::NT;
  using typename Base::Engine, typename Base::Forms, typename Base::G, typename Base::Handover;
  static_assert(Base::WARPS == 1, "one warp per row");

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    Base::each_row(
        o, shared,
        [&](const G& group, const Engine& engine, const Forms& factors, u64 row, Handover*) {
          TileCarry carry = units(group, factors, o, row);
          u32* to = Workspace<S>::quotient(o, row) + group.lane;
          GPUINT_UNROLL(1)
          for (u32 i = Engine::GROUPS; i < 2 * Engine::GROUPS; ++i, to += Base::GROUP_LIMBS) {
            typename Engine::Sums sums;
            engine.high(i, sums);
            u32 limbs[NT];
            resolve_tiles<LimbsInOrder>(sums, group.lane, carry, limbs);
            GPUINT_UNROLL(16)
            for (u32 tile = 0; tile < NT; ++tile) to[tile * TILE_LIMBS] = limbs[tile];
          }
          group.sync();
        });
  }

 private:
  // Writes the limb of units; returns the carry out of it. Column 4 (LIMBS - 1) + c is the sum of
  // the products of limbs k of H and LIMBS - 1 - k of Y, as vectors of bytes in one of the two
  // forms of each: the lower ones have the digits two and one below.
  GPUINT_DEVICE static TileCarry units(const G& group, const Forms& factors, const Operands& o,
                                       u64 row) {
    u32 sums[4] = {};
    GPUINT_UNROLL(4)
    for (u32 k = group.lane; k < LIMBS; k += 32) {
      const uint2 a = *reinterpret_cast<const uint2*>(factors.a + 2 * k);
      const u32* const b = factors.b + (LIMBS - 1 - k);
      sums[0] = __dp4a(a.x, b[Forms::B_LIMBS], sums[0]);
      sums[1] = __dp4a(a.x, b[0], sums[1]);
      sums[2] = __dp4a(a.y, b[Forms::B_LIMBS], sums[2]);
      sums[3] = __dp4a(a.y, b[0], sums[3]);
    }
    GPUINT_UNROLL(4)
    for (u32 c = 0; c < 4; ++c) sums[c] = __reduce_add_sync(~0u, sums[c]);
    const u32* const y_end = Prepared<S>(o, row).y_end();
    const u32 top = factors.a[2 * LIMBS - 1];
    const u64 value = value_of_columns(sums) +
                      __umulhi(Rows::first_limbs(o, row)[~0u], *(y_end - 1)) +
                      __umulhi(top, *(y_end - LIMBS - 1));
    if (group.lane == 0) *(Workspace<S>::quotient(o, row) - 1) = static_cast<u32>(value);
    TileCarry carry;
    carry.above = static_cast<u32>(value >> 32);
    return carry;
  }
};

// Rows of q v.
template <class S, class Dividend>
struct RemainderRows {
  static constexpr u32 ROW_BYTES = Dividend::ROW_BYTES;
  static constexpr bool IS_FIRST_SHIFTED = true;

  GPUINT_DEVICE static bool is_skipped(const Operands& o, u64 row) {
    return Dividend::is_skipped(o, row);
  }
  GPUINT_DEVICE static Quotients<S> first_limbs(const Operands& o, u64 row) { return {o, row}; }
  GPUINT_DEVICE static const u32* factor(const Operands& o, u32, u64 row) {
    return Prepared<S>(o, row).v();
  }
  GPUINT_DEVICE static u32* half(const Operands& o, u64 row, u32) {
    return Dividend::result(o, row);
  }
};

// r = T - q v, reduced below v.
template <class S, class Dividend>
struct Remainder : Product<S, Extent::Low, 2, RemainderRows<S, Dividend>> {
  using Rows = RemainderRows<S, Dividend>;
  using Base = Product<S, Extent::Low, 2, Rows>;
  using Base::LIMBS, Base::NT;
  using typename Base::Engine, typename Base::Forms, typename Base::G, typename Base::Handover;
  static_assert(Base::WARPS == 1, "one warp per row");

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    Base::each_row(o, shared,
                   [&](const G& group, const Engine& engine, const Forms&, u64 row, Handover*) {
                     prefetch_words(group, Dividend::at(o, row), LIMBS / WORD);
                     TileCarry carry;
                     u32 bit = 1;  // t - x = t + ~x + 1
                     GPUINT_UNROLL(1)
                     for (u32 i = 0; i < Engine::GROUPS; ++i) {
                       typename Engine::Sums sums;
                       engine.low(i, sums);
                       u32 limbs[NT];
                       resolve_tiles<LimbsInOrder>(sums, group.lane, carry, limbs);
                       // Computed here: registers have no room for an address beside the sums.
                       const u32 at = i * Base::GROUP_LIMBS + ptx::thread() % 32;
                       const u64 same_row = u64(ptx::rematerialize(static_cast<u32>(row)));
                       const u32* const t = Dividend::at(o, same_row) + at;
                       u32* const to = Rows::half(o, same_row, 0) + at;
                       GPUINT_UNROLL(16)
                       for (u32 tile = 0; tile < NT; ++tile)
                         to[tile * TILE_LIMBS] =
                             difference(t[tile * TILE_LIMBS], limbs[tile], group.lane, bit);
                     }
                     if (Quotients<S>(o, row).is_in_doubt()) correct(group, o, row);
                     group.sync();
                   });
  }

 private:
  GPUINT_DEVICE static u32 difference(u32 a, u32 b, u32 lane, u32& bit) {
    const u32 limb = a + ~b;
    return ripple(limb, limb < a, lane, bit);
  }

  // Takes v from r if it is at least v. The first pass finds the top bit.
  GPUINT_DEVICE static void correct(const G& group, const Operands& o, u64 row) {
    if (group.lane == 0) GPUINT_RARE(FusedQuotientInDoubt);
    const u32* const v = Prepared<S>(o, row).v() + group.lane;
    u32* const r = Rows::half(o, row, 0) + group.lane;
    GPUINT_UNROLL(1)
    for (u32 pass = 0; pass < 2; ++pass) {
      u32 bit = 1, limb = 0;
      GPUINT_UNROLL(1)
      for (u32 k = 0; k < LIMBS; k += TILE_LIMBS) {
        limb = difference(r[k], v[k], group.lane, bit);
        if (pass == 1) r[k] = limb;
      }
      if (__shfl_sync(~0u, limb, 31) >> 31 != 0) break;
    }
  }
};

template <class S, u32 FACTORS, class Dividend = fft_modular::Dividend<S, FACTORS>>
struct ProductPhases : PhasesOfProduct<S, FACTORS, MAX_LATE,
                                       Product<S, Extent::Wide, FACTORS, FactorRows<S, FACTORS>>,
                                       Quotient<S, Dividend>, Remainder<S, Dividend>> {};

}  // namespace gpuint::tensor_modular
