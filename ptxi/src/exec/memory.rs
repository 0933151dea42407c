//! Loads, stores, atomics and asynchronous copies of the active lanes, with their
//! checks and their traffic.

use super::Env;
use crate::counts::Tally;
use crate::error::FaultKind;
use crate::instr::{AtomicOp, Instr};
use crate::memory::{FRAME_BASE, resolve};
use crate::shared::Access;
use crate::types::{Space, Type, lanes, ones, sign_extend};
use crate::warp::{Copies, Copy, Row, Trap, Warp};

/// The widest access of one lane.
const WIDEST: usize = 32;

fn little_endian(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

fn access(strong: bool) -> Access {
    if strong { Access::Strong } else { Access::Plain }
}

fn aligned(space: Space, address: u64, bytes: usize) -> Result<(), FaultKind> {
    if address.is_multiple_of(bytes as u64) {
        return Ok(());
    }
    let bytes = bytes as u32;
    Err(FaultKind::Misaligned { space, address, bytes })
}

fn outside(space: Space, address: u64, bytes: usize) -> FaultKind {
    let bytes = bytes as u32;
    FaultKind::OutOfBounds { space, address, bytes }
}

/// The space that an instruction's address means for one lane, and the address in it.
fn place(space: Space, address: u64) -> (Space, u64) {
    match space {
        Space::Generic => resolve(address),
        _ => (space, address),
    }
}

impl Env<'_> {
    /// Copies the bytes of one lane's access into `out`.
    fn fetch(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        (space, address): (Space, u64),
        access: Access,
        out: &mut [u8],
    ) -> Result<(), FaultKind> {
        let n = out.len();
        aligned(space, address, n)?;
        let bytes = match space {
            Space::Global | Space::Const | Space::Generic => self.memory.read(address, n),
            Space::Shared => {
                let at = self.shared_place(address, n)?;
                self.shared.note_read(warp.id, at, n, access)?;
                self.shared.bytes.get(at..at + n)
            }
            Space::Local => Warp::private(&mut warp.local, lane, address, n).map(|b| &*b),
            Space::Param if address >= FRAME_BASE => {
                Warp::private(&mut warp.frames, lane, address - FRAME_BASE, n).map(|b| &*b)
            }
            Space::Param => {
                usize::try_from(address).ok().and_then(|at| self.params.get(at..at.checked_add(n)?))
            }
        };
        out.copy_from_slice(bytes.ok_or_else(|| outside(space, address, n))?);
        Ok(())
    }

    /// Stores the bytes of one lane's access.
    fn put(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        (space, address): (Space, u64),
        access: Access,
        value: &[u8],
    ) -> Result<(), FaultKind> {
        let n = value.len();
        aligned(space, address, n)?;
        let bytes = match space {
            Space::Global | Space::Generic => match self.memory.write(address, n) {
                Ok(bytes) => Some(bytes),
                Err(true) => return Err(FaultKind::ReadOnly { space, address }),
                Err(false) => None,
            },
            Space::Shared => {
                let at = self.shared_place(address, n)?;
                self.shared.note_write(warp.id, at, n, access)?;
                self.shared.bytes.get_mut(at..at + n)
            }
            Space::Local => Warp::private(&mut warp.local, lane, address, n),
            Space::Param if address >= FRAME_BASE => {
                Warp::private(&mut warp.frames, lane, address - FRAME_BASE, n)
            }
            Space::Param | Space::Const => return Err(FaultKind::ReadOnly { space, address }),
        };
        bytes.ok_or_else(|| outside(space, address, n))?.copy_from_slice(value);
        Ok(())
    }

    /// Checks the bounds of a shared access.
    fn shared_place(&self, address: u64, n: usize) -> Result<usize, FaultKind> {
        let size = self.shared.bytes.len();
        match usize::try_from(address) {
            Ok(at) if at <= size && n <= size - at => Ok(at),
            _ => Err(outside(Space::Shared, address, n)),
        }
    }

    /// Counts what an access of `bytes` a lane costs in shared and global memory.
    fn traffic(&mut self, space: Space, mask: u32, addresses: &Row, bytes: usize, store: bool) {
        let (mut shared, mut global) = (0, 0);
        match space {
            Space::Shared => shared = mask,
            Space::Global => global = mask,
            Space::Generic => {
                for lane in lanes(mask) {
                    match resolve(addresses[lane]).0 {
                        Space::Shared => shared |= 1 << lane,
                        Space::Global => global |= 1 << lane,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        if shared != 0 {
            let wavefronts = Tally::wavefronts(shared, addresses, bytes as u32);
            let s = &mut self.tally.counts.shared;
            let (n, w) = match store {
                true => (&mut s.stores, &mut s.store_wavefronts),
                false => (&mut s.loads, &mut s.load_wavefronts),
            };
            *n += 1;
            *w += wavefronts;
        }
        if global != 0 {
            let sectors = Tally::sectors(global, addresses);
            let g = &mut self.tally.counts.global;
            let (n, s) = match store {
                true => (&mut g.stores, &mut g.sectors_written),
                false => (&mut g.loads, &mut g.sectors_read),
            };
            *n += 1;
            *s += sectors;
        }
    }

    /// The addresses of source `k` in a space. Those of shared and local memory are
    /// 32-bit numbers: nvcc lets `register + offset` wrap around.
    pub(super) fn addresses(warp: &Warp, x: &Instr, k: usize, offset: i64, space: Space) -> Row {
        let base = warp.src(x, k);
        let bits = if matches!(space, Space::Shared | Space::Local) { 32 } else { 64 };
        std::array::from_fn(|l| base[l].wrapping_add_signed(offset) & ones(bits))
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn load(
        &mut self,
        warp: &mut Warp,
        x: &Instr,
        mask: u32,
        space: Space,
        ty: Type,
        count: u8,
        strong: bool,
    ) -> Result<(), Trap> {
        let n = ty.bytes() as usize;
        let total = n * usize::from(count);
        let addresses = Self::addresses(warp, x, 0, x.offset, space);
        self.traffic(space, mask, &addresses, total, false);
        let register = ones(u32::from(x.dst_bits));
        let mut buffer = [0; WIDEST];
        for lane in lanes(mask) {
            let bytes = &mut buffer[..total];
            self.fetch(warp, lane, place(space, addresses[lane]), access(strong), bytes)
                .map_err(|kind| Trap::new(lane, kind))?;
            for (element, d) in bytes.chunks_exact(n).zip(x.dst) {
                let mut v = little_endian(element);
                if ty.signed() {
                    v = sign_extend(v, ty.bits()) as u64 & register;
                }
                warp.rows[d as usize][lane] = v;
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn store(
        &mut self,
        warp: &mut Warp,
        x: &Instr,
        mask: u32,
        space: Space,
        ty: Type,
        count: u8,
        strong: bool,
    ) -> Result<(), Trap> {
        let n = ty.bytes() as usize;
        let total = n * usize::from(count);
        let addresses = Self::addresses(warp, x, 0, x.offset, space);
        self.traffic(space, mask, &addresses, total, true);
        let mut buffer = [0; WIDEST];
        for lane in lanes(mask) {
            let bytes = &mut buffer[..total];
            for (element, s) in bytes.chunks_exact_mut(n).zip(&x.src[1..]) {
                let value = warp.rows[*s as usize][lane].to_le_bytes();
                element.copy_from_slice(&value[..n]);
            }
            self.put(warp, lane, place(space, addresses[lane]), access(strong), bytes)
                .map_err(|kind| Trap::new(lane, kind))?;
        }
        Ok(())
    }

    /// Lane after lane, lowest first.
    pub(super) fn atomic(
        &mut self,
        warp: &mut Warp,
        x: &Instr,
        mask: u32,
        space: Space,
        ty: Type,
        op: AtomicOp,
    ) -> Result<(), Trap> {
        let n = ty.bytes() as usize;
        let addresses = Self::addresses(warp, x, 0, x.offset, space);
        let mut shared = 0;
        for lane in lanes(mask) {
            let (space, address) = place(space, addresses[lane]);
            shared |= u32::from(space == Space::Shared) << lane;
            let value = warp.src(x, 1)[lane];
            let swap = if x.srcs > 2 { warp.src(x, 2)[lane] } else { 0 };
            let old = self
                .update(warp.id, (space, address), n, |old| {
                    apply(op, ty, old, value & ones(ty.bits()), swap & ones(ty.bits()))
                })
                .map_err(|kind| Trap::new(lane, kind))?;
            warp.rows[x.dst[0] as usize][lane] = old;
        }
        let counts = &mut self.tally.counts;
        for (lanes, atomics) in
            [(shared, &mut counts.shared_atomics), (mask & !shared, &mut counts.global_atomics)]
        {
            atomics.warp += u64::from(lanes != 0);
            atomics.thread += u64::from(lanes.count_ones());
        }
        Ok(())
    }

    fn update(
        &mut self,
        warp: usize,
        (space, address): (Space, u64),
        n: usize,
        f: impl Fn(u64) -> u64,
    ) -> Result<u64, FaultKind> {
        aligned(space, address, n)?;
        let bytes = match space {
            Space::Shared => {
                let at = self.shared_place(address, n)?;
                self.shared.note_atomic(warp, at, n)?;
                self.shared.bytes.get_mut(at..at + n)
            }
            Space::Global => match self.memory.write(address, n) {
                Err(true) => return Err(FaultKind::ReadOnly { space, address }),
                bytes => bytes.ok(),
            },
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| outside(space, address, n))?;
        let old = little_endian(bytes);
        bytes.copy_from_slice(&f(old).to_le_bytes()[..n]);
        Ok(old)
    }

    /// `cp.async` is queued, and done when its group is waited for: a read before that
    /// finds what was there before.
    pub(super) fn copy_async(
        &mut self,
        warp: &mut Warp,
        x: &Instr,
        mask: u32,
        bytes: u8,
        sized: bool,
    ) {
        let to = Self::addresses(warp, x, 0, x.offset, Space::Shared);
        let from = Self::addresses(warp, x, 1, x.offset2, Space::Global);
        self.traffic(Space::Global, mask, &from, usize::from(bytes), false);
        self.traffic(Space::Shared, mask, &to, usize::from(bytes), true);
        if warp.copies.is_empty() {
            warp.copies.resize_with(32, Copies::default);
        }
        for lane in lanes(mask) {
            let size = u32::from(bytes);
            let wanted = if sized { warp.src(x, 2)[lane] as u32 } else { size };
            warp.copies[lane].open.push(Copy {
                to: to[lane],
                from: from[lane],
                bytes: wanted.min(size),
                size,
            });
        }
    }

    pub(super) fn copy_commit(&mut self, warp: &mut Warp, mask: u32) {
        for lane in lanes(mask) {
            if let Some(copies) = warp.copies.get_mut(lane) {
                let group = std::mem::take(&mut copies.open);
                copies.committed.push_back(group);
            }
        }
    }

    /// Leaves at most `src[0]` committed groups pending, or nothing at all.
    pub(super) fn copy_wait(
        &mut self,
        warp: &mut Warp,
        x: &Instr,
        mask: u32,
        all: bool,
    ) -> Result<(), Trap> {
        if all {
            return self.copy_all(warp, mask);
        }
        for lane in lanes(mask) {
            let keep = warp.src(x, 0)[lane] as usize;
            while warp.copies.get(lane).is_some_and(|c| c.committed.len() > keep) {
                let group = warp.copies[lane].committed.pop_front();
                self.copy_group(warp, lane, group.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Finishes every copy of the lanes.
    pub(super) fn copy_all(&mut self, warp: &mut Warp, mask: u32) -> Result<(), Trap> {
        if warp.copies.is_empty() {
            return Ok(());
        }
        for lane in lanes(mask) {
            let copies = std::mem::take(&mut warp.copies[lane]);
            for group in copies.committed.into_iter().chain([copies.open]) {
                self.copy_group(warp, lane, group)?;
            }
        }
        Ok(())
    }

    fn copy_group(&mut self, warp: &mut Warp, lane: usize, group: Vec<Copy>) -> Result<(), Trap> {
        for copy in group {
            // Bytes beyond those asked for are filled with zeros.
            let mut buffer = [0; 16];
            let (n, size) = (copy.bytes as usize, copy.size as usize);
            let result = self.copy_one(warp, lane, copy, &mut buffer[..size], n);
            result.map_err(|kind| Trap::new(lane, kind))?;
        }
        Ok(())
    }

    fn copy_one(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        copy: Copy,
        buffer: &mut [u8],
        wanted: usize,
    ) -> Result<(), FaultKind> {
        aligned(Space::Global, copy.from, buffer.len())?;
        let bytes = self.memory.read(copy.from, wanted);
        let bytes = bytes.ok_or_else(|| outside(Space::Global, copy.from, wanted))?;
        buffer[..wanted].copy_from_slice(bytes);
        self.put(warp, lane, (Space::Shared, copy.to), Access::Plain, buffer)
    }
}

impl Env<'_> {
    /// One 16-byte row of a matrix, for `ldmatrix`.
    pub(super) fn matrix_row(
        &mut self,
        warp: &mut Warp,
        lane: usize,
        space: Space,
        address: u64,
    ) -> Result<[u8; 16], FaultKind> {
        let mut row = [0; 16];
        self.fetch(warp, lane, place(space, address), Access::Plain, &mut row)?;
        Ok(row)
    }

    /// Shared traffic of the 8 rows of one matrix.
    pub(super) fn matrix_traffic(&mut self, mask: u32, addresses: &Row) {
        self.traffic(Space::Shared, mask, addresses, 16, false);
    }
}

/// The new value of an atomic operation.
fn apply(op: AtomicOp, ty: Type, old: u64, value: u64, swap: u64) -> u64 {
    let signed = |v: u64| sign_extend(v, ty.bits());
    let less = match ty.signed() {
        true => signed(value) < signed(old),
        false => value < old,
    };
    match op {
        AtomicOp::Add => match ty {
            Type::F32 => {
                (f32::from_bits(old as u32) + f32::from_bits(value as u32)).to_bits().into()
            }
            Type::F64 => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
            _ => old.wrapping_add(value),
        },
        AtomicOp::Min => {
            if less {
                value
            } else {
                old
            }
        }
        AtomicOp::Max => {
            if less {
                old
            } else {
                value
            }
        }
        AtomicOp::And => old & value,
        AtomicOp::Or => old | value,
        AtomicOp::Xor => old ^ value,
        AtomicOp::Exch => value,
        AtomicOp::Cas => {
            if old == value {
                swap
            } else {
                old
            }
        }
        AtomicOp::Inc => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Dec => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
    }
}
