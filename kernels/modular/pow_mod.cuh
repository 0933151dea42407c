// PowMod: a^e mod v by prepared divisors, for every a, e < 2^BITS; results are in [0, v). 0^0 is 1,
// and everything mod 1 is 0.
//
// Left to right by windows of k bits (D. E. Knuth, TAOCP 2, 4.6.3; A. Brauer): with the powers a^1
// .. a^(2^k - 1) in a table and e in base 2^k, the result starts as the power of the top digit, and
// for each digit below is squared k times and multiplied by the digit's power, unless the digit is
// zero. All residues are lazy (modular.cuh); only the result is compared with v.
//
// Window. For e of E bits there are about E squarings, (1 - 2^-k) E / k products, and
// 2^k - 2 for the table. The sum is least for k as in `window_bits`: each bound is where a bit more
// saves as much as its table costs, to within one product in a hundred. At 1024 bits that is 0.22
// products a bit beside the squarings. Windows stand at fixed places, though sliding ones would
// take 3 % fewer products: groups that share a warp then do the same at the same time. The table
// ends with the largest digit of the exponent: 65537 takes 17 products.
//
// The table stands in device memory, one for each group in flight: at most 63 powers, each written
// once and read once in k squarings, which is nothing beside the products. A wider window would
// save 2 % at 2^16 bits and double the memory.
//
// Sliding windows. Rows with a warp or block of their own do not wait for others. Their windows
// begin and end in a bit that is set (A. Menezes, P. van Oorschot and S. Vanstone, "Handbook of
// Applied Cryptography", 1996, 14.85). The table then has the odd powers alone, half as many, so
// that windows are a bit longer. That takes about E squarings, E / (k + 1) products, and 2^(k - 1)
// for the table: 3 to 4 % fewer in all from 2048 bits on. The table ends with the largest digit of
// all windows that begin in a bit of the exponent, wherever that is, which a group finds in
// parallel.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "modular/modular.cuh"

namespace gpuint {

constexpr u32 MAX_WINDOW = 6;

__host__ __device__ constexpr u32 window_bits(u32 exponent_bits) {
  return exponent_bits < 16     ? 1
         : exponent_bits < 48   ? 2
         : exponent_bits < 140  ? 3
         : exponent_bits < 394  ? 4
         : exponent_bits < 1077 ? 5
                                : MAX_WINDOW;
}

// Bits first .. first + count of an exponent, count < the bits of a limb.
template <class S>
GPUINT_DEVICE u32 exponent_bits(const typename S::Limb* exponent, u32 first, u32 count) {
  using Wide = typename LimbTraits<typename S::Limb>::Wide;
  const i32 limb = static_cast<i32>(first / S::LIMB_BITS);
  const Wide pair =
      Wide(limb_or_zero<S>(exponent, limb + 1)) << S::LIMB_BITS | limb_or_zero<S>(exponent, limb);
  return static_cast<u32>(pair >> (first % S::LIMB_BITS)) & ((1u << count) - 1);
}

// Digit i of an exponent in base 2^k, k < the bits of a limb.
template <class S>
GPUINT_DEVICE u32 exponent_digit(const typename S::Limb* exponent, u32 i, u32 k) {
  return exponent_bits<S>(exponent, i * k, k);
}

// Returns the largest digit in base 2^k of an exponent of `bits` bits, in all threads of the group.
template <class S, class G>
GPUINT_DEVICE u32 largest_digit(G& group, const typename S::Limb* exponent, u32 bits, u32 k) {
  u32 largest = 0;
  GPUINT_UNROLL(1)
  for (u32 i = group.rank; i * k < bits; i += G::THREADS)
    largest = max_of(largest, exponent_digit<S>(exponent, i, k));
  return group.max(largest);
}

// Length of sliding windows: each bound is where a bit more saves as much as its table costs.
__host__ __device__ constexpr u32 sliding_window_bits(u32 exponent_bits) {
  return exponent_bits <= 6      ? 1
         : exponent_bits <= 24   ? 2
         : exponent_bits <= 80   ? 3
         : exponent_bits <= 240  ? 4
         : exponent_bits <= 672  ? 5
         : exponent_bits <= 1792 ? 6
                                 : 7;
}
// Odd powers of a table.
__host__ __device__ constexpr u32 odd_powers(u32 exponent_bits) {
  return 1u << (sliding_window_bits(exponent_bits) - 1);
}

// Squarings of a window, and the odd power to multiply by after them; 0 for bits that are 0.
struct SlidingWindow {
  u32 squarings, digit;
};

// The window of at most k bits below bit `end` > 0 of an exponent.
template <class S>
GPUINT_DEVICE SlidingWindow window_below(const typename S::Limb* exponent, u32 end, u32 k) {
  const u32 length = min_of(end, k);
  const u32 bits = exponent_bits<S>(exponent, end - length, length);
  const u32 zeros_above = leading_zeros(bits) + length - 32;
  if (zeros_above > 0) return {zeros_above, 0};
  const u32 zeros_below = static_cast<u32>(__ffs(static_cast<int>(bits)) - 1);
  return {length - zeros_below, bits >> zeros_below};
}

// Returns the largest digit of the windows that begin in bits rank, rank + threads, .. of an
// exponent of `bits` bits.
template <class S>
GPUINT_DEVICE u32 largest_window(const typename S::Limb* exponent, u32 bits, u32 k, u32 rank,
                                 u32 threads) {
  u32 largest = 0;
  GPUINT_UNROLL(1)
  for (u32 i = rank; i < bits; i += threads)
    largest = max_of(largest, window_below<S>(exponent, i + 1, k).digit);
  return largest;
}

// in[0] = a, in[1] = e, in[2] = records, out[0] = a^e mod v.
template <class Policy>
struct PowerMod : ModularFrame<Policy> {
  using Base = ModularFrame<Policy>;
  using S = typename Base::S;
  using Limb = typename S::Limb;
  using G = typename Base::G;
  // A power of n words takes n words, so the table is dense whatever v is.
  static constexpr u32 TABLE = ((1u << window_bits(S::BITS)) - 1) * S::WORDS * WORD;
  static constexpr u32 SCRATCH = round_up(S::ROWS * TABLE * sizeof(Limb), 16);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Base::run(o, shared, [&](G& group, u64 row, unsigned char* bytes) {
      // Asked where it is needed: an address kept from product to product would cost registers.
      const auto exponent = [&] {
        return input_row<S>(o, 1, o.params.broadcast_exponent != 0 ? 0 : row);
      };
      const u32 bits = group.max(bits_seen<S>(group, exponent()));
      const Prepared<S> prepared(o, row);
      if (bits == 0) {
        write_bit(group, prepared.bits() > 1, output_row<S>(o, 0, row));
        return;
      }
      typename Base::Arithmetic mod(group, bytes, prepared);
      const u32 n = mod.divisor.words;
      const u32 k = window_bits(bits);
      const u32 powers = largest_digit<S>(group, exponent(), bits, k);
      Limb* const table =
          reinterpret_cast<Limb*>(o.scratch + u64(blockIdx.x) * SCRATCH) + G::index() * TABLE;
      const auto power = [&](u32 e) { return table + (e - 1) * n * WORD; };

      // One loop, so that there is one copy of each kind of product. First it makes the powers;
      // `made` is the highest.
      u32 made = 0;
      u32 position = ceil_div(bits, k) - 1;  // of the lowest digit whose squarings have begun
      u32 squarings = 0;                     // still to do for it
      u32 digit = 0;                         // to multiply by after them, if not zero
      for (;;) {
        u32 length = n;
        u32 factor = 0;  // the power to multiply by; 0: a square
        if (made == 0) {
          length = mod.load(input_row<S>(o, 0, row));
        } else {
          if (made < powers) {
            if (made % 2 == 0)
              factor = 1;
            else
              copy_words(group, power((made + 1) / 2), n, mod.arena().a);
          } else if (squarings > 0) {
            --squarings;
          } else if (digit != 0) {
            factor = digit;
            digit = 0;
          } else if (position > 0) {
            --position;
            squarings = k - 1;
            digit = exponent_digit<S>(exponent(), position, k);
          } else {
            break;
          }
          if (group.rank == 0) GPUINT_RARE(PowerProduct);
          if (factor != 0) {
            copy_padded(group, power(factor), n, mod.arena().b);
            group.sync();
            mod.multiply();
          } else {
            group.sync();
            mod.square();
          }
        }
        mod.reduce(length);
        if (made < powers) {
          ++made;
          copy_words(group, mod.arena().a, n, power(made));
          // The powers are there, and the walk over the digits starts with the top one's.
          if (made == powers)
            copy_words(group, power(exponent_digit<S>(exponent(), position, k)), n, mod.arena().a);
        }
      }
      mod.correct();
      copy_out<S>(group, mod.arena().a, mod.limbs(), output_row<S>(o, 0, row));
    });
  }

 private:
  // The row 0 or 1.
  GPUINT_DEVICE static void write_bit(const G& group, bool bit, Limb* row) {
    for (u32 k = group.rank * WORD; k < S::WORDS * WORD; k += G::THREADS * WORD) {
      const Limb word[WORD] = {static_cast<Limb>(bit && k == 0), 0, 0, 0};
      write_word<S>(row, k, word);
    }
  }
};

}  // namespace gpuint
