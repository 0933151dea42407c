// Jacobi: the symbol (a | n), and Kronecker's extension of it for even n.
//
// The symbol is computed from the quotients of Euclid's algorithm with only numbers modulo 4 (N.
// Moller, "Efficient computation of the Jacobi symbol", 2019). The state is a and b modulo 4, the
// place of the denominator, which is odd, and a sign. Swapping changes only the place of the
// denominator. For a -> a - q b:
//   b the denominator: (a - q b | b) = (a | b);
//   a the denominator, b odd: (b | a) = (a | b), negated where a = b = 3 modulo 4; then as above;
//   a the denominator, b = 2c, c odd: with (2 | a) and (c | a) by reciprocity,
//       (b | a) (b | a - q b) = (-1)^((c - 1) / 2 * q + q c (a - q c) / 2),
//     that is -1 for q = 2, for q = 1 and a = 3, and for q = 3 and a = 1 modulo 4;
//   a the denominator, b = 0 modulo 4: no change, since (b | a) has a period that divides b.
// At the end b = 0; the symbol is the sign if a = 1, and 0 otherwise.
//
// For even n, and odd a > 0: n = 2^k m has (a | n) = (2 | a)^k (a | m), so that (a | n) = (n | a),
// negated where a = m = 3 modulo 4.
#pragma once
#include "euclid/euclid.cuh"

namespace gpuint {

struct JacobiState : Unobserved {
  u32 a = 0, b = 0;      // modulo 4
  u32 sign = 0;          // bit 0: negative
  bool a_below = false;  // a is the denominator

  GPUINT_DEVICE void begin(const EuclidNumber& x, const EuclidNumber& y) {
    a = x.length != 0 ? x.limbs[0] & 3 : 0;
    b = y.length != 0 ? y.limbs[0] & 3 : 0;
  }
  GPUINT_DEVICE void swap() {
    const u32 c = a;
    a = b, b = c;
    a_below = !a_below;
  }
  GPUINT_DEVICE void subtract(u32 q) {
    const u32 both = a & b;
    if (a_below) {
      if ((b & 1) != 0) {
        sign ^= both >> 1;
        a_below = false;
      } else {
        sign ^= (b >> 1) & ((q >> 1) ^ (q & (a >> 1)));
      }
    }
    a = (a - q * b) & 3;
  }
};

// in[0] = a, in[1] = n; out[0]: an i8 a row, -1, 0 or 1.
template <class S, u32 PER_LANE = 64>
struct Jacobi : EuclidRows<S, 2, PER_LANE> {
  using Rows = EuclidRows<S, 2, PER_LANE>;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    Rows rows(shared);
    rows.for_rows(o.rows, [&](u64 first, u32 count) {
      rows.load_pair(o.in[0], o.in[1], first, count);
      rows.team_sync();
      JacobiState state;
      const u32 *const a = rows.number(0), *const n = rows.number(1);
      if ((n[0] & 1) == 0 && (a[0] & 1) != 0) {
        state.a_below = true;
        state.sign = (a[0] >> 1) & (odd_part(n) >> 1) & 1;
      }
      rows.team_sync();
      const EuclidResult result = euclid(rows, EuclidCofactors<0>{}, rows.own < count, state);
      if (rows.own < count && rows.group.rank == 0) {
        const i32 symbol = !result.is_one() ? 0 : (state.sign & 1) != 0 ? -1 : 1;
        static_cast<i8*>(o.out[0])[first + rows.own] = static_cast<i8>(symbol);
      }
    });
  }

 private:
  // n without its factors of 2, modulo 4; 0 for 0.
  GPUINT_DEVICE static u32 odd_part(const u32* n) {
    u32 i = 0;
    while (i < Rows::N && n[i] == 0) ++i;
    if (i == Rows::N) return 0;
    const u32 next = i + 1 < Rows::N ? n[i + 1] : 0;
    const u32 zeros = static_cast<u32>(__ffs(static_cast<int>(n[i]))) - 1;
    return __funnelshift_r(n[i], next, zeros) & 3;
  }
};

}  // namespace gpuint
