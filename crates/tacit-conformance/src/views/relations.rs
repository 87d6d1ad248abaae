//! Relations among what a party knows: polynomials of low degree that are 0 in every sample of a run.
//!
//! A party that can compute one bit of a secret from its view has such a relation, which does not hold
//! when the secret is another. So the relations of runs with different secrets are counted, alone and
//! together: two views of one law have the same, up to chance. Words are taken by their lowest bit,
//! with which sums and products of words become those of bits, so that relations are over two
//! elements; elements of a field are taken as they are.

use super::rows::Row;

/// Monomials that are looked at, at the most.
const MOST: usize = 1200;
/// The greatest degree.
const DEGREE: usize = 3;
/// The fewest samples beyond the monomials.
const MORE: usize = 64;
/// Samples beyond the monomials where a run has them. A product of three bits is 0 in all of so many by a chance
/// of `(7/8)^512`; in the 64 and few that would do for a rank it is now and then.
const ENOUGH: usize = 512;
/// How many times as many samples a run has where the result of a truncation over a field is seldom another: of the few
/// samples in which it is many relations hold by chance.
const SELDOM: usize = 10;

/// Products of up to so many rows, the constant first; of `least` rows, even if they are too many.
fn monomials(rows: usize, samples: usize, modulus: u8, least: usize) -> Vec<Vec<usize>> {
    let most = match modulus {
        2 => MOST,
        _ => MOST / 5,
    };
    let most = most.min(samples - MORE);
    let mut all = vec![vec![]];
    let mut last = all.clone();
    for degree in 1..=DEGREE {
        let extended = last.iter().flat_map(|monomial: &Vec<usize>| {
            let first = match (monomial.last(), modulus) {
                (None, _) => 0,
                // A bit is its own square.
                (Some(last), 2) => last + 1,
                (Some(last), _) => *last,
            };
            (first..rows).map(move |row| [&monomial[..], &[row]].concat())
        });
        last = extended.collect();
        if degree > least && all.len() + last.len() > most {
            break;
        }
        all.append(&mut last.clone());
    }
    assert!(all.len() <= samples - MORE, "{rows} rows need more samples");
    all
}

/// Rows that are the same as an earlier one in both runs tell nothing new.
fn distinct<'a>(a: &'a [Row], b: &'a [Row]) -> [Vec<&'a [u8]>; 2] {
    let mut kept: [Vec<&[u8]>; 2] = Default::default();
    for (a, b) in a.iter().zip(b) {
        let mut both = kept[0].iter().zip(&kept[1]);
        if !both.any(|(x, y)| *x == &a.values[..] && *y == &b.values[..]) {
            kept[0].push(&a.values);
            kept[1].push(&b.values);
        }
    }
    kept
}

/// The span of the samples' monomials, grown sample by sample.
struct Samples {
    modulus: u8,
    /// The rows of the basis by their first place other than 0, which is 1.
    basis: Vec<Option<Vec<u16>>>,
    /// The basis over a field of two elements, with each row packed into bits.
    packed: Vec<Option<Vec<u64>>>,
}

impl Samples {
    fn new(monomials: usize, modulus: u8) -> Self {
        Samples {
            modulus,
            basis: vec![None; monomials],
            packed: vec![None; monomials],
        }
    }

    /// Relations that hold in all samples.
    fn relations(&self) -> usize {
        let spanned = self.basis.iter().flatten().count() + self.packed.iter().flatten().count();
        self.basis.len() - spanned
    }

    fn add(&mut self, rows: &[&[u8]], monomials: &[Vec<usize>], sample: usize) {
        let p = u32::from(self.modulus);
        let value = |monomial: &Vec<usize>| {
            let factors = monomial.iter().map(|row| u32::from(rows[*row][sample]) % p);
            factors.fold(1, |product, factor| product * factor % p) as u8
        };
        if self.modulus == 2 {
            let mut words = vec![0u64; monomials.len().div_ceil(64)];
            for (i, monomial) in monomials.iter().enumerate() {
                words[i / 64] |= u64::from(value(monomial)) << (i % 64);
            }
            self.add_bits(words);
        } else {
            let elements = monomials.iter().map(|monomial| u16::from(value(monomial)));
            self.add_elements(elements.collect());
        }
    }

    fn add_bits(&mut self, mut v: Vec<u64>) {
        for word in 0..v.len() {
            while v[word] != 0 {
                let at = 64 * word + v[word].trailing_zeros() as usize;
                let Some(basis) = &self.packed[at] else {
                    self.packed[at] = Some(v);
                    return;
                };
                v.iter_mut().zip(basis).for_each(|(v, b)| *v ^= b);
            }
        }
    }

    fn add_elements(&mut self, mut v: Vec<u16>) {
        let p = u16::from(self.modulus);
        for at in 0..v.len() {
            let lead = v[at];
            if lead == 0 {
                continue;
            }
            let Some(basis) = &self.basis[at] else {
                let inverse = (1..p).find(|i| i * lead % p == 1).expect("a prime");
                v.iter_mut().for_each(|v| *v = *v * inverse % p);
                self.basis[at] = Some(v);
                return;
            };
            // A basis row is 0 before its place.
            add_multiple(&mut v[at..], &basis[at..], p - lead, p);
        }
    }
}

/// `v + by basis` modulo `p`, of elements below `p`, which is below 256: as many lanes at once as 16 bits have.
fn add_multiple(v: &mut [u16], basis: &[u16], by: u16, p: u16) {
    let inverse = (1u32 << 16) / u32::from(p);
    let one = |(v, b): (&mut u16, &u16)| {
        // Below `p (p - 1) + p`, which 16 bits hold.
        let sum = *v + by * b;
        let quotient = ((u32::from(sum) * inverse) >> 16) as u16;
        // Too small a quotient by 1 at most.
        let rest = sum - quotient * p;
        *v = rest.min(rest.wrapping_sub(p));
    };
    v.iter_mut().zip(basis).for_each(one);
}

/// Relations that hold in one of two runs only, of rows over as many elements, 2 for words and bits; of
/// degree `least` at least; `rounds` says whether results are rounded by chance.
pub fn broken(a: &[Row], b: &[Row], modulus: u8, least: usize, rounds: bool) -> usize {
    let [a, b] = distinct(a, b);
    let samples = a.first().map_or(0, |row: &&[u8]| row.len());
    if samples == 0 {
        return 0;
    }
    let monomials = monomials(a.len(), samples, modulus, least);
    let used = match modulus != 2 && rounds {
        true => SELDOM * monomials.len() + MORE,
        false => monomials.len() + ENOUGH,
    };
    let used = used.min(samples);
    let mut both = Samples::new(monomials.len(), modulus);
    (0..used).for_each(|sample| both.add(&a, &monomials, sample));
    let alone = both.relations();
    (0..used).for_each(|sample| both.add(&b, &monomials, sample));
    let in_a_only = alone - both.relations();
    let mut other = Samples::new(monomials.len(), modulus);
    (0..used).for_each(|sample| other.add(&b, &monomials, sample));
    in_a_only + other.relations() - both.relations()
}

/// Rows of random bits have no relations, and none that breaks, but for chance.
pub fn rows_without_relations_break_none_by_chance() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut bit = || {
        // A xorshift: the same rows in every run of the test.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 60) as u8 & 1
    };
    let mut run = || -> Vec<Row> {
        let row = |values| Row {
            name: String::new(),
            kinds: 2,
            values,
            start: Some(0),
            close: false,
        };
        let values = (0..4).map(|_| (0..super::rows::N).map(|_| bit()).collect());
        values.map(row).collect()
    };
    let pairs = (0..1000).map(|_| broken(&run(), &run(), 2, 1, false));
    assert_eq!(pairs.sum::<usize>(), 0);
}

/// Sums of multiples are those of whole numbers, for every factor and pair of elements.
pub fn multiples_are_added_modulo() {
    for p in [3u16, 5, 7, 13, 127, 251, 255] {
        for by in 0..p {
            let basis: Vec<u16> = (0..p).collect();
            for first in [0, 1, p / 2, p - 1] {
                let mut v = vec![first; usize::from(p)];
                add_multiple(&mut v, &basis, by, p);
                let right = basis.iter().map(|b| (first + by * b) % p);
                assert!(v.iter().copied().eq(right), "{p} {by} {first}");
            }
        }
    }
}
