//! Layers of a config on inputs of a shape.

use std::ops::RangeInclusive;

use tacit_nn::graph::{ConvGeometry, Pool};

use crate::layer::{Layer, Smooth};
use crate::spec::LayerSpec;

/// The most elements of a tensor.
const LARGEST: usize = 1 << 31;
/// Public factors and summands are below this.
const LARGEST_FACTOR: f64 = 1024.0;
/// What may be added to variances.
const EPSILONS: RangeInclusive<f64> = 1e-6..=1.0;

/// A layer on inputs of a shape, and the shape of its outputs.
pub(crate) fn placed(spec: &LayerSpec, shape: &[usize]) -> Result<(Layer, Vec<usize>), String> {
    let len: usize = shape.iter().product();
    let same = |layer| Ok((layer, shape.to_vec()));
    match *spec {
        LayerSpec::Linear { outputs, bias } => {
            check_len(&[len, outputs])?;
            let layer = Layer::Linear {
                inputs: len,
                outputs,
                bias,
            };
            Ok((layer, vec![outputs]))
        }
        LayerSpec::Conv { bias, .. } => {
            let geometry = convolution(spec, shape)?;
            let [height, width] = geometry.out();
            let shape = vec![geometry.filters, height, width];
            check_len(&shape)?;
            Ok((Layer::Conv { geometry, bias }, shape))
        }
        LayerSpec::Relu {} => same(Layer::Relu { len }),
        LayerSpec::LeakyRelu { slope } => {
            let slope = factor("slope", slope)?;
            same(Layer::LeakyRelu { len, slope })
        }
        LayerSpec::Sigmoid {} => same(smooth(len, Smooth::Sigmoid)),
        LayerSpec::Tanh {} => same(smooth(len, Smooth::Tanh)),
        LayerSpec::Erf {} => same(smooth(len, Smooth::Erf)),
        LayerSpec::Scale {
            factor: by,
            shift: to,
        } => same(Layer::Scale {
            len,
            factor: factor("factor", by)?,
            shift: factor("shift", to)?,
        }),
        LayerSpec::Dropout { p } if (0.0..0.99).contains(&p) => same(Layer::Dropout { len, p }),
        LayerSpec::Dropout { p } => Err(format!("{p} of its elements; it may drop 0 to 0.99")),
        LayerSpec::Add {} => same(Layer::Add { len }),
        LayerSpec::Mul {} => same(Layer::Mul { len }),
        LayerSpec::MaxPool { kernel, stride } => {
            let pool = pool(shape, kernel, stride)?;
            let shape = vec![pool.channels, pool.out[0], pool.out[1]];
            Ok((Layer::MaxPool(pool), shape))
        }
        LayerSpec::AvgPool { kernel, stride } => {
            let pool = pool(shape, kernel, stride)?;
            let shape = vec![pool.channels, pool.out[0], pool.out[1]];
            Ok((Layer::AvgPool(pool), shape))
        }
        LayerSpec::BatchNorm { epsilon, momentum } => {
            if !(EPSILONS.contains(&epsilon) && (0.0..=1.0).contains(&momentum)) {
                return Err(format!(
                    "an epsilon of {epsilon:e} and a momentum of {momentum}; it needs {:e} to {} and 0 to 1",
                    EPSILONS.start(),
                    EPSILONS.end()
                ));
            }
            same(Layer::BatchNorm {
                channels: shape[0],
                plane: len / shape[0],
                epsilon,
                momentum,
            })
        }
        LayerSpec::Gelu {} | LayerSpec::Silu {} => Err("it is made of several layers".into()),
    }
}

fn smooth(len: usize, function: Smooth) -> Layer {
    Layer::Smooth { len, function }
}

/// A public number of a layer.
pub(crate) fn factor(what: &str, value: f64) -> Result<f64, String> {
    match value.abs() < LARGEST_FACTOR {
        true => Ok(value),
        false => Err(format!(
            "a {what} of {value}; its magnitude must be below {LARGEST_FACTOR}"
        )),
    }
}

/// The shapes of a convolution on inputs of a shape.
fn convolution(spec: &LayerSpec, shape: &[usize]) -> Result<ConvGeometry, String> {
    let LayerSpec::Conv {
        filters,
        kernel,
        stride,
        pad,
        groups,
        dilation,
        ..
    } = *spec
    else {
        return Err("it is no convolution".into());
    };
    let [channels, height, width] = planes(shape)?;
    if groups == 0 || !channels.is_multiple_of(groups) || !filters.is_multiple_of(groups) {
        return Err(format!(
            "{channels} channels and {filters} filters do not go into {groups} groups"
        ));
    }
    check_len(&[kernel, dilation])?;
    let span = (kernel - 1) * dilation + 1;
    if pad >= span {
        return Err(format!(
            "padding of {pad} is as wide as the kernel; it must be below {span}"
        ));
    }
    for size in [height, width] {
        fits(size, span, stride, pad)?;
    }
    check_len(&[channels, height, width, kernel, kernel])?;
    check_len(&[filters, channels / groups, kernel, kernel])?;
    Ok(ConvGeometry {
        channels,
        height,
        width,
        filters,
        kernel: [kernel; 2],
        stride: [stride; 2],
        pad: [pad; 4],
        dilation: [dilation; 2],
        groups,
    })
}

fn pool(shape: &[usize], kernel: usize, stride: Option<usize>) -> Result<Pool, String> {
    let [channels, height, width] = planes(shape)?;
    let stride = stride.unwrap_or(kernel);
    let [rows, columns] = [height, width].map(|n| fits(n, kernel, stride, 0));
    Ok(Pool {
        channels,
        height,
        width,
        kernel: [kernel; 2],
        stride: [stride; 2],
        pad: [0; 4],
        dilation: [1; 2],
        out: [rows?, columns?],
        count_pad: false,
    })
}

fn planes(shape: &[usize]) -> Result<[usize; 3], String> {
    shape
        .try_into()
        .map_err(|_| format!("it needs channels, height and width; what comes in is {shape:?}"))
}

/// The places of a kernel along an axis of `n`.
fn fits(n: usize, kernel: usize, stride: usize, pad: usize) -> Result<usize, String> {
    if kernel == 0 || stride == 0 {
        return Err("kernel and stride must be at least 1".into());
    }
    let room = (n + 2 * pad).checked_sub(kernel);
    let room =
        room.ok_or_else(|| format!("the kernel of {kernel} is larger than the {n} input"))?;
    Ok(room / stride + 1)
}

fn check_len(factors: &[usize]) -> Result<(), String> {
    let len = factors.iter().try_fold(1usize, |a, b| a.checked_mul(*b));
    match len {
        Some(1..LARGEST) => Ok(()),
        _ => Err(format!("a tensor of {factors:?} elements cannot be")),
    }
}
