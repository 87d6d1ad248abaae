//! What truncation does to a model's accuracy.

use crate::common::{CLASSES, compiled, inputs, quiet};
use tacit_bench::{Analysis, AnalysisOptions, AnalysisRow, analyze_truncation};
use tacit_run::{CompileOptions, Error, Tensor};

fn analyse(ring: u32, fraction_bits: &[u32], labels: &[i64]) -> Result<Analysis, Error> {
    let model = compiled(&CompileOptions::default());
    let (x, shape) = inputs(40);
    let options = AnalysisOptions {
        fraction_bits: fraction_bits.to_vec(),
        ring,
    };
    let x = Tensor {
        values: &x,
        shape: &shape,
    };
    analyze_truncation(&model, &options, x, labels, &mut quiet)
}

/// The float32 model's own classes, so that its accuracy is 1.
fn labels() -> Vec<i64> {
    let model = compiled(&CompileOptions::default());
    let output = model.reference(&inputs(40).0).expect("the float32 model");
    let class = |item: &[f32]| {
        let best = (0..item.len()).max_by(|&a, &b| item[a].total_cmp(&item[b]));
        best.unwrap_or(0) as i64
    };
    output.chunks(CLASSES).map(class).collect()
}

fn row<'a>(rows: &'a [AnalysisRow], f: u32, order: &str, masks: &str) -> &'a AnalysisRow {
    let found = rows
        .iter()
        .find(|r| (r.fraction_bits, r.order, r.masks) == (f, order, masks));
    found.unwrap_or_else(|| panic!("no row {f} {order} {masks}"))
}

#[test]
fn random_masks_show_what_a_fixed_one_hides() {
    let analysis = analyse(64, &[12, 29], &labels()).expect("an analysis");
    assert_eq!((analysis.float_accuracy, analysis.rows.len()), (1.0, 8));
    for order in ["multiply-then-truncate", "truncate-then-multiply"] {
        let fixed = row(&analysis.rows, 29, order, "fixed (insecure)");
        assert_eq!(fixed.e1_per_item, Some(0.0));
        assert!(fixed.accuracy >= Some(0.95), "{fixed:?}");
    }
    let broken = row(&analysis.rows, 29, "multiply-then-truncate", "random");
    assert!(broken.e1_per_item > Some(0.5), "{broken:?}");
    // Some of 40 classes, of which each meets several large errors.
    assert!(broken.accuracy < Some(1.0), "{broken:?}");
    let early = row(&analysis.rows, 29, "truncate-then-multiply", "random");
    assert_eq!(early.e1_per_item, Some(0.0));
    let fine = row(&analysis.rows, 12, "multiply-then-truncate", "random");
    assert!(fine.e1_probability < Some(1e-9), "{fine:?}");
    assert!(
        fine.agreement >= Some(0.95) && fine.layer.is_some(),
        "{fine:?}"
    );
}

#[test]
fn what_leaves_the_ring_is_refused_with_its_layer() {
    let analysis = analyse(32, &[8, 16], &labels()).expect("an analysis");
    for masks in ["random", "fixed (insecure)"] {
        let refused = row(&analysis.rows, 16, "multiply-then-truncate", masks);
        let why = refused.refused.as_deref().unwrap_or_default();
        assert!(why.contains("layer '"), "{refused:?}");
        assert_eq!((refused.accuracy, refused.e1_per_item), (None, None));
    }
    assert!(row(&analysis.rows, 16, "truncate-then-multiply", "random").accuracy > Some(0.5));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for (ring, bits, labels, why) in [
        (31, vec![8], labels(), "rings have 32 or 64 bits"),
        (64, vec![], labels(), "none are given"),
        (32, vec![8, 29], labels(), "2..=28"),
        (64, vec![8], vec![1, 2], "there are 2 for 40 items"),
    ] {
        let error = analyse(ring, &bits, &labels).expect_err("refused");
        assert!(error.to_string().contains(why), "{error}");
    }
}
