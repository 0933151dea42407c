use gpuint::{Batch, Device, GpuUint};

fn main() {
    let device = Device::cpu();
    let _batch = Batch::<GpuUint<8000>>::zeros(&device, 5);
}
