//! Sums modulo `p = 2^l - 1` and comparisons of shared bits (docs/spec/liu24.md, section 2.4), by trees of
//! carries: of neighbouring groups of bits, whether one generates a carry (`g`) and whether it passes one on
//! (`p`, never both), `(g, p) o (g', p') = (g + p g', p p')` for the upper and the lower one.

use tacit_algebra::BitRows;
use tacit_algebra::mersenne::Field;
use tacit_algebra::sliced::Sliced;

use super::super::Shamir;
use super::deal::BitDoubles;
use crate::Error;
use crate::message::Message;

const COMPRESS: Message<BitRows> = Message::new("shamir sum: three to two");
const GENERATE: Message<BitRows> = Message::new("shamir sum: bit by bit");
const JOIN: Message<BitRows> = Message::new("shamir carries: join");
const DESCEND: Message<BitRows> = Message::new("shamir carries: descend");

/// The pairs of groups at every level of a tree over `leaves` groups.
fn levels(leaves: usize) -> impl Iterator<Item = usize> {
    let mut groups = leaves;
    std::iter::from_fn(move || {
        let pairs = groups / 2;
        groups -= pairs;
        (pairs > 0).then_some(pairs)
    })
}

/// Products of [`Shamir::generated`] over `l` bits, level by level.
pub(in super::super) fn less_products(l: usize) -> impl Iterator<Item = usize> {
    levels(l).map(|pairs| 2 * pairs - 1)
}

/// Products of [`Shamir::carries`] over `l` bits: two for each join, one for each on the way back.
pub(in super::super) const fn carry_products(l: usize) -> usize {
    3 * (l - 1)
}

/// Products of the sum of so many numbers of `l` bits.
pub(in super::super) const fn sum_products(l: usize, numbers: usize) -> usize {
    (numbers - 1) * l + carry_products(l)
}

impl<F: Field> Shamir<F> {
    /// Two numbers with the sum modulo `p` of many below `p`, by their bits; not both are all ones.
    ///
    /// Three numbers become two with the same sum, bit by bit, the top carry around to the lowest bit, until
    /// there are two: `l` products for each number but two.
    pub(super) fn two_of(
        &mut self,
        mut numbers: Vec<Sliced>,
        pool: &mut BitDoubles,
    ) -> Result<[Sliced; 2], Error> {
        // Two that are all ones have a sum that is no number below p. Three become such two only if all three
        // are all ones, and the last dealer's number, which is kept to the end, is not.
        let last = numbers.pop().expect("there are two numbers or more");
        while numbers.len() > 2 {
            numbers = self.compress(numbers, pool)?;
        }
        numbers.push(last);
        if numbers.len() > 2 {
            numbers = self.compress(numbers, pool)?;
        }
        let two = numbers.try_into();
        Ok(two.unwrap_or_else(|_| unreachable!("three become two")))
    }

    /// The bits of the sum modulo `p` of two numbers, not both of which are all ones, and the carries into
    /// every bit: `l` products and those of the carries.
    pub(super) fn add_two(
        &mut self,
        x: &Sliced,
        y: &Sliced,
        pool: &mut BitDoubles,
    ) -> Result<(Sliced, Sliced), Error> {
        let both = self.mult_bits(GENERATE, x, y, pool)?;
        let differ = x.clone().xor(y);
        let carries = self.carries(&both, &differ, pool)?;
        Ok((differ.xor(&carries), carries))
    }

    /// As many numbers as threes leave: of `x, y, z` the bits' sums and, one place up, their majorities
    /// `z + (x + z)(y + z)`.
    fn compress(
        &mut self,
        numbers: Vec<Sliced>,
        pool: &mut BitDoubles,
    ) -> Result<Vec<Sliced>, Error> {
        let (threes, rest) = numbers.as_chunks::<3>();
        let stack = |of: &dyn Fn(&[Sliced; 3]) -> Sliced| {
            let all: Vec<Sliced> = threes.iter().map(of).collect();
            Sliced::stack(&all.iter().collect::<Vec<_>>())
        };
        let left = stack(&|[x, _, z]| x.clone().xor(z));
        let right = stack(&|[_, y, z]| y.clone().xor(z));
        let product = self.mult_bits(COMPRESS, &left, &right, pool)?;
        let l = self.params.bits;
        let mut fewer = Vec::with_capacity(2 * threes.len() + rest.len());
        for (i, [x, y, z]) in threes.iter().enumerate() {
            let majority = product.pick(i * l..(i + 1) * l).xor(z);
            fewer.push(majority.pick((0..l).map(|bit| (bit + l - 1) % l)));
            fewer.push(x.clone().xor(y).xor(z));
        }
        fewer.extend(rest.iter().cloned());
        Ok(fewer)
    }

    /// The carries into every bit of a sum modulo `p` from the bits' products `g` and sums `p`: the carry out of
    /// the top, or that a sum of `p` would have, comes in at the lowest bit. `2 ceil(log2 l)` openings one after
    /// the other.
    pub(super) fn carries(
        &mut self,
        g: &Sliced,
        p: &Sliced,
        pool: &mut BitDoubles,
    ) -> Result<Sliced, Error> {
        let (mut g, mut p) = (g.clone(), p.clone());
        let mut below = Vec::new();
        for pairs in levels(g.values()) {
            let even = || (0..pairs).map(|i| 2 * i);
            below.push((g.pick(even()), p.pick(even())));
            [g, p] = self.join(&g, &p, pool)?;
        }
        let mut carries = g.xor(&p);
        for (g, p) in below.into_iter().rev() {
            let (pairs, groups) = (g.values(), carries.values());
            let into = carries.pick(0..pairs);
            let upper = self.mult_bits(DESCEND, &p, &into, pool)?.xor(&g);
            // The lower of a pair has the carry of the pair; an odd group keeps its own.
            let order = (0..pairs).flat_map(|i| [i, groups + i]);
            let order: Vec<usize> = order.chain(pairs..groups).collect();
            carries = Sliced::stack(&[&carries, &upper]).pick(order);
        }
        Ok(carries)
    }

    /// The carry that all bits together generate; `p` is without that of the lowest bit, which is never
    /// needed. `ceil(log2 l)` openings one after the other.
    pub(in super::super) fn generated(
        &mut self,
        mut g: Sliced,
        mut p: Sliced,
        pool: &mut BitDoubles,
    ) -> Result<Sliced, Error> {
        while g.values() > 1 {
            [g, p] = self.join(&g, &p, pool)?;
        }
        Ok(g)
    }

    /// Joins neighbours; an odd group is kept. `p` may be without that of the lowest group.
    fn join(
        &mut self,
        g: &Sliced,
        p: &Sliced,
        pool: &mut BitDoubles,
    ) -> Result<[Sliced; 2], Error> {
        let (groups, without) = (g.values(), g.values() - p.values());
        let pairs = groups / 2;
        let upper = (0..pairs).map(|i| 2 * i + 1);
        let passing = p.pick(
            upper
                .clone()
                .chain(upper.clone().skip(without))
                .map(|i| i - without),
        );
        let lower = [
            &g.pick((0..pairs).map(|i| 2 * i)),
            &p.pick((without..pairs).map(|i| 2 * i - without)),
        ];
        let products = self.mult_bits(JOIN, &passing, &Sliced::stack(&lower), pool)?;
        let mut joined = g.pick(upper);
        joined.xor_assign(&products.pick(0..pairs));
        let odd = 2 * pairs..groups;
        Ok([
            Sliced::stack(&[&joined, &g.pick(odd.clone())]),
            Sliced::stack(&[
                &products.pick(pairs..products.values()),
                &p.pick(odd.map(|i| i - without)),
            ]),
        ])
    }
}
