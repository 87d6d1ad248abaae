//! What functions take, beside the paper.

use tacit_protocols::Error;

use super::super::*;
use crate::ot::OtExtension;
use crate::{Engine, Shared};

/// Instances that are counted together, so that padding to bytes does not show.
const N: usize = 1 << 10;

/// Bytes per instance of both parties, with OTs as IKNP's and Kolesnikov and Kumaresan's (k = 1), and
/// with the default's (k = 4), and hops.
fn traffic(
    bits: u32,
    apply: impl Fn(&mut Engine, &Shared) -> Result<Shared, Error>,
) -> ([f64; 2], u32) {
    let mut engine = Engine::counting();
    apply(&mut engine, &Shared::new(bits, &[0; N])).unwrap();
    let tally = engine.tally();
    let bytes: u64 = tally.online.bytes.iter().sum();
    let with = |k: u32| {
        let before: u64 = OtExtension::SoftSpoken { k }
            .cost(tally.ots)
            .bytes
            .iter()
            .sum();
        (bytes + before) as f64 / N as f64
    };
    ([with(1), with(4)], tally.online.rounds)
}

/// Digits are those of the functions, and the paper's, with which an OT of 128 bits costs least.
#[test]
fn functions_take_less_than_the_papers() {
    let f = Format::new(16, 12);
    for (digit, most) in [
        (DIGIT, [[2120.0, 870.0], [3200.0, 1350.0], [3700.0, 1690.0]]),
        (8, [[1840.0, 1260.0], [2930.0, 1745.0], [3390.0, 2095.0]]),
    ] {
        let exp = Exp::new(f, f, digit).unwrap();
        let sigmoid = Sigmoid::new(f, f, digit).unwrap();
        let tanh = Tanh::new(f, f, digit).unwrap();
        let taken = [
            traffic(16, |e, x| exp.apply(e, x)),
            traffic(16, |e, x| sigmoid.apply(e, x)),
            traffic(16, |e, x| tanh.apply(e, x)),
        ];
        for (name, ((bytes, hops), most)) in ["exp", "sigmoid", "tanh"]
            .iter()
            .zip(taken.into_iter().zip(most))
        {
            println!("{name}, d = {digit}: {bytes:.0?} bytes, {hops} hops");
            assert!(bytes[0] < most[0] && bytes[1] < most[1], "{bytes:?}");
        }
    }
    let bounded = Exp::up_to(f, f, DIGIT, 0).unwrap();
    let exp = Exp::new(f, f, DIGIT).unwrap();
    let [free, bound] = [&exp, &bounded].map(|exp| traffic(16, |e, x| exp.apply(e, x)));
    println!("exp with a bound: {:.0?} bytes, {} hops", bound.0, bound.1);
    // A value of 16 bits for every other index of the top digit.
    assert!(
        bound.1 == free.1 && bound.0[1] - free.0[1] <= 2.0 * 15.0,
        "{:?}",
        bound.0
    );
    let root = SquareRoot::inverse(f, f).unwrap();
    let (bytes, hops) = traffic(16, |e, x| root.apply(e, x));
    println!("rsqrt: {bytes:.0?} bytes, {hops} hops");
    assert!(bytes[0] < 3780.0 && bytes[1] < 1375.0, "{bytes:?}");
    for (input, output, most) in [
        (f, f, 1000.0),
        (Format::new(24, 19), Format::new(24, 20), 2000.0),
        (Format::new(29, 24), Format::new(28, 24), 3500.0),
    ] {
        let erf = Erf::new(input, output).unwrap();
        let (bytes, hops) = traffic(input.bits, |e, x| erf.apply(e, x));
        println!("erf from {input:?} to {output:?}: {bytes:.0?} bytes, {hops} hops");
        assert!(bytes[1] < most, "{bytes:?}");
    }
}
