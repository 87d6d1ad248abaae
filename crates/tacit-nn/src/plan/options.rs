//! The options of a plan.

use tacit_protocols::signs::{SIGNS, Signs};

use super::mixed::RING;
use super::{
    Functions, KeyBitsChoice, MODULI, Modulus, Order, PRECISIONS, PlanError, Precision, Reveal,
};

/// The options of a plan.
#[derive(Clone, Debug)]
pub struct PlanOptions<'a> {
    /// What numbers are computed modulo: one of [`MODULI`](super::MODULI).
    pub modulus: Modulus,
    /// Fraction bits of every value; chosen by the planner if not given.
    pub fraction_bits: Option<u32>,
    /// Gives every tensor a width and a scale of its own. Over the 64-bit ring only.
    pub precision: Option<Precision>,
    /// Whether every party may know the weights.
    pub public_model: bool,
    /// The order of product and truncation.
    pub order: Order,
    /// How near elementary functions are.
    pub functions: Functions,
    /// Whether weights carry as many fraction bits as the values, as in most papers, rather than
    /// as many as help and fit.
    pub same_scale: bool,
    /// How many times larger than in the samples a value may be.
    pub margin: f64,
    /// Typical inputs, one item after the other, to see how large values become.
    pub samples: Option<&'a [f32]>,
    /// The largest magnitude of an input. By default `margin` times that of the samples, or
    /// [`DEFAULT_INPUT_RANGE`] without samples.
    pub input_range: Option<f64>,
    /// How many bits signs are taken from, by a protocol that gains by fewer.
    pub key_bits: KeyBitsChoice,
    /// What the protocols that may run the plan answer about signs.
    pub signs: &'a [Signs],
    /// What is opened of the output; what the model's last operation says if not given.
    pub reveal: Option<Reveal>,
}

/// The largest magnitude of an input where neither samples nor an option say.
pub const DEFAULT_INPUT_RANGE: f64 = 8.0;

impl Default for PlanOptions<'_> {
    fn default() -> Self {
        PlanOptions {
            modulus: Modulus::PowerOfTwo(64),
            fraction_bits: None,
            precision: None,
            public_model: false,
            order: Order::default(),
            functions: Functions::default(),
            same_scale: false,
            margin: 2.0,
            samples: None,
            input_range: None,
            key_bits: KeyBitsChoice::default(),
            signs: SIGNS,
            reveal: None,
        }
    }
}

/// Refuses options that make no sense.
pub(super) fn check_options(options: &PlanOptions) -> Result<(), PlanError> {
    let fail = |why: String| Err(PlanError::Option(why));
    if !MODULI.contains(&options.modulus) {
        return fail(format!(
            "rings of 32 and 64 bits and fields of 31 and 61 are supported, not {}",
            options.modulus.bits()
        ));
    }
    if options
        .fraction_bits
        .is_some_and(|f| f < 2 || f > options.modulus.bits() - 4)
    {
        return fail(format!(
            "fraction bits must lie in 2..={} for the {}",
            options.modulus.bits() - 4,
            options.modulus
        ));
    }
    if let Some(precision) = options.precision {
        check_precision(options, precision)?;
    }
    if !(1.0..=1e6).contains(&options.margin) {
        return fail(format!(
            "the margin over the samples must lie in 1..=1000000, not {}",
            options.margin
        ));
    }
    if options
        .input_range
        .is_some_and(|r| !(r > 0.0 && r.is_finite()))
    {
        return fail("the input range must be a positive number".into());
    }
    match options.key_bits {
        KeyBitsChoice::Auto { loss } if !(0.0..1.0).contains(&loss) => {
            return fail(format!(
                "the loss that key bits may cost is a share of the samples, from 0 to below 1, not {loss}"
            ));
        }
        _ => {}
    }
    let Some(samples) = options.samples else {
        return Ok(());
    };
    if samples.is_empty() {
        return fail("there are no samples".into());
    }
    match samples.iter().position(|v| !v.is_finite()) {
        Some(at) => fail(format!(
            "element {at} of the samples is {}; samples must be finite",
            samples[at]
        )),
        None => Ok(()),
    }
}

fn check_precision(options: &PlanOptions, precision: Precision) -> Result<(), PlanError> {
    let fail = |why: String| Err(PlanError::Option(why));
    match precision {
        Precision::Bits(bits) if !PRECISIONS.contains(&bits) => {
            return fail(format!(
                "values of their own widths have {} to {} bits, not {bits}",
                PRECISIONS.start(),
                PRECISIONS.end()
            ));
        }
        _ => {}
    }
    if options.modulus != RING || options.fraction_bits.is_some() {
        return fail(format!(
            "tensors have widths of their own over the {} and without a number of fraction bits for all; leave one of them out",
            RING
        ));
    }
    if options.order != Order::MultiplyThenTruncate || options.same_scale {
        return fail("tensors have widths of their own where products are truncated after".into());
    }
    Ok(())
}
