//! One operation with its size, its operands and its right result.

use std::ops::Range;

use tacit_algebra::Prg;
use tacit_nn::plan::{KeyBitsChoice, Keys, Modulus};
use tacit_protocols::machine::{Call, Conv2d, Erased, Handle, KeyBits, Machine, MatMul, Operand};
use tacit_protocols::math::compare;
use tacit_protocols::record::{calls_of, noted};
use tacit_run::{Error, SIGNS, Tolerance, key_bits, named};

use super::compound::{Compound, PLANE, STATISTICS};
use super::function::Elementwise;
use super::{BenchOptions, OPERATIONS};

/// The most elements of a measured tensor.
const MAX_ELEMENTS: usize = 1 << 28;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Mult,
    MatMul,
    Conv,
    Trunc,
    Drelu,
    Relu,
    Maxpool,
    Compare,
    Reciprocal,
    Exp,
    Sigmoid,
    Tanh,
    Rsqrt,
    Pow,
    Division,
    BatchNorm,
}

impl Op {
    /// The operation of this name, or an error that lists all names.
    fn parse(name: &str) -> Result<Self, Error> {
        let ops = [
            Op::Mult,
            Op::MatMul,
            Op::Conv,
            Op::Trunc,
            Op::Drelu,
            Op::Relu,
            Op::Maxpool,
            Op::Compare,
            Op::Reciprocal,
            Op::Exp,
            Op::Sigmoid,
            Op::Tanh,
            Op::Rsqrt,
            Op::Pow,
            Op::Division,
            Op::BatchNorm,
        ];
        named("operation", ops.into_iter().map(|op| (op.name(), op)), name)
    }

    /// Name of the operation, as [`OPERATIONS`] lists it.
    pub fn name(self) -> &'static str {
        OPERATIONS[self as usize].0
    }
}

/// One operation with its size.
#[derive(Clone)]
pub(super) struct Case {
    pub op: Op,
    pub n: usize,
    /// Bits of the ring or field.
    pub width: u32,
    /// Bits truncated, 0 for the operations without; of a function its fraction bits.
    pub trunc: u32,
    /// The function that is computed, if it is one of one operand's elements.
    pub function: Option<Elementwise>,
    /// The function that is computed, if it is one of several tensors.
    compound: Option<Compound>,
    /// Where the signs are.
    keys: KeyBits,
}

/// The right result, and how far from it a result may be.
#[derive(Clone, Copy)]
pub(super) struct Expected<'a> {
    pub operands: &'a Operands,
    /// The right result.
    pub result: &'a [i64],
    /// How far from the right result one may be.
    pub tolerance: Tolerance,
}

/// How far results were from the right ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Errors {
    /// The number of results with a large error: that which the truncation is known for, or a wrong
    /// sign of the comparison as printed.
    pub large: usize,
    /// The largest error in units of the last place: from the exact value of a function, else from
    /// the same computation in the clear.
    pub largest: f64,
}

impl Errors {
    /// The errors of two parts of a result together.
    pub fn and(self, other: Self) -> Self {
        Errors {
            large: self.large + other.large,
            largest: self.largest.max(other.largest),
        }
    }
}

/// The two operands; the second is empty for operations of one.
pub(super) type Operands = [Vec<i64>; 2];

impl Case {
    pub(super) fn new(options: &BenchOptions, width: u32) -> Result<Self, Error> {
        let op = Op::parse(options.op)?;
        let exact = matches!(op, Op::Drelu | Op::Relu | Op::Maxpool | Op::Compare);
        let fraction = options
            .fraction_bits
            .unwrap_or(if width <= 32 { 12 } else { 18 });
        if !(1..width - 2).contains(&fraction) {
            let why = format!("{fraction} do not fit the {}", Modulus::of_bits(width));
            return Err(Error::setting("fraction bits", why));
        }
        if options.paper_leakage && !matches!(op, Op::Pow | Op::Reciprocal | Op::Rsqrt) {
            let why = "it is of pow, reciprocal and rsqrt; leave it out";
            return Err(Error::setting("paper's leakage", why));
        }
        let case = Case {
            op,
            n: options.n,
            width,
            trunc: if exact { 0 } else { fraction },
            function: Elementwise::new(op, width, fraction, options)?,
            compound: Compound::new(op, width, fraction)?,
            keys: keys(op, options.key_bits, fraction, width)?,
        };
        let largest = case.lens().map(|lens| lens.into_iter().max().unwrap_or(0));
        if case.function.is_none() && options.precision.is_some() {
            let why = "it is for functions; leave it out, or ask for a ring";
            return Err(Error::setting("precision", why));
        }
        if !largest.is_some_and(|len| (1..=MAX_ELEMENTS).contains(&len)) {
            return Err(Error::setting(
                format!("size {} of '{}'", options.n, op.name()),
                format!("no tensor may be empty or have more than {MAX_ELEMENTS} elements"),
            ));
        }
        if exact && options.fraction_bits.is_some() && options.key_bits.is_none() {
            let why = format!("{} truncates nothing; leave them out", op.name());
            return Err(Error::setting("fraction bits", why));
        }
        if options.as_printed_insecure && !exact {
            let why = "it is of drelu, relu, maxpool and compare; leave it out";
            return Err(Error::setting("printed form", why));
        }
        Ok(case)
    }

    /// This case in the ring or field of `width` bits.
    pub(super) fn over(&self, width: u32) -> Result<Self, Error> {
        let function = self.function.map(|function| function.over(width));
        Ok(Case {
            width,
            function: function.transpose()?,
            compound: Compound::new(self.op, width, self.trunc)?,
            ..self.clone()
        })
    }

    /// Whether the operation is a function or made of several, which computes near the ring's end.
    pub(super) fn is_function(&self) -> bool {
        self.function.is_some() || self.compound.is_some()
    }

    /// This case with size `n`.
    pub(super) fn of(&self, n: usize) -> Self {
        Case { n, ..self.clone() }
    }

    fn matmul(&self) -> MatMul {
        let n = self.n;
        MatMul { m: n, k: n, n }
    }

    fn conv(&self) -> Conv2d {
        Conv2d {
            batch: self.n,
            channels: 20,
            height: 12,
            width: 12,
            filters: 50,
            kernel: [5, 5],
            stride: [1, 1],
            pad: [0; 4],
            dilation: [1, 1],
            groups: 1,
        }
    }

    /// Elements of the operands and of the result; `None` if they overflow.
    pub(super) fn lens(&self) -> Option<[usize; 3]> {
        let n = self.n;
        Some(match self.op {
            Op::Mult | Op::Compare | Op::Division => [n, n, n],
            Op::BatchNorm => {
                let elements = n.checked_mul(PLANE)?;
                [elements, n.checked_mul(STATISTICS)?, elements]
            }
            Op::MatMul => [n.checked_mul(n)?; 3],
            Op::Conv => [
                n.checked_mul(20 * 144)?,
                50 * 20 * 25,
                n.checked_mul(50 * 64)?,
            ],
            Op::Maxpool => [n.checked_mul(4)?, 0, n],
            _ => [n, 0, n],
        })
    }

    /// The first element of the result in a chunk that starts at `first`.
    pub(super) fn result_start(&self, first: usize) -> usize {
        self.lens().unwrap_or_default()[2] / self.n * first
    }

    /// Where the elements of an operand lie that a chunk needs.
    pub(super) fn parts(
        &self,
        which: usize,
        chunk: &Range<usize>,
    ) -> impl Iterator<Item = Range<usize>> {
        let (n, len) = (self.n, self.lens().unwrap_or_default()[which]);
        let (count, each, chunk) = match (self.op, which) {
            // Every image meets all weights.
            (Op::Conv, 1) => (1, len, 0..1),
            // Element j of window i is number j n + i.
            (Op::Maxpool, 0) => (4, 1, chunk.clone()),
            (Op::BatchNorm, 1) => (STATISTICS, 1, chunk.clone()),
            _ => (1, len / n, chunk.clone()),
        };
        (0..count).map(move |j| (j * n + chunk.start) * each..(j * n + chunk.end) * each)
    }

    /// The magnitude of the operands: as large as the ring or field holds without a
    /// wrong result, and as signs are right for.
    fn magnitude(&self) -> u64 {
        let room = 1u64 << (self.width - 2);
        let terms = match self.op {
            Op::Mult => 1,
            Op::MatMul => self.n,
            Op::Conv => 20 * 25,
            Op::Drelu | Op::Relu => return self.signed().min(room - 1),
            Op::Maxpool | Op::Compare => return (self.signed() / 2).min(room - 1),
            _ => return room - 1,
        };
        (room / terms as u64).isqrt().max(1) - 1
    }

    /// The largest magnitude whose sign is right.
    fn signed(&self) -> u64 {
        let KeyBits { dropped, kept, .. } = self.keys;
        match self.keys.is_all() {
            true => (1 << (self.width - 1)) - 1,
            false if dropped == 0 => (1 << kept) - 1,
            false => (1 << (dropped + kept)) - (1 << dropped),
        }
    }

    pub(super) fn operands(&self) -> Result<Operands, Error> {
        let mut seed = [0; 16];
        getrandom::fill(&mut seed)
            .map_err(|e| tacit_protocols::Error::Randomness(e.to_string()))?;
        let mut prg = Prg::new(seed);
        if let Some(compound) = &self.compound {
            return Ok(compound.operands(self.n, &mut prg));
        }
        let magnitude = self.magnitude();
        let mut values = |len| -> Vec<i64> {
            let within = |v: u64| match &self.function {
                Some(function) => function.operand(v),
                None => (v % (2 * magnitude + 1)) as i64 - magnitude as i64,
            };
            prg.ring::<u64>(len).into_iter().map(within).collect()
        };
        let [x, y, _] = self.lens().unwrap_or_default();
        Ok([values(x), values(y)])
    }

    pub(super) fn calls(&self) -> Result<Vec<Call>, Error> {
        let [x, y, _] = self.lens().unwrap_or_default().map(noted);
        calls_of(self.width, |machine| self.run(machine, &[x, y]).map(drop))
    }

    /// Computes the operation, and verifies it in protocols that verify.
    pub(super) fn run(
        &self,
        machine: &mut Erased,
        operands: &[Handle; 2],
    ) -> Result<Computed, Error> {
        let computed = self.compute(machine, operands)?;
        machine.verify()?;
        Ok(computed)
    }

    fn compute(&self, machine: &mut Erased, operands: &[Handle; 2]) -> Result<Computed, Error> {
        let [x, y] = operands;
        if let Some(function) = &self.function {
            return Ok(Computed::Words(function.apply(machine, x)?));
        }
        if let Some(compound) = &self.compound {
            return Ok(Computed::Words(compound.apply(machine, operands)?));
        }
        let second = || Operand::Secret(y.clone());
        let (n, trunc, keys) = (self.n, self.trunc, self.keys);
        Ok(Computed::Words(match self.op {
            Op::Mult => machine.mul(x, &second(), trunc)?,
            Op::MatMul => machine.matmul(x, &second(), None, self.matmul(), trunc)?,
            Op::Conv => machine.conv2d(x, &second(), None, &self.conv(), trunc)?,
            Op::Compare => return Ok(Computed::Bits(compare(machine, x, y)?)),
            Op::Drelu => return Ok(Computed::Bits(machine.drelu(x, keys)?)),
            Op::Relu => machine.relu(x, keys)?,
            Op::Maxpool => machine.maxpool(x, n, 4, keys)?,
            _ => machine.truncate(x, trunc)?,
        }))
    }

    /// The errors in a part of the result from `first` on; one beyond what is stated is an error.
    /// Without truncation the result is exact but for dropped key bits; a function is as exact as it
    /// states, and so is what it is compared with.
    pub(super) fn compare(
        &self,
        result: &[i64],
        first: usize,
        right: Expected,
    ) -> Result<Errors, Error> {
        let tolerance = right.tolerance;
        let truncates = self.trunc > 0;
        let rounding = |index: usize, expected: i64| match (&self.function, &self.compound) {
            (Some(function), _) => function.tolerance(expected),
            (_, Some(compound)) => compound.tolerance(right.operands, index),
            _ if truncates => tolerance.rounding,
            _ => 0,
        };
        let large = 1u64 << (self.width - self.trunc - 1);
        let mut errors = Errors::default();
        for (index, (&got, &expected)) in (first..).zip(result.iter().zip(&right.result[first..])) {
            let error = got.abs_diff(expected);
            let exact = self.exact(right.operands, index);
            let off = exact.map_or(error as f64, |exact| (got as f64 - exact).abs());
            errors.largest = errors.largest.max(off);
            let sign = matches!(self.op, Op::Drelu | Op::Relu | Op::Maxpool);
            let wrong_sign = tolerance.wrong_signs && sign && error > 0;
            if wrong_sign || truncates && tolerance.large_errors && error >= large {
                errors.large += 1;
            } else if error > rounding(index, expected)
                && !self.for_dropped_bits(right.operands[0].get(index), got, expected)
            {
                return Err(Error::Wrong(format!(
                    "'{}' gave a wrong result at element {index}: {got} instead of {expected}; its figures mean nothing",
                    self.op.name()
                )));
            }
        }
        Ok(errors)
    }

    /// The exact value of an element of the result, of a function, in units of the last place.
    fn exact(&self, operands: &Operands, index: usize) -> Option<f64> {
        match (&self.function, &self.compound) {
            (Some(function), _) => function.exact(operands[0][index]),
            (_, Some(compound)) => Some(compound.exact(operands, index)),
            _ => None,
        }
    }

    /// Whether `got`, of the operand `x`, is an answer that dropped key bits allow: a negative
    /// number that is lost with them may be taken for positive.
    fn for_dropped_bits(&self, x: Option<&i64>, got: i64, expected: i64) -> bool {
        let lost = (1i64 << self.keys.dropped) - 1;
        let passes = x.filter(|x| (-lost..0).contains(*x));
        match self.op {
            Op::Drelu => passes.is_some() && got == 1,
            Op::Relu => passes == Some(&got),
            // A maximum of four comes of two comparisons.
            Op::Maxpool => (0..=2 * lost).contains(&(expected - got)),
            _ => false,
        }
    }
}

/// The key bits of an operation: as asked for, or all.
fn keys(op: Op, asked: Option<&str>, fraction: u32, width: u32) -> Result<KeyBits, Error> {
    let refused = |why: &str| Err(Error::setting("key bits", why));
    match key_bits::choice(asked, None)? {
        KeyBitsChoice::Full => Ok(KeyBits::ALL),
        KeyBitsChoice::Fixed { .. } if !matches!(op, Op::Drelu | Op::Relu | Op::Maxpool) => {
            refused("they are for drelu, relu and maxpool; leave them out")
        }
        KeyBitsChoice::Fixed {
            integer,
            fraction: kept,
        } => {
            // Data are drawn within them.
            let keys = Keys::fixed(integer, kept, fraction, SIGNS, Modulus::of_bits(width))?;
            let width = keys.dropped + keys.kept + 1;
            Ok(Keys { width, ..keys }.into())
        }
        KeyBitsChoice::Auto { .. } => {
            refused("there are no samples to find them on; give those before and after the point")
        }
    }
}

/// A result before it is opened.
pub(super) enum Computed {
    Words(Handle),
    Bits(Handle),
}
