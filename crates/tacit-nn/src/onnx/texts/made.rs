//! Numbers, and other texts, that stand for texts.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::{Change, Given, MAX_TEXTS, Text, check_pairs, checked, known};
use crate::graph::{Classes, Input, Lookup, Op, Texts, ValueId, Weights, len};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value, bad, unsupported};
use crate::onnx::compose::Composer;
use crate::onnx::constant::{Constant, Data, bounded_len};
use crate::onnx::kind::DataType;
use crate::onnx::tables::{default, numbers_of, whole_default};
use crate::onnx::token;

/// Texts that a node reads: each, their item shape, and the place of the batch axis of those that inputs give.
type Read<'a> = (&'a [Text], &'a [usize], Option<usize>);

/// Input `i` as texts.
fn read<'a>(call: &Call<'a>, i: usize) -> Result<Read<'a>, Fault> {
    match call.required(i)? {
        Value::Texts { each, shape, batch } => Ok((each, shape, *batch)),
        _ => unsupported(format!("its input {i} is no text and another is one")),
    }
}

/// The texts of an attribute.
fn texts(call: &Call, name: &str) -> Result<Vec<String>, Fault> {
    let given = call.attribute(name).map_or(&[][..], |a| &a.strings);
    let texts = given.iter().map(|bytes| checked(bytes));
    let texts = texts.collect::<Result<Vec<_>, _>>();
    texts.map_err(|why| Fault::Unsupported(format!("its '{name}': {why}")))
}

/// Numbers that stand for texts.
struct Rows<'a> {
    /// The texts that are told apart.
    keys: BTreeSet<String>,
    /// The numbers for a text, or for one that is no key.
    row: &'a dyn Fn(Option<&str>) -> Vec<f32>,
    /// How many these are, along a new last axis; of one number a text there is no such axis.
    columns: Option<usize>,
    /// Whether a text that is no key must not be given.
    strict: bool,
    /// The type of the numbers.
    kind: DataType,
}

/// OneHotEncoder: for every text a row of zeros with a 1 at the place of its category. One that is none has zeros,
/// or is refused when it is given.
pub(super) fn one_hot(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let categories = texts(call, "cats_strings")?;
    let keys: BTreeSet<String> = categories.iter().cloned().collect();
    if categories.is_empty() || keys.len() != categories.len() {
        return bad("it has no categories of texts, or one of them twice");
    }
    let is = |text: Option<&str>, category: &String| f32::from(u8::from(text == Some(category)));
    let row = |text: Option<&str>| categories.iter().map(|c| is(text, c)).collect();
    let rows = Rows {
        keys,
        row: &row,
        columns: Some(categories.len()),
        strict: call.int("zeros", 1) == 0,
        kind: DataType::Float,
    };
    let value = rows.of(call, builder, read(call, 0)?)?;
    if let Value::Secret { id, .. } = value {
        builder.truths.insert(id);
    }
    Ok(value)
}

/// LabelEncoder of texts: a number for each, or another text.
pub(super) fn encoded(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let old = texts(call, "classes_strings")?;
    let (keys, values) = match old.is_empty() {
        true => (texts(call, "keys_strings")?, values(call)?),
        // Of equal texts the last counts there.
        false => {
            let places = (0..old.len()).rev().map(|at| at as f32).collect();
            let old = old.into_iter().rev().collect();
            (old, (places, whole_default(call), DataType::Signed(64)))
        }
    };
    let others = texts(call, "values_strings")?;
    if !others.is_empty() {
        return relabelled(call, &keys, &others);
    }
    numbered(call, builder, &keys, values)
}

/// CategoryMapper of texts: an integer for each.
pub(super) fn mapped(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (mut keys, mut values) = (texts(call, "cats_strings")?, numbers_of(call, "cats")?);
    // Of equal texts the last counts.
    keys.reverse();
    values.reverse();
    numbered(
        call,
        builder,
        &keys,
        (values, whole_default(call), DataType::Signed(64)),
    )
}

/// A number for each text; one for all others.
fn numbered(
    call: &Call,
    builder: &mut Builder,
    keys: &[String],
    (values, default, kind): (Vec<f32>, f32, DataType),
) -> Result<Value, Fault> {
    if keys.is_empty() || keys.len() != values.len() {
        let (keys, values) = (keys.len(), values.len());
        return bad(format!("it has {keys} keys of texts and {values} values"));
    }
    if let Some(v) = values.iter().chain([&default]).find(|v| !v.is_finite()) {
        return unsupported(format!("one of its values is {v}; numbers must be finite"));
    }
    // Of equal keys the first counts.
    let pairs = keys.iter().zip(&values).rev();
    let known: BTreeMap<&str, f32> = pairs.map(|(key, &value)| (&key[..], value)).collect();
    let of = |text: &str| known.get(text).copied();
    let row = |text: Option<&str>| vec![text.and_then(of).unwrap_or(default)];
    let rows = Rows {
        keys: keys.iter().cloned().collect(),
        row: &row,
        columns: None,
        strict: false,
        kind,
    };
    rows.of(call, builder, read(call, 0)?)
}

/// The numbers of a LabelEncoder, that of other texts, and their type.
fn values(call: &Call) -> Result<(Vec<f32>, f32, DataType), Fault> {
    let values = numbers_of(call, "values")?;
    let whole = call.attribute("values_int64s").is_some();
    let kind = if whole {
        DataType::Signed(64)
    } else {
        DataType::Float
    };
    Ok((values, default(call)?, kind))
}

/// Texts with others in their place.
fn relabelled(call: &Call, keys: &[String], values: &[String]) -> Result<Value, Fault> {
    if keys.is_empty() || keys.len() != values.len() {
        return bad("its keys and values of texts are not as many");
    }
    let pairs = keys.iter().cloned().zip(values.iter().cloned());
    let next = Change {
        of: pairs.rev().collect(),
        others: Some(call.text("default_string", "_Unused")),
    };
    let changed = |text: &Text| match text {
        Text::Known(text) => Text::Known(next.apply(Some(text)).unwrap_or(text).into()),
        Text::Given(given) => Text::Given(Given {
            change: Rc::new(given.change.then(&next)),
            ..given.clone()
        }),
    };
    let (each, shape, batch) = read(call, 0)?;
    check_pairs(each.len(), keys.len())?;
    Ok(Value::Texts {
        each: each.iter().map(changed).collect(),
        shape: shape.to_vec(),
        batch,
    })
}

/// LabelEncoder of numbers that the file gives: the texts that stand for them.
pub(super) fn written(call: &Call) -> Result<Value, Fault> {
    let constant = call.constant(0)?;
    let (keys, values) = (numbers_of(call, "keys")?, texts(call, "values_strings")?);
    if keys.is_empty() || keys.len() != values.len() {
        return bad("its keys and values are not as many");
    }
    let default = call.text("default_string", "_Unused");
    let text = |v: &f32| {
        let at = keys.iter().position(|key| key == v);
        known(at.map_or(&default, |at| &values[at]).as_bytes())
    };
    let each = constant.data.floats().iter().map(text).collect();
    Ok(Value::Texts {
        each: each_of(each)?,
        shape: constant.shape.clone(),
        batch: None,
    })
}

fn each_of(each: Result<Vec<Text>, String>) -> Result<Vec<Text>, Fault> {
    each.map_err(Fault::Unsupported)
}

/// Equal of texts with one that the file gives.
pub(super) fn equal(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    let (a, b) = (read(call, 0)?, read(call, 1)?);
    let (given, Some(key)) = (match (one_known(a), one_known(b)) {
        (_, Some(key)) => (a, Some(key)),
        (key, None) => (b, key),
    }) else {
        return unsupported("it compares texts of inputs with each other");
    };
    let row = |text: Option<&str>| vec![f32::from(u8::from(text == Some(key)))];
    let rows = Rows {
        keys: [key.to_string()].into(),
        row: &row,
        columns: None,
        strict: false,
        kind: DataType::Bool,
    };
    let value = rows.of(call, builder, given)?;
    if let Value::Secret { id, .. } = value {
        builder.truths.insert(id);
    }
    Ok(value)
}

/// The text that all texts of a value are, if the file gives it.
fn one_known((each, ..): Read<'_>) -> Option<&str> {
    let (first, rest) = each.split_first()?;
    match first {
        Text::Known(text) if rest.iter().all(|other| other == first) => Some(text),
        _ => None,
    }
}

/// Where: texts of an input with one of the file in place of some of them, as the text itself tells.
pub(super) fn chosen(call: &Call, builder: &mut Builder) -> Result<Value, Fault> {
    const WHY: &str = "it chooses between texts by more than one text of an input tells";
    let Value::Secret { id, .. } = call.required(0)? else {
        return unsupported(WHY);
    };
    let (yes, no) = (read(call, 1)?, read(call, 2)?);
    let ((each, shape, batch), key, puts) = match (one_known(yes), one_known(no)) {
        (Some(key), None) => (no, key, 1.0),
        (None, Some(key)) => (yes, key, 0.0),
        _ => return unsupported(WHY),
    };
    let given = token::Given::of(builder, *id);
    let Some((lookup, places)) = given.and_then(|g| Some((g.lookup?, g.places))) else {
        return unsupported(WHY);
    };
    if places.len() != each.len() {
        return unsupported(WHY);
    }
    let start = start_of(builder, lookup.input);
    let Some(known) = builder.inputs[lookup.input].texts.clone() else {
        return unsupported(WHY);
    };
    check_pairs(each.len(), known.classes())?;
    let changed = |(text, &place): (&Text, &u32)| {
        let at = lookup.start + place as usize - start;
        let (Text::Given(given), true) = (text, lookup.table.len() == known.classes()) else {
            return unsupported(WHY);
        };
        if (given.input, given.place) != (lookup.input, at) {
            return unsupported(WHY);
        }
        let put = |class: usize, text: Option<&str>| match lookup.table[class] == puts {
            true => Some(key.to_string()),
            false => given.change.apply(text).map(str::to_string),
        };
        let texts = known.known.iter().enumerate();
        let of = texts.filter_map(|(at, text)| Some((text.clone(), put(at, Some(text))?)));
        let change = Change {
            of: of.collect(),
            others: known.others.then(|| put(known.known.len(), None)).flatten(),
        };
        Ok(Text::Given(Given {
            change: Rc::new(change),
            ..given.clone()
        }))
    };
    let each = each.iter().zip(&places).map(changed);
    Ok(Value::Texts {
        each: each.collect::<Result<_, _>>()?,
        shape: shape.to_vec(),
        batch,
    })
}

/// Places of largest numbers by the texts that the file gives for them; `None` of another node.
pub(super) fn named(call: &Call) -> Option<Result<Value, Fault>> {
    let (
        Value::Texts {
            each, batch: None, ..
        },
        place @ Value::Clear { tail, classes, .. },
    ) = (call.input(0)?, call.input(1)?)
    else {
        return None;
    };
    let chooses = ["ArrayFeatureExtractor", "Gather"].contains(&&call.node.op_type[..]);
    let of = tail.last().filter(|step| step.function.is_arg_max());
    let finds = classes.is_none() && of.is_some_and(|of| of.size == each.len());
    let name = |text: &Text| match text {
        Text::Known(text) => Some(text.to_string()),
        Text::Given(_) => None,
    };
    let names = each.iter().map(name).collect::<Option<Vec<_>>>();
    Some(match names {
        Some(names) if chooses && finds => Ok(place.clone().called(Some(Classes::Strings(names)))),
        _ => unsupported("it names by texts what is no place of a largest number"),
    })
}

/// Where the texts of an input begin among the numbers of an item.
fn start_of(builder: &Builder, input: usize) -> usize {
    let before = builder.inputs[..input].iter();
    before.map(Input::row_len).sum()
}

impl Rows<'_> {
    /// The numbers for these texts.
    fn of(&self, call: &Call, builder: &mut Builder, texts: Read) -> Result<Value, Fault> {
        let (each, shape, batch) = texts;
        let n = self.columns.unwrap_or(1);
        let made = [shape, self.columns.as_slice()].concat();
        check_pairs(each.len(), self.keys.len())?;
        builder.reserve(bounded_len(&made)?)?;
        let Some(batch) = batch else {
            return self.known(each, made).map(Value::Constant);
        };
        self.want(builder, each)?;
        let mut groups: BTreeMap<&Given, Vec<usize>> = BTreeMap::new();
        for (at, text) in each.iter().enumerate() {
            match text {
                Text::Given(given) => groups.entry(given).or_default().push(at),
                Text::Known(_) => {
                    return unsupported("it reads texts of the file beside an input's");
                }
            }
        }
        let mut index = vec![0; each.len() * n];
        let mut parts: Vec<ValueId> = Vec::new();
        for (group, (given, places)) in groups.iter().enumerate() {
            parts.push(self.lookup(call, builder, given)?);
            for &place in places {
                let of = |column: usize| (group * n + column) as u32;
                (0..n).for_each(|column| index[place * n + column] = of(column));
            }
        }
        let mut c = Composer::new(call, builder);
        let all = match parts[..] {
            [one] => one,
            _ => c.node(
                "texts",
                Op::Concat { outer: 1 },
                &parts,
                vec![parts.len() * n],
            )?,
        };
        let op = Op::Rearrange { index, fill: 0.0 };
        let id = c.node("rows", op, &[all], made.clone())?;
        let shape = made;
        Ok(Value::Secret { id, shape, batch })
    }

    /// The numbers for texts that the file gives.
    fn known(&self, each: &[Text], shape: Vec<usize>) -> Result<Constant, Fault> {
        let mut numbers = Vec::new();
        for text in each {
            match text {
                Text::Known(text) => numbers.extend((self.row)(Some(text))),
                Text::Given(_) => return unsupported("it reads texts of inputs without a batch"),
            }
        }
        debug_assert_eq!(numbers.len(), len(&shape));
        Ok(Constant {
            shape,
            kind: self.kind,
            data: match self.kind.is_float() {
                true => Data::Float(numbers.into()),
                false => Data::Int(numbers.iter().map(|&v| v as i64).collect()),
            },
        })
    }

    /// Asks for another look at the file, where more must be known of inputs than is.
    fn want(&self, builder: &mut Builder, each: &[Text]) -> Result<(), Fault> {
        let mut wants = false;
        for text in each {
            let Text::Given(given) = text else { continue };
            let told = given.change.sources(self.keys.iter());
            let strict = self.strict && given.change.others.is_none();
            let now = builder.inputs[given.input].texts.clone();
            let now = now.unwrap_or_default();
            let lacks = |text: &String| now.known.binary_search(text).is_err();
            if now.classes() > 0 && !told.iter().any(lacks) && !(strict && now.others) {
                continue;
            }
            wants = true;
            let others = now.others || now.known.is_empty();
            let wanted = builder.wanted_texts.get(&given.input).cloned();
            let wanted = wanted.unwrap_or(Texts { others, ..now });
            let known: BTreeSet<_> = wanted.known.into_iter().chain(told).collect();
            if known.len() > MAX_TEXTS {
                return unsupported(format!("an input has more than {MAX_TEXTS} texts"));
            }
            let texts = Texts {
                known: known.into_iter().collect(),
                others: wanted.others && !strict,
            };
            builder.wanted_texts.insert(given.input, texts);
        }
        match wants {
            false => Ok(()),
            true => unsupported("it needs the texts that its inputs may hold"),
        }
    }

    /// The numbers for one text of an input.
    fn lookup(&self, call: &Call, builder: &mut Builder, given: &Given) -> Result<ValueId, Fault> {
        let texts = builder.inputs[given.input]
            .texts
            .clone()
            .unwrap_or_default();
        let n = self.columns.unwrap_or(1);
        builder.reserve(texts.classes().saturating_mul(n))?;
        let known = texts.known.iter().map(|text| Some(&text[..]));
        let all = known.chain(texts.others.then_some(None));
        let row = |text: Option<&str>| (self.row)(given.change.apply(text));
        let table: Weights = all.flat_map(row).collect();
        let lookup = Lookup {
            input: given.input,
            start: start_of(builder, given.input) + given.place,
            tokens: 1,
            classes: texts.classes(),
            n,
            table,
        };
        let mut c = Composer::new(call, builder);
        c.node("text", Op::Lookup(lookup), &[0], vec![n])
    }
}
