//! Plans that a peer damaged on purpose: each is read, and run where it is accepted. None panics, and
//! none takes more memory than the limit that it is read with. A binary of its own, because its
//! allocator counts for the whole process.

#[path = "../common/mod.rs"]
mod common;
mod damage;

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use common::{attention_network, imported, network, recurrent_network};
use damage::{Draw, damaged};
use tacit_algebra::Ring;
use tacit_net::{LinkModel, Party, memory, testing};
use tacit_nn::encode::LayerWeights;
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::{Modulus, Order, Plan, PlanOptions, Precision, Reveal, Roles, plan};
use tacit_protocols::bicoptor::{self, ubl};
use tacit_protocols::clear;
use tacit_protocols::falcon;
use tacit_protocols::lowered;
use tacit_protocols::machine::{Audience, Call, CostModel, Erased, Machine};
use tacit_protocols::signs::SIGNS;
use tacit_protocols::{Error, Truncation};
use tacit_sirnn::{Options, Products, Sirnn, SirnnCost, ot::OtExtension};

/// What an item of an accepted plan may take here, so that running it is cheap.
const LIMIT: u64 = 64 << 20;
/// Bytes of memory beside what the limit is about: parties, threads, tables of functions.
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

/// Plans with and without widths, over every kind of numbers, of every operation that they have.
fn plans() -> Vec<Vec<u8>> {
    let all = [network(), recurrent_network(), attention_network()].map(|model| {
        let graph = imported(&model).unwrap_or_else(|e| panic!("{e}"));
        graph.optimise()
    });
    let widths = |bits| PlanOptions {
        precision: Some(Precision::Bits(bits)),
        ..PlanOptions::default()
    };
    let opens = |reveal, precision| PlanOptions {
        reveal: Some(reveal),
        precision,
        ..PlanOptions::default()
    };
    let ways = [
        PlanOptions::default(),
        opens(Reveal::Class, None),
        opens(Reveal::TopK(2), Some(Precision::Bits(16))),
        widths(16),
        widths(28),
        PlanOptions {
            order: Order::TruncateThenMultiply,
            ..PlanOptions::default()
        },
        PlanOptions {
            modulus: Modulus::PowerOfTwo(32),
            public_model: true,
            ..PlanOptions::default()
        },
        PlanOptions {
            modulus: Modulus::Mersenne(61),
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
fn predicted(plan: &Plan, mut machine: Erased) -> Result<(), Error> {
    let (weights, values) = given(plan, machine.party().id() == 0);
    let calls = plan.calls(1, &ROLES)?.into_iter().flat_map(|l| l.calls);
    let calls: Vec<Call> = calls.collect();
    let calls = lowered(&calls, machine.cost_model())?;
    let weights = share_weights(plan, &mut machine, &ROLES, weights.as_deref())?;
    machine.prepare(&calls)?;
    let x = share_input(plan, &mut machine, &ROLES, 1, values.as_deref())?;
    let y = execute(plan, &mut machine, &weights, x, &1.into(), &mut |_| Ok(()))?;
    if let Some(opened) = reveal_output(plan, &mut machine, &ROLES, &y)? {
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
    predicted(plan, clear::machine(R::BITS, party))
}

/// Runs a plan in the clear, and counts its cost on the protocol that has widths, whose code the count runs on zeros.
fn run_clear(plan: &Plan) -> Result<(), Error> {
    match plan.modulus.bits() {
        32 => alone::<u32>(plan)?,
        64 => alone::<u64>(plan)?,
        _ => {}
    }
    if plan.modulus.bits() == 64 {
        let calls = plan.calls(1, &ROLES)?.into_iter().flat_map(|l| l.calls);
        let calls: Vec<Call> = calls.collect();
        for products in [Products::Auto, Products::Rlwe] {
            let cost = SirnnCost::new(Options {
                products,
                ..sirnn(plan)
            });
            for call in lowered(&calls, &cost)? {
                cost.online(&call);
                cost.workspace(&call);
            }
        }
    }
    Ok(())
}

fn sirnn(plan: &Plan) -> Options {
    Options {
        bits: plan.modulus.bits(),
        sign_bits: plan.compare_bits,
        kind: OtExtension::SoftSpoken { k: 2 },
        products: Products::Auto,
        link: LinkModel::LOCAL,
    }
}

/// Runs a plan on protocols, between parties.
fn run_secure(plan: &Plan) {
    if plan.modulus.bits() != 64 {
        return;
    }
    run_sirnn(plan);
    let _ = testing::run(parties(3), |party| {
        predicted(
            plan,
            falcon::machine(64, party, falcon::Options::default())?,
        )
    });
    let _ = testing::run(parties(3), |party| {
        predicted(
            plan,
            ubl::machine(64, party, bicoptor::Options::new(Truncation::Gap))?,
        )
    });
}

/// Runs a plan on the protocol that has widths.
fn run_sirnn(plan: &Plan) {
    let _ = testing::run(parties(2), |party| {
        predicted(plan, Erased::new(Sirnn::new(party, sirnn(plan))?))
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
            let Ok(plan) = Plan::from_bytes_within(&bytes, LIMIT, SIGNS) else {
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
