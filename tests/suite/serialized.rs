//! Batches as JSON and CBOR.

use gpuint::num_bigint::BigUint;
use gpuint::{Batch, Device, DynBatch, GpuUint, OnDevice, narrowest, shapes};
use num_traits::One;
use serde::de::DeserializeSeed;
use serde::{Deserialize, Deserializer, Serialize};

use crate::setting::{first, seed};
use gpuint_testkit::operands::{SUMS, rows};

/// A batch that is read onto the CPU.
struct OnCpu<B>(B);

impl<'de, B> Deserialize<'de> for OnCpu<B>
where
    for<'a> OnDevice<'a, B>: DeserializeSeed<'de, Value = B>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        OnDevice::new(&Device::cpu()).deserialize(deserializer).map(OnCpu)
    }
}

fn cbor(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}

#[test]
fn batches_of_all_shapes_are_read_back() {
    for &shape in shapes() {
        let values = first(&rows(seed(), SUMS, shape.into(), 0..SUMS.len()));
        let a = DynBatch::from_biguints(&Device::cpu(), shape, &values).unwrap();
        let json: OnCpu<DynBatch> =
            serde_json::from_str(&serde_json::to_string(&a).unwrap()).unwrap();
        let binary: OnCpu<DynBatch> = ciborium::from_reader(&*cbor(&a)).unwrap();
        for OnCpu(read) in [json, binary] {
            assert_eq!(read.shape(), narrowest(shape.bits).unwrap());
            assert_eq!(read.to_biguints().unwrap(), values, "{shape}");
        }
    }
}

#[test]
fn typed_batches_read_rows_of_other_widths_that_fit() {
    type Narrow = Batch<GpuUint<1024, 2, u16>>;
    type Wide = Batch<GpuUint<4096>>;
    let values = [BigUint::one() << 1023, BigUint::from(9u32)];
    let a = Narrow::from_biguints(&Device::cpu(), &values).unwrap();
    let OnCpu::<Wide>(json) = serde_json::from_str(&serde_json::to_string(&a).unwrap()).unwrap();
    let OnCpu::<Wide>(binary) = ciborium::from_reader(&*cbor(&a)).unwrap();
    for wide in [json, binary] {
        assert_eq!(wide.to_biguints().unwrap(), values);
        let OnCpu::<Narrow>(narrow) = ciborium::from_reader(&*cbor(&wide)).unwrap();
        assert!(narrow.is_equal(&a).unwrap());
    }
    let wide = Wide::splat(&Device::cpu(), &(BigUint::one() << 1024), 1).unwrap();
    let text = serde_json::to_string(&wide).unwrap();
    let error = serde_json::from_str::<OnCpu<Narrow>>(&text).err().unwrap();
    assert!(error.to_string().contains("1025 bits"), "{error}");
    let error = ciborium::from_reader::<OnCpu<Narrow>, _>(&*cbor(&wide)).err().unwrap();
    assert!(error.to_string().contains("1025 bits"), "{error}");
}

#[test]
fn data_that_is_no_batch_is_rejected() {
    for (text, reason) in [
        (r#"{"bits":256,"rows":["1","x"]}"#, "row 1, column 0"),
        (r#"{"bits":9999999999,"rows":["1"]}"#, "9999999999 bits"),
        (r#"{"bits":256,"rows":[1]}"#, "expected a string"),
        (r#"{"rows":["1"]}"#, "missing field"),
    ] {
        let error = serde_json::from_str::<OnCpu<DynBatch>>(text).err().unwrap();
        assert!(error.to_string().contains(reason), "{error}");
    }
    // Rows of `bits` bits, as a list of numbers: not all formats have bytes.
    #[derive(Serialize)]
    struct List {
        bits: usize,
        rows: Vec<u8>,
    }
    let read =
        |bits, rows| ciborium::from_reader::<OnCpu<DynBatch>, _>(&*cbor(&List { bits, rows }));
    let OnCpu(rows) = read(256, [vec![7], vec![0; 31]].concat()).unwrap();
    assert_eq!(rows.to_biguints().unwrap(), [BigUint::from(7u32)]);
    let OnCpu(rows) = read(16, vec![1, 2, 3, 4]).unwrap();
    assert_eq!(rows.to_biguints().unwrap(), [0x0201u32, 0x0403].map(BigUint::from));
    for (bits, bytes) in [(256, 31), (16, 3)] {
        assert!(read(bits, vec![0; bytes]).is_err());
    }
    let OnCpu(none) = read(0, Vec::new()).unwrap();
    assert!(none.is_empty());
}
