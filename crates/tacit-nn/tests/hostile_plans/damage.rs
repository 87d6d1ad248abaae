//! How a plan is damaged: in its bytes, or in what they mean.

use serde_json::Value;

/// A small public generator (SplitMix64).
pub struct Draw(pub u64);

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

/// A plan, damaged in its bytes or in what they mean.
pub fn damaged(plan: &[u8], draw: &mut Draw) -> Vec<u8> {
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
