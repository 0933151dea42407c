// Runs kernels over the SIMT shim and checks every row by an identity, for builds with
// ThreadSanitizer, AddressSanitizer and UBSan: every operand is a heap block of exactly its size,
// so that whatever a kernel reads or writes beyond is reported.
//
// Kernel names come from standard input, one a line; a name without a check is an error.
// tests/sanitize/run builds this together with the kernels and the shim. The oracle is schoolbook
// arithmetic on 32-bit words: slow and plain.
#include "simt/abi.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

// Whether kernels are instrumented by ThreadSanitizer; this file is not.
constexpr bool UNDER_TSAN = GPUINT_UNDER_TSAN;

using gpuint::i64;
using gpuint::i8;
using gpuint::u32;
using gpuint::u64;

// --- Numbers: 32-bit words, the lowest first, of any length

using Number = std::vector<u32>;
using Column = std::vector<Number>;  // an operand of every row

u32 word(const Number& a, size_t i) { return i < a.size() ? a[i] : 0; }

int compare(const Number& a, const Number& b) {
  for (size_t i = std::max(a.size(), b.size()); i-- > 0;)
    if (word(a, i) != word(b, i)) return word(a, i) < word(b, i) ? -1 : 1;
  return 0;
}

u64 bit_length(const Number& a) {
  for (size_t i = a.size(); i-- > 0;)
    if (a[i] != 0) return 32 * i + 32 - static_cast<u64>(__builtin_clz(a[i]));
  return 0;
}

bool is_zero(const Number& a) { return bit_length(a) == 0; }

// a + b, one word longer.
Number sum(const Number& a, const Number& b) {
  Number c(std::max(a.size(), b.size()) + 1);
  u64 carry = 0;
  for (size_t i = 0; i < c.size(); ++i, carry >>= 32)
    c[i] = static_cast<u32>(carry += u64{word(a, i)} + word(b, i));
  return c;
}

// a - b where a >= b.
Number difference(const Number& a, const Number& b) {
  Number c(a.size());
  u64 borrow = 0;
  for (size_t i = 0; i < c.size(); ++i) {
    const u64 d = u64{a[i]} - word(b, i) - borrow;
    c[i] = static_cast<u32>(d);
    borrow = d >> 63;
  }
  return c;
}

Number product(const Number& a, const Number& b) {
  Number c(a.size() + b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    u64 carry = 0;
    for (size_t j = 0; j < b.size(); ++j, carry >>= 32)
      c[i + j] = static_cast<u32>(carry += u64{a[i]} * b[j] + c[i + j]);
    c[i + b.size()] = static_cast<u32>(carry);
  }
  return c;
}

Number power_of_two(u64 exponent) {
  Number a(exponent / 32 + 1);
  a.back() = 1u << exponent % 32;
  return a;
}

// floor(2^exponent / b) for b > 0, a bit at a time.
Number power_over(u64 exponent, const Number& b) {
  Number q(exponent / 32 + 1), r(b.size() + 1);
  for (u64 bit = exponent + 1; bit-- > 0;) {
    for (size_t i = r.size(); i-- > 0;)
      r[i] = r[i] << 1 | (i > 0 ? r[i - 1] >> 31 : bit == exponent);
    if (compare(r, b) < 0) continue;
    r = difference(r, b);
    q[bit / 32] |= 1u << bit % 32;
  }
  return q;
}

// The bits [from, from + bits) of a, at bit 0.
Number bits_of(const Number& a, u64 from, u64 bits) {
  Number c((bits + 31) / 32);
  for (size_t i = 0; i < c.size(); ++i) {
    const size_t at = from / 32 + i;
    const u64 two = word(a, at) | u64{word(a, at + 1)} << 32;
    c[i] = static_cast<u32>(two >> from % 32);
  }
  if (bits % 32 != 0) c.back() &= (1u << bits % 32) - 1;
  return c;
}

Number low(const Number& a, u64 bits) { return bits_of(a, 0, bits); }

// --- Operands

u64 state = 1;

u64 random_word() {
  u64 z = state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

u64 below(u64 bound) { return random_word() % bound; }

// Digits that carry, or do not, or just not: uniform, long runs of equal bits, powers of two and
// their neighbours, all ones, sparse, digits at the ends of their range.
Number operand(u64 most_bits, u64 digit_bits) {
  const u64 digits = (most_bits + digit_bits - 1) / digit_bits;
  const u64 lengths[] = {most_bits, most_bits, 1 + below(most_bits),
                         std::min(most_bits, digit_bits * (1 + below(digits)))};
  const u64 bits = lengths[below(4)];
  Number a((bits + 31) / 32);
  const auto set = [&](u64 bit) { a[bit / 32] |= 1u << bit % 32; };
  switch (below(7)) {
    case 0:
      for (u32& w : a) w = static_cast<u32>(random_word());
      break;
    case 1:
    case 2: {  // runs of a mean length
      const u64 means[] = {8, 64, 512, bits};
      const u64 mean = means[below(4)];
      bool one = below(2) != 0;
      for (u64 bit = 0; bit < bits; ++bit) {
        if (one) set(bit);
        if (below(mean) == 0) one = !one;
      }
      break;
    }
    case 3:
      a = power_of_two(below(bits));
      if (below(2) != 0)
        a = sum(a, {static_cast<u32>(below(3))});
      else
        a = difference(a, {1});
      break;
    case 4:
      for (u32& w : a) w = ~0u;
      break;
    case 5:
      for (u64 ones = 1 + below(3); ones > 0; --ones) set(below(bits));
      break;
    default: {  // digits 0, 1, half less one, half, all ones
      const u64 half = 1ull << (digit_bits - 1);
      const u64 edges[] = {0, 1, half - 1, half, half + (half - 1)};
      for (u64 bit = 0; bit < bits; bit += digit_bits) {
        const u64 digit = edges[below(5)];
        for (u64 i = 0; i < digit_bits && bit + i < bits; ++i)
          if (digit >> i & 1) set(bit + i);
      }
    }
  }
  return low(a, bits);
}

struct Shape {
  u64 bits, digit_bits;
  size_t bytes() const { return bits / 8; }
};

// Dividend and divisor: independent; the dividend on, just below and just above a multiple of the
// divisor; and families on which truncated reciprocals are worst.
std::pair<Number, Number> division(const Shape& shape, u64 row) {
  const u64 digits = shape.bits / shape.digit_bits;
  const Number top = difference(power_of_two(shape.bits), {1});
  const Number base_power = power_of_two(shape.digit_bits * below(digits));
  Number u = operand(shape.bits, shape.digit_bits);
  Number v = operand(shape.bits, shape.digit_bits);
  // u = q v + (0, 1 or v - 1), where q has zeros below.
  const auto multiple = [&](u64 zeros) {
    if (is_zero(v)) v = {1};
    const u64 room = shape.bits - bit_length(v);
    if (room > zeros)
      u = product(product(operand(room - zeros, shape.digit_bits), power_of_two(zeros)), v);
    else
      u = v;
    const u64 kind = below(3);
    u = sum(u, kind == 0 ? Number{0} : kind == 1 ? Number{1} : difference(v, {1}));
  };
  // The first row is often a short divisor: what lies below it is outside of the operand.
  switch (row == 0 && below(2) != 0 ? 5 : below(19)) {
    case 0:
      break;
    case 1:
      multiple(0);
      break;
    case 2:  // the partial remainder is 0, or v - 1 less than a multiple, at the end of a block of
             // quotient
      v = operand(1 + below(shape.bits), shape.digit_bits);
      multiple(below(shape.bits));
      break;
    case 3:  // v = 2 B^k - 1, u = v B / 2
      v = difference(sum(base_power, base_power), {1});
      u = product(v, power_of_two(shape.digit_bits - 1));
      break;
    case 4:  // around a power of the base
      v = below(2) != 0 ? sum(base_power, {static_cast<u32>(below(2))})
                        : difference(base_power, {1});
      u = top;
      break;
    case 5:  // a digit, or a little more
      v = below(2) != 0 ? Number{1 + static_cast<u32>(below(3))}
                        : operand(1 + below(2 * shape.digit_bits), shape.digit_bits);
      if (below(2) != 0) u = top;
      break;
    case 6:
      v = below(2) != 0 ? top : sum(u, {1});
      break;
    case 7:
      v = {0};
      break;
    case 8:  // v = B^k B / 2 + B^j - 1, u = 3 v - 1
      v = difference(sum(product(base_power, power_of_two(shape.digit_bits - 1)),
                         power_of_two(shape.digit_bits * below(digits))),
                     {1});
      u = product(v, {3});
      u = is_zero(v) ? u : difference(u, {1});
      break;
    case 9:  // a power of two and something below it: estimated digits of the reciprocal are too
             // large, or saturate
    case 10: {
      const u64 bits = 1 + below(shape.bits - 1);
      v = sum(power_of_two(bits), operand(1 + below(bits), shape.digit_bits));
      if (below(2) != 0) multiple(0);
      break;
    }
    case 11:    // 1 / v is just above, or just below, a number of few bits: a partial reciprocal is
                // nearly exact, or a carry
    case 12:    // would make it too large
    case 13: {  // and so it is with the quotient, where the dividend is that power of two
      const u64 exponent = shape.bits - 1 - below(2) * below(shape.bits / 4);
      Number few = operand(1 + below(exponent), shape.digit_bits);
      if (is_zero(few)) few = {3};
      v = power_over(exponent, few);
      if (below(2) != 0) v = sum(v, {1});
      const u64 kind = below(4);
      if (kind < 2)
        u = sum(power_of_two(exponent), {static_cast<u32>(kind)});
      else if (kind == 2)
        u = difference(power_of_two(exponent), {1});
      break;
    }
    case 14:  // the top of the dividend is that of the divisor, or all but
      if (is_zero(v)) v = {1};
      u = product(v, power_of_two(below(shape.bits - bit_length(v) + 1)));
      if (below(2) != 0) u = difference(u, {1});
      break;
    case 15: {  // the partial remainder is a multiple of v, and all ones just below its top limb
      const u64 limb = shape.digit_bits == 16 ? 16 : 32;
      const u64 bits = limb * (1 + below(shape.bits / limb - 1));
      v = sum(power_of_two(bits), power_of_two(bits - limb));
      const u64 room = shape.bits - bit_length(v);
      u = v;
      if (room > limb) {
        Number q = operand(room, shape.digit_bits);
        q[0] |= limb == 16 ? 0xffffu : ~0u;
        u = product(q, v);
      }
      u = sum(u, {static_cast<u32>(below(2))});
      break;
    }
    case 16: {  // the quotient is as large as its words allow
      const u64 bits = below(shape.bits);
      v = sum(power_of_two(bits), {static_cast<u32>(below(2))});
      const u64 room = shape.bits - bits;
      u = difference(power_of_two(std::min(shape.bits, bits + 1 + 64 * below(room / 64 + 1))), {1});
      break;
    }
    case 17: {  // the length of the divisor is a power of two, where a class of lengths ends, or a
                // bit more
      const u64 bits = (shape.bits >> (1 + below(5))) + below(2);
      v = sum(power_of_two(bits - 1), operand(bits - 1, shape.digit_bits));
      u = top;
      break;
    }
    default:
      u = top;
  }
  return {low(u, shape.bits), low(v, shape.bits)};
}

// --- Launches

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

[[noreturn]] void fail(const std::string& kernel, const std::string& reason) {
  std::printf("%s: %s\n", kernel.c_str(), reason.c_str());
  std::exit(1);
}

std::string hexadecimal(const Number& a) {
  std::string text = "0x";
  char part[9];
  for (size_t i = a.size(); i-- > 0;) {
    std::snprintf(part, sizeof part, "%08" PRIx32, a[i]);
    text += part;
  }
  return text;
}

// Device memory of `bytes` bytes, in a block of exactly that size.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(static_cast<unsigned char*>(::operator new(bytes))) {
    std::memset(bytes_.get(), 0xa5, bytes);
  }
  Memory(const Column& rows, size_t row_bytes) : Memory(rows.size() * row_bytes) {
    for (size_t row = 0; row < rows.size(); ++row) {
      Number whole = rows[row];
      whole.resize(row_bytes / 4 + 1);
      std::memcpy(bytes_.get() + row * row_bytes, whole.data(), row_bytes);
    }
  }
  void* get() { return bytes_.get(); }
  Number row(size_t row, size_t row_bytes) const {
    Number number(row_bytes / 4 + 1);
    std::memcpy(number.data(), bytes_.get() + row * row_bytes, row_bytes);
    return number;
  }
  template <class T>
  T at(size_t index) const {
    T value;
    std::memcpy(&value, bytes_.get() + index * sizeof(T), sizeof(T));
    return value;
  }

 private:
  struct Free {
    void operator()(unsigned char* bytes) const { ::operator delete(bytes); }
  };
  std::unique_ptr<unsigned char, Free> bytes_;
};

struct Kernel {
  std::string name, task;
  Shape shape;
  u64 seed;
};

// Results of a launch.
struct Result {
  Memory out[2];
  Memory mask;
  u64 status;
  bool flag(size_t row) const { return mask.at<u32>(row / 32) >> row % 32 & 1; }
};

gpuint::Params dividing(u64 digit) {
  gpuint::Params params{};
  params.digit = digit;
  return params;
}

gpuint::Params shifting(u64 distance) {
  gpuint::Params params{};
  params.distance = static_cast<u32>(distance);
  return params;
}

gpuint::Params inverting(u64 exponent) {
  gpuint::Params params{};
  params.exponent = static_cast<u32>(exponent);
  return params;
}

gpuint::Params joining(bool joined) {
  gpuint::Params params{};
  params.joined = joined;
  return params;
}

gpuint::Params broadcasting(bool divisor, bool exponent) {
  gpuint::Params params{};
  params.broadcast_divisor = divisor;
  params.broadcast_exponent = exponent;
  return params;
}

// The mask and the status are for kernels that have them, and may be unwanted. Inputs may have one
// row for all; prepared divisors and masks are the third input, numbers of rows the second. A
// kernel may update its second output, and a check reads both.
Result launch(const Kernel& kernel, const std::vector<Column>& ins, size_t out_bytes0,
              size_t out_bytes1, const gpuint::Params& params, bool want_mask = true,
              bool want_status = true, Memory* third = nullptr, Memory* second = nullptr,
              size_t own_rows = 0, const void* first = nullptr, Memory* updated = nullptr,
              Memory* checked = nullptr) {
  const u64 rows = own_rows != 0 ? own_rows : ins[0].size();
  const size_t mask_bytes = (rows + 31) / 32 * 4;
  Result result{{Memory(rows * out_bytes0), Memory(rows * out_bytes1)}, Memory(mask_bytes), ~0ull};
  std::memset(result.mask.get(), 0, mask_bytes);
  std::vector<Memory> inputs;
  for (const auto& in : ins) inputs.emplace_back(in, kernel.shape.bytes());
  gpuint::Operands operands{};
  for (size_t i = 0; i < inputs.size(); ++i) operands.in[i] = inputs[i].get();
  if (first != nullptr) operands.in[0] = first;
  if (second != nullptr) operands.in[1] = second->get();
  if (third != nullptr) operands.in[2] = third->get();
  if (out_bytes0 != 0) operands.out[0] = result.out[0].get();
  if (out_bytes1 != 0) operands.out[1] = result.out[1].get();
  if (updated != nullptr) operands.out[1] = updated->get();
  if (checked != nullptr) operands.out[0] = checked->get();
  operands.rows = rows;
  operands.mask = want_mask ? static_cast<u32*>(result.mask.get()) : nullptr;
  operands.status = want_status ? &result.status : nullptr;
  operands.params = params;
  // Every other round one block takes all rows, one after the other.
  const u32 blocks = kernel.seed % 2 == 0 ? 3 : 1;
  const gpuint_simt_options options{kernel.seed, blocks, 1};
  char message[2000] = "";
  if (gpuint_simt_launch(kernel.name.c_str(), &operands, &options, nullptr, message,
                         sizeof message) != GPUINT_SIMT_OK)
    fail(kernel.name, message);
  return result;
}

// --- Checks

struct Pairs {
  Column a, b;
};

// Independent numbers; and pairs whose sum or difference carries all the way, or all but, and which
// differ in few bits.
Pairs pairs(const Shape& shape, size_t rows) {
  Pairs pairs;
  const Number end = power_of_two(shape.bits);
  for (size_t row = 0; row < rows; ++row) {
    const Number a = operand(shape.bits, shape.digit_bits);
    Number b;
    switch (below(9)) {
      case 0:
        b = a;
        break;
      case 1:
        b = {0};
        break;
      case 2:
        b = sum(a, power_of_two(below(2) != 0 ? 0 : below(shape.bits)));
        break;
      case 3:  // a + b = 2^BITS
        b = difference(end, a);
        break;
      case 4:  // 2^BITS - 1
        b = difference(difference(end, a), {1});
        break;
      case 5:  // a bit more or less
        b = difference(end, a);
        b[below(shape.bits) / 32] ^= 1u << below(32);
        break;
      case 6: {
        b = a;
        for (u64 bits = 1 + below(3); bits > 0; --bits) {
          const u64 bit = below(shape.bits);
          b.resize(shape.bits / 32 + 1);
          b[bit / 32] ^= 1u << bit % 32;
        }
        break;
      }
      default:
        b = operand(shape.bits, shape.digit_bits);
    }
    pairs.a.push_back(a);
    pairs.b.push_back(low(b, shape.bits));
  }
  return pairs;
}

void expect(const Kernel& kernel, bool right, const char* what, const Number& a, const Number& b,
            const Number& got) {
  if (!right)
    fail(kernel.name, std::string(what) + " is wrong\n  a " + hexadecimal(a) + "\n  b " +
                          hexadecimal(b) + "\n  got " + hexadecimal(got));
}

void check_sum(const Kernel& kernel, const Pairs& p, bool subtract) {
  const Shape& shape = kernel.shape;
  const Result result = launch(kernel, {p.a, p.b}, shape.bits / 8, 0, {});
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number got = result.out[0].row(row, shape.bytes());
    // a - b = c with borrow where c + b = a + borrow 2^BITS.
    const Number& start = subtract ? got : p.a[row];
    const Number total = sum(start, p.b[row]);
    const bool carry = bit_length(total) > shape.bits;
    const Number& end = subtract ? p.a[row] : got;
    expect(kernel, compare(low(total, shape.bits), end) == 0, "the result", p.a[row], p.b[row],
           got);
    expect(kernel, result.flag(row) == carry, "the carry", p.a[row], p.b[row], got);
  }
  launch(kernel, {p.a, p.b}, shape.bits / 8, 0, {}, false);
}

// a + a * 2^k for every third row: two ones meet, and above them k bits of the sum are ones,
// through which their carry runs.
void add_long_carries(const Shape& shape, Pairs& p) {
  for (size_t row = 1; row < p.a.size(); row += 3) {
    const u64 at = 1 + below(shape.bits - 1), k = 1 + below(at);
    p.a[row] =
        low(sum(difference(power_of_two(shape.bits), power_of_two(at)), power_of_two(at - k)),
            shape.bits);
    p.b[row] = low(sum(power_of_two(k), {1}), shape.bits);
    if (below(2) != 0) std::swap(p.a[row], p.b[row]);
  }
}

// Sums of one product to four, and of as many as a launch adds, of full rows among others.
void check_sum_of_products(const Kernel& kernel, Pairs p, u64 halves) {
  const u64 bits = halves * kernel.shape.bits;
  const size_t bytes = kernel.shape.bytes(), rows = p.a.size();
  const Number ones = difference(power_of_two(kernel.shape.bits), {1});
  Pairs full = p;
  for (size_t row = 0; row < rows; row += 2) full.a[row] = full.b[row] = ones;
  // The four products are those of (a + b)^2 = 2^(2 BITS): a carry runs through the sum.
  for (size_t row = 1; row < rows; row += 5) p.a[row] = ones, p.b[row] = {1};
  for (const u32 count : {1, 2, 4, 32}) {
    // The same loop as for 4, which takes ThreadSanitizer most of the time of all products.
    if (UNDER_TSAN && count == 32) continue;
    const Pairs& factors = count == 32 ? full : p;
    Memory a(factors.a, bytes), b(factors.b, bytes);
    std::vector<void*> table;
    std::vector<Number> sums(rows, Number{0});
    for (u32 pair = 0; pair < count; ++pair) {
      const bool a_first = pair % 3 != 1, b_second = pair % 4 != 3;
      table.push_back((a_first ? a : b).get());
      table.push_back((b_second ? b : a).get());
      for (size_t row = 0; row < rows; ++row)
        sums[row] = sum(sums[row], product((a_first ? factors.a : factors.b)[row],
                                           (b_second ? factors.b : factors.a)[row]));
    }
    gpuint::Params params{};
    params.pairs = count;
    for (u64 turn = 0; turn < halves; ++turn) {
      const bool want_mask = turn == 1;  // of wide sums alone
      const Result result = launch(kernel, {}, halves * bytes, 0, params, want_mask, true, nullptr,
                                   nullptr, rows, table.data());
      for (size_t row = 0; row < rows; ++row) {
        const Number got = result.out[0].row(row, halves * bytes);
        expect(kernel, compare(got, low(sums[row], bits)) == 0, "the sum", factors.a[row],
               factors.b[row], got);
        expect(kernel, result.flag(row) == (want_mask && bit_length(sums[row]) > bits),
               "the overflow", factors.a[row], factors.b[row], got);
      }
    }
  }
}

void check_product(const Kernel& kernel, const Pairs& p, bool square, bool wide,
                   bool side_by_side) {
  const Shape& shape = kernel.shape;
  const size_t row_bytes = shape.bits / 8;
  const Result result =
      launch(kernel, square ? std::vector<Column>{p.a} : std::vector<Column>{p.a, p.b},
             side_by_side ? 2 * row_bytes : row_bytes, wide && !side_by_side ? row_bytes : 0,
             joining(side_by_side));
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number& b = square ? p.a[row] : p.b[row];
    const Number right = product(p.a[row], b);
    const Number got = result.out[0].row(row, side_by_side ? 2 * shape.bytes() : shape.bytes());
    expect(kernel, compare(got, low(right, side_by_side ? 2 * shape.bits : shape.bits)) == 0,
           "the product", p.a[row], b, got);
    if (wide && !side_by_side) {
      const Number high = result.out[1].row(row, shape.bytes());
      expect(kernel, compare(high, bits_of(right, shape.bits, shape.bits)) == 0, "the high half",
             p.a[row], b, high);
    }
  }
  if (wide && !side_by_side) {  // one half may be unwanted
    const Result half[] = {launch(kernel, {p.a, p.b}, row_bytes, 0, {}),
                           launch(kernel, {p.a, p.b}, 0, row_bytes, {})};
    for (size_t row = 0; row < p.a.size(); ++row)
      for (const u32 i : {0, 1}) {
        const Number got = half[i].out[i].row(row, row_bytes);
        expect(kernel, compare(got, result.out[i].row(row, row_bytes)) == 0, "a half alone",
               p.a[row], p.b[row], got);
      }
  }
}

void check_division(const Kernel& kernel, size_t rows) {
  const Shape& shape = kernel.shape;
  Pairs p;
  u64 lowest = ~0ull;
  for (size_t row = 0; row < rows; ++row) {
    auto [u, v] = division(shape, row);
    if (is_zero(v)) lowest = std::min<u64>(lowest, row);
    p.a.push_back(u);
    p.b.push_back(v);
  }
  const size_t row_bytes = shape.bits / 8;
  const Result both = launch(kernel, {p.a, p.b}, row_bytes, row_bytes, {});
  const Result quotients = launch(kernel, {p.a, p.b}, row_bytes, 0, {}, false);
  const Result remainders = launch(kernel, {p.a, p.b}, 0, row_bytes, {}, true, false);
  const Number top = difference(power_of_two(shape.bits), {1});
  for (size_t row = 0; row < rows; ++row) {
    const Number &u = p.a[row], &v = p.b[row];
    const Number q = both.out[0].row(row, shape.bytes()), r = both.out[1].row(row, shape.bytes());
    if (is_zero(v)) {
      expect(kernel, compare(q, top) == 0 && compare(r, u) == 0, "the row with v = 0", u, v, q);
    } else {
      expect(kernel, compare(sum(product(q, v), r), u) == 0, "the quotient", u, v, q);
      expect(kernel, compare(r, v) < 0, "the remainder", u, v, r);
    }
    expect(kernel, both.flag(row) == is_zero(v), "the mask", u, v, q);
    expect(kernel, compare(quotients.out[0].row(row, shape.bytes()), q) == 0, "the quotient alone",
           u, v, q);
    expect(kernel, compare(remainders.out[1].row(row, shape.bytes()), r) == 0,
           "the remainder alone", u, v, r);
  }
  if (both.status != lowest) fail(kernel.name, "the status is wrong");
}

void check_inverse(const Kernel& kernel, size_t rows) {
  const Shape& shape = kernel.shape;
  const u64 digits = shape.bits / shape.digit_bits;
  Number exponents;
  for (const u64 h :
       {u64{1}, digits / 2, digits - 1, digits, digits + 1, digits + digits / 2, 2 * digits - 1})
    exponents.push_back(static_cast<u32>(h * shape.digit_bits));
  for (const u64 other : {shape.bits / 2 + 3, shape.bits + 5})
    exponents.push_back(static_cast<u32>(other));
  for (const u64 exponent : exponents) {
    const Number power = power_of_two(exponent);
    Column divisors;
    for (size_t row = 0; row < rows; ++row) {
      Number v = division(shape, row).second;
      const u64 kind = below(4);
      if (kind == 0) {  // the result just fits, or does not, unless it is zero
        v = power_of_two(exponent - std::min(exponent, shape.bits - below(2)));
        if (below(2) != 0) v = sum(v, power_of_two(below(bit_length(v))));
      } else if (kind == 1) {  // the result is just above, or just below, a number of few bits
        Number few = operand(1 + below(shape.bits), shape.digit_bits);
        if (is_zero(few)) few = {3};
        v = power_over(exponent, few);
        if (below(2) != 0) v = sum(v, {1});
      }
      divisors.push_back(low(v, shape.bits));
    }
    const Result result = launch(kernel, {divisors}, shape.bits / 8, 0, inverting(exponent));
    u64 lowest = ~0ull;
    for (size_t row = 0; row < rows; ++row) {
      const Number& v = divisors[row];
      // 2^e / v < 2^BITS exactly where 2^e < v 2^BITS.
      if (compare(power, product(v, power_of_two(shape.bits))) >= 0) {
        lowest = std::min<u64>(lowest, row);
        const Number failed = result.out[0].row(row, shape.bytes());
        expect(kernel, is_zero(failed), "the row that fails", v, power, failed);
        continue;
      }
      const Number w = result.out[0].row(row, shape.bytes());
      const Number below = product(w, v);
      expect(kernel, compare(below, power) <= 0 && compare(power, sum(below, v)) < 0, "the inverse",
             v, power, w);
    }
    if (result.status != lowest) fail(kernel.name, "the status is wrong");
  }
}

enum class Record { Divisor, OddModulus };

u64 word_bits(const Shape& shape) { return shape.bits % 32 == 0 ? 128 : 64; }

size_t record_bytes(const Shape& shape, Record record) {
  if (record == Record::OddModulus) return 2 * shape.bytes();
  const u64 bits = word_bits(shape);
  return (2 * ((shape.bits + bits - 1) / bits) + 4) * bits / 8;
}

// Prepares divisors by the kernel of the same width and algorithm, or by the classical one if the
// algorithm has none, in a buffer of exactly the bytes of its records.
Memory prepare(const Kernel& kernel, const Column& divisors, u64 status = ~0ull,
               Record record = Record::Divisor) {
  const auto named = [&](const std::string& task) {
    return "gpuint_" + task + "_b" + std::to_string(kernel.shape.bits);
  };
  std::string task = (record == Record::OddModulus ? "prepare_odd" : "prepare") +
                     kernel.task.substr(kernel.task.rfind('_'));
  gpuint_facts facts{};
  if (gpuint_simt_facts(named(task).c_str(), &facts) != GPUINT_SIMT_OK) task = "prepare_classical";
  const std::string name = named(task);
  Result result = launch({name, task, kernel.shape, kernel.seed}, {divisors},
                         record_bytes(kernel.shape, record), 0, {});
  if (result.status != status) fail(name, "the status is wrong");
  return std::move(result.out[0]);
}

// Records (div/prepare.cuh) of divisors, one of them zero at least. The top n + 1 words of a
// reciprocal, n being the words of the divisor, are too small by more than 0 and less than 3 of
// their units.
void check_prepare(const Kernel& kernel, size_t rows) {
  Column divisors;
  u64 lowest = ~0ull;
  for (size_t row = 0; row < rows; ++row) {
    divisors.push_back(row + 2 == rows ? Number{} : division(kernel.shape, row).second);
    if (is_zero(divisors.back())) lowest = std::min<u64>(lowest, row);
  }
  const Memory records = prepare(kernel, divisors, lowest);
  const size_t bytes = record_bytes(kernel.shape, Record::Divisor);
  const u64 word = word_bits(kernel.shape), width = (kernel.shape.bits + word - 1) / word * word;
  for (size_t row = 0; row < rows; ++row) {
    const Number& v = divisors[row];
    if (is_zero(v)) continue;
    const Number record = records.row(row, bytes);
    const u64 bits = bit_length(v), used = ((bits + word - 1) / word + 1) * word;
    expect(kernel, compare(bits_of(record, 0, 2 * word), {static_cast<u32>(bits)}) == 0,
           "the length", v, {}, record);
    expect(kernel, compare(bits_of(record, 2 * word, width + word), v) == 0, "the divisor", v, {},
           record);
    const Number y = bits_of(record, 8 * bytes - used, used);
    const Number normalized = product(v, power_of_two(width - bits));
    const Number end = power_of_two(used + width - 1);
    expect(kernel, compare(product(y, normalized), end) < 0, "the bound of the reciprocal", v, {},
           y);
    expect(kernel, compare(product(sum(y, {3}), normalized), end) > 0, "the reciprocal", v, {}, y);
  }
}

// Dividends and divisors, none of them zero: one divisor for each row, or one for all.
Pairs divisible(const Shape& shape, size_t rows, bool one) {
  Pairs p;
  for (size_t row = 0; row < rows; ++row) {
    auto [u, v] = division(shape, row);
    if (is_zero(v)) v = {1};
    p.a.push_back(u);
    if (p.b.empty() || !one) p.b.push_back(v);
  }
  return p;
}

void check_division_by(const Kernel& kernel, size_t rows) {
  const size_t row_bytes = kernel.shape.bytes();
  for (const bool one : {false, true}) {
    const gpuint::Params params = broadcasting(one, false);
    const Pairs p = divisible(kernel.shape, rows, one);
    Memory prepared = prepare(kernel, p.b);
    const Result both =
        launch(kernel, {p.a}, row_bytes, row_bytes, params, false, false, &prepared);
    const Result quotients = launch(kernel, {p.a}, row_bytes, 0, params, false, false, &prepared);
    const Result remainders = launch(kernel, {p.a}, 0, row_bytes, params, false, false, &prepared);
    for (size_t row = 0; row < rows; ++row) {
      const Number &u = p.a[row], &v = p.b[one ? 0 : row];
      const Number q = both.out[0].row(row, row_bytes), r = both.out[1].row(row, row_bytes);
      expect(kernel, compare(sum(product(q, v), r), u) == 0, "the quotient", u, v, q);
      expect(kernel, compare(r, v) < 0, "the remainder", u, v, r);
      expect(kernel, compare(quotients.out[0].row(row, row_bytes), q) == 0, "the quotient alone", u,
             v, q);
      expect(kernel, compare(remainders.out[1].row(row, row_bytes), r) == 0, "the remainder alone",
             u, v, r);
    }
  }
}

// u mod v for v > 0, a bit at a time from the divisor's own length on.
Number remainder(const Number& u, const Number& v) {
  Number r(v.size() + 1);
  for (u64 bit = bit_length(u); bit-- > 0;) {
    for (size_t i = r.size(); i-- > 0;)
      r[i] = r[i] << 1 | (i > 0 ? r[i - 1] >> 31 : u[bit / 32] >> bit % 32 & 1);
    if (compare(r, v) >= 0) r = difference(r, v);
  }
  return r;
}

// A factor or base: of any length, below the divisor, or as far below it as can be.
Number factor(const Shape& shape, const Number& v) {
  const Number a = operand(shape.bits, shape.digit_bits);
  switch (below(6)) {
    case 0:
    case 1:
      return a;
    case 2:
      return difference(v, {1});
    case 3:
      return v;
    default:
      return remainder(a, v);
  }
}

// An exponent of one of the first `kinds` lengths: each window but the widest ones, which would
// take too long here.
Number exponent(u64 kinds) {
  const u64 lengths[] = {0, 1, 2, 15, 17, 49, 141};
  const u64 bits = lengths[below(kinds)];
  return bits == 0 ? Number{0} : operand(bits, 16);
}

// a^e mod v for v > 0, a bit at a time.
Number power(const Number& a, const Number& e, const Number& v) {
  Number result = remainder({1}, v);
  for (u64 bit = bit_length(e); bit-- > 0;) {
    result = remainder(product(result, result), v);
    if (e[bit / 32] >> bit % 32 & 1) result = remainder(product(result, a), v);
  }
  return result;
}

// Divisors, one of which may be such that residues are longer than it. All may have nearly the
// whole width: some kernels take another path where those of a warp do.
Column moduli(const Shape& shape, size_t rows, bool one_divisor) {
  Column divisors = divisible(shape, rows, one_divisor).b;
  if (below(3) == 0) {
    for (Number& v : divisors) {
      const u64 top = shape.bits - 1 - below(18);
      v.resize(top / 32 + 1);
      v.back() = (v.back() & ((1u << top % 32) - 1)) | 1u << top % 32;
    }
  }
  if (below(3) == 0) {
    const u64 bits = 32 * (1 + below(shape.bits / 32));
    divisors[0] = difference(power_of_two(bits), {1 + static_cast<u32>(below(3))});
  }
  return divisors;
}

// Wide powers take the sanitizers seconds a row.
constexpr size_t LONG_POWERS = 5;
bool has_long_powers(const Shape& shape) { return shape.bits > 4096; }

enum class Modular { Product, Square, Power };

void check_modular(const Kernel& kernel, size_t rows, Modular what) {
  const Shape& shape = kernel.shape;
  const bool is_long = what == Modular::Power && has_long_powers(shape);
  if (is_long) rows = std::min(rows, LONG_POWERS);
  for (const u32 one : {0, 1, 2, 3}) {
    const bool one_divisor = one % 2 != 0, one_exponent = one >= 2;
    if (what != Modular::Power && one_exponent) break;
    // Forms of one kernel differ in the addresses of operands only.
    if (UNDER_TSAN && is_long && one_divisor != one_exponent) continue;
    const gpuint::Params params = broadcasting(one_divisor, one_exponent);
    const Column divisors = moduli(shape, rows, one_divisor);
    Column a, b;
    for (size_t row = 0; row < rows; ++row) {
      const Number& v = divisors[one_divisor ? 0 : row];
      a.push_back(factor(shape, v));
      if (what != Modular::Power)
        b.push_back(factor(shape, v));
      else if (b.empty() || !one_exponent)
        b.push_back(exponent(shape.bits <= 1024 ? 7 : is_long ? 4 : 5));
    }
    Memory prepared = prepare(kernel, divisors);
    const std::vector<Column> ins =
        what == Modular::Square ? std::vector<Column>{a} : std::vector<Column>{a, b};
    const Result result = launch(kernel, ins, shape.bytes(), 0, params, false, false, &prepared);
    for (size_t row = 0; row < rows; ++row) {
      const Number& v = divisors[one_divisor ? 0 : row];
      const Number& second = what == Modular::Square ? a[row] : b[one_exponent ? 0 : row];
      const Number right =
          what == Modular::Power ? power(a[row], second, v) : remainder(product(a[row], second), v);
      const Number got = result.out[0].row(row, shape.bytes());
      expect(kernel, compare(got, right) == 0, "the residue", a[row], v, got);
    }
  }
}

// Products of powers; in some rows the exponents of all or of some bases are zero.
void check_power_product(const Kernel& kernel, size_t rows) {
  const Shape& shape = kernel.shape;
  if (has_long_powers(shape)) rows = std::min(rows, LONG_POWERS);
  for (const u32 bases : {1, 3}) {
    const bool one_divisor = below(2) != 0;
    gpuint::Params params = broadcasting(one_divisor, false);
    params.bases = bases;
    const Column divisors = moduli(shape, rows, one_divisor);
    Column a, e;
    for (size_t row = 0; row < rows; ++row) {
      const u64 zeros = below(4);  // of four exponents
      for (u32 i = 0; i < bases; ++i) {
        a.push_back(factor(shape, divisors[one_divisor ? 0 : row]));
        e.push_back(below(4) < zeros ? Number{0} : exponent(5));
      }
    }
    Memory prepared = prepare(kernel, divisors);
    const Result result =
        launch(kernel, {a, e}, shape.bytes(), 0, params, false, false, &prepared, nullptr, rows);
    for (size_t row = 0; row < rows; ++row) {
      const Number& v = divisors[one_divisor ? 0 : row];
      Number right = remainder({1}, v);
      for (size_t i = row * bases; i < (row + 1) * bases; ++i)
        right = remainder(product(right, power(a[i], e[i], v)), v);
      const Number got = result.out[0].row(row, shape.bytes());
      expect(kernel, compare(got, right) == 0, "the product of powers", a[row * bases], v, got);
    }
  }
}

// Sums and halves modulo prepared divisors; operands of any length but for halves.
void check_linear_modular(const Kernel& kernel, size_t rows) {
  const Shape& shape = kernel.shape;
  const bool is_half = kernel.task == "halve_mod", is_negative = kernel.task == "neg_mod";
  for (const u32 one : {0, 1, 2, 3}) {
    const bool one_divisor = one % 2 != 0, one_rhs = one >= 2;
    if ((is_half || is_negative) && one_rhs) break;
    gpuint::Params params = broadcasting(one_divisor, false);
    params.broadcast_rhs = one_rhs;
    Column divisors = divisible(shape, rows, one_divisor).b;
    for (Number& v : divisors) {
      // Every length, with a sum of two words of carries, and nearly the whole width.
      const u64 bits = below(2) == 0 ? shape.bits : 1 + below(shape.bits);
      if (below(4) == 0) v = difference(power_of_two(bits), {1 + static_cast<u32>(below(3))});
      if (is_zero(v)) v = {1};
      if (is_half) v[0] |= 1;
    }
    Column a, b;
    for (size_t row = 0; row < rows; ++row) {
      const Number& v = divisors[one_divisor ? 0 : row];
      const auto drawn = [&] {
        return is_half ? remainder(factor(shape, v), v) : factor(shape, v);
      };
      a.push_back(drawn());
      if (b.empty() || !one_rhs) b.push_back(below(5) == 0 ? a.back() : drawn());
    }
    Memory prepared = prepare(kernel, divisors);
    const std::vector<Column> ins =
        is_half || is_negative ? std::vector<Column>{a} : std::vector<Column>{a, b};
    const Result result = launch(kernel, ins, shape.bytes(), 0, params, false, false, &prepared);
    for (size_t row = 0; row < rows; ++row) {
      const Number& v = divisors[one_divisor ? 0 : row];
      const Number x = remainder(a[row], v), y = remainder(b[one_rhs ? 0 : row], v);
      const Number got = result.out[0].row(row, shape.bytes());
      const Number sum_of = kernel.task == "add_mod"   ? sum(x, y)
                            : kernel.task == "sub_mod" ? difference(sum(x, v), y)
                                                       : difference(v, x);
      const bool right = is_half ? compare(remainder(sum(got, got), v), x) == 0
                                 : compare(got, remainder(sum_of, v)) == 0;
      expect(kernel, right && compare(got, v) < 0, "the residue", a[row], v, got);
    }
  }
}

// Odd moduli: of any length, nearly the whole width, 1.
Number odd_modulus(const Shape& shape) {
  Number n = operand(below(3) == 0 ? shape.bits : 1 + below(shape.bits), shape.digit_bits);
  if (below(4) == 0) n = difference(power_of_two(shape.bits), {1 + 2 * static_cast<u32>(below(3))});
  n[0] |= 1;
  return n;
}

// A row with an even modulus among others.
void check_prepare_odd(const Kernel& kernel, size_t rows) {
  Column moduli;
  u64 lowest = ~0ull;
  for (size_t row = 0; row < rows; ++row) {
    moduli.push_back(odd_modulus(kernel.shape));
    if (below(4) != 0) continue;
    moduli.back()[0] ^= 1;
    lowest = std::min<u64>(lowest, row);
  }
  prepare(kernel, moduli, lowest, Record::OddModulus);
}

// Montgomery's products: r with r 2^BITS = a b mod n.
void check_residues(const Kernel& kernel, size_t rows, bool is_square) {
  const Shape& shape = kernel.shape;
  for (const u32 one : {0, 1, 2, 3}) {
    const bool one_modulus = one % 2 != 0, one_rhs = one >= 2;
    // A factor that is one for all has to be below every modulus.
    if (one_rhs && (is_square || !one_modulus)) continue;
    gpuint::Params params = broadcasting(one_modulus, false);
    params.broadcast_rhs = one_rhs;
    Column moduli, a, b;
    for (size_t row = 0; row < rows; ++row) {
      if (moduli.empty() || !one_modulus) moduli.push_back(odd_modulus(shape));
      const Number& n = moduli.back();
      const auto residue = [&] {
        return below(4) == 0 ? difference(n, {1}) : remainder(factor(shape, n), n);
      };
      // One of both may be any number.
      const bool is_long = !is_square && below(2) == 0, is_second = is_long && !one_rhs && below(2);
      const Number any = below(3) == 0 ? difference(power_of_two(shape.bits), {1})
                                       : operand(shape.bits, shape.digit_bits);
      a.push_back(is_long && !is_second ? any : residue());
      if (b.empty() || !one_rhs) b.push_back(is_second ? any : residue());
    }
    Memory prepared = prepare(kernel, moduli, ~0ull, Record::OddModulus);
    const std::vector<Column> ins = is_square ? std::vector<Column>{a} : std::vector<Column>{a, b};
    const Result result = launch(kernel, ins, shape.bytes(), 0, params, false, false, &prepared);
    for (size_t row = 0; row < rows; ++row) {
      const Number& n = moduli[one_modulus ? 0 : row];
      const Number& second = is_square ? a[row] : b[one_rhs ? 0 : row];
      const Number got = result.out[0].row(row, shape.bytes());
      const Number left = remainder(product(got, power_of_two(shape.bits)), n);
      const bool right = compare(left, remainder(product(a[row], second), n)) == 0;
      expect(kernel, right && compare(got, n) < 0, "the residue", a[row], n, got);
    }
  }
}

// D = B / 2 + c with B = 2^64 and c near sqrt(B / 8): B^2 mod D is nearly D, the error of a
// reciprocal of 64 bits nearly 1, and an eighth of all estimated words of quotient are too small by
// one.
constexpr u64 DIGIT_OF_SECOND_CORRECTIONS = (u64{1} << 63) + 1500000000;

void check_digit(const Kernel& kernel, const Pairs& p) {
  const size_t row_bytes = kernel.shape.bytes();
  for (const u64 digit : {u64{1}, u64{3}, u64{0xffff}, u64{1} << 31, random_word() | 1,
                          (u64{1} << 63) + 1, DIGIT_OF_SECOND_CORRECTIONS, ~u64{0}}) {
    const Number d{static_cast<u32>(digit), static_cast<u32>(digit >> 32)};
    const gpuint::Params params = dividing(digit);
    Column u = p.a;
    for (size_t row = 0; row < u.size(); row += 2)  // no remainder
      u[row] = product(operand(kernel.shape.bits - bit_length(d), kernel.shape.digit_bits), d);
    const Result both = launch(kernel, {u}, row_bytes, 8, params);
    const Result quotients = launch(kernel, {u}, row_bytes, 0, params);
    const Result remainders = launch(kernel, {u}, 0, 8, params);
    for (size_t row = 0; row < u.size(); ++row) {
      const Number q = both.out[0].row(row, row_bytes), r = both.out[1].row(row, 8);
      expect(kernel, compare(sum(product(q, d), r), u[row]) == 0, "the quotient", u[row], d, q);
      expect(kernel, compare(r, d) < 0, "the remainder", u[row], d, r);
      expect(kernel, compare(quotients.out[0].row(row, row_bytes), q) == 0, "the quotient alone",
             u[row], d, q);
      expect(kernel, compare(remainders.out[1].row(row, 8), r) == 0, "the remainder alone", u[row],
             d, r);
    }
  }
}

void check_shift(const Kernel& kernel, const Pairs& p, bool left) {
  const Shape& shape = kernel.shape;
  for (const u64 distance : {u64{0}, u64{1}, shape.digit_bits, shape.bits / 2 + 3, shape.bits - 1,
                             shape.bits, shape.bits + 5, u64{~u32{0}}}) {
    const Result result = launch(kernel, {p.a}, shape.bits / 8, 0, shifting(distance));
    for (size_t row = 0; row < p.a.size(); ++row) {
      const Number got = result.out[0].row(row, shape.bytes());
      const Number right = distance >= shape.bits ? Number{0}
                           : left ? low(product(p.a[row], power_of_two(distance)), shape.bits)
                                  : bits_of(p.a[row], distance, shape.bits);
      expect(kernel, compare(got, right) == 0, "the shifted number", p.a[row],
             {static_cast<u32>(distance)}, got);
    }
  }
}

void check_order(const Kernel& kernel, const Pairs& p) {
  const std::string& task = kernel.task;
  const bool one_operand = task == "is_zero_mask" || task == "bit_lengths";
  // Zeros among the operands of these, too.
  const Result result =
      launch(kernel, one_operand ? std::vector<Column>{p.b} : std::vector<Column>{p.a, p.b},
             task == "cmp"           ? 1
             : task == "bit_lengths" ? 4
                                     : 0,
             0, {});
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number &a = p.a[row], &b = p.b[row];
    const int order = compare(a, b);
    const bool right = task == "cmp"            ? result.out[0].at<i8>(row) == order
                       : task == "bit_lengths"  ? result.out[0].at<u32>(row) == bit_length(b)
                       : task == "is_zero_mask" ? result.flag(row) == is_zero(b)
                       : task == "eq_mask"      ? result.flag(row) == (order == 0)
                                                : result.flag(row) == (order < 0);
    expect(kernel, right, "the answer", a, b, {});
  }
}

void check_lengths(const Kernel& kernel, const Pairs& p) {
  const Result result = launch(kernel, {p.b}, 4, 0, {});
  for (size_t row = 0; row < p.b.size(); ++row) {
    u32 ones = 0, zeros = 0;
    for (const u32 w : p.b[row]) ones += static_cast<u32>(__builtin_popcount(w));
    while (zeros < kernel.shape.bits && (word(p.b[row], zeros / 32) >> zeros % 32 & 1) == 0)
      ++zeros;
    const u32 got = result.out[0].at<u32>(row);
    expect(kernel, got == (kernel.task == "count_ones" ? ones : zeros), "the number", p.b[row], {},
           {got});
  }
}

void check_bit_mask(const Kernel& kernel, const Pairs& p) {
  for (const u64 bit : {u64{0}, kernel.shape.bits / 2 + 1, kernel.shape.bits - 1}) {
    const Result result = launch(kernel, {p.a}, 0, 0, shifting(bit));
    for (size_t row = 0; row < p.a.size(); ++row)
      expect(kernel, result.flag(row) == (word(p.a[row], bit / 32) >> bit % 32 & 1), "the bit",
             p.a[row], {}, {});
  }
}

void check_bitwise(const Kernel& kernel, const Pairs& p) {
  const size_t row_bytes = kernel.shape.bytes();
  for (u32 table = 1; table < 16; ++table) {
    gpuint::Params params{};
    params.table = table;
    params.broadcast_rhs = table % 2;
    const Column rhs = params.broadcast_rhs != 0 ? Column{p.b[0]} : p.b;
    const Result result = launch(kernel, {p.a, rhs}, row_bytes, 0, params);
    for (size_t row = 0; row < p.a.size(); ++row) {
      const Number &a = p.a[row], &b = rhs[rhs.size() == 1 ? 0 : row];
      const Number got = result.out[0].row(row, row_bytes);
      bool right = true;
      for (u64 bit = 0; bit < kernel.shape.bits; ++bit) {
        const auto of = [&](const Number& x) { return word(x, bit / 32) >> bit % 32 & 1; };
        right = right && of(got) == (table >> (2 * of(a) + of(b)) & 1);
      }
      expect(kernel, right, "the function", a, b, got);
    }
  }
}

// Distances, indices and masks, which are no rows of the shape.
template <class T>
Memory values(const std::vector<T>& source) {
  Memory memory(source.size() * sizeof(T));
  std::memcpy(memory.get(), source.data(), source.size() * sizeof(T));
  return memory;
}

// Products of residues modulo k 2^n + c, and the ends of their range.
void check_fold(const Kernel& kernel, size_t rows) {
  struct Modulus {
    u32 k, n;
    gpuint::i32 c;
    u32 unused;
  };
  const Shape& shape = kernel.shape;
  for (const u32 one : {0, 1}) {
    const bool one_modulus = one != 0;
    gpuint::Params params = broadcasting(one_modulus, false);
    params.digit = 3, params.distance = 33;
    std::vector<Modulus> records;
    Column moduli, products, exponents;
    for (size_t row = 0; row < rows; ++row) {
      if (moduli.empty() || !one_modulus) {
        const u32 most = static_cast<u32>(shape.bits - 32 - 128);
        const u32 n = 128 + (below(3) == 0 ? most : static_cast<u32>(below(most + 1)));
        const u32 k = (static_cast<u32>(random_word()) >> (4 + below(28))) | 1;
        const u32 c = 1 + static_cast<u32>(below(2730));
        const bool is_negative = below(2) == 0;
        const auto signed_c = static_cast<gpuint::i32>(is_negative ? 0 - c : c);
        records.push_back({k, n, signed_c, 0});
        const Number multiple = product({k}, power_of_two(n)), term{c};
        moduli.push_back(is_negative ? difference(multiple, term) : sum(multiple, term));
      }
      const Number& n = moduli.back();
      const auto residue = [&] {
        return below(3) == 0 ? difference(n, {1}) : remainder(factor(shape, n), n);
      };
      products.push_back(product(residue(), residue()));
      exponents.push_back(operand(shape.bits, shape.digit_bits));
    }
    Memory prepared = values(records), second(exponents, shape.bytes());
    Memory first(products, 2 * shape.bytes());
    const Result result = launch(kernel, {exponents}, shape.bytes(), 0, params, false, false,
                                 &prepared, &second, 0, first.get());
    for (size_t row = 0; row < rows; ++row) {
      const size_t of = one_modulus ? 0 : row;
      const bool has_factor = (word(exponents[row], 1) >> 1 & 1) != 0;
      const Number scaled = product(products[row], {records[of].k * (has_factor ? 3 : 1)});
      const Number got = result.out[0].row(row, shape.bytes());
      const bool right = compare(got, remainder(scaled, moduli[of])) == 0;
      expect(kernel, right, "the residue", products[row], moduli[of], got);
    }
  }
}

void check_shift_rows(const Kernel& kernel, const Pairs& p, bool left) {
  const Shape& shape = kernel.shape;
  std::vector<u32> distances;
  for (size_t row = 0; row < p.a.size(); ++row)
    distances.push_back(static_cast<u32>(row % 5 == 0 ? shape.bits + row - 5 : below(shape.bits)));
  Memory second = values(distances);
  const Result result = launch(kernel, {p.a}, shape.bytes(), 0, {}, true, true, nullptr, &second);
  for (size_t row = 0; row < p.a.size(); ++row) {
    const u64 d = distances[row];
    const Number right = d >= shape.bits ? Number{0}
                         : left          ? low(product(p.a[row], power_of_two(d)), shape.bits)
                                         : bits_of(p.a[row], d, shape.bits);
    const Number got = result.out[0].row(row, shape.bytes());
    expect(kernel, compare(got, right) == 0, "the shifted number", p.a[row], {distances[row]}, got);
  }
}

void check_gather(const Kernel& kernel, const Pairs& p) {
  std::vector<u64> from;
  for (size_t row = 0; row < p.a.size(); ++row) from.push_back(below(p.a.size()));
  Memory second = values(from);
  const size_t bytes = kernel.shape.bytes();
  const Result result = launch(kernel, {p.a}, bytes, 0, {}, true, true, nullptr, &second);
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number got = result.out[0].row(row, bytes);
    expect(kernel, compare(got, p.a[from[row]]) == 0, "the row", p.a[from[row]], {}, got);
  }
}

void check_lookup(const Kernel& kernel, const Pairs& p) {
  const size_t bytes = kernel.shape.bytes();
  Column table;
  for (size_t row = 0; row < 256 * bytes && row < 1024; ++row)
    table.push_back(operand(kernel.shape.bits, kernel.shape.digit_bits));
  Memory second(p.a, bytes);
  for (u32 byte = 0; byte < table.size() / 256; ++byte) {
    gpuint::Params params{};
    params.distance = 8 * byte;
    const Result result =
        launch(kernel, {table}, bytes, 0, params, true, true, nullptr, &second, p.a.size());
    for (size_t row = 0; row < p.a.size(); ++row) {
      const u32 index = 256 * byte + (word(p.a[row], byte / 4) >> 8 * (byte % 4) & 255);
      const Number got = result.out[0].row(row, bytes);
      expect(kernel, compare(got, table[index]) == 0, "the row", p.a[row], {index}, got);
    }
  }
}

void check_select(const Kernel& kernel, const Pairs& p) {
  std::vector<u32> mask;
  for (size_t row = 0; row < p.a.size(); row += 32) mask.push_back(static_cast<u32>(random_word()));
  Memory third = values(mask);
  const size_t bytes = kernel.shape.bytes();
  const Result result = launch(kernel, {p.a, p.b}, bytes, 0, {}, true, true, &third);
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number& right = (mask[row / 32] >> row % 32 & 1) != 0 ? p.a[row] : p.b[row];
    const Number got = result.out[0].row(row, bytes);
    expect(kernel, compare(got, right) == 0, "the row", p.a[row], p.b[row], got);
  }
}

void check_resize(const Kernel& kernel, const Pairs& p) {
  for (const u64 target :
       {kernel.shape.bits / 32 * 16, kernel.shape.bits, kernel.shape.bits + 48}) {
    gpuint::Params params{};
    params.target_bits = static_cast<u32>(target);
    const Result result = launch(kernel, {p.a}, target / 8, 0, params);
    u64 wide = ~0ull;
    for (size_t row = p.a.size(); row-- > 0;) {
      if (bit_length(p.a[row]) > target) wide = row;
      const Number got = result.out[0].row(row, target / 8);
      expect(kernel, compare(got, low(p.a[row], target)) == 0, "the row", p.a[row], {}, got);
    }
    expect(kernel, result.status == wide, "the status", p.a[0], {}, {});
  }
}

// Takes the factors of 2 out of a > 0; returns how many there are.
u64 strip(Number& a) {
  u64 zeros = 0;
  while ((a[zeros / 32] >> zeros % 32 & 1) == 0) ++zeros;
  a = bits_of(a, zeros, 32 * a.size());
  return zeros;
}

// The greatest common divisor of a and b, by differences of odd numbers, and the symbol (a | b).
struct Euclid {
  Number divisor;
  int symbol;
};
Euclid euclid(Number a, Number b) {
  if (is_zero(a) || is_zero(b)) {
    const Number divisor = is_zero(a) ? b : a;
    return {divisor, compare(divisor, {1}) == 0};
  }
  const bool both_even = (a[0] & 1) == 0 && (b[0] & 1) == 0;
  const u64 of_b = strip(b), of_a = strip(a), common = std::min(of_a, of_b);
  // (a | 2^k b) = (2 | a)^k (a | b), with a odd where k > 0; (2^k a | b) = (2 | b)^k (a | b).
  const auto two = [](const Number& x) { return x[0] % 8 == 3 || x[0] % 8 == 5; };
  bool negative = (of_b % 2 != 0 && two(a)) != (of_a % 2 != 0 && two(b));
  while (compare(a, b) != 0) {
    if (compare(a, b) < 0) {
      std::swap(a, b);
      negative ^= a[0] % 4 == 3 && b[0] % 4 == 3;
    }
    a = difference(a, b);
    negative ^= strip(a) % 2 != 0 && two(b);
  }
  const int symbol = both_even || compare(a, {1}) != 0 ? 0 : negative ? -1 : 1;
  return {product(a, power_of_two(common)), symbol};
}

void check_euclid(const Kernel& kernel, Pairs p) {
  const std::string& task = kernel.task;
  const size_t bytes = kernel.shape.bytes();
  for (size_t row = 0; row < p.a.size(); row += 3) {  // a common divisor
    const Number divisor = operand(1 + below(kernel.shape.bits / 2), kernel.shape.digit_bits);
    const u64 rest = kernel.shape.bits - std::max<u64>(bit_length(divisor), 1);
    p.a[row] = product(divisor, low(p.a[row], rest));
    p.b[row] = product(divisor, low(p.b[row], rest));
  }
  const Result result = launch(kernel, {p.a, p.b}, task == "jacobi" ? 1 : bytes, 0, {});
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number &a = p.a[row], &b = p.b[row];
    const Euclid right = euclid(a, b);
    if (task == "jacobi") {
      const int got = result.out[0].at<i8>(row);
      expect(kernel, got == right.symbol, "the symbol", a, b, {});
      continue;
    }
    const Number got = result.out[0].row(row, bytes);
    if (starts_with(task, "gcd")) {
      expect(kernel, compare(got, right.divisor) == 0, "the divisor", a, b, got);
      continue;
    }
    const bool found = compare(right.divisor, {1}) == 0 && !is_zero(b);
    expect(kernel, result.flag(row) != found, "the mask", a, b, got);
    const Number one = bit_length(b) == 1 ? Number{0} : Number{1};
    expect(kernel,
           found ? compare(got, b) < 0 && compare(remainder(product(a, got), b), one) == 0
                 : is_zero(got),
           "the inverse", a, b, got);
  }
}

// Multiples of the divisors, and neighbours of multiples. With and without a mask.
void check_exact(const Kernel& kernel, size_t rows) {
  const Shape& shape = kernel.shape;
  const size_t bytes = shape.bytes();
  Pairs p;
  std::vector<bool> divides;
  u64 lowest = ~0ull;
  for (size_t row = 0; row < rows; ++row) {
    Number v = division(shape, row).second;
    if (below(3) == 0 && !is_zero(v)) {  // the bits of v in another place
      strip(v);
      v = product(v, power_of_two(below(shape.bits + 1 - bit_length(v))));
    }
    const u64 rest = shape.bits - bit_length(v);
    Number u = product(rest == 0 ? Number{1} : operand(rest, shape.digit_bits), v);
    if (row % 4 == 3) u = low(sum(u, power_of_two(below(shape.bits))), shape.bits);
    // A multiple beyond the width.
    if (row % 4 == 1) u = low(product(operand(rest + 1, shape.digit_bits), v), shape.bits);
    if (is_zero(v)) lowest = std::min<u64>(lowest, row);
    divides.push_back(!is_zero(v) && is_zero(remainder(u, v)));
    p.a.push_back(u);
    p.b.push_back(v);
  }
  const Result masked = launch(kernel, {p.a, p.b}, bytes, 0, {});
  const Result plain = launch(kernel, {p.a, p.b}, bytes, 0, {}, false);
  for (size_t row = 0; row < rows; ++row) {
    const Number &u = p.a[row], &v = p.b[row];
    const Number q = masked.out[0].row(row, bytes);
    expect(kernel, masked.flag(row) != divides[row], "the mask", u, v, q);
    if (!divides[row]) {
      expect(kernel, is_zero(q), "the row without a quotient", u, v, q);
      continue;
    }
    expect(kernel, compare(product(q, v), u) == 0, "the quotient", u, v, q);
    expect(kernel, compare(plain.out[0].row(row, bytes), q) == 0, "the quotient without a mask", u,
           v, q);
  }
  if (masked.status != lowest) fail(kernel.name, "the status is wrong");
}

void check_inverse_mod_pow2(const Kernel& kernel, const Pairs& p) {
  const Shape& shape = kernel.shape;
  const Result result = launch(kernel, {p.a}, shape.bytes(), 0, {});
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number& v = p.a[row];
    const bool odd = !is_zero(v) && v[0] % 2 == 1;
    const Number got = result.out[0].row(row, shape.bytes());
    expect(kernel, result.flag(row) != odd, "the mask", v, {}, got);
    expect(kernel, odd ? compare(low(product(v, got), shape.bits), {1}) == 0 : is_zero(got),
           "the inverse", v, {}, got);
  }
}

void check_half_gcd(const Kernel& kernel, const Pairs& p) {
  const u64 bits = kernel.shape.bits, half = bits / 2, least = half + 2;
  const size_t bytes = kernel.shape.bytes();
  const Result result = launch(kernel, {p.a, p.b}, bytes, bytes, {});
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number &x = p.a[row], &y = p.b[row];
    const Number first = result.out[0].row(row, bytes), second = result.out[1].row(row, bytes);
    const Number u0 = low(first, half), v0 = bits_of(first, half, half);
    const Number u1 = low(second, half), v1 = bits_of(second, half, half);
    expect(kernel, compare(product(u0, v1), sum(product(v0, u1), {1})) == 0, "the determinant", x,
           y, first);
    const Number x0 = product(u0, x), y0 = product(v0, y), x1 = product(u1, x), y1 = product(v1, y);
    if (compare(x0, y0) < 0 || compare(y1, x1) < 0) {
      fail(kernel.name, "a remainder is negative");
      continue;
    }
    Number longer = difference(x0, y0), shorter = difference(y1, x1);
    if (compare(longer, shorter) < 0) std::swap(longer, shorter);
    const u64 length = bit_length(longer);
    const bool is_identity = is_zero(v0) && is_zero(u1);
    expect(kernel, is_identity || bit_length(shorter) >= least, "the length", x, y, first);
    // The steps end at short numbers, or if the leading 64 bits are equal, but for the last.
    expect(kernel,
           length < least + 63 || bit_length(shorter) < least ||
               bit_length(bits_of(difference(longer, shorter), length - 64, 65)) < 2,
           "the number of steps", x, y, first);
  }
}

// The oracle is Euclid's algorithm with a bit of a quotient at a time.
void check_rational(const Kernel& kernel, Pairs p) {
  const size_t bytes = kernel.shape.bytes();
  Column bounds;
  for (size_t row = 0; row < p.a.size(); ++row) {
    if (compare(p.a[row], p.b[row]) > 0) std::swap(p.a[row], p.b[row]);
    if (compare(p.a[row], p.b[row]) == 0) p.a[row] = {0};
    // Around half the length, where fractions are unique, or anywhere.
    const u64 length = bit_length(p.b[row]) / 2 + below(5);
    bounds.push_back(operand(below(3) != 0 ? 1 + length : 1 + below(kernel.shape.bits),
                             kernel.shape.digit_bits));
    bounds.back() = low(bounds.back(), kernel.shape.bits);
  }
  const Result result = launch(kernel, {p.a, p.b, bounds}, bytes, bytes, {});
  for (size_t row = 0; row < p.a.size(); ++row) {
    Number x = p.b[row], y = p.a[row], s = {0}, t = {1};
    bool negative = false;
    while (compare(y, bounds[row]) > 0) {
      for (u64 k = bit_length(x) - bit_length(y) + 1; k-- > 0;) {
        const Number multiple = product(y, power_of_two(k));
        if (compare(x, multiple) < 0) continue;
        x = difference(x, multiple);
        x.resize((bit_length(x) + 31) / 32);
        s = sum(s, product(t, power_of_two(k)));
        s.resize((bit_length(s) + 31) / 32);
      }
      std::swap(x, y), std::swap(s, t);
      negative = !negative;
    }
    const Number n = result.out[0].row(row, bytes), d = result.out[1].row(row, bytes);
    expect(kernel, compare(n, y) == 0, "the numerator", p.a[row], p.b[row], n);
    expect(kernel, compare(d, t) == 0, "the denominator", p.a[row], p.b[row], d);
    expect(kernel, result.flag(row) == (negative && !is_zero(y)), "the sign", p.a[row], p.b[row],
           n);
  }
}

void check_root(const Kernel& kernel, Pairs p) {
  const u64 bits = kernel.shape.bits;
  const size_t bytes = kernel.shape.bytes();
  // Squares, and their neighbours: the lowest remainder and the highest. Of numbers with zeros
  // below and of all ones, whose estimates are one too small for a block.
  for (size_t row = 0; row < p.a.size(); ++row) {
    const u64 half = 1 + below(bits / 2), zeros = below(half);
    const Number root =
        product(operand(half - zeros, kernel.shape.digit_bits), power_of_two(zeros));
    const Number square = product(root, root);
    const u64 kind = below(5);
    if (kind == 0) p.a[row] = low(square, bits);
    if (kind == 1) p.a[row] = low(sum(square, {1}), bits);
    if (kind == 2 && !is_zero(square)) p.a[row] = low(difference(square, {1}), bits);
  }
  const Result result = launch(kernel, {p.a}, bytes, bytes, {});
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number root = result.out[0].row(row, bytes), rest = result.out[1].row(row, bytes);
    const bool right = compare(sum(product(root, root), rest), p.a[row]) == 0 &&
                       compare(rest, sum(root, root)) <= 0;
    expect(kernel, right, "the root", p.a[row], rest, root);
  }
  const Result alone = launch(kernel, {p.a}, bytes, 0, {});
  for (size_t row = 0; row < p.a.size(); ++row)
    expect(kernel, compare(alone.out[0].row(row, bytes), result.out[0].row(row, bytes)) == 0,
           "the root alone", p.a[row], {}, alone.out[0].row(row, bytes));
}

// Flips a bit of a number of some bits.
Number flipped(Number a, u64 bit) {
  a.resize(std::max(a.size(), size_t(bit / 32 + 1)));
  a[bit / 32] ^= 1u << bit % 32;
  return a;
}

// A check of rows with the results c, d reports this row as the lowest that fails.
void check_status(const Kernel& kernel, const std::vector<Column>& ins, const Column& c,
                  const Column& d, const gpuint::Params& params, Memory* third, u64 lowest) {
  Memory first(c, kernel.shape.bytes()), second(d, kernel.shape.bytes());
  const Result result = launch(kernel, ins, 0, 0, params, false, true, third, nullptr, 0, nullptr,
                               d.empty() ? nullptr : &second, &first);
  expect(kernel, result.status == lowest, "the status", ins[0][0], {static_cast<u32>(lowest)},
         {static_cast<u32>(result.status)});
}

// A check passes the results c, d of rows, and reports the lowest of two with a flipped bit.
void check_results(const Kernel& kernel, const std::vector<Column>& ins, const Column& c,
                   const Column& d, const gpuint::Params& params, Memory* third) {
  check_status(kernel, ins, c, d, params, third, ~0ull);
  for (const bool is_second : {false, true}) {
    if (is_second && d.empty()) break;
    Column first = c, second = d;
    u64 lowest = ~0ull;
    for (u64 i = 0; i < 2; ++i) {
      const u64 row = below(c.size());
      if (row == lowest) continue;  // not the same bit twice
      Number& number = (is_second ? second : first)[row];
      number = flipped(number, below(kernel.shape.bits));
      lowest = std::min(lowest, row);
    }
    check_status(kernel, ins, first, second, params, third, lowest);
  }
}

void check_equation(const Kernel& kernel, const Pairs& p) {
  using gpuint::Equation;
  const Shape& shape = kernel.shape;
  const size_t rows = p.a.size();
  constexpr u64 DIGIT = 0xfedcba9876543211;
  for (const Equation equation :
       {Equation::Sum, Equation::Difference, Equation::Product, Equation::Quotient,
        Equation::MaskedQuotient, Equation::Root, Equation::DigitQuotient}) {
    Column a, b = p.b, c, d;
    std::vector<u32> mask((rows + 31) / 32), words;
    const bool has_d = equation != Equation::Sum && equation != Equation::Difference &&
                       equation != Equation::DigitQuotient;
    u64 zero = ~0ull;
    for (size_t row = 0; row < rows; ++row) {
      const Number& y = b[row];
      Number x = p.a[row], first, second;
      bool is_marked = false;
      if (equation == Equation::Sum) {
        const Number whole = sum(x, y);
        first = low(whole, shape.bits);
        is_marked = bit_length(whole) > shape.bits;
      } else if (equation == Equation::Difference) {
        is_marked = compare(x, y) < 0;
        first = low(difference(sum(x, power_of_two(shape.bits)), y), shape.bits);
      } else if (equation == Equation::Product) {
        const Number whole = product(x, y);
        first = low(whole, shape.bits), second = bits_of(whole, shape.bits, shape.bits);
      } else if (equation == Equation::Root) {
        first = operand(shape.bits / 2, shape.digit_bits);
        second = is_zero(first) ? Number{0} : low(x, bit_length(first));
        x = low(sum(product(first, first), second), shape.bits);
      } else if (equation == Equation::DigitQuotient) {
        const Number digit{static_cast<u32>(DIGIT), static_cast<u32>(DIGIT >> 32)};
        const u64 rest = random_word() % DIGIT;
        words.push_back(static_cast<u32>(rest)), words.push_back(static_cast<u32>(rest >> 32));
        first = operand(shape.bits - 64, shape.digit_bits);
        const Number last{static_cast<u32>(rest), static_cast<u32>(rest >> 32)};
        x = low(sum(product(first, digit), last), shape.bits);
      } else if (is_zero(y)) {
        is_marked = true;
        zero = std::min<u64>(zero, row);
        first = difference(power_of_two(shape.bits), {1}), second = x;
      } else {
        const u64 room = shape.bits - bit_length(y);
        first = room == 0 ? Number{0} : operand(room, shape.digit_bits);
        second = remainder(x, y);
        x = low(sum(product(first, y), second), shape.bits);
      }
      if (is_marked) mask[row / 32] |= 1u << row % 32;
      a.push_back(x), c.push_back(first);
      if (has_d) d.push_back(second);
    }
    gpuint::Params params{};
    params.equation = static_cast<u32>(equation);
    if (equation == Equation::Quotient) params.digit = zero;
    if (equation == Equation::DigitQuotient) params.digit = DIGIT;
    Memory third = values(equation == Equation::DigitQuotient ? words : mask);
    check_results(kernel, {a, b}, c, d, params, &third);
    if (equation == Equation::Sum || equation == Equation::Difference ||
        equation == Equation::MaskedQuotient) {
      const u64 row = below(rows);
      std::vector<u32> other = mask;
      other[row / 32] ^= 1u << row % 32;
      Memory harmed = values(other);
      check_status(kernel, {a, b}, c, d, params, &harmed, row);
    }
    if (equation == Equation::Product || equation == Equation::Sum ||
        equation == Equation::Difference)
      continue;
    // A quotient or root that is one too small, and a remainder that is too large.
    for (u64 row = 0; row < rows; ++row) {
      const bool is_digit = equation == Equation::DigitQuotient;
      if (is_zero(c[row]) || (has_d && equation != Equation::Root && is_zero(b[row]))) continue;
      Column first = c, second = d;
      std::vector<u32> rest = words;
      first[row] = difference(c[row], {1});
      if (is_digit) {
        const u64 last = rest[2 * row] | u64{rest[2 * row + 1]} << 32;
        if (last + DIGIT < DIGIT) continue;
        rest[2 * row] = static_cast<u32>(last + DIGIT);
        rest[2 * row + 1] = static_cast<u32>((last + DIGIT) >> 32);
      } else {
        second[row] = sum(d[row], equation == Equation::Root ? sum(c[row], first[row]) : b[row]);
        if (bit_length(second[row]) > shape.bits) continue;
      }
      Memory large = values(is_digit ? rest : mask);
      check_status(kernel, {a, b}, first, second, params, &large, row);
      break;
    }
  }
}

void check_equation_by(const Kernel& kernel, size_t rows) {
  for (const bool one : {false, true}) {
    const Pairs p = divisible(kernel.shape, rows, one);
    Memory prepared = prepare(kernel, p.b);
    Column a, c, d;
    for (size_t row = 0; row < rows; ++row) {
      const Number& v = p.b[one ? 0 : row];
      const u64 room = kernel.shape.bits - bit_length(v);
      c.push_back(room == 0 ? Number{0} : operand(room, kernel.shape.digit_bits));
      d.push_back(remainder(p.a[row], v));
      a.push_back(low(sum(product(c.back(), v), d.back()), kernel.shape.bits));
    }
    check_results(kernel, {a}, c, d, broadcasting(one, false), &prepared);
  }
}

// Rows of any number of bytes, one of which differs.
void check_equal(const Kernel& kernel, const Pairs& p) {
  Memory one(p.a, kernel.shape.bytes());
  const size_t bytes = p.a.size() * kernel.shape.bytes();
  for (const size_t row_bytes : {size_t{1}, size_t{2}, kernel.shape.bytes()}) {
    gpuint::Params params{};
    params.source_bits = static_cast<u32>(8 * row_bytes);
    for (const bool harmed : {false, true}) {
      Memory other(p.a, kernel.shape.bytes());
      const size_t at = below(bytes);
      if (harmed) static_cast<unsigned char*>(other.get())[at] ^= 1u << below(8);
      const u64 lowest = harmed ? at / row_bytes : ~0ull;
      const Result result = launch(kernel, {}, 0, 0, params, false, true, nullptr, &other,
                                   bytes / row_bytes, one.get());
      expect(kernel, result.status == lowest, "the status", {static_cast<u32>(lowest)}, {},
             {static_cast<u32>(result.status)});
    }
  }
}

// The kernels of the levels of square roots, by the equations of root/level.cuh on any operands:
// numbers of twice the bits of a level, which has twice the bits of the kernel's rows.
void check_root_level(const Kernel& kernel, const Pairs& p) {
  const Shape& shape = kernel.shape;
  const u64 bits = shape.bits, k = bits / 2, count = p.a.size();
  const size_t bytes = shape.bytes(), wide = 2 * bytes;
  Column numbers, quotients, next;
  std::vector<u32> lengths;
  for (size_t row = 0; row < count; ++row) {
    const Number number = operand(4 * bits, shape.digit_bits);
    numbers.push_back(number);
    // Few zeros below the level in three rows of four.
    lengths.push_back(static_cast<u32>(2 * (bits - below(row % 4 == 0 ? bits : 31))));
    quotients.push_back(row % 5 == 0 ? power_of_two(k) : low(p.a[row], k));
    next.push_back(operand(2 * bits, shape.digit_bits));
  }
  gpuint::Params params{};
  params.source_bits = static_cast<u32>(4 * bits);
  params.part_bits = static_cast<u32>(k);
  params.target_bits = static_cast<u32>(2 * bits);
  // Bits `from` .. `from + size` of a row's number, zeros below it.
  const auto part = [&](size_t row, long long from, u64 size) {
    if (from >= 0) return bits_of(numbers[row], static_cast<u64>(from), size);
    return low(product(numbers[row], power_of_two(static_cast<u64>(-from))), size);
  };
  Memory source(numbers, 4 * bytes), plain = values(lengths);
  if (kernel.task == "root_dividend") {
    params.target_bits = 0;
    params.distance = static_cast<u32>(bits);
    const Result result = launch(kernel, {p.a}, bytes, 0, params, true, true, &plain, &source);
    for (size_t row = 0; row < count; ++row) {
      const Number upper = product(low(p.a[row], bits), power_of_two(k));
      const Number whole = sum(
          upper,
          part(row, static_cast<long long>(lengths[row]) - static_cast<long long>(bits + k), k));
      const Number got = result.out[0].row(row, bytes);
      expect(kernel, compare(got, bits_of(whole, 1, bits)) == 0, "half the dividend", p.a[row],
             {lengths[row]}, got);
    }
  } else if (kernel.task == "root_remainder") {
    Memory updated = values(lengths);
    const Result result = launch(kernel, {p.a, p.b}, wide, 0, params, true, true, &source, nullptr,
                                 0, nullptr, &updated);
    for (size_t row = 0; row < count; ++row) {
      const long long from = static_cast<long long>(lengths[row]) - static_cast<long long>(4 * k);
      const Number x = sum(part(row, from, k + 1), product(low(p.a[row], k), power_of_two(k + 1)));
      const Number rest = low(difference(sum(x, power_of_two(4 * k)), p.b[row]), 2 * k + 1);
      const Number below = part(row, from - static_cast<long long>(bits), bits);
      const Number right = bits_of(sum(product(rest, power_of_two(bits)), below), 1, 2 * bits);
      const Number got = result.out[0].row(row, wide);
      expect(kernel, compare(got, right) == 0, "half the remainder", p.a[row], p.b[row], got);
      const bool negative = compare(x, p.b[row]) < 0;
      expect(kernel, updated.at<u32>(row) == lengths[row] + negative, "the sign", p.a[row],
             p.b[row], {updated.at<u32>(row)});
    }
  } else {
    for (size_t row = 0; row < count; ++row) lengths[row] += row % 3 == 0;
    for (const bool last : {false, true}) {
      params.distance = last ? static_cast<u32>(2 * bits) : 0;
      // The last level restores remainders of rows with few zeros below.
      if (last)
        for (u32& length : lengths)
          length = std::max(length, static_cast<u32>(2 * bits - 62) + length % 2);
      Memory third = values(lengths), updated(next, wide);
      const Result result = launch(kernel, {quotients, p.b}, wide, 0, params, true, true, &third,
                                   nullptr, 0, nullptr, &updated);
      for (size_t row = 0; row < count; ++row) {
        const bool full = row % 5 == 0, corrected = full || lengths[row] % 2 != 0;
        const Number both =
            low(sum(product(low(p.b[row], k), power_of_two(k)), quotients[row]), bits);
        Number s = low(both, bits);
        if (corrected) s = low(difference(sum(both, power_of_two(bits)), {1}), bits);
        // Half a remainder above its lowest bit and the rest.
        Number rest = bits_of(next[row], bits - 1, bits + 1);
        if (corrected) rest = low(sum(rest, sum(sum(s, s), {1})), bits + 1);
        if (full) rest = low(sum(rest, power_of_two(bits)), bits + 1);
        const u64 zeros = last ? (2 * bits - lengths[row] / 2 * 2) / 2 : 0;
        const Number root = bits_of(s, zeros, bits), t = low(s, zeros);
        Number right = sum(product(rest, power_of_two(bits - 1)), low(next[row], bits - 1));
        if (last) {
          const Number factor = difference(sum(s, s), t);
          right = bits_of(sum(rest, product(t, factor)), 2 * zeros, 2 * bits);
        }
        const Number got = result.out[0].row(row, wide);
        expect(kernel, compare(got, root) == 0, "the root", quotients[row], p.b[row], got);
        const Number after = updated.row(row, wide);
        expect(kernel, compare(after, right) == 0, "the remainder", s, next[row], after);
      }
    }
  }
}

// a^e mod n for n < 2^32.
u64 small_power(u64 a, u64 e, u64 n) {
  u64 power = 1 % n;
  for (a %= n; e != 0; e /= 2, a = a * a % n)
    if (e % 2 != 0) power = power * a % n;
  return power;
}

// The tests of small odd numbers above 1, by their definitions (kernels/prime).
bool is_strong(u64 n) {
  u64 d = n - 1, s = 0;
  while (d % 2 == 0) d /= 2, ++s;
  u64 x = small_power(2, d, n);
  bool passes = x == 1;
  for (; s > 0; --s, x = x * x % n) passes = passes || x == n - 1;
  return passes;
}
bool is_lucas(u64 n, u64 first) {
  u64 d = n + 1, s = 0;
  while (d % 2 == 0) d /= 2, ++s;
  u64 v = 2 % n, next = first;  // v_k, v_(k+1)
  for (u64 bit = 64; bit-- > 0;) {
    const u64 both = (v * next + n - first) % n;
    if (d >> bit & 1)
      v = both, next = (next * next + n - 2) % n;
    else
      next = both, v = (v * v + n - 2) % n;
  }
  bool passes = (v == 2 && next == first) || (v == n - 2 && next == (n - first) % n);
  for (; s > 1; --s, v = (v * v + n - 2) % n) passes = passes || v == 0;
  return passes;
}

int small_jacobi(u64 a, u64 n) {
  int symbol = 1;
  for (a %= n; a != 0; std::swap(a, n), a %= n) {
    for (; a % 2 == 0; a /= 2)
      if (n % 8 == 3 || n % 8 == 5) symbol = -symbol;
    if (a % 4 == 3 && n % 4 == 3) symbol = -symbol;
  }
  return n == 1 ? symbol : 0;
}

// Small numbers, and their multiples by the product of all prime factors of the first parameters,
// which have none.
void check_terms(const Kernel& kernel, size_t rows) {
  const bool extra = starts_with(kernel.task, "extra_");
  Column numbers;
  std::vector<u64> terms;
  u64 lowest = ~0ull;
  for (size_t row = 0; row < rows; ++row) {
    const u64 n = row % 5 == 0 ? 65 : below(row % 2 == 0 ? 1u << 31 : 300);
    const bool is_multiple = row % 5 == 4 && kernel.shape.bits >= 256;
    Number number{static_cast<u32>(n)};
    u64 term = 0;
    if (row % 10 == 5) number = product({75}, {75}), term = 0;  // 3 divides it
    if (row % 10 == 0) {
      number = product({47}, {47}), term = ~0ull, lowest = std::min<u64>(lowest, row);
    } else if (is_multiple) {
      number = product(product({111546435}, {58642669}), {static_cast<u32>(n | 1)});
    } else if (row % 10 != 5 && n < 64) {
      term = u64{(0x28208a20a08a28ac >> n & 1) != 0} << 32;
    } else if (row % 10 != 5 && n % 2 != 0) {
      term = ~0ull;
      for (u64 size = extra ? 3 : 5; term == ~0ull && size <= (extra ? 43 : 45);
           size += extra ? 1 : 2) {
        const bool is_positive = extra || size % 4 == 1;
        const u64 d = extra ? size * size - 4 : size,
                  q = extra ? 1 : (size + (is_positive ? -1 : 1)) / 4;
        const int symbol = small_jacobi(is_positive ? d : n - d % n, n);
        if (symbol == 0) term = 0;
        if (symbol != -1) continue;
        const u64 numerator = extra ? size : is_positive ? 0 - (1 + 2 * q) : 1 - 2 * q;
        bool is_coprime = true;
        for (u64 p = 3; p <= q; p += 2) is_coprime = is_coprime && (q % p != 0 || n % p != 0);
        term = is_coprime ? numerator << 32 | q : 0;
      }
      if (term == ~0ull) lowest = std::min<u64>(lowest, row);
    }
    numbers.push_back(number);
    terms.push_back(term);
  }
  const Result result = launch(kernel, {numbers}, sizeof(u64), 0, {});
  for (size_t row = 0; row < rows; ++row) {
    const u64 got = result.out[0].at<u64>(row);
    expect(kernel, got == terms[row], "the term", numbers[row],
           {static_cast<u32>(terms[row]), static_cast<u32>(terms[row] >> 32)},
           {static_cast<u32>(got), static_cast<u32>(got >> 32)});
  }
  if (result.status != lowest) fail(kernel.name, "the status is wrong");
}

// Small numbers, Mersenne primes and their squares, even numbers.
void check_primes(const Kernel& kernel, size_t rows) {
  const bool lucas = starts_with(kernel.task, "strong_lucas_");
  const u64 exponents[] = {61, 107, 127, 521, 607};
  Column numbers;
  std::vector<u64> terms;
  std::vector<bool> passes;
  for (size_t row = 0; row < rows; ++row) {
    u64 exponent = exponents[row / 4 % (UNDER_TSAN || kernel.shape.bits > 1024 ? 3 : 5)];
    if (exponent > kernel.shape.bits) exponent = 61;
    const Number mersenne = difference(power_of_two(exponent), {1});
    // 4 and 4 / 1 of Lucas and Lehmer: (3 | 2^p - 1) = -1. Elsewhere small fractions.
    const bool is_negative = below(2) != 0;
    const u64 numerator = row % 4 < 2 ? 4 : 3 + below(20),
              denominator = row % 4 < 2 ? 1 : 1 << below(4);
    const u64 signed_numerator = row % 4 >= 2 && is_negative ? -numerator : numerator;
    terms.push_back(signed_numerator << 32 | denominator);
    if (row % 4 == 0) {
      numbers.push_back(mersenne);
      passes.push_back(true);
    } else if (row % 4 == 1) {
      const bool is_even = row % 8 == 1 || 2 * exponent > kernel.shape.bits;
      numbers.push_back(is_even ? product(mersenne, {2}) : product(mersenne, mersenne));
      if (bit_length(numbers.back()) > kernel.shape.bits) numbers.back() = {4};
      if (row % 16 == 5) numbers.back() = {2};
      passes.push_back(!lucas && row % 16 == 5);
    } else {
      const u64 n = 64 + below(row % 8 == 2 ? 1u << 31 : 1u << 12);
      u64 first = numerator % n;
      for (u64 d = denominator; d > 1; d /= 2) first = (first % 2 != 0 ? first + n : first) / 2;
      if (is_negative) first = (n - first) % n;
      numbers.push_back({static_cast<u32>(n)});
      passes.push_back(n % 2 != 0 && (lucas ? is_lucas(n, first) : is_strong(n)));
    }
  }
  Memory second = values(terms);
  const Result result =
      launch(kernel, {numbers}, 0, 0, {}, true, true, nullptr, lucas ? &second : nullptr);
  for (size_t row = 0; row < rows; ++row)
    expect(kernel, result.flag(row) == passes[row], "the mask", numbers[row],
           {static_cast<u32>(terms[row]), static_cast<u32>(terms[row] >> 32)}, {});
}

void check(const Kernel& kernel, size_t rows) {
  const std::string& task = kernel.task;
  Pairs p = pairs(kernel.shape, rows);
  if (starts_with(task, "mul_")) add_long_carries(kernel.shape, p);
  if (task == "add" || task == "sub")
    check_sum(kernel, p, task == "sub");
  else if (starts_with(task, "mul_lo_"))
    check_product(kernel, p, false, false, false);
  else if (starts_with(task, "square_lo_"))
    check_product(kernel, p, true, false, false);
  else if (starts_with(task, "sum_of_products_"))
    check_sum_of_products(kernel, p, 1);
  else if (starts_with(task, "wide_sum_of_products_"))
    check_sum_of_products(kernel, p, 2);
  else if (starts_with(task, "mul_wide_"))
    check_product(kernel, p, false, true, false), check_product(kernel, p, false, true, true);
  else if (task == "div_rem_digit")
    check_digit(kernel, p);
  else if (starts_with(task, "div_rem_by_"))
    check_division_by(kernel, rows);
  else if (starts_with(task, "prepare_odd_"))
    check_prepare_odd(kernel, rows);
  else if (starts_with(task, "prepare_"))
    check_prepare(kernel, rows);
  else if (task == "add_mod" || task == "sub_mod" || task == "neg_mod" || task == "halve_mod")
    check_linear_modular(kernel, rows);
  else if (task == "fold")
    check_fold(kernel, rows);
  else if (starts_with(task, "mul_residues_") || starts_with(task, "square_residues_"))
    check_residues(kernel, rows, starts_with(task, "square_"));
  else if (starts_with(task, "mul_mod_"))
    check_modular(kernel, rows, Modular::Product);
  else if (starts_with(task, "square_mod_"))
    check_modular(kernel, rows, Modular::Square);
  else if (starts_with(task, "pow_product_mod_"))
    check_power_product(kernel, rows);
  else if (starts_with(task, "pow_mod_"))
    check_modular(kernel, rows, Modular::Power);
  else if (task == "strong_terms" || task == "extra_strong_terms")
    check_terms(kernel, rows);
  else if (starts_with(task, "strong_"))
    check_primes(kernel, rows);
  else if (task == "div_exact")
    check_exact(kernel, rows);
  else if (task == "inverse_mod_pow2")
    check_inverse_mod_pow2(kernel, p);
  else if (starts_with(task, "div_rem_"))
    check_division(kernel, rows);
  else if (starts_with(task, "shifted_inverse_"))
    check_inverse(kernel, rows);
  else if (task == "shl" || task == "shr")
    check_shift(kernel, p, task == "shl");
  else if (task == "cmp" || task == "eq_mask" || task == "lt_mask" || task == "is_zero_mask" ||
           task == "bit_lengths")
    check_order(kernel, p);
  else if (task == "count_ones" || task == "trailing_zeros")
    check_lengths(kernel, p);
  else if (task == "bit_mask")
    check_bit_mask(kernel, p);
  else if (task == "bitwise")
    check_bitwise(kernel, p);
  else if (task == "shl_rows" || task == "shr_rows")
    check_shift_rows(kernel, p, task == "shl_rows");
  else if (task == "gather")
    check_gather(kernel, p);
  else if (task == "lookup")
    check_lookup(kernel, p);
  else if (task == "select")
    check_select(kernel, p);
  else if (task == "resize")
    check_resize(kernel, p);
  else if (starts_with(task, "gcd") || starts_with(task, "inverse_mod") || task == "jacobi")
    check_euclid(kernel, p);
  else if (task == "half_gcd")
    check_half_gcd(kernel, p);
  else if (task == "rational")
    check_rational(kernel, p);
  else if (task == "isqrt")
    check_root(kernel, p);
  else if (starts_with(task, "root_"))
    check_root_level(kernel, p);
  else if (task == "check_equation")
    check_equation(kernel, p);
  else if (task == "check_div_rem_by")
    check_equation_by(kernel, rows);
  else if (task == "check_equal")
    check_equal(kernel, p);
  else
    fail(kernel.name, "there is no check for this operation");
}

}  // namespace

// The argument is the number of rounds, each with its own operands and schedule; 2 without
// one.
int main(int arguments, char** argument) {
  const u64 rounds = arguments > 1 ? std::strtoull(argument[1], nullptr, 10) : 2;
  size_t kernels = 0, rows_checked = 0;
  for (std::string name; std::getline(std::cin, name); ++kernels) {
    // gpuint_{task}_b{BITS}, and _q{Q}_u{digit bits} where these make a difference
    const size_t at = name.rfind("_b");
    unsigned long long bits = 0, q = 0, digit_bits = 32;
    const int parts = at == std::string::npos ? 0
                                              : std::sscanf(name.c_str() + at, "_b%llu_q%llu_u%llu",
                                                            &bits, &q, &digit_bits);
    if (!starts_with(name, "gpuint_") || (parts != 1 && parts != 3))
      fail(name, "is not the name of a kernel");
    gpuint_facts facts{};
    if (gpuint_simt_facts(name.c_str(), &facts) != GPUINT_SIMT_OK) fail(name, "was not built");
    // Blocks that are not full, and with three blocks at most a second round. Operands of more rows
    // are for the arithmetic, not for races: ThreadSanitizer, under which most of the time is that
    // of long powers and of wide rows, has them at 1024 bits and for divisions, whose operands
    // choose the way. The oracle's products of 2^18 bits take seconds, too.
    const bool has_few =
        bits >= 262144 || (UNDER_TSAN && bits > 1024 && !starts_with(name, "gpuint_div_rem"));
    const size_t operands = has_few ? 1 : 24;
    for (const size_t rows : {size_t{1}, std::max(3 * size_t{facts.rows_per_block} + 2, operands)})
      for (u64 round = 0; round < rounds; ++round) {
        const u64 seed = 7 * round;
        state = seed + bits + digit_bits;
        const std::string task = name.substr(7, at - 7);
        check({name, task, {bits, digit_bits}, seed}, rows);
        rows_checked += rows;
      }
  }
  std::printf("%zu kernels, %zu rows\n", kernels, rows_checked);
  return kernels == 0;
}
