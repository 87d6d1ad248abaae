//! Falcon between three threads: ReLU by size, and the networks of `$TACIT_MODELS` at batch 128.
//!
//! The times are those of whole runs, setup and offline phase included; the phases apart are in
//! the reports of `tacit bench` and `tacit run`.

use std::path::PathBuf;

use divan::Bencher;
use divan::counter::ItemsCount;
use tacit_bench::{BenchOptions, bench};
use tacit_run::{CompileOptions, Compiled, Settings, Tensor, run_local};

/// The allocator of the Python package.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Images predicted at a time.
const BATCH: usize = 128;

fn main() {
    if models().is_none() {
        println!("networks skipped: TACIT_MODELS does not name a folder of models");
    }
    divan::main();
}

fn models() -> Option<PathBuf> {
    std::env::var_os("TACIT_MODELS").map(PathBuf::from)
}

#[divan::bench(args = [10_000, 100_000, 1_000_000], consts = [32, 64], sample_count = 5)]
fn relu<const RING: u32>(bencher: Bencher, n: usize) {
    let options = BenchOptions {
        op: "relu",
        n,
        chunk: Some(n),
        ring: Some(RING),
        ..BenchOptions::default()
    };
    bencher
        .counter(ItemsCount::new(n))
        .bench_local(|| bench(&options, &Settings::default(), &mut |_| true).expect("a run"));
}

#[divan::bench(args = ["network-a", "network-b", "network-c", "lenet"], consts = [32, 64], sample_count = 5)]
fn network<const RING: u32>(bencher: Bencher, name: &str) {
    let Some(folder) = models() else { return };
    let options = CompileOptions {
        ring: Some(RING),
        input_range: Some(1.0),
        ..CompileOptions::default()
    };
    let model = Compiled::from_file(&folder.join(format!("{name}.onnx")), &options, None);
    let model = model.expect("a plan");
    let shape = [&[BATCH], &model.input_shape()[..]].concat();
    // The cost does not depend on the values.
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|i: usize| (i % 251) as f32 / 250.0)
        .collect();
    let x = Tensor {
        values: &values,
        shape: &shape,
    };
    bencher
        .counter(ItemsCount::new(BATCH))
        .bench_local(|| run_local(&model, &Settings::default(), x, &mut |_| true).expect("a run"));
}
