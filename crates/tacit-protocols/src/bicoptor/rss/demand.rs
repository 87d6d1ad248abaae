//! What each call consumes, and its making (Bicoptor 2.0, Algorithm 9, preprocessing;
//! docs/spec/bicoptor2.md, section 7).
//!
//! Differs from the paper: `sigma = s ^ t`, of a bit `s` of the assistant and a bit `t` of the
//! holders, needs no replicated product: the assistant deals `s` between the holders, who flip
//! their shares by `t` and replicate them: 3 elements instead of 4.

use std::collections::VecDeque;
use std::ops::Range;

use tacit_algebra::{Bits, Buffer, Ring};
use zeroize::Zeroize;

use super::{BicoptorRss, RssCost};
use crate::bicoptor::role::PartyRole;
use crate::bicoptor::truncate::{Mask, check_plan, deal_mask};
use crate::bicoptor::{Options, check_windows};
use crate::cost::not_native;
use crate::machine::Call;
use crate::material_queue::MaterialQueue;
use crate::message::Message;
use crate::replicated::{Rss, Words, blocks};
use crate::{Error, Truncation, pool};

const CHOICE: Message<Words> = Message::new("bicoptor sign: deal the assistant's bit");
const SIGMA: Message<Words> = Message::new("bicoptor sign: replicate the mask");
/// What stands for a sign's elements on the way, to choose how many are worked on at once.
const ROWS: usize = 32;

/// Material for one step of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// Signs of `n` elements.
    Sign { n: usize },
    /// Truncations of `n` elements by `trunc` bits under a mask.
    Truncate { n: usize, trunc: u32 },
}

/// What a sign consumes.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct Sign<R> {
    /// `t` at the holders, `s` at the assistant.
    pub flips: Bits,
    /// `s ^ t` over the ring.
    pub sigma: Rss<Buffer<R>>,
}

/// Material for one want.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) enum Material<R> {
    Sign(Sign<R>),
    Truncate(Mask<R>),
}

/// Prepared material in the order in which the plan's calls consume it.
pub(super) type Store<R> = MaterialQueue<Want, Material<R>>;

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

/// The wants of one call over the ring `R`, in the order in which it takes them. The exact sign needs no
/// material.
pub(super) fn wants_of<R: Ring>(call: &Call, options: &Options) -> Vec<Want> {
    let exact = |n, keys| options.exact::<R, _>(n, keys, RssCost::<R>::new).is_some();
    let sign = |n, keys| (!exact(n, keys)).then_some(Want::Sign { n });
    let truncate = |n, trunc| match (options.truncation, trunc) {
        (Truncation::SecureMl | Truncation::Gap, _) | (_, 0) => vec![],
        _ => vec![Want::Truncate { n, trunc }],
    };
    match *call {
        Call::Input { .. } | Call::Reveal { .. } | Call::Reusable { .. } | Call::Select { .. } => {
            vec![]
        }
        Call::Verify { .. } => vec![],
        Call::Product { map, trunc, .. } => truncate(map.outputs(), trunc),
        Call::Truncate { n, trunc, .. } => truncate(n, trunc),
        Call::Drelu { n, keys, .. } | Call::Relu { n, keys, .. } => {
            sign(n, keys).into_iter().collect()
        }
        Call::Maxpool {
            windows,
            size,
            keys,
            ..
        } => pool::levels(size)
            .filter_map(|(pairs, _)| sign(pairs * windows, keys))
            .collect(),
        Call::Function { .. } => not_native(call),
    }
}

impl<R: Ring> BicoptorRss<R> {
    /// Makes the material of `calls` and queues it in their order.
    /// 2 hops; per sign the assistant and each holder send 1 element, per truncation the assistant
    /// 2.
    pub(super) fn preprocess(&mut self, calls: &[Call]) -> Result<(), Error> {
        check_plan::<R>(calls)?;
        check_windows::<R>(calls, &self.options)?;
        let wants = calls
            .iter()
            .flat_map(|call| wants_of::<R>(call, &self.options));
        let wants: Vec<Want> = wants.collect();
        let signs = wants.iter().map(|want| match want {
            Want::Sign { n } => *n,
            Want::Truncate { .. } => 0,
        });
        let mut masks = VecDeque::new();
        for want in &wants {
            if let Want::Truncate { n, trunc } = *want {
                let (role, party) = (&mut self.role, &mut self.rss.party);
                let summand = role.random(n);
                masks.push_back(deal_mask(role, party, summand, trunc)?);
            }
        }
        let (flips, sigma) = self.sigma(signs.sum())?;
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

    /// `t` at the holders, `s` at the assistant; and `s ^ t = t + (1 - 2 t) s`, replicated
    /// (docs/spec/bicoptor2.md, section 7).
    /// 2 hops, which overlap: part by part what was dealt is replicated.
    fn sigma(&mut self, n: usize) -> Result<(Bits, Rss<Buffer<R>>), Error> {
        let secret = self.role.random_bits(n);
        let (flips, choices) = match &mut self.role {
            PartyRole::Holder { common, .. } => (common.bits(n), Buffer::default()),
            PartyRole::Assistant { .. } => {
                let choices = secret.words_of();
                (secret, choices)
            }
        };
        let mut begun = Vec::new();
        for part in blocks(n, ROWS) {
            let dealt = self.deal_choices(&choices, part.clone())?;
            let share = match self.role {
                PartyRole::Holder { .. } => {
                    let t = flips.slice(part.start, part.len());
                    dealt.flip(&t, self.role.carries())
                }
                PartyRole::Assistant { .. } => Buffer::default(),
            };
            begun.push(self.begin_replicate(SIGMA, part.len(), share)?);
        }
        let mut sigma = Vec::new();
        for begun in begun {
            sigma.push(self.finish_replicate(SIGMA, begun)?);
        }
        let sigma = Rss::concat(&sigma.iter().collect::<Vec<_>>());
        Ok((flips, sigma))
    }

    /// The holders' shares of part of the assistant's bits.
    fn deal_choices(
        &mut self,
        choices: &Buffer<R>,
        part: Range<usize>,
    ) -> Result<Buffer<R>, Error> {
        let values = match self.role {
            PartyRole::Holder { .. } => Buffer::default(),
            PartyRole::Assistant { .. } => choices.part(part.clone()),
        };
        self.role
            .deal(&mut self.rss.party, CHOICE, part.len(), values)
    }
}

fn part<R: Ring>(flips: &Bits, sigma: &Rss<Buffer<R>>, range: Range<usize>) -> Sign<R> {
    Sign {
        flips: flips.slice(range.start, range.len()),
        sigma: sigma.part(range).map(Buffer::detached),
    }
}
