//! What a party knows as rows of numbers, and how often their values occur: one by one, in pairs
//! and in threes.

use std::collections::BTreeMap;

use tacit_conformance::histograms::{count, couples};

/// Numbers below `kinds` that a party knows, one per element.
#[derive(Clone)]
pub struct Row {
    pub name: String,
    pub kinds: usize,
    pub values: Vec<u8>,
    /// Whether the row is counted in threes, too.
    key: bool,
}

impl Row {
    pub fn of(name: String, kinds: usize, values: Vec<u8>) -> Row {
        Row {
            name,
            kinds,
            values,
            key: false,
        }
    }

    pub fn key(self) -> Row {
        Row { key: true, ..self }
    }

    /// The sum modulo `m` with numbers of as many elements.
    pub fn plus(&self, other: &Row, m: usize) -> Option<Row> {
        let both = self.values.iter().zip(&other.values);
        let sum = both.map(|(a, b)| ((usize::from(*a) + usize::from(*b)) % m) as u8);
        let name = format!("{} + {}", self.name, other.name);
        (self.values.len() == other.values.len()).then(|| Row::of(name, m, sum.collect()))
    }

    /// Coarser numbers: words by their `bits` high bits and by their `bits` low ones.
    fn coarse(&self, bits: u32) -> Vec<Row> {
        if self.kinds < 256 {
            return vec![self.clone()];
        }
        let part = |name: &str, f: &dyn Fn(u8) -> u8| {
            let values = self.values.iter().map(|v| f(*v)).collect();
            Row::of(format!("{} ({name})", self.name), 1 << bits, values)
        };
        vec![
            part("high", &|v| v >> (8 - bits)),
            part("low", &|v| v & ((1 << bits) - 1)),
        ]
    }
}

/// Counts by what was counted.
#[derive(Default)]
pub struct Seen {
    pub counts: BTreeMap<String, Vec<u64>>,
}

impl Seen {
    pub fn tally(&mut self, party: usize, rows: &[Row]) {
        for row in rows {
            self.joint(party, &[row]);
        }
        let coarse: Vec<Row> = rows.iter().flat_map(|row| row.coarse(4)).collect();
        for (a, b) in couples(coarse.len()) {
            self.joint(party, &[&coarse[a], &coarse[b]]);
        }
        let keys = rows.iter().filter(|row| row.key);
        let coarse: Vec<Row> = keys.flat_map(|row| row.coarse(3)).collect();
        for (a, b) in couples(coarse.len()) {
            for c in 0..b {
                self.joint(party, &[&coarse[a], &coarse[b], &coarse[c]]);
            }
        }
        // All that the assistant puts together, where that is few enough kinds.
        let sums = rows
            .iter()
            .filter(|r| r.kinds < 256 && r.name.contains(" + "));
        let sums: Vec<&Row> = sums.collect();
        if sums.len() == 3 {
            self.joint(party, &sums);
        }
    }

    /// Counts rows of equal length together.
    fn joint(&mut self, party: usize, rows: &[&Row]) {
        let n = rows[0].values.len();
        if rows.iter().any(|row| row.values.len() != n) {
            return;
        }
        let names: Vec<&str> = rows.iter().map(|row| &row.name[..]).collect();
        let kinds = rows.iter().map(|row| row.kinds).product();
        let cell = |i: usize| {
            let add = |cell, row: &&Row| cell * row.kinds + usize::from(row.values[i]);
            rows.iter().fold(0, add)
        };
        let name = format!("{party}: {}", names.join(" with "));
        self.counts.insert(name, count((0..n).map(cell), kinds));
    }
}
