//! Executes the PTX that nvcc makes, unmodified, on the CPU: for tests of kernels
//! without a GPU, and for exact dynamic counts.
//!
//! A [`Module`] is parsed PTX; a [`Machine`] is a device with that module loaded, which
//! owns [`Buffer`]s and runs kernels; a run gives [`Counts`], or an [`Error`] that names
//! kernel, block, thread and PTX line.
//!
//! ```
//! use ptxi::{Launch, Machine, Module, Params};
//!
//! let module = Module::parse(
//!     ".version 9.0 .target sm_90 .address_size 64
//!      .visible .entry double(.param .u64 data) {
//!          .reg .b32 %r<3>; .reg .b64 %rd<4>;
//!          ld.param.u64 %rd0, [data];
//!          mov.u32 %r0, %tid.x;
//!          mul.wide.u32 %rd1, %r0, 4;
//!          add.s64 %rd2, %rd0, %rd1;
//!          ld.global.u32 %r1, [%rd2];
//!          add.u32 %r2, %r1, %r1;
//!          st.global.u32 [%rd2], %r2;
//!          ret;
//!      }",
//! )?;
//! let mut machine = Machine::new(&module);
//! let data = machine.alloc_from(&[1, 0, 0, 0, 9, 0, 0, 0])?;
//! let counts = machine.run("double", &Launch::new(1, 2), Params::new().buffer(data).as_bytes())?;
//! assert_eq!(machine.read(data), [2, 0, 0, 0, 18, 0, 0, 0]);
//! assert_eq!(counts.opcode("add.u32").thread, 2);
//! assert_eq!(counts.global.sectors_read, 1);
//! # Ok::<(), ptxi::Error>(())
//! ```
//!
//! # How it runs
//! A warp is a struct of arrays: one row of 32 values per register, one 32-bit mask per
//! predicate. Lanes that diverge form groups; the group that is furthest behind in the
//! control flow runs, so that lanes meet again at the immediate post-dominator of their
//! branch, which is where ptxas lets them meet. The lanes of a `.sync` mask wait for each
//! other wherever they stand. Warps take turns in order, or at random by a seed; blocks
//! run one after the other. Counts do not depend on the machine or on time.
//!
//! Not modelled: time, caches and the order of memory operations. Memory
//! is sequentially consistent. A lane that spins until another lane of its own warp does
//! something may spin for ever ([`Launch::limit`] ends it), and so does a block that waits for a
//! later one. A race between lanes of one warp is not reported.
//!
//! # Checks
//! Bounds, alignment, writes to constants, deadlock and `trap` always; lane masks, divergent
//! barriers, unwritten shared memory, races between warps, mixed carry chains and unwritten
//! registers as [`Checks`] says. Each is a [`FaultKind`].
//!
//! # Instructions
//! An opcode or qualifier that is not in this table is [`Error::Unsupported`] when the module is
//! parsed; what no kernel of the module can reach is not looked at. Integer types are u/s/b 16,
//! 32, 64 unless said otherwise.
//!
//! | Group | Opcodes |
//! |---|---|
//! | Integer | `add` `sub` `mul` `mad` (`.lo` `.hi` `.wide`) `div` `rem` `abs` `neg` `min` `max` |
//! | Carry chains, 32 and 64 bits | `add.cc` `addc` `addc.cc` `sub.cc` `subc` `subc.cc` |
//! | | `mad.lo.cc` `mad.hi.cc` `madc.lo` `madc.hi` `madc.lo.cc` `madc.hi.cc` |
//! | Bits | `and` `or` `xor` `not` (also `.pred`) `shl` `shr` `shf` `lop3` `prmt` |
//! | | `bfe` `bfi` `bfind` `clz` `popc` `brev` |
//! | Comparison | `setp` (`p\|q`, `.and` `.or` `.xor`) `selp` |
//! | f32, f64, exact, to nearest | `add` `sub` `mul` `fma` `mad` `div` `rcp` `sqrt` `neg` `abs` |
//! | | `min` `max` (`.NaN`); `.ftz` `.sat` |
//! | | `fma` and `mad` also round to zero, down and up |
//! | | `.approx` and `.full` are computed exactly, too |
//! | Conversion | `cvt` between integers, f32 and f64, all roundings, `.sat` `.ftz` |
//! | Moves | `mov` (also packing and unpacking, addresses, special registers) `cvta` |
//! | Memory | `ld` `st` of 8 to 64 bits, `.v2` `.v4` `.v8` up to 32 bytes |
//! | | spaces global, shared, local, param, const, generic |
//! | | `.nc`, cache, scope and order qualifiers |
//! | | `atom` `red`: `.add` (also f32, f64) `.min` `.max` `.and` `.or` `.xor` `.exch` `.cas` |
//! | | `atom` `red`: `.inc` `.dec` |
//! | Asynchronous copies | `cp.async.ca` `cp.async.cg` (done when waited for) |
//! | | `cp.async.commit_group` `cp.async.wait_group` `cp.async.wait_all` |
//! | Control | `bra` `brx.idx` `ret` `exit` `trap` |
//! | | `call` (direct, `.param` parameters, no recursion) |
//! | Block barriers | `bar` `barrier{.cta}`: `.sync` `.arrive` `.red.popc` `.red.and` `.red.or` |
//! | | numbers 0 to 15, thread counts |
//! | Warp | `bar.warp.sync` `shfl.sync` `vote.sync` `redux.sync` (integer) `activemask` |
//! | Matrices | `mma.sync.aligned.m16n8k32` and `m16n8k16`, u8/s8 to s32 |
//! | | `ldmatrix` m8n8 b16, `.trans` |
//! | No effect here | `membar` `fence` `prefetch` |
//! | Special registers | `%tid` `%ntid` `%ctaid` `%nctaid` `%laneid` `%warpid` `%nwarpid` |
//! | | `%lanemask_*` `%dynamic_smem_size` `%total_smem_size` `%smid` `%nsmid` `%gridid` |
//! | | clusters of one block |
//!
//! Not there: f16, bf16 and 8-bit floats, packed f32x2, 128-bit types, roundings of arithmetic
//! other than `fma` to other than nearest, transcendental functions, saturating and 24-bit
//! integers, dot products, textures and surfaces, clocks, clusters of several blocks, `mbarrier`,
//! bulk and tensor copies, `wgmma`, `tcgen05`, `match`, `elect`, indirect calls, video
//! instructions. Kernels compiled with `GPUINT_NO_CLUSTERS` for `compute_90` need none of these.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod ast;
mod block;
mod checks;
mod class;
mod counts;
mod decode;
mod error;
mod exec;
mod instr;
mod lex;
mod machine;
mod memory;
mod module;
mod order;
mod shared;
mod syntax;
mod trace;
mod types;
mod warp;

pub use checks::Checks;
pub use class::Class;
pub use counts::{Atomics, Counts, Executed, GlobalTraffic, SharedTraffic};
pub use error::{Error, Fault, FaultKind, Race};
pub use machine::{Buffer, Launch, Machine, Params};
pub use module::{Kernel, Module};
pub use trace::{Difference, Trace};
pub use types::Space;
