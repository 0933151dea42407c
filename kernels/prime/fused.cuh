// StrongBase2 and StrongLucas by the tensor cores at whole tiles of 1024 bits, one warp per row:
// the tests of strong.cuh and lucas.cuh in Montgomery's products (modular/tensor/montgomery.cuh).
//
// Base 2 by windows without a table. A residue is divided by 2^f, 0 < f <= BITS, by the product
// with the number 2^(BITS - f), as 2^(BITS - f) / R = 2^-f. So the power of 2^-1 by d is found by
// windows of k bits, 2^k <= BITS: k squares and a product, and no product for a digit 0. The
// first power is a number 2^(BITS - f), too, so that R mod n is never needed. At 2048 bits that is
// 0.09 products a bit beside the squares. The condition of the test is the same for 2^-1 as for 2.
//
// A residue may be any number below R. To be compared it is multiplied by 1, which leaves the
// number below n.
//
// The condition on a chain of Lucas is v_d = 2 and v_(d+1) = T, or v_d = -2 and v_(d+1) = -T, which
// is c^d = 1 or -1, or a zero as in lucas.cuh. A square takes as long as a product, so that steps
// are by products. v_k and v_(k+1) stand in device memory: each step reads and writes them once,
// which is nothing beside its two products. Constants are added as n - c in the last sum of a
// product.
#pragma once
#include "fused/frame.cuh"
#include "modular/tensor/montgomery.cuh"
#include "prime/numbers.cuh"
#include "tuning/fused_modular.cuh"

namespace gpuint::prime {

// Bits of a row n, of the zeros at the end of n - 1 for odd n, and of those of n + 1: the same in
// all lanes.
template <class S>
struct FusedLengths {
  u32 bits, zeros_of_previous, zeros_of_next;

  GPUINT_DEVICE FusedLengths(const u32* n, u32 lane) {
    u32 length = 0, previous_from_top = 0, next_from_top = 0;
    GPUINT_UNROLL(1)
    for (u32 i = lane; i < S::N; i += 32) {
      const u32 limb = __ldg(n + i), previous = i == 0 ? limb & ~1u : limb, next = ~limb;
      // Larger for lower places.
      const auto from_top = [&](u32 x) {
        return S::BITS + 1 - 32 * i - static_cast<u32>(__ffs(static_cast<int>(x)));
      };
      if (limb != 0) length = 32 * (i + 1) - leading_zeros(limb);
      if (previous != 0) previous_from_top = max_of(previous_from_top, from_top(previous));
      if (next != 0) next_from_top = max_of(next_from_top, from_top(next));
    }
    bits = __reduce_max_sync(~0u, length);
    zeros_of_previous = S::BITS - __reduce_max_sync(~0u, previous_from_top);
    zeros_of_next = S::BITS - __reduce_max_sync(~0u, next_from_top);
  }
};

// Bits p .. p + count of a row, count < 32.
template <class S>
GPUINT_DEVICE u32 bits_at(const u32* row, u32 p, u32 count) {
  const u32 i = p / 32;
  const u32 low = i < S::N ? __ldg(row + i) : 0, high = i + 1 < S::N ? __ldg(row + i + 1) : 0;
  return __funnelshift_r(low, high, p % 32) & ((1u << count) - 1);
}

// Numbers of a warp in device memory.
template <class S, u32 COUNT>
struct Numbers {
  static constexpr u32 LIMBS = COUNT * S::N;  // of a warp
  static constexpr u32 WARP_BYTES = LIMBS * sizeof(u32);

  GPUINT_DEVICE static u32* at(const Operands& o, u32 rows, u32 index) {
    const u64 warp = u64(blockIdx.x) * rows + ptx::thread() / 32;
    return reinterpret_cast<u32*>(o.scratch) + warp * LIMBS + index * S::N;
  }
};

template <Order ORDER, class Products>
GPUINT_DEVICE void save(const Products& products, const typename Products::Limbs& x, u32* to) {
  GPUINT_UNROLL(16)
  for (u32 tile = 0; tile < Products::LIMBS / TILE_LIMBS; ++tile)
    to[products.template index<ORDER>(tile)] = x[tile];
  products.sync();
}
template <Order ORDER, class Products>
GPUINT_DEVICE void restore(const Products& products, const u32* from, typename Products::Limbs& x) {
  GPUINT_UNROLL(16)
  for (u32 tile = 0; tile < Products::LIMBS / TILE_LIMBS; ++tile)
    x[tile] = from[products.template index<ORDER>(tile)];
}
template <Order ORDER, class Products>
GPUINT_DEVICE void set_power_of_two(const Products& products, u32 exponent,
                                    typename Products::Limbs& x) {
  GPUINT_UNROLL(16)
  for (u32 tile = 0; tile < Products::LIMBS / TILE_LIMBS; ++tile)
    x[tile] = products.template index<ORDER>(tile) == exponent / 32 ? 1u << exponent % 32 : 0;
}

// in[0] = n; mask: rows that pass.
template <class S, class Policy = FusedPowerPolicy<S::BITS / (8 * TILE_DIGITS)>>
struct FusedStrongTest : FusedFrame<S, Policy> {
  using Base = FusedFrame<S, Policy>;
  using Products = typename Base::Products;
  using Limbs = typename Base::Limbs;
  using Saved = Numbers<S, 1>;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 SCRATCH = Base::ROWS * Saved::WARP_BYTES;
  static constexpr u32 WINDOW = log2_of(S::BITS);

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      // Asked where it is needed: an address kept from product to product would cost registers.
      const auto n = [&] { return input_row<S>(o, 0, row); };
      const FusedLengths<S> lengths(n(), products.lane);
      const u32 lowest = __ldg(n());
      bool passes = lowest == 2 && lengths.bits == 2;
      if (lowest % 2 != 0 && lengths.bits > 1) {
        products.sync();  // the row before is done with
        Montgomery<Products> montgomery(products, n());
        passes = walk(o, montgomery, n, lengths.bits, lengths.zeros_of_previous);
      }
      if (passes && products.lane == 0) set_mask(o.mask, row);
    }
  }

 private:
  template <class Row>
  GPUINT_DEVICE static bool walk(const Operands& o, Montgomery<Products>& montgomery, Row n,
                                 u32 bits, u32 s) {
    // x = 2^-floor((n-1) / 2^p); after the squares of a window, its digit follows.
    u32 p = s + (bits - s - 1) / WINDOW * WINDOW;
    u32 squares = 0, digit = 0;
    bool is_number = false;
    Limbs x;
    set_power_of_two<Order::Turned>(montgomery, S::BITS - bits_at<S>(n(), p, WINDOW), x);
    // One loop, so that there is one copy of the product.
    GPUINT_UNROLL(1)
    while (true) {
      if (is_number) {
        const Signs signs = compare(montgomery, n(), x);
        if (signs.is_negative || (p == s && signs.is_positive)) return true;
        if (p == 1) return false;
        restore<Order::Turned>(montgomery, Saved::at(o, Base::ROWS, 0), x);
      }
      Limbs y;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) y[tile] = x[tile];
      if (is_number) {
        is_number = false;
        --p;
      } else if (squares > 0) {
        --squares;
      } else if (digit != 0) {
        set_power_of_two<Order::Turned>(montgomery, S::BITS - digit, y);
        digit = 0;
      } else if (p > s) {
        p -= WINDOW;
        squares = WINDOW - 1;
        digit = bits_at<S>(n(), p, WINDOW);
      } else {
        save<Order::Turned>(montgomery, x, Saved::at(o, Base::ROWS, 0));
        montgomery.set_one(y);
        is_number = true;
      }
      montgomery.set_factor(y);
      montgomery.multiply(x);
    }
  }

  // Compares x below n with 1 and -1. n is odd, so that the lowest limb of n - 1 does not borrow.
  GPUINT_DEVICE static Signs compare(const Products& products, const u32* n, const Limbs& x) {
    bool differs_from_one = false, differs_from_minus_one = false;
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) {
      const u32 k = products.template index<Order::Turned>(tile), one = k == 0;
      differs_from_one |= x[tile] != one;
      differs_from_minus_one |= x[tile] != __ldg(n + k) - one;
    }
    return {__any_sync(~0u, differs_from_one) == 0, __any_sync(~0u, differs_from_minus_one) == 0};
  }
};

// in[0] = n, in[1] = first terms (lucas.cuh); mask: rows that pass.
template <class S, class Policy = FusedLucasPolicy<S::BITS / (8 * TILE_DIGITS)>>
struct FusedLucasTest : FusedFrame<S, Policy> {
  using Base = FusedFrame<S, Policy>;
  using Products = typename Base::Products;
  using Limbs = typename Base::Limbs;
  using Saved = Numbers<S, 6>;
  static constexpr u32 TILES = Base::TILES;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 SCRATCH = Base::ROWS * Saved::WARP_BYTES;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Products products = Base::products(shared);
    GPUINT_UNROLL(1)
    for (u64 row = Base::first_row(); row < o.rows; row += Base::row_stride()) {
      const u32* const n = input_row<S>(o, 0, row);
      const FusedLengths<S> lengths(n, products.lane);
      const Term term(__ldg(static_cast<const u64*>(o.in[1]) + row));
      bool passes = term.passes();
      if (!term.is_decided()) {
        if (__ldg(n) % 2 == 0 || lengths.bits < 2) continue;
        products.sync();  // the row before is done with
        Montgomery<Products> montgomery(products, n);
        begin(o, montgomery, n, lengths.bits, term);
        passes = walk(o, montgomery, n, lengths);
      }
      if (passes && products.lane == 0) set_mask(o.mask, row);
    }
  }

 private:
  // Numbers in device memory: v_k, v_(k+1); T; n - 2 R and n - T R modulo n; a work space.
  static constexpr u32 LOWER = 0, UPPER = 1, FIRST = 2, MINUS_TWO = 3, MINUS_FIRST = 4, WORK = 5;
  GPUINT_DEVICE static u32* number(const Operands& o, u32 index) {
    return Saved::at(o, Base::ROWS, index);
  }

  // Numbers in plain order, below n, which stands in A-form.
  struct Plain {
    const Montgomery<Products>& products;

    // x <- x + y and 2 x modulo n.
    GPUINT_DEVICE void add(Limbs& x, const Limbs& y) const {
      Limbs sum;
      const u32 above = products.resolve([&](u32 tile) { return u64(x[tile]) + y[tile]; }, 0, sum);
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) x[tile] = sum[tile];
      Limbs difference;
      const bool is_less =
          products.template subtract<Order::Plain>(x, products.for_high(), difference);
      if (__shfl_sync(~0u, above, 0) == 0 && is_less) return;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) x[tile] = difference[tile];
    }
    // x <- n - x.
    GPUINT_DEVICE void negate(const u32* n, Limbs& x) const {
      products.sync();
      products.template put_a<Order::Plain>(products.template factor<Order::Plain>(), x);
      products.sync();
      Limbs modulus;
      restore<Order::Plain>(products, n, modulus);
      products.template subtract<Order::Plain>(modulus, products.template factor<Order::Plain>(),
                                               x);
      products.sync();
      products.template begin_factors<Order::Turned>();
      products.sync();
    }
  };

  GPUINT_DEVICE static void begin(const Operands& o, Montgomery<Products>& montgomery, const u32* n,
                                  u32 bits, const Term& term) {
    const Plain plain{montgomery};
    Limbs x, z;
    set_power_of_two<Order::Plain>(montgomery, bits - 1, x);
    GPUINT_UNROLL(1)
    for (u32 exponent = bits - 1;; ++exponent) {  // 2^exponent mod n
      if (exponent == S::BITS) save<Order::Plain>(montgomery, x, number(o, UPPER));
      if (exponent == S::BITS + 1) break;
      GPUINT_UNROLL(16)
      for (u32 tile = 0; tile < TILES; ++tile) z[tile] = x[tile];
      plain.add(x, z);
    }
    save<Order::Plain>(montgomery, x, number(o, LOWER));
    plain.negate(n, x);
    save<Order::Plain>(montgomery, x, number(o, MINUS_TWO));
    u32* const upper = number(o, UPPER);
    if (montgomery.lane == 0)
      divide_modulo<32>(
          S::N, [&](u32 j) -> u32& { return upper[j]; }, [&](u32 j) { return __ldg(n + j); },
          term.denominator);
    montgomery.sync();
    restore<Order::Plain>(montgomery, upper, z);
    GPUINT_UNROLL(16)
    for (u32 tile = 0; tile < TILES; ++tile) x[tile] = 0;
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < term.summands; ++i) plain.add(x, z);
    // Both T and -T are kept, and change places for a negative one.
    save<Order::Plain>(montgomery, x, term.is_negative ? number(o, MINUS_FIRST) : upper);
    plain.negate(n, x);
    save<Order::Plain>(montgomery, x, term.is_negative ? upper : number(o, MINUS_FIRST));
    take_radix_out(montgomery, upper, x);
    save<Order::Turned>(montgomery, x, number(o, FIRST));
  }

  // x = y R^-1 mod n, at most n, for y in device memory.
  GPUINT_DEVICE static void take_radix_out(Montgomery<Products>& montgomery, const u32* y,
                                           Limbs& x) {
    Limbs one;
    restore<Order::Turned>(montgomery, y, x);
    montgomery.set_one(one);
    montgomery.sync();
    montgomery.set_factor(one);
    montgomery.multiply(x);
  }

  GPUINT_DEVICE static bool walk(const Operands& o, Montgomery<Products>& montgomery, const u32* n,
                                 const FusedLengths<S>& lengths) {
    const u32 s = lengths.zeros_of_next;
    GPUINT_UNROLL(1)
    for (u32 p = lengths.bits; p > 0; --p) {
      const bool is_set = p > s ? bits_at<S>(n, p, 1) != 0 : p == s;
      // v_k v_(k+1) - T to the number that is not squared, then the square of the other one.
      GPUINT_UNROLL(1)
      for (u32 i = 0; i < 2; ++i) {
        const bool is_square = i == 1;
        const u32 squared = is_set ? UPPER : LOWER, other = is_set ? LOWER : UPPER;
        const u32* const constant = number(o, is_square ? MINUS_TWO : MINUS_FIRST);
        Limbs x, y;
        restore<Order::Turned>(montgomery, number(o, squared), x);
        restore<Order::Turned>(montgomery, number(o, is_square ? squared : other), y);
        montgomery.set_factor(y);
        montgomery.multiply_add(
            x, [&](u32 tile) { return constant[montgomery.template index<Order::Turned>(tile)]; });
        save<Order::Turned>(montgomery, x, number(o, is_square ? squared : other));
      }
      if (p <= s && passes(o, montgomery, n, p, s)) return true;
    }
    return false;
  }

  // Tests the condition at v_k and v_(k+1), k = floor((n+1) / 2^p), p <= s.
  GPUINT_DEVICE static bool passes(const Operands& o, Montgomery<Products>& montgomery,
                                   const u32* n, u32 p, u32 s) {
    u32 result = 0;  // bit 0: equal, bit 1: equal to the negative, bit 2: 0, or n in place of it
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < 2; ++i) {
      Limbs x;
      take_radix_out(montgomery, number(o, i == 0 ? LOWER : UPPER), x);
      save<Order::Turned>(montgomery, x, number(o, WORK));
      const u32 *const work = number(o, WORK), *const first = number(o, FIRST);
      u32 bits = 0;
      if (montgomery.lane == 0) {
        const auto modulus = [&](u32 j) { return __ldg(n + j); };
        const auto value = [&](u32 j) { return work[j]; };
        const Signs signs = compare_signs<32>(
            S::N, value, [&](u32 j) { return i != 0 ? u64(first[j]) : 2 * u64(j == 0); }, modulus);
        const Signs zero = compare_signs<32>(S::N, value, [](u32) { return u64(0); }, modulus);
        bits = u32(signs.is_positive) | u32(signs.is_negative) << 1 |
               u32(zero.is_positive || zero.is_negative) << 2;
      }
      bits = __shfl_sync(~0u, bits, 0);
      result = i == 0 ? bits : result & (bits | 4);
    }
    return (p == s && (result & 3) != 0) || (p > 1 && (result & 4) != 0);
  }
};

}  // namespace gpuint::prime
