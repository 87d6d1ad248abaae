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
    /// `ln x` of a positive `x`.
    Log,
}

impl Function {
    /// The function's name for tables and messages.
    pub fn name(self) -> &'static str {
        match self {
            Function::Sigmoid => "Sigmoid",
            Function::Tanh => "Tanh",
            Function::Erf => "Erf",
            Function::Exp => "Exp",
            Function::Reciprocal => "Reciprocal",
            Function::InverseSqrt => "InverseSqrt",
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
            Function::InverseSqrt => 1.0 / x.sqrt(),
            Function::Log => x.ln(),
        }
    }
}
