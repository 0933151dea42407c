//! Rows in host memory that a device can copy directly.

use std::fmt;
use std::sync::Arc;

use num_bigint::BigUint;

use gpuint_catalogue::Shape;

use crate::backend::HostBuffer;
use crate::backend::host::{Passed, check_room, read_integer, read_rows, reserved_pages};
use crate::device::Device;
use crate::digit::Digit;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::rows::write_integers;

/// Rows of one shape in host memory. For a GPU it is pinned memory, which the GPU copies at the
/// speed of the bus without the host; for the CPU it is ordinary memory.
///
/// Allocating pinned memory takes about a millisecond for 4 MiB, so allocate it once and reuse it.
/// [`DynBatch::upload`](crate::DynBatch::upload) and [`download`](crate::DynBatch::download) queue
/// copies and return. The methods that access the bytes first wait for the last copy.
///
/// ```
/// use gpuint::{Device, DynBatch, HostBatch, narrowest};
///
/// let device = Device::cpu();
/// let shape = narrowest(1024).unwrap();
/// let mut host = HostBatch::new(&device, shape, 3)?;
/// host.digits_mut::<u64>()?[0] = 5;
/// let mut batch = DynBatch::zeros(&device, shape, 3)?;
/// batch.upload(0, &mut host)?;
/// batch.wrapping_add(&batch)?.download(0, &mut host)?;
/// assert_eq!(host.to_biguints()?, [10u32, 0, 0].map(Into::into));
/// # Ok::<(), gpuint::Error>(())
/// ```
pub struct HostBatch {
    device: Device,
    memory: Box<dyn HostBuffer>,
    shape: Shape,
    rows: usize,
    capacity: usize,
}

static_assertions::assert_impl_all!(HostBatch: Send, Sync);

impl HostBatch {
    /// Allocates `rows` rows of zeros for copies from and to batches of this device, on any of its
    /// queues.
    ///
    /// # Errors
    /// [`ShapeMissing`](Error::ShapeMissing) if no batch can have the shape,
    /// [`OutOfMemory`](Error::OutOfMemory), [`Driver`](Error::Driver).
    pub fn new(device: &Device, shape: Shape, rows: usize) -> Result<Self> {
        shape.checked().map_err(|_| Error::ShapeMissing { shape })?;
        let bytes = rows.checked_mul(shape.bytes()).filter(|&bytes| bytes <= isize::MAX as usize);
        let bytes = bytes.ok_or(Error::OutOfMemory { bytes: u64::MAX })?;
        let memory = device.memory().alloc_host(bytes)?;
        Ok(Self { device: device.clone(), memory, shape, rows, capacity: rows })
    }

    /// Shape of the rows.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Maximum number of rows in the allocated memory.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Device that copies the rows.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Sets the number of rows, at most [`capacity`](Self::capacity), so that a last, shorter part
    /// can use the same memory. Rows beyond it keep their values.
    ///
    /// # Errors
    /// [`NoSuchRow`](Error::NoSuchRow) beyond the capacity.
    pub fn set_len(&mut self, rows: usize) -> Result<()> {
        if rows > self.capacity {
            return Err(Error::NoSuchRow { row: self.capacity, rows: self.capacity });
        }
        self.rows = rows;
        Ok(())
    }

    /// Waits for the last copy, and returns the bytes of the rows one after the other, each row
    /// least significant byte first.
    ///
    /// # Errors
    /// [`DeviceLost`](Error::DeviceLost) or [`Driver`](Error::Driver) if the copy or work before it
    /// failed.
    pub fn as_bytes(&self) -> Result<&[u8]> {
        Ok(&self.memory.bytes()?[..self.bytes()])
    }

    /// Waits for the last copy, and returns the bytes for writing.
    ///
    /// # Errors
    /// As [`as_bytes`](Self::as_bytes).
    pub fn as_bytes_mut(&mut self) -> Result<&mut [u8]> {
        let bytes = self.bytes();
        Ok(&mut self.memory.bytes_mut()?[..bytes])
    }

    /// Waits for the last copy, and returns the rows as digits of any kind, least significant
    /// first.
    ///
    /// # Errors
    /// [`PartialRow`](Error::PartialRow) where a row is not a whole number of digits, and as
    /// [`as_bytes`](Self::as_bytes).
    pub fn digits<D: Digit>(&self) -> Result<&[D]> {
        self.check_digits::<D>()?;
        Ok(bytemuck::cast_slice(self.as_bytes()?))
    }

    /// Waits for the last copy, and returns the digits for writing.
    ///
    /// # Errors
    /// As [`digits`](Self::digits).
    pub fn digits_mut<D: Digit>(&mut self) -> Result<&mut [D]> {
        self.check_digits::<D>()?;
        Ok(bytemuck::cast_slice_mut(self.as_bytes_mut()?))
    }

    /// Waits for the last copy, and replaces the rows by these values, on all cores. The number of
    /// rows becomes the number of values.
    ///
    /// # Errors
    /// [`NoSuchRow`](Error::NoSuchRow) for more values than the [`capacity`](Self::capacity),
    /// [`TooWide`](Error::TooWide) with the lowest row that needs more bits than the shape has,
    /// after which the other rows are written, and as [`as_bytes`](Self::as_bytes).
    pub fn set_biguints(&mut self, values: &[BigUint]) -> Result<()> {
        self.set_len(values.len())?;
        let shape = self.shape;
        write_integers(values, 0, shape, self.as_bytes_mut()?)
    }

    /// Waits for the last copy, and returns the values, converted on all cores.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), and as [`as_bytes`](Self::as_bytes).
    pub fn to_biguints(&self) -> Result<Vec<BigUint>> {
        let mut values = reserved_pages(self.rows)?;
        check_room(self.rows, self.shape.bytes())?;
        read_rows(self.as_bytes()?, self.shape.bytes(), read_integer, &mut values);
        Ok(values)
    }

    /// Returns the event of the last queued copy.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::new(self.memory.last_copy().unwrap_or_else(|| Arc::new(Passed)))
    }

    /// Number of bytes of the rows.
    pub(crate) fn bytes(&self) -> usize {
        self.rows * self.shape.bytes()
    }

    pub(crate) fn memory_mut(&mut self) -> &mut dyn HostBuffer {
        &mut *self.memory
    }

    fn check_digits<D: Digit>(&self) -> Result<()> {
        let row = self.shape.bytes();
        if row.is_multiple_of(size_of::<D>()) {
            return Ok(());
        }
        Err(Error::PartialRow { len: row, row: size_of::<D>() })
    }
}

/// Formats the shape, the number of rows and the device.
impl fmt::Debug for HostBatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBatch")
            .field("shape", &format_args!("{}", self.shape))
            .field("rows", &self.rows)
            .field("capacity", &self.capacity)
            .field("device", &self.device)
            .finish()
    }
}
