// Prepare by the tensor cores: the reciprocals that the kernels of this folder take, a warp to a
// row, by Newton's iteration in registers.
//
// A stage of C tiles takes the top C tiles V of the divisor, normalized to R = 2^(1024 C), where a
// fraction of V below them may be left out, and an underestimate Y of R^2 / (2V) by eta >= 16:
//     H = floor(V Y / R) or one less   high tiles, base 4
//     E = R / 2 - 4 - H                limb by limb ~(H + 3), but for the top bit
//     D = floor(2 E Y / R) or less     high tiles
//     Y <- Y + D
//   Theorem. E is not negative. Y stays an underestimate, by more than 1/2 and less than
//   2 eta^2 / R + 16.
//   Proof. R^2 / 2 - V Y = V eta, so R / 2 - H >= V eta / R >= 8. Let W be the top tiles of V, W <=
//   V < W + 1, and e = R^2 / 2 - W Y. As 1 / V = 2 (Y + eta) / R^2,
//       eta = 2 (Y + eta) (e - (V - W) Y) / R^2,   so
//       2 e Y / R^2 = eta - 2 eta e / R^2 + 2 (Y + eta) Y (V - W) / R^2 < eta + 2 Y / R.
//   H loses less than 1 + 255 n / 2^32 (products.cuh), so E is in [e / R - 4, e / R - 2]. Therefore
//   D <= 2 e Y / R^2 - 4 Y / R < eta - 2 Y / R. And D >= 2 e Y / R^2 - 10 with its floors, where 2
//   eta e / R^2 < 2 eta^2 / R + 2, since e = V eta + (V - W) Y < R eta + R. QED.
// So an underestimate to p bits, eta < R / 2^p, becomes one to min(2 p - 2, 1024 C - 5). Lengths
// are chosen from the end: each stage has the fewest tiles that hold what the next one needs, which
// has more tiles, so that 1/2 becomes 2^1023 there.
//
// Reciprocals of at most MAX_SEED_LIMBS limbs, from which the first stage begins, are computed by
// a thread for each of up to 32 rows (core/reciprocal.cuh): a stage takes a warp longer than a
// lane's share.
//
// The last stage has a tile more than the row, so that the N + 4 limbs of the record are cut off
// an underestimate to 32 N + 128 bits: too small by more than 0 and less than 2 of their units,
// which is the contract of refine.cuh.
#pragma once
#include "core/group.cuh"
#include "core/rows.cuh"
#include "core/record.cuh"
#include "core/reciprocal.cuh"
#include "fused/frame.cuh"
#include "fused/products.cuh"
#include "tuning/fused_modular.cuh"

namespace gpuint {

// A stage of TILES tiles.
template <u32 TILES, class Forms>
struct ReciprocalStage : FusedProducts<TILES, false, false, Forms> {
  using Base = FusedProducts<TILES, false, false, Forms>;
  using Limbs = typename Base::Limbs;
  using Sums = typename Base::Sums;
  u32 v_top;

  // `v` in plain order.
  GPUINT_DEVICE ReciprocalStage(u32* arena, u32 lane, const Limbs& v) : Base(arena, lane) {
    this->sync();  // the stage before is done with
    this->clear_above();
    this->template put_a<Order::Plain>(this->for_high(), v);
    v_top = this->top_of_tile(v[TILES - 1]);
  }

  // Doubles the bits of y, in turned order.
  GPUINT_DEVICE void improve(Limbs& y) const {
    this->sync();
    this->template put_b<Order::Turned>(y);
    this->sync();
    Limbs e;
    {
      Sums sums;
      Base::clear(sums);
      this->add_high(this->high_rows(), sums);
      const u32 carry = this->resolve(
          [&](u32 tile) {
            return value_of_columns(sums[tile]) + (tile == 0 && this->lane == 1 ? 3 : 0);
          },
          0, e);
      if (this->lane == 0)
        e[0] = static_cast<u32>(Base::top_columns(v_top, y[0]) + carry) ^ 1u << 31;
    }
    GPUINT_UNROLL(17)
    for (u32 tile = 0; tile < TILES; ++tile) e[tile] = ~e[tile];
    GPUINT_ASSERT(this->lane != 0 || e[0] >> 31 == 0, "E is not negative");
    u32* const a = this->template factor<Order::Turned>();
    GPUINT_ASSERT((a[-1] | a[-2] | this->for_high()[-1] | this->for_high()[-2]) == 0,
                  "no digits below the factors: they would reach the guard limb's columns");
    this->template put_a<Order::Turned>(a, e);
    this->sync();
    Limbs d;
    {
      Sums sums;
      Base::clear(sums);
      this->add_high(this->template rows<Order::Turned>(a), sums);
      const u32 carry = this->resolve([&](u32 tile) { return value_of_columns(sums[tile]); }, 0, d);
      const u32 guard = __shfl_sync(~0u, d[0], 0);
      if (this->lane == 0) d[0] = static_cast<u32>(Base::top_columns(e[0], y[0]) + carry);
      Limbs doubled;
      this->template each_limb<Order::Turned>(d, guard, [&](u32 tile, u32, u32 limb, u32 below) {
        doubled[tile] = __funnelshift_l(below, limb, 1);
      });
      Base::copy(doubled, d);
    }
    // The top limb stands where limb -1 would be.
    const u32 y_top = y[0] + d[0];
    const u32 carry = this->resolve(
        [&](u32 tile) { return tile == 0 && this->lane == 0 ? 0 : u64(y[tile]) + d[tile]; }, 0, y);
    if (this->lane == 0) y[0] = y_top + carry;
  }
};

// Tiles of the stage for `bits` bits, bits of the stage before it, and bits of the seed; limbs of a
// seed, whose error is below 2^24 of its units.
__host__ __device__ constexpr u32 reciprocal_tiles(u32 bits) { return ceil_div(bits + 5, 1024); }
__host__ __device__ constexpr u32 bits_before(u32 bits) { return ceil_div(bits, 2) + 1; }
__host__ __device__ constexpr u32 seed_limbs(u32 bits) { return ceil_div(bits + 24, 32); }
__host__ __device__ constexpr bool is_seed(u32 bits) { return seed_limbs(bits) <= MAX_SEED_LIMBS; }
__host__ __device__ constexpr u32 seed_bits(u32 bits) {
  return is_seed(bits) ? bits : seed_bits(bits_before(bits));
}

// Underestimates of the reciprocals of ROWS rows of COUNT limbs, normalized as numbers of S, to
// BITS bits, in shared memory.
template <class S, u32 COUNT, u32 BITS, u32 ROWS>
struct ReciprocalSeeds {
  static constexpr u32 LIMBS = seed_limbs(BITS);
  static constexpr u32 STRIDE = ROWS + 1;  // odd, so that limbs and rows reach different banks
  static constexpr u32 TOTAL = round_up(LIMBS * STRIDE, WORD);
  static_assert(ROWS % 2 == 0 && ROWS <= 32, "a row to a lane");

  u32* seeds;

  // The seed of the row at `v`, which has `bits` bits, as number `index`.
  GPUINT_DEVICE void set(u32 index, const u32* v, u32 bits) const {
    // The top limbs of the normalized row.
    const u32 distance = S::BITS - bits;
    const auto limb_of = [&](u32 i) {
      const u32 k = S::N - LIMBS - 2 + i - distance / 32;  // negative places wrap
      return k < COUNT ? __ldg(v + k) : 0;
    };
    u32 top[LIMBS + 1], y[LIMBS];
    u32 below = limb_of(0);
    GPUINT_UNROLL()
    for (u32 i = 0; i <= LIMBS; ++i) {
      const u32 limb = limb_of(i + 1);
      top[i] = __funnelshift_l(below, limb, distance % 32);
      below = limb;
    }
    top[LIMBS] |= 1u << 31;  // of a row 0 too
    reciprocal(top, y);
    if (index >= ROWS) return;
    GPUINT_UNROLL()
    for (u32 i = 0; i < LIMBS; ++i) seeds[i * STRIDE + index] = y[i];
  }

  // Limb k of a number of `limbs` limbs whose upper ones are the seed.
  GPUINT_DEVICE u32 limb(u32 index, u32 k, u32 limbs) const {
    return k < limbs - LIMBS ? 0 : seeds[(k - (limbs - LIMBS)) * STRIDE + index];
  }
};

// The reciprocals of a warp's rows of COUNT limbs, normalized as numbers of S, to REACH tiles and a
// bit more: products of a row's tiles, with room for a reciprocal of a tile more, and SEEDS seeds.
template <class S, u32 COUNT, u32 SEEDS, u32 REACH = S::BITS / (8 * TILE_DIGITS)>
struct Reciprocals
    : FusedProducts<S::BITS / (8 * TILE_DIGITS), false, false,
                    FusedForms<REACH + 1, max_of(S::BITS / (8 * TILE_DIGITS), REACH + 1)>> {
  static constexpr u32 TILES = S::BITS / (8 * TILE_DIGITS), LENGTH = REACH + 1;
  using Forms = FusedForms<LENGTH, max_of(TILES, LENGTH)>;
  using Base = FusedProducts<TILES, false, false, Forms>;
  using InOrder = FusedProducts<LENGTH, false, false>;  // limbs of a reciprocal
  using Limbs = typename Base::Limbs;
  using Base::arena, Base::lane;
  static constexpr u32 NEED = REACH * 8 * TILE_DIGITS + 32 * WORD;
  using Seeds = ReciprocalSeeds<S, COUNT, seed_bits(NEED), SEEDS>;
  static_assert(reciprocal_error(Seeds::LIMBS) < 1 << 24, "see seed_limbs");
  // Of a warp: forms and seeds.
  static constexpr u32 WARP_LIMBS = Forms::TOTAL + Seeds::TOTAL;

  const Seeds seeds;

  // In WARP_LIMBS limbs of shared memory.
  GPUINT_DEVICE explicit Reciprocals(u32* own)
      : Base(own, ptx::thread() % 32), seeds{arena + Forms::TOTAL} {}

  // Sets the seed of this lane's row, of `bits` bits, and clears the forms.
  GPUINT_DEVICE void set_seed(const u32* v, u32 bits) const {
    this->sync();  // the rows before are done with
    seeds.set(lane, v, bits);
    this->clear();
  }

  // y = the reciprocal of v, row `index`, in turned order.
  GPUINT_DEVICE void find(u32 index, const Limbs& v, u32 (&y)[LENGTH]) const {
    find<NEED>(v, [&](u32 k, u32 limbs) { return seeds.limb(index, k, limbs); }, y);
  }

 private:
  // y, of reciprocal_tiles(BITS) tiles in turned order, to BITS bits: from limbs seed(k, limbs), k
  // < limbs, of a number of any length.
  template <u32 BITS, class Seed, u32 C>
  GPUINT_DEVICE void find(const Limbs& v, Seed seed, u32 (&y)[C]) const {
    static_assert(C == reciprocal_tiles(BITS), "the fewest tiles");
    if constexpr (is_seed(BITS)) {
      static_assert(seed_limbs(BITS) <= C * TILE_LIMBS, "a seed has room");
      const FusedProducts<C, false, false> order(arena, lane);
      GPUINT_UNROLL(17)
      for (u32 tile = 0; tile < C; ++tile)
        y[tile] = seed(order.template index<Order::Turned>(tile), order.LIMBS);
    } else {
      u32 top[C];
      GPUINT_UNROLL(17)
      for (u32 tile = 0; tile < C; ++tile)
        top[tile] = tile + TILES >= C ? v[tile + TILES >= C ? tile + TILES - C : 0] : 0;
      constexpr u32 FEWER = C - reciprocal_tiles(bits_before(BITS));
      static_assert(FEWER > 0, "a stage begins with an error of many units");
      u32 before[C - FEWER];
      find<bits_before(BITS)>(v, seed, before);
      GPUINT_UNROLL(17)
      for (u32 tile = 0; tile < C; ++tile)
        y[tile] = tile >= FEWER ? before[tile >= FEWER ? tile - FEWER : 0] : 0;
      // Only the top limb stands in the lowest tile.
      if (lane == 0) y[0] = before[0], y[FEWER] = 0;
      const ReciprocalStage<C, Forms> stage(arena, lane, top);
      stage.improve(y);
    }
  }
};

// The divisors of Prepare: in[0] = v, out[0] = records (core/record.cuh).
template <class S>
struct DivisorRows {
  static constexpr u32 N = S::N;
  GPUINT_DEVICE static u64 rows(const Operands& o) { return o.rows; }
  GPUINT_DEVICE static const u32* divisor(const Operands& o, u64 row) {
    return input_row<S>(o, 0, row);
  }
  GPUINT_DEVICE static u32* record(const Operands& o, u64 row) {
    return static_cast<u32*>(o.out[0]) + row * Record<S>::LIMBS;
  }
};

// Records of S for divisors of Rows::N limbs.
template <class S, class Policy = FusedPreparePolicy<S::BITS / (8 * TILE_DIGITS)>,
          class Rows = DivisorRows<S>>
struct FusedPrepare : FusedFrame<S, Policy, Reciprocals<S, Rows::N, Policy::SEEDS>> {
  using Base = FusedFrame<S, Policy, Reciprocals<S, Rows::N, Policy::SEEDS>>;
  using Row = typename Base::Products;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 SHARED = Base::ROWS * Row::WARP_LIMBS * sizeof(u32);
  static constexpr u32 PERSISTENT = 1;
  static constexpr u32 SCRATCH = 0;

  // A warp takes consecutive rows, in groups of Policy::SEEDS.
  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Row whole(reinterpret_cast<u32*>(shared) + ptx::thread() / 32 * Row::WARP_LIMBS);
    const u64 warps = u64(gridDim.x) * Base::ROWS;
    const u64 warp = u64(blockIdx.x) * Base::ROWS + ptx::thread() / 32;
    const u64 share = Rows::rows(o) / warps, rest = Rows::rows(o) % warps;
    u64 row = warp * share + (warp < rest ? warp : rest);
    u32 left = static_cast<u32>(share) + (warp < rest ? 1 : 0);
    GPUINT_UNROLL(1)
    while (left > 0) {
      const u32* const v = Rows::divisor(o, row + min_of(whole.lane, left - 1));
      const u32 bits = bits_of(v);
      whole.set_seed(v, bits);
      GPUINT_UNROLL(1)
      for (u32 index = 0; index < Policy::SEEDS && left > 0; ++index, ++row, --left)
        prepare(o, row, __shfl_sync(~0u, bits, index), index, whole);
    }
  }

 private:
  GPUINT_DEVICE static u32 bits_of(const u32* v) {
    u32 limbs = Rows::N;
    GPUINT_UNROLL(1)
    while (limbs > 0 && __ldg(v + limbs - 1) == 0) --limbs;
    return limbs == 0 ? 0 : 32 * limbs - leading_zeros(__ldg(v + limbs - 1));
  }

  GPUINT_DEVICE static void prepare(const Operands& o, u64 row, u32 bits, u32 index,
                                    const Row& whole) {
    if (bits == 0) {
      if (whole.lane == 0) set_status(o.status, row);
      return;
    }
    const u32* const from = Rows::divisor(o, row);
    typename Row::Limbs v;
    whole.template read<Rows::N>(from, 0, v);
    u32* const record = Rows::record(o, row);
    if (whole.lane < Record<S>::V) record[whole.lane] = whole.lane == 0 ? bits : 0;
    if (whole.lane < WORD) record[Record<S>::V + S::N + whole.lane] = 0;
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile)
      record[Record<S>::V + tile * TILE_LIMBS + whole.lane] = v[tile];
    if (bits <= S::BITS - 32) whole.template read<Rows::N>(from, (S::BITS - bits) / 32, v);
    whole.normalize(from, S::BITS - bits, v);

    constexpr u32 BELOW = Row::LENGTH * TILE_LIMBS - (S::N + WORD);  // limbs cut off
    u32 y[Row::LENGTH];
    whole.find(index, v, y);
    u32* const to = record + Record<S>::Y_END - Row::LENGTH * TILE_LIMBS;
    const typename Row::InOrder order(whole.arena, whole.lane);
    GPUINT_UNROLL(17)
    for (u32 tile = 0; tile < Row::LENGTH; ++tile) {
      const u32 k = order.template index<Order::Turned>(tile);
      if (k >= BELOW) to[k] = y[tile];
    }
  }
};

}  // namespace gpuint
