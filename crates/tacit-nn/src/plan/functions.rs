//! The domains that a plan provides for the arguments of elementary functions.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tacit_protocols::Error;
use tacit_protocols::math::{Elementary, Format, FunctionKind, Number, Span};

use super::ranges::{self, Bound, Interval};
use super::told::Told;
use super::{Layer, Plan};
use crate::graph::Function;

/// An elementary function with its domain, as a plan names it: an [`Elementary`] on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlannedFunction {
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// `exp(x)` of an `x` up to `high`.
    Exp {
        /// The largest argument that the exponential takes.
        high: i32,
        /// Whether none is larger by the way that it is made, as in a softmax.
        bounded: bool,
    },
    /// `1 / x` of an `x` from `2^low` to below `2^high`.
    Reciprocal {
        /// The exponent of the smallest argument.
        low: i32,
        /// The exponent of what is just too large.
        high: i32,
    },
    /// `1 / sqrt(x)` of such an `x`.
    InverseSqrt {
        /// The exponent of the smallest argument.
        low: i32,
        /// The exponent of what is just too large.
        high: i32,
    },
    /// `ln x` of such an `x`.
    Log {
        /// The exponent of the smallest argument.
        low: i32,
        /// The exponent of what is just too large.
        high: i32,
    },
    /// `sqrt(x)` of such an `x`; 0 of what is smaller.
    SquareRoot {
        /// The exponent of the smallest argument.
        low: i32,
        /// The exponent of what is just too large.
        high: i32,
    },
}

/// How near elementary functions are to their exact values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Functions {
    /// Functions within a few units of the last place.
    #[default]
    Accurate,
    /// Functions within about `2^-10` by fewer products; reciprocals, roots and inverse roots within that of their value.
    Fast,
}

/// Fraction bits to which [`Functions::Fast`] is right.
const FAST: u32 = 10;

impl Functions {
    /// The name of the choice, as options and messages say it.
    pub fn name(self) -> &'static str {
        match self {
            Functions::Accurate => "accurate",
            Functions::Fast => "fast",
        }
    }

    /// The function, made as near as this.
    pub fn of(self, function: Elementary) -> Elementary {
        match self {
            Functions::Accurate => function,
            Functions::Fast => function.near(FAST),
        }
    }
}

impl FromStr for Functions {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = [Functions::Accurate, Functions::Fast];
        let found = known.into_iter().find(|functions| functions.name() == name);
        found.ok_or_else(|| format!("'{name}' is not accurate or fast"))
    }
}

/// The largest exponents and arguments that are of use to any format.
const MOST: i32 = 64;
/// How many powers of two beyond what was seen, up and down, arguments are provided for where the
/// worst case is out of reach: as many as fit, of these.
const WIDENED: [i32; 4] = [12, 8, 4, 0];

/// How many powers of two down and up, the most that both have first: where one has no room for so many the other may.
fn both_ways() -> impl Iterator<Item = [i32; 2]> {
    let with = |(i, &least): (usize, &i32)| {
        let more = WIDENED[..i].iter();
        let others = more.flat_map(move |&more| [[more, least], [least, more]]);
        others.chain([[least; 2]])
    };
    WIDENED.iter().enumerate().flat_map(with)
}

/// The arguments of a function.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    /// The arguments that were seen, with the plan's margin.
    pub within: Interval,
    /// The results that were seen, with that margin.
    pub results: Interval,
    /// The arguments that an input can lead to.
    pub worst: Interval,
    /// A magnitude that no argument exceeds by the way it is made, rounding included.
    pub most: f64,
    /// Fraction bits of the arguments.
    pub fraction: u32,
}

impl Arguments {
    /// The arguments between such bounds of them and of the results, with so many fraction bits.
    pub(super) fn new([of, results]: [Bound; 2], domain: (f32, f32), fraction: u32) -> Self {
        Arguments {
            within: ranges::arguments(of.within, domain),
            results: results.within,
            worst: ranges::arguments(of.worst_within, domain),
            most: f64::from(domain.1),
            fraction,
        }
    }

    /// The domains to provide for, the best first.
    fn domains(self, function: Function) -> impl Iterator<Item = Interval> {
        let widened = move |[down, up]: [i32; 2]| {
            let ([down, up], (low, high)) = ([down, up].map(f64::from), self.within);
            let wide = match function {
                // Of exponents, by as many powers of two in the result.
                Function::Exp => (low, high + up * std::f64::consts::LN_2),
                _ => (low / down.exp2(), high * up.exp2()),
            };
            (wide.0.max(self.worst.0), wide.1.min(self.worst.1))
        };
        let all = std::iter::once(self.worst).chain(both_ways().map(widened));
        // Twice an exponent may be beyond all numbers where twice the result is not.
        let of_results = move |by: i32| {
            let high = self.results.1.max(f64::MIN_POSITIVE).ln();
            let high = high + f64::from(by) * std::f64::consts::LN_2;
            (self.within.0, high.min(self.within.1).max(self.within.0))
        };
        let exponential = function == Function::Exp;
        all.chain(
            WIDENED
                .map(of_results)
                .into_iter()
                .filter(move |_| exponential),
        )
    }
}

impl PlannedFunction {
    /// The function of results with `f` fraction bits over a ring or field, for the widest domain of
    /// arguments that it can have there. The error says why there is none.
    pub(super) fn choose(
        function: Function,
        arguments: Arguments,
        nearness: Functions,
        element_bits: u32,
        f: u32,
    ) -> Result<Self, String> {
        let mut refused = String::new();
        for domain in arguments.domains(function) {
            let planned = Self::of_domain(function, domain, arguments);
            let possible = planned.and_then(|planned| {
                let elementary = planned.elementary(nearness, element_bits, f, arguments.fraction);
                elementary
                    .map(|_| planned)
                    .map_err(|why| too_large(function, domain, why))
            });
            match possible {
                Ok(planned) => return Ok(planned),
                Err(why) => refused = why,
            }
        }
        Err(refused)
    }

    /// The function for those arguments that are within `x`; or why there is none.
    fn of_domain(function: Function, x: Interval, arguments: Arguments) -> Result<Self, String> {
        let f = arguments.fraction;
        Ok(match function {
            Function::Sigmoid => PlannedFunction::Sigmoid,
            Function::Tanh => PlannedFunction::Tanh,
            Function::Erf => PlannedFunction::Erf,
            Function::Exp => {
                let high = x.1.ceil().clamp(f64::from(-MOST), f64::from(MOST));
                PlannedFunction::Exp {
                    high: high as i32,
                    bounded: arguments.most <= high,
                }
            }
            Function::Reciprocal => {
                let (low, high) = exponents(function, x, f)?;
                PlannedFunction::Reciprocal { low, high }
            }
            Function::InverseSqrt => {
                let (low, high) = exponents(function, x, f)?;
                PlannedFunction::InverseSqrt { low, high }
            }
            Function::SquareRoot => {
                let (low, high) = exponents(function, x, f)?;
                PlannedFunction::SquareRoot { low, high }
            }
            Function::Log => {
                let (low, high) = exponents(function, x, f)?;
                PlannedFunction::Log { low, high }
            }
        })
    }

    /// The function of numbers with `argument` fraction bits, whose results have `f`, over a ring or
    /// field, if there is one.
    pub fn elementary(
        self,
        nearness: Functions,
        element_bits: u32,
        f: u32,
        argument: u32,
    ) -> Result<Elementary, Error> {
        let span = |low, high| Span { low, high };
        let kind = match self {
            PlannedFunction::Sigmoid => FunctionKind::Sigmoid,
            PlannedFunction::Tanh => FunctionKind::Tanh,
            PlannedFunction::Erf => FunctionKind::Erf,
            PlannedFunction::Exp { high, .. } => FunctionKind::Exp { high },
            PlannedFunction::Reciprocal { low, high } => FunctionKind::Reciprocal {
                span: span(low, high),
            },
            PlannedFunction::InverseSqrt { low, high } => FunctionKind::InverseSqrt {
                span: span(low, high),
            },
            PlannedFunction::SquareRoot { low, high } => FunctionKind::SquareRoot {
                span: span(low, high),
            },
            PlannedFunction::Log { low, high } => FunctionKind::Log {
                span: span(low, high),
            },
        };
        let parameters = match self {
            PlannedFunction::Exp { high, .. } => [high, high],
            PlannedFunction::Reciprocal { low, high }
            | PlannedFunction::InverseSqrt { low, high }
            | PlannedFunction::SquareRoot { low, high }
            | PlannedFunction::Log { low, high } => [low, high],
            _ => [0, 0],
        };
        if parameters.iter().any(|p| !(-MOST..=MOST).contains(p)) {
            return Err(Error::Invalid(format!(
                "its domain {parameters:?} is out of bounds"
            )));
        }
        let elementary =
            Elementary::new(Format::new(element_bits, f)?, kind).with_argument(argument);
        let elementary = nearness.of(elementary);
        elementary.check()?;
        Ok(match self {
            PlannedFunction::Exp { bounded: true, .. } => elementary.bounded(),
            _ => elementary,
        })
    }

    /// The function of a layer's argument between numbers of the widths of both, which hold an argument
    /// in `argument_bits` bits with its own fraction bits.
    pub(super) fn between(
        self,
        nearness: Functions,
        element_bits: u32,
        [from, to]: [Number; 2],
        argument_bits: u32,
    ) -> Result<Elementary, Error> {
        let fraction = from.fraction.max(to.fraction);
        let function = self.elementary(nearness, element_bits, fraction, fraction)?;
        let within = argument_bits.saturating_add(fraction - from.fraction);
        Ok(function.within(within).between(from, to))
    }

    /// Whether the function's results may have fraction bits of their own.
    pub(super) fn is_inverse(self) -> bool {
        matches!(
            self,
            PlannedFunction::Reciprocal { .. } | PlannedFunction::InverseSqrt { .. }
        )
    }

    /// The function's name for tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            PlannedFunction::Sigmoid => Function::Sigmoid,
            PlannedFunction::Tanh => Function::Tanh,
            PlannedFunction::Erf => Function::Erf,
            PlannedFunction::Exp { .. } => Function::Exp,
            PlannedFunction::Reciprocal { .. } => Function::Reciprocal,
            PlannedFunction::InverseSqrt { .. } => Function::InverseSqrt,
            PlannedFunction::SquareRoot { .. } => Function::SquareRoot,
            PlannedFunction::Log { .. } => Function::Log,
        }
        .name()
    }

    /// What arguments the function is right for, if a worst case of `x` goes beyond them: `f` are their
    /// fraction bits.
    pub(super) fn missed(self, x: Interval, f: u32) -> Option<Interval> {
        let power = |e: i32| f64::from(e).exp2();
        match self {
            PlannedFunction::Exp { high, .. } => {
                let high = f64::from(high);
                // What is a last place above is rounded to it as well.
                (x.1 > high + power(-(f as i32))).then_some((f64::NEG_INFINITY, high))
            }
            PlannedFunction::Reciprocal { low, high } | PlannedFunction::Log { low, high } => {
                let right = (power(low), power(high));
                (x.0 < right.0 || x.1 >= right.1).then_some(right)
            }
            PlannedFunction::InverseSqrt { low, high }
            | PlannedFunction::SquareRoot { low, high } => {
                let right = (power(low), power(high));
                // What is less than the last place is 0, of which float has no inverse root either.
                let all = low <= -(f as i32) && x.0 >= 0.0;
                (x.0 < right.0 && !all || x.1 >= right.1).then_some(right)
            }
            _ => None,
        }
    }
}

impl Plan {
    /// The function that a layer asks the machine for.
    pub(crate) fn elementary(
        &self,
        layer: &Layer,
        function: PlannedFunction,
    ) -> Result<Elementary, Error> {
        let from = self.number(layer.inputs[0]);
        match layer.widths {
            None => {
                let f = layer.own_fraction.unwrap_or(self.fraction_bits);
                let function =
                    function.elementary(self.functions, self.modulus.bits(), f, from.fraction)?;
                Ok(function.within(layer.argument_bits))
            }
            Some(widths) => {
                let numbers = [from, widths.number()];
                function.between(
                    self.functions,
                    self.modulus.bits(),
                    numbers,
                    layer.argument_bits,
                )
            }
        }
    }
}

/// Why a function's results do not fit. An exponential of samples that nobody gave is soon beyond every ring.
fn too_large(function: Function, x: Interval, why: Error) -> String {
    match function {
        Function::Exp => format!(
            "{why}; its arguments are planned up to {}, where it is {}: give samples or an input range that show that they stay lower",
            Told(x.1),
            Told(x.1.exp())
        ),
        _ => why.to_string(),
    }
}

/// The powers of two around positive numbers, with a little room for rounding. Less than `2^-f`
/// cannot be told from 0.
fn exponents(function: Function, x: Interval, f: u32) -> Result<(i32, i32), String> {
    let least = -(f as i32);
    let root = matches!(function, Function::InverseSqrt | Function::SquareRoot);
    if x.0 < 0.0 || (x.0 == 0.0 && !root) {
        let positive = match function {
            Function::SquareRoot => "numbers from 0 on",
            _ => "positive numbers",
        };
        return Err(format!(
            "its arguments are planned from {} to {}, but {} is computed of {positive} only: give samples that show it, or keep the argument above 0",
            Told(x.0),
            Told(x.1),
            function.name()
        ));
    }
    let low = (x.0 * 0.99).log2().floor().max(f64::from(least)) as i32;
    let high = (x.1 * 1.01).log2().floor().min(f64::from(MOST)) as i32 + 1;
    Ok((low, high.max(low + 1).max(2 + least)))
}

/// Bits that hold arguments of magnitudes up to `x` with `f` fraction bits, sign and rounding
/// included.
pub(super) fn argument_bits(x: f64, f: u32) -> u32 {
    let integer = (x.max(1.0) * 1.01).log2().ceil() as u32;
    integer.saturating_add(f + 2).min(64)
}

/// The largest magnitude of which a function takes a sign, for arguments up to `x`: those less the
/// ends of its interval or less its binades.
pub(super) fn compared(x: f64) -> f64 {
    /// No interval of a function of 29 fraction bits or fewer ends farther out, or it is no wider.
    const BORDER: f64 = 32.0;
    2.0 * x + BORDER
}
