//! Selection and ReLU by the paper's comparison (Falcon, Algorithm 3, sections 3.2 and 3.5; docs/spec/falcon.md, sections 2
//! and 4.3).
//!
//! Differs from the paper: Algorithm 3 selects the wrong operand (docs/spec/falcon.md, section 9,
//! item 4); the bit that the selection opens is opened together with wrap3's masked value, one hop
//! less.

use tacit_algebra::{Bits, Buffer, Ring};

use super::Falcon;
use super::compare::difference;
use super::material::{self, SelectBatch, View};
use crate::Error;
use crate::message::Message;
use crate::replicated::{Booleans, Rss, Words, flip_word};

const OPEN_CHOICE: Message<Booleans> = Message::new("falcon select: open masked bit");
pub(super) const SELECT: Message<Words> = Message::new("falcon select: multiply");

impl<R: Ring> Falcon<R> {
    /// `x` where `bit` is 0, `y` where it is 1 (Falcon, Select Shares, section 3.2): with a random
    /// bit `c` shared over Z_2 and Z_L, `e = Open(bit ^ c)` makes `d = e ? 1 - c : c` the bit over
    /// Z_L, and `z = x + (y - x) d`.
    /// 2 hops; every party sends 1 bit and 1 element.
    pub(super) fn select_shares(
        &mut self,
        bit: &Rss<Bits>,
        x: &Rss<Buffer<R>>,
        y: &Rss<Buffer<R>>,
    ) -> Result<Rss<Buffer<R>>, Error> {
        let view = self.take_select(x.own.len())?;
        let masked = bit.zip(&view.bits(&view.batch.bit), Bits::xor);
        let e = self.open::<Booleans>(OPEN_CHOICE, &masked)?;
        let d = flip_word(
            &view.slice(&view.batch.word),
            &e,
            self.rss.constant_component(),
        );
        let z = self.choose(difference(y, x), d)?;
        Ok(x.zip(&z, Buffer::add))
    }

    /// `max(a, 0)`: the sign times `a` (Falcon, Algorithm 3, section 3.5).
    /// `2 + ceil(log2 l)` hops; every party sends what a sign sends, 1 bit and 1 element.
    pub(super) fn sign_times(&mut self, a: &Rss<Buffer<R>>) -> Result<Rss<Buffer<R>>, Error> {
        let view = self.take_select(a.own.len())?;
        let (sign, masked) = self.sign(a, Some((OPEN_CHOICE, &view.bits(&view.batch.bit))))?;
        let mut e = sign.public;
        e.xor_assign(&masked.expect("the masked sign was asked for"));
        let d = flip_word(
            &view.slice(&view.batch.word),
            &e,
            self.rss.constant_component(),
        );
        self.choose(a.clone(), d)
    }

    /// `x` where the bit `d` is 1, else 0.
    fn choose(&mut self, x: Rss<Buffer<R>>, d: Rss<Buffer<R>>) -> Result<Rss<Buffer<R>>, Error> {
        self.waits(x.own.len());
        self.multiply::<Words<R>>(SELECT, x, d)
    }

    fn take_select(&mut self, n: usize) -> Result<View<SelectBatch<R>>, Error> {
        material::take(&mut self.store.selects, n).ok_or_else(|| Error::NotPrepared {
            call: format!("a selection of {n} elements"),
        })
    }
}
