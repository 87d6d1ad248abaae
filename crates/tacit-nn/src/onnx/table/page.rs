//! The page `docs/operations.md`.

use super::{NOW, OPSETS, operations};

/// The page `docs/operations.md`, made anew by `TACIT_WRITE=1 cargo test -p tacit-nn operations_page`.
pub fn operations_page() -> String {
    let (first, last) = (OPSETS.start(), OPSETS.end());
    let mut text = format!(
        "# Operations\n\nWhat a model may be made of: ONNX, operator sets {first} to {last}. The importer's own table makes this\npage (`TACIT_WRITE=1 cargo test --release -p tacit-nn --lib operations_page`). Whatever is not here is\nrefused, all nodes of a model at once, and so are other attributes. \"Constants\" are tensors of the file\nand what is computed of them alone. The first axis of the input is the batch, whose items are predicted\nindependently. Where it has a fixed size and a node works across it, or where the input has no axis at\nall, the whole input is one item instead: what is given has one more axis then, that of the items.\n[What of ONNX's own tests runs](operations-suite.md) is counted by operation.\n\n| operation | attributes | supported |\n| --- | --- | --- |\n"
    );
    for op in operations() {
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
        text += &format!(
            "| {}{since} | {} | {remark} |\n",
            op.name,
            attributes.join(", ")
        );
    }
    text
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
        for group in GROUPS {
            assert!(group.is_sorted_by_key(|op| op.name));
        }
    }
}
