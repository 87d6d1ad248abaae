//! Masks that are known in both fields (docs/spec/liu24.md, section 6.1): edaBits (Escudero, Ghosh, Keller,
//! Rachuri, Scholl, CRYPTO 2020), numbers of `F` with their bits over the small field; daBits, bits of both;
//! and of these what a truncation consumes.
//!
//! Differs from the paper: parties follow the protocol, so that `t + 1` dealers' numbers are added up without
//! a check; and numbers are below `p`, their bits added modulo `p`, so that the sum is exactly uniform.

use std::ops::Range;

use tacit_algebra::mersenne::{Field, buffer, of_bits, to_bits};
use tacit_algebra::sliced::Sliced;
use tacit_algebra::{BitRows, Buffer};

use super::super::demand::Want;
use super::super::material::{Tree, TruncTriple};
use super::super::params::Params;
use super::super::{Shamir, deal};
use super::circuit::{carry_products, less_products, sum_products};
use super::deal::BitDoubles;
use crate::Error;
use crate::message::{Elements, Message};

const BITS: Message<BitRows> = Message::new("shamir edaBits: a dealer's bits");
const LINK: Message<Elements> = Message::new("shamir daBits: masked bits");
const GENERATE: Message<BitRows> = Message::new("shamir truncate: mask by mask");
const SHIFTED: Message<BitRows> = Message::new("shamir truncate: masked mask");

/// How many masks a batch has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Plan {
    /// Elements whose sign is taken by the tree.
    pub signs: usize,
    /// Elements that are truncated.
    pub truncations: usize,
}

impl Plan {
    /// Bits of both fields: for every sign, and the top bit of every truncation's mask.
    fn bits(&self) -> usize {
        self.signs + self.truncations
    }

    /// As many that no circuit's columns begin or end within a word of bits.
    fn whole_words(self) -> Plan {
        Plan {
            signs: self.signs.next_multiple_of(64),
            truncations: self.truncations.next_multiple_of(64),
        }
    }

    /// Numbers whose bits these are, `l - 1` of each, so that none is `p`.
    fn words(&self, l: usize) -> usize {
        self.bits().div_ceil(l - 1).next_multiple_of(64)
    }

    /// The random bits of `F` that they are made of.
    pub fn random_bits(&self, l: usize) -> usize {
        self.whole_words().words(l) * (l - 1)
    }

    /// EdaBits: for every sign, two for every truncation, and to find the words' bits.
    fn eda_bits(&self, l: usize) -> usize {
        self.signs + 2 * self.truncations + self.words(l)
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
        self.whole_words().eda_bits(l) * params.small_bits * (sums + numbers * l)
    }
}

/// Numbers of `F`, and their bits over the small field.
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
    plan: Plan,
    numbers: Buffer<F>,
    dealt: Vec<Sliced>,
    sums: BitDoubles,
    products: BitDoubles,
    carries: BitDoubles,
    online: BitDoubles,
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
    pub fn sign(&mut self, n: usize) -> Tree<F> {
        let range = self.signs_used..self.signs_used + n;
        self.signs_used = range.end;
        Tree {
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
    pub(in super::super) fn begin_masks(&mut self, plan: Plan) -> Result<Option<Begun<F>>, Error> {
        if plan.bits() == 0 {
            return Ok(None);
        }
        let plan = plan.whole_words();
        let (l, numbers) = (self.params.bits, self.params.threshold + 1);
        let all = plan.eda_bits(l);
        let sums = self.bit_doubles(sum_products(l, numbers), all)?;
        let products = self.bit_doubles(l, plan.truncations)?;
        let added = plan.truncations + plan.words(l);
        let carries = self.bit_doubles(carry_products(l), added)?;
        let online = self.draw_bits(less_products(l).sum(), plan.signs)?;
        let (numbers, dealt) = self.deal_numbers(all)?;
        Ok(Some(Begun {
            plan,
            numbers,
            dealt,
            sums,
            products,
            carries,
            online,
        }))
    }

    /// `t + 1` dealers' random numbers below `p`: the sharing of their sums, and of each dealer's bits. Every
    /// party is one of the dealers of as many columns as any other.
    fn deal_numbers(&mut self, n: usize) -> Result<(Buffer<F>, Vec<Sliced>), Error> {
        let (id, l, dealers) = (self.party.id(), self.params.bits, self.params.threshold + 1);
        let (small, low) = (self.small.clone(), self.low.clone());
        let parts = self.params.parts(n);
        let mut own = Vec::new();
        for (first, part) in parts.iter().enumerate() {
            if self.params.before(id, first) < dealers {
                let (share, numbers) = self.deal_random(&low, part.len())?;
                let bits = Sliced::of_bits(small.gf, &to_bits(&numbers));
                let mut dealt = self.deal_bits(&small.own, BITS, (l, part.len()), vec![bits])?;
                own.push((share, dealt.swap_remove(0)));
            }
        }
        let mut own = own.into_iter();
        let mut sums: Vec<Buffer<F>> = Vec::new();
        let mut bits: Vec<Vec<Sliced>> = vec![Vec::new(); dealers];
        for (first, part) in parts.iter().enumerate() {
            let mut sum: Option<Buffer<F>> = None;
            for (i, bits) in bits.iter_mut().enumerate() {
                let dealer = self.params.after(first, i);
                let (share, dealt) = match dealer == id {
                    true => own.next().expect("one for each part"),
                    false => self.receive_number(dealer, part.len())?,
                };
                match &mut sum {
                    Some(sum) => buffer::add_assign(sum, &share),
                    None => sum = Some(share),
                }
                bits.push(dealt);
            }
            sums.extend(sum);
        }
        let beside = |parts: Vec<Sliced>| Sliced::beside(&parts.iter().collect::<Vec<_>>());
        Ok((
            Buffer::concat(&sums),
            bits.into_iter().map(beside).collect(),
        ))
    }

    /// This party's shares of `n` numbers of a dealer and of their bits.
    fn receive_number(&mut self, dealer: usize, n: usize) -> Result<(Buffer<F>, Sliced), Error> {
        let (small, low) = (self.small.clone(), self.low.clone());
        let place = self.params.before(self.party.id(), dealer);
        let share = self.receive(dealer, place, deal::LOW, low.drawn(), n)?;
        let shape = (self.params.bits, n);
        let bits = self.receive_bits(dealer, BITS, small.own.drawn, shape)?;
        Ok((share, bits))
    }

    /// The masks of a batch, of `bits`, the plan's random bits of `F`: edaBits by adding up the dealers' bits,
    /// then daBits and the shifted masks of truncations, for which numbers are added to edaBits modulo `p`.
    ///
    /// `4 ceil(log2 l) + 4` openings one after the other, and those that make two numbers of `t + 1`.
    pub(in super::super) fn finish_masks(
        &mut self,
        begun: Begun<F>,
        bits: Buffer<F>,
        wants: &[Want],
    ) -> Result<Masks<F>, Error> {
        let Begun {
            plan,
            numbers,
            dealt,
            mut sums,
            mut products,
            mut carries,
            online,
        } = begun;
        let (l, Plan { signs, truncations }) = (self.params.bits, plan);
        let all = EdaBits {
            numbers,
            bits: self.sum_bits(dealt, &mut sums)?,
        };
        let (masks_end, end) = (signs + truncations, signs + 2 * truncations);
        let masks = all.columns(signs..masks_end);
        let shift = all.columns(masks_end..end);
        let link = all.columns(end..end + plan.words(l));

        let (mut g, mut p) = self.link(&bits, &link)?;
        if truncations > 0 {
            let upper = upper_bits(&masks.bits, wants);
            let both = self.mult_bits(GENERATE, &upper, &shift.bits, &mut products)?;
            g = Sliced::beside(&[&both, &g]);
            p = Sliced::beside(&[&upper.xor(&shift.bits), &p]);
        }
        let sum = self.add_carries(&g, p, &mut carries)?;
        let found = sum.columns(truncations..sum.cols());
        let found: Vec<Sliced> = (0..l - 1).map(|bit| found.pick([bit])).collect();
        let small_bits = Sliced::beside(&found.iter().collect::<Vec<_>>());
        let triples = match truncations {
            0 => Default::default(),
            _ => {
                let top = bits.part(signs..masks_end);
                let small_top = small_bits.columns(signs..masks_end);
                let sum = sum.columns(0..truncations);
                self.triples(masks, shift, &sum, (top, small_top))?
            }
        };
        Ok(Masks {
            signs: all.columns(0..signs),
            bits,
            small_bits,
            online,
            triples,
            signs_used: 0,
            truncations_used: 0,
        })
    }

    /// Opens words `b` of random bits under edaBits `r`; the products and sums of the bits of the public
    /// `b + r` and of those of `-r`, which are the complements of `r`'s: their sum has the bits of `b`.
    fn link(&mut self, bits: &Buffer<F>, r: &EdaBits<F>) -> Result<(Sliced, Sliced), Error> {
        let mut words = buffer::weighted_bits(bits, r.numbers.len(), 0);
        buffer::add_assign(&mut words, &r.numbers);
        let opened = to_bits(&self.reveal_shares(LINK, words, self.params.threshold)?);
        let minus = r.bits.clone().not();
        let mut sum = minus.clone();
        sum.xor_bits(&opened);
        Ok((minus.keep(&opened), sum))
    }

    /// Of truncations' masks `r` the sharings of `r`, of `r >> d` and of the top bit: `sum`, the bits of
    /// `(r >> d) + s` for edaBits `s`, and the top bit under a daBit are opened.
    fn triples(
        &mut self,
        r: EdaBits<F>,
        s: EdaBits<F>,
        sum: &Sliced,
        (bit, small_bit): (Buffer<F>, Sliced),
    ) -> Result<[Buffer<F>; 3], Error> {
        let l = self.params.bits;
        let top = r.bits.pick([l - 1]).xor(&small_bit);
        let opened = self.reveal_bits(SHIFTED, &Sliced::stack(&[sum, &top]))?;
        let mut shifted = of_bits::<F>(&opened.pick(0..l));
        buffer::sub_assign(&mut shifted, &s.numbers);
        let top = buffer::flip(&bit, &of_bits(&opened.pick(l..l + 1)));
        Ok([r.numbers, shifted, top])
    }
}

/// The bits of `r >> d` of every truncation's mask `r`, by the `d` that is wanted.
fn upper_bits(masks: &Sliced, wants: &[Want]) -> Sliced {
    let (mut at, mut parts) = (0, Vec::new());
    for want in wants {
        if let Want::Truncate { n, d, .. } = *want {
            let (own, d) = (masks.columns(at..at + n), d as usize);
            let zeros = Sliced::zeros(masks.gf(), d, n);
            parts.push(Sliced::stack(&[&own.pick(d..own.values()), &zeros]));
            at += n;
        }
    }
    // What no want takes.
    parts.push(Sliced::zeros(masks.gf(), masks.values(), masks.cols() - at));
    Sliced::beside(&parts.iter().collect::<Vec<_>>())
}
