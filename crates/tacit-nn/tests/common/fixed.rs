//! A plan in clear text.

use std::time::Duration;

use tacit_net::{LinkModel, memory};
use tacit_nn::Graph;
use tacit_nn::execute::{Batch, execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::{Plan, Roles};
use tacit_protocols::clear;
use tacit_protocols::machine::{Audience, Erased, Machine};

/// Everything is owned and learnt by the one party of these tests.
pub const ROLES: Roles = Roles {
    model_owner: 0,
    data_owner: 0,
    receiver: Audience::All,
};

/// The output of `graph` in fixed point under `plan`, which is the same where its layers take all items at
/// once and where they take them one after the other, or in twos.
pub fn run_fixed(plan: &Plan, graph: &Graph, x: &[f32]) -> Vec<f32> {
    let plan = &Plan::from_bytes(&plan.to_bytes()).expect("a plan that the others read");
    let party = memory::mesh(1, &LinkModel::default(), Duration::from_secs(10)).remove(0);
    match plan.modulus.bits() {
        32 => run_on(plan, graph, x, clear::machine(32, party)),
        _ => run_on(plan, graph, x, clear::machine(64, party)),
    }
}

fn run_on(plan: &Plan, graph: &Graph, x: &[f32], mut machine: Erased) -> Vec<f32> {
    let batch = x.len() / plan.given_len();
    let shape = [&[batch], &plan.given_shape()[..]].concat();
    let encoded = plan.encode_input(x, &shape).expect("the input is in range");
    let weights = plan
        .encode_weights(graph)
        .expect("the weights are in range");
    let weights = share_weights(plan, &mut machine, &ROLES, Some(&weights)).expect("weights");
    let input = share_input(plan, &mut machine, &ROLES, batch, Some(&encoded)).expect("input");
    let mut seen = Vec::new();
    let whole = Batch::from(batch);
    let output = execute(
        plan,
        &mut machine,
        &weights,
        input.clone(),
        &whole,
        &mut |p| {
            seen.push(p.layer.to_string());
            Ok(())
        },
    )
    .expect("run");
    for each in [1, 2] {
        let parts = Batch::by(each, batch, plan);
        let same = execute(
            plan,
            &mut machine,
            &weights,
            input.clone(),
            &parts,
            &mut |_| Ok(()),
        );
        let [same, expected] = [&same.expect("run"), &output].map(|share| machine.save(share));
        assert_eq!(same, expected, "{each} items at a time");
    }
    let revealed = reveal_output(plan, &mut machine, &ROLES, &output)
        .expect("output")
        .expect("revealed to all");
    assert!(seen.iter().eq(plan.layers.iter().map(|l| &l.name)));
    plan.finish(&revealed).expect("a whole batch")
}
