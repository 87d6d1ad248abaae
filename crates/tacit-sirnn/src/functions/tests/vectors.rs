//! Functions of vectors: softmax and normalisation.

use tacit_algebra::{Prg, vec};

use super::super::*;
use super::secure::{open, shares};

/// `rows x columns` signed numbers of at most `bits` bits, as `width` bits.
fn numbers(n: usize, bits: u32, width: u32) -> Vec<u64> {
    let random = vec::low_bits(&Prg::new([2; 16]).ring::<u64>(n), bits);
    let centred = random.iter().map(|x| x.wrapping_sub(1 << (bits - 1)));
    vec::low_bits(&centred.collect::<Vec<_>>(), width)
}

fn column(x: &[u64], columns: usize, i: usize) -> Vec<u64> {
    x.iter().skip(i).step_by(columns).copied().collect()
}

fn real(x: u64, format: Format) -> f64 {
    let unused = 64 - format.bits;
    (((x << unused) as i64) >> unused) as f64 / f64::from(1 << format.scale)
}

#[test]
fn softmax_of_columns() {
    for (classes, scale, result, columns) in [(2, 8, 10, 50), (10, 10, 12, 200), (33, 11, 18, 20)] {
        let (input, output) = (Format::new(16, scale), Format::new(result + 4, result));
        let softmax = Softmax::new(input, output, classes, DIGIT).unwrap();
        let x = numbers(classes * columns, 15, 16);
        let given = shares(16, &x);
        let y = open(|engine| softmax.apply(engine, &given[engine.id()]));
        let mut largest = 0f64;
        for i in 0..columns {
            let (x, y) = (column(&x, columns, i), column(&y, columns, i));
            assert_eq!(y, softmax.clear(&x));
            let e: Vec<f64> = x.iter().map(|x| real(*x, input).exp()).collect();
            let sum: f64 = e.iter().sum();
            for (e, y) in e.iter().zip(y) {
                let error = (e / sum - real(y, output)).abs();
                largest = largest.max(error * f64::from(1 << result));
            }
        }
        println!("softmax of {classes}, {scale} -> {result}: {largest} ULP");
        assert!(largest < 3.0 + classes as f64 / 4.0, "{largest}");
    }
}

#[test]
fn vectors_of_length_one() {
    for (len, bits, scale, result, shift) in
        [(8, 12, 9, 11, 0), (30, 16, 12, 9, 6), (1, 10, 5, 6, 0)]
    {
        let (input, output) = (Format::new(bits, scale), Format::new(16, result));
        let normalise = Normalise::new(input, output, len, shift).unwrap();
        let columns = 100;
        let mut x = numbers(len * columns, bits, bits);
        // No vector is 0.
        x[..columns].iter_mut().for_each(|x| *x |= 1);
        let given = shares(bits, &x);
        let y = open(|engine| normalise.apply(engine, &given[engine.id()]));
        let mut largest = 0f64;
        for i in 0..columns {
            let (x, y) = (column(&x, columns, i), column(&y, columns, i));
            assert_eq!(y, normalise.clear(&x));
            let x: Vec<f64> = x.iter().map(|x| real(*x, input)).collect();
            let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (x, y) in x.iter().zip(y) {
                let unit = f64::from(1 << result);
                largest = largest.max((x / length - real(y, output)).abs() * unit);
            }
        }
        println!("vectors of {len}, {scale} -> {result}: {largest} ULP");
        assert!(largest < 5.0, "{largest}");
    }
}

#[test]
fn layers_of_mean_0_and_deviation_1() {
    for (len, bits, scale, result, shift) in [(16, 12, 8, 10, 4), (64, 14, 10, 9, 16)] {
        let (input, output) = (Format::new(bits, scale), Format::new(16, result));
        let layer = LayerNorm::new(input, output, len, shift).unwrap();
        let columns = 60;
        let mut x = numbers(len * columns, bits, bits);
        // A layer without deviations.
        x.iter_mut().step_by(columns).for_each(|x| *x = 5);
        let given = shares(bits, &x);
        let y = open(|engine| layer.apply(engine, &given[engine.id()]));
        let mut largest = 0f64;
        for i in 0..columns {
            let (x, y) = (column(&x, columns, i), column(&y, columns, i));
            assert_eq!(y, layer.clear(&x));
            let x: Vec<f64> = x.iter().map(|x| real(*x, input)).collect();
            let mean = x.iter().sum::<f64>() / len as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / len as f64;
            for (x, y) in x.iter().zip(y) {
                let expected = match i {
                    0 => 0.0,
                    _ => (x - mean) / variance.sqrt(),
                };
                let unit = f64::from(1 << result) / (len as f64).sqrt();
                largest = largest.max((expected - real(y, output)).abs() * unit);
            }
        }
        println!("layers of {len}, {scale} -> {result}: sqrt(len) {largest} ULP");
        assert!(largest < 4.0, "{largest}");
    }
}

#[test]
fn gelu_of_all_inputs() {
    let (input, output) = (Format::new(16, 12), Format::new(16, 12));
    let gelu = Gelu::new(input, output, DIGIT).unwrap();
    let inputs: Vec<u64> = (0..1 << 16).collect();
    let given = shares(16, &inputs);
    let y = open(|engine| gelu.apply(engine, &given[engine.id()]));
    let mut largest = 0f64;
    for (x, y) in inputs.iter().zip(y) {
        assert_eq!(y, gelu.clear(*x));
        let x = real(*x, input);
        let expected = x / (1.0 + (-1743.0 / 1024.0 * x).exp());
        largest = largest.max((real(y, output) - expected).abs() * 4096.0);
    }
    println!("GELU: {largest} ULP");
    assert!(largest < 4.0, "{largest}");
}
