//! A whole private prediction of which messages are changed: no honest party is given a wrong
//! output. Of the digits of `examples`; of Network-B where the folder of models is given.

use std::path::Path;

use crate::common::{distance, models, real, samples};
use tacit_net::Party;
use tacit_net::testing::tampering::{Extent, Tampered, Totals};
use tacit_nn::Graph;
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::onnx::{ImportOptions, load};
use tacit_nn::plan::{Modulus, Plan, PlanOptions, Roles, plan};
use tacit_protocols::Error;
use tacit_protocols::falcon::{self, Options, PARTIES, Security};
use tacit_protocols::machine::{Audience, Machine};
use tacit_protocols::material_portions::MaterialPortions;

const ROLES: Roles = Roles {
    model_owner: 0,
    data_owner: 1,
    receiver: Audience::All,
};
/// How far an output may be from that in float32: over 32 bits, with no samples to plan by.
const NEAR: f32 = 0.15;
/// All material before the first layer.
const AT_ONCE: u64 = u64::MAX;

/// A model with an image and what it is to say of it.
struct Prediction {
    graph: Graph,
    plan: Plan,
    image: Vec<f32>,
    logits: Vec<f32>,
}

impl Prediction {
    fn new(graph: Graph, image: Vec<f32>) -> Self {
        let graph = graph.optimise();
        let options = PlanOptions {
            modulus: Modulus::PowerOfTwo(32),
            input_range: Some(1.0),
            ..PlanOptions::default()
        };
        let logits = tacit_nn::reference::predict(&graph, &image).expect("an image that fits");
        Prediction {
            plan: plan(&graph, &options).expect("a plan"),
            graph,
            image,
            logits,
        }
    }

    /// Changes messages of all but the inputs, which their owners choose, with material for so many bytes at a
    /// time.
    fn tamper(&self, security: Security, extent: Extent, most: u64) -> Totals {
        let weights = self.plan.encode_weights(&self.graph).expect("weights");
        let shape = [&[1], &self.plan.given_shape()[..]].concat();
        let image = self.plan.encode_input(&self.image, &shape).expect("a fit");
        let tampered = Tampered {
            parties: PARTIES,
            chosen: &["rss input"],
            program: |party: Party| -> Result<_, Error> {
                let id = party.id();
                let options = Options {
                    security,
                    ..Options::default()
                };
                let mut machine = falcon::machine(32, party, options)?;
                let (plan, machine) = (&self.plan, &mut machine);
                machine.prepare(&plan.weight_calls(&ROLES)?)?;
                let own = (id == ROLES.model_owner).then_some(&weights[..]);
                let weights = share_weights(plan, machine, &ROLES, own)?;
                let stages = plan.calls(1, &ROLES)?;
                let calls = stages.iter().map(|stage| &stage.calls[..]);
                machine.provide(&MaterialPortions::new(calls, machine.cost_model(), most)?);
                let own = (id == ROLES.data_owner).then_some(&image[..]);
                let input = share_input(plan, machine, &ROLES, 1, own)?;
                let output = execute(plan, machine, &weights, input, &1.into(), &mut |_| Ok(()))?;
                reveal_output(plan, machine, &ROLES, &output)
            },
        };
        tampered.tamper(extent, |answer| {
            let answer = self.plan.finish(answer.as_deref().unwrap_or_default());
            answer.is_ok_and(|answer| distance(&answer, &self.logits) < NEAR)
        })
    }
}

/// The digits of the demo, of a diagonal stroke.
fn digits() -> Prediction {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits/digits.onnx");
    let graph = load(&file, &ImportOptions::default()).expect("a model");
    let stroke = |i: usize| if i / 8 == i % 8 { 1.0 } else { 0.0 };
    Prediction::new(graph, (0..64).map(stroke).collect())
}

/// Network-B of Falcon's paper and an image of a real digit, where they are.
fn network_b() -> Option<Prediction> {
    let folder = models()?;
    let graph = real(&folder, "network-b").expect("a model");
    let mut image = samples(&folder, "network-b", "x");
    image.truncate(28 * 28);
    Some(Prediction::new(graph, image))
}

#[test]
fn changes_of_a_prediction_are_caught() {
    let totals = digits().tamper(Security::Malicious, Extent::Sample, AT_ONCE);
    totals.assert_caught("digits, 32 bits");
}

/// A verification stands between the portions: what one leaves unverified must not be lost with it.
#[test]
fn changes_of_a_prediction_in_portions_are_caught() {
    let totals = digits().tamper(Security::Malicious, Extent::Sample, 1);
    totals.assert_caught("digits, 32 bits, in portions");
}

#[test]
fn changes_of_a_prediction_are_not_caught_without_checks() {
    let totals = digits().tamper(Security::SemiHonest, Extent::Sample, AT_ONCE);
    totals.assert_fooled("digits, 32 bits, semi-honest");
}

#[test]
#[ignore = "minutes: make tampering"]
fn every_end_of_the_digits() {
    changed(&digits(), Extent::Ends, "digits, 32 bits");
}

#[test]
#[ignore = "minutes: make tampering"]
fn every_message_of_network_b() {
    if let Some(network_b) = network_b() {
        changed(&network_b, Extent::All, "Network-B, 32 bits");
    }
}

fn changed(prediction: &Prediction, extent: Extent, name: &str) {
    let caught = prediction.tamper(Security::Malicious, extent, AT_ONCE);
    caught.assert_caught(name);
    let fooled = prediction.tamper(Security::SemiHonest, extent, AT_ONCE);
    fooled.assert_fooled(&format!("{name}, semi-honest"));
}
