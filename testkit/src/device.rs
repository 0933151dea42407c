//! A device of the library as a machine of the cases.

use gpuint::{Algorithm, Device, Op, Shape, direct, is_offered};

use crate::cases::{Machine, Task};
use crate::launch::{Grids, Operands, Outcome};

/// The operation, the algorithm and the shape of a kernel by its name.
fn id_of(kernel: &str) -> Option<(Op, Algorithm, Shape)> {
    Task::parse(kernel)?.id()
}

/// A device of the library, on its own schedule. It runs operations on long rows as one launch.
impl Machine for Device {
    fn has_kernel(&mut self, kernel: &str) -> bool {
        id_of(kernel).is_some_and(|(op, algorithm, shape)| is_offered(op, algorithm, shape))
    }

    fn rows_per_block(&mut self, _kernel: &str) -> Option<usize> {
        None
    }

    fn launch(&mut self, kernel: &str, given: &Operands, _turn: usize) -> Result<Outcome, String> {
        let id = id_of(kernel).ok_or_else(|| format!("unknown kernel \"{kernel}\""))?;
        let initial = |output: usize| match &given.updated[output][..] {
            [] => vec![0xa5; given.outputs[output]],
            updated => updated.to_vec(),
        };
        let outs = [initial(0), initial(1)];
        let launch = direct::Launch {
            ins: given.inputs.each_ref().map(Vec::as_slice),
            pairs: &given.pairs,
            outs: outs.each_ref().map(Vec::as_slice),
            rows: given.rows,
            has_mask: given.mask,
            has_status: id.0.signature().status && !given.without_status,
            params: given.params,
        };
        direct::launch(self, id, &launch).map_err(|error| format!("{kernel}: {error}"))
    }

    fn launch_grids(&mut self, _grids: &Grids, _turn: usize) -> Result<Vec<Vec<u8>>, String> {
        Err("a device composes the launches of long rows".to_owned())
    }
}
