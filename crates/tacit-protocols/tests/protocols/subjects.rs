//! The protocols of this crate as subjects of conformance.

use tacit_algebra::Ring;
use tacit_algebra::mersenne::{F5, F7, F13, F31, F61, Field};
use tacit_conformance::Subject;
use tacit_net::{LinkModel, Party};
use tacit_protocols::Error;
use tacit_protocols::bicoptor;
use tacit_protocols::bicoptor::rss::{self, BicoptorRss};
use tacit_protocols::bicoptor::ubl::{self, Ubl};
use tacit_protocols::clear::{self, Clear};
use tacit_protocols::falcon::{self, Falcon, PARTIES, Security, Truncation};
use tacit_protocols::machine::Erased;
use tacit_protocols::shamir::{self, Comparison, Opening, Options, Shamir};

type Made = Result<Erased<'static>, Error>;

/// A ring of the tests. The machines of those that users have are the library's, compiled there.
pub trait Tested: Ring {
    fn falcon(party: Party, options: falcon::Options) -> Made;
    fn ubl(party: Party, options: bicoptor::Options) -> Made;
    fn rss(party: Party, options: bicoptor::Options) -> Made;
    fn clear(party: Party) -> Erased<'static>;
}

impl Tested for u8 {
    fn falcon(party: Party, options: falcon::Options) -> Made {
        Falcon::<u8>::new(party, options).map(Erased::new)
    }
    fn ubl(party: Party, options: bicoptor::Options) -> Made {
        Ubl::<u8>::new(party, options).map(Erased::new)
    }
    fn rss(party: Party, options: bicoptor::Options) -> Made {
        BicoptorRss::<u8>::new(party, options).map(Erased::new)
    }
    fn clear(party: Party) -> Erased<'static> {
        Erased::new(Clear::<u8>::new(party))
    }
}

macro_rules! of_users {
    ($($Ring:ty),+) => {
        $(impl Tested for $Ring {
            fn falcon(party: Party, options: falcon::Options) -> Made {
                falcon::machine(Self::BITS, party, options)
            }
            fn ubl(party: Party, options: bicoptor::Options) -> Made {
                ubl::machine(Self::BITS, party, options)
            }
            fn rss(party: Party, options: bicoptor::Options) -> Made {
                rss::machine(Self::BITS, party, options)
            }
            fn clear(party: Party) -> Erased<'static> {
                clear::machine(Self::BITS, party)
            }
        })+
    };
}

of_users!(u32, u64);

/// A field of the tests, as [`Tested`].
pub trait TestedField: Field {
    fn shamir(party: Party, options: &Options) -> Made {
        Shamir::<Self>::new(party, options).map(Erased::new)
    }
}

impl TestedField for F5 {}
impl TestedField for F7 {}
impl TestedField for F13 {}

impl TestedField for F31 {
    fn shamir(party: Party, options: &Options) -> Made {
        shamir::machine(31, party, options)
    }
}

impl TestedField for F61 {
    fn shamir(party: Party, options: &Options) -> Made {
        shamir::machine(61, party, options)
    }
}

/// Falcon over the ring `R`.
pub struct FalconOver<R: Tested> {
    pub options: falcon::Options,
    pub ring: std::marker::PhantomData<fn() -> R>,
}

/// Secure against curious parties, signs by the adder.
pub fn falcon_over<R: Tested>() -> FalconOver<R> {
    FalconOver {
        options: falcon::Options::default(),
        ring: std::marker::PhantomData,
    }
}

/// Falcon over the ring `R`, secure against a party that deviates.
pub fn malicious_over<R: Tested>() -> FalconOver<R> {
    let mut subject = falcon_over();
    subject.options.security = Security::Malicious;
    subject
}

impl<R: Tested> FalconOver<R> {
    /// This subject with the paper's comparison.
    pub fn with_paper_comparison(mut self) -> Self {
        self.options.comparison = falcon::Comparison::Falcon;
        self
    }

    /// This subject with another truncation.
    pub fn truncating(mut self, truncation: Truncation) -> Self {
        self.options.truncation = truncation;
        self
    }

    /// This subject with signs taken in `sign_bits` bits.
    pub fn with_sign_bits(mut self, sign_bits: u32) -> Self {
        self.options.sign_bits = sign_bits;
        self
    }
}

impl<R: Tested> Subject for FalconOver<R> {
    fn name(&self) -> String {
        format!("Falcon, {} bits, {:?}", R::BITS, self.options)
    }
    fn parties(&self) -> usize {
        PARTIES
    }
    fn modulus(&self) -> i128 {
        1 << R::BITS
    }
    fn rounding(&self) -> (i64, i64) {
        match (self.options.truncation, self.options.security) {
            (Truncation::Exact, _) => (0, 0),
            // Off the true quotient by up to 3/2.
            (Truncation::Gap, Security::Malicious) => (-1, 2),
            _ => (0, 1),
        }
    }
    fn machine(&self, party: Party) -> Result<Erased<'_>, Error> {
        R::falcon(party, self.options)
    }
}

/// Shamir sharing over the field `F`.
pub struct ShamirOver<F: TestedField> {
    pub parties: usize,
    pub options: Options,
    pub field: std::marker::PhantomData<fn() -> F>,
}

pub fn shamir_over<F: TestedField>(
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

impl<F: TestedField> ShamirOver<F> {
    /// This subject with at most `threshold` parties that may collude.
    pub fn with_threshold(mut self, threshold: usize) -> Self {
        self.options.threshold = threshold;
        self
    }
}

impl<F: TestedField> Subject for ShamirOver<F> {
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
    fn machine(&self, party: Party) -> Result<Erased<'_>, Error> {
        F::shamir(party, &self.options)
    }
}

/// A protocol over a ring whose machine a function makes.
pub struct Over {
    name: String,
    parties: usize,
    bits: u32,
    /// The largest error of a truncation.
    error: i64,
    machine: Box<dyn Fn(Party) -> Made + Sync>,
}

impl Subject for Over {
    fn name(&self) -> String {
        format!("{}, {} bits", self.name, self.bits)
    }
    fn parties(&self) -> usize {
        self.parties
    }
    fn modulus(&self) -> i128 {
        1 << self.bits
    }
    fn rounding(&self) -> (i64, i64) {
        (0, self.error)
    }
    fn machine(&self, party: Party) -> Result<Erased<'_>, Error> {
        (self.machine)(party)
    }
}

/// Bicoptor's options with a kind of truncation, its own comparison wherever key bits are promised.
pub fn bicoptor_options(truncation: Truncation) -> bicoptor::Options {
    bicoptor::Options {
        comparison: bicoptor::Comparison::Bicoptor,
        ..bicoptor::Options::new(truncation)
    }
}

/// Bicoptor over the ring `R`: shares between two parties, and replicated shares.
pub fn settings<R: Tested>(options: bicoptor::Options) -> [Over; 2] {
    let over = |name, machine| Over {
        name: format!("Bicoptor {name}, {options:?}"),
        parties: bicoptor::PARTIES,
        bits: R::BITS,
        error: 1,
        machine,
    };
    [
        over("Ubl", Box::new(move |party| R::ubl(party, options))),
        over("Rss", Box::new(move |party| R::rss(party, options))),
    ]
}

pub fn ubl_over<R: Tested>(truncation: Truncation) -> Over {
    let [ubl, _] = settings::<R>(bicoptor_options(truncation));
    ubl
}

pub fn rss_over<R: Tested>(truncation: Truncation) -> Over {
    let [_, rss] = settings::<R>(bicoptor_options(truncation));
    rss
}

/// Clear text over the ring `R`.
pub fn clear_over<R: Tested>(parties: usize) -> Over {
    Over {
        name: format!("clear text, {parties} parties"),
        parties,
        bits: R::BITS,
        error: 0,
        machine: Box::new(|party| Ok(R::clear(party))),
    }
}
