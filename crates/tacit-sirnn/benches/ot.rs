//! Random OTs: one direction, two parties as threads. `RAYON_NUM_THREADS=1` gives each
//! party one core.

use std::sync::{Barrier, mpsc};
use std::time::Duration;

use divan::Bencher;
use divan::counter::ItemsCount;
use tacit_net::{LinkModel, Party, Phase, memory, testing};
use tacit_sirnn::PARTIES;
use tacit_sirnn::ot::{Demand, OtExtension, RandomOt, source};

const PATIENCE: Duration = Duration::from_secs(60);

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    for n in [1_000_000, 10_000_000] {
        println!("silent OT sends {:.2} bits per OT at {n}", silent_bits(n));
    }
    divan::main();
}

/// Calls `f` at both parties between two barriers, as often as the bench wants.
fn timed(bencher: Bencher, kind: OtExtension, f: impl Fn(&mut Party, &mut dyn RandomOt) + Sync) {
    let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, PATIENCE);
    let (f, barrier) = (&f, Barrier::new(PARTIES + 1));
    std::thread::scope(|scope| {
        let mut stops = Vec::new();
        for mut party in mesh {
            let (stop, rounds) = mpsc::channel::<()>();
            stops.push(stop);
            let barrier = &barrier;
            scope.spawn(move || {
                let mut source = source(&mut party, kind).expect("set-up");
                while rounds.recv().is_ok() {
                    barrier.wait();
                    f(&mut party, &mut *source);
                    barrier.wait();
                }
            });
        }
        bencher
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

/// OTs that party 0 sends.
fn one_way(bencher: Bencher, kind: OtExtension, (index_bits, n): (u32, usize)) {
    let ots = Demand::of(index_bits, n);
    timed(
        bencher.counter(ItemsCount::new(n)),
        kind,
        |party, source| {
            let [send, recv] = both(party, ots);
            source.extend(party, &send, &recv).expect("OTs");
        },
    );
}

/// What a party sends and receives if party 0 sends all.
fn both(party: &Party, ots: Demand) -> [Demand; 2] {
    match party.id() {
        0 => [ots, Demand::default()],
        _ => [Demand::default(), ots],
    }
}

/// Bits that both parties send per silent OT, over four extensions by `n`. SoftSpoken's are
/// `ceil(128 / k) - 1`.
fn silent_bits(n: usize) -> f64 {
    let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, PATIENCE);
    let sent = testing::run(mesh, |mut party| {
        let mut source = source(&mut party, OtExtension::Silent).expect("set-up");
        let [send, recv] = both(&party, Demand::cots(n));
        party.set_phase(Phase::Offline);
        for _ in 0..4 {
            source.extend(&mut party, &send, &recv).expect("OTs");
        }
        party.meter().total(Phase::Offline).bytes_sent
    });
    8.0 * (sent[0] + sent[1]) as f64 / (4 * n) as f64
}

#[divan::bench(consts = [1, 2, 4, 8], args = [1_000_000, 10_000_000], sample_count = 5, sample_size = 1)]
fn softspoken<const K: u32>(bencher: Bencher, n: usize) {
    one_way(bencher, OtExtension::SoftSpoken { k: K }, (1, n));
}

/// 1-of-16 OTs.
#[divan::bench(consts = [1, 4], args = [1_000_000], sample_count = 5, sample_size = 1)]
fn one_of_16<const K: u32>(bencher: Bencher, n: usize) {
    one_way(bencher, OtExtension::SoftSpoken { k: K }, (4, n));
}

#[divan::bench(args = [1_000_000, 10_000_000], sample_count = 10, sample_size = 1)]
fn silent(bencher: Bencher, n: usize) {
    one_way(bencher, OtExtension::Silent, (1, n));
}

#[divan::bench(consts = [1, 2, 4, 8], sample_count = 5, sample_size = 1)]
fn set_up<const K: u32>(bencher: Bencher) {
    timed(bencher, OtExtension::SoftSpoken { k: K }, |party, _| {
        source(party, OtExtension::SoftSpoken { k: K }).expect("set-up");
    });
}
