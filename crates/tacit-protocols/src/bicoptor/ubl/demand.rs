//! What each call consumes, and its making: triples and masks, dealt by the assistant.
//!
//! The holders' shares of `a`, `b` and of what masks the result are drawn from the generators in
//! common with the assistant; party 1 is sent what the draws cannot give. So the offline phase is
//! one hop, from the assistant to party 1.

use tacit_algebra::{Buffer, Ring};
use zeroize::Zeroize;

use super::adder::{Bit, Sign};
use super::{Ubl, UblCost};
use crate::bicoptor::role::PartyRole;
use crate::bicoptor::truncate::{Mask, check_plan, deal_mask};
use crate::bicoptor::{Options, check_windows};
use crate::cost::not_native;
use crate::machine::{Bilinear, Call};
use crate::material_queue::MaterialQueue;
use crate::message::Message;
use crate::replicated::Words;
use crate::{Error, Truncation, pool};

const TRIPLE: Message<Words> = Message::new("bicoptor triple: deal product");

/// Material for one step of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    /// A product, truncated under a mask unless `trunc` is 0; `reused` is the number of its right operand, if that is
    /// reusable.
    Product {
        map: Bilinear,
        reused: Option<usize>,
        trunc: u32,
    },
    /// A truncation of `n` elements under a mask.
    Truncate { n: usize, trunc: u32 },
    /// A ReLU of `n` elements by key bits.
    Relu { n: usize },
    /// Signs of `n` elements of `width` bits.
    Sign { n: usize, width: u32 },
    /// `n` bits as ring elements.
    Bit { n: usize },
    /// `n` bits times ring elements.
    Times { n: usize },
}

/// A multiplication triple.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) struct Triple<R> {
    /// A holder's share of the mask of the left operand.
    pub a: Buffer<R>,
    /// A holder's share of the mask of the right operand, unless that is reusable. For a ReLU the
    /// assistant keeps the whole mask here.
    pub b: Buffer<R>,
    /// A share of the product of the masks, unless the truncation's mask stands for it.
    pub c: Buffer<R>,
    pub mask: Option<Mask<R>>,
}

/// Material for one want.
#[derive(Zeroize)]
#[zeroize(bound = "R: bytemuck::Pod")]
pub(super) enum Material<R> {
    Triple(Triple<R>),
    Truncate(Mask<R>),
    Sign(Vec<Sign>),
    Bit(Bit<R>),
}

/// Prepared material in the order in which the plan's calls consume it.
pub(super) type Store<R> = MaterialQueue<Want, Material<R>>;

impl Want {
    /// What is missing if it was not prepared.
    pub fn describe(self) -> String {
        match self {
            Want::Product { map, trunc, .. } => {
                format!(
                    "a product of {} outputs, {trunc} bits truncated",
                    map.outputs()
                )
            }
            Want::Truncate { n, trunc } => {
                format!("the truncation of {n} elements by {trunc} bits")
            }
            Want::Relu { n } => format!("the ReLU of {n} elements"),
            Want::Sign { n, width } => format!("the sign of {n} elements of {width} bits"),
            Want::Bit { n } => format!("bits of {n} elements over the ring"),
            Want::Times { n } => format!("products with bits of {n} elements"),
        }
    }
}

/// The wants of one call over the ring `R`, in the order in which it takes them.
pub(super) fn wants_of<R: Ring>(call: &Call, options: &Options) -> Vec<Want> {
    let exact = |n, keys| options.exact::<R, _>(n, keys, UblCost::<R>::new);
    let relu = |n, keys| match exact(n, keys) {
        Some(width) => vec![Want::Sign { n, width }, Want::Times { n }],
        None => vec![Want::Relu { n }],
    };
    let masked = |trunc| match options.truncation {
        Truncation::SecureMl => 0,
        _ => trunc,
    };
    match *call {
        Call::Input { .. } | Call::Reveal { .. } | Call::Reusable { .. } => vec![],
        Call::Verify { .. } => vec![],
        Call::Drelu { n, keys, .. } => match exact(n, keys) {
            Some(width) => vec![Want::Sign { n, width }, Want::Bit { n }],
            None => vec![],
        },
        Call::Product {
            map, reused, trunc, ..
        } => vec![Want::Product {
            map,
            reused,
            trunc: masked(trunc),
        }],
        Call::Truncate { n, trunc, .. } => match masked(trunc) {
            0 => vec![],
            trunc => vec![Want::Truncate { n, trunc }],
        },
        Call::Select { n, .. } => vec![Want::Product {
            map: Bilinear::Elementwise(n),
            reused: None,
            trunc: 0,
        }],
        Call::Relu { n, keys, .. } => relu(n, keys),
        Call::Maxpool {
            windows,
            size,
            keys,
            ..
        } => pool::levels(size)
            .flat_map(|(pairs, _)| relu(pairs * windows, keys))
            .collect(),
        Call::Function { .. } => not_native(call),
    }
}

impl<R: Ring> Ubl<R> {
    /// Makes the material of `calls` and queues it in their order.
    pub(super) fn preprocess(&mut self, calls: &[Call]) -> Result<(), Error> {
        check_plan::<R>(calls)?;
        check_windows::<R>(calls, &self.options)?;
        self.check_reused(calls)?;
        let options = self.options;
        for want in calls.iter().flat_map(|call| wants_of::<R>(call, &options)) {
            let material = match want {
                Want::Product { map, reused, trunc } => self.triple(&map, reused, trunc)?,
                Want::Truncate { n, trunc } => {
                    let summand = self.role.random(n);
                    let mask = deal_mask(&mut self.role, &mut self.party, summand, trunc)?;
                    Material::Truncate(mask)
                }
                Want::Relu { n } => self.triple(&Bilinear::Elementwise(n), None, 0)?,
                Want::Sign { n, width } => Material::Sign(self.deal_signs(n, width)?),
                Want::Bit { n } => Material::Bit(self.deal_bits(n, false)?),
                Want::Times { n } => Material::Bit(self.deal_bits(n, true)?),
            };
            self.store.push_back((want, material));
        }
        Ok(())
    }

    /// Refuses a plan with a right operand that was not made reusable or that is of another size, at every
    /// party alike.
    fn check_reused(&self, calls: &[Call]) -> Result<(), Error> {
        for call in calls {
            if let Call::Product {
                map,
                reused: Some(id),
                ..
            } = call
            {
                let Some(operand) = self.reusable.get(*id) else {
                    let call = format!("a product with operand {id}, which was not made reusable,");
                    return Err(Error::NotPrepared { call });
                };
                map.check(map.left(), operand.known.len(), None)?;
            }
        }
        Ok(())
    }

    /// A triple for one product (Bicoptor 2.0, Algorithm 8, preprocessing). The assistant computes
    /// `a * b` and sends party 1 its share of it, `n` elements; where a truncation follows, `c` and
    /// the truncation's `r` only ever occur as their sum, which is drawn, and what is sent is what
    /// [`deal_mask`] sends for that `r`.
    fn triple(
        &mut self,
        map: &Bilinear,
        reused: Option<usize>,
        trunc: u32,
    ) -> Result<Material<R>, Error> {
        let a = self.role.random(map.left());
        let b = match reused {
            Some(_) => Buffer::default(),
            None => self.role.random(map.right()),
        };
        let product = self.product_of_masks(map, &a, &b, reused);
        let n = map.outputs();
        let (c, mask) = match trunc {
            0 => (self.role.deal(&mut self.party, TRIPLE, n, product)?, None),
            trunc => {
                let mut sum = self.role.random(n);
                if let PartyRole::Assistant { .. } = self.role {
                    sum.sub_assign(&product);
                }
                let mask = deal_mask(&mut self.role, &mut self.party, sum, trunc)?;
                (Buffer::default(), Some(mask))
            }
        };
        Ok(Material::Triple(match self.role {
            PartyRole::Holder { .. } => Triple { a, b, c, mask },
            PartyRole::Assistant { .. } => Triple {
                a: Buffer::default(),
                b,
                c: Buffer::default(),
                mask: None,
            },
        }))
    }

    /// `a * b` at the assistant, nothing at the holders.
    fn product_of_masks(
        &self,
        map: &Bilinear,
        a: &Buffer<R>,
        b: &Buffer<R>,
        reused: Option<usize>,
    ) -> Buffer<R> {
        if let PartyRole::Holder { .. } = self.role {
            return Buffer::default();
        }
        let b = match reused {
            None => b,
            Some(id) => &self.reusable[id].known,
        };
        let mut product = Buffer::zeros(map.outputs());
        map.add_product(&mut product, a, b);
        product
    }
}
