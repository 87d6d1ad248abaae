//! The moduli that a plan computes by: powers of two, whose residues are a ring, and primes, whose are a field.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a plan's numbers are computed modulo. Written as the bits of a number, which tell those of [`MODULI`] apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "u32", into = "u32")]
pub enum Modulus {
    /// `2^k` for these bits `k`: a ring.
    PowerOfTwo(u32),
    /// The Mersenne prime `2^k - 1` for these bits `k`: a field.
    Mersenne(u32),
}

/// The moduli that plans are made for.
pub const MODULI: [Modulus; 4] = [
    Modulus::Mersenne(31),
    Modulus::PowerOfTwo(32),
    Modulus::Mersenne(61),
    Modulus::PowerOfTwo(64),
];

impl Modulus {
    /// The modulus of numbers of so many bits: a prime of 31 or 61, a power of two otherwise.
    pub fn of_bits(bits: u32) -> Modulus {
        match bits {
            31 | 61 => Modulus::Mersenne(bits),
            _ => Modulus::PowerOfTwo(bits),
        }
    }

    /// Bits of a number.
    pub const fn bits(self) -> u32 {
        match self {
            Modulus::PowerOfTwo(bits) | Modulus::Mersenne(bits) => bits,
        }
    }

    /// Whether the modulus is a prime, so that the numbers are a field.
    pub const fn is_prime(self) -> bool {
        matches!(self, Modulus::Mersenne(_))
    }

    /// `ring` or `field`, as options and messages say.
    pub const fn kind(self) -> &'static str {
        match self {
            Modulus::PowerOfTwo(_) => "ring",
            Modulus::Mersenne(_) => "field",
        }
    }

    /// The widest modulus of the same kind that plans are made for.
    pub(crate) fn widest(self) -> Modulus {
        match self {
            Modulus::PowerOfTwo(_) => Modulus::PowerOfTwo(64),
            Modulus::Mersenne(_) => Modulus::Mersenne(61),
        }
    }

    /// The residue of a whole number that lies nearest to 0; none of what is beyond 126 bits.
    pub(crate) fn residue(self, whole: f64) -> Option<i64> {
        if whole.is_nan() || whole.abs() >= 126f64.exp2() {
            return None;
        }
        let size = self.size();
        let rest = (whole as i128).rem_euclid(size);
        let nearest = if rest < (size + 1) / 2 {
            rest
        } else {
            rest - size
        };
        Some(nearest as i64)
    }

    /// The modulus as a number.
    fn size(self) -> i128 {
        match self {
            Modulus::PowerOfTwo(bits) => 1 << bits,
            Modulus::Mersenne(bits) => (1 << bits) - 1,
        }
    }

    /// Whether numbers have room to spare at a good precision.
    pub(super) fn is_wide(self) -> bool {
        self.bits() > 32
    }
}

impl From<u32> for Modulus {
    fn from(bits: u32) -> Self {
        Modulus::of_bits(bits)
    }
}

impl From<Modulus> for u32 {
    fn from(modulus: Modulus) -> Self {
        modulus.bits()
    }
}

/// What users read of it: `64-bit ring`, `61-bit field`.
impl fmt::Display for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}-bit {}", self.bits(), self.kind())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of a small range, and those around the ends of each modulus.
    #[test]
    fn residues_are_the_nearest_to_zero() {
        for modulus in MODULI {
            let size = modulus.size();
            let near = |at: i128| (-3000..3000i128).map(move |d| at + d * 1024);
            let ends = [0, size / 2, -size / 2, size, -size, 5 * size, 1 << 100];
            for whole in ends.into_iter().flat_map(near) {
                // What a float holds of it.
                let float = whole as f64;
                let whole = float as i128;
                let residue = i128::from(modulus.residue(float).expect("below 126 bits"));
                assert_eq!((whole - residue) % size, 0, "{modulus} {whole}");
                assert!(-size / 2 <= residue && residue < (size + 1) / 2);
            }
            assert_eq!(modulus.residue(126f64.exp2()), None);
            assert_eq!(modulus.residue(f64::NEG_INFINITY), None);
            assert_eq!(modulus.residue(f64::NAN), None);
        }
    }

    /// Plans are sent, and settings given, with bits alone.
    #[test]
    fn bits_tell_the_moduli_apart() {
        for modulus in MODULI {
            assert_eq!(Modulus::of_bits(modulus.bits()), modulus);
            let text = serde_json::to_string(&modulus).expect("a number");
            assert_eq!(text, modulus.bits().to_string());
            let back: Modulus = serde_json::from_str(&text).expect("its own text");
            assert_eq!(back, modulus);
        }
        let told = MODULI.map(|modulus| modulus.to_string());
        assert_eq!(
            told,
            ["31-bit field", "32-bit ring", "61-bit field", "64-bit ring"]
        );
    }
}
