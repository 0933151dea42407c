// Finds probable primes by Fermat's test, with owners and exceptions instead of calls of `free`.
#include <cstdio>
#include <gpuint.hpp>
#include <vector>

int main() {
  try {
    // gpuint_device_first: the GPU, if there is one
    const auto device = gpuint::make<gpuint::device>(gpuint_device_cpu);

    // Odd candidates from 2^127 - 31 on, in rows of two limbs.
    constexpr std::size_t rows = 32, limbs = 2;
    std::vector<std::uint64_t> numbers(rows * limbs);
    for (std::size_t row = 0; row < rows; ++row) {
      const std::uint64_t low = UINT64_MAX - 30 + 2 * row;
      numbers[row * limbs] = low;
      numbers[row * limbs + 1] = INT64_MAX + std::uint64_t(low < 2 * rows);
    }
    using gpuint::batch, gpuint::make;
    const auto n = make<batch>(gpuint_batch_from_limbs, device, 256, numbers.data(), rows, limbs);

    // 3^(n - 1) = 1 modulo primes.
    const auto modulus = make<gpuint::modulus>(gpuint_modulus_of_rows, n);
    const auto threes = make<gpuint::residues>(gpuint_residues_splat, "3", rows, modulus);
    const auto ones = make<gpuint::residues>(gpuint_residues_splat, "1", rows, modulus);
    const auto exponents = make<batch>(gpuint_wrapping_sub_all, n, "1");
    const auto powers = make<gpuint::residues>(gpuint_residues_pow, threes, exponents);
    const auto passed = make<gpuint::mask>(gpuint_residues_eq_mask, powers, ones);
    const auto primes = make<batch>(gpuint_filter, n, passed);

    std::size_t count = 0;
    gpuint::call(gpuint_batch_rows, primes, &count);
    for (std::size_t row = 0; row < count; ++row) {
      std::printf("%s\n", gpuint::text(gpuint_batch_row, primes, row, 10).c_str());
    }
    // Owners of several results come as a tuple.
    const auto [low, high] = make<batch, batch>(gpuint_split, make<batch>(gpuint_join, n, n));
    bool equal = false;
    gpuint::call(gpuint_is_equal, low, high, &equal);
    return count > 0 && equal ? 0 : 1;
  } catch (const gpuint::error& error) {
    std::fprintf(stderr, "%s (row %lld)\n", error.what(), static_cast<long long>(error.row()));
    return 1;
  }
}
