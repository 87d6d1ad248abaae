//! Programs that multiply in every way there is and end with a verification before their results are
//! given out.

use tacit_algebra::extension::{Binary, Extension, Integers};
use tacit_algebra::{BatchMatMul, Bits, Buffer, Conv2d, MatMul, Prg, Ring, vec};

use super::super::Checks;
use super::super::defences::Defence;
use super::super::gates::{Gates, Pending, Terms, Verified};
use super::super::products::Product;
use super::super::proof_segments::segment;
use super::spoil::Spoil;
use crate::Error;
use crate::bilinear::Bilinear;
use crate::falcon::domain::Residues;
use crate::falcon::{Falcon, PARTIES};
use crate::keys::Pair;
use crate::machine::{Audience, Machine};
use crate::message::Message;
use crate::replicated::{Booleans, Domain, Rss, Words};

pub(super) const BITS: &str = "attack: bits";
pub(super) const RESIDUES: &str = "attack: residues";
pub(super) const NARROW: &str = "attack: narrow residues";
pub(super) const WORDS: &str = "attack: words";
pub(super) const PRODUCT: &str = "attack: product";
pub(super) const FIRST: &str = "falcon inject: first product";
pub(super) const SECOND: &str = "falcon inject: second product";

/// What a program multiplies before its verification, in elements.
#[derive(Clone, Copy, Default)]
pub(super) struct Workload {
    pub name: &'static str,
    pub bits: usize,
    pub residues: usize,
    /// Residues of signs narrower than the ring.
    pub narrow: usize,
    pub words: usize,
    /// Bits carried into words, by products of one term.
    pub alone: usize,
    /// Whether there are a matrix product and a convolution.
    pub products: bool,
    /// Whether there are some whose inner dimension is cut.
    pub long: bool,
    /// Whether the result is saved and loaded, as between training steps.
    pub loads: bool,
}

const NOTHING: Workload = Workload {
    name: "",
    bits: 0,
    residues: 0,
    narrow: 0,
    words: 0,
    alone: 0,
    products: false,
    long: false,
    loads: false,
};

/// Every kind of verification.
pub(super) const ALL: [Workload; 11] = [
    Workload {
        name: "gates only",
        words: 70,
        ..NOTHING
    },
    Workload {
        name: "products only",
        products: true,
        ..NOTHING
    },
    Workload {
        name: "gates and products",
        words: 70,
        products: true,
        ..NOTHING
    },
    Workload {
        name: "long products only",
        products: true,
        long: true,
        ..NOTHING
    },
    Workload {
        name: "gates and long products",
        words: 70,
        products: true,
        long: true,
        ..NOTHING
    },
    Workload {
        name: "bits",
        bits: 200,
        ..NOTHING
    },
    Workload {
        name: "residues",
        residues: 150,
        ..NOTHING
    },
    Workload {
        name: "one term",
        alone: 90,
        ..NOTHING
    },
    Workload {
        name: "several segments",
        bits: segment::<Binary>(Terms::Both) + 100,
        ..NOTHING
    },
    Workload {
        name: "several proofs",
        bits: 100,
        residues: 80,
        narrow: 60,
        words: 40,
        alone: 30,
        products: true,
        ..NOTHING
    },
    Workload {
        name: "training",
        words: 60,
        products: true,
        loads: true,
        ..NOTHING
    },
];

/// The linear layers of a program.
pub(super) fn maps() -> [Bilinear; 3] {
    let conv = Conv2d {
        batch: 1,
        channels: 2,
        height: 3,
        width: 3,
        filters: 2,
        kernel: [2, 2],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups: 1,
    };
    [
        Bilinear::MatMul(MatMul { m: 3, k: 4, n: 2 }),
        Bilinear::Conv2d(conv),
        Bilinear::BatchMatMul(BatchMatMul {
            batch: 2,
            each: MatMul { m: 1, k: 2, n: 2 },
        }),
    ]
}

/// The results of a program.
#[derive(PartialEq)]
pub(super) struct Results {
    bits: Bits,
    residues: Buffer<u8>,
    narrow: Buffer<u8>,
    words: Vec<i64>,
}

/// Two operands of a domain from the numbers of a run, the first of party 0, the second of party 1.
fn operands<D: Domain>(seed: u8, n: usize) -> [D::Vec; 2] {
    [0, 1].map(|which| D::draw(&mut Prg::new([2 * seed + which; 16]), n))
}

/// Products whose inner dimension is cut into blocks, of which the last one is filled up, beside one of which it is not.
fn long_maps() -> [Bilinear; 3] {
    let conv = Conv2d {
        batch: 1,
        channels: 65,
        height: 9,
        width: 8,
        filters: 1,
        kernel: [8, 8],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups: 1,
    };
    let each = MatMul {
        m: 1,
        k: 4099,
        n: 1,
    };
    [
        Bilinear::BatchMatMul(BatchMatMul { batch: 2, each }),
        Bilinear::Conv2d(conv),
        maps()[0],
    ]
}

impl Workload {
    /// The linear layers of the program.
    pub fn maps(&self) -> Vec<Bilinear> {
        match (self.products, self.long) {
            (false, _) => Vec::new(),
            (true, false) => maps().into(),
            (true, true) => long_maps().into(),
        }
    }

    /// The program, one party's part. A cheater that spoils messages goes on with the products that
    /// it has claimed in them.
    pub fn run<R: Ring>(&self, machine: &mut Falcon<R>, lies: &Spoil) -> Result<Results, Error> {
        let bits = multiply::<R, Booleans>(machine, (BITS, lies), 0, self.bits)?;
        let residues = multiply::<R, Residues<R>>(machine, (RESIDUES, lies), 1, self.residues)?;
        let narrow = multiply::<R, Residues<u32>>(machine, (NARROW, lies), 2, self.narrow)?;
        let words = multiply::<R, Words<R>>(machine, (WORDS, lies), 3, self.words)?;
        let [carried, _] = shared::<R, Booleans>(machine, 4, self.alone)?;
        let mut alone = Rss::default();
        if self.alone > 0 {
            alone = machine.inject::<Words<R>>(&carried)?;
            lies.keep::<R, Words<R>>(machine, SECOND, &mut alone);
        }
        let mut all = vec![words, alone];
        for map in &self.maps() {
            let [x, w] = [(5, map.left()), (6, map.right())]
                .map(|(seed, n)| shared::<R, Words<R>>(machine, seed, n));
            let ([x, _], [w, _]) = (x?, w?);
            let Falcon { rss, checks, .. } = &mut *machine;
            let checks = checks.as_mut().expect("security is malicious");
            let mut z = checks.product(rss, Message::new(PRODUCT), map, [&x, &w], None)?;
            lies.keep::<R, Words<R>>(machine, PRODUCT, &mut z);
            all.push(z);
        }
        let mut all = Rss::concat(&all.iter().collect::<Vec<_>>());
        if self.loads {
            all = machine.load(all.own.len(), &machine.save(&all))?;
        }
        machine.verify_waiting()?;
        let bits = opened::<R, Booleans>(machine, &bits)?;
        let residues = opened::<R, Residues<R>>(machine, &residues)?;
        let narrow = opened::<R, Residues<u32>>(machine, &narrow)?;
        let words = machine.reveal(&all, Audience::All)?;
        Ok(Results {
            bits,
            residues,
            narrow,
            words: words.unwrap_or_default(),
        })
    }

    /// The results in the clear.
    pub fn right<R: Ring>(&self) -> Results {
        let [x, y] = operands::<Booleans>(0, self.bits);
        let [a, b] = operands::<Words<R>>(3, self.words);
        let [carried, _] = operands::<Booleans>(4, self.alone);
        let mut words = [a.mul(&b), carried.words_of()]
            .map(Buffer::into_vec)
            .concat();
        for map in &self.maps() {
            let [x, _] = operands::<Words<R>>(5, map.left());
            let [w, _] = operands::<Words<R>>(6, map.right());
            let mut z = vec![R::ZERO; map.outputs()];
            map.accumulate(&mut z, &x, &w);
            words.extend(z);
        }
        Results {
            bits: x.and(&y),
            residues: residues::<R>(operands::<Residues<R>>(1, self.residues)),
            narrow: residues::<u32>(operands::<Residues<u32>>(2, self.narrow)),
            words: vec::decode(&words),
        }
    }

    /// What waits at the verification if everything is 0, but what `error` makes of each message's
    /// step and length: what the verifiers' claims about the cheater are off by.
    /// Products of words by bits are integers: what their claims are off by is the error, less the ring's size
    /// where the message `wraps`.
    pub fn errors<R: Ring>(&self, spoil: &Spoil, wraps: Option<Bits>) -> Pending<R> {
        let mut pending = Pending::new();
        let alone = if spoil.cheater == 0 { FIRST } else { SECOND };
        keep::<R, Booleans>(
            &mut pending,
            Terms::Both,
            spoil.error::<Booleans>(BITS, self.bits),
        );
        let error = spoil.error::<Residues<R>>(RESIDUES, self.residues);
        keep::<R, Residues<R>>(&mut pending, Terms::Both, error);
        let error = spoil.error::<Residues<u32>>(NARROW, self.narrow);
        keep::<R, Residues<u32>>(&mut pending, Terms::Both, error);
        keep::<R, Words<R>>(
            &mut pending,
            Terms::Both,
            spoil.error::<Words<R>>(WORDS, self.words),
        );
        if self.alone > 0 {
            let zeros =
                || Rss::from([(); 2].map(|()| Integers::of_words(&Buffer::<R>::zeros(self.alone))));
            pending.integers.push(Gates {
                terms: Terms::Both,
                x: zeros(),
                y: zeros(),
                second: None,
                left: Integers::less(
                    &spoil.error::<Words<R>>(alone, self.alone),
                    wraps.unwrap_or_else(|| Bits::zeros(self.alone)),
                ),
                right: Integers::of_words(&Buffer::<R>::zeros(self.alone)),
            });
        }
        for map in &self.maps() {
            let (x, w, z) = (map.left(), map.right(), map.outputs());
            let zeros = |n| [(); 2].map(|()| Buffer::zeros(n)).into();
            let error = spoil.error::<Words<R>>(PRODUCT, z);
            let product = Product::new(*map, zeros(x), zeros(w), &error, &zeros(z));
            pending.products.push(product);
        }
        pending
    }
}

fn residues<R: Ring>([x, y]: [Buffer<u8>; 2]) -> Buffer<u8> {
    <Residues<R> as Verified<R>>::Over::base_product(&x, &y)
}

/// Operands from their owners, multiplied.
fn multiply<R: Ring, D: Verified<R>>(
    machine: &mut Falcon<R>,
    (step, lies): (&'static str, &Spoil),
    seed: u8,
    n: usize,
) -> Result<Rss<D::Vec>, Error> {
    let [x, y] = shared::<R, D>(machine, seed, n)?;
    if n == 0 {
        return Ok(x);
    }
    let mut z = machine.multiply::<D>(Message::new(step), x, y)?;
    lies.keep::<R, D>(machine, step, &mut z);
    Ok(z)
}

/// Gates of which nothing but the left verifier's claim is not 0.
fn keep<R: Ring, D: Verified<R>>(pending: &mut Pending<R>, terms: Terms, error: D::Vec) {
    let n = D::len(&error);
    if n == 0 {
        return;
    }
    let zeros = || Rss {
        own: D::zeros(n),
        next: D::zeros(n),
    };
    let gates = Gates {
        terms,
        x: zeros(),
        y: zeros(),
        second: None,
        left: error,
        right: D::zeros(n),
    };
    D::ledger(pending).push(gates);
}

fn opened<R: Ring, D: Domain>(machine: &mut Falcon<R>, x: &Rss<D::Vec>) -> Result<D::Vec, Error> {
    machine.open::<D>(Message::new("attack: open"), x)
}

/// Operands from their owners.
fn shared<R: Ring, D: Domain>(
    machine: &mut Falcon<R>,
    seed: u8,
    n: usize,
) -> Result<[Rss<D::Vec>; 2], Error> {
    let me = machine.rss.party.id();
    let mut input = |owner: usize| {
        let own = (me == owner).then(|| operands::<D>(seed, n)[owner].clone());
        let message = Message::new("attack: input");
        machine.rss.share_input::<D>(message, owner, n, own)
    };
    Ok([input(0)?, input(1)?])
}

impl Workload {
    /// The messages that a cheater changes in its `turn`: gates, or products, if there are both.
    pub fn steps(&self, turn: usize) -> &'static [&'static str] {
        let gates = self.bits + self.residues + self.words + self.alone > 0;
        match (gates, self.products) {
            (true, true) if turn % 2 == 1 => Spoil::PRODUCTS,
            (true, _) => Spoil::GATES,
            (false, _) => Spoil::PRODUCTS,
        }
    }

    /// The cheater of a run: each party in turn. The first product of a carry, which party 0 sends, is
    /// an operand of another proof; a mutant is not broken by a prover that forgets that one.
    pub fn prover(&self, seed: u64, without: Option<Defence>) -> usize {
        match (self.alone, without) {
            (1.., Some(_)) => 1 + seed as usize % 2,
            _ => seed as usize % PARTIES,
        }
    }

    /// What the prover deals in each fold of each proof.
    pub fn folds<R: Ring>(&self) -> Vec<Vec<usize>> {
        let mut checks = Checks::<R>::new(&[Pair::of([0; 32]), Pair::of([0; 32])]);
        checks.pending = self.errors::<R>(&Spoil::NONE, None);
        let proofs = checks.proofs().own;
        proofs.iter().map(|proof| proof.dealt()).collect()
    }
}
