/* Driver of GMP: https://gmplib.org (Debian: libgmp-dev).
 *
 * Rows are read and written in place. Functions on limbs (`mpn`) are used where gmp.h has them. */
#include <gmp.h>

#include "rows.h"

_Static_assert(sizeof(mp_limb_t) == 8, "rows are limbs of 64 bits");

static void write_name(const struct job* job, char* name, size_t size) {
  (void)job;
  snprintf(name, size, "GMP %s", gmp_version);
}

static void load(const struct job* job) { (void)job; }

static void store(const struct job* job, size_t rows) {
  (void)job;
  (void)rows;
}

/* Operand or result `i` of a row. */
#define OPERAND(i) ((mp_limb_t*)(job->operands[i] + row * job->limbs))
#define RESULT(i) ((mp_limb_t*)(job->results[i] + row * job->limbs))

/* Limbs of a thread, kept for its later rows. */
static mp_limb_t* scratch(size_t limbs) {
  static _Thread_local mp_limb_t* memory;
  static _Thread_local size_t length;
  if (length < limbs) {
    free(memory);
    memory = (mp_limb_t*)allocate(8 * limbs);
    length = limbs;
  }
  return memory;
}

/* Limbs without leading zeros. */
static mp_size_t used(const mp_limb_t* limbs, size_t length) {
  while (length && !limbs[length - 1]) --length;
  return (mp_size_t)length;
}

static void pad(mp_limb_t* limbs, size_t from, size_t length) {
  memset(limbs + from, 0, 8 * (length - from));
}

static void add(const struct job* job, size_t row) {
  mpn_add_n(RESULT(0), OPERAND(0), OPERAND(1), (mp_size_t)job->limbs);
}

static void sub(const struct job* job, size_t row) {
  mpn_sub_n(RESULT(0), OPERAND(0), OPERAND(1), (mp_size_t)job->limbs);
}

static void and (const struct job* job, size_t row) {
  mpn_and_n(RESULT(0), OPERAND(0), OPERAND(1), (mp_size_t)job->limbs);
}

static void mul_lo(const struct job* job, size_t row) {
  mp_limb_t* product = scratch(2 * job->limbs);
  mpn_mul_n(product, OPERAND(0), OPERAND(1), (mp_size_t)job->limbs);
  memcpy(RESULT(0), product, 8 * job->limbs);
}

static void square_lo(const struct job* job, size_t row) {
  mp_limb_t* square = scratch(2 * job->limbs);
  mpn_sqr(square, OPERAND(0), (mp_size_t)job->limbs);
  memcpy(RESULT(0), square, 8 * job->limbs);
}

static void mul_wide(const struct job* job, size_t row) {
  mp_limb_t* product = scratch(2 * job->limbs);
  mpn_mul_n(product, OPERAND(0), OPERAND(1), (mp_size_t)job->limbs);
  memcpy(RESULT(0), product, 8 * job->limbs);
  memcpy(RESULT(1), product + job->limbs, 8 * job->limbs);
}

static void div_rem(const struct job* job, size_t row) {
  const mp_limb_t *u = OPERAND(0), *v = OPERAND(1);
  mp_size_t length = (mp_size_t)job->limbs, divisor = used(v, job->limbs);
  mp_limb_t* quotient = scratch(job->limbs + 1);
  size_t limbs = (size_t)(length - divisor + 1);
  mpn_tdiv_qr(quotient, RESULT(1), 0, u, length, v, divisor);
  memcpy(RESULT(0), quotient, 8 * limbs);
  pad(RESULT(0), limbs, job->limbs);
  pad(RESULT(1), (size_t)divisor, job->limbs);
}

static void isqrt_rem(const struct job* job, size_t row) {
  mp_size_t length = used(OPERAND(0), job->limbs);
  mp_size_t remainder = length ? mpn_sqrtrem(RESULT(0), RESULT(1), OPERAND(0), length) : 0;
  pad(RESULT(0), (size_t)(length + 1) / 2, job->limbs);
  /* The function leaves other limbs there. */
  pad(RESULT(1), (size_t)remainder, job->limbs);
}

/* Integers of a thread. */
static mpz_ptr integer(int i) {
  static _Thread_local mpz_t integers[2];
  static _Thread_local int ready;
  if (!ready) {
    mpz_inits(integers[0], integers[1], NULL);
    ready = 1;
  }
  return integers[i];
}

static void put(const struct job* job, size_t row, mpz_srcptr value) {
  size_t limbs = mpz_size(value);
  memcpy(RESULT(0), mpz_limbs_read(value), 8 * limbs);
  pad(RESULT(0), limbs, job->limbs);
}

/* Declares an operand as an integer. */
#define INTEGER(name, i) \
  mpz_t name;            \
  mpz_roinit_n(name, OPERAND(i), (mp_size_t)job->limbs)

static void gcd(const struct job* job, size_t row) {
  INTEGER(a, 0);
  INTEGER(b, 1);
  mpz_gcd(integer(0), a, b);
  put(job, row, integer(0));
}

static void mul_mod(const struct job* job, size_t row) {
  INTEGER(a, 0);
  INTEGER(b, 1);
  INTEGER(n, 2);
  mpz_mul(integer(0), a, b);
  mpz_tdiv_r(integer(1), integer(0), n);
  put(job, row, integer(1));
}

static void inverse_mod(const struct job* job, size_t row) {
  INTEGER(a, 0);
  INTEGER(n, 1);
  if (!mpz_invert(integer(0), a, n)) mpz_set_ui(integer(0), 0);
  put(job, row, integer(0));
}

static void inverse_mod_pow2(const struct job* job, size_t row) {
  INTEGER(a, 0);
  mpz_set_ui(integer(1), 0);
  mpz_setbit(integer(1), job->bits);
  mpz_invert(integer(0), a, integer(1));
  put(job, row, integer(0));
}

static void pow_mod(const struct job* job, size_t row) {
  INTEGER(base, 0);
  INTEGER(exponent, 1);
  INTEGER(n, 2);
  mpz_powm(integer(0), base, exponent, n);
  put(job, row, integer(0));
}

static row_function function_of(const struct job* job) {
  static const struct {
    const char* name;
    row_function function;
  } all[] = {
      {"add", add},
      {"sub", sub},
      {"and", and},
      {"mul_lo", mul_lo},
      {"square_lo", square_lo},
      {"mul_wide", mul_wide},
      {"div_rem", div_rem},
      {"isqrt_rem", isqrt_rem},
      {"gcd", gcd},
      {"mul_mod", mul_mod},
      {"inverse_mod", inverse_mod},
      {"inverse_mod_pow2", inverse_mod_pow2},
      {"pow_mod", pow_mod},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    if (!strcmp(all[i].name, job->operation.name)) return all[i].function;
  }
  return NULL;
}
