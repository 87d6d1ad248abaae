//! Truncation (SiRnn, Algorithm 2, section IV-B; docs/spec/sirnn.md, section 7). All results are
//! exact.
//!
//! A share is `x_b = u_b 2^s + v_b`. With the carry `c` of the low parts, the wrap `d` of the high
//! ones and `e` whether these add up to all ones, the wrap of the shares is `w = d ^ (c & e)`
//! (Lemma 1), and `x >> s = u0 + u1 + c - 2^(l-s) w`.
//!
//! Differs from the paper: the conversions of `c` and `w` to numbers are one step, and each takes
//! one bit less.

use tacit_algebra::BitRows;
use tacit_algebra::Bits;
use tacit_algebra::ot::words;
use tacit_protocols::Error;

use crate::compare::Question;
use crate::convert::Msb;
use crate::sum::Sum;
use crate::{Engine, Gate, Shared};

const TRUNCATE: &str = "sirnn: truncate";

/// The low `s` bits and the rest.
fn split(x: &Shared, s: u32) -> (Vec<u64>, Vec<u64>) {
    assert!(0 < s && s < x.bits, "a shift of {} bits by {s}", x.bits);
    let (low, high) = (0, x.bits - s);
    (
        words::field(&x.values, low, s),
        words::field(&x.values, s, high),
    )
}

impl Engine {
    /// LRS (SiRnn, Algorithm 2, section IV-B): `floor(x / 2^s)` of the unsigned `x`, in as many
    /// bits as before.
    ///
    /// Of an unknown sign: a wrap of the low `s` bits beside a wrap and equality of the high ones,
    /// an AND, and 2 hops of 2 OTs and `bits + s` bits. Of a known one MSB-to-Wrap stands for the
    /// high part, and there is no AND.
    pub fn shift_right_logical(&mut self, x: &Shared, s: u32, msb: &Msb) -> Result<Shared, Error> {
        if s == 0 {
            return Ok(x.clone());
        }
        let (low, high) = split(x, s);
        let (carry, wrap) = match msb {
            Msb::Unknown => self.carry_and_wrap(&low, &high, (s, x.bits - s))?,
            _ => {
                let carry = vec![Question::wrap(self, &low, s)];
                let (mut wraps, mut carries) = self.wraps_of(&[(x, msb)], carry)?;
                (carries.remove(0).less, wraps.remove(0))
            }
        };
        let mut sum = Sum::new(self, x.bits, high);
        sum.bit(&carry, 1);
        sum.bit(&wrap, (1u64 << (x.bits - s)).wrapping_neg());
        self.sum(TRUNCATE, sum)
    }

    /// The carry of the low parts and, by Lemma 1, the wrap of the whole.
    fn carry_and_wrap(
        &mut self,
        low: &[u64],
        high: &[u64],
        (s, rest): (u32, u32),
    ) -> Result<(Bits, Bits), Error> {
        let questions = [
            Question::wrap(self, low, s),
            Question::wrap_and_all_ones(self, high, rest),
        ];
        let (answers, _) = self.ask(&questions, &[])?;
        let (carry, top) = (&answers[0].less, &answers[1]);
        let mut ripple = self.ands("sirnn: carry", &[(&top.equal, &[carry])])?;
        Ok((carry.clone(), top.less.xor(&ripple[0].remove(0))))
    }

    /// ARS (SiRnn, section IV-B): `floor(x / 2^s)` of the signed `x`, in as many bits as before;
    /// `msb` is its sign. Costs [`Engine::shift_right_logical`], of the value shifted to be
    /// unsigned.
    pub fn shift_right_arithmetic(
        &mut self,
        x: &Shared,
        s: u32,
        msb: &Msb,
    ) -> Result<Shared, Error> {
        let half = 1u64 << (x.bits - 1);
        let shifted = self.add_public(x, half);
        let out = self.shift_right_logical(&shifted, s, &self.not_msb(msb))?;
        Ok(self.add_public(&out, (half >> s).wrapping_neg()))
    }

    /// TR (SiRnn, section IV-B): `floor(x / 2^s)` modulo `2^(bits - s)`, signed or not.
    ///
    /// A wrap of the low `s` bits and then 2 hops, of 1 OT and `bits - s` bits per element.
    pub fn truncate_reduce(&mut self, x: &Shared, s: u32) -> Result<Shared, Error> {
        if s == 0 {
            return Ok(x.clone());
        }
        let (low, high) = split(x, s);
        let carry = self.wrap(&low, s)?;
        let mut sum = Sum::new(self, x.bits - s, high);
        sum.bit(&carry, 1);
        self.sum(TRUNCATE, sum)
    }

    /// DivPow2 (SiRnn, appendix C2): the signed `x / 2^s`, rounded toward zero, in as many bits as
    /// before: the floor, and 1 more for a negative `x` whose low bits are not all 0.
    ///
    /// A wrap and a zero test of the low `s` bits beside a wrap and equality of the bits between
    /// them and the top one; an AND (1 hop); a gate of 3 OTs and 17 bits (2 hops); 2 hops of 3 OTs
    /// and `2 bits + s` bits. Differs from the paper: MSB-to-Wrap and the AND of sign and remainder
    /// are one gate, a hop and an OT less than apart.
    pub fn divide_pow2(&mut self, x: &Shared, s: u32) -> Result<Shared, Error> {
        if s == 0 {
            return Ok(x.clone());
        }
        let below = x.bits - 1 - s;
        let half = 1u64 << (x.bits - 1);
        let shifted = self.add_public(x, half);
        let (low, high) = split(&shifted, s);
        let middle = match below {
            0 => vec![0; low.len()],
            _ => words::field(&high, 0, below),
        };
        let questions = [
            Question::wrap(self, &low, s),
            Question::zero(self, &low, s),
            Question::wrap_and_all_ones(self, &middle, below),
        ];
        let (answers, _) = self.ask(&questions, &[])?;
        let (carry, zero, middle) = (&answers[0].less, &answers[1].equal, &answers[2]);
        let ripple = self.ands("sirnn: carry", &[(&middle.equal, &[carry])])?;
        let into_top = middle.less.xor(&ripple[0][0]);
        let top = words::bit(&shifted.values, x.bits - 1);
        let own = BitRows::from_rows(&[top, into_top, zero.clone()]).to_ring();
        let last = self.gates("sirnn: rounding", &[(&rounding(), &own)])?;
        let mut sum = Sum::new(self, x.bits, high);
        sum.bit(carry, 1);
        sum.bit(&words::bit(&last[0], 1), 1);
        sum.bit(
            &words::bit(&last[0], 0),
            (1u64 << (x.bits - s)).wrapping_neg(),
        );
        let out = self.sum(TRUNCATE, sum)?;
        Ok(self.add_public(&out, (half >> s).wrapping_neg()))
    }
}

/// Of the top bits of `x + 2^(l-1)`'s shares, the carry into them and whether the low part is 0
/// (the latter two shared): the wrap, and whether 1 is to be added.
fn rounding() -> Gate {
    Gate::xor(3, 2, |u0, u1| {
        let both = u0 ^ u1;
        let (odd, carry, zero) = (both & 1, both >> 1 & 1, both >> 2);
        let wrap = (u0 & u1 & 1) | (odd & carry);
        let negative = 1 ^ odd ^ carry;
        wrap | (negative & (zero ^ 1)) << 1
    })
}
