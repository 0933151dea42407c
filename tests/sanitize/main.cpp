// Runs kernels over the SIMT shim and checks every row by an identity, for builds with ThreadSanitizer, AddressSanitizer and
// UBSan: every operand is a heap block of exactly its size, so that whatever a kernel reads or writes beyond is reported.
//
// Kernel names come from standard input, one a line; a name without a check is an error. tests/sanitize/run builds this
// together with the kernels and the shim. The oracle is schoolbook arithmetic on 32-bit words: slow and plain.
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
  for (size_t i = 0; i < c.size(); ++i, carry >>= 32) c[i] = static_cast<u32>(carry += u64{word(a, i)} + word(b, i));
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

// Digits that carry, or do not, or just not: uniform, long runs of equal bits, powers of two and their neighbours, all ones,
// sparse, digits at the ends of their range.
Number operand(u64 most_bits, u64 digit_bits) {
  const u64 digits = (most_bits + digit_bits - 1) / digit_bits;
  const u64 lengths[] = {most_bits, most_bits, 1 + below(most_bits), std::min(most_bits, digit_bits * (1 + below(digits)))};
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
      if (below(2) != 0) a = sum(a, {static_cast<u32>(below(3))});
      else a = difference(a, {1});
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
  size_t words() const { return bits / 32; }
};

// Dividend and divisor: independent; the dividend on, just below and just above a multiple of the divisor; and families on
// which truncated reciprocals are worst.
std::pair<Number, Number> division(const Shape& shape, u64 row) {
  const u64 digits = shape.bits / shape.digit_bits;
  const Number top = difference(power_of_two(shape.bits), {1});
  const Number base_power = power_of_two(shape.digit_bits * below(digits));
  Number u = operand(shape.bits, shape.digit_bits);
  Number v = operand(shape.bits, shape.digit_bits);
  switch (row % 10) {
    case 0:
      break;
    case 1:  // u = q v + (0, 1 or v - 1)
    case 2: {
      if (is_zero(v)) v = {1};
      const u64 room = shape.bits - bit_length(v);
      const Number q = room == 0 ? Number{0} : operand(room, shape.digit_bits);
      const u64 kind = below(3);
      u = sum(product(q, v), kind == 0 ? Number{0} : kind == 1 ? Number{1} : difference(v, {1}));
      break;
    }
    case 3:  // v = 2 B^k - 1, u = v B / 2
      v = difference(sum(base_power, base_power), {1});
      u = product(v, power_of_two(shape.digit_bits - 1));
      break;
    case 4:  // around a power of the base
      v = below(2) != 0 ? sum(base_power, {static_cast<u32>(below(2))}) : difference(base_power, {1});
      u = top;
      break;
    case 5:
      v = {1 + static_cast<u32>(below(3))};
      break;
    case 6:
      v = below(2) != 0 ? top : sum(u, {1});
      break;
    case 7:
      v = {0};
      break;
    case 8:  // v = B^k B / 2 + B^j - 1, u = 3 v - 1
      v = difference(sum(product(base_power, power_of_two(shape.digit_bits - 1)), power_of_two(shape.digit_bits * below(digits))), {1});
      u = product(v, {3});
      u = is_zero(v) ? u : difference(u, {1});
      break;
    default:
      u = top;
  }
  return {low(u, shape.bits), low(v, shape.bits)};
}

// --- Launches

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

// Device memory of so many bytes, in a block of exactly that size.
class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(static_cast<unsigned char*>(::operator new(bytes))) {
    std::memset(bytes_.get(), 0xa5, bytes);
  }
  Memory(const Column& rows, size_t words) : Memory(rows.size() * words * 4) {
    for (size_t row = 0; row < rows.size(); ++row) {
      Number whole = rows[row];
      whole.resize(words);
      std::memcpy(bytes_.get() + row * words * 4, whole.data(), words * 4);
    }
  }
  void* get() { return bytes_.get(); }
  Number row(size_t row, size_t words) const {
    Number number(words);
    std::memcpy(number.data(), bytes_.get() + row * words * 4, words * 4);
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

// What a launch leaves behind.
struct Result {
  Memory out[2];
  Memory mask;
  u64 status;
  bool flag(size_t row) const { return mask.at<u32>(row / 32) >> row % 32 & 1; }
};

Result launch(const Kernel& kernel, const std::vector<Column>& ins, size_t out_bytes0, size_t out_bytes1, i64 scalar) {
  const u64 rows = ins[0].size();
  const size_t mask_bytes = (rows + 31) / 32 * 4;
  Result result{{Memory(rows * out_bytes0), Memory(rows * out_bytes1)}, Memory(mask_bytes), ~0ull};
  std::memset(result.mask.get(), 0, mask_bytes);
  std::vector<Memory> inputs;
  for (const auto& in : ins) inputs.emplace_back(in, kernel.shape.words());
  gpuint::Operands operands{};
  for (size_t i = 0; i < inputs.size(); ++i) operands.in[i] = inputs[i].get();
  if (out_bytes0 != 0) operands.out[0] = result.out[0].get();
  if (out_bytes1 != 0) operands.out[1] = result.out[1].get();
  operands.rows = rows;
  operands.mask = static_cast<u32*>(result.mask.get());
  operands.status = &result.status;
  operands.scalar = scalar;
  const gpuint_simt_options options{kernel.seed, 3, 1};
  char message[2000] = "";
  if (gpuint_simt_launch(kernel.name.c_str(), &operands, &options, nullptr, message, sizeof message) != GPUINT_SIMT_OK)
    fail(kernel.name, message);
  return result;
}

// --- Checks

struct Pairs {
  Column a, b;
};

Pairs pairs(const Shape& shape, size_t rows) {
  Pairs pairs;
  for (size_t row = 0; row < rows; ++row) {
    pairs.a.push_back(operand(shape.bits, shape.digit_bits));
    pairs.b.push_back(row % 5 == 3 ? pairs.a.back() : row % 7 == 6 ? Number{0} : operand(shape.bits, shape.digit_bits));
  }
  return pairs;
}

void expect(const Kernel& kernel, bool right, const char* what, const Number& a, const Number& b, const Number& got) {
  if (!right) fail(kernel.name, std::string(what) + " is wrong\n  a " + hexadecimal(a) + "\n  b " + hexadecimal(b) + "\n  got " + hexadecimal(got));
}

void check_sum(const Kernel& kernel, const Pairs& p, bool subtract) {
  const Shape& shape = kernel.shape;
  const Result result = launch(kernel, {p.a, p.b}, shape.bits / 8, 0, 0);
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number got = result.out[0].row(row, shape.words());
    // a - b = c with borrow where c + b = a + borrow 2^BITS.
    const Number& start = subtract ? got : p.a[row];
    const Number total = sum(start, p.b[row]);
    const bool carry = bit_length(total) > shape.bits;
    const Number& end = subtract ? p.a[row] : got;
    expect(kernel, compare(low(total, shape.bits), end) == 0, "the result", p.a[row], p.b[row], got);
    expect(kernel, result.flag(row) == carry, "the carry", p.a[row], p.b[row], got);
  }
}

void check_product(const Kernel& kernel, const Pairs& p, bool square, bool wide, bool side_by_side) {
  const Shape& shape = kernel.shape;
  const size_t row_bytes = shape.bits / 8;
  const Result result = launch(kernel, square ? std::vector<Column>{p.a} : std::vector<Column>{p.a, p.b}, side_by_side ? 2 * row_bytes : row_bytes,
                               wide && !side_by_side ? row_bytes : 0, side_by_side);
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number& b = square ? p.a[row] : p.b[row];
    const Number right = product(p.a[row], b);
    const Number got = result.out[0].row(row, side_by_side ? 2 * shape.words() : shape.words());
    expect(kernel, compare(got, low(right, side_by_side ? 2 * shape.bits : shape.bits)) == 0, "the product", p.a[row], b, got);
    if (wide && !side_by_side) {
      const Number high = result.out[1].row(row, shape.words());
      expect(kernel, compare(high, bits_of(right, shape.bits, shape.bits)) == 0, "the high half", p.a[row], b, high);
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
  const Result both = launch(kernel, {p.a, p.b}, row_bytes, row_bytes, 0);
  const Result quotients = launch(kernel, {p.a, p.b}, row_bytes, 0, 0);
  const Result remainders = launch(kernel, {p.a, p.b}, 0, row_bytes, 0);
  const Number top = difference(power_of_two(shape.bits), {1});
  for (size_t row = 0; row < rows; ++row) {
    const Number &u = p.a[row], &v = p.b[row];
    const Number q = both.out[0].row(row, shape.words()), r = both.out[1].row(row, shape.words());
    if (is_zero(v)) {
      expect(kernel, compare(q, top) == 0 && compare(r, u) == 0, "the row with v = 0", u, v, q);
    } else {
      expect(kernel, compare(sum(product(q, v), r), u) == 0, "the quotient", u, v, q);
      expect(kernel, compare(r, v) < 0, "the remainder", u, v, r);
    }
    expect(kernel, both.flag(row) == is_zero(v), "the mask", u, v, q);
    expect(kernel, compare(quotients.out[0].row(row, shape.words()), q) == 0, "the quotient alone", u, v, q);
    expect(kernel, compare(remainders.out[1].row(row, shape.words()), r) == 0, "the remainder alone", u, v, r);
  }
  if (both.status != lowest) fail(kernel.name, "the status is wrong");
}

void check_inverse(const Kernel& kernel, const Pairs& p) {
  const Shape& shape = kernel.shape;
  const u64 digits = shape.bits / shape.digit_bits;
  for (const u64 h : {u64{1}, digits / 2, digits - 1, digits, digits + 1}) {
    const u64 exponent = h * shape.digit_bits;
    const Number power = power_of_two(exponent);
    const Result result = launch(kernel, {p.a}, shape.bits / 8, 0, static_cast<i64>(exponent));
    u64 lowest = ~0ull;
    for (size_t row = 0; row < p.a.size(); ++row) {
      const Number& v = p.a[row];
      // 2^e / v < 2^BITS exactly where 2^e < v 2^BITS.
      if (compare(power, product(v, power_of_two(shape.bits))) >= 0) {
        lowest = std::min<u64>(lowest, row);
        continue;
      }
      const Number w = result.out[0].row(row, shape.words());
      const Number below = product(w, v);
      expect(kernel, compare(below, power) <= 0 && compare(power, sum(below, v)) < 0, "the inverse", v, power, w);
    }
    if (result.status != lowest) fail(kernel.name, "the status is wrong");
  }
}

void check_shift(const Kernel& kernel, const Pairs& p, bool left) {
  const Shape& shape = kernel.shape;
  for (const u64 distance : {u64{0}, u64{1}, shape.digit_bits, shape.bits / 2 + 3, shape.bits - 1, shape.bits, shape.bits + 5}) {
    const Result result = launch(kernel, {p.a}, shape.bits / 8, 0, static_cast<i64>(distance));
    for (size_t row = 0; row < p.a.size(); ++row) {
      const Number got = result.out[0].row(row, shape.words());
      const Number right = left ? low(product(p.a[row], power_of_two(distance)), shape.bits) : bits_of(p.a[row], distance, shape.bits);
      expect(kernel, compare(got, right) == 0, "the shifted number", p.a[row], {static_cast<u32>(distance)}, got);
    }
  }
}

void check_order(const Kernel& kernel, const Pairs& p) {
  const std::string& task = kernel.task;
  const bool one_operand = task == "is_zero" || task == "bit_len";
  // Zeros among the operands of these, too.
  const Result result = launch(kernel, one_operand ? std::vector<Column>{p.b} : std::vector<Column>{p.a, p.b}, task == "cmp" ? 1 : task == "bit_len" ? 4 : 0, 0, 0);
  for (size_t row = 0; row < p.a.size(); ++row) {
    const Number &a = p.a[row], &b = p.b[row];
    const int order = compare(a, b);
    const bool right = task == "cmp"       ? result.out[0].at<i8>(row) == order
                       : task == "bit_len" ? result.out[0].at<u32>(row) == bit_length(b)
                       : task == "is_zero" ? result.flag(row) == is_zero(b)
                       : task == "eq_mask" ? result.flag(row) == (order == 0)
                                           : result.flag(row) == (order < 0);
    expect(kernel, right, "the answer", a, b, {});
  }
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

void check(const Kernel& kernel, size_t rows) {
  const std::string& task = kernel.task;
  const Pairs p = pairs(kernel.shape, rows);
  if (task == "add" || task == "sub") check_sum(kernel, p, task == "sub");
  else if (starts_with(task, "mul_lo_")) check_product(kernel, p, false, false, false);
  else if (starts_with(task, "sqr_lo_")) check_product(kernel, p, true, false, false);
  else if (starts_with(task, "mul_wide_")) check_product(kernel, p, false, true, false), check_product(kernel, p, false, true, true);
  else if (starts_with(task, "div_rem_")) check_division(kernel, rows);
  else if (starts_with(task, "shinv_")) check_inverse(kernel, p);
  else if (task == "shl" || task == "shr") check_shift(kernel, p, task == "shl");
  else if (task == "cmp" || task == "eq_mask" || task == "lt_mask" || task == "is_zero" || task == "bit_len") check_order(kernel, p);
  else fail(kernel.name, "there is no check for this operation");
}

}  // namespace

int main() {
  size_t kernels = 0, rows_checked = 0;
  for (std::string name; std::getline(std::cin, name); ++kernels) {
    // gpuint_{task}_b{BITS}_q{Q}_u{digit bits}
    const size_t at = name.rfind("_b");
    unsigned long long bits = 0, q = 0, digit_bits = 0;
    if (!starts_with(name, "gpuint_") || std::sscanf(name.c_str() + at, "_b%llu_q%llu_u%llu", &bits, &q, &digit_bits) != 3)
      fail(name, "is not the name of a kernel");
    gpuint_facts facts{};
    if (gpuint_simt_facts(name.c_str(), &facts) != GPUINT_SIMT_OK) fail(name, "was not built");
    // Blocks that are not full, and with three blocks at most a second round.
    for (const size_t rows : {size_t{1}, 3 * size_t{facts.rows_per_block} + 2})
      for (const u64 seed : {0, 7}) {
        state = seed + bits + digit_bits;
        const std::string task = name.substr(7, at - 7);
        check({name, task, {bits, digit_bits}, seed}, rows);
        rows_checked += rows;
      }
  }
  std::printf("%zu kernels, %zu rows\n", kernels, rows_checked);
  return kernels == 0;
}
