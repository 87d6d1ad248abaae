//! Analyses what probabilistic truncation does to a model's accuracy (Bicoptor 2.0, Figure 2 and Table
//! 3).
//!
//! For every number of fraction bits the model runs in the clear with ABY3's truncation, once with
//! random masks and once with the fixed mask of public programs. Products are truncated after or their
//! factors before. As in the paper, weights carry the fraction bits of the values.

mod large_error;

use serde::{Deserialize, Serialize};
use tacit_net::{LinkModel, memory};
use tacit_nn::encode::{EncodeError, LayerWeights};
use tacit_nn::execute::{execute, reveal_output, share_input, share_weights};
use tacit_nn::plan::{Modulus, Order, PlanError, PlanOptions, Reveal, plan_each};
use tacit_nn::{Graph, Plan};
use tacit_protocols::clear::{self, Truncating};
use tacit_run::score::{accuracy, classes, share};
use tacit_run::{
    Compiled, Error, Observer, Progress, SIGNS, Settings, Tensor, asked_width, in_threads, logged,
    options,
};

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

/// The options of an analysis.
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
        options::read("analysis options", text)
    }

    fn check(&self) -> Result<(), Error> {
        asked_width(Some(self.ring), None)?;
        if self.fraction_bits.is_empty() {
            return Err(Error::setting("fraction bits", "none are given"));
        }
        Ok(())
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
    /// What was measured, a row for each number of fraction bits, order and kind of masks.
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
    /// How many large errors there were per item: more than predicted, where wrong values are truncated again.
    pub e1_per_item: Option<f64>,
    /// Why there is no result: what would leave the ring, and where.
    pub refused: Option<String>,
}

/// Analyses what truncation does to the accuracy of the model on `x` with its labels. The plan that the
/// model was compiled with plays no part: values are planned for what `x` shows.
pub fn analyze_truncation(
    model: &Compiled,
    options: &AnalysisOptions,
    x: Tensor,
    labels: &[i64],
    observe: Observer,
) -> Result<Analysis, Error> {
    options.check()?;
    model.check_inputs("input", &x)?;
    if x.values.is_empty() {
        return Err(Error::setting("input", "it has no items; give at least 1"));
    }
    model.check_labels(labels, x.shape[0])?;
    let (graph, plan) = (model.graph(), model.plan());
    let (float, magnitudes) = Magnitudes::of(graph, x)?;
    let float = plan.finish_floats(float);
    let float_accuracy = accuracy(plan, &float, labels)?;
    let observe = &mut logged(observe);
    let mut analyst = Analyst {
        graph,
        reveal: model.options().reveal,
        x,
        labels,
        float: classes(plan, &float)?,
        magnitudes,
        observe,
        done: 0,
        total: ORDERS.len() * MASKS.len() * options.fraction_bits.len(),
    };
    let mut rows = Vec::with_capacity(analyst.total);
    for order in ORDERS {
        let plans = plan_each(
            graph,
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

/// An analysis at work.
struct Analyst<'a> {
    graph: &'a Graph,
    /// What is opened, as the model was compiled.
    reveal: Option<Reveal>,
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
            modulus: Modulus::of_bits(ring),
            order,
            same_scale: true,
            margin: 1.0,
            samples: Some(self.x.values),
            input_range: (largest > 0.0).then_some(INPUT_MARGIN * largest),
            reveal: self.reveal,
            signs: SIGNS,
            ..PlanOptions::default()
        }
    }

    /// The rows of all masks.
    fn rows(
        &mut self,
        fraction_bits: u32,
        order: Order,
        plan: Result<Plan, PlanError>,
    ) -> Result<Vec<AnalysisRow>, Error> {
        let rows = MASKS.map(|(masks, _)| AnalysisRow {
            fraction_bits,
            order: order.name(),
            masks,
            ..AnalysisRow::default()
        });
        let encoded = plan.map_err(Error::from).and_then(|plan| {
            let weights = plan.encode_weights(self.graph)?;
            Ok((plan, weights))
        });
        let rows = match encoded {
            Ok((plan, weights)) => self.measured(&plan, &weights, rows)?,
            Err(error) if leaves_the_ring(&error) => {
                let refused = |row| AnalysisRow {
                    refused: Some(error.to_string()),
                    ..row
                };
                rows.map(refused).to_vec()
            }
            Err(error) => return Err(error),
        };
        self.done += MASKS.len();
        Ok(rows)
    }

    /// The rows with what runs of the plan give.
    fn measured(
        &mut self,
        plan: &Plan,
        weights: &[LayerWeights],
        rows: [AnalysisRow; MASKS.len()],
    ) -> Result<Vec<AnalysisRow>, Error> {
        let expected = LargeError::expected(plan, &self.magnitudes);
        let mut measured = Vec::new();
        for (row, (_, kind)) in rows.into_iter().zip(MASKS) {
            let done = self.done + measured.len();
            let (revealed, large_errors) = self.run(plan, weights, kind, &row, done)?;
            let output = plan.finish(&revealed)?;
            measured.push(AnalysisRow {
                accuracy: Some(accuracy(plan, &output, self.labels)?),
                agreement: Some(share(&classes(plan, &output)?, &self.float)),
                e1_probability: expected.as_ref().map(|e| e.probability),
                layer: expected.as_ref().map(|e| e.layer.clone()),
                e1_per_item_predicted: expected.as_ref().map(|e| e.per_item),
                e1_per_item: Some(large_errors as f64 / self.x.shape[0] as f64),
                ..row
            });
        }
        Ok(measured)
    }

    /// Predicts everything in the clear, after `done` other rows: what is revealed, and the number
    /// of large errors.
    fn run(
        &mut self,
        plan: &Plan,
        weights: &[LayerWeights],
        kind: Truncating,
        row: &AnalysisRow,
        done: usize,
    ) -> Result<(Vec<i64>, u64), Error> {
        let settings = Settings::default();
        let roles = settings.roles(1)?;
        let values = plan.encode_input(self.x.values, self.x.shape)?;
        let items = self.x.shape[0];
        let total = self.total;
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
            let (mut machine, large_errors) = clear::truncating(plan.modulus.bits(), party, kind)?;
            let weights = share_weights(plan, &mut machine, &roles, Some(weights))?;
            let (mut revealed, item) = (Vec::new(), plan.input_len());
            for (batch, values) in values.chunks(BATCH * item).enumerate() {
                let n = values.len() / item;
                let x = share_input(plan, &mut machine, &roles, n, Some(values))?;
                let mut cancelled = false;
                let y = execute(plan, &mut machine, &weights, x, &n.into(), &mut |p| {
                    cancelled = !observe(Progress {
                        phase: "online",
                        layer: p.layer,
                        index: p.index,
                        layers: p.layers,
                        batch,
                        batches: items.div_ceil(BATCH),
                        gauge: None,
                    });
                    let stop = || tacit_protocols::Error::Invalid("cancelled".into());
                    if cancelled { Err(stop()) } else { Ok(()) }
                });
                if cancelled {
                    return Err(Error::Cancelled);
                }
                revealed
                    .extend(reveal_output(plan, &mut machine, &roles, &y?)?.unwrap_or_default());
            }
            Ok((revealed, large_errors.count()))
        })?;
        Ok(ended.swap_remove(0))
    }
}

/// Whether an error says that a value or a weight does not fit, and where.
fn leaves_the_ring(error: &Error) -> bool {
    matches!(
        error,
        Error::Plan(PlanError::Range { .. }) | Error::Encode(EncodeError::Weight { .. })
    )
}
