//! One proof by its three roles, without links.

use std::ops::Range;

use super::super::gates::Gates;
use super::super::products::{Compress, Product};
use super::super::proof_segments::{Shape, segment};
use super::*;
use crate::bilinear::Bilinear;
use crate::call::RADICES;
use crate::replicated::Rss;
use tacit_algebra::extension::{
    Binary, F11, F19, F37, F67, Galois, Integer, Integers, Tower, size_of_ring,
};
use tacit_algebra::{BatchMatMul, Bits, Buffer, Conv2d, MatMul, Ring, prime};

impl<K: Extension> Proof<K> {
    /// Of a left verifier's end of a proof about errors alone: the next fold, and the claims; those of
    /// products that join after this fold.
    pub(in super::super) fn off_by(&self) -> Option<(Fold, Vec<K>, Vec<K>)> {
        let joined = self.joins.iter().map(|join| join.claim).collect();
        Some((self.next()?, self.claims.clone(), joined))
    }
}

/// The gates as if recorded in two steps, their components as this party or the others see them.
fn cut<K: Extension>(
    gates: &Gates<K::Base>,
    seen: impl Fn(&Rss<K::Base>) -> Rss<K::Base>,
) -> Vec<Gates<K::Base>> {
    let n = K::base_len(&gates.left);
    let part = |range: Range<usize>| {
        let components = |x: &Rss<K::Base>| seen(x).map(|x| K::base_part(x, range.clone()));
        Gates {
            terms: gates.terms,
            x: components(&gates.x),
            y: components(&gates.y),
            second: gates
                .second
                .as_ref()
                .map(|both| both.each_ref().map(components)),
            left: K::base_part(&gates.left, range.clone()),
            right: K::base_part(&gates.right, range.clone()),
        }
    };
    vec![part(0..n / 3), part(n / 3..n)]
}

/// Runs a proof about `n` gates of which `change` may spoil the claims and the prover's
/// messages; returns whether each verifier accepts, and their last elements.
fn prove<K: Extension>(
    gates: &Gates<K::Base>,
    star: u8,
    defences: Defences,
    spoil: impl Fn(usize, &mut Vec<u8>),
) -> ([Option<bool>; 2], [Vec<u8>; 2]) {
    // The parties' components: what each role reads of `Gates`.
    let statement = |recorded| {
        Rc::new(Statement::<K> {
            gates: Span::all(gates.terms, recorded).pop(),
            linear: Linear::none(),
        })
    };
    let own = statement(cut::<K>(gates, Rss::clone));
    let others = statement(cut::<K>(gates, |v| Rss {
        own: v.next.clone(),
        next: v.own.clone(),
    }));
    let source = |seed: u8| Some(Prg::new([seed; 16]));
    let sources = |left, right| Sources { left, right };
    let (l, r) = (star, 100 + star);
    let mut prover = Proof::new(
        ProofRole::Prover,
        &own,
        sources(source(l), source(r)),
        defences,
    );
    let mut left = Proof::new(ProofRole::Left, &others, sources(source(l), None), defences);
    let mut right = Proof::new(
        ProofRole::Right,
        &others,
        sources(None, source(r)),
        defences,
    );
    let roles: [&mut dyn Run; 3] = [&mut prover, &mut left, &mut right];
    roles.into_iter().for_each(|role| role.begin([7; 16]));
    let mut hop = 0;
    while left.folds() > 0 {
        let mut message = prover.deal();
        assert_eq!(message.len(), left.dealt_len());
        spoil(hop, &mut message);
        if left.take(Some(&message)).is_none() {
            return ([None; 2], Default::default());
        }
        right.take(None).expect("shares are drawn");
        let roles: [&mut dyn Run; 3] = [&mut prover, &mut left, &mut right];
        let point = || Prg::new([hop as u8 + 8; 16]);
        roles.into_iter().for_each(|role| role.fold(&mut point()));
        hop += 1;
    }
    let lasts = [left.last(), right.last()];
    ([left.check(&lasts[1]), right.check(&lasts[0])], lasts)
}

/// Honest proofs hold; with any one claim or message changed none does; and what the verifiers
/// show each other at the end depends on nothing but what hides it.
fn check<K: Extension>(
    draw: impl Fn(&mut Prg, usize) -> K::Base,
    sub: impl Fn(&K::Base, &K::Base) -> K::Base,
    one_at: impl Fn(usize, usize) -> K::Base,
) {
    let mut prg = Prg::new([1; 16]);
    let sizes = |terms| {
        // Of several segments, the last one being shorter.
        let segments = [segment::<K>(terms) + 100, 2 * segment::<K>(terms) + 1];
        let segments = segments.into_iter().filter(|_| K::SEGMENTS > 1);
        let few = [1, 2, 7, 64, 65, 130, 5000].into_iter().chain(segments);
        few.map(move |n| (terms, n))
    };
    for (terms, n) in [Terms::Both, Terms::One].into_iter().flat_map(sizes) {
        let mut base = || draw(&mut prg, n);
        let (x, y) = (
            Rss {
                own: base(),
                next: base(),
            },
            Rss {
                own: base(),
                next: base(),
            },
        );
        let right = base();
        // left = x_{j+1} y_j - right, and the other term if there is one
        let zero = sub(&right, &right);
        let mut minus = sub(&zero, &K::base_product(&x.next, &y.own));
        if terms == Terms::Both {
            minus = sub(&minus, &K::base_product(&x.own, &y.next));
        }
        let left = sub(&sub(&zero, &minus), &right);
        let gates = Gates {
            terms,
            x,
            y,
            second: None,
            left,
            right,
        };
        let all = Defences::default();
        let honest = prove::<K>(&gates, 3, all, |_, _| ());
        assert_eq!(honest.0, [Some(true); 2], "{n} gates");
        let hidden = prove::<K>(&gates, 4, all, |_, _| ());
        assert!(
            (0..2).all(|i| honest.1[i] != hidden.1[i]),
            "{n} gates are not hidden"
        );
        // What a verifier shows without them is a function of the components that the other lacks.
        let bare = Defences {
            without: Some(Defence::Hiding),
        };
        let bare = [3, 4].map(|star| prove::<K>(&gates, star, bare, |_, _| ()).1);
        let ends = bare.map(|last| last.map(|last| last[..last.len() / 2].to_vec()));
        assert_eq!(ends[0], ends[1], "{n} gates are hidden by something else");
        for at in [0, n / 2, n - 1] {
            let wrong = Gates {
                left: sub(&gates.left, &one_at(n, at)),
                ..gates.clone()
            };
            assert_eq!(
                prove::<K>(&wrong, 3, all, |_, _| ()).0,
                [Some(false); 2],
                "{at} of {n}"
            );
        }
        // In a fold of one part nothing is dealt.
        let folds = schedule::<K>(terms, n, &[0; RADICES])
            .into_iter()
            .rev()
            .enumerate();
        let hops = folds.filter(|(_, fold)| fold.dealt() > 0);
        for (hop, place) in hops.flat_map(|(hop, _)| [(hop, 0.0), (hop, 0.5)]) {
            let spoiled = prove::<K>(&gates, 3, all, |now, message| {
                if now == hop {
                    let at = (message.len() as f64 * place) as usize;
                    message[at] ^= 1;
                }
            });
            assert_ne!(spoiled.0[0], Some(true), "hop {hop} of {n} gates");
            assert_ne!(spoiled.0[1], Some(true), "hop {hop} of {n} gates");
        }
    }
}

#[test]
fn proofs_about_bits() {
    let one_at = |n, at| Bits::from_fn(n, |i| i == at);
    check::<Binary>(|prg, n| prg.bits(n), |a, b| a.xor(b), one_at);
}

/// Two messages that are wrong at the same column of two segments, or of two blocks: under the same coins their
/// errors would add up to nothing.
#[test]
fn errors_of_bits_do_not_cancel() {
    fn check(terms: Terms, n: usize, at: [usize; 2], coins: Defence) {
        let zeros = || Bits::zeros(n);
        let operands = || Rss::from([zeros(), zeros()]);
        let wrong = Gates {
            terms,
            x: operands(),
            y: operands(),
            second: None,
            left: Bits::from_fn(n, |i| at.contains(&i)),
            right: zeros(),
        };
        let run = |without| prove::<Binary>(&wrong, 3, Defences { without }, |_, _| ()).0;
        assert_eq!(run(None), [Some(false); 2], "{coins:?}: {at:?} of {n}");
        let bare = run(Some(coins));
        assert_eq!(bare, [Some(true); 2], "{coins:?}: {at:?} of {n}: blind");
    }
    for terms in [Terms::Both, Terms::One] {
        let segment = segment::<Binary>(terms);
        for segments in [[0, 1], [1, 2], [0, 2]] {
            let at = segments.map(|at| at * segment + 77);
            check(terms, 3 * segment, at, Defence::SegmentCoins);
        }
        // Blocks whose numbers have as many ones are alike at a point whose coins are all the same.
        for blocks in [[1, 2], [2, 4], [3, 5]] {
            let len = segment / Shape::of::<Binary>(terms, segment).blocks;
            let at = blocks.map(|at| at * len + 77);
            check(terms, segment, at, Defence::CubeCoins);
        }
    }
}

#[test]
fn proofs_about_residues() {
    fn residues<F: tacit_algebra::extension::Prime>() {
        check::<Tower<F>>(
            |prg, n| prg.residues(F::P, n),
            |a, b| prime::sub(F::P, a, b).into(),
            |n, at| (0..n).map(|i| u8::from(i == at)).collect(),
        );
    }
    residues::<F11>();
    residues::<F19>();
    residues::<F37>();
    residues::<F67>();
}

/// Random words times random bits, as a prover sends them, or with the carry of one of them changed and with an
/// error in words.
fn chosen<R: Ring>(n: usize, changed: Option<usize>, error: &Buffer<R>) -> Gates<Integers> {
    let mut prg = Prg::new([n as u8; 16]);
    let [words, mask]: [Buffer<R>; 2] = [0; 2].map(|_| prg.words(n));
    let [bits, carry_mask] = [0; 2].map(|_| prg.bits(n));
    let z = words.mul(&bits.words_of()).sub(&mask);
    let mut carries = z.exceeds(&mask).xor(&carry_mask);
    if let Some(at) = changed {
        carries.set(at, !carries.get(at));
    }
    // What a role does not read is another.
    let mut other = || Integers::of_words(&prg.words::<R>(n));
    let own = |own, next| Rss { own, next };
    Gates {
        terms: Terms::Both,
        x: own(other(), Integers::of_words(&words)),
        y: own(Integers::of_bits(bits, 1), other()),
        second: Some([
            own(
                Integers::of_bits(Bits::zeros(n), -2 * size_of_ring::<R>()),
                Integers::of_bits(carry_mask.clone(), -2 * size_of_ring::<R>()),
            ),
            own(
                Integers::of_bits(carries.clone(), 1),
                Integers::of_bits(Bits::zeros(n), 1),
            ),
        ]),
        left: Integers::less(&z, carries),
        right: Integers::less(&mask.add(error), carry_mask),
    }
}

/// Whatever a message is off by, its carry too, which is nothing modulo the ring's size.
#[test]
fn proofs_about_integers() {
    fn check<R: Ring>(n: usize) {
        let all = Defences::default();
        let run = |gates: &_| prove::<Integer>(gates, 3, all, |_, _| ()).0;
        let right = Buffer::zeros(n);
        assert_eq!(
            run(&chosen::<R>(n, None, &right)),
            [Some(true); 2],
            "{n} gates"
        );
        for at in [0, n / 2, n - 1] {
            let carry = chosen::<R>(n, Some(at), &right);
            assert_eq!(run(&carry), [Some(false); 2], "the carry at {at} of {n}");
            for wrong in [1, -1, i64::MIN >> (64 - R::BITS)] {
                let error = (0..n).map(|i| R::from_i64(if i == at { wrong } else { 0 }));
                let gates = chosen::<R>(n, None, &error.collect());
                assert_eq!(run(&gates), [Some(false); 2], "{wrong} at {at} of {n}");
            }
        }
    }
    for n in [1, 2, 64, 65, 5000, segment::<Integer>(Terms::Both) + 100] {
        check::<u8>(n);
        check::<u64>(n);
    }
}

/// The highest bit is the error that is the hardest to see: twice it is nothing.
#[test]
fn proofs_about_words() {
    fn words<R: Ring>() {
        let top = R::ONE.shl(R::BITS - 1);
        check::<Galois<R>>(
            |prg, n| prg.words(n),
            |a, b| a.sub(b),
            |n, at| {
                (0..n)
                    .map(|i| if i == at { top } else { R::ZERO })
                    .collect()
            },
        );
    }
    words::<u8>();
    words::<u64>();
}

/// Two outputs of a product that are off by opposite errors and differ in one coordinate alone: it has coins of its
/// own. Half of a ring's size is an error that is the hardest to see.
#[test]
fn errors_of_outputs_do_not_cancel() {
    let each = MatMul { m: 2, k: 3, n: 4 };
    let convolution = Conv2d {
        batch: 2,
        channels: 2,
        height: 4,
        width: 5,
        filters: 4,
        kernel: [2, 2],
        stride: [1, 1],
        pad: [0; 4],
        dilation: [1, 1],
        groups: 2,
    };
    let maps = [
        (Bilinear::MatMul(each), vec![2, 4]),
        (
            Bilinear::BatchMatMul(BatchMatMul { batch: 3, each }),
            vec![3, 2, 4],
        ),
        (Bilinear::Conv2d(convolution), vec![2, 4, 3, 4]),
    ];
    for (map, sizes) in maps {
        let zeros = |n| Rss::from([(); 2].map(|()| Buffer::<u64>::zeros(n)));
        let n = map.outputs();
        assert_eq!(n, sizes.iter().product());
        for axis in 0..sizes.len() {
            let apart: usize = sizes[axis + 1..].iter().product();
            for error in [1u64, 1 << 63] {
                let off = |i| match i {
                    0 => error,
                    i if i == apart => error.wrapping_neg(),
                    _ => 0,
                };
                let received = (0..n).map(off).collect();
                let [x, w] = [map.left(), map.right()].map(zeros);
                let product = Product::new(map, x, w, &received, &zeros(n));
                let claim = |defences| {
                    let mut coins = Prg::new([7; 16]);
                    let vectors = [&mut Vec::new(), &mut Vec::new()];
                    product.compress(&mut coins, ProofRole::Left, defences, vectors)
                };
                let name = format!("{map:?}, coordinate {axis}");
                assert_ne!(claim(Defences::default()), Galois::ZERO, "{name}");
                let without = Some(Defence::OutputCoins);
                assert_eq!(claim(Defences { without }), Galois::ZERO, "{name}");
            }
        }
    }
}

/// The sums of docs/threat-model.md: the error of theta, and the folds' degrees.
#[test]
fn the_error_is_below_two_to_the_minus_40() {
    /// The factors of a coin, and what the folds add.
    fn degrees<K: Extension>(terms: Terms, gates: usize, entries: usize) -> f64 {
        let degrees = |joined| -> usize {
            let folds = schedule::<K>(terms, gates, &joined);
            folds.iter().map(|fold| fold.degree()).sum()
        };
        let factors = if entries > 0 { 3 } else { 2 };
        let of_radix = |i| {
            let mut joined = [0; RADICES];
            joined[i] = entries;
            degrees(joined)
        };
        let most = (0..RADICES).map(of_radix).max();
        (most.expect("there is a radix") + factors) as f64
    }
    let tower = (48.4f64).exp2() - 1.0;
    let sizes = |terms| {
        let most = segment::<Galois<u64>>(terms);
        [0, 1, 2, 100, 5000, most - 1, most].map(|gates| (terms, gates))
    };
    for terms in [Terms::Both, Terms::One] {
        for segments in [2, 3, 100, 1 << 20, 1 << 40, (1 << 49) - (1 << 43)] {
            let sum = degrees::<Binary>(terms, segments * segment::<Binary>(terms), 0);
            assert!(sum / (64f64).exp2() < (-54f64).exp2(), "{segments}: {sum}");
            let most = segments * segment::<Integer>(terms);
            let sum = degrees::<Integer>(terms, most, 0);
            assert!(
                sum / ((60f64).exp2() - 1.0) < (-50f64).exp2(),
                "{segments}: {sum}"
            );
        }
    }
    for (terms, gates) in [Terms::Both, Terms::One].into_iter().flat_map(sizes) {
        let bound = (-40f64).exp2();
        assert!(degrees::<Binary>(terms, gates, 0) / (64f64).exp2() < (-54f64).exp2());
        assert!(degrees::<Tower<F11>>(terms, gates, 0) / tower < bound);
        // Around the sizes at which there is a fold more, and at which the last ones have the most parts.
        let near = |bits: u32| [0, 1, 2, 3].map(move |less| (1usize << bits) - less);
        let powers = (2..usize::BITS).flat_map(near);
        let worst = (1..24).map(|folds| (0xff_ffff_fffe << folds) - 2);
        for entries in [0, 1, 5000, usize::MAX / 2]
            .into_iter()
            .chain(powers)
            .chain(worst)
        {
            let sum = degrees::<Galois<u64>>(terms, gates, entries);
            assert!(
                sum / ((48f64).exp2() - 1.0) < bound,
                "{gates}, {entries}: {sum}"
            );
        }
    }
}
