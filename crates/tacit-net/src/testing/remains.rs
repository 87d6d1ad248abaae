//! Finds out whether a process still holds a secret somewhere in its memory, on Linux.

use std::fs;
use std::io::{Read, Seek, SeekFrom};

use zeroize::Zeroizing;

/// Secrets are kept xored with this byte, so that a search does not find the copy that it looks
/// for.
const MASK: u8 = 0xa5;

/// Secrets to look for, masked.
#[derive(Clone, Default)]
pub struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// Remembers a secret of 16 bytes or more.
    pub fn add(&mut self, secret: &[u8]) {
        assert!(secret.len() >= 16, "too short to be told from chance");
        self.0.push(secret.iter().map(|byte| byte ^ MASK).collect());
    }

    /// Remembers the xor of two remembered secrets, numbers `i` and `j`.
    pub fn add_sum(&mut self, i: usize, j: usize) {
        let both = self.0[i].iter().zip(&self.0[j]);
        self.0.push(both.map(|(a, b)| a ^ b ^ MASK).collect());
    }

    /// Remembers what `make` makes of the remembered secret number `i`.
    pub fn add_made(&mut self, i: usize, make: impl FnOnce(&[u8]) -> Zeroizing<Vec<u8>>) {
        let known: Vec<u8> = self.0[i].iter().map(|byte| byte ^ MASK).collect();
        self.add(&make(&Zeroizing::new(known)));
    }

    /// The number of remembered secrets.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no secret is remembered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How often each secret occurs in the memory that this process can write: heap, stacks and
    /// statics, freed memory included.
    pub fn remains(&self) -> Vec<usize> {
        let mut counts = vec![0; self.0.len()];
        let longest = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let maps = fs::read_to_string("/proc/self/maps").expect("this is Linux");
        let mut memory = fs::File::open("/proc/self/mem").expect("this is Linux");
        let mut buffer = vec![0; (1 << 20) + longest];
        for line in maps.lines().filter(|line| line.contains(" rw")) {
            let (start, rest) = line.split_once('-').expect("a range");
            let end = rest.split_once(' ').expect("a range").0;
            let [start, end] = [start, end].map(|at| u64::from_str_radix(at, 16).expect("hex"));
            for at in (start..end).step_by(1 << 20) {
                let len = buffer.len().min((end - at) as usize);
                let part = &mut buffer[..len];
                let read = memory.seek(SeekFrom::Start(at));
                if read.and_then(|_| memory.read_exact(part)).is_ok() {
                    self.count(part, &mut counts);
                }
                // What was read is not to be found again.
                part.fill(0);
            }
        }
        counts
    }

    fn count(&self, part: &[u8], counts: &mut [usize]) {
        let mut first = [false; 256];
        self.0
            .iter()
            .for_each(|secret| first[usize::from(secret[0] ^ MASK)] = true);
        for at in (0..part.len()).filter(|at| first[usize::from(part[*at])]) {
            for (secret, count) in self.0.iter().zip(&mut *counts) {
                let here = part[at..].get(..secret.len());
                let same = |here: &[u8]| here.iter().zip(secret).all(|(h, s)| h ^ MASK == *s);
                *count += usize::from(here.is_some_and(same));
            }
        }
    }
}
