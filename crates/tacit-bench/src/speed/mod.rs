//! Measures how fast this machine runs a protocol: a few calls of every kind, from which a plan's seconds are
//! predicted.

mod probe;

use std::sync::OnceLock;

use tacit_net::memory;
use tacit_run::speeds::{CallKind, Curve, Part, Point, Rates, Speeds, multiplications, operands};
use tacit_run::{Error, Instance, Metered, Progress, Settings, in_threads};

use probe::{Probe, Timed};

/// How long a measurement may take.
#[derive(Clone, Copy)]
struct Effort {
    /// How often each call is measured at most; the median counts.
    repeats: usize,
    /// A kind is not measured at a larger size once one has taken more than so many seconds.
    enough: f64,
    /// Items that the small network is measured on.
    items: usize,
}

/// What plans are told by.
const FULL: Effort = Effort {
    repeats: 3,
    enough: 0.1,
    items: 16,
};

/// The most by which a network may take longer, or less long, than its calls by themselves.
const TOGETHER: f64 = 2.5;

/// Where a run's keys are among what was metered of it.
const KEYS: usize = 3;

/// What a probe took: the medians of the slowest party, and what was declared.
struct Took {
    offline: f64,
    online: f64,
    /// Seconds of the verification after the calls.
    verification: f64,
    /// Hops of the online phase without verifications.
    rounds: u32,
    /// Hops of each verification: more than one where the calls do not wait for that after them.
    checked: Vec<u32>,
    /// Seconds and bytes of keys, which are made before the first run alone.
    keys: [f64; 2],
    /// The part of each phase, offline first, whose calls were measured.
    parts: [Option<Part>; 2],
}

impl Took {
    /// Seconds of verifying the calls, without the time of the verification by itself.
    fn verifying(&self, speeds: &Speeds) -> f64 {
        let alone = self
            .checked
            .iter()
            .map(|&rounds| speeds.at_verification(rounds));
        (self.verification - alone.sum::<f64>()).max(0.0)
    }
}

/// Measures the protocol of the settings over a ring or field of `width` bits, or its usual one. The parties are
/// threads of this process, and their links take no time.
pub fn speeds(
    settings: &Settings,
    width: Option<u32>,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Speeds, Error> {
    speeds_by(FULL, settings, width, observe)
}

fn speeds_by(
    effort: Effort,
    settings: &Settings,
    width: Option<u32>,
    observe: &mut dyn FnMut(Progress) -> bool,
) -> Result<Speeds, Error> {
    let instance = Instance::new(settings, width)?;
    let kinds = Probe::kinds(&instance)?;
    let sizes: usize = kinds.iter().map(|(_, sizes)| sizes.len()).sum();
    let (steps, mut step) = (sizes + 5, 0);
    let mut look = |probe: &Probe| -> Result<Took, Error> {
        tell(observe, probe.name(), step, steps)?;
        step += 1;
        measured(&instance, settings, probe, effort.repeats)
    };
    let smallest = kinds.iter().map(|(_, sizes)| look(&sizes[0]));
    let mut speeds = alone(&smallest.collect::<Result<Vec<_>, _>>()?);
    for (kind, sizes) in &kinds {
        let mut curves = [None, None, None];
        for probe in &sizes[1..] {
            let took = look(probe)?;
            // With one among the calls it is not known what either takes.
            if took.checked.len() > 1 {
                break;
            }
            let hops = f64::from(took.rounds) * speeds.hop;
            let online = (took.online - hops).max(0.0);
            let seconds = [took.offline, online, took.verifying(&speeds)];
            let [making, bytes] = took.keys;
            if bytes > 0.0 {
                speeds.key_byte = speeds.key_byte.max(making / bytes);
            }
            let [offline, online] = took.parts;
            for ((curve, part), seconds) in curves
                .iter_mut()
                .zip([offline, online, online])
                .zip(seconds)
            {
                // A matrix product may be one of encrypted numbers from some size on.
                push(curve, part.filter(|part| part.kind == *kind), seconds);
            }
            // The next size takes many times as long.
            if took.online + took.offline + took.verification > effort.enough {
                break;
            }
        }
        let [offline, online, verified] = curves;
        // Of choices it is mostly that of the bits.
        let offline = offline.filter(|_| *kind != CallKind::Select);
        speeds.online.entry(*kind).or_default().extend(online);
        speeds.offline.entry(*kind).or_default().extend(offline);
        speeds.verified.entry(*kind).or_default().extend(verified);
    }
    let pairs = match instance.cost()?.mixed() {
        true => Vec::new(),
        false => Probe::products(&instance).to_vec(),
    };
    let mut operands = Vec::new();
    for (number, pair) in pairs.iter().enumerate() {
        let took = pair.iter().map(|probe| Ok((probe, look(probe)?)));
        let took: Vec<(&Probe, Took)> = took.collect::<Result<_, Error>>()?;
        rates(&mut speeds, number, &took);
        operands.extend(took);
    }
    speeds.verified_operand = verified_operand(&speeds, &operands);
    let network = Probe::network(&instance, effort.items);
    let took = look(&network)?;
    let [calls, _] = network.calls(&instance)?;
    let verifications = took
        .checked
        .iter()
        .map(|&rounds| speeds.at_verification(rounds));
    let apart =
        speeds.computing(&calls, &*instance.cost()?, took.rounds) + verifications.sum::<f64>();
    if apart > 0.0 {
        let together = (took.online + took.verification) / apart;
        speeds.together = together.clamp(1.0 / TOGETHER, TOGETHER);
    }
    Ok(speeds)
}

/// What a hop and a verification take by themselves, by the smallest probes.
fn alone(smallest: &[Took]) -> Speeds {
    let of = |seconds: &dyn Fn(&Took) -> f64| {
        median(&mut smallest.iter().map(seconds).collect::<Vec<f64>>())
    };
    let mut speeds = Speeds {
        hop: of(&|took| took.online / f64::from(took.rounds.max(1))),
        together: 1.0,
        ..Speeds::default()
    };
    speeds.verification = of(&|took| took.verifying(&speeds));
    speeds
}

/// What is left of verifying products once their results are: for each element of their operands.
fn verified_operand(speeds: &Speeds, took: &[(&Probe, Took)]) -> f64 {
    let none = Vec::new();
    let curves = speeds.verified.get(&CallKind::Product).unwrap_or(&none);
    let (mut left, mut elements) = (0.0, 0.0);
    for (probe, took) in took {
        let results = took.parts[1].map_or(0.0, |part| part.seconds(curves));
        left += took.verifying(speeds) - results;
        elements += probe.map().map_or(0.0, |map| operands(&map));
    }
    (left / f64::max(elements, 1.0)).max(0.0)
}

/// Adds what a size took.
fn push(curve: &mut Option<Curve>, part: Option<Part>, seconds: f64) {
    let Some(Part { size, bytes, .. }) = part else {
        return;
    };
    let curve = curve.get_or_insert(Curve {
        bytes: 0.0,
        points: Vec::new(),
    });
    curve.bytes = bytes / size.max(1.0);
    curve.points.push(Point { size, seconds });
}

/// Two equations of two products: what elements of an operand and multiplications take.
fn rates(speeds: &mut Speeds, number: usize, took: &[(&Probe, Took)]) {
    let product = speeds
        .online
        .get(&CallKind::Product)
        .cloned()
        .unwrap_or_default();
    let rows: Vec<[f64; 3]> = took
        .iter()
        .map(|(probe, took)| {
            let counted = probe
                .map()
                .map(|map| multiplications(&map))
                .unwrap_or_default();
            let elements = took.parts[1].map_or(0.0, |part| part.seconds(&product));
            let beside = f64::from(took.rounds) * speeds.hop + elements;
            let left = (took.online - beside).max(0.0);
            [counted[2 * number], counted[2 * number + 1], left]
        })
        .collect();
    let [first, second] = solved(&rows);
    speeds.rates = match number {
        0 => Rates {
            matrix: first,
            matmul: second,
            ..speeds.rates
        },
        _ => Rates {
            patches: first,
            conv: second,
            ..speeds.rates
        },
    };
}

/// `x` and `y` from 0 on that are nearest to `a x + b y = c` for two rows, relatively.
fn solved(rows: &[[f64; 3]]) -> [f64; 2] {
    let [[a, b, c], [d, e, f]] = [rows[0], rows[1]];
    let det = a * e - b * d;
    let [x, y] = [(c * e - b * f) / det, (a * f - c * d) / det];
    match (x >= 0.0, y >= 0.0) {
        (true, true) => [x, y],
        (false, _) => [0.0, (c / b).max(f / e).max(0.0)],
        (true, false) => [(c / a).max(f / d).max(0.0), 0.0],
    }
}

/// Runs a probe between all parties, once to warm up and at most `repeats` times to be measured.
fn measured(
    instance: &Instance,
    settings: &Settings,
    probe: &Probe,
    repeats: usize,
) -> Result<Took, Error> {
    let mesh = memory::mesh(
        instance.parties,
        &tacit_net::LinkModel::LOCAL,
        settings.timeout,
    );
    let timed = Timed {
        probe,
        repeats,
        made: OnceLock::new(),
    };
    let ends = in_threads(mesh, &mut |_| true, |party, _| {
        instance.start(party, |machine| timed.run(machine))
    })?;
    let slowest = |run: usize, phase: usize| {
        let of = |end: &Vec<[Metered; 4]>| end[run][phase].seconds;
        ends.iter().map(of).fold(0.0, f64::max)
    };
    let runs = ends[0].len();
    // The first run finds memory and caches cold, which matters little where there is no other.
    let of_phase = |phase| {
        let of = (1.min(runs - 1)..runs).map(|run| slowest(run, phase));
        median(&mut of.collect::<Vec<f64>>())
    };
    let (model, [calls, verifications]) = (instance.cost()?, probe.calls(instance)?);
    let checked = verifications.iter().map(|call| model.online(call).rounds);
    let measured = calls.last();
    let parts =
        [Part::offline, Part::online].map(|part| measured.and_then(|call| part(call, &*model)));
    Ok(Took {
        offline: of_phase(0),
        online: of_phase(1),
        verification: of_phase(2),
        checked: checked.collect(),
        keys: [
            slowest(0, KEYS),
            ends.iter().map(|end| end[0][KEYS].bytes as f64).sum(),
        ],
        rounds: model.in_a_row(&calls).rounds,
        parts,
    })
}

fn median(seconds: &mut [f64]) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(0.0)
}

fn tell(
    observe: &mut dyn FnMut(Progress) -> bool,
    layer: &str,
    index: usize,
    layers: usize,
) -> Result<(), Error> {
    let progress = Progress {
        phase: "self-measurement",
        layer,
        index,
        layers,
        batch: 0,
        batches: 1,
        gauge: None,
    };
    match observe(progress) {
        true => Ok(()),
        false => Err(Error::Cancelled),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tacit_run::protocols;

    #[test]
    fn two_products_tell_two_rates() {
        assert_eq!(
            solved(&[[1.0, 10.0, 12.0], [1.0, 100.0, 102.0]]),
            [2.0, 1.0]
        );
        // Noise makes no rate negative.
        assert_eq!(solved(&[[1.0, 10.0, 9.0], [1.0, 100.0, 100.0]]), [0.0, 1.0]);
        assert_eq!(solved(&[[10.0, 1.0, 9.0], [100.0, 1.0, 100.0]]), [1.0, 0.0]);
    }

    /// Once each, at the two smallest sizes: all calls of a measurement run, at little cost.
    const QUICK: Effort = Effort {
        repeats: 1,
        enough: 0.0,
        items: 1,
    };

    /// Every protocol is measured, and every kind has sizes that take time.
    #[test]
    fn every_protocol_has_speeds() {
        for protocol in protocols().iter().filter(|p| p.name != "clear") {
            let settings = format!(r#"{{"protocol": "{}"}}"#, protocol.name);
            let settings = Settings::from_json(&settings).expect("settings");
            let found = speeds_by(QUICK, &settings, None, &mut |_| true).expect("speeds");
            assert!(found.hop > 0.0, "{}", protocol.name);
            let encrypts = (protocol.name == "sirnn").then_some(CallKind::Encrypted);
            let kinds = [
                CallKind::Product,
                CallKind::Relu,
                CallKind::Maxpool,
                CallKind::Open,
            ];
            for kind in kinds.into_iter().chain(encrypts) {
                let points = &found.online[&kind];
                assert!(
                    !points.is_empty() && points.iter().all(|p| p.bytes > 0.0),
                    "{} {kind:?}",
                    protocol.name
                );
            }
        }
    }
}
