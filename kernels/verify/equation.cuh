// CheckEquation, CheckDivRemBy: an equation of the operands and results of another operation, row
// by row modulo p = 2^61 - 1 (residue.cuh). Rows that do not satisfy it fail.
//
// With operands a, b and results c, d of a row:
//     sum         a + b = c + 2^BITS carry
//     difference  a + 2^BITS borrow = b + c
//     product     a b = c + 2^BITS d, or a b = c for c of twice the width
//     quotient    a = b c + d and d < b; c = 2^BITS - 1 and d = a where b = 0
//     root        a = c^2 + d and d <= 2 c
//     digit       a = digit c + d and d < digit
// Each equation has one solution (c, d), by its inequality or by the widths of c and d. A flipped
// bit of c or d makes the sides differ by +-2^k, which is found, or by
//     2^k b       in a bit of a quotient,
//     2^k digit   in a bit of a quotient by a digit,
//     2^k (2 c +- 2^k)   in a bit of a root.
// These are multiples of p only for special operands: the equations hold modulo a second prime,
// too, where p divides the divisor, and for all roots. So a flipped bit passes only if both primes
// divide the divisor, or 2 c +- 2^k.
//
// Every equation is X Y + L = 0 for two operands X, Y and a sum L of others. A row is folded by
// LANES lanes, from the top down: lane l takes the words l, l + LANES, .. by Horner's rule in the
// base 2^(WORD_BITS LANES), whose powers are rotations. At the end it rotates by 2^(WORD_BITS l),
// and the lanes add up. Neighbouring lanes read neighbouring words, each word once: the kernel
// takes the time of the memory.
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/group.cuh"
#include "core/math.cuh"
#include "core/record.cuh"
#include "core/rows.cuh"
#include "tuning/verify.cuh"
#include "verify/residue.cuh"

namespace gpuint {

template <class S>
struct EquationCheck {
  using Limb = typename S::Limb;
  using Policy = CheckPolicy<S>;
  static constexpr u32 WORD_BITS = WORD * S::LIMB_BITS;
  static constexpr u32 LANES = Policy::LANES;
  static constexpr u32 ROUNDS = ceil_div(S::WORDS, LANES);
  static constexpr u32 STEP = WORD_BITS * LANES % Residue::BITS;
  static constexpr u32 WIDTH = S::BITS % Residue::BITS;  // 2^BITS as a rotation
  using G = Group<LANES>;
  static constexpr u32 THREADS = Policy::THREADS;
  static constexpr u32 ROWS = THREADS / LANES;
  static constexpr u32 SHARED = 0;
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 PERSISTENT = 0;
  static constexpr u32 MIN_BLOCKS = 1;

  // The operands of a row; null if the equation does not have them.
  struct Row {
    const Limb *a, *b, *c, *d;
  };

  // Values of a row that all lanes have after its reading.
  struct Sums {
    u64 x = 0, y = 0, l = 0;
    bool any_b = false;    // b is not zero
    bool is_less = false;  // d < b; of a root, 2 c < d
  };

  template <Equation E>
  GPUINT_DEVICE static Sums read(const G& group, const Row& row) {
    Sums sums;
    // Twice the index of the highest word that differs, counted from 1, and bit 0: is_less.
    [[maybe_unused]] u32 order = 0;
    GPUINT_UNROLL(Policy::UNROLL)
    for (u32 round = ROUNDS; round-- > 0;)
      add_words<E>(row, round * LANES + group.rank, sums, order);
    total<E>(group, sums, order);
    return sums;
  }

  // Adds the words `index` of a row, in descending order.
  template <Equation E>
  GPUINT_DEVICE static void add_words(const Row& row, u32 index, Sums& sums, u32& order) {
    const bool is_inside = ROUNDS * LANES == S::WORDS || index < S::WORDS;
    const u32 k = index * WORD;
    const auto load = [&](const Limb* from, Limb(&word)[WORD]) {
      if (from != nullptr && is_inside) read_word<S>(from, k, word);
    };
    Limb a[WORD] = {}, b[WORD] = {}, c[WORD] = {}, d[WORD] = {};
    load(row.a, a), load(row.b, b), load(row.c, c), load(row.d, d);
    const u64 ra = Residue::of_word(a), rc = Residue::of_word(c);
    const auto horner = [](u64& sum, u64 word) {
      sum = Residue::fold(Residue::rotate(sum, STEP) + word);
    };
    if constexpr (E == Equation::Sum || E == Equation::Difference) {
      const u64 rb = Residue::of_word(b);
      const u64 plus = E == Equation::Sum ? Residue::add(ra, rb) : ra;
      const u64 minus = E == Equation::Sum ? rc : Residue::add(rb, rc);
      horner(sums.l, Residue::add(plus, Residue::negate(minus)));
    } else if constexpr (E == Equation::Product) {
      horner(sums.x, ra);
      horner(sums.y, Residue::of_word(b));
      const u64 high = Residue::rotate(Residue::of_word(d), WIDTH);
      horner(sums.l, Residue::fold(Residue::negate(Residue::add(rc, high))));
    } else {
      horner(sums.x, rc);
      horner(sums.l, Residue::add(Residue::of_word(d), Residue::negate(ra)));
      if constexpr (E == Equation::Root) {
        // 2 c, with the top bit of the limb below.
        Limb below = is_inside && k > 0 ? __ldg(row.c + k - 1) : Limb(0);
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i) {
          b[i] = static_cast<Limb>(c[i] << 1 | below >> (S::LIMB_BITS - 1));
          below = c[i];
        }
      } else if constexpr (E != Equation::DigitQuotient) {
        horner(sums.y, Residue::of_word(b));
        sums.any_b |= (b[0] | b[1] | b[2] | b[3]) != 0;
      }
      if constexpr (E != Equation::DigitQuotient) {
        u32 differs = 0;
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i)
          if (d[i] != b[i]) differs = (d[i] < b[i]) == (E != Equation::Root) ? 3 : 2;
        if (order == 0 && differs != 0) order = index * 2 + differs;
      }
    }
  }

  // Adds the sums of all lanes.
  template <Equation E>
  GPUINT_DEVICE static void total(const G& group, Sums& sums, u32 order) {
    const u32 place = WORD_BITS % Residue::BITS * group.rank % Residue::BITS;
    const auto of_lanes = [&](u64 sum) {
      sum = Residue::rotate(sum, place);
      GPUINT_UNROLL(5)
      for (u32 distance = 1; distance < LANES; distance *= 2)
        sum = Residue::add(sum, __shfl_xor_sync(group.mask, sum, distance, LANES));
      return Residue::fold(sum);
    };
    sums.l = of_lanes(sums.l);
    if constexpr (E != Equation::Sum && E != Equation::Difference) sums.x = of_lanes(sums.x);
    if constexpr (E == Equation::Product || E == Equation::Quotient) sums.y = of_lanes(sums.y);
    if constexpr (E == Equation::Root) sums.y = sums.x;
    if constexpr (E == Equation::Quotient || E == Equation::Root) {
      GPUINT_UNROLL(5)
      for (u32 distance = 1; distance < LANES; distance *= 2)
        order = max_of(order, __shfl_xor_sync(group.mask, order, distance, LANES));
      sums.is_less = (order & 1) != 0;
      if constexpr (E == Equation::Quotient) sums.any_b = group.vote(sums.any_b) != 0;
    }
  }

  // The residue of a row modulo the second prime, in all lanes.
  GPUINT_DEVICE static u64 second_residue(const G& group, const Limb* row) {
    using Second = SecondResidue;
    constexpr u64 STRIDE = Second::power_of_two(WORD_BITS * LANES);
    constexpr u64 NEXT = Second::power_of_two(WORD_BITS);
    u64 sum = 0;
    GPUINT_UNROLL(1)
    for (u32 round = ROUNDS; round-- > 0;) {
      const u32 index = round * LANES + group.rank;
      Limb word[WORD] = {};
      if (index < S::WORDS) read_word<S>(row, index * WORD, word);
      sum = (sum * STRIDE + Second::of_word(word)) % Second::P;
    }
    GPUINT_UNROLL(1)
    for (u32 lane = 0; lane < group.rank; ++lane) sum = sum * NEXT % Second::P;
    GPUINT_UNROLL(5)
    for (u32 distance = 1; distance < LANES; distance *= 2)
      sum = (sum + __shfl_xor_sync(group.mask, sum, distance, LANES)) % Second::P;
    return sum;
  }

  // True if a = c y + d modulo the second prime.
  GPUINT_DEVICE static bool is_balanced_again(const G& group, const Row& row, u64 y, u64 d) {
    const u64 a = second_residue(group, row.a), c = second_residue(group, row.c);
    return (c * (y % SecondResidue::P) + d % SecondResidue::P) % SecondResidue::P == a;
  }

  GPUINT_DEVICE static bool is_balanced(const Sums& sums, u64 rest) {
    const u64 product = Residue::multiply(sums.x, sums.y);
    return Residue::is_zero(Residue::add(Residue::add(product, sums.l), rest));
  }

  // True if a row satisfies a = b c + d, d < b, or has the results of b = 0; sets is_zero to b = 0.
  GPUINT_DEVICE static bool is_quotient(const G& group, const Row& row, bool& is_zero) {
    const Sums sums = read<Equation::Quotient>(group, row);
    is_zero = !sums.any_b;
    if (sums.any_b && Residue::is_zero(sums.y)) {
      if (group.rank == 0) GPUINT_RARE(SecondPrime);
      const u64 y = second_residue(group, row.b), d = second_residue(group, row.d);
      if (!is_balanced_again(group, row, y, d)) return false;
    }
    if (sums.any_b) return sums.is_less && is_balanced(sums, 0);
    const u64 ones = Residue::rotate(1, WIDTH) + Residue::P - 1;
    return Residue::is_zero(sums.l) &&
           Residue::is_zero(Residue::add(sums.x, Residue::negate(Residue::fold(ones))));
  }

  // Runs is_right(group, row) for all rows, and records those for which it is false.
  template <class Check>
  GPUINT_DEVICE static void each(const Operands& o, Check is_right) {
    const G group(nullptr);
    for (u64 row = u64(blockIdx.x) * ROWS + G::index(); row < o.rows; row += u64(gridDim.x) * ROWS)
      if (!is_right(group, row) && group.rank == 0) set_status(o.status, row);
  }
};

template <class S>
struct CheckEquation : EquationCheck<S> {
  using Base = EquationCheck<S>;
  using G = typename Base::G;
  using Row = typename Base::Row;
  using Sums = typename Base::Sums;

  static __device__ void run(const Operands& o, unsigned char*) {
    const auto bit = [&](u64 row) {
      return (__ldg(static_cast<const u32*>(o.in[2]) + row / 32) >> (row % 32) & 1) != 0;
    };
    const auto operands = [&](u64 row) {
      return Row{input_row<S>(o, 0, row), rhs_row<S>(o, row), output_row<S>(o, 0, row),
                 output_row<S>(o, 1, row)};
    };
    const Equation equation = static_cast<Equation>(o.params.equation);
    switch (equation) {
      case Equation::Sum:
        return sums<Equation::Sum>(o, operands, bit);
      case Equation::Difference:
        return sums<Equation::Difference>(o, operands, bit);
      case Equation::Product:
        return Base::each(o, [&](const G& group, u64 row) {
          Row of = operands(row);
          if (o.params.joined != 0) {
            of.c = output_row<S>(o, 0, 2 * row);
            of.d = of.c + S::N;
          }
          return Base::is_balanced(Base::template read<Equation::Product>(group, of), 0);
        });
      case Equation::Quotient:
      case Equation::MaskedQuotient:
        return Base::each(o, [&](const G& group, u64 row) {
          bool is_zero;
          const bool is_right = Base::is_quotient(group, operands(row), is_zero);
          // params.digit: the lowest row with b = 0, or all ones.
          const bool is_reported = equation == Equation::MaskedQuotient
                                       ? bit(row) == is_zero
                                       : row > o.params.digit || (row == o.params.digit) == is_zero;
          return is_right && is_reported;
        });
      case Equation::Root:
        return Base::each(o, [&](const G& group, u64 row) {
          Row of = operands(row);
          of.b = nullptr;
          const Sums sums = Base::template read<Equation::Root>(group, of);
          const u64 c = Base::second_residue(group, of.c), d = Base::second_residue(group, of.d);
          return Base::is_balanced_again(group, of, c, d) && !sums.is_less &&
                 Base::is_balanced(sums, 0);
        });
      case Equation::DigitQuotient:
        return Base::each(o, [&](const G& group, u64 row) {
          Row of = operands(row);
          of.b = nullptr, of.d = nullptr;
          Sums sums = Base::template read<Equation::DigitQuotient>(group, of);
          sums.y = Residue::fold(o.params.digit);
          const u64 remainder = __ldg(static_cast<const u64*>(o.in[2]) + row);
          return Base::is_balanced_again(group, of, o.params.digit, remainder) &&
                 remainder < o.params.digit && Base::is_balanced(sums, Residue::fold(remainder));
        });
    }
  }

 private:
  template <Equation E, class OperandsOf, class BitOf>
  GPUINT_DEVICE static void sums(const Operands& o, OperandsOf operands, BitOf bit) {
    Base::each(o, [&](const G& group, u64 row) {
      Row of = operands(row);
      of.d = nullptr;
      const Sums sums = Base::template read<E>(group, of);
      const u64 carry = bit(row) ? Residue::rotate(1, Base::WIDTH) : 0;
      return Base::is_balanced(sums, E == Equation::Sum ? Residue::negate(carry) : carry);
    });
  }
};

// in[0] = u, in[2] = records of v, out[0] = q, out[1] = r, both read only.
template <class S>
struct CheckDivRemBy : EquationCheck<S> {
  using Base = EquationCheck<S>;

  static __device__ void run(const Operands& o, unsigned char*) {
    Base::each(o, [&](const typename Base::G& group, u64 row) {
      const typename Base::Row of{input_row<S>(o, 0, row), Prepared<S>(o, row).v(),
                                  output_row<S>(o, 0, row), output_row<S>(o, 1, row)};
      bool is_zero;
      return Base::is_quotient(group, of, is_zero) && !is_zero;
    });
  }
};

}  // namespace gpuint
