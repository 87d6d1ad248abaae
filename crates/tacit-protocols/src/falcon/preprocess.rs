//! The offline phase: the three parties make, among themselves, exactly what the plan demands
//! (Falcon, Figure 6; docs/spec/falcon.md, sections 4.1 and 5.2).
//!
//! All numbers of a batch, those behind signs and those behind truncations, are `l - 1` bits long
//! and go through one addition together. See `inject.rs` and `adder.rs` for what differs from the
//! paper and why it is cheaper.

use std::sync::Arc;

use tacit_algebra::{Bits, Buffer, Ring};

use super::demand::{self, Want};
use super::domain::Residues;
use super::material::{CompareBatch, ExactBatch, SelectBatch, SignBatch, TruncateBatch, View};
use super::{Falcon, Truncation};
use crate::Error;
use crate::machine::Call;
use crate::message::Message;
use crate::replicated::{Booleans, Domain, Rss, Words, joined};

const PRODUCTS: Message<Residues> = Message::new("falcon preprocess: beta times bits");

/// The sum of three numbers below `2^m`, bit by bit, each row over all elements.
pub(super) struct Sum<R> {
    /// The `m` bits of the sum, lowest first.
    pub bits: Vec<Rss<Bits>>,
    /// The carry *into* bit `i` of the last addition, for `i` in `0 ..= m`.
    pub carries: Vec<Rss<Bits>>,
    /// The parity of the wraps of the sum, with the last carry.
    pub first_wrap: Rss<Bits>,
    /// `(x_0 + x_1) mod 2^m` at party 0, who knows both, where it adds these
    /// two by itself; else empty.
    pub known: Buffer<R>,
    /// Majorities of the components' bits, where the addition is of three summands; else empty.
    pub saves: Vec<Rss<Bits>>,
}

impl<R> Sum<R> {
    /// The carry out of the last addition.
    pub fn last_carry(&self) -> &Rss<Bits> {
        self.carries.last().expect("an addition has a last carry")
    }
}

/// The material of truncations that is made of the shifted sum.
pub(super) struct LowPart<R> {
    /// `low >> d` over Z_L.
    pub shifted: Rss<Buffer<R>>,
    /// The top bit of the mask over Z_L.
    pub msb: Rss<Buffer<R>>,
}

impl<R: Ring> Falcon<R> {
    /// Makes the material of `calls` and queues it in their order.
    pub(super) fn preprocess(&mut self, calls: &[Call]) -> Result<(), Error> {
        for wants in demand::batches(calls, &self.options) {
            self.preprocess_batch(&wants)?;
            // What is online built on this material must not depend on errors in it.
            self.verify_waiting()?;
        }
        Ok(())
    }

    fn preprocess_batch(&mut self, wants: &[Want]) -> Result<(), Error> {
        let total = |kind: fn(&Want) -> bool| {
            wants
                .iter()
                .filter(|w| kind(w))
                .map(|w| w.len())
                .sum::<usize>()
        };
        let signs = total(|w| matches!(w, Want::Sign(_)));
        let selects = total(|w| matches!(w, Want::Select(_)));
        let truncations = total(|w| matches!(w, Want::Truncate(..)));

        let narrow = self.options.compare_bits::<R>() < R::BITS;
        if signs > 0 && narrow {
            let x = self.rss.random::<Words<u32>>(signs).map(|c| c.shr(1));
            let sum = self.add_components(&x)?;
            let batch = self.sign_batch(x, &sum)?;
            self.store
                .narrow_signs
                .extend(views(batch, sign_sizes(wants)));
        }
        let signs = if narrow { 0 } else { signs };
        if signs + truncations > 0 {
            let mut x = self
                .rss
                .random::<Words<R>>(signs + truncations)
                .map(|c| c.shr(1));
            let mut sum = self.add_components(&x)?;
            let low = x.part(signs..signs + truncations);
            x.own.truncate(signs);
            x.next.truncate(signs);
            if signs > 0 {
                let batch = self.sign_batch(x, &sum)?;
                self.store.signs.extend(views(batch, sign_sizes(wants)));
            }
            if truncations > 0 {
                sum.known = sum.known.split_off(signs.min(sum.known.len()));
                self.store_truncations(wants, low, &sum, signs)?;
            }
        }
        if selects > 0 {
            self.store_selects(wants, selects)?;
        }
        Ok(())
    }

    /// Signs: the first columns of the addition (Falcon, Figure 6, for wrap3).
    fn sign_batch<S: Ring>(
        &mut self,
        x: Rss<Buffer<S>>,
        sum: &Sum<S>,
    ) -> Result<SignBatch<S>, Error> {
        let n = x.own.len();
        let rows: Vec<_> = sum.bits.iter().map(|row| columns(row, 0, n)).collect();
        let last = columns(sum.last_carry(), 0, n);
        let alpha = columns(&sum.first_wrap, 0, n).zip(&last, Bits::xor);
        let compare = self.prepare_compare::<S>(&rows, n)?;
        Ok(SignBatch { x, alpha, compare })
    }

    /// Carries bits into Z_p and multiplies them by a random bit `beta` (docs/spec/falcon.md,
    /// section 4.1, step 4).
    fn prepare_compare<S: Ring>(
        &mut self,
        rows: &[Rss<Bits>],
        n: usize,
    ) -> Result<CompareBatch, Error> {
        let beta_bit = self.rss.random::<Booleans>(n);
        let all = |pick: fn(&Rss<Bits>) -> &Bits| {
            Bits::concat(&rows.iter().chain([&beta_bit]).map(pick).collect::<Vec<_>>())
        };
        let mut bits = self.inject::<Residues<S>>(&Rss {
            own: all(|r| &r.own),
            next: all(|r| &r.next),
        })?;
        let beta = Rss {
            own: bits.own.split_off(rows.len() * n),
            next: bits.next.split_off(rows.len() * n),
        };
        let products = self.multiply_rows::<S>(&bits, &beta, rows.len())?;
        let m = self.random_nonzero::<S>(n)?;
        Ok(CompareBatch {
            stride: n,
            bits,
            products,
            beta,
            beta_bit,
            m,
        })
    }

    /// Every row of `bits` times `beta`. 1 hop; every party sends `rows` messages of a row.
    fn multiply_rows<S: Ring>(
        &mut self,
        bits: &Rss<Buffer<u8>>,
        beta: &Rss<Buffer<u8>>,
        rows: usize,
    ) -> Result<Rss<Buffer<u8>>, Error> {
        let n = beta.own.len();
        if self.checks.is_some() {
            let all = beta.map(|beta| beta.tile(1, rows));
            return self.multiply::<Residues<S>>(PRODUCTS, bits.clone(), all);
        }
        let [mut own, mut next] = [(); 2].map(|()| Buffer::default());
        let all = rows * n;
        for row in (0..rows).map(|row| row * n..(row + 1) * n) {
            let mut z = self.rss.zero::<Residues<S>>(n);
            Residues::<S>::product_assign(&mut z, &bits.part(row), beta);
            self.rss
                .send::<Residues<S>>(self.rss.prev_party(), PRODUCTS, &z)?;
            own.grow(z, all);
        }
        for _ in 0..rows {
            let from = self.rss.next_party();
            next.grow(self.rss.recv::<Residues<S>>(from, PRODUCTS, n)?, all);
        }
        Ok(Rss { own, next })
    }

    /// Selections: random bits over Z_2 and Z_L (Falcon, Figure 6, for ReLU).
    fn store_selects(&mut self, wants: &[Want], n: usize) -> Result<(), Error> {
        let bit = self.rss.random::<Booleans>(n);
        let word = self.inject::<Words<R>>(&bit)?;
        let batch = SelectBatch { bit, word };
        let sizes = wants.iter().filter_map(|w| {
            if let Want::Select(n) = w {
                Some(*n)
            } else {
                None
            }
        });
        self.store.selects.extend(views(batch, sizes));
        Ok(())
    }

    /// Truncations: the columns of the addition from `start` (docs/spec/falcon.md, section 5.2).
    ///
    /// The top bit of `r` is a fresh random bit. The summands of `low`, added over Z_L, exceed it
    /// by `2^{l-1}` times their wraps; and `2^{l-1}` times a bit needs only the bit's Z_2 sharing.
    fn store_truncations(
        &mut self,
        wants: &[Want],
        low: Rss<Buffer<R>>,
        sum: &Sum<R>,
        start: usize,
    ) -> Result<(), Error> {
        let n = low.own.len();
        let groups: Vec<(usize, u32)> = wants
            .iter()
            .filter_map(|w| {
                if let Want::Truncate(n, d) = w {
                    Some((*n, *d))
                } else {
                    None
                }
            })
            .collect();
        let last = columns(sum.last_carry(), start, n);
        let msb_bit = self.rss.random::<Booleans>(n);
        let LowPart { shifted, msb } = self.shift_low(&groups, &low, sum, start, &msb_bit)?;
        let wraps = last.zip(&columns(&sum.first_wrap, start, n), Bits::xor);
        let r = low.zip(&wraps.zip(&msb_bit, Bits::xor), |low, top| {
            low.add(&top.words_of::<R>().shl(R::BITS - 1))
        });

        let mut at = 0;
        for (len, d) in groups {
            let range = at..at + len;
            let part = |v: &Rss<Buffer<R>>| v.part(range.clone()).map(Buffer::detached);
            let exact = match self.options.truncation {
                Truncation::Exact => {
                    let rows: Vec<_> = sum.bits[..d as usize]
                        .iter()
                        .map(|row| columns(row, start + at, len))
                        .collect();
                    let compare = self.prepare_compare::<R>(&rows, len)?;
                    let beta_word = self.inject::<Words<R>>(&compare.beta_bit)?;
                    Some(ExactBatch { compare, beta_word })
                }
                _ => None,
            };
            let batch = TruncateBatch {
                r: part(&r),
                low_shifted: part(&shifted),
                msb: part(&msb),
                exact,
            };
            self.store.truncations.push_back((
                d,
                View {
                    batch: Arc::new(batch),
                    range: 0..len,
                },
            ));
            at += len;
        }
        Ok(())
    }
}

/// Some columns of one row of bits.
pub(super) fn columns(row: &Rss<Bits>, start: usize, n: usize) -> Rss<Bits> {
    row.map(|component| component.slice(start, n))
}

/// Joins what `pick` gives for each group of `(elements, bits)`, whose columns begin at `start`.
pub(super) fn groups_of(
    groups: &[(usize, u32)],
    start: usize,
    pick: impl Fn(u32, usize, usize) -> Rss<Bits>,
) -> Rss<Bits> {
    let mut at = start;
    let parts: Vec<Rss<Bits>> = groups
        .iter()
        .map(|&(len, d)| {
            let part = pick(d, at, len);
            at += len;
            part
        })
        .collect();
    Rss {
        own: Bits::concat(&parts.iter().map(|p| &p.own).collect::<Vec<_>>()),
        next: Bits::concat(&parts.iter().map(|p| &p.next).collect::<Vec<_>>()),
    }
}

/// Every group of `(elements, bits)` shifted by its bits.
pub(super) fn shift_groups<R: Ring>(groups: &[(usize, u32)], v: &Buffer<R>) -> Buffer<R> {
    each_group(groups, v, Buffer::shr)
}

/// What `f` makes of every group of `(elements, bits)` and its bits.
pub(super) fn each_group<R: Ring>(
    groups: &[(usize, u32)],
    v: &Buffer<R>,
    f: impl Fn(&Buffer<R>, u32) -> Buffer<R>,
) -> Buffer<R> {
    let mut at = 0;
    let part = |&(len, d): &(usize, u32)| {
        at += len;
        f(&v.part(at - len..at), d)
    };
    let parts: Vec<Buffer<R>> = groups.iter().map(part).collect();
    joined::<Words<R>>(&parts)
}

/// The sizes of the signs among `wants`.
fn sign_sizes(wants: &[Want]) -> impl Iterator<Item = usize> {
    wants.iter().filter_map(|want| match want {
        Want::Sign(n) => Some(*n),
        _ => None,
    })
}

/// Consecutive views of the given sizes.
fn views<B>(batch: B, sizes: impl Iterator<Item = usize>) -> Vec<View<B>> {
    let batch = Arc::new(batch);
    let mut at = 0;
    sizes
        .map(|n| {
            at += n;
            View {
                batch: batch.clone(),
                range: at - n..at,
            }
        })
        .collect()
}
