//! SiRnn behind the seam to models: a tensor machine over `Z_2^bits` between a server and a client.
//!
//! Differs from the paper: whoever knows a tensor, as an input or as weights, keeps it, and the
//! other's summand is 0; products with it take one cross term instead of two. Signs are exact, of
//! no more bits than hold every compared value, and truncations use that a value is below a quarter
//! of the ring: `x + 2^(bits - 2)` has a known most significant bit, so that no wrap of the whole
//! width is computed.

mod cost;
mod demand;
mod linear;
mod native;
mod tensor;

use std::collections::VecDeque;
use std::ops::Range;

use tacit_algebra::{Bits, Conv2d, MatMul, vec};
use tacit_net::{Party, Phase};
use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Bilinear, Call, CostModel, KeyBits, Machine, Operand};
use tacit_protocols::math::Elementary;

use crate::convert::Msb;
use crate::ot::{self, Kind};
use crate::{Engine, PARTIES, Shared};
use demand::{Plan, Step};
use native::Native;

pub use cost::SirnnCost;
pub use tensor::Tensor;

const REVEAL: &str = "sirnn reveal";

/// What is chosen of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bits of the ring, 3 to 64.
    pub bits: u32,
    /// Bits that hold every value whose sign is taken.
    pub sign_bits: u32,
    /// How transfers are made.
    pub kind: Kind,
}

/// One party's end of SiRnn over `Z_2^bits`.
pub struct Sirnn {
    engine: Engine,
    bits: u32,
    sign_bits: u32,
    plan: Plan,
    cost: SirnnCost,
}

impl Sirnn {
    /// Joins the other party: party 0 is the server, party 1 the client.
    pub fn new(mut party: Party, options: Options) -> Result<Self, Error> {
        let Options {
            bits, sign_bits, ..
        } = options;
        if party.parties() != PARTIES || !(3..=64).contains(&bits) {
            return Err(Error::Invalid(format!(
                "SiRnn runs between 2 parties over 3 to 64 bits, not between {} over {bits}",
                party.parties()
            )));
        }
        party.set_phase(Phase::Setup);
        let source = ot::source(&mut party, options.kind)?;
        Ok(Sirnn {
            engine: Engine::new(party, source)?,
            bits,
            sign_bits: sign_bits.clamp(1, bits),
            plan: Plan::Steps(VecDeque::new()),
            cost: SirnnCost::new(options),
        })
    }

    /// A machine that counts what calls take.
    fn counting(options: Options) -> Self {
        let Options {
            bits, sign_bits, ..
        } = options;
        Sirnn {
            engine: Engine::counting(),
            bits,
            sign_bits: sign_bits.clamp(1, bits),
            plan: Plan::Counting,
            cost: SirnnCost::new(options),
        }
    }

    fn shared(&self, x: &Tensor) -> Shared {
        Shared {
            bits: self.bits,
            values: x.summand.clone(),
        }
    }

    /// This party's summand of what everyone knows.
    fn public(&self, values: &[i64]) -> Vec<u64> {
        match self.engine.id() {
            0 => vec::low_bits(&vec::encode(values), self.bits),
            _ => vec![0; values.len()],
        }
    }

    /// `x + k` for a public `k`. Local.
    fn add_public(&self, x: &Shared, k: u64) -> Shared {
        let mut values = x.values.clone();
        if self.engine.id() == 0 {
            vec::add_scalar_assign(&mut values, k);
        }
        Shared::new(x.bits, &values)
    }

    /// `bit x`.
    fn choose(&mut self, bit: &Bits, x: &Tensor) -> Result<Tensor, Error> {
        let n = x.summand.len();
        self.step(Step::Select { n })?;
        Ok(self.engine.mux(bit, &self.shared(x))?.into())
    }

    /// `x >> trunc`, exactly the floor, for `x` below a quarter of the ring.
    fn shift(&mut self, x: &Shared, trunc: u32) -> Result<Shared, Error> {
        if trunc > self.bits - 2 {
            return Err(Error::Invalid(format!(
                "a truncation by {trunc} bits of values of {} bits",
                self.bits
            )));
        }
        let n = x.len();
        self.step(Step::Truncate { n, trunc })?;
        let quarter = 1 << (self.bits - 2);
        let above = self.add_public(x, quarter);
        let shifted = self
            .engine
            .shift_right_logical(&above, trunc, &Msb::Public(false))?;
        Ok(self.add_public(&shifted, (quarter >> trunc).wrapping_neg()))
    }
}

impl Machine for Sirnn {
    type Share = Tensor;
    type Bits = Bits;

    fn ring_bits(&self) -> u32 {
        self.bits
    }

    fn party(&mut self) -> &mut Party {
        self.engine
            .party()
            .expect("only a machine that runs is asked for its party")
    }

    fn cost_model(&self) -> &dyn CostModel {
        &self.cost
    }

    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        let cots = self.cost.cots(calls)?;
        self.plan.add(calls);
        self.party().set_phase(Phase::Offline);
        self.engine.prepare(cots)?;
        self.party().set_phase(Phase::Online);
        Ok(())
    }

    /// Local: the owner keeps the values.
    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Result<Tensor, Error> {
        if owner >= PARTIES || values.is_some_and(|v| v.len() != n) {
            return Err(Error::Invalid(format!(
                "party {owner} cannot own {n} inputs"
            )));
        }
        let summand = match (self.engine.id() == owner, values) {
            (true, Some(values)) => vec::low_bits(&vec::encode(values), self.bits),
            (true, None) => {
                return Err(Error::Invalid(format!(
                    "party {owner} did not bring its input"
                )));
            }
            _ => vec![0; n],
        };
        Ok(Tensor::new(summand))
    }

    fn constant(&mut self, values: &[i64]) -> Tensor {
        Tensor::new(self.public(values))
    }

    /// 1 hop; `bits` per element from each party that does not learn alone.
    fn reveal(&mut self, x: &Tensor, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        let receiver = match to {
            Audience::All => None,
            Audience::One(party) => Some(party),
        };
        let opened = self.engine.open(REVEAL, self.bits, &x.summand, receiver)?;
        let unused = 64 - self.bits;
        Ok(opened.map(|values| vec::decode(&vec::sar(&vec::shl(&values, unused), unused))))
    }

    fn known(&mut self, x: Tensor, owner: usize) -> Tensor {
        let owner = Some(owner);
        Tensor { owner, ..x }
    }

    fn len(&self, x: &Tensor) -> usize {
        x.summand.len()
    }

    fn add(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        x.zip(y, self.bits, vec::add)
    }

    fn sub(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        x.zip(y, self.bits, vec::sub)
    }

    fn scale(&mut self, x: &Tensor, k: i64) -> Tensor {
        Tensor::new(vec::low_bits(&vec::scale(&x.summand, k as u64), self.bits))
    }

    fn gather(&mut self, x: &Tensor, index: &[u32]) -> Tensor {
        x.pick(vec::gather(&x.summand, index))
    }

    fn slice(&mut self, x: &Tensor, range: Range<usize>) -> Tensor {
        x.pick(x.summand[range].to_vec())
    }

    fn concat(&mut self, parts: &[&Tensor]) -> Tensor {
        Tensor::concat(parts)
    }

    fn mul(&mut self, x: &Tensor, y: &Operand<Tensor>, trunc: u32) -> Result<Tensor, Error> {
        self.linear(x, y, None, &Bilinear::Elementwise(x.summand.len()), trunc)
    }

    fn matmul(
        &mut self,
        x: &Tensor,
        w: &Operand<Tensor>,
        bias: Option<&Operand<Tensor>>,
        shape: MatMul,
        trunc: u32,
    ) -> Result<Tensor, Error> {
        self.linear(x, w, bias, &Bilinear::MatMul(shape), trunc)
    }

    fn conv2d(
        &mut self,
        x: &Tensor,
        w: &Operand<Tensor>,
        bias: Option<&Operand<Tensor>>,
        shape: &Conv2d,
        trunc: u32,
    ) -> Result<Tensor, Error> {
        self.linear(x, w, bias, &Bilinear::Conv2d(*shape), trunc)
    }

    fn truncate(&mut self, x: &Tensor, trunc: u32) -> Result<Tensor, Error> {
        match trunc {
            0 => Ok(x.clone()),
            trunc => Ok(self.shift(&self.shared(x), trunc)?.into()),
        }
    }

    fn drelu(&mut self, x: &Tensor, keys: KeyBits) -> Result<Bits, Error> {
        let n = x.summand.len();
        self.step(Step::Sign { n, keys })?;
        self.engine.drelu(&Shared::new(self.sign_bits, &x.summand))
    }

    /// `x + bit (y - x)`.
    fn select(&mut self, bit: &Bits, x: &Tensor, y: &Tensor) -> Result<Tensor, Error> {
        let difference = self.sub(y, x);
        let chosen = self.choose(bit, &difference)?;
        Ok(self.add(x, &chosen))
    }

    /// By tables where the function and its format allow.
    fn function(&mut self, function: &Elementary, x: &Tensor) -> Result<Tensor, Error> {
        let Some(native) = Native::of(function) else {
            return function.apply(self, x);
        };
        if function.format.bits() != self.bits {
            return Err(Error::Invalid(format!(
                "a function over {} bits was given a machine over {}",
                function.format.bits(),
                self.bits
            )));
        }
        let (n, function) = (x.summand.len(), *function);
        self.step(Step::Function { n, function })?;
        let x = Shared::new(function.bits, &x.summand);
        Ok(native.apply(&mut self.engine, &x)?.into())
    }

    fn relu(&mut self, x: &Tensor, keys: KeyBits) -> Result<Tensor, Error> {
        let positive = self.drelu(x, keys)?;
        self.choose(&positive, x)
    }
}
