//! Public linear maps: every output plane is a sum of some input planes.

use super::{Gf, Sliced};
use crate::buffer::Sizes;
use crate::isa::{self, simd};

/// Words of a plane that are worked on at once: a register of AVX-512.
const LANES: usize = 8;

/// A public matrix over a small field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    gf: Gf,
    rows: usize,
    cols: usize,
    /// The input planes that each output plane is the sum of.
    taps: Vec<Vec<u16>>,
}

simd! {
    /// One value of every output, whose planes are `words` long.
    fn value_into(out: &mut [&mut [u64]], rows: &[&[u64]], taps: &[Vec<u16>], k: usize, words: usize) {
        // All input planes at a place, so many words of each that they stay in the first-level cache.
        let mut inputs = vec![[0u64; LANES]; rows.len() * k];
        for at in (0..words).step_by(LANES) {
            let len = LANES.min(words - at);
            for (row, inputs) in rows.iter().zip(inputs.chunks_exact_mut(k)) {
                for (plane, input) in row.chunks_exact(words).zip(inputs) {
                    input[..len].copy_from_slice(&plane[at..at + len]);
                }
            }
            for (out, taps) in out.iter_mut().zip(taps.chunks_exact(k)) {
                for (plane, taps) in out.chunks_exact_mut(words).zip(taps) {
                    let mut sum = [0; LANES];
                    for tap in taps {
                        for (sum, input) in sum.iter_mut().zip(&inputs[*tap as usize]) {
                            *sum ^= input;
                        }
                    }
                    plane[at..at + len].copy_from_slice(&sum[..len]);
                }
            }
        }
    }
}

impl Map {
    /// The matrix with these elements, row-major.
    fn new(gf: Gf, rows: usize, cols: usize, data: &[u8]) -> Self {
        let k = gf.bits();
        let mut taps = vec![Vec::new(); rows * k];
        for (at, &c) in data.iter().enumerate() {
            let (row, col) = (at / cols, at % cols);
            for b in 0..k {
                let product = gf.mul(c, 1 << b);
                for (a, taps) in taps[row * k..(row + 1) * k].iter_mut().enumerate() {
                    if product >> a & 1 == 1 {
                        taps.push((col * k + b) as u16);
                    }
                }
            }
        }
        Map {
            gf,
            rows,
            cols,
            taps,
        }
    }

    /// A matrix for values that have a size alone.
    pub fn counted(gf: Gf, rows: usize, cols: usize) -> Self {
        let taps = Vec::new();
        Map {
            gf,
            rows,
            cols,
            taps,
        }
    }

    /// `M[j][i] = (i + 1)^j`: as many columns as rows are independent, whichever they are.
    ///
    /// # Panics
    /// If the field has not as many elements other than 0 as columns.
    pub fn vandermonde(gf: Gf, rows: usize, cols: usize) -> Self {
        assert!(cols < 1 << gf.bits(), "{cols} points in {gf:?}");
        let mut data = vec![1; rows * cols];
        for at in cols..data.len() {
            data[at] = gf.mul(data[at - cols], (at % cols) as u8 + 1);
        }
        Map::new(gf, rows, cols, &data)
    }

    /// Maps the values of a polynomial of degree `from.len() - 1` at the points `from` to its values at the
    /// points `to`.
    ///
    /// # Panics
    /// If two points of `from` are equal, or a point is none of the field.
    pub fn lagrange(gf: Gf, from: &[u64], to: &[u64]) -> Self {
        let point = |x: &u64| {
            assert!(*x < 1 << gf.bits(), "{x} is no element of {gf:?}");
            *x as u8
        };
        let from: Vec<u8> = from.iter().map(point).collect();
        let others = |i: usize| from.iter().enumerate().filter(move |(k, _)| *k != i);
        let weight = |i: usize| {
            let product = others(i).fold(1, |w, (_, x)| gf.mul(w, from[i] ^ x));
            assert!(product != 0, "two points are {}", from[i]);
            gf.inverse(product)
        };
        let weights: Vec<u8> = (0..from.len()).map(weight).collect();
        let mut data = Vec::with_capacity(from.len() * to.len());
        for y in to.iter().map(point) {
            let value = |i| others(i).fold(weights[i], |w, (_, x)| gf.mul(w, y ^ x));
            data.extend((0..from.len()).map(value));
        }
        Map::new(gf, to.len(), from.len(), &data)
    }

    /// The matrix of its first column alone: what it makes of values that are 0 but for the first.
    pub fn first(self) -> Map {
        let k = self.gf.bits() as u16;
        let own = |taps: Vec<u16>| taps.into_iter().filter(|tap| *tap < k).collect();
        Map {
            cols: 1,
            taps: self.taps.into_iter().map(own).collect(),
            ..self
        }
    }

    /// Rows: how many come out.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// `M x`: result `j` is `sum_i M[j][i] rows[i]`.
    ///
    /// # Panics
    /// If there are not as many as columns, of one shape.
    pub fn apply(&self, rows: &[&Sliced]) -> Vec<Sliced> {
        let values = rows.first().map_or(0, |x| x.values());
        let all: Vec<(&Sliced, usize)> = rows.iter().map(|x| (*x, 0)).collect();
        assert!(rows.iter().all(|x| x.values() == values));
        self.apply_parts(&all, values)
    }

    /// [`Map::apply`] to so many values of each, from one on.
    pub fn apply_parts(&self, rows: &[(&Sliced, usize)], values: usize) -> Vec<Sliced> {
        let cols = rows.first().map_or(0, |(x, _)| x.cols());
        if self.counts(rows) {
            return vec![Sliced::counted(self.gf, values, cols); self.rows];
        }
        let mut out = vec![Sliced::zeros(self.gf, values, cols); self.rows];
        let mut parts: Vec<&mut [u64]> = out.iter_mut().map(|o| o.planes.words_mut()).collect();
        self.run(&mut parts, rows, values);
        out
    }

    /// Adds all that [`Map::apply`] gives to `out`, which will have `all` values in the end.
    pub fn append(&self, rows: &[&Sliced], out: &mut Sliced, all: usize) {
        let values = rows.first().map_or(0, |x| x.values());
        let more = values * self.rows;
        let rows: Vec<(&Sliced, usize)> = rows.iter().map(|x| (*x, 0)).collect();
        if out.values() > 0 && out.is_counted() || self.counts(&rows) {
            *out = Sliced::counted(self.gf, out.values() + more, out.cols());
            return;
        }
        let k = self.gf.bits();
        let len = values * k * out.planes.words_per_row();
        let grown = out.planes.grow(more * k, all * k);
        let mut parts: Vec<&mut [u64]> = match len {
            0 => return,
            _ => grown.chunks_exact_mut(len).collect(),
        };
        self.run(&mut parts, &rows, values);
    }

    fn counts(&self, rows: &[(&Sliced, usize)]) -> bool {
        assert_eq!(rows.len(), self.cols);
        assert!(rows.iter().all(|(x, _)| x.cols() == rows[0].0.cols()));
        self.taps.is_empty() || rows.iter().any(|(x, _)| x.is_counted())
    }

    fn run(&self, out: &mut [&mut [u64]], rows: &[(&Sliced, usize)], values: usize) {
        let (isa, k) = (isa::current(), self.gf.bits());
        let words = rows.first().map_or(0, |(x, _)| x.planes.words_per_row());
        let len = k * words;
        if len == 0 {
            return;
        }
        for value in 0..values {
            let inputs: Vec<&[u64]> = rows
                .iter()
                .map(|(x, from)| &x.planes.words()[(from + value) * len..][..len])
                .collect();
            let mut out: Vec<&mut [u64]> = out
                .iter_mut()
                .map(|out| &mut out[value * len..][..len])
                .collect();
            value_into(isa, &mut out, &inputs, &self.taps, k, words);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::MOST_BITS;
    use super::*;
    use crate::isa::same_everywhere;
    use crate::{BitRows, Bits, Prg};

    /// The elements, value by value.
    pub fn elements(x: &Sliced) -> Vec<u8> {
        let k = x.gf.bits();
        let bit = |plane: usize, i: usize| (x.planes.row(plane)[i / 64] >> (i % 64) & 1) as u8;
        let element = |at: usize| {
            let (value, i) = (at / x.cols(), at % x.cols());
            (0..k).map(|b| bit(value * k + b, i) << b).sum()
        };
        (0..x.values() * x.cols()).map(element).collect()
    }

    fn draw(gf: Gf, seed: u8, values: usize, cols: usize) -> Sliced {
        let planes = Prg::new([seed; 16]).bit_rows(values * gf.bits(), cols);
        Sliced::new(gf, planes)
    }

    #[test]
    fn maps_are_their_matrices() {
        for k in 2..=MOST_BITS {
            let (gf, cols) = (Gf::new(k), 3);
            let data: Vec<u8> = (0..12).map(|i| i * 7 % (1 << k)).collect();
            let map = Map::new(gf, 4, cols, &data);
            for (values, n) in [(1, 1), (2, 64), (3, 511), (1, 1025), (2, 0), (0, 3)] {
                let rows: Vec<Sliced> = (0..3).map(|seed| draw(gf, seed, values, n)).collect();
                let inputs: Vec<&Sliced> = rows.iter().collect();
                let out = same_everywhere(|| map.apply(&inputs));
                let rows: Vec<Vec<u8>> = rows.iter().map(elements).collect();
                for (j, out) in out.iter().enumerate() {
                    for (at, out) in elements(out).into_iter().enumerate() {
                        let term = |i: usize| gf.mul(data[j * cols + i], rows[i][at]);
                        assert_eq!(out, (0..cols).fold(0, |sum, i| sum ^ term(i)));
                    }
                }
            }
        }
    }

    /// Values of a random polynomial, at other points.
    #[test]
    fn interpolation_is_evaluation() {
        for k in 2..=MOST_BITS {
            let gf = Gf::new(k);
            let all: Vec<u64> = (0..1 << k).collect();
            let coefficients: Vec<u8> = (0..(1 << k) - 1u8)
                .map(|i| i.wrapping_mul(5) % (1 << k))
                .collect();
            for degree in 0..all.len() - 1 {
                let at = |x: u8| {
                    let terms = coefficients[..=degree].iter().rev();
                    terms.fold(0, |sum, c| gf.mul(sum, x) ^ c)
                };
                let value = |x: &u64| {
                    let bits = (0..k).map(|b| Bits::from_fn(1, |_| at(*x as u8) >> b & 1 == 1));
                    Sliced::new(gf, BitRows::from_rows(&bits.collect::<Vec<_>>()))
                };
                let (from, to) = all.split_at(degree + 1);
                let rows: Vec<Sliced> = from.iter().map(value).collect();
                let out = Map::lagrange(gf, from, to).apply(&rows.iter().collect::<Vec<_>>());
                assert!(
                    out.iter().zip(to).all(|(out, x)| *out == value(x)),
                    "2^{k}, {degree}"
                );
            }
        }
    }

    /// The element in row `j` and column `i` of a map: what it makes of 1.
    fn element(map: &Map, j: usize, i: usize) -> u8 {
        let k = map.gf.bits();
        let bit = |a: usize| map.taps[j * k + a].contains(&((i * k) as u16));
        (0..k).map(|a| u8::from(bit(a)) << a).sum()
    }

    /// Whether the columns named are as many as the map has rows, and independent.
    fn independent(map: &Map, columns: &[usize]) -> bool {
        let (gf, rows) = (map.gf, map.rows());
        let row = |j: usize| columns.iter().map(move |i| element(map, j, *i)).collect();
        let mut left: Vec<Vec<u8>> = (0..rows).map(row).collect();
        let pivots = (0..columns.len()).all(|c| {
            let Some(at) = left.iter().position(|row| row[c] != 0) else {
                return false;
            };
            let pivot = left.swap_remove(at);
            let inverse = gf.inverse(pivot[c]);
            for row in &mut left {
                let factor = gf.mul(row[c], inverse);
                let pairs = row.iter_mut().zip(&pivot);
                pairs.for_each(|(x, y)| *x ^= gf.mul(factor, *y));
            }
            true
        });
        pivots && left.is_empty()
    }

    /// As many dealings as rows decide, and hide, all sharings that are made, whichever parties dealt them: every
    /// choice between few parties, and some between as many as a field has points for.
    #[test]
    fn any_columns_of_a_vandermonde_matrix_are_independent() {
        for n in 3..=9usize {
            let gf = Gf::with_points(n);
            for rows in 1..=n {
                let map = Map::vandermonde(gf, rows, n);
                let choices = (0..1u32 << n).filter(|set| set.count_ones() as usize == rows);
                for set in choices {
                    let columns: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 1).collect();
                    assert!(independent(&map, &columns), "{columns:?} of {n}");
                }
            }
        }
        for k in 4..=MOST_BITS {
            let (gf, n) = (Gf::new(k), (1 << k) - 1);
            for rows in [2, n / 2 + 1, n - 1] {
                let map = Map::vandermonde(gf, rows, n);
                // Steps that have no divisor in common with the number of columns.
                for (first, step) in [0, n / 3]
                    .into_iter()
                    .flat_map(|at| [1, 2, 4, 8].map(|s| (at, s)))
                {
                    let columns: Vec<usize> = (0..rows).map(|i| (first + i * step) % n).collect();
                    assert!(independent(&map, &columns), "{columns:?} of {n}");
                }
            }
        }
        let map = Map::vandermonde(Gf::new(3), 2, 5);
        assert!(!independent(&map, &[1, 1]) && !independent(&map, &[1, 2, 3]));
        assert!(!independent(&map, &[1]));
    }
}
