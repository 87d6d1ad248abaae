//! Three parties as threads of the test, over links in memory.

use std::thread;
use std::time::Duration;

use tacit_algebra::Ring;
use tacit_net::{LinkModel, Party, memory};
use tacit_protocols::Error;
use tacit_protocols::falcon::{Falcon, PARTIES, Truncation};
use tacit_protocols::machine::{Audience, Call, Machine};

pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs the same program at every party of a mesh and returns their results in order.
pub fn run_on<T: Send>(mesh: Vec<Party>, program: impl Fn(Party) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let threads: Vec<_> = mesh
            .into_iter()
            .map(|party| scope.spawn(|| program(party)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a party panicked"))
            .collect()
    })
}

/// A mesh in memory without delay.
pub fn mesh() -> Vec<Party> {
    memory::mesh(
        PARTIES,
        &LinkModel::parse("local").expect("a known network"),
        TIMEOUT,
    )
}

/// Runs a Falcon program at three parties; an error fails the test.
pub fn falcon<R: Ring, T: Send>(
    truncation: Truncation,
    program: impl Fn(&mut Falcon<R>) -> Result<T, Error> + Sync,
) -> Vec<T> {
    falcon_as(truncation, |machine| machine, program)
}

/// The same on machines that `configure` has changed.
pub fn falcon_as<R: Ring, T: Send>(
    truncation: Truncation,
    configure: fn(Falcon<R>) -> Falcon<R>,
    program: impl Fn(&mut Falcon<R>) -> Result<T, Error> + Sync,
) -> Vec<T> {
    run_on(mesh(), |party| {
        let mut machine = configure(Falcon::<R>::new(party, truncation).expect("keys are agreed"));
        program(&mut machine).expect("the program runs")
    })
}

/// Shares `x` (owner: party 0), applies `op` whose calls are `calls`, opens the result to all.
pub fn apply<R: Ring>(
    truncation: Truncation,
    calls: &[Call],
    x: &[i64],
    op: impl Fn(
        &mut Falcon<R>,
        &<Falcon<R> as Machine>::Share,
    ) -> Result<<Falcon<R> as Machine>::Share, Error>
    + Sync,
) -> Vec<i64> {
    let opened = falcon::<R, _>(truncation, |machine| {
        machine.prepare(calls)?;
        let own = (machine.party().id() == 0).then_some(x);
        let share = machine.input(0, x.len(), own)?;
        let result = op(machine, &share)?;
        Ok(machine
            .reveal(&result, Audience::All)?
            .expect("all parties hear"))
    });
    assert!(
        opened.windows(2).all(|pair| pair[0] == pair[1]),
        "the parties opened different values"
    );
    opened.into_iter().next().expect("three parties ran")
}

/// Deterministic test values: a 64-bit mix of the index, so that failures repeat.
pub fn noise(seed: u64, n: usize) -> Vec<i64> {
    (0..n as u64)
        .map(|i| {
            let mut z = (seed << 32 | i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            (z ^ z >> 31) as i64
        })
        .collect()
}

/// A value reduced to the ring's signed range.
pub fn wrap<R: Ring>(v: i64) -> i64 {
    R::from_i64(v).to_i64()
}
