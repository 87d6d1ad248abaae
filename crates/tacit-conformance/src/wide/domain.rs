//! The domains of the tests and the arguments that they are swept with.

pub use tacit_protocols::math::{Format, Span};

/// How many arguments between the edges are tried in the clear.
pub const DENSE: usize = 3000;
/// How many arguments between the edges are tried on shares.
pub const SPARSE: usize = 60;

/// A span of arguments with so many fraction bits.
#[derive(Clone, Copy, Debug)]
pub struct Domain {
    pub argument: u32,
    pub span: Span,
}

/// Bits that products of a format stay below.
pub fn room(format: Format) -> i32 {
    format.bits() as i32 - 3
}

/// 24, 36 and as many powers of two as there are, at the format's scale and at others; `largest` is
/// the exponent of the result of `2^low`, which must leave a unit of room.
pub fn domains(format: Format, largest: impl Fn(i32) -> i32) -> Vec<Domain> {
    let (f, room) = (format.fraction(), room(format));
    let fits = |low: i32| largest(low) + (f as i32) < room;
    let scales = [f, (2 * f).min(room as u32 - 2), f / 2];
    let all = scales.into_iter().flat_map(|argument| {
        let one = argument as i32;
        let lowest = (-one..0).find(|&low| fits(low)).unwrap_or(0);
        [
            (-2, 3),
            (-12, 12),
            (-24, 12),
            (lowest, room - one),
            (lowest, lowest + 3),
        ]
        .map(|(low, high)| (argument, low.max(lowest), high.min(room - one)))
    });
    let span = |(argument, low, high)| Domain {
        argument,
        span: Span { low, high },
    };
    all.map(span).collect()
}

impl Domain {
    /// `2^argument`.
    pub fn one(self) -> f64 {
        f64::from(self.argument).exp2()
    }

    /// The span's lowest integer, and what is just too large.
    pub fn ends(self) -> [i64; 2] {
        [self.span.low, self.span.high].map(|e| 1 << (self.argument as i32 + e))
    }

    /// All powers of two in the span with their neighbours, and `n` values between them on a
    /// logarithmic scale.
    pub fn inside(self, n: usize) -> Vec<i64> {
        let [low, high] = self.ends();
        let edges = (low.ilog2()..=high.ilog2()).flat_map(|k| [-1, 0, 1].map(|by| (1 << k) + by));
        let width = (high as f64 / low as f64).log2() / n as f64;
        let sweep = (0..n).map(|i| (low as f64 * (width * (i as f64 + 0.5)).exp2()) as i64);
        let more = [3 * low / 2, high - high / 7, high - 2];
        let all = edges.chain(sweep).chain(more);
        all.filter(|x| (low..high).contains(x)).collect()
    }

    /// Arguments below the span: its edge, 0, rounding's negative units, and far ones.
    pub fn below(self, format: Format) -> Vec<i64> {
        let [low, _] = self.ends();
        let far = 1i64 << room(format);
        vec![low - 1, low / 2, 0, -1, -2, -low, -far / 3, 1 - far]
    }
}
