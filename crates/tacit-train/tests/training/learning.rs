//! What is computed is training: gradients are slopes of the loss, and a network learns.

use super::*;
use tacit_train::{Order, Scores};

/// The gradients by finite differences: a step of rate 1 without momentum is minus the gradient.
#[test]
fn the_references_gradients_are_slopes_of_the_loss() {
    let plain = Sgd::default();
    for (name, network) in networks() {
        let case = case(&network, 10);
        let loss_at = |parameters: Vec<Vec<f32>>| {
            let mut reference = Reference::new(&network, Loss::CrossEntropy, &plain, parameters);
            reference.step(&case.x, &case.target, 0.0)
        };
        let mut reference =
            Reference::new(&network, Loss::CrossEntropy, &plain, case.start.clone());
        reference.step(&case.x, &case.target, 1.0 / BATCH as f64);
        for (i, parameter) in network.parameters().iter().enumerate() {
            if !parameter.is_learnt() {
                continue;
            }
            for at in [0, parameter.len / 2, parameter.len - 1] {
                let gradient = case.start[i][at] - reference.parameters[i][at];
                let moved = |by: f32| {
                    let mut parameters = case.start.clone();
                    parameters[i][at] += by;
                    loss_at(parameters)
                };
                let slope = (moved(3e-4) - moved(-3e-4)) / 6e-4;
                let off = (f64::from(gradient) - slope).abs();
                assert!(
                    off < 5e-3,
                    "{name}, {parameter:?} {at}: {gradient} for {slope}"
                );
            }
        }
    }
}

#[test]
fn a_small_network_learns() {
    let specs = [linear(16), LayerSpec::Relu {}, linear(3)];
    let network = Network::new(&[2], &specs).expect("fits");
    let sgd = Sgd {
        learning_rate: 0.3,
        momentum: 0.9,
        ..Sgd::default()
    };
    let training = training(&network, &sgd, Loss::CrossEntropy);
    let mut draw = uniform(3);
    let (mut x, mut target) = (Vec::new(), Vec::new());
    for i in 0..60 {
        let angle = std::f64::consts::TAU * (i % 3) as f64 / 3.0;
        x.extend([angle.cos(), angle.sin()].map(|c| (c + 0.6 * (draw() - 0.5)) as f32));
        target.extend((0..3).map(|c| if c == i % 3 { 1.0 } else { 0.0 }));
    }
    let mut mesh = memory::mesh(1, &LinkModel::LOCAL, Duration::from_secs(1));
    let mut machine = clear::machine(64, mesh.pop().expect("one party"));
    let fixed = training.fixed;
    let share = |machine: &mut Erased, values: &[f32]| {
        machine.constant(&fixed.encode_all(values).expect("fits"))
    };
    let start = network.initial(&mut draw);
    let parameters: Vec<_> = start.iter().map(|p| share(&mut machine, p)).collect();
    let mut state = state(&mut machine, &training, parameters);
    let (x, target) = (share(&mut machine, &x), share(&mut machine, &target));
    let scores = |machine: &mut Erased, state: &State| {
        let pair = (x.clone(), &target);
        let sums = training.evaluate(machine, state, pair, 60);
        let opened = machine.reveal(&sums.expect("evaluates"), Audience::All);
        Scores::of(&opened.expect("opens").expect("opened"), fixed)
    };
    let order = Order {
        seed: 1,
        items: 60,
        batch: 20,
    };
    for epoch in 0..10 {
        for items in order.epoch(epoch) {
            let n = items.len();
            let spread = |width: u32| -> Vec<u32> {
                items
                    .iter()
                    .flat_map(|i| i * width..(i + 1) * width)
                    .collect()
            };
            let batch = machine.gather(&x, &spread(2));
            let wanted = machine.gather(&target, &spread(3));
            let pair = (batch, &wanted);
            let step = training.step(&mut machine, &mut state, pair, (epoch, n));
            step.expect("steps");
        }
    }
    let Scores { loss, hits } = scores(&mut machine, &state);
    let hits = hits.expect("of cross-entropy");
    assert!(hits >= 58, "{hits} of 60");
    let mut opened = |share: &Handle| -> Vec<f32> {
        let opened = machine.reveal(share, Audience::All).expect("opens");
        let units = opened.expect("opened").into_iter();
        units.map(|v| fixed.decode(v)).collect()
    };
    let learnt = state.parameters.iter().map(&mut opened).collect();
    let reference = Reference::new(&network, Loss::CrossEntropy, &sgd, learnt);
    let expected = reference.scores(&opened(&x), &opened(&target));
    assert_eq!(expected.hits, Some(hits));
    assert!((loss - expected.loss).abs() < 6e-3, "{loss} {expected:?}");
}
