/* Driver of FLINT: https://flintlib.org (Debian: libflint-dev).
 *
 * FLINT 3 multiplies long integers by its fft_small, where it is built for the vector instructions
 * of the CPU. FLINT 2 does not have it. */
#include <flint/flint.h>
#include <flint/fmpz.h>

#include "rows.h"

static fmpz *operands[MAX_OPERANDS], *results[MAX_RESULTS];

static void write_name(const struct job* job, char* name, size_t size) {
  (void)job;
#if FLINT_HAVE_FFT_SMALL
  const char* remark = "with fft_small";
#else
  const char* remark = "without fft_small";
#endif
  snprintf(name, size, "FLINT %s %s", FLINT_VERSION, remark);
}

static void load(const struct job* job) {
  for (int i = 0; i < job->operation.operands; ++i) {
    operands[i] = (fmpz*)allocate(job->rows * sizeof(fmpz));
    for (size_t row = 0; row < job->rows; ++row) {
      fmpz_set_ui_array(operands[i] + row, (ulong*)(job->operands[i] + row * job->limbs),
                        (slong)job->limbs);
    }
  }
  for (int i = 0; i < job->operation.results; ++i) {
    results[i] = (fmpz*)allocate(job->rows * sizeof(fmpz));
  }
}

static void store(const struct job* job, size_t rows) {
  /* A product has both halves in one integer. */
  if (!strcmp(job->operation.name, "mul_wide")) {
    for (size_t row = 0; row < rows; ++row) {
      fmpz_fdiv_q_2exp(results[1] + row, results[0] + row, job->bits);
      fmpz_fdiv_r_2exp(results[0] + row, results[0] + row, job->bits);
    }
  }
  for (int i = 0; i < job->operation.results; ++i) {
    for (size_t row = 0; row < rows; ++row) {
      fmpz_get_ui_array((ulong*)(job->results[i] + row * job->limbs), (slong)job->limbs,
                        results[i] + row);
    }
  }
}

#define OPERAND(i) (operands[i] + row)
#define RESULT(i) (results[i] + row)

static void mul_wide(const struct job* job, size_t row) {
  (void)job;
  fmpz_mul(RESULT(0), OPERAND(0), OPERAND(1));
}

static void mul_lo(const struct job* job, size_t row) {
  fmpz_mul(RESULT(0), OPERAND(0), OPERAND(1));
  fmpz_fdiv_r_2exp(RESULT(0), RESULT(0), job->bits);
}

static void div_rem(const struct job* job, size_t row) {
  (void)job;
  fmpz_tdiv_qr(RESULT(0), RESULT(1), OPERAND(0), OPERAND(1));
}

static void isqrt_rem(const struct job* job, size_t row) {
  (void)job;
  fmpz_sqrtrem(RESULT(0), RESULT(1), OPERAND(0));
}

static void gcd(const struct job* job, size_t row) {
  (void)job;
  fmpz_gcd(RESULT(0), OPERAND(0), OPERAND(1));
}

static void mul_mod(const struct job* job, size_t row) {
  (void)job;
  fmpz_mul(RESULT(0), OPERAND(0), OPERAND(1));
  fmpz_mod(RESULT(0), RESULT(0), OPERAND(2));
}

static void inverse_mod(const struct job* job, size_t row) {
  (void)job;
  if (!fmpz_invmod(RESULT(0), OPERAND(0), OPERAND(1))) fmpz_zero(RESULT(0));
}

static void pow_mod(const struct job* job, size_t row) {
  (void)job;
  fmpz_powm(RESULT(0), OPERAND(0), OPERAND(1), OPERAND(2));
}

static row_function function_of(const struct job* job) {
  static const struct {
    const char* name;
    row_function function;
  } all[] = {
      {"mul_wide", mul_wide},       {"mul_lo", mul_lo},   {"div_rem", div_rem},
      {"isqrt_rem", isqrt_rem},     {"gcd", gcd},         {"mul_mod", mul_mod},
      {"inverse_mod", inverse_mod}, {"pow_mod", pow_mod},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (!strcmp(all[i].name, job->operation.name)) return all[i].function;
  }
  return NULL;
}
