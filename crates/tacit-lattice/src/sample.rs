//! Random polynomials.

use tacit_algebra::Prg;
use zeroize::{Zeroize, Zeroizing};

use crate::modulus::Modulus;

/// `n` residues, exactly uniform. How many words are drawn depends on what they are, so that these
/// are public.
pub fn uniform(prg: &mut Prg, modulus: &Modulus, n: usize) -> Vec<u64> {
    let (p, mask) = (modulus.value(), u64::MAX >> (64 - modulus.bits()));
    let mut values = Vec::with_capacity(n);
    while values.len() < n {
        let missing = n - values.len();
        let words: Vec<u64> = prg.ring(missing + missing / 64 + 8);
        let below = words.into_iter().map(|w| w & mask).filter(|w| *w < p);
        values.extend(below.take(missing));
    }
    values
}

/// `n` coefficients that are -1, 0 or 1, each for a third of all words (off by less than `2^-62`).
pub fn ternary(prg: &mut Prg, n: usize) -> Zeroizing<Vec<i64>> {
    let mut words: Vec<u64> = prg.ring(n);
    let third = |w: &u64| ((u128::from(*w) * 3) >> 64) as i64 - 1;
    let values = Zeroizing::new(words.iter().map(third).collect());
    words.zeroize();
    values
}

/// `n` errors: ones among 21 random bits less those among 21 others, of a standard deviation of 3.24,
/// never beyond [`crate::parameters::ERROR`].
pub fn errors(prg: &mut Prg, n: usize) -> Zeroizing<Vec<i64>> {
    const HALF: u64 = (1 << 21) - 1;
    let mut words: Vec<u64> = prg.ring(n);
    let ones = |w: u64| i64::from((w & HALF).count_ones());
    let difference = |w: &u64| ones(*w) - ones(*w >> 21);
    let values = Zeroizing::new(words.iter().map(difference).collect());
    words.zeroize();
    values
}

/// The most bits of noise that can be drawn.
pub const WIDEST: u32 = 190;

/// A whole number of up to 192 bits in two's complement: its upper 64 and its lower 128.
pub type Wide = (i64, u128);

/// `n` whole numbers, uniform from `-2^bits` to `2^bits - 1`.
///
/// # Panics
/// If `bits` is above [`WIDEST`].
pub fn flood(prg: &mut Prg, bits: u32, n: usize) -> Zeroizing<Vec<Wide>> {
    assert!(bits <= WIDEST, "noise of more bits than are drawn");
    let mut words: Vec<u64> = prg.ring(3 * n);
    let shift = 191 - bits;
    let draw = |words: &[u64]| {
        let (high, low) = (
            words[0] as i64,
            u128::from(words[1]) << 64 | u128::from(words[2]),
        );
        // The upper words first, as long as whole ones are dropped.
        let (high, low, shift) = match shift / 64 {
            0 => (high, low, shift),
            1 => (
                high >> 63,
                (i128::from(high) as u128) << 64 | low >> 64,
                shift - 64,
            ),
            _ => (high >> 63, i128::from(high) as u128, shift - 128),
        };
        match shift {
            0 => (high, low),
            shift => (
                high >> shift,
                low >> shift | (i128::from(high) as u128) << (128 - shift),
            ),
        }
    };
    let values = Zeroizing::new(words.chunks_exact(3).map(draw).collect());
    words.zeroize();
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modulus::primes;

    #[test]
    fn draws_have_their_distributions() {
        const N: usize = 1 << 17;
        let mut prg = Prg::new([5; 16]);
        let modulus = Modulus::new(17);
        let mut counts = [0usize; 17];
        uniform(&mut prg, &modulus, N)
            .iter()
            .for_each(|v| counts[*v as usize] += 1);
        let near = |count: usize, parts: usize| count.abs_diff(N / parts) < N / parts / 10;
        assert!(counts.iter().all(|c| near(*c, 17)), "{counts:?}");
        let mut counts = [0usize; 3];
        ternary(&mut prg, N)
            .iter()
            .for_each(|v| counts[(v + 1) as usize] += 1);
        assert!(counts.iter().all(|c| near(*c, 3)), "{counts:?}");
        let errors = errors(&mut prg, N);
        assert!(
            errors
                .iter()
                .all(|e| e.unsigned_abs() <= crate::parameters::ERROR)
        );
        let square = errors.iter().map(|e| e * e).sum::<i64>() as f64 / N as f64;
        assert!((square - 10.5).abs() < 0.2, "{square}");
        for bits in [0, 5, 62, 63, 64, 70, 126, 127, 128, 131, 190] {
            let flood = flood(&mut prg, bits, 1000);
            // As floats, of which one in 2^53 is rounded up to the bound.
            let size = |high: i64, low: u128| high as f64 * 2f64.powi(128) + low as f64;
            let real = |(high, low): &Wide| match *high < 0 {
                true => -(size(!high, !low) + 1.0),
                false => size(*high, *low),
            };
            let top = 2f64.powi(bits as i32);
            assert!(
                flood.iter().all(|v| (-top..=top).contains(&real(v))),
                "{bits}"
            );
            let some = |f: &dyn Fn(f64) -> bool| flood.iter().any(|v| f(real(v)));
            assert!(some(&|v| v < -top / 2.0), "{bits}");
            assert!(bits == 0 || some(&|v| v >= top / 2.0), "{bits}");
            let square = flood.iter().map(|v| (real(v) / top).powi(2)).sum::<f64>() / 1000.0;
            assert!(
                bits < 5 || (square - 1.0 / 3.0).abs() < 0.05,
                "{bits}: {square}"
            );
        }
    }

    #[test]
    fn residues_are_those_of_their_seed() {
        let modulus = Modulus::new(primes(42, 128, 1, &[])[0]);
        let draw = || uniform(&mut Prg::new([3; 16]), &modulus, 1000);
        assert_eq!(draw(), draw());
        assert!(draw().iter().all(|v| *v < modulus.value()));
    }
}
