//! Throughput of signs from a window of bits: `cargo bench -p tacit-algebra --bench window`,
//! with `RAYON_NUM_THREADS=1` per core. Items are elements.

use divan::{Bencher, black_box, counter::ItemsCount};
use tacit_algebra::isa::{self, Isa};
use tacit_algebra::window::{Form, Window, masked_entries, zero_entries};
use tacit_algebra::{Bits, Prg};

fn main() {
    divan::main();
}

const N: usize = 1 << 16;

/// Dropped and key bits: of a network, of more precision, and of exact comparison.
const BITS: [(u32, u32); 3] = [(24, 7), (17, 14), (0, 31)];

fn window((dropped, kept): (u32, u32), form: Form) -> Window {
    Window::new::<u64>(dropped, kept, form).expect("it fits 64 bits")
}

fn sample() -> (Vec<u64>, Bits) {
    (Prg::new([7; 16]).ring(N), Prg::new([9; 16]).bits(N))
}

fn entries(bencher: Bencher, window: Window) {
    let ((share, t), mut common) = (sample(), Prg::new([8; 16]));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| masked_entries(&window, true, black_box(&share), &t, &mut common));
}

#[divan::bench(args = BITS)]
fn masked(bencher: Bencher, bits: (u32, u32)) {
    entries(bencher, window(bits, Form::Corrected));
}

#[divan::bench(args = BITS)]
fn masked_as_printed(bencher: Bencher, bits: (u32, u32)) {
    entries(bencher, window(bits, Form::Printed));
}

#[divan::bench(args = Isa::available())]
fn masked_7(bencher: Bencher, isa: Isa) {
    isa::with(isa, || entries(bencher, window(BITS[0], Form::Corrected)));
}

#[divan::bench(args = BITS)]
fn zeros(bencher: Bencher, bits: (u32, u32)) {
    let (window, (share, t)) = (window(bits, Form::Corrected), sample());
    let [first, second] = [true, false]
        .map(|first| masked_entries(&window, first, &share, &t, &mut Prg::new([8; 16])));
    bencher
        .counter(ItemsCount::new(N))
        .bench_local(|| zero_entries(&window, N, black_box(&first), &second));
}
