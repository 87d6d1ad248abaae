//! A machine without data or peers that lists the calls of a program: what the program demands and
//! costs is counted by running it.

mod free;
mod held;
mod notes;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tacit_net::{LinkModel, Party, memory};

use crate::Error;
use crate::machine::{
    Audience, Bilinear, Call, CostModel, Erased, Handle, KeyBits, Machine, Operand, Unverified,
};
use crate::material_portions::Ahead;
use crate::math::Elementary;
use free::Free;
use held::Held;
use notes::Notes;
pub use notes::Stage;

/// A share without data: what calls on it say.
#[derive(Clone, Debug, Default)]
struct Noted {
    /// Elements of the share.
    n: usize,
    /// Bits of every number, where they are not the ring's.
    bits: Option<u32>,
    /// Who knows the numbers, if [`Machine::known`] was told.
    known_to: Option<usize>,
    /// The operand's number among the reusable operands, if it is one.
    reused: Option<usize>,
    /// The elements that are held as long as it is.
    _held: Option<Arc<Held>>,
}

impl Noted {
    /// A secret of `n` elements.
    fn of(n: usize) -> Self {
        Noted {
            n,
            ..Noted::default()
        }
    }

    fn of_bits(self, bits: Option<u32>) -> Self {
        Noted { bits, ..self }
    }

    /// Some of its elements, known to whom it is, in its memory.
    fn some(&self, n: usize) -> Self {
        Noted {
            n,
            reused: None,
            ..self.clone()
        }
    }

    /// A share of as many elements as this one, of as many bits as the narrowest of all.
    fn with<'a>(&self, others: impl IntoIterator<Item = &'a Noted>) -> Self {
        let bits = others.into_iter().filter_map(|other| other.bits);
        Noted::of(self.n).of_bits(bits.chain(self.bits).min())
    }
}

/// A machine that computes nothing and notes the calls made on it.
struct Recorder<'a> {
    bits: u32,
    /// Tells which functions stay what they are.
    model: &'a dyn CostModel,
    notes: &'a mut Notes,
    party: Party,
    ahead: Ahead,
}

/// A secret of `n` elements of a program that is recorded.
pub fn noted(n: usize) -> Handle {
    Handle::new(Noted::of(n))
}

/// The calls of a program on a machine over `bits` bits that computes all functions, stage by stage.
pub fn stages_of<T, E: From<Error>>(
    bits: u32,
    program: impl FnOnce(&mut Erased) -> Result<T, E>,
) -> Result<Vec<Stage>, E> {
    let mut notes = Notes::default();
    let result = program(&mut recorder(bits, &Free, &mut notes)?)?;
    notes.end_stage();
    drop(result);
    Ok(notes.stages)
}

/// The calls of a program on a machine over `bits` bits that computes all functions, in one list.
pub fn calls_of<T, E: From<Error>>(
    bits: u32,
    program: impl FnOnce(&mut Erased) -> Result<T, E>,
) -> Result<Vec<Call>, E> {
    let stages = stages_of(bits, program)?;
    Ok(stages.into_iter().flat_map(|stage| stage.calls).collect())
}

/// The calls that a protocol with this cost model makes for `calls`. A function that the protocol does
/// not compute by itself is replaced by the calls of its program; local calls are left out; verifications
/// that the machine makes by itself are added.
pub fn lowered(calls: &[Call], model: &dyn CostModel) -> Result<Vec<Call>, Error> {
    let mut notes = Notes::default();
    calls.iter().try_for_each(|call| notes.lower(call, model))?;
    let calls = notes.stages.into_iter().flat_map(|stage| stage.calls);
    Ok(model.checked(calls.collect()))
}

/// The most elements that shares have at once within a call, beside its operand: those of a function that the
/// protocol does not compute by itself.
pub fn held_within(call: &Call, model: &dyn CostModel) -> Result<u64, Error> {
    let mut notes = Notes::default();
    notes.lower(call, model)?;
    Ok(notes.level.most())
}

/// A machine that notes calls there.
fn recorder<'a>(
    bits: u32,
    model: &'a dyn CostModel,
    notes: &'a mut Notes,
) -> Result<Erased<'a>, Error> {
    let alone = memory::mesh(1, &LinkModel::LOCAL, Duration::from_secs(1)).pop();
    let party = alone.ok_or_else(|| Error::Invalid("a mesh of one party is empty".into()))?;
    Ok(Erased::new(Recorder {
        bits,
        model,
        notes,
        party,
        ahead: Ahead::default(),
    }))
}

impl Recorder<'_> {
    fn push(&mut self, call: Call) {
        self.notes.push(call, self.model);
    }

    /// A share in memory of its own.
    fn made(&self, share: Noted) -> Noted {
        let _held = Some(self.notes.level.hold(share.n as u64));
        Noted { _held, ..share }
    }

    /// Bits in memory of their own, many in the place of an element.
    fn made_bits(&self, n: usize) -> Noted {
        let _held = Some(self.notes.level.hold(n.div_ceil(64) as u64));
        Noted {
            _held,
            ..Noted::of(n)
        }
    }

    fn width(&self, x: &Noted) -> u32 {
        x.bits.unwrap_or(self.bits)
    }
}

impl Machine for Recorder<'_> {
    type Share = Noted;
    type Bits = Noted;

    fn element_bits(&self) -> u32 {
        self.bits
    }

    fn party(&mut self) -> &mut Party {
        &mut self.party
    }

    fn ahead(&mut self) -> &mut Ahead {
        &mut self.ahead
    }

    fn stage(&mut self) -> Result<(), Error> {
        self.layer("")
    }

    fn layer(&mut self, name: &str) -> Result<(), Error> {
        self.notes.begin(name);
        Ok(())
    }

    fn cost_model(&self) -> &dyn CostModel {
        self.model
    }

    fn prepare(&mut self, _calls: &[Call]) -> Result<(), Error> {
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Error> {
        self.push(Call::Verify(Unverified::default()));
        Ok(())
    }

    fn input(&mut self, owner: usize, n: usize, _: Option<&[i64]>) -> Result<Noted, Error> {
        self.push(Call::Input { owner, n });
        Ok(self.made(Noted::of(n)))
    }

    fn constant(&mut self, values: &[i64]) -> Noted {
        self.made(Noted::of(values.len()))
    }

    fn constant_by(&mut self, n: usize, _: impl FnOnce() -> Vec<i64>) -> Noted {
        self.made(Noted::of(n))
    }

    /// What everybody knows decides on no call.
    fn public_by(&mut self, _: impl FnOnce() -> Vec<i64>) -> Operand<Noted> {
        Operand::Public([].into())
    }

    /// Notes the opening; what all would learn is zeros.
    fn reveal(&mut self, x: &Noted, to: Audience) -> Result<Option<Vec<i64>>, Error> {
        let n = x.n;
        self.push(Call::Reveal { n, to });
        Ok((to == Audience::All).then(|| vec![0; n]))
    }

    fn reusable(&mut self, x: Noted) -> Result<Noted, Error> {
        self.push(Call::Reusable { n: x.n });
        self.notes.reusable += 1;
        let reused = Some(self.notes.reusable - 1);
        Ok(Noted { reused, ..x })
    }

    fn known(&mut self, x: Noted, owner: usize) -> Noted {
        let known_to = Some(owner);
        Noted { known_to, ..x }
    }

    fn save(&self, _x: &Noted) -> Vec<u8> {
        Vec::new()
    }

    fn load(&mut self, n: usize, _bytes: &[u8]) -> Result<Noted, Error> {
        Ok(self.made(Noted::of(n)))
    }

    fn len(&self, x: &Noted) -> usize {
        x.n
    }

    fn add(&mut self, x: &Noted, y: &Noted) -> Noted {
        debug_assert_eq!(x.n, y.n, "lengths of a sum");
        self.made(x.with([y]))
    }

    fn sub(&mut self, x: &Noted, y: &Noted) -> Noted {
        debug_assert_eq!(x.n, y.n, "lengths of a difference");
        self.made(x.with([y]))
    }

    fn scale(&mut self, x: &Noted, _k: i64) -> Noted {
        self.made(x.with([]))
    }

    fn gather(&mut self, x: &Noted, index: &[u32]) -> Noted {
        self.made(x.some(index.len()))
    }

    fn gather_by(&mut self, x: &Noted, n: usize, _: impl FnOnce() -> Vec<u32>) -> Noted {
        self.made(x.some(n))
    }

    fn slice(&mut self, x: &Noted, range: Range<usize>) -> Noted {
        x.some(range.len())
    }

    fn concat(&mut self, parts: &[&Noted]) -> Noted {
        let n = parts.iter().map(|part| part.n).sum();
        self.made(Noted::of(n).with(parts.iter().copied()))
    }

    fn linear(
        &mut self,
        x: &Noted,
        w: &Operand<Noted>,
        _bias: Option<&Operand<Noted>>,
        map: &Bilinear,
        trunc: u32,
        bits: Option<[u32; 2]>,
    ) -> Result<Noted, Error> {
        let Operand::Secret(w) = w else {
            return self.linear_public(x, map, trunc, bits);
        };
        map.check(x.n, w.n, None)?;
        let widths = [self.width(x), self.width(w)];
        self.push(Call::Product {
            map: *map,
            reused: w.reused,
            known_to: w.known_to,
            trunc,
            bits: bits.map(|[product, result]| [widths[0], widths[1], product, result]),
        });
        let y = Noted::of(map.outputs());
        Ok(self.made(y.of_bits(bits.map(|[_, result]| result))))
    }

    fn truncate(&mut self, x: &Noted, trunc: u32) -> Result<Noted, Error> {
        if trunc > 0 {
            self.push(Call::truncate(x.n, trunc));
        }
        Ok(self.made(x.with([])))
    }

    fn resize(&mut self, x: &Noted, trunc: u32, bits: u32) -> Result<Noted, Error> {
        let from = self.width(x);
        // Who knows the numbers resizes them.
        if x.known_to.is_none() && (trunc > 0 || bits > from) {
            self.push(Call::resize(x.n, from, trunc, bits));
        }
        Ok(self.made(x.some(x.n).of_bits(Some(bits))))
    }

    fn drelu(&mut self, x: &Noted, keys: KeyBits) -> Result<Noted, Error> {
        let Noted { n, bits, .. } = *x;
        self.push(Call::Drelu { n, keys, bits });
        Ok(self.made_bits(n))
    }

    fn select(&mut self, _bit: &Noted, x: &Noted, y: &Noted) -> Result<Noted, Error> {
        let chosen = x.with([y]);
        let Noted { n, bits, .. } = chosen;
        self.push(Call::Select { n, bits });
        Ok(self.made(chosen))
    }

    fn relu(&mut self, x: &Noted, keys: KeyBits) -> Result<Noted, Error> {
        let Noted { n, bits, .. } = *x;
        self.push(Call::Relu { n, keys, bits });
        Ok(self.made(x.with([])))
    }

    fn maxpool(
        &mut self,
        x: &Noted,
        windows: usize,
        size: usize,
        keys: KeyBits,
    ) -> Result<Noted, Error> {
        let bits = x.bits;
        self.push(Call::Maxpool {
            windows,
            size,
            keys,
            bits,
        });
        Ok(self.made(Noted::of(windows).of_bits(bits)))
    }

    fn native(&mut self, function: &Elementary, x: &Noted) -> Option<Result<Noted, Error>> {
        if !self.model.native(function) {
            return None;
        }
        let (n, function) = (x.n, *function);
        self.push(Call::Function { n, function });
        let bits = function.between.map(|[_, to]| to.bits);
        Some(Ok(self.made(Noted::of(n).of_bits(bits))))
    }
}

impl Recorder<'_> {
    /// A product with a public operand, of which only the changes of its bits are calls: to those of the product
    /// before, and the truncation after.
    fn linear_public(
        &mut self,
        x: &Noted,
        map: &Bilinear,
        trunc: u32,
        bits: Option<[u32; 2]>,
    ) -> Result<Noted, Error> {
        let Some([product, result]) = bits else {
            return self.truncate(&Noted::of(map.outputs()).of_bits(x.bits), trunc);
        };
        self.resize(x, 0, product)?;
        let y = Noted::of(map.outputs()).of_bits(Some(product));
        self.resize(&y, trunc, result)
    }
}

#[cfg(test)]
mod tests;
