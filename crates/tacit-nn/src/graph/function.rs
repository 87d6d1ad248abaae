//! Elementary functions in the clear.

/// An elementary function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// `exp(x)`.
    Exp,
    /// `1 / x` of a positive `x`.
    Reciprocal,
    /// `1 / sqrt(x)` of a positive `x`.
    InverseSqrt,
    /// `sqrt(x)` of an `x` from 0 on.
    SquareRoot,
    /// `ln x` of a positive `x`.
    Log,
}

/// No format has a smaller last place.
const SMALLEST: f64 = 1.0 / (1u64 << 32) as f64;

impl Function {
    /// Every function.
    #[cfg(test)]
    pub(crate) const ALL: [Function; 8] = [
        Function::Sigmoid,
        Function::Tanh,
        Function::Erf,
        Function::Exp,
        Function::Reciprocal,
        Function::InverseSqrt,
        Function::SquareRoot,
        Function::Log,
    ];

    /// The function's name for tables and messages.
    pub fn name(self) -> &'static str {
        match self {
            Function::Sigmoid => "Sigmoid",
            Function::Tanh => "Tanh",
            Function::Erf => "Erf",
            Function::Exp => "Exp",
            Function::Reciprocal => "Reciprocal",
            Function::InverseSqrt => "InverseSqrt",
            Function::SquareRoot => "SquareRoot",
            Function::Log => "Log",
        }
    }

    /// The function of `x`.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Function::Tanh => x.tanh(),
            Function::Erf => libm::erf(x),
            Function::Exp => x.exp(),
            Function::Reciprocal => 1.0 / x,
            // Less cannot be told from 0.
            Function::InverseSqrt if (0.0..SMALLEST).contains(&x) => 1.0 / SMALLEST.sqrt(),
            Function::InverseSqrt => 1.0 / x.sqrt(),
            Function::SquareRoot => x.sqrt(),
            Function::Log => x.ln(),
        }
    }
}
