//! Sums of products whose factors lie at different parties (docs/spec/sirnn.md, section 3.2): all
//! that the building blocks do with correlated OTs is of this form, and all sums of one call travel
//! in the same 2 hops.
//!
//! A sum has a width and collects terms: what a party computes by itself, a shared bit times a
//! public number (B2A), a shared bit times a shared number (MUX), a number at one party times a
//! number at the other (CrossTerm). Whatever is multiplied
//! by `2^t` is needed modulo `2^(bits - t)` only, so terms shrink and vanish by themselves.

use std::borrow::Cow;

use tacit_algebra::ot::words;
use tacit_algebra::{BitRows, Bits};
use tacit_protocols::Error;

use crate::{Correlation, Engine, Shared};

/// The shape of a product: left factors are `[rows][groups][inner]`, right ones
/// `[groups][inner][cols]`; `[rows][groups][cols]` sums over `inner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub rows: usize,
    pub groups: usize,
    pub inner: usize,
    pub cols: usize,
}

impl Shape {
    /// The shape of `n` products element by element.
    pub fn elements(n: usize) -> Self {
        Shape {
            rows: 1,
            groups: n,
            inner: 1,
            cols: 1,
        }
    }

    /// The shape with the factors swapped.
    pub fn swapped(self) -> Self {
        Shape {
            rows: self.cols,
            cols: self.rows,
            ..self
        }
    }

    /// Elements of the left factor.
    pub fn left(self) -> usize {
        self.rows * self.groups * self.inner
    }

    /// Elements of the right factor.
    pub fn right(self) -> usize {
        self.groups * self.inner * self.cols
    }

    /// Elements of the product.
    pub fn out(self) -> usize {
        self.rows * self.groups * self.cols
    }

    pub fn dims(self) -> [usize; 4] {
        [self.rows, self.groups, self.inner, self.cols]
    }
}

/// `scale` times products of bits at the one party with numbers at the other: plane `i` of the
/// bits counts `2^i`, and is multiplied modulo `2^(bits - i)`.
struct Term<'a> {
    /// The party that knows the numbers.
    from: usize,
    bits: u32,
    planes: u32,
    shape: Shape,
    scale: u64,
    /// The numbers, at the party `from` that knows them.
    rows: Cow<'a, [u64]>,
    /// The planes of the bits, at the party that does not know the numbers.
    choices: Vec<Bits>,
}

/// One party's part of a sum modulo `2^bits`.
pub(crate) struct Sum<'a> {
    id: usize,
    /// Whether there is anything to compute, not only to count.
    works: bool,
    bits: u32,
    local: Vec<u64>,
    terms: Vec<Term<'a>>,
}

impl<'a> Sum<'a> {
    /// A sum of what the parties know by themselves.
    pub fn new(engine: &Engine, bits: u32, local: Vec<u64>) -> Self {
        Sum {
            id: engine.id(),
            works: !engine.counts(),
            bits,
            local,
            terms: Vec::new(),
        }
    }

    /// Bits in which a product matters that counts `scale`.
    fn room(&self, scale: u64) -> u32 {
        self.bits.saturating_sub(scale.trailing_zeros())
    }

    /// Adds `scale b` of shared bits: `b = b0 + b1 - 2 b0 b1`, so the product has a bit less.
    ///
    /// Per element 1 OT and 1 + `bits - t - 1` bits, where `2^t` divides `scale`; nothing if
    /// `bits - t` is 1 or less.
    pub fn bit(&mut self, b: &Bits, scale: u64) {
        let own = b.expand_ring::<u64>();
        words::add_scaled(&mut self.local, &own, scale);
        let (shape, twice) = (Shape::elements(own.len()), scale.wrapping_mul(2));
        self.term((0, shape), (1, twice.wrapping_neg()), own, || {
            vec![b.clone()]
        });
    }

    /// Adds `scale` times the product of shared bits, a left factor, with numbers that are the sum
    /// of those at the parties `holders`: `c x = c0 x0 + c1 (1 - 2 c0) x0 + ...`.
    ///
    /// Per bit and holder 1 OT and 1 + `cols (bits - t)` bits.
    pub fn select(&mut self, c: &Bits, x: &[u64], holders: [bool; 2], shape: Shape, scale: u64) {
        if self.room(scale) == 0 {
            return;
        }
        if holders[self.id] && self.works {
            let own = words::group_products(&c.expand_ring(), x, shape.dims());
            words::add_scaled(&mut self.local, &own, scale);
        }
        for from in (0..2).filter(|&from| holders[from]) {
            let rows = match from == self.id && self.works {
                true => words::negate_rows(c, x, shape.cols),
                false => Vec::new(),
            };
            self.term((from, shape), (1, scale), rows, || vec![c.clone()]);
        }
    }

    /// CrossTerm (SiRnn, Algorithm 4, appendix D1): adds the products of a left factor of `width`
    /// bits at each party that `choosers` names with the numbers at the other party, if `holders`
    /// names that.
    ///
    /// Per element of the left factor and bit `i` of it 1 OT and 1 + `cols (bits - i)` bits.
    pub fn cross(
        &mut self,
        (left, width, choosers): (&[u64], u32, [bool; 2]),
        (right, holders): (&'a [u64], [bool; 2]),
        shape: Shape,
    ) {
        for from in (0..2).filter(|&from| holders[from] && choosers[1 - from]) {
            let planes = width.min(self.bits);
            let rows = if from == self.id { right } else { &[] };
            self.term((from, shape), (planes, 1), rows, || {
                let all = BitRows::from_ring(left, planes);
                (0..planes as usize).map(|i| all.row_bits(i)).collect()
            });
        }
    }

    /// Adds a term, unless it vanishes.
    fn term(
        &mut self,
        (from, shape): (usize, Shape),
        (planes, scale): (u32, u64),
        rows: impl Into<Cow<'a, [u64]>>,
        choices: impl FnOnce() -> Vec<Bits>,
    ) {
        let bits = self.room(scale);
        if bits > 0 {
            self.terms.push(Term {
                from,
                bits,
                planes,
                shape,
                scale,
                rows: rows.into(),
                choices: match from == self.id || !self.works {
                    true => Vec::new(),
                    false => choices(),
                },
            });
        }
    }
}

impl Engine {
    /// The sums, all in the same 2 hops; without any where no term is left.
    pub(crate) fn sums(
        &mut self,
        step: &'static str,
        sums: Vec<Sum>,
    ) -> Result<Vec<Shared>, Error> {
        let none = Bits::default();
        // By direction: the correlations, and to which sum each is added how many times.
        let (mut jobs, mut uses) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for (at, sum) in sums.iter().enumerate() {
            for term in &sum.terms {
                let incoming = usize::from(term.from != self.id());
                for plane in 0..term.planes {
                    jobs[incoming].push(Correlation {
                        bits: term.bits - plane,
                        lanes: term.shape.cols,
                        fold: term.shape.inner,
                        n: term.shape.left(),
                        rows: &term.rows,
                        choices: term.choices.get(plane as usize).unwrap_or(&none),
                    });
                    uses[incoming].push((at, term.scale << plane));
                }
            }
        }
        let products = match (jobs.iter().all(Vec::is_empty), self.counts()) {
            (true, _) => Vec::new(),
            (false, false) => self.products(step, &jobs[0], &jobs[1])?,
            // A plane's products are as many as all results: zeros that nobody adds.
            (false, true) => {
                self.count_products(&jobs[0], &jobs[1]);
                Vec::new()
            }
        };
        let mut out: Vec<_> = sums.into_iter().map(|sum| (sum.bits, sum.local)).collect();
        for ((at, scale), product) in uses.iter().flatten().zip(products) {
            words::add_scaled(&mut out[*at].1, &product, *scale);
        }
        Ok(out.iter().map(|(bits, v)| Shared::new(*bits, v)).collect())
    }

    /// Computes one sum; see `sums` for several at a time.
    pub(crate) fn sum(&mut self, step: &'static str, sum: Sum) -> Result<Shared, Error> {
        Ok(self.sums(step, vec![sum])?.remove(0))
    }
}
