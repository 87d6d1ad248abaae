//! Measures protocols: their machines run between parties of this process, and their meters are read, by
//! what `tacit-run` gives to any program.
//!
//! [`bench()`] measures single operations, [`speeds()`] how fast a protocol runs on this machine,
//! [`analyze_truncation`] what the kind of truncation does to a model, [`liu24()`] the building blocks of a
//! paper's table.

mod liu24;
mod operations;
mod speed;
mod truncation;

pub use liu24::{Block, Counts, PaperTable, liu24};
pub use operations::{BenchOptions, OPERATIONS, bench};
pub use speed::speeds;
pub use truncation::{Analysis, AnalysisOptions, AnalysisRow, analyze_truncation};
