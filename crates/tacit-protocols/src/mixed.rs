//! Tensors with widths of their own: what a plan asks of a protocol whose numbers need not all have
//! the ring's bits (SiRnn, section IV), and what every other protocol does instead.
//!
//! A number of `bits` bits is kept modulo `2^bits`, in two's complement. Narrowing is local. Where
//! all numbers have the ring's bits a width says nothing, and the ring must hold every product.

use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::{Call, CostModel, KeyBits, Machine};
use crate::math::Elementary;

/// The bits of a tensor's numbers, and how many of them are fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    /// The width.
    pub bits: u32,
    /// Bits after the point.
    pub fraction: u32,
}

/// An elementary function from numbers of one kind to numbers of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Between {
    /// The function over the ring: its arguments have at least the fraction bits of `from`, its results
    /// those of `to`.
    pub function: Elementary,
    /// The arguments.
    pub from: Number,
    /// The results.
    pub to: Number,
}

/// A call on tensors with widths of their own; `bits` are those of the operand unless it says else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mixed {
    /// [`Machine::resize`] of `n` elements that is not local.
    Resize {
        /// Elements.
        n: usize,
        /// Bits before.
        from: u32,
        /// Low bits dropped.
        trunc: u32,
        /// Bits after.
        bits: u32,
    },
    /// [`Machine::product`] of two secrets.
    Product {
        /// Which of them, with its sizes.
        map: Bilinear,
        /// The right operand's number among those fixed so far, if it is one of them.
        fixed: Option<usize>,
        /// Who knows the right operand, if [`Machine::known`] was told.
        known_to: Option<usize>,
        /// Bits of the left operand, of the right one and of the result.
        bits: [u32; 3],
    },
    /// `drelu`.
    Drelu {
        /// Elements.
        n: usize,
        /// Where the sign is.
        keys: KeyBits,
        /// Bits of every number.
        bits: u32,
    },
    /// `select`.
    Select {
        /// Elements.
        n: usize,
        /// Bits of every number.
        bits: u32,
    },
    /// `relu`.
    Relu {
        /// Elements.
        n: usize,
        /// Where the sign is.
        keys: KeyBits,
        /// Bits of every number.
        bits: u32,
    },
    /// `maxpool`.
    Maxpool {
        /// Windows, that is output elements.
        windows: usize,
        /// Elements of a window.
        size: usize,
        /// Where the signs of differences within a window are.
        keys: KeyBits,
        /// Bits of every number.
        bits: u32,
    },
    /// [`Machine::function_between`]; only a cost model to which it is native sees it.
    Function {
        /// Elements.
        n: usize,
        /// The function.
        function: Between,
    },
}

impl Mixed {
    /// The resizing of `n` elements, unless it is local.
    pub fn resize(n: usize, from: u32, trunc: u32, bits: u32) -> Option<Mixed> {
        let resize = Mixed::Resize {
            n,
            from,
            trunc,
            bits,
        };
        (trunc > 0 || bits > from).then_some(resize)
    }

    /// Elements, where the call is one for each; `None` for other products.
    pub fn elements(&self) -> Option<usize> {
        match *self {
            Mixed::Resize { n, .. }
            | Mixed::Drelu { n, .. }
            | Mixed::Select { n, .. }
            | Mixed::Relu { n, .. }
            | Mixed::Function { n, .. } => Some(n),
            Mixed::Maxpool { windows, .. } => Some(windows),
            Mixed::Product {
                map: Bilinear::Elementwise(n),
                ..
            } => Some(n),
            Mixed::Product { .. } => None,
        }
    }

    /// The same call of so many elements, where it is one for each.
    pub fn of(mut self, elements: usize) -> Self {
        match &mut self {
            Mixed::Resize { n, .. }
            | Mixed::Drelu { n, .. }
            | Mixed::Select { n, .. }
            | Mixed::Relu { n, .. }
            | Mixed::Function { n, .. } => *n = elements,
            Mixed::Maxpool { windows, .. } => *windows = elements,
            Mixed::Product {
                map: Bilinear::Elementwise(n),
                ..
            } => *n = elements,
            Mixed::Product { .. } => {}
        }
        self
    }

    /// What a protocol makes of the call for which it has no way of its own.
    fn parts(&self) -> Result<Vec<Call>, Error> {
        Ok(match *self {
            Mixed::Resize { trunc: 0, .. } => vec![],
            Mixed::Resize { n, trunc, .. } => vec![Call::Truncate { n, trunc }],
            Mixed::Product {
                map,
                fixed,
                known_to,
                ..
            } => vec![Call::Product {
                map,
                fixed,
                known_to,
                trunc: 0,
            }],
            Mixed::Drelu { n, keys, .. } => vec![Call::Drelu { n, keys }],
            Mixed::Select { n, .. } => vec![Call::Select { n }],
            Mixed::Relu { n, keys, .. } => vec![Call::Relu { n, keys }],
            Mixed::Maxpool {
                windows,
                size,
                keys,
                ..
            } => vec![Call::Maxpool {
                windows,
                size,
                keys,
            }],
            Mixed::Function { n, function } => function.calls(n),
        })
    }
}

impl Between {
    /// Bits by which arguments are scaled up, and by which results are truncated.
    fn shifts(&self) -> Result<[u32; 2], Error> {
        let work = [self.function.argument, self.function.format.fraction()];
        let shift = |i: usize, number: Number| work[i].checked_sub(number.fraction);
        match (shift(0, self.from), shift(1, self.to)) {
            (Some(up), Some(down)) => Ok([up, down]),
            _ => Err(Error::Invalid(format!(
                "a function from {} to {} fraction bits between {:?} and {:?}",
                work[0], work[1], self.from, self.to
            ))),
        }
    }

    /// The calls of [`Between::apply`] for `n` elements.
    fn calls(&self, n: usize) -> Vec<Call> {
        let ring = self.function.format.bits();
        let function = self.function;
        let down = self.shifts().map_or(0, |[_, down]| down);
        let before = Mixed::resize(n, self.from.bits, 0, ring);
        let after = Mixed::resize(n, ring, down, self.to.bits);
        let mut calls = vec![Call::Function { n, function }];
        calls.splice(0..0, before.map(Call::Mixed));
        calls.extend(after.map(Call::Mixed));
        calls
    }

    /// The function of every element of `x`, over the ring.
    pub fn apply<M: Machine>(&self, machine: &mut M, x: &M::Share) -> Result<M::Share, Error> {
        let [up, down] = self.shifts()?;
        let wide = machine.resize(x, 0, self.function.format.bits())?;
        let wide = machine.scale(&wide, 1 << up);
        let y = machine.function(&self.function, &wide)?;
        machine.resize(&y, down, self.to.bits)
    }
}

/// The calls that a protocol with this cost model makes for `calls`: what it has no way of its own
/// for is replaced, a function by the calls of [`Elementary::calls`], and what the machine does by
/// itself is added.
pub fn lowered(calls: &[Call], model: &dyn CostModel) -> Result<Vec<Call>, Error> {
    let mut all = Vec::with_capacity(calls.len());
    for call in calls {
        lower(call, model, &mut all)?;
    }
    Ok(model.checked(all))
}

fn lower(call: &Call, model: &dyn CostModel, all: &mut Vec<Call>) -> Result<(), Error> {
    let parts = match call {
        Call::Function { n, function } if !model.native(function) => function.calls(*n)?,
        Call::Mixed(Mixed::Function { n, function }) if !model.native_between(function) => {
            function.shifts()?;
            function.calls(*n)
        }
        Call::Mixed(mixed) if !model.mixed() => mixed.parts()?,
        call => {
            all.push(*call);
            return Ok(());
        }
    };
    parts.iter().try_for_each(|part| lower(part, model, all))
}
