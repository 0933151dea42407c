//! The run-time compiler, NVRTC: found when it is first needed, never linked.
//!
//! `GPUINT_NVRTC` names the library; otherwise the toolkits of `CUDA_HOME` and `CUDA_PATH`, the
//! system's own search and `/usr/local/cuda` are tried in this order. Only absolute folders count
//! as toolkits: a relative one would load code from wherever the process was started. The binding
//! is the crate's own, because it must be this library and no other, and because what a library
//! lacks must be an error and not a panic.
#![allow(unsafe_code)]

use std::env;
use std::ffi::{CStr, CString, OsString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use gpuint_catalogue::Architecture;
use libloading::Library;

use crate::backend::library::{functions, in_words};
use crate::error::{Error, Result};

/// The variable that names the library.
pub(super) const VARIABLE: &str = "GPUINT_NVRTC";

/// `nvrtcProgram`.
type Program = *mut std::ffi::c_void;
/// `nvrtcResult`; 0 is success.
type Code = c_int;
/// A function that writes the size of something.
type Size = unsafe extern "C" fn(Program, *mut usize) -> Code;
/// A function that writes something of that size.
type Content = unsafe extern "C" fn(Program, *mut c_char) -> Code;

functions! {
    error = c"nvrtcGetErrorString": unsafe extern "C" fn(Code) -> *const c_char;
    version = c"nvrtcVersion": unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code;
    architecture_count = c"nvrtcGetNumSupportedArchs": unsafe extern "C" fn(*mut c_int) -> Code;
    architectures = c"nvrtcGetSupportedArchs": unsafe extern "C" fn(*mut c_int) -> Code;
    create = c"nvrtcCreateProgram": unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Code;
    compile = c"nvrtcCompileProgram":
        unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Code;
    destroy = c"nvrtcDestroyProgram": unsafe extern "C" fn(*mut Program) -> Code;
    log_size = c"nvrtcGetProgramLogSize": Size;
    log = c"nvrtcGetProgramLog": Content;
    cubin_size = c"nvrtcGetCUBINSize": Size;
    cubin = c"nvrtcGetCUBIN": Content;
    ptx_size = c"nvrtcGetPTXSize": Size;
    ptx = c"nvrtcGetPTX": Content;
}

/// Target of a compilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// Code of the GPU's own architecture.
    Cubin(u32),
    /// PTX of an older architecture, which the driver compiles further.
    Ptx(u32),
}

impl Target {
    /// Selects native code if the compiler knows `capability`, else PTX of the newest older
    /// architecture.
    fn choose(architectures: &[u32], capability: u32) -> Option<Self> {
        if architectures.contains(&capability) {
            return Some(Self::Cubin(capability));
        }
        architectures.iter().copied().filter(|&known| known < capability).max().map(Self::Ptx)
    }

    /// The options of every version of the compiler.
    pub(super) fn options(self) -> [String; 3] {
        let architecture = match self {
            Self::Cubin(capability) => Architecture::code_of(capability),
            Self::Ptx(capability) => Architecture::ptx_of(capability),
        };
        [
            format!("--gpu-architecture={architecture}"),
            "--std=c++17".to_owned(),
            // Else generic lambdas are functions of the host, which NVRTC refuses.
            "--device-as-default-execution-space".to_owned(),
        ]
    }
}

/// The library.
#[derive(Debug)]
pub(super) struct Nvrtc {
    functions: Functions,
    version: (c_int, c_int),
    architectures: Vec<u32>,
    /// The compiler's own words for its build, which the version does not tell apart.
    build: String,
    /// Unloading it would take the functions away.
    _library: Library,
}

impl Nvrtc {
    /// The library of this process.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn get() -> Result<&'static Self, &'static str> {
        static NVRTC: OnceLock<Result<Nvrtc, String>> = OnceLock::new();
        NVRTC.get_or_init(Self::find).as_ref().map_err(String::as_str)
    }

    fn find() -> Result<Self, String> {
        if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            return Self::open(Path::new(&path)).map_err(|reason| format!("{VARIABLE}: {reason}"));
        }
        let mut reasons = Vec::new();
        for candidate in candidates(|name| env::var_os(name)) {
            match Self::open(&candidate) {
                Ok(found) => return Ok(found),
                Err(reason) => {
                    tracing::trace!(reason, "not NVRTC");
                    // A file that is there and does not load; the bare names are mostly not there.
                    if candidate.is_absolute() {
                        reasons.push(reason);
                    }
                }
            }
        }
        reasons.insert(0, "the library was not found".to_owned());
        Err(reasons.join("; "))
    }

    fn open(path: &Path) -> Result<Self, String> {
        let words = |error: libloading::Error| format!("{}: {}", path.display(), in_words(&error));
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            load_builtins(folder);
        }
        // SAFETY: this runs the initialisers of a library that the user or the system calls NVRTC;
        // NVIDIA's have no preconditions.
        let library = unsafe { Library::new(path) }.map_err(words)?;
        // SAFETY: as above.
        let functions = unsafe { Functions::read(&library) }.map_err(words)?;
        let mut found = Self {
            functions,
            version: (0, 0),
            architectures: Vec::new(),
            build: String::new(),
            _library: library,
        };
        found.introduce().map_err(|reason| format!("{}: {reason}", path.display()))?;
        found.build = found.read_build();
        let (major, minor) = found.version;
        tracing::debug!(path = %path.display(), major, minor, "NVRTC");
        Ok(found)
    }

    /// Asks the library for its version and for the architectures that it knows.
    fn introduce(&mut self) -> Result<(), String> {
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: both pointers are valid for a write.
        self.words(unsafe { (self.functions.version)(&raw mut major, &raw mut minor) })?;
        // SAFETY: the pointer is valid for a write.
        self.words(unsafe { (self.functions.architecture_count)(&raw mut count) })?;
        let mut numbers: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or_default()];
        // SAFETY: the array has as many elements as the library has just asked for.
        self.words(unsafe { (self.functions.architectures)(numbers.as_mut_ptr()) })?;
        self.version = (major, minor);
        self.architectures = numbers.into_iter().filter_map(|n| n.try_into().ok()).collect();
        if major < 12 {
            // It knows sm_90, but not the instructions of sm_90a.
            self.architectures.retain(|&capability| !Architecture::is_specific(capability));
        }
        Ok(())
    }

    /// The build of the compiler, from the comments at the head of its PTX.
    fn read_build(&self) -> String {
        let oldest = self.architectures.iter().min().map(|&number| Target::Ptx(number));
        let unit = "extern \"C\" __global__ void gpuint() {}";
        let ptx = oldest.and_then(|target| self.compile(unit, &[], target).ok());
        let ptx = String::from_utf8_lossy(ptx.as_deref().unwrap_or_default()).into_owned();
        let comments = ptx.lines().take_while(|line| !line.starts_with('.'));
        let words = comments.map(|line| line.trim_start_matches('/').trim());
        words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The library in words, for the key of what it compiles.
    pub(super) fn describe(&self) -> String {
        let Self { version: (major, minor), build, .. } = self;
        format!("nvrtc {major}.{minor} ({build})")
    }

    /// Returns the target for a GPU of `capability`; `None` if it is older than every architecture
    /// that this library knows.
    pub(super) fn target(&self, capability: u32) -> Option<Target> {
        Target::choose(&self.architectures, capability)
    }

    /// Returns the options of the compiler.
    pub(super) fn options(&self, target: Target) -> Vec<String> {
        let mut options = Vec::from(target.options());
        if self.version.0 >= 13 {
            // Without declarations of textures and other features that kernels do not use.
            options.push("--minimal".to_owned());
        }
        options
    }

    /// Compiles a translation unit that includes these headers, each by its bare name.
    ///
    /// # Errors
    /// [`Compile`](Error::Compile) with what the compiler said.
    pub(super) fn compile(
        &self,
        source: &str,
        headers: &[(&str, &str)],
        target: Target,
    ) -> Result<Vec<u8>> {
        let options = self.options(target);
        self.compile_by(source, headers, &options, matches!(target, Target::Cubin(_)))
    }

    /// Compiles to PTX of the newest baseline, almost without optimization: finds sources that
    /// NVRTC refuses in an eighth of the time of [`compile`](Self::compile).
    #[cfg(test)]
    pub(super) fn read_source(&self, source: &str, headers: &[(&str, &str)]) -> Result<Vec<u8>> {
        let mut options = self.options(Target::Cubin(Architecture::NEWEST.capability));
        options[0] = options[0].replace("sm_", "compute_");
        if self.version.0 >= 13 {
            options.push("--Ofast-compile=max".to_owned());
        }
        self.compile_by(source, headers, &options, false)
    }

    /// Compiles by these options, to a cubin or to PTX.
    fn compile_by(
        &self,
        source: &str,
        headers: &[(&str, &str)],
        options: &[String],
        is_cubin: bool,
    ) -> Result<Vec<u8>> {
        let texts = Texts::new(headers.iter().map(|&(_, text)| text))?;
        let names = Texts::new(headers.iter().map(|&(name, _)| name))?;
        let options = Texts::new(options.iter().map(String::as_str))?;
        let source = c_string(source)?;
        let mut program = Running { nvrtc: self, program: ptr::null_mut() };
        // SAFETY: the strings end with a null byte and live until the program is destroyed, as the
        // locals above are dropped after it; both arrays have the length that is given.
        let code = unsafe {
            (self.functions.create)(
                &raw mut program.program,
                source.as_ptr(),
                c"gpuint.cu".as_ptr(),
                texts.len(),
                texts.as_ptr(),
                names.as_ptr(),
            )
        };
        self.words(code).map_err(|log| Error::Compile { log })?;
        // SAFETY: the program is there, and the array has the length that is given.
        let code =
            unsafe { (self.functions.compile)(program.program, options.len(), options.as_ptr()) };
        if let Err(reason) = self.words(code) {
            let log = program.read(self.functions.log_size, self.functions.log).unwrap_or_default();
            let log = String::from_utf8_lossy(log.strip_suffix(&[0]).unwrap_or(&log));
            return Err(Error::Compile { log: format!("{reason}\n{log}") });
        }
        let (size, content) = if is_cubin {
            (self.functions.cubin_size, self.functions.cubin)
        } else {
            (self.functions.ptx_size, self.functions.ptx)
        };
        program.read(size, content).map_err(|log| Error::Compile { log })
    }

    /// The words for a code that is not success.
    fn words(&self, code: Code) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: the function takes any code.
        let words = unsafe { (self.functions.error)(code) };
        if words.is_null() {
            return Err(format!("NVRTC's error {code}"));
        }
        // SAFETY: it returns a string that is part of the library.
        let words = unsafe { CStr::from_ptr(words) };
        Err(words.to_string_lossy().into_owned())
    }
}

/// A program that is destroyed when it goes.
struct Running<'a> {
    nvrtc: &'a Nvrtc,
    /// Null before it was made.
    program: Program,
}

impl Running<'_> {
    /// Reads an output of the program by its pair of functions: size, then content.
    fn read(&self, size: Size, content: Content) -> Result<Vec<u8>, String> {
        let mut bytes = 0;
        // SAFETY: the program is there, and the pointer is valid for a write.
        self.nvrtc.words(unsafe { size(self.program, &raw mut bytes) })?;
        let mut buffer = vec![0u8; bytes];
        // SAFETY: the buffer has the size that was asked for.
        self.nvrtc.words(unsafe { content(self.program, buffer.as_mut_ptr().cast()) })?;
        Ok(buffer)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: the program was made and is not used again. A failure would leak it.
            let _ = unsafe { (self.nvrtc.functions.destroy)(&raw mut self.program) };
        }
    }
}

/// Strings as C takes them.
struct Texts {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Texts {
    fn new<T: Into<Vec<u8>>>(texts: impl IntoIterator<Item = T>) -> Result<Self> {
        let texts = texts.into_iter().map(c_string).collect::<Result<Vec<_>>>()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).collect();
        Ok(Self { _texts: texts, pointers })
    }

    fn len(&self) -> c_int {
        // A few dozen headers and options.
        self.pointers.len() as c_int
    }

    fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

fn c_string<T: Into<Vec<u8>>>(text: T) -> Result<CString> {
    CString::new(text).map_err(|error| Error::Compile { log: error.to_string() })
}

/// The places where the library may be, by the environment, best first.
fn candidates(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let names = library_names();
    let within = |toolkit: PathBuf| {
        let folders = ["lib64", "lib", "bin/x64", "bin"].map(|folder| toolkit.join(folder));
        let names = names.clone();
        let files = move |folder: PathBuf| names.clone().into_iter().map(move |n| folder.join(n));
        folders.into_iter().flat_map(files).filter(|path| path.is_file())
    };
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable).map(PathBuf::from);
    let mut found: Vec<PathBuf> =
        toolkits.filter(|toolkit| toolkit.is_absolute()).flat_map(within).collect();
    found.extend(names.iter().map(PathBuf::from));
    if cfg!(unix) {
        found.extend(within("/usr/local/cuda".into()));
    }
    found
}

/// The names of the library: that of developers' packages, and those of its versions, newest first.
fn library_names() -> Vec<String> {
    let majors = (12..20).rev();
    if cfg!(windows) {
        majors.map(|major| format!("nvrtc64_{major}0_0.dll")).collect()
    } else {
        let versions = majors.map(|major| format!("libnvrtc.so.{major}"));
        ["libnvrtc.so".to_owned()].into_iter().chain(versions).collect()
    }
}

/// Loads what NVRTC asks for by its bare name and would not find beside itself.
fn load_builtins(folder: &Path) {
    let prefix = format!("{}nvrtc-builtins", env::consts::DLL_PREFIX);
    for file in folder.read_dir().into_iter().flatten().flatten() {
        let name = file.file_name();
        let name = name.to_string_lossy();
        let alternative = name.contains(".alt.");
        if name.starts_with(&prefix) && name.contains(env::consts::DLL_SUFFIX) && !alternative {
            // SAFETY: a part of NVRTC: as for the library itself.
            match unsafe { Library::new(file.path()) } {
                // It stays for as long as the process.
                Ok(builtins) => std::mem::forget(builtins),
                Err(error) => {
                    tracing::debug!(reason = in_words(&error), "a part of NVRTC does not load");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_the_gpus_own_or_the_newest_before_it() {
        let known = [75, 80, 90, 100];
        assert_eq!(Target::choose(&known, 90), Some(Target::Cubin(90)));
        assert_eq!(Target::choose(&known, 89), Some(Target::Ptx(80)));
        assert_eq!(Target::choose(&known, 121), Some(Target::Ptx(100)));
        assert_eq!(Target::choose(&known, 70), None);
        assert_eq!(Target::choose(&[], 90), None);
        assert_eq!(
            Target::Cubin(90).options(),
            ["--gpu-architecture=sm_90a", "--std=c++17", "--device-as-default-execution-space"]
        );
        assert_eq!(Target::Cubin(80).options()[0], "--gpu-architecture=sm_80");
        assert_eq!(Target::Ptx(90).options()[0], "--gpu-architecture=compute_90");
        assert_eq!(Target::Ptx(80).options()[0], "--gpu-architecture=compute_80");
    }

    #[test]
    fn toolkit_that_is_empty_or_relative_is_none() {
        let none = candidates(|_| None);
        for value in ["", ".", "cuda", "./lib64"] {
            assert_eq!(candidates(|_| Some(value.into())), none, "{value}");
        }
        assert!(none.iter().all(|path| path.is_absolute() || path.components().count() == 1));
        let toolkit = tempfile::tempdir().unwrap();
        let library = toolkit.path().join("lib64").join(&library_names()[0]);
        std::fs::create_dir(toolkit.path().join("lib64")).unwrap();
        std::fs::write(&library, "").unwrap();
        assert_eq!(candidates(|_| Some(toolkit.path().into()))[0], library);
    }

    #[test]
    fn library_that_does_not_load_says_why() {
        let reason = Nvrtc::open(Path::new("Cargo.toml")).unwrap_err();
        assert!(reason.len() > "Cargo.toml: dlopen failed: ".len(), "{reason}");
        assert!(reason.contains("Cargo.toml"), "{reason}");
    }

    #[test]
    fn other_library_is_rejected_with_its_name() {
        for path in ["/not/there/libnvrtc.so", "Cargo.toml"] {
            let reason = Nvrtc::open(Path::new(path)).unwrap_err();
            assert!(reason.contains(path), "{reason}");
        }
    }
}
