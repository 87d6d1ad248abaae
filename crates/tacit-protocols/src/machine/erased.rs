//! A machine of any protocol behind one type, so that a program is compiled once and not again for every
//! protocol and ring.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use tacit_net::Party;

use super::{Audience, Bilinear, Call, CostModel, KeyBits, Machine, Operand};
use crate::Error;
use crate::material_portions::Ahead;
use crate::math::Elementary;

/// A share, or a share of bits, of whatever machine made it.
#[derive(Clone)]
pub struct Handle(Arc<dyn Any + Send + Sync>);

/// What a handle may be of.
pub trait Handled: Clone + Send + Sync + 'static {}

impl<T: Clone + Send + Sync + 'static> Handled for T {}

impl Handle {
    /// The share lies there as an operand, as which products take it without a copy.
    pub(crate) fn new<T: Handled>(share: T) -> Self {
        Handle(Arc::new(Operand::Secret(share)))
    }

    fn operand<T: Handled>(&self) -> &Operand<T> {
        self.0.downcast_ref().expect("a share of this machine")
    }

    /// The share itself.
    ///
    /// # Panics
    /// If its machine has shares of another type.
    pub fn get<T: Handled>(&self) -> &T {
        let Operand::Secret(share) = self.operand() else {
            unreachable!("a handle is of a share");
        };
        share
    }

    /// The share itself, copied only where others hold it, too.
    fn take<T: Handled>(self) -> T {
        let whole = self.0.downcast::<Operand<T>>();
        match Arc::unwrap_or_clone(whole.expect("a share of this machine")) {
            Operand::Secret(share) => share,
            Operand::Public(_) => unreachable!("a handle is of a share"),
        }
    }
}

/// The calls that no default makes of others, and those of which some machine overrides the default: as a
/// trait without type parameters, and how [`Erased`] makes them.
macro_rules! calls {
    (
        look: $(fn $look:ident(&$s:ident $(, $a:ident: $of:ty)*) -> $seen:ty;)+
        call: $(fn $call:ident(&mut $this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty;)+
    ) => {
        trait Calls: Send {
            $(fn $look(&$s $(, $a: $of)*) -> $seen;)+
            $(fn $call(&mut $this $(, $arg: $ty)*) -> $out;)+
            fn constant_by(&mut self, n: usize, values: &mut dyn FnMut() -> Vec<i64>) -> Handle;
            fn public_by(&mut self, values: &mut dyn FnMut() -> Vec<i64>) -> Arc<[i64]>;
            fn gather_by(
                &mut self,
                x: &Handle,
                n: usize,
                index: &mut dyn FnMut() -> Vec<u32>,
            ) -> Handle;
        }

        impl Machine for Erased<'_> {
            type Share = Handle;
            type Bits = Handle;

            $(fn $look(&$s $(, $a: $of)*) -> $seen {
                $s.0.$look($($a),*)
            })+
            $(fn $call(&mut $this $(, $arg: $ty)*) -> $out {
                $this.0.$call($($arg),*)
            })+
            fn constant_by(&mut self, n: usize, values: impl FnOnce() -> Vec<i64>) -> Handle {
                self.0.constant_by(n, &mut once(values))
            }
            fn public_by(&mut self, values: impl FnOnce() -> Vec<i64>) -> Operand<Handle> {
                Operand::Public(self.0.public_by(&mut once(values)))
            }
            fn gather_by(&mut self, x: &Handle, n: usize, index: impl FnOnce() -> Vec<u32>) -> Handle {
                self.0.gather_by(x, n, &mut once(index))
            }
        }
    };
}

type Made = Result<Handle, Error>;

calls! {
    look:
    fn element_bits(&self) -> u32;
    fn off_exact(&self) -> i64;
    fn cost_model(&self) -> &dyn CostModel;
    fn save(&self, x: &Handle) -> Vec<u8>;
    fn len(&self, x: &Handle) -> usize;
    call:
    fn party(&mut self) -> &mut Party;
    fn ahead(&mut self) -> &mut Ahead;
    fn stage(&mut self) -> Result<(), Error>;
    fn layer(&mut self, name: &str) -> Result<(), Error>;
    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error>;
    fn verify(&mut self) -> Result<(), Error>;
    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Made;
    fn constant(&mut self, values: &[i64]) -> Handle;
    fn reveal(&mut self, x: &Handle, to: Audience) -> Result<Option<Vec<i64>>, Error>;
    fn reusable(&mut self, x: Handle) -> Made;
    fn known(&mut self, x: Handle, owner: usize) -> Handle;
    fn load(&mut self, n: usize, bytes: &[u8]) -> Made;
    fn take_in(&mut self, given: Handle) -> Made;
    fn hand_out(&mut self, x: &Handle) -> Result<Vec<u8>, Error>;
    fn add(&mut self, x: &Handle, y: &Handle) -> Handle;
    fn sub(&mut self, x: &Handle, y: &Handle) -> Handle;
    fn scale(&mut self, x: &Handle, k: i64) -> Handle;
    fn gather(&mut self, x: &Handle, index: &[u32]) -> Handle;
    fn slice(&mut self, x: &Handle, range: Range<usize>) -> Handle;
    fn concat(&mut self, parts: &[&Handle]) -> Handle;
    fn linear(
        &mut self,
        x: &Handle,
        w: &Operand<Handle>,
        bias: Option<&Operand<Handle>>,
        map: &Bilinear,
        trunc: u32,
        bits: Option<[u32; 2]>
    ) -> Made;
    fn truncate(&mut self, x: &Handle, trunc: u32) -> Made;
    fn drelu(&mut self, x: &Handle, keys: KeyBits) -> Made;
    fn select(&mut self, bit: &Handle, x: &Handle, y: &Handle) -> Made;
    fn relu(&mut self, x: &Handle, keys: KeyBits) -> Made;
    fn maxpool(&mut self, x: &Handle, windows: usize, size: usize, keys: KeyBits) -> Made;
    fn resize(&mut self, x: &Handle, trunc: u32, bits: u32) -> Made;
    fn native(&mut self, function: &Elementary, x: &Handle) -> Option<Made>;
}

/// A machine that can be hidden.
pub trait Hidden: Machine<Share: Handled, Bits: Handled> + Send {}

impl<M: Machine<Share: Handled, Bits: Handled> + Send> Hidden for M {}

/// What makes values once, as what a trait without type parameters may call.
///
/// # Panics
/// If a machine asks twice: the second values would be none.
fn once<T>(make: impl FnOnce() -> Vec<T>) -> impl FnMut() -> Vec<T> {
    let mut make = Some(make);
    move || make.take().expect("values are asked for once")()
}

/// The operand of a handle's share where it lies; of public values one beside it, in `place`.
fn operand<'a, S: Handled>(
    given: &'a Operand<Handle>,
    place: &'a mut Option<Operand<S>>,
) -> &'a Operand<S> {
    match given {
        Operand::Secret(share) => share.operand(),
        Operand::Public(values) => place.insert(Operand::Public(values.clone())),
    }
}

impl<M: Hidden> Calls for M {
    fn element_bits(&self) -> u32 {
        Machine::element_bits(self)
    }
    fn party(&mut self) -> &mut Party {
        Machine::party(self)
    }
    fn ahead(&mut self) -> &mut Ahead {
        Machine::ahead(self)
    }
    fn cost_model(&self) -> &dyn CostModel {
        Machine::cost_model(self)
    }
    fn stage(&mut self) -> Result<(), Error> {
        Machine::stage(self)
    }
    fn layer(&mut self, name: &str) -> Result<(), Error> {
        Machine::layer(self, name)
    }
    fn constant_by(&mut self, n: usize, values: &mut dyn FnMut() -> Vec<i64>) -> Handle {
        Handle::new(Machine::constant_by(self, n, values))
    }
    fn public_by(&mut self, values: &mut dyn FnMut() -> Vec<i64>) -> Arc<[i64]> {
        match Machine::public_by(self, values) {
            Operand::Public(values) => values,
            Operand::Secret(_) => unreachable!("what every party knows is no share"),
        }
    }
    fn gather_by(&mut self, x: &Handle, n: usize, index: &mut dyn FnMut() -> Vec<u32>) -> Handle {
        Handle::new(Machine::gather_by(self, x.get(), n, index))
    }
    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        Machine::prepare(self, calls)
    }
    fn verify(&mut self) -> Result<(), Error> {
        Machine::verify(self)
    }
    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Made {
        Machine::input(self, owner, n, values).map(Handle::new)
    }
    fn constant(&mut self, values: &[i64]) -> Handle {
        Handle::new(Machine::constant(self, values))
    }
    fn reveal(&mut self, x: &Handle, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        Machine::reveal(self, x.get(), to)
    }
    fn reusable(&mut self, x: Handle) -> Made {
        Machine::reusable(self, x.take()).map(Handle::new)
    }
    fn known(&mut self, x: Handle, owner: usize) -> Handle {
        Handle::new(Machine::known(self, x.take(), owner))
    }
    fn save(&self, x: &Handle) -> Vec<u8> {
        Machine::save(self, x.get())
    }
    fn load(&mut self, n: usize, bytes: &[u8]) -> Made {
        Machine::load(self, n, bytes).map(Handle::new)
    }
    fn take_in(&mut self, given: Handle) -> Made {
        Machine::take_in(self, given.take()).map(Handle::new)
    }
    fn off_exact(&self) -> i64 {
        Machine::off_exact(self)
    }
    fn hand_out(&mut self, x: &Handle) -> Result<Vec<u8>, Error> {
        Machine::hand_out(self, x.get())
    }
    fn len(&self, x: &Handle) -> usize {
        Machine::len(self, x.get())
    }
    fn add(&mut self, x: &Handle, y: &Handle) -> Handle {
        Handle::new(Machine::add(self, x.get(), y.get()))
    }
    fn sub(&mut self, x: &Handle, y: &Handle) -> Handle {
        Handle::new(Machine::sub(self, x.get(), y.get()))
    }
    fn scale(&mut self, x: &Handle, k: i64) -> Handle {
        Handle::new(Machine::scale(self, x.get(), k))
    }
    fn gather(&mut self, x: &Handle, index: &[u32]) -> Handle {
        Handle::new(Machine::gather(self, x.get(), index))
    }
    fn slice(&mut self, x: &Handle, range: Range<usize>) -> Handle {
        Handle::new(Machine::slice(self, x.get(), range))
    }
    fn concat(&mut self, parts: &[&Handle]) -> Handle {
        let parts: Vec<&M::Share> = parts.iter().map(|part| part.get()).collect();
        Handle::new(Machine::concat(self, &parts))
    }
    fn linear(
        &mut self,
        x: &Handle,
        w: &Operand<Handle>,
        bias: Option<&Operand<Handle>>,
        map: &Bilinear,
        trunc: u32,
        bits: Option<[u32; 2]>,
    ) -> Made {
        let mut places = [None, None];
        let [first, second] = &mut places;
        let bias = bias.map(|bias| operand(bias, second));
        let y = Machine::linear(self, x.get(), operand(w, first), bias, map, trunc, bits);
        y.map(Handle::new)
    }
    fn truncate(&mut self, x: &Handle, trunc: u32) -> Made {
        Machine::truncate(self, x.get(), trunc).map(Handle::new)
    }
    fn drelu(&mut self, x: &Handle, keys: KeyBits) -> Made {
        Machine::drelu(self, x.get(), keys).map(Handle::new)
    }
    fn select(&mut self, bit: &Handle, x: &Handle, y: &Handle) -> Made {
        let chosen = Machine::select(self, bit.get(), x.get(), y.get());
        chosen.map(Handle::new)
    }
    fn relu(&mut self, x: &Handle, keys: KeyBits) -> Made {
        Machine::relu(self, x.get(), keys).map(Handle::new)
    }
    fn maxpool(&mut self, x: &Handle, windows: usize, size: usize, keys: KeyBits) -> Made {
        let largest = Machine::maxpool(self, x.get(), windows, size, keys);
        largest.map(Handle::new)
    }
    fn resize(&mut self, x: &Handle, trunc: u32, bits: u32) -> Made {
        Machine::resize(self, x.get(), trunc, bits).map(Handle::new)
    }
    fn native(&mut self, function: &Elementary, x: &Handle) -> Option<Made> {
        let own = Machine::native(self, function, x.get())?;
        Some(own.map(Handle::new))
    }
}

/// A machine of any protocol.
pub struct Erased<'a>(Box<dyn Calls + 'a>);

impl<'a> Erased<'a> {
    /// Hides which machine it is.
    pub fn new<M: Hidden + 'a>(machine: M) -> Self {
        Erased(Box::new(machine))
    }

    /// The function of every element of `x`, whose numbers have the function's format, or widths if it
    /// is between such, and lie in its domain.
    pub fn function(&mut self, function: &Elementary, x: &Handle) -> Made {
        match self.0.native(function, x) {
            Some(own) => own,
            None => function.apply(self, x),
        }
    }
}
