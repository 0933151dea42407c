gpuint::gpu_uint!(type NotWhole = 1000 bits, jit);
gpuint::gpu_uint!(type TooWide = at least 2000000 bits);

fn main() {}
