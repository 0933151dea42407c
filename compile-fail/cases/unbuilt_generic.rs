use gpuint::{Batch, Device, GpuUint, Kernels};

fn rows<T: Kernels>(device: &Device) -> usize {
    Batch::<T>::zeros(device, 5).map_or(0, |batch| batch.len())
}

fn main() {
    rows::<GpuUint<1024, 3, u32>>(&Device::cpu());
}
