use gpuint::{Double, JitUint, Kernels, Shape};

const _: Shape = <Double<JitUint<2147483648>> as Kernels>::SHAPE;

fn main() {}
