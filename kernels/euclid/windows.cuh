// Euclid's algorithm for wide rows: matrices of half-gcds of their leading W bits, 768 or 1024,
// applied to the whole numbers by wide products. Entries of matrices have E = W / 64 limbs.
//
// A warp has a unit of up to 32 rows in device memory and repeats two phases:
// 1. Each lane computes the matrix of a row from a window in shared memory: floor(a / 2^s) and
//    floor(b / 2^s), where s leaves the longer number W bits. Its passes are those of euclid.cuh on
//    one lane, so that Lehmer's steps are computed once a row.
// 2. All lanes apply the matrices. A lane computes E limbs of u0 a - v0 b or of v1 b - u1 a: its
//    columns of both products, of which the multiplier has E limbs. The rest of the columns, two
//    limbs, goes to the lane above (carry.cuh). Negative terms are sums of complements (rows.cuh).
//
// Matrices are unordered: entries are nonnegative, u0 v1 - v0 u1 = 1, and
//     a' = u0 a - v0 b >= 0,    b' = v1 b - u1 a >= 0,
// so a = v1 a' + v0 b', b = u1 a' + u0 b', and cofactors with a = -s v, b = t v modulo n keep
//     s' = u0 s + v0 t,    t' = u1 s + v1 t,    s b + t a = n.
//
// Bounds of a window whose longer number has B bits, with h = W / 2:
// - s > 0, B = W: passes leave both numbers of the window at 2^(h + 1) or more. So entries are less
//   than 2^(h - 1), and the matrix suits the whole numbers (half_gcd.cuh).
// - s = 0: they leave both at 2^(B - h + 1) or more, so that entries are below 2^(h - 1). If B < h,
//   they end with a zero.
//
// If a has more than E - 3 limbs beyond the length of b, and at least E, the window has b 2^(32 e)
// instead, E - 3 limbs shorter than a, and passes only subtract multiples Q of it from a: u0 = v1 =
// 1, u1 = 0, v0 = Q 2^(32 e). The same with a and b exchanged. So the shorter number of a window
// has at most 32 (E - 3) + 31 = h - 65 bits less than the longer one, and is above the bound.
//
// The first pass changes the numbers, unless it finds q = 1 and a - b below the bound: the windows
// agree in their upper half. The smaller number is then subtracted from the larger one. Otherwise
// passes end when the longer number has less than 64 bits beyond the bound, so it has lost h - 65
// bits or more, or when the shorter one falls below the bound, and the next window divides by it.
// So every row ends, after a number of windows proportional to its length.
#pragma once
#include "core/carry.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/rows.cuh"
#include "core/unroll.cuh"
#include "euclid/euclid.cuh"
#include "mul/columns.cuh"

namespace gpuint {

// Observer of a window that keeps remainders at 2^bits or more, or ends with zero if bits is 0.
struct WindowBound : Unobserved {
  static constexpr bool IS_ORDERED = false, IS_BOUNDED = true;

  u32 bits;
  const u32* divisor;  // the only number that is subtracted, or null

  GPUINT_DEVICE WindowBound(u32 bits_, const u32* divisor_) : bits(bits_), divisor(divisor_) {}

  GPUINT_DEVICE bool is_exact(u32 top) const { return bits == 0 && top <= 2; }
  GPUINT_DEVICE bool ends(const EuclidNumber& b, u32 top, u32 shift) const {
    if (divisor != nullptr && b.limbs != divisor) return true;
    return bits != 0 && (32 * top < bits + 64 + shift || b.bits() <= bits);
  }
  GPUINT_DEVICE bool allows_steps(u32) const { return divisor == nullptr; }
  GPUINT_DEVICE u32 factor(u32 q) const { return q >= 2 && bits != 0 ? q - 1 : max_of(q, 1); }
  // With d the difference of the numbers above limb i, a - b > (d - 1) 2^(32 i).
  GPUINT_DEVICE bool is_bounded(u32 q, u64 difference, const EuclidNumber& a,
                                const EuclidNumber& b) const {
    if (q >= 2 || difference >= 2 || bits == 0) return true;
    u64 d = 0;
    u32 i = a.length;
    while (i > 0 && d < 2) {
      --i;
      d = (d << 32) + a.limbs[i] - b.at(i);
    }
    return d >= 2 && 32 * i >= bits;
  }
  GPUINT_DEVICE static void count_multiple() { GPUINT_RARE(WindowSubtraction); }
};

// Rows of S in device memory, with NUMBERS numbers each: two, or with cofactors four.
template <class S, u32 NUMBERS, u32 WINDOW_BITS>
struct WindowedRows : EuclidRows<Width<WINDOW_BITS>, 2, WINDOW_BITS / 32> {
  using Windows = EuclidRows<Width<WINDOW_BITS>, 2, WINDOW_BITS / 32>;
  using Windows::number;
  using Windows::rank;
  using Windows::team;

  static constexpr u32 ROW_LIMBS = ceil_div(S::BITS, 32);
  static constexpr u32 WINDOW = Windows::N;
  static constexpr u32 ENTRY = WINDOW / 2;                   // limbs of an entry and of a chunk
  static constexpr u32 STORED = round_up(ROW_LIMBS, ENTRY);  // limbs of a number in memory
  static constexpr u32 GAP = ENTRY - 3;                      // limbs of the largest quotients
  static constexpr u32 UNIT = min_of(32, max_of(1, (3u << 19) / S::BITS));  // most rows of a warp
  static constexpr u32 ENTRY_STRIDE = run_of(ENTRY);
  static constexpr u32 ENTRIES = 32 * ENTRY_STRIDE;
  // A chunk in shared memory: an odd number of words, so that eight lanes read words from different
  // banks.
  static constexpr u32 CHUNK_STRIDE = ENTRY % (2 * WORD) == 0 ? ENTRY + WORD : ENTRY;
  static constexpr u32 STAGED = 33 * CHUNK_STRIDE;

  static constexpr u32 ROWS = Windows::TEAMS;
  static constexpr u32 SHARED =
      round_up(Windows::SHARED, 16) + Windows::TEAMS * 4 * ENTRIES * static_cast<u32>(sizeof(u32));
  static constexpr u32 TEAM_SCRATCH = NUMBERS * UNIT * STORED;
  static constexpr u32 SCRATCH = Windows::TEAMS * TEAM_SCRATCH * static_cast<u32>(sizeof(u32));
  // Up to 102 registers, so that few are spilled.
  static constexpr u32 MIN_BLOCKS = max_of(1, min_of(10, (224 << 10) / (SHARED + 1024)));
  static constexpr u32 PERSISTENT = 1;

  static_assert(2 * STAGED + 3 * 32 <= 2 * Windows::NUMBER, "staged chunks and lists of rows");
  static_assert(STORED >= WINDOW, "a window within a row");
  static_assert(Windows::LANES == 1 && Windows::TEAM == 32, "a row a lane");

  u32* entries;         // u0, u1, v0, v1 of all rows
  u32* stored;          // the numbers of the warp's rows
  u32 length[NUMBERS];  // limbs of the numbers of the lane's row

  GPUINT_DEVICE WindowedRows(const Operands& o, unsigned char* shared) : Windows(shared) {
    const u32 warp = threadIdx.x / 32;
    entries = reinterpret_cast<u32*>(shared + round_up(Windows::SHARED, 16)) + warp * 4 * ENTRIES;
    stored = reinterpret_cast<u32*>(o.scratch) +
             (u64(blockIdx.x) * Windows::TEAMS + warp) * TEAM_SCRATCH;
  }

  // Runs work(first, count) for the units of the warp, of equal numbers of rows where the grid has
  // fewer warps than the batch has units of UNIT rows.
  template <class Work>
  GPUINT_DEVICE void for_units(u64 rows, Work work) {
    const u64 warps = u64(gridDim.x) * Windows::TEAMS;
    const u64 turns = (rows + warps * UNIT - 1) / (warps * UNIT);
    const u64 unit = turns == 0 ? 1 : (rows + warps * turns - 1) / (warps * turns);
    for (u64 first = (u64(blockIdx.x) * Windows::TEAMS + threadIdx.x / 32) * unit; first < rows;
         first += warps * unit) {
      const u64 left = rows - first;
      work(first, static_cast<u32>(left < unit ? left : unit));
    }
  }

  GPUINT_DEVICE u32* at(u32 index, u32 row) const { return stored + (index * UNIT + row) * STORED; }

  // Copies rows of an operand to the numbers `index`, with their lengths.
  GPUINT_DEVICE void fetch(const void* operand, u64 first, u32 count, u32 index) {
    GPUINT_UNROLL(1)
    for (u32 row = 0; row < count; ++row) {
      const auto* const from = static_cast<const typename S::Limb*>(operand) + (first + row) * S::N;
      u32* const to = at(index, row);
      u32 top = 0;
      GPUINT_UNROLL(4)
      for (u32 k = rank; k < STORED; k += 32) {
        const u32 limb = k < ROW_LIMBS ? limb_of_32<S>(from, k) : 0;
        to[k] = limb;
        if (limb != 0) top = k + 1;
      }
      top = __reduce_max_sync(~0u, top);
      if (rank == row) length[index] = top;
    }
    if (rank >= count) length[index] = 0;
  }

  // Copies number `index` of each row to an operand, or its difference from number `other` of a
  // row if that is not longer. A lane selects both, and the limbs of the row's numbers.
  struct Source {
    u32 index, limbs;
    u32 other, other_limbs;
  };
  GPUINT_DEVICE void write(void* operand, u64 first, u32 count, const Source& source) {
    GPUINT_UNROLL(1)
    for (u32 row = 0; row < count; ++row) {
      const int lane = static_cast<int>(row);
      const u32* const x = at(__shfl_sync(~0u, source.index, lane), row);
      const u32* const y = at(__shfl_sync(~0u, source.other, lane), row);
      const u32 x_limbs = __shfl_sync(~0u, source.limbs, lane);
      const u32 y_limbs = __shfl_sync(~0u, source.other_limbs, lane);
      auto* const to = static_cast<typename S::Limb*>(operand) + (first + row) * S::N;
      u32 borrow = 0;
      GPUINT_UNROLL(1)
      for (u32 base = 0; base < ROW_LIMBS; base += 32) {
        const u32 k = base + rank;
        const u32 minuend = k < x_limbs ? x[k] : 0, subtrahend = k < y_limbs ? y[k] : 0;
        const u32 limb = minuend - subtrahend;
        const CarryLookahead lanes(__ballot_sync(~0u, minuend < subtrahend),
                                   __ballot_sync(~0u, limb == 0), borrow);
        borrow = lanes.out_of(32);
        if (k < ROW_LIMBS) write_limb_of_32<S>(to, k, limb - lanes.into(rank));
      }
    }
  }

  // Sets the matrices to the identity.
  GPUINT_DEVICE void clear_entries() const {
    GPUINT_UNROLL(1)
    for (u32 i = rank; i < 4 * ENTRIES; i += 32) {
      const u32 entry = i / ENTRIES;
      entries[i] = i % ENTRY_STRIDE == 0 && (entry == 0 || entry == 3) ? 1 : 0;
    }
  }
  GPUINT_DEVICE u32* entry(u32 index, u32 row) const {
    return entries + index * ENTRIES + row * ENTRY_STRIDE;
  }

  // Limbs by which number `index` of the lane's row is shifted.
  GPUINT_DEVICE u32 shift_of(u32 index) const {
    const u32 longer = length[index ^ 1];
    return longer >= ENTRY && longer > length[index] + GAP ? longer - length[index] - GAP : 0;
  }

  // Limb i of x shifted by `shift` limbs.
  GPUINT_DEVICE static u32 shifted(const u32* x, u32 i, u32 shift) {
    return i >= shift ? x[i - shift] : 0;
  }

  // Copies the windows of the rows of `rows`, a bit each, to shared memory.
  GPUINT_DEVICE void load_windows(u32 rows, const u32 (&shift)[2]) const {
    GPUINT_UNROLL(1)
    for (u32 left = rows; left != 0; left &= left - 1) {
      const u32 row = static_cast<u32>(__ffs(static_cast<int>(left))) - 1;
      const int from = static_cast<int>(row);
      const u32 top = __shfl_sync(~0u, max_of(length[0], length[1]), from);
      const u32 shift0 = __shfl_sync(~0u, shift[0], from),
                shift1 = __shfl_sync(~0u, shift[1], from);
      const u32 *const a = at(0, row), *const b = at(1, row);
      const u32 k = min_of(rank, WINDOW - 1);
      u32 x, y;
      if (top <= WINDOW) {
        x = shifted(a, k, shift0), y = shifted(b, k, shift1);
      } else {
        const u32 i = top - WINDOW + k;
        const u32 x_high = shifted(a, i, shift0), y_high = shifted(b, i, shift1);
        const u32 x_low = shifted(a, i - 1, shift0), y_low = shifted(b, i - 1, shift1);
        const u32 highest = __shfl_sync(~0u, x_high | y_high, 31);
        const u32 bits = static_cast<u32>(__clz(static_cast<int>(highest)));
        x = __funnelshift_l(x_low, x_high, bits), y = __funnelshift_l(y_low, y_high, bits);
      }
      u32 *const to_a = number(0, row), *const to_b = number(1, row);
      if (rank < WINDOW) to_a[rank] = x, to_b[rank] = y;
      if (rank == 0) to_a[WINDOW] = 0, to_b[WINDOW] = 0;
    }
  }

  // Returns the bound of the remainders of the lane's window.
  GPUINT_DEVICE u32 bound() const {
    const u32 top = max_of(length[0], length[1]);
    if (top > WINDOW) return 16 * WINDOW + 1;
    const u32 highest = number(0, rank)[top - 1] | number(1, rank)[top - 1];
    const u32 bits = 32 * top - static_cast<u32>(__clz(static_cast<int>(highest)));
    return bits < 32 * ENTRY ? 0 : bits + 1 - 32 * ENTRY;
  }

  // Subtracts the smaller number from the larger one in the rows of `rows`.
  GPUINT_DEVICE void subtract(u32 rows) const {
    GPUINT_UNROLL(1)
    for (u32 left = rows; left != 0; left &= left - 1) {
      const u32 row = static_cast<u32>(__ffs(static_cast<int>(left))) - 1;
      if (rank == 0) GPUINT_RARE(WindowDifference);
      const u32 *const a = at(0, row), *const b = at(1, row);
      bool is_less = false;
      u32 top = __shfl_sync(~0u, max_of(length[0], length[1]), static_cast<int>(row));
      while (top > 0) {
        const bool exists = rank < top;
        const u32 x = exists ? a[top - 1 - rank] : 0, y = exists ? b[top - 1 - rank] : 0;
        const u32 unequal = __ballot_sync(~0u, x != y);
        if (unequal != 0) {
          is_less = __shfl_sync(~0u, x < y ? 1 : 0, __ffs(static_cast<int>(unequal)) - 1) != 0;
          break;
        }
        top = top > 32 ? top - 32 : 0;
      }
      if (rank == row) *entry(is_less ? 1 : 2, row) = 1;
    }
  }

  // Repeats windows on the numbers of `count` rows until one of them is 0, with cofactors 0 and 1
  // if there are any.
  GPUINT_DEVICE void run(u32 count) {
    u32 written = 1;  // chunks of the lane's cofactors in memory, while its row has windows
    if constexpr (NUMBERS == 4) {
      GPUINT_UNROLL(1)
      for (u32 row = 0; row < count; ++row)
        if (rank < ENTRY) at(2, row)[rank] = 0, at(3, row)[rank] = rank == 0 ? 1 : 0;
      length[2] = 0, length[3] = 1;
    }
    __syncwarp(~0u);
    bool active = rank < count && length[0] != 0 && length[1] != 0;
    for (u32 rows = __ballot_sync(~0u, active); rows != 0; rows = __ballot_sync(~0u, active)) {
      const u32 shift[2] = {active ? shift_of(0) : 0, active ? shift_of(1) : 0};
      make_matrices(active, rows, shift);
      // The cofactors, and then the numbers, whose lengths they need.
      GPUINT_UNROLL(1)
      for (u32 index = NUMBERS; index > 0;) {
        index -= 2;
        u32 limbs = max_of(length[0], length[1]);
        if constexpr (NUMBERS == 4)
          if (index != 0) limbs = max_of(length[2] + shift[0], length[3] + shift[1]) + ENTRY;
        limbs = __reduce_max_sync(~0u, active ? min_of(limbs, STORED) : 0);
        const u32 chunks = ceil_div(limbs, ENTRY);
        apply(index, rows, chunks, index == 0 ? STORED / ENTRY : written, shift);
        if (index != 0) written = max_of(written, chunks);
      }
      active = active && length[0] != 0 && length[1] != 0;
    }
  }

  // Returns true if number `index` of the lane's row is 1 and the other one 0.
  GPUINT_DEVICE bool is_one(u32 index) const {
    return length[index] == 1 && length[index ^ 1] == 0 && at(index, rank)[0] == 1;
  }

  // Computes the matrices of the rows of active lanes.
  GPUINT_DEVICE void make_matrices(bool active, u32 rows, const u32 (&shift)[2]) {
    load_windows(rows, shift);
    clear_entries();
    __syncwarp(~0u);
    const u32* const divisor = shift[0] != 0   ? number(0, rank)
                               : shift[1] != 0 ? number(1, rank)
                                               : nullptr;
    WindowBound observer(active ? bound() : 0, divisor);
    using Entries = EuclidCofactors<2, ENTRY, 2 * ENTRIES>;
    euclid(static_cast<Windows&>(*this), Entries{entry(0, rank), entry(1, rank)}, active, observer);
    __syncwarp(~0u);
    bool is_identity = active;
    GPUINT_UNROLL(1)
    for (u32 i = 0; i < ENTRY && is_identity; ++i)
      is_identity = (entry(1, rank)[i] | entry(2, rank)[i]) == 0;
    subtract(__ballot_sync(~0u, is_identity));
    __syncwarp(~0u);
  }

  // Stages the chunks of 32 lanes of numbers `index` and `index` + 1 above the last chunks of the
  // lanes before. `place` is the lane's chunk in a number, of row `row`.
  struct Place {
    u32 row, chunk;
    u32 limit;  // chunks of the row in memory
    bool is_valid;
  };
  GPUINT_DEVICE void stage(u32 index, const Place& place, const u32 (&shift)[2]) const {
    const bool is_read = place.is_valid && place.chunk < place.limit;
    const u32 offset = place.row * STORED + place.chunk * ENTRY;
    u32 of_row[2];
    GPUINT_UNROLL(2)
    for (u32 n = 0; n < 2; ++n) of_row[n] = __shfl_sync(~0u, shift[n], static_cast<int>(place.row));
    const bool any_shift = __any_sync(~0u, place.is_valid && (of_row[0] | of_row[1]) != 0);
    GPUINT_UNROLL(2)
    for (u32 n = 0; n < 2; ++n) {
      const u32* const numbers = at(index + n, 0);
      u32* const to = team + n * STAGED;
      constexpr u32 WORDS = ENTRY / WORD;
      GPUINT_UNROLL(WORDS)
      for (u32 j = 0; j < WORDS; ++j) {
        const int slot = static_cast<int>((32 * j + rank) / WORDS);
        const u32 at_limb = (32 * j + rank) % WORDS * WORD;
        const u32 from = __shfl_sync(~0u, is_read ? offset : ~0u, slot);
        const bool exists = from != ~0u;
        u32 word[WORD] = {};
        if (exists) load_word(numbers + from + at_limb, word);
        if (any_shift) {
          const u32 distance = __shfl_sync(~0u, of_row[n], slot);
          const u32 first =
              __shfl_sync(~0u, place.is_valid ? place.chunk * ENTRY : ~0u, slot) + at_limb;
          const u32* const number = numbers + __shfl_sync(~0u, place.row, slot) * STORED;
          const u32 limbs = __shfl_sync(~0u, place.limit, slot) * ENTRY;
          if (distance != 0) {
            GPUINT_UNROLL(4)
            for (u32 i = 0; i < WORD; ++i)
              word[i] = first + i - distance < limbs ? number[first + i - distance] : 0;
          }
        }
        store_word(to + static_cast<u32>(slot + 1) * CHUNK_STRIDE + at_limb, word);
      }
    }
  }

  // (x, y) = (u0 x - v0 y, v1 y - u1 x) for numbers 0 and 1 of the rows of `rows`, or for
  // cofactors, from `index` on, (u0 x + v0 y, u1 x + v1 y); of `chunks` chunks each. Only `limit`
  // chunks of the lane's row are in memory, those above are zero. A shifted number itself stays.
  GPUINT_DEVICE void apply(u32 index, u32 rows, u32 chunks, u32 limit, const u32 (&shift)[2]) {
    u32* const list = team + 2 * STAGED;
    u32* const lengths = list + 32;
    const bool is_listed = (rows >> rank & 1) != 0;
    if (is_listed)
      list[__popc(static_cast<int>(rows & ((1u << rank) - 1)))] =
          rank | (shift[0] != 0 ? 32 : 0) | (shift[1] != 0 ? 64 : 0);
    lengths[rank] = 0, lengths[32 + rank] = 0;
    const u32 places = static_cast<u32>(__popc(static_cast<int>(rows))) * chunks;
    u32 carry[2] = {}, tail[2][2] = {};
    GPUINT_UNROLL(1)
    for (u32 base = 0; base < places; base += 32) {
      __syncwarp(~0u);
      const u32 p = base + rank;
      Place place{0, 0, 0, p < places};
      u32 kept = 0;
      if (place.is_valid) {
        const u32 which = p / chunks;
        place.row = list[which], place.chunk = p - which * chunks;
        kept = place.row >> 5, place.row %= 32;
      }
      constexpr u32 WORDS = ENTRY / WORD;
      if (rank < 2 * WORDS) {
        u32 word[WORD] = {};  // nothing is below the first chunk
        u32* const to = team + rank / WORDS * STAGED + rank % WORDS * WORD;
        if (base != 0) load_word(to + 32 * CHUNK_STRIDE, word);
        store_word(to, word);
      }
      __syncwarp(~0u);
      place.limit = __shfl_sync(~0u, limit, static_cast<int>(place.row));
      stage(index, place, shift);
      __syncwarp(~0u);
      GPUINT_UNROLL(1)
      for (u32 n = 0; n < 2; ++n) {
        u32 limbs[ENTRY + 2];
        columns(index == 0, n, place, limbs);
        const u32 own[2] = {limbs[ENTRY], limbs[ENTRY + 1]};
        u32 below[2];
        GPUINT_UNROLL(2)
        for (u32 i = 0; i < 2; ++i) {
          below[i] = __shfl_up_sync(~0u, own[i], 1);
          if (rank == 0) below[i] = n == 0 ? tail[0][i] : tail[1][i];
          if (place.chunk == 0) below[i] = 0;
        }
        const u32 over = add_below(limbs, below), all = all_of(limbs);
        const bool is_inner = place.is_valid && place.chunk + 1 < chunks;
        const CarryLookahead lanes(__ballot_sync(~0u, is_inner && over != 0),
                                   __ballot_sync(~0u, is_inner && all == ~0u),
                                   n == 0 ? carry[0] : carry[1]);
        ptx::add_cc(limbs[0], lanes.into(rank));
        GPUINT_UNROLL(ENTRY)
        for (u32 i = 1; i < ENTRY; ++i) ptx::addc_cc(limbs[i], 0);
        const u32 last[2] = {__shfl_sync(~0u, own[0], 31), __shfl_sync(~0u, own[1], 31)};
        if (n == 0)
          carry[0] = lanes.out_of(32), tail[0][0] = last[0], tail[0][1] = last[1];
        else
          carry[1] = lanes.out_of(32), tail[1][0] = last[0], tail[1][1] = last[1];
        const u32 top = top_of(place, limbs);
        // Limbs of the lane's row above the lane.
        const u32 nonzero = __ballot_sync(~0u, place.is_valid && top != 0) >> rank >> 1;
        const u32 above = min_of(31 - rank, chunks - 1 - place.chunk);
        const bool is_kept = (kept >> n & 1) != 0;
        if (!place.is_valid || (is_kept && place.chunk < place.limit)) continue;
        if (top != 0 && (nonzero & ((1u << above) - 1)) == 0) lengths[32 * n + place.row] = top;
        store_chunk(at(index + n, place.row) + place.chunk * ENTRY, is_kept, limbs);
      }
    }
    __syncwarp(~0u);
    if (is_listed) set_lengths(index, lengths, shift);
    __syncwarp(~0u);
  }

 private:
  // Adds the limbs above the chunk below; returns the carry.
  GPUINT_DEVICE static u32 add_below(u32 (&limbs)[ENTRY + 2], const u32 (&below)[2]) {
    ptx::add_cc(limbs[0], below[0]);
    ptx::addc_cc(limbs[1], below[1]);
    GPUINT_UNROLL(ENTRY)
    for (u32 i = 2; i < ENTRY; ++i) ptx::addc_cc(limbs[i], 0);
    u32 over = 0;
    ptx::addc(over, 0);
    return over;
  }
  // Returns the AND of the limbs of a chunk.
  GPUINT_DEVICE static u32 all_of(const u32 (&limbs)[ENTRY + 2]) {
    u32 all = limbs[0];
    GPUINT_UNROLL(ENTRY)
    for (u32 i = 1; i < ENTRY; ++i) all &= limbs[i];
    return all;
  }

  // Stores a chunk; of a number that stays, clears it.
  GPUINT_DEVICE static void store_chunk(u32* to, bool is_kept, const u32 (&limbs)[ENTRY + 2]) {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < ENTRY; i += WORD) {
      if (is_kept)
        clear_word(to + i);
      else
        store_word(to + i, limbs + i);
    }
  }

  // Sets the lengths of the lane's two numbers from `index` on, but of shifted ones.
  GPUINT_DEVICE void set_lengths(u32 index, const u32* lengths, const u32 (&shift)[2]) {
    GPUINT_UNROLL(2)
    for (u32 n = 0; n < 2; ++n)
      if (shift[n] == 0) {
        if (index == 0)
          length[n] = lengths[32 * n + rank];
        else
          length[NUMBERS - 2 + n] = lengths[32 * n + rank];
      }
  }

  // The lane's columns of a combination of the staged numbers, and two limbs above them.
  GPUINT_DEVICE void columns(bool subtracts, u32 n, const Place& place,
                             u32 (&limbs)[ENTRY + 2]) const {
    Tile<u32, ENTRY> tile;
    const u32* multiplier = nullptr;
    GPUINT_UNROLL(1)
    for (u32 term = 0; term < 2; ++term) {
      const u32 flip = subtracts && term == 1 ? ~0u : 0;
      const u32 which = n == 0 ? (term == 0 ? 0 : 2) : ((term == 0) == subtracts ? 3 : 1);
      const u32 operand = subtracts ? n ^ term : term;
      multiplier = entry(which, place.row);
      const u32* const from = team + operand * STAGED + rank * CHUNK_STRIDE;
      u32 window[2 * ENTRY];
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < ENTRY; i += WORD) {
        load_word(from + i, window + i);
        load_word(from + CHUNK_STRIDE + i, window + ENTRY + i);
      }
      // No limbs are below the lowest chunk, not even complements.
      const u32 mask = place.chunk != 0 ? ~0u : 0;
      GPUINT_UNROLL(ENTRY)
      for (u32 i = 0; i < ENTRY; ++i) {
        window[i] = (window[i] ^ flip) & mask;
        window[ENTRY + i] ^= flip;
      }
      unroll<0, ENTRY / WORD>([&](auto word) {
        constexpr u32 FIRST = decltype(word)::value * WORD;
        u32 rows[WORD], part[ENTRY + WORD];
        GPUINT_UNROLL(4)
        for (u32 i = 0; i < WORD; ++i) rows[i] = multiplier[FIRST + i];
        GPUINT_UNROLL(ENTRY + WORD)
        for (u32 i = 0; i < ENTRY + WORD; ++i) part[i] = window[ENTRY - WORD - FIRST + i];
        tile.add_rows(rows, part);
      });
    }
    tile.sum(limbs);
    if (subtracts && place.chunk == 0) {
      ptx::add_cc(limbs[0], multiplier[0]);
      GPUINT_UNROLL(ENTRY)
      for (u32 i = 1; i < ENTRY; ++i) ptx::addc_cc(limbs[i], multiplier[i]);
      ptx::addc_cc(limbs[ENTRY], 0);
      ptx::addc(limbs[ENTRY + 1], 0);
    }
  }

  // Returns the number of limbs up to the highest nonzero one of a chunk, or 0.
  GPUINT_DEVICE static u32 top_of(const Place& place, const u32 (&limbs)[ENTRY + 2]) {
    u32 top = 0;
    GPUINT_UNROLL(ENTRY)
    for (u32 i = 0; i < ENTRY; ++i)
      if (limbs[i] != 0) top = place.chunk * ENTRY + i + 1;
    return top;
  }
};

}  // namespace gpuint
