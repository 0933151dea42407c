//! Progress bars.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over the bytes of the input, or a count if its size is unknown, of which `done` were
/// processed before.
pub fn progress_bar(visible: bool, size: Option<u64>, done: u64) -> ProgressBar {
    if !visible {
        return ProgressBar::hidden();
    }
    let (bar, template) = match size {
        Some(size) => {
            (ProgressBar::new(size), "{wide_bar} {bytes} of {total_bytes}, {eta} left{msg}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {elapsed}{msg}"),
    };
    let bar = match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    };
    bar.set_position(done);
    // The time left is that of the rows that follow.
    bar.reset_eta();
    bar
}
