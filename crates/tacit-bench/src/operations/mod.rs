//! Single operations, measured on random values and checked against clear text.

mod case;
mod chunks;
mod compound;
mod function;
mod trial;

use tacit_net::{LinkModel, memory};
use tacit_nn::plan::Functions;
use tacit_run::{
    Error, Instance, LayerReport, PhaseReport, Progress, Protocol, Report, Settings, asked_width,
    in_threads, key_bits, logged,
};

use case::{Case, Errors, Expected, Operands};
use chunks::Chunks;
use trial::{Ending, Trial};

/// The operations that [`bench()`] knows, each with what its size `n` means.
pub const OPERATIONS: [(&str, &str); 16] = [
    ("mult", "n products, truncated"),
    ("matmul", "the product of two n x n matrices, truncated"),
    (
        "conv",
        "n images through LeNet's second convolution (20 -> 50 channels, 5x5, of 12x12), truncated",
    ),
    ("trunc", "n truncations"),
    ("drelu", "n comparisons with 0"),
    ("relu", "n ReLUs"),
    ("maxpool", "n windows of 2x2"),
    ("compare", "n comparisons of two secrets"),
    ("reciprocal", "n reciprocals of numbers from 1/64 to 64"),
    ("exp", "n exponentials of numbers up to 0"),
    ("sigmoid", "n sigmoids"),
    ("tanh", "n hyperbolic tangents"),
    ("rsqrt", "n inverse square roots of numbers from 1/64 to 64"),
    ("pow", "n bounding powers of numbers from 1/64 to 64"),
    ("division", "n quotients of divisors from 1/64 to 64"),
    (
        "batchnorm",
        "n channels of 8x8, normalised by secret statistics",
    ),
];

/// The options of a measurement.
#[derive(Clone, Debug, Default)]
pub struct BenchOptions<'a> {
    /// One of [`OPERATIONS`].
    pub op: &'a str,
    /// Size of the operation, such as the number of elements.
    pub n: usize,
    /// How much of the size is prepared, run and checked at a time, but for `matmul`. By default as
    /// much as all parties together hold in about 256 MiB.
    pub chunk: Option<usize>,
    /// Bits of the ring, 32 or 64; what the protocol computes in by default if neither this nor
    /// `field` is given.
    pub ring: Option<u32>,
    /// Bits of the prime field, 31 or 61.
    pub field: Option<u32>,
    /// Bits truncated, or fraction bits of a function or of the operands that key bits are of; by
    /// default 12 of at most 32 bits and 18 of more.
    pub fraction_bits: Option<u32>,
    /// Bits of a function's arguments and results, where they have a width of their own.
    pub precision: Option<u32>,
    /// The bits before and after the point that signs are taken from, such as `5.2`; all of them
    /// if not given.
    pub key_bits: Option<&'a str>,
    /// How near functions are.
    pub functions: Functions,
    /// Whether signs are taken as Bicoptor's paper prints it, which errs and leaks: for the cost.
    pub as_printed_insecure: bool,
    /// Whether `pow`, `reciprocal` and `rsqrt` open magnitudes as in Falcon's paper: for the cost.
    pub paper_leakage: bool,
    /// The number of runs, at least one.
    pub repeat: usize,
}

/// Measures one operation `repeat` times between parties in this process, each time with fresh
/// correlated randomness, and in chunks if it is large. A run costs what its chunks cost one after
/// the other; the report has the median of the runs. A wrong result is an error. Sharing the
/// operands and opening the result is not part of the figures.
pub fn bench(
    options: &BenchOptions,
    settings: &Settings,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Report, Error> {
    let asked = asked_width(options.ring, options.field)?;
    let mut instance = Instance::new(settings, asked)?;
    settings.roles(instance.parties)?;
    if options.as_printed_insecure {
        instance = instance.as_printed_insecure()?;
    }
    let instance = &instance;
    let protocol = instance.protocol;
    if options.paper_leakage {
        protocol.check_paper_leakage()?;
    }
    protocol.check_key_bits(key_bits::choice(options.key_bits, None)?)?;
    let case = Case::new(options, instance.width)?;
    if case.is_function() && instance.tolerance().large_errors {
        let why = format!(
            "{} truncates values near the ring's end, where the large errors of this one are frequent; choose gap or exact",
            options.op
        );
        return Err(Error::setting("truncation", why));
    }
    settings.check_no_prediction("bench")?;
    let observe = &mut logged(observe);
    let chunks = Chunks::new(&case, options.chunk, instance)?;
    let operands = case.operands()?;
    let expected = in_the_clear(&case, chunks, &operands)?;
    let mesh = memory::mesh(instance.parties, &instance.link, settings.timeout);
    let ends = in_threads(mesh, observe, |party, observe| {
        let trial = Trial {
            case: &case,
            chunks,
            operands: (party.id() == 0).then_some(&operands),
            expected: Some(Expected {
                operands: &operands,
                result: &expected,
                tolerance: instance.tolerance(),
            }),
            repeat: options.repeat.max(1),
            observe,
        };
        instance.start(party, |machine| trial.run(machine))
    })?;
    Ok(report(&case, chunks, (instance, settings), &ends))
}

/// What the case gives in the clear, by the protocol that is the oracle of the others. For a field
/// it computes in the next larger ring, which is the same as long as nothing overflows, and for a
/// function within its tolerance.
fn in_the_clear(case: &Case, chunks: Chunks, operands: &Operands) -> Result<Vec<i64>, Error> {
    let settings = Settings {
        protocol: Protocol::of_name("clear")?,
        ..Settings::default()
    };
    let case = case.over(case.width.next_power_of_two())?;
    let instance = Instance::new(&settings, Some(case.width))?;
    let alone = memory::mesh(1, &LinkModel::LOCAL, settings.timeout);
    let mut ends = in_threads(alone, &mut |_| true, |party, observe| {
        let trial = Trial {
            case: &case,
            chunks,
            operands: Some(operands),
            expected: None,
            repeat: 1,
            observe,
        };
        instance.start(party, |machine| trial.run(machine))
    })?;
    Ok(ends.swap_remove(0).result)
}

/// The medians of the runs, of what all parties ended with.
fn report(
    case: &Case,
    chunks: Chunks,
    (instance, settings): (&Instance, &Settings),
    ends: &[Ending],
) -> Report {
    let Errors { large, largest } = ends[0].errors;
    let (count, runs) = (chunks.count(), ends[0].costs.len() / chunks.count());
    let of_chunk = |at: usize, phase: usize| -> PhaseReport {
        ends.iter().map(|end| end.costs[at][phase]).collect()
    };
    let median = |phase: usize| {
        let of_run = |run| (0..count).map(|at| of_chunk(run * count + at, phase)).sum();
        let mut runs: Vec<PhaseReport> = (0..runs).map(of_run).collect();
        runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        runs.swap_remove(runs.len() / 2)
    };
    let (offline, online) = (median(0), median(1));
    let (name, what) = OPERATIONS[case.op as usize];
    let layer = LayerReport {
        name: name.into(),
        op: what.into(),
        shape: vec![case.lens().unwrap_or_default()[2]],
        seconds: online.seconds,
        rounds: online.rounds,
        bytes: online.bytes_sent.iter().copied().max().unwrap_or(0),
    };
    let warning = || match instance.as_printed {
        false => format!("{large} results have the large error of this truncation"),
        true => format!("{large} results are wrong: as printed, signs err"),
    };
    let insecure = [
        (
            instance.as_printed,
            "as printed the comparison leaks; this is for its cost only",
        ),
        (
            case.function.is_some_and(|function| function.leaks()),
            "as in the paper every party learns the magnitude of every element; this is for its cost only",
        ),
    ];
    let insecure = insecure.into_iter().filter(|(leaks, _)| *leaks);
    Report {
        fraction_bits: case.trunc,
        images: runs,
        batch: chunks.size,
        offline,
        online,
        layers: vec![layer],
        op: Some(name.into()),
        n: Some(case.n),
        chunk: Some(chunks.size),
        max_abs_error: Some(largest / f64::from(case.trunc).exp2()),
        max_ulp_error: Some(largest),
        warnings: (large > 0)
            .then(warning)
            .into_iter()
            .chain(insecure.map(|(_, words)| words.into()))
            .collect(),
        ..Report::empty(instance, &settings.network)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacit_run::Tolerance;

    const EXACT: Tolerance = Tolerance {
        rounding: 0,
        large_errors: false,
        wrong_signs: false,
    };

    fn options<'a>(op: &'a str, n: usize, key_bits: Option<&'a str>) -> BenchOptions<'a> {
        BenchOptions {
            op,
            n,
            key_bits,
            ..BenchOptions::default()
        }
    }

    fn whole(case: &Case) -> Chunks {
        let (n, size) = (case.n, case.n);
        Chunks { n, size }
    }

    #[test]
    fn the_oracle_of_a_field_does_not_overflow() {
        for (op, _) in OPERATIONS {
            let options = options(op, if op == "conv" { 1 } else { 20 }, None);
            let narrow = Case::new(&options, 31).expect("a case");
            let wide = narrow.over(64).expect("a case");
            let operands = narrow.operands().expect("operands");
            let clear = |case| in_the_clear(case, whole(case), &operands).expect("a result");
            let right = Expected {
                operands: &operands,
                result: &clear(&wide),
                tolerance: EXACT,
            };
            let same = narrow.compare(&clear(&narrow), 0, right);
            assert!(same.is_ok(), "{op}: {same:?}");
            let case = Case::new(&options, 61).expect("a case");
            let operands = case.operands().expect("operands");
            let result = in_the_clear(&case, whole(&case), &operands).expect("a result");
            assert!(result.iter().all(|v| v.unsigned_abs() < 1 << 60), "{op}");
        }
    }

    #[test]
    fn operands_have_signs_that_can_be_taken() {
        for (op, key_bits, largest) in [
            ("relu", None, (1 << 62) - 1),
            ("compare", None, (1 << 62) - 1),
            ("drelu", None, (1 << 62) - 1),
            ("maxpool", None, (1 << 62) - 1),
            ("trunc", None, (1 << 62) - 1),
            ("relu", Some("5.2"), (1 << 23) - (1 << 16)),
            ("maxpool", Some("5.2"), ((1i64 << 23) - (1 << 16)) / 2),
            ("drelu", Some("5.18"), (1 << 23) - 1),
        ] {
            let case = Case::new(&options(op, 1000, key_bits), 64).expect("a case");
            let [x, _] = case.operands().expect("operands");
            let seen = x.iter().map(|v| v.abs()).max().unwrap_or(0);
            assert!(seen <= largest && seen > largest / 8 * 7, "{op}: {seen}");
        }
    }

    /// With 5.2 key bits of 18 fraction bits, what is above -2^16 may pass.
    #[test]
    fn dropped_bits_allow_two_answers() {
        let x = [-1, -65_535, -65_536, 3];
        let accepts = |op: &str, expected: i64, x: i64, got: i64| {
            let case = Case::new(&options(op, 1, Some("5.2")), 64).expect("a case");
            let right = Expected {
                operands: &[vec![x], vec![]],
                result: &[expected],
                tolerance: EXACT,
            };
            case.compare(&[got], 0, right).is_ok()
        };
        assert_eq!(
            x.map(|x| accepts("drelu", 0, x, 1)),
            [true, true, false, false]
        );
        assert_eq!(
            x.map(|x| accepts("relu", 0, x, x)),
            [true, true, false, false]
        );
        assert!(x.iter().all(|&x| accepts("relu", 0, x, 0)));
        assert!(!accepts("relu", 0, -5, -4) && !accepts("drelu", 1, 3, 0));
        assert!(accepts("maxpool", 9, 0, 9 - 2 * 65_535));
        assert!(!accepts("maxpool", 9, 0, 8 - 2 * 65_535) && !accepts("maxpool", 9, 0, 10));
    }

    /// A wrong element of a chunk is named by its place in the whole, as of a convolution, whose results are more than
    /// its operands.
    #[test]
    fn a_wrong_element_of_a_chunk_is_named() {
        let case = Case::new(&options("conv", 2, None), 64).expect("a case");
        let operands = case.operands().expect("operands");
        let right = Expected {
            operands: &operands,
            result: &vec![0; 6400],
            tolerance: EXACT,
        };
        let result = [vec![0; 3199], vec![7]].concat();
        let error = case.compare(&result, case.result_start(1), right);
        let error = error.expect_err("refused").to_string();
        assert!(error.contains("element 6399: 7 instead of 0"), "{error}");
    }

    #[test]
    fn key_bits_are_for_operations_with_signs() {
        let refused = |op: &str, key_bits: &str| {
            let case = Case::new(&options(op, 1, Some(key_bits)), 64);
            case.err().expect("refused").to_string()
        };
        assert!(refused("mult", "5.2").contains("drelu, relu and maxpool"));
        assert!(refused("relu", "auto").contains("no samples"));
        assert!(refused("relu", "5.19").contains("key bits 5.19: values have 18 fraction bits"));
        assert!(refused("relu", "40.2").contains("takes 102 bits"));
    }
}
