//! What a prover knows its claims to be off by: the left verifier's end of its proofs, run on the
//! errors alone, for claims are linear in them.

use tacit_algebra::extension::{
    Binary, Extension, F11, F19, F37, F67, Galois, Integer, Prime, Tower,
};
use tacit_algebra::{Prg, Ring};

use super::super::Checks;
use super::super::coins::Coin;
use super::super::defences::Defences;
use super::super::gates::Pending;
use super::super::joins::lambdas;
use super::super::proof::{Proof, Run};
use super::super::verify::{active, begin_all, fold_all};
use crate::keys::Pair;

/// An extension over a field of so many elements, so that units can be inverted.
trait Units: Extension {
    /// Elements of the field that is left modulo the characteristic's prime.
    const FIELD: u128;

    /// The inverse of a unit: its power modulo the prime, made right by Newton's steps, each of
    /// which doubles the bits that are right.
    fn inverse(self) -> Self {
        let (mut inverse, mut power, mut exponent) = (Self::ONE, self, Self::FIELD - 2);
        while exponent > 0 {
            if exponent & 1 == 1 {
                inverse = inverse.mul(power);
            }
            power = power.mul(power);
            exponent >>= 1;
        }
        let two = Self::ONE.add(Self::ONE);
        for _ in 0..6 {
            inverse = inverse.mul(two.sub(self.mul(inverse)));
        }
        inverse
    }
}

impl Units for Binary {
    const FIELD: u128 = 1 << 64;
}
impl<F: Prime> Units for Tower<F> {
    const FIELD: u128 = (F::P as u128).pow(F::D as u32);
}
impl Units for Integer {
    /// One more than the least power to which every unit is 1, modulo both primes.
    const FIELD: u128 = ((1 << 61) - 2) / 30 * ((1 << 61) - 32) + 1;
}
impl<R: Ring> Units for Galois<R> {
    const FIELD: u128 = 1 << 48;
}

/// What a prover wants to be rid of, and how.
#[derive(Clone, Copy)]
pub(super) struct Correction {
    /// The fold, from 1.
    pub fold: usize,
    /// The dealt coefficient that it changes, modulo those that a proof has.
    pub place: usize,
    /// Whether the cheater knows the fold's coin; else it guesses the point, and takes lambda for 1.
    pub knows: bool,
}

/// The bytes to add to the message of a fold, from the coins so far and the errors of all messages.
pub(super) fn correct<R: Ring>(
    errors: Pending<R>,
    defences: Defences,
    coins: &[Coin],
    correction: Correction,
) -> Corrections {
    let pair = || Pair::of([0; 32]);
    let mut checks = Checks::<R>::new(&[pair(), pair()]);
    (checks.pending, checks.defences) = (errors, defences);
    let mut proofs = checks.proofs().next;
    begin_all(&mut proofs, Prg::new(coins[0]));
    for coin in &coins[1..correction.fold] {
        for proof in active(&mut proofs) {
            let nothing = vec![0; proof.dealt_len()];
            proof.take(Some(&nothing)).expect("zeros are elements");
        }
        fold_all(&mut proofs, Prg::new(*coin));
    }
    let mut points = (correction.knows).then(|| Prg::new(coins[correction.fold]));
    let parts = active(&mut proofs).map(|proof| {
        correct_one::<Binary>(proof.as_mut(), correction, &mut points)
            .or_else(|| correct_one::<Tower<F11>>(proof.as_mut(), correction, &mut points))
            .or_else(|| correct_one::<Tower<F19>>(proof.as_mut(), correction, &mut points))
            .or_else(|| correct_one::<Tower<F37>>(proof.as_mut(), correction, &mut points))
            .or_else(|| correct_one::<Tower<F67>>(proof.as_mut(), correction, &mut points))
            .or_else(|| correct_one::<Integer>(proof.as_mut(), correction, &mut points))
            .or_else(|| correct_one::<Galois<R>>(proof.as_mut(), correction, &mut points))
            .expect("there is no other extension")
    });
    Corrections(parts.collect())
}

/// How each proof's part of a message is changed.
pub(super) struct Corrections(Vec<Part>);

/// The bytes of a part, and what makes the changed ones of them.
type Part = (usize, Box<dyn Fn(&[u8]) -> Vec<u8>>);

impl Corrections {
    /// The message with all parts corrected.
    pub fn apply(&self, message: &[u8]) -> Vec<u8> {
        let (mut rest, mut out) = (message, Vec::with_capacity(message.len()));
        for (len, part) in &self.0 {
            let (these, others) = rest.split_at(*len);
            out.extend(part(these));
            rest = others;
        }
        out
    }
}

/// The correction of one proof if it is over `K`: a coefficient that takes what the claim will be
/// off by after the fold.
fn correct_one<K: Units>(
    proof: &mut dyn Run,
    correction: Correction,
    points: &mut Option<Prg>,
) -> Option<Part> {
    let len = proof.dealt_len();
    let proof = proof.any().downcast_mut::<Proof<K>>()?;
    let (fold, claims, joined) = proof.off_by()?;
    let (point, lambdas) = match points {
        None => (
            fold.point(&mut Prg::new(Coin::default()), Defences::default()),
            vec![K::ONE; joined.len()],
        ),
        Some(prg) => {
            let point = fold.point(prg, Defences::default());
            (point, lambdas(prg, fold.joins, Defences::default()))
        }
    };
    let mut change = vec![K::ZERO; fold.dealt()];
    if let Some(place) = correction.place.checked_rem(change.len()) {
        let at = (&point[..], &lambdas[..]);
        let off = fold.claim(change.clone(), &claims, &joined, at);
        let mut here = change.clone();
        let [none, alone] = [&claims, &joined].map(|all| vec![K::ZERO; all.len()]);
        here[place] = K::ONE;
        let factor = fold.claim(here, &none, &alone, at);
        change[place] = K::ZERO.sub(off).mul(factor.inverse());
    }
    Some((
        len,
        Box::new(move |bytes| {
            let dealt = K::from_wire(bytes, change.len()).expect("the prover deals elements");
            let changed = dealt.iter().zip(&change).map(|(d, c)| d.add(*c));
            K::to_wire(&changed.collect::<Vec<_>>())
        }),
    ))
}
