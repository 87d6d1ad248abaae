//! Throughput of the kernels over Mersenne fields: `cargo bench -p tacit-algebra --bench
//! mersenne`, with `RAYON_NUM_THREADS=1` per core.

use divan::{Bencher, black_box, counter::ItemsCount};
use tacit_algebra::isa::{self, Isa};
use tacit_algebra::mersenne::{
    F31, F61, Field, Matrix, finish_truncation, from_wire, matmul_acc, rot_correlate, rot_size,
    to_wire, tree_leaves, vec, weighted_bits,
};
use tacit_algebra::{MatMul, Prg};

fn main() {
    divan::main();
}

/// Elements of the element-wise benches: all operands stay in the second-level cache.
const N: usize = 1 << 15;

fn sample<F: Field>(n: usize) -> Vec<F> {
    Prg::new([7; 16]).field(n)
}

#[divan::bench(types = [F31, F61], args = Isa::available())]
fn add_assign<F: Field>(bencher: Bencher, isa: Isa) {
    let (mut a, b) = (sample::<F>(N), sample::<F>(N));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| isa::with(isa, || vec::add_assign(&mut a, black_box(&b))));
}

#[divan::bench(types = [F31, F61], args = Isa::available())]
fn mul<F: Field>(bencher: Bencher, isa: Isa) {
    let (a, b) = (sample::<F>(N), sample::<F>(N));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| isa::with(isa, || vec::mul(black_box(&a), &b)));
}

#[divan::bench(types = [F31, F61], args = Isa::available())]
fn mul_add<F: Field>(bencher: Bencher, isa: Isa) {
    let [a, b, c] = [0; 3].map(|_| sample::<F>(N));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| isa::with(isa, || vec::mul_add(black_box(&a), &b, &c)));
}

/// A buffer beyond the caches.
#[divan::bench(types = [F31, F61])]
fn mul_add_assign_long<F: Field>(bencher: Bencher) {
    let [mut a, b, c] = [0; 3].map(|_| sample::<F>(1 << 23));
    bencher
        .counter(ItemsCount::new(a.len()))
        .bench_local(|| vec::mul_add_assign(black_box(&mut a), &b, &c));
}

#[divan::bench(types = [F31, F61], args = Isa::available())]
fn inverse_sqrt<F: Field>(bencher: Bencher, isa: Isa) {
    let a = sample::<F>(N);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| isa::with(isa, || vec::inverse_sqrt(black_box(&a))));
}

/// Items are products.
#[divan::bench(types = [F31, F61], args = [(2, 3), (4, 7), (32, 63)])]
fn apply<F: Field>(bencher: Bencher, (rows, cols): (usize, usize)) {
    let (m, x) = (Matrix::vandermonde(rows, cols), sample::<F>(cols * N));
    let x: Vec<&[F]> = x.chunks(N).collect();
    bencher
        .counter(ItemsCount::new(rows * cols * N))
        .bench_local(|| m.apply(black_box(&x)));
}

/// Items are products.
#[divan::bench(types = [F31, F61], args = Isa::available())]
fn apply_32_63<F: Field>(bencher: Bencher, isa: Isa) {
    let (m, x) = (Matrix::vandermonde(32, 63), sample::<F>(63 * N));
    let x: Vec<&[F]> = x.chunks(N).collect();
    bencher
        .counter(ItemsCount::new(32 * 63 * N))
        .bench_local(|| isa::with(isa, || m.apply(black_box(&x))));
}

/// Items are products.
#[divan::bench(types = [F31, F61], args = Isa::available())]
fn matmul_512<F: Field>(bencher: Bencher, isa: Isa) {
    let shape = MatMul {
        m: 512,
        k: 512,
        n: 512,
    };
    let (a, b) = (sample::<F>(512 * 512), sample::<F>(512 * 512));
    let mut acc = vec![F::ZERO; 512 * 512];
    bencher
        .counter(ItemsCount::new(512usize.pow(3)))
        .bench_local(|| isa::with(isa, || matmul_acc(&mut acc, &a, &b, shape)));
}

/// Items are products.
#[divan::bench(types = [F31, F61])]
fn matmul_thin<F: Field>(bencher: Bencher) {
    let (m, k, n) = (1, 784, 128);
    let (a, b) = (sample::<F>(m * k), sample::<F>(k * n));
    let mut acc = vec![F::ZERO; m * n];
    bencher
        .counter(ItemsCount::new(m * k * n))
        .bench_local(|| matmul_acc(&mut acc, &a, black_box(&b), MatMul { m, k, n }));
}

#[divan::bench(types = [F31, F61])]
fn prg_field<F: Field>(bencher: Bencher) {
    let mut prg = Prg::new([7; 16]);
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| prg.field::<F>(N));
}

#[divan::bench(types = [F31, F61])]
fn wire<F: Field>(bencher: Bencher) {
    let bytes = to_wire(&sample::<F>(N));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| from_wire::<F>(black_box(&bytes), N));
}

/// Items are leaves.
#[divan::bench(types = [F31, F61], args = Isa::available())]
fn leaves<F: Field>(bencher: Bencher, isa: Isa) {
    let (n, l) = (4096, F::BITS as usize);
    let (y, b) = (sample::<F>(n), sample::<F>(n));
    let r = sample::<F>(l * n);
    bencher
        .counter(ItemsCount::new((l + 1) * n))
        .bench_local(|| isa::with(isa, || tree_leaves(black_box(&y), &r, &b)));
}

/// Items are products.
#[divan::bench(types = [F31, F61], args = Isa::available())]
fn correlate<F: Field>(bencher: Bencher, isa: Isa) {
    let (n, size) = (1024, rot_size::<F>());
    let (h, z) = (sample::<F>(size * n), sample::<F>(size * n));
    bencher
        .counter(ItemsCount::new(size * size * n))
        .bench_local(|| isa::with(isa, || rot_correlate(black_box(&h), &z)));
}

#[divan::bench(types = [F31, F61])]
fn truncation<F: Field>(bencher: Bencher) {
    let [c, r, msb] = [0; 3].map(|_| sample::<F>(N));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| finish_truncation(black_box(&c), &r, &msb, 12, F::ONE));
}

/// Items are bits.
#[divan::bench(types = [F31, F61])]
fn weighted<F: Field>(bencher: Bencher) {
    let (n, l) = (4096, F::BITS as usize);
    let rows = sample::<F>(l * n);
    bencher
        .counter(ItemsCount::new(l * n))
        .bench_local(|| weighted_bits(black_box(&rows), n, 0));
}
