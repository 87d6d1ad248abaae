//! Trained networks as ONNX files.

use tacit_nn::onnx::{Attribute, Writer};

use crate::{Layer, Network, Smooth};

/// The ONNX file of a network with these parameters.
pub fn to_onnx(network: &Network, parameters: &[Vec<f32>]) -> Vec<u8> {
    let mut writer = Writer::new("trained by Tacit", &network.input);
    let mut values = vec![writer.value().to_owned()];
    let mut parameters = parameters.iter();
    for (i, (layer, reads)) in network.layers.iter().zip(&network.reads).enumerate() {
        let name = format!("{}{i}", layer.kind());
        writer.go_to(&values[reads[0]]);
        if matches!(layer, Layer::Linear { .. }) && network.shape(reads[0]).len() > 1 {
            let flat = [("axis", Attribute::Int(1))];
            writer.node(&format!("flatten{i}"), "Flatten", &[], &flat);
        }
        let own: Vec<&[f32]> = layer
            .parameters()
            .iter()
            .map_while(|_| parameters.next())
            .map(Vec::as_slice)
            .collect();
        if matches!(layer, Layer::Dropout { .. }) {
            values.push(values[reads[0]].clone());
            continue;
        }
        match reads.get(1) {
            Some(other) => writer.join(&name, onnx_type(layer), &values[*other]),
            None => write(&mut writer, &name, layer, &own),
        }
        values.push(writer.value().to_owned());
    }
    writer.finish(network.shape(network.layers.len()))
}

/// Writes a layer that reads one value.
fn write(writer: &mut Writer, name: &str, layer: &Layer, own: &[&[f32]]) {
    let own = |i: usize| own.get(i).copied().unwrap_or_default();
    let op = onnx_type(layer);
    match layer {
        Layer::Linear {
            inputs,
            outputs,
            bias,
        } => {
            let (w, b) = ([*inputs, *outputs], [*outputs]);
            let operands = [("weight", &w[..], own(0)), ("bias", &b[..], own(1))];
            writer.node(name, op, &operands[..1 + usize::from(*bias)], &[]);
        }
        Layer::Conv { geometry: g, bias } => {
            let w = [g.filters, g.channels / g.groups, g.kernel[0], g.kernel[1]];
            let b = [g.filters];
            let operands = [("weight", &w[..], own(0)), ("bias", &b[..], own(1))];
            let mut attributes = windows(g.kernel, g.stride, g.pad);
            attributes.push(("dilations", ints(&g.dilation)));
            attributes.push(("group", Attribute::Int(g.groups as i64)));
            writer.node(name, op, &operands[..1 + usize::from(*bias)], &attributes);
        }
        Layer::MaxPool(pool) | Layer::AvgPool(pool) => {
            let attributes = windows(pool.kernel, pool.stride, pool.pad);
            writer.node(name, op, &[], &attributes);
        }
        Layer::BatchNorm {
            channels, epsilon, ..
        } => {
            let shape = [*channels];
            let names = ["scale", "B", "mean", "var"];
            let operands: Vec<_> = (names.iter().enumerate())
                .map(|(i, name)| (*name, &shape[..], own(i)))
                .collect();
            let epsilon = [("epsilon", Attribute::Float(*epsilon as f32))];
            writer.node(name, op, &operands, &epsilon);
        }
        Layer::LeakyRelu { slope, .. } => {
            let slope = [("alpha", Attribute::Float(*slope as f32))];
            writer.node(name, op, &[], &slope);
        }
        Layer::Scale { factor, shift, .. } => {
            let [factor, shift] = [*factor as f32, *shift as f32];
            writer.node(name, op, &[("factor", &[], &[factor])], &[]);
            if shift != 0.0 {
                writer.node(
                    &format!("{name}.shifted"),
                    "Add",
                    &[("shift", &[], &[shift])],
                    &[],
                );
            }
        }
        _ => writer.node(name, op, &[], &[]),
    }
}

/// The operation of ONNX.
fn onnx_type(layer: &Layer) -> &'static str {
    match layer {
        Layer::Linear { .. } => "Gemm",
        Layer::Conv { .. } => "Conv",
        Layer::Relu { .. } => "Relu",
        Layer::LeakyRelu { .. } => "LeakyRelu",
        Layer::Smooth { function, .. } => match function {
            Smooth::Sigmoid => "Sigmoid",
            Smooth::Tanh => "Tanh",
            Smooth::Erf => "Erf",
        },
        Layer::Scale { .. } | Layer::Mul { .. } => "Mul",
        Layer::Dropout { .. } => "Dropout",
        Layer::Add { .. } => "Add",
        Layer::MaxPool(_) => "MaxPool",
        Layer::AvgPool(_) => "AveragePool",
        Layer::BatchNorm { .. } => "BatchNormalization",
    }
}

fn ints(values: &[usize]) -> Attribute {
    Attribute::Ints(values.iter().map(|v| *v as i64).collect())
}

fn windows(
    kernel: [usize; 2],
    stride: [usize; 2],
    pad: [usize; 4],
) -> Vec<(&'static str, Attribute)> {
    vec![
        ("kernel_shape", ints(&kernel)),
        ("strides", ints(&stride)),
        ("pads", ints(&pad)),
    ]
}
