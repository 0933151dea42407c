// StrongTerms, ExtraStrongTerms: parameters of Lucas tests, one thread per row (src/selfridge.rs).
//
// The first D of a list with the Jacobi symbol (D | n) = -1: D = 5, -7, 9, -11, .. with P = 1, Q =
// (1 - D) / 4 (J. L. Selfridge's method A; R. Baillie and S. S. Wagstaff, Math. Comp. 35, 1980), or
// D = P^2 - 4, P = 3, 4, .. with Q = 1. By reciprocity (D | n) follows from n modulo 8 and the
// symbol of n over the odd part of |D|, which is a product of symbols over primes: any number that
// is equal to n modulo these primes has the same symbol. So the remainders of n by two products of
// primes serve all factors of D up to LARGEST; the few rows that no such D serves are divided by
// each larger factor. With all primes up to 137 a row that is no square is left with probability
// 2^-33.
//
// Q is coprime to n: a prime factor p of Q is at most |D| / 4, so that an earlier D of the list is
// p or -p, or 9 for p = 3. Its symbol was 1 and not 0.
//
// Result: the first term of the chain with Q = 1, P^2 / Q - 2 or P, as a numerator (i32) above a
// denominator (u32). A denominator 0 stands for a decided row, the numerator 1 for one that passes.
// Rows whose D is not among the first ones, as squares, are in the mask, and the lowest one is in
// the status.
#pragma once
#include "core/abi.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"

namespace gpuint::prime {

constexpr u32 LARGEST = 45;
// The last |D|, and the last P: multipliers of a chain are at most 50 (lucas.cuh).
constexpr u32 LAST_SIZE = 137, LAST_P = 52;
constexpr u64 SMALL_PRIMES = 0x28208a20a08a28ac;  // bit n: of the primes below 64
constexpr u64 UNRESOLVED = ~u64(0);               // of a row without a term

// (a | b) for odd b.
GPUINT_DEVICE i32 jacobi(u32 a, u32 b) {
  i32 symbol = 1;
  a %= b;
  while (a != 0) {
    const u32 twos = static_cast<u32>(__ffs(static_cast<int>(a))) - 1;
    a >>= twos;
    if (twos % 2 != 0 && (b % 8 == 3 || b % 8 == 5)) symbol = -symbol;
    if (a % 4 == 3 && b % 4 == 3) symbol = -symbol;
    const u32 rest = b % a;
    b = a, a = rest;
  }
  return b == 1 ? symbol : 0;
}

// A number of COUNT limbs of 32 bits by its remainders.
template <class S>
struct Remainders {
  static constexpr u32 COUNT = ceil_div(S::BITS, 32);
  static constexpr u32 FIRST = 111546435;  // 3 5 7 11 13 17 19 23
  static constexpr u32 SECOND = 58642669;  // 29 31 37 41 43
  static constexpr u64 OF_SECOND = 1ull << 29 | 1ull << 31 | 1ull << 37 | 1ull << 41 | 1ull << 43;
  const typename S::Limb* n;
  u32 eighth, first, second;

  // Equal to n modulo the prime factors of m.
  GPUINT_DEVICE u32 for_factors_of(u32 m) const {
    if (m <= LARGEST) return (OF_SECOND >> m & 1) != 0 ? second : first;
    u64 rest = 0;
    GPUINT_UNROLL(1)
    for (u32 k = COUNT; k-- > 0;) rest = (rest << 32 | limb_of_32<S>(n, k)) % m;
    return static_cast<u32>(rest);
  }

  // (a | n) for a != 0.
  GPUINT_DEVICE i32 symbol(i32 a) const {
    u32 odd = static_cast<u32>(a < 0 ? -a : a);
    const u32 twos = static_cast<u32>(__ffs(static_cast<int>(odd))) - 1;
    odd >>= twos;
    i32 symbol = jacobi(for_factors_of(odd), odd);
    if (a < 0 && eighth % 4 == 3) symbol = -symbol;
    if (twos % 2 != 0 && (eighth == 3 || eighth == 5)) symbol = -symbol;
    if (eighth % 4 == 3 && odd % 4 == 3) symbol = -symbol;
    return symbol;
  }
};

GPUINT_DEVICE u64 term_of(i32 numerator, u32 denominator) {
  return u64(static_cast<u32>(numerator)) << 32 | denominator;
}

template <bool EXTRA, class S>
GPUINT_DEVICE u64 find_term(const Remainders<S>& n) {
  GPUINT_UNROLL(1)
  for (u32 size = EXTRA ? 3 : 5; size <= (EXTRA ? LAST_P : LAST_SIZE); size += EXTRA ? 1 : 2) {
    const i32 value = static_cast<i32>(size);
    const i32 d = size % 4 == 1 ? value : -value;
    const i32 symbol = EXTRA ? n.symbol(value - 2) * n.symbol(value + 2) : n.symbol(d);
    if (symbol == 1) continue;
    if (symbol == 0) return 0;
    if (EXTRA) return term_of(value, 1);
    const i32 q = (1 - d) / 4, absolute = q < 0 ? -q : q;
    return term_of(q < 0 ? 2 * q - 1 : 1 - 2 * q, static_cast<u32>(absolute));
  }
  return UNRESOLVED;
}

// in[0] = n, out[0] = terms, u64 a row; mask: rows without one; status: the lowest of them.
template <class S, bool EXTRA>
struct LucasTerms {
  static constexpr u32 THREADS = 128, ROWS = THREADS, SHARED = 0, SCRATCH = 0;
  static constexpr u32 PERSISTENT = 0, MIN_BLOCKS = 1;

  static __device__ void run(const Operands& o, unsigned char*) {
    GPUINT_UNROLL(1)
    for (u64 row = u64(blockIdx.x) * ROWS + threadIdx.x; row < o.rows;
         row += u64(gridDim.x) * ROWS) {
      const typename S::Limb* const n = input_row<S>(o, 0, row);
      const u32 lowest = limb_of_32<S>(n, 0);
      u32 above = 0;
      u64 first = 0, second = 0;
      GPUINT_UNROLL(4)
      for (u32 k = Remainders<S>::COUNT; k-- > 0;) {
        const u32 limb = limb_of_32<S>(n, k);
        if (k > 0) above |= limb;
        first = (first << 32 | limb) % Remainders<S>::FIRST;
        second = (second << 32 | limb) % Remainders<S>::SECOND;
      }
      const Remainders<S> remainders{n, lowest % 8, static_cast<u32>(first),
                                     static_cast<u32>(second)};
      u64 term = 0;
      if (above == 0 && lowest < 64)
        term = (SMALL_PRIMES >> lowest & 1) << 32;
      else if (lowest % 2 != 0)
        term = find_term<EXTRA>(remainders);
      if (term == UNRESOLVED) {
        set_status(o.status, row);
        set_mask(o.mask, row);
        term = 0;
      }
      static_cast<u64*>(o.out[0])[row] = term;
    }
  }
};

template <class S>
struct StrongTerms : LucasTerms<S, false> {};
template <class S>
struct ExtraStrongTerms : LucasTerms<S, true> {};

}  // namespace gpuint::prime
