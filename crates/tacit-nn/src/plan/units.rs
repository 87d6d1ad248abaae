//! Whole numbers of units, of many values at once: without branches or calls, so that a processor takes several
//! at a time.

use tacit_algebra::isa::{Loop, run};

/// Adds and takes away again all that is less than 1.
const WHOLE: f64 = 6_755_399_441_055_744.0;
/// The magnitude from which on a number is whole, or nearly.
const FAR: f64 = 2_251_799_813_685_248.0;

/// The largest whole number that is not above `x`.
#[inline]
pub(super) fn below(x: f64) -> f64 {
    let near = (x + WHOLE) - WHOLE;
    let below = if near > x { near - 1.0 } else { near };
    if x.abs() < FAR { below } else { x }
}

/// The whole number nearest to `x`, of two the one farther from 0.
#[inline]
pub(super) fn nearest(x: f64) -> f64 {
    let near = below(x.abs() + 0.5).copysign(x);
    if x.abs() < FAR { near } else { x }
}

/// Makes of every value, in units, what `f` says of it and of its place among these; what is infinite, or no
/// number, stays.
pub(super) fn in_units(values: &mut [f32], unit: f64, f: impl Fn(u32, f64) -> f64) {
    run(InUnits { values, unit, f });
}

struct InUnits<'a, F> {
    values: &'a mut [f32],
    unit: f64,
    f: F,
}

impl<F: Fn(u32, f64) -> f64> Loop for InUnits<'_, F> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let InUnits { values, unit, f } = self;
        let back = 1.0 / unit;
        for (place, v) in values.iter_mut().enumerate() {
            let units = f64::from(*v) * unit;
            let made = f(place as u32, units);
            let made = if units.abs() < f64::INFINITY {
                made
            } else {
                units
            };
            *v = (made * back) as f32;
        }
    }
}

/// A fixed sequence that looks random, known by a name; whoever asks, and in whatever order, finds the same at
/// every place of it.
#[derive(Clone, Copy)]
pub(super) struct Chances {
    low: u32,
    high: u32,
}

impl Chances {
    pub(super) fn new(name: [usize; 3]) -> Self {
        // Of every part of the name SplitMix64's mixing.
        let mixed = name.iter().fold(0, |state: u64, &part| {
            let x = (state ^ part as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        });
        Chances {
            low: mixed as u32,
            high: (mixed >> 32) as u32,
        }
    }

    /// A number in `0.0..1.0`.
    #[inline]
    pub(super) fn at(self, place: u32) -> f64 {
        let x = place.wrapping_mul(0x9e37_79b9) ^ self.low;
        let x = (x ^ (x >> 16))
            .wrapping_mul(0x7feb_352d)
            .wrapping_add(self.high);
        let x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
        f64::from(x ^ (x >> 16)) / (1u64 << 32) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacit_algebra::isa::{Isa, with};

    #[test]
    fn whole_numbers_are_those_of_the_library() {
        let small = (-40..=40).map(|i| f64::from(i) / 8.0);
        let large = [FAR - 0.5, FAR, 1e15 + 0.5, 1e17, 1e300].map(|v| [v, -v]);
        let tiny = [f64::MIN_POSITIVE, 1e-17, 0.0].map(|v| [v, -v]);
        for x in small.chain(large.concat()).chain(tiny.concat()) {
            assert_eq!(below(x), x.floor(), "{x}");
            assert_eq!(nearest(x), x.round(), "{x}");
        }
    }

    #[test]
    fn what_is_no_number_of_units_stays() {
        let mut values = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1.25];
        in_units(&mut values, 2.0, |_, x| below(x));
        assert_eq!(
            [values[0], values[1], values[3]],
            [f32::INFINITY, f32::NEG_INFINITY, 1.0]
        );
        assert!(values[2].is_nan());
    }

    /// What every instruction set makes of the same numbers.
    #[test]
    fn units_are_the_same_everywhere() {
        let chances = Chances::new([3, 1, 4]);
        let all = |isa| {
            let mut values: Vec<f32> = (0..1003).map(|i| (i as f32 - 500.0) / 7.0).collect();
            values[11] = f32::INFINITY;
            let raised = |place, x| below(x + chances.at(place)) + nearest(x / 3.0);
            with(isa, || in_units(&mut values, 256.0, raised));
            values
        };
        let portable = all(Isa::Portable);
        assert!(Isa::available().all(|isa| all(isa) == portable));
    }

    /// Chances look random: of many places, of neighbouring ones, and of two sequences whose names are neighbours,
    /// means and products are as of independent chances.
    #[test]
    fn chances_look_random() {
        const N: u32 = 1 << 16;
        let mean = |f: &dyn Fn(u32) -> f64| (0..N).map(f).sum::<f64>() / f64::from(N);
        for name in [[0, 0, 0], [1, 2, 0], [4, 900, 1]] {
            let [a, b] = [0, 1].map(|i| Chances::new([name[0], name[1] + i, name[2]]));
            let near = |found: f64, wanted: f64| (found - wanted).abs() < 0.01;
            assert!(near(mean(&|i| a.at(i)), 0.5));
            assert!(near(mean(&|i| a.at(i) * a.at(i)), 1.0 / 3.0));
            assert!(near(mean(&|i| a.at(i) * a.at(i + 1)), 0.25));
            assert!(near(mean(&|i| a.at(i) * b.at(i)), 0.25));
            assert!((0..N).all(|i| (0.0..1.0).contains(&a.at(i))));
        }
    }
}
