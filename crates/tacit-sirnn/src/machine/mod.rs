//! SiRnn behind the seam to models: a tensor machine over `Z_2^bits` between a server and a client
//! (docs/spec/sirnn.md, section 14).
//!
//! Differs from the paper: whoever knows a tensor, as an input or as weights, keeps it, and the
//! other's summand is 0; products with it take one cross term instead of two. Signs are exact, of
//! no more bits than hold every compared value, and truncations use that a value is below a quarter
//! of the ring: `x + 2^(bits - 2)` has a known most significant bit, so that no wrap of the whole
//! width is computed. Linear layers are products of encrypted numbers where that takes less time
//! than transfers: `encrypted.rs`. A tensor may also have fewer bits than the ring: `width.rs`.

mod cost;
mod demand;
mod encrypted;
mod linear;
mod native;
mod tensor;
mod width;

use std::collections::VecDeque;
use std::ops::Range;

use tacit_algebra::{Bits, vec};
use tacit_net::{LinkModel, Party, Phase};
use tacit_protocols::Error;
use tacit_protocols::machine::{
    Audience, Bilinear, Call, CostModel, KeyBits, Machine, Operand, not_saved,
};
use tacit_protocols::material_portions::Ahead;
use tacit_protocols::math::Elementary;

use crate::convert::Msb;
use crate::ot::{self, OtExtension};
use crate::{Engine, PARTIES};
use demand::{ExpectedSteps, Step, Widths};
use native::Native;

pub use cost::SirnnCost;
pub use encrypted::Products;
pub use tensor::Tensor;

const REVEAL: &str = "sirnn reveal";

/// The options of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bits of the ring, 3 to 64.
    pub bits: u32,
    /// Bits that hold every value whose sign is taken.
    pub sign_bits: u32,
    /// How transfers are made.
    pub kind: OtExtension,
    /// How products are computed.
    pub products: Products,
    /// The network between the parties, by which [`Products::Auto`] chooses.
    pub link: LinkModel,
}

/// One party's end of SiRnn over `Z_2^bits`.
pub struct Sirnn {
    engine: Engine,
    ahead: Ahead,
    bits: u32,
    sign_bits: u32,
    expected: ExpectedSteps,
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
            ahead: Ahead::default(),
            bits,
            sign_bits: sign_bits.clamp(1, bits),
            expected: ExpectedSteps::Steps(VecDeque::new()),
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
            ahead: Ahead::default(),
            bits,
            sign_bits: sign_bits.clamp(1, bits),
            expected: ExpectedSteps::Counting,
            cost: SirnnCost::new(options),
        }
    }

    /// This party's summand of what everyone knows.
    fn public(&self, values: &[i64]) -> Tensor {
        let summand = match self.engine.id() {
            0 => vec::low_bits(&vec::encode(values), self.bits),
            _ => vec![0; values.len()],
        };
        Tensor::new(self.bits, summand)
    }

    /// `bit x`.
    fn choose(&mut self, bit: &Bits, x: &Tensor) -> Result<Tensor, Error> {
        let (n, bits) = (x.summand.len(), x.bits);
        self.step(Step::Select { n, bits })?;
        Ok(self.engine.mux(bit, &x.shared())?.into())
    }

    /// `x >> trunc`, exactly the floor, for `x` below a quarter of its range.
    fn shift(&mut self, x: &Tensor, trunc: u32) -> Result<Tensor, Error> {
        if trunc + 2 > x.bits {
            return Err(Error::Invalid(format!(
                "a truncation by {trunc} bits of values of {} bits",
                x.bits
            )));
        }
        let (n, bits) = (x.summand.len(), x.bits);
        self.step(Step::Truncate { n, trunc, bits })?;
        let quarter = 1 << (bits - 2);
        let above = self.engine.add_public(&x.shared(), quarter);
        let shifted = self
            .engine
            .shift_right_logical(&above, trunc, &Msb::Public(false))?;
        let back = (quarter >> trunc).wrapping_neg();
        Ok(self.engine.add_public(&shifted, back).into())
    }

    fn by_tables(
        &mut self,
        native: &Native,
        function: &Elementary,
        x: &Tensor,
    ) -> Result<Tensor, Error> {
        let (given, wanted, bits) = match function.between {
            None => (self.bits, function.format.bits(), function.bits),
            Some([from, _]) => (x.bits, from.bits, from.bits),
        };
        if given != wanted {
            return Err(Error::Invalid(format!(
                "a function of numbers of {wanted} bits was given numbers of {given}"
            )));
        }
        let (n, function) = (x.summand.len(), *function);
        self.step(Step::Function { n, function })?;
        let x = x.narrowed(bits).shared();
        Ok(native.apply(&mut self.engine, &x)?.into())
    }
}

impl Machine for Sirnn {
    type Share = Tensor;
    type Bits = Bits;

    fn element_bits(&self) -> u32 {
        self.bits
    }

    fn party(&mut self) -> &mut Party {
        self.engine
            .party()
            .expect("only a machine that runs is asked for its party")
    }

    fn ahead(&mut self) -> &mut Ahead {
        &mut self.ahead
    }

    fn cost_model(&self) -> &dyn CostModel {
        &self.cost
    }

    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        let ots = self.cost.ots(calls)?;
        let (ring, signs) = (self.bits, self.sign_bits);
        self.expected.add(calls, Widths { ring, signs });
        let keys = self.cost.wanted(calls);
        self.party().set_phase(Phase::Setup);
        self.engine.exchange_keys(&keys)?;
        self.party().set_phase(Phase::Offline);
        self.engine.prepare(ots)?;
        self.party().set_phase(Phase::Online);
        Ok(())
    }

    /// Shares the owner's `n` values: the owner keeps them and the other party's summand is 0. Local.
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
        Ok(Tensor::new(self.bits, summand))
    }

    fn constant(&mut self, values: &[i64]) -> Tensor {
        self.public(values)
    }

    /// 1 hop; the ring's bits per element from each party that does not learn alone.
    fn reveal(&mut self, x: &Tensor, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        let receiver = match to {
            Audience::All => None,
            Audience::One(party) => Some(party),
        };
        let opened = self.engine.open(REVEAL, self.bits, &x.summand, receiver)?;
        let unused = 64 - x.bits;
        Ok(opened.map(|values| vec::decode(&vec::sar(&vec::shl(&values, unused), unused))))
    }

    fn known(&mut self, x: Tensor, owner: usize) -> Tensor {
        let owner = Some(owner);
        Tensor { owner, ..x }
    }

    /// The width, and every number as 8 bytes.
    fn save(&self, x: &Tensor) -> Vec<u8> {
        let mut bytes = vec![x.bits as u8];
        bytes.extend_from_slice(bytemuck::cast_slice(&x.summand));
        bytes
    }

    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<Tensor, Error> {
        let (bits, words) = bytes.split_first().ok_or_else(|| not_saved(n))?;
        let bits = u32::from(*bits);
        if words.len() != n * size_of::<u64>() || !(1..=64).contains(&bits) {
            return Err(not_saved(n));
        }
        let summand: Vec<u64> = bytemuck::pod_collect_to_vec(words);
        Ok(Tensor::new(bits, vec::low_bits(&summand, bits)))
    }

    fn len(&self, x: &Tensor) -> usize {
        x.summand.len()
    }

    fn add(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        x.zip(y, vec::add)
    }

    fn sub(&mut self, x: &Tensor, y: &Tensor) -> Tensor {
        x.zip(y, vec::sub)
    }

    fn scale(&mut self, x: &Tensor, k: i64) -> Tensor {
        Tensor::new(
            x.bits,
            vec::low_bits(&vec::scale(&x.summand, k as u64), x.bits),
        )
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

    fn linear(
        &mut self,
        x: &Tensor,
        w: &Operand<Tensor>,
        bias: Option<&Operand<Tensor>>,
        map: &Bilinear,
        trunc: u32,
        bits: Option<[u32; 2]>,
    ) -> Result<Tensor, Error> {
        match bits {
            None => self.product_over_ring(x, w, bias, map, trunc),
            Some([product, result]) => {
                let product = self.mixed_product(x, w, bias, map, product)?;
                self.resized(&product, trunc, result)
            }
        }
    }

    fn truncate(&mut self, x: &Tensor, trunc: u32) -> Result<Tensor, Error> {
        match trunc {
            0 => Ok(x.clone()),
            trunc => self.shift(x, trunc),
        }
    }

    fn drelu(&mut self, x: &Tensor, keys: KeyBits) -> Result<Bits, Error> {
        let n = x.summand.len();
        let bits = demand::sign_width(keys, x.bits, self.sign_bits);
        self.step(Step::Sign { n, keys, bits })?;
        self.engine.drelu(&x.narrowed(bits).shared())
    }

    /// `x + bit (y - x)`.
    fn select(&mut self, bit: &Bits, x: &Tensor, y: &Tensor) -> Result<Tensor, Error> {
        let difference = self.sub(y, x);
        let chosen = self.choose(bit, &difference)?;
        Ok(self.add(x, &chosen))
    }

    /// Computes the function by tables, where it and its format allow that.
    fn native(&mut self, function: &Elementary, x: &Tensor) -> Option<Result<Tensor, Error>> {
        let native = Native::of(function)?;
        Some(self.by_tables(&native, function, x))
    }

    fn resize(&mut self, x: &Tensor, trunc: u32, bits: u32) -> Result<Tensor, Error> {
        self.resized(x, trunc, bits)
    }

    fn relu(&mut self, x: &Tensor, keys: KeyBits) -> Result<Tensor, Error> {
        let positive = self.drelu(x, keys)?;
        self.choose(&positive, x)
    }
}
