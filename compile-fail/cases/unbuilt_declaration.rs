gpuint::gpu_uint!(pub type U8000 = 8000 bits, Q = 4, u64);

fn main() {}
