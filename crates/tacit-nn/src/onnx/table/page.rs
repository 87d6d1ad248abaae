//! The page `docs/operations.md`.

use super::runtime::RUNTIME;
use super::written::{PREVIEW, PREVIEWED};
use super::{NOW, Operation, STANDARD, TABLES, operations, runtime, tables};

/// The page `docs/operations.md`, made anew by `TACIT_WRITE=1 cargo test -p tacit-nn operations_page`.
pub fn operations_page() -> String {
    let (first, last) = (STANDARD.known.start(), STANDARD.known.end());
    let mut text = format!(
        "# Operations\n\nWhat a model may be made of: ONNX, operator sets {first} to {last}. The importer's own table makes this\npage (`TACIT_WRITE=1 cargo test --release -p tacit-nn --lib operations_page`). Whatever is not here is\nrefused, all nodes of a model at once, and so are other attributes. \"Constants\" are tensors of the file\nand what is computed of them alone. The first axis of the inputs is the batch, or, where those all have\nsizes, the only one without; its items are predicted independently. Where it has a fixed size and a node\nworks across it, or where an input has no axis at all, all inputs are one item instead: what is given has\none more axis then, that of the items. An input may hold texts, columns of categories, which\n`OneHotEncoder`, `LabelEncoder`,\n`CategoryMapper`, `Equal` and `Where` read and others only move: all parties know which texts the\nmodel knows, and which one an item has is shared as a number by its owner. Numbers of an input of floats that are cast to\nwhole ones and choose rows of a constant are categories: any other number is refused where it is given.\nIntegers of up to 16 bits are refused where a file's would wrap; those of 32 and 64 bits never wrap.\n[What of ONNX's own tests runs](operations-suite.md) is counted by operation.\n\n| operation | attributes | supported |\n| --- | --- | --- |\n"
    );
    operations().into_iter().for_each(|op| text += &row(op));
    let (first, last) = (TABLES.known.start(), TABLES.known.end());
    text += &format!(
        "\n## Tables\n\nOf the domain {}, operator sets {first} to {last}, what skl2onnx and onnxmltools\nwrite for scikit-learn, LightGBM and XGBoost. {TABLES_TEXT}\n\n| operation | attributes | supported |\n| --- | --- | --- |\n",
        TABLES.name()
    );
    tables::OPERATIONS.iter().for_each(|op| text += &row(op));
    text += &format!(
        "\n## Previews\n\nOf the domains {PREVIEW} and {PREVIEW}.training, run as the operations of this page that define\nthem.\n\n| operation | attributes | supported |\n| --- | --- | --- |\n"
    );
    PREVIEWED.iter().for_each(|op| text += &row(op));
    text += &format!(
        "\n## ONNX Runtime's own\n\nOf the domain {RUNTIME}: what its optimisers join operations to, and what its quantiser writes. They\nrun as what they were joined from.\n\n| operation | attributes | supported |\n| --- | --- | --- |\n"
    );
    runtime::OPERATIONS.iter().for_each(|op| text += &row(op));
    text
}

/// The names of all operations.
pub(in crate::onnx) fn names() -> String {
    let of = |all: &[Operation]| all.iter().map(|op| op.name).collect::<Vec<_>>().join(", ");
    let standard = operations().iter().map(|op| op.name).collect::<Vec<_>>();
    format!(
        "{}; of {}: {}; of {PREVIEW}: {}; of {RUNTIME}: {}",
        standard.join(", "),
        TABLES.name(),
        of(tables::OPERATIONS),
        of(PREVIEWED),
        of(runtime::OPERATIONS)
    )
}

/// What is said of models of tables.
const TABLES_TEXT: &str = "\
Of trees the plan tells all parties how many there are, their shapes and which column each branch compares;
thresholds and leaves are weights. A column and its threshold are rounded alike: equal numbers stay equal,
whole numbers are told apart exactly, and a value nearer to a threshold than the last fraction bit may take
the other branch. Where classifiers and the standard differ, answers are onnxruntime's, but for the label of
two classes that both have weights: that is the class of the larger score. Where a branch
says which way a missing value takes, or samples hold NaN, a missing value (NaN) of an input takes it, and is refused
elsewhere. Probabilities of SVMClassifier are refused, for libsvm finds them by an iteration; its labels and
decisions are not. ZipMap gives an array, a column for every key in the order of its keys.";

/// The line of an operation.
fn row(op: &Operation) -> String {
    let attributes: Vec<String> = op
        .attributes
        .iter()
        .map(|&(name, _, since, until)| match (since, until) {
            (0, NOW) => name.to_string(),
            (since, NOW) if since <= op.since => name.to_string(),
            (0, until) => format!("{name} (to {until})"),
            (since, _) => format!("{name} (from {since})"),
        })
        .collect();
    let since = match op.since {
        0 => String::new(),
        since => format!(" (from {since})"),
    };
    let remark = if op.remark.is_empty() {
        "yes"
    } else {
        op.remark
    };
    format!(
        "| {}{since} | {} | {remark} |\n",
        op.name,
        attributes.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::GROUPS;
    use super::*;

    #[test]
    fn operations_page_is_that_of_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
        if std::env::var_os("TACIT_WRITE").is_some() {
            std::fs::write(path, operations_page()).expect("docs/operations.md");
        }
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            there == operations_page(),
            "write it anew: see its first lines"
        );
    }

    #[test]
    fn operations_stand_once_and_in_order() {
        let all: Vec<&str> = operations().iter().map(|op| op.name).collect();
        assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
        let more = [tables::OPERATIONS, PREVIEWED, runtime::OPERATIONS];
        for group in GROUPS.into_iter().chain(more) {
            assert!(group.is_sorted_by_key(|op| op.name));
        }
    }
}
