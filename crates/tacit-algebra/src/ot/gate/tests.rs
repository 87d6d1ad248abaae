//! Gates against the functions that they carry.

use super::*;
use crate::Prg;
use crate::isa::same_everywhere;

/// Shares of the function of both sides' numbers, side `sender` sending.
fn run(table: &Table, sender: usize, u: [&[u64]; 2]) -> Vec<u64> {
    let (n, m) = (u[0].len(), table.index_bits as usize);
    let mut prg = Prg::new([7; 16]);
    let delta = prg.ring::<u64>(2);
    let delta = Block::from(delta[0]) << 64 | Block::from(delta[1]);
    let words = prg.ring::<u64>(2 * n * m);
    let q: Vec<Block> = words
        .chunks(2)
        .map(|w| Block::from(w[0]) << 64 | Block::from(w[1]))
        .collect();
    let random = prg.bits(n * m);
    let t: Vec<Block> = (0..n * m)
        .map(|i| q[i] ^ if random.get(i) { delta } else { 0 })
        .collect();
    let (hash, offsets) = (
        Hash::new([1; 16]),
        Offsets::combined(delta, table.index_bits),
    );
    let [q, t] = [q, t].map(|blocks| combined(&blocks, table.index_bits));
    let of = Transfers::new(sender, table.index_bits, 5);
    let corrections = choose(u[1 - sender], table.index_bits, &random);
    let (wire, ours) = offer(
        table,
        sender,
        (&hash, &offsets),
        (of, &q),
        u[sender],
        &corrections,
    );
    let theirs = taken(table, &hash, (of, &random, &t), &wire);
    ours.iter()
        .zip(&theirs)
        .map(|(a, b)| add_fields(*a, *b, table.tops) & table.mask())
        .collect()
}

fn pairs(index_bits: u32) -> [Vec<u64>; 2] {
    let size = 1u64 << index_bits;
    let all = (0..size).flat_map(|u| (0..size).map(move |v| (u, v)));
    let (u, v) = all.unzip();
    [u, v]
}

#[test]
fn functions_of_all_pairs() {
    for (m, bits, xor) in [
        (1, 1, true),
        (1, 32, true),
        (2, 5, true),
        (2, 5, false),
        (3, 8, true),
        (3, 64, true),
        (4, 2, true),
        (4, 4, true),
        (4, 33, false),
    ] {
        let mask = u64::MAX >> (64 - bits);
        let f = |u: u64, v: u64| ((u * 7919) ^ v.wrapping_mul(0x9e37_79b9_7f4a_7c15)) & mask;
        let table = Table::new(m, bits, xor, f);
        let [u, v] = pairs(m);
        let expected: Vec<u64> = u.iter().zip(&v).map(|(u, v)| f(*u, *v)).collect();
        for sender in 0..2 {
            assert!(same_everywhere(|| run(&table, sender, [&u, &v])) == expected);
        }
    }
}

#[test]
fn look_ups_at_all_sums() {
    for (m, bits, xor) in [(1, 3, false), (5, 22, false), (8, 14, false), (8, 64, true)] {
        let mask = u64::MAX >> (64 - bits);
        let entries: Vec<u64> = (0..1u64 << m)
            .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask)
            .collect();
        let table = Table::lookup(m, bits, xor, &entries);
        let [u, v] = pairs(m);
        let expected: Vec<u64> = u
            .iter()
            .zip(&v)
            .map(|(u, v)| entries[((u + v) % (1 << m)) as usize])
            .collect();
        for sender in 0..2 {
            assert!(same_everywhere(|| run(&table, sender, [&u, &v])) == expected);
        }
    }
}

#[test]
fn fields_are_sums_of_their_own() {
    let widths = [1, 7, 20, 1, 35];
    let mut prg = crate::Prg::new([3; 16]);
    for _ in 0..1000 {
        let (a, b) = (prg.ring::<u64>(1)[0], prg.ring::<u64>(1)[0]);
        let table = Table::made(1, &widths, RowLayout::Rotated, [vec![0], vec![0]]);
        let (sum, difference) = (add_fields(a, b, table.tops), sub_fields(a, b, table.tops));
        let mut at = 0;
        for width in widths {
            let field = |v: u64| v >> at & ((1 << width) - 1);
            assert_eq!(field(sum), (field(a) + field(b)) & ((1 << width) - 1));
            let expected = field(a).wrapping_sub(field(b)) & ((1 << width) - 1);
            assert_eq!(field(difference), expected);
            at += width;
        }
    }
}

#[test]
fn several_look_ups_at_one_index() {
    let tables = [(14, 3), (1, 5), (33, 7)]
        .map(|(bits, k)| (bits, (0..32u64).map(|i| i * i * k % (1 << bits)).collect()));
    let tables: &[(u32, Vec<u64>); 3] = &tables;
    let table = Table::lookups(5, &tables.each_ref().map(|(bits, t)| (*bits, &t[..])));
    assert_eq!(table.output_bits(), 48);
    let [u, v] = pairs(5);
    for sender in 0..2 {
        let got = same_everywhere(|| run(&table, sender, [&u, &v]));
        for ((got, u), v) in got.iter().zip(&u).zip(&v) {
            let mut rest = *got;
            for (bits, table) in tables {
                assert_eq!(rest % (1 << bits), table[((u + v) % 32) as usize]);
                rest >>= bits;
            }
            assert_eq!(rest, 0);
        }
    }
}

#[test]
fn offsets_of_combined_ots_are_multiples_in_the_field() {
    let offsets = Offsets::combined(1, 8);
    assert!((0..256).all(|p| offsets.get(p) == p as u128));
    let offsets = Offsets::combined(1 << 127, 2);
    assert_eq!(offsets.get(2), 0x87);
    assert_eq!(offsets.get(3), 0x87 ^ 1 << 127);
}
