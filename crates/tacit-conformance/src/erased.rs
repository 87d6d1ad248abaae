//! A machine of any protocol behind one type, so that a check is compiled once and not again for every
//! protocol and ring.

use std::any::Any;
use std::ops::Range;
use std::rc::Rc;

use tacit_net::Party;
use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Bilinear, Call, CostModel, KeyBits, Machine, Operand};
use tacit_protocols::math::Elementary;
use tacit_protocols::portions::Ahead;

/// A share, or a share of bits, of whatever machine made it.
#[derive(Clone)]
pub struct Handle(Rc<dyn Any>);

impl Handle {
    fn new<T: 'static>(share: T) -> Self {
        Handle(Rc::new(share))
    }

    /// The share itself.
    ///
    /// # Panics
    /// If its machine has shares of another type.
    pub fn get<T: 'static>(&self) -> &T {
        self.0.downcast_ref().expect("a share of this machine")
    }
}

/// The calls that no default makes of others, and those of which some machine overrides the default: as a
/// trait without type parameters, and how [`Erased`] makes them.
macro_rules! calls {
    (
        look: $(fn $look:ident(&$s:ident $(, $a:ident: $of:ty)*) -> $seen:ty;)+
        call: $(fn $call:ident(&mut $this:ident $(, $arg:ident: $ty:ty)*) -> $out:ty;)+
    ) => {
        trait Calls {
            $(fn $look(&$s $(, $a: $of)*) -> $seen;)+
            $(fn $call(&mut $this $(, $arg: $ty)*) -> $out;)+
            /// `None` where the machine computes functions as every machine does.
            fn function(&mut self, function: &Elementary, x: &Handle) -> Option<Made>;
        }

        impl Machine for Erased {
            type Share = Handle;
            type Bits = Handle;

            $(fn $look(&$s $(, $a: $of)*) -> $seen {
                $s.0.$look($($a),*)
            })+
            $(fn $call(&mut $this $(, $arg: $ty)*) -> $out {
                $this.0.$call($($arg),*)
            })+
            fn function(&mut self, function: &Elementary, x: &Handle) -> Made {
                let own = self.0.function(function, x);
                own.unwrap_or_else(|| function.apply(self, x))
            }
        }
    };
}

type Made = Result<Handle, Error>;

calls! {
    look:
    fn ring_bits(&self) -> u32;
    fn cost_model(&self) -> &dyn CostModel;
    fn save(&self, x: &Handle) -> Vec<u8>;
    fn len(&self, x: &Handle) -> usize;
    call:
    fn party(&mut self) -> &mut Party;
    fn ahead(&mut self) -> &mut Ahead;
    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error>;
    fn settle(&mut self) -> Result<(), Error>;
    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Made;
    fn constant(&mut self, values: &[i64]) -> Handle;
    fn reveal(&mut self, x: &Handle, to: Audience) -> Result<Option<Vec<i64>>, Error>;
    fn fix(&mut self, x: Handle) -> Made;
    fn known(&mut self, x: Handle, owner: usize) -> Handle;
    fn load(&mut self, n: usize, bytes: &[u8]) -> Made;
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
}

/// A machine's own way to compute functions.
type Function<M> =
    fn(&mut M, &Elementary, &<M as Machine>::Share) -> Result<<M as Machine>::Share, Error>;

struct Of<M: Machine> {
    machine: M,
    function: Option<Function<M>>,
}

fn operand<S: Clone + 'static>(operand: &Operand<Handle>) -> Operand<S> {
    match operand {
        Operand::Secret(share) => Operand::Secret(share.get::<S>().clone()),
        Operand::Public(values) => Operand::Public(values.clone()),
    }
}

impl<M: Machine<Share: 'static, Bits: 'static>> Calls for Of<M> {
    fn ring_bits(&self) -> u32 {
        self.machine.ring_bits()
    }
    fn party(&mut self) -> &mut Party {
        self.machine.party()
    }
    fn ahead(&mut self) -> &mut Ahead {
        self.machine.ahead()
    }
    fn cost_model(&self) -> &dyn CostModel {
        self.machine.cost_model()
    }
    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        self.machine.prepare(calls)
    }
    fn settle(&mut self) -> Result<(), Error> {
        self.machine.settle()
    }
    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Made {
        self.machine.input(owner, n, values).map(Handle::new)
    }
    fn constant(&mut self, values: &[i64]) -> Handle {
        Handle::new(self.machine.constant(values))
    }
    fn reveal(&mut self, x: &Handle, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        self.machine.reveal(x.get(), to)
    }
    fn fix(&mut self, x: Handle) -> Made {
        let x = x.get::<M::Share>().clone();
        self.machine.fix(x).map(Handle::new)
    }
    fn known(&mut self, x: Handle, owner: usize) -> Handle {
        let x = x.get::<M::Share>().clone();
        Handle::new(self.machine.known(x, owner))
    }
    fn save(&self, x: &Handle) -> Vec<u8> {
        self.machine.save(x.get())
    }
    fn load(&mut self, n: usize, bytes: &[u8]) -> Made {
        self.machine.load(n, bytes).map(Handle::new)
    }
    fn hand_out(&mut self, x: &Handle) -> Result<Vec<u8>, Error> {
        self.machine.hand_out(x.get())
    }
    fn len(&self, x: &Handle) -> usize {
        self.machine.len(x.get())
    }
    fn add(&mut self, x: &Handle, y: &Handle) -> Handle {
        Handle::new(self.machine.add(x.get(), y.get()))
    }
    fn sub(&mut self, x: &Handle, y: &Handle) -> Handle {
        Handle::new(self.machine.sub(x.get(), y.get()))
    }
    fn scale(&mut self, x: &Handle, k: i64) -> Handle {
        Handle::new(self.machine.scale(x.get(), k))
    }
    fn gather(&mut self, x: &Handle, index: &[u32]) -> Handle {
        Handle::new(self.machine.gather(x.get(), index))
    }
    fn slice(&mut self, x: &Handle, range: Range<usize>) -> Handle {
        Handle::new(self.machine.slice(x.get(), range))
    }
    fn concat(&mut self, parts: &[&Handle]) -> Handle {
        let parts: Vec<&M::Share> = parts.iter().map(|part| part.get()).collect();
        Handle::new(self.machine.concat(&parts))
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
        let (w, bias) = (operand(w), bias.map(operand));
        let y = self
            .machine
            .linear(x.get(), &w, bias.as_ref(), map, trunc, bits);
        y.map(Handle::new)
    }
    fn truncate(&mut self, x: &Handle, trunc: u32) -> Made {
        self.machine.truncate(x.get(), trunc).map(Handle::new)
    }
    fn drelu(&mut self, x: &Handle, keys: KeyBits) -> Made {
        self.machine.drelu(x.get(), keys).map(Handle::new)
    }
    fn select(&mut self, bit: &Handle, x: &Handle, y: &Handle) -> Made {
        let chosen = self.machine.select(bit.get(), x.get(), y.get());
        chosen.map(Handle::new)
    }
    fn relu(&mut self, x: &Handle, keys: KeyBits) -> Made {
        self.machine.relu(x.get(), keys).map(Handle::new)
    }
    fn maxpool(&mut self, x: &Handle, windows: usize, size: usize, keys: KeyBits) -> Made {
        let largest = self.machine.maxpool(x.get(), windows, size, keys);
        largest.map(Handle::new)
    }
    fn resize(&mut self, x: &Handle, trunc: u32, bits: u32) -> Made {
        self.machine.resize(x.get(), trunc, bits).map(Handle::new)
    }
    fn function(&mut self, function: &Elementary, x: &Handle) -> Option<Made> {
        let own = self.function?;
        Some(own(&mut self.machine, function, x.get()).map(Handle::new))
    }
}

/// A machine of any protocol.
pub struct Erased(Box<dyn Calls>);

impl Erased {
    /// Hides a machine that computes functions as every machine does: these programs, too, are then
    /// compiled once.
    pub fn new<M: Machine<Share: 'static, Bits: 'static> + 'static>(machine: M) -> Self {
        let function = None;
        Erased(Box::new(Of { machine, function }))
    }

    /// Hides a machine that computes functions in its own way.
    pub fn native<M: Machine<Share: 'static, Bits: 'static> + 'static>(machine: M) -> Self {
        let function: Option<Function<M>> = Some(M::function);
        Erased(Box::new(Of { machine, function }))
    }
}
