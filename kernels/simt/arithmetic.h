// CUDA's arithmetic intrinsics, as the CUDA Math API defines them.
#pragma once
#include "types.h"

#include <type_traits>

// Of <cmath>, which would take a third of the time that a compiler reads all kernels in.
extern "C" {
double fabs(double) noexcept;
double fma(double, double, double) noexcept;
double fmax(double, double) noexcept;
double fmin(double, double) noexcept;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }

inline unsigned __brev(unsigned x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}

// Byte i of the result is byte selector[4i + 2 : 4i] of y:x.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}

// High word of hi:lo << shift, low word of hi:lo >> shift; the shift is taken modulo 32, or (c)
// clamped to 32.
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) << (shift & 31) >>
                               32);
}
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(hi) << 32 | lo) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32 ? lo : __funnelshift_l(lo, hi, shift);
}
inline unsigned __funnelshift_rc(unsigned lo, unsigned hi, unsigned shift) {
  return shift >= 32 ? hi : __funnelshift_r(lo, hi, shift);
}

inline double __hiloint2double(int hi, int lo) {
  const unsigned long long bits =
      static_cast<unsigned long long>(static_cast<unsigned>(hi)) << 32 | static_cast<unsigned>(lo);
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}
inline long long __double_as_longlong(double value) {
  long long bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline double __longlong_as_double(long long bits) {
  double value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// a b + c, rounded once, toward zero: in integers, so that neither the host's rounding mode nor its
// fused multiply-add matters. Operands that are not finite and products that are zero are not
// rounded.
inline double __fma_rz(double a, double b, double c) {
  __extension__ using Wide = unsigned __int128;
  const bool is_finite = __builtin_isfinite(a) && __builtin_isfinite(b) && __builtin_isfinite(c);
  if (!is_finite || a == 0 || b == 0) return fma(a, b, c);
  // x = +- mantissa 2^exponent, 2^52 <= mantissa < 2^53.
  struct Parts {
    unsigned long long mantissa;
    int exponent;
    bool negative;
    explicit Parts(double x) {
      const auto bits = static_cast<unsigned long long>(__double_as_longlong(x));
      mantissa = bits & ((1ull << 52) - 1), exponent = static_cast<int>(bits >> 52 & 0x7ff);
      negative = bits >> 63 != 0;
      if (exponent != 0) {
        mantissa |= 1ull << 52;
      } else {
        const int shift = __builtin_clzll(mantissa) - 11;
        mantissa <<= shift, exponent = 1 - shift;
      }
      exponent -= 1075;
    }
  };
  const Parts x(a), y(b);
  Wide sum = static_cast<Wide>(x.mantissa) * y.mantissa;  // in [2^104, 2^106)
  int exponent = x.exponent + y.exponent;
  bool negative = x.negative != y.negative;
  if (c != 0) {
    const Parts z(c);
    // Both terms in one unit: the bits below it decide only whether a difference is 1 less.
    Wide term = z.mantissa;
    bool rest = false;
    const auto cut = [&rest](Wide& value, int bits) {
      const Wide kept = bits < 128 ? value >> bits : 0;
      rest = bits < 128 ? (kept << bits) != value : value != 0;
      value = kept;
    };
    const int above = z.exponent - exponent;
    bool is_product_cut = false;
    if (above > 73) {
      cut(sum, above - 73), exponent += above - 73, term <<= 73, is_product_cut = true;
    } else if (above >= 0) {
      term <<= above;
    } else if (above >= -20) {
      sum <<= -above, exponent += above;
    } else {
      sum <<= 20, exponent -= 20, cut(term, -above - 20);
    }
    if (negative == z.negative) {
      sum += term;
    } else if (is_product_cut || sum < term) {
      sum = term - sum - (rest ? 1 : 0), negative = z.negative;
    } else {
      sum = sum - term - (rest ? 1 : 0);
    }
    if (sum == 0) return 0;
  }
  // 53 bits, fewer where the result is subnormal.
  const auto high = static_cast<unsigned long long>(sum >> 64);
  const int length = high != 0 ? 128 - __builtin_clzll(high)
                               : 64 - __builtin_clzll(static_cast<unsigned long long>(sum));
  int shift = length - 53;
  if (exponent + shift < -1074) shift = -1074 - exponent;
  const auto mantissa = shift >= 128 ? 0
                        : shift >= 0 ? static_cast<unsigned long long>(sum >> shift)
                                     : static_cast<unsigned long long>(sum << -shift);
  exponent += shift;
  const int biased = mantissa >> 52 != 0 ? exponent + 1075 : 0;
  const unsigned long long bits = biased >= 0x7ff ? 0x7fefffffffffffffull
                                                  : static_cast<unsigned long long>(biased) << 52 |
                                                        (mantissa & ((1ull << 52) - 1));
  return __longlong_as_double(
      static_cast<long long>(bits | static_cast<unsigned long long>(negative) << 63));
}

inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  for (unsigned bit = 0; bit < 32; bit += 8) sum += (a >> bit & 255) * (b >> bit & 255);
  return sum;
}

inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}

template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}
