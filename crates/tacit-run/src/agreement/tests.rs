//! A party that lies about public numbers: no two honest parties ever act on different ones.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tacit_net::testing::{Fate, mesh_with, run};
use tacit_net::{LinkModel, NetError, Party, memory};
use tacit_nn::graph::{Graph, Input, Node, Op, Output};
use tacit_nn::plan::{Order, PlanOptions, plan};
use tacit_train::{LayerSpec, Network};

use super::Agreement;
use crate::job::{self, Contribution, Planned};
use crate::terms::Terms;
use crate::train::tests::{place, sizes};
use crate::{Dataset, Error, Settings, Task, Tensor, TrainOptions};

const PARTIES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(20);

/// A message of an honest run.
#[derive(Clone, Debug)]
struct Said {
    from: usize,
    to: usize,
    step: &'static str,
    payload: Vec<u8>,
}

/// What a party acts on after agreeing, as words; by a program that agrees.
type Program<'a> = &'a (dyn Fn(Agreement) -> Result<String, Error> + Sync);

/// The step in which the lists of items are compared.
const LISTS: &str = "agree";

fn agreed(party: &mut Party, program: Program, forgets: bool) -> Result<String, Error> {
    let mut agreement = Agreement::new(party);
    agreement.forgets = forgets;
    program(agreement)
}

/// All messages of an honest run.
fn said(program: Program, forgets: bool) -> Vec<Said> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let kept = log.clone();
    let mesh = mesh_with(PARTIES, PATIENCE, move |envelope| {
        kept.lock().expect("no panic").push(Said {
            from: envelope.from,
            to: envelope.to,
            step: envelope.step,
            payload: envelope.payload.clone(),
        });
        Fate::Deliver
    });
    let ends = run(mesh, |mut party| agreed(&mut party, program, forgets));
    let ends: Vec<_> = ends.into_iter().map(|e| e.expect("honest")).collect();
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}");
    std::mem::take(&mut *log.lock().expect("no panic"))
}

/// The items of a list as it is sent.
fn items(mut list: &[u8]) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    while let Some((len, rest)) = list.split_first_chunk::<8>() {
        let (text, rest) = rest.split_at(u64::from_le_bytes(*len) as usize);
        texts.push(text.to_vec());
        list = rest;
    }
    texts
}

fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let one = |text: &Vec<u8>| [&(text.len() as u64).to_le_bytes()[..], text].concat();
    items.iter().flat_map(one).collect()
}

/// Every item of every list that a liar sends, changed for one of the others or for both: who is lied
/// to says which item it is and who differs.
fn lie_about_items(program: Program) -> usize {
    let mut lies = 0;
    let honest = said(program, false);
    for liar in 0..PARTIES {
        let lists = |to: usize| {
            let of = honest.iter().filter(move |s| (s.from, s.to) == (liar, to));
            of.filter(|s| s.step == LISTS).collect::<Vec<_>>()
        };
        let others: Vec<usize> = (0..PARTIES).filter(|&p| p != liar).collect();
        for (round, sent) in lists(others[0]).into_iter().enumerate() {
            let names = items(&sent.payload);
            for item in 0..names.len() / 2 {
                for victims in [&others[..1], &others[1..], &others[..]] {
                    lies += 1;
                    let name = String::from_utf8_lossy(&names[2 * item]).into_owned();
                    lie_about_item(program, liar, victims, (round, item, &name));
                }
            }
        }
    }
    lies
}

fn lie_about_item(
    program: Program,
    liar: usize,
    victims: &[usize],
    (round, item, name): (usize, usize, &str),
) {
    let hit = victims.to_vec();
    let mut seen = [0; PARTIES];
    let mesh = mesh_with(PARTIES, PATIENCE, move |envelope| {
        if envelope.from == liar && envelope.step == LISTS {
            seen[envelope.to] += 1;
            if seen[envelope.to] == round + 1 && hit.contains(&envelope.to) {
                let mut changed = items(envelope.payload);
                changed[2 * item + 1].push(b'1');
                *envelope.payload = list(&changed);
            }
        }
        Fate::Deliver
    });
    let ends = run(mesh, |mut party| agreed(&mut party, program, false));
    for &victim in victims {
        match &ends[victim] {
            Err(Error::Net(NetError::Disagreement { item, party, .. })) => {
                assert_eq!((item.as_str(), *party), (name, liar));
            }
            other => panic!("'{name}' by {liar} at {victim}: {other:?}"),
        }
    }
}

/// A liar that says something else to one party than to the other, and agrees with each of them about
/// everything: it sends each one's own lists back. How often two honest parties then act on different
/// numbers, and how many lies there were.
fn equivocate(program: Program, forgets: bool) -> (usize, usize) {
    let honest = said(program, forgets);
    let (mut broken, mut lies) = (0, 0);
    for liar in 0..PARTIES {
        let own: Vec<Said> = (honest.iter().filter(|s| s.from == liar).cloned()).collect();
        for (number, word) in own.iter().enumerate().filter(|(_, s)| s.step != LISTS) {
            for changed in changes(&word.payload) {
                lies += 1;
                let mut told = own.clone();
                told[number].payload = changed;
                let ends = run(
                    memory::mesh(PARTIES, &LinkModel::LOCAL, PATIENCE),
                    |mut party| match party.id() == liar {
                        true => {
                            tell(&mut party, &told, &honest);
                            None
                        }
                        false => agreed(&mut party, program, forgets).ok(),
                    },
                );
                let mut ends: Vec<String> = ends.into_iter().flatten().collect();
                ends.dedup();
                broken += usize::from(ends.len() > 1);
            }
        }
    }
    (broken, lies)
}

/// Every byte raised and lowered by one, which takes digits of JSON to others, and a 1 put before.
fn changes(words: &[u8]) -> Vec<Vec<u8>> {
    // A plan is long, and its hash is compared: some of its bytes do.
    let every = words.len().div_ceil(40).max(1);
    let at = |i: usize, by: u8| {
        let mut words = words.to_vec();
        words[i] = words[i].wrapping_add(by);
        words
    };
    let places = (0..words.len()).step_by(every);
    places.flat_map(|i| [at(i, 1), at(i, u8::MAX)]).collect()
}

/// The liar's side: what it tells, list after list, of which it sends each party's own back.
fn tell(party: &mut Party, told: &[Said], honest: &[Said]) {
    let us = party.id();
    let others: Vec<usize> = (0..PARTIES).filter(|&p| p != us).collect();
    let rounds = |from: usize, to: usize, all: &[Said]| -> Vec<Vec<Said>> {
        let link = all.iter().filter(|s| (s.from, s.to) == (from, to));
        let link: Vec<Said> = link.cloned().collect();
        link.split_inclusive(|s| s.step == LISTS)
            .map(<[_]>::to_vec)
            .collect()
    };
    let count = rounds(us, others[0], told).len();
    for round in 0..count {
        for &peer in &others {
            for word in &rounds(us, peer, told)[round] {
                if word.step != LISTS {
                    let _ = party.send(peer, word.step, word.payload.clone());
                }
            }
        }
        for &peer in &others {
            let Some(theirs) = rounds(peer, us, honest).get(round).cloned() else {
                continue;
            };
            for word in theirs {
                let Ok(heard) = party.recv_at_most(peer, word.step, 1 << 20) else {
                    break;
                };
                if word.step == LISTS {
                    let _ = party.send(peer, LISTS, heard);
                }
            }
        }
    }
    // The others end first, however they do.
    for &peer in &others {
        let _ = party.recv_at_most(peer, "the end", 1);
    }
}

/// The graph of a model that is a ReLU.
pub(crate) fn graph() -> Graph {
    let node = Node {
        name: "relu".into(),
        op: Op::Relu,
        inputs: vec![0],
        shape: vec![2],
    };
    Graph {
        inputs: vec![Input::numbers("x", &[2])],
        nodes: vec![node],
        output: 1,
        outputs: vec![Output::whole("y", &[2])],
        remarks: vec![],
    }
}

/// The agreement of a prediction on 5 inputs: the plan, their number and the batch that are used.
fn prediction(check: impl Fn(Program)) {
    let json = r#"{"security": "malicious"}"#;
    let settings = Settings::from_json(json).expect("valid");
    let terms = Terms::new(&settings, None, Order::default(), false).expect("valid");
    let graph = graph();
    let plan = plan(&graph, &PlanOptions::default()).expect("fits");
    let x = Tensor {
        values: &[0.5; 10],
        shape: &[5, 2],
    };
    check(&|agreement| {
        let us = agreement.us();
        let brings = Contribution {
            model: (us == terms.roles.model_owner).then_some(Planned {
                graph: &graph,
                plan: &plan,
            }),
            input: (us == terms.roles.data_owner).then_some(x.into()),
            labels: None,
            into: None,
        };
        let agreed = job::agree(agreement, &terms, brings)?;
        let hash = blake3::hash(&agreed.plan.to_bytes());
        let asked = agreed.asked;
        Ok(format!("{hash} {} {}", asked.inputs, asked.batch))
    });
}

/// Checks the agreement of a later request, the fourth.
fn request(check: impl Fn(Program)) {
    let settings = Settings::default();
    let terms = Terms::new(&settings, None, Order::default(), false).expect("valid");
    let x = Tensor {
        values: &[0.5; 10],
        shape: &[5, 2],
    };
    check(&|agreement| {
        let input = (agreement.us() == terms.roles.data_owner).then_some(x.items());
        let asked = job::agree_again(agreement, &terms, 1 << 20, 3, input)?;
        Ok(format!("{} {}", asked.inputs, asked.batch))
    });
}

/// Checks the agreement of a training on the data of two owners.
fn training(check: impl Fn(Program)) {
    let outputs = LayerSpec::Linear {
        outputs: 1,
        bias: true,
    };
    let network = Network::new(&[2], &[outputs]).expect("fits");
    let options = TrainOptions::default();
    let settings = Settings::default();
    let terms = Terms::new(&settings, None, Order::default(), false).expect("valid");
    let set = |owner: usize, items: usize| Dataset {
        owner,
        x: &[0.5; 14][..2 * items],
        target: &[1.0; 7][..items],
    };
    let (train, test) = ([set(0, 3), set(0, 2), set(2, 7)], [set(1, 4)]);
    let material = Task {
        network: &network,
        train: &train,
        test: &test,
        start: None,
    };
    check(&|agreement| sizes(agreement, &terms, &options, &material));
}

/// Where a training goes on, of checkpoints after 1 and 2 mini-batches.
fn resumption(check: impl Fn(Program)) {
    check(&|agreement| place(agreement, &[2, 1]));
}

#[test]
fn a_lie_about_an_item_is_named() {
    for (name, of) in ALL {
        of(&|program| {
            let lies = lie_about_items(program);
            println!("{name}: {lies} lies about items, all of them named");
            assert!(lies > 30, "{name}: {lies}");
        });
    }
}

#[test]
fn no_two_parties_act_on_different_numbers() {
    for (name, of) in ALL {
        of(&|program| {
            let (broken, lies) = equivocate(program, false);
            println!("{name}: {broken} of {lies} lies told to one party only were acted on");
            assert!(broken == 0 && lies > 30, "{name}: {broken} of {lies}");
        });
    }
}

/// The attack is not blind: parties that do not compare what they heard act on lies told to one only.
#[test]
fn without_the_comparison_they_do() {
    for (name, of) in ALL {
        of(&|program| {
            let (broken, lies) = equivocate(program, true);
            println!("{name}: {broken} of {lies} lies told to one party only were acted on");
            assert!(broken > 0, "{name}: none of {lies}");
        });
    }
}

/// A program that agrees, given to a check.
type Agreeing = fn(&dyn Fn(Program));

const ALL: [(&str, Agreeing); 4] = [
    ("prediction", |check| prediction(check)),
    ("request", |check| request(check)),
    ("training", |check| training(check)),
    ("resumption", |check| resumption(check)),
];
