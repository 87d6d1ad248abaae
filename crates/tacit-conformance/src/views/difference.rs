//! What tells two views apart: by chi-square of rows, of pairs of them, of their sums and differences, and
//! by relations that hold among the rows of one of them.

use std::fmt;

use super::programs::Program;
use super::relations;
use super::rows::{Row, of_common_samples};
use crate::histograms::{LIMIT, apart, count, couples};

/// Rows of which pairs are counted: the last ones, which hold the opening, the shares, the streams.
const PAIRED: usize = 20;

/// Where two views differ most by chi-square, `paired` last rows also in pairs.
fn furthest(a: &[Row], b: &[Row], paired: usize) -> (f64, String) {
    let mut worst = (f64::NEG_INFINITY, String::new());
    let mut note = |a: &[u64], b: &[u64], name: &dyn Fn() -> String| {
        let off = apart(a, b);
        if off > worst.0 {
            worst = (off, name());
        }
    };
    for (a, b) in a.iter().zip(b) {
        let [x, y] = [a, b].map(|row| count(row.values.iter().map(|v| (*v).into()), row.kinds));
        note(&x, &y, &|| a.name.clone());
    }
    let [a, b] = [a, b].map(|rows| {
        let whole: Vec<&Row> = rows.iter().filter(|row| row.is_whole()).collect();
        let parts: Vec<&Row> = rows.iter().filter(|row| row.is_plane_in_part()).collect();
        let from = |n: usize| n.saturating_sub(paired);
        [&parts[from(parts.len())..], &whole[from(whole.len())..]].concat()
    });
    for (i, k) in couples(a.len()) {
        if a[i].values.len() != a[k].values.len() {
            continue;
        }
        let name = || format!("{} with {}", a[i].name, a[k].name);
        let [x, y] = [&a, &b].map(|rows| coarse_pairs(rows[i], rows[k]));
        note(&x, &y, &name);
        if a[i].kinds == a[k].kinds {
            for sign in [1, a[i].kinds - 1] {
                let [x, y] = [&a, &b].map(|rows| sums(rows[i], rows[k], sign));
                note(&x, &y, &name);
            }
        }
    }
    worst
}

/// How often which pair of low parts occurs.
fn coarse_pairs(a: &Row, b: &Row) -> Vec<u64> {
    let part = |row: &Row, i: usize| usize::from(row.values[i]) % row.kinds.min(8);
    count((0..a.values.len()).map(|i| part(a, i) * 8 + part(b, i)), 64)
}

/// How often which `a + sign b` occurs.
fn sums(a: &Row, b: &Row, sign: usize) -> Vec<u64> {
    let both = a.values.iter().zip(&b.values);
    let sum = |(x, y): (&u8, &u8)| (usize::from(*x) + sign * usize::from(*y)) % a.kinds;
    count(both.map(sum), a.kinds)
}

/// What tells two views apart: their chi-square's deviate with a name, and relations that hold in
/// one only.
pub struct Difference {
    off: f64,
    name: String,
    broken: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { off, name, broken } = self;
        write!(f, "{off} in '{name}' and {broken} relations that break")
    }
}

impl Difference {
    /// Whether the difference is more than chance.
    pub fn is_seen(&self) -> bool {
        self.off > LIMIT || self.broken > 0
    }
}

/// The difference of two views of a program.
pub fn difference(program: Program, a: &[Row], b: &[Row]) -> Difference {
    let names = |rows: &[Row]| -> Vec<String> { rows.iter().map(|r| r.name.clone()).collect() };
    assert_eq!(names(a), names(b), "the same messages must flow");
    assert!(!a.is_empty(), "nothing was looked at");
    // All samples of a matrix product have its weights in common: what is constant in one run is
    // another constant in the next, and makes other relations.
    let independent = program != Program::MatMul;
    let (off, name) = furthest(a, b, if independent { PAIRED } else { 0 });
    let mut broken = 0;
    // Words and bits by their lowest bits; residues, and elements of a field, as they are.
    let mut moduli: Vec<usize> = a.iter().map(|row| modulus(row.kinds)).collect();
    moduli.sort_unstable();
    moduli.dedup();
    for p in moduli.into_iter().filter(|_| independent) {
        let of = |rows: &[Row]| -> Vec<Row> {
            let of = rows.iter().filter(|row| modulus(row.kinds) == p);
            of.map(|row| row.reduced(p)).collect()
        };
        let [a, b] = [a, b].map(|rows| of_common_samples(&of(rows)));
        for (a, b) in a.iter().zip(&b) {
            broken += relations::broken(a, b, p as u8, 1, program.rounds());
            // Rows of planes are too many for relations of degree 2, but some of them; of a maximum's even
            // these are.
            let [few, other] = [a, b].map(|rows| close(rows));
            if few.len() < a.len() && program != Program::MaxpoolExact {
                broken += relations::broken(&few, &other, p as u8, 2, program.rounds());
            }
        }
    }
    Difference { off, name, broken }
}

fn close(rows: &[Row]) -> Vec<Row> {
    rows.iter().filter(|row| row.close).cloned().collect()
}

/// What relations among numbers of so many kinds are over.
fn modulus(kinds: usize) -> usize {
    if kinds == 256 { 2 } else { kinds }
}
