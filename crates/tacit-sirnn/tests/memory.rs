//! What stays of a session's secrets in a process's memory, in a test binary of its own: it reads all
//! of it.

#![cfg(target_os = "linux")]

use std::sync::{Barrier, Mutex};
use std::time::Duration;

use tacit_algebra::{Bits, wipe};
use tacit_net::testing::{self, remains::Secrets};
use tacit_net::{LinkModel, memory};
use tacit_protocols::Error;
use tacit_sirnn::ot::{OtExtension, source};
use tacit_sirnn::{Correlation, Engine, Gate, PARTIES};

/// More than what silent OT takes an iteration for.
const N: usize = 450_000;

/// Uses what relates the messages of a transfer in every primitive.
fn program(engine: &mut Engine) -> Result<(), Error> {
    let gate = Gate::xor(4, 2, |x, y| u64::from(x < y));
    let wide = Gate::lookup(8, 14, &(0..256).collect::<Vec<u64>>());
    let numbers = vec![5; 3000];
    engine.gates("gates", &[(&gate, &numbers), (&wide, &numbers)])?;
    let bits = Bits::zeros(N);
    engine.ands("ands", &[(&bits, &[&bits, &bits])])?;
    let choices = Bits::zeros(3000);
    let job = || {
        [Correlation {
            bits: 21,
            lanes: 3,
            fold: 5,
            n: 3000,
            rows: &[7; 3 * 3000],
            choices: &choices,
        }]
    };
    engine.products("products", &job(), &job()).map(drop)
}

/// How often both parties' offsets are in memory while they have them, and when they are gone.
fn remains(kind: OtExtension) -> [Vec<usize>; 2] {
    let mut counting = Engine::counting();
    program(&mut counting).expect("counts");
    let ots = counting.tally().ots;
    let secrets = Mutex::new(Secrets::default());
    let barrier = Barrier::new(PARTIES);
    let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
    let found = testing::run(mesh, |mut party| {
        let id = party.id();
        let source = source(&mut party, kind).expect("set-up");
        wipe::after(|| {
            let mut secrets = secrets.lock().unwrap();
            secrets.add(&source.offsets(1).delta().to_le_bytes());
            secrets.add(&source.offsets(4).get(1).to_le_bytes());
            secrets.add(&source.offsets(8).get(255).to_le_bytes());
        });
        let mut engine = Engine::new(party, source).expect("set-up");
        engine.prepare(ots).expect("OTs");
        program(&mut engine).expect("runs");
        let look = || (id == 0).then(|| secrets.lock().unwrap().remains());
        barrier.wait();
        let alive = look();
        barrier.wait();
        drop(engine);
        barrier.wait();
        let gone = look();
        barrier.wait();
        [alive, gone]
    });
    let mut found = found.into_iter().flatten().flatten();
    [(); 2].map(|()| found.next().expect("before and after"))
}

/// Delta and the other offsets are nowhere once the engines are gone: not in sources, kernels, nor on
/// the stacks of parties and workers.
#[test]
fn deltas_are_wiped() {
    let kinds = [
        OtExtension::SoftSpoken { k: 1 },
        OtExtension::SoftSpoken { k: 4 },
        OtExtension::Silent,
    ];
    let found = kinds.map(remains);
    kinds
        .iter()
        .zip(&found)
        .for_each(|(kind, [alive, gone])| println!("{kind:?}: {alive:?}, then {gone:?}"));
    for (kind, [alive, gone]) in kinds.iter().zip(&found) {
        assert!(alive.iter().all(|count| *count > 0), "{kind:?}: {alive:?}");
        assert!(gone.iter().all(|count| *count == 0), "{kind:?}: {gone:?}");
    }
}
