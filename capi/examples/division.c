/* Divides numbers, and reads quotients, remainders and an error. */
#include <gpuint.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 3, LIMBS = 4 };

static void check(gpuint_status status) {
  if (status != GPUINT_STATUS_OK) {
    fprintf(stderr, "%s: %s\n", gpuint_status_text(status), gpuint_last_error());
    exit(EXIT_FAILURE);
  }
}

int main(void) {
  gpuint_device* device = NULL;
  check(gpuint_device_cpu(&device)); /* gpuint_device_first: the GPU, if there is one */

  const uint64_t dividends[ROWS][LIMBS] = {{100, 0, 0, 0}, {0, 0, 0, 1}, {5, 7, 0, 0}};
  const uint64_t divisors[ROWS][LIMBS] = {{7, 0, 0, 0}, {3, 0, 0, 0}, {0, 1, 0, 0}};
  gpuint_batch *u = NULL, *v = NULL, *q = NULL, *r = NULL;
  check(gpuint_batch_from_limbs(device, 256, &dividends[0][0], ROWS, LIMBS, &u));
  check(gpuint_batch_from_limbs(device, 256, &divisors[0][0], ROWS, LIMBS, &v));
  check(gpuint_div_rem(u, v, &q, &r));
  for (size_t row = 0; row < ROWS; ++row) {
    char quotient[80], remainder[80]; /* 256 bits have at most 78 decimal digits */
    check(gpuint_batch_row(q, row, 10, quotient, sizeof quotient, NULL));
    check(gpuint_batch_row(r, row, 10, remainder, sizeof remainder, NULL));
    printf("%s remainder %s\n", quotient, remainder);
  }

  /* The rows of zeros have no quotient: the error has the lowest row. */
  gpuint_batch *zero = NULL, *none = NULL;
  check(gpuint_wrapping_sub(v, v, &zero));
  const gpuint_status status = gpuint_div(u, zero, &none);
  printf("status %d: %s (row %" PRId64 ")\n", (int)status, gpuint_last_error(),
         gpuint_last_error_row());

  gpuint_batch* batches[] = {u, v, q, r, zero};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i)
    check(gpuint_batch_free(batches[i]));
  check(gpuint_device_free(device));
  return status == GPUINT_STATUS_DIVISION_BY_ZERO ? EXIT_SUCCESS : EXIT_FAILURE;
}
