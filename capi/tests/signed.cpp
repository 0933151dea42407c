// Signed batches with owners: each is freed once, also where a call throws.
#include <cstdio>
#include <gpuint.hpp>
#include <string>
#include <utility>
#include <vector>

using gpuint::batch, gpuint::make, gpuint::mask, gpuint::signed_batch;

// The rows as text.
static std::string rows_of(const signed_batch& numbers) {
  const auto [magnitudes, negative] = make<batch, mask>(gpuint_signed_parts, numbers);
  std::size_t rows = 0;
  gpuint::call(gpuint_signed_rows, numbers, &rows);
  std::vector<std::uint64_t> limbs(rows * 4);
  std::vector<std::uint8_t> signs(rows);
  gpuint::call(gpuint_batch_read_limbs, magnitudes, std::size_t(0), rows, limbs.data(),
               std::size_t(4));
  gpuint::call(gpuint_mask_to_bytes, negative, signs.data(), rows);
  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    text += (signs[row] != 0 ? " -" : " ") + std::to_string(limbs[4 * row]);
  }
  return text;
}

int main() {
  try {
    const auto device = make<gpuint::device>(gpuint_device_cpu);
    const std::vector<std::uint64_t> limbs = {7, 2};
    const std::vector<std::uint8_t> signs = {1, 0};
    const auto magnitudes = make<batch>(gpuint_batch_from_limbs, device, std::size_t(256),
                                        limbs.data(), std::size_t(2), std::size_t(1));
    const auto negative = make<mask>(gpuint_mask_from_bytes, device, signs.data(), std::size_t(2));

    auto x = make<signed_batch>(gpuint_signed_of_parts, magnitudes, negative);
    const auto y = make<signed_batch>(gpuint_signed_neg, x);
    const auto [difference, overflow] =
        make<signed_batch, mask>(gpuint_signed_overflowing_sub, x, y);
    std::printf("differences:%s\n", rows_of(difference).c_str());
    const auto [divisor, s, t] =
        make<batch, signed_batch, signed_batch>(gpuint_xgcd_signed, magnitudes, magnitudes);
    std::printf("cofactors:%s,%s\n", rows_of(s).c_str(), rows_of(t).c_str());
    const signed_batch moved = std::move(x);
    const auto [quotient, remainder] =
        make<signed_batch, signed_batch>(gpuint_signed_div_rem_floor, moved, difference);
    std::printf("quotients:%s, remainders:%s\n", rows_of(quotient).c_str(),
                rows_of(remainder).c_str());
    // The owner that was moved from is empty.
    make<signed_batch>(gpuint_signed_neg, x);
  } catch (const gpuint::error& error) {
    std::printf("%s\n", gpuint_status_text(error.status()));
  }
  return 0;
}
