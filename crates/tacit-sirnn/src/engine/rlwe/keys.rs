//! The keys of a session: each party's own secrets, and what the other computes with.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tacit_algebra::{Prg, vec, wipe};
use tacit_lattice::{Basis, Evaluation, Parameters, Secret, wire};
use tacit_protocols::Error;
use tacit_protocols::message::{Length, Message};
use zeroize::Zeroizing;

use super::super::Live;
use super::SEED;
use super::way::keys_len;
use crate::ot::random::random;

const KEYS: Message<Bytes> = Message::new("sirnn rlwe: keys");

/// Bytes whose number both parties know.
pub(super) struct Bytes;

impl Length for Bytes {
    type Len = usize;
    fn bytes(len: usize) -> usize {
        len
    }
}

/// Which keys a plan takes: for each party that encrypts and each set of parameters, levels of
/// packing.
pub(crate) type Wanted = [BTreeMap<usize, u32>; 2];

/// The keys of products of encrypted numbers by their set of parameters: a party's own secrets with the levels that the
/// other can pack, and the other's keys.
#[derive(Default)]
pub(crate) struct Keys {
    pub(super) own: BTreeMap<usize, (u32, Secret)>,
    pub(super) theirs: BTreeMap<usize, Arc<Evaluation>>,
    pub(super) masks: Masks,
}

/// What answers hide their numbers by: all of a session from one stream. An input of zeros shows whoever encrypted it
/// masks themselves; were every answer's at the start of a stream of its own, one call of AES would test a guess against
/// the keys of all.
#[derive(Default)]
pub(super) struct Masks(Option<Prg>);

impl Masks {
    /// `n` numbers modulo `2^bits`.
    pub(super) fn draw(&mut self, n: usize, bits: u32) -> Result<Zeroizing<Vec<u64>>, Error> {
        let stream = match self.0.take() {
            Some(stream) => stream,
            None => generator()?,
        };
        let numbers = Zeroizing::new(self.0.insert(stream).ring(n));
        Ok(Zeroizing::new(vec::low_bits(&numbers, bits)))
    }
}

/// The transforms of a set, made once.
pub(super) fn basis(set: usize) -> Arc<Basis> {
    static MADE: OnceLock<Vec<OnceLock<Arc<Basis>>>> = OnceLock::new();
    let made = MADE.get_or_init(|| (0..Parameters::sets()).map(|_| OnceLock::new()).collect());
    let make = || Arc::new(Basis::new(Parameters::standard(set)));
    made[set].get_or_init(make).clone()
}

/// A generator whose seed is the operating system's.
pub(super) fn generator() -> Result<Prg, Error> {
    let seed = random::<[u8; SEED]>(1)?;
    Ok(wipe::after(|| Prg::new(seed[0])))
}

impl Live {
    /// Makes and exchanges the keys that are wanted and that there are none of yet. 1 hop, of
    /// [`keys_len`] bytes for each set that a party encrypts under.
    pub(in super::super) fn exchange_keys(&mut self, wanted: &Wanted) -> Result<(), Error> {
        let (id, peer) = (self.party.id(), self.peer());
        for (&set, &levels) in &wanted[id] {
            if self.keys.own.get(&set).is_none_or(|(has, _)| *has < levels) {
                let (secret, message) = wipe::after(|| make(set, levels))?;
                self.send(KEYS, keys_len((set, levels)), message)?;
                self.keys.own.insert(set, (levels, secret));
            }
        }
        for (&set, &levels) in &wanted[peer] {
            let has = self.keys.theirs.get(&set).map(|keys| keys.levels());
            if has.is_none_or(|has| has < levels) {
                let message = self.recv(KEYS, keys_len((set, levels)))?;
                let keys = read(set, levels, &message)
                    .ok_or_else(|| KEYS.refused(peer, "a number in it is no residue"))?;
                self.keys.theirs.insert(set, Arc::new(keys));
            }
        }
        Ok(())
    }
}

fn make(set: usize, levels: u32) -> Result<(Secret, Vec<u8>), Error> {
    let basis = basis(set);
    let seed = random::<[u8; SEED]>(1)?[0];
    let mut prg = generator()?;
    let secret = Secret::new(&basis, &mut prg);
    let halves = secret.evaluation(&basis, levels, &mut Prg::new(seed), &mut prg);
    let mut message = seed.to_vec();
    for half in &halves {
        wire::write_poly(&basis, half, &mut message);
    }
    Ok((secret, message))
}

fn read(set: usize, levels: u32, message: &[u8]) -> Option<Evaluation> {
    let basis = basis(set);
    let (seed, mut rest) = message.split_first_chunk()?;
    let halves = Evaluation::sizes(basis.primes(), levels)
        .map(|primes| wire::read_poly(&basis, primes, &mut rest))
        .collect::<Option<Vec<_>>>()?;
    Some(Evaluation::new(
        &basis,
        levels,
        &mut Prg::new(*seed),
        halves,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No block of the stream makes masks twice, whatever the lengths.
    #[test]
    fn masks_of_all_answers_are_of_one_stream() {
        let stream = || Prg::new([7; SEED]);
        let mut masks = Masks(Some(stream()));
        let mut drawn = |n| masks.draw(n, 37).expect("random numbers");
        let (first, second) = (drawn(3), drawn(2));
        // Two numbers are a block.
        let all = vec::low_bits(&stream().ring::<u64>(6), 37);
        assert_eq!((&first[..], &second[..]), (&all[..3], &all[4..]));
    }
}
