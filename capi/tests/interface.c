/* The rules of gpuint.h: errors of pointers, handles, lengths and texts, rows of any number of
 * limbs, and handles that several threads use and free. Prints the checks that fail. */
#include <gpuint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      ++failures;                                                                         \
      printf("line %d: %s; last error: %s\n", __LINE__, #condition, gpuint_last_error()); \
    }                                                                                     \
  } while (0)
#define OK(call) CHECK((call) == GPUINT_STATUS_OK)
#define FAILS(call, status, text)                  \
  do {                                             \
    CHECK((call) == (status));                     \
    CHECK(strcmp(gpuint_last_error(), text) == 0); \
  } while (0)

enum { BITS = 256, LIMBS = 4, ROWS = 100 };

static gpuint_device* device;

static gpuint_batch* batch_of(const uint64_t* limbs, size_t rows) {
  gpuint_batch* batch = NULL;
  OK(gpuint_batch_from_limbs(device, BITS, limbs, rows, LIMBS, &batch));
  return batch;
}

static void check_statuses(void) {
  CHECK(strcmp(gpuint_status_text(GPUINT_STATUS_OK), "success") == 0);
  for (int status = 0; status <= GPUINT_STATUS_INTERRUPTED; ++status) {
    CHECK(strcmp(gpuint_status_text(status), "unknown status") != 0);
  }
  CHECK(strcmp(gpuint_status_text(GPUINT_STATUS_FAULTY_DEVICE + 1), "unknown status") == 0);
  CHECK(strcmp(gpuint_status_text(-1), "unknown status") == 0);
  CHECK(strcmp(gpuint_last_error(), "") == 0);
  CHECK(gpuint_last_error_row() == -1);
  CHECK(strchr(gpuint_version(), '.') != NULL);
}

static void check_devices(void) {
  char text[8];
  size_t length = 0;
  OK(gpuint_device_kind(device, text, sizeof text, &length));
  CHECK(strcmp(text, "cpu") == 0 && length == 3);
  FAILS(gpuint_device_kind(device, text, 3, &length), GPUINT_STATUS_BUFFER_TOO_SMALL,
        "the text needs 4 bytes with its NUL, but the memory has 3");
  CHECK(gpuint_device_name(device, NULL, 0, &length) == GPUINT_STATUS_BUFFER_TOO_SMALL);
  CHECK(length >= 3);
  FAILS(gpuint_device_kind(device, NULL, 4, &length), GPUINT_STATUS_INVALID_POINTER,
        "argument text is NULL");
  FAILS(gpuint_device_cpu(NULL), GPUINT_STATUS_INVALID_POINTER, "argument out is NULL");
  void* stream = NULL;
  CHECK(gpuint_device_stream(device, &stream) == GPUINT_STATUS_NO_DEVICE);
  CHECK(gpuint_device_wait_for_stream(device, NULL) == GPUINT_STATUS_NO_DEVICE);
  uint64_t address = 0;
  uint64_t limbs[LIMBS] = {1};
  gpuint_batch *one = batch_of(limbs, 1), *foreign = NULL;
  CHECK(gpuint_batch_device_ptr(one, &address) == GPUINT_STATUS_NO_DEVICE);
  CHECK(gpuint_batch_from_device_ptr(device, BITS, 1, 256, NULL, NULL, &foreign) ==
        GPUINT_STATUS_NO_DEVICE);
  CHECK(gpuint_batch_from_device_ptr(device, BITS - 1, 1, 256, NULL, NULL, &foreign) ==
        GPUINT_STATUS_WIDTH_MISSING);
  CHECK(foreign == NULL);
  gpuint_device* queue = NULL;
  gpuint_batch *copy = NULL, *sum = NULL;
  OK(gpuint_device_queue(device, &queue));
  OK(gpuint_batch_to(one, queue, &copy));
  OK(gpuint_wrapping_add(one, copy, &sum));
  OK(gpuint_device_synchronize(queue));
  OK(gpuint_device_trim(queue));
  OK(gpuint_device_free(queue));
  OK(gpuint_batch_free(sum));
  OK(gpuint_batch_free(copy));
  OK(gpuint_batch_free(one));
  size_t width = 0;
  OK(gpuint_width(0, &width));
  CHECK(width == BITS);
  OK(gpuint_width(BITS + 1, &width));
  CHECK(width == 512);
  CHECK(gpuint_width(SIZE_MAX, &width) == GPUINT_STATUS_WIDTH_MISSING);
}

// Widths that are not built: results keep them.
static void check_jit(void) {
  gpuint_device* jit = NULL;
  gpuint_batch *a = NULL, *square = NULL, *wide = NULL;
  size_t bits = 0;
  char text[32];
  OK(gpuint_device_with_jit(device, &jit));
  OK(gpuint_batch_splat(jit, 1100, "0x100000000000", 3, &a));
  OK(gpuint_batch_bits(a, &bits));
  CHECK(bits == 1280);
  OK(gpuint_wrapping_square(a, &square));
  OK(gpuint_batch_row(square, 2, 16, text, sizeof text, NULL));
  CHECK(strcmp(text, "10000000000000000000000") == 0);
  OK(gpuint_resized(square, 1281, &wide));
  OK(gpuint_batch_bits(wide, &bits));
  CHECK(bits == 1536);
  CHECK(gpuint_batch_zeros(jit, SIZE_MAX, 1, &a) == GPUINT_STATUS_WIDTH_MISSING);
  OK(gpuint_batch_free(wide));
  OK(gpuint_batch_free(square));
  OK(gpuint_batch_free(a));
  OK(gpuint_device_free(jit));
}

// Handles whose results are checked: the results of sound devices stay.
static void check_verified(void) {
  const uint64_t limbs[2 * LIMBS] = {41, 0, 0, 0, 35};
  gpuint_device* verified = NULL;
  gpuint_batch *a = batch_of(limbs, 2), *b = NULL, *quotient = NULL, *rest = NULL;
  char text[32];
  OK(gpuint_device_verified(device, &verified));
  OK(gpuint_batch_to(a, verified, &b));
  OK(gpuint_div_rem(b, b, &quotient, &rest));
  OK(gpuint_batch_row(quotient, 1, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "1") == 0);
  CHECK(strcmp(gpuint_status_text(GPUINT_STATUS_FAULTY_DEVICE),
               "the device computes wrong results") == 0);
  OK(gpuint_batch_free(rest));
  OK(gpuint_batch_free(quotient));
  OK(gpuint_batch_free(b));
  OK(gpuint_batch_free(a));
  OK(gpuint_device_free(verified));
}

static void check_handles(void) {
  const uint64_t limbs[2 * LIMBS] = {6, 0, 0, 0, 35};
  gpuint_batch *a = batch_of(limbs, 2), *out = NULL;
  FAILS(gpuint_wrapping_add(NULL, a, &out), GPUINT_STATUS_INVALID_POINTER, "argument a is NULL");
  FAILS(gpuint_wrapping_add(a, NULL, &out), GPUINT_STATUS_INVALID_POINTER, "argument b is NULL");
  FAILS(gpuint_wrapping_add(a, a, NULL), GPUINT_STATUS_INVALID_POINTER, "argument sum is NULL");
  FAILS(gpuint_wrapping_add(a, (const gpuint_batch*)(const void*)device, &out),
        GPUINT_STATUS_INVALID_HANDLE, "argument b is not a live handle of kind gpuint_batch");
  FAILS(gpuint_wrapping_add((const gpuint_batch*)(const void*)limbs, a, &out),
        GPUINT_STATUS_INVALID_HANDLE, "argument a is not a live handle of kind gpuint_batch");
  FAILS(gpuint_mask_free((gpuint_mask*)(void*)a), GPUINT_STATUS_INVALID_HANDLE,
        "argument mask is not a live handle of kind gpuint_mask");
  char misaligned[2 * sizeof out];
  gpuint_batch** odd = (gpuint_batch**)(void*)(misaligned + 1);
  if ((uintptr_t)odd % sizeof out == 0) ++odd;
  CHECK(gpuint_wrapping_add(a, a, (gpuint_batch**)((uintptr_t)odd | 1)) ==
        GPUINT_STATUS_INVALID_POINTER);
  CHECK(out == NULL);
  OK(gpuint_batch_free(NULL));
  gpuint_batch* stale = a;
  OK(gpuint_wrapping_square(a, &out));
  OK(gpuint_batch_free(a));
  CHECK(gpuint_batch_free(stale) == GPUINT_STATUS_INVALID_HANDLE);
  CHECK(gpuint_wrapping_square(stale, &out) == GPUINT_STATUS_INVALID_HANDLE);
  CHECK(gpuint_last_error_row() == -1);
  /* An operand may be overwritten by the result: the old handle is the caller's. */
  gpuint_batch* squares = out;
  OK(gpuint_wrapping_square(out, &out));
  CHECK(out != squares);
  char text[80];
  OK(gpuint_batch_row(out, 1, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "1500625") == 0);
  OK(gpuint_batch_free(squares));
  OK(gpuint_batch_free(out));
}

static void check_limbs(void) {
  /* Rows of 2 limbs in a width of 4, and back to rows of 2, 4 and 6. */
  const uint64_t given[] = {1, 2, 3, 4, 5, 6};
  gpuint_batch* batch = NULL;
  OK(gpuint_batch_from_limbs(device, 130, given, 3, 2, &batch));
  size_t value = 0;
  OK(gpuint_batch_rows(batch, &value));
  CHECK(value == 3);
  OK(gpuint_batch_bits(batch, &value));
  CHECK(value == BITS);
  for (size_t limbs = 2; limbs <= 6; limbs += 2) {
    uint64_t read[18];
    memset(read, 255, sizeof read);
    OK(gpuint_batch_read_limbs(batch, 0, 3, read, limbs));
    for (size_t i = 0; i < 3 * limbs; ++i) {
      CHECK(read[i] == (i % limbs < 2 ? given[i / limbs * 2 + i % limbs] : 0));
    }
  }
  uint64_t one[1];
  FAILS(gpuint_batch_read_limbs(batch, 1, 1, one, 1), GPUINT_STATUS_TOO_WIDE,
        "row 1 needs 67 bits, but rows are 64 bits wide");
  CHECK(gpuint_last_error_row() == 1);
  uint64_t four[4];
  CHECK(gpuint_batch_read_limbs(batch, 3, 1, four, 4) == GPUINT_STATUS_NO_SUCH_ROW);
  CHECK(gpuint_batch_read_limbs(batch, SIZE_MAX, 1, one, 1) == GPUINT_STATUS_NO_SUCH_ROW);
  CHECK(gpuint_batch_read_limbs(batch, 0, SIZE_MAX, one, 2) == GPUINT_STATUS_OUT_OF_MEMORY);
  CHECK(gpuint_batch_read_limbs(batch, 0, 1, NULL, 4) == GPUINT_STATUS_INVALID_POINTER);
  OK(gpuint_batch_read_limbs(batch, 3, 0, NULL, 4));
  FAILS(gpuint_batch_read_limbs(batch, 0, 1, (uint64_t*)((uintptr_t)four | 1), 4),
        GPUINT_STATUS_INVALID_POINTER, "argument limbs is not a multiple of 8");
  OK(gpuint_batch_free(batch));

  const uint64_t wide[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  FAILS(gpuint_batch_from_limbs(device, BITS, wide, 2, 5, &batch), GPUINT_STATUS_TOO_WIDE,
        "row 1 needs 257 bits, but rows are 256 bits wide");
  CHECK(gpuint_last_error_row() == 1);
  CHECK(gpuint_batch_from_limbs(device, BITS, wide, SIZE_MAX / 2, 4, &batch) ==
        GPUINT_STATUS_OUT_OF_MEMORY);
  CHECK(gpuint_batch_zeros(device, BITS, SIZE_MAX / 2, &batch) == GPUINT_STATUS_OUT_OF_MEMORY);
  OK(gpuint_batch_from_limbs(device, BITS, NULL, 0, LIMBS, &batch));
  OK(gpuint_batch_rows(batch, &value));
  CHECK(value == 0);
  OK(gpuint_batch_free(batch));
  OK(gpuint_batch_from_limbs(device, BITS, NULL, 0, SIZE_MAX, &batch));
  OK(gpuint_batch_read_limbs(batch, 0, 0, NULL, SIZE_MAX));
  OK(gpuint_batch_free(batch));
  OK(gpuint_batch_from_limbs(device, BITS, NULL, 7, 0, &batch));
  OK(gpuint_batch_free(batch));
}

static void check_texts(void) {
  gpuint_batch* batch = NULL;
  FAILS(gpuint_batch_splat(device, BITS, "12a", 1, &batch), GPUINT_STATUS_INVALID_TEXT,
        "argument value, column 2: not a digit of base 10");
  FAILS(gpuint_batch_splat(device, BITS, "0x", 1, &batch), GPUINT_STATUS_INVALID_TEXT,
        "argument value, column 2: not a digit of base 16");
  FAILS(gpuint_batch_splat(device, BITS, "-1", 1, &batch), GPUINT_STATUS_INVALID_TEXT,
        "argument value, column 0: not a digit of base 10");
  FAILS(gpuint_batch_splat(device, BITS, "\xff", 1, &batch), GPUINT_STATUS_INVALID_TEXT,
        "argument value is not UTF-8");
  FAILS(gpuint_batch_splat(device, BITS, NULL, 1, &batch), GPUINT_STATUS_INVALID_POINTER,
        "argument value is NULL");
  OK(gpuint_batch_splat(device, BITS, "0xDEADbeef", 5, &batch));
  char text[12];
  size_t length = 0;
  OK(gpuint_wrapping_sum(batch, 10, text, sizeof text, &length));
  CHECK(strcmp(text, "18679642795") == 0 && length == 11);
  CHECK(gpuint_wrapping_sum(batch, 10, text, 11, &length) == GPUINT_STATUS_BUFFER_TOO_SMALL);
  OK(gpuint_batch_row(batch, 4, 16, text, sizeof text, NULL));
  CHECK(strcmp(text, "deadbeef") == 0);
  FAILS(gpuint_batch_row(batch, 4, 2, text, sizeof text, NULL), GPUINT_STATUS_INVALID_TEXT,
        "unknown base 2; expected 10 or 16");
  CHECK(gpuint_batch_row(batch, 5, 16, text, sizeof text, NULL) == GPUINT_STATUS_NO_SUCH_ROW);
  CHECK(gpuint_last_error_row() == 5);
  OK(gpuint_batch_free(batch));
}

static void check_rows(void) {
  const uint64_t limbs[] = {9, 0, 0, 0, 4, 0, 0, 0, 7, 0, 0, 0};
  gpuint_batch *a = batch_of(limbs, 3), *b = NULL, *out = NULL, *other = NULL;
  OK(gpuint_reverse(a, &b));
  int8_t orders[3] = {5, 5, 5};
  OK(gpuint_cmp(a, b, orders, 3));
  CHECK(orders[0] == 1 && orders[1] == 0 && orders[2] == -1);
  FAILS(gpuint_cmp(a, b, orders, 2), GPUINT_STATUS_LENGTH_MISMATCH,
        "an array of 2 elements is given for 3 rows");
  CHECK(gpuint_cmp(a, b, NULL, 3) == GPUINT_STATUS_INVALID_POINTER);
  uint64_t lengths[3];
  OK(gpuint_bit_lengths(a, lengths, 3));
  CHECK(lengths[0] == 4 && lengths[1] == 3 && lengths[2] == 3);
  OK(gpuint_jacobi(b, a, orders, 3));
  CHECK(orders[0] == 1 && orders[1] == 0 && orders[2] == 1);

  size_t count = 1;
  const size_t indices[] = {2, 0, 2, 1};
  OK(gpuint_gather(a, indices, 4, &out));
  OK(gpuint_batch_rows(out, &count));
  CHECK(count == 4);
  CHECK(gpuint_gather(a, (const size_t[]){3}, 1, &other) == GPUINT_STATUS_NO_SUCH_ROW);
  CHECK(gpuint_gather(a, NULL, 1, &other) == GPUINT_STATUS_INVALID_POINTER);
  CHECK(gpuint_wrapping_add(a, out, &other) == GPUINT_STATUS_LENGTH_MISMATCH);
  OK(gpuint_batch_free(out));
  const gpuint_batch* const parts[] = {a, b};
  OK(gpuint_concat(parts, 2, &out));
  OK(gpuint_slice(out, 3, 6, &other));
  bool equal = false;
  OK(gpuint_is_equal(other, b, &equal));
  CHECK(equal);
  OK(gpuint_batch_free(out));
  OK(gpuint_batch_free(other));
  other = NULL;
  CHECK(gpuint_concat(NULL, 0, &other) == GPUINT_STATUS_LENGTH_MISMATCH);
  CHECK(gpuint_slice(a, 1, 4, &other) == GPUINT_STATUS_NO_SUCH_ROW);
  CHECK(other == NULL);
  OK(gpuint_slice(a, 2, 2, &other));
  OK(gpuint_batch_rows(other, &count));
  CHECK(count == 0);
  OK(gpuint_batch_free(other));
  other = NULL;

  gpuint_mask *mask = NULL, *inverted = NULL;
  OK(gpuint_mask_from_bytes(device, (const uint8_t[]){0, 255, 1}, 3, &mask));
  OK(gpuint_mask_not(mask, &inverted));
  OK(gpuint_mask_count(mask, &count));
  CHECK(count == 2);
  size_t set[2] = {0};
  OK(gpuint_mask_indices(mask, set, count));
  CHECK(set[0] == 1 && set[1] == 2);
  CHECK(gpuint_mask_indices(mask, set, 1) == GPUINT_STATUS_LENGTH_MISMATCH);
  uint8_t bytes[3];
  OK(gpuint_mask_to_bytes(inverted, bytes, 3));
  CHECK(bytes[0] == 1 && bytes[1] == 0 && bytes[2] == 0);
  OK(gpuint_filter(a, mask, &out));
  OK(gpuint_batch_rows(out, &count));
  CHECK(count == 2);
  OK(gpuint_mask_free(mask));
  OK(gpuint_mask_free(inverted));
  OK(gpuint_batch_free(out));

  gpuint_batch* wide = NULL;
  OK(gpuint_resized(a, 2 * BITS, &wide));
  CHECK(gpuint_wrapping_add(a, wide, &other) == GPUINT_STATUS_WIDTH_MISMATCH);
  CHECK(gpuint_resized(a, SIZE_MAX, &other) == GPUINT_STATUS_WIDTH_MISSING);
  CHECK(other == NULL);
  OK(gpuint_batch_free(wide));
  OK(gpuint_batch_free(a));
  OK(gpuint_batch_free(b));
}

// The row is this number.
static void check_row(const gpuint_batch* batch, size_t row, const char* number) {
  char text[80];
  OK(gpuint_batch_row(batch, row, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, number) == 0);
}

// Products by prepared factors, one for all rows and one a row, and of rows of 2^20 + 64 bits.
static void check_factors(void) {
  char power[2 + 1 + 63 + 1] = "0x1"; /* 2^252 */
  memset(power + 3, '0', 63);
  gpuint_batch *a = NULL, *b = NULL, *low = NULL, *high = NULL;
  gpuint_factor *all = NULL, *each = NULL, *none = NULL;
  OK(gpuint_batch_splat(device, 256, "37", 2, &a));
  OK(gpuint_factor_splat(device, 256, power, &all));
  OK(gpuint_mul_lo_hi_by(a, all, &low, &high));
  check_row(high, 1, "2");
  OK(gpuint_batch_free(high));
  OK(gpuint_wrapping_mul_by(a, all, &b));
  bool equal = false;
  OK(gpuint_is_equal(b, low, &equal));
  CHECK(equal);
  OK(gpuint_batch_free(b));
  OK(gpuint_batch_free(low));
  OK(gpuint_factor_of_rows(a, &each));
  OK(gpuint_cyclic_mul_by(a, each, &b));
  check_row(b, 0, "1369");
  CHECK(gpuint_factor_splat(device, 256, "-1", &none) == GPUINT_STATUS_INVALID_TEXT);
  OK(gpuint_batch_free(b));
  OK(gpuint_batch_splat(device, 1048640, "37", 1, &b));
  CHECK(gpuint_wrapping_mul_by(b, all, &low) == GPUINT_STATUS_WIDTH_MISMATCH);
  OK(gpuint_factor_free(all));
  OK(gpuint_factor_splat(device, 1048640, "3", &all));
  OK(gpuint_mul_lo_hi_by(b, all, &low, &high));
  check_row(low, 0, "111");
  check_row(high, 0, "0");
  OK(gpuint_factor_free(all));
  OK(gpuint_factor_free(each));
  OK(gpuint_factor_free(NULL));
  OK(gpuint_batch_free(low));
  OK(gpuint_batch_free(high));
  OK(gpuint_batch_free(b));
  OK(gpuint_batch_free(a));
}

// Exponents that are longer than the rows, and the widest rows.
static void check_exponents(void) {
  char long_exponent[2 + 1 + 500 + 1] = "0x1"; /* 2^2000 */
  memset(long_exponent + 3, '0', 500);
  const char* exponents[] = {long_exponent, "2"};
  gpuint_batch *a = NULL, *wide = NULL, *out = NULL;
  gpuint_divisor* prime = NULL;
  OK(gpuint_batch_splat(device, BITS, "5", 2, &a));
  OK(gpuint_divisor_splat(device, BITS, "1000003", &prime));
  OK(gpuint_pow_mod_rows(a, exponents, 2, prime, &out));
  check_row(out, 0, "819183");
  check_row(out, 1, "25");
  OK(gpuint_batch_free(out));
  CHECK(gpuint_pow_mod_rows(a, exponents, 1, prime, &out) == GPUINT_STATUS_LENGTH_MISMATCH);
  OK(gpuint_pow_mod_all(a, long_exponent, prime, &out));
  check_row(out, 1, "819183");
  OK(gpuint_batch_free(out));
  OK(gpuint_square_mod_repeatedly(a, 2000, prime, &out));
  check_row(out, 1, "819183");
  OK(gpuint_batch_free(out));
  OK(gpuint_pow_product_mod_rows(a, exponents, 2, 2, prime, &out));
  check_row(out, 0, "479515");
  OK(gpuint_batch_free(out));
  OK(gpuint_batch_splat(device, 2048, long_exponent, 2, &wide));
  OK(gpuint_pow_mod(a, wide, prime, &out));
  check_row(out, 0, "819183");
  OK(gpuint_batch_free(out));

  gpuint_modulus* modulus = NULL;
  gpuint_residues *residues = NULL, *power = NULL;
  OK(gpuint_modulus_splat(device, BITS, "1000003", &modulus));
  OK(gpuint_residues_of_batch(a, modulus, &residues));
  OK(gpuint_residues_pow_rows(residues, exponents, 2, &power));
  OK(gpuint_residues_to_batch(power, &out));
  check_row(out, 0, "819183");
  OK(gpuint_batch_free(out));
  OK(gpuint_residues_free(power));
  OK(gpuint_residues_square_repeatedly(residues, 2000, &power));
  OK(gpuint_residues_to_batch(power, &out));
  check_row(out, 1, "819183");
  OK(gpuint_batch_free(out));
  OK(gpuint_residues_free(power));
  OK(gpuint_residues_free(residues));
  OK(gpuint_modulus_free(modulus));
  gpuint_fixed_base* three = NULL;
  OK(gpuint_fixed_base_new(device, BITS, "3", "1000003", 2001, &three));
  OK(gpuint_fixed_base_pow_rows(three, exponents, 2, &out));
  check_row(out, 0, "203728");
  check_row(out, 1, "9");
  OK(gpuint_batch_free(out));
  OK(gpuint_fixed_base_free(three));
  OK(gpuint_divisor_free(prime));
  OK(gpuint_batch_free(wide));

  OK(gpuint_batch_zeros(device, 1048576, 1, &wide));
  OK(gpuint_join(wide, wide, &out));
  OK(gpuint_batch_free(out));
  FAILS(gpuint_batch_zeros(device, ((size_t)1 << 31) + 1, 1, &out), GPUINT_STATUS_WIDTH_MISSING,
        "rows of 2147483649 bits are not offered; the widest have 2147483648 bits");
  FAILS(gpuint_wrapping_add(a, wide, &out), GPUINT_STATUS_WIDTH_MISMATCH,
        "the widths differ: 256 and 1048576 bits");
  OK(gpuint_batch_free(wide));
  OK(gpuint_batch_free(a));
}

static void check_digit_divisions(void) {
  const uint64_t limbs[] = {1000, 0, 0, 0, 0, 1, 0, 0, 6, 0, 0, 0};
  gpuint_batch *a = batch_of(limbs, 3), *quotient = NULL;
  gpuint_words* words = NULL;
  uint64_t remainders[3] = {9, 9, 9}, read[3];
  char text[24];
  OK(gpuint_div_rem_digit(a, 7, &quotient, remainders, 3));
  CHECK(remainders[0] == 6 && remainders[1] == 2 && remainders[2] == 6);
  OK(gpuint_batch_row(quotient, 1, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "2635249153387078802") == 0);
  OK(gpuint_batch_free(quotient));
  OK(gpuint_rem_digit(a, 1001, read, 3));
  CHECK(read[0] == 1000 && read[1] == UINT64_C(18446744073709551615) % 1001 + 1 && read[2] == 6);
  FAILS(gpuint_rem_digit(a, 7, read, 2), GPUINT_STATUS_LENGTH_MISMATCH,
        "an array of 2 elements is given for 3 rows");
  CHECK(gpuint_rem_digit(a, 7, NULL, 3) == GPUINT_STATUS_INVALID_POINTER);
  CHECK(gpuint_rem_digit(a, 0, read, 3) == GPUINT_STATUS_DIVISION_BY_ZERO);

  quotient = NULL;
  OK(gpuint_div_rem_digit_words(a, 7, &quotient, &words));
  size_t rows = 0;
  OK(gpuint_words_rows(words, &rows));
  CHECK(rows == 3);
  OK(gpuint_words_read(words, read, 3));
  CHECK(memcmp(read, remainders, sizeof read) == 0);
  OK(gpuint_batch_row(quotient, 0, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "142") == 0);
  CHECK(gpuint_words_read(words, read, 2) == GPUINT_STATUS_LENGTH_MISMATCH);
  CHECK(gpuint_words_read((const gpuint_words*)(const void*)a, read, 3) ==
        GPUINT_STATUS_INVALID_HANDLE);
  OK(gpuint_words_free(words));
  OK(gpuint_batch_free(quotient));
  words = NULL;
  OK(gpuint_rem_digit_words(a, 7, &words));
  OK(gpuint_words_read(words, read, 3));
  CHECK(memcmp(read, remainders, sizeof read) == 0);
  CHECK(gpuint_rem_digit_words(a, 0, &words) == GPUINT_STATUS_DIVISION_BY_ZERO);
  OK(gpuint_words_free(words));
  OK(gpuint_batch_free(a));
}

static void check_outputs(void) {
  gpuint_batch *a = NULL, *b = NULL, *out[3] = {NULL, NULL, NULL};
  gpuint_mask* negative = NULL;
  OK(gpuint_batch_splat(device, BITS, "240", 1, &a));
  OK(gpuint_batch_splat(device, BITS, "46", 1, &b));
  FAILS(gpuint_xgcd(a, b, &out[0], &out[1], &out[2], NULL), GPUINT_STATUS_INVALID_POINTER,
        "argument negative is NULL");
  CHECK(out[0] == NULL && out[1] == NULL && out[2] == NULL);
  OK(gpuint_xgcd(a, b, &out[0], &out[1], &out[2], &negative));
  const uint64_t expected[3] = {2, 9, 47}; /* 2 = 46 * 47 - 240 * 9 */
  for (size_t i = 0; i < 3; ++i) {
    uint64_t limb = 0;
    OK(gpuint_batch_read_limbs(out[i], 0, 1, &limb, 1));
    CHECK(limb == expected[i]);
    OK(gpuint_batch_free(out[i]));
  }
  bool any = false;
  OK(gpuint_mask_any(negative, &any));
  CHECK(any);
  OK(gpuint_mask_free(negative));

  OK(gpuint_batch_splat(device, BITS, "0", 1, &out[0]));
  gpuint_batch *quotient = NULL, *remainder = NULL;
  gpuint_mask* zero = NULL;
  OK(gpuint_div_rem_masked(a, out[0], &quotient, &remainder, &zero));
  OK(gpuint_mask_any(zero, &any));
  CHECK(any);
  bool equal = false;
  OK(gpuint_is_equal(a, remainder, &equal));
  CHECK(equal);
  CHECK(gpuint_div_rem(a, out[0], &quotient, &remainder) == GPUINT_STATUS_DIVISION_BY_ZERO);
  OK(gpuint_mask_free(zero));
  OK(gpuint_batch_free(quotient));
  OK(gpuint_batch_free(remainder));
  OK(gpuint_batch_free(out[0]));
  OK(gpuint_batch_free(a));
  OK(gpuint_batch_free(b));
}

static void check_moduli(void) {
  gpuint_divisor* divisor = NULL;
  CHECK(gpuint_divisor_splat(device, BITS, "0", &divisor) == GPUINT_STATUS_DIVISION_BY_ZERO);
  CHECK(gpuint_last_error_row() == 0);
  gpuint_modulus *seven = NULL, *ten = NULL;
  OK(gpuint_modulus_splat(device, BITS, "7", &seven));
  OK(gpuint_modulus_splat(device, BITS, "10", &ten));
  gpuint_residues *a = NULL, *b = NULL, *out = NULL;
  OK(gpuint_residues_splat("5", 2, seven, &a));
  OK(gpuint_residues_splat("5", 2, ten, &b));
  CHECK(gpuint_residues_mul(a, b, &out) == GPUINT_STATUS_MODULUS_MISMATCH);
  CHECK(gpuint_residues_halve(b, &out) == GPUINT_STATUS_EVEN_MODULUS);
  CHECK(gpuint_last_error_row() == 0);
  OK(gpuint_modulus_free(seven)); /* the residues keep what they need */
  OK(gpuint_residues_pow_all(a, "0x10", &out));
  gpuint_batch* values = NULL;
  OK(gpuint_residues_to_batch(out, &values));
  char text[4];
  OK(gpuint_batch_row(values, 1, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "2") == 0);
  gpuint_fixed_base* base = NULL;
  gpuint_batch* powers = NULL;
  OK(gpuint_fixed_base_new(device, BITS, "3", "1000003", 8, &base));
  OK(gpuint_fixed_base_pow(base, values, &powers));
  OK(gpuint_batch_row(powers, 0, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "9") == 0);
  OK(gpuint_batch_free(powers));
  OK(gpuint_fixed_base_free(base));
  OK(gpuint_batch_free(values));
  OK(gpuint_residues_free(out));
  OK(gpuint_residues_free(a));
  OK(gpuint_residues_free(b));
  OK(gpuint_modulus_free(ten));
}

static void check_special_moduli(void) {
  const uint32_t k[2] = {3, 1}, n[2] = {189, 200};
  const int32_t c[2] = {1, -1};
  const uint64_t limbs[2 * LIMBS] = {9, 0, 0, 0, 4, 0, 0, 0};
  gpuint_batch *exponents = batch_of(limbs, 2), *values = NULL;
  gpuint_modulus *modulus = NULL, *one = NULL, *other = NULL;
  gpuint_residues *powers = NULL, *base = NULL;
  OK(gpuint_modulus_of_special(device, BITS, k, n, c, 2, &modulus));
  OK(gpuint_modulus_splat_special(device, BITS, 3, 189, 1, &one));
  OK(gpuint_modulus_splat(device, BITS, "10", &other));
  bool is_special = false;
  OK(gpuint_modulus_is_special(modulus, &is_special));
  CHECK(is_special);
  OK(gpuint_modulus_is_special(one, &is_special));
  CHECK(is_special);
  OK(gpuint_modulus_is_special(other, &is_special));
  CHECK(!is_special);
  uint32_t factor = 9, exponent = 9;
  int32_t term = 9;
  OK(gpuint_special_modulus_recognize("0x6000000000000000000000000000000000000000000001",
                                      &is_special, &factor, &exponent, &term));
  CHECK(is_special && factor == 3 && exponent == 181 && term == 1);
  OK(gpuint_special_modulus_recognize("97", &is_special, &factor, &exponent, &term));
  CHECK(!is_special && factor == 0 && exponent == 0 && term == 0);
  FAILS(gpuint_special_modulus_recognize("97", &is_special, &factor, NULL, &term),
        GPUINT_STATUS_INVALID_POINTER, "argument n is NULL");
  OK(gpuint_residues_powers_of(5, exponents, modulus, &powers));
  OK(gpuint_residues_to_batch(powers, &values));
  check_row(values, 0, "1953125");
  check_row(values, 1, "625");
  OK(gpuint_batch_free(values));
  OK(gpuint_residues_free(powers));
  OK(gpuint_residues_splat("5", 2, one, &base));
  OK(gpuint_residues_pow(base, exponents, &powers));
  OK(gpuint_residues_to_batch(powers, &values));
  check_row(values, 1, "625");
  CHECK(gpuint_modulus_splat_special(device, BITS, 0, 1, 0, &one) ==
        GPUINT_STATUS_DIVISION_BY_ZERO);
  FAILS(gpuint_modulus_of_special(device, BITS, k, NULL, c, 2, &one), GPUINT_STATUS_INVALID_POINTER,
        "argument n is NULL");
  OK(gpuint_batch_free(values));
  OK(gpuint_residues_free(powers));
  OK(gpuint_modulus_free(modulus));
  // 5^9 mod 4 * 17^4 + 1, which is 5^9 - 5 (4 * 17^4 + 1), and 5^4 mod 10^2 - 3.
  const uint32_t factors[2] = {4, 1}, bases[2] = {17, 10}, lengths[2] = {4, 2};
  const int32_t terms[2] = {1, -3};
  OK(gpuint_modulus_of_special_base(device, BITS, factors, bases, lengths, terms, 2, &modulus));
  OK(gpuint_modulus_is_special(modulus, &is_special));
  CHECK(!is_special);
  OK(gpuint_residues_powers_of(5, exponents, modulus, &powers));
  OK(gpuint_residues_to_batch(powers, &values));
  check_row(values, 0, "282700");
  check_row(values, 1, "43");
  FAILS(gpuint_modulus_of_special_base(device, BITS, k, NULL, n, c, 2, &one),
        GPUINT_STATUS_INVALID_POINTER, "argument base is NULL");
  OK(gpuint_batch_free(values));
  OK(gpuint_batch_free(exponents));
  OK(gpuint_residues_free(powers));
  OK(gpuint_residues_free(base));
  OK(gpuint_modulus_free(modulus));
  OK(gpuint_modulus_free(one));
  OK(gpuint_modulus_free(other));
}

static void check_sieves(void) {
  const char* values[3] = {"91", "0x61", "10403"};
  const uint64_t terms[3] = {1, 3, 9}, exponents[3] = {11, 23, 31};
  uint64_t factors[3] = {7, 7, 7};
  uint64_t primes[5] = {0, 0, 0, 0, 7};
  size_t found = 9;
  OK(gpuint_primes(2, 100, primes, 4, &found));
  CHECK(found == 4 && primes[0] == 2 && primes[3] == 7 && primes[4] == 7);
  OK(gpuint_primes(90, 100, primes, 4, &found));
  CHECK(found == 1 && primes[0] == 97 && primes[1] == 3);
  OK(gpuint_primes(100, 90, NULL, 0, &found));
  CHECK(found == 0);
  FAILS(gpuint_primes(2, 100, NULL, 4, &found), GPUINT_STATUS_INVALID_POINTER,
        "argument primes is NULL");
  OK(gpuint_smallest_factors(values, 3, 102, factors, 3));
  CHECK(factors[0] == 7 && factors[1] == 0 && factors[2] == 101);
  OK(gpuint_progression_smallest_factors("1", "100000000000000000000000000000000000000000000000000",
                                         terms, 3, 1000, factors, 3));
  CHECK(factors[0] == 101 && factors[1] == 19 && factors[2] == 53);
  OK(gpuint_progression_of_power_smallest_factors(2, 32, "1", terms, 1, 1000, factors, 1));
  CHECK(factors[0] == 641);
  OK(gpuint_exponents_smallest_factors(1, 2, "-1", exponents, 3, 1000, factors, 3));
  CHECK(factors[0] == 23 && factors[1] == 47 && factors[2] == 0);
  CHECK(gpuint_exponents_smallest_factors(1, 2, "-1", exponents, 3, 1000, factors, 2) ==
        GPUINT_STATUS_LENGTH_MISMATCH);
  FAILS(gpuint_exponents_smallest_factors(1, 2, "--1", exponents, 3, 1000, factors, 3),
        GPUINT_STATUS_INVALID_TEXT, "argument c, column 1: not a digit of base 10");

  /* q = 2 i + 1 and the safe prime 2 q + 1 = 4 i + 3, and q - 2. */
  gpuint_family *q = NULL, *safe = NULL, *twin = NULL, *mersenne = NULL;
  gpuint_mask* mask = NULL;
  OK(gpuint_family_terms("1", "2", &q));
  OK(gpuint_family_terms("3", "4", &safe));
  OK(gpuint_family_shifted(q, "-2", &twin));
  OK(gpuint_family_powers(1, 2, 2, "-1", &mersenne));
  const gpuint_family* families[3] = {q, safe, twin};
  size_t count = 0, indices[10];
  OK(gpuint_constellation_survivors(families, 2, device, 50, 100, &mask));
  OK(gpuint_mask_count(mask, &count));
  CHECK(count == 10);
  OK(gpuint_mask_indices(mask, indices, 10));
  CHECK(indices[0] == 0 && indices[1] == 1 && indices[9] == 44);
  OK(gpuint_mask_free(mask));
  /* q = 1, 3 and 5 */
  OK(gpuint_constellation_survivors(families, 3, device, 10, 100, &mask));
  OK(gpuint_mask_count(mask, &count));
  CHECK(count == 3);
  OK(gpuint_mask_free(mask));
  const gpuint_family* powers[1] = {mersenne};
  OK(gpuint_constellation_survivors(powers, 1, device, 10, 100, &mask));
  OK(gpuint_mask_indices(mask, indices, 4));
  CHECK(indices[0] == 0 && indices[1] == 1 && indices[2] == 3 && indices[3] == 5);
  OK(gpuint_mask_free(mask));
  FAILS(gpuint_constellation_survivors(NULL, 1, device, 10, 100, &mask),
        GPUINT_STATUS_INVALID_POINTER, "argument families is NULL");
  gpuint_family* all[] = {q, safe, twin, mersenne};
  for (int i = 0; i < 4; ++i) OK(gpuint_family_free(all[i]));
}

static void check_trees(void) {
  const uint64_t limbs[] = {101 * 103, 0, 0, 0, 107 * 109, 0, 0, 0, 101 * 113, 0, 0, 0};
  gpuint_batch *keys = batch_of(limbs, 3), *out = NULL, *moduli = NULL;
  OK(gpuint_batch_gcd(keys, &out));
  uint64_t read[3];
  OK(gpuint_batch_read_limbs(out, 0, 3, read, 1));
  CHECK(read[0] == 101 && read[1] == 1 && read[2] == 101);
  OK(gpuint_batch_free(out));
  const char* others[] = {"1000", "10900"};
  OK(gpuint_batch_gcd_against(keys, others, 2, &out));
  OK(gpuint_batch_read_limbs(out, 0, 3, read, 1));
  CHECK(read[0] == 101 && read[1] == 109 && read[2] == 101);
  OK(gpuint_batch_free(out));

  gpuint_product_tree* tree = NULL;
  OK(gpuint_product_tree_new(keys, &tree));
  char text[20];
  OK(gpuint_product_tree_root(tree, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "1384741447057") == 0);
  OK(gpuint_product_tree_remainders(tree, text, &out));
  gpuint_mask* zero = NULL;
  OK(gpuint_is_zero_mask(out, &zero));
  size_t count = 0;
  OK(gpuint_mask_count(zero, &count));
  CHECK(count == 3);
  OK(gpuint_mask_free(zero));
  OK(gpuint_batch_free(out));
  OK(gpuint_product_tree_free(tree));

  gpuint_crt* crt = NULL;
  CHECK(gpuint_crt_new(keys, &crt) == GPUINT_STATUS_COMMON_DIVISOR);
  CHECK(gpuint_last_error_row() == 0);
  const uint64_t primes[] = {10007, 0, 0, 0, 10009, 0, 0, 0};
  moduli = batch_of(primes, 2);
  OK(gpuint_crt_new(moduli, &crt));
  OK(gpuint_crt_product(crt, 10, text, sizeof text, NULL));
  CHECK(strcmp(text, "100160063") == 0);
  gpuint_batch *residues = NULL, *sorted = NULL;
  OK(gpuint_crt_residues(crt, keys, &residues));
  OK(gpuint_batch_rows(residues, &count));
  CHECK(count == 6);
  OK(gpuint_crt_combine(crt, residues, &out));
  bool equal = false;
  OK(gpuint_is_equal(keys, out, &equal));
  CHECK(equal);
  OK(gpuint_sort(keys, &sorted));
  size_t indices[3];
  OK(gpuint_sort_indices(keys, indices, 3));
  CHECK(indices[0] == 0 && indices[1] == 2 && indices[2] == 1);
  const char* const coefficients[] = {"1", "0x2", NULL};
  gpuint_batch* values = NULL;
  CHECK(gpuint_wrapping_polynomial(keys, coefficients, 3, &values) ==
        GPUINT_STATUS_INVALID_POINTER);
  OK(gpuint_wrapping_polynomial(keys, coefficients, 2, &values));
  OK(gpuint_batch_read_limbs(values, 0, 3, read, 1));
  CHECK(read[1] == 1 + 2 * 107 * 109);
  OK(gpuint_batch_free(values));
  OK(gpuint_batch_free(sorted));
  OK(gpuint_batch_free(out));
  OK(gpuint_batch_free(residues));
  OK(gpuint_crt_free(crt));
  OK(gpuint_batch_free(moduli));
  OK(gpuint_batch_free(keys));
}

static void* square_until_freed(void* batch) {
  for (;;) {
    gpuint_batch* square = NULL;
    const gpuint_status status = gpuint_wrapping_square(batch, &square);
    if (status != GPUINT_STATUS_OK) {
      /* Messages are of the thread. */
      const bool expected = status == GPUINT_STATUS_INVALID_HANDLE &&
                            strstr(gpuint_last_error(), "argument a is not a live") != NULL;
      return expected ? batch : NULL;
    }
    gpuint_batch_free(square);
  }
}

static void check_threads(void) {
  static uint64_t limbs[ROWS * LIMBS];
  gpuint_batch* batch = batch_of(limbs, ROWS);
  CHECK(gpuint_wrapping_square(NULL, NULL) == GPUINT_STATUS_INVALID_POINTER);
  pthread_t threads[4];
  for (size_t i = 0; i < 4; ++i) {
    CHECK(pthread_create(&threads[i], NULL, square_until_freed, batch) == 0);
  }
  for (int i = 0; i < 20; ++i) {
    gpuint_batch* square = NULL;
    OK(gpuint_wrapping_square(batch, &square));
    OK(gpuint_batch_free(square));
  }
  OK(gpuint_batch_free(batch));
  for (size_t i = 0; i < 4; ++i) {
    void* result = NULL;
    CHECK(pthread_join(threads[i], &result) == 0);
    CHECK(result == batch);
  }
  CHECK(strcmp(gpuint_last_error(), "argument a is NULL") == 0);
}

static void check_sums_and_signs(void) {
  const uint64_t limbs[2 * LIMBS] = {7, 0, 0, 0, 2, 0, 0, 0};
  const uint8_t minus[2] = {1, 0};
  gpuint_batch *a = batch_of(limbs, 2), *sum = NULL, *wide = NULL, *magnitude = NULL;
  gpuint_mask *overflow = NULL, *negative = NULL;
  const gpuint_batch* factors[2] = {a, a};
  OK(gpuint_wrapping_sum_of_products(factors, factors, 2, &sum));
  OK(gpuint_widening_sum_of_products(factors, factors, 2, &wide, &overflow));
  uint64_t out[2 * LIMBS];
  OK(gpuint_batch_read_limbs(sum, 0, 2, out, LIMBS));
  CHECK(out[0] == 98 && out[LIMBS] == 8);
  CHECK(gpuint_wrapping_sum_of_products(factors, factors, 0, &sum) ==
        GPUINT_STATUS_LENGTH_MISMATCH);
  FAILS(gpuint_wrapping_sum_of_products(NULL, factors, 2, &sum), GPUINT_STATUS_INVALID_POINTER,
        "argument a is NULL");

  gpuint_signed *x = NULL, *y = NULL, *quotient = NULL, *remainder = NULL;
  OK(gpuint_mask_from_bytes(device, minus, 2, &negative));
  OK(gpuint_signed_of_parts(a, negative, &x)); /* -7 and 2 */
  OK(gpuint_signed_neg(x, &y));
  OK(gpuint_signed_overflowing_add(y, x, &quotient, &negative));
  OK(gpuint_signed_parts(quotient, &magnitude, &negative));
  OK(gpuint_batch_read_limbs(magnitude, 0, 2, out, LIMBS));
  CHECK(out[0] == 0 && out[LIMBS] == 0);
  int8_t orders[2];
  OK(gpuint_signed_cmp(x, y, orders, 2));
  CHECK(orders[0] == -1 && orders[1] == 1);
  OK(gpuint_signed_div_rem_euclid(x, y, &quotient, &remainder));
  OK(gpuint_signed_parts(quotient, &magnitude, &negative));
  OK(gpuint_batch_read_limbs(magnitude, 0, 2, out, LIMBS));
  CHECK(out[0] == 1 && out[LIMBS] == 1);
  gpuint_signed* signeds[] = {x, y, quotient, remainder};
  gpuint_batch* batches[] = {a, sum, wide, magnitude};
  for (int i = 0; i < 4; ++i) {
    OK(gpuint_signed_free(signeds[i]));
    OK(gpuint_batch_free(batches[i]));
  }
  OK(gpuint_mask_free(overflow));
  OK(gpuint_mask_free(negative));
}

// Two powers and a sum modulo 101, with operands that stand for all rows.
static void check_secrets(void) {
  enum { BYTES = 1024 / 8 };
  const uint8_t bases[2 * BYTES] = {[0] = 3, [BYTES] = 101}, exponent[BYTES] = {100};
  const uint8_t prime[BYTES] = {101}, factor[BYTES] = {50}, addend[BYTES] = {52};
  gpuint_secret *secret = NULL, *one = NULL, *power = NULL, *sum = NULL, *open = NULL;
  gpuint_secret_exponents* exponents = NULL;
  gpuint_secret_modulus* modulus = NULL;
  gpuint_secret_factor* factors = NULL;
  gpuint_batch *revealed = NULL, *none = NULL;
  gpuint_mask* zero = NULL;
  OK(gpuint_secret_from_le_bytes(device, 1024, bases, sizeof bases, &secret));
  OK(gpuint_secret_from_le_bytes(device, 1024, addend, BYTES, &one));
  OK(gpuint_secret_exponents_splat(device, 1024, 7, exponent, BYTES, &exponents));
  OK(gpuint_secret_modulus_splat(device, 1024, prime, BYTES, &modulus));
  OK(gpuint_secret_factor_splat(device, 1024, factor, prime, BYTES, &factors));
  OK(gpuint_secret_pow_secret(secret, exponents, modulus, &power));
  OK(gpuint_secret_mul_add_secret(secret, factors, one, &sum));
  uint8_t out[2 * BYTES];
  OK(gpuint_secret_to_le_bytes(power, out, sizeof out));
  CHECK(out[0] == 1 && out[BYTES] == 0); /* Fermat; 101 is 0 */
  OK(gpuint_secret_to_le_bytes(sum, out, sizeof out));
  CHECK(out[0] == 0 && out[BYTES] == 52 && out[1] == 0); /* 150 + 52 is 2 * 101 */
  CHECK(gpuint_secret_to_le_bytes(sum, out, 3) == GPUINT_STATUS_LENGTH_MISMATCH);
  uint8_t bits[2];
  OK(gpuint_secret_is_zero_mask(sum, &zero));
  OK(gpuint_mask_to_bytes(zero, bits, 2));
  CHECK(bits[0] == 1 && bits[1] == 0);
  size_t rows = 0, width = 0;
  OK(gpuint_secret_rows(sum, &rows));
  OK(gpuint_secret_bits(sum, &width));
  CHECK(rows == 2 && width == 1024);
  /* The same of rows that are not secret. */
  OK(gpuint_secret_reveal(secret, &revealed));
  OK(gpuint_pow_secret(revealed, exponents, modulus, &open));
  OK(gpuint_secret_to_le_bytes(open, out, sizeof out));
  CHECK(out[0] == 1 && out[BYTES] == 0);
  OK(gpuint_secret_free(open));
  OK(gpuint_mul_add_secret(revealed, factors, one, &open));
  OK(gpuint_secret_to_le_bytes(open, out, sizeof out));
  CHECK(out[0] == 0 && out[BYTES] == 52);
  /* Operands of each row. */
  gpuint_secret_exponents* each = NULL;
  gpuint_secret_modulus* moduli = NULL;
  gpuint_secret_factor* pairs = NULL;
  OK(gpuint_secret_exponents_of_rows(device, 1024, 8, bases, sizeof bases, &each));
  OK(gpuint_secret_modulus_of_rows(device, 1024, bases, sizeof bases, &moduli));
  OK(gpuint_secret_factor_of_rows(device, 1024, bases, bases, sizeof bases, &pairs));
  OK(gpuint_secret_free(power));
  OK(gpuint_secret_pow_secret(one, exponents, modulus, &power));
  CHECK(gpuint_secret_pow_secret(one, each, moduli, &open) == GPUINT_STATUS_LENGTH_MISMATCH);
  CHECK(gpuint_secret_exponents_of_rows(device, 1024, 2, bases, sizeof bases, &each) ==
        GPUINT_STATUS_TOO_WIDE);
  CHECK(gpuint_last_error_row() == 1);
  CHECK(gpuint_secret_modulus_splat(device, 1024, exponent, BYTES, &modulus) ==
        GPUINT_STATUS_EVEN_MODULUS);
  CHECK(gpuint_secret_modulus_splat(device, 256, prime, BYTES / 4, &modulus) ==
        GPUINT_STATUS_KERNEL_UNAVAILABLE);
  FAILS(gpuint_secret_from_le_bytes(device, 1024, NULL, BYTES, &open),
        GPUINT_STATUS_INVALID_POINTER, "argument bytes is NULL");
  CHECK(gpuint_secret_reveal((gpuint_secret*)modulus, &none) == GPUINT_STATUS_INVALID_HANDLE);
  gpuint_secret* secrets[] = {secret, one, power, sum, open};
  for (int i = 0; i < 5; ++i) OK(gpuint_secret_free(secrets[i]));
  OK(gpuint_secret_exponents_free(exponents));
  OK(gpuint_secret_exponents_free(each));
  OK(gpuint_secret_modulus_free(modulus));
  OK(gpuint_secret_modulus_free(moduli));
  OK(gpuint_secret_factor_free(factors));
  OK(gpuint_secret_factor_free(pairs));
  OK(gpuint_batch_free(revealed));
  OK(gpuint_mask_free(zero));
}

static int polls = 0;

static bool stop_at_third_poll(void* data) {
  CHECK(data == &polls);
  return ++polls == 3;
}

static void check_interrupts(void) {
  const uint64_t limbs[LIMBS] = {7};
  const size_t indices[100] = {0};
  gpuint_batch *row = batch_of(limbs, 1), *rows = NULL, *wide = NULL, *ones = NULL, *powers = NULL;
  gpuint_divisor* divisor = NULL;
  OK(gpuint_gather(row, indices, 100, &rows));
  OK(gpuint_resized(rows, 16384, &wide));
  OK(gpuint_not(wide, &ones));
  OK(gpuint_prepare(ones, &divisor));
  gpuint_set_interrupt(stop_at_third_poll, &polls);
  FAILS(gpuint_pow_mod(wide, ones, divisor, &powers), GPUINT_STATUS_INTERRUPTED,
        "the call was interrupted");
  CHECK(polls == 3 && powers == NULL);
  /* The next call has a request of its own, and then there is none. */
  OK(gpuint_wrapping_square(row, &powers));
  gpuint_set_interrupt(NULL, NULL);
  uint64_t square[LIMBS];
  OK(gpuint_batch_read_limbs(powers, 0, 1, square, LIMBS));
  CHECK(square[0] == 49 && polls == 3);
  gpuint_batch* batches[] = {row, rows, wide, ones, powers};
  for (int i = 0; i < 5; ++i) OK(gpuint_batch_free(batches[i]));
  OK(gpuint_divisor_free(divisor));
}

int main(void) {
  check_statuses();
  OK(gpuint_device_cpu(&device));
  check_devices();
  check_jit();
  check_verified();
  check_handles();
  check_limbs();
  check_texts();
  check_rows();
  check_digit_divisions();
  check_outputs();
  check_factors();
  check_exponents();
  check_moduli();
  check_special_moduli();
  check_sieves();
  check_trees();
  check_sums_and_signs();
  check_secrets();
  check_interrupts();
  check_threads();
  OK(gpuint_device_free(device));
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
