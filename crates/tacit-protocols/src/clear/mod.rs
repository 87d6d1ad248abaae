//! The clear-text protocol: the same interface with no secrecy at all.
//!
//! Every party holds every value. It is the oracle that the protocols are compared with (its
//! truncation is the floor unless an analysis asks for another, its arithmetic the ring's own, its
//! signs exact whatever the key bits) and the template for a new one: what a protocol must offer,
//! without cryptography.

mod truncation;

use std::ops::Range;

use tacit_algebra::{Buffer, Ring, vec};
use tacit_net::{Party, Phase};

use crate::machine::{
    Audience, Bilinear, Call, CostModel, Erased, KeyBits, Machine, Operand, not_saved,
};
use crate::material_portions::Ahead;
use crate::message::Message;
use crate::replicated::Words;
use crate::{Cost, Error};
use truncation::Truncator;
pub use truncation::{LargeErrors, Truncating};

const INPUT: Message<Words> = Message::new("clear input");

/// One party's copy of the clear-text computation over the ring `R`.
pub struct Clear<R: Ring> {
    party: Party,
    ahead: Ahead,
    cost: ClearCost,
    truncator: Truncator,
    ring: std::marker::PhantomData<R>,
}

impl<R: Ring> Clear<R> {
    /// A clear-text machine; any number of parties.
    pub fn new(party: Party) -> Self {
        let cost = ClearCost::new(party.parties(), R::BITS);
        Clear {
            party,
            ahead: Ahead::default(),
            cost,
            truncator: Truncator::default(),
            ring: std::marker::PhantomData,
        }
    }

    fn truncating(truncator: Truncator, party: Party) -> Self {
        Clear {
            truncator,
            ..Clear::new(party)
        }
    }
}

/// An operand's ring elements.
fn values<R: Ring>(x: &Operand<Vec<R>>) -> Vec<R> {
    match x {
        Operand::Secret(share) => share.clone(),
        Operand::Public(values) => vec::encode(values),
    }
}

/// Refuses lengths that do not fit.
fn expect(what: &str, given: usize, wanted: usize) -> Result<(), Error> {
    if given == wanted {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "{what}: {wanted} elements are needed, {given} were given"
    )))
}

/// A machine over the ring of 32 or 64 bits that truncates in another way than by rounding down, and how often
/// that had the large error. Fails if the system gives no randomness.
pub fn truncating(
    bits: u32,
    party: Party,
    kind: Truncating,
) -> Result<(Erased<'static>, LargeErrors), Error> {
    let truncator = Truncator::new(kind)?;
    let large_errors = truncator.large_errors();
    let machine = match bits {
        32 => Erased::new(Clear::<u32>::truncating(truncator, party)),
        _ => Erased::new(Clear::<u64>::truncating(truncator, party)),
    };
    Ok((machine, large_errors))
}

/// A party's machine over the ring of 32 or 64 bits.
pub fn machine(bits: u32, party: Party) -> Erased<'static> {
    match bits {
        32 => Erased::new(Clear::<u32>::new(party)),
        _ => Erased::new(Clear::<u64>::new(party)),
    }
}

impl<R: Ring> Machine for Clear<R> {
    type Share = Vec<R>;
    type Bits = Vec<bool>;

    fn element_bits(&self) -> u32 {
        R::BITS
    }

    fn party(&mut self) -> &mut Party {
        &mut self.party
    }

    fn ahead(&mut self) -> &mut Ahead {
        &mut self.ahead
    }

    fn cost_model(&self) -> &dyn CostModel {
        &self.cost
    }

    fn prepare(&mut self, _calls: &[Call]) -> Result<(), Error> {
        self.party.set_phase(Phase::Online);
        Ok(())
    }

    fn input(&mut self, owner: usize, n: usize, values: Option<&[i64]>) -> Result<Vec<R>, Error> {
        if self.party.id() != owner {
            let x = INPUT.of::<Words<R>>().recv(&mut self.party, owner, n)?;
            return Ok(x.to_vec());
        }
        let values = values
            .ok_or_else(|| Error::Invalid("the owner of an input must give its values".into()))?;
        expect("input", values.len(), n)?;
        let x = Buffer::encode(values);
        for peer in (0..self.party.parties()).filter(|&peer| peer != owner) {
            INPUT.of::<Words<R>>().send(&mut self.party, peer, &x)?;
        }
        Ok(x.to_vec())
    }

    fn constant(&mut self, values: &[i64]) -> Vec<R> {
        vec::encode(values)
    }

    fn reveal(&mut self, x: &Vec<R>, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        let hears = match to {
            Audience::All => true,
            Audience::One(receiver) => receiver == self.party.id(),
        };
        Ok(hears.then(|| vec::decode(x)))
    }

    fn save(&self, x: &Vec<R>) -> Vec<u8> {
        bytemuck::cast_slice(x).to_vec()
    }

    fn load(&mut self, n: usize, bytes: &[u8]) -> Result<Vec<R>, Error> {
        match bytes.len() == n * size_of::<R>() {
            true => Ok(bytemuck::pod_collect_to_vec(bytes)),
            false => Err(not_saved(n)),
        }
    }

    fn len(&self, x: &Vec<R>) -> usize {
        x.len()
    }

    fn add(&mut self, x: &Vec<R>, y: &Vec<R>) -> Vec<R> {
        vec::add(x, y)
    }

    fn sub(&mut self, x: &Vec<R>, y: &Vec<R>) -> Vec<R> {
        vec::sub(x, y)
    }

    fn scale(&mut self, x: &Vec<R>, k: i64) -> Vec<R> {
        vec::scale(x, R::from_i64(k))
    }

    fn gather(&mut self, x: &Vec<R>, index: &[u32]) -> Vec<R> {
        vec::gather(x, index)
    }

    fn slice(&mut self, x: &Vec<R>, range: Range<usize>) -> Vec<R> {
        x[range].to_vec()
    }

    fn concat(&mut self, parts: &[&Vec<R>]) -> Vec<R> {
        let parts: Vec<&[R]> = parts.iter().map(|part| &part[..]).collect();
        parts.concat()
    }

    fn linear(
        &mut self,
        x: &Vec<R>,
        w: &Operand<Vec<R>>,
        bias: Option<&Operand<Vec<R>>>,
        map: &Bilinear,
        trunc: u32,
        _bits: Option<[u32; 2]>,
    ) -> Result<Vec<R>, Error> {
        let biases = bias.map(|bias| bias.elements(Vec::len));
        map.check(x.len(), w.elements(Vec::len), biases)?;
        let mut z = match bias {
            Some(bias) => map.spread(&values(bias)),
            None => vec![R::ZERO; map.outputs()],
        };
        map.accumulate(&mut z, x, &values(w));
        Ok(self.truncator.truncate(z, trunc))
    }

    fn truncate(&mut self, x: &Vec<R>, trunc: u32) -> Result<Vec<R>, Error> {
        Ok(self.truncator.truncate(x.clone(), trunc))
    }

    fn drelu(&mut self, x: &Vec<R>, _keys: KeyBits) -> Result<Vec<bool>, Error> {
        Ok(x.iter().map(|v| v.to_i64() >= 0).collect())
    }

    fn select(&mut self, bit: &Vec<bool>, x: &Vec<R>, y: &Vec<R>) -> Result<Vec<R>, Error> {
        expect("select", y.len(), x.len())?;
        Ok(bit
            .iter()
            .zip(x.iter().zip(y))
            .map(|(&b, (&x, &y))| if b { y } else { x })
            .collect())
    }

    fn relu(&mut self, x: &Vec<R>, _keys: KeyBits) -> Result<Vec<R>, Error> {
        Ok(x.iter()
            .map(|&v| if v.to_i64() >= 0 { v } else { R::ZERO })
            .collect())
    }

    fn maxpool(
        &mut self,
        x: &Vec<R>,
        windows: usize,
        size: usize,
        _keys: KeyBits,
    ) -> Result<Vec<R>, Error> {
        expect("maxpool", x.len(), windows * size)?;
        let max = |i: usize| {
            (0..size)
                .map(|j| x[j * windows + i])
                .max_by_key(|v| v.to_i64())
        };
        (0..windows)
            .map(|i| max(i).ok_or_else(|| Error::Invalid("maxpool of an empty window".into())))
            .collect()
    }
}

/// The clear-text protocol sends its inputs and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct ClearCost {
    parties: usize,
    word: u64,
}

impl ClearCost {
    /// The cost between `parties` over a ring of `bits` bits.
    pub fn new(parties: usize, bits: u32) -> Self {
        ClearCost {
            parties,
            word: u64::from(bits / 8),
        }
    }
}

impl CostModel for ClearCost {
    fn online(&self, call: &Call) -> Cost {
        let mut cost = Cost::each(self.parties, 0, 0);
        if let Call::Input { owner, n } = *call {
            cost.rounds = u32::from(self.parties > 1);
            cost.bytes[owner] = n as u64 * self.word * (self.parties as u64 - 1);
        }
        cost
    }

    fn offline(&self, _calls: &[Call]) -> Cost {
        Cost::each(self.parties, 0, 0)
    }

    fn stored(&self, _call: &Call) -> u64 {
        0
    }
}
