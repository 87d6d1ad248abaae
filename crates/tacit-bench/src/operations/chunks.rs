//! Cutting an operation into chunks, so that its memory depends on them and not on its size.

use std::ops::Range;

use tacit_protocols::lowered;
use tacit_protocols::material_portions::stored;
use tacit_run::{Error, Instance};

use super::case::{Case, Op};

/// What all parties together hold of a chunk, unless told otherwise.
const DEFAULT_BYTES: u64 = 256 << 20;
/// Results of which that is counted.
const SAMPLE: usize = 64;

/// The chunks of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    /// The size of the whole operation.
    pub n: usize,
    /// The size of a chunk; the last may be smaller.
    pub size: usize,
}

impl Chunks {
    /// Chunks of the size that is asked for, or as large as fit a usual memory.
    pub fn new(case: &Case, asked: Option<usize>, instance: &Instance) -> Result<Self, Error> {
        let n = case.n;
        // Rows and columns of matrices belong together.
        let whole = case.op == Op::MatMul;
        let size = match asked {
            Some(0) => {
                let why = "give at least 1, or leave it out for chunks that fit a usual memory";
                return Err(Error::setting("chunk 0", why));
            }
            Some(size) if whole && size < n => {
                let why = format!("'{}' is not cut; leave it out", case.op.name());
                return Err(Error::setting(format!("chunk {size}"), why));
            }
            Some(size) => size.min(n),
            None if whole => n,
            None => fitting(case, instance)?,
        };
        Ok(Chunks { n, size })
    }

    pub fn count(self) -> usize {
        self.n.div_ceil(self.size)
    }

    /// One after the other.
    pub fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let starts = (0..self.n).step_by(self.size);
        starts.map(move |start| start..(start + self.size).min(self.n))
    }
}

/// The size of even chunks of which no more than [`DEFAULT_BYTES`] are held.
fn fitting(case: &Case, instance: &Instance) -> Result<usize, Error> {
    let each = case.of(1).lens().unwrap_or_default()[2];
    let sample = case.n.min(SAMPLE.div_ceil(each.max(1)));
    let bytes = held(&case.of(sample), instance)?;
    let most = (sample as u64 * DEFAULT_BYTES / bytes.max(1)).clamp(1, case.n as u64);
    Ok(case.n.div_ceil(case.n.div_ceil(most as usize)))
}

/// About how many bytes all parties together hold at once: operands, result, correlated
/// randomness, and at worst all messages.
fn held(case: &Case, instance: &Instance) -> Result<u64, Error> {
    let (cost, calls) = (instance.cost()?, case.calls()?);
    let online = lowered(&calls, &*cost)?;
    let messages: u64 = online.iter().flat_map(|call| cost.online(call).bytes).sum();
    let words: usize = case.lens().unwrap_or_default().iter().sum();
    let each = stored(&calls, &*cost)? + 8 * words as u64;
    Ok(messages + instance.parties as u64 * each)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BenchOptions;
    use tacit_run::Settings;

    fn instance(run: &str) -> Instance {
        let settings = Settings::from_json(run).expect("settings");
        Instance::new(&settings, None).expect("an instance")
    }

    fn case(op: &str, n: usize, precision: Option<u32>, instance: &Instance) -> Case {
        let options = BenchOptions {
            op,
            n,
            precision,
            fraction_bits: precision.map(|bits| bits - 4),
            ..BenchOptions::default()
        };
        Case::new(&options, instance.width).expect("a case")
    }

    #[test]
    fn chunks_cover_the_size_in_order() {
        for (n, size, count) in [(10, 3, 4), (9, 3, 3), (1, 1, 1), (7, 7, 1), (5, 1, 5)] {
            let chunks = Chunks { n, size };
            let ranges: Vec<_> = chunks.ranges().collect();
            assert_eq!((ranges.len(), chunks.count()), (count, count));
            assert!(ranges.iter().all(|r| !r.is_empty() && r.len() <= size));
            assert!(ranges.into_iter().flatten().eq(0..n));
        }
    }

    #[test]
    fn a_size_that_is_asked_for_is_kept() {
        let falcon = instance("{}");
        let chunk = |op, asked| {
            let chunks = Chunks::new(&case(op, 20, None, &falcon), Some(asked), &falcon);
            chunks.map(|chunks| chunks.size).map_err(|e| e.to_string())
        };
        assert_eq!(chunk("relu", 6), Ok(6));
        assert_eq!(chunk("relu", 1000), Ok(20));
        assert_eq!(chunk("matmul", 20), Ok(20));
        assert!(chunk("relu", 0).is_err_and(|e| e.contains("chunk 0: give at least 1")));
        assert!(chunk("matmul", 6).is_err_and(|e| e.contains("'matmul' is not cut")));
    }

    /// The memory of many elements is bounded; few elements are one chunk.
    #[test]
    fn memory_depends_on_the_chunk_and_not_on_the_size() {
        for run in [
            "{}",
            r#"{"protocol": "bicoptor"}"#,
            r#"{"protocol": "shamir", "parties": 7}"#,
            r#"{"protocol": "sirnn"}"#,
            r#"{"protocol": "clear"}"#,
        ] {
            let instance = instance(run);
            for op in ["mult", "relu", "maxpool", "compare", "sigmoid"] {
                let many = case(op, 50_000_000, None, &instance);
                let chunks = Chunks::new(&many, None, &instance).expect("chunks");
                let bytes = held(&many.of(chunks.size), &instance).expect("a size");
                let share = bytes as f64 / DEFAULT_BYTES as f64;
                assert!((0.8..1.02).contains(&share), "{run}: {op}: {share}");
                assert!(chunks.count() * chunks.size - chunks.n < chunks.count());
                let few = case(op, 1000, None, &instance);
                let chunks = Chunks::new(&few, None, &instance).expect("chunks");
                assert_eq!(chunks.count(), 1, "{run}: {op}");
            }
            let square = case("matmul", 2000, None, &instance);
            let chunks = Chunks::new(&square, None, &instance).expect("chunks");
            assert_eq!(chunks.count(), 1, "{run}");
        }
    }

    #[test]
    fn of_the_layers_of_heads_the_larger_is_cut() {
        let sirnn = instance(r#"{"protocol": "sirnn"}"#);
        let size = |n| {
            let case = case("sigmoid", n, Some(16), &sirnn);
            Chunks::new(&case, None, &sirnn).expect("chunks").size
        };
        assert_eq!((size(18_096), size(72_384)), (18_096, 36_192));
    }
}
