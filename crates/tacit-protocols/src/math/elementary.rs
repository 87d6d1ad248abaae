//! Elementary functions by name: what a program asks of any machine, which computes them in its own
//! way or by the algorithms of this folder.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::functions::{Promised, erf_of, exp_of, sigmoid_of, tanh_of};
use super::normal::Arguments;
use super::{
    Format, Function, InverseSqrt, Leakage, Logarithm, Power, Reciprocal, Smooth, Span, Squared,
};
use crate::Error;
use crate::machine::{Erased, Handle, Machine};

/// An elementary function of numbers of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Elementary {
    /// How the results are written, and the arguments but for their fraction bits.
    pub format: Format,
    /// Fraction bits of the arguments. Roots, reciprocals, powers and logarithms alone may have others than
    /// the results: a mean of squares keeps twice as many.
    pub argument: u32,
    /// Which function, with its domain.
    pub kind: FunctionKind,
    /// Bits that hold every argument, its sign included. Fewer than the format's are a promise from
    /// worst-case ranges: they are the key bits of the comparisons inside.
    pub bits: u32,
    /// Whether every argument of an exponential is at most its `high`, by the way the argument is made. A
    /// protocol may then compute the function without a comparison with the bound.
    pub bounded: bool,
    /// What becomes known of the arguments. No plan of a model has a name for anything but nothing.
    pub leakage: Leakage,
    /// What arguments and results are, where tensors have widths of their own. The function over the
    /// ring has as many fraction bits as they or more.
    pub between: Option<[Number; 2]>,
}

/// The bits of a tensor's numbers, and how many of them are fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    /// Bits of a number, its sign included.
    pub bits: u32,
    /// Bits after the point.
    pub fraction: u32,
}

/// The elementary functions, each within its [`Elementary::tolerance`] over its whole domain, where the protocol has no
/// way of its own ([`Machine::native`](crate::machine::Machine::native)). Exponentials by the tables of two parties are off
/// by up to 4.3 units.
///
/// Arguments whose width is that of the ring have magnitudes below a quarter of it, as comparisons ask for.
/// A span may reach from one unit of the arguments to `2^(bits - 3)` of them. Below it, 0 and negative
/// numbers included, results are those of the span's lowest value, of a square root 0; above it there
/// is no meaningful result but of a bounding power, `high - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionKind {
    /// `1 / (1 + e^-x)` for every `x`.
    Sigmoid,
    /// The hyperbolic tangent for every `x`.
    Tanh,
    /// The error function for every `x`.
    Erf,
    /// `e^x`, and `e^high` above `high`.
    Exp {
        /// The exponent above which the result is `e^high`.
        high: i32,
    },
    /// `1 / x`.
    Reciprocal {
        /// The span in which `x` lies.
        span: Span,
    },
    /// `1 / sqrt(x)`.
    InverseSqrt {
        /// The span in which `x` lies.
        span: Span,
    },
    /// `sqrt(x)`, of which the paper's leakage has no other.
    SquareRoot {
        /// The span in which `x` lies.
        span: Span,
    },
    /// The `e` of `2^e <= x < 2^(e+1)`.
    Power {
        /// The span in which `x` lies.
        span: Span,
    },
    /// `ln x`.
    Log {
        /// The span in which `x` lies.
        span: Span,
    },
}

/// The algorithm of this folder.
enum Algorithm {
    Smooth(Smooth),
    Squared(Squared),
    Reciprocal(Reciprocal),
    InverseSqrt(InverseSqrt),
    Power(Power),
    Logarithm(Logarithm),
}

impl Elementary {
    /// The function of any numbers of the format.
    pub fn new(format: Format, kind: FunctionKind) -> Self {
        Elementary {
            format,
            argument: format.fraction(),
            kind,
            bits: format.bits(),
            bounded: false,
            leakage: Leakage::Nothing,
            between: None,
        }
    }

    /// This function as Falcon's paper has it, where that leaks magnitudes: for reciprocals, inverse
    /// square roots and bounding powers. For measuring only.
    pub fn with_paper_leakage(self) -> Self {
        let leakage = Leakage::Magnitude;
        Elementary { leakage, ..self }
    }

    /// This function, right to `places` fraction bits only; see [`Format::near`].
    pub fn near(self, places: u32) -> Self {
        let format = self.format.near(places);
        Elementary { format, ..self }
    }

    /// This function for arguments that `bits` bits hold, or the format's bits if these are fewer.
    pub fn within(self, bits: u32) -> Self {
        let bits = bits.clamp(1, self.format.bits());
        Elementary { bits, ..self }
    }

    /// This function for arguments that are made so that none is above an exponential's bound.
    pub fn bounded(self) -> Self {
        let bounded = true;
        Elementary { bounded, ..self }
    }

    /// This function for arguments with `fraction` fraction bits.
    pub fn with_argument(self, fraction: u32) -> Self {
        let argument = fraction;
        Elementary { argument, ..self }
    }

    /// This function from numbers of one width to numbers of another.
    pub fn between(self, from: Number, to: Number) -> Self {
        let between = Some([from, to]);
        Elementary { between, ..self }
    }

    /// Refuses a function that the algorithms of this folder do not compute in its format.
    pub fn check(&self) -> Result<(), Error> {
        self.algorithm().map(|_| ())
    }

    /// The function of every element of `x`, by the algorithms of this folder; between numbers of other
    /// widths, over the ring.
    pub fn apply(&self, machine: &mut Erased, x: &Handle) -> Result<Handle, Error> {
        if let Some([from, to]) = self.between {
            let (function, [up, down]) = self.over_ring([from, to])?;
            let wide = machine.resize(x, 0, self.format.bits())?;
            let wide = machine.scale(&wide, 1 << up);
            let y = machine.function(&function, &wide)?;
            return machine.resize(&y, down, to.bits);
        }
        match &*self.algorithm()? {
            Algorithm::Smooth(function) => function.apply(machine, x),
            Algorithm::Squared(function) => function.apply(machine, x),
            Algorithm::Reciprocal(function) => function.apply(machine, x),
            Algorithm::InverseSqrt(function) => function.apply(machine, x),
            Algorithm::Power(function) => function.apply(machine, x),
            Algorithm::Logarithm(function) => function.apply(machine, x),
        }
    }

    /// The largest error of [`Elementary::apply`] in a result whose exact value is `value`, in units
    /// of `2^-f`.
    pub fn tolerance(&self, value: f64) -> Result<f64, Error> {
        Ok(match &*self.algorithm()? {
            Algorithm::Smooth(function) => function.tolerance(value),
            Algorithm::Squared(function) => function.tolerance(value),
            Algorithm::Reciprocal(function) => function.tolerance(value),
            Algorithm::InverseSqrt(function) => function.tolerance(value),
            Algorithm::Power(function) => function.tolerance(value),
            Algorithm::Logarithm(function) => function.tolerance(value),
        })
    }

    /// The function over the ring, bits by which arguments are scaled up, and by which results are
    /// truncated.
    fn over_ring(&self, [from, to]: [Number; 2]) -> Result<(Self, [u32; 2]), Error> {
        let (argument, result) = (self.argument, self.format.fraction());
        let up = argument.checked_sub(from.fraction);
        let down = result.checked_sub(to.fraction);
        let between = None;
        match (up, down) {
            (Some(up), Some(down)) => Ok((Elementary { between, ..*self }, [up, down])),
            _ => Err(Error::Invalid(format!(
                "a function from {argument} to {result} fraction bits between {from:?} and {to:?}"
            ))),
        }
    }

    /// The algorithm. A recurrent network asks for the same few again and again, a planner for what there is none of,
    /// and a fit takes a while: each is made, or found impossible, once.
    fn algorithm(&self) -> Result<Arc<Algorithm>, Error> {
        type Made = Result<Arc<Algorithm>, String>;
        static MADE: OnceLock<Mutex<HashMap<Elementary, Made>>> = OnceLock::new();
        let made = MADE.get_or_init(Mutex::default);
        let lock = || made.lock().unwrap_or_else(|broken| broken.into_inner());
        let known = lock().get(self).cloned();
        let found = match known {
            Some(known) => known,
            None => {
                let new = match self.make() {
                    Ok(new) => Ok(Arc::new(new)),
                    Err(Error::Invalid(why)) => Err(why),
                    Err(other) => return Err(other),
                };
                lock().insert(*self, new.clone());
                new
            }
        };
        found.map_err(Error::Invalid)
    }

    fn make(&self) -> Result<Algorithm, Error> {
        let arguments = |span| Arguments {
            format: self.format,
            fraction: self.argument,
            bits: self.bits,
            span,
            leakage: self.leakage,
        };
        let result = self.format.fraction();
        Ok(match self.kind {
            FunctionKind::Reciprocal { span } => {
                Algorithm::Reciprocal(Reciprocal::of(arguments(span))?)
            }
            FunctionKind::InverseSqrt { span } => {
                Algorithm::InverseSqrt(InverseSqrt::of(arguments(span), result)?)
            }
            FunctionKind::SquareRoot { span } => {
                Algorithm::InverseSqrt(InverseSqrt::root_of(arguments(span))?)
            }
            FunctionKind::Power { span } => Algorithm::Power(Power::of(arguments(span))?),
            FunctionKind::Log { span } => Algorithm::Logarithm(Logarithm::of(arguments(span))?),
            _ => self.smooth()?,
        })
    }

    /// Refuses arguments of other fraction bits than the results.
    fn one_scale(&self) -> Result<(), Error> {
        if self.argument == self.format.fraction() {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "{:?} of arguments with {} fraction bits and results with {}: only reciprocals, roots, powers and logarithms have two scales",
            self.kind,
            self.argument,
            self.format.fraction()
        )))
    }

    fn smooth(&self) -> Result<Algorithm, Error> {
        self.one_scale()?;
        let promised = Promised {
            bits: self.bits,
            bounded: self.bounded,
        };
        let smooth = match self.kind {
            FunctionKind::Exp { high } => exp_of(self.format, high, promised),
            FunctionKind::Tanh => tanh_of(self.format, promised),
            FunctionKind::Erf => erf_of(self.format, promised),
            _ => sigmoid_of(self.format, promised),
        };
        match (smooth, self.kind) {
            (Err(_), FunctionKind::Exp { high }) if high > 0 => {
                Squared::exp(self.format, high, promised).map(Algorithm::Squared)
            }
            (smooth, _) => smooth.map(Algorithm::Smooth),
        }
    }
}
