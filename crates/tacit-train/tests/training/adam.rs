//! Adam in fixed point against float32: over many steps, and on every protocol.

use super::*;

/// Steps of which none may lead away.
const STEPS: usize = 40;

fn adam() -> Adam {
    with_rate(0.01)
}

fn with_rate(learning_rate: f64) -> Adam {
    Adam {
        learning_rate,
        weight_decay: 0.01,
        ..Adam::default()
    }
}

/// The root of the mean square of the differences: a step has the rate's size however small its
/// gradient is, so single weights may part where gradients are next to nothing.
fn difference(fixed: FixedPoint, got: &[Vec<i64>], expected: &[Vec<f32>]) -> f32 {
    let pairs = got.iter().flatten().zip(expected.iter().flatten());
    let squares: Vec<f32> = pairs
        .map(|(got, expected)| (fixed.decode(*got) - expected).powi(2))
        .collect();
    (squares.iter().sum::<f32>() / squares.len() as f32).sqrt()
}

#[test]
fn many_steps_are_those_in_float() {
    let rates = [0.001, 0.003].map(with_rate);
    let all = networks().into_iter();
    for ((name, network), adam) in all.flat_map(|n| rates.each_ref().map(|a| (n.clone(), a))) {
        let training = training(&network, adam, Loss::CrossEntropy);
        let case = case(&network, 7);
        let mut reference = Reference::new(&network, training.loss, adam, case.start.clone());
        reference.coin = COIN;
        for _ in 0..STEPS {
            reference.step(&case.x, &case.target, training.rate(0, BATCH));
        }
        let got = in_the_clear(&training, &case, STEPS);
        let wrong = difference(training.fixed, &got, &reference.parameters);
        let moved = difference(training.fixed, &got, &case.start);
        println!("{name}: moved {moved}, off by {wrong}");
        assert!(
            wrong < 0.01 * moved && f64::from(moved) > adam.learning_rate,
            "{name}: {wrong}"
        );
    }
}

/// Two steps on a protocol against the clear-text machine's.
fn adapts_as_in_the_clear(make: impl Fn(Party) -> Erased<'static> + Sync) {
    let adam = adam();
    let (name, network) = networks().swap_remove(0);
    let training = training(&network, &adam, Loss::CrossEntropy);
    let case = case(&network, 8);
    let expected = in_the_clear(&training, &case, 3);
    let mesh = memory::mesh(PARTIES, &LinkModel::LOCAL, Duration::from_secs(60));
    let got = tacit_net::testing::run(mesh, |party| {
        train(&mut make(party), &training, &case, 3).expect("trains")
    });
    let pairs = got[0].iter().flatten().zip(expected.iter().flatten());
    let most = pairs.map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
    println!("{name}: {most} units");
    assert!(got[0] == got[1] && most < 200, "{name}: {most} units");
}

#[test]
fn protocols_adapt_as_the_clear_text_machine_does() {
    adapts_as_in_the_clear(|party| {
        falcon::machine(64, party, falcon::Options::default()).expect("set-up")
    });
    adapts_as_in_the_clear(|party| ubl::machine(64, party, BICOPTOR).expect("set-up"));
    adapts_as_in_the_clear(|party| rss::machine(64, party, BICOPTOR).expect("set-up"));
}

/// Gradients from 1e-4 to beyond the bound at which they are clipped: a step has the rate's size.
#[test]
fn the_size_of_a_gradient_does_not_matter() {
    let adam = Adam {
        learning_rate: 0.01,
        ..Adam::default()
    };
    let specs = [linear(1)];
    let network = Network::new(&[1], &specs).expect("fits");
    let training = training(&network, &adam, Loss::MeanSquaredError);
    for size in [1e-4f32, 0.01, 1.0, 10.0, 900.0] {
        let case = Case {
            x: vec![1.0; BATCH],
            target: vec![-size; BATCH],
            start: vec![vec![0.0], vec![0.0]],
        };
        let got = in_the_clear(&training, &case, 1);
        for got in got.iter().flatten() {
            let step = -training.fixed.decode(*got);
            assert!((step / 0.01 - 1.0).abs() < 0.05, "{size}: {step}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let fixed = |bits, fraction| FixedPoint::new(bits, fraction).expect("valid");
    let refused = |json: &str, fixed| {
        let adam: Adam = serde_json::from_str(json).expect("reads");
        let checked = Optimiser::Adam(&adam).check(fixed, 1, 128);
        checked.err().map(|e| e.to_string()).unwrap_or_default()
    };
    for (json, bits, fraction, why) in [
        ("{}", 64, 20, ""),
        ("{}", 61, 20, ""),
        ("{}", 32, 10, "need 60 bits"),
        (r#"{"epsilon": 1e-8}"#, 64, 20, "epsilon"),
        (r#"{"beta2": 0.8}"#, 64, 20, "square of beta1"),
        (r#"{"beta1": 1}"#, 64, 20, "beta1"),
        (
            r#"{"learning_rate": 1e-7}"#,
            64,
            20,
            "a unit of the weights",
        ),
    ] {
        let said = refused(json, fixed(bits, fraction));
        assert!(
            said.contains(why) && said.is_empty() == why.is_empty(),
            "{json}: {said}"
        );
    }
}

#[test]
fn what_a_step_demands_is_what_it_takes() {
    let adam = adam();
    let (_, network) = networks().swap_remove(0);
    declared_is_metered("adam", &training(&network, &adam, Loss::CrossEntropy));
}
