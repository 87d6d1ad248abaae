//! The layers in float32.

use rayon::prelude::*;
use tacit_nn::graph::{ConvGeometry, Function, Pool};
use tacit_protocols::machine::PAD;

use crate::layers::{Mode, kept};
use crate::{Layer, Smooth};

/// What a forward pass keeps.
pub(super) enum Kept {
    Input(Vec<f32>),
    Two(Vec<f32>, Vec<f32>),
    Places(Vec<usize>),
    Normal(Vec<f32>, Vec<f32>),
    Nothing,
}

pub(super) fn forward(
    layer: &Layer,
    mut xs: Vec<Vec<f32>>,
    parameters: &mut [Vec<f32>],
    (mode, number): (Mode, usize),
) -> (Vec<f32>, Kept) {
    let train = mode != Mode::Predict;
    let x = xs.remove(0);
    match layer {
        Layer::Linear {
            inputs, outputs, ..
        } => {
            let mut y = vec![0.0; x.len() / inputs * outputs];
            add_rows(&mut y, parameters.get(1));
            gemm(&mut y, &x, &parameters[0], [*inputs, *outputs]);
            (y, Kept::Input(x))
        }
        Layer::Conv { geometry, .. } => (convolve(geometry, &x, parameters), Kept::Input(x)),
        Layer::Relu { .. } => {
            let y = x.iter().map(|v| v.max(0.0)).collect();
            (y, Kept::Input(x))
        }
        Layer::LeakyRelu { slope, .. } => {
            let y = x.iter().map(|v| v * leaky(*v, *slope)).collect();
            (y, Kept::Input(x))
        }
        Layer::Smooth { function, .. } => {
            let y = x.iter().map(|v| smooth(*function, *v)).collect();
            (y, Kept::Input(x))
        }
        Layer::Scale { factor, shift, .. } => {
            let [factor, shift] = [*factor as f32, *shift as f32];
            let y = x.iter().map(|v| factor * v + shift).collect();
            (y, Kept::Nothing)
        }
        Layer::Dropout { p, .. } => match mode {
            Mode::Predict => (x, Kept::Nothing),
            Mode::Train(coin, step) => {
                let kept = kept(&coin, [step, number], x.len(), *p);
                let over = |i: u32| {
                    if i == PAD {
                        0.0
                    } else {
                        1.0 / (1.0 - *p as f32)
                    }
                };
                let factors: Vec<f32> = kept.into_iter().map(over).collect();
                (
                    each(&x, &factors, |x, factor| x * factor),
                    Kept::Input(factors),
                )
            }
        },
        Layer::Add { .. } => (each(&x, &xs[0], |x, y| x + y), Kept::Nothing),
        Layer::Mul { .. } => {
            let y = each(&x, &xs[0], |x, y| x * y);
            (y, Kept::Two(x, xs.remove(0)))
        }
        Layer::MaxPool(pool) => {
            let places = largest(pool, &x);
            let y = places.iter().map(|at| x[*at]).collect();
            (y, Kept::Places(places))
        }
        Layer::AvgPool(pool) => {
            let window = pool.window() as f32;
            let mean = |(x, e): (&[f32], usize)| {
                let taps = (0..pool.window()).filter_map(|tap| pool.tap(e, tap));
                taps.map(|at| x[at]).sum::<f32>() / window
            };
            let items = x.chunks(pool.in_len());
            let y = items.flat_map(|x| (0..pool.out_len()).map(move |e| mean((x, e))));
            (y.collect(), Kept::Nothing)
        }
        Layer::BatchNorm {
            channels,
            plane,
            epsilon,
            momentum,
        } => {
            let numbers = (*epsilon as f32, *momentum as f32);
            normalise([*channels, *plane], numbers, &x, parameters, train)
        }
    }
}

/// The gradients of the inputs, if they are wanted, and the sums of those of the parameters.
pub(super) fn backward(
    layer: &Layer,
    kept: Kept,
    dy: &[f32],
    parameters: &[Vec<f32>],
    wants: bool,
) -> (Vec<Vec<f32>>, Vec<Vec<f32>>) {
    let one = |made: (Vec<f32>, Vec<Vec<f32>>)| (vec![made.0], made.1);
    let slopes = |x: &[f32], slope: &dyn Fn(f32) -> f32| {
        (vec![each(x, dy, |x, dy| slope(x) * dy)], Vec::new())
    };
    match (layer, kept) {
        (
            Layer::Linear {
                inputs,
                outputs,
                bias,
            },
            Kept::Input(x),
        ) => {
            let mut dx = vec![0.0; if wants { x.len() } else { 0 }];
            if wants {
                let w = transposed(&parameters[0], *inputs, *outputs);
                gemm(&mut dx, dy, &w, [*outputs, *inputs]);
            }
            let batch = x.len() / inputs;
            let mut dw = vec![0.0; inputs * outputs];
            gemm(
                &mut dw,
                &transposed(&x, batch, *inputs),
                dy,
                [batch, *outputs],
            );
            one((dx, with_bias(dw, *bias, dy, *outputs, 1)))
        }
        (Layer::Conv { geometry, bias }, Kept::Input(x)) => {
            let (dx, dw) = convolve_back(geometry, &x, dy, &parameters[0], wants);
            let [rows, columns] = geometry.out();
            let made = with_bias(dw, *bias, dy, geometry.filters, rows * columns);
            one((dx, made))
        }
        (Layer::Relu { .. }, Kept::Input(x)) => slopes(&x, &|x| if x >= 0.0 { 1.0 } else { 0.0 }),
        (Layer::MaxPool(pool), Kept::Places(places)) => {
            let mut dx = vec![0.0; dy.len() / pool.out_len() * pool.in_len()];
            for (at, dy) in places.iter().zip(dy) {
                dx[*at] += dy;
            }
            one((dx, Vec::new()))
        }
        (Layer::AvgPool(pool), _) => {
            let mut dx = vec![0.0; dy.len() / pool.out_len() * pool.in_len()];
            let items = dx.chunks_mut(pool.in_len()).zip(dy.chunks(pool.out_len()));
            for (dx, dy) in items {
                for (e, dy) in dy.iter().enumerate() {
                    for at in (0..pool.window()).filter_map(|tap| pool.tap(e, tap)) {
                        dx[at] += dy / pool.window() as f32;
                    }
                }
            }
            one((dx, Vec::new()))
        }
        (
            Layer::BatchNorm {
                channels, plane, ..
            },
            Kept::Normal(values, scale),
        ) => one(normalise_back(
            [*channels, *plane],
            (&values, &scale),
            dy,
            &parameters[0],
        )),
        (Layer::LeakyRelu { slope, .. }, Kept::Input(x)) => slopes(&x, &|x| leaky(x, *slope)),
        (Layer::Smooth { function, .. }, Kept::Input(x)) => {
            slopes(&x, &|x| smooth_slope(*function, x))
        }
        (Layer::Scale { factor, .. }, _) => slopes(dy, &|_| *factor as f32),
        (Layer::Dropout { .. }, Kept::Input(factors)) => slopes(&factors, &|factor| factor),
        (Layer::Add { .. }, _) => (vec![dy.to_vec(); 2], Vec::new()),
        (Layer::Mul { .. }, Kept::Two(x, y)) => {
            let made = [y, x].map(|v| each(&v, dy, |v, dy| v * dy));
            (made.to_vec(), Vec::new())
        }
        _ => unreachable!("a layer keeps what its backward pass needs"),
    }
}

/// A function of the elements of two.
fn each(x: &[f32], y: &[f32], f: impl Fn(f32, f32) -> f32) -> Vec<f32> {
    x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect()
}

fn leaky(x: f32, slope: f64) -> f32 {
    if x >= 0.0 { 1.0 } else { slope as f32 }
}

fn smooth(function: Smooth, x: f32) -> f32 {
    match function {
        Smooth::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Smooth::Tanh => x.tanh(),
        Smooth::Erf => Function::Erf.of(f64::from(x)) as f32,
    }
}

fn smooth_slope(function: Smooth, x: f32) -> f32 {
    let y = smooth(function, x);
    match function {
        Smooth::Sigmoid => y * (1.0 - y),
        Smooth::Tanh => 1.0 - y * y,
        Smooth::Erf => std::f32::consts::FRAC_2_SQRT_PI * (-x * x).exp(),
    }
}

/// `y += a b` for `a` of any number of rows of `k`, `b` of `k` x `n`.
fn gemm(y: &mut [f32], a: &[f32], b: &[f32], [k, n]: [usize; 2]) {
    // Each thread takes some rows, so that it reads `b` once for all of them.
    let rows = (a.len() / k).div_ceil(rayon::current_num_threads()).max(1);
    y.par_chunks_mut(rows * n)
        .zip(a.par_chunks(rows * k))
        .for_each(|(y, a)| tacit_nn::reference::gemm(y, a, b, [k, n]));
}

fn transposed(x: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    let column = |c: usize| (0..rows).map(move |r| x[r * columns + c]);
    (0..columns).flat_map(column).collect()
}

fn add_rows(y: &mut [f32], bias: Option<&Vec<f32>>) {
    if let Some(bias) = bias {
        y.chunks_mut(bias.len())
            .for_each(|y| y.copy_from_slice(bias));
    }
}

/// A gradient of weights and, where there is a bias, the sums of its channels.
fn with_bias(dw: Vec<f32>, bias: bool, dy: &[f32], channels: usize, plane: usize) -> Vec<Vec<f32>> {
    match bias {
        true => vec![dw, sums(dy, [channels, plane], |_, v| v)],
        false => vec![dw],
    }
}

/// By channel the sum of a function of every element and its place.
fn sums(x: &[f32], [channels, plane]: [usize; 2], f: impl Fn(usize, f32) -> f32) -> Vec<f32> {
    let mut sums = vec![0.0; channels];
    for (i, v) in x.iter().enumerate() {
        sums[i / plane % channels] += f(i, *v);
    }
    sums
}

/// The element of an item under tap `t` of place `p`, or none in the padding.
fn under(g: &ConvGeometry, t: usize, p: usize) -> Option<usize> {
    let (kernel, columns) = (g.kernel[0] * g.kernel[1], g.out()[1]);
    let (channel, t) = (t / kernel, t % kernel);
    let at = |d: usize, p: usize, t: usize, size: usize| {
        let at = (p * g.stride[d] + t * g.dilation[d]).checked_sub(g.pad[d])?;
        (at < size).then_some(at)
    };
    let row = at(0, p / columns, t / g.kernel[1], g.height)?;
    let column = at(1, p % columns, t % g.kernel[1], g.width)?;
    Some((channel * g.height + row) * g.width + column)
}

/// The channels of a group of an item.
fn group_of<'a>(g: &ConvGeometry, x: &'a [f32], group: usize) -> &'a [f32] {
    let len = g.in_len() / g.groups;
    &x[group * len..][..len]
}

/// Taps x places of the patches of an item's group.
fn patches(g: &ConvGeometry, x: &[f32]) -> Vec<f32> {
    let places = g.out()[0] * g.out()[1];
    let tap = |t: usize| (0..places).map(move |p| under(g, t, p).map_or(0.0, |at| x[at]));
    (0..g.taps()).flat_map(tap).collect()
}

fn convolve(g: &ConvGeometry, x: &[f32], parameters: &[Vec<f32>]) -> Vec<f32> {
    let places = g.out()[0] * g.out()[1];
    let mut y = vec![0.0; x.len() / g.in_len() * g.out_len()];
    let items = y.par_chunks_mut(g.out_len()).zip(x.par_chunks(g.in_len()));
    items.for_each(|(y, x)| {
        if let Some(bias) = parameters.get(1) {
            for (y, b) in y.chunks_mut(places).zip(bias) {
                y.fill(*b);
            }
        }
        let filters = g.filters / g.groups;
        for (group, y) in y.chunks_mut(filters * places).enumerate() {
            let w = &parameters[0][group * filters * g.taps()..][..filters * g.taps()];
            gemm(y, w, &patches(g, group_of(g, x, group)), [g.taps(), places]);
        }
    });
    y
}

fn convolve_back(
    g: &ConvGeometry,
    x: &[f32],
    dy: &[f32],
    w: &[f32],
    wants: bool,
) -> (Vec<f32>, Vec<f32>) {
    let (places, taps) = (g.out()[0] * g.out()[1], g.taps());
    let filters = g.filters / g.groups;
    let items = x.par_chunks(g.in_len()).zip(dy.par_chunks(g.out_len()));
    let parts: Vec<(Vec<f32>, Vec<f32>)> = items
        .map(|(x, dy)| {
            let mut dw = vec![0.0; g.filters * taps];
            let mut dx = vec![0.0; if wants { x.len() } else { 0 }];
            let groups = dw
                .chunks_mut(filters * taps)
                .zip(dy.chunks(filters * places));
            for (group, (dw, dy)) in groups.enumerate() {
                let patches = transposed(&patches(g, group_of(g, x, group)), taps, places);
                gemm(dw, dy, &patches, [places, taps]);
                if wants {
                    let w = &w[group * filters * taps..][..filters * taps];
                    let turned = transposed(w, filters, taps);
                    let mut spread = vec![0.0; taps * places];
                    gemm(&mut spread, &turned, dy, [filters, places]);
                    let first = group * (g.in_len() / g.groups);
                    for (i, v) in spread.iter().enumerate() {
                        if let Some(at) = under(g, i / places, i % places) {
                            dx[first + at] += v;
                        }
                    }
                }
            }
            (dx, dw)
        })
        .collect();
    let mut dw = vec![0.0; g.filters * taps];
    for (_, part) in &parts {
        dw.iter_mut().zip(part).for_each(|(sum, v)| *sum += v);
    }
    (parts.into_iter().flat_map(|(dx, _)| dx).collect(), dw)
}

/// The first of the largest elements of every window.
fn largest(pool: &Pool, x: &[f32]) -> Vec<usize> {
    let of = |(i, x): (usize, &[f32]), e: usize| {
        let taps = (0..pool.window()).filter_map(|tap| pool.tap(e, tap));
        let larger = |best: Option<usize>, at: usize| match best {
            Some(best) if x[best] >= x[at] => Some(best),
            _ => Some(at),
        };
        i * pool.in_len() + taps.fold(None, larger).unwrap_or(0)
    };
    let items = x.chunks(pool.in_len()).enumerate();
    items
        .flat_map(|item| (0..pool.out_len()).map(move |e| of(item, e)))
        .collect()
}

fn normalise(
    shape: [usize; 2],
    (epsilon, momentum): (f32, f32),
    x: &[f32],
    parameters: &mut [Vec<f32>],
    train: bool,
) -> (Vec<f32>, Kept) {
    let [channels, plane] = shape;
    let channel = |i: usize| i / plane % channels;
    if train {
        let m = (x.len() / channels) as f32;
        let mean: Vec<f32> = sums(x, shape, |_, v| v).iter().map(|s| s / m).collect();
        let squares = sums(x, shape, |i, v| (v - mean[channel(i)]).powi(2));
        let variance: Vec<f32> = squares.iter().map(|s| s / m).collect();
        let (values, scale) = scaled(shape, x, &mean, &variance, epsilon);
        let parts = [(&mean, 1.0), (&variance, m / (m - 1.0).max(1.0))];
        for (running, (batch, sample)) in parameters[2..].iter_mut().zip(parts) {
            for (running, batch) in running.iter_mut().zip(batch) {
                *running += momentum * (sample * batch - *running);
            }
        }
        let y = placed(shape, &values, &parameters[0], &parameters[1]);
        return (y, Kept::Normal(values, scale));
    }
    let (values, _) = scaled(shape, x, &parameters[2], &parameters[3], epsilon);
    let y = placed(shape, &values, &parameters[0], &parameters[1]);
    (y, Kept::Nothing)
}

fn scaled(
    [channels, plane]: [usize; 2],
    x: &[f32],
    mean: &[f32],
    variance: &[f32],
    epsilon: f32,
) -> (Vec<f32>, Vec<f32>) {
    let scale: Vec<f32> = variance
        .iter()
        .map(|v| 1.0 / (v + epsilon).sqrt())
        .collect();
    let of = |(i, v): (usize, &f32)| {
        let c = i / plane % channels;
        (v - mean[c]) * scale[c]
    };
    (x.iter().enumerate().map(of).collect(), scale)
}

fn placed([channels, plane]: [usize; 2], x: &[f32], gamma: &[f32], beta: &[f32]) -> Vec<f32> {
    let of = |(i, v): (usize, &f32)| {
        let c = i / plane % channels;
        gamma[c] * v + beta[c]
    };
    x.iter().enumerate().map(of).collect()
}

fn normalise_back(
    shape: [usize; 2],
    (values, scale): (&[f32], &[f32]),
    dy: &[f32],
    gamma: &[f32],
) -> (Vec<f32>, Vec<Vec<f32>>) {
    let m = (dy.len() / shape[0]) as f32;
    let dgamma = sums(dy, shape, |i, dy| dy * values[i]);
    let dbeta = sums(dy, shape, |_, dy| dy);
    let of = |(i, dy): (usize, &f32)| {
        let c = i / shape[1] % shape[0];
        gamma[c] * scale[c] * (dy - dbeta[c] / m - values[i] * dgamma[c] / m)
    };
    let dx = dy.iter().enumerate().map(of).collect();
    (dx, vec![dgamma, dbeta])
}
