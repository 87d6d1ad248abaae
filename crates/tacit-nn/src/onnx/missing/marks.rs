//! Numbers of inputs that may be missing, which are given as NaN.
//!
//! Their owner shares 0 for such a number, and a mark beside it. Imputers, IsNaN, choices by it and branches of trees
//! say what becomes of a missing number by its mark. Where one reaches an output by another way the file makes NaN of
//! it, and it may not be missing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use crate::graph::{Affine, FILL, Input, InputKind, Missing, Op, ValueId, marks};
use crate::onnx::builder::Builder;
use crate::onnx::call::{Call, Fault, Value};
use crate::onnx::compose::Composer;

/// Where the elements of a value come from: the place in the row of the number that each is made of alone, by moves, factors
/// and terms, or [`FILL`]; and what it is of a 0.
#[derive(Clone, Default)]
pub(in crate::onnx) struct Origins {
    pub places: Vec<u32>,
    pub zeros: Vec<f32>,
}

/// Elements that stand for missing numbers by their marks: of which value they are made otherwise, and which of its
/// elements they stand for.
pub(in crate::onnx) struct Settled {
    pub of: ValueId,
    pub done: Vec<bool>,
    /// Whether every element is made of those at its own place, as an imputer makes them; else each may be made of all,
    /// as the bits of trees are.
    pub each: bool,
}

/// What was asked for missing numbers while a file was read.
#[derive(Default)]
pub(in crate::onnx) struct Marks {
    /// For every number of the row that may be missing, the place of its mark.
    pub(super) places: HashMap<u32, u32>,
    /// What the elements of the row come from.
    row: Rc<Origins>,
    /// The places of the row whose numbers something says what becomes of if they are missing, with the bits that a mark
    /// must have.
    pub(super) wanted: BTreeMap<u32, u32>,
    /// Values that say what becomes of missing numbers.
    pub(super) settled: HashMap<ValueId, Settled>,
    /// Values of which it was said that no element of theirs is missing but for those of numbers.
    pub(super) denied: Vec<(ValueId, Vec<bool>)>,
    /// Truths that say which numbers are missing, by the places of these.
    truths: HashMap<ValueId, Vec<u32>>,
}

impl Marks {
    /// Nothing was asked yet for numbers of these inputs.
    pub(in crate::onnx) fn new(inputs: &[Input]) -> Self {
        Marks {
            places: marks(inputs).collect(),
            row: Rc::new(Origins::of_row(inputs)),
            ..Marks::default()
        }
    }
}

impl Builder {
    /// Where the elements of a value come from.
    pub(in crate::onnx) fn origins(&self, id: ValueId) -> Rc<Origins> {
        let (mut needed, mut open) = (BTreeSet::new(), vec![id]);
        while let Some(id) = open.pop() {
            if needed.insert(id) && id > 0 && !self.absent.settled.contains_key(&id) {
                let node = &self.nodes[id - 1];
                if matches!(
                    node.op,
                    Op::Rearrange { .. } | Op::Concat { .. } | Op::Affine(_)
                ) {
                    open.extend(&node.inputs);
                }
            }
        }
        let mut found: HashMap<ValueId, Rc<Origins>> = HashMap::new();
        for at in needed {
            let made = self.origins_by(at, &found);
            found.insert(at, made);
        }
        found.remove(&id).unwrap_or_default()
    }

    fn origins_by(&self, id: ValueId, found: &HashMap<ValueId, Rc<Origins>>) -> Rc<Origins> {
        let Some(at) = id.checked_sub(1) else {
            return self.absent.row.clone();
        };
        let node = &self.nodes[at];
        let mut made = Origins::none(self.len(id));
        if self.absent.settled.contains_key(&id) {
            return Rc::new(made);
        }
        match &node.op {
            Op::Rearrange { index, .. } => {
                let of = &found[&node.inputs[0]];
                let moved = index.iter().enumerate().filter(|&(_, &from)| from != FILL);
                moved.for_each(|(to, &from)| made.take(to, of, from as usize));
            }
            Op::Concat { outer } => {
                let parts: Vec<&Rc<Origins>> = node.inputs.iter().map(|id| &found[id]).collect();
                let sizes = parts.iter().map(|part| part.places.len() / outer);
                each_of(&sizes.collect::<Vec<_>>(), *outer, |to, part, from| {
                    made.take(to, parts[part], from);
                });
            }
            Op::Affine(affine) => {
                let of = &found[&node.inputs[0]];
                for e in 0..made.places.len() {
                    let [scale, shift] = of_affine(affine, e);
                    // What is left of a number times 0 may be one that a choice took in its place.
                    if scale != 0.0 {
                        made.take(e, of, e);
                        made.zeros[e] = made.zeros[e] * scale + shift;
                    }
                }
            }
            _ => {}
        }
        Rc::new(made)
    }

    /// Notes that it is said of numbers what becomes of them if they are missing, by marks of so many bits.
    pub(in crate::onnx) fn want_marks(&mut self, places: &[u32], bits: u32) {
        for &place in places.iter().filter(|&&place| place != FILL) {
            let wanted = self.absent.wanted.entry(place).or_default();
            *wanted = (*wanted).max(bits);
        }
    }

    /// Notes that a value's elements are made by the marks of the numbers that they are made of.
    pub(in crate::onnx) fn settle(&mut self, id: ValueId, settled: Settled) {
        self.absent.settled.insert(id, settled);
    }

    /// Notes that no element of a value is taken to be missing where it is made of no number alone.
    pub(in crate::onnx) fn deny_missing(&mut self, id: ValueId, origins: &Origins) {
        let known = origins.places.iter().map(|&place| place != FILL);
        let known = known.collect();
        self.absent.denied.push((id, known));
    }

    /// Notes that a value says which numbers of the row are missing.
    pub(in crate::onnx) fn note_missing(&mut self, id: ValueId, places: Vec<u32>) {
        self.absent.truths.insert(id, places);
    }

    /// The numbers of the row that truths say are missing, or say are not.
    pub(in crate::onnx) fn told_missing(&self, id: ValueId) -> Option<(Vec<u32>, bool)> {
        let (at, index) = self.moved_from(id);
        if at == 0 {
            let own = self.absent.places.iter();
            let numbers: HashMap<u32, u32> = own.map(|(&number, &mark)| (mark, number)).collect();
            let told = index.iter().map(|mark| numbers.get(mark).copied());
            return Some((told.collect::<Option<_>>()?, true));
        }
        if let Some(places) = self.absent.truths.get(&at) {
            let moved = index.iter().map(|&i| places[i as usize]);
            return Some((moved.collect(), true));
        }
        let node = &self.nodes[at.checked_sub(1)?];
        let &[ones, truth] = &node.inputs[..] else {
            return None;
        };
        let of_ones = ones.checked_sub(1).map(|at| &self.nodes[at]);
        let are_ones = of_ones.is_some_and(|node| {
            matches!(&node.op, Op::Rearrange { fill, .. } if *fill == 1.0) && node.is_fill()
        });
        if node.op != Op::Sub || !are_ones {
            return None;
        }
        let (places, told) = self.told_missing(truth)?;
        let moved = index.iter().map(|&i| places[i as usize]);
        Some((moved.collect(), !told))
    }
}

impl Origins {
    fn none(len: usize) -> Self {
        Origins {
            places: vec![FILL; len],
            zeros: vec![0.0; len],
        }
    }

    /// The origins of a row: its numbers that are none of categories, truths or whole ones.
    fn of_row(inputs: &[Input]) -> Self {
        let of = |input: &Input| {
            let kinds = (0..input.row_len()).map(|at| input.kind_at(at) == InputKind::Numbers);
            kinds.collect::<Vec<_>>()
        };
        let numbers = inputs.iter().flat_map(of).enumerate();
        let places: Vec<u32> = numbers
            .map(|(place, is_number)| if is_number { place as u32 } else { FILL })
            .collect();
        Origins {
            zeros: vec![0.0; places.len()],
            places,
        }
    }

    /// The origins of elements of which `kept` is true; others have none.
    pub(in crate::onnx) fn only(&self, kept: impl Fn(usize) -> bool) -> Origins {
        let mut only = self.clone();
        let places = only.places.iter_mut().enumerate();
        places
            .filter(|(e, _)| !kept(*e))
            .for_each(|(_, place)| *place = FILL);
        only
    }

    fn take(&mut self, to: usize, of: &Origins, from: usize) {
        (self.places[to], self.zeros[to]) = (of.places[from], of.zeros[from]);
    }
}

/// The marks of elements that come from numbers which may be missing, and 0 for all others; and which have one. `None`
/// where none has.
pub(in crate::onnx) fn marks_of(
    c: &mut Composer,
    origins: &Origins,
    shape: Vec<usize>,
) -> Result<Option<(ValueId, Vec<bool>)>, Fault> {
    let own = &c.builder.absent.places;
    let of = |place: &u32| own.get(place).copied().unwrap_or(FILL);
    let index: Vec<u32> = origins.places.iter().map(of).collect();
    let marked: Vec<bool> = index.iter().map(|&mark| mark != FILL).collect();
    if !marked.contains(&true) {
        return Ok(None);
    }
    let id = c.node("marks", Op::Rearrange { index, fill: 0.0 }, &[0], shape)?;
    Ok(Some((id, marked)))
}

/// What a mark is of element `e`.
pub(in crate::onnx) fn mark(builder: &Builder, origins: &Origins, e: usize) -> f32 {
    let mut start = 0;
    for input in &builder.inputs {
        let end = start + input.row_len() as u32;
        if (start..end).contains(&origins.places[e]) {
            return input.missing.as_ref().map_or(1.0, Missing::mark);
        }
        start = end;
    }
    1.0
}

/// What stands in place of elements of `x` that are missing, and the others as they are.
pub(in crate::onnx) fn in_place_of(
    c: &mut Composer,
    (x, origins): (ValueId, &Origins),
    number: impl Fn(usize) -> f32,
) -> Result<Option<ValueId>, Fault> {
    let shape = c.builder.shape(x);
    let Some((marks, marked)) = marks_of(c, origins, shape)? else {
        return Ok(None);
    };
    let factor = |e: usize| match marked[e] {
        true => (number(e) - origins.zeros[e]) / mark(c.builder, origins, e),
        false => 0.0,
    };
    let scale: Vec<f32> = (0..marked.len()).map(factor).collect();
    let nothing = scale.iter().all(|&factor| factor == 0.0);
    let op = Op::Affine(Affine {
        inner: 1,
        scale: scale.into(),
        shift: [].into(),
    });
    let sum = match nothing {
        true => x,
        false => {
            let instead = c.each("instead", op, &[marks])?;
            c.each("with them", Op::Add, &[x, instead])?
        }
    };
    let id = anew(c, sum)?;
    let settled = Settled {
        of: x,
        done: marked,
        each: true,
    };
    c.builder.settle(id, settled);
    Ok(Some(id))
}

/// A value as it is, as a value of its own: what is said of it is said of no other.
fn anew(c: &mut Composer, x: ValueId) -> Result<ValueId, Fault> {
    let index = (0..c.builder.len(x) as u32).collect();
    let name = format!("{}.with marks", c.name);
    let shape = c.builder.shape(x);
    let op = Op::Rearrange { index, fill: 0.0 };
    c.builder.add_anew(name, op, vec![x], shape)
}

/// Calls `of` with every place of a value, the part of several side by side that it stands in, and its place there.
pub(super) fn each_of(sizes: &[usize], outer: usize, mut of: impl FnMut(usize, usize, usize)) {
    let mut to = 0;
    for o in 0..outer {
        for (part, &size) in sizes.iter().enumerate() {
            for at in o * size..(o + 1) * size {
                of(to, part, at);
                to += 1;
            }
        }
    }
}

/// The factor and the term of an element.
fn of_affine(affine: &Affine, e: usize) -> [f32; 2] {
    let channel = e / affine.inner % affine.channels().max(1);
    let scale = affine.scale.get(channel).copied().unwrap_or(1.0);
    let shift = affine.shift.get(channel).copied().unwrap_or(0.0);
    [scale, shift]
}

/// Notes that no number is taken to be missing of which a node makes constants alone: these are no NaN.
pub(in crate::onnx) fn deny_dropped(call: &Call, made: &[Value], builder: &mut Builder) {
    const OF_SHAPES: [&str; 6] = [
        "EyeLike",
        "IsInf",
        "IsNaN",
        "Shape",
        "SequenceLength",
        "Size",
    ];
    let dropped = made.iter().any(|value| matches!(value, Value::Constant(_)));
    if !dropped || OF_SHAPES.contains(&&call.node.op_type[..]) {
        return;
    }
    for value in call.inputs.iter().flatten() {
        // What is the same for yes and no is right whatever NaN says.
        if let Value::Secret { id, .. } = value
            && !builder.truths.contains(id)
        {
            builder.deny_missing(*id, &Origins::none(builder.len(*id)));
        }
    }
}
