//! What every protocol is held to, as checks that the tests of its crate call: arithmetic and functions
//! against their definitions, declared against metered cost, and what each party sees.
//!
//! A protocol is a [`Subject`]. Checks know its machine as [`Erased`], and are compiled once.

pub mod arithmetic;
pub mod cost;
pub mod histograms;
pub mod independence;
pub mod knowledge;
pub mod math;
pub mod mixed;
pub mod places;
pub mod polynomials;
pub mod views;
pub mod wide;
pub mod wire;

use std::time::Duration;

use tacit_net::{LinkModel, Party, memory};
use tacit_protocols::Error;
use tacit_protocols::machine::{Audience, Call, Erased, Handle, Machine};
use tacit_protocols::math::{BatchNorm, Channels, Elementary, Function, Statistics};
use tacit_protocols::record::{calls_of, noted};

pub use tacit_net::testing::run as run_on;

/// How long a party waits for a message before it fails.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A protocol over a ring or field between some parties: what checks run on.
pub trait Subject: Sync {
    /// The protocol's name in messages of failures.
    fn name(&self) -> String;
    /// How many parties run the protocol.
    fn parties(&self) -> usize;
    /// Values are residues modulo this number.
    fn modulus(&self) -> i128;
    /// The least and the greatest error of a truncation against the floor: with a least below 0 also exact
    /// quotients are rounded by chance.
    fn rounding(&self) -> (i64, i64);
    /// The machine at a party's end of the links.
    fn machine(&self, party: Party) -> Result<Erased<'_>, Error>;
    /// Bits of a value.
    fn bits(&self) -> u32 {
        128 - (self.modulus() - 1).leading_zeros()
    }
    /// Bits of magnitude that signs are exact within.
    fn sign_bits(&self) -> u32 {
        127 - (self.modulus() / 2).leading_zeros()
    }

    /// A value whose sign is exact.
    fn signed(&self, v: i64) -> i64 {
        let m = 1i128 << self.sign_bits();
        match i128::from(v) {
            v if -m <= v && v < m => v as i64,
            v => (v % m) as i64,
        }
    }

    /// The residue nearest to 0.
    fn wrap(&self, v: i128) -> i64 {
        let m = self.modulus();
        let r = v.rem_euclid(m);
        (if r >= m - m / 2 { r - m } else { r }) as i64
    }
}

/// A test for each check of a suite, which holds it to the subjects that `check` is called with.
#[macro_export]
macro_rules! tests {
    (|$check:ident| $on:expr, $suite:ident: $($(#[$attribute:meta])? $name:ident)+) => {
        $(#[test]
        $(#[$attribute])?
        fn $name() {
            let $check = $crate::$suite::$name;
            $on;
        })+
    };
}

/// A mesh in memory without delay.
pub fn mesh(parties: usize) -> Vec<Party> {
    memory::mesh(parties, &LinkModel::LOCAL, TIMEOUT)
}

/// Runs a program at all parties of a subject; an error fails the test.
pub fn run<T: Send>(
    subject: &dyn Subject,
    program: impl Fn(&mut Erased) -> Result<T, Error> + Sync,
) -> Vec<T> {
    run_on(mesh(subject.parties()), |party| {
        let mut machine = subject.machine(party).expect("keys are agreed");
        program(&mut machine).expect("the program runs")
    })
}

/// What a program demands over so many bits.
pub fn demand<T>(bits: u32, program: impl FnOnce(&mut Erased) -> Result<T, Error>) -> Vec<Call> {
    calls_of(bits, program).expect("a program that is possible")
}

/// What a function of `n` elements demands over so many bits.
pub fn demand_of(bits: u32, function: &impl Function, n: usize) -> Vec<Call> {
    demand(bits, |machine| function.apply(machine, &noted(n)))
}

/// What the normalisation of so many elements demands.
pub fn demand_of_norm(bits: u32, norm: &BatchNorm, shape: Channels) -> Vec<Call> {
    let x = noted(shape.batch * shape.channels * shape.plane);
    let [mean, variance, gamma, beta] = [(); 4].map(|()| noted(shape.channels));
    let of = Statistics {
        mean,
        variance,
        gamma,
        beta,
    };
    demand(bits, |machine| norm.apply(machine, &x, shape, &of))
}

/// What a function demands by the algorithms that every protocol has.
pub fn demand_by_name(function: &Elementary, n: usize) -> Result<Vec<Call>, Error> {
    calls_of(function.format.bits(), |machine| {
        function.apply(machine, &noted(n))
    })
}

/// Shares `x` (owner: party 0), applies `op` whose calls are `calls`, opens the result to all.
pub fn apply(
    subject: &dyn Subject,
    calls: &[Call],
    x: &[i64],
    op: impl Fn(&mut Erased, &Handle) -> Result<Handle, Error> + Sync,
) -> Vec<i64> {
    apply_any(subject, calls, x, &op)
}

/// Compiled once for all operations.
fn apply_any(
    subject: &dyn Subject,
    calls: &[Call],
    x: &[i64],
    op: &(dyn Fn(&mut Erased, &Handle) -> Result<Handle, Error> + Sync),
) -> Vec<i64> {
    let opened = run(subject, |machine| {
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
    opened.into_iter().next().expect("the parties ran")
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
