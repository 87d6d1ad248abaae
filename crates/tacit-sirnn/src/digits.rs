//! Digits of shared numbers, and the most significant bit that is not 0 (SiRnn, Algorithm 6 and
//! appendix F, section IV-D; docs/spec/sirnn.md, section 9).

use tacit_algebra::Bits;
use tacit_algebra::ot::words;
use tacit_protocols::Error;

use crate::compare::Question;
use crate::sum::{Shape, Sum};
use crate::{Engine, Gate, Shared};

/// Bits of the digits in which the most significant bit is looked up, at most.
const DIGIT: u32 = 6;

/// The width of digits that are at most `most` bits wide, and as few and as equal as they can be.
pub(crate) fn digit_bits(bits: u32, most: u32) -> u32 {
    bits.div_ceil(bits.div_ceil(most))
}

/// `ceil(log2 bits)`, and 1 for one bit: the width of a bit's index.
pub fn index_bits(bits: u32) -> u32 {
    bits.next_power_of_two().ilog2().max(1)
}

impl Engine {
    /// DigDec (SiRnn, Algorithm 6, appendix E): the digits of `d` bits, the least significant one
    /// first, the last perhaps shorter.
    ///
    /// Of `c` digits: a wrap of each but the last, with equality of all but the first, in one
    /// batch; `c - 2` ANDs one after the other, 1 hop each; 2 hops of `c - 1` OTs and `d` bits
    /// each. Differs from the paper: digit 0 has no carry to pass on, so its equality and one AND
    /// are spared, and carries are converted with a bit less.
    pub fn digits(&mut self, x: &Shared, d: u32) -> Result<Vec<Shared>, Error> {
        let parts: Vec<_> = (0..x.bits)
            .step_by(d as usize)
            .map(|from| {
                let bits = d.min(x.bits - from);
                let values = words::field(&x.values, from, bits);
                Shared { bits, values }
            })
            .collect();
        let carries = self.carries(&parts[..parts.len() - 1])?;
        let mut sums = Vec::with_capacity(parts.len());
        for (i, part) in parts.into_iter().enumerate() {
            let mut sum = Sum::new(self, part.bits, part.values);
            if i > 0 {
                sum.bit(&carries[i - 1], 1);
            }
            sums.push(sum);
        }
        self.sums("sirnn: digits", sums)
    }

    /// The carries out of digits: `w_i ^ (e_i & K_i)`, Lemma 1 again and again.
    fn carries(&mut self, digits: &[Shared]) -> Result<Vec<Bits>, Error> {
        let questions: Vec<_> = digits
            .iter()
            .enumerate()
            .map(|(i, digit)| match i {
                0 => Question::wrap(self, &digit.values, digit.bits),
                _ => Question::wrap_and_all_ones(self, &digit.values, digit.bits),
            })
            .collect();
        let (answers, _) = self.ask(&questions, &[])?;
        let mut carries: Vec<Bits> = Vec::with_capacity(answers.len());
        for answer in answers {
            let carry = match carries.last() {
                None => answer.less,
                Some(carry) => {
                    let ripple = self.ands("sirnn: carry", &[(&answer.equal, &[carry])])?;
                    answer.less.xor(&ripple[0][0])
                }
            };
            carries.push(carry);
        }
        Ok(carries)
    }

    /// MSNZB (SiRnn, appendix F): the index of the most significant bit of `x` that is 1, and 0 for
    /// `x` = 0; modulo `2^b` with `b =` [`index_bits`]`(x.bits)`.
    ///
    /// [`Engine::digits`] of at most 6 bits `d`; a look-up of each digit's top bit and, but of digit 0,
    /// of whether it is 0, in one message of `(2^d - 1) (b + 1)` bits (2 hops); for `c` digits
    /// `c - 2` ANDs one after the other; the choice of a digit's index, 2 OTs and `2 b + 2` bits each
    /// (2 hops). Differs from the paper: digits are shorter, since its look-ups are most of the bits;
    /// the flag of digit 0 is not looked up, and digits' indices have their full width at once. Every
    /// output of every look-up has its own mask.
    pub fn msnzb_index(&mut self, x: &Shared) -> Result<Shared, Error> {
        self.msnzb_index_or(x, index_bits(x.bits), 0)
    }

    /// The index of the most significant bit of `x` that is 1, modulo `2^bits`, and `zero` for `x` = 0.
    /// Costs [`Engine::msnzb_index`], with `bits` in place of that one's width.
    pub fn msnzb_index_or(&mut self, x: &Shared, bits: u32, zero: u64) -> Result<Shared, Error> {
        let width = digit_bits(x.bits, DIGIT);
        let digits = self.digits(x, width)?;
        let gates: Vec<_> = (0..x.bits)
            .step_by(width as usize)
            .zip(&digits)
            .map(|(from, digit)| top_bit(digit.bits, from, bits, zero))
            .collect();
        let asked: Vec<_> = gates
            .iter()
            .zip(&digits)
            .map(|(gate, digit)| (gate, digit.values.as_slice()))
            .collect();
        let found = self.gates("sirnn: top bits", &asked)?;
        if let [only] = &found[..] {
            return Ok(Shared::new(bits, only));
        }
        let zero: Vec<_> = found.iter().map(|found| words::bit(found, bits)).collect();
        let mut sum = Sum::new(self, bits, vec![0; x.len()]);
        let shape = Shape::elements(x.len());
        for (first, found) in self.first_nonzero(&zero)?.iter().zip(&found) {
            sum.select(first, found, [true; 2], shape, 1);
        }
        self.sum("sirnn: top bit", sum)
    }

    /// For each digit, from the flags of all that are 0 (that of digit 0 is not looked at): whether
    /// it is the top one that is not 0. If all others are 0 it is digit 0.
    fn first_nonzero(&mut self, zero: &[Bits]) -> Result<Vec<Bits>, Error> {
        let top = zero.len() - 1;
        // Whether all digits from one on are 0.
        let mut rest = zero[top].clone();
        let mut first = vec![self.not(&rest)];
        for zero in zero[1..top].iter().rev() {
            let all = self.ands("sirnn: zeros", &[(zero, &[&rest])])?;
            first.push(rest.xor(&all[0][0]));
            rest = all.into_iter().flatten().next().unwrap_or_default();
        }
        first.push(rest);
        first.reverse();
        Ok(first)
    }

    /// MSNZB as the paper has it: bit `i` of the result, of `x.bits` ones, is whether the most
    /// significant bit of `x` that is 1 is bit `i`. For `x` = 0 it is bit 0.
    ///
    /// [`Engine::msnzb_index`] and a look-up, 2 hops. What only serves to be looked up or added is
    /// cheaper by a look-up of its own at the index.
    pub fn msnzb(&mut self, x: &Shared) -> Result<Vec<Bits>, Error> {
        let index = self.msnzb_index(x)?;
        let table: Vec<u64> = (0..1u32 << index.bits)
            .map(|i| if i < x.bits { 1 << i } else { 0 })
            .collect();
        let gate = Gate::lookup_xor(index.bits, x.bits, &table);
        let found = self.gates("sirnn: one hot", &[(&gate, &index.values)])?;
        Ok((0..x.bits).map(|i| words::bit(&found[0], i)).collect())
    }
}

/// The look-up of a digit of `width` bits whose lowest is bit `from`: the index of its top bit,
/// `bits` wide, and whether the digit is 0, unless that is digit 0, of which 0 has the index `zero`.
fn top_bit(width: u32, from: u32, bits: u32, zero: u64) -> Gate {
    let digits = 0..1u64 << width;
    let index = |v: u64| v.checked_ilog2().map_or(zero, |top| u64::from(from + top));
    let index: Vec<u64> = digits.clone().map(index).collect();
    if from == 0 {
        return Gate::lookups(width, &[(bits, &index)]);
    }
    let zero: Vec<u64> = digits.map(|v| u64::from(v == 0)).collect();
    Gate::lookups(width, &[(bits, &index), (1, &zero)])
}
