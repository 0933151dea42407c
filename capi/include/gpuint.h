/* clang-format off */
/**
 * gpuint: exact arithmetic on batches of big unsigned integers, on NVIDIA GPUs.
 *
 * A batch has `rows` rows of one width on a device: a GPU, or the CPU. An operation computes all
 * rows at once. Link with -lgpuint (`pkg-config --cflags --libs gpuint`).
 *
 *     gpuint_device *device = NULL;
 *     gpuint_batch *a = NULL, *square = NULL;
 *     uint64_t limbs[4] = {5, 0, 0, 0};                        // one row of 256 bits
 *     if (gpuint_device_first(&device) != GPUINT_STATUS_OK
 *         || gpuint_batch_from_limbs(device, 256, limbs, 1, 4, &a) != GPUINT_STATUS_OK
 *         || gpuint_wrapping_square(a, &square) != GPUINT_STATUS_OK
 *         || gpuint_batch_read_limbs(square, 0, 1, limbs, 4) != GPUINT_STATUS_OK)
 *         fprintf(stderr, "%s\n", gpuint_last_error());
 *     gpuint_batch_free(square);
 *     gpuint_batch_free(a);
 *     gpuint_device_free(device);
 *
 * Errors. A call returns a status. A call that fails writes no output, unless its comment says so.
 * `gpuint_last_error` returns the message and `gpuint_last_error_row` the lowest row at fault, each
 * for the calling thread. NULL, lengths and handles are checked. GPUs run asynchronously: a
 * fault of the hardware is the error of a later call.
 *
 * Handles. A call that stores a handle gives it to the caller, who frees it by the `_free` function
 * of its type, once; NULL is allowed there. Handles are not addresses, and values are never used
 * twice: a freed handle and one of another type are GPUINT_STATUS_INVALID_HANDLE. Objects do not
 * change. The operands of a result may be freed before it. A call that overwrites a variable with
 * a new handle does not free the old one.
 *
 * Threads. All functions may be called on all threads at once, on the same handles, too. A handle
 * that is freed during a call on another thread lives until that call ends. The calls of one thread
 * on a device take effect in order. Work on a GPU is queued: a call returns when its result can be
 * used by other calls; calls that store numbers of the host wait for them. A function that is
 * installed by `gpuint_set_interrupt` ends long calls.
 *
 * Memory. The caller owns all arrays and texts, which the library uses only during the call, and no
 * other thread may write them meanwhile. Arrays have as many elements as the call is told, and may
 * be NULL if they have none. Outputs of one element a row have a parameter `rows`, which must be
 * the number of rows. Limbs are `uint64_t` of a little-endian host.
 *
 * Numbers as text. A parameter of type `const char *` is a decimal number, or a hexadecimal number
 * after `0x`, that ends with NUL; one named `c`, `first`, `step` or `distance` may start with `-`.
 * An output `text` has room for `size` bytes; `base` is 10 or 16 (lower case without `0x`). The
 * length without NUL is stored in `*length`, unless `length` is NULL. Where `size` does not exceed
 * it, the call fails with GPUINT_STATUS_BUFFER_TOO_SMALL, but stores the length.
 *
 * Operands. Both batches of an operation have the same width, device and number of rows. Results
 * have the width of the operands, unless the function says otherwise. The times depend on the
 * values: do not use this library with secret numbers, except by the functions of `gpuint_secret`
 * handles, which take the same instructions, branches and addresses for all secrets of one length.
 */


#ifndef GPUINT_H
#define GPUINT_H

/* Made by cbindgen of capi/src: do not edit. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Result of a call.
 */
typedef enum {
  /**
   * The call succeeded.
   */
  GPUINT_STATUS_OK = 0,
  /**
   * A pointer is NULL where an array, text, output or handle is required, or is not aligned.
   */
  GPUINT_STATUS_INVALID_POINTER = 1,
  /**
   * A handle was freed, is of another kind, or was never returned by this library.
   */
  GPUINT_STATUS_INVALID_HANDLE = 2,
  /**
   * A text is not a number, or a base is neither 10 nor 16.
   */
  GPUINT_STATUS_INVALID_TEXT = 3,
  /**
   * The memory for a text is too small; the required size was stored.
   */
  GPUINT_STATUS_BUFFER_TOO_SMALL = 4,
  /**
   * The numbers of rows or elements differ.
   */
  GPUINT_STATUS_LENGTH_MISMATCH = 5,
  /**
   * The widths differ.
   */
  GPUINT_STATUS_WIDTH_MISMATCH = 6,
  /**
   * No kernels are built for the width.
   */
  GPUINT_STATUS_WIDTH_MISSING = 7,
  /**
   * Operands live on different devices.
   */
  GPUINT_STATUS_DEVICE_MISMATCH = 8,
  /**
   * Residues have different moduli.
   */
  GPUINT_STATUS_MODULUS_MISMATCH = 9,
  /**
   * A modulus is even where it must be odd.
   */
  GPUINT_STATUS_EVEN_MODULUS = 10,
  /**
   * A modulus for Chinese remaindering has a common divisor with another one.
   */
  GPUINT_STATUS_COMMON_DIVISOR = 11,
  /**
   * A divisor or modulus is zero.
   */
  GPUINT_STATUS_DIVISION_BY_ZERO = 12,
  /**
   * A value does not fit the width.
   */
  GPUINT_STATUS_TOO_WIDE = 13,
  /**
   * A row does not exist.
   */
  GPUINT_STATUS_NO_SUCH_ROW = 14,
  /**
   * There is no CUDA driver, or no GPU of that number.
   */
  GPUINT_STATUS_NO_DEVICE = 15,
  /**
   * The device or the host has no memory for a result.
   */
  GPUINT_STATUS_OUT_OF_MEMORY = 16,
  /**
   * The device cannot run a kernel: it is missing, was not compiled, or needs more shared
   * memory.
   */
  GPUINT_STATUS_KERNEL_UNAVAILABLE = 17,
  /**
   * The tuning table named by `GPUINT_TUNING` cannot be used.
   */
  GPUINT_STATUS_INVALID_TUNING = 18,
  /**
   * A device address cannot be that of rows.
   */
  GPUINT_STATUS_INVALID_DEVICE_POINTER = 19,
  /**
   * The driver rejected the call. Later calls may succeed.
   */
  GPUINT_STATUS_DRIVER = 20,
  /**
   * The GPU is lost to this process. Start a new process.
   */
  GPUINT_STATUS_DEVICE_LOST = 21,
  /**
   * A defect of this library, with its message. Please report it.
   */
  GPUINT_STATUS_INTERNAL = 22,
  /**
   * The GPU was opened before a fork, and does not work in the child process.
   */
  GPUINT_STATUS_FORKED = 23,
  /**
   * The function of `gpuint_set_interrupt` ended the call.
   */
  GPUINT_STATUS_INTERRUPTED = 24,
  /**
   * The device computes wrong results: a row failed its check twice (`gpuint_device_verified`).
   */
  GPUINT_STATUS_FAULTY_DEVICE = 25,
} gpuint_status;

/**
 * Unsigned integers of one width on a device, one a row.
 */
typedef struct gpuint_batch gpuint_batch;

/**
 * Pairwise coprime moduli, prepared for Chinese remaindering.
 */
typedef struct gpuint_crt gpuint_crt;

/**
 * A GPU with a queue of work, or the CPU.
 */
typedef struct gpuint_device gpuint_device;

/**
 * Prepared divisors: one for all rows, or one a row.
 */
typedef struct gpuint_divisor gpuint_divisor;

/**
 * Prepared factors: one for all rows, or one a row.
 */
typedef struct gpuint_factor gpuint_factor;

/**
 * Numbers for the indices 0, 1, 2, .. of a sieve.
 */
typedef struct gpuint_family gpuint_family;

/**
 * Powers of one base modulo one number, prepared for many exponents.
 */
typedef struct gpuint_fixed_base gpuint_fixed_base;

/**
 * One bit a row, on a device.
 */
typedef struct gpuint_mask gpuint_mask;

/**
 * Prepared moduli of residues: one for all rows, or one a row.
 */
typedef struct gpuint_modulus gpuint_modulus;

/**
 * The product of all rows of a batch, and remainders modulo all of them.
 */
typedef struct gpuint_product_tree gpuint_product_tree;

/**
 * Residues modulo a `gpuint_modulus`, one a row, in the form with the fastest products.
 */
typedef struct gpuint_residues gpuint_residues;

/**
 * Integers of one width on a device, one a row, whose memory is overwritten before it is freed.
 */
typedef struct gpuint_secret gpuint_secret;

/**
 * Secret exponents of a public length: one for all rows, or one a row.
 */
typedef struct gpuint_secret_exponents gpuint_secret_exponents;

/**
 * Prepared secret factors and their secret odd moduli: one of both for all rows, or one a row.
 */
typedef struct gpuint_secret_factor gpuint_secret_factor;

/**
 * Prepared secret odd moduli: one for all rows, or one a row.
 */
typedef struct gpuint_secret_modulus gpuint_secret_modulus;

/**
 * Signed integers on a device, one a row: a sign and a magnitude of one width.
 */
typedef struct gpuint_signed gpuint_signed;

/**
 * One word of 64 bits a row, on a device.
 */
typedef struct gpuint_words gpuint_words;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Installs a function that ends long calls of this thread; NULL removes it.
 *
 * This thread calls `should_stop(data)` about every 20 ms during a long call. After it returns
 * true, the call fails with GPUINT_STATUS_INTERRUPTED and its results are lost. Operands and
 * devices can be used again. `should_stop` may read a flag that a handler of a signal sets.
 *
 * # Safety
 * `should_stop(data)` may be called by this thread until another function is installed.
 */
void gpuint_set_interrupt(bool (*should_stop)(void *data), void *data);

/**
 * Returns the text of a status: a few words. It is `"unknown status"` for other numbers,
 * and stays valid.
 */
const char *gpuint_status_text(int32_t status);

/**
 * Returns the message of the last call of this thread that failed: the values that were wrong and
 * the remedy. It is valid until the next call of this thread fails; `""` if none failed.
 */
const char *gpuint_last_error(void);

/**
 * Returns the lowest row at fault in the last call of this thread that failed; -1 if the fault is
 * of no row.
 */
int64_t gpuint_last_error_row(void);

/**
 * Returns the version of this library, as in `"0.1.0"`.
 */
const char *gpuint_version(void);

/**
 * Stores the narrowest width that is built and holds `bits` bits. A batch made for `bits`
 * bits has this width. The widths are those of `1`, of the first width plus 1, and so on.
 */
gpuint_status gpuint_width(size_t bits, size_t *width);

/**
 * Opens the first GPU, or the CPU where there is no GPU.
 *
 * After a fork, a child process computes on the CPU, also with batches of its parent. GPUs do
 * not survive a fork: calls on those of the parent return `GPUINT_STATUS_FORKED`, and so does
 * opening one if the parent has opened one.
 */
gpuint_status gpuint_device_first(gpuint_device **out);

/**
 * Opens the GPU of a number, with a queue of work of its own.
 */
gpuint_status gpuint_device_cuda(size_t ordinal, gpuint_device **out);

/**
 * Opens the CPU: operations run on all its cores, and end before the call returns.
 */
gpuint_status gpuint_device_cpu(gpuint_device **out);

/**
 * Opens another queue of the same GPU. Batches of both may be operands of one operation, which
 * is queued where its first operand is.
 */
gpuint_status gpuint_device_queue(const gpuint_device *device, gpuint_device **out);

/**
 * Makes a handle to the same device and queue for widths that are not built: a batch made on
 * it for `bits` bits has the narrowest multiple of 256 bits (above 262144 bits some are left
 * out). For a GPU, kernels of such a width are loaded from the disk, or compiled at their
 * first use by NVRTC in seconds. The CPU needs no kernels. Results of operations on its
 * batches are on handles of this kind, too.
 */
gpuint_status gpuint_device_with_jit(const gpuint_device *device, gpuint_device **out);

/**
 * Makes a handle to the same device and queue whose results are checked on the device: sums,
 * products, quotients and square roots by an equation of each row modulo 2^61 - 1, an eighth
 * of the rows of modular powers and all other results by a second computation. A row that
 * fails twice gives `GPUINT_STATUS_FAULTY_DEVICE`. Results of operations on its batches are on
 * handles of this kind, too.
 */
gpuint_status gpuint_device_verified(const gpuint_device *device, gpuint_device **out);

/**
 * Stores the name of the GPU, or `cpu`.
 */
gpuint_status gpuint_device_name(const gpuint_device *device,
                                 char *text,
                                 size_t size,
                                 size_t *length);

/**
 * Stores the kind of the device: `cuda` or `cpu`.
 */
gpuint_status gpuint_device_kind(const gpuint_device *device,
                                 char *text,
                                 size_t size,
                                 size_t *length);

/**
 * Waits for all work queued on the device.
 */
gpuint_status gpuint_device_synchronize(const gpuint_device *device);

/**
 * Waits for all work, and gives memory of the device that no batch uses back to the system.
 */
gpuint_status gpuint_device_trim(const gpuint_device *device);

/**
 * Stores the CUDA stream (`cudaStream_t`, `CUstream`) of the device's queue, which lives as
 * long as the handle. Work that the caller queues there runs after earlier calls and before
 * later ones.
 */
gpuint_status gpuint_device_stream(const gpuint_device *device, void **stream);

/**
 * Makes later work of the device wait for the work queued so far on a CUDA stream that exists.
 * NULL is the default stream. The call does not wait.
 */
gpuint_status gpuint_device_wait_for_stream(const gpuint_device *device, void *stream);

/**
 * Makes later work on a CUDA stream that exists wait for the work queued so far on the device.
 * NULL is the default stream. The call does not wait.
 */
gpuint_status gpuint_device_hold_stream(const gpuint_device *device, void *stream);

/**
 * Frees the handle. NULL is allowed. Its batches stay valid.
 */
gpuint_status gpuint_device_free(gpuint_device *device);

/**
 * Makes a batch for `bits` bits (see `gpuint_width`) of `rows` rows of `limbs_per_row` 64-bit
 * limbs: row after row, each least significant limb first. Rows that are longer than the
 * width must be zero beyond it, else `GPUINT_STATUS_TOO_WIDE`. `limbs` is free when the call
 * returns.
 */
gpuint_status gpuint_batch_from_limbs(const gpuint_device *device,
                                      size_t bits,
                                      const uint64_t *limbs,
                                      size_t rows,
                                      size_t limbs_per_row,
                                      gpuint_batch **out);

/**
 * Makes a batch of `rows` zeros for `bits` bits.
 */
gpuint_status gpuint_batch_zeros(const gpuint_device *device,
                                 size_t bits,
                                 size_t rows,
                                 gpuint_batch **out);

/**
 * Makes a batch of `rows` rows, all of one value, for `bits` bits.
 */
gpuint_status gpuint_batch_splat(const gpuint_device *device,
                                 size_t bits,
                                 const char *value,
                                 size_t rows,
                                 gpuint_batch **out);

/**
 * Makes a batch of `rows` probable primes of exactly `bits` bits from the randomness of the
 * operating system. With `safe`, `(p - 1) / 2` is a probable prime, too. If no prime is that
 * short, this is `GPUINT_STATUS_WIDTH_MISSING`.
 */
gpuint_status gpuint_batch_random_primes(const gpuint_device *device,
                                         size_t bits,
                                         size_t rows,
                                         bool safe,
                                         gpuint_batch **out);

/**
 * Makes a batch over `rows` rows at an address of a GPU, without a copy: row after row, each
 * least significant byte first, of exactly `bits` bits. The address must be a multiple of 16.
 *
 * The memory must stay allocated until `release(context)` is called, once, on any thread,
 * after the last use; `release` may be NULL. It is not called if this call fails. Other work
 * on the memory is put in order by `gpuint_device_wait_for_stream` before and
 * `gpuint_device_hold_stream` after the operations on the batch. No two batches may be over
 * the same bytes.
 */
gpuint_status gpuint_batch_from_device_ptr(const gpuint_device *device,
                                           size_t bits,
                                           size_t rows,
                                           uint64_t address,
                                           void (*release)(void*),
                                           void *context,
                                           gpuint_batch **out);

/**
 * Stores the address of the rows on the GPU: row after row, each least significant byte first.
 * They live as long as the batch. Do not write to them.
 */
gpuint_status gpuint_batch_device_ptr(const gpuint_batch *batch, uint64_t *address);

/**
 * Copies `rows` rows from `first` on to `limbs`, `limbs_per_row` 64-bit limbs a row: row
 * after row, each least significant limb first. Limbs beyond the width become zero. Values
 * that need more limbs are `GPUINT_STATUS_TOO_WIDE`; rows before it may have been written
 * then. Waits for the work that makes the rows.
 */
gpuint_status gpuint_batch_read_limbs(const gpuint_batch *batch,
                                      size_t first,
                                      size_t rows,
                                      uint64_t *limbs,
                                      size_t limbs_per_row);

/**
 * Stores the value of a row as text.
 */
gpuint_status gpuint_batch_row(const gpuint_batch *batch,
                               size_t row,
                               uint32_t base,
                               char *text,
                               size_t size,
                               size_t *length);

/**
 * Stores the number of rows.
 */
gpuint_status gpuint_batch_rows(const gpuint_batch *batch, size_t *rows);

/**
 * Stores the width of a row in bits.
 */
gpuint_status gpuint_batch_bits(const gpuint_batch *batch, size_t *bits);

/**
 * Stores the width of a digit in bits: see `gpuint_shifted_inverse`.
 */
gpuint_status gpuint_batch_digit_bits(const gpuint_batch *batch, size_t *bits);

/**
 * Copies a batch to a device, by way of the host.
 */
gpuint_status gpuint_batch_to(const gpuint_batch *batch,
                              const gpuint_device *device,
                              gpuint_batch **out);

/**
 * Returns the rows of `count` batches, one batch after the other.
 */
gpuint_status gpuint_concat(const gpuint_batch *const *parts, size_t count, gpuint_batch **out);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_batch_free(gpuint_batch *batch);

/**
 * Computes `a + b` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_add(const gpuint_batch *a, const gpuint_batch *b, gpuint_batch **sum);

/**
 * Computes `a - b` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_sub(const gpuint_batch *a,
                                  const gpuint_batch *b,
                                  gpuint_batch **difference);

/**
 * Computes `a * b` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_mul(const gpuint_batch *a,
                                  const gpuint_batch *b,
                                  gpuint_batch **product);

/**
 * Computes `a^2` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_square(const gpuint_batch *a, gpuint_batch **square);

/**
 * Computes `a * b` modulo `2^bits - 1`: 0 only where a factor is 0, else 1 to `2^bits - 1`.
 */
gpuint_status gpuint_cyclic_mul(const gpuint_batch *a,
                                const gpuint_batch *b,
                                gpuint_batch **product);

/**
 * Computes `a * b` modulo `2^bits + 1`, and a mask of the rows whose residue is `2^bits`,
 * which become 0.
 */
gpuint_status gpuint_negacyclic_mul(const gpuint_batch *a,
                                    const gpuint_batch *b,
                                    gpuint_batch **product,
                                    gpuint_mask **is_minus_one);

/**
 * Computes `a + value` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_add_all(const gpuint_batch *a, const char *value, gpuint_batch **sum);

/**
 * Computes `a - value` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_sub_all(const gpuint_batch *a,
                                      const char *value,
                                      gpuint_batch **difference);

/**
 * Computes `a * value` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_mul_all(const gpuint_batch *a,
                                      const char *value,
                                      gpuint_batch **product);

/**
 * Computes the sum of all rows modulo `2^bits`, as text; 0 for no rows.
 */
gpuint_status gpuint_wrapping_sum(const gpuint_batch *a,
                                  uint32_t base,
                                  char *text,
                                  size_t size,
                                  size_t *length);

/**
 * Computes the sum of the products of the rows modulo `2^bits`, as text; 0 for no rows.
 */
gpuint_status gpuint_wrapping_dot(const gpuint_batch *a,
                                  const gpuint_batch *b,
                                  uint32_t base,
                                  char *text,
                                  size_t size,
                                  size_t *length);

/**
 * Computes `c[0] + c[1] a + c[2] a^2 + ..` modulo `2^bits` with `count` coefficients, which
 * are numbers as text.
 */
gpuint_status gpuint_wrapping_polynomial(const gpuint_batch *a,
                                         const char *const *coefficients,
                                         size_t count,
                                         gpuint_batch **out);

/**
 * Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row modulo `2^bits`, of `count` pairs of
 * batches; at least one.
 */
gpuint_status gpuint_wrapping_sum_of_products(const gpuint_batch *const *a,
                                              const gpuint_batch *const *b,
                                              size_t count,
                                              gpuint_batch **sum);

/**
 * Computes `a[0] * b[0] + a[1] * b[1] + ..` for each row in rows of twice the width, which
 * must be built, and a mask of the rows that overflowed.
 */
gpuint_status gpuint_widening_sum_of_products(const gpuint_batch *const *a,
                                              const gpuint_batch *const *b,
                                              size_t count,
                                              gpuint_batch **sum,
                                              gpuint_mask **overflow);

/**
 * Computes `a * factor + summand` modulo `2^bits`.
 */
gpuint_status gpuint_mul_add(const gpuint_batch *a,
                             const gpuint_batch *factor,
                             const gpuint_batch *summand,
                             gpuint_batch **out);

/**
 * Computes `a * factor - subtrahend` modulo `2^bits`.
 */
gpuint_status gpuint_mul_sub(const gpuint_batch *a,
                             const gpuint_batch *factor,
                             const gpuint_batch *subtrahend,
                             gpuint_batch **out);

/**
 * Computes `a + b` modulo `2^bits`, and a mask of the rows that overflowed.
 */
gpuint_status gpuint_overflowing_add(const gpuint_batch *a,
                                     const gpuint_batch *b,
                                     gpuint_batch **sum,
                                     gpuint_mask **carry);

/**
 * Computes `a - b` modulo `2^bits`, and a mask of the rows with `a < b`.
 */
gpuint_status gpuint_overflowing_sub(const gpuint_batch *a,
                                     const gpuint_batch *b,
                                     gpuint_batch **difference,
                                     gpuint_mask **borrow);

/**
 * Computes `a * b = low + high * 2^bits`.
 */
gpuint_status gpuint_mul_lo_hi(const gpuint_batch *a,
                               const gpuint_batch *b,
                               gpuint_batch **low,
                               gpuint_batch **high);

/**
 * Computes `a * b` in rows of twice the width, which must be built.
 */
gpuint_status gpuint_widening_mul(const gpuint_batch *a,
                                  const gpuint_batch *b,
                                  gpuint_batch **product);

/**
 * Computes `a / b`, rounded down.
 */
gpuint_status gpuint_div(const gpuint_batch *a, const gpuint_batch *b, gpuint_batch **quotient);

/**
 * Computes `a mod b`.
 */
gpuint_status gpuint_rem(const gpuint_batch *a, const gpuint_batch *b, gpuint_batch **remainder);

/**
 * Computes `a / b` and `a mod b`, exactly for every nonzero divisor. The lowest row whose
 * divisor is zero is that of the error.
 */
gpuint_status gpuint_div_rem(const gpuint_batch *a,
                             const gpuint_batch *b,
                             gpuint_batch **quotient,
                             gpuint_batch **remainder);

/**
 * Computes `a / b`, `a mod b` and a mask of the rows whose divisor is zero. Such a row has the
 * quotient `2^bits - 1` and the remainder `a`.
 */
gpuint_status gpuint_div_rem_masked(const gpuint_batch *a,
                                    const gpuint_batch *b,
                                    gpuint_batch **quotient,
                                    gpuint_batch **remainder,
                                    gpuint_mask **zero);

/**
 * Computes `a / b` for rows that `b` divides. The quotients of other rows are unspecified.
 */
gpuint_status gpuint_div_exact(const gpuint_batch *a,
                               const gpuint_batch *b,
                               gpuint_batch **quotient);

/**
 * Computes `a / b` and a mask of the rows that `b` does not divide, which become 0.
 */
gpuint_status gpuint_div_exact_masked(const gpuint_batch *a,
                                      const gpuint_batch *b,
                                      gpuint_batch **quotient,
                                      gpuint_mask **inexact);

/**
 * Computes `a / divisor` by one divisor that divides all rows. The quotients of other rows are
 * unspecified.
 */
gpuint_status gpuint_div_exact_all(const gpuint_batch *a,
                                   const char *divisor,
                                   gpuint_batch **quotient);

/**
 * Computes `a / divisor` and `a mod divisor` by one divisor of all rows.
 */
gpuint_status gpuint_div_rem_all(const gpuint_batch *a,
                                 const char *divisor,
                                 gpuint_batch **quotient,
                                 gpuint_batch **remainder);

/**
 * Computes `a / divisor`, rounded down, by one divisor of all rows.
 */
gpuint_status gpuint_div_all(const gpuint_batch *a, const char *divisor, gpuint_batch **quotient);

/**
 * Computes `a mod divisor` by one divisor of all rows.
 */
gpuint_status gpuint_rem_all(const gpuint_batch *a, const char *divisor, gpuint_batch **remainder);

/**
 * Computes the quotient and the remainder of `a + 2^bits * high` by `b`. The quotient has rows
 * of twice the width.
 */
gpuint_status gpuint_div_rem_wide(const gpuint_batch *a,
                                  const gpuint_batch *high,
                                  const gpuint_batch *b,
                                  gpuint_batch **quotient,
                                  gpuint_batch **remainder);

/**
 * Computes the inverses modulo `2^bits`, and a mask of the even rows, which become 0.
 */
gpuint_status gpuint_inverse_mod_pow2(const gpuint_batch *a,
                                      gpuint_batch **inverse,
                                      gpuint_mask **even);

/**
 * Computes `a / divisor`, rounded down.
 */
gpuint_status gpuint_div_by(const gpuint_batch *a,
                            const gpuint_divisor *divisor,
                            gpuint_batch **quotient);

/**
 * Computes `a mod divisor`.
 */
gpuint_status gpuint_rem_by(const gpuint_batch *a,
                            const gpuint_divisor *divisor,
                            gpuint_batch **remainder);

/**
 * Computes `a / divisor` and `a mod divisor`.
 */
gpuint_status gpuint_div_rem_by(const gpuint_batch *a,
                                const gpuint_divisor *divisor,
                                gpuint_batch **quotient,
                                gpuint_batch **remainder);

/**
 * Computes `floor(2^(digit_bits * h) / a)`, exactly. A result that does not fit the width is
 * `GPUINT_STATUS_TOO_WIDE`.
 */
gpuint_status gpuint_shifted_inverse(const gpuint_batch *a, size_t h, gpuint_batch **inverse);

/**
 * Computes `a + b mod divisor` from the whole sum; the summands may exceed the divisor.
 */
gpuint_status gpuint_add_mod(const gpuint_batch *a,
                             const gpuint_batch *b,
                             const gpuint_divisor *divisor,
                             gpuint_batch **sum);

/**
 * Computes `a - b mod divisor`, from 0 to `divisor - 1`.
 */
gpuint_status gpuint_sub_mod(const gpuint_batch *a,
                             const gpuint_batch *b,
                             const gpuint_divisor *divisor,
                             gpuint_batch **difference);

/**
 * Computes `-a mod divisor`, from 0 to `divisor - 1`.
 */
gpuint_status gpuint_neg_mod(const gpuint_batch *a,
                             const gpuint_divisor *divisor,
                             gpuint_batch **negative);

/**
 * Computes `a * b mod divisor` from the whole product.
 */
gpuint_status gpuint_mul_mod(const gpuint_batch *a,
                             const gpuint_batch *b,
                             const gpuint_divisor *divisor,
                             gpuint_batch **product);

/**
 * Computes `a^2 mod divisor` from the whole square.
 */
gpuint_status gpuint_square_mod(const gpuint_batch *a,
                                const gpuint_divisor *divisor,
                                gpuint_batch **square);

/**
 * Computes `a^(2^count) mod divisor`: `count` squares one after the other.
 */
gpuint_status gpuint_square_mod_repeatedly(const gpuint_batch *a,
                                           size_t count,
                                           const gpuint_divisor *divisor,
                                           gpuint_batch **power);

/**
 * Computes `a^exponents mod divisor`, row by row. The exponents may have another width than
 * `a`. The time depends on the exponents: do not use it where they are secret.
 */
gpuint_status gpuint_pow_mod(const gpuint_batch *a,
                             const gpuint_batch *exponents,
                             const gpuint_divisor *divisor,
                             gpuint_batch **power);

/**
 * Computes `a^exponents mod divisor` with `count` exponents of any length, one for each row,
 * which are numbers as text.
 */
gpuint_status gpuint_pow_mod_rows(const gpuint_batch *a,
                                  const char *const *exponents,
                                  size_t count,
                                  const gpuint_divisor *divisor,
                                  gpuint_batch **power);

/**
 * Computes `a^exponent mod divisor`, with one exponent of any length for all rows.
 */
gpuint_status gpuint_pow_mod_all(const gpuint_batch *a,
                                 const char *exponent,
                                 const gpuint_divisor *divisor,
                                 gpuint_batch **power);

/**
 * Computes the product of the powers `a^exponents mod divisor` of each group of `bases`
 * consecutive rows. The exponents may have another width than `a`. The time depends on the
 * exponents: do not use it where they are secret.
 */
gpuint_status gpuint_pow_product_mod(const gpuint_batch *a,
                                     const gpuint_batch *exponents,
                                     size_t bases,
                                     const gpuint_divisor *divisor,
                                     gpuint_batch **product);

/**
 * Computes the same with `count` exponents of any length, one for each row of `a`, which are
 * numbers as text.
 */
gpuint_status gpuint_pow_product_mod_rows(const gpuint_batch *a,
                                          const char *const *exponents,
                                          size_t count,
                                          size_t bases,
                                          const gpuint_divisor *divisor,
                                          gpuint_batch **product);

/**
 * Computes the greatest common divisors; that of `a` and 0 is `a`.
 */
gpuint_status gpuint_gcd(const gpuint_batch *a, const gpuint_batch *b, gpuint_batch **gcd);

/**
 * Computes `gcd = a x - b y`, or `gcd = b y - a x` for the rows of the mask, with the least
 * `x` and `y`: at most `b / (2 gcd)` and `a / (2 gcd)`, but 0 and 1 if one of the rows is a
 * multiple of the other. For `a = b = 0` all are 0.
 */
gpuint_status gpuint_xgcd(const gpuint_batch *a,
                          const gpuint_batch *b,
                          gpuint_batch **gcd,
                          gpuint_batch **x,
                          gpuint_batch **y,
                          gpuint_mask **negative);

/**
 * Computes the least common multiples modulo `2^bits`, and a mask of the rows that overflowed.
 */
gpuint_status gpuint_overflowing_lcm(const gpuint_batch *a,
                                     const gpuint_batch *b,
                                     gpuint_batch **lcm,
                                     gpuint_mask **overflow);

/**
 * Computes the inverses modulo the rows of `moduli`, and a mask of the rows without one, which
 * become 0.
 */
gpuint_status gpuint_inverse_mod(const gpuint_batch *a,
                                 const gpuint_batch *moduli,
                                 gpuint_batch **inverse,
                                 gpuint_mask **without);

/**
 * Computes the inverses modulo one number, and a mask of the rows without one, which become 0.
 */
gpuint_status gpuint_inverse_mod_all(const gpuint_batch *a,
                                     const char *modulus,
                                     gpuint_batch **inverse,
                                     gpuint_mask **without);

/**
 * Computes `n / d = a` modulo the rows of `moduli`, with `|n|` at most the row of `numerators`
 * and `d` at most that of `denominators`; the mask of negative `n`, and that of the rows
 * without such a fraction, which become 0. Fractions are found if twice the product of both
 * bounds is below the modulus.
 */
gpuint_status gpuint_rational_reconstruction(const gpuint_batch *a,
                                             const gpuint_batch *moduli,
                                             const gpuint_batch *numerators,
                                             const gpuint_batch *denominators,
                                             gpuint_batch **n,
                                             gpuint_batch **d,
                                             gpuint_mask **negative,
                                             gpuint_mask **without);

/**
 * Computes the greatest common divisors of each row and the product of all other rows.
 */
gpuint_status gpuint_batch_gcd(const gpuint_batch *a, gpuint_batch **gcd);

/**
 * Computes the greatest common divisors of each row and the product of all other rows and of
 * `count` numbers of any length as text.
 */
gpuint_status gpuint_batch_gcd_against(const gpuint_batch *a,
                                       const char *const *others,
                                       size_t count,
                                       gpuint_batch **gcd);

/**
 * Computes the square roots, rounded down.
 */
gpuint_status gpuint_isqrt(const gpuint_batch *a, gpuint_batch **root);

/**
 * Computes the square roots, rounded down, and `a - root^2`.
 */
gpuint_status gpuint_isqrt_rem(const gpuint_batch *a,
                               gpuint_batch **root,
                               gpuint_batch **remainder);

/**
 * Returns a mask of the rows that are squares.
 */
gpuint_status gpuint_is_square(const gpuint_batch *a, gpuint_mask **mask);

/**
 * Computes `a^exponent` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_pow(const gpuint_batch *a, size_t exponent, gpuint_batch **power);

/**
 * Computes `a^exponent` modulo `2^bits`, and a mask of the rows that overflowed.
 */
gpuint_status gpuint_overflowing_pow(const gpuint_batch *a,
                                     size_t exponent,
                                     gpuint_batch **power,
                                     gpuint_mask **overflow);

/**
 * Computes the roots of degree `n`, rounded down.
 */
gpuint_status gpuint_nth_root(const gpuint_batch *a, size_t n, gpuint_batch **root);

/**
 * Computes the roots of degree `n`, rounded down, and `a - root^n`.
 */
gpuint_status gpuint_nth_root_rem(const gpuint_batch *a,
                                  size_t n,
                                  gpuint_batch **root,
                                  gpuint_batch **remainder);

/**
 * Computes the bases and the largest exponents with `a = base^exponent`. Rows that are
 * no perfect powers have the exponent 1, and the rows 0 and 1 have 0.
 */
gpuint_status gpuint_perfect_powers(const gpuint_batch *a,
                                    gpuint_batch **base,
                                    uint64_t *exponents,
                                    size_t rows);

/**
 * Returns a mask of the rows that are perfect powers.
 */
gpuint_status gpuint_is_perfect_power(const gpuint_batch *a, gpuint_mask **mask);

/**
 * Computes the Jacobi symbols over the rows of `moduli`: -1, 0 or 1; 0 for even moduli.
 */
gpuint_status gpuint_jacobi(const gpuint_batch *a,
                            const gpuint_batch *moduli,
                            int8_t *symbols,
                            size_t rows);

/**
 * Returns a mask of the strong probable primes to a base, a number as text of any length. 2
 * passes; 0, 1 and other even rows do not; a base that is 0 modulo an odd row lets it pass.
 */
gpuint_status gpuint_is_strong_probable_prime(const gpuint_batch *a,
                                              const char *base,
                                              gpuint_mask **mask);

/**
 * Returns a mask of the strong probable primes, with a base for each row.
 */
gpuint_status gpuint_is_strong_probable_prime_rows(const gpuint_batch *a,
                                                   const gpuint_batch *bases,
                                                   gpuint_mask **mask);

/**
 * Returns a mask of the strong probable primes to each of `count` bases, which are numbers as
 * text.
 */
gpuint_status gpuint_is_strong_probable_prime_bases(const gpuint_batch *a,
                                                    const char *const *bases,
                                                    size_t count,
                                                    gpuint_mask **mask);

/**
 * Returns a mask of the strong Lucas probable primes with Selfridge's parameters.
 */
gpuint_status gpuint_is_strong_lucas_probable_prime(const gpuint_batch *a, gpuint_mask **mask);

/**
 * Returns a mask of the extra strong Lucas probable primes.
 */
gpuint_status gpuint_is_extra_strong_lucas_probable_prime(const gpuint_batch *a,
                                                          gpuint_mask **mask);

/**
 * Returns a mask of the rows that pass the test of Baillie, Pomerance, Selfridge and Wagstaff:
 * the primes below 2^64, and above it the primes and no known composite number.
 */
gpuint_status gpuint_is_probable_prime(const gpuint_batch *a, gpuint_mask **mask);

/**
 * Returns a mask of the rows that have a prime factor up to `limit`, of at most 20 bits, other
 * than the row itself; 0 has.
 */
gpuint_status gpuint_has_small_factor(const gpuint_batch *a, size_t limit, gpuint_mask **mask);

/**
 * Computes the least probable primes above the rows, and a mask of the rows above which there
 * is none in the width; their result is 0.
 */
gpuint_status gpuint_next_prime(const gpuint_batch *a, gpuint_batch **prime, gpuint_mask **without);

/**
 * Computes `base^(a - 1) mod a`, and stores the lowest 64 bits of each residue (RES64). Rows
 * that are 0 or 1 have the residue 0.
 */
gpuint_status gpuint_fermat_residues(const gpuint_batch *a,
                                     const char *base,
                                     gpuint_batch **residues,
                                     uint64_t *words,
                                     size_t rows);

/**
 * Computes the bitwise AND.
 */
gpuint_status gpuint_and(const gpuint_batch *a, const gpuint_batch *b, gpuint_batch **out);

/**
 * Computes the bitwise OR.
 */
gpuint_status gpuint_or(const gpuint_batch *a, const gpuint_batch *b, gpuint_batch **out);

/**
 * Computes the bitwise exclusive OR.
 */
gpuint_status gpuint_xor(const gpuint_batch *a, const gpuint_batch *b, gpuint_batch **out);

/**
 * Computes the bitwise complement, `2^bits - 1 - a`.
 */
gpuint_status gpuint_not(const gpuint_batch *a, gpuint_batch **out);

/**
 * Computes the bitwise AND with one value.
 */
gpuint_status gpuint_and_all(const gpuint_batch *a, const char *value, gpuint_batch **out);

/**
 * Computes the bitwise OR with one value.
 */
gpuint_status gpuint_or_all(const gpuint_batch *a, const char *value, gpuint_batch **out);

/**
 * Computes the bitwise exclusive OR with one value.
 */
gpuint_status gpuint_xor_all(const gpuint_batch *a, const char *value, gpuint_batch **out);

/**
 * Computes `a mod 2^bits` for any number of bits.
 */
gpuint_status gpuint_low_bits(const gpuint_batch *a, size_t bits, gpuint_batch **out);

/**
 * Returns the rows with a bit set.
 */
gpuint_status gpuint_with_bit(const gpuint_batch *a, size_t bit, gpuint_batch **out);

/**
 * Returns the rows with a bit cleared.
 */
gpuint_status gpuint_without_bit(const gpuint_batch *a, size_t bit, gpuint_batch **out);

/**
 * Returns a mask of the rows in which a bit is set.
 */
gpuint_status gpuint_bit_mask(const gpuint_batch *a, size_t bit, gpuint_mask **mask);

/**
 * Stores the number of bits of each row without leading zeros.
 */
gpuint_status gpuint_bit_lengths(const gpuint_batch *a, uint64_t *lengths, size_t rows);

/**
 * Stores the number of ones of each row.
 */
gpuint_status gpuint_count_ones(const gpuint_batch *a, uint64_t *counts, size_t rows);

/**
 * Stores the number of zeros below the lowest one of each row: the width for zero.
 */
gpuint_status gpuint_trailing_zeros(const gpuint_batch *a, uint64_t *counts, size_t rows);

/**
 * Stores the number of zeros above the highest one of each row: the width for zero.
 */
gpuint_status gpuint_leading_zeros(const gpuint_batch *a, uint64_t *counts, size_t rows);

/**
 * Returns a mask of the rows that are zero.
 */
gpuint_status gpuint_is_zero_mask(const gpuint_batch *a, gpuint_mask **mask);

/**
 * Computes `a * 2^bits` modulo the width, for any distance.
 */
gpuint_status gpuint_shl(const gpuint_batch *a, size_t bits, gpuint_batch **out);

/**
 * Computes `a / 2^bits`, rounded down, for any distance.
 */
gpuint_status gpuint_shr(const gpuint_batch *a, size_t bits, gpuint_batch **out);

/**
 * Computes `a * 2^(digit_bits * digits)` modulo the width, for any distance.
 */
gpuint_status gpuint_shl_digits(const gpuint_batch *a, size_t digits, gpuint_batch **out);

/**
 * Computes `a / 2^(digit_bits * digits)`, rounded down, for any distance.
 */
gpuint_status gpuint_shr_digits(const gpuint_batch *a, size_t digits, gpuint_batch **out);

/**
 * Computes `a * 2^bits[row]` modulo the width, row by row.
 */
gpuint_status gpuint_shl_rows(const gpuint_batch *a,
                              const size_t *bits,
                              size_t rows,
                              gpuint_batch **out);

/**
 * Computes `a / 2^bits[row]`, rounded down, row by row.
 */
gpuint_status gpuint_shr_rows(const gpuint_batch *a,
                              const size_t *bits,
                              size_t rows,
                              gpuint_batch **out);

/**
 * Rotates the bits of each row to the left, for any distance.
 */
gpuint_status gpuint_rotate_left(const gpuint_batch *a, size_t bits, gpuint_batch **out);

/**
 * Rotates the bits of each row to the right, for any distance.
 */
gpuint_status gpuint_rotate_right(const gpuint_batch *a, size_t bits, gpuint_batch **out);

/**
 * Rotates the bits of each row to the left by `bits[row]`.
 */
gpuint_status gpuint_rotate_left_rows(const gpuint_batch *a,
                                      const size_t *bits,
                                      size_t rows,
                                      gpuint_batch **out);

/**
 * Rotates the bits of each row to the right by `bits[row]`.
 */
gpuint_status gpuint_rotate_right_rows(const gpuint_batch *a,
                                       const size_t *bits,
                                       size_t rows,
                                       gpuint_batch **out);

/**
 * Compares row by row: stores -1 where `a < b`, 0 where they are equal, 1 where `a > b`.
 */
gpuint_status gpuint_cmp(const gpuint_batch *a, const gpuint_batch *b, int8_t *orders, size_t rows);

/**
 * Compares each row with one value, as `gpuint_cmp` does.
 */
gpuint_status gpuint_cmp_all(const gpuint_batch *a, const char *value, int8_t *orders, size_t rows);

/**
 * Returns a mask of the rows with `a = b`.
 */
gpuint_status gpuint_eq_mask(const gpuint_batch *a, const gpuint_batch *b, gpuint_mask **mask);

/**
 * Returns a mask of the rows with `a < b`.
 */
gpuint_status gpuint_lt_mask(const gpuint_batch *a, const gpuint_batch *b, gpuint_mask **mask);

/**
 * Returns a mask of the rows with `a = value`.
 */
gpuint_status gpuint_eq_mask_all(const gpuint_batch *a, const char *value, gpuint_mask **mask);

/**
 * Returns a mask of the rows with `a < value`.
 */
gpuint_status gpuint_lt_mask_all(const gpuint_batch *a, const char *value, gpuint_mask **mask);

/**
 * Stores true if both batches have the same number of rows and the same values.
 */
gpuint_status gpuint_is_equal(const gpuint_batch *a, const gpuint_batch *b, bool *equal);

/**
 * Returns the rows from `start` to `stop - 1`.
 */
gpuint_status gpuint_slice(const gpuint_batch *a, size_t start, size_t stop, gpuint_batch **out);

/**
 * Returns the rows with these indices, in this order; indices may repeat.
 */
gpuint_status gpuint_gather(const gpuint_batch *a,
                            const size_t *indices,
                            size_t count,
                            gpuint_batch **out);

/**
 * Returns the rows in reverse order.
 */
gpuint_status gpuint_reverse(const gpuint_batch *a, gpuint_batch **out);

/**
 * Returns the rows whose bit in the mask is set, in order.
 */
gpuint_status gpuint_filter(const gpuint_batch *a, const gpuint_mask *mask, gpuint_batch **out);

/**
 * Returns the rows of `a` whose bit in the mask is set, and the rows of `b` elsewhere.
 */
gpuint_status gpuint_select(const gpuint_batch *a,
                            const gpuint_mask *mask,
                            const gpuint_batch *b,
                            gpuint_batch **out);

/**
 * Returns both batches with the rows exchanged whose bit in the mask is set.
 */
gpuint_status gpuint_swap(const gpuint_batch *a,
                          const gpuint_mask *mask,
                          const gpuint_batch *b,
                          gpuint_batch **first,
                          gpuint_batch **second);

/**
 * Returns the rows in ascending order of their values.
 */
gpuint_status gpuint_sort(const gpuint_batch *a, gpuint_batch **out);

/**
 * Stores the indices of the rows in ascending order of their values; equal rows keep their
 * order.
 */
gpuint_status gpuint_sort_indices(const gpuint_batch *a, size_t *indices, size_t rows);

/**
 * Returns the different values, each once, in ascending order.
 */
gpuint_status gpuint_unique(const gpuint_batch *a, gpuint_batch **out);

/**
 * Returns the values in rows for `bits` bits (see `gpuint_width`, `gpuint_device_with_jit`). A
 * value that does not fit is `GPUINT_STATUS_TOO_WIDE` with its row.
 */
gpuint_status gpuint_resized(const gpuint_batch *a, size_t bits, gpuint_batch **out);

/**
 * Returns rows of twice the width: `low + high * 2^bits`.
 */
gpuint_status gpuint_join(const gpuint_batch *low, const gpuint_batch *high, gpuint_batch **out);

/**
 * Returns the low and high halves of the rows, in rows of half the width.
 */
gpuint_status gpuint_split(const gpuint_batch *a, gpuint_batch **low, gpuint_batch **high);

/**
 * Makes a mask of one byte a row: the bit is set unless the byte is 0.
 */
gpuint_status gpuint_mask_from_bytes(const gpuint_device *device,
                                     const uint8_t *bytes,
                                     size_t rows,
                                     gpuint_mask **out);

/**
 * Stores one byte a row: 0 or 1.
 */
gpuint_status gpuint_mask_to_bytes(const gpuint_mask *mask, uint8_t *bytes, size_t rows);

/**
 * Stores the number of rows.
 */
gpuint_status gpuint_mask_rows(const gpuint_mask *mask, size_t *rows);

/**
 * Stores the number of rows whose bit is set.
 */
gpuint_status gpuint_mask_count(const gpuint_mask *mask, size_t *count);

/**
 * Stores true if the bit of at least one row is set.
 */
gpuint_status gpuint_mask_any(const gpuint_mask *mask, bool *any);

/**
 * Stores the indices of the rows whose bit is set, in ascending order: as many as
 * `gpuint_mask_count` stores.
 */
gpuint_status gpuint_mask_indices(const gpuint_mask *mask, size_t *indices, size_t count);

/**
 * Returns the rows that are set in both masks.
 */
gpuint_status gpuint_mask_and(const gpuint_mask *a, const gpuint_mask *b, gpuint_mask **out);

/**
 * Returns the rows that are set in either mask.
 */
gpuint_status gpuint_mask_or(const gpuint_mask *a, const gpuint_mask *b, gpuint_mask **out);

/**
 * Returns the rows that are set in exactly one of the masks.
 */
gpuint_status gpuint_mask_xor(const gpuint_mask *a, const gpuint_mask *b, gpuint_mask **out);

/**
 * Returns the rows that are not set.
 */
gpuint_status gpuint_mask_not(const gpuint_mask *a, gpuint_mask **out);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_mask_free(gpuint_mask *mask);

/**
 * Prepares one divisor for all rows of batches for `bits` bits.
 */
gpuint_status gpuint_divisor_splat(const gpuint_device *device,
                                   size_t bits,
                                   const char *divisor,
                                   gpuint_divisor **out);

/**
 * Prepares the rows of a batch, each as the divisor of the same row.
 */
gpuint_status gpuint_prepare(const gpuint_batch *divisors, gpuint_divisor **out);

/**
 * Prepares the rows of a batch, and stores a mask of the rows that are zero, which are
 * prepared as 1.
 */
gpuint_status gpuint_prepare_masked(const gpuint_batch *divisors,
                                    gpuint_divisor **out,
                                    gpuint_mask **zero);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_divisor_free(gpuint_divisor *divisor);

/**
 * Prepares one factor for all rows of batches for `bits` bits.
 */
gpuint_status gpuint_factor_splat(const gpuint_device *device,
                                  size_t bits,
                                  const char *factor,
                                  gpuint_factor **out);

/**
 * Prepares the rows of a batch, each as the factor of the same row.
 */
gpuint_status gpuint_factor_of_rows(const gpuint_batch *factors, gpuint_factor **out);

/**
 * Computes `a * factor` modulo `2^bits`.
 */
gpuint_status gpuint_wrapping_mul_by(const gpuint_batch *a,
                                     const gpuint_factor *factor,
                                     gpuint_batch **product);

/**
 * Computes both halves of `a * factor`.
 */
gpuint_status gpuint_mul_lo_hi_by(const gpuint_batch *a,
                                  const gpuint_factor *factor,
                                  gpuint_batch **low,
                                  gpuint_batch **high);

/**
 * Computes `a * factor` modulo `2^bits - 1`: 0 only where a factor is 0.
 */
gpuint_status gpuint_cyclic_mul_by(const gpuint_batch *a,
                                   const gpuint_factor *factor,
                                   gpuint_batch **product);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_factor_free(gpuint_factor *factor);

/**
 * Prepares one modulus for all rows of batches for `bits` bits.
 */
gpuint_status gpuint_modulus_splat(const gpuint_device *device,
                                   size_t bits,
                                   const char *modulus,
                                   gpuint_modulus **out);

/**
 * Prepares the rows of a batch, each as the modulus of the same row of residues.
 */
gpuint_status gpuint_modulus_of_rows(const gpuint_batch *moduli, gpuint_modulus **out);

/**
 * Prepares `rows` moduli `k * 2^n + c`, each as the modulus of the same row of residues of
 * batches for `bits` bits. With small `k` and `c`, a product of residues is one product and a
 * fold in linear time.
 */
gpuint_status gpuint_modulus_of_special(const gpuint_device *device,
                                        size_t bits,
                                        const uint32_t *k,
                                        const uint32_t *n,
                                        const int32_t *c,
                                        size_t rows,
                                        gpuint_modulus **out);

/**
 * Prepares `rows` moduli `k * base^n + c`; otherwise as `gpuint_modulus_of_special`. Folds
 * reduce modulo numbers of base 2 only.
 */
gpuint_status gpuint_modulus_of_special_base(const gpuint_device *device,
                                             size_t bits,
                                             const uint32_t *k,
                                             const uint32_t *base,
                                             const uint32_t *n,
                                             const int32_t *c,
                                             size_t rows,
                                             gpuint_modulus **out);

/**
 * Prepares the modulus `k * 2^n + c` for all rows; otherwise as `gpuint_modulus_of_special`.
 */
gpuint_status gpuint_modulus_splat_special(const gpuint_device *device,
                                           size_t bits,
                                           uint32_t k,
                                           uint32_t n,
                                           int32_t c,
                                           gpuint_modulus **out);

/**
 * Stores true and the parts of a number `k * 2^n + c` with odd `k < 2^31`, `n >= 128` and
 * `0 < |c| <= 2^13`, and false and zeros for other numbers.
 */
gpuint_status gpuint_special_modulus_recognize(const char *number,
                                               bool *is_special,
                                               uint32_t *k,
                                               uint32_t *n,
                                               int32_t *c);

/**
 * Stores true if products of residues are reduced in linear time.
 */
gpuint_status gpuint_modulus_is_special(const gpuint_modulus *modulus, bool *is_special);

/**
 * Frees the handle. NULL is allowed. Its residues stay valid.
 */
gpuint_status gpuint_modulus_free(gpuint_modulus *modulus);

/**
 * Makes residues of values.
 */
gpuint_status gpuint_residues_of_batch(const gpuint_batch *values,
                                       const gpuint_modulus *modulus,
                                       gpuint_residues **out);

/**
 * Makes `rows` residues, all of one value.
 */
gpuint_status gpuint_residues_splat(const char *value,
                                    size_t rows,
                                    const gpuint_modulus *modulus,
                                    gpuint_residues **out);

/**
 * Stores the number of rows.
 */
gpuint_status gpuint_residues_rows(const gpuint_residues *a, size_t *rows);

/**
 * Converts the residues to numbers from 0 to `modulus - 1`.
 */
gpuint_status gpuint_residues_to_batch(const gpuint_residues *a, gpuint_batch **out);

/**
 * Computes `a + b`.
 */
gpuint_status gpuint_residues_add(const gpuint_residues *a,
                                  const gpuint_residues *b,
                                  gpuint_residues **sum);

/**
 * Computes `a - b`.
 */
gpuint_status gpuint_residues_sub(const gpuint_residues *a,
                                  const gpuint_residues *b,
                                  gpuint_residues **difference);

/**
 * Computes `-a`.
 */
gpuint_status gpuint_residues_neg(const gpuint_residues *a, gpuint_residues **out);

/**
 * Computes `2 * a`.
 */
gpuint_status gpuint_residues_double(const gpuint_residues *a, gpuint_residues **out);

/**
 * Computes `a / 2`, the residue whose double is `a`. The moduli must be odd.
 */
gpuint_status gpuint_residues_halve(const gpuint_residues *a, gpuint_residues **out);

/**
 * Computes `a * b`.
 */
gpuint_status gpuint_residues_mul(const gpuint_residues *a,
                                  const gpuint_residues *b,
                                  gpuint_residues **product);

/**
 * Computes `a^2`.
 */
gpuint_status gpuint_residues_square(const gpuint_residues *a, gpuint_residues **square);

/**
 * Computes `a^(2^count)`: `count` squares one after the other.
 */
gpuint_status gpuint_residues_square_repeatedly(const gpuint_residues *a,
                                                size_t count,
                                                gpuint_residues **power);

/**
 * Computes `base^exponents`, an exponent for each row. Modulo wide special moduli, a bit of
 * the exponents takes one square; the base then costs nothing.
 */
gpuint_status gpuint_residues_powers_of(uint32_t base,
                                        const gpuint_batch *exponents,
                                        const gpuint_modulus *modulus,
                                        gpuint_residues **power);

/**
 * Computes `a^exponents`, row by row. The exponents may have another width than `a`.
 */
gpuint_status gpuint_residues_pow(const gpuint_residues *a,
                                  const gpuint_batch *exponents,
                                  gpuint_residues **power);

/**
 * Computes `a^exponents` with `count` exponents of any length, one for each row, which are
 * numbers as text.
 */
gpuint_status gpuint_residues_pow_rows(const gpuint_residues *a,
                                       const char *const *exponents,
                                       size_t count,
                                       gpuint_residues **power);

/**
 * Computes `a^exponent`, with one exponent of any length for all rows.
 */
gpuint_status gpuint_residues_pow_all(const gpuint_residues *a,
                                      const char *exponent,
                                      gpuint_residues **power);

/**
 * Returns a mask of the rows with `a = b`.
 */
gpuint_status gpuint_residues_eq_mask(const gpuint_residues *a,
                                      const gpuint_residues *b,
                                      gpuint_mask **mask);

/**
 * Returns a mask of the rows that are 0.
 */
gpuint_status gpuint_residues_is_zero_mask(const gpuint_residues *a, gpuint_mask **mask);

/**
 * Returns the rows of `a` whose bit in the mask is set, and the rows of `b` elsewhere.
 */
gpuint_status gpuint_residues_select(const gpuint_residues *a,
                                     const gpuint_mask *mask,
                                     const gpuint_residues *b,
                                     gpuint_residues **out);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_residues_free(gpuint_residues *residues);

/**
 * Prepares the powers of `base` modulo `modulus`, both of at most `bits` bits, for exponents
 * below `2^exponent_bits`.
 */
gpuint_status gpuint_fixed_base_new(const gpuint_device *device,
                                    size_t bits,
                                    const char *base,
                                    const char *modulus,
                                    size_t exponent_bits,
                                    gpuint_fixed_base **out);

/**
 * Computes the powers by the rows of a batch of any width.
 */
gpuint_status gpuint_fixed_base_pow(const gpuint_fixed_base *base,
                                    const gpuint_batch *exponents,
                                    gpuint_batch **power);

/**
 * Computes the powers by `count` numbers, which are texts.
 */
gpuint_status gpuint_fixed_base_pow_rows(const gpuint_fixed_base *base,
                                         const char *const *exponents,
                                         size_t count,
                                         gpuint_batch **power);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_fixed_base_free(gpuint_fixed_base *base);

/**
 * Makes secret rows for `bits` bits, a multiple of 1024 up to 8192: `size` bytes, the rows one
 * after the other, each as wide as `gpuint_width` says and least significant byte first.
 * Overwrite `bytes` after the call.
 *
 * Powers and products of secret operands take the same instructions, branches and addresses
 * for all values of one width and length. SECURITY.md lists what that covers. Numbers of rows,
 * widths, and lengths of exponents are public. An operand that is made by a `_splat` function
 * has one row, which stands for all rows.
 */
gpuint_status gpuint_secret_from_le_bytes(const gpuint_device *device,
                                          size_t bits,
                                          const uint8_t *bytes,
                                          size_t size,
                                          gpuint_secret **out);

/**
 * Writes the bytes of the rows, in the order of `gpuint_secret_from_le_bytes`. `size` is the
 * number of all bytes.
 */
gpuint_status gpuint_secret_to_le_bytes(const gpuint_secret *secret, uint8_t *bytes, size_t size);

/**
 * Copies the rows to a batch that is not secret.
 */
gpuint_status gpuint_secret_reveal(const gpuint_secret *secret, gpuint_batch **out);

/**
 * Stores the number of rows.
 */
gpuint_status gpuint_secret_rows(const gpuint_secret *secret, size_t *rows);

/**
 * Stores the width of the rows in bits.
 */
gpuint_status gpuint_secret_bits(const gpuint_secret *secret, size_t *bits);

/**
 * Returns a mask of the rows that are 0. The mask is not secret.
 */
gpuint_status gpuint_secret_is_zero_mask(const gpuint_secret *secret, gpuint_mask **mask);

/**
 * Computes `secret^exponents mod modulus`, row by row. Rows may exceed the moduli.
 */
gpuint_status gpuint_secret_pow_secret(const gpuint_secret *secret,
                                       const gpuint_secret_exponents *exponents,
                                       const gpuint_secret_modulus *modulus,
                                       gpuint_secret **power);

/**
 * Computes `secret * factor + addend`, row by row, modulo the moduli of the factor. `addend`
 * has one row for each row, or one row for all rows. All may exceed the moduli.
 */
gpuint_status gpuint_secret_mul_add_secret(const gpuint_secret *secret,
                                           const gpuint_secret_factor *factor,
                                           const gpuint_secret *addend,
                                           gpuint_secret **sum);

/**
 * Computes `a^exponents mod modulus` as `gpuint_secret_pow_secret`, of rows that are not
 * secret.
 */
gpuint_status gpuint_pow_secret(const gpuint_batch *a,
                                const gpuint_secret_exponents *exponents,
                                const gpuint_secret_modulus *modulus,
                                gpuint_secret **power);

/**
 * Computes `a * factor + addend` as `gpuint_secret_mul_add_secret`, of rows that are not
 * secret.
 */
gpuint_status gpuint_mul_add_secret(const gpuint_batch *a,
                                    const gpuint_secret_factor *factor,
                                    const gpuint_secret *addend,
                                    gpuint_secret **sum);

/**
 * Overwrites the rows and frees the handle. NULL is allowed.
 */
gpuint_status gpuint_secret_free(gpuint_secret *secret);

/**
 * Makes exponents of at most `length` bits, one a row, of bytes as
 * `gpuint_secret_from_le_bytes`. The length is public, and the time grows with it. A longer
 * exponent is GPUINT_STATUS_TOO_WIDE.
 */
gpuint_status gpuint_secret_exponents_of_rows(const gpuint_device *device,
                                              size_t bits,
                                              size_t length,
                                              const uint8_t *bytes,
                                              size_t size,
                                              gpuint_secret_exponents **out);

/**
 * Makes one exponent for all rows; otherwise as `gpuint_secret_exponents_of_rows`.
 */
gpuint_status gpuint_secret_exponents_splat(const gpuint_device *device,
                                            size_t bits,
                                            size_t length,
                                            const uint8_t *bytes,
                                            size_t size,
                                            gpuint_secret_exponents **out);

/**
 * Overwrites the exponents and frees the handle. NULL is allowed.
 */
gpuint_status gpuint_secret_exponents_free(gpuint_secret_exponents *exponents);

/**
 * Prepares odd moduli, one a row, of bytes as `gpuint_secret_from_le_bytes`.
 */
gpuint_status gpuint_secret_modulus_of_rows(const gpuint_device *device,
                                            size_t bits,
                                            const uint8_t *bytes,
                                            size_t size,
                                            gpuint_secret_modulus **out);

/**
 * Prepares one odd modulus for all rows.
 */
gpuint_status gpuint_secret_modulus_splat(const gpuint_device *device,
                                          size_t bits,
                                          const uint8_t *bytes,
                                          size_t size,
                                          gpuint_secret_modulus **out);

/**
 * Overwrites the moduli and frees the handle. NULL is allowed.
 */
gpuint_status gpuint_secret_modulus_free(gpuint_secret_modulus *modulus);

/**
 * Prepares factors and their odd moduli, one of both a row: `size` bytes each, as
 * `gpuint_secret_from_le_bytes`. Factors may exceed their moduli.
 */
gpuint_status gpuint_secret_factor_of_rows(const gpuint_device *device,
                                           size_t bits,
                                           const uint8_t *factors,
                                           const uint8_t *moduli,
                                           size_t size,
                                           gpuint_secret_factor **out);

/**
 * Prepares one factor and its odd modulus for all rows.
 */
gpuint_status gpuint_secret_factor_splat(const gpuint_device *device,
                                         size_t bits,
                                         const uint8_t *factors,
                                         const uint8_t *moduli,
                                         size_t size,
                                         gpuint_secret_factor **out);

/**
 * Overwrites the factors and moduli and frees the handle. NULL is allowed.
 */
gpuint_status gpuint_secret_factor_free(gpuint_secret_factor *factor);

/**
 * Stores the primes from `first` on and below `end`, in ascending order, and their number:
 * at most `capacity`. If more are left, a call whose `first` exceeds the last prime goes on.
 */
gpuint_status gpuint_primes(uint64_t first,
                            uint64_t end,
                            uint64_t *primes,
                            size_t capacity,
                            size_t *count);

/**
 * Stores the smallest prime factor below `limit` of each of `count` numbers, which are texts,
 * and 0 where there is none. A prime is no factor of itself, and 0 has the factor 2. The time
 * of a number is proportional to its length and to the number of primes below `limit`.
 */
gpuint_status gpuint_smallest_factors(const char *const *values,
                                      size_t count,
                                      uint32_t limit,
                                      uint64_t *factors,
                                      size_t rows);

/**
 * Stores the smallest prime factor below `limit` of `k * a + c` for each k of the `count`
 * numbers `terms`, and 0 where there is none. A prime is no factor of itself, and 0 has the
 * factor 2.
 */
gpuint_status gpuint_progression_smallest_factors(const char *a,
                                                  const char *c,
                                                  const uint64_t *terms,
                                                  size_t count,
                                                  uint64_t limit,
                                                  uint64_t *factors,
                                                  size_t rows);

/**
 * As `gpuint_progression_smallest_factors`, of `k * base^exponent + c`. The power is not
 * computed.
 */
gpuint_status gpuint_progression_of_power_smallest_factors(uint64_t base,
                                                           uint64_t exponent,
                                                           const char *c,
                                                           const uint64_t *terms,
                                                           size_t count,
                                                           uint64_t limit,
                                                           uint64_t *factors,
                                                           size_t rows);

/**
 * Stores the smallest prime factor below `limit` of `k * base^n + c` for each n of the
 * `count` numbers `exponents`, and 0 where there is none. A prime is no factor of itself, and
 * 0 has the factor 2.
 */
gpuint_status gpuint_exponents_smallest_factors(uint64_t k,
                                                uint64_t base,
                                                const char *c,
                                                const uint64_t *exponents,
                                                size_t count,
                                                uint64_t limit,
                                                uint64_t *factors,
                                                size_t rows);

/**
 * Makes the family of the numbers `first + i * step`, for i = 0, 1, 2, ..: `k * base^n + c`
 * with different k, or offsets around a multiple of a primorial.
 */
gpuint_status gpuint_family_terms(const char *first, const char *step, gpuint_family **out);

/**
 * Makes the family of the numbers `k * base^n + c` for the exponents `n = first + i`.
 * Exponents above `2^64 - 1` have no number, and their index survives.
 */
gpuint_status gpuint_family_powers(uint64_t k,
                                   uint64_t base,
                                   uint64_t first,
                                   const char *c,
                                   gpuint_family **out);

/**
 * Makes the family of the numbers at a distance from those of another one.
 */
gpuint_status gpuint_family_shifted(const gpuint_family *family,
                                    const char *distance,
                                    gpuint_family **out);

/**
 * Returns a mask of the indices below `rows` at which no number of `count` families has a
 * prime factor below `limit`. A prime is no factor of itself: 7 survives, and -7 does not. 0
 * has the factor 2; 1 and -1 survive. A GPU strikes terms by the primes below 2^32; the
 * threads of the CPU strike powers, and terms by larger primes.
 */
gpuint_status gpuint_constellation_survivors(const gpuint_family *const *families,
                                             size_t count,
                                             const gpuint_device *device,
                                             size_t rows,
                                             uint64_t limit,
                                             gpuint_mask **mask);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_family_free(gpuint_family *family);

/**
 * Makes signed integers of magnitudes and a mask of the rows that are negative. Zeros lose
 * their sign.
 */
gpuint_status gpuint_signed_of_parts(const gpuint_batch *magnitude,
                                     const gpuint_mask *negative,
                                     gpuint_signed **out);

/**
 * Returns the magnitudes and a mask of the rows that are negative.
 */
gpuint_status gpuint_signed_parts(const gpuint_signed *a,
                                  gpuint_batch **magnitude,
                                  gpuint_mask **negative);

/**
 * Stores the number of rows.
 */
gpuint_status gpuint_signed_rows(const gpuint_signed *a, size_t *rows);

/**
 * Computes `a + b` with the magnitude modulo `2^bits`, and a mask of the rows that overflowed.
 */
gpuint_status gpuint_signed_overflowing_add(const gpuint_signed *a,
                                            const gpuint_signed *b,
                                            gpuint_signed **sum,
                                            gpuint_mask **overflow);

/**
 * Computes `a - b` with the magnitude modulo `2^bits`, and a mask of the rows that overflowed.
 */
gpuint_status gpuint_signed_overflowing_sub(const gpuint_signed *a,
                                            const gpuint_signed *b,
                                            gpuint_signed **difference,
                                            gpuint_mask **overflow);

/**
 * Computes `a * b` with the magnitude modulo `2^bits`, and a mask of the rows that overflowed.
 */
gpuint_status gpuint_signed_overflowing_mul(const gpuint_signed *a,
                                            const gpuint_signed *b,
                                            gpuint_signed **product,
                                            gpuint_mask **overflow);

/**
 * Computes `a * b` in rows of twice the width, which must be built.
 */
gpuint_status gpuint_signed_widening_mul(const gpuint_signed *a,
                                         const gpuint_signed *b,
                                         gpuint_signed **product);

/**
 * Computes `-a`.
 */
gpuint_status gpuint_signed_neg(const gpuint_signed *a, gpuint_signed **negative);

/**
 * Computes `a / b` rounded to zero, and the remainder, which has the sign of `a`.
 */
gpuint_status gpuint_signed_div_rem(const gpuint_signed *a,
                                    const gpuint_signed *b,
                                    gpuint_signed **quotient,
                                    gpuint_signed **remainder);

/**
 * Computes `a / b` rounded down, and the remainder, which has the sign of `b`.
 */
gpuint_status gpuint_signed_div_rem_floor(const gpuint_signed *a,
                                          const gpuint_signed *b,
                                          gpuint_signed **quotient,
                                          gpuint_signed **remainder);

/**
 * Computes the quotient and the remainder with `0 <= remainder < |b|`.
 */
gpuint_status gpuint_signed_div_rem_euclid(const gpuint_signed *a,
                                           const gpuint_signed *b,
                                           gpuint_signed **quotient,
                                           gpuint_signed **remainder);

/**
 * Stores -1, 0 or 1 for each row where `a` is less than, equal to or greater than `b`.
 */
gpuint_status gpuint_signed_cmp(const gpuint_signed *a,
                                const gpuint_signed *b,
                                int8_t *orders,
                                size_t rows);

/**
 * Returns a mask of the rows with `a = b`.
 */
gpuint_status gpuint_signed_eq_mask(const gpuint_signed *a,
                                    const gpuint_signed *b,
                                    gpuint_mask **mask);

/**
 * Returns a mask of the rows with `a < b`.
 */
gpuint_status gpuint_signed_lt_mask(const gpuint_signed *a,
                                    const gpuint_signed *b,
                                    gpuint_mask **mask);

/**
 * Computes `gcd = a x + b y`, with the cofactors of `gpuint_xgcd`.
 */
gpuint_status gpuint_xgcd_signed(const gpuint_batch *a,
                                 const gpuint_batch *b,
                                 gpuint_batch **gcd,
                                 gpuint_signed **x,
                                 gpuint_signed **y);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_signed_free(gpuint_signed *signed_);

/**
 * Computes the product tree of the rows of a batch.
 */
gpuint_status gpuint_product_tree_new(const gpuint_batch *rows, gpuint_product_tree **out);

/**
 * Stores the product of all rows as text.
 */
gpuint_status gpuint_product_tree_root(const gpuint_product_tree *tree,
                                       uint32_t base,
                                       char *text,
                                       size_t size,
                                       size_t *length);

/**
 * Computes `value` modulo each row, for a value of any length.
 */
gpuint_status gpuint_product_tree_remainders(const gpuint_product_tree *tree,
                                             const char *value,
                                             gpuint_batch **out);

/**
 * Computes the product of all other rows modulo each row.
 */
gpuint_status gpuint_product_tree_cofactors(const gpuint_product_tree *tree, gpuint_batch **out);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_product_tree_free(gpuint_product_tree *tree);

/**
 * Prepares the rows of a batch as moduli, which must be coprime to each other.
 */
gpuint_status gpuint_crt_new(const gpuint_batch *moduli, gpuint_crt **out);

/**
 * Stores the number of moduli.
 */
gpuint_status gpuint_crt_moduli(const gpuint_crt *crt, size_t *count);

/**
 * Stores the product of the moduli as text.
 */
gpuint_status gpuint_crt_product(const gpuint_crt *crt,
                                 uint32_t base,
                                 char *text,
                                 size_t size,
                                 size_t *length);

/**
 * Stores the width of the numbers in bits: the narrowest that holds the product of the moduli.
 */
gpuint_status gpuint_crt_bits(const gpuint_crt *crt, size_t *bits);

/**
 * Computes the residues of each number modulo all moduli. All residues of the first number
 * come first, in the order of the moduli, then all of the second, and so on.
 */
gpuint_status gpuint_crt_residues(const gpuint_crt *crt,
                                  const gpuint_batch *numbers,
                                  gpuint_batch **residues);

/**
 * Computes the numbers below the product of the moduli that have these residues, in the order
 * of `gpuint_crt_residues`.
 */
gpuint_status gpuint_crt_combine(const gpuint_crt *crt,
                                 const gpuint_batch *residues,
                                 gpuint_batch **numbers);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_crt_free(gpuint_crt *crt);

/**
 * Computes the quotients by one number for all rows, and stores the remainders. The divisor
 * has at most the bits of a digit, 64 bits in batches of this library.
 */
gpuint_status gpuint_div_rem_digit(const gpuint_batch *a,
                                   uint64_t divisor,
                                   gpuint_batch **quotient,
                                   uint64_t *remainders,
                                   size_t rows);

/**
 * Stores the remainders by one number for all rows, as `gpuint_div_rem_digit`.
 */
gpuint_status gpuint_rem_digit(const gpuint_batch *a,
                               uint64_t divisor,
                               uint64_t *remainders,
                               size_t rows);

/**
 * As `gpuint_div_rem_digit`; the remainders stay on the device.
 */
gpuint_status gpuint_div_rem_digit_words(const gpuint_batch *a,
                                         uint64_t divisor,
                                         gpuint_batch **quotient,
                                         gpuint_words **remainders);

/**
 * As `gpuint_rem_digit`; the remainders stay on the device.
 */
gpuint_status gpuint_rem_digit_words(const gpuint_batch *a,
                                     uint64_t divisor,
                                     gpuint_words **remainders);

/**
 * Stores the number of rows.
 */
gpuint_status gpuint_words_rows(const gpuint_words *words, size_t *rows);

/**
 * Stores the word of each row.
 */
gpuint_status gpuint_words_read(const gpuint_words *words, uint64_t *values, size_t rows);

/**
 * Frees the handle. NULL is allowed.
 */
gpuint_status gpuint_words_free(gpuint_words *words);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GPUINT_H */
