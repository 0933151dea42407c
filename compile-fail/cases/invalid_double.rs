use gpuint::{Double, JitUint, Kernels, Shape};

const _: Shape = <Double<JitUint<1048576, 16>> as Kernels>::SHAPE;

fn main() {}
