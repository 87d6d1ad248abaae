//! A plan in clear text.

use std::time::Duration;

use tacit_net::{LinkModel, memory};
use tacit_nn::Graph;
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::{Plan, Roles};
use tacit_protocols::clear::Clear;
use tacit_protocols::machine::{Audience, Machine};

/// Everything is owned and learnt by the one party of these tests.
pub const ROLES: Roles = Roles {
    model_owner: 0,
    data_owner: 0,
    receiver: Audience::All,
};

/// The output of `graph` in fixed point under `plan`.
pub fn run_fixed(plan: &Plan, graph: &Graph, x: &[f32]) -> Vec<f32> {
    let party = memory::mesh(1, &LinkModel::default(), Duration::from_secs(10)).remove(0);
    match plan.ring_bits {
        32 => run_on(plan, graph, x, Clear::<u32>::new(party)),
        _ => run_on(plan, graph, x, Clear::<u64>::new(party)),
    }
}

fn run_on<M: Machine>(plan: &Plan, graph: &Graph, x: &[f32], mut machine: M) -> Vec<f32> {
    let batch = x.len() / plan.input_len();
    let shape = [&[batch], plan.input_shape.as_slice()].concat();
    let encoded = plan.encode_input(x, &shape).expect("the input is in range");
    let weights = plan
        .encode_weights(graph)
        .expect("the weights are in range");
    let weights = share_weights(plan, &mut machine, &ROLES, Some(&weights)).expect("weights");
    let input = share_input(plan, &mut machine, &ROLES, batch, Some(&encoded)).expect("input");
    let mut seen = Vec::new();
    let output = execute(
        plan,
        &mut machine,
        &weights,
        input,
        &batch.into(),
        &mut |p| {
            seen.push(p.layer.to_string());
            Ok(())
        },
    )
    .expect("run");
    let revealed = reveal_output(plan, &mut machine, &ROLES, &output)
        .expect("output")
        .expect("revealed to all");
    assert!(seen.iter().eq(plan.layers.iter().map(|l| &l.name)));
    plan.finish(&revealed).expect("a whole batch")
}
