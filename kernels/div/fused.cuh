// DivRem and DivRemBy by the fused products of fused/products.cuh, one warp per row.
//
// 1. Classes (classify.cuh). A row with a divisor of at most n = 32 C limbs, and not much fewer, is
//    in the class of C tiles. V = v 2^s has exactly 32 n bits, R = 2^(32 n), and u is shifted
//    likewise when it is read.
// 2. Rows with divisors of at most MAX_LIMBS limbs, by lanes (short_divisors.cuh), if the batch
//    has enough of them; else they join the first class.
// 3. For each class: reciprocals of t + 4 limbs (fused/prepare.cuh), and blocks of
//    quotient of t = 32 T limbs, T <= C / 2. The remainder stays in registers, V and the reciprocal
//    in shared memory. The reciprocal of a prepared divisor is the top of the recorded one.
// 4. Rows with divisors longer than the largest class, by groups of threads (div.cuh).
// Divisions by transforms also have steps 2 and 3, for the shorter divisors (div/fft/division.cuh).
//
// Block. For a remainder x < V and the next t limbs z of u, let W = x 2^(32 t) + z, and h the top t
// limbs of x. Barrett's reduction (fused/barrett.cuh) of numbers of t limbs also gives the
// quotient here: W / V is (x / 2^(32 (n - t))) / (V / R), and z / V < 2^(32 (t - n) + 1), which is
// below 2^-62. So for S of h, of the limb below it, and of the reciprocal,
//     q = floor(2 S / 2^32),    f <= 2^32 (W / V - q) < f + DELTA,    x <- W - q V mod R.
// W - q V is below V, or within V / 4 of it, where V may have to be subtracted.
//
// Before the blocks, x is the part of u above them. Let `more` be the bits of u less those of v.
// floor(more / 32 t) blocks leave 32 n + more % 32 t bits. If these are at most 31 more than V has,
// a limb of quotient takes them below V: with W = c R + x, c < 2^31, and the top limbs x' of x and
// v' of V,
//     q = floor((c 2^32 + x') / (v' + 1)) < 2^32
// is too small by at most 3: W / V < 2^32, and W / V - q < 1 + (W / V + 1) / v'. Otherwise there is
// a block more.
//
// Cost. A block takes 4 T (C + 1) + C matrix instructions: with T = C / 2, half of Barrett's
// reduction of n limbs. The reciprocal takes a quarter of the products of one of n limbs.
#pragma once
#include "core/abi.cuh"
#include "core/group.cuh"
#include "core/rows.cuh"
#include "div/by_prepared.cuh"
#include "div/classify.cuh"
#include "div/div.cuh"
#include "div/fused_classes.cuh"
#include "div/row_lists.cuh"
#include "div/stores.cuh"
#include "div/short_divisors.cuh"
#include "fused/barrett.cuh"
#include "fused/prepare.cuh"
#include "mul/tensor/columns.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// Classes, rows with short divisors, and rows for groups of threads.
template <class Shape, bool PREPARED, class Classes = typename FusedClassesOf<Shape::N>::Type>
struct FusedPlan : RowLists<Shape, PREPARED, Classes::COUNT + 2> {
  using RowLists<Shape, PREPARED, Classes::COUNT + 2>::RowLists;
  static constexpr u32 SHORT = Classes::COUNT, LONG = SHORT + 1;
  using ShortPolicy = ShortRowPolicy<Shape, Fused, PREPARED>;

  GPUINT_DEVICE static u32 list_of(u32 v, u32) {
    if (v <= 32 * ShortPolicy::MAX_LIMBS) return SHORT;
    const u32 list = Classes::class_of(v);
    return list == Classes::COUNT ? LONG : list;
  }
};

// Products of a row of S with a recorded reciprocal, of which REACH tiles are needed.
template <class S, u32 REACH>
struct RecordedReciprocals : FusedProducts<S::BITS / (8 * TILE_DIGITS), false, false,
                                           FusedForms<REACH, S::BITS / (8 * TILE_DIGITS)>> {
  using Forms = FusedForms<REACH, S::BITS / (8 * TILE_DIGITS)>;
  using Base = FusedProducts<S::BITS / (8 * TILE_DIGITS), false, false, Forms>;
  static constexpr u32 WARP_LIMBS = Forms::TOTAL;

  // In WARP_LIMBS limbs of shared memory.
  GPUINT_DEVICE explicit RecordedReciprocals(u32* own) : Base(own, ptx::thread() % 32) {
    this->sync();  // rows of other lists are done with
    this->clear();
  }
};

// The rows of list LIST, with divisors of at most 32 C limbs.
template <class Plan, u32 C, u32 LIST>
struct DivideFused {
  using S = typename Plan::S;
  using Policy = FusedDivisionPolicy<C, S::N, Plan::PREPARED>;
  static constexpr u32 T = Policy::BLOCK_TILES;
  static constexpr u32 N = C * TILE_LIMBS, BLOCK = T * TILE_LIMBS;  // limbs of V and of a block
  using Row = typename Conditional<Plan::PREPARED, RecordedReciprocals<Width<32 * N>, T>,
                                   Reciprocals<Width<32 * N>, N, Policy::SEEDS, T>>::Type;
  using Limbs = typename Row::Limbs;
  using Estimates = Barrett<FusedProducts<T, false, false, typename Row::Forms>>;
  // Tiles of the remainder that are computed at a time.
  static constexpr u32 GROUP = C / ceil_div(C, Policy::MAX_TILES);
  using Tiles = FusedProducts<GROUP, false, false, typename Row::Forms>;
  static_assert(C % GROUP == 0, "groups of tiles");
  using Quotient = typename Estimates::Limbs;
  static constexpr u32 ROWS = Policy::ROWS, RESIDENT_WARPS = Policy::RESIDENT_WARPS;
  static constexpr u32 WARP_LIMBS = Row::WARP_LIMBS;
  static_assert(T < C, "the limb below the top T tiles is one of the remainder's");

  // Each warp takes its share of the list, in groups of Policy::SEEDS consecutive rows. The rest
  // goes to the warps after those that `before` rows of other lists went to.
  GPUINT_DEVICE static void run(const Operands& o, u32* own, u32 before) {
    const Row whole(own);
    const u32 warps = gridDim.x * ROWS, warp = blockIdx.x * ROWS + ptx::thread() / 32;
    const u32 turn = (warp + warps - before % warps) % warps;
    const u32 rows = Plan(o).rows(LIST), share = rows / warps, rest = rows % warps;
    u32 at = turn * share + min_of(turn, rest), left = share + (turn < rest ? 1 : 0);
    GPUINT_UNROLL(1)
    while (left > 0) {
      if constexpr (!Plan::PREPARED) {
        const Plan plan(o);
        const u32 row = plan.list(LIST)[at + min_of(whole.lane, left - 1)];
        whole.set_seed(plan.divisor(row), plan.lengths()[row].x);
      }
      GPUINT_UNROLL(1)
      for (u32 index = 0; index < Policy::SEEDS && left > 0; ++index, ++at, --left)
        divide(o, Plan(o).list(LIST)[at], index, whole);
    }
  }

 private:
  // V, and its reciprocal.
  GPUINT_DEVICE static void set_divisor(const Row& whole, const Plan& plan, u32 row, u32 shift,
                                        u32 index, Estimates& estimates) {
    Limbs x;
    whole.template read<N>(plan.divisor(row), shift / 32, x);
    whole.shift_up(x, 0, shift % 32);
    whole.sync();  // the row before is done with
    whole.template put_a<Order::Plain>(whole.for_low(), x);
    if constexpr (Plan::PREPARED) {
      const u32* const y_end = Prepared<S>(plan.o, row).y_end();
      Quotient y;
      estimates.read(y_end - BLOCK, 0, y);
      estimates.template put_a<Order::Plain>(whole.for_high(), y);
      estimates.y_top = estimates.top_of_tile(y[T - 1]);
      estimates.y_guard = __ldg(y_end - BLOCK - 1);
    } else {
      u32 y[Row::LENGTH];
      whole.find(index, x, y);
      whole.sync();  // the last stage is done with
      estimates.clear_above();
      // The limbs from the second tile on, and the one below them.
      const typename Row::InOrder order(whole.arena, whole.lane);
      u32* const a = whole.for_high();
      order.template each_limb<Order::Turned>(y, 0, [&](u32 tile, u32 k, u32 limb, u32 below) {
        if (k < TILE_LIMBS) return;
        k -= TILE_LIMBS;
        *reinterpret_cast<uint2*>(a + 2 * k) =
            make_uint2(__byte_perm(k == 0 ? 0 : below, limb, 0x5432), limb);
        if (order.template is_top<Order::Turned>(tile)) a[2 * BLOCK] = limb >> 16;
      });
      estimates.y_top = __shfl_sync(~0u, y[0], 0);
      estimates.y_guard = __shfl_sync(~0u, y[1], 0);
    }
    whole.sync();
  }

  // Limbs from .. from + 32 TILES of x 2^(bits), for a row x: read, and shifted.
  template <class Products, u32 TILES>
  GPUINT_DEVICE static u32 read(const Products& whole, const u32* x, u32 from,
                                u32 (&limbs)[TILES]) {
    whole.template read<S::N>(x, 0u - from, limbs);
    return from - 1 < S::N ? __ldg(x + (from - 1)) : 0;
  }

  // x <- (t R + x) mod V, t < 2^31; returns the quotient.
  GPUINT_DEVICE static u32 divide_limb(const Row& whole, u32 t, Limbs& x) {
    const u32* const v = whole.for_low();
    const u32 v_top = v[2 * N - 1];
    u32 q = static_cast<u32>((u64(t) << 32 | whole.top_of_tile(x[C - 1])) / (u64(v_top) + 1));
    if (q != 0) {
      // t R + x - q V = t R + ~(~x + q V).
      const u32 above = whole.resolve(
          [&](u32 tile) {
            const u32 k = whole.template index<Order::Plain>(tile);
            return u64(q) * v[2 * k + 1] + static_cast<u32>(~x[tile]);
          },
          0, x);
      t -= __shfl_sync(~0u, above, 0);
      complement(x);
    }
    GPUINT_UNROLL(1)
    while (t != 0 || whole.top_of_tile(x[C - 1]) >= v_top) {
      Limbs d;
      const bool is_below = whole.template subtract<Order::Plain>(x, v, d);
      if (is_below && t == 0) return q;
      if (is_below) --t;
      Row::copy(d, x);
      ++q;
    }
    return q;
  }
  GPUINT_DEVICE static void complement(Limbs& x) {
    GPUINT_UNROLL(32)
    for (u32 tile = 0; tile < C; ++tile) x[tile] = ~x[tile];
  }

  // x <- x - q V mod R for the tiles from FIRST on: x - q V = ~(~x + q V).
  template <u32 FIRST>
  GPUINT_DEVICE static void subtract_product(const Tiles& group, u32 carry, Limbs& x) {
    typename Tiles::Sums sums;
    group.template set_tiles<FIRST, T>(group.low_rows(), sums);
    typename Tiles::Limbs limbs;
    carry = group.resolve(
        [&](u32 tile) { return value_of_columns(sums[tile]) + static_cast<u32>(~x[FIRST + tile]); },
        carry, limbs);
    GPUINT_UNROLL(32)
    for (u32 tile = 0; tile < GROUP; ++tile) x[FIRST + tile] = ~limbs[tile];
    if constexpr (FIRST + GROUP < C) subtract_product<FIRST + GROUP>(group, carry, x);
  }

  // x <- (x 2^(32 BLOCK) + next) mod V, where `next` is to be shifted by `bits` and `beneath`;
  // use(k, limb) gets the quotient or one less, in which case the result is true.
  template <class Use>
  GPUINT_DEVICE static bool divide_block(const Row& whole, const Estimates& estimates,
                                         Quotient& next, u32 beneath_next, u32 bits, Limbs& x,
                                         Use use) {
    Quotient q;
    GPUINT_UNROLL(32)
    for (u32 tile = 0; tile < T; ++tile) q[tile] = x[C - T + tile];
    const u32 beneath = estimates.estimate(q, whole.top_of_tile(x[C - T - 1]));
    whole.sync();
    estimates.put_doubled(q, beneath & 1u << 31, use);
    whole.sync();
    if (bits != 0) estimates.shift_up(next, beneath_next, bits);
    GPUINT_UNROLL(32)
    for (u32 tile = C; tile-- > 0;)
      x[tile] = tile < T ? next[tile < T ? tile : 0] : x[tile < T ? 0 : tile - T];
    subtract_product<0>(Tiles(whole.arena, whole.lane), 0, x);
    if (!estimates.is_in_doubt(beneath)) return false;
    if (whole.lane == 0) GPUINT_RARE(FusedQuotientInDoubt);
    Limbs d;
    whole.template subtract<Order::Plain>(x, whole.for_low(), d);
    if (static_cast<i32>(whole.top_of_tile(d[C - 1])) < 0) return false;
    Row::copy(d, x);
    return true;
  }

  GPUINT_DEVICE static void divide(const Operands& o, u32 row, u32 index, const Row& whole) {
    const Plan plan(o);
    const uint2 length = plan.lengths()[row];
    const u32 shift = 32 * N - length.x, bits = shift % 32;
    Estimates estimates(
        FusedProducts<T, false, false, typename Row::Forms>(whole.arena, whole.lane));
    set_divisor(whole, plan, row, shift, index, estimates);
    const u32* const u = plan.dividend(row);
    u32* const q = output_row<S>(o, 0, row);
    const u32 more = length.y > length.x ? length.y - length.x : 0;
    u32 blocks = more / (32 * BLOCK);
    const bool has_limb = more % (32 * BLOCK) < 32;
    if (!has_limb) ++blocks;
    u32 at = blocks * BLOCK - shift / 32;  // of u, where the limbs of x begin
    Limbs x;
    {
      const u32 beneath = read(whole, u, at, x);
      const u32 above = at + N;
      const u32 t = __funnelshift_l(above - 1 < S::N ? __ldg(u + above - 1) : 0,
                                    above < S::N ? __ldg(u + above) : 0, bits);
      if (bits != 0) whole.shift_up(x, beneath, bits);
      if (q != nullptr) {
        GPUINT_UNROLL(1)
        for (u32 k = blocks * BLOCK + whole.lane; k < S::N; k += 32) q[k] = 0;
      }
      if (has_limb) {
        const u32 limb = divide_limb(whole, t, x);
        whole.sync();
        if (whole.lane == 0 && q != nullptr) q[blocks * BLOCK] = limb;
      }
    }
    GPUINT_UNROLL(1)
    while (blocks-- > 0) {
      at -= BLOCK;
      Quotient next;
      const u32 beneath = read(estimates, u, at, next);
      const bool is_more =
          divide_block(whole, estimates, next, beneath, bits, x, [&](u32 k, u32 limb) {
            if (q != nullptr && blocks * BLOCK + k < S::N) q[blocks * BLOCK + k] = limb;
          });
      whole.sync();
      if (is_more) increment<S>(Group<32>(nullptr), q, blocks * BLOCK);
    }
    u32* const r = output_row<S>(o, 1, row);
    if (r == nullptr) return;
    // x / 2^shift.
    GPUINT_UNROLL(32)
    for (u32 tile = 0; tile < C; ++tile) {
      const u32 k = tile * TILE_LIMBS + whole.lane;
      const u32 above = tile + 1 < C ? __shfl_sync(~0u, x[tile + 1 < C ? tile + 1 : 0], 0) : 0;
      const u32 turned = __shfl_sync(~0u, x[tile], (whole.lane + 1) % 32);
      const u32 limb = __funnelshift_r(x[tile], whole.lane == 31 ? above : turned, bits);
      if (k >= shift / 32) r[k - shift / 32] = limb;
    }
    GPUINT_UNROLL(1)
    for (u32 k = N - shift / 32 + whole.lane; k < S::N; k += 32) r[k] = 0;
  }
};

// The rows of all classes, those of long divisors first. Each class is a phase, so that all warps
// of a multiprocessor run the same code. But a phase waits for its last rows: if warps have few of
// a class, the first phase divides the rows of all classes.
template <class Plan, class Classes>
struct DivideByClasses;
template <class Plan, u32... TILES>
struct DivideByClasses<Plan, FusedClasses<TILES...>> {
  static constexpr u32 PHASES = sizeof...(TILES);
  template <u32 LIST>
  using Class = DivideFused<Plan, FusedClasses<TILES...>::tiles(LIST), LIST>;
  static constexpr u32 ROWS = Class<0>::ROWS, THREADS = 32 * ROWS;
  static constexpr u32 MIN_BLOCKS = Class<0>::RESIDENT_WARPS / ROWS;
  static constexpr u32 MAX_WARP_LIMBS = Class<PHASES - 1>::WARP_LIMBS;
  // In any list.
  template <u32 C>
  static constexpr u32 WARP_BYTES = DivideFused<Plan, C, 0>::WARP_LIMBS * sizeof(u32);

  __host__ __device__ static constexpr LaunchBoundsOfPhases<PHASES> launch_bounds() {
    LaunchBoundsOfPhases<PHASES> all{};
    u32 phase = PHASES;
    ((all.phase[--phase] = {THREADS, ROWS * WARP_BYTES<TILES>, ROWS, 0, 1, 1, Plan::ROW_BYTES, 0}),
     ...);
    return all;
  }

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared, u32 phase) {
    if (phase == 0 && blockIdx.x == 0 && ptx::thread() == 0 && are_few(o)) Plan(o).together() = 1;
    divide_from<PHASES - 1>(o, reinterpret_cast<u32*>(shared), phase);
  }

 private:
  // In the first phase: grids of phases differ.
  GPUINT_DEVICE static bool are_few(const Operands& o) {
    u32 rows = 0;
    for (u32 list = 0; list < PHASES; ++list) rows += Plan(o).rows(list);
    return rows < MIN_ROWS_OF_PHASE * PHASES * gridDim.x * ROWS;
  }

  // Nothing is kept in registers while a class is divided.
  template <u32 LIST>
  GPUINT_DEVICE static void divide_from(const Operands& o, u32* shared, u32 phase) {
    using C = Class<LIST>;
    static_assert(C::ROWS == ROWS && C::WARP_LIMBS <= MAX_WARP_LIMBS, "of one launch");
    constexpr u32 OWN = PHASES - 1 - LIST;
    const bool divides =
        phase == 0 ? OWN == 0 || are_few(o) : phase == OWN && Plan(o).together() == 0;
    if (divides) {
      if (phase > 0 && ptx::thread() == 0) GPUINT_RARE(FusedClassApart);
      u32 before = 0;
      for (u32 list = LIST + 1; list < PHASES; ++list) before += Plan(o).rows(list);
      const u32 stride = phase == 0 ? MAX_WARP_LIMBS : C::WARP_LIMBS;
      C::run(o, shared + ptx::thread() / 32 * stride, before);
    }
    if constexpr (LIST > 0) divide_from<LIST - 1>(o, shared, phase);
  }
};

// Divides rows of list LONG.
template <class S, class Plan, bool PREPARED>
struct FusedRest {
  using Type = GroupDivision<Blocked<TensorCore>::Kernel<S>, Plan>;
};
template <class S, class Plan>
struct FusedRest<S, Plan, true> {
  using Type = GroupDivRemBy<PreparedDivisionPolicy<S, TensorCore>, Plan>;
};

// Phases. If all divisors fit a class, no group of threads divides any.
template <class S, bool PREPARED, class Classes = typename FusedClassesOf<S::N>::Type>
struct FusedPhases;
template <class S, bool PREPARED, u32... TILES>
struct FusedPhases<S, PREPARED, FusedClasses<TILES...>> {
  using Plan = FusedPlan<S, PREPARED>;
  using Fused = DivideByClasses<Plan, FusedClasses<TILES...>>;
  static constexpr bool HAS_LONGER = (... && (TILES * TILE_LIMBS < S::N));
  using Type = typename Conditional<HAS_LONGER,
                                    Sequence<Classify<Plan>, DivideShort<Plan>, Fused,
                                             typename FusedRest<S, Plan, PREPARED>::Type>,
                                    Sequence<Classify<Plan>, DivideShort<Plan>, Fused>>::Type;
};

}  // namespace gpuint
