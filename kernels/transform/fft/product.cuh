// Products by complex floating-point transforms, exact: low (mod 2^BITS), wide (2 * BITS) and the
// low square, for BITS = 65536 PARTS, PARTS = 1 .. 4, and for shorter powers of two.
//
// Digits. An operand is n = BITS / 16 digits d[j] of -2^15 .. 2^15, balanced by handing the sign
// bit of a digit to the next one; the top digit stays unsigned, up to 2^16. So the polynomials a, b
// with these digits give the integers at t = 2^16, all columns of a b are below 2^30 (n + 3).
//
// Right-angle convolution. a b mod t^n - i has the low columns of a b as its real and the high
// columns as its imaginary parts: one complex transform of n points replaces two real ones of 2n
// points.
//
// Parts. t^n - i is the product of t^m - e(theta_k) over k < PARTS, with m = 4096, theta_k = (k +
// 1/4) / PARTS and e(x) = exp(2 pi i x). A part is the operand mod t^m - e(theta_k): m points that
// 256 threads hold, 16 each. (A shorter operand is one part of m = n points.) Columns j + m s of
// the product come from points j of all parts: the real part of the mean of y_k[j] e(-s theta_k),
// where s >= PARTS gives the high columns, since e(-PARTS theta_k) = -i.
//
// Blocks. A block that has a row to itself processes one part after another and keeps the points of
// the completed ones in device memory. With clusters (compute capability 9.0), two or four blocks
// process one part each. Each then reads its share of the columns, of all pieces of 4096, from the
// points in the others' shared memory, and sends them its carries.
//
// Exactness. `worst_error` (passes.cuh) bounds the difference between a column and its integer:
// below 0.43 at 2^18 bits, so that rounding to the nearest integer is exact for every operand.
#pragma once
#include "core/abi.cuh"
#include "core/carry.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/lookahead.cuh"
#include "core/math.cuh"
#include "core/ptx.cuh"
#include "mul/product_rows.cuh"
#include "transform/fft/passes.cuh"
#include "tuning/transform.cuh"

namespace gpuint {

template <class S, Extent E, u32 OPERANDS, class Rows = ProductRows<S, E>,
          bool CLUSTERS = ptx::CLUSTERS>
struct FftProduct {
  static constexpr u32 P = min_of(fft::POINTS, S::BITS / 16);
  static constexpr u32 PARTS = S::BITS / (16 * P);
  static_assert(S::BITS % (16 * P) == 0 && (P & (P - 1)) == 0 && fft::worst_error(PARTS) < 0.5,
                "columns must round to the right integers");
  static constexpr u32 LIMBS = S::BITS / 32, PART_LIMBS = P / 2;
  static constexpr u32 PIECES =
      E == Extent::Wide ? 2 * PARTS : PARTS;  // pieces of PART_LIMBS limbs

  using Complex = gpuint::Complex;
  using G = Group<P / fft::RADIX>;

  static constexpr u32 THREADS = P / fft::RADIX;
  static constexpr u32 ROWS = 1, ROW_BYTES = Rows::ROW_BYTES;
  static constexpr u32 CLUSTER = CLUSTERS && fft::RADIX % PARTS == 0 ? PARTS : 1;
  // Values of the first operand in registers; the others are in shared memory.
  static constexpr u32 KEPT = FftPolicy::values_in_registers(P);
  static constexpr u32 STORED = OPERANDS == 1 ? 0 : fft::RADIX - KEPT;
  static constexpr u32 TAILS = 16 * sizeof(u32), FLAGS = CLUSTER == 1 ? 0 : 2 * PARTS * sizeof(u32);
  static constexpr u32 EXCHANGE =
      round_up(G::SCRATCH_BYTES + TAILS + FLAGS + u32{sizeof(u32)}, 128);
  static constexpr u32 VALUES = EXCHANGE + P * sizeof(Complex);
  // Columns of a cluster's block: its share of a piece from each of PARTS, and those just below.
  static constexpr u32 COLUMNS = CLUSTER == 1 ? 0 : (P + 16 * PIECES) * u32{sizeof(i64)};
  static constexpr u32 SHARED = VALUES + max_of(STORED * THREADS * u32{sizeof(Complex)}, COLUMNS);
  // Points of the parts, then memory of the rows.
  static constexpr u32 ROWS_AT = PARTS == CLUSTER ? 0 : PARTS * P * sizeof(Complex);
  static constexpr u32 SCRATCH = ROWS_AT + Rows::SCRATCH;
  static constexpr u32 MIN_BLOCKS = FftPolicy::BLOCKS * fft::THREADS / THREADS;
  static constexpr u32 PERSISTENT = CLUSTERS && PARTS == CLUSTER ? 0 : 1;

  static __device__ void run(const Operands& o, unsigned char* shared) {
    begin(shared);
    GPUINT_UNROLL(1)
    for (u32 row = blockIdx.x / CLUSTER; row < o.rows; row += gridDim.x / CLUSTER) {
      if (Rows::is_skipped(o, row)) continue;
      Complex x[fft::RADIX];
      if constexpr (PARTS == CLUSTER) {
        const u32 k = blockIdx.x % PARTS;
        prefetch(o, row, k);
        multiply_part(o, row, k, x, shared);
        if constexpr (PARTS == 1)
          write_columns(o, row, x, shared);
        else
          write_together(o, row, k, x, shared);
      } else {
        GPUINT_UNROLL(1)
        for (u32 k = 0; k < PARTS; ++k) prefetch(o, row, k);
        multiply_parts(o, row, x, shared);
      }
    }
  }

 protected:
  // Prepares the shared memory of a block.
  GPUINT_DEVICE static void begin(unsigned char* shared) {
    if (threadIdx.x == 0)
      *fft::Exchange<P>::zero(shared + EXCHANGE) = 0;  // digits are awaited before it is looked at
  }

  // Multiplies a row, part after part.
  GPUINT_DEVICE static void multiply_parts(const Operands& o, u64 row, Complex (&x)[fft::RADIX],
                                           unsigned char* shared) {
    GPUINT_UNROLL(1)
    for (u32 k = 0; k < PARTS; ++k) {
      multiply_part(o, row, k, x, shared);
      if constexpr (PARTS > 1) {
        Complex* const to = points(o, k);
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) to[i * THREADS] = x[i];
        __syncthreads();  // nobody reads any more what is in shared memory
      }
    }
    write_columns(o, row, x, shared);
  }

 private:
  // Prefetches a part of the second operand, and of the first operand of the next row of this
  // block. If each block has only one row, it prefetches for the row that the next block probably
  // begins with.
  GPUINT_DEVICE static void prefetch(const Operands& o, u64 row, u32 k) {
    constexpr u32 LINE = 32;  // limbs
    const u32 thread = ptx::rematerialize(threadIdx.x);
    if (thread >= PART_LIMBS / LINE) return;
    const u32 at = k * PART_LIMBS + LINE * thread;
    if (OPERANDS == 2) ptx::prefetch(Rows::factor(o, 1, row) + at);
    const u64 ahead = PERSISTENT == 1 ? gridDim.x : FftPolicy::RUNNING_BLOCKS / CLUSTER;
    if (row + ahead < o.rows) ptx::prefetch(Rows::factor(o, 0, row + ahead) + at);
  }

  // Over real numbers where there is one part.
  template <class Then>
  GPUINT_DEVICE static fft::Last transform(Complex (&x)[fft::RADIX], u32 k, unsigned char* shared,
                                           Then then) {
    const auto first = [](Complex(&y)[fft::RADIX], const fft::FirstPass& turn) {
      if constexpr (PARTS == 1)
        fft::split_real(y, turn);
      else
        fft::split<0, 0, 1>(y, turn);
    };
    return fft::transform<P, PARTS>(x, k, shared + EXCHANGE, first, then);
  }

  // The product in part k: points thread + THREADS i, except for the factor 1 / PARTS.
  GPUINT_DEVICE static void multiply_part(const Operands& o, u64 row, u32 k,
                                          Complex (&x)[fft::RADIX], unsigned char* shared) {
    fetch(o, 0, row, shared);
    read(shared, k, x);
    if constexpr (OPERANDS == 1) {
      const fft::Last last = transform(x, k, shared, [] {});
      fft::multiply<0>(x, last, [&](u32 i) { return x[i]; });
    } else {
      transform(x, k, shared, [&] {
        __syncthreads();  // nobody reads points any more
        fetch(o, 1, row, shared);
      });
      Complex* const stored =
          reinterpret_cast<Complex*>(shared + VALUES) + ptx::rematerialize(threadIdx.x);
      GPUINT_UNROLL(16)
      for (u32 i = KEPT; i < fft::RADIX; ++i) stored[(i - KEPT) * THREADS] = x[i];
      Complex kept[KEPT];
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < KEPT; ++i) kept[i] = x[i];
      read(shared, k, x);
      const fft::Last last = transform(x, k, shared, [] {});
      const Complex* const aside =
          reinterpret_cast<const Complex*>(shared + VALUES) + ptx::rematerialize(threadIdx.x);
      fft::multiply<0>(x, last, [&](u32 i) {
        return i < KEPT ? kept[i < KEPT ? i : 0] : aside[(i - KEPT) * THREADS];
      });
    }
    fft::inverse<P, PARTS>(x, shared + EXCHANGE);
    fft::weigh<P, PARTS>(k, ptx::rematerialize(threadIdx.x), x);
  }

  // Place of this thread's points of the product in part k.
  GPUINT_DEVICE static Complex* points(const Operands& o, u32 k) {
    return reinterpret_cast<Complex*>(o.scratch + u64(blockIdx.x) * SCRATCH) + k * P +
           ptx::rematerialize(threadIdx.x);
  }

  // Digits being loaded: the operand in the exchange, a digit for each thread at a time and 16
  // bytes more, so that column 31 modulo 32 of all rows, from which a warp reads the carry into its
  // first column, is spread over the banks.
  static constexpr u32 STAGE_ROW = THREADS * 2 + 16;
  static constexpr u32 ROWS_AT_A_TIME = 8;  // that the threads fill with 16 bytes each
  static_assert(PARTS * fft::RADIX * STAGE_ROW <= P * sizeof(Complex), "the digits fit");

  GPUINT_DEVICE static void fetch(const Operands& o, u32 operand, u64 row, unsigned char* shared) {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    if constexpr (Rows::IS_FIRST_SHIFTED)
      if (operand == 0 && !Rows::is_unshifted(o, row))
        return fetch_limbs(Rows::first_limbs(o, row), shared);
    const unsigned char* const from =
        reinterpret_cast<const unsigned char*>(Rows::factor(o, operand, row)) + thread * 16;
    constexpr u32 OF_ROW = THREADS / ROWS_AT_A_TIME;  // threads
    unsigned char* const to =
        shared + EXCHANGE + thread / OF_ROW * STAGE_ROW + thread % OF_ROW * 16;
    GPUINT_UNROLL(8)
    for (u32 c = 0; c < 2 * PARTS; ++c)
      ptx::copy_async(from + c * (16 * THREADS), to + c * (ROWS_AT_A_TIME * STAGE_ROW));
  }

  // The same limb by limb.
  template <class Limbs>
  GPUINT_DEVICE static void fetch_limbs(const Limbs& limbs, unsigned char* shared) {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    constexpr u32 OF_ROW = THREADS / 2;  // limbs
    unsigned char* const to = shared + EXCHANGE + thread / OF_ROW * STAGE_ROW + thread % OF_ROW * 4;
    GPUINT_UNROLL(1)
    for (u32 c = 0; c < LIMBS / THREADS; c += 8) {
      u32 limb[8];
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < 8; ++i) limb[i] = limbs[thread + (c + i) * THREADS];
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < 8; ++i) *reinterpret_cast<u32*>(to + (c + i) * (2 * STAGE_ROW)) = limb[i];
    }
  }

  // Points thread + THREADS i of a part of the loaded operand: digits thread + THREADS i + P s for
  // all s.
  GPUINT_DEVICE static void read(unsigned char* shared, u32 k, Complex (&x)[fft::RADIX]) {
    const u32 thread = ptx::rematerialize(threadIdx.x), lane = thread % 32;
    const unsigned char* const from = shared + EXCHANGE + thread * 2;
    ptx::await_copies();
    __syncthreads();
    const auto add = [&](u32 s, bool lowest) {
      const auto digit_at = [&](i32 at) { return *reinterpret_cast<const i16*>(from + at); };
      // Bit 15 - i of `signs`: the sign of the digit before.
      i32 digit[fft::RADIX];
      u32 own = 0;
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        digit[i] = digit_at((s * fft::RADIX + i) * STAGE_ROW);
        own = own << 1 | static_cast<u32>(digit[i]) >> 31;
      }
      // Lane i reads the digit before row i's first digit of this warp, which may be the last one
      // of the row below.
      const i32 before = (s * fft::RADIX + lane) * STAGE_ROW - 2 * lane -
                         (thread < 32 ? STAGE_ROW - 2 * THREADS + 2 : 2);
      const bool negative =
          lane < fft::RADIX && (s + lane != 0 || thread >= 32) && digit_at(before) < 0;
      const u32 first = __brev(__ballot_sync(~0u, negative)) >> 16;
      u32 signs = __shfl_up_sync(~0u, own, 1);
      if (lane == 0) signs = first;
      const Complex turn = lowest ? Complex{1, 0} : fft::CONSTANTS<PARTS>.part[k].turns[s];
      GPUINT_UNROLL(16)
      for (u32 i = 0; i < fft::RADIX; ++i) {
        const bool top = s == PARTS - 1 && i == fft::RADIX - 1 && thread == THREADS - 1;
        const i32 balanced =
            digit[i] + static_cast<i32>(signs >> (15 - i) & 1) + (top ? digit[i] & 0x10000 : 0);
        // 2^52 + 2^15 + balanced, minus the added constant.
        const double value = __hiloint2double(0x43300000, balanced + 0x8000) - 4503599627403264.0;
        if (lowest)
          x[i] = {value, 0};
        else
          x[i] = {fma(value, turn.re, x[i].re), fma(value, turn.im, x[i].im)};
      }
    };
    add(0, true);
    GPUINT_UNROLL(1)
    for (u32 s = 1; s < ptx::rematerialize(PARTS); ++s) add(s, false);
  }

  // Contribution of a part to the columns of a piece: the real part of y e(-theta piece).
  GPUINT_DEVICE static double project(u32 k, u32 piece, Complex y, double sum) {
    if constexpr (PARTS == 1) return piece == 0 ? y.re : y.im;
    const Complex turn = fft::CONSTANTS<PARTS>.part[k].turns[piece];
    return fma(turn.im, y.im, fma(turn.re, y.re, sum));
  }

  // The mean over all parts, rounded.
  GPUINT_DEVICE static i64 rounded(double sum) {
    constexpr double ROUNDER = 6755399441055744.0;  // 1.5 * 2^52: at its size doubles are integers
    const double rounded = fma(sum, 1.0 / PARTS, ROUNDER);
    GPUINT_ASSERT(fabs(fma(sum, 1.0 / PARTS, ROUNDER - rounded)) <= fft::worst_error(PARTS),
                  "columns are near integers");
    return __double_as_longlong(rounded) - 0x4338000000000000;
  }

  GPUINT_DEVICE static i64 column(u32 piece, const Complex (&y)[PARTS]) {
    double sum = 0;
    GPUINT_UNROLL(4)
    for (u32 k = 0; k < PARTS; ++k) sum = project(k, piece, y[k], sum);
    return rounded(sum);
  }

  // Combines columns, two pieces at a time, into limbs, if one block has all parts.
  GPUINT_DEVICE static void write_columns(const Operands& o, u64 row,
                                          const Complex (&x)[fft::RADIX], unsigned char* shared) {
    // Addresses of the group's words are not kept from row to row.
    unsigned char* const words = shared + fft::Exchange<P>::rematerialized_zero(shared + EXCHANGE);
    G group(words);
    i64* const columns = reinterpret_cast<i64*>(shared + EXCHANGE);
    u32* const tails = reinterpret_cast<u32*>(words + G::SCRATCH_BYTES);
    group.sync();  // nobody reads any more what was there
    u32 above = 0;
    GPUINT_UNROLL(1)
    for (u32 first = 0; first < PIECES; first += 2) {
      const u32 thread = ptx::rematerialize(threadIdx.x);
      const auto store = [&](u32 i, const Complex(&y)[PARTS]) {
        columns[place(thread + THREADS * i)] = column(first, y);
        if (PIECES > 1)
          columns[P + place(thread + THREADS * i)] = column(min_of(first + 1, PIECES - 1), y);
      };
      if constexpr (PARTS == 1) {
        GPUINT_UNROLL(16)
        for (u32 i = 0; i < fft::RADIX; ++i) store(i, {x[i]});
      } else {
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < fft::RADIX; ++i) {
          Complex y[PARTS];
          GPUINT_UNROLL(4)
          for (u32 k = 0; k < PARTS; ++k) y[k] = points(o, k)[i * THREADS];
          store(i, y);
        }
      }
      group.sync();
      above = resolve(group, columns, tails, above, piece_of(o, row, first));
      if (first + 1 < PIECES)
        above = resolve(group, columns + P, tails, above, piece_of(o, row, first + 1));
    }
  }

  // The same if every block of a cluster has a part. Block k computes the columns of its share,
  // POINTS / PARTS columns in a row of every piece, from the points of all blocks there, and
  // combines them into limbs: PARTS pieces in a round, each by the warps that have its columns.
  //
  // Carries are resolved at four levels: limbs of a thread, threads of a warp, warps of a share,
  // shares of all pieces. Bit piece * PARTS + block stands for a share.
  static constexpr u32 SHARE = fft::RADIX / PARTS;  // points of a thread
  static constexpr u32 ROUNDS = PIECES / PARTS;
  static constexpr u32 SHARE_WARPS = G::WARPS / PARTS;

  // Carries of up to 32 consecutive chunks: bit i if chunk i generates or propagates one.
  struct CarryFlags {
    u32 generate, propagate;

    GPUINT_DEVICE CarryFlags warps_of_share(u32 i) const {
      constexpr u32 FIELD = (1u << SHARE_WARPS) - 1;
      return {generate >> i * SHARE_WARPS & FIELD, propagate >> i * SHARE_WARPS & FIELD};
    }
    GPUINT_DEVICE bool warps_propagate() const { return propagate == (1u << SHARE_WARPS) - 1; }
    GPUINT_DEVICE CarryLookahead lookahead(u32 carry_in = 0) const {
      return {generate, propagate, carry_in};
    }
  };
  // A thread's limbs of a round before carries, and the flags of its warp's threads and of all
  // warps.
  struct Round {
    u32 limbs[8];
    CarryFlags threads, warps;
  };

  GPUINT_DEVICE static void write_together(const Operands& o, u64 row, u32 k,
                                           const Complex (&x)[fft::RADIX], unsigned char* shared) {
    // Addresses of the group's words are not kept from row to row.
    G group(shared + fft::Exchange<P>::rematerialized_zero(shared + EXCHANGE));
    const u32 thread = ptx::thread();
    u32* const tails = reinterpret_cast<u32*>(shared + G::SCRATCH_BYTES);
    i64* const columns = reinterpret_cast<i64*>(shared + VALUES);
    i64* const below_share = columns + P;
    Complex y[SHARE][PARTS];
    gather_share(k, thread, x, fft::Exchange<P>(shared + EXCHANGE), below_share, y);

    // This warp's piece of a round; the first warp and the first thread have the lowest columns.
    const u32 mine = thread / 32 / SHARE_WARPS;
    Round rounds[ROUNDS];
    CarryFlags shares{0, 0};
    GPUINT_UNROLL(2)
    for (u32 round = 0; round < ROUNDS; ++round) {
      add_share(group, round, k, thread, y, columns, below_share, tails, rounds[round]);
      GPUINT_UNROLL(4)
      for (u32 s = 0; s < PARTS; ++s) {
        const u32 at = (round * PARTS + s) * PARTS + k;
        const CarryFlags warps = rounds[round].warps.warps_of_share(s);
        shares.generate |= warps.lookahead().out_of(SHARE_WARPS) << at;
        shares.propagate |= (warps.warps_propagate() ? 1u : 0u) << at;
      }
    }
    exchange_flags(reinterpret_cast<u32*>(shared + G::SCRATCH_BYTES + TAILS), k, thread, shares);
    const CarryLookahead carries = shares.lookahead();
    GPUINT_UNROLL(2)
    for (u32 round = 0; round < ROUNDS; ++round) {
      const u32 piece = round * PARTS + mine;
      const CarryFlags warps = rounds[round].warps.warps_of_share(mine);
      const u32 into_share = carries.into(piece * PARTS + k);
      const u32 into_warp = warps.lookahead(into_share).into(thread / 32 % SHARE_WARPS);
      apply_carry<Sign::Plus>(rounds[round].limbs,
                              rounds[round].threads.lookahead(into_warp).into(group.lane));
      u32* const to = piece_of(o, row, piece);
      if (to != nullptr)
        store_limbs(rounds[round].limbs,
                    to + (k * PART_LIMBS / PARTS) - mine * (PART_LIMBS / PARTS));
    }
  }

  // Points of all parts in the share of block k, and the 16 columns of each piece below the share.
  GPUINT_DEVICE static void gather_share(u32 k, u32 thread, const Complex (&x)[fft::RADIX],
                                         const fft::Exchange<P>& exchange, i64* below_share,
                                         Complex (&y)[SHARE][PARTS]) {
    GPUINT_UNROLL(16)
    for (u32 i = 0; i < fft::RADIX; ++i) exchange.column(i) = x[i];
    ptx::cluster_sync();
    const auto points_of = [&](Complex* at, Complex(&of_parts)[PARTS]) {
      GPUINT_UNROLL(4)
      for (u32 b = 0; b < PARTS; ++b) of_parts[b] = *ptx::of_block(at, b);
    };
    // Below the first share are columns of the piece below.
    if (thread >= THREADS - 16) {
      Complex below[PARTS];
      points_of(&exchange.column((SHARE * k + fft::RADIX - 1) % fft::RADIX), below);
      for (u32 piece = k == 0 ? 1 : 0; piece < PIECES; ++piece)
        below_share[piece * 16 + thread % 16] = column(k == 0 ? piece - 1 : piece, below);
    }
    GPUINT_UNROLL(16)
    for (u32 n = 0; n < SHARE; ++n) points_of(&exchange.column(SHARE * k + n), y[n]);
  }

  // Combines the columns of a round's pieces in the share into limbs before carries.
  GPUINT_DEVICE static void add_share(G& group, u32 round, u32 k, u32 thread,
                                      const Complex (&y)[SHARE][PARTS], i64* columns,
                                      const i64* below_share, u32* tails, Round& to) {
    const u32 warp = thread / 32, mine = warp / SHARE_WARPS;
    // Since the second barrier of the previous round, no thread reads its columns.
    GPUINT_UNROLL(4)
    for (u32 s = 0; s < PARTS; ++s) {
      const u32 piece = round * PARTS + s;
      GPUINT_UNROLL(16)
      for (u32 n = 0; n < SHARE; ++n)
        columns[place((s * SHARE + n) * THREADS + thread)] = column(piece, y[n]);
    }
    group.sync();
    const bool lowest = round + mine + k == 0;
    const u32 handed = add_columns(columns, lowest && thread == 0, to.limbs);
    if (group.lane == 31) tails[warp] = handed;
    u32 below = group.from_below(handed);
    group.sync();
    if (group.lane == 0) {
      if (warp % SHARE_WARPS != 0) {
        below = tails[warp - 1];
      } else if (lowest) {
        below = 0;
      } else {
        u32 unused[8];
        const longlong2* const pairs =
            reinterpret_cast<const longlong2*>(below_share) + (round * PARTS + mine) * 8;
        below = add_up([&](u32 i) { return pairs[i]; }, false, unused);
      }
    }
    const Out out = take(to.limbs, below);
    to.threads = {group.vote(out.generate), group.vote(out.propagate)};
    const u32 word =
        group.gather(to.threads.lookahead().out_of(32) | (to.threads.propagate == ~0u ? 2u : 0u));
    to.warps = {__ballot_sync(~0u, word & 1), __ballot_sync(~0u, word & 2)};
  }

  // Adds the flags of the other blocks' shares.
  GPUINT_DEVICE static void exchange_flags(u32* flags, u32 k, u32 thread, CarryFlags& shares) {
    if (thread < PARTS) {
      u32* const to = ptx::of_block(flags + 2 * k, thread);
      to[0] = shares.generate, to[1] = shares.propagate;
    }
    ptx::cluster_sync();
    shares = {flags[0], flags[1]};
    GPUINT_UNROLL(4)
    for (u32 b = 1; b < PARTS; ++b)
      shares.generate |= flags[2 * b], shares.propagate |= flags[2 * b + 1];
  }

  // Place of column j: pairs of columns, spread over the banks for threads that read 16 in a row.
  GPUINT_DEVICE static u32 place(u32 j) { return j ^ (j / 16 % 8) * 2; }

  // Destination of a piece of the result; null if it is not wanted.
  GPUINT_DEVICE static u32* piece_of(const Operands& o, u64 row, u32 piece) {
    const u32 half = piece / PARTS;
    u32* const limbs = Rows::half(o, row, half);
    return limbs == nullptr ? nullptr : limbs + (piece - half * PARTS) * PART_LIMBS;
  }

  // Combines 16 columns, pair i of which is at(i), into 8 limbs, before carries, and the carry to
  // the next 16. Sums of columns are signed, so the carry is increased by 2^30, which the next
  // thread subtracts first, unless it has the lowest columns. Since columns are below 2^45, the
  // increased carry is between 0 and 2^31.
  template <class At>
  GPUINT_DEVICE static u32 add_up(const At& at, bool lowest, u32 (&limbs)[8]) {
    constexpr i64 BIAS = 1 << 30;
    i64 sum = lowest ? 0 : -BIAS;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < 8; ++i) {
      const longlong2 pair = at(i);
      sum += pair.x;
      limbs[i] = static_cast<u32>(sum) & 0xffff;
      sum = (sum >> 16) + pair.y;
      limbs[i] |= static_cast<u32>(sum) << 16;
      sum >>= 16;
    }
    return static_cast<u32>(sum + BIAS);
  }

  // The same for columns from 16 thread on.
  GPUINT_DEVICE static u32 add_columns(const i64* columns, bool lowest, u32 (&limbs)[8]) {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    return add_up(
        [&](u32 i) {
          return *reinterpret_cast<const longlong2*>(columns + place(16 * thread + 2 * i));
        },
        lowest, limbs);
  }

  // Adds the incoming carry; returns whether a carry goes out, and whether one would propagate.
  struct Out {
    bool generate, propagate;
  };
  GPUINT_DEVICE static Out take(u32 (&limbs)[8], u32 below) {
    u32 carry = 0;
    limbs[0] = add_carry<u32>(limbs[0], below, carry);
    u32 all = limbs[0];
    GPUINT_UNROLL(7)
    for (u32 i = 1; i < 8; ++i) {
      limbs[i] = add_carry<u32>(limbs[i], 0, carry);
      all &= limbs[i];
    }
    return {carry != 0, all == ~0u};
  }

  GPUINT_DEVICE static void store_limbs(const u32 (&limbs)[8], u32* to) {
    if (to == nullptr) return;
    const u32 thread = ptx::rematerialize(threadIdx.x);
    store_word(to + 8 * thread, limbs);
    store_word(to + 8 * thread + 4, limbs + 4);
  }

  // The limbs of a piece, given its incoming carry; returns its outgoing carry.
  GPUINT_DEVICE static u32 resolve(G& group, const i64* columns, u32* tails, u32 above, u32* to) {
    const u32 thread = ptx::rematerialize(threadIdx.x);
    // `above` is 0 only if no carry was passed on.
    u32 limbs[8];
    const u32 handed = add_columns(columns, thread == 0 && above == 0, limbs);
    if (group.lane == 31) tails[thread / 32] = handed;
    u32 below = group.from_below(handed);
    group.sync();
    if (group.lane == 0) below = thread == 0 ? above : tails[thread / 32 - 1];
    const u32 last = tails[G::WARPS - 1];
    const Out out = take(limbs, below);
    const Carries carries = resolve_carries(group, out.generate, out.propagate, 0, 0);
    apply_carry<Sign::Plus>(limbs, carries.in);
    store_limbs(limbs, to);
    return last + carries.out;
  }
};

}  // namespace gpuint
