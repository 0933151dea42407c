/* Driver of OpenSSL 3: https://www.openssl.org (Debian: libssl-dev).
 *
 * BN_mod_exp_mont_consttime_x2 computes two powers at once by AVX-512 IFMA, at 1024, 1536 and 2048
 * bits. Elsewhere it would be slower than BN_mod_exp_mont, whose time depends on the values. */
#include <openssl/bn.h>
#include <openssl/crypto.h>

#include "rows.h"

static BIGNUM **operands[MAX_OPERANDS], **results;

static int computes_pairs(const struct job* job) {
  int has_width = job->bits == 1024 || job->bits == 1536 || job->bits == 2048;
#if defined(__x86_64__)
  return has_width && __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq");
#else
  (void)has_width;
  return 0;
#endif
}

static void write_name(const struct job* job, char* name, size_t size) {
  const char* remark = computes_pairs(job) ? ", AVX-512 IFMA" : "";
  snprintf(name, size, "OpenSSL %s%s", OpenSSL_version(OPENSSL_VERSION_STRING), remark);
}

static void load(const struct job* job) {
  for (int i = 0; i < job->operation.operands; ++i) {
    operands[i] = (BIGNUM**)allocate(job->rows * sizeof(BIGNUM*));
    for (size_t row = 0; row < job->rows; ++row) {
      const unsigned char* limbs = (const unsigned char*)(job->operands[i] + row * job->limbs);
      operands[i][row] = BN_lebin2bn(limbs, (int)(8 * job->limbs), NULL);
      if (!operands[i][row]) fail("out of memory");
    }
  }
  results = (BIGNUM**)allocate(job->rows * sizeof(BIGNUM*));
  for (size_t row = 0; row < job->rows; ++row) {
    results[row] = BN_new();
    if (!results[row]) fail("out of memory");
  }
}

static void store(const struct job* job, size_t rows) {
  for (size_t row = 0; row < rows; ++row) {
    unsigned char* limbs = (unsigned char*)(job->results[0] + row * job->limbs);
    if (BN_bn2lebinpad(results[row], limbs, (int)(8 * job->limbs)) < 0) {
      fail("a result is too long");
    }
  }
}

static BN_CTX* context(void) {
  static _Thread_local BN_CTX* context;
  if (!context) context = BN_CTX_new();
  if (!context) fail("out of memory");
  return context;
}

static void power(size_t row) {
  if (!BN_mod_exp_mont(results[row], operands[0][row], operands[1][row], operands[2][row],
                       context(), NULL)) {
    fail("BN_mod_exp_mont");
  }
}

static void pow_mod(const struct job* job, size_t row) {
  (void)job;
  power(row);
}

/* The row and the next one, if the row is even. */
static void pow_mod_pairs(const struct job* job, size_t row) {
  if (row % 2) return;
  if (row + 1 == job->rows) {
    power(row);
    return;
  }
  if (!BN_mod_exp_mont_consttime_x2(results[row], operands[0][row], operands[1][row],
                                    operands[2][row], NULL, results[row + 1], operands[0][row + 1],
                                    operands[1][row + 1], operands[2][row + 1], NULL, context())) {
    fail("BN_mod_exp_mont_consttime_x2");
  }
}

static row_function function_of(const struct job* job) {
  if (strcmp(job->operation.name, "pow_mod")) return NULL;
  return computes_pairs(job) ? pow_mod_pairs : pow_mod;
}
