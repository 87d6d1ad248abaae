//! What consumes OTs, one end at a time: `cargo bench -p tacit-algebra --bench ot`, with
//! `RAYON_NUM_THREADS=1` per core.

use divan::{Bencher, black_box, counter::ItemsCount};
use tacit_algebra::ot::{
    Block, Hash, Offsets, Products, Table, Transfers, bit_pads, correlate, correlated, offer, taken,
};
use tacit_algebra::{Bits, Prg};

/// Oblivious transfers that a bench computes at a time.
const N: usize = 1 << 14;

fn main() {
    divan::main();
}

fn blocks() -> Vec<Block> {
    bytemuck::cast_slice(&Prg::new([1; 16]).ring::<u64>(2 * N)).to_vec()
}

fn hash() -> Hash {
    Hash::new([2; 16])
}

fn transfers(index_bits: u32) -> Transfers {
    Transfers::new(0, index_bits, 3)
}

fn gate(index_bits: u32) -> Table {
    match index_bits {
        8 => Table::lookup(8, 16, false, &(0..256).collect::<Vec<_>>()),
        _ => Table::new(index_bits, 2, true, |x, y| {
            (x < y) as u64 | ((x == y) as u64) << 1
        }),
    }
}

/// The sender of 1-of-2^m OTs: a comparison of digits, a look-up.
#[divan::bench(args = [1, 4, 8])]
fn gate_sent(bencher: Bencher, index_bits: u32) {
    let (hash, table, q) = (hash(), gate(index_bits), blocks());
    let offsets = Offsets::combined(blocks()[7], index_bits);
    let (own, corrections) = (vec![1; N], vec![0; (N * index_bits as usize) / 8]);
    bencher.counter(ItemsCount::new(N)).bench_local(|| {
        let number = (transfers(index_bits), &q[..]);
        let ots = (&hash, &offsets);
        offer(black_box(&table), 0, ots, number, &own, &corrections)
    });
}

#[divan::bench(args = [1, 4, 8])]
fn gate_received(bencher: Bencher, index_bits: u32) {
    let (hash, table, t) = (hash(), gate(index_bits), blocks());
    let random = Prg::new([3; 16]).bits(N * index_bits as usize);
    let wire = vec![0; table.wire_len(N)];
    bencher.counter(ItemsCount::new(N)).bench_local(|| {
        let number = (transfers(index_bits), &random, &t[..]);
        taken(black_box(&table), &hash, number, &wire)
    });
}

const SIZES: [Products; 2] = [
    Products {
        bits: 32,
        lanes: 1,
        fold: 32,
    },
    Products {
        bits: 32,
        lanes: 16,
        fold: 32,
    },
];

/// The sender of correlated OTs: products of 1 and of 16 numbers.
#[divan::bench(args = [0, 1])]
fn products_sent(bencher: Bencher, sizes: usize) {
    let (hash, q, sizes) = (hash(), blocks(), SIZES[sizes]);
    let (rows, corrections) = (vec![5; 32 * sizes.lanes], Bits::zeros(N));
    bencher.counter(ItemsCount::new(N)).bench_local(|| {
        let ots = (&hash, black_box(q[7]));
        correlate(&sizes, ots, (transfers(1), &q), (0, &rows), &corrections)
    });
}

#[divan::bench(args = [0, 1])]
fn products_received(bencher: Bencher, sizes: usize) {
    let (hash, t, sizes) = (hash(), blocks(), SIZES[sizes]);
    let (wire, choices) = (vec![0; sizes.wire_len(N)], Bits::zeros(N));
    bencher.counter(ItemsCount::new(N)).bench_local(|| {
        let number = (transfers(1), &t[..]);
        correlated(&sizes, black_box(&hash), number, (0, &choices), &wire)
    });
}

/// One bit of the pads of correlated OTs, of which triples are made.
#[divan::bench]
fn bits(bencher: Bencher) {
    let (hash, t) = (hash(), blocks());
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| bit_pads(black_box(&hash), (transfers(1), &t), [0], 2));
}
