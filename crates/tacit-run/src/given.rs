//! What is given to a model: an array, or one for each input by its name.

use std::borrow::Cow;
use std::path::Path;

use tacit_nn::Plan;
use tacit_nn::graph::Input;

use crate::outputs::is_npz;
use crate::{Error, Tensor, npy, npz};

/// Arrays of numbers that are given to a model: one, or one for each input.
pub(crate) enum Numbers {
    One(Array),
    /// An array for each input by its name, as the model's file lays them out.
    Named(Vec<(String, Array<Held>)>),
}

/// The numbers of an array, or what else it holds, and its shape.
pub type Array<T = Vec<f32>> = (T, Vec<usize>);

/// What an array holds that is given by an input's name.
pub enum Held {
    /// Numbers, in row-major order.
    Numbers(Vec<f32>),
    /// Texts, of which the model knows some.
    Texts(Vec<String>),
}

/// What is given to a model.
#[derive(Clone, Copy)]
pub enum Given<'a> {
    /// One item after the other: of several inputs, each item one row.
    Rows(Tensor<'a>),
    /// An array for each input by its name, as the model's file lays it out.
    Named(&'a [(String, Array<Held>)]),
}

impl<'a> From<Tensor<'a>> for Given<'a> {
    fn from(x: Tensor<'a>) -> Self {
        Given::Rows(x)
    }
}

impl Numbers {
    /// The numbers of an `.npy` file, or of the arrays of an `.npz` file; NaN where one is missing.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        if !is_npz(path) {
            let (values, shape) = npy::read_floats(path)?;
            check_finite(path, "", &values, &shape)?;
            return Ok(Numbers::One((values, shape)));
        }
        let mut arrays: Vec<(String, Array<Held>)> = Vec::new();
        for (name, bytes) in npz::read(path)? {
            let refused = |why| Error::file(path, format!("its array '{name}': {why}"));
            if let Some((texts, shape)) = npy::parse_texts(&bytes).map_err(refused)? {
                arrays.push((name, (Held::Texts(texts), shape)));
                continue;
            }
            let (values, shape) = npy::parse_floats(&bytes).map_err(refused)?;
            check_finite(path, &format!("its array '{name}': "), &values, &shape)?;
            arrays.push((name, (Held::Numbers(values), shape)));
        }
        match arrays.is_empty() {
            true => Err(Error::file(path, "it holds no arrays")),
            false => Ok(Numbers::Named(arrays)),
        }
    }

    pub(crate) fn given(&self) -> Given<'_> {
        match self {
            Numbers::One((values, shape)) => Given::Rows(Tensor { values, shape }),
            Numbers::Named(arrays) => Given::Named(arrays),
        }
    }
}

impl Given<'_> {
    /// How many items there are, as far as that is clear without the model: arrays may have their items along
    /// another axis than the first.
    pub(crate) fn likely_items(&self) -> Option<u64> {
        match self {
            Given::Rows(x) => Some(x.items()),
            Given::Named(arrays) => {
                let mut items = arrays.iter().map(|(_, (_, shape))| shape.first());
                let first = items.next().flatten()?;
                let same = items.all(|other| other == Some(first));
                same.then_some(*first as u64)
            }
        }
    }

    /// Whether some numbers are missing.
    pub(crate) fn has_missing(&self) -> bool {
        let in_any = |values: &[f32]| values.iter().any(|v| v.is_nan());
        match self {
            Given::Rows(x) => in_any(x.values),
            Given::Named(arrays) => arrays.iter().any(|(_, (held, _))| match held {
                Held::Numbers(values) => in_any(values),
                Held::Texts(_) => false,
            }),
        }
    }

    /// How many items there are of a plan's inputs.
    pub(crate) fn items(&self, plan: &Plan) -> Result<u64, Error> {
        match self {
            Given::Rows(x) => Ok(x.items()),
            Given::Named(arrays) => Ok(parts(arrays, &inputs(plan))?.0 as u64),
        }
    }

    /// The rows of a model with these inputs.
    pub(crate) fn rows(&self, inputs: &[&Input]) -> Result<Array, Error> {
        match self {
            Given::Rows(x) => Ok((x.values.to_vec(), x.shape.to_vec())),
            Given::Named(arrays) => rows(arrays, inputs),
        }
    }

    /// The numbers that are shared of what is given, by a plan.
    pub(crate) fn encoded(&self, plan: &Plan) -> Result<Vec<i64>, Error> {
        if let Given::Rows(x) = self {
            return Ok(plan.encode_input(x.values, x.shape)?);
        }
        let (values, shape) = self.rows(&inputs(plan))?;
        Ok(plan.encode_input(&values, &shape)?)
    }
}

fn inputs(plan: &Plan) -> Vec<&Input> {
    plan.inputs.iter().map(|planned| &planned.input).collect()
}

fn check_finite(path: &Path, what: &str, values: &[f32], shape: &[usize]) -> Result<(), Error> {
    match (Tensor { values, shape }).beyond() {
        None => Ok(()),
        Some(why) => Err(Error::file(path, format!("{what}{why}"))),
    }
}

/// The numbers that are given for what an array holds.
type Numbered<'a> = Cow<'a, [f32]>;

/// How many items there are, and the numbers of every input as the model's file lays them out.
fn parts<'a>(
    arrays: &'a [(String, Array<Held>)],
    inputs: &[&Input],
) -> Result<(usize, Vec<Numbered<'a>>), Error> {
    let refused = |why: String| Err(Error::setting("input", why));
    let known = |name: &String| inputs.iter().any(|input| input.name == *name);
    if let Some((name, _)) = arrays.iter().find(|(name, _)| !known(name)) {
        let names: Vec<&str> = inputs.iter().map(|input| &input.name[..]).collect();
        let names = names.join("', '");
        return refused(format!(
            "the model reads no input '{name}'; it reads '{names}'"
        ));
    }
    let (mut items, mut parts) = (None, Vec::new());
    for input in inputs {
        let found = arrays.iter().find(|(name, _)| *name == input.name);
        let Some((name, (held, shape))) = found else {
            return refused(format!("there is no array for the input '{}'", input.name));
        };
        let mut item = shape.clone();
        let own = (input.batch < item.len()).then(|| item.remove(input.batch));
        let Some(own) = own.filter(|_| item == input.shape) else {
            return refused(format!(
                "the array of '{name}' has the shape {shape:?}; items of shape {:?} are needed, stacked \
                 along axis {}",
                input.shape, input.batch
            ));
        };
        if *items.get_or_insert(own) != own {
            return refused(format!(
                "the array of '{name}' has {own} items, that of another input {}",
                items.unwrap_or(0)
            ));
        }
        parts.push(numbers(name, held, input)?);
    }
    Ok((items.unwrap_or(0), parts))
}

/// The numbers that are given for what an array holds. An error shows no text: it is its owner's secret.
fn numbers<'a>(name: &str, held: &'a Held, input: &Input) -> Result<Numbered<'a>, Error> {
    let fail = |why: String| Error::setting("input", why);
    let refused = |why| Err(fail(why));
    match (held, &input.texts) {
        (Held::Numbers(values), None) => Ok(Cow::Borrowed(values)),
        (Held::Numbers(_), Some(_)) => refused(format!(
            "the array of '{name}' holds numbers, and the model takes texts"
        )),
        (Held::Texts(_), None) => refused(format!(
            "the array of '{name}' holds texts, and the model takes numbers"
        )),
        (Held::Texts(texts), Some(known)) => {
            let number = |(at, text): (usize, &String)| {
                let number = known.number(text).map(|number| number as f32);
                number.ok_or_else(|| {
                    fail(format!(
                        "element {at} of the array of '{name}' is none of the texts that the model knows: '{}'",
                        known.known.join("', '")
                    ))
                })
            };
            texts.iter().enumerate().map(number).collect()
        }
    }
}

/// Items as rows, of arrays by the names of all inputs.
fn rows(arrays: &[(String, Array<Held>)], inputs: &[&Input]) -> Result<Array, Error> {
    let (items, parts) = parts(arrays, inputs)?;
    let row: usize = inputs.iter().map(|input| input.given_len()).sum();
    let mut all = Vec::with_capacity(items * row);
    for item in 0..items {
        for (values, input) in parts.iter().zip(inputs) {
            // Blocks of an item stand apart where the batch is not the first axis.
            let inner: usize = input.shape[input.batch..].iter().product();
            let blocks = input.given_len() / inner.max(1);
            let block = |b: usize| &values[(b * items + item) * inner..][..inner];
            (0..blocks).for_each(|b| all.extend_from_slice(block(b)));
        }
    }
    let shape = match inputs {
        [one] => [&[items], &one.shape[..]].concat(),
        _ => vec![items, row],
    };
    Ok((all, shape))
}

#[cfg(test)]
mod tests {
    use tacit_nn::graph::Texts;

    use super::*;

    fn arrays() -> Vec<(String, Array<Held>)> {
        let mask = (Held::Numbers(vec![1.0, 0.0]), vec![2, 1]);
        let x = (Held::Numbers(vec![1.0, 2.0, 3.0, 4.0]), vec![2, 2]);
        vec![("mask".into(), mask), ("x".into(), x)]
    }

    /// A text is its place among those that the model knows, any other the place behind them; errors show none.
    #[test]
    fn texts_become_numbers() {
        let texts = |others| Input {
            texts: Some(Texts {
                known: vec!["a".into(), "b".into()],
                others,
            }),
            ..Input::numbers("port", &[1])
        };
        let given = || Held::Texts(["b", "secret", "a"].map(String::from).to_vec());
        let arrays = [("port".to_string(), (given(), vec![3, 1]))];
        let found = rows(&arrays, &[&texts(true)]).expect("others are taken");
        assert_eq!(found, (vec![1.0, 2.0, 0.0], vec![3, 1]));
        let refused = rows(&arrays, &[&texts(false)]).expect_err("none of the known ones");
        let told = refused.to_string();
        assert!(
            told.contains("element 1") && told.contains("'a', 'b'"),
            "{told}"
        );
        assert!(!told.contains("secret"), "{told}");
        let told = rows(&arrays, &[&Input::numbers("port", &[1])]);
        let told = told.expect_err("numbers are needed").to_string();
        assert!(told.contains("holds texts"), "{told}");
        let numbers = [("port".to_string(), (Held::Numbers(vec![1.0]), vec![1, 1]))];
        let told = rows(&numbers, &[&texts(true)]).expect_err("texts are needed");
        assert!(told.to_string().contains("takes texts"), "{told}");
    }

    /// Arrays are put together in the order of the inputs, whatever theirs is.
    #[test]
    fn arrays_become_rows() {
        let inputs = [Input::numbers("x", &[2]), Input::numbers("mask", &[1])];
        let found = rows(&arrays(), &inputs.each_ref());
        let expected = (vec![1.0, 2.0, 1.0, 3.0, 4.0, 0.0], vec![2, 3]);
        assert_eq!(found.expect("they fit"), expected);
    }

    #[test]
    fn arrays_that_are_no_inputs_are_refused() {
        let error = |names: [&str; 2], shape: &[usize]| {
            let inputs = names.map(|name| Input::numbers(name, shape));
            let refused = rows(&arrays(), &inputs.each_ref());
            refused.expect_err("they do not fit").to_string()
        };
        let text = error(["x", "y"], &[2]);
        assert!(
            text.contains("reads no input 'mask'; it reads 'x', 'y'"),
            "{text}"
        );
        let text = error(["x", "mask"], &[2]);
        assert!(text.contains("'mask' has the shape [2, 1]"), "{text}");
        let mut uneven = arrays();
        uneven[0].1 = (Held::Numbers(vec![1.0]), vec![1, 1]);
        let inputs = [Input::numbers("x", &[2]), Input::numbers("mask", &[1])];
        let text = rows(&uneven, &inputs.each_ref());
        let text = text.expect_err("1 and 2 items").to_string();
        assert!(
            text.contains("'mask' has 1 items, that of another input 2"),
            "{text}"
        );
    }

    /// Items may stand along another axis, as of a state whose batch is its second axis.
    #[test]
    fn items_may_stand_along_another_axis() {
        let state = Held::Numbers(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let inputs = [Input {
            batch: 1,
            ..Input::numbers("state", &[3])
        }];
        let found = rows(&[("state".into(), (state, vec![3, 2]))], &inputs.each_ref());
        let expected = (vec![1.0, 3.0, 5.0, 2.0, 4.0, 6.0], vec![2, 3]);
        assert_eq!(found.expect("they fit"), expected);
    }
}
