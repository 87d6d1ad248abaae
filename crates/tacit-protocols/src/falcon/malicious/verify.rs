//! The verification: openings compared and products verified, those of all domains and of all three
//! parties side by side, so that they share hops.
//!
//! What must come before what, and why:
//! - the hashes of openings come first, and a party says nothing else before it has compared the
//!   one that it is sent: what follows could tell something of shares that are not what they
//!   should be;
//! - they are acknowledgements, too: the left verifier sends the first coin only when the right one
//!   has said by its hash that it holds everything that the proof is about;
//! - the left verifier sends a later coin only after the message that the coin is about;
//! - the verifiers' last messages come when every coin is known.
//!
//! Either verifier compares for itself, so both honest parties know that a proof failed, unless
//! it is the other verifier who cheats; then the prover finds that its peer has left before it
//! gives anything out, for every result takes a message from each of the others.

use std::rc::Rc;

use tacit_algebra::extension::{Binary, Extension, Galois, Integer, Tower};
use tacit_algebra::{Prg, Ring};

use super::super::Falcon;
use super::super::domain::Residues;
use super::coins::{Coin, hash};
use super::counted::Counted;
use super::defences::{Defence, Defences};
use super::fold::schedule;
use super::gates::{Gates, Pending, ProofRole, Terms, Verified};
use super::open::DIGEST;
use super::products::{Compress, Linear, Product, count};
use super::proof::{Proof, Run, Statement};
use super::proof_segments::Span;
use super::{Checks, LIMIT};
use crate::Error;
use crate::message::{Message, Packed};
use crate::replicated::Replicated;

pub(super) const OPENINGS: Message<[u8; DIGEST]> =
    Message::new("falcon verify: hash of what was heard");
pub(super) const COIN_HASHES: Message<Vec<Coin>> = Message::new("falcon verify: hashes of coins");
pub(super) const COINS: Message<Coin> = Message::new("falcon verify: coin");
pub(super) const SHARES: Message<Packed> = Message::new("falcon verify: coefficients");
pub(super) const LAST: Message<Packed> = Message::new("falcon verify: last elements");

/// The proofs of the three parties in the same order.
#[derive(Default)]
pub(super) struct Proofs {
    pub own: Vec<Box<dyn Run>>,
    pub next: Vec<Box<dyn Run>>,
    pub prev: Vec<Box<dyn Run>>,
}

impl<R: Ring> Falcon<R> {
    /// Verifies everything that waits since the last verification; does nothing if nothing waits.
    pub(in crate::falcon) fn verify_waiting(&mut self) -> Result<(), Error> {
        let Falcon { rss, checks, .. } = self;
        match checks {
            Some(checks) if checks.dirty || checks.failed => checks.verify_all(rss),
            _ => Ok(()),
        }
    }

    /// Verifies everything that waits if more than [`LIMIT`] elements of ring products do. Does nothing at
    /// parties that count: these are told where verifications are, see [`super::checked::checked`].
    pub(in crate::falcon) fn verify_if_many(&mut self) -> Result<(), Error> {
        match &self.checks {
            Some(checks) if checks.waiting > LIMIT && !self.rss.party.counts() => {
                self.verify_waiting()
            }
            _ => Ok(()),
        }
    }
}

impl<R: Ring> Checks<R> {
    /// A verification of every domain.
    fn verify_all(&mut self, rss: &mut Replicated) -> Result<(), Error> {
        let proofs = self.proofs();
        (self.dirty, self.waiting) = (false, 0);
        self.verify(rss, proofs)
    }

    /// The proofs of all that waits.
    pub(super) fn proofs(&mut self) -> Proofs {
        let pending = std::mem::replace(&mut self.pending, Pending::new());
        let mut proofs = Proofs::default();
        let mut entries = pending.entries;
        let sizes = pending.products.iter().map(Product::size);
        sizes.for_each(|size| count(&mut entries, size));
        let boxed = |product| Box::new(product) as Box<dyn Compress<Galois<R>>>;
        let products = pending.products.into_iter().map(boxed).collect();
        self.queue::<Binary>(&mut proofs, pending.bits, Linear::none());
        self.queue::<Tower<R::Field>>(&mut proofs, pending.residues, Linear::none());
        let narrow = pending.narrow_residues;
        self.queue::<Tower<<u32 as Ring>::Field>>(&mut proofs, narrow, Linear::none());
        self.queue::<Integer>(&mut proofs, pending.integers, Linear::none());
        self.queue::<Galois<R>>(&mut proofs, pending.words, Linear { products, entries });
        proofs
    }

    /// What comes before a comparison's root is opened: a verification of the residues of its prime.
    pub fn before_root<S: Ring>(&mut self, rss: &mut Replicated) -> Result<(), Error> {
        match self.defences.stand(Defence::CheckedRoot) {
            true => self.verify_residues::<S>(rss),
            false => Ok(()),
        }
    }

    fn verify_residues<S: Ring>(&mut self, rss: &mut Replicated) -> Result<(), Error> {
        let gates = std::mem::take(<Residues<S> as Verified<R>>::ledger(&mut self.pending));
        let mut proofs = Proofs::default();
        self.queue::<Tower<S::Field>>(&mut proofs, gates, Linear::none());
        self.verify(rss, proofs)
    }

    /// Makes the proofs for what was multiplied in one domain, over its extension; matrix products and
    /// convolutions go with the first.
    fn queue<K: Extension>(
        &mut self,
        proofs: &mut Proofs,
        gates: Vec<Gates<K::Base>>,
        linear: Linear<K>,
    ) {
        let (both, one): (Vec<_>, Vec<_>) = gates.into_iter().partition(|g| g.terms == Terms::Both);
        let terms = [(Terms::Both, both), (Terms::One, one)].into_iter();
        let spans = terms.flat_map(|(terms, gates)| Span::<K>::all(terms, gates));
        let mut spans: Vec<_> = spans.map(Some).collect();
        if spans.is_empty() && linear.entries.iter().any(|n| *n > 0) {
            spans.push(None);
        }
        let mut linear = Some(linear);
        for gates in spans {
            let linear = linear.take().unwrap_or_else(Linear::none);
            if self.generators.counts() {
                let span = gates.as_ref().map(|span| (span.terms, span.gates()));
                let (terms, n) = span.unwrap_or((Terms::Both, 0));
                let folds = schedule::<K>(terms, n, &linear.entries);
                for side in [&mut proofs.own, &mut proofs.next, &mut proofs.prev] {
                    side.push(Box::new(Counted::new::<K>(folds.clone())));
                }
                continue;
            }
            let statement = Rc::new(Statement { gates, linear });
            let proof =
                |role, sources| Box::new(Proof::new(role, &statement, sources, self.defences));
            proofs
                .own
                .push(proof(ProofRole::Prover, self.generators.prover()));
            proofs
                .next
                .push(proof(ProofRole::Left, self.generators.left()));
            proofs
                .prev
                .push(proof(ProofRole::Right, self.generators.right()));
        }
    }

    /// Compares what was opened and runs all proofs (docs/spec/falcon.md, section 8.4).
    ///
    /// 1 hop for the hashes of openings, 1 for the hashes of coins and, beside them, the first coin; each
    /// fold takes 1 to the left verifier and, but for the last, 1 back; 1 for the end. Every party sends
    /// a hash of openings, a coin and a coin's hash for each fold of the longest proof, what it deals of
    /// its own proofs, and the last elements of the two others'.
    fn verify(&mut self, rss: &mut Replicated, proofs: Proofs) -> Result<(), Error> {
        if std::mem::replace(&mut self.failed, true) {
            let why = "a check has failed in this run: nothing of it can be given out";
            return Err(Error::Invalid(why.into()));
        }
        let (prev, next) = (rss.prev_party(), rss.next_party());
        let hops = proofs.own.iter().map(|p| p.folds()).max().unwrap_or(0);
        // One more than there are folds; the last is for the verifiers only.
        let left_coins = self.generators.left_coins(hops + 1);
        let right_coins = self.generators.right_coins(hops + 1);
        self.acknowledge(rss, left_coins.first().filter(|_| hops > 0))?;
        let hashes = right_coins[..hops].iter().map(hash).collect();
        COIN_HASHES.send(&mut rss.party, prev, &hashes)?;
        let hashes = COIN_HASHES.recv(&mut rss.party, next, hops)?;
        let mut sides = Sides {
            rss,
            proofs,
            hashes,
            defences: self.defences,
        };
        if hops > 0 {
            sides.begin(&left_coins[0], &right_coins[0])?;
        }
        for hop in 1..=hops {
            let last = hop == hops;
            sides.fold(hop, last, &left_coins[hop], &right_coins[hop])?;
        }
        sides.end()?;
        self.failed = false;
        Ok(())
    }

    /// Compares what was opened, and then sends the next party the first coin of its proofs
    /// (docs/spec/falcon.md, section 11.3).
    ///
    /// The hash that the party before sends says that it has come to this verification, and so holds
    /// all operands; it is the other verifier of the next party's proofs. Before that a prover that
    /// knew the coin could choose its input by it. 1 hop, and the coin's.
    fn acknowledge(&mut self, rss: &mut Replicated, coin: Option<&Coin>) -> Result<(), Error> {
        let (prev, next) = (rss.prev_party(), rss.next_party());
        let [heard, vouched] = self.transcripts.take();
        let waits = self.defences.stand(Defence::Acknowledgement);
        let compares = self.defences.stand(Defence::Openings) && !rss.party.counts();
        OPENINGS.send(&mut rss.party, next, &heard)?;
        let first = |rss: &mut Replicated| match coin {
            Some(coin) => COINS.send(&mut rss.party, next, coin),
            None => Ok(()),
        };
        if !waits {
            first(rss)?;
        }
        if OPENINGS.recv(&mut rss.party, prev, ())? != vouched && compares {
            return Err(cheating(rss, [next, prev], OPENINGS));
        }
        if waits {
            first(rss)?;
        }
        Ok(())
    }
}

/// The proofs of a verification on their way.
struct Sides<'a> {
    rss: &'a mut Replicated,
    proofs: Proofs,
    /// What the coins of this party's own proofs must hash to.
    hashes: Vec<Coin>,
    defences: Defences,
}

impl Sides<'_> {
    /// The next coin of this party's own proofs, from the left verifier.
    fn coin(&mut self, number: usize) -> Result<Prg, Error> {
        let (prev, next) = (self.rss.prev_party(), self.rss.next_party());
        let coin = COINS.recv(&mut self.rss.party, prev, ())?;
        let expected = self.hashes.get(number);
        let known =
            self.rss.party.counts() || expected.is_some_and(|expected| *expected == hash(&coin));
        if !known && self.defences.stand(Defence::CoinHashes) {
            return Err(cheating(self.rss, [prev, next], COINS));
        }
        Ok(Prg::new(coin))
    }

    /// Draws theta of every proof.
    fn begin(&mut self, left: &Coin, right: &Coin) -> Result<(), Error> {
        let own = self.coin(0)?;
        begin_all(&mut self.proofs.own, own);
        begin_all(&mut self.proofs.next, Prg::new(*left));
        begin_all(&mut self.proofs.prev, Prg::new(*right));
        Ok(())
    }

    /// One fold of every proof that has one left; the `hop`-th.
    fn fold(&mut self, hop: usize, last: bool, left: &Coin, right: &Coin) -> Result<(), Error> {
        let (prev, next) = (self.rss.prev_party(), self.rss.next_party());
        let waits = self.defences.stand(Defence::CoinAfterMessage);
        if !last && !waits {
            COINS.send(&mut self.rss.party, next, left)?;
        }
        let own = &mut self.proofs.own;
        let len = active(own).map(|p| p.dealt_len()).sum();
        let deal = || active(own).flat_map(|p| p.deal()).collect();
        SHARES.send_made(&mut self.rss.party, prev, len, deal)?;
        for proof in active(&mut self.proofs.prev) {
            proof.take(None).ok_or_else(|| no_share(prev))?;
        }
        let len = active(&mut self.proofs.next).map(|p| p.dealt_len()).sum();
        let message = SHARES.recv_made(&mut self.rss.party, next, len)?;
        let mut rest = message.as_slice();
        for proof in active(&mut self.proofs.next) {
            let (shares, others) = rest.split_at(proof.dealt_len());
            proof.take(Some(shares)).ok_or_else(|| no_share(next))?;
            rest = others;
        }
        if !last && waits {
            COINS.send(&mut self.rss.party, next, left)?;
        }
        fold_all(&mut self.proofs.prev, Prg::new(*right));
        fold_all(&mut self.proofs.next, Prg::new(*left));
        if !last {
            let coins = self.coin(hop)?;
            fold_all(&mut self.proofs.own, coins);
        }
        Ok(())
    }

    /// The verifiers show each other what is left. A peer that is lost here may have left because a
    /// proof failed: this party still compares what it was sent, so that it knows whose.
    fn end(self) -> Result<(), Error> {
        let Sides {
            rss,
            proofs,
            defences,
            ..
        } = self;
        let (prev, next) = (rss.prev_party(), rss.next_party());
        if proofs.own.is_empty() {
            return Ok(());
        }
        // The other verifier of the next party's proofs is the party before, and so around.
        let sides = [(next, prev, &proofs.next), (prev, next, &proofs.prev)];
        let sent = sides.map(|(_, other, verified)| {
            let last = || verified.iter().flat_map(|p| p.last()).collect();
            LAST.send_made(&mut rss.party, other, last_len(verified), last)
        });
        let compared =
            sides.map(|(prover, other, verified)| compare_last(rss, prover, other, verified));
        let ends = sent.into_iter().chain(compared);
        let lost = |error: &Error| !matches!(error, Error::Cheating { .. });
        let found = ends.filter_map(Result::err).min_by_key(lost);
        let found = found.filter(|error| lost(error) || defences.stand(Defence::Proofs));
        found.map_or(Ok(()), Err)
    }
}

/// Holds what is left of a prover's proofs against what their other verifier has.
fn compare_last(
    rss: &mut Replicated,
    prover: usize,
    other: usize,
    proofs: &[Box<dyn Run>],
) -> Result<(), Error> {
    let message = LAST.recv_made(&mut rss.party, other, last_len(proofs))?;
    let mut rest = message.as_slice();
    for proof in proofs {
        let (theirs, others) = rest.split_at(proof.last_len());
        match proof.check(theirs) {
            Some(true) => rest = others,
            Some(false) => return Err(cheating(rss, [prover, other], LAST)),
            None => return Err(no_share(other)),
        }
    }
    Ok(())
}

fn last_len(proofs: &[Box<dyn Run>]) -> usize {
    proofs.iter().map(|p| p.last_len()).sum()
}

/// Draws theta of every proof, each from a seed of its own.
pub(super) fn begin_all(proofs: &mut [Box<dyn Run>], mut coins: Prg) {
    for proof in proofs {
        let mut seed = Coin::default();
        coins.fill(&mut seed);
        proof.begin(seed);
    }
}

/// The proofs with a fold left.
pub(super) fn active(proofs: &mut [Box<dyn Run>]) -> impl Iterator<Item = &mut Box<dyn Run>> {
    proofs.iter_mut().filter(|proof| proof.folds() > 0)
}

pub(super) fn fold_all(proofs: &mut [Box<dyn Run>], mut coins: Prg) {
    active(proofs).for_each(|proof| proof.fold(&mut coins));
}

/// The error of a failed check of what the first of two parties sent, held against the word of the
/// second. The others are told of it when this party leaves.
pub(super) fn cheating<E>(
    rss: &mut Replicated,
    [checked, vouched]: [usize; 2],
    message: Message<E>,
) -> Error {
    rss.party.accuse([checked, vouched], message.step());
    Error::Cheating {
        checked,
        vouched,
        step: message.step(),
    }
}

fn no_share(party: usize) -> Error {
    SHARES.refused(
        party,
        "the message does not hold elements of the proof's domain",
    )
}
