//! What functions take, beside the paper.

use tacit_protocols::Error;

use super::super::*;
use crate::{Engine, Shared};

/// Instances that are counted together, so that padding to bytes does not show.
const N: usize = 1 << 10;

/// Bytes per instance of both parties, with OTs that cost 128 (IKNP) and 32 bits (SoftSpoken,
/// k = 4), and hops.
fn traffic(
    bits: u32,
    apply: impl Fn(&mut Engine, &Shared) -> Result<Shared, Error>,
) -> ([f64; 2], u32) {
    let mut engine = Engine::counting();
    apply(&mut engine, &Shared::new(bits, &[0; N])).unwrap();
    let tally = engine.tally();
    let cots: usize = tally.cots.iter().sum();
    let bytes: u64 = tally.online.bytes.iter().sum();
    let with = |ot: usize| (bytes as f64 + (cots * ot / 8) as f64) / N as f64;
    ([with(128), with(32)], tally.online.rounds)
}

#[test]
fn functions_take_less_than_the_papers() {
    let f = Format::new(16, 12);
    for digit in 4..=8 {
        let exp = Exp::new(f, f, digit).unwrap();
        let (bytes, hops) = traffic(16, |e, x| exp.apply(e, x));
        println!("exp, d = {digit}: {bytes:.0?} bytes, {hops} hops");
        assert!(
            digit < 8 || bytes[0] < 2270.0 && bytes[1] < 1330.0,
            "{bytes:?}"
        );
        let sigmoid = Sigmoid::new(f, f, digit).unwrap();
        let (bytes, hops) = traffic(16, |e, x| sigmoid.apply(e, x));
        println!("sigmoid, d = {digit}: {bytes:.0?} bytes, {hops} hops");
        assert!(
            digit < 8 || bytes[0] < 3750.0 && bytes[1] < 1920.0,
            "{bytes:?}"
        );
        let tanh = Tanh::new(f, f, digit).unwrap();
        let (bytes, hops) = traffic(16, |e, x| tanh.apply(e, x));
        println!("tanh, d = {digit}: {bytes:.0?} bytes, {hops} hops");
        assert!(
            digit < 8 || bytes[0] < 4250.0 && bytes[1] < 2280.0,
            "{bytes:?}"
        );
    }
    let root = SquareRoot::inverse(f, f).unwrap();
    let (bytes, hops) = traffic(16, |e, x| root.apply(e, x));
    println!("rsqrt: {bytes:.0?} bytes, {hops} hops");
    assert!(bytes[0] < 4550.0 && bytes[1] < 1700.0, "{bytes:?}");
}
