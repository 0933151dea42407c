//! Structs of the C interface of the shim, `kernels/simt/abi.h`.

/// The twin of `gpuint_simt_options` in `kernels/simt/abi.h`.
#[derive(Debug)]
#[repr(C)]
pub(super) struct RawOptions {
    pub(super) seed: u64,
    pub(super) max_grid: u32,
    pub(super) host_threads: u32,
}

/// The twin of `gpuint_simt_stats` in `kernels/simt/abi.h`.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Stats {
    pub(super) barriers: u64,
    pub(super) warp_ops: u64,
    pub(super) switches: u64,
    pub(super) blocks: u64,
}
