//! Throughput of the kernels: `cargo bench -p tacit-algebra`, with `RAYON_NUM_THREADS=1` per core.

use divan::{Bencher, black_box, counter::ItemsCount};
use tacit_algebra::extension::{Extension, Galois, product_side};
use tacit_algebra::isa::{self, Isa};
use tacit_algebra::{
    BatchMatMul, BitRows, Bits, Conv2d, MatMul, Prg, Ring, compare, conv2d_acc, flip, matmul_acc,
    prime, truncate, vec, wrap,
};

fn main() {
    divan::main();
}

/// Elements of the element-wise benches.
const N: usize = 1 << 20;

fn prg() -> Prg {
    Prg::new([7; 16])
}

#[divan::bench(types = [u32, u64], args = Isa::available())]
fn matmul_512<R: Ring>(bencher: Bencher, isa: Isa) {
    let shape = MatMul {
        m: 512,
        k: 512,
        n: 512,
    };
    let (a, b) = (prg().ring::<R>(512 * 512), prg().ring::<R>(512 * 512));
    let mut acc = vec![R::ZERO; 512 * 512];
    bencher
        .counter(ItemsCount::new(512usize.pow(3)))
        .bench_local(|| isa::with(isa, || matmul_acc(&mut acc, &a, &b, shape)));
}

/// Layers, the last ones of one image or a few; on every instruction set.
const LAYERS: [(usize, usize, usize); 11] = [
    (128, 784, 128),
    (128, 128, 10),
    (6, 25, 784),
    (64, 576, 1024),
    (768, 768, 128),
    (1, 4096, 4096),
    (1, 784, 128),
    (2, 784, 128),
    (4, 784, 128),
    (4, 196, 128),
    (8, 784, 128),
];

fn layers() -> impl Iterator<Item = (Isa, (usize, usize, usize))> {
    Isa::available().flat_map(|isa| LAYERS.map(|layer| (isa, layer)))
}

#[divan::bench(types = [u32, u64], args = layers())]
fn matmul_layer<R: Ring>(bencher: Bencher, (isa, (m, k, n)): (Isa, (usize, usize, usize))) {
    let (a, b) = (prg().ring::<R>(m * k), prg().ring::<R>(k * n));
    let mut acc = vec![R::ZERO; m * n];
    bencher
        .counter(ItemsCount::new(m * k * n))
        .bench_local(|| isa::with(isa, || matmul_acc(&mut acc, &a, &b, MatMul { m, k, n })));
}

/// The convolutions of LeNet, and a depthwise one.
fn conv(name: &str) -> Conv2d {
    let (channels, size, filters, groups) = match name {
        "first" => (1, 28, 20, 1),
        "second" => (20, 12, 50, 1),
        _ => (32, 12, 32, 32),
    };
    Conv2d {
        batch: 128,
        channels,
        height: size,
        width: size,
        filters,
        kernel: [5, 5],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups,
    }
}

fn convolutions() -> impl Iterator<Item = (Isa, &'static str)> {
    let names = ["first", "second", "depthwise"];
    Isa::available().flat_map(move |isa| names.map(|name| (isa, name)))
}

#[divan::bench(types = [u32, u64], args = convolutions())]
fn conv2d<R: Ring>(bencher: Bencher, (isa, name): (Isa, &str)) {
    let shape = conv(name);
    let (x, w) = (
        prg().ring::<R>(shape.input_len()),
        prg().ring::<R>(shape.weight_len()),
    );
    let mut acc = vec![R::ZERO; shape.output_len()];
    bencher
        .counter(ItemsCount::new(
            shape.output_len() * shape.weight_len() / shape.filters,
        ))
        .bench_local(|| isa::with(isa, || conv2d_acc(&mut acc, &x, &w, &shape)));
}

#[divan::bench(types = [u32, u64])]
fn ring_product<R: Ring>(bencher: Bencher) {
    let [x0, x1, y0, y1] = [0; 4].map(|_| prg().ring::<R>(N));
    let mut acc = prg().ring::<R>(N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| vec::product_assign(&mut acc, &x0, &x1, &y0, &y1));
}

#[divan::bench]
fn prg_bytes(bencher: Bencher) {
    let (mut prg, mut out) = (prg(), vec![0u8; N]);
    bencher
        .counter(divan::counter::BytesCount::new(N))
        .bench_local(|| prg.fill(&mut out));
}

#[divan::bench(args = [37, 67])]
fn prg_prime(bencher: Bencher, p: u8) {
    let mut prg = prg();
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| prg.prime(p, N));
}

#[divan::bench(args = Isa::available())]
fn prime_product(bencher: Bencher, isa: Isa) {
    let [x0, x1, y0, y1] = [0; 4].map(|_| prg().prime(67, N));
    let mut acc = prg().prime(67, N);
    bencher.counter(ItemsCount::new(N)).bench_local(|| {
        isa::with(isa, || {
            prime::product_assign(67, &mut acc, &x0, &x1, &y0, &y1)
        })
    });
}

#[divan::bench(args = [37, 67])]
fn prime_pack(bencher: Bencher, p: u8) {
    let a = prg().prime(p, N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| prime::pack(p, black_box(&a)));
}

#[divan::bench(args = [37, 67])]
fn prime_unpack(bencher: Bencher, p: u8) {
    let bytes = prime::pack(p, &prg().prime(p, N));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| prime::unpack(p, black_box(&bytes), N));
}

#[divan::bench]
fn prime_is_nonzero(bencher: Bencher) {
    let a = prg().prime(67, N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| prime::is_nonzero(black_box(&a)));
}

/// Items are leaves.
#[divan::bench(types = [u32, u64], args = Isa::available())]
fn compare_leaves<R: Ring>(bencher: Bencher, isa: Isa) {
    let (n, m) = (10_000, R::BITS as usize - 1);
    let (x, g) = (prg().prime(R::PRIME, n * m), prg().prime(R::PRIME, n * m));
    let (beta, r) = (prg().prime(R::PRIME, n), vec::shr(&prg().ring::<R>(n), 1));
    bencher.counter(ItemsCount::new(n * m)).bench_local(|| {
        isa::with(isa, || {
            compare::leaves(&x, &g, n, m, &beta, black_box(&r), true)
        })
    });
}

#[divan::bench(types = [u32, u64])]
fn masked_add<R: Ring>(bencher: Bencher) {
    let (a, x) = (prg().ring::<R>(N), vec::shr(&prg().ring::<R>(N), 1));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| wrap::masked_add(black_box(&a), &x));
}

#[divan::bench]
fn flip_residues(bencher: Bencher) {
    let (x, b) = (prg().prime(67, N), prg().bits(N));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| flip::residues(67, black_box(&x), &b, true));
}

#[divan::bench(args = [true, false])]
fn truncated(bencher: Bencher, first: bool) {
    let share = prg().ring::<u64>(N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| truncate::local(first, black_box(&share), 13));
}

#[divan::bench]
fn masks_split(bencher: Bencher) {
    let r = prg().ring::<u64>(N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| truncate::split_mask(black_box(&r), 13));
}

/// Items are ring elements, each with all its bits.
#[divan::bench(types = [u32, u64], args = Isa::available())]
fn transpose_from_ring<R: Ring>(bencher: Bencher, isa: Isa) {
    let a = prg().ring::<R>(N / 8);
    bencher
        .counter(ItemsCount::new(N / 8))
        .bench_local(|| isa::with(isa, || BitRows::from_ring(black_box(&a), R::BITS)));
}

/// Items are ring elements, each with all its bits.
#[divan::bench(types = [u32, u64], args = Isa::available())]
fn transpose_to_ring<R: Ring>(bencher: Bencher, isa: Isa) {
    let rows = prg().bit_rows(R::BITS as usize, N / 8);
    bencher
        .counter(ItemsCount::new(N / 8))
        .bench_local(|| isa::with(isa, || black_box(&rows).to_ring::<R>()));
}

#[divan::bench]
fn bits_expand(bencher: Bencher) {
    let bits = prg().bits(N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| black_box(&bits).expand());
}

#[divan::bench]
fn bits_of_signs(bencher: Bencher) {
    let a = prg().ring::<u32>(N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| Bits::msb_of(black_box(&a)));
}

/// The weights of a layer, each row summed with a point for every column.
#[divan::bench(types = [u32, u64], args = Isa::available())]
fn row_sums<R: Ring>(bencher: Bencher, isa: Isa) {
    let each = MatMul {
        m: 1,
        k: 784,
        n: 128,
    };
    let shape = BatchMatMul { batch: 1, each };
    let points = Galois::<R>::weights(&mut prg(), each.n);
    let w = prg().ring::<R>(shape.right());
    bencher
        .counter(ItemsCount::new(w.len()))
        .bench_local(|| isa::with(isa, || product_side::right(&points, &w, shape, 0..each.k)));
}
