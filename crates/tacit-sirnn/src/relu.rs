//! ReLU, ReLU6, maxpool and argmax, from signs and choices (docs/spec/sirnn.md, section 4).

use tacit_algebra::{Bits, vec};
use tacit_protocols::Error;

use crate::digits::index_bits;
use crate::sum::{Shape, Sum};
use crate::{Engine, Shared};

const RELU: &str = "sirnn: relu";
const MAX: &str = "sirnn: larger";

fn concat(parts: &[&[u64]], bits: u32) -> Shared {
    let values = parts.concat();
    Shared { bits, values }
}

/// Of a tensor in which element `j` of window `i` is `x[j * windows + i]`: the elements `first`,
/// `first + 2`, ... below `count` of every window.
fn every_other(x: &Shared, windows: usize, first: usize, count: usize) -> Shared {
    let slots = x.values.chunks(windows).take(count);
    let slots: Vec<_> = slots.skip(first).step_by(2).collect();
    concat(&slots, x.bits)
}

/// The elements of `all` from `count` on after those of `x`.
fn with_rest(x: Shared, all: &Shared, windows: usize, count: usize) -> Shared {
    concat(&[&x.values, &all.values[count * windows..]], x.bits)
}

impl Engine {
    /// ReLU of signed numbers: DReLU ([`Engine::drelu`]), then [`Engine::mux`].
    pub fn relu(&mut self, x: &Shared) -> Result<Shared, Error> {
        let positive = self.drelu(x)?;
        self.mux(&positive, x)
    }

    /// `min(max(x, 0), bound)` of signed numbers for a public `bound`, `0 <= bound < 2^(bits-1)`.
    ///
    /// The signs of `x` and `x - bound` in one batch; an AND (1 hop), because `x - bound` may
    /// overflow for a negative `x`; 2 hops of 4 OTs and `4 bits + 4` bits.
    pub fn relu6(&mut self, x: &Shared, bound: u64) -> Result<Shared, Error> {
        assert!(
            bound >> (x.bits - 1) == 0,
            "the bound must be a positive number"
        );
        let above = self.add_public(x, bound.wrapping_neg());
        let signs = self.msbs(&[x, &above])?;
        let [positive, beyond] = [self.not(&signs[0]), self.not(&signs[1])];
        let beyond = self.ands("sirnn: bound", &[(&positive, &[&beyond])])?;
        let shape = Shape::elements(x.len());
        let mut sum = Sum::new(self, x.bits, vec![0; x.len()]);
        sum.select(&positive, &x.values, [true; 2], shape, 1);
        sum.select(&beyond[0][0], &above.values, [true; 2], shape, u64::MAX);
        self.sum(RELU, sum)
    }

    /// The largest element of each window; element `j` of window `i` is `x[j * windows + i]`.
    ///
    /// Differences within a window must be `-2^(bits-1) .. 2^(bits-1)`: so for numbers that are
    /// not negative, or have a bit to spare; others are to be extended by one first. For `k`
    /// elements `ceil(log2 k)` levels of the hops of [`Engine::relu`], and `k - 1` of its cost.
    pub fn maxpool(&mut self, x: &Shared, windows: usize) -> Result<Shared, Error> {
        Ok(self.largest(vec![x.clone()], windows)?.remove(0))
    }

    /// The largest element of each window, laid out as for [`Engine::maxpool`], and its `j`, the
    /// first of equals, in [`index_bits`] of a window's length.
    ///
    /// Costs [`Engine::maxpool`] and, in the same hops, `k - 1` choices of an index.
    pub fn argmax(&mut self, x: &Shared, windows: usize) -> Result<(Shared, Shared), Error> {
        let slots = x.len() / windows.max(1);
        let bits = index_bits(slots.max(1) as u32);
        let indices: Vec<u64> = (0..slots as u64).collect();
        let indices = match self.id() {
            0 => vec::tile(&indices, windows, 1),
            _ => vec![0; x.len()],
        };
        let all = vec![x.clone(), Shared::new(bits, &indices)];
        let mut found = self.largest(all, windows)?;
        let indices = found.remove(1);
        Ok((found.remove(0), indices))
    }

    /// A tournament of neighbours by the first tensor, so that the first of equals wins.
    fn largest(&mut self, mut all: Vec<Shared>, windows: usize) -> Result<Vec<Shared>, Error> {
        while all[0].len() > windows {
            let count = all[0].len() / windows / 2 * 2;
            let pair = |x| [0, 1].map(|first| every_other(x, windows, first, count));
            let pairs: Vec<_> = all.iter().map(pair).collect();
            let first = self.drelu(&pairs[0][0].sub(&pairs[0][1]))?;
            let sums = pairs.iter().map(|pair| self.chosen(&first, pair));
            let sums = sums.collect();
            let larger = self.sums(MAX, sums)?.into_iter().zip(&all);
            all = larger
                .map(|(x, all)| with_rest(x, all, windows, count))
                .collect();
        }
        Ok(all)
    }

    /// `x[0]` where `first` is 1, else `x[1]`.
    fn chosen(&self, first: &Bits, x: &[Shared; 2]) -> Sum<'static> {
        let difference = x[0].sub(&x[1]);
        let shape = Shape::elements(difference.len());
        let mut sum = Sum::new(self, x[1].bits, x[1].values.clone());
        sum.select(first, &difference.values, [true; 2], shape, 1);
        sum
    }
}
