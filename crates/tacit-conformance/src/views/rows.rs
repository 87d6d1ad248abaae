//! What messages, shares and streams of a run are made of: rows with one number for each sample.

use std::ops::Range;

use tacit_algebra::{Bits, Ring, prime};

/// Samples of a run: all hold the same secrets.
pub const N: usize = 1 << 12;

/// Numbers below `kinds` that a party has, one for each sample, or for some.
#[derive(Clone, Debug)]
pub struct Row {
    pub name: String,
    pub kinds: usize,
    pub values: Vec<u8>,
    /// The first sample from which on the row has a number for each, if so.
    pub start: Option<usize>,
    /// Whether the row is among the few of which relations of degree 2 are looked for, too: words, and of planes the
    /// two lowest and the highest.
    pub close: bool,
}

/// What the rows of a protocol are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Words of a ring of 8 bits, a byte each.
    Ring,
    /// Elements of a small field, a byte each.
    Field(u8),
    /// Words of a ring of 8 bits, in saved shares 8 bytes each after one that tells the width.
    Wide,
}

impl Row {
    /// Whether the row has a number for each sample.
    pub fn is_whole(&self) -> bool {
        self.values.len() == N
    }

    /// The part of so many samples, if it has them.
    fn part(&self, samples: &Range<usize>) -> Option<Row> {
        let start = self.start.filter(|start| *start <= samples.start)?;
        let values = self
            .values
            .get(samples.start - start..samples.end - start)?;
        Some(Row {
            values: values.to_vec(),
            start: Some(samples.start),
            ..self.clone()
        })
    }

    /// Whether the row is a plane of bits of some samples.
    pub fn is_plane_in_part(&self) -> bool {
        self.kinds == 2 && !self.is_whole() && self.values.len() >= N / 4
    }

    /// This row with its values modulo `p`.
    pub fn reduced(&self, p: usize) -> Row {
        let reduce = |v: &u8| (usize::from(*v) % p) as u8;
        Row {
            kinds: p,
            values: self.values.iter().map(reduce).collect(),
            ..self.clone()
        }
    }
}

/// The rows of samples that they have in common: of all, or of each dealer's.
pub fn of_common_samples(rows: &[Row]) -> Vec<Vec<Row>> {
    let in_part = rows.iter().filter(|row| !row.is_whole());
    let ranges = in_part.filter_map(|row| Some(row.start?..row.start? + row.values.len()));
    let mut ranges: Vec<Range<usize>> = ranges.collect();
    ranges.sort_by_key(|range| range.start);
    ranges.dedup();
    if ranges.is_empty() {
        ranges.push(0..N);
    }
    let of = |range: &Range<usize>| rows.iter().filter_map(|row| row.part(range)).collect();
    ranges.iter().map(of).collect()
}

impl Words {
    /// How many words there are.
    pub fn kinds(self) -> usize {
        match self {
            Words::Field(p) => p.into(),
            _ => 256,
        }
    }
}

/// Steps whose messages are planes of bits, one for each bit of the samples that they are of.
const PLANES: [&str; 6] = [
    "rss sign: ",
    "falcon sign: ",
    "bicoptor sign: deal products of bits",
    "bicoptor sign: open masked bits",
    "bicoptor sign: open masked groups",
    "bicoptor bit: open masked bit",
];

/// Steps whose messages are elements of `2^k`, as planes of all samples or, of a king's columns, of some.
const SLICED: [&str; 3] = [
    "shamir carries: ",
    "shamir tree: masked sign",
    "shamir open bits: ",
];

/// The dealer of the samples of a message, where each block of them has another.
pub fn dealer(step: &str, [from, to]: [usize; 2], nth: usize) -> Option<usize> {
    match step {
        "rss sign: deal bits of two components" | "rss bit: split" => Some(from),
        "rss truncate: deal quotient" => Some(from),
        "rss sign: generate carries" | "rss bit: return product" => Some(to),
        "rss sign: carry" => Some(nth % 3),
        _ => None,
    }
}

/// The samples of a dealer, of one row or of several.
fn dealt(dealer: usize, rows: usize) -> Range<usize> {
    let step = (rows * N).div_ceil(3).next_multiple_of(64);
    dealer * step..((dealer + 1) * step).min(rows * N)
}

/// A row for each plane: of all samples, or of a dealer's, or of a dealer's of two rows of samples.
pub fn planes(name: &str, payload: &[u8], dealer: Option<usize>) -> Vec<Row> {
    let bits = Bits::from_bytes(payload.len() * 8, payload).expect("packed bits");
    let bits = bits.expand();
    let whole = |range: &Range<usize>| bits.len().is_multiple_of(range.len());
    let (n, start) = match dealer.map(|dealer| [1, 2].map(|rows| dealt(dealer, rows))) {
        None => (N, Some(0)),
        Some([one, _]) if whole(&one) => (one.len(), Some(one.start)),
        Some([_, two]) => (two.len(), None),
    };
    assert!(bits.len().is_multiple_of(n), "whole planes");
    let count = bits.len() / n;
    let rows = bits.chunks_exact(n).enumerate();
    rows.map(|(i, values)| Row {
        name: format!("{name}, plane {i}"),
        kinds: 2,
        values: values.to_vec(),
        start,
        close: i < 2 || i + 1 == count,
    })
    .collect()
}

/// Of trees of carries there are too many planes: the first of each message and the last are looked at, and of
/// those of signs relations of degree 2.
fn of_carries(step: &str, mut rows: Vec<Row>) -> Vec<Row> {
    let (signs, count) = (step.contains("masked sign"), rows.len());
    rows.iter_mut().for_each(|row| row.close &= signs);
    let mut place = 0..count;
    rows.retain(|_| place.next().is_some_and(|i| i < 3 || i + 1 == count));
    rows
}

/// The bits of rows of `N` bytes. Relations are over the lowest one of the bytes themselves, too.
pub fn bits_of(name: &str, bytes: &[u8]) -> Vec<Row> {
    let bit = |row: Row, i: usize| Row {
        name: format!("{}, bit {i}", row.name),
        kinds: 2,
        values: row.values.iter().map(|v| v >> i & 1).collect(),
        close: i == 1 || i == 7,
        ..row
    };
    let rows = cut(name, 256, bytes).into_iter();
    rows.flat_map(|row| (0..8).map(move |i| bit(row.clone(), i)))
        .collect()
}

/// Rows of `N` bytes.
pub fn cut(name: &str, kinds: usize, bytes: &[u8]) -> Vec<Row> {
    let rows = bytes.chunks_exact(N).enumerate();
    rows.map(|(i, values)| Row {
        name: format!("{name}, row {i}"),
        kinds,
        values: values.to_vec(),
        start: Some(0),
        close: true,
    })
    .collect()
}

/// A message with its name and its step, as rows; of others than those of numbers for all samples, or
/// all of a dealer, none.
pub fn decode(
    (name, step, payload): (&str, &str, &[u8]),
    words: Words,
    dealer: Option<usize>,
) -> Vec<Row> {
    let is = |parts: &[&str]| parts.iter().any(|part| step.contains(part));
    if is(&["key ", "verify", "copy", "masked entries"]) || step.starts_with("sirnn: ") {
        return vec![];
    }
    if is(&PLANES) {
        return planes(name, payload, dealer);
    }
    if is(&SLICED) {
        return match (payload.len() * 8).is_multiple_of(N) {
            true => of_carries(step, planes(name, payload, None)),
            false => {
                let bits = Bits::from_bytes(payload.len() * 8, payload);
                vec![Row {
                    name: format!("{name}, in part"),
                    kinds: 2,
                    values: bits.expect("packed bits").expand(),
                    start: None,
                    close: false,
                }]
            }
        };
    }
    if is(&["falcon compare"]) {
        let n = payload.len() * 8 / prime::packed_bits(u8::PRIME) as usize;
        let residues = prime::unpack(u8::PRIME, payload, n).expect("residues");
        return cut(name, u8::PRIME.into(), &residues);
    }
    if is(&["masked bit"]) || (is(&["drelu: masked sign"]) && payload.len() < N) {
        let bits = Bits::from_bytes(payload.len() * 8, payload).expect("packed bits");
        return cut(name, 2, &bits.expand());
    }
    // A king's part of an opening is not of all samples; a dealer's part is of its own.
    if !payload.len().is_multiple_of(N) {
        let dealt = dealer.map(|dealer| dealt(dealer, 1));
        let dealt = dealt.filter(|range| range.len() == payload.len());
        return vec![Row {
            name: format!("{name}, in part"),
            kinds: words.kinds(),
            values: payload.to_vec(),
            start: dealt.map(|range| range.start),
            close: true,
        }];
    }
    cut(name, words.kinds(), payload)
}
