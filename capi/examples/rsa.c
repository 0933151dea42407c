/* Encrypts and decrypts numbers by the RSA function: m^e mod n, and c^d mod n. The primes are known
 * ones: a demonstration of pow_mod, not of cryptography. */
#include <gpuint.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 20, BITS = 1536, LIMBS = BITS / 64, EXPONENT_SIZE = BITS / 4 + 3 };

static void check(gpuint_status status) {
  if (status != GPUINT_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", gpuint_status_text(status), gpuint_last_error());
    exit(EXIT_FAILURE);
  }
}

/* Returns a batch of one row: 2^exponent - 1. */
static gpuint_batch* mersenne(const gpuint_device* device, size_t exponent) {
  gpuint_batch *zero = NULL, *ones = NULL, *number = NULL;
  check(gpuint_batch_zeros(device, BITS, 1, &zero));
  check(gpuint_not(zero, &ones));
  check(gpuint_low_bits(ones, exponent, &number));
  gpuint_batch_free(zero);
  gpuint_batch_free(ones);
  return number;
}

int main(void) {
  gpuint_device* device = NULL;
  check(gpuint_device_cpu(&device)); /* gpuint_device_first: the GPU, if there is one */

  /* n = p q, and d = 1 / e modulo lcm(p - 1, q - 1). */
  gpuint_batch *p = mersenne(device, 521), *q = mersenne(device, 607);
  gpuint_batch *n = NULL, *p1 = NULL, *q1 = NULL, *order = NULL, *e = NULL, *d = NULL;
  gpuint_mask *overflow = NULL, *without = NULL;
  check(gpuint_wrapping_mul(p, q, &n));
  check(gpuint_wrapping_sub_all(p, "1", &p1));
  check(gpuint_wrapping_sub_all(q, "1", &q1));
  check(gpuint_overflowing_lcm(p1, q1, &order, &overflow));
  check(gpuint_batch_splat(device, BITS, "65537", 1, &e));
  check(gpuint_inverse_mod(e, order, &d, &without));
  bool wrong = false;
  check(gpuint_mask_any(without, &wrong));
  if (wrong) return EXIT_FAILURE;

  /* The modulus is prepared once for all rows; exponents for all rows are texts. */
  char modulus[EXPONENT_SIZE] = "0x", exponent[EXPONENT_SIZE] = "0x";
  check(gpuint_batch_row(n, 0, 16, modulus + 2, sizeof modulus - 2, NULL));
  check(gpuint_batch_row(d, 0, 16, exponent + 2, sizeof exponent - 2, NULL));
  gpuint_divisor* by_n = NULL;
  check(gpuint_divisor_splat(device, BITS, modulus, &by_n));

  /* Messages: rows of 64-bit limbs, least significant first, below n. */
  static uint64_t limbs[ROWS][LIMBS];
  uint64_t state = 1;
  for (size_t row = 0; row < ROWS; ++row) {
    for (size_t limb = 0; limb < 16; ++limb) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      limbs[row][limb] = state;
    }
  }
  gpuint_batch *messages = NULL, *secrets = NULL, *decrypted = NULL;
  check(gpuint_batch_from_limbs(device, BITS, &limbs[0][0], ROWS, LIMBS, &messages));
  check(gpuint_pow_mod_all(messages, "65537", by_n, &secrets));
  check(gpuint_pow_mod_all(secrets, exponent, by_n, &decrypted));

  bool equal = false;
  check(gpuint_is_equal(messages, decrypted, &equal));
  bool same = true;
  check(gpuint_is_equal(messages, secrets, &same));
  printf("%d messages, decrypted: %s\n", ROWS, equal && !same ? "yes" : "no");

  gpuint_batch* batches[] = {p, q, n, p1, q1, order, e, d, messages, secrets, decrypted};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i)
    check(gpuint_batch_free(batches[i]));
  check(gpuint_mask_free(overflow));
  check(gpuint_mask_free(without));
  check(gpuint_divisor_free(by_n));
  check(gpuint_device_free(device));
  return equal && !same ? EXIT_SUCCESS : EXIT_FAILURE;
}
