//! The polynomials that parties share by: party `i` holds the value at `i + 1`.

use tacit_algebra::mersenne::{Field, Matrix, combine};
use tacit_algebra::sliced::{Gf, Map, Sliced};

/// The coefficients of polynomials from the shares of all parties, the shared values first.
///
/// # Panics
/// If a share is on no polynomial of this degree, or all are on some of a lower one.
pub fn coefficients<F: Field>(shares: &[&[F]], degree: usize) -> Vec<Vec<F>> {
    let mut rest: Vec<Vec<F>> = shares.iter().map(|share| share.to_vec()).collect();
    let mut found = Vec::new();
    for left in (0..=degree as u64).rev() {
        let points: Vec<u64> = (1..=left + 1).collect();
        let rows: Vec<&[F]> = rest[..points.len()].iter().map(|row| &row[..]).collect();
        let lowest = combine(&Matrix::lagrange(&points, &[0]).data, &rows);
        // f(x) less f(0), divided by x, is a polynomial of one degree less.
        for (point, row) in (1..).zip(&mut rest) {
            let inverse = F::from_u64(point).inverse();
            let values = row.iter_mut().zip(&lowest);
            values.for_each(|(value, lowest)| *value = value.sub(*lowest).mul(inverse));
        }
        found.push(lowest);
    }
    for (party, row) in rest.iter().enumerate() {
        let on = row.iter().all(|value| *value == F::ZERO);
        assert!(on, "party {party} is not on the polynomial");
    }
    let top = &found[degree];
    let reached = top.is_empty() || top.iter().any(|value| *value != F::ZERO);
    assert!(reached, "the degree is below {degree}");
    found
}

/// [`coefficients`] over a small field.
///
/// # Panics
/// If a share is on no polynomial of this degree, or all are on some of a lower one.
pub fn small_coefficients(shares: &[&Sliced], degree: usize) -> Vec<Sliced> {
    let gf = shares[0].gf();
    let zero = Sliced::zeros(gf, shares[0].values(), shares[0].cols());
    let mut rest: Vec<Sliced> = shares.iter().map(|share| (*share).clone()).collect();
    let mut found = Vec::new();
    for left in (0..=degree as u64).rev() {
        let points: Vec<u64> = (1..=left + 1).collect();
        let rows: Vec<&Sliced> = rest[..points.len()].iter().collect();
        let lowest = Map::lagrange(gf, &points, &[0]).apply(&rows).remove(0);
        for (point, row) in (1..).zip(&mut rest) {
            row.xor_assign(&lowest);
            *row = times(&inverse(gf, point), row);
        }
        found.push(lowest);
    }
    for (party, row) in rest.iter().enumerate() {
        assert!(*row == zero, "party {party} is not on the polynomial");
    }
    let top = &found[degree];
    let reached = top.values() * top.cols() == 0 || *top != zero;
    assert!(reached, "the degree is below {degree}");
    found
}

/// The map that divides by a public number.
fn inverse(gf: Gf, x: u8) -> Map {
    // A line that is 0 at 0.
    Map::lagrange(gf, &[0, 1], &[gf.inverse(x).into()])
}

fn times(line: &Map, x: &Sliced) -> Sliced {
    let zero = Sliced::zeros(x.gf(), x.values(), x.cols());
    line.apply(&[&zero, x]).remove(0)
}

/// The elements of every value, as numbers.
pub fn elements(x: &Sliced) -> Vec<Vec<u8>> {
    let k = x.gf().bits();
    let value = |value: usize| {
        let mut all = vec![0; x.cols()];
        for b in 0..k {
            let plane = x.planes().row_bits(value * k + b).expand();
            let bits = all.iter_mut().zip(plane);
            bits.for_each(|(element, bit)| *element |= bit << b);
        }
        all
    };
    (0..x.values()).map(value).collect()
}
