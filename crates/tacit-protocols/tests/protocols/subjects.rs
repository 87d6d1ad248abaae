//! The protocols of this crate as subjects of conformance.

use tacit_algebra::Ring;
use tacit_algebra::mersenne::Field;
use tacit_conformance::{Erased, Subject};
use tacit_net::{LinkModel, Party};
use tacit_protocols::Error;
use tacit_protocols::bicoptor;
use tacit_protocols::bicoptor::rss::BicoptorRss;
use tacit_protocols::bicoptor::ubl::Ubl;
use tacit_protocols::clear::Clear;
use tacit_protocols::falcon::{Falcon, PARTIES, Security, Truncation};
use tacit_protocols::shamir::{Comparison, Opening, Options, Shamir};

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
    fn machine(&self, party: Party) -> Result<Erased, Error> {
        let machine = Falcon::with_security(party, self.truncation, self.security);
        machine.map(self.configure).map(Erased::new)
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
            fn machine(&self, party: Party) -> Result<Erased, Error> {
                $machine::<R>::new(party, self.options).map(Erased::new)
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

pub fn clear_over<R: Ring>(parties: usize) -> ClearOver<R> {
    ClearOver {
        parties,
        ring: Default::default(),
    }
}

impl<R: Ring> Subject for ClearOver<R> {
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
    fn machine(&self, party: Party) -> Result<Erased, Error> {
        Ok(Erased::new(Clear::<R>::new(party)))
    }
}
