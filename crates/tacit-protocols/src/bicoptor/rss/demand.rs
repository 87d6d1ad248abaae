//! What each call consumes, and its making (spec section 7, Preprocessing).
//!
//! Differs from the paper: `sigma = s ^ t`, of a bit `s` of the assistant and a bit `t` of the
//! holders, needs no replicated product: the assistant deals `s` between the holders, who flip
//! their shares by `t` and replicate them: 3 elements instead of 4.

use std::collections::VecDeque;
use std::ops::Range;

use tacit_algebra::{Bits, Ring, falcon};

use super::BicoptorRss;
use crate::bicoptor::role::Role;
use crate::bicoptor::truncate::{Mask, check_plan, deal_mask};
use crate::machine::Call;
use crate::replicated::Rss;
use crate::{Error, Truncation, pool};

const CHOICE: &str = "bicoptor sign: deal the assistant's bit";
const SIGMA: &str = "bicoptor sign: replicate the mask";

/// Material for one step of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Signs of `n` elements.
    Sign { n: usize },
    /// Truncations of `n` elements by `trunc` bits under a mask.
    Truncate { n: usize, trunc: u32 },
}

/// What a sign consumes.
pub(super) struct Sign<R> {
    /// `t` at the holders, `s` at the assistant.
    pub flips: Bits,
    /// `s ^ t` over the ring.
    pub sigma: Rss<Vec<R>>,
}

/// Material for one want.
pub(super) enum Material<R> {
    Sign(Sign<R>),
    Truncate(Mask<R>),
}

/// Prepared material in the order in which the plan's calls consume it.
pub(super) type Store<R> = VecDeque<(Want, Material<R>)>;

impl Want {
    /// What is missing if it was not prepared.
    pub fn describe(self) -> String {
        match self {
            Want::Sign { n } => format!("the sign of {n} elements"),
            Want::Truncate { n, trunc } => {
                format!("the truncation of {n} elements by {trunc} bits")
            }
        }
    }
}

/// The wants of one call, in the order in which it takes them.
pub(super) fn wants_of(call: &Call, kind: Truncation) -> Vec<Want> {
    let truncate = |n, trunc| match (kind, trunc) {
        (Truncation::SecureMl, _) | (_, 0) => vec![],
        _ => vec![Want::Truncate { n, trunc }],
    };
    match *call {
        Call::Input { .. } | Call::Reveal { .. } | Call::Fix { .. } | Call::Select { .. } => vec![],
        Call::Product { map, trunc, .. } => truncate(map.outputs(), trunc),
        Call::Truncate { n, trunc } => truncate(n, trunc),
        Call::Drelu { n, .. } | Call::Relu { n, .. } => vec![Want::Sign { n }],
        Call::Maxpool { windows, size, .. } => pool::levels(size)
            .map(|(pairs, _)| Want::Sign { n: pairs * windows })
            .collect(),
    }
}

impl<R: Ring> BicoptorRss<R> {
    /// Makes the material of `calls` and queues it in their order.
    /// 2 hops; per sign the assistant and each holder send 1 element, per truncation the assistant
    /// 2.
    pub(super) fn preprocess(&mut self, calls: &[Call]) -> Result<(), Error> {
        check_plan::<R>(calls)?;
        let wants = calls
            .iter()
            .flat_map(|call| wants_of(call, self.options.truncation));
        let wants: Vec<Want> = wants.collect();
        let signs = wants.iter().map(|want| match want {
            Want::Sign { n } => *n,
            Want::Truncate { .. } => 0,
        });
        let mut masks = VecDeque::new();
        let (flips, dealt) = self.deal_choices(signs.sum())?;
        for want in &wants {
            if let Want::Truncate { n, trunc } = *want {
                let (role, party) = (&mut self.role, &mut self.rss.party);
                let summand = role.random(n);
                masks.push_back(deal_mask(role, party, summand, trunc)?);
            }
        }
        let sigma = self.sigma(&flips, dealt)?;
        let mut start = 0;
        for want in wants {
            let material = match want {
                Want::Sign { n } => {
                    start += n;
                    Material::Sign(part(&flips, &sigma, start - n..start))
                }
                Want::Truncate { .. } => {
                    Material::Truncate(masks.pop_front().expect("one for each want"))
                }
            };
            self.store.push_back((want, material));
        }
        Ok(())
    }

    /// `t` at the holders, `s` at the assistant, and the holders' shares of `s`.
    fn deal_choices(&mut self, n: usize) -> Result<(Bits, Vec<R>), Error> {
        let secret = self.role.random_bits(n);
        let (flips, values) = match &mut self.role {
            Role::Holder { common, .. } => (common.bits(n), Vec::new()),
            Role::Assistant { .. } => {
                let values = secret.expand_ring();
                (secret, values)
            }
        };
        if n == 0 {
            return Ok((flips, Vec::new()));
        }
        let dealt = self.role.deal(&mut self.rss.party, CHOICE, n, values)?;
        Ok((flips, dealt))
    }

    /// `t + (1 - 2 t) s`, replicated.
    fn sigma(&mut self, flips: &Bits, dealt: Vec<R>) -> Result<Rss<Vec<R>>, Error> {
        let n = flips.len();
        if n == 0 {
            return Ok(Rss::default());
        }
        let share = match self.role {
            Role::Holder { .. } => falcon::flip_ring(&dealt, flips, self.role.carries()),
            Role::Assistant { .. } => Vec::new(),
        };
        self.replicate(SIGMA, n, share)
    }
}

fn part<R: Ring>(flips: &Bits, sigma: &Rss<Vec<R>>, range: Range<usize>) -> Sign<R> {
    Sign {
        flips: flips.slice(range.start, range.len()),
        sigma: sigma.map(|component| component[range.clone()].to_vec()),
    }
}
