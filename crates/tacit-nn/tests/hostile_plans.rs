//! Plans that a peer damaged on purpose: each is read, and run where it is accepted. None panics, and
//! none takes more memory than the limit that it is read with.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::{imported, network, recurrent_network};
use serde_json::Value;
use tacit_algebra::Ring;
use tacit_net::{LinkModel, Party, memory, testing};
use tacit_nn::encode::LayerWeights;
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::{Order, Plan, PlanOptions, Precision, Roles, plan};
use tacit_protocols::bicoptor::{self, ubl::Ubl};
use tacit_protocols::clear::Clear;
use tacit_protocols::falcon::Falcon;
use tacit_protocols::machine::{Audience, Call, CostModel, Machine};
use tacit_protocols::mixed::lowered;
use tacit_protocols::{Error, Truncation};
use tacit_sirnn::{Options, Sirnn, SirnnCost, ot::Kind};

/// What an item of an accepted plan may take here, so that running it is cheap.
const LIMIT: u64 = 64 << 20;
/// Beside what the limit is about: parties, threads, tables of functions.
const SLACK: usize = 64 << 20;
/// Accepted plans of which one runs on every protocol.
const EVERY: usize = 100;

/// Accepted plans with widths of which one runs between two parties.
const EVERY_WIDTHS: usize = 4;

/// Counts what is allocated.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        // SAFETY: the caller keeps the allocator's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the allocator's contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `work` ends with, and the most that it held at once.
fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.load(Relaxed);
    MOST.store(before, Relaxed);
    let ended = work();
    (ended, MOST.load(Relaxed).saturating_sub(before))
}

/// One test at a time: the allocator counts for all.
static ALONE: Mutex<()> = Mutex::new(());

/// A small public generator (SplitMix64).
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Plans with and without widths, over every kind of numbers, of every operation that they have.
fn plans() -> Vec<Vec<u8>> {
    let all = [network(), recurrent_network()].map(|model| {
        let graph = imported(&model).unwrap_or_else(|e| panic!("{e}"));
        graph.optimise()
    });
    let widths = |bits| PlanOptions {
        precision: Some(Precision::Bits(bits)),
        ..PlanOptions::default()
    };
    let ways = [
        PlanOptions::default(),
        widths(16),
        widths(28),
        PlanOptions {
            order: Order::TruncateThenMultiply,
            ..PlanOptions::default()
        },
        PlanOptions {
            ring_bits: 32,
            public_model: true,
            ..PlanOptions::default()
        },
        PlanOptions {
            ring_bits: 61,
            ..PlanOptions::default()
        },
    ];
    let each = all.iter().flat_map(|graph| {
        let plan = |options| plan(graph, options).ok().map(|plan| plan.to_bytes());
        ways.iter().filter_map(plan).collect::<Vec<_>>()
    });
    let plans: Vec<_> = each.collect();
    let with = |bytes: &&Vec<u8>| {
        Plan::from_bytes(bytes)
            .expect("its own")
            .input_widths
            .is_some()
    };
    assert!(
        plans.iter().filter(with).count() >= 3 && plans.len() >= 8,
        "{}",
        plans.len()
    );
    plans
}

/// A plan, damaged in its bytes or in what they mean.
fn damaged(plan: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut bytes = plan.to_vec();
    match draw.below(11) {
        0 => {
            for _ in 0..=draw.below(3) {
                let at = draw.below(bytes.len());
                bytes[at] ^= 1 << draw.below(8);
            }
        }
        1 => {
            let at = draw.below(bytes.len());
            bytes[at] = draw.next() as u8;
        }
        2 => {
            let (start, len) = (draw.below(bytes.len()), draw.below(40));
            let end = bytes.len().min(start + len);
            match draw.below(3) {
                0 => drop(bytes.drain(start..end)),
                1 => bytes.truncate(start),
                _ => {
                    let part = bytes[start..end].to_vec();
                    bytes.splice(start..start, part);
                }
            }
        }
        3 => {
            let digits = |b: &[u8]| -> Vec<usize> {
                (0..b.len()).filter(|&i| b[i].is_ascii_digit()).collect()
            };
            for _ in 0..=draw.below(3) {
                let at = digits(&bytes);
                bytes[at[draw.below(at.len())]] = b'0' + draw.below(10) as u8;
            }
        }
        kind => {
            let mut value: Value = serde_json::from_slice(plan).expect("a plan is JSON");
            for _ in 0..=draw.below(3) {
                match kind {
                    4 => rearrange(&mut value, draw),
                    5 | 6 => rewiden(&mut value, draw),
                    7 => rewiden_all(&mut value, draw),
                    _ => renumber(&mut value, draw),
                }
            }
            bytes = serde_json::to_vec(&value).expect("JSON");
        }
    }
    bytes
}

/// Every leaf that `wanted` says, visited.
fn leaves<'a>(value: &'a mut Value, wanted: &dyn Fn(&Value) -> bool, all: &mut Vec<&'a mut Value>) {
    if wanted(value) {
        all.push(value);
        return;
    }
    match value {
        Value::Array(parts) => parts.iter_mut().for_each(|part| leaves(part, wanted, all)),
        Value::Object(parts) => parts
            .values_mut()
            .for_each(|part| leaves(part, wanted, all)),
        _ => {}
    }
}

/// One of its numbers becomes 0, 1, huge, one more or less, or that of another field.
fn renumber(value: &mut Value, draw: &mut Draw) {
    let mut all = Vec::new();
    leaves(value, &Value::is_number, &mut all);
    let other = all[draw.below(all.len())].clone();
    let at = draw.below(all.len());
    let old = all[at].as_i64().unwrap_or(0);
    *all[at] = match draw.below(14) {
        0 => 0.into(),
        1 => 1.into(),
        2 => 2.into(),
        3 => old.wrapping_add(1).into(),
        4 => old.wrapping_sub(1).into(),
        5 => old.wrapping_mul(2).into(),
        6 => (1u64 << draw.below(64)).into(),
        7 => u64::MAX.into(),
        8 => i64::MIN.into(),
        9 => (-1).into(),
        10 => u32::MAX.into(),
        11 => draw.below(70).into(),
        12 => (old / 2).into(),
        _ => other,
    };
}

/// The numbers of a layer, or of the input, have another width or scale, which fit each other: what a
/// single change of a number hardly hits.
fn rewiden(value: &mut Value, draw: &mut Draw) {
    let count = value["layers"].as_array().map_or(0, Vec::len);
    let at = draw.below(count + 1);
    let (trunc, widths) = match at.checked_sub(1) {
        None => (0, &mut value["input_widths"]),
        Some(layer) => {
            let layer = &mut value["layers"][layer];
            if draw.below(3) == 0 {
                layer["argument_bits"] = draw.below(66).into();
            }
            (layer["trunc"].as_u64().unwrap_or(0), &mut layer["widths"])
        }
    };
    if widths.is_object() {
        let bits = draw.below(64) as u64 + 1;
        widths["bits"] = bits.into();
        widths["product"] = bits.saturating_add(trunc).into();
        if draw.below(2) == 0 {
            widths["fraction_bits"] = draw.below(32).into();
        }
    }
}

/// Every number of a plan with widths has the same other width, every layer another scale.
fn rewiden_all(value: &mut Value, draw: &mut Draw) {
    let either = |draw: &mut Draw, few: usize, many: usize| {
        let most = if draw.below(2) == 0 { few } else { many };
        draw.below(most) as u64
    };
    let bits = 2 + either(draw, 10, 63);
    let fraction = |draw: &mut Draw| either(draw, 12, 30);
    if value["input_widths"].is_null() {
        return;
    }
    value["input_widths"]["bits"] = bits.into();
    value["input_widths"]["product"] = bits.into();
    value["input_widths"]["fraction_bits"] = fraction(draw).into();
    for layer in value["layers"].as_array_mut().into_iter().flatten() {
        let mut trunc = layer["trunc"].as_u64().unwrap_or(0);
        if trunc > 0 && draw.below(2) == 0 {
            trunc = draw.below(62) as u64;
        }
        trunc = trunc.min(64u64.saturating_sub(bits));
        layer["trunc"] = trunc.into();
        layer["widths"]["bits"] = bits.into();
        layer["widths"]["product"] = (bits + trunc).into();
        layer["widths"]["fraction_bits"] = fraction(draw).max(1).into();
        layer["keys"] = serde_json::json!({"dropped": 0, "kept": u32::MAX});
    }
}

/// One of its lists loses, repeats or swaps a part, or one of its fields is emptied.
fn rearrange(value: &mut Value, draw: &mut Draw) {
    let mut all = Vec::new();
    let lists = draw.below(4) > 0;
    let list = |v: &Value| {
        v.as_array()
            .is_some_and(|a| a.iter().all(|p| !p.is_array()))
    };
    let wanted = |v: &Value| {
        if lists {
            list(v)
        } else {
            v.is_number() || v.is_boolean()
        }
    };
    leaves(value, &wanted, &mut all);
    if all.is_empty() {
        return;
    }
    let at = draw.below(all.len());
    let Value::Array(parts) = &mut *all[at] else {
        *all[at] = [Value::Null, true.into(), false.into(), 0.into()][draw.below(4)].clone();
        return;
    };
    if parts.is_empty() {
        parts.push(draw.below(9).into());
        return;
    }
    let (first, second) = (draw.below(parts.len()), draw.below(parts.len()));
    match draw.below(3) {
        0 => drop(parts.remove(first)),
        1 => parts.push(parts[first].clone()),
        _ => parts.swap(first, second),
    }
}

const ROLES: Roles = Roles {
    model_owner: 0,
    data_owner: 0,
    receiver: Audience::All,
};

/// Weights and an item for a plan, as their owner has them.
fn given(plan: &Plan, owner: bool) -> (Option<Vec<LayerWeights>>, Option<Vec<i64>>) {
    let numbers = |n: usize| (0..n as i64).map(|i| i % 7 - 3).collect();
    let weights = plan.layers.iter().map(|layer| {
        let (factors, terms) = layer.shared_lens();
        LayerWeights {
            factors: numbers(factors),
            terms: numbers(terms),
        }
    });
    let weights = owner.then(|| weights.collect());
    (weights, owner.then(|| numbers(plan.input_len())))
}

/// Predicts an item, as a run does.
fn predicted<M: Machine>(plan: &Plan, mut machine: M) -> Result<(), Error> {
    let (weights, values) = given(plan, machine.party().id() == 0);
    let calls = plan.calls(1, &ROLES).into_iter().flat_map(|l| l.calls);
    let calls: Vec<Call> = calls.collect();
    let calls = lowered(&calls, machine.cost_model())?;
    let weights = share_weights(plan, &mut machine, &ROLES, weights.as_deref())?;
    machine.prepare(&calls)?;
    let x = share_input(plan, &mut machine, &ROLES, 1, values.as_deref())?;
    let y = execute(plan, &mut machine, &weights, x, 1, &mut |_| Ok(()))?;
    if let Some(opened) = reveal_output(&mut machine, &ROLES, &y)? {
        // What a result becomes at its receiver.
        let _ = plan.finish(&opened);
    }
    Ok(())
}

fn parties(n: usize) -> Vec<Party> {
    memory::mesh(n, &LinkModel::LOCAL, Duration::from_secs(20))
}

fn alone<R: Ring>(plan: &Plan) -> Result<(), Error> {
    let party = parties(1).remove(0);
    predicted(plan, Clear::<R>::new(party))
}

/// In the clear; its cost on the protocol that has widths, whose code the count runs on zeros.
fn run_clear(plan: &Plan) -> Result<(), Error> {
    match plan.ring_bits {
        32 => alone::<u32>(plan)?,
        64 => alone::<u64>(plan)?,
        _ => {}
    }
    if plan.ring_bits == 64 {
        let calls = plan.calls(1, &ROLES).into_iter().flat_map(|l| l.calls);
        let calls: Vec<Call> = calls.collect();
        let cost = SirnnCost::new(sirnn(plan));
        for call in lowered(&calls, &cost)? {
            cost.online(&call);
            cost.stored(&call);
        }
    }
    Ok(())
}

fn sirnn(plan: &Plan) -> Options {
    Options {
        bits: plan.ring_bits,
        sign_bits: plan.compare_bits,
        kind: Kind::SoftSpoken { k: 2 },
    }
}

/// On protocols, between parties.
fn run_secure(plan: &Plan) {
    if plan.ring_bits != 64 {
        return;
    }
    run_sirnn(plan);
    let _ = testing::run(parties(3), |party| {
        predicted(plan, Falcon::<u64>::new(party, Truncation::Gap)?)
    });
    let _ = testing::run(parties(3), |party| {
        predicted(
            plan,
            Ubl::<u64>::new(
                party,
                bicoptor::Options {
                    truncation: Truncation::Gap,
                    form: bicoptor::Form::Mended,
                },
            )?,
        )
    });
}

/// On the protocol that has widths.
fn run_sirnn(plan: &Plan) {
    let _ = testing::run(parties(2), |party| {
        predicted(plan, Sirnn::new(party, sirnn(plan))?)
    });
}

/// Damages as many plans, reads them and runs what is accepted.
fn damage(count: usize, seed: u64) {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let plans = plans();
    let (mut accepted, mut ran, mut most) = (0usize, 0, [0; 2]);
    let mut failed = Vec::new();
    for case in 0..count {
        let mut draw = Draw(seed.wrapping_add(case as u64));
        let bytes = damaged(&plans[case % plans.len()], &mut draw);
        let shown = || String::from_utf8_lossy(&bytes).into_owned();
        let whole = AssertUnwindSafe(|| {
            let (read, held) = measured(|| Plan::from_bytes(&bytes).map(drop));
            most[0] = most[0].max(held);
            drop(read);
            let Ok(plan) = Plan::from_bytes_within(&bytes, LIMIT) else {
                return;
            };
            assert!(plan.item_bytes() <= LIMIT);
            accepted += 1;
            let (ended, held) = measured(|| run_clear(&plan));
            ran += usize::from(ended.is_ok());
            most[1] = most[1].max(held);
            assert!(held <= LIMIT as usize + SLACK, "it held {held} bytes");
            if accepted.is_multiple_of(EVERY) {
                run_secure(&plan);
            } else if plan.input_widths.is_some() && accepted.is_multiple_of(EVERY_WIDTHS) {
                run_sirnn(&plan);
            }
        });
        if catch_unwind(whole).is_err() {
            failed.push(format!("case {case} of seed {seed}: {}", shown()));
        }
    }
    drop(alone);
    let first = failed
        .iter()
        .take(3)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(
        failed.is_empty(),
        "{} plans did harm\n{first}",
        failed.len()
    );
    println!(
        "{count} damaged plans: {accepted} accepted, {ran} of them ran; at most {} bytes held to read one, {} to run one",
        most[0], most[1]
    );
    assert!(most[0] <= SLACK && accepted * 20 > count && ran > 0);
}

#[test]
fn damaged_plans_never_panic() {
    damage(3_000, 1);
}

#[test]
#[ignore = "100 000 plans take minutes: make hostile"]
fn a_hundred_thousand_damaged_plans_never_panic() {
    damage(100_000, 2);
}
