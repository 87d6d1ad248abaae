//! What probabilistic truncation does to a model's accuracy (Bicoptor 2.0, Figure 2 and Table 3).
//!
//! For every number of fraction bits the model runs in the clear with ABY3's truncation, once with
//! random masks and once with the fixed mask of public programs, with products truncated after or
//! their factors before. As in the paper, weights carry the fraction bits of the values.

mod large_error;

use serde::{Deserialize, Serialize};
use tacit_algebra::Ring;
use tacit_net::{LinkModel, memory};
use tacit_nn::encode::{EncodeError, LayerWeights};
use tacit_nn::plan::{Order, PlanError, PlanOptions, plan_each};
use tacit_nn::{Graph, Plan};
use tacit_protocols::clear::{Clear, Truncating};

use crate::compiled::check_shape;
use crate::job::{Observer, Prediction};
use crate::local::in_threads;
use crate::registry::Program;
use crate::score::{accuracy, classes, share};
use crate::settings::{Named, asked_width};
use crate::{Compiled, Error, Progress, Settings, Tensor};
use large_error::{LargeError, Magnitudes};

/// Items that run at a time, which bounds the memory.
const BATCH: usize = 64;
/// How many times larger than the largest number of the inputs one may be, so that rounding keeps
/// it within the plan.
const INPUT_MARGIN: f64 = 2.0;

const ORDERS: [Order; 2] = [Order::MultiplyThenTruncate, Order::TruncateThenMultiply];
const MASKS: [(&str, Truncating); 2] = [
    ("random", Truncating::RandomMasks),
    ("fixed (insecure)", Truncating::FixedMaskInsecure),
];

/// What is analysed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnalysisOptions {
    /// The numbers of fraction bits, each a row of every kind.
    pub fraction_bits: Vec<u32>,
    /// Bits of the ring, 32 or 64.
    pub ring: u32,
}

impl AnalysisOptions {
    /// Reads JSON; see [`AnalysisOptions`].
    pub fn from_json(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|e| Error::setting("analysis options", e.to_string()))
    }
}

/// An analysis. Serialises to its JSON report.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// The version of Tacit.
    pub tacit: &'static str,
    /// Bits of the ring.
    pub ring: u32,
    /// How many items were predicted.
    pub items: usize,
    /// The accuracy of the model in float32.
    pub float_accuracy: f64,
    /// By fraction bits, order and masks.
    pub rows: Vec<AnalysisRow>,
}

/// One way to truncate at one number of fraction bits.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AnalysisRow {
    /// Fraction bits of the values and of the weights.
    pub fraction_bits: u32,
    /// Whether products are truncated after or their factors before.
    pub order: &'static str,
    /// `random`, or `fixed (insecure)`.
    pub masks: &'static str,
    /// The share of items whose class is the label.
    pub accuracy: Option<f64>,
    /// The share of items whose class is that of the float32 model.
    pub agreement: Option<f64>,
    /// The paper's bound of the probability of the large error `e1` of one truncation under a
    /// random mask: `2^-(l - lx - 1)` for the largest value that is truncated, of `lx` bits.
    pub e1_probability: Option<f64>,
    /// The layer that truncates that value.
    pub layer: Option<String>,
    /// How many large errors random masks give per item, were all values right: the sum of
    /// `|x| / 2^l` over all that is truncated.
    pub e1_per_item_predicted: Option<f64>,
    /// How many there were per item: more, where wrong values are truncated again.
    pub e1_per_item: Option<f64>,
    /// Why there is no result: what would leave the ring, and where.
    pub refused: Option<String>,
}

impl Compiled {
    /// Analyses what truncation does to the accuracy of the model on `x` with its labels. The plan
    /// that the model was compiled with plays no part: values are planned for what `x` shows.
    pub fn analyze_truncation(
        &self,
        options: &AnalysisOptions,
        x: Tensor,
        labels: &[i64],
        observe: Observer,
    ) -> Result<Analysis, Error> {
        asked_width(Some(options.ring), None)?;
        if options.fraction_bits.is_empty() {
            return Err(Error::setting("fraction bits", "none are given"));
        }
        check_shape("input", &self.graph, &x)?;
        if x.values.is_empty() {
            return Err(Error::setting("input", "it has no items; give at least 1"));
        }
        if let Some(at) = x.values.iter().position(|v| !v.is_finite()) {
            let why = format!("element {at} is {}; give finite numbers", x.values[at]);
            return Err(Error::setting("input", why));
        }
        let (float, magnitudes) = Magnitudes::of(&self.graph, x)?;
        let float_accuracy = accuracy(&self.plan, &float, labels)?;
        let mut analyst = Analyst {
            graph: &self.graph,
            x,
            labels,
            float: classes(&self.plan, &float),
            magnitudes,
            observe,
            done: 0,
            total: ORDERS.len() * MASKS.len() * options.fraction_bits.len(),
        };
        let mut rows = Vec::with_capacity(analyst.total);
        for order in ORDERS {
            let plans = plan_each(
                &self.graph,
                &analyst.plan_options(options.ring, order),
                &options.fraction_bits,
            )?;
            for (&f, plan) in options.fraction_bits.iter().zip(plans) {
                rows.extend(analyst.rows(f, order, plan)?);
            }
        }
        rows.sort_by_key(|row| row.fraction_bits);
        Ok(Analysis {
            tacit: env!("CARGO_PKG_VERSION"),
            ring: options.ring,
            items: x.shape[0],
            float_accuracy,
            rows,
        })
    }
}

/// An analysis at work.
struct Analyst<'a> {
    graph: &'a Graph,
    x: Tensor<'a>,
    labels: &'a [i64],
    /// The classes by the float32 model.
    float: Vec<i64>,
    magnitudes: Magnitudes,
    observe: Observer<'a>,
    /// Rows done, and rows in all.
    done: usize,
    total: usize,
}

impl<'a> Analyst<'a> {
    /// Plans for what the inputs show and no more.
    fn plan_options(&self, ring: u32, order: Order) -> PlanOptions<'a> {
        let largest = self.magnitudes.largest[0];
        PlanOptions {
            ring_bits: ring,
            order,
            same_scale: true,
            margin: 1.0,
            samples: Some(self.x.values),
            input_range: (largest > 0.0).then_some(INPUT_MARGIN * largest),
            ..PlanOptions::default()
        }
    }

    /// The rows of all masks, refused where the plan or the weights leave the ring.
    fn rows(
        &mut self,
        fraction_bits: u32,
        order: Order,
        plan: Result<Plan, PlanError>,
    ) -> Result<Vec<AnalysisRow>, Error> {
        let row = AnalysisRow {
            fraction_bits,
            order: order.name(),
            ..AnalysisRow::default()
        };
        let fitting = match plan {
            Ok(plan) => match plan.encode_weights(self.graph) {
                Ok(weights) => Ok((plan, weights)),
                Err(error @ EncodeError::Weight { .. }) => Err(error.to_string()),
                Err(error) => return Err(error.into()),
            },
            Err(error @ PlanError::Range { .. }) => Err(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        let (plan, weights) = match fitting {
            Ok(fitting) => fitting,
            Err(why) => {
                self.done += MASKS.len();
                let refused = |(masks, _)| AnalysisRow {
                    masks,
                    refused: Some(why.clone()),
                    ..row.clone()
                };
                return Ok(MASKS.into_iter().map(refused).collect());
            }
        };
        let expected = LargeError::expected(&plan, &self.magnitudes);
        let row = AnalysisRow {
            e1_probability: expected.as_ref().map(|e| e.probability),
            layer: expected.as_ref().map(|e| e.layer.clone()),
            e1_per_item_predicted: expected.map(|e| e.per_item),
            ..row
        };
        let mut rows = Vec::new();
        for (masks, kind) in MASKS {
            rows.push(self.measured(
                &plan,
                &weights,
                kind,
                AnalysisRow {
                    masks,
                    ..row.clone()
                },
            )?);
            self.done += 1;
        }
        Ok(rows)
    }

    /// The row with what a run of it gives.
    fn measured(
        &mut self,
        plan: &Plan,
        weights: &[LayerWeights],
        kind: Truncating,
        row: AnalysisRow,
    ) -> Result<AnalysisRow, Error> {
        let (revealed, large_errors) = match plan.ring_bits {
            32 => self.run::<u32>(plan, weights, kind, &row)?,
            _ => self.run::<u64>(plan, weights, kind, &row)?,
        };
        let output = plan.finish(&revealed)?;
        Ok(AnalysisRow {
            accuracy: Some(accuracy(plan, &output, self.labels)?),
            agreement: Some(share(&classes(plan, &output), &self.float)),
            e1_per_item: Some(large_errors as f64 / self.x.shape[0] as f64),
            ..row
        })
    }

    /// Predicts everything in the clear: what is revealed, and the number of large errors.
    fn run<R: Ring>(
        &mut self,
        plan: &Plan,
        weights: &[LayerWeights],
        kind: Truncating,
        row: &AnalysisRow,
    ) -> Result<(Vec<i64>, u64), Error> {
        let settings = Settings::default();
        let roles = settings.roles(1)?;
        let values = plan.encode_input(self.x.values, self.x.shape)?;
        let items = self.x.shape[0];
        let (done, total) = (self.done, self.total);
        let mut observe = |progress: Progress| {
            let f = row.fraction_bits;
            let layer = format!("f = {f}, {}, {}: {}", row.order, row.masks, progress.layer);
            (self.observe)(Progress {
                layer: &layer,
                batch: done * progress.batches + progress.batch,
                batches: total * progress.batches,
                ..progress
            })
        };
        let alone = memory::mesh(1, &LinkModel::LOCAL, settings.timeout);
        let mut ended = in_threads(alone, &mut observe, |party, observe| {
            let mut machine = Clear::<R>::new(party).truncating(kind)?;
            let prediction = Prediction {
                plan,
                roles: &roles,
                weights: Some(weights),
                values: Some(&values),
                inputs: items,
                batch: BATCH.min(items),
                observe,
            };
            let (revealed, _) = prediction.run(&mut machine)?;
            Ok((revealed.unwrap_or_default(), machine.large_errors()))
        })?;
        Ok(ended.swap_remove(0))
    }
}
