//! Falcon's operations, offline and online apart, three parties as threads.

use std::sync::{Barrier, mpsc};
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use tacit_algebra::{Buffer, Ring};
use tacit_net::{LinkModel, Phase, memory};
use tacit_protocols::Error;
use tacit_protocols::falcon::{Falcon, Options, PARTIES, Rss, Security};
use tacit_protocols::machine::{Call, KeyBits, Machine};

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

type Online<R> = fn(&mut Falcon<R>, &Rss<Buffer<R>>) -> Result<(), Error>;

/// Times one phase of a call at three parties that stay connected; the other phase runs untimed.
fn phases<R: Ring>(bencher: Bencher, timed: Phase, call: Call, n: usize, online: Online<R>) {
    phases_under(Security::SemiHonest, bencher, timed, call, n, online)
}

/// Times one phase of a call as [`phases`] does, semi-honest or malicious.
fn phases_under<R: Ring>(
    security: Security,
    bencher: Bencher,
    timed: Phase,
    call: Call,
    n: usize,
    online: Online<R>,
) {
    let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
    let barrier = Barrier::new(PARTIES + 1);
    std::thread::scope(|scope| {
        let mut stops = Vec::new();
        for party in mesh {
            let (stop, rounds) = mpsc::channel::<()>();
            stops.push(stop);
            let barrier = &barrier;
            scope.spawn(move || {
                let options = Options {
                    security,
                    ..Options::default()
                };
                let machine = Falcon::<R>::new(party, options);
                let mut machine = machine.expect("keys");
                let x = machine.constant(&vec![-5; n]);
                while rounds.recv().is_ok() {
                    if timed == Phase::Offline {
                        barrier.wait();
                    }
                    machine.prepare(&[call]).expect("material");
                    barrier.wait();
                    online(&mut machine, &x).expect("the call runs");
                    if timed == Phase::Online {
                        barrier.wait();
                    }
                }
            });
        }
        bencher
            .counter(ItemsCount::new(n))
            .with_inputs(|| {
                stops
                    .iter()
                    .for_each(|stop| stop.send(()).expect("parties wait"));
                barrier.wait();
            })
            .bench_values(|()| {
                barrier.wait();
            });
    });
}

fn relu<R: Ring>(machine: &mut Falcon<R>, x: &Rss<Buffer<R>>) -> Result<(), Error> {
    machine.relu(x, KeyBits::ALL).map(drop)
}

fn relu_verified<R: Ring>(machine: &mut Falcon<R>, x: &Rss<Buffer<R>>) -> Result<(), Error> {
    machine.relu(x, KeyBits::ALL)?;
    machine.verify()
}

fn truncate<R: Ring>(machine: &mut Falcon<R>, x: &Rss<Buffer<R>>) -> Result<(), Error> {
    machine.truncate(x, 12).map(drop)
}

#[divan::bench(types = [u32, u64], args = [10_000, 100_000, 1_000_000], sample_count = 5)]
fn relu_online<R: Ring>(bencher: Bencher, n: usize) {
    phases::<R>(bencher, Phase::Online, Call::relu(n), n, relu);
}

#[divan::bench(types = [u32, u64], args = [10_000, 100_000, 1_000_000], sample_count = 5)]
fn relu_offline<R: Ring>(bencher: Bencher, n: usize) {
    phases::<R>(bencher, Phase::Offline, Call::relu(n), n, relu);
}

#[divan::bench(types = [u32, u64], args = [1_000_000], sample_count = 5)]
fn truncation_online<R: Ring>(bencher: Bencher, n: usize) {
    phases::<R>(bencher, Phase::Online, Call::truncate(n, 12), n, truncate);
}

#[divan::bench(types = [u32, u64], args = [1_000_000], sample_count = 5)]
fn truncation_offline<R: Ring>(bencher: Bencher, n: usize) {
    phases::<R>(bencher, Phase::Offline, Call::truncate(n, 12), n, truncate);
}

/// The online phase of ReLUs under malicious security, with a verification of all its products.
#[divan::bench(types = [u32, u64], args = [100_000], sample_count = 5)]
fn relu_online_malicious<R: Ring>(bencher: Bencher, n: usize) {
    phases_under::<R>(
        Security::Malicious,
        bencher,
        Phase::Online,
        Call::relu(n),
        n,
        relu_verified,
    );
}

#[divan::bench(types = [u32, u64], args = [100_000], sample_count = 5)]
fn relu_offline_malicious<R: Ring>(bencher: Bencher, n: usize) {
    phases_under::<R>(
        Security::Malicious,
        bencher,
        Phase::Offline,
        Call::relu(n),
        n,
        relu,
    );
}
