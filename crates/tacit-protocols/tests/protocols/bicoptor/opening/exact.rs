//! The attacks on exact signs: to make a bit `b` a number, and to multiply it, the assistant deals a
//! random bit `rho`, shares of it as a number, a random `a` and shares of `rho a`. Of `e = b xor rho`,
//! which the holders open to each other, it learns where it is told `b`.

use super::*;
use tacit_protocols::pool::levels;

/// Passes over what is dealt for the adders of `n` signs, which make one block.
fn skip_signs([first, second]: &mut [Prg; 2], n: usize) {
    let below = u64::BITS as usize - 1;
    let mut skip = |masks: &[usize], dealt: usize| {
        for rows in masks {
            first.bit_rows(*rows, n);
            second.bit_rows(*rows, n);
        }
        first.bit_rows(dealt, n);
    };
    skip(&[below], below);
    for (pairs, _) in levels(below) {
        skip(&[pairs, 2 * pairs - 1], 2 * pairs - 1);
    }
}

/// What is dealt of `n` bits as numbers: the bits `rho`, and by holder its summand of each.
fn dealt_bits([first, second]: &mut [Prg; 2], n: usize) -> (Vec<u64>, [Vec<u64>; 2]) {
    let rho = first.bits(n).xor(&second.bits(n)).expand_ring();
    let drawn = first.ring(n);
    let rest = vec::sub(&rho, &drawn);
    (rho, [drawn, rest])
}

/// Where `y` and `e` are 0, and so is `rho`, the holders' summands are those of `delta rho + rho a`
/// with `delta = x - a`, of which the assistant knows all but `delta`.
fn by_the_bits(recorder: &Recorder, x: &[i64], opening: Opening) -> Vec<Option<i64>> {
    let n = ROWS * UNITS;
    let mut prgs = after_the_product(recorder);
    skip_signs(&mut prgs, n);
    let (rho, word) = dealt_bits(&mut prgs, n);
    let [first, second] = &mut prgs;
    let a = vec::add(&first.ring::<u64>(n), &second.ring(n));
    let drawn = first.ring::<u64>(n);
    let rest = vec::sub(&vec::mul(&rho, &a), &drawn);
    let product = [drawn, rest];
    let opened = [0, 1].map(|holder| words(recorder, holder, ASSISTANT, opening.step()));
    weights(x, |i| {
        let hidden = opened[0][i].wrapping_add(opened[1][i]) == 0 && rho[i] == 0;
        let equation = |holder: usize| {
            let rest = opened[holder][i].wrapping_sub(product[holder][i]);
            (rest, word[holder][i])
        };
        let (delta, bits) = solve([equation(0), equation(1)]).filter(|_| hidden)?;
        Some((delta.wrapping_add(a[i]), bits))
    })
}

#[test]
fn the_assistant_learns_no_value_that_an_exact_relu_hides() {
    relu_hides(KeyBits::ALL, by_the_bits);
}

fn dealt_exactly(recorder: &Recorder) -> [Vec<u64>; 2] {
    let mut prgs = [0, 1].map(|holder| generator(recorder, [holder, ASSISTANT], PAIR));
    skip_signs(&mut prgs, ITEMS * COUNTS);
    let (rho, [drawn, _]) = dealt_bits(&mut prgs, ITEMS * COUNTS);
    [drawn, rho]
}

#[test]
fn the_assistant_learns_no_exact_sign_that_is_only_counted() {
    count_hides(KeyBits::ALL, dealt_exactly);
}

/// Values that are bounded from above, and the bound, which everybody knows.
const BOUNDED: usize = 2000;
const BOUND: i64 = 1 << 40;
/// Low bits of a value that must be found for it to count.
const ENOUGH: u32 = 32;

/// The lesser of each value and the bound, opened to the assistant: a selection by an exact sign.
fn bounded(y: &[i64], opening: Opening) -> Recorder {
    let n = y.len();
    record(|machine| {
        machine.prepare(&[Call::drelu(n), Call::select(n)])?;
        let own = (machine.party().id() == 0).then_some(y);
        let y = machine.input(0, n, own)?;
        let bound = machine.constant(&vec![BOUND; n]);
        let room = machine.sub(&bound, &y);
        let fits = machine.drelu(&room, KeyBits::ALL)?;
        let z = machine.select(&fits, &bound, &y)?;
        opening.open(machine, &z)
    })
}

/// How many values beyond the bound the assistant finds, of how many.
///
/// Where the bound was chosen, `b` is 0 and so `e = rho`: it knows the holders' summands `b_i` of `b`.
/// Their summands of the selection are the bound's and `c_i + d b_i + a_i (b - beta)`, of a triple that
/// it dealt, with `d` the difference of value and bound less `a`.
fn bounded_values_found(opening: Opening) -> (usize, usize) {
    let y: Vec<i64> = noise(5, BOUNDED).iter().map(|v| v >> 2).collect();
    let recorder = bounded(&y, opening);
    let mut prgs = [0, 1].map(|holder| generator(&recorder, [holder, ASSISTANT], PAIR));
    skip_signs(&mut prgs, BOUNDED);
    let (rho, word) = dealt_bits(&mut prgs, BOUNDED);
    let [first, second] = &mut prgs;
    let [a, beta] = [(); 2].map(|()| [first.ring::<u64>(BOUNDED), second.ring(BOUNDED)]);
    let c = first.ring::<u64>(BOUNDED);
    let opened = [0, 1].map(|holder| words(&recorder, holder, ASSISTANT, opening.step()));
    let value = |of: &[Vec<u64>; 2], i: usize| of[0][i].wrapping_add(of[1][i]);
    let found = |i: &usize| {
        let i = *i;
        let (whole_a, whole_beta) = (value(&a, i), value(&beta, i));
        let c = [c[i], whole_a.wrapping_mul(whole_beta).wrapping_sub(c[i])];
        let equation = |holder: usize| {
            let carried = |v: u64| if holder == 0 { v } else { 0 };
            let bit = match rho[i] {
                0 => word[holder][i],
                _ => carried(1).wrapping_sub(word[holder][i]),
            };
            let rest = opened[holder][i]
                .wrapping_sub(carried(BOUND as u64))
                .wrapping_sub(c[holder])
                .wrapping_add(a[holder][i].wrapping_mul(whole_beta));
            (rest, bit)
        };
        solve([equation(0), equation(1)]).is_some_and(|(d, bits)| {
            let found = d.wrapping_add(whole_a).wrapping_add(BOUND as u64);
            let wrong = found ^ y[i] as u64;
            bits >= ENOUGH && wrong << (u64::BITS - bits) == 0
        })
    };
    let beyond = (0..BOUNDED).filter(|i| y[*i] > BOUND);
    (beyond.clone().filter(found).count(), beyond.count())
}

#[test]
fn the_assistant_learns_no_value_that_a_selection_hides() {
    for opening in OPENINGS {
        let (found, of) = bounded_values_found(opening);
        assert!(of >= 900, "{of} hidden values are too few to tell");
        assert_eq!(found, 0, "of {of} hidden values, {opening:?}");
    }
    let (found, of) = bounded_values_found(Opening::Mutant);
    assert!(found == of && of >= 900, "{found} of {of} by the mutant");
}
