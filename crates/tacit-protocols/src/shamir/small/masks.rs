//! Masks that are known in both fields (docs/spec/liu24.md, section 2.4): edaBits (Escudero, Ghosh, Keller,
//! Rachuri, Scholl, CRYPTO 2020), numbers of `F` with their bits over the small field; daBits, bits of both;
//! and of these what a truncation consumes.
//!
//! Differs from the paper: parties follow the protocol, so that `t + 1` dealers' numbers are added up without
//! a check; and numbers are below `p`, their bits added modulo `p`, so that the sum is exactly uniform.

use std::ops::Range;

use tacit_algebra::mersenne::{Field, buffer, of_bits, to_bits};
use tacit_algebra::sliced::Sliced;
use tacit_algebra::{BitRows, Buffer};
use zeroize::Zeroize;

use super::super::demand::Want;
use super::super::material::{SmallTree, TruncTriple};
use super::super::params::Params;
use super::super::{Shamir, deal};
use super::circuit::{carry_products, less_products, sum_products};
use super::deal::BitDoubles;
use super::numbers::Dealt;
use crate::Error;
use crate::message::{Elements, Message};

const LINK: Message<Elements> = Message::new("shamir daBits: masked bits");
const CARRIES: Message<BitRows> = Message::new("shamir truncate: masked carries");

/// How many masks a batch has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct MaskCounts {
    /// Elements whose sign is taken by the tree.
    pub signs: usize,
    /// Elements that are truncated.
    pub truncations: usize,
}

impl MaskCounts {
    /// Counts rounded up to whole words, so that no circuit's columns begin or end within a word of bits.
    fn whole_words(self) -> MaskCounts {
        MaskCounts {
            signs: self.signs.next_multiple_of(64),
            truncations: self.truncations.next_multiple_of(64),
        }
    }

    /// Numbers of which `l - 1` bits each, so that none is `p`, are known in both fields: a bit for every sign,
    /// for every truncation's mask its top bit and two carries of each number that is added.
    fn words(&self, params: &Params) -> usize {
        let bits = self.signs + (2 * params.threshold + 1) * self.truncations;
        bits.div_ceil(params.bits - 1).next_multiple_of(64)
    }

    /// The random bits of `F` that they are made of.
    pub fn random_bits(&self, params: &Params) -> usize {
        self.whole_words().words(params) * (params.bits - 1)
    }

    /// EdaBits: for every truncation, every sign, and to find the words' bits.
    fn eda_bits(&self, params: &Params) -> usize {
        self.truncations + self.signs + self.words(params)
    }

    /// Bits of material in store for a sign: of the small field and, in words, of `F`.
    pub fn stored_bits(params: &Params, product: bool) -> usize {
        let products: usize = less_products(params.bits).sum();
        let small = params.small_bits * (params.bits + 1 + 2 * products);
        small + params.word_bits() * if product { 4 } else { 2 }
    }

    /// Bits that are held while masks are made, but for random numbers of `F`: the dealers' bits, and the
    /// doubles of their sums where these are drawn before.
    pub fn held_bits(&self, params: &Params) -> usize {
        let (l, numbers) = (params.bits, params.threshold + 1);
        let sums = match params.parties {
            3 => 8 * l,
            _ => 2 * sum_products(l, numbers),
        };
        self.whole_words().eda_bits(params) * params.small_bits * (sums + numbers * l)
    }
}

/// Numbers of `F`, and their bits over the small field.
#[derive(Zeroize)]
#[zeroize(bound = "F: bytemuck::Pod")]
pub(in super::super) struct EdaBits<F> {
    pub numbers: Buffer<F>,
    pub bits: Sliced,
}

impl<F: Field> EdaBits<F> {
    fn columns(&self, range: Range<usize>) -> Self {
        EdaBits {
            numbers: self.numbers.part(range.clone()).detached(),
            bits: self.bits.columns(range),
        }
    }
}

/// What masks begin with, all of which is dealt at once.
pub(in super::super) struct Begun<F> {
    pub(super) counts: MaskCounts,
    pub(super) dealt: Dealt<F>,
    /// Doubles for sums of truncations' masks but for the last. The fields after it have those for what makes two
    /// numbers of many, for the last sums, for words' bits, and for signs online.
    pub(super) partial: BitDoubles,
    pub(super) compress: BitDoubles,
    pub(super) sums: BitDoubles,
    pub(super) words: BitDoubles,
    pub(super) online: BitDoubles,
}

/// A batch's masks, handed out want by want.
pub(in super::super) struct Masks<F> {
    signs: EdaBits<F>,
    bits: Buffer<F>,
    small_bits: Sliced,
    online: BitDoubles,
    triples: [Buffer<F>; 3],
    signs_used: usize,
    truncations_used: usize,
}

impl<F: Field> Masks<F> {
    /// What the next `n` comparisons consume, but for the doubles over `F`.
    pub fn sign(&mut self, n: usize) -> SmallTree<F> {
        let range = self.signs_used..self.signs_used + n;
        self.signs_used = range.end;
        SmallTree {
            mask: self.signs.columns(range.clone()),
            bit: self.bits.part(range.clone()).detached(),
            small_bit: self.small_bits.columns(range.clone()),
            products: self.online.columns(range),
            double: deal::Double::default(),
        }
    }

    /// What the next `n` truncations consume; `zero` is the sharing that makes a mask one of degree `2t`.
    pub fn truncation(&mut self, n: usize, zero: Option<Buffer<F>>) -> TruncTriple<F> {
        let range = self.truncations_used..self.truncations_used + n;
        self.truncations_used = range.end;
        let parts = self.triples.each_ref();
        let [mut mask, shifted, msb] = parts.map(|part| part.part(range.clone()).detached());
        zero.into_iter()
            .for_each(|zero| buffer::add_assign(&mut mask, &zero));
        TruncTriple { mask, shifted, msb }
    }
}

impl<F: Field> Shamir<F> {
    /// Deals all that masks are made of: doubles for their circuits and for the signs' comparisons, and the
    /// dealers' numbers.
    pub(in super::super) fn begin_masks(
        &mut self,
        counts: MaskCounts,
        wants: &[Want],
    ) -> Result<Option<Begun<F>>, Error> {
        if counts == MaskCounts::default() {
            return Ok(None);
        }
        let (counts, l, t) = (
            counts.whole_words(),
            self.params.bits,
            self.params.threshold,
        );
        let (all, words) = (counts.eda_bits(&self.params), counts.words(&self.params));
        let added = l + carry_products(l);
        Ok(Some(Begun {
            counts,
            partial: self.bit_doubles((t - 1) * added, counts.truncations)?,
            compress: self.bit_doubles((t - 1) * l, all - counts.truncations)?,
            sums: self.bit_doubles(added, all)?,
            words: self.bit_doubles(carry_products(l), words)?,
            online: self.draw_bits(less_products(l).sum(), counts.signs)?,
            dealt: self.deal_numbers(all, &shifts(wants))?,
        }))
    }

    /// The masks of a batch, made of as many random `bits` of `F` as [`MaskCounts::random_bits`] says: edaBits by
    /// adding up the dealers' bits, daBits, and what truncations consume.
    ///
    /// `4 ceil(log2 l) + 3` openings one after the other for `t = 1`, more for more dealers.
    pub(in super::super) fn finish_masks(
        &mut self,
        mut begun: Begun<F>,
        bits: Buffer<F>,
        wants: &[Want],
    ) -> Result<Masks<F>, Error> {
        let MaskCounts { signs, truncations } = begun.counts;
        let (sums, carries) = self.add_numbers(&mut begun)?;
        let all = EdaBits {
            numbers: begun.dealt.numbers,
            bits: sums,
        };
        let end = truncations + signs;
        let words = all.columns(end..all.numbers.len());
        let small_bits = self.link(&bits, &words, &mut begun.words)?;
        let triples = match truncations {
            0 => Default::default(),
            _ => {
                let r = all.columns(0..truncations);
                let bits = bits.part(signs..bits.len());
                let small_bits = small_bits.columns(signs..small_bits.cols());
                let carries = carried(&carries, wants);
                self.triples(r, begun.dealt.upper, carries, (bits, small_bits), wants)?
            }
        };
        Ok(Masks {
            signs: all.columns(truncations..end),
            bits,
            small_bits,
            online: begun.online,
            triples,
            signs_used: 0,
            truncations_used: 0,
        })
    }

    /// DaBits: opens words of random bits of `F` under edaBits `r`; over the small field the words' bits are
    /// those of the sum of the public number and `-r`, whose bits are the complements of `r`'s.
    fn link(
        &mut self,
        bits: &Buffer<F>,
        r: &EdaBits<F>,
        pool: &mut BitDoubles,
    ) -> Result<Sliced, Error> {
        let mut words = buffer::weighted_bits(bits, r.numbers.len(), 0);
        buffer::add_assign(&mut words, &r.numbers);
        let opened = to_bits(&self.reveal_shares(LINK, words, self.params.threshold)?);
        let minus = r.bits.clone().not();
        let mut differ = minus.clone();
        differ.xor_bits(&opened);
        let both = minus.keep(&opened);
        let carries = self.carries(&both, &differ, pool)?;
        let found = differ.xor(&carries);
        let found: Vec<Sliced> = (0..self.params.bits - 1)
            .map(|bit| found.pick([bit]))
            .collect();
        Ok(Sliced::beside(&found.iter().collect::<Vec<_>>()))
    }

    /// TruncTriple (Liu et al., Protocol 3.3) of masks `r`: `r >> d` from what the dealers' numbers leave and
    /// the carries of their sums, into the lowest bit where a sum is less by `p` and from bit `d`; these and
    /// the top bit are opened under daBits.
    fn triples(
        &mut self,
        r: EdaBits<F>,
        upper: Buffer<F>,
        carried: Vec<[Sliced; 2]>,
        (bits, small_bits): (Buffer<F>, Sliced),
        wants: &[Want],
    ) -> Result<[Buffer<F>; 3], Error> {
        let (l, n) = (self.params.bits, r.numbers.len());
        let mut secret = vec![r.bits.pick([l - 1])];
        secret.extend(carried.into_iter().flatten());
        let mut masked = Sliced::stack(&secret.iter().collect::<Vec<_>>());
        let masks: Vec<Sliced> = (0..secret.len())
            .map(|i| small_bits.columns(i * n..(i + 1) * n))
            .collect();
        masked.xor_assign(&Sliced::stack(&masks.iter().collect::<Vec<_>>()));
        let opened = self.reveal_bits(CARRIES, &masked)?;
        let mut known = (0..secret.len()).map(|i| {
            let opened = of_bits::<F>(&opened.pick(i..i + 1));
            buffer::flip(&bits.part(i * n..(i + 1) * n), &opened)
        });
        let top = known.next().expect("the top bit is the first");
        let (mut less, mut more) = (self.zeros(n), self.zeros(n));
        while let (Some(wrapped), Some(carried)) = (known.next(), known.next()) {
            buffer::add_assign(&mut less, &wrapped);
            buffer::add_assign(&mut more, &carried);
        }
        let mut upper = Buffer::concat(&[&upper, &self.zeros(n - upper.len())]);
        buffer::add_assign(&mut upper, &more);
        let (mut at, mut wrapped) = (0, Vec::new());
        for (n, d) in shifts(wants) {
            let step = F::from_u64(1 << (F::BITS - d));
            wrapped.push(buffer::scale(&less.part(at..at + n), step));
            at += n;
        }
        wrapped.push(self.zeros(n - at));
        buffer::sub_assign(&mut upper, &Buffer::concat(&wrapped));
        Ok([r.numbers, upper, top])
    }
}

/// The truncations of a batch: of how many elements, by how many bits.
fn shifts(wants: &[Want]) -> Vec<(usize, u32)> {
    let shift = |want: &Want| match *want {
        Want::Truncate { n, d, .. } => Some((n, d)),
        _ => None,
    };
    wants.iter().filter_map(shift).collect()
}

/// The carries of every sum into its lowest bit, and into bit `d` of each truncation.
fn carried(carries: &[Sliced], wants: &[Want]) -> Vec<[Sliced; 2]> {
    let of = |carries: &Sliced| {
        let (mut at, mut parts) = (0, Vec::new());
        for (n, d) in shifts(wants) {
            parts.push(carries.columns(at..at + n).pick([d as usize]));
            at += n;
        }
        // What no want takes.
        parts.push(carries.columns(at..carries.cols()).pick([0]));
        let at_shift = Sliced::beside(&parts.iter().collect::<Vec<_>>());
        [carries.pick([0]), at_shift]
    };
    carries.iter().map(of).collect()
}
