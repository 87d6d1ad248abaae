//! The protocols of this crate as subjects of conformance.

use tacit_algebra::Ring;
use tacit_algebra::mersenne::Field;
use tacit_conformance::Subject;
use tacit_net::{LinkModel, Party};
use tacit_protocols::Error;
use tacit_protocols::bicoptor;
use tacit_protocols::bicoptor::rss::BicoptorRss;
use tacit_protocols::bicoptor::ubl::Ubl;
use tacit_protocols::clear::Clear;
use tacit_protocols::falcon::{self, Falcon, PARTIES, Security, Truncation};
use tacit_protocols::machine::Erased;
use tacit_protocols::shamir::{Comparison, Opening, Options, Shamir};

/// Falcon over the ring `R`.
pub struct FalconOver<R: Ring> {
    pub options: falcon::Options,
    pub ring: std::marker::PhantomData<fn() -> R>,
}

/// Secure against curious parties, signs by the adder.
pub fn falcon_over<R: Ring>() -> FalconOver<R> {
    FalconOver {
        options: falcon::Options::default(),
        ring: std::marker::PhantomData,
    }
}

/// Falcon over the ring `R`, secure against a party that deviates.
pub fn malicious_over<R: Ring>() -> FalconOver<R> {
    let mut subject = falcon_over();
    subject.options.security = Security::Malicious;
    subject
}

impl<R: Ring> FalconOver<R> {
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

impl<R: Ring> Subject for FalconOver<R> {
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
    fn machine(&self, party: Party) -> Result<Erased, Error> {
        Falcon::<R>::new(party, self.options).map(Erased::new)
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
    /// This subject with at most `threshold` parties that may collude.
    pub fn with_threshold(mut self, threshold: usize) -> Self {
        self.options.threshold = threshold;
        self
    }
}

impl<F: Field> Subject for ShamirOver<F> {
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
    fn machine(&self, party: Party) -> Result<Erased, Error> {
        Shamir::<F>::new(party, &self.options).map(Erased::new)
    }
}

/// A protocol over a ring whose machine a function makes.
pub struct Over {
    name: String,
    parties: usize,
    bits: u32,
    /// The largest error of a truncation.
    error: i64,
    machine: Box<dyn Fn(Party) -> Result<Erased, Error> + Sync>,
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
    fn machine(&self, party: Party) -> Result<Erased, Error> {
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
pub fn settings<R: Ring>(options: bicoptor::Options) -> [Over; 2] {
    let over = |name, machine| Over {
        name: format!("Bicoptor {name}, {options:?}"),
        parties: bicoptor::PARTIES,
        bits: R::BITS,
        error: 1,
        machine,
    };
    [
        over(
            "Ubl",
            Box::new(move |party| Ubl::<R>::new(party, options).map(Erased::new)),
        ),
        over(
            "Rss",
            Box::new(move |party| BicoptorRss::<R>::new(party, options).map(Erased::new)),
        ),
    ]
}

pub fn ubl_over<R: Ring>(truncation: Truncation) -> Over {
    let [ubl, _] = settings::<R>(bicoptor_options(truncation));
    ubl
}

pub fn rss_over<R: Ring>(truncation: Truncation) -> Over {
    let [_, rss] = settings::<R>(bicoptor_options(truncation));
    rss
}

/// Clear text over the ring `R`.
pub fn clear_over<R: Ring>(parties: usize) -> Over {
    Over {
        name: format!("clear text, {parties} parties"),
        parties,
        bits: R::BITS,
        error: 0,
        machine: Box::new(|party| Ok(Erased::new(Clear::<R>::new(party)))),
    }
}
