// Reduction of products modulo special moduli, by the equations of modular/special.cuh, for long
// rows: the limbs of each tile with carry zero into it; carries.cuh adds the carries.
//
// A row has two limbs more, whose bits are the sign of r. A second launch computes the rows with a
// negative r once more, with Q - 1. It leaves the other rows unchanged, by edges without excess.
#pragma once
#include "core/abi.cuh"
#include "long/tile_kernel.cuh"
#include "long/tiles.cuh"
#include "modular/special.cuh"

namespace gpuint::long_rows {

// Arguments. src/backend/long/arguments.rs has the Rust version.
struct Folding {
  Carrying carrying;  // in[0] = x in rows of 2 (limbs - 2); out[1]: the sign, two limbs a row
  const SpecialModulus* moduli;
  const u32* exponents;  // rows of limbs - 2
  u32 digit;             // the factor of rows whose exponent has the bit
  u32 distance;          // the bit
  u32 again;             // 1: of rows with a sign
  u32 padding;
};

struct Folds : TileKernel<FoldPolicy::REGISTERS> {
  using Arguments = Folding;

  GPUINT_DEVICE static void run(const Folding& folding, unsigned char* shared) {
    const Carrying& o = folding.carrying;
    const Tile tile(o);
    const u32 row = tile.row;
    Edge& edge = o.edges[blockIdx.x];
    const u64 limbs = o.limbs - 2;
    if (folding.again != 0 && o.out.rows[1][u64{row} * 2] == 0) {
      if (threadIdx.x == 0) edge = Edge{};
      return;
    }
    const u64 own = tile.own();
    const u32 word = __ldg(folding.exponents + row * limbs + folding.distance / 32);
    const bool has_factor = (word >> (folding.distance % 32) & 1) != 0;
    FoldedLimbs<ReadOnlyRow> fold{
        ReadOnlyRow{o.in[0] + row * (2 * limbs)}, static_cast<u32>(2 * limbs),
        folding.moduli[o.broadcast != 0 ? 0 : row], has_factor ? folding.digit : 1u};
    bool may_be_negative;
    fold.set_quotient(fold.quotient(may_be_negative) - (folding.again != 0 ? 1 : 0));
    u32 r[LIMBS];
    u64 excess = 0;
    GPUINT_UNROLL(8)
    for (u32 i = 0; i < LIMBS; ++i) {
      r[i] = ~0u;
      if (own + i >= o.limbs) continue;
      const u64 z = fold.products(static_cast<u32>(own + i));
      excess += u64{static_cast<u32>(z)} + fold.limb_of_multiple(static_cast<u32>(own + i));
      r[i] = static_cast<u32>(excess);
      excess = (excess >> 32) + (z >> 32);
    }
    tile.resolve(o, r, excess, shared);
  }
};

}  // namespace gpuint::long_rows
