//! Predicts seconds of computing from the sizes of calls and from what calls took on this machine.
//!
//! A call takes time for waking at every hop of its longest path, for its elements, and for the multiplications of
//! its product. The time of a kind of calls is a line between one measured size and the next. Signs are measured over
//! few bits and over many; the time of others lies between the two, by the bytes that a call declares.
//!
//! A verification takes time for each of the calls that wait for it, and once more by itself, however
//! many calls share it.

mod work;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacit_protocols::machine::{Bilinear, Call, CostModel};

use crate::{Error, options};

pub(crate) use work::Work;
pub use work::{Part, multiplications, operands};

/// The kinds of calls. Calls of one kind take as long for every byte that they declare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallKind {
    /// Products of any shape, but for their multiplications.
    Product,
    /// Products of matrices and convolutions, where all that they take is told by bytes.
    Matrix,
    /// Products of encrypted numbers, told by what the protocol roughly expects of them.
    Encrypted,
    /// Truncations of every element.
    Truncate,
    /// Signs of every element.
    Drelu,
    /// ReLUs of every element.
    Relu,
    /// Choices by a bit.
    Select,
    /// Maxima of windows, as of a pooling layer.
    Maxpool,
    /// Functions that a protocol has of its own.
    Function,
    /// Inputs and what is opened.
    Open,
}

impl CallKind {
    /// The kind of a call; `None` for calls whose time is counted with others.
    pub fn of(call: &Call, model: &dyn CostModel) -> Option<CallKind> {
        let is_matrix = |map: &Bilinear| !matches!(map, Bilinear::Elementwise(_));
        Some(match call {
            Call::Product { .. } if model.encrypted(call).is_some() => CallKind::Encrypted,
            Call::Product { map, .. } if model.mixed() && is_matrix(map) => CallKind::Matrix,
            Call::Product { .. } => CallKind::Product,
            Call::Truncate { .. } => CallKind::Truncate,
            Call::Drelu { .. } => CallKind::Drelu,
            Call::Relu { .. } => CallKind::Relu,
            Call::Select { .. } => CallKind::Select,
            Call::Maxpool { .. } => CallKind::Maxpool,
            Call::Function { .. } => CallKind::Function,
            Call::Input { .. } | Call::Reveal { .. } | Call::Reusable { .. } => CallKind::Open,
            Call::Verify { .. } => return None,
        })
    }
}

/// The time that calls of one size took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Elements of the call.
    pub size: f64,
    /// Seconds, beside those of hops.
    pub seconds: f64,
}

/// The times of calls of one kind that declare as many bytes of an element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Bytes of an element, of all parties.
    pub bytes: f64,
    /// The sizes that were measured, the smallest first.
    pub points: Vec<Point>,
}

/// Seconds for one of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Elements of a matrix that is the right operand.
    pub matrix: f64,
    /// Multiplications of matrix products.
    pub matmul: f64,
    /// Elements that filters are laid over, as often as they are.
    pub patches: f64,
    /// Multiplications of the products of convolutions.
    pub conv: f64,
}

/// How fast this machine runs a protocol between parties that share it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Speeds {
    /// Seconds of computing for a hop, without the network's.
    pub hop: f64,
    /// The times of the online phase, for each kind by growing bytes of an element.
    pub online: BTreeMap<CallKind, Vec<Curve>>,
    /// The times of the offline phase, for each kind by growing bytes of an element.
    pub offline: BTreeMap<CallKind, Vec<Curve>>,
    /// The times of verifying calls, for each kind by growing bytes of an element.
    pub verified: BTreeMap<CallKind, Vec<Curve>>,
    /// The seconds of multiplications.
    pub rates: Rates,
    /// Seconds of verifying one element of the operands of a matrix product or a convolution.
    pub verified_operand: f64,
    /// Seconds that a verification takes by itself, beside those of hops.
    #[serde(rename = "checkpoint")]
    pub verification: f64,
    /// Seconds of making a byte of the keys that products take, once a session.
    pub key_byte: f64,
    /// How many times as long as its calls by themselves a small network took online: copies between layers and
    /// caches.
    pub together: f64,
}

impl Rates {
    /// The seconds that the multiplications of a product take.
    pub fn seconds(&self, map: &Bilinear) -> f64 {
        let [matrix, matmul, patches, conv] = multiplications(map);
        self.matrix * matrix + self.matmul * matmul + self.patches * patches + self.conv * conv
    }
}

impl Speeds {
    /// Reads JSON, as it was kept.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        options::read("speeds", text)
    }

    /// Seconds that calls of the online phase compute, of so many hops, and that it takes to verify them;
    /// verifications by themselves are told by [`Speeds::at_verification`].
    pub fn computing(&self, calls: &[Call], model: &dyn CostModel, rounds: u32) -> f64 {
        self.together * self.online(&Work::online(calls, model, rounds))
    }

    /// Seconds that a verification of so many hops takes by itself, however many calls share it.
    pub fn at_verification(&self, rounds: u32) -> f64 {
        self.together * (self.verification + f64::from(rounds) * self.hop)
    }

    /// Seconds of making so many bytes of the keys that products take.
    pub(crate) fn making_keys(&self, bytes: u64) -> f64 {
        self.key_byte * bytes as f64
    }

    fn online(&self, work: &Work) -> f64 {
        let products = work.products.iter().map(|map| {
            let verified = self.verified_operand * operands(map);
            self.rates.seconds(map) + verified
        });
        let verified = work.parts.iter().map(|part| part.among(&self.verified));
        self.of(&self.online, work) + products.sum::<f64>() + verified.sum::<f64>()
    }

    /// Seconds that the offline phase computes.
    pub(crate) fn offline(&self, work: &Work) -> f64 {
        self.of(&self.offline, work)
    }

    fn of(&self, curves: &BTreeMap<CallKind, Vec<Curve>>, work: &Work) -> f64 {
        let parts = work.parts.iter().map(|part| part.among(curves));
        f64::from(work.rounds) * self.hop + parts.sum::<f64>()
    }
}

impl Part {
    /// Seconds of this part, by what calls of its kind took; 0 where none was measured.
    fn among(&self, curves: &BTreeMap<CallKind, Vec<Curve>>) -> f64 {
        let curves = curves.get(&self.kind);
        curves.map_or(0.0, |curves| self.seconds(curves))
    }

    /// Seconds of this part, by what calls of few and of many bytes took.
    pub fn seconds(&self, curves: &[Curve]) -> f64 {
        let along = |curve: &Curve| along(&curve.points, self.size);
        match curves {
            [] => 0.0,
            [one] => along(one),
            [few, .., many] => {
                let between = (many.bytes - few.bytes).max(f64::MIN_POSITIVE);
                let share = (self.bytes / self.size.max(1.0) - few.bytes) / between;
                let [low, high] = [along(few), along(many)];
                (low + share.clamp(-0.5, 1.5) * (high - low)).max(0.0)
            }
        }
    }
}

/// The seconds of so many elements, along lines from 0 to the first point and so on; beyond the last as to it.
fn along(points: &[Point], size: f64) -> f64 {
    let mut from = Point {
        size: 0.0,
        seconds: 0.0,
    };
    for (at, &to) in points.iter().enumerate() {
        let is_last = at + 1 == points.len();
        if size <= to.size || is_last {
            let step = (to.size - from.size).max(f64::MIN_POSITIVE);
            // A larger size that took less is noise.
            let slope = ((to.seconds - from.seconds) / step).max(0.0);
            return from.seconds + slope * (size - from.size);
        }
        from = to;
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(bytes: f64, given: &[[f64; 2]]) -> Curve {
        let point = |&[size, seconds]: &[f64; 2]| Point { size, seconds };
        let points = given.iter().map(point).collect();
        Curve { bytes, points }
    }

    #[test]
    fn seconds_lie_along_lines() {
        let measured = curve(1.0, &[[10.0, 1.0], [30.0, 2.0]]).points;
        let of = |size| along(&measured, size);
        assert_eq!(
            [0.0, 5.0, 10.0, 20.0, 30.0].map(of),
            [0.0, 0.5, 1.0, 1.5, 2.0]
        );
        assert_eq!(of(50.0), 3.0, "beyond the last as to it");
        assert_eq!(along(&[], 7.0), 0.0);
        assert_eq!(
            along(&curve(1.0, &[[10.0, 1.0], [20.0, 0.5]]).points, 40.0),
            1.0
        );
    }

    #[test]
    fn fewer_bytes_of_an_element_take_less() {
        let curves = [curve(20.0, &[[10.0, 1.0]]), curve(60.0, &[[10.0, 3.0]])];
        let of = |bytes: f64| {
            let part = Part {
                kind: CallKind::Relu,
                size: 10.0,
                bytes: 10.0 * bytes,
            };
            part.seconds(&curves)
        };
        assert_eq!([20.0, 40.0, 60.0, 70.0].map(of), [1.0, 2.0, 3.0, 3.5]);
        assert_eq!(
            [0.0, 1000.0].map(of),
            [0.0, 4.0],
            "not far beyond what was measured"
        );
    }

    /// Calls that share a verification pay for what is verified of them, and for the verification once.
    #[test]
    fn a_verification_is_paid_once() {
        use tacit_protocols::falcon::{FalconCost, Options, Security};
        let options = Options {
            security: Security::Malicious,
            ..Options::default()
        };
        let model = FalconCost::<u64>::new(options);
        let verified = vec![curve(1.0, &[[100.0, 2.0]])];
        let speeds = Speeds {
            verified: BTreeMap::from([(CallKind::Relu, verified)]),
            verified_operand: 0.5,
            hop: 0.25,
            verification: 3.0,
            together: 2.0,
            ..Speeds::default()
        };
        let relu = Call::relu(50);
        let seconds = |calls: &[Call]| speeds.computing(calls, &model, 0);
        assert_eq!([seconds(&[relu]), seconds(&[relu; 3])], [2.0, 6.0]);
        let shape = tacit_protocols::machine::MatMul { m: 1, k: 2, n: 3 };
        let product = Call::product(Bilinear::MatMul(shape), 0);
        assert_eq!(seconds(&[product]), 8.0);
        assert_eq!(speeds.at_verification(4), 8.0);
    }
}
