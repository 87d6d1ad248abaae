//! The offline phase (docs/spec/liu24.md, section 2.2): RandBit, SolvedBits, RandNZ, TruncTriple
//! (Liu et al., Protocol 3.3) and what the two comparisons consume, for a batch at a time.
//!
//! Differs from the paper: the bits of a number are those of a number below `p` (the paper's may
//! be all ones, a second 0), which an opened check finds out and replaces.

use tacit_algebra::mersenne::{Field, sign_bits, squares_weighted, vec, weighted_bits};
use tacit_algebra::vec::tile;

use super::Shamir;
use super::deal::{Demand, Double, Pool};
use super::demand::Want;
use super::material::{Material, Rot, Tree, TruncTriple};
use crate::Error;
use crate::machine::Call;

const BITS: &str = "shamir bits: squares and products";
const CHECK: &str = "shamir bits: not all ones";
const FLIP: &str = "shamir comparison: bits times bit";
const UNFOLD: &str = "shamir rotation: unfold shift";

/// The ingredients of a batch, handed out want by want.
struct Parts<F> {
    pool: Pool<F>,
    /// Numbers with their bits, `solved` columns, of which `used` are gone.
    rows: Vec<F>,
    solved: usize,
    used: usize,
    bits: Vec<F>,
    nonzero: Vec<F>,
}

impl<F: Field> Parts<F> {
    /// The bits of the next `n` numbers, `[bit][element]`.
    fn solved(&mut self, n: usize) -> Vec<F> {
        let from = self.used;
        self.used += n;
        self.rows
            .chunks_exact(self.solved)
            .flat_map(|row| &row[from..from + n])
            .copied()
            .collect()
    }

    /// The next `n` random bits.
    fn bits(&mut self, n: usize) -> Vec<F> {
        self.bits.split_off(self.bits.len() - n)
    }

    /// The next `n` random numbers other than 0.
    fn nonzero(&mut self, n: usize) -> Vec<F> {
        self.nonzero.split_off(self.nonzero.len() - n)
    }
}

impl<F: Field> Shamir<F> {
    /// Makes the material of `calls`, batch by batch.
    pub(super) fn preprocess(&mut self, calls: &[Call]) -> Result<(), Error> {
        for wants in self.params.batches(calls) {
            self.check_truncations(&wants)?;
            self.make(wants)?;
        }
        Ok(())
    }

    /// Makes the material of one batch: the dealings, the bits, a check of them, products.
    fn make(&mut self, wants: Vec<Want>) -> Result<(), Error> {
        let needs = self.params.needs(&wants);
        let mut pool = self.draw(self.params.demand(&needs))?;
        let count = self.params.bits * needs.solved;
        let (mut rows, nonzero) = self.random_bits(&mut pool, count + needs.bits, needs.nonzero)?;
        let bits = rows.split_off(count);
        self.replace_all_ones(&mut pool, &mut rows, needs.solved)?;
        let mut parts = Parts {
            pool,
            rows,
            solved: needs.solved,
            used: 0,
            bits,
            nonzero,
        };
        let mut made: Vec<(Want, Material<F>)> = wants
            .into_iter()
            .map(|want| (want, self.gather_parts(&want, &mut parts)))
            .collect();
        self.multiply_flips(&mut parts.pool, &mut made)?;
        self.unfold_shifts(&mut parts.pool, &mut made)?;
        self.store.extend(made);
        Ok(())
    }

    /// RandBit and RandNZ: `bits` uniform bits and `nonzero` uniform numbers other than 0.
    ///
    /// A bit is `(a / sqrt(a^2) + 1) / 2` for a random `a`, with the root that all parties take;
    /// a number `a` is known to be other than 0 by an opened product with a random one. Where 0
    /// is opened, which happens once in `p` draws, the draw is made again.
    fn random_bits(
        &mut self,
        pool: &mut Pool<F>,
        bits: usize,
        nonzero: usize,
    ) -> Result<(Vec<F>, Vec<F>), Error> {
        let (a, c) = (pool.random(bits), pool.random(nonzero));
        let (x, y) = ([&a[..], &c].concat(), [a, pool.random(nonzero)].concat());
        let zero = pool.zero(bits + nonzero);
        let opened = self.mult_pub(BITS, &x, &y, &zero)?;

        let mut made = sign_bits(&x[..bits], &opened[..bits]);
        let mut good = c;
        if vec::find_zero(&opened).is_some() {
            let again = zeros(&opened);
            let bad_bits = again.iter().filter(|&&at| at < bits).count();
            let bad = again.len() - bad_bits;
            let mut pool = self.draw(Demand {
                random: bad_bits + 2 * bad,
                double: 0,
                zero: bad_bits + bad,
            })?;
            let (new_bits, new) = self.random_bits(&mut pool, bad_bits, bad)?;
            for (&at, value) in again.iter().zip(new_bits.into_iter().chain(new)) {
                match at.checked_sub(bits) {
                    Some(at) => good[at] = value,
                    None => made[at] = value,
                }
            }
        }
        Ok((made, good))
    }

    /// SolvedBits: of `n` columns of bits, replaces those that are all ones, so that each is the
    /// bits of a number uniform below `p`. Opens `m (sum of bits - l)` for a random `m`.
    fn replace_all_ones(
        &mut self,
        pool: &mut Pool<F>,
        rows: &mut [F],
        n: usize,
    ) -> Result<(), Error> {
        let l = self.params.bits;
        if n == 0 {
            return Ok(());
        }
        let mut short = vec![F::from_i64(-(l as i64)); n];
        for row in rows.chunks_exact(n) {
            vec::add_assign(&mut short, row);
        }
        let (m, zero) = (pool.random(n), pool.zero(n));
        let opened = self.mult_pub(CHECK, &m, &short, &zero)?;
        if vec::find_zero(&opened).is_none() {
            return Ok(());
        }
        // An unlucky `m` is 0 too; either way the column is not used.
        let again = zeros(&opened);
        let bad = again.len();
        let mut pool = self.draw(Demand {
            random: (l + 1) * bad,
            double: 0,
            zero: (l + 1) * bad,
        })?;
        let (mut fresh, _) = self.random_bits(&mut pool, l * bad, 0)?;
        self.replace_all_ones(&mut pool, &mut fresh, bad)?;
        for (row, new) in rows.chunks_exact_mut(n).zip(fresh.chunks_exact(bad)) {
            again.iter().zip(new).for_each(|(&at, &bit)| row[at] = bit);
        }
        Ok(())
    }

    /// The material of one want but for the products, which are made for all wants together.
    fn gather_parts(&self, want: &Want, parts: &mut Parts<F>) -> Material<F> {
        match *want {
            Want::Product { n } => Material::Product(parts.pool.double(n)),
            Want::Truncate { n, d, product } => {
                let rows = parts.solved(n);
                let zero = product.then(|| parts.pool.zero(n));
                Material::Truncate(self.trunc_triple(&rows, n, d, zero))
            }
            Want::Sign {
                n,
                rot: false,
                relu,
            } => {
                let bits = parts.solved(n);
                Material::Tree(Tree {
                    mask: weighted_bits(&bits, n, 0),
                    flips: Vec::new(),
                    bits,
                    b: parts.bits(n),
                    m: parts.nonzero(n),
                    double: parts
                        .pool
                        .double((self.params.bits - 1) * n + if relu { n } else { 0 }),
                    zero: parts.pool.zero(n),
                })
            }
            Want::Sign { n, rot: true, relu } => {
                let bits = parts.solved(n);
                let places = self.params.places();
                Material::Rot(Rot {
                    mask: weighted_bits(&bits, n, 0),
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
    fn trunc_triple(&self, rows: &[F], n: usize, d: u32, zero: Option<Vec<F>>) -> TruncTriple<F> {
        let msb = rows[(F::BITS as usize - 1) * n..].to_vec();
        let shifted = weighted_bits(&rows[d as usize * n..], n, 0);
        let mask = match zero {
            None => weighted_bits(rows, n, 0),
            Some(zero) => {
                let mut squares = squares_weighted(rows, n);
                vec::add_assign(&mut squares, &zero);
                squares
            }
        };
        TruncTriple { mask, shifted, msb }
    }

    /// `g_i = b r_i` of every tree, in one opening.
    fn multiply_flips(
        &mut self,
        pool: &mut Pool<F>,
        made: &mut [(Want, Material<F>)],
    ) -> Result<(), Error> {
        let l = self.params.bits;
        let (mut bits, mut factors) = (Vec::new(), Vec::new());
        for tree in made.iter().filter_map(|(_, material)| material.tree()) {
            bits.extend_from_slice(&tree.bits);
            factors.append(&mut tile(&tree.b, 1, l));
        }
        if bits.is_empty() {
            return Ok(());
        }
        let double = pool.double(bits.len());
        let flips = self.mult(FLIP, &bits, &factors, &double)?;
        let mut rest = &flips[..];
        for (_, material) in made {
            if let Material::Tree(tree) = material {
                let (own, others) = rest.split_at(tree.bits.len());
                (tree.flips, rest) = (own.to_vec(), others);
            }
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
        let mut rots: Vec<(usize, &mut Vec<F>)> = made
            .iter_mut()
            .filter_map(|(_, material)| match material {
                Material::Rot(rot) => Some((rot.mask.len(), &mut rot.shift)),
                _ => None,
            })
            .collect();
        if rots.is_empty() {
            return Ok(());
        }
        let mut bits: Vec<Vec<F>> = Vec::new();
        for (n, shift) in &mut rots {
            let rest = shift.split_off(*n);
            let mut not = vec::neg(shift);
            vec::add_scalar_assign(&mut not, F::ONE);
            bits.push(rest);
            **shift = [not, std::mem::take(*shift)].concat();
        }
        for level in 1..self.params.places().ilog2() as usize {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for ((n, shift), bits) in rots.iter().zip(&bits) {
                x.extend_from_slice(shift);
                y.append(&mut tile(&bits[(level - 1) * n..level * n], 1, 1 << level));
            }
            let double = pool.double(x.len());
            let high = self.mult(UNFOLD, &x, &y, &double)?;
            let mut rest = &high[..];
            for (_, shift) in &mut rots {
                let (own, others) = rest.split_at(shift.len());
                vec::sub_assign(shift, own);
                shift.extend_from_slice(own);
                rest = others;
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

/// Where public values are 0.
fn zeros<F: Field>(values: &[F]) -> Vec<usize> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(at) = vec::find_zero(&values[from..]) {
        all.push(from + at);
        from += at + 1;
    }
    all
}

impl<F> Material<F> {
    fn tree(&self) -> Option<&Tree<F>> {
        match self {
            Material::Tree(tree) => Some(tree),
            _ => None,
        }
    }
}

impl<F: Field> Double<F> {
    /// Takes the first `n`.
    pub(super) fn take(&mut self, n: usize) -> Double<F> {
        let (low, high) = (self.low.split_off(n), self.high.split_off(n));
        Double {
            low: std::mem::replace(&mut self.low, low),
            high: std::mem::replace(&mut self.high, high),
        }
    }
}
