//! What encryption's kernels take, on one core.

use divan::Bencher;
use tacit_algebra::Prg;
use tacit_algebra::isa::{self, Isa};
use tacit_lattice::answer::{Answer, Masks};
use tacit_lattice::pack::Packing;
use tacit_lattice::{Basis, Ciphertext, Evaluation, Parameters, Secret, Sums};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}

struct Setting {
    basis: Basis,
    secret: Secret,
    keys: Evaluation,
    prg: Prg,
}

impl Setting {
    fn new(levels: u32) -> Self {
        let basis = Basis::new(Parameters::standard(0));
        let mut prg = Prg::new([1; 16]);
        let secret = Secret::new(&basis, &mut prg);
        let public = || Prg::new([2; 16]);
        let halves = secret.evaluation(&basis, levels, &mut public(), &mut prg);
        let keys = Evaluation::new(&basis, levels, &mut public(), halves);
        Setting {
            basis,
            secret,
            keys,
            prg,
        }
    }

    fn encrypt(&mut self) -> Ciphertext {
        let numbers: Vec<u64> = self.prg.ring(self.basis.degree());
        let numbers: Vec<u64> = numbers.iter().map(|n| n >> 27).collect();
        let mut public = Prg::new([3; 16]);
        let half = self
            .secret
            .encrypt(&self.basis, &mut public, &mut self.prg, (&numbers, 37));
        Ciphertext::new(&self.basis, &mut Prg::new([3; 16]), half)
    }

    /// A ciphertext of coefficients.
    fn sum(&mut self) -> Ciphertext {
        let x = self.encrypt();
        let one = self.basis.whole(&[1], self.basis.primes());
        let mut sums = Sums::new(&self.basis);
        sums.add(&self.basis, &x, &one);
        sums.finish(&self.basis)
    }
}

/// A transform modulo one prime.
#[divan::bench(args = [Isa::Portable, Isa::Avx2, Isa::Avx512])]
fn transform(bencher: Bencher, isa: Isa) {
    if !Isa::available().any(|has| has == isa) {
        return;
    }
    let basis = Basis::new(Parameters::standard(0));
    let mut values: Vec<u64> = (0..basis.degree() as u64).collect();
    bencher.bench_local(|| isa::with(isa, || basis.ntts()[0].forward(&mut values)));
}

/// The inverse of a transform modulo one prime.
#[divan::bench(args = [Isa::Portable, Isa::Avx2, Isa::Avx512])]
fn transform_back(bencher: Bencher, isa: Isa) {
    if !Isa::available().any(|has| has == isa) {
        return;
    }
    let basis = Basis::new(Parameters::standard(0));
    let mut values: Vec<u64> = (0..basis.degree() as u64).collect();
    bencher.bench_local(|| isa::with(isa, || basis.ntts()[0].backward(&mut values)));
}

/// A ciphertext times a polynomial, added to a sum.
#[divan::bench]
fn product(bencher: Bencher) {
    let mut setting = Setting::new(0);
    let x = setting.encrypt();
    let by = setting.basis.whole(&[1, 2, 3], setting.basis.primes());
    let mut sums = Sums::new(&setting.basis);
    bencher.bench_local(|| sums.add(&setting.basis, &x, &by));
}

/// Two ciphertexts into one: an automorphism.
#[divan::bench]
fn packed(bencher: Bencher) {
    let mut setting = Setting::new(1);
    let both = [setting.sum(), setting.sum()];
    let packing = Packing {
        basis: &setting.basis,
        keys: &setting.keys,
        levels: 1,
        count: 2,
        make: &|index| vec![both[index].clone()],
    };
    bencher.bench_local(|| packing.packed());
}

/// A ciphertext of 8192 numbers.
#[divan::bench]
fn encrypted(bencher: Bencher) {
    let mut setting = Setting::new(0);
    bencher.bench_local(|| setting.encrypt());
}

/// An answer that opens 8192 numbers.
#[divan::bench]
fn answered(bencher: Bencher) {
    let mut setting = Setting::new(0);
    let sum = setting.sum();
    let at: Vec<u32> = (0..setting.basis.degree() as u32).collect();
    let numbers = vec![1; at.len()];
    let masks = Masks {
        at: &at,
        numbers: &numbers,
        bits: 37,
        flood: 80,
    };
    bencher.bench_local(|| {
        let Setting {
            basis, keys, prg, ..
        } = &mut setting;
        Answer::make(basis, keys, sum.clone(), &masks, prg)
    });
}

/// What opens such an answer.
#[divan::bench]
fn opened(bencher: Bencher) {
    let mut setting = Setting::new(0);
    let sum = setting.sum();
    let at: Vec<u32> = (0..setting.basis.degree() as u32).collect();
    let masks = Masks {
        at: &at,
        numbers: &vec![1; at.len()],
        bits: 37,
        flood: 80,
    };
    let answer = Answer::make(&setting.basis, &setting.keys, sum, &masks, &mut setting.prg);
    bencher.bench_local(|| answer.open(&setting.basis, &setting.secret, &at, 37));
}
