//! Training in fixed point against float32, on the clear-text machine and on Falcon.

mod adam;
mod learning;

use std::time::Duration;

use tacit_net::{LinkModel, Party, Phase, memory};
use tacit_protocols::bicoptor::{Comparison, Form, Options, rss, ubl};
use tacit_protocols::clear;
use tacit_protocols::falcon::{self, PARTIES, Truncation};
use tacit_protocols::lowered;
use tacit_protocols::machine::{Audience, Call, Erased, Handle, Machine};
use tacit_protocols::record::{Stage, noted};
use tacit_train::{
    Adam, Coin, Error, FixedPoint, LayerSpec, Loss, Network, Optimiser, Placed, Reference, Sgd,
    State, Training, calls_by_stage, uniform,
};

const BATCH: usize = 6;
/// What elements are dropped by.
const COIN: Coin = [9; 32];

fn conv(filters: usize, kernel: usize, stride: usize, pad: usize) -> LayerSpec {
    LayerSpec::Conv {
        filters,
        kernel,
        stride,
        pad,
        bias: true,
        groups: 1,
        dilation: 1,
    }
}

fn linear(outputs: usize) -> LayerSpec {
    LayerSpec::Linear {
        outputs,
        bias: true,
    }
}

fn max_pool(kernel: usize, stride: usize) -> LayerSpec {
    LayerSpec::MaxPool {
        kernel,
        stride: Some(stride),
    }
}

/// Small networks with every layer, stride, padding and overlap.
fn networks() -> Vec<(&'static str, Network)> {
    use LayerSpec::AvgPool;
    let norm = || LayerSpec::batch_norm();
    const RELU: LayerSpec = LayerSpec::Relu {};
    let mean = AvgPool {
        kernel: 2,
        stride: None,
    };
    let all: [(&str, &[usize], Vec<LayerSpec>); 6] = [
        ("linear", &[7], vec![linear(5), RELU, linear(3)]),
        (
            "convolutions",
            &[2, 7, 6],
            vec![conv(3, 3, 1, 1), RELU, conv(2, 3, 2, 0), RELU, linear(3)],
        ),
        (
            "strides",
            &[1, 8, 9],
            vec![conv(3, 5, 2, 2), RELU, linear(4)],
        ),
        (
            "pooling",
            &[1, 8, 8],
            vec![conv(3, 3, 1, 0), max_pool(2, 2), RELU, mean, linear(3)],
        ),
        (
            "overlapping pooling",
            &[2, 7, 7],
            vec![max_pool(3, 2), conv(2, 2, 1, 1), max_pool(2, 1), linear(3)],
        ),
        (
            "normalisation",
            &[1, 5, 5],
            vec![conv(3, 2, 1, 0), norm(), RELU, linear(4), norm(), linear(2)],
        ),
    ];
    let chains = all.into_iter();
    let chains =
        chains.map(|(name, input, specs)| (name, Network::new(input, &specs).expect("fits")));
    chains.chain(of_json()).collect()
}

/// Networks as a config has them: functions, groups, dilations, and values that several layers read.
fn of_json() -> Vec<(&'static str, Network)> {
    let all = [
        (
            "functions",
            vec![6],
            r#"[{"type": "linear", "outputs": 8}, {"type": "sigmoid"}, {"type": "linear", "outputs": 7},
                {"type": "tanh"}, {"type": "linear", "outputs": 6}, {"type": "leaky-relu", "slope": 0.2},
                {"type": "linear", "outputs": 5}, {"type": "gelu"}, {"type": "linear", "outputs": 5},
                {"type": "silu"}, {"type": "linear", "outputs": 3}]"#,
        ),
        (
            "groups",
            vec![4, 7, 7],
            r#"[{"type": "conv", "filters": 6, "kernel": 3, "pad": 1, "groups": 2},
                {"type": "leaky-relu"},
                {"type": "conv", "filters": 12, "kernel": 2, "stride": 2, "groups": 6},
                {"type": "relu"},
                {"type": "conv", "filters": 4, "kernel": 2, "pad": 1, "dilation": 2, "groups": 4},
                {"type": "linear", "outputs": 3}]"#,
        ),
        (
            "dilation",
            vec![2, 8, 7],
            r#"[{"type": "conv", "filters": 3, "kernel": 3, "pad": 2, "dilation": 2, "stride": 2},
                {"type": "relu"},
                {"type": "conv", "filters": 2, "kernel": 2, "dilation": 2},
                {"type": "linear", "outputs": 3}]"#,
        ),
        (
            "residual",
            vec![2, 6, 6],
            r#"[{"type": "conv", "filters": 3, "kernel": 3, "pad": 1, "name": "stem"},
                {"type": "batch-norm", "epsilon": 1e-5}, {"type": "relu"},
                {"type": "conv", "filters": 3, "kernel": 3, "pad": 1},
                {"type": "add", "from": ["stem"], "name": "sum"},
                {"type": "conv", "filters": 4, "kernel": 3, "stride": 2, "pad": 1, "name": "long"},
                {"type": "conv", "filters": 4, "kernel": 1, "stride": 2, "from": ["sum"]},
                {"type": "add", "from": ["long"]}, {"type": "relu"},
                {"type": "dropout", "p": 0.25},
                {"type": "linear", "outputs": 4, "name": "a"}, {"type": "sigmoid"},
                {"type": "mul", "from": ["a"]}, {"type": "linear", "outputs": 3}]"#,
        ),
    ];
    let of = |(name, input, json): (_, Vec<usize>, _)| {
        let specs: Vec<Placed> = serde_json::from_str(json).expect("reads");
        (name, Network::placed(&input, &specs).expect("fits"))
    };
    all.into_iter().map(of).collect()
}

/// Inputs, one-hot targets and starting parameters.
struct Case {
    x: Vec<f32>,
    target: Vec<f32>,
    start: Vec<Vec<f32>>,
}

fn case(network: &Network, seed: u64) -> Case {
    let mut draw = uniform(seed);
    let x = (0..BATCH * network.inputs()).map(|_| (2.0 * draw() - 1.0) as f32);
    let x = x.collect();
    let classes = network.outputs();
    let mut target = vec![0.0; BATCH * classes];
    for (i, item) in target.chunks_mut(classes).enumerate() {
        item[i % classes] = 1.0;
    }
    let start = network.initial(&mut draw);
    Case { x, target, start }
}

fn sgd() -> Sgd {
    Sgd {
        learning_rate: 0.2,
        momentum: 0.5,
        weight_decay: 0.01,
        ..Sgd::default()
    }
}

/// Shares the parameters, makes `steps` steps and opens them.
fn train(
    machine: &mut Erased,
    training: &Training,
    case: &Case,
    steps: usize,
) -> Result<Vec<Vec<i64>>, Error> {
    let fixed = training.fixed;
    let mut share = |values: &[f32]| {
        let own = machine.party().id() == 0;
        let values = fixed.encode_all(values).expect("fits");
        machine.input(0, values.len(), own.then_some(&values[..]))
    };
    let parameters = case
        .start
        .iter()
        .map(|p| share(p))
        .collect::<Result<Vec<_>, _>>()?;
    let (x, target) = (share(&case.x)?, share(&case.target)?);
    let mut state = state(machine, training, parameters);
    let calls = step_calls(training)?;
    for _ in 0..steps {
        let calls = lowered(&calls, machine.cost_model())?;
        machine.prepare(&calls)?;
        let pair = (x.clone(), &target);
        training.step(machine, &mut state, pair, (0, BATCH))?;
    }
    let open = |p: &Handle| {
        let opened = machine.reveal(p, Audience::All)?;
        Ok(opened.unwrap_or_default())
    };
    state.parameters.iter().map(open).collect()
}

/// A training's beginning with these parameters.
fn state(machine: &mut Erased, training: &Training, parameters: Vec<Handle>) -> State {
    let none = |p: &Handle| {
        let n = machine.len(p);
        machine.constant(&vec![0; n])
    };
    let velocity: Vec<_> = parameters.iter().map(none).collect();
    let squares = match training.optimiser.has_squares() {
        true => velocity.clone(),
        false => Vec::new(),
    };
    State {
        parameters,
        squares,
        velocity,
        steps: 0,
    }
}

/// What a step demands.
fn step_calls(training: &Training) -> Result<Vec<Call>, Error> {
    let stages = calls_by_stage(training, |machine, mut state| {
        let (x, target) = pair(training.network);
        training.step(machine, &mut state, (x, &target), (0, BATCH))
    })?;
    Ok(calls(stages))
}

/// The calls of all stages.
fn calls(stages: Vec<Stage>) -> Vec<Call> {
    stages.into_iter().flat_map(|stage| stage.calls).collect()
}

/// A batch of items and their targets.
fn pair(network: &Network) -> (Handle, Handle) {
    let of = |each: usize| noted(BATCH * each);
    (of(network.inputs()), of(network.outputs()))
}

fn training<'a>(
    network: &'a Network,
    optimiser: impl Into<Optimiser<'a>>,
    loss: Loss,
) -> Training<'a> {
    Training {
        network,
        fixed: FixedPoint::new(64, 20).expect("valid"),
        loss,
        optimiser: optimiser.into(),
        coin: COIN,
        whole: BATCH,
    }
}

/// Trains `steps` steps on the clear-text machine.
fn in_the_clear(training: &Training, case: &Case, steps: usize) -> Vec<Vec<i64>> {
    let mut mesh = memory::mesh(1, &LinkModel::LOCAL, Duration::from_secs(1));
    let mut machine = clear::machine(64, mesh.pop().expect("one party"));
    train(&mut machine, training, case, steps).expect("trains")
}

fn largest_difference(fixed: FixedPoint, got: &[Vec<i64>], expected: &[Vec<f32>]) -> f32 {
    let pairs = got.iter().flatten().zip(expected.iter().flatten());
    pairs
        .map(|(got, expected)| (fixed.decode(*got) - expected).abs())
        .fold(0.0, f32::max)
}

#[test]
fn fixed_point_steps_are_those_in_float() {
    let sgd = sgd();
    for (name, network) in networks() {
        for loss in [Loss::CrossEntropy, Loss::MeanSquaredError] {
            let training = training(&network, &sgd, loss);
            let case = case(&network, 7);
            let mut reference = Reference::new(&network, loss, &sgd, case.start.clone());
            reference.coin = COIN;
            let rate = training.rate(0, BATCH);
            for _ in 0..5 {
                reference.step(&case.x, &case.target, rate);
            }
            let got = in_the_clear(&training, &case, 5);
            let wrong = largest_difference(training.fixed, &got, &reference.parameters);
            let moved = largest_difference(training.fixed, &got, &case.start);
            println!("{name}, {loss:?}: moved {moved}, off by {wrong}");
            assert!(wrong < 3e-4 && moved > 100.0 * wrong, "{name}: {wrong}");
        }
    }
}

/// Holds two steps on a protocol against the clear-text machine's, which errs less by truncation.
fn trains_as_in_the_clear(make: impl Fn(Party) -> Erased<'static> + Sync) {
    let sgd = sgd();
    for (name, network) in networks() {
        let training = training(&network, &sgd, Loss::CrossEntropy);
        let case = case(&network, 8);
        let expected = in_the_clear(&training, &case, 2);
        let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
        let got = tacit_net::testing::run(mesh, |party| {
            train(&mut make(party), &training, &case, 2).expect("trains")
        });
        let difference = |got: &Vec<Vec<i64>>| {
            let pairs = got.iter().flatten().zip(expected.iter().flatten());
            pairs.map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
        };
        let most = got.iter().map(difference).max().expect("three parties");
        println!("{name}: {most} units");
        assert!(got[0] == got[1] && most < 200, "{name}: {most} units");
    }
}

#[test]
fn falcon_trains_as_the_clear_text_machine_does() {
    trains_as_in_the_clear(|party| {
        falcon::machine(64, party, falcon::Options::default()).expect("set-up")
    });
}

#[test]
fn bicoptor_trains_as_the_clear_text_machine_does() {
    trains_as_in_the_clear(|party| ubl::machine(64, party, BICOPTOR).expect("set-up"));
    trains_as_in_the_clear(|party| rss::machine(64, party, BICOPTOR).expect("set-up"));
}

const BICOPTOR: Options = Options {
    truncation: Truncation::Gap,
    form: Form::Corrected,
    comparison: Comparison::Auto,
    link: LinkModel::LOCAL,
};

/// ReLU of `50 w` for a weight, often, opened.
fn large_activations(machine: &mut Erased, weight: f32) -> Result<Vec<i64>, Error> {
    const N: usize = 500;
    let specs = [linear(1), LayerSpec::Relu {}, linear(1)];
    let (network, sgd) = (Network::new(&[1], &specs).expect("fits"), sgd());
    let training = training(&network, &sgd, Loss::MeanSquaredError);
    let stages = calls_by_stage(&training, |machine, state| {
        training.predict(machine, &state, noted(N), N)
    })?;
    let calls = lowered(&calls(stages), machine.cost_model())?;
    machine.prepare(&calls)?;
    let encode = |value: f32| training.fixed.encode_all(&[value]).expect("fits")[0];
    let x = machine.constant(&vec![encode(50.0); N]);
    let weights = [weight, 0.0, 1.0, 0.0];
    let parameters = weights.map(|w| machine.constant(&[encode(w)])).to_vec();
    let state = state(machine, &training, parameters);
    let y = training.predict(machine, &state, x, N)?;
    Ok(machine.reveal(&y, Audience::All)?.unwrap_or_default())
}

/// Activations of thousands with 20 fraction bits, of more bits than half of the ring has.
#[test]
fn large_activations_keep_their_sign() {
    fn keep(make: impl Fn(Party) -> Erased<'static> + Sync) {
        for activation in [2500.0, 5000.0, -2500.0, -5000.0, 40_000.0] {
            let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
            let got = tacit_net::testing::run(mesh, |party| {
                large_activations(&mut make(party), activation / 50.0).expect("predicts")
            });
            let expected = (activation.max(0.0) as i64) << 20;
            let off = got[0].iter().map(|got| got.abs_diff(expected)).max();
            assert!(
                off.is_some_and(|off| off <= 2),
                "{activation}: off by {off:?}"
            );
        }
    }
    keep(|party| falcon::machine(64, party, falcon::Options::default()).expect("set-up"));
    keep(|party| ubl::machine(64, party, BICOPTOR).expect("set-up"));
    keep(|party| rss::machine(64, party, BICOPTOR).expect("set-up"));
}

#[test]
fn what_a_step_demands_is_what_it_takes() {
    let sgd = sgd();
    for (name, network) in networks() {
        declared_is_metered(name, &training(&network, &sgd, Loss::CrossEntropy));
    }
}

fn declared_is_metered(name: &str, training: &Training) {
    let case = case(training.network, 9);
    let calls = step_calls(training).expect("records");
    let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
    let declared = tacit_net::testing::run(mesh, |party| {
        let mut machine = falcon::machine(64, party, falcon::Options::default()).expect("set-up");
        train(&mut machine, training, &case, 1).expect("trains");
        let model = machine.cost_model();
        let calls = lowered(&calls, model).expect("lowers");
        let online: u64 = calls.iter().map(|call| model.online(call).bytes[0]).sum();
        let offline = model.offline(&calls).bytes[0];
        let id = machine.party().id();
        let meter = machine.party().meter();
        let sent = [Phase::Offline, Phase::Online].map(|p| meter.total(p).bytes_sent);
        (id, [offline, online], sent)
    });
    let (_, declared, sent) = declared
        .into_iter()
        .find(|end| end.0 == 0)
        .expect("party 0");
    assert_eq!(sent[0], declared[0], "{name}, offline");
    // Opening the parameters is not part of the step.
    let opened: usize = case
        .start
        .iter()
        .map(|p| p.len() * u64::BITS as usize / 8)
        .sum();
    assert_eq!(sent[1] - opened as u64, declared[1], "{name}, online");
}

/// What `docs/training.md` says is opened with `reveal_curve`, a sum of hits and one of losses, is all
/// that there is to open: neither a step nor an evaluation opens anything by itself.
#[test]
fn a_step_and_an_evaluation_open_nothing() {
    let sgd = Sgd::default();
    for (name, network) in networks() {
        for (loss, sums) in [(Loss::CrossEntropy, 2), (Loss::MeanSquaredError, 1)] {
            let training = training(&network, &sgd, loss);
            let mut opened = 0;
            let evaluated = calls_by_stage(&training, |machine, state| {
                let (x, target) = pair(&network);
                let sums = training.evaluate(machine, &state, (x, &target), BATCH)?;
                opened = machine.len(&sums);
                Ok(())
            });
            assert_eq!(opened, sums, "{name}");
            let evaluated = calls(evaluated.expect("an evaluation"));
            let stepped = step_calls(&training).expect("a step");
            let opens = |call: &Call| matches!(call, Call::Reveal { .. });
            assert!(!evaluated.iter().chain(&stepped).any(opens), "{name}");
        }
    }
}
