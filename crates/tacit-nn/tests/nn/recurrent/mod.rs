//! GRU, LSTM and RNN against their definitions, the weights that all steps have in common, and files
//! that ask for more than is there.

mod weights;

use crate::common::*;
use crate::fixed::{ROLES, run_fixed};
use tacit_nn::Graph;
use tacit_nn::onnx::proto::*;
use tacit_nn::plan::{Plan, PlanOptions, plan};
use tacit_nn::reference;
use tacit_protocols::machine::Call;

const STEPS: usize = 4;
const WIDTH: usize = 3;
const HIDDEN: usize = 2;

/// Numbers from -1 to 1 that differ.
fn noise(seed: usize, n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| ((i * 37 + seed * 101 + 11) % 64) as f32 / 32.0 - 1.0)
        .collect()
}

/// A kind of recurrent node as its test describes it.
#[derive(Clone, Copy)]
struct Case {
    op: &'static str,
    gates: usize,
    directions: usize,
    bias: bool,
    reset_after: bool,
    relu: bool,
}

const GRU: Case = Case {
    op: "GRU",
    gates: 3,
    directions: 1,
    bias: true,
    reset_after: false,
    relu: false,
};
const LSTM: Case = Case {
    op: "LSTM",
    gates: 4,
    ..GRU
};
const RNN: Case = Case {
    op: "RNN",
    gates: 1,
    ..GRU
};

impl Case {
    /// `W`, `R` and `B`.
    fn weights(&self) -> [Vec<f32>; 3] {
        let rows = self.directions * self.gates * HIDDEN;
        let bias = noise(3, if self.bias { 2 * rows } else { 0 });
        [noise(1, rows * WIDTH), noise(2, rows * HIDDEN), bias]
    }

    fn tensors(&self) -> Vec<TensorProto> {
        let (d, rows) = (self.directions as i64, (self.gates * HIDDEN) as i64);
        let [w, r, b] = self.weights();
        let mut all = vec![
            tensor("W", &[d, rows, WIDTH as i64], &w),
            tensor("R", &[d, rows, HIDDEN as i64], &r),
            tensor(
                "zero",
                &[d, 1, HIDDEN as i64],
                &vec![0.0; self.directions * HIDDEN],
            ),
        ];
        if self.bias {
            all.push(tensor("B", &[d, 2 * rows], &b));
        }
        all
    }

    /// The node from `x`, whose sequence is `y` and whose last state is `h`.
    fn node(&self, x: &str, direction: &str, mut attributes: Vec<AttributeProto>) -> NodeProto {
        attributes.push(int("hidden_size", HIDDEN as i64));
        attributes.push(text("direction", direction));
        if self.reset_after {
            attributes.push(int("linear_before_reset", 1));
        }
        if self.relu {
            attributes.push(AttributeProto {
                name: "activations".into(),
                strings: vec![b"Relu".to_vec(); self.directions],
                ..Default::default()
            });
        }
        let bias = if self.bias { "B" } else { "" };
        NodeProto {
            output: vec!["s".into(), "h".into()],
            ..node(self.op, &[x, "W", "R", bias, "", "zero"], "", attributes)
        }
    }

    /// The states of direction `d` on one item, in the order of time.
    fn states(&self, d: usize, x: &[f32], backward: bool) -> Vec<Vec<f64>> {
        let rows = self.gates * HIDDEN;
        let [w, r, b] = self.weights();
        let product = |m: &[f32], row: usize, v: &[f64]| -> f64 {
            let row = &m[(d * rows + row) * v.len()..][..v.len()];
            row.iter().zip(v).map(|(m, v)| f64::from(*m) * v).sum()
        };
        let bias = |i: usize| {
            if self.bias {
                f64::from(b[d * 2 * rows + i])
            } else {
                0.0
            }
        };
        let sigmoid = |v: f64| 1.0 / (1.0 + (-v).exp());
        let (mut h, mut c) = (vec![0.0; HIDDEN], [0.0; HIDDEN]);
        let mut all = vec![vec![]; STEPS];
        for step in 0..STEPS {
            let t = if backward { STEPS - 1 - step } else { step };
            let x: Vec<f64> = x[t * WIDTH..][..WIDTH].iter().map(|&v| v.into()).collect();
            let input = |i: usize| product(&w, i, &x) + bias(i);
            let state = |i: usize, h: &[f64]| product(&r, i, h) + bias(rows + i);
            let gate = |i: usize, h: &[f64]| input(i) + state(i, h);
            let next = |j: usize| match self.op {
                "GRU" => {
                    let (z, i) = (sigmoid(gate(j, &h)), 2 * HIDDEN + j);
                    let reset: Vec<f64> =
                        (0..HIDDEN).map(|k| sigmoid(gate(HIDDEN + k, &h))).collect();
                    let n = if self.reset_after {
                        input(i) + reset[j] * state(i, &h)
                    } else {
                        let h: Vec<f64> = h.iter().zip(&reset).map(|(h, r)| h * r).collect();
                        gate(i, &h)
                    };
                    (1.0 - z) * n.tanh() + z * h[j]
                }
                _ if self.relu => gate(j, &h).max(0.0),
                _ => gate(j, &h).tanh(),
            };
            if self.op == "LSTM" {
                let at = |k: usize, j: usize| gate(k * HIDDEN + j, &h);
                let cell =
                    |j: usize| sigmoid(at(2, j)) * c[j] + sigmoid(at(0, j)) * at(3, j).tanh();
                let cells = [cell(0), cell(1)];
                h = (0..HIDDEN)
                    .map(|j| sigmoid(at(1, j)) * cells[j].tanh())
                    .collect();
                c = cells;
            } else {
                h = (0..HIDDEN).map(next).collect();
            }
            all[t] = h.clone();
        }
        all
    }

    /// Sequence and last state on a batch of two: batch x steps x directions x state, and batch x
    /// directions x state.
    fn expected(&self, x: &[f32], backwards: &[bool]) -> [Vec<f32>; 2] {
        let (mut sequence, mut last) = (vec![], vec![]);
        for x in x.chunks(STEPS * WIDTH) {
            let all: Vec<_> = (0..backwards.len())
                .map(|d| self.states(d, x, backwards[d]))
                .collect();
            (0..STEPS).for_each(|t| {
                all.iter()
                    .for_each(|s| sequence.extend(s[t].iter().map(|&v| v as f32)))
            });
            for (states, backward) in all.iter().zip(backwards) {
                let end = if *backward { 0 } else { STEPS - 1 };
                last.extend(states[end].iter().map(|&v| v as f32));
            }
        }
        [sequence, last]
    }
}

fn graph(nodes: Vec<NodeProto>, tensors: Vec<TensorProto>) -> Graph {
    let model = model(&[STEPS as i64, WIDTH as i64], nodes, tensors);
    imported(&model).unwrap_or_else(|e| panic!("{e}"))
}

fn planned(graph: &Graph, x: &[f32]) -> Plan {
    let options = PlanOptions {
        samples: Some(x),
        ..PlanOptions::default()
    };
    let plan = plan(graph, &options).unwrap_or_else(|e| panic!("{e}"));
    Plan::from_bytes(&plan.to_bytes()).unwrap_or_else(|e| panic!("{e}"))
}

fn holds(graph: Graph, x: &[f32], expected: &[f32], what: &str) {
    let graph = graph.optimise();
    let float = reference::predict(&graph, x).expect("a fitting input");
    assert!(
        distance(&float, expected) < 1e-5,
        "{what}: {float:?} instead of {expected:?}"
    );
    let error = distance(&run_fixed(&planned(&graph, x), &graph, x), expected);
    assert!(error < 2e-4, "{what}: {error}");
}

#[test]
fn every_kind_is_its_definition() {
    let x = noise(5, 2 * STEPS * WIDTH);
    let turn = |from: &str, to: &str, order: &[i64]| {
        node("Transpose", &[from], to, vec![list("perm", order)])
    };
    for bias in [false, true] {
        for case in [
            GRU,
            Case {
                reset_after: true,
                ..GRU
            },
            LSTM,
            RNN,
            Case { relu: true, ..RNN },
        ] {
            for (direction, backwards) in [
                ("forward", &[false][..]),
                ("reverse", &[true]),
                ("bidirectional", &[false, true]),
            ] {
                let case = Case {
                    bias,
                    directions: backwards.len(),
                    ..case
                };
                let [sequence, last] = case.expected(&x, backwards);
                let what = format!("{} {direction}, bias {bias}, {}", case.op, case.reset_after);
                let of = |outputs: Vec<NodeProto>| {
                    let node = case.node("t", direction, vec![]);
                    let nodes = [vec![turn("x", "t", &[1, 0, 2]), node], outputs].concat();
                    graph(nodes, case.tensors())
                };
                holds(
                    of(vec![turn("s", "y", &[2, 0, 1, 3])]),
                    &x,
                    &sequence,
                    &what,
                );
                holds(of(vec![turn("h", "y", &[1, 0, 2])]), &x, &last, &what);
            }
        }
    }
}

#[test]
fn layouts_and_what_exporters_write_around() {
    let x = noise(5, 2 * STEPS * WIDTH);
    let case = Case {
        reset_after: true,
        directions: 2,
        ..GRU
    };
    let [sequence, last] = case.expected(&x, &[false, true]);
    // The batch first throughout.
    let first = |from: &str| {
        let gru = case.node("x", "bidirectional", vec![int("layout", 1)]);
        graph(
            vec![gru, node("Identity", &[from], "y", vec![])],
            case.tensors(),
        )
    };
    holds(first("s"), &x, &sequence, "layout 1");
    holds(first("h"), &x, &last, "layout 1");
    // Both directions side by side, then the last time step.
    let tensors = [
        case.tensors(),
        vec![
            ints("side", &[3], &[0, 0, -1]),
            ints("end", &[], &[-1]),
            ints("zero axis", &[1], &[0]),
        ],
    ]
    .concat();
    let turn = |from: &str, to: &str, order: &[i64]| {
        node("Transpose", &[from], to, vec![list("perm", order)])
    };
    let nodes = vec![
        turn("x", "t", &[1, 0, 2]),
        case.node("t", "bidirectional", vec![]),
        turn("s", "a", &[0, 2, 1, 3]),
        node("Reshape", &["a", "side"], "b", vec![]),
        node("Gather", &["b", "end"], "y", vec![int("axis", 0)]),
    ];
    let item = STEPS * 2 * HIDDEN;
    let ends: Vec<f32> = sequence
        .chunks(item)
        .flat_map(|s| s[item - 2 * HIDDEN..].to_vec())
        .collect();
    holds(graph(nodes, tensors.clone()), &x, &ends, "side by side");
    // One direction and no axis for it: Squeeze, as of a layer under another.
    let case = Case {
        bias: false,
        ..LSTM
    };
    let [sequence, _] = case.expected(&x, &[false]);
    let tensors = [case.tensors(), vec![ints("one", &[1], &[1])]].concat();
    let nodes = vec![
        turn("x", "t", &[1, 0, 2]),
        case.node("t", "forward", vec![]),
        node("Squeeze", &["s", "one"], "q", vec![]),
        turn("q", "y", &[1, 0, 2]),
    ];
    holds(graph(nodes, tensors), &x, &sequence, "squeezed");
}

#[test]
fn a_state_of_zero_may_be_made_of_the_batch_size() {
    let x = noise(5, 2 * STEPS * WIDTH);
    let [_, last] = GRU.expected(&x, &[false]);
    let mut gru = GRU.node("t", "forward", vec![]);
    gru.input[5] = "start".into();
    let nodes = vec![
        node("Shape", &["x"], "shape", vec![]),
        node("Gather", &["shape", "first"], "n", vec![]),
        node(
            "Concat",
            &["ones", "n", "wide"],
            "sizes",
            vec![int("axis", 0)],
        ),
        node("ConstantOfShape", &["sizes"], "start", vec![]),
        node("Transpose", &["x"], "t", vec![list("perm", &[1, 0, 2])]),
        gru,
        node("Squeeze", &["h", "first"], "y", vec![]),
    ];
    let more = vec![
        ints("first", &[1], &[0]),
        ints("ones", &[1], &[1]),
        ints("wide", &[1], &[HIDDEN as i64]),
    ];
    holds(
        graph(nodes, [GRU.tensors(), more].concat()),
        &x,
        &last,
        "made of the batch size",
    );
}
