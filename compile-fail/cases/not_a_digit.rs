use gpuint::GpuUint;

type Signed = GpuUint<1024, 4, i64>;

fn main() {
    let _: Option<Signed> = None;
}
