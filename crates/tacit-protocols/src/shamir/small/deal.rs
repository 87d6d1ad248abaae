//! Dealings of shared bits (docs/spec/liu24.md, section 2.1): DoubleRand as `shamir/deal.rs` makes it, and a
//! party's own bits.

use tacit_algebra::BitRows;
use tacit_algebra::mersenne::Field;
use tacit_algebra::sliced::{Gf, Map, Sliced};
use zeroize::Zeroize;

use super::super::Shamir;
use super::super::params::Params;
use crate::Error;
use crate::message::Message;

const LOW: Message<BitRows> = Message::new("shamir deal bits: degree t");
const HIGH: Message<BitRows> = Message::new("shamir deal bits: degree 2t");

/// Words of all dealings that are worked on at once: so few that they stay in cache.
const BLOCK: usize = 1 << 15;

/// How one kind of dealing goes, as `shamir/deal.rs` has it over the large field.
pub(super) struct BitDealing {
    /// Receivers after the dealer whose shares are drawn.
    pub drawn: usize,
    /// The map from the given points, a prescribed secret first, to the dealer's own, those of the remaining receivers
    /// in order, and, where it is not prescribed, the secret.
    rest: Map,
}

impl BitDealing {
    pub fn new(params: &Params, gf: Gf, id: usize, drawn: usize, prescribed: bool) -> Self {
        let point = |by: usize| params.after(id, by) as u64 + 1;
        let mut from: Vec<u64> = (1..=drawn).map(point).collect();
        let others = drawn + 1..params.parties;
        let mut to: Vec<u64> = std::iter::once(0).chain(others).map(point).collect();
        match prescribed {
            true => from.insert(0, 0),
            false => to.push(0),
        }
        let rest = match params.counted {
            true => Map::counted(gf, to.len(), from.len()),
            false => Map::lagrange(gf, &from, &to),
        };
        BitDealing { drawn, rest }
    }
}

/// Random elements, each shared twice: `low` with degree `t`, `high` with degree `2t`.
#[derive(Zeroize)]
pub(in super::super) struct BitDouble {
    pub low: Sliced,
    pub high: Sliced,
}

/// Doubles to take from, value by value; what is taken is gone.
#[derive(Zeroize)]
pub(in super::super) enum BitDoubles {
    /// Doubles that were made before; `used` of them are gone.
    Drawn { all: BitDouble, used: usize },
    /// Made when they are taken, so many columns of each: where nothing is sent for it, which spares memory.
    Fresh { cols: usize },
}

impl BitDoubles {
    /// The elements of a range of every value of what was drawn and not used.
    pub fn columns(&self, range: std::ops::Range<usize>) -> BitDoubles {
        let BitDoubles::Drawn { all, used: 0 } = self else {
            unreachable!("what is kept was drawn")
        };
        let [low, high] = [&all.low, &all.high].map(|all| all.columns(range.clone()));
        BitDoubles::Drawn {
            all: BitDouble { low, high },
            used: 0,
        }
    }

    /// Shares of all that was drawn.
    #[cfg(test)]
    pub fn drawn(&self) -> &BitDouble {
        match self {
            BitDoubles::Drawn { all, .. } => all,
            BitDoubles::Fresh { .. } => unreachable!("what is kept was drawn"),
        }
    }
}

impl<F: Field> Shamir<F> {
    /// Doubles for `values` rows of `cols` products, for use at once.
    pub(super) fn bit_doubles(&mut self, values: usize, cols: usize) -> Result<BitDoubles, Error> {
        match self.small.low.drawn + 1 == self.params.parties {
            true => Ok(BitDoubles::Fresh { cols }),
            false => self.draw_bits(values, cols),
        }
    }

    /// The next doubles of a pool.
    pub(super) fn take_bits(
        &mut self,
        pool: &mut BitDoubles,
        values: usize,
    ) -> Result<BitDouble, Error> {
        match pool {
            BitDoubles::Fresh { cols } => {
                let BitDoubles::Drawn { all, .. } = self.draw_bits(values, *cols)? else {
                    unreachable!("drawn")
                };
                Ok(all)
            }
            BitDoubles::Drawn { all, used } => {
                let range = *used..*used + values;
                *used = range.end;
                let [low, high] = [&all.low, &all.high].map(|all| all.pick(range.clone()));
                Ok(BitDouble { low, high })
            }
        }
    }

    /// DoubleRand over the small field: `values` rows of `cols` random elements (docs/spec/liu24.md, section
    /// 2.1). At most 1 hop, none between 3 parties; `(n - 2 - t) / (n - t)` elements of each party.
    pub(in super::super) fn draw_bits(
        &mut self,
        values: usize,
        cols: usize,
    ) -> Result<BitDoubles, Error> {
        let small = self.small.clone();
        assert_eq!(small.extraction.rows(), self.params.kept());
        let width = if cols == 0 {
            0
        } else {
            self.params.width(values)
        };
        let row = self.params.parties * small.gf.bits() * cols.div_ceil(64).max(1);
        let step = self.params.at_once(BLOCK).div_ceil(row).max(1);
        let blocks = (0..width).step_by(step).map(|from| step.min(width - from));
        let blocks: Vec<usize> = blocks.collect();
        let mut own = Vec::with_capacity(blocks.len());
        for &block in &blocks {
            let mut low = self.deal_bits(&small.low, LOW, (block, cols), Vec::new())?;
            let secrets = low.pop().expect("the numbers follow the shares");
            let high = self.deal_bits(&small.high, HIGH, (block, cols), vec![secrets])?;
            own.push([low, high].map(|mut shares| shares.swap_remove(0)));
        }
        let all = width * small.extraction.rows();
        let [mut low, mut high] = [LOW, HIGH].map(|_| Sliced::zeros(small.gf, 0, cols));
        for (block, own) in blocks.into_iter().zip(own) {
            let shape = (block, cols);
            let dealings = self.all_dealings(LOW, small.low.drawn, shape, &own[0])?;
            small
                .extraction
                .append(&dealings.iter().collect::<Vec<_>>(), &mut low, all);
            let dealings = self.all_dealings(HIGH, small.high.drawn, shape, &own[1])?;
            small
                .extraction
                .append(&dealings.iter().collect::<Vec<_>>(), &mut high, all);
        }
        low.truncate(values);
        high.truncate(values);
        Ok(BitDoubles::Drawn {
            all: BitDouble { low, high },
            used: 0,
        })
    }

    /// Deals: draws what can be drawn, sends the rest. This party's own shares first, then those of the
    /// parties that were sent theirs, then, unless it was prescribed in `given`, the secret.
    pub(super) fn deal_bits(
        &mut self,
        dealing: &BitDealing,
        step: Message<BitRows>,
        (values, cols): (usize, usize),
        mut given: Vec<Sliced>,
    ) -> Result<Vec<Sliced>, Error> {
        let (id, gf) = (self.party.id(), self.small.gf);
        for i in 1..=dealing.drawn {
            let to = self.params.after(id, i);
            let planes = self.streams.give_planes(to, values * gf.bits(), cols);
            given.push(Sliced::new(gf, planes));
        }
        let rest = dealing.rest.apply(&given.iter().collect::<Vec<_>>());
        for i in dealing.drawn + 1..self.params.parties {
            let share = rest[i - dealing.drawn].planes();
            step.send(&mut self.party, self.params.after(id, i), share)?;
        }
        Ok(rest)
    }

    /// This party's share of a dealing of another.
    pub(super) fn receive_bits(
        &mut self,
        dealer: usize,
        step: Message<BitRows>,
        drawn: usize,
        (values, cols): (usize, usize),
    ) -> Result<Sliced, Error> {
        let place = self.params.before(self.party.id(), dealer);
        let rows = values * self.small.gf.bits();
        let planes = match place <= drawn {
            true => self.streams.take_planes(dealer, rows, cols),
            false => step.recv(&mut self.party, dealer, [rows, cols])?,
        };
        Ok(Sliced::new(self.small.gf, planes))
    }

    /// This party's shares of all dealings of a block.
    fn all_dealings(
        &mut self,
        step: Message<BitRows>,
        drawn: usize,
        shape: (usize, usize),
        own: &Sliced,
    ) -> Result<Vec<Sliced>, Error> {
        let (id, parties) = (self.party.id(), self.params.parties);
        let dealing = |dealer| match dealer == id {
            true => Ok(own.clone()),
            false => self.receive_bits(dealer, step, drawn, shape),
        };
        (0..parties).map(dealing).collect()
    }
}
