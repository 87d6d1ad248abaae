//! Numbers as messages tell them.

use std::fmt;

/// A number in messages: with four places, or as a power of ten where that tells nothing. What float32 does not hold is
/// told by its largest number: that has no end, as far as a plan knows.
pub(super) struct Told(pub f64);

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Told(value) = *self;
        match value.abs() {
            size if size > f32::MAX.into() && size.is_finite() => {
                let (sign, beyond) = if value < 0.0 {
                    ("-", "less")
                } else {
                    ("", "more")
                };
                write!(f, "{sign}{:.2e} and {beyond}", f32::MAX)
            }
            size if size != 0.0 && size.is_finite() && !(1e-3..1e7).contains(&size) => {
                write!(f, "{value:.2e}")
            }
            _ => write!(f, "{value:.4}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_few_characters() {
        let told = [
            0.0,
            -4.0,
            1e-3,
            2e-4,
            9999999.0,
            1e7,
            -1.25e30,
            1e150,
            -1e150,
            f64::NEG_INFINITY,
        ];
        let told = told.map(|v| Told(v).to_string());
        let expected = [
            "0.0000",
            "-4.0000",
            "0.0010",
            "2.00e-4",
            "9999999.0000",
            "1.00e7",
            "-1.25e30",
            "3.40e38 and more",
            "-3.40e38 and less",
            "-inf",
        ];
        assert_eq!(told, expected);
    }
}
