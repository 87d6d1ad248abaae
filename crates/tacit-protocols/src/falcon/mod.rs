//! Falcon: three parties, replicated sharing, semi-honest or malicious with abort (Wagh, Tople,
//! Benhamouda, Kushilevitz, Mittal, Rabin: "Falcon: Honest-Majority Maliciously Secure Framework
//! for Private Deep Learning", PETS 2021), in the corrected form of docs/spec/falcon.md.
//!
//! At most one of the three parties is corrupt; it follows the protocol, or, under malicious
//! security, does what it likes. Each file holds one of the paper's subjects and names what differs
//! from the paper.
//!
//! | file | what |
//! |---|---|
//! | `../replicated/` | replicated sharing, input, opening, resharing, products |
//! | `linear.rs` | products, matrix products, convolutions |
//! | `truncate.rs` | fixed-point truncation, three kinds |
//! | `sign.rs` | DReLU: by the adder, or by the paper's comparison |
//! | `compare.rs` | the paper's: wrap3, the leaves of private compare |
//! | `relu.rs` | selection, ReLU |
//! | `preprocess.rs` | the offline phase |
//! | `semi_honest/`, `malicious/` | the steps in which the two differ; `security.rs` chooses |
//! | `cost.rs`, `demand.rs` | what a call costs, counted by running it; what it consumes |
//!
//! # Two kinds of security
//!
//! Falcon is semi-honest or malicious with abort. Where the two differ there are two files of one name,
//! in `falcon/semi_honest/` and `falcon/malicious/`, and `security.rs` chooses; all else is common.
//! Under malicious security every product leaves a record and every opening a hash, and a *verification*
//! verifies them before anything unmasked is opened that depends on them. When is a rule of sizes
//! alone, written twice: the machine keeps it (`verify.rs`), and `CostModel::checked` adds the same
//! verifications to the calls of a plan as `Call::Verify`. docs/threat-model.md says why it is enough.

mod compare;
mod cost;
mod demand;
mod domain;
mod linear;
mod malicious;
mod material;
mod options;
mod preprocess;
mod relu;
mod security;
mod semi_honest;
mod sign;
mod truncate;

use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Ring};
use tacit_net::{Party, Phase};

use crate::material_portions::Ahead;
pub use crate::replicated::{PARTIES, Rss};
pub use crate::truncation::Truncation;
pub use cost::FalconCost;
pub(crate) use domain::Residues;
pub use options::{Comparison, Options, Security};

use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::{Audience, Call, CostModel, Erased, KeyBits, Machine, Operand, not_saved};
use crate::pool;
use crate::replicated::Replicated;
use crate::signs::Signs;
use malicious::Checks;
use material::Store;

/// Signs in words of 32 bits, see [`Options::sign_bits`]: of the paper's comparison, since a plan does not
/// know which is chosen.
pub const SIGNS: Signs = Signs {
    key_bits: None,
    narrow: Some(|bits| match bits {
        ..=u32::BITS => u32::BITS,
        _ => u32::MAX,
    }),
};

/// One party's end of Falcon over the ring `R`.
pub struct Falcon<R: Ring> {
    rss: Replicated,
    options: Options,
    store: Store<R>,
    /// What malicious security adds.
    checks: Option<Checks<R>>,
    cost: FalconCost<R>,
}

impl<R: Ring> Falcon<R> {
    /// Joins the two other parties and agrees on keys with them (2 hops, 128 bytes each).
    ///
    /// Secure against one party that is curious; or, under malicious security, against one that deviates
    /// from the protocol: then the run ends with an error at the others before they give anything out.
    pub fn new(mut party: Party, options: Options) -> Result<Self, Error> {
        options.check()?;
        party.set_phase(Phase::Setup);
        let (rss, pairs) = Replicated::new(party, "falcon")?;
        Ok(Falcon {
            rss,
            options,
            store: Store::new(),
            checks: (options.security == Security::Malicious).then(|| Checks::new(&pairs)),
            cost: FalconCost::new(options),
        })
    }

    /// Ends a call that may have left products to verify.
    fn verified<T>(&mut self, result: T) -> Result<T, Error> {
        self.verify_if_many()?;
        Ok(result)
    }
}

/// A party's machine over the ring of 32 or 64 bits.
pub fn machine(bits: u32, party: Party, options: Options) -> Result<Erased<'static>, Error> {
    match bits {
        32 => Falcon::<u32>::new(party, options).map(Erased::new),
        _ => Falcon::<u64>::new(party, options).map(Erased::new),
    }
}

/// The declared cost over the ring of 32 or 64 bits.
pub fn cost(bits: u32, options: Options) -> Box<dyn CostModel> {
    match bits {
        32 => Box::new(FalconCost::<u32>::new(options)),
        _ => Box::new(FalconCost::<u64>::new(options)),
    }
}

impl<R: Ring> Machine for Falcon<R> {
    type Share = Rss<Buffer<R>>;
    type Bits = Rss<Bits>;

    fn element_bits(&self) -> u32 {
        R::BITS
    }

    fn party(&mut self) -> &mut Party {
        &mut self.rss.party
    }

    fn ahead(&mut self) -> &mut Ahead {
        &mut self.rss.ahead
    }

    fn cost_model(&self) -> &dyn CostModel {
        &self.cost
    }

    fn prepare(&mut self, calls: &[Call]) -> Result<(), Error> {
        self.rss.party.set_phase(Phase::Offline);
        self.preprocess(calls)?;
        self.rss.party.set_phase(Phase::Online);
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Error> {
        self.verify_waiting()
    }

    fn input(
        &mut self,
        owner: usize,
        n: usize,
        values: Option<&[i64]>,
    ) -> Result<Self::Share, Error> {
        self.rss.input_words(owner, n, values)
    }

    fn constant(&mut self, values: &[i64]) -> Self::Share {
        self.rss.public(&Buffer::encode(values))
    }

    fn reveal(&mut self, x: &Self::Share, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        match self.checks {
            None => self.rss.reveal_to(x, to),
            Some(_) => self.reveal_checked(x, to),
        }
    }

    fn save(&self, x: &Self::Share) -> Vec<u8> {
        x.to_bytes()
    }

    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<Self::Share, Error> {
        let share = Rss::from_bytes(n, bytes).ok_or_else(|| not_saved(n))?;
        if let Some(checks) = &mut self.checks {
            checks.loaded(&share);
        }
        Ok(share)
    }

    /// Verified truncations round each component by itself.
    fn off_exact(&self) -> i64 {
        match (&self.checks, self.options.truncation) {
            (Some(_), Truncation::Gap) => 2,
            _ => 0,
        }
    }

    fn len(&self, x: &Self::Share) -> usize {
        x.own.len()
    }

    fn add(&mut self, x: &Self::Share, y: &Self::Share) -> Self::Share {
        x.zip(y, Buffer::add)
    }

    fn sub(&mut self, x: &Self::Share, y: &Self::Share) -> Self::Share {
        x.zip(y, Buffer::sub)
    }

    fn scale(&mut self, x: &Self::Share, k: i64) -> Self::Share {
        x.map(|component| component.scale(R::from_i64(k)))
    }

    fn gather(&mut self, x: &Self::Share, index: &[u32]) -> Self::Share {
        x.map(|component| component.gather(index))
    }

    fn slice(&mut self, x: &Self::Share, range: Range<usize>) -> Self::Share {
        x.part(range)
    }

    fn concat(&mut self, parts: &[&Self::Share]) -> Self::Share {
        Rss::concat(parts)
    }

    fn linear(
        &mut self,
        x: &Self::Share,
        w: &Operand<Self::Share>,
        bias: Option<&Operand<Self::Share>>,
        map: &Bilinear,
        trunc: u32,
        _bits: Option<[u32; 2]>,
    ) -> Result<Self::Share, Error> {
        let z = self.product(x, w, bias, map, trunc)?;
        self.verified(z)
    }

    fn truncate(&mut self, x: &Self::Share, trunc: u32) -> Result<Self::Share, Error> {
        if trunc == 0 {
            return Ok(x.clone());
        }
        let y = self.truncate_shared(x.clone(), trunc)?;
        self.verified(y)
    }

    fn drelu(&mut self, x: &Self::Share, keys: KeyBits) -> Result<Self::Bits, Error> {
        let bit = self.not_negative(x, keys)?;
        self.verified(bit)
    }

    fn select(
        &mut self,
        bit: &Self::Bits,
        x: &Self::Share,
        y: &Self::Share,
    ) -> Result<Self::Share, Error> {
        let z = self.select_by(bit, x, y)?;
        self.verified(z)
    }

    fn relu(&mut self, x: &Self::Share, keys: KeyBits) -> Result<Self::Share, Error> {
        let y = self.rectify(x, keys)?;
        self.verified(y)
    }

    fn maxpool(
        &mut self,
        x: &Self::Share,
        windows: usize,
        size: usize,
        keys: KeyBits,
    ) -> Result<Self::Share, Error> {
        // One call, however many levels it has, ends with at most one verification.
        let y = pool::maxpool_by(self, x, windows, size, &mut |this, x| this.rectify(x, keys))?;
        self.verified(y)
    }
}
