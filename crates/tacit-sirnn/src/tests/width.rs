//! Extension and truncation.

use super::*;

#[test]
fn extensions() {
    for bits in WIDTHS {
        for to in [bits, bits + 1, bits + 2, bits + 5, 2 * bits, 63, 64] {
            if to < bits || to > 64 {
                continue;
            }
            for (x, msb) in known(&inputs(bits)) {
                let zero = value(&run(|engine| {
                    let id = engine.id();
                    engine.zero_extend(&x[id], to, &msb[id])
                }));
                let sign = value(&run(|engine| {
                    let id = engine.id();
                    engine.sign_extend(&x[id], to, &msb[id])
                }));
                for (i, v) in value(&x).into_iter().enumerate() {
                    assert_eq!(zero[i], v, "{bits} to {to} bits");
                    assert_eq!(sign[i], low(signed(v, bits) as u64, to), "{bits} to {to}");
                }
            }
        }
    }
}

/// All shifts of small widths; of others the ends, the middle and some between.
fn shifts(bits: u32) -> Vec<u32> {
    match bits {
        ..=6 => (0..bits).collect(),
        _ => vec![1, 3, 4, bits / 2, bits - 5, bits - 1],
    }
}

#[test]
fn shifts_keep_the_width() {
    for bits in WIDTHS {
        for s in shifts(bits) {
            for (x, msb) in known(&inputs(bits)) {
                let logical = value(&run(|engine| {
                    let id = engine.id();
                    engine.shift_right_logical(&x[id], s, &msb[id])
                }));
                let arithmetic = value(&run(|engine| {
                    let id = engine.id();
                    engine.shift_right_arithmetic(&x[id], s, &msb[id])
                }));
                for (i, v) in value(&x).into_iter().enumerate() {
                    assert_eq!(logical[i], v >> s, "{bits} bits by {s}");
                    let expected = low((signed(v, bits) >> s) as u64, bits);
                    assert_eq!(arithmetic[i], expected, "{bits} bits by {s}");
                }
            }
        }
    }
}

#[test]
fn truncation_and_division() {
    for bits in WIDTHS {
        for s in shifts(bits) {
            for x in batches(&inputs(bits)) {
                let cut = value(&run(|engine| engine.truncate_reduce(&x[engine.id()], s)));
                let divided = value(&run(|engine| engine.divide_pow2(&x[engine.id()], s)));
                for (i, v) in value(&x).into_iter().enumerate() {
                    assert_eq!(cut[i], v >> s, "{bits} bits by {s}");
                    let expected = i128::from(signed(v, bits)) / (1i128 << s);
                    assert_eq!(divided[i], low(expected as u64, bits), "{bits} bits by {s}");
                }
            }
        }
    }
}
