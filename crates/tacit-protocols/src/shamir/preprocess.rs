//! The offline phase (docs/spec/liu24.md, section 2.2): RandBit, SolvedBits, RandNZ and what the
//! calls consume, for a batch at a time; masks that are known in both fields are made in `small/`.
//!
//! Differs from the paper: the bits of a number are those of a number below `p` (the paper's may
//! be all ones, a second 0), which an opened check finds out and replaces. They serve the rotation,
//! and, between many parties, what `small/` would make at a greater cost.

use tacit_algebra::Buffer;
use tacit_algebra::mersenne::{Field, buffer};

use super::Shamir;
use super::deal::{Demand, Pool, last};
use super::demand::Want;
use super::material::{Material, Rot, SmallTree, Tree, TruncTriple};
use super::params::Params;
use super::small::Masks;
use crate::Error;
use crate::machine::Call;
use crate::message::{Elements, Message};

const BITS: Message<Elements> = Message::new("shamir bits: squares and products");
const CHECK: Message<Elements> = Message::new("shamir bits: not all ones");
const FLIP: Message<Elements> = Message::new("shamir comparison: bit times bit");
const UNFOLD: Message<Elements> = Message::new("shamir rotation: unfold shift");

/// How often what is opened as 0 is drawn again. Over 5 bits one column in 16 is refused, so that more rounds
/// are needed once in 2^250 columns, and over the fields of runs far less often.
pub(super) const ROUNDS: usize = 64;

/// What is opened is 0 whatever is drawn.
pub(super) fn zeros_only(step: Message<Elements>) -> Error {
    Error::Invalid(format!(
        "what is opened at '{}' is 0 after {ROUNDS} new draws: a party did not follow the protocol",
        step.step()
    ))
}

/// Random bits, and random numbers other than 0.
type BitsAndNumbers<F> = (Buffer<F>, Buffer<F>);

/// The ingredients of a batch, handed out want by want.
struct Parts<F> {
    pool: Pool<F>,
    /// Numbers with their bits, `solved` columns, of which `used` are gone.
    rows: Buffer<F>,
    solved: usize,
    used: usize,
    bits: Buffer<F>,
    nonzero: Buffer<F>,
    /// What is known in both fields, if it is wanted.
    masks: Option<Masks<F>>,
}

impl<F: Field> Parts<F> {
    fn masks(&mut self) -> &mut Masks<F> {
        self.masks.as_mut().expect("made where it is needed")
    }

    /// The bits of the next `n` numbers, `[bit][element]`.
    fn solved(&mut self, n: usize) -> Buffer<F> {
        let from = self.used;
        self.used += n;
        let rows = self.rows.rows(self.solved);
        let rows: Vec<_> = rows.map(|row| row.part(from..from + n)).collect();
        Buffer::concat(&rows)
    }

    /// The next `n` random bits.
    fn bits(&mut self, n: usize) -> Buffer<F> {
        last(&mut self.bits, n)
    }

    /// The next `n` random numbers other than 0.
    fn nonzero(&mut self, n: usize) -> Buffer<F> {
        last(&mut self.nonzero, n)
    }
}

impl<F: Field> Shamir<F> {
    /// Makes the material of `calls`, batch by batch.
    pub(super) fn preprocess(&mut self, calls: &[Call]) -> Result<(), Error> {
        let batches = self.params.batches(calls);
        batches.iter().try_for_each(|wants| self.make(wants))
    }

    /// Makes the material of one batch: the dealings, the bits, a check of them, masks, products.
    pub(super) fn make(&mut self, wants: &[Want]) -> Result<(), Error> {
        self.check_truncations(wants)?;
        let needs = self.params.needs(wants);
        let mut pool = self.draw(self.params.demand(&needs))?;
        let begun = self.begin_masks(needs.masks, wants)?;
        let solved = self.params.bits * needs.solved;
        let count = solved + needs.bits + needs.masks.random_bits(&self.params);
        let (mut rows, nonzero) = self.random_bits(&mut pool, count, needs.nonzero)?;
        let mut bits = rows.split_off(solved).detached();
        let linked = bits.split_off(needs.bits).detached();
        self.replace_all_ones(&mut pool, &mut rows, needs.solved)?;
        let masks = begun.map(|begun| self.finish_masks(begun, linked, wants));
        let mut parts = Parts {
            pool,
            rows,
            solved: needs.solved,
            used: 0,
            bits,
            nonzero,
            masks: masks.transpose()?,
        };
        let mut made: Vec<(Want, Material<F>)> = wants
            .iter()
            .map(|want| (*want, gather_parts(&self.params, want, &mut parts)))
            .collect();
        self.multiply_flips(&mut parts.pool, &mut made)?;
        self.unfold_shifts(&mut parts.pool, &mut made)?;
        self.store.extend(made);
        Ok(())
    }

    /// RandBit and RandNZ: `bits` uniform bits and `nonzero` uniform numbers other than 0.
    ///
    /// Where 0 is opened, which happens once in `p` draws, the draw is made again.
    pub(super) fn random_bits(
        &mut self,
        pool: &mut Pool<F>,
        bits: usize,
        nonzero: usize,
    ) -> Result<BitsAndNumbers<F>, Error> {
        let (mut made, [mut again, mut bad]) = self.try_bits(pool, bits, nonzero)?;
        for _ in 0..ROUNDS {
            if again.is_empty() && bad.is_empty() {
                return Ok(made);
            }
            let mut pool = self.draw(Demand {
                random: again.len() + 2 * bad.len(),
                double: 0,
                zero: again.len() + bad.len(),
            })?;
            let (new, zeros) = self.try_bits(&mut pool, again.len(), bad.len())?;
            buffer::put_columns(&mut made.0, bits, &again, &new.0);
            buffer::put_columns(&mut made.1, nonzero, &bad, &new.1);
            let [of_bits, of_numbers] = zeros;
            again = of_bits.into_iter().map(|at| again[at]).collect();
            bad = of_numbers.into_iter().map(|at| bad[at]).collect();
        }
        Err(zeros_only(BITS))
    }

    /// RandBit and RandNZ once, and which of the bits and of the numbers have to be drawn again.
    ///
    /// A bit is `(a / sqrt(a^2) + 1) / 2` for a random `a`, with the root that all parties take;
    /// a number `a` is known to be other than 0 by an opened product with a random one.
    fn try_bits(
        &mut self,
        pool: &mut Pool<F>,
        bits: usize,
        nonzero: usize,
    ) -> Result<(BitsAndNumbers<F>, [Vec<usize>; 2]), Error> {
        let (a, c) = (pool.random(bits), pool.random(nonzero));
        let x = Buffer::concat(&[&a, &c]);
        let y = Buffer::concat(&[&a, &pool.random(nonzero)]);
        let zero = pool.zero(bits + nonzero);
        let opened = self.mult_pub(BITS, &x, &y, &zero)?;

        let made = buffer::sign_bits(&a, &opened.part(0..bits));
        let mut again = buffer::find_zeros(&opened);
        let bad = again.split_off(again.partition_point(|&at| at < bits));
        let bad = bad.into_iter().map(|at| at - bits).collect();
        Ok(((made, c), [again, bad]))
    }

    /// SolvedBits: of `n` columns of bits, replaces those that are all ones, so that each is the
    /// bits of a number uniform below `p`.
    pub(super) fn replace_all_ones(
        &mut self,
        pool: &mut Pool<F>,
        rows: &mut Buffer<F>,
        n: usize,
    ) -> Result<(), Error> {
        let l = self.params.bits;
        if n == 0 {
            return Ok(());
        }
        let mut again = self.find_all_ones(pool, rows, n)?;
        for _ in 0..ROUNDS {
            let bad = again.len();
            if bad == 0 {
                return Ok(());
            }
            let mut pool = self.draw(Demand {
                random: (l + 1) * bad,
                double: 0,
                zero: (l + 1) * bad,
            })?;
            let (fresh, _) = self.random_bits(&mut pool, l * bad, 0)?;
            let refused = self.find_all_ones(&mut pool, &fresh, bad)?;
            buffer::put_columns(rows, n, &again, &fresh);
            again = refused.into_iter().map(|at| again[at]).collect();
        }
        Err(zeros_only(CHECK))
    }

    /// Which of `n` columns of bits are all ones: `m (sum of bits - l)` is opened for a random `m`, which,
    /// seldom, is 0 too. Either way the column is not used.
    fn find_all_ones(
        &mut self,
        pool: &mut Pool<F>,
        rows: &Buffer<F>,
        n: usize,
    ) -> Result<Vec<usize>, Error> {
        let mut short = rows.part(0..n);
        for row in rows.rows(n).skip(1) {
            buffer::add_assign(&mut short, &row);
        }
        buffer::add_scalar_assign(&mut short, F::from_i64(-(self.params.bits as i64)));
        let (m, zero) = (pool.random(n), pool.zero(n));
        let opened = self.mult_pub(CHECK, &m, &short, &zero)?;
        Ok(buffer::find_zeros(&opened))
    }

    /// `b r_0` of every tree over the large field, in one opening.
    fn multiply_flips(
        &mut self,
        pool: &mut Pool<F>,
        made: &mut [(Want, Material<F>)],
    ) -> Result<(), Error> {
        let trees: Vec<&mut Tree<F>> = made
            .iter_mut()
            .filter_map(|(_, material)| match material {
                Material::Tree(tree) => Some(tree),
                _ => None,
            })
            .collect();
        if trees.is_empty() {
            return Ok(());
        }
        let low: Vec<_> = trees
            .iter()
            .map(|tree| tree.bits.part(0..tree.b.len()))
            .collect();
        let factors: Vec<_> = trees.iter().map(|tree| &tree.b).collect();
        let (low, factors) = (Buffer::concat(&low), Buffer::concat(&factors));
        let double = pool.double(low.len());
        let mut flips = self.mult(FLIP, &low, &factors, &double)?;
        for tree in trees {
            let rest = flips.split_off(tree.b.len());
            tree.flip = std::mem::replace(&mut flips, rest).detached();
        }
        Ok(())
    }

    /// The bits of every rotation's shift become a one-hot row, level by level: `h` of `k` bits
    /// and bit `b` give `h (1 - b)` and `h b`.
    fn unfold_shifts(
        &mut self,
        pool: &mut Pool<F>,
        made: &mut [(Want, Material<F>)],
    ) -> Result<(), Error> {
        let mut rots: Vec<(usize, &mut Buffer<F>)> = made
            .iter_mut()
            .filter_map(|(_, material)| match material {
                Material::Rot(rot) => Some((rot.mask.len(), &mut rot.shift)),
                _ => None,
            })
            .collect();
        if rots.is_empty() {
            return Ok(());
        }
        let mut bits: Vec<Buffer<F>> = Vec::new();
        for (n, shift) in &mut rots {
            bits.push(shift.split_off(*n));
            **shift = Buffer::concat(&[&buffer::not(shift), shift]);
        }
        for level in 1..self.params.places().ilog2() as usize {
            let x: Vec<&Buffer<F>> = rots.iter().map(|(_, shift)| &**shift).collect();
            let bit = |((n, _), bits): (&(usize, _), &Buffer<F>)| {
                bits.part((level - 1) * n..level * n).tile(1, 1 << level)
            };
            let y: Vec<_> = rots.iter().zip(&bits).map(bit).collect();
            let (x, y) = (Buffer::concat(&x), Buffer::concat(&y));
            let double = pool.double(x.len());
            let mut high = self.mult(UNFOLD, &x, &y, &double)?;
            for (_, shift) in &mut rots {
                let rest = high.split_off(shift.len());
                let own = std::mem::replace(&mut high, rest);
                buffer::sub_assign(shift, &own);
                shift.append(&own);
            }
        }
        Ok(())
    }

    /// Refuses shifts that no truncation can make.
    fn check_truncations(&self, wants: &[Want]) -> Result<(), Error> {
        let most = F::BITS - 2;
        for want in wants {
            if let Want::Truncate { d, .. } = want
                && *d > most
            {
                return Err(Error::Invalid(format!(
                    "a truncation by {d} bits: over 2^{} - 1 it may drop 1 to {most}",
                    F::BITS
                )));
            }
        }
        Ok(())
    }
}

/// The material of one want but for flips and unfolded shifts, which are made for all wants together.
fn gather_parts<F: Field>(params: &Params, want: &Want, parts: &mut Parts<F>) -> Material<F> {
    match *want {
        Want::Product { n } => Material::Product(parts.pool.double(n)),
        Want::Truncate { n, d, product } => {
            let zero = product.then(|| parts.pool.zero(n));
            Material::Truncate(match params.small_truncations() {
                true => parts.masks().truncation(n, zero),
                false => trunc_triple(&parts.solved(n), n, d, zero),
            })
        }
        Want::Sign {
            n,
            rot: false,
            relu,
        } if params.small_signs() => {
            let double = parts.pool.double(if relu { n } else { 0 });
            let tree = parts.masks().sign(n);
            Material::SmallTree(SmallTree { double, ..tree })
        }
        Want::Sign {
            n,
            rot: false,
            relu,
        } => {
            let bits = parts.solved(n);
            let inner = (params.factors() - 2) * n;
            Material::Tree(Tree {
                mask: buffer::weighted_bits(&bits, n, 0),
                bits,
                b: parts.bits(n),
                flip: Buffer::default(),
                m: parts.nonzero(n),
                double: parts.pool.double(inner + if relu { n } else { 0 }),
                zero: parts.pool.zero(n),
            })
        }
        Want::Sign { n, rot: true, relu } => {
            let bits = parts.solved(n);
            let places = params.places();
            Material::Rot(Rot {
                mask: buffer::weighted_bits(&bits, n, 0),
                bits,
                shift: parts.bits(places.ilog2() as usize * n),
                m: parts.nonzero(places * n),
                double: parts.pool.double(places * n + if relu { 2 * n } else { n }),
                zero: parts.pool.zero(places * n),
            })
        }
    }
}

/// TruncTriple (Liu et al., Protocol 3.3) from the bits of `r`: `r >> d`, its top bit, and `r`
/// itself, of degree `2t` with a sharing of 0.
fn trunc_triple<F: Field>(
    rows: &Buffer<F>,
    n: usize,
    d: u32,
    zero: Option<Buffer<F>>,
) -> TruncTriple<F> {
    let from = |bit: u32| rows.part(bit as usize * n..rows.len());
    let mut mask = buffer::weighted_bits(rows, n, 0);
    zero.into_iter()
        .for_each(|zero| buffer::add_assign(&mut mask, &zero));
    TruncTriple {
        mask,
        shifted: buffer::weighted_bits(&from(d), n, 0),
        msb: from(F::BITS - 1).detached(),
    }
}
