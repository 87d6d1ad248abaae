//! A neural network to be trained, with all its shapes.

use std::collections::HashMap;

use serde::Serialize;

use crate::Error;
use crate::layer::{Layer, Parameter, ParameterKind};
use crate::place::placed;
use crate::spec::{LayerSpec, Placed};

/// A neural network to be trained: layers, each of which reads the input or values of layers before it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// The shape of an input item.
    pub input: Vec<usize>,
    /// The layers, in the order in which they are computed.
    pub layers: Vec<Layer>,
    /// The values that every layer reads: 0 is the input, `i + 1` the value of layer `i`.
    pub reads: Vec<Vec<usize>>,
    /// The shape after every layer.
    pub shapes: Vec<Vec<usize>>,
}

/// What a network's input is called among its values.
const INPUT: &str = "input";

impl Network {
    /// The layers `specs`, one after the other.
    pub fn new(input: &[usize], specs: &[LayerSpec]) -> Result<Self, Error> {
        let specs: Vec<Placed> = specs.iter().cloned().map(Placed::from).collect();
        Self::placed(input, &specs)
    }

    /// The layers `specs` on inputs of this shape: one axis, or channels, height and width.
    pub fn placed(input: &[usize], specs: &[Placed]) -> Result<Self, Error> {
        if !matches!(input.len(), 1 | 3) || input.contains(&0) {
            return Err(Error::network(
                "input",
                format!("{input:?} is not [elements] or [channels, height, width]"),
            ));
        }
        let mut network = Network::empty(input);
        let mut names = HashMap::from([(INPUT.to_owned(), 0)]);
        for (i, spec) in specs.iter().enumerate() {
            let refused = |why| Error::network(format!("layer {i} ({:?})", spec.layer), why);
            let reads = network.reads_of(spec, &names).map_err(refused)?;
            network.add(&spec.layer, reads).map_err(refused)?;
            if let Some(name) = &spec.name
                && names.insert(name.clone(), network.layers.len()).is_some()
            {
                return Err(refused(format!(
                    "there is a value '{}' before it",
                    name.escape_debug()
                )));
            }
        }
        network.check()?;
        Ok(network)
    }

    /// A network without layers.
    pub(crate) fn empty(input: &[usize]) -> Self {
        Network {
            input: input.to_vec(),
            layers: Vec::new(),
            reads: Vec::new(),
            shapes: Vec::new(),
        }
    }

    /// The values that a layer reads.
    fn reads_of(
        &self,
        spec: &Placed,
        names: &HashMap<String, usize>,
    ) -> Result<Vec<usize>, String> {
        let of = |name: &String| {
            let known = names.get(name).copied();
            known.ok_or_else(|| format!("no layer before it is called '{}'", name.escape_debug()))
        };
        let mut reads = spec.from.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let wanted = match spec.layer {
            LayerSpec::Add {} | LayerSpec::Mul {} => 2,
            _ => 1,
        };
        if reads.len() + 1 == wanted {
            reads.insert(0, self.layers.len());
        }
        match reads.len() == wanted {
            true => Ok(reads),
            false => Err(format!("it reads {} values, not {wanted}", reads.len())),
        }
    }

    /// Adds a layer, or those that it is made of.
    fn add(&mut self, spec: &LayerSpec, reads: Vec<usize>) -> Result<(), String> {
        match spec {
            LayerSpec::Silu {} => {
                let x = reads[0];
                self.add(&LayerSpec::Sigmoid {}, reads)?;
                self.add(&LayerSpec::Mul {}, vec![x, self.layers.len()])
            }
            LayerSpec::Gelu {} => {
                let x = reads[0];
                let scale = |factor, shift| LayerSpec::Scale { factor, shift };
                self.add(&scale(std::f64::consts::FRAC_1_SQRT_2, 0.0), reads)?;
                for spec in [LayerSpec::Erf {}, scale(0.5, 0.5)] {
                    self.add(&spec, vec![self.layers.len()])?;
                }
                self.add(&LayerSpec::Mul {}, vec![x, self.layers.len()])
            }
            _ => {
                let shape = self.shape(reads[0]).to_vec();
                if let Some(other) = reads.iter().map(|v| self.shape(*v)).find(|s| *s != shape) {
                    return Err(format!("its values have shapes {shape:?} and {other:?}"));
                }
                let (layer, shape) = placed(spec, &shape)?;
                self.push(layer, reads, shape);
                Ok(())
            }
        }
    }

    /// Adds a layer that fits.
    pub(crate) fn push(&mut self, layer: Layer, reads: Vec<usize>, shape: Vec<usize>) {
        self.layers.push(layer);
        self.reads.push(reads);
        self.shapes.push(shape);
    }

    /// Refuses a network that does not end in a linear layer, or with layers that nothing reads.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if !matches!(self.layers.last(), Some(Layer::Linear { .. })) {
            return Err(Error::network(
                "layers",
                "the last layer must be linear: its outputs are the classes or the values, and the loss adds its own softmax",
            ));
        }
        let uses = self.uses();
        match (1..self.layers.len()).find(|value| uses[*value] == 0) {
            None => Ok(()),
            Some(value) => Err(Error::network(
                format!("layer {} ({})", value - 1, self.layers[value - 1].kind()),
                "no layer reads its value",
            )),
        }
    }

    /// How often every value is read.
    pub(crate) fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.layers.len() + 1];
        self.reads
            .iter()
            .flatten()
            .for_each(|value| uses[*value] += 1);
        uses
    }

    /// The shape of a value.
    pub(crate) fn shape(&self, value: usize) -> &[usize] {
        match value.checked_sub(1) {
            None => &self.input,
            Some(layer) => &self.shapes[layer],
        }
    }

    /// Elements of an input item.
    pub fn inputs(&self) -> usize {
        self.input.iter().product()
    }

    /// Elements of an output item.
    pub fn outputs(&self) -> usize {
        self.shape(self.layers.len()).iter().product()
    }

    /// All parameters, layer by layer.
    pub fn parameters(&self) -> Vec<Parameter> {
        let of = |(layer, spec): (usize, &Layer)| {
            let parameter = move |(kind, len, fan_in)| Parameter {
                layer,
                kind,
                len,
                fan_in,
            };
            spec.parameters().into_iter().map(parameter)
        };
        self.layers.iter().enumerate().flat_map(of).collect()
    }

    /// Numbers to start from: uniform up to `1 / sqrt(fan_in)` (as PyTorch draws them), factors and
    /// variances of 1, the rest 0. `uniform` draws from `[0, 1)`.
    pub fn initial(&self, mut uniform: impl FnMut() -> f64) -> Vec<Vec<f32>> {
        let mut of = |parameter: &Parameter| -> Vec<f32> {
            let bound = 1.0 / (parameter.fan_in as f64).sqrt();
            let mut draw = || ((2.0 * uniform() - 1.0) * bound) as f32;
            match parameter.kind {
                ParameterKind::Weight | ParameterKind::Bias => {
                    (0..parameter.len).map(|_| draw()).collect()
                }
                ParameterKind::Gamma | ParameterKind::RunningVariance => vec![1.0; parameter.len],
                ParameterKind::Beta | ParameterKind::RunningMean => vec![0.0; parameter.len],
            }
        };
        self.parameters().iter().map(&mut of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{named, names};

    fn parameters(name: &str, input: &[usize]) -> usize {
        let specs = named(name, 10).expect("known");
        let network = Network::new(input, &specs).expect("fits");
        assert_eq!(network.outputs(), 10);
        network.parameters().iter().map(|p| p.len).sum()
    }

    #[test]
    fn the_papers_networks_have_their_sizes() {
        assert_eq!(parameters("network-a", &[1, 28, 28]), 118_282);
        assert_eq!(parameters("network-c", &[1, 28, 28]), 33_542);
        assert_eq!(parameters("lenet", &[1, 28, 28]), 431_080);
        assert!((99_000..100_000).contains(&parameters("network-b", &[1, 28, 28])));
        for name in ["alexnet", "alexnet-bn", "vgg16"] {
            assert!(parameters(name, &[3, 32, 32]) > 1_000_000, "{name}");
            let specs = named(name, 200).expect("known");
            assert!(Network::new(&[3, 64, 64], &specs).is_ok(), "{name}");
        }
        assert!(names().iter().all(|name| named(name, 2).is_some()));
    }

    #[test]
    fn places_that_do_not_fit_are_named() {
        let refused = |json: &str| {
            let specs: Result<Vec<Placed>, _> = serde_json::from_str(json);
            let specs = match specs {
                Ok(specs) => specs,
                Err(error) => return error.to_string(),
            };
            let network = Network::placed(&[1, 4, 4], &specs);
            network.expect_err("refused").to_string()
        };
        for (json, why) in [
            (r#"[{"type": "relu", "from": ["x"]}]"#, "called 'x'"),
            (
                r#"[{"type": "relu", "name": "a"}, {"type": "relu", "name": "a"}]"#,
                "a value 'a' before",
            ),
            (
                r#"[{"type": "conv", "filters": 2, "kernel": 1}, {"type": "add", "from": ["input"]}]"#,
                "shapes [2, 4, 4] and [1, 4, 4]",
            ),
            (
                r#"[{"type": "relu"}, {"type": "linear", "outputs": 2, "from": ["input"]}]"#,
                "no layer reads",
            ),
            (
                r#"[{"type": "relu", "form": ["a"]}]"#,
                "unknown field `form`",
            ),
            (r#"[{"type": "leaky-relu", "slope": 5000}]"#, "below 1024"),
            (r#"[{"type": "batch-norm", "epsilon": 0}]"#, "1e-6"),
        ] {
            let said = refused(json);
            assert!(said.contains(why), "{json}: {said}");
        }
    }

    #[test]
    fn layers_that_do_not_fit_are_named() {
        let refused = |input: &[usize], specs: &[LayerSpec]| {
            Network::new(input, specs).expect_err("refused").to_string()
        };
        let conv = LayerSpec::Conv {
            filters: 2,
            kernel: 5,
            stride: 1,
            pad: 0,
            bias: true,
            groups: 1,
            dilation: 1,
        };
        let linear = LayerSpec::Linear {
            outputs: 2,
            bias: true,
        };
        let dropout = LayerSpec::Dropout { p: 1.0 };
        assert!(refused(&[4], &[dropout, linear.clone()]).contains("it may drop"));
        let grouped = LayerSpec::Conv {
            filters: 3,
            kernel: 1,
            stride: 1,
            pad: 0,
            bias: true,
            groups: 2,
            dilation: 1,
        };
        assert!(refused(&[2, 4, 4], &[grouped, linear.clone()]).contains("2 groups"));
        assert!(refused(&[4], &[LayerSpec::Add {}, linear.clone()]).contains("values, not 2"));
        assert!(refused(&[0], &[]).contains("input"));
        assert!(refused(&[4], &[LayerSpec::Relu {}]).contains("last layer"));
        assert!(refused(&[4], &[conv.clone(), linear.clone()]).contains("layer 0"));
        assert!(refused(&[1, 4, 4], &[conv, linear]).contains("larger than the 4 input"));
        let huge = LayerSpec::Linear {
            outputs: usize::MAX,
            bias: true,
        };
        assert!(refused(&[4], &[huge]).contains("cannot be"));
    }
}
