//! Programs that multiply in every way there is and end with a verification before their results are
//! given out.

use tacit_algebra::extension::{Binary, Extension, Integers};
use tacit_algebra::{BatchMatMul, Bits, Buffer, Conv2d, MatMul, Prg, Ring, vec};

use super::super::Checks;
use super::super::defences::Defence;
use super::super::gates::{Gates, Pending, Terms, Verified};
use super::super::products::Product;
use super::super::proof_portions::portion;
use crate::Error;
use crate::bilinear::Bilinear;
use crate::falcon::domain::Residues;
use crate::falcon::{Falcon, PARTIES};
use crate::keys::Pair;
use crate::machine::{Audience, Machine};
use crate::message::{Encoding, Message};
use crate::replicated::{Booleans, Domain, Rss, Words};

const BITS: &str = "attack: bits";
const RESIDUES: &str = "attack: residues";
const NARROW: &str = "attack: narrow residues";
const WORDS: &str = "attack: words";
const PRODUCT: &str = "attack: product";
const FIRST: &str = "falcon inject: first product";
const SECOND: &str = "falcon inject: second product";

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
    loads: false,
};

/// Every kind of verification.
pub(super) const ALL: [Workload; 9] = [
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
        name: "several portions",
        bits: portion::<Binary>(Terms::Both) + 100,
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

impl Workload {
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
        for map in maps().iter().filter(|_| self.products) {
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
        for map in maps().iter().filter(|_| self.products) {
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
        for map in maps().iter().filter(|_| self.products) {
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

/// Which messages about products a cheater changes, and at which element.
#[derive(Clone)]
pub(super) struct Spoil {
    pub cheater: usize,
    pub steps: &'static [&'static str],
    pub seed: u64,
    /// Whether the next element, after the last the first, is off by the opposite.
    pub cancels: bool,
}

impl Spoil {
    /// Element-wise products.
    pub const GATES: &[&str] = &[BITS, RESIDUES, NARROW, WORDS, FIRST, SECOND];
    /// Nothing.
    pub const NONE: Spoil = Spoil {
        cheater: 0,
        steps: &[],
        seed: 0,
        cancels: false,
    };
    /// Linear layers.
    pub const PRODUCTS: &[&str] = &[PRODUCT];

    /// What is added to a message of `n` elements: a random element at one place, not 0, and its opposite at another
    /// if errors cancel.
    pub fn error<D: Domain>(&self, step: &str, n: usize) -> D::Vec {
        if n == 0 || !self.steps.contains(&step) {
            return D::zeros(n);
        }
        let mut seed = [7; 16];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        let mut prg = Prg::new(seed);
        let at = self.seed as usize % n;
        loop {
            let one = D::draw(&mut prg, 1);
            if D::write(&one) != D::write(&D::zeros(1)) {
                let alone = |at| D::concat(&[&D::zeros(at), &one, &D::zeros(n - at - 1)]);
                let mut error = alone(at);
                if self.cancels {
                    D::sub_assign(&mut error, &alone((at + 1) % n));
                }
                return error;
            }
        }
    }

    /// A message with its error, if it is to be spoiled.
    pub fn apply<R: Ring>(&self, step: &str, payload: Vec<u8>, kind: &Workload) -> Vec<u8> {
        match step {
            BITS => self.add::<Booleans>(step, payload, kind.bits),
            RESIDUES => self.add::<Residues<R>>(step, payload, kind.residues),
            NARROW => self.add::<Residues<u32>>(step, payload, kind.narrow),
            WORDS | FIRST | SECOND | PRODUCT => {
                let n = payload.len() / size_of::<R>();
                self.add::<Words<R>>(step, payload, n)
            }
            _ => payload,
        }
    }

    /// Where a message of words by bits exceeds the ring with its error; `None` of every other message.
    pub fn wraps<R: Ring>(&self, step: &str, payload: &[u8]) -> Option<Bits> {
        if ![FIRST, SECOND].contains(&step) {
            return None;
        }
        let n = payload.len() / size_of::<R>();
        let z = Words::<R>::read(payload, n).expect("the cheater's program sends words");
        Some(z.exceeds(&self.error::<Words<R>>(step, n)))
    }

    /// Lets the cheater hold the product that it has claimed.
    fn keep<R: Ring, D: Domain>(&self, machine: &Falcon<R>, step: &str, z: &mut Rss<D::Vec>) {
        if machine.rss.party.id() == self.cheater {
            let error = self.error::<D>(step, D::len(&z.own));
            D::add_assign(&mut z.own, &error);
        }
    }

    fn add<D: Domain>(&self, step: &str, payload: Vec<u8>, n: usize) -> Vec<u8> {
        let mut z = D::read(&payload, n).expect("the cheater's program sends elements");
        D::add_assign(&mut z, &self.error::<D>(step, n));
        D::write(&z)
    }
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
