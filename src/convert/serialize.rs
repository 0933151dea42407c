//! Batches as data of any format of serde (feature `serde`).
//!
//! A batch is a structure of `bits`, the width of its rows, and `rows`. In formats for humans
//! (JSON) these are a list of hexadecimal numbers; in others (CBOR) the bytes of all rows, one row
//! after another, each least significant byte first. Digits and devices are no part of the data.

use std::fmt;
use std::marker::PhantomData;

use gpuint_catalogue::Shape;
use num_bigint::BigUint;
use serde::de::{DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::backend::host::{check_room, collected};
use crate::batch::Batch;
use crate::device::Device;
use crate::dyn_batch::DynBatch;
use crate::error::Result;
use crate::rows::whole_rows;
use crate::shape::Kernels;

/// The data of a batch.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Batch")]
struct Data<R> {
    bits: usize,
    rows: R,
}

/// Bytes that formats store as such, not as a list of numbers.
struct Bytes(Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyBytes;
        impl<'de> Visitor<'de> for AnyBytes {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of rows")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Bytes, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = list.next_element()? {
                    bytes.push(byte);
                }
                Ok(Bytes(bytes))
            }
        }
        deserializer.deserialize_byte_buf(AnyBytes)
    }
}

/// Serializes the rows: as hexadecimal numbers in formats for humans.
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
impl Serialize for DynBatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits = self.shape().bits;
        if serializer.is_human_readable() {
            let rows = self.to_hex().map_err(S::Error::custom)?;
            return Data { bits, rows }.serialize(serializer);
        }
        let rows = Bytes(self.to_le_bytes().map_err(S::Error::custom)?);
        Data { bits, rows }.serialize(serializer)
    }
}

/// Serializes the rows: as hexadecimal numbers in formats for humans.
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
impl<T: Kernels> Serialize for Batch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_dyn().serialize(serializer)
    }
}

/// Reads serialized batches onto a device: a seed of serde for [`Batch`] and [`DynBatch`].
///
/// A `Batch` reads rows of every width, if the values fit. A `DynBatch` gets the narrowest shape of
/// at least the width of the data.
///
/// ```
/// use gpuint::{Batch, Device, GpuUint, OnDevice};
/// use serde::de::DeserializeSeed;
///
/// type Rows = Batch<GpuUint<1024>>;
/// let device = Device::cpu();
/// let text = r#"{"bits":1024,"rows":["7","ff"]}"#;
/// let mut json = serde_json::Deserializer::from_str(text);
/// let batch = OnDevice::<Rows>::new(&device).deserialize(&mut json)?;
/// assert_eq!(batch.to_hex()?, ["7", "ff"]);
/// assert_eq!(serde_json::to_string(&batch)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[cfg_attr(docsrs, doc(cfg(feature = "serde")))]
pub struct OnDevice<'a, B> {
    device: &'a Device,
    batch: PhantomData<B>,
}

impl<'a, B> OnDevice<'a, B> {
    /// Makes a seed for a device.
    #[must_use]
    pub fn new(device: &'a Device) -> Self {
        Self { device, batch: PhantomData }
    }

    /// Reads a batch; `shape` maps the width of the data to a shape.
    fn read<'de, D: Deserializer<'de>>(
        &self,
        deserializer: D,
        shape: impl FnOnce(usize) -> Result<Shape>,
    ) -> Result<DynBatch, D::Error> {
        if deserializer.is_human_readable() {
            let Data { bits, rows } = Data::<Vec<String>>::deserialize(deserializer)?;
            let rows = collected(rows.iter().map(String::as_str)).map_err(D::Error::custom)?;
            let read = shape(bits).and_then(|shape| DynBatch::from_hex(self.device, shape, &rows));
            return read.map_err(D::Error::custom);
        }
        let Data { bits, rows: Bytes(bytes) } = Data::<Bytes>::deserialize(deserializer)?;
        shape(bits).and_then(|shape| self.read_bytes(shape, bits, &bytes)).map_err(D::Error::custom)
    }

    fn read_bytes(&self, shape: Shape, bits: usize, bytes: &[u8]) -> Result<DynBatch> {
        if bits == shape.bits {
            return DynBatch::from_le_bytes(self.device, shape, bytes);
        }
        let row = (bits / 8).max(1);
        check_room(whole_rows(bytes.len(), row)?, row)?;
        let values = bytes.chunks_exact(row).map(BigUint::from_bytes_le);
        DynBatch::from_biguints(self.device, shape, values)
    }
}

impl<'de> DeserializeSeed<'de> for OnDevice<'_, DynBatch> {
    type Value = DynBatch;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<DynBatch, D::Error> {
        self.read(deserializer, |bits| self.device.shape_for(bits))
    }
}

impl<'de, T: Kernels> DeserializeSeed<'de> for OnDevice<'_, Batch<T>> {
    type Value = Batch<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Batch<T>, D::Error> {
        let device = self.device.of::<T>();
        let seed = OnDevice::<Batch<T>>::new(&device);
        seed.read(deserializer, |_| Ok(T::SHAPE)).map(Batch::typed)
    }
}
