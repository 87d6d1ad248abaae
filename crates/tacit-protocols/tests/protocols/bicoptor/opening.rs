//! Attacks on openings to the assistant, which dealt the masks behind what it is given: it takes
//! what it was sent, what it sent and its own generators, and computes what was never opened.
//!
//! Each attack is also run against a mutant, in which the holders send the assistant their summands
//! as they are: there it finds everything, here nothing. Those on exact signs are in `exact.rs`.

mod exact;

use std::collections::HashMap;

use crate::subjects::ubl_over;
use tacit_algebra::{MatMul, Prg, vec};
use tacit_conformance::knowledge::{generator, recorded, sent};
use tacit_conformance::views::raw_opening;
use tacit_conformance::{Subject, noise, run_on};
use tacit_net::testing::Recorder;
use tacit_protocols::Error;
use tacit_protocols::falcon::Truncation;
use tacit_protocols::machine::{Audience, Bilinear, Call, KeyBits, Machine, Operand};
use tacit_protocols::machine::{Erased, Handle};

const ASSISTANT: usize = 2;
/// What holders and assistant make their generators for.
const PAIR: &[u8] = b"bicoptor pair";
const REVEAL: &str = "bicoptor reveal";
const HANDED: &str = "test: what a client got";
const RAW: &str = "mutant: raw summand";
const MASKED_SIGN: &str = "bicoptor relu: masked sign";
const DEALT_SIGN: &str = "bicoptor drelu: deal sign";

/// How a result is opened to the assistant.
#[derive(Clone, Copy, Debug)]
enum Opening {
    Machine(Audience),
    /// The holders hand out to a client, who shows the assistant all that it gets.
    Client,
    /// The holders send their summands as they are.
    Mutant,
}

impl Opening {
    fn open(self, machine: &mut Erased, x: &Handle) -> Result<(), Error> {
        match self {
            Opening::Machine(to) => machine.reveal(x, to).map(drop),
            Opening::Client => show(machine, x),
            Opening::Mutant => raw_opening(machine, x, RAW),
        }
    }

    fn step(self) -> &'static str {
        match self {
            Opening::Machine(_) => REVEAL,
            Opening::Client => HANDED,
            Opening::Mutant => RAW,
        }
    }
}

/// Hands out to a client, who shows the assistant what it gets.
fn show(machine: &mut Erased, x: &Handle) -> Result<(), Error> {
    let part = machine.hand_out(x)?;
    let bytes = machine.len(x) * size_of::<u64>();
    let party = machine.party();
    if party.id() != ASSISTANT {
        return Ok(party.send(ASSISTANT, HANDED, part)?);
    }
    for holder in [0, 1] {
        party.recv(holder, HANDED, bytes)?;
    }
    Ok(())
}

/// Every way in which the assistant hears.
const OPENINGS: [Opening; 3] = [
    Opening::Machine(Audience::One(ASSISTANT)),
    Opening::Machine(Audience::All),
    Opening::Client,
];

/// Keeps all messages of a program between the three parties.
fn record(program: impl Fn(&mut Erased) -> Result<(), Error> + Sync) -> Recorder {
    let (recorder, mesh) = recorded(3, |_, _| true);
    run_on(mesh, |party| {
        let subject = ubl_over::<u64>(Truncation::Gap);
        let mut machine = subject.machine(party).expect("keys are agreed");
        program(&mut machine).expect("the program runs");
    });
    recorder
}

/// Ring elements that were sent.
fn words(recorder: &Recorder, from: usize, to: usize, step: &str) -> Vec<u64> {
    bytemuck::pod_collect_to_vec(&sent(recorder, from, to, step))
}

/// Where the signs are.
const KEYS: KeyBits = KeyBits::of(0, 31);

/// The assistant's inputs, and units with a weight each.
const ROWS: usize = 32;
const UNITS: usize = 72;

/// `y = relu(x w)` opened to the assistant, whose data is `x`, all of it odd and positive: of a unit
/// with a negative weight `y` tells no more than the sign.
fn layer(x: &[i64], w: &[i64], keys: KeyBits, opening: Opening) -> Recorder {
    let shape = MatMul {
        m: ROWS,
        k: 1,
        n: UNITS,
    };
    let calls = [
        Call::product(Bilinear::MatMul(shape), 0),
        Call::relu(ROWS * UNITS).by(keys),
    ];
    record(|machine| {
        machine.prepare(&calls)?;
        let id = machine.party().id();
        let x = machine.input(ASSISTANT, ROWS, (id == ASSISTANT).then_some(x))?;
        let w = machine.input(0, UNITS, (id == 0).then_some(w))?;
        let z = machine.matmul(&x, &Operand::Secret(w), None, shape, 0)?;
        let y = machine.relu(&z, keys)?;
        opening.open(machine, &y)
    })
}

/// `v` modulo `2^bits` as a signed number.
fn signed(v: u64, bits: u32) -> i64 {
    ((v << (64 - bits)) as i64) >> (64 - bits)
}

/// The inverse of an odd number modulo `2^64`.
fn inverse(v: u64) -> u64 {
    (0..6).fold(v, |i, _| {
        i.wrapping_mul(2u64.wrapping_sub(v.wrapping_mul(i)))
    })
}

/// The `d` of `factor d = product`, and how many of its low bits that tells.
fn divide(product: u64, factor: u64) -> Option<(u64, u32)> {
    let zeros = factor.trailing_zeros();
    let odd = factor.checked_shr(zeros)?;
    let exact = product.trailing_zeros() >= zeros;
    exact.then(|| ((product >> zeros).wrapping_mul(inverse(odd)), 64 - zeros))
}

/// The `d` of two equations `factor d = product`, from the one that tells more of its low bits.
fn solve(equations: [(u64, u64); 2]) -> Option<(u64, u32)> {
    let (product, factor) = equations
        .into_iter()
        .min_by_key(|(_, factor)| factor.trailing_zeros())?;
    divide(product, factor)
}

/// The weight of each unit, from low bits of pre-activations where some are found.
fn weights(x: &[i64], pre_activation: impl Fn(usize) -> Option<(u64, u32)>) -> Vec<Option<i64>> {
    let unit = |unit: usize| {
        (0..ROWS).find_map(|row| {
            let (z, bits) = pre_activation(row * UNITS + unit)?;
            let weight = signed(z.wrapping_mul(inverse(x[row] as u64)), bits);
            // What is no weight is no solution either.
            (weight.unsigned_abs() < 1 << 15).then_some(weight)
        })
    };
    (0..UNITS).map(unit).collect()
}

/// The generators in common with the holders, after the matrix product's masks and what of its
/// triple is dealt.
fn after_the_product(recorder: &Recorder) -> [Prg; 2] {
    let mut first = generator(recorder, [0, ASSISTANT], PAIR);
    let mut second = generator(recorder, [1, ASSISTANT], PAIR);
    for n in [ROWS, UNITS, ROWS * UNITS] {
        first.ring::<u64>(n);
    }
    for n in [ROWS, UNITS] {
        second.ring::<u64>(n);
    }
    [first, second]
}

/// What the assistant makes of its view of a layer, and finds where a weight is.
type Attack = fn(&Recorder, &[i64], Opening) -> Vec<Option<i64>>;

/// The attack on signs by key bits.
///
/// Where `y` is 0 and so is its `DReLU' = t`, the holders' summands are those of the product of
/// `x = d + a` with it: `c_0 + d (b_0 + e) + a_0 e` and `c_1 + d b_1 + a_1 e`. It knows all but `d`.
fn by_key_bits(recorder: &Recorder, x: &[i64], opening: Opening) -> Vec<Option<i64>> {
    let n = ROWS * UNITS;
    let [mut first, mut second] = after_the_product(recorder);
    let [a, b] = [(); 2].map(|()| [first.ring::<u64>(n), second.ring(n)]);
    let c = first.ring::<u64>(n);
    let e = words(recorder, ASSISTANT, 0, MASKED_SIGN);
    let opened = [0, 1].map(|holder| words(recorder, holder, ASSISTANT, opening.step()));
    let value = |of: &[Vec<u64>; 2], i: usize| of[0][i].wrapping_add(of[1][i]);
    weights(x, |i| {
        let (whole_a, whole_b) = (value(&a, i), value(&b, i));
        let hidden = value(&opened, i) == 0 && e[i].wrapping_add(whole_b) == 0;
        let other_c = whole_a.wrapping_mul(whole_b).wrapping_sub(c[i]);
        let rest = |holder: usize, c: u64| {
            let known = c.wrapping_add(a[holder][i].wrapping_mul(e[i]));
            opened[holder][i].wrapping_sub(known)
        };
        let equations = [
            (rest(0, c[i]), b[0][i].wrapping_add(e[i])),
            (rest(1, other_c), b[1][i]),
        ];
        let (d, bits) = solve(equations).filter(|_| hidden)?;
        Some((d.wrapping_add(whole_a), bits))
    })
}

/// How many pre-activations that ReLU made 0 the assistant finds, of how many.
fn hidden_values_found(keys: KeyBits, attack: Attack, opening: Opening) -> (usize, usize) {
    let x: Vec<i64> = noise(1, ROWS)
        .iter()
        .map(|v| v >> 50 & 0x1fff | 1)
        .collect();
    let w: Vec<i64> = noise(2, UNITS).iter().map(|v| v >> 49 | 1).collect();
    let recorder = layer(&x, &w, keys, opening);
    let found = attack(&recorder, &x, opening);
    let hidden = w.iter().zip(&found).filter(|(w, _)| **w < 0);
    let right = hidden.clone().filter(|(w, found)| Some(**w) == **found);
    (ROWS * right.count(), ROWS * hidden.count())
}

/// Nothing of what a ReLU hides is found, and all of it where the holders send their summands.
fn relu_hides(keys: KeyBits, attack: Attack) {
    for opening in OPENINGS {
        let (found, of) = hidden_values_found(keys, attack, opening);
        assert!(of >= 1000, "{of} hidden values are too few to tell");
        assert_eq!(found, 0, "of {of} hidden values, {opening:?}");
    }
    let (found, of) = hidden_values_found(keys, attack, Opening::Mutant);
    assert!(found == of && of >= 1000, "{found} of {of} by the mutant");
}

#[test]
fn the_assistant_learns_no_value_that_a_relu_hides() {
    relu_hides(KEYS, by_key_bits);
}

/// Items of a count, and counts.
const ITEMS: usize = 20;
const COUNTS: usize = 50;

/// Counts of non-negative items, opened to the assistant.
fn count(x: &[i64], keys: KeyBits, opening: Opening) -> Recorder {
    record(|machine| {
        let n = ITEMS * COUNTS;
        machine.prepare(&[Call::drelu(n).by(keys)])?;
        let own = (machine.party().id() == 0).then_some(x);
        let x = machine.input(0, n, own)?;
        let bits = machine.drelu(&x, keys)?;
        let mut sum = machine.constant(&[0; COUNTS]);
        for item in 0..ITEMS {
            let of_item = machine.slice(&bits, item * COUNTS..(item + 1) * COUNTS);
            sum = machine.add(&sum, &of_item);
        }
        opening.open(machine, &sum)
    })
}

/// The flips with which the known summands add up to `sum`: a flipped `s` counts as `1 - s`.
fn flips(summands: &[u64], sum: u64) -> Option<Vec<bool>> {
    let (low, high) = summands.split_at(summands.len() / 2);
    let subtotals = |part: &[u64]| -> Vec<u64> {
        let of = |flips: usize| {
            let term = |(i, s): (usize, &u64)| match flips >> i & 1 {
                0 => *s,
                _ => 1u64.wrapping_sub(*s),
            };
            part.iter().enumerate().map(term).fold(0, u64::wrapping_add)
        };
        (0..1 << part.len()).map(of).collect()
    };
    let below: HashMap<u64, usize> = subtotals(low).into_iter().zip(0..).collect();
    let mut above = subtotals(high).into_iter().enumerate();
    let (high_flips, low_flips) =
        above.find_map(|(flips, part)| Some((flips, *below.get(&sum.wrapping_sub(part))?)))?;
    let flips = low_flips | high_flips << low.len();
    Some((0..summands.len()).map(|i| flips >> i & 1 == 1).collect())
}

/// What the assistant dealt to party 0 of a masked sign, and that sign, of every item.
type Dealt = fn(&Recorder) -> [Vec<u64>; 2];

/// What the assistant deals of signs by key bits: what it finds of the entries.
fn dealt_by_key_bits(recorder: &Recorder) -> [Vec<u64>; 2] {
    let mut first = generator(recorder, [0, ASSISTANT], PAIR);
    let dealt = words(recorder, ASSISTANT, 1, DEALT_SIGN);
    let drawn: Vec<u64> = first.ring(dealt.len());
    let masked = vec::add(&drawn, &dealt);
    [drawn, masked]
}

/// How many of the single signs behind the counts the assistant finds. Party 0's summand of a count is
/// a sum of those that the assistant dealt, flipped or not: a subset sum of few numbers.
fn signs_found(keys: KeyBits, dealt: Dealt, opening: Opening) -> usize {
    let x: Vec<i64> = noise(3, ITEMS * COUNTS).iter().map(|v| v >> 40).collect();
    let recorder = count(&x, keys, opening);
    let [drawn, masked] = dealt(&recorder);
    let summands = words(&recorder, 0, ASSISTANT, opening.step());
    let found = |count: usize| {
        let of = |values: &[u64]| -> Vec<u64> {
            values.iter().skip(count).step_by(COUNTS).copied().collect()
        };
        let flips = flips(&of(&drawn), summands[count])?;
        let masked = of(&masked);
        let signs = flips.iter().zip(masked).map(|(t, m)| *t != (m == 1));
        let right = |(item, sign): (usize, bool)| sign == (x[item * COUNTS + count] >= 0);
        Some(signs.enumerate().filter(|s| right(*s)).count())
    };
    (0..COUNTS).filter_map(found).sum()
}

/// No single sign behind a count is found, and all where the holders send their summands.
fn count_hides(keys: KeyBits, dealt: Dealt) {
    for opening in OPENINGS {
        assert_eq!(signs_found(keys, dealt, opening), 0, "{opening:?}");
    }
    let found = signs_found(keys, dealt, Opening::Mutant);
    assert_eq!(found, ITEMS * COUNTS);
}

#[test]
fn the_assistant_learns_no_sign_that_is_only_counted() {
    count_hides(KEYS, dealt_by_key_bits);
}

/// What the assistant does learn of a truncated result, as holders do from what they open: how it was
/// rounded. It knows the low bits of the mask that were added to the value before it was cut off.
#[test]
fn the_assistant_sees_how_a_result_was_rounded() {
    const D: u32 = 12;
    let x: Vec<i64> = noise(4, 1000).iter().map(|v| v >> 20).collect();
    let n = x.len();
    let (recorder, mesh) = recorded(3, |_, _| true);
    let told = run_on(mesh, |party| {
        let subject = ubl_over::<u64>(Truncation::Gap);
        let mut machine = subject.machine(party).expect("keys are agreed");
        let mut play = || {
            machine.prepare(&[Call::truncate(n, D)])?;
            let own = (machine.party().id() == 0).then_some(&x[..]);
            let x = machine.input(0, n, own)?;
            let y = machine.truncate(&x, D)?;
            machine.reveal(&y, Audience::One(ASSISTANT))
        };
        play().expect("the program runs")
    });
    let masks = [0, 1].map(|holder| {
        let mut prg = generator(&recorder, [holder, ASSISTANT], PAIR);
        prg.ring::<u64>(n)
    });
    let rounded = |(x, r): (&i64, u64)| (x + (r & ((1 << D) - 1)) as i64) >> D;
    let rounded: Vec<i64> = x
        .iter()
        .zip(vec::add(&masks[0], &masks[1]))
        .map(rounded)
        .collect();
    assert_eq!(told[ASSISTANT].as_ref(), Some(&rounded));
}
