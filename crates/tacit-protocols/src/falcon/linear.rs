//! Linear layers. The summands of a product either become a replicated sharing (1 hop, 1 element
//! per party) or, where a truncation follows, are masked by its `r` and opened at once (1 hop,
//! 2 elements per party): see `truncate.rs`.

use tacit_algebra::{Buffer, Ring};

use super::Falcon;
use crate::Error;
use crate::bilinear::Bilinear;
use crate::machine::Operand;
use crate::message::Message;
use crate::replicated::{Rss, Words};

pub(super) const MULTIPLY: Message<Words> = Message::new("falcon multiply");

impl<R: Ring> Falcon<R> {
    /// `(x * w + bias) >> trunc` for any bilinear product (Falcon, Mult, section 3.2).
    ///
    /// Secret `w`: 1 hop; every party sends 1 element per output; then a truncation, unless `trunc` is 0.
    /// Truncations by masks are merged with it: 1 hop, 2 elements. Malicious: a sum that is opened at once
    /// could not be verified first, so they take a hop more; without masks see `malicious/wraps.rs`.
    /// Public `w`: local, then a truncation.
    pub(super) fn product(
        &mut self,
        x: &Rss<Buffer<R>>,
        w: &Operand<Rss<Buffer<R>>>,
        bias: Option<&Operand<Rss<Buffer<R>>>>,
        map: &Bilinear,
        trunc: u32,
    ) -> Result<Rss<Buffer<R>>, Error> {
        match w {
            Operand::Public(values) => {
                let z = self.rss.product_public(map, x, values, bias)?;
                match trunc {
                    0 => Ok(z),
                    trunc => self.truncate_shared(z, trunc),
                }
            }
            Operand::Secret(w) => {
                if let Some(checks) = &mut self.checks {
                    let z = checks.product(&mut self.rss, MULTIPLY, map, [x, w], bias)?;
                    return match trunc {
                        0 => Ok(z),
                        trunc => self.truncate_shared(z, trunc),
                    };
                }
                let z = self.rss.product_sum(map, x, w, bias)?;
                match trunc {
                    0 => self.rss.reshare::<Words<R>>(MULTIPLY, z),
                    trunc => self.truncate_sum(z, trunc),
                }
            }
        }
    }
}
