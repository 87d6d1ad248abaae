//! The log of a run: its steps, for whoever subscribes to `tracing`. Public words and numbers only:
//! no value, share, seed or key is ever an argument here.

use crate::Progress;

/// An observer that writes every step to the log and passes it on. At level `info` there is a line for
/// every per cent and every phase that a run begins with, at `debug` one for every step.
pub fn logged(observe: &mut dyn FnMut(Progress) -> bool) -> impl FnMut(Progress) -> bool + '_ {
    let mut last = None;
    move |progress| {
        let percent = progress.percent();
        let Progress { phase, layer, .. } = progress;
        let gap = if layer.is_empty() { "" } else { " " };
        match last.replace(percent) == Some(percent) {
            true => tracing::debug!("{phase}{gap}{layer} {percent} %"),
            false => tracing::info!("{phase}{gap}{layer} {percent} %"),
        }
        observe(progress)
    }
}
