//! What all tests of protocols share: subjects, meshes of threads, values.

use std::time::Duration;

use tacit_algebra::Ring;
use tacit_algebra::mersenne::Field;
use tacit_net::{LinkModel, Party, memory};
use tacit_protocols::Error;
use tacit_protocols::bicoptor;
use tacit_protocols::bicoptor::rss::BicoptorRss;
use tacit_protocols::bicoptor::ubl::Ubl;
use tacit_protocols::clear::Clear;
use tacit_protocols::falcon::{Falcon, PARTIES, Security, Truncation};
use tacit_protocols::machine::{Audience, Call, Machine};
use tacit_protocols::math::{BatchNorm, Channels, Elementary, Function, Statistics};
pub use tacit_protocols::record::Noted;
use tacit_protocols::record::{Recorder, calls_of};
use tacit_protocols::shamir::{Comparison, Opening, Options, Shamir};
use tacit_sirnn::ot::Kind;
use tacit_sirnn::{self as sirnn, Sirnn};

pub use tacit_net::testing::run as run_on;

pub const TIMEOUT: Duration = Duration::from_secs(60);

/// A protocol over a ring or field between some parties: what the conformance suite runs on.
pub trait Subject: Sync {
    type Machine: Machine;
    fn name(&self) -> String;
    fn parties(&self) -> usize;
    /// Values are residues modulo this number.
    fn modulus(&self) -> i128;
    /// The least and the greatest error of a truncation against the floor.
    fn rounding(&self) -> (i64, i64);
    fn machine(&self, party: Party) -> Result<Self::Machine, Error>;
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

/// Falcon over the ring `R`.
pub struct FalconOver<R: Ring> {
    pub truncation: Truncation,
    pub security: Security,
    pub configure: fn(Falcon<R>) -> Falcon<R>,
}

pub fn falcon_over<R: Ring>() -> FalconOver<R> {
    FalconOver {
        truncation: Truncation::Gap,
        security: Security::SemiHonest,
        configure: |machine| machine,
    }
}

/// The same, secure against a party that deviates.
pub fn malicious_over<R: Ring>() -> FalconOver<R> {
    FalconOver {
        security: Security::Malicious,
        ..falcon_over()
    }
}

impl<R: Ring> Subject for FalconOver<R> {
    type Machine = Falcon<R>;

    fn name(&self) -> String {
        format!(
            "Falcon, {} bits, {:?}, {:?}",
            R::BITS,
            self.truncation,
            self.security
        )
    }
    fn parties(&self) -> usize {
        PARTIES
    }
    fn modulus(&self) -> i128 {
        1 << R::BITS
    }
    fn rounding(&self) -> (i64, i64) {
        (
            0,
            if self.truncation == Truncation::Exact {
                0
            } else {
                1
            },
        )
    }
    fn machine(&self, party: Party) -> Result<Falcon<R>, Error> {
        Falcon::with_security(party, self.truncation, self.security).map(self.configure)
    }
}

/// Shamir sharing over the field `F`.
pub struct ShamirOver<F: Field> {
    pub parties: usize,
    pub options: Options,
    pub field: std::marker::PhantomData<fn() -> F>,
}

pub fn shamir_over<F: Field>(
    parties: usize,
    comparison: Comparison,
    opening: Opening,
) -> ShamirOver<F> {
    ShamirOver {
        parties,
        options: Options {
            comparison,
            opening,
            ..Options::new(parties, LinkModel::LOCAL)
        },
        field: std::marker::PhantomData,
    }
}

impl<F: Field> ShamirOver<F> {
    /// The same with fewer parties that may collude.
    pub fn with_threshold(mut self, threshold: usize) -> Self {
        self.options.threshold = threshold;
        self
    }
}

impl<F: Field> Subject for ShamirOver<F> {
    type Machine = Shamir<F>;

    fn name(&self) -> String {
        format!(
            "Shamir, {} bits, {} of {} parties, {:?}, {:?}",
            F::BITS,
            self.options.threshold,
            self.parties,
            self.options.comparison,
            self.options.opening
        )
    }
    fn parties(&self) -> usize {
        self.parties
    }
    fn modulus(&self) -> i128 {
        i128::from(F::P)
    }
    fn rounding(&self) -> (i64, i64) {
        (0, 1)
    }
    fn machine(&self, party: Party) -> Result<Shamir<F>, Error> {
        Shamir::new(party, &self.options)
    }
}

/// SiRnn over the ring of so many bits.
pub struct SirnnOver(pub sirnn::Options);

pub fn sirnn_over(bits: u32) -> SirnnOver {
    SirnnOver(sirnn::Options {
        bits,
        sign_bits: bits,
        kind: Kind::default(),
    })
}

impl Subject for SirnnOver {
    type Machine = Sirnn;

    fn name(&self) -> String {
        format!("SiRnn, {:?}", self.0)
    }
    fn parties(&self) -> usize {
        sirnn::PARTIES
    }
    fn modulus(&self) -> i128 {
        1 << self.0.bits
    }
    fn rounding(&self) -> (i64, i64) {
        (0, 0)
    }
    fn machine(&self, party: Party) -> Result<Sirnn, Error> {
        Sirnn::new(party, self.0)
    }
}

/// Bicoptor over the ring `R`, shares between two parties.
pub struct UblOver<R: Ring> {
    pub options: bicoptor::Options,
    pub ring: std::marker::PhantomData<fn() -> R>,
}

/// The same with replicated shares.
pub struct RssOver<R: Ring> {
    pub options: bicoptor::Options,
    pub ring: std::marker::PhantomData<fn() -> R>,
}

/// Bicoptor's options with a kind of truncation.
pub fn bicoptor_options(truncation: Truncation) -> bicoptor::Options {
    bicoptor::Options {
        truncation,
        form: bicoptor::Form::Mended,
    }
}

pub fn ubl_over<R: Ring>(truncation: Truncation) -> UblOver<R> {
    UblOver {
        options: bicoptor_options(truncation),
        ring: Default::default(),
    }
}

pub fn rss_over<R: Ring>(truncation: Truncation) -> RssOver<R> {
    RssOver {
        options: bicoptor_options(truncation),
        ring: Default::default(),
    }
}

macro_rules! bicoptor_subject {
    ($subject:ident, $machine:ident) => {
        impl<R: Ring> Subject for $subject<R> {
            type Machine = $machine<R>;

            fn name(&self) -> String {
                let machine = stringify!($machine);
                format!("{machine}, {} bits, {:?}", R::BITS, self.options)
            }
            fn parties(&self) -> usize {
                bicoptor::PARTIES
            }
            fn modulus(&self) -> i128 {
                1 << R::BITS
            }
            fn rounding(&self) -> (i64, i64) {
                (0, 1)
            }
            fn machine(&self, party: Party) -> Result<$machine<R>, Error> {
                $machine::new(party, self.options)
            }
        }
    };
}

bicoptor_subject!(UblOver, Ubl);
bicoptor_subject!(RssOver, BicoptorRss);

/// Clear text over the ring `R`.
pub struct ClearOver<R: Ring> {
    pub parties: usize,
    pub ring: std::marker::PhantomData<fn() -> R>,
}

impl<R: Ring> Subject for ClearOver<R> {
    type Machine = Clear<R>;

    fn name(&self) -> String {
        format!("clear text, {} bits, {} parties", R::BITS, self.parties)
    }
    fn parties(&self) -> usize {
        self.parties
    }
    fn modulus(&self) -> i128 {
        1 << R::BITS
    }
    fn rounding(&self) -> (i64, i64) {
        (0, 0)
    }
    fn machine(&self, party: Party) -> Result<Clear<R>, Error> {
        Ok(Clear::new(party))
    }
}

/// A mesh in memory without delay.
pub fn mesh(parties: usize) -> Vec<Party> {
    memory::mesh(parties, &LinkModel::LOCAL, TIMEOUT)
}

/// Runs a program at all parties of a subject; an error fails the test.
pub fn run<S: Subject, T: Send>(
    subject: &S,
    program: impl Fn(&mut S::Machine) -> Result<T, Error> + Sync,
) -> Vec<T> {
    run_any(subject, &program)
}

/// Compiled once for all programs of one machine and result; so is what follows for all of one machine.
fn run_any<S: Subject, T: Send>(
    subject: &S,
    program: &(dyn Fn(&mut S::Machine) -> Result<T, Error> + Sync),
) -> Vec<T> {
    run_on(mesh(subject.parties()), |party| {
        let mut machine = subject.machine(party).expect("keys are agreed");
        program(&mut machine).expect("the program runs")
    })
}

/// What a program demands over so many bits.
pub fn demand<T>(
    bits: u32,
    program: impl FnOnce(&mut Recorder<'static>) -> Result<T, Error>,
) -> Vec<Call> {
    calls_of(bits, program).expect("a program that is possible")
}

/// What a function of `n` elements demands over so many bits.
pub fn demand_of(bits: u32, function: &impl Function, n: usize) -> Vec<Call> {
    demand(bits, |machine| function.apply(machine, &Noted::of(n)))
}

/// What the normalisation of so many elements demands.
pub fn demand_of_norm(bits: u32, norm: &BatchNorm, shape: Channels) -> Vec<Call> {
    let x = Noted::of(shape.batch * shape.channels * shape.plane);
    let [mean, variance, gamma, beta] = [Noted::of(shape.channels); 4];
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
        function.apply(machine, &Noted::of(n))
    })
}

/// Shares `x` (owner: party 0), applies `op` whose calls are `calls`, opens the result to all.
pub fn apply<S: Subject>(
    subject: &S,
    calls: &[Call],
    x: &[i64],
    op: impl Fn(
        &mut S::Machine,
        &<S::Machine as Machine>::Share,
    ) -> Result<<S::Machine as Machine>::Share, Error>
    + Sync,
) -> Vec<i64> {
    apply_any(subject, calls, x, &op)
}

type Share<S> = <<S as Subject>::Machine as Machine>::Share;
type Op<'a, S> =
    dyn Fn(&mut <S as Subject>::Machine, &Share<S>) -> Result<Share<S>, Error> + Sync + 'a;

fn apply_any<S: Subject>(subject: &S, calls: &[Call], x: &[i64], op: &Op<S>) -> Vec<i64> {
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
