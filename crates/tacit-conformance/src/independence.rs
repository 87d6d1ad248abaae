//! Whether samples are uniform whatever others at the same places are.
//!
//! Numbers are uniform and independent of others exactly where every linear combination of them is, so these
//! look at combinations, of which even many samples too few for a joint histogram tell something.

/// A parity beyond so many times the square root of the samples is none of fair bits. By chance, Hoeffding:
/// `2 exp(-11^2 / 2)`, below 2^-86, for each parity; a test that looks at 2^30 of them fails below once in 2^56.
pub const PARITY_LIMIT: f64 = 11.0;

/// Beyond this many standard deviations a combination is not uniform: by chance below once in 2^63. A test that
/// looks at 2^15 of them fails below once in 2^48.
pub const LIMIT: f64 = 9.0;

/// Samples of some bits each.
#[derive(Clone, Default)]
pub struct Bits {
    bits: u32,
    samples: Vec<u32>,
}

impl Bits {
    /// Samples of numbers of so many bits.
    pub fn new(bits: u32, numbers: impl Iterator<Item = u32>) -> Self {
        let samples: Vec<u32> = numbers.collect();
        assert!(samples.iter().all(|sample| sample >> bits == 0));
        Bits { bits, samples }
    }

    /// The bits of both, as many samples as both have.
    pub fn with(&self, other: &Bits) -> Bits {
        let samples = self.samples.iter().zip(&other.samples);
        Bits {
            bits: self.bits + other.bits,
            samples: samples.map(|(a, b)| a | b << self.bits).collect(),
        }
    }

    /// The samples from one on.
    pub fn from(&self, first: usize) -> Bits {
        Bits {
            bits: self.bits,
            samples: self.samples.iter().skip(first).copied().collect(),
        }
    }

    /// Samples of no bits, as many as these.
    pub fn nothing(&self) -> Bits {
        Bits::new(0, self.samples.iter().map(|_| 0))
    }

    /// How many samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// How far a parity of some of these bits, alone or with some of the `others`, is from being even as often as
    /// odd, in square roots of the samples: the farthest one.
    pub fn unfair(&self, others: &Bits) -> f64 {
        let joint = self.with(others);
        let mut sums = vec![0i32; 1 << joint.bits];
        joint
            .samples
            .iter()
            .for_each(|sample| sums[*sample as usize] += 1);
        // Walsh and Hadamard: how much more often each parity is even than odd.
        for bit in 0..joint.bits {
            for block in sums.chunks_exact_mut(2 << bit) {
                let (low, high) = block.split_at_mut(1 << bit);
                for (low, high) in low.iter_mut().zip(high) {
                    (*low, *high) = (*low + *high, *low - *high);
                }
            }
        }
        let own = (1usize << self.bits) - 1;
        let parities = sums.iter().enumerate().filter(|(at, _)| at & own != 0);
        let most = parities.map(|(_, sum)| sum.unsigned_abs()).max();
        f64::from(most.unwrap_or(0)) / (joint.len() as f64).sqrt()
    }
}

/// How far a combination of rows of numbers below the prime `p` is from being uniform whatever the number of
/// `others` at the same place, by chi-square: the farthest one. All combinations of up to three rows, of more
/// those of any two.
pub fn uneven(rows: &[Vec<u64>], p: u64, others: &[u64]) -> f64 {
    let kinds = others.iter().max().map_or(0, |most| most + 1);
    let mut worst = f64::NEG_INFINITY;
    for factors in combinations(rows.len(), p) {
        let mut counts = vec![0u32; (kinds * p) as usize];
        for (at, other) in others.iter().enumerate() {
            let terms = factors.iter().map(|(row, factor)| rows[*row][at] * factor);
            counts[(other * p + terms.sum::<u64>() % p) as usize] += 1;
        }
        let (mut statistic, mut freedom) = (0.0, 0.0);
        for counts in counts.chunks_exact(p as usize) {
            let mean = f64::from(counts.iter().sum::<u32>()) / p as f64;
            if mean > 0.0 {
                let off = |count: &u32| (f64::from(*count) - mean).powi(2) / mean;
                statistic += counts.iter().map(off).sum::<f64>();
                freedom += p as f64 - 1.0;
            }
        }
        worst = worst.max(super::histograms::deviate(statistic, freedom));
    }
    worst
}

/// Combinations of rows, each with its factor: of those that are multiples of each other one.
fn combinations(rows: usize, p: u64) -> Vec<Vec<(usize, u64)>> {
    let mut all = Vec::new();
    for c in 0..rows {
        all.push(vec![(c, 1)]);
        for b in 0..c {
            all.extend((1..p).map(|x| vec![(c, 1), (b, x)]));
            for a in (0..b).filter(|_| rows == 3) {
                let both = (1..p).flat_map(|x| (1..p).map(move |y| (x, y)));
                all.extend(both.map(|(x, y)| vec![(c, 1), (b, x), (a, y)]));
            }
        }
    }
    all
}
