//! The shim and the units of kernels, loaded at their first use and never unloaded.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Display;
use std::io::Write;
use std::mem;
use std::sync::{Arc, LazyLock};

use gpuint_catalogue::translation_unit;
use libloading::Library;
use libloading::os::unix;
use once_cell::sync::OnceCell;

use crate::backend::launch::{LaunchBounds, RawOperands};
use crate::backend::library::{functions, in_words};
use crate::backend::once::OnceMap;
use crate::backend::simt::abi::{RawOptions, Stats};
use crate::backend::simt::compiler::{Compiler, KERNEL_LEVEL, SHIM_LEVEL, shim_unit};
use crate::error::{Error, Result};
use crate::kernel::Instance;
use crate::process::Owner;

// The declarations are those of `kernels/simt/abi.h`.
functions! {
    launch_bounds = c"gpuint_simt_launch_bounds":
        unsafe extern "C" fn(*const c_char, *mut LaunchBounds) -> c_int;
    launch = c"gpuint_simt_launch": unsafe extern "C" fn(
        *const c_char,
        *const RawOperands,
        *const RawOptions,
        *mut Stats,
        *mut c_char,
        usize,
    ) -> c_int;
    upset = c"gpuint_simt_upset": unsafe extern "C" fn(u32, u64, u64, *mut u64) -> u64;
    launch_grid = c"gpuint_simt_launch_grid": unsafe extern "C" fn(
        *const c_char,
        *const c_void,
        u32,
        *const RawOptions,
        *mut Stats,
        *mut c_char,
        usize,
    ) -> c_int;
    rare = c"gpuint_simt_rare": unsafe extern "C" fn(u32, *mut u64) -> *const c_char;
}

/// The shim of this process.
#[derive(Debug)]
pub(super) struct Shim {
    compiler: Compiler,
    pub(super) functions: Functions,
}

impl Shim {
    /// The shim, for a kernel of this name.
    fn get(kernel: &dyn Display) -> Result<&'static Self> {
        static SHIM: OnceCell<Shim> = OnceCell::new();
        // Its locks do not survive a fork.
        static OWNER: Owner = Owner::nobody();
        OWNER.claim()?;
        SHIM.get_or_try_init(|| {
            let compiler = Compiler::from_env().map_err(|reason| Error::KernelMissing {
                kernel: kernel.to_string(),
                remedy: format!(
                    "kernels on the host need a C++17 compiler ({reason}); install one, or set \
                     CXX to it"
                ),
            })?;
            let object = compiler.object("shim", &shim_unit(), SHIM_LEVEL)?;
            let library = open(&object, unix::RTLD_GLOBAL)?;
            // SAFETY: the unit is the shim, whose interface these functions are.
            let functions = unsafe { Functions::read(&library) }.map_err(|error| failed(&error))?;
            mem::forget(library);
            Ok(Self { compiler, functions })
        })
    }
}

/// Returns the shim and the name of a kernel that is loaded.
pub(super) fn load(kernel: Instance) -> Result<(&'static Shim, Arc<CStr>)> {
    static KERNELS: LazyLock<OnceMap<Instance, Arc<CStr>>> = LazyLock::new(OnceMap::default);
    static UNITS: LazyLock<OnceMap<String, ()>> = LazyLock::new(OnceMap::default);
    let shim = Shim::get(&kernel)?;
    let name = KERNELS.get_or_try_init(kernel, || {
        // One name in all processes, whichever kernel they launch first: the cache finds units by
        // name and text.
        let (first, unit) = match kernel {
            Instance::Operation { kernel, .. } => {
                let first = kernel.unit().next().unwrap_or(kernel).to_string();
                (first, translation_unit(kernel.unit().map(|other| other.source(None))))
            }
            Instance::Long(_) => (kernel.to_string(), kernel.source()),
        };
        // Several shapes share the kernels of a width: their units are the same text.
        UNITS.get_or_try_init(unit.clone(), || {
            let object = shim.compiler.object(&first, &unit, KERNEL_LEVEL)?;
            let library = open(&object, unix::RTLD_LOCAL)?;
            // Its kernels have registered themselves.
            mem::forget(library);
            Ok(())
        })?;
        let name = CString::new(kernel.to_string());
        name.map(Arc::from).map_err(|error| Error::Driver(error.to_string()))
    })?;
    Ok((shim, name))
}

/// Kind of a flipped bit in kernels on the SIMT shim (`kernels/simt/upset.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upset {
    /// No bit.
    None,
    /// A bit of the shared memory of a block.
    SharedMemory,
    /// A bit of a register that a thread passes to another one of its warp.
    Register,
}

/// Plans a flipped bit, after `after` events of its kind, for tests; no kernel may run meanwhile.
/// Returns the numbers of flipped bits and of events of the plan before.
///
/// # Errors
/// As [`rare_paths`].
pub fn plan_upset(kind: Upset, after: u64, seed: u64) -> Result<(u64, u64)> {
    let shim = Shim::get(&"simt")?;
    let mut events = 0;
    // SAFETY: the count is written before the call returns.
    let flips = unsafe { (shim.functions.upset)(kind as u32, after, seed, &raw mut events) };
    Ok((flips, events))
}

/// Returns the number of times that the kernels of this process have taken each rare path of
/// `kernels/simt/rare.h` on the SIMT shim, by name.
///
/// # Errors
/// [`KernelMissing`](Error::KernelMissing) or [`Compile`](Error::Compile) if the shim cannot be
/// compiled.
pub fn rare_paths() -> Result<Vec<(&'static str, u64)>> {
    let shim = Shim::get(&"simt")?;
    let mut paths = Vec::new();
    for path in 0.. {
        let mut count = 0;
        // SAFETY: any index may be asked for, and the count is written before the call returns.
        let name = unsafe { (shim.functions.rare)(path, &raw mut count) };
        if name.is_null() {
            break;
        }
        // SAFETY: the name is a literal of the shim, which stays loaded.
        let name = unsafe { CStr::from_ptr(name) };
        paths.push((name.to_str().unwrap_or_default(), count));
    }
    Ok(paths)
}

/// Opens the object of a unit.
fn open(object: &[u8], flags: c_int) -> Result<Library> {
    let unwritten = |error| Error::Driver(format!("temporary file of a kernel: {error}"));
    let mut file = tempfile::NamedTempFile::new().map_err(unwritten)?;
    file.write_all(object).map_err(unwritten)?;
    // SAFETY: the object is the compiler's, of this crate's sources: its initialisers register
    // kernels.
    let library = unsafe { unix::Library::open(Some(file.path()), unix::RTLD_NOW | flags) };
    library.map(Library::from).map_err(|error| failed(&error))
}

fn failed(error: &libloading::Error) -> Error {
    Error::Driver(format!("a kernel on the host does not load: {}", in_words(error)))
}
