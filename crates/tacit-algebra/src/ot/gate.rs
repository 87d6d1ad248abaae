//! 1-of-2^m OT that carries a public function of both sides' numbers.
//!
//! A random one has a block `q` at its sender and a random index `b` and `t = q ^ offset[b]` at its
//! receiver, with the same offsets, linear in the index, for all of a direction. The pad of message
//! `p` is the hash of `q ^ offset[p]`, and the receiver has that of `b`. It sends `d = b ^ own`; the
//! value for its number `v` travels as message `v ^ d`. Message 0 is not sent: the sender's share is
//! such that it would be 0.
//!
//! Where there are correlated OTs only, `m` of them with one `delta` make such an OT, see
//! [`combined`].

use rayon::prelude::*;

mod packed;
#[cfg(test)]
mod tests;
mod wide;

use super::pack::packed_len;
use super::{Block, Code, Hash, Transfers};
use crate::Bits;
use crate::isa::{self, Isa};
use crate::wipe;

/// Instances whose messages are made at once: whatever the width they are whole bytes.
const STRIP: usize = 64;

/// A public function of two numbers below `2^index_bits`, one at each side.
pub struct Table {
    index_bits: u32,
    output_bits: u32,
    /// The top bit of every field of the output: shares are added field by field, and fields of
    /// one bit are shared by xor.
    tops: u64,
    /// How the row of a side's number is found in `rows`.
    layout: RowLayout,
    /// The table's rows as each of the two sides reads them.
    rows: [Vec<u64>; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowLayout {
    /// Row `u` is the numbers from `u 2^m` on.
    Any,
    /// Row `u` is the one row rotated by `u`.
    Rotated,
    /// Row `u` is word `u`, see [`packed`].
    Packed,
}

impl Table {
    /// `f(u0, u1)`, shared by xor or as a sum modulo `2^output_bits`.
    pub fn new(index_bits: u32, output_bits: u32, xor: bool, f: impl Fn(u64, u64) -> u64) -> Self {
        assert!((1..=4).contains(&index_bits), "{index_bits} index bits");
        let size = 1 << index_bits;
        let rows = |value: &dyn Fn(u64, u64) -> u64| -> Vec<u64> {
            let all = (0..size).flat_map(|own| (0..size).map(move |other| (own, other)));
            all.map(|(own, other)| value(own, other)).collect()
        };
        let rows = [
            rows(&|own, other| f(own, other)),
            rows(&|own, other| f(other, own)),
        ];
        let table = Table::made(index_bits, &fields(output_bits, xor), RowLayout::Any, rows);
        match xor && output_bits << index_bits <= u64::BITS {
            true => table.packed(),
            false => table,
        }
    }

    /// `table[(u0 + u1) mod 2^index_bits]`, shared by xor or as a sum modulo `2^output_bits`.
    pub fn lookup(index_bits: u32, output_bits: u32, xor: bool, table: &[u64]) -> Self {
        Table::rotated(index_bits, &fields(output_bits, xor), table.to_vec())
    }

    /// Several tables looked up at one index: each has its width and is shared as a sum; the first
    /// is in the lowest bits of the output.
    pub fn lookups(index_bits: u32, tables: &[(u32, &[u64])]) -> Self {
        let (mut row, mut at) = (vec![0; 1 << index_bits], 0);
        for (bits, table) in tables {
            assert_eq!(table.len(), row.len());
            for (entry, value) in row.iter_mut().zip(*table) {
                assert!(
                    value.checked_shr(*bits).unwrap_or(0) == 0,
                    "more than {bits} bits"
                );
                *entry |= value << at;
            }
            at += bits;
        }
        let widths: Vec<_> = tables.iter().map(|(bits, _)| *bits).collect();
        Table::rotated(index_bits, &widths, row)
    }

    fn rotated(index_bits: u32, widths: &[u32], row: Vec<u64>) -> Self {
        assert!((1..=8).contains(&index_bits), "{index_bits} index bits");
        assert_eq!(row.len(), 1 << index_bits);
        Table::made(index_bits, widths, RowLayout::Rotated, [row.clone(), row])
    }

    fn made(index_bits: u32, widths: &[u32], layout: RowLayout, rows: [Vec<u64>; 2]) -> Self {
        let (mut output_bits, mut tops) = (0, 0);
        for width in widths {
            output_bits += width;
            assert!((1..=64).contains(&output_bits), "{output_bits} output bits");
            tops |= 1 << (output_bits - 1);
        }
        let wide = |v: &u64| output_bits < 64 && v >> output_bits != 0;
        assert!(
            !rows[0].iter().any(wide),
            "a value of more than {output_bits} bits"
        );
        Table {
            index_bits,
            output_bits,
            tops,
            layout,
            rows,
        }
    }

    /// Bits of either side's number.
    pub fn index_bits(&self) -> u32 {
        self.index_bits
    }

    /// Bits of the shares of the result.
    pub fn output_bits(&self) -> u32 {
        self.output_bits
    }

    /// Messages that are sent of an instance.
    fn messages(&self) -> usize {
        (1 << self.index_bits) - 1
    }

    /// Bytes of the messages of `n` instances.
    pub fn wire_len(&self, n: usize) -> usize {
        packed_len(n * self.messages(), self.output_bits)
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.output_bits)
    }
}

/// The widths of the output's fields: of shares by xor every bit is one.
fn fields(output_bits: u32, xor: bool) -> Vec<u32> {
    match xor {
        true => vec![1; output_bits as usize],
        false => vec![output_bits],
    }
}

/// `a + b` field by field; `tops` has each field's top bit.
#[inline(always)]
fn add_fields(a: u64, b: u64, tops: u64) -> u64 {
    (a & !tops).wrapping_add(b & !tops) ^ ((a ^ b) & tops)
}

/// `a - b` field by field.
#[inline(always)]
fn sub_fields(a: u64, b: u64, tops: u64) -> u64 {
    (a | tops).wrapping_sub(b & !tops) ^ ((a ^ !b) & tops)
}

/// `x a` in GF(2^128) with `a^128 = a^7 + a^2 + a + 1`.
#[inline(always)]
fn times_a(x: Block) -> Block {
    let carry = (x >> 127).wrapping_neg();
    (x << 1) ^ (0x87 & carry)
}

/// The blocks of 1-of-2^m OTs out of those of `m` correlated OTs each: `sum a^i q_i` over GF(2^128),
/// `a` its generator, whose offsets are [`Offsets::combined`].
pub fn combined(blocks: &[Block], index_bits: u32) -> Vec<Block> {
    let m = index_bits as usize;
    crate::fresh::build(blocks.len() / m, |s, out| {
        for (out, blocks) in out.iter_mut().zip(blocks[s * m..].chunks_exact(m)) {
            let rest = blocks.iter().rev();
            *out = rest.fold(0, |sum, block| times_a(sum) ^ block);
        }
    })
}

/// What relates the block of an index to that of index 0, by index. Secret.
pub struct Offsets(Vec<Block>);

impl Offsets {
    /// The offsets of a code over trees of `depth` secret bits each.
    pub fn of_code(code: &Code, depth: u32, secrets: &[u64]) -> Self {
        wipe::after(|| Offsets(code.offsets(depth, secrets)))
    }

    /// The offsets of [`combined`] OTs with this `delta`: `p(a) delta`.
    pub fn combined(delta: Block, index_bits: u32) -> Self {
        wipe::after(|| {
            let mut powers = [delta; 8];
            for i in 1..8 {
                powers[i] = times_a(powers[i - 1]);
            }
            let of = |p: u32| {
                (0..8).fold(0, |sum, i| {
                    sum ^ powers[i] & ((p as u128 >> i & 1).wrapping_neg())
                })
            };
            Offsets((0..1 << index_bits).map(of).collect())
        })
    }

    /// The offset of index 1, by which blocks of correlated OTs differ.
    pub fn delta(&self) -> Block {
        self.0[1]
    }

    /// The offset of an index.
    pub fn get(&self, index: usize) -> Block {
        self.0[index]
    }
}

impl Drop for Offsets {
    fn drop(&mut self) {
        zeroize::Zeroize::zeroize(&mut self.0);
    }
}

/// The receiver's message for its numbers: their bits under the random choices.
pub fn choose(own: &[u64], index_bits: u32, random: &Bits) -> Vec<u8> {
    let packed = super::pack::pack(own, index_bits);
    let bits = Bits::from_bytes(own.len() * index_bits as usize, &packed);
    let mut bits = bits.expect("packed numbers below 2^index_bits");
    bits.xor_assign(random);
    bits.to_bytes()
}

/// The sender's messages for its numbers `own`, and its shares.
///
/// `side` is that of the sender, 0 or 1, `of` its OTs, `q` their blocks, `corrections` what the receiver
/// sent.
pub fn offer(
    table: &Table,
    side: usize,
    (hash, offsets): (&Hash, &Offsets),
    (of, q): (Transfers, &[Block]),
    own: &[u64],
    corrections: &[u8],
) -> (Vec<u8>, Vec<u64>) {
    let isa = isa::current();
    let n = own.len();
    assert_eq!(offsets.0.len(), 1 << table.index_bits);
    let corrections = super::pack::unpack(corrections, table.index_bits, n);
    let mut wire = vec![0; table.wire_len(n)];
    let mut shares = vec![0; n];
    let strip = table.wire_len(STRIP);
    wire.par_chunks_mut(strip)
        .zip(shares.par_chunks_mut(STRIP))
        .with_min_len(grain(table.index_bits))
        .enumerate()
        .for_each(|(i, (wire, shares))| {
            let (s, len) = (i * STRIP, shares.len());
            let strip = Offered {
                isa,
                table,
                side,
                hash,
                offsets: &offsets.0,
                of: of.from(s),
                q: &q[s..s + len],
                own: &own[s..s + len],
                corrections: &corrections[s..s + len],
            };
            match table.layout {
                RowLayout::Packed => strip.packed(wire, shares),
                _ => strip.wide(wire, shares),
            }
        });
    (wire, shares)
}

/// What the sender's messages of one strip are made of.
struct Offered<'a> {
    isa: Isa,
    table: &'a Table,
    side: usize,
    hash: &'a Hash,
    offsets: &'a [Block],
    of: Transfers,
    q: &'a [Block],
    own: &'a [u64],
    corrections: &'a [u64],
}

/// Strips that are worth a task of their own.
fn grain(index_bits: u32) -> usize {
    (64 >> index_bits).max(1)
}

/// The receiver's shares. `random` are its random choices, `t` its blocks, `wire` the sender's
/// messages, of [`Table::wire_len`] bytes.
pub fn taken(
    table: &Table,
    hash: &Hash,
    (of, random, t): (Transfers, &Bits, &[Block]),
    wire: &[u8],
) -> Vec<u64> {
    let isa = isa::current();
    let n = t.len();
    let random = super::pack::unpack(&random.to_bytes(), table.index_bits, n);
    let mut shares = vec![0; n];
    shares
        .par_chunks_mut(STRIP)
        .zip(wire.par_chunks(table.wire_len(STRIP)))
        .with_min_len(grain(table.index_bits))
        .enumerate()
        .for_each(|(i, (shares, wire))| {
            let s = i * STRIP;
            let mut pads = [0; STRIP];
            let pads = &mut pads[..shares.len()];
            pads.copy_from_slice(&t[s..s + pads.len()]);
            let random = &random[s..s + pads.len()];
            hash.received(isa, of.from(s), random, pads);
            let numbers = (random, &*pads);
            match table.layout {
                RowLayout::Packed => packed::taken(isa, table, numbers, wire, shares),
                _ => wide::taken(isa, table, numbers, wire, shares),
            }
        });
    shares
}
