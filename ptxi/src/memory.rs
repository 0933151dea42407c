//! Address spaces and device memory.
//!
//! Every buffer has a window of 2^36 addresses of its own, so an access outside a
//! buffer never lands in another one, however far it goes astray.

use crate::types::Space;

/// Generic addresses of the other spaces; global addresses lie below.
pub(crate) const SHARED_BASE: u64 = 1 << 62;
pub(crate) const LOCAL_BASE: u64 = 1 << 61;
pub(crate) const PARAM_BASE: u64 = 1 << 60;
/// Parameters of device functions, within the parameter space of a thread.
pub(crate) const FRAME_BASE: u64 = 1 << 40;

const WINDOW_BITS: u32 = 36;
/// Windows below [`PARAM_BASE`].
const MAX_BUFFERS: usize = 1 << 20;

/// Device address of the buffer with this index.
pub(crate) fn base(index: usize) -> u64 {
    (index as u64 + 1) << WINDOW_BITS
}

/// The offset to add to an address of a space to make it generic.
pub(crate) fn generic_base(space: Space) -> u64 {
    match space {
        Space::Shared => SHARED_BASE,
        Space::Local => LOCAL_BASE,
        Space::Param => PARAM_BASE,
        Space::Global | Space::Const | Space::Generic => 0,
    }
}

/// The space of a generic address, and the address in it.
pub(crate) fn resolve(address: u64) -> (Space, u64) {
    match address {
        SHARED_BASE.. => (Space::Shared, address - SHARED_BASE),
        LOCAL_BASE.. => (Space::Local, address - LOCAL_BASE),
        PARAM_BASE.. => (Space::Param, address - PARAM_BASE),
        _ => (Space::Global, address),
    }
}

#[derive(Debug)]
pub(crate) struct Storage {
    pub bytes: Vec<u8>,
    /// A `.const` variable: kernels cannot write it.
    pub constant: bool,
}

/// All buffers and module variables of a machine.
#[derive(Default, Debug)]
pub(crate) struct DeviceMemory {
    buffers: Vec<Storage>,
}

impl DeviceMemory {
    /// Adds a buffer; `None` where there are too many.
    pub(crate) fn add(&mut self, bytes: Vec<u8>, constant: bool) -> Option<usize> {
        if self.buffers.len() >= MAX_BUFFERS || bytes.len() as u64 >= 1 << WINDOW_BITS {
            return None;
        }
        self.buffers.push(Storage { bytes, constant });
        Some(self.buffers.len() - 1)
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Storage> {
        self.buffers.get(index)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Storage> {
        self.buffers.get_mut(index)
    }

    fn locate(address: u64) -> Option<(usize, usize)> {
        let window = (address >> WINDOW_BITS).checked_sub(1)?;
        let offset = address & crate::types::ones(WINDOW_BITS);
        Some((window as usize, offset as usize))
    }

    /// The bytes at an address; `None` outside the buffers.
    pub(crate) fn read(&self, address: u64, bytes: usize) -> Option<&[u8]> {
        let (index, offset) = Self::locate(address)?;
        self.buffers.get(index)?.bytes.get(offset..offset + bytes)
    }

    /// The same for writing; `Err(true)` where the bytes are there but constant.
    pub(crate) fn write(&mut self, address: u64, bytes: usize) -> Result<&mut [u8], bool> {
        let (index, offset) = Self::locate(address).ok_or(false)?;
        let storage = self.buffers.get_mut(index).ok_or(false)?;
        let constant = storage.constant;
        let slice = storage.bytes.get_mut(offset..offset + bytes).ok_or(false)?;
        if constant { Err(true) } else { Ok(slice) }
    }
}
