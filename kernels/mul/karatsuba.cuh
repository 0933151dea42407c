// Karatsuba's multiplication: a product of two numbers of m limbs by three products of m / 2 limbs
// instead of four.
//
// With X = B^(m/2), a = a1 X + a0, b = b1 X + b0 and s = sign((a0 - a1) (b0 - b1)):
//     a b = z2 X^2 + (z0 + z2 - s |a0 - a1| |b0 - b1|) X + z0,   z0 = a0 b0,  z2 = a1 b1.
// Differences are used instead of sums: |a0 - a1| has m / 2 limbs and no carry limb, and a square's
// three products are squares.
//
// Recursion. There are `depth` halvings, at most DEPTH, while factors have at least MIN_LIMBS
// limbs; the lowest factors are multiplied classically (KaratsubaPolicy). The recursion is a loop
// over its lowest nodes t = 0 .. 3^(depth-1): the digits of t to base 3 select one of the three
// products on each level, and each node is derived from t when it is needed, so there is no stack.
// A lowest node deals the tiles of its three products to the group together, which keeps more
// threads busy than one product after another.
//
// Any range of columns. A product of lengths m, n to columns lo .. hi is covered by one square
// block of side h = min(m, n, (hi - lo) / 2), rounded down to 2^depth words, whose 2h columns start
// at lo. The block is multiplied by Karatsuba and the pairs of limbs outside it classically. A full
// product of equal lengths is all block. A low or high one is a block of half its length and two
// triangles; a square mirrors its triangles. In an unbalanced or middle product the block is only a
// part, and the rest stays classical, since a second block would need its own scratch and a pass
// over the columns. Ranges too narrow for a block of 2 MIN_LIMBS are entirely classical.
//
// Products of limbs, as fractions of the classical ones (full n^2, low or high n^2 / 2):
//     full      (3/4)^depth(n)                    low, high      1/2 + (3/4)^depth(n/2) / 2
//     middle, n columns of n by 2n: 3/4 + (3/4)^depth(n/2) / 4
//       limbs n        128     256     512    1024 and more
//       full          0.750   0.563   0.422   0.422
//       low, high     1.000   0.875   0.781   0.711
//       middle        1.000   0.938   0.891   0.855
// (karatsuba_products below). The cost is a few passes over the columns, each with one or two
// barriers.
//
// Scratch of a node of m limbs: two differences of m / 2, the middle product of m and a word; the
// lowest nodes also have 3m / 2 limbs of overflow. Halved from level to level this stays below 4h.
// The block's product takes another 2h if it does not fit in the result. A kernel that would exceed
// SHARED_BYTES with it, or whose groups have more than MAX_THREADS threads, has no scratch and
// classical products. So have instances of fewer than 2 MIN_LIMBS.
#pragma once
#include "core/bounds.cuh"
#include "core/carry.cuh"
#include "core/digits.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/strategies.cuh"
#include "mul/columns.cuh"
#include "tuning/mul.cuh"

namespace gpuint {

__host__ __device__ constexpr u32 karatsuba_depth(u32 limbs) {
  u32 depth = 0;
  while (depth < KaratsubaPolicy::DEPTH && limbs >> (depth + 1) >= KaratsubaPolicy::MIN_LIMBS)
    ++depth;
  return depth;
}

// Side of the block in a square of `limbs` limbs; 0 if it does not pay.
__host__ __device__ constexpr u32 karatsuba_side(u32 limbs) {
  const u32 depth = karatsuba_depth(limbs);
  return depth == 0 ? 0 : limbs / (WORD << depth) * (WORD << depth);
}

// Products of limbs in a full product of numbers of `limbs` limbs.
__host__ __device__ constexpr u64 karatsuba_products(u32 limbs) {
  const u32 depth = karatsuba_depth(limbs), side = karatsuba_side(limbs);
  u64 leaf = u64(side >> depth) * (side >> depth);
  for (u32 level = 0; level < depth; ++level) leaf *= 3;
  return leaf + u64(limbs) * limbs - u64(side) * side;
}

static_assert(
    KaratsubaPolicy::MIN_LIMBS % WORD == 0 &&
        KaratsubaPolicy::MIN_LIMBS >= (KaratsubaPolicy::DEPTH + 1) * WORD,
    "a leaf is whole words, and the extra words of all levels fit in what 4h leaves over");
static_assert(karatsuba_products(KaratsubaPolicy::MIN_LIMBS) ==
                      u64(KaratsubaPolicy::MIN_LIMBS) * KaratsubaPolicy::MIN_LIMBS &&
                  4 * karatsuba_products(2 * KaratsubaPolicy::MIN_LIMBS) ==
                      3 * u64(2 * KaratsubaPolicy::MIN_LIMBS) * (2 * KaratsubaPolicy::MIN_LIMBS),
              "the threshold is where the first halving pays");

// One product of the recursion.
template <class Limb>
struct KaratsubaNode {
  const Limb *a, *b;
  u32 limbs;  // of a and of b
  Limb* out;  // 2 * limbs
  Limb* work;

  GPUINT_DEVICE u32 half() const { return limbs / 2; }
  GPUINT_DEVICE Limb* a_difference() const { return work; }
  GPUINT_DEVICE Limb* b_difference() const { return work + half(); }
  GPUINT_DEVICE Limb* middle() const { return work + limbs; }  // limbs + WORD
  GPUINT_DEVICE Limb* beyond() const { return work + 2 * limbs + WORD; }

  // z0, z2, and the product of the differences.
  GPUINT_DEVICE KaratsubaNode child(u32 i) const {
    if (i == 2) return {a_difference(), b_difference(), half(), middle(), beyond()};
    return {a + i * half(), b + i * half(), half(), out + i * limbs, beyond()};
  }

  // The node over the lowest nodes t / span * span .. + span, of `leaves` in total under this one.
  GPUINT_DEVICE KaratsubaNode at(u32 t, u32 span, u32 leaves) const {
    KaratsubaNode node = *this;
    GPUINT_UNROLL(1)
    while (leaves > span) {
      leaves /= 3;
      node = node.child(t / leaves % 3);
    }
    return node;
  }
};

// Columns c .. c + 4 of a * b, for lengths in whole words; nothing is read around b.
template <class Limb>
GPUINT_DEVICE void bounded_tile(const Limb* a, u32 a_limbs, const Limb* b, u32 b_limbs, u32 c,
                                Tile<Limb, WORD>& tile) {
  const u32 first = c > b_limbs ? c - b_limbs : 0;
  const u32 end = min_of(a_limbs, c + WORD);
  if (first >= end) return;
  Limb window[2 * WORD] = {};
  if (c - first < b_limbs) load_word(b + (c - first), window + WORD);
  GPUINT_UNROLL(1)
  for (u32 i = first; i < end; i += WORD) {
    Limb word[WORD];
    load_word(a + i, word);
    if (i + WORD <= c) {
      load_word(b + (c - i - WORD), window);
    } else {
      GPUINT_UNROLL(4)
      for (u32 j = 0; j < WORD; ++j) window[j] = 0;
    }
    tile.add_rows(word, window);
    GPUINT_UNROLL(4)
    for (u32 j = 0; j < WORD; ++j) window[WORD + j] = window[j];
  }
}

struct Karatsuba {
  static constexpr bool PADDED = false;
  static constexpr u32 ROW_PAD = PAD;
  // Limbs that `overflow` must hold for products of a division with this number of columns.
  __host__ __device__ static constexpr u32 overflow_limbs(u32 width) {
    return gpuint::overflow_limbs(width);
  }

  template <class S>
  __host__ __device__ static constexpr u32 scratch_limbs(u32 operand, u32 width, u32 taken) {
    const u32 side = karatsuba_side(min_of(operand, width / 2));
    const u32 limbs = side * (width == 2 * operand && side == operand ? 4 : 6);
    const bool fits =
        u64(S::ROWS) * (taken + limbs * sizeof(typename S::Limb)) <= KaratsubaPolicy::SHARED_BYTES;
    return fits && S::THREADS <= KaratsubaPolicy::MAX_THREADS ? limbs : 0;
  }

  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> multiply(G& group, const Factors<Limb>& f, Limb* out,
                                              Limb* overflow, u32 overflow_capacity,
                                              const Scratch& scratch) {
    return run<Sign::Plus>(group, f, out, overflow, overflow_capacity, scratch);
  }

  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> subtract(G& group, const Factors<Limb>& f, Limb* out,
                                              Limb* overflow, u32 overflow_capacity,
                                              const Scratch& scratch) {
    return run<Sign::Minus>(group, f, out, overflow, overflow_capacity, scratch);
  }

  // Columns from lo = 0 only.
  template <class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> square(G& group, const Factors<Limb>& f, Limb* out,
                                            Limb* overflow, const Scratch& scratch) {
    const u32 h = side_within<Scratch>(min_of(f.a_limbs, f.hi / 2), false);
    if (h == 0) return Classical::square<Limb>(group, f, out, overflow, scratch);
    if constexpr (Scratch::LIMBS > 0) {
      full<true, Limb>(group, {f.a, f.a, h, scratch.at, scratch.at + 2 * h});
      // The remaining products: a0 a1 twice, and the square of a1.
      const Limb* const a1 = f.a + h;
      const u32 rest = f.a_limbs - h;
      const auto compute = [&](u32 c, Tile<Limb, WORD>& tile) {
        GPUINT_UNROLL(1)
        for (u32 part = 0; part < 2; ++part) {
          tile.twice();
          const u32 offset = (part + 1) * h;
          if (c >= offset)
            bounded_tile(part == 0 ? f.a : a1, part == 0 ? h : rest, a1, rest, c - offset, tile);
        }
      };
      const auto columns = deal_tiles<Sign::Plus, WORD>(group, f.hi, true, out, overflow, compute);
      return join<Sign::Plus>(group, columns, scratch.at, 2 * h);
    } else {
      return {};
    }
  }

 private:
  // Columns without overflow: no column is at or beyond the first tile's end.
  static constexpr u32 ONE_TILE = 31;

  // Side of the block that the scratch holds, or 0.
  template <class Scratch>
  GPUINT_DEVICE static u32 side_within(u32 limbs, bool whole) {
    const u32 h = karatsuba_side(limbs);
    return h * (whole ? 4 : 6) <= Scratch::LIMBS ? h : 0;
  }

  template <Sign SIGN, class Limb, class G, class Scratch>
  GPUINT_DEVICE static Columns<Limb> run(G& group, const Factors<Limb>& f, Limb* out,
                                         Limb* overflow, u32 overflow_capacity,
                                         const Scratch& scratch) {
    const u32 width = f.hi - f.lo;
    const u32 most = min_of(min_of(f.a_limbs, f.b_limbs), width / 2);
    const bool whole = SIGN == Sign::Plus && f.a_limbs == most && f.b_limbs == most &&
                       width == 2 * most && karatsuba_side(most) == most;
    const u32 h = side_within<Scratch>(most, whole);
    if (h == 0) {
      if constexpr (SIGN == Sign::Plus)
        return Classical::multiply<Limb>(group, f, out, overflow, overflow_capacity, scratch);
      else
        return Classical::subtract<Limb>(group, f, out, overflow, overflow_capacity, scratch);
    }
    if constexpr (Scratch::LIMBS > 0) {
      // The block's lowest column is lo: i0 + j0 = lo.
      const u32 i0 = min_of(f.lo, f.a_limbs - h), j0 = f.lo - i0;
      Limb* const block = whole ? out : scratch.at;
      full<false, Limb>(group,
                        {f.a + i0, f.b + j0, h, block, whole ? scratch.at : scratch.at + 2 * h});
      if (whole) return {out, overflow, width, ONE_TILE};
      const auto columns = deal_tiles<SIGN, WORD>(
          group, width, true, out, overflow, [&](u32 k, Tile<Limb, WORD>& tile) {
            // Rows of a before and after the block by all of b; the block's rows by b below and
            // above the block.
            GPUINT_UNROLL(1)
            for (u32 part = 0; part < 4; ++part) {
              const bool rows = part < 2, after = part % 2 != 0;
              const u32 i = rows ? (after ? i0 + h : 0) : i0;
              const u32 a_limbs = rows ? (after ? f.a_limbs - i : i0) : h;
              const u32 j = rows || !after ? 0 : j0 + h;
              const u32 b_limbs = rows ? f.b_limbs : after ? f.b_limbs - j : j0;
              const u32 c = f.lo + k;
              if (c >= i + j && b_limbs > 0)
                bounded_tile(f.a + i, a_limbs, f.b + j, b_limbs, c - (i + j), tile);
            }
          });
      return join<SIGN>(group, columns, block, 2 * h);
    } else {
      return {};
    }
  }

  // Adds or subtracts the block's product, as one number in place of the columns.
  template <Sign SIGN, class Limb, class G>
  GPUINT_DEVICE static Columns<Limb> join(G& group, const Columns<Limb>& columns, const Limb* block,
                                          u32 block_limbs) {
    group.sync();
    resolve<SIGN, LocalCarry::Small, Limb, WORD>(
        group, columns.width,
        [&](u32 k, Limb(&x)[WORD]) {
          const u32 carry = columns.template read<SIGN>(k, x);
          return carry + accumulate<SIGN>(block, block_limbs, k, x);
        },
        [&](u32 k, Limb(&x)[WORD]) { store_word(columns.out + k, x); });
    return {columns.out, columns.overflow, columns.width, ONE_TILE};
  }

  // x += or -= limbs k .. k + 4 of a number; the carry out of them.
  template <Sign SIGN, class Limb>
  GPUINT_DEVICE static u32 accumulate(const Limb* number, u32 limbs, u32 k, Limb (&x)[WORD]) {
    u32 carry = 0;
    if (k >= limbs) return 0;
    Limb word[WORD];
    load_word(number + k, word);
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) {
      if constexpr (SIGN == Sign::Plus)
        x[i] = add_carry(x[i], word[i], carry);
      else
        x[i] = sub_borrow(x[i], word[i], carry);
    }
    return carry;
  }

  // The root's product, resolved. Its factors must be visible to all threads; the product is on
  // return.
  template <bool SQUARE, class Limb, class G>
  GPUINT_DEVICE static void full(G& group, const KaratsubaNode<Limb>& root) {
    u32 leaves = 1;
    for (u32 level = karatsuba_depth(root.limbs); level > 1; --level) leaves *= 3;
    u32 negative =
        0;  // bit `span` of the node that is worked on: its product of differences is negative
    GPUINT_UNROLL(1)
    for (u32 t = 0; t < leaves; ++t) {
      GPUINT_UNROLL(1)
      for (u32 span = leaves; span > 0; span /= 3) {
        if (t % span != 0) continue;
        const KaratsubaNode<Limb> node = root.at(t, span, leaves);
        bool sign = false;
        GPUINT_UNROLL(1)
        for (u32 factor = 0; factor < (SQUARE ? 1 : 2); ++factor)
          sign ^= difference(group, factor == 0 ? node.a : node.b, node.half(),
                             factor == 0 ? node.a_difference() : node.b_difference());
        negative = (negative & ~(1u << span)) | (!SQUARE && sign ? 1u << span : 0);
      }
      group.sync();
      multiply_leaves<SQUARE>(group, root.at(t, 1, leaves));
      GPUINT_UNROLL(1)
      for (u32 span = 1; span <= leaves && (t + 1) % span == 0; span *= 3)
        combine(group, root.at(t, span, leaves), (negative >> span & 1) != 0);
    }
  }

  // Computes to = |x0 - x1| of the halves of x; returns whether x0 < x1.
  template <class Limb, class G>
  GPUINT_DEVICE static bool difference(G& group, const Limb* x, u32 half, Limb* to) {
    const auto store = [&](u32 k, Limb(&word)[WORD]) { store_word(to + k, word); };
    const bool negative = resolve<Sign::Minus, LocalCarry::Binary, Limb, WORD>(
                              group, half,
                              [&](u32 k, Limb(&word)[WORD]) {
                                load_word(x + k, word);
                                return accumulate<Sign::Minus>(x + half, half, k, word);
                              },
                              store) != 0;
    if (negative)
      resolve<Sign::Minus, LocalCarry::Binary, Limb, WORD>(
          group, half,
          [&](u32 k, Limb(&word)[WORD]) {
            GPUINT_UNROLL(4)
            for (u32 i = 0; i < WORD; ++i) word[i] = 0;
            return accumulate<Sign::Minus>(to, half, k, word);
          },
          store);
    return negative;
  }

  // The three products of a lowest node: z0 and z2 to out, that of the differences to the middle.
  // All are resolved.
  template <bool SQUARE, class Limb, class G>
  GPUINT_DEVICE static void multiply_leaves(G& group, const KaratsubaNode<Limb>& node) {
    const u32 half = node.half(), tiles = node.limbs / WORD;
    Limb* const overflow = node.beyond();
    GPUINT_UNROLL(1)
    for (u32 t = group.rank; t < 3 * tiles; t += G::THREADS) {
      const u32 part = t < tiles ? 0 : t < 2 * tiles ? 1 : 2;
      const KaratsubaNode<Limb> leaf = node.child(part);
      const u32 c = (t - part * tiles) * WORD;
      Tile<Limb, WORD> tile;
      if constexpr (SQUARE)
        square_tile<Limb>({leaf.a, half, nullptr, 0, 0, 2 * half}, c, tile);
      else
        bounded_tile(leaf.a, half, leaf.b, half, c, tile);
      Limb limbs[WORD + 2];
      tile.sum(limbs);
      store_word(leaf.out + c, limbs);
      overflow[2 * t] = limbs[WORD];
      overflow[2 * t + 1] = limbs[WORD + 1];
    }
    group.sync();
    // z0 and z2 are stored side by side, and neither carries out.
    GPUINT_UNROLL(1)
    for (u32 number = 0; number < 2; ++number) {
      const Columns<Limb> columns =
          number == 0 ? Columns<Limb>{node.out, overflow, 2 * node.limbs, 2}
                      : Columns<Limb>{node.middle(), overflow + node.limbs, node.limbs, 2};
      [[maybe_unused]] const u32 carry = resolve<Sign::Plus, LocalCarry::Binary, Limb, WORD>(
          group, columns.width, [&](u32 k, Limb(&x)[WORD]) { return columns.read(k, x); },
          [&](u32 k, Limb(&x)[WORD]) { store_word(columns.out + k, x); });
      GPUINT_ASSERT(carry == 0, "nothing carries out of a product");
    }
    group.sync();
  }

  // out += (z0 + z2 -+ middle) X.
  template <class Limb, class G>
  GPUINT_DEVICE static void combine(G& group, const KaratsubaNode<Limb>& node, bool negative) {
    const u32 limbs = node.limbs;
    // A negative product is added as its complement plus 1, modulo the word above, so that all
    // carries are positive.
    const Limb flip = negative ? Limb(0) : Limb(~Limb(0));
    resolve<Sign::Plus, LocalCarry::Small, Limb, WORD>(
        group, limbs + WORD,
        [&](u32 k, Limb(&x)[WORD]) {
          Limb product[WORD] = {};
          GPUINT_UNROLL(4)
          for (u32 i = 0; i < WORD; ++i) x[i] = 0;
          if (k < limbs) {
            load_word(node.middle() + k, product);
            load_word(node.out + k, x);
          }
          u32 carry = k == 0 ? flip & 1 : 0;
          GPUINT_UNROLL(4)
          for (u32 i = 0; i < WORD; ++i)
            x[i] = add_carry(x[i], static_cast<Limb>(product[i] ^ flip), carry);
          return carry + accumulate<Sign::Plus>(node.out + limbs, limbs, k, x);
        },
        [&](u32 k, Limb(&x)[WORD]) { store_word(node.middle() + k, x); });
    group.sync();
    GPUINT_ASSERT(is_carry(node.middle() + limbs), "a0 b1 + a1 b0 < 2 X^2");
    Limb* const at = node.out + node.half();
    [[maybe_unused]] const u32 carry = resolve<Sign::Plus, LocalCarry::Binary, Limb, WORD>(
        group, limbs + node.half(),
        [&](u32 k, Limb(&x)[WORD]) {
          load_word(at + k, x);
          return accumulate<Sign::Plus>(node.middle(), limbs + WORD, k, x);
        },
        [&](u32 k, Limb(&x)[WORD]) { store_word(at + k, x); });
    GPUINT_ASSERT(carry == 0, "nothing carries out of a product");
    group.sync();
  }
};

}  // namespace gpuint
