//! Bits per instance against the paper's formulas, with OTs as IKNP's and Kolesnikov and Kumaresan's.

use super::*;
use crate::engine::Tally;
use crate::ot::OtExtension;
use crate::{Engine, Factor, product_bits};
use tacit_algebra::MatMul;
use tacit_protocols::Error;

/// A multiple of 16, so that nothing is padded.
const N: usize = 1 << 10;
const LAMBDA: u32 = 128;

struct Line {
    name: &'static str,
    hops: u32,
    before: f64,
    online: f64,
    paper: u32,
}

/// The bytes of the OTs.
fn before(tally: &Tally) -> u64 {
    let kind = OtExtension::SoftSpoken { k: 1 };
    kind.cost(tally.ots).bytes.iter().sum()
}

fn measure(
    name: &'static str,
    paper: u32,
    program: impl Fn(&mut Engine) -> Result<(), Error>,
) -> Line {
    let mut engine = Engine::counting();
    program(&mut engine).unwrap();
    let tally = engine.tally();
    let per = |count: f64| count / N as f64;
    Line {
        name,
        hops: tally.online.rounds,
        before: per(8.0 * before(&tally) as f64),
        online: per(tally.online.bytes.iter().sum::<u64>() as f64 * 8.0),
        paper,
    }
}

/// `q` full digits: leaves, single ANDs on the path of digit 0, pairs beside it.
fn mill(bits: u32) -> u32 {
    let q = bits.div_ceil(4);
    let path = q.next_power_of_two().ilog2();
    let short = match bits % 4 {
        0 => 0,
        // A short last digit: (1-of-2^r)-OT, of 2 bits, instead of (1-of-16)-OT.
        1 => LAMBDA + 32 - 4,
        r => 32 - 2 * (1 << r),
    };
    if q == 1 {
        return if bits == 1 {
            LAMBDA + 2
        } else {
            2 * LAMBDA + (1 << bits)
        };
    }
    q * 2 * LAMBDA + (q - 1) * 32 + 16 + path * (LAMBDA + 20) + (q - 1 - path) * (2 * LAMBDA + 22)
        - short
}

fn both(bits: u32) -> u32 {
    let q = bits.div_ceil(4);
    q * (2 * LAMBDA + 32) + (q - 1) * (2 * LAMBDA + 22)
}

fn b2a(bits: u32) -> u32 {
    LAMBDA + bits
}

fn mux(bits: u32) -> u32 {
    2 * (LAMBDA + bits)
}

fn cross(m: u32, n: u32) -> u32 {
    m * LAMBDA + m * (m + 1) / 2 + m * n
}

fn lines() -> Vec<Line> {
    let x = |bits| Shared::new(bits, &[0; N]);
    let none = Msb::Unknown;
    let plus = Msb::Public(false);
    let shared = Msb::Shared(Bits::zeros(N));
    let table = |bits: u32| vec![0u64; 1 << bits];
    let own = vec![0; N];
    let bits = Bits::zeros(N);
    let mut all = Vec::new();
    let mut add = |name, hops, paper, program: &dyn Fn(&mut Engine) -> Result<(), Error>| {
        let line = measure(name, paper, program);
        assert_eq!(line.hops, hops, "{name}");
        all.push(line);
    };
    for (name, l, hops) in [
        ("Mill 8", 8, 3),
        ("Mill 16", 16, 4),
        ("Mill 21", 21, 5),
        ("Mill 32", 32, 5),
        ("Mill 64", 64, 6),
    ] {
        add(name, hops, mill(l), &|e| e.mill(&own, l).map(drop));
    }
    add("Wrap&All1s 32", 5, both(32), &|e| {
        e.wrap_and_all_ones(&own, 32).map(drop)
    });
    let equal = 8 * (2 * LAMBDA + 16) + 7 * (LAMBDA + 20);
    add("Eq 32", 5, equal, &|e| e.equal(&own, 32).map(drop));
    add("B2A 32", 2, b2a(32), &|e| e.b2a(&bits, 32).map(drop));
    add("MUX 32", 2, mux(32), &|e| e.mux(&bits, &x(32)).map(drop));
    add("LUT 8 to 14", 2, 2 * LAMBDA + 256 * 14, &|e| {
        e.lookup(&table(8), &x(8), 14).map(drop)
    });
    add("LUT 4 to 4", 2, 2 * LAMBDA + 64, &|e| {
        e.lookup(&table(4), &x(4), 4).map(drop)
    });
    add("MSB-to-Wrap shared", 2, 2 * LAMBDA + 4, &|e| {
        e.wrap_of(&x(32), &shared).map(drop)
    });
    add("MSB-to-Wrap public", 2, LAMBDA + 2, &|e| {
        e.wrap_of(&x(32), &plus).map(drop)
    });
    add("ZExt 16 to 32", 6, mill(16) + b2a(16), &|e| {
        e.zero_extend(&x(16), 32, &none).map(drop)
    });
    add("ZExt* 16 to 32", 4, LAMBDA + 2 + b2a(16), &|e| {
        e.zero_extend(&x(16), 32, &plus).map(drop)
    });
    let ands = LAMBDA + 20;
    let lrs = mill(12) + both(20) + ands + b2a(32) + b2a(12);
    add("LRS 32 by 12", 8, lrs, &|e| {
        e.shift_right_logical(&x(32), 12, &none).map(drop)
    });
    add("ARS 32 by 12", 8, lrs, &|e| {
        e.shift_right_arithmetic(&x(32), 12, &none).map(drop)
    });
    let known = mill(12) + LAMBDA + 2 + b2a(32) + b2a(12);
    add("LRS* 32 by 12", 6, known, &|e| {
        e.shift_right_logical(&x(32), 12, &plus).map(drop)
    });
    add("TR 32 by 12", 6, mill(12) + b2a(20), &|e| {
        e.truncate_reduce(&x(32), 12).map(drop)
    });
    let zero = 3 * (2 * LAMBDA + 16) + 2 * ands;
    // The 19 bits below the top one as 5 digits: the paper's are not shorter.
    let divide =
        mill(12) + zero + both(20) - 16 + 2 * ands + 2 * LAMBDA + 4 + 2 * b2a(32) + b2a(12);
    add("DivPow2 32 by 12", 10, divide, &|e| {
        e.divide_pow2(&x(32), 12).map(drop)
    });
    let product = 2 * cross(16, 16) + 2 * mux(16);
    let wraps = 2 * mill(16);
    add("UMult 16 x 16", 6, product + wraps, &|e| {
        e.multiply_unsigned(&x(16), &x(16), 32, &none, &none)
            .map(drop)
    });
    add("SMult 16 x 16", 6, product + wraps, &|e| {
        e.multiply_signed(&x(16), &x(16), 32, &none, &none)
            .map(drop)
    });
    add("UMult* 16 x 16", 4, product + 2 * (LAMBDA + 2), &|e| {
        e.multiply_unsigned(&x(16), &x(16), 32, &plus, &plus)
            .map(drop)
    });
    let mixed = 2 * cross(8, 16) + mux(8) + mux(16) + mill(8) + mill(16);
    add("SMult 8 x 16", 6, mixed, &|e| {
        e.multiply_signed(&x(8), &x(16), 24, &none, &none).map(drop)
    });
    let half = cross(16, 16) + mux(16) / 2 + mill(16);
    for owner in [0, 1] {
        add("SMult 16 x 16 known", 6, half, &|e| {
            let own = (e.id() == owner).then_some(own.as_slice());
            let (x, y) = (x(16), Factor::known(true, 16, own, owner));
            e.multiply(&Factor::signed(&x, &none), &y, 32).map(drop)
        });
    }
    let digits = |c: u32, d: u32| (c - 1) * (both(d) + b2a(d)) + (c - 2) * ands;
    add("DigDec 16, 8", 5, digits(2, 8), &|e| {
        e.digits(&x(16), 8).map(drop)
    });
    add("DigDec 32, 8", 7, digits(4, 8), &|e| {
        e.digits(&x(32), 8).map(drop)
    });
    let top = digits(2, 8) + 2 * (2 * LAMBDA + 256 * 5) + 2 * mux(4) + 2 * LAMBDA + 16 * 16;
    add("MSNZB 16", 13, top, &|e| e.msnzb(&x(16)).map(drop));
    add("ReLU 32", 7, mill(31) + mux(32), &|e| {
        e.relu(&x(32)).map(drop)
    });
    all
}

#[test]
fn no_block_takes_more_than_the_paper_says() {
    println!(
        "{:<20} {:>4} {:>7} {:>8} {:>8} {:>8}",
        "", "hops", "before", "online", "all", "paper"
    );
    for line in lines() {
        let total = line.online + line.before;
        println!(
            "{:<20} {:>4} {:>7.1} {:>8.1} {:>8.1} {:>8}",
            line.name, line.hops, line.before, line.online, total, line.paper
        );
        assert!(total <= f64::from(line.paper), "{}: {total}", line.name);
    }
}

/// All the bits of a matrix product of numbers of `m` and `n` bits, `m <= n`, as the paper has it.
fn matrix(m: usize, n: usize, [d1, d2, d3]: [usize; 3]) -> usize {
    let wide = n + d2.next_power_of_two().ilog2() as usize;
    let ots = d1 * d2 * (3 * m + 2) + d2 * d3 * (wide + n + 3);
    let products = d1 * d2 * d3 * ((2 * m + 4) * wide + m * m + 5 * m);
    let comparisons = 14 * m * d1 * d2 + (14 * wide + 13 * n + wide) * d2 * d3;
    LAMBDA as usize * ots + products + comparisons
}

#[test]
fn matrix_products_take_no_more_than_the_paper_says() {
    for (m, n, [d1, d2, d3]) in [
        (8, 8, [8, 16, 8]),
        (8, 16, [32, 64, 8]),
        (16, 16, [8, 32, 64]),
    ] {
        let out = product_bits(m, n, d2);
        let shape = MatMul {
            m: d1,
            k: d2,
            n: d3,
        };
        let (x, y) = (vec![0; d1 * d2], vec![0; d2 * d3]);
        let total = |known: bool| {
            let mut engine = Engine::counting();
            let [left, right] = [Shared::new(m, &x), Shared::new(n, &y)];
            let none = Msb::Unknown;
            let left = match known {
                true => Factor::known(true, m, Some(&x), 0),
                false => Factor::signed(&left, &none),
            };
            let right = Factor::signed(&right, &none);
            engine.matmul(&left, &right, shape, out).unwrap();
            let tally = engine.tally();
            let online = 8 * tally.online.bytes.iter().sum::<u64>() as usize;
            online + 8 * before(&tally) as usize
        };
        let paper = matrix(m as usize, n as usize, [d1, d2, d3]);
        let [shared, known] = [total(false), total(true)];
        println!("{m} x {n} bits, {d1} x {d2} x {d3}: {shared}, one known {known}, paper {paper}");
        assert!(shared <= paper && 2 * known <= paper);
    }
}
