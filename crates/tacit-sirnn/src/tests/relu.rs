//! ReLU, ReLU6, maxpool and argmax.

use super::*;

#[test]
fn relu_and_relu6() {
    for bits in WIDTHS {
        for x in batches(&inputs(bits)) {
            let relu = value(&run(|engine| engine.relu(&x[engine.id()])));
            let most = low(u64::MAX, bits) >> 1;
            for bound in [0, 1, most / 3, most] {
                if bound > most {
                    continue;
                }
                let relu6 = value(&run(|engine| engine.relu6(&x[engine.id()], bound)));
                for (i, v) in value(&x).into_iter().enumerate() {
                    let positive = signed(v, bits).max(0) as u64;
                    assert_eq!(relu[i], positive);
                    assert_eq!(relu6[i], positive.min(bound), "{v} of {bits} bits");
                }
            }
        }
    }
}

#[test]
fn largest_of_windows() {
    for bits in [3, 4, 8, 16, 21, 32, 37, 64] {
        for (length, windows) in [(1, 3), (2, 9), (3, 70), (4, 33), (7, 8), (9, 1), (5, 0)] {
            // A bit to spare, negative ones too, and many that are equal.
            let values: Vec<u64> = random(3, bits - 1, length * windows)
                .iter()
                .map(|v| low((signed(*v, bits - 1) / 2 * 2) as u64, bits))
                .collect();
            let x = share(bits, &values, 4);
            let max = value(&run(|engine| engine.maxpool(&x[engine.id()], windows)));
            let [(a, i), (b, j)] = run(|engine| engine.argmax(&x[engine.id()], windows));
            let (again, index) = (value(&[a, b]), value(&[i, j]));
            assert!(max.len() == windows && again == max && index.len() == windows);
            for window in 0..windows {
                let of = |j: usize| signed(values[j * windows + window], bits);
                let largest = (0..length).map(of).max().unwrap();
                let first = (0..length).position(|j| of(j) == largest).unwrap();
                assert_eq!(signed(max[window], bits), largest);
                assert_eq!(index[window], first as u64, "{length} of {bits} bits");
            }
        }
    }
}
