//! The graph that import builds, and what it knows of its values.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::call::{Call, Fault, Value, unsupported};
use super::counts::Limit;
use super::kind::DataType;
use super::missing::marks::Marks;
use super::proto::NodeProto;
use super::quotient::Quotient;
use super::steps::Step;
use super::which;
use crate::graph::{Function, Input, InputKind, Node, Op, Texts, ValueId, Weights, len};
use crate::plan::MAX_LAYERS;

/// The most elements of all values of one item together.
const MAX_VALUES: usize = 1 << 30;
/// The most of these that are needed at once: the memory that a file may ask for.
const MAX_LIVE: usize = 1 << 28;
/// The most places and weights that layers of one item hold beside the file's own numbers.
const MAX_MADE: usize = 1 << 28;

/// The most nodes of the same values with which one is compared.
const MOST_ALIKE: usize = 16;

/// The graph being built.
#[derive(Default)]
pub(super) struct Builder {
    pub nodes: Vec<Node>,
    /// Whether the input is one item, so that no value has a batch axis.
    pub whole: bool,
    /// Whether an input of the file holds doubles.
    pub rounds: bool,
    /// The batch size that is read for a free one, where the input is one item.
    pub items: Option<usize>,
    /// Whether DynamicQuantizeLinear leaves what it takes as it is.
    pub unquantised: bool,
    /// The batch size in the file, where it gives one.
    pub batch: Option<i64>,
    /// The inputs of the model.
    pub inputs: Vec<Input>,
    /// How far from 0 the numbers of inputs of short integers reach, by the inputs' places.
    pub reach: HashMap<usize, f64>,
    /// An input whose numbers must be of another kind than was assumed, and which.
    pub wanted: Option<(usize, InputKind)>,
    /// How many rows some numbers of an input may choose from, by inputs.
    pub wanted_limits: Vec<(usize, Vec<(usize, usize)>)>,
    /// What must be known of inputs of texts, by the inputs.
    pub wanted_texts: BTreeMap<usize, Texts>,
    /// Logarithms and powers of which a mask keeps one half.
    pub halves: HashSet<*const NodeProto>,
    /// Inverses of which only their shares matter.
    pub weights: HashSet<*const NodeProto>,
    /// Nodes whose outputs are seen by softmaxes alone, added to scores, moved or as they are.
    pub hiding: HashSet<*const NodeProto>,
    /// The value `x` of every value `sqrt(x)`.
    pub roots: HashMap<ValueId, ValueId>,
    /// What is raised, for every power of a fraction above 0.
    pub raised: HashMap<ValueId, ValueId>,
    /// For every logarithm of a sum of exponentials: the value that it is taken of, and the size of a row.
    pub log_sums: HashMap<ValueId, (ValueId, usize)>,
    /// For every value of shares: the largest score of each of its lines, and how the lines lie in it.
    pub lines: HashMap<ValueId, (ValueId, [usize; 3])>,
    /// Whether a mask that is computed may hide scores.
    pub hides: std::cell::Cell<bool>,
    /// How much of the graph was looked at for the ends of values.
    pub looked: std::cell::Cell<usize>,
    /// Whether a mask hides by minus infinity, and whether one does by a finite number.
    pub hides_by: [std::cell::Cell<bool>; 2],
    /// The elements of values in the file that a softmax of them leaves out, by the values' names.
    pub masks: HashMap<String, Vec<bool>>,
    /// Values whose elements are all 0 or 1.
    pub truths: HashSet<ValueId>,
    /// Values whose elements are whole numbers by the way they are made.
    pub wholes: HashSet<ValueId>,
    /// Values that are what stands before the point of others, and these.
    pub truncated: HashMap<ValueId, ValueId>,
    /// Values that are others over whole numbers.
    pub quotients: HashMap<ValueId, Quotient>,
    /// Values that are means: of what, of how many rows, and how long these are.
    pub means: HashMap<ValueId, (ValueId, usize, usize)>,
    /// What values are made by of others and constants.
    pub steps: HashMap<ValueId, Step>,
    /// The steps that limits of comparisons were searched for through so far, each element's counted.
    pub searched: usize,
    /// What truths say of values.
    pub limits: HashMap<ValueId, Limit>,
    /// What the elements of rows have beyond their means, by these.
    pub centred: HashMap<ValueId, ValueId>,
    /// Values each of whose elements is one of those of another, and that one.
    pub chosen_from: HashMap<ValueId, ValueId>,
    /// The ends of what rests from a division, of quotients of integers, and of what is chosen of two.
    pub within: HashMap<ValueId, (f64, f64)>,
    /// What was asked for missing numbers.
    pub absent: Marks,
    /// Whether inputs hold missing numbers, whatever the file says of them.
    pub has_missing: bool,
    /// Values of whose rows just one element is 1 and the others are 0.
    pub marks: HashSet<ValueId>,
    /// The elements of all constants so far.
    pub constants: usize,
    /// The tensors of all sequences so far.
    pub sequenced: usize,
    /// The nodes that were read so far, each turn of a loop counted.
    pub visited: usize,
    /// The steps that what was computed of constants took so far.
    pub folded: usize,
    /// The item shape of every value.
    shapes: Vec<Vec<usize>>,
    /// What was made of constants, by their address and how. The constants are kept beside, so that
    /// no address is used again.
    derived: HashMap<(*const f32, String), [Weights; 2]>,
    /// The nodes of an operation's kind that read these values.
    readers: HashMap<(&'static str, Vec<ValueId>), Vec<ValueId>>,
    /// The elements of all values.
    values: usize,
    /// Places and weights beside the file's own.
    made: usize,
}

impl Builder {
    /// Notes what the type of a value says of its elements.
    pub(super) fn note_type(&mut self, kind: Option<DataType>, value: &Value) {
        let (Some(kind), Value::Secret { id, .. }) = (kind, value) else {
            return;
        };
        if kind.is_bool() {
            self.truths.insert(*id);
        } else if !kind.is_float() && !self.unquantised {
            self.wholes.insert(*id);
        }
    }

    /// Elements of one item of a value.
    pub(super) fn len(&self, id: ValueId) -> usize {
        len(&self.shapes[id])
    }

    /// The shape of one item of a value.
    pub(super) fn shape(&self, id: ValueId) -> Vec<usize> {
        self.shapes[id].clone()
    }

    /// What `make` makes of `source`: the same weights each time that `how` is the same.
    pub(super) fn derive(
        &mut self,
        source: &Weights,
        how: String,
        make: impl FnOnce() -> Vec<f32>,
    ) -> Weights {
        let made = || [source.clone(), make().into()];
        let entry = self.derived.entry((source.as_ptr(), how));
        entry.or_insert_with(made)[1].clone()
    }

    /// Counts a value of the given item shape.
    pub(super) fn count(&mut self, shape: &[usize]) -> Result<(), String> {
        let n = super::constant::bounded_len(shape)?;
        if n == 0 {
            return Err(format!("the item shape {shape:?} has no elements"));
        }
        self.shapes.push(shape.to_vec());
        self.values = self.values.saturating_add(n);
        self.within(self.values, MAX_VALUES, "values")
    }

    /// Counts places and weights that a small file can ask for.
    pub(super) fn reserve(&mut self, n: usize) -> Result<(), String> {
        self.made = self.made.saturating_add(n);
        self.within(self.made, MAX_MADE, "layers")
    }

    /// Refuses values of which too many are needed at once, from where each is made to where it is read last.
    pub(super) fn check_live(&self, output: ValueId) -> Result<(), String> {
        let all = 0..self.shapes.len();
        let mut last: Vec<usize> = all.clone().collect();
        for (at, node) in self.nodes.iter().enumerate() {
            node.inputs.iter().for_each(|&id| last[id] = at + 1);
        }
        last[output] = self.nodes.len();
        let mut over = vec![0; all.len()];
        all.clone().for_each(|id| over[last[id]] += self.len(id));
        let (mut live, mut most) = (0, 0);
        for id in all {
            live += self.len(id);
            most = most.max(live);
            live -= over[id];
        }
        self.within(most, MAX_LIVE, "values that are needed at once")
    }

    fn within(&self, n: usize, most: usize, what: &str) -> Result<(), String> {
        match n <= most * self.items.unwrap_or(1) {
            true => Ok(()),
            false => Err(format!(
                "the model's {what} have more than {most} elements for one item"
            )),
        }
    }

    pub(super) fn push(
        &mut self,
        call: &Call,
        op: Op,
        inputs: Vec<ValueId>,
        shape: Vec<usize>,
    ) -> Result<Value, Fault> {
        let id = self.add(call.name.clone(), op, inputs, shape.clone())?;
        Ok(Value::Secret {
            id,
            shape,
            batch: 0,
        })
    }

    /// Adds a node of any name, or finds one that does the same with the same values: exporters write what they need as
    /// often as they need it.
    pub(super) fn add(
        &mut self,
        name: String,
        op: Op,
        inputs: Vec<ValueId>,
        shape: Vec<usize>,
    ) -> Result<ValueId, Fault> {
        if let Some((of, index)) = self.squared_root(&op, &inputs) {
            return match index {
                None => Ok(of),
                Some(index) => self.add(name, Op::Rearrange { index, fill: 0.0 }, vec![of], shape),
            };
        }
        if let Some((x, op)) = self.root_by_inverse(&op, &inputs) {
            let root = self.add(name, op, vec![x], shape)?;
            self.roots.insert(root, x);
            return Ok(root);
        }
        let key = (op.kind(), inputs);
        let alike = self.readers.get(&key).into_iter().flatten();
        for &id in alike.rev().take(MOST_ALIKE) {
            let node = &self.nodes[id - 1];
            if node.shape == shape && node.op == op {
                return Ok(id);
            }
        }
        let id = self.add_anew(name, op, key.1.clone(), shape)?;
        self.readers.entry(key).or_default().push(id);
        Ok(id)
    }

    /// The value that a square is, and its places there if they are moved, if it is the square of a root of numbers which
    /// are never below 0: a power from its magnitude.
    fn squared_root(&self, op: &Op, inputs: &[ValueId]) -> Option<(ValueId, Option<Vec<u32>>)> {
        let &[x, y] = inputs else { return None };
        if x != y || *op != Op::Mul || self.roots.is_empty() {
            return None;
        }
        let (root, places) = self.moved_from(x);
        let of = *self.roots.get(&root)?;
        let moved = (root != x).then_some(places);
        (which::ends(self, of).0 >= 0.0).then_some((of, moved))
    }

    /// A number by its own inverse root, which is its root.
    fn root_by_inverse(&self, op: &Op, inputs: &[ValueId]) -> Option<(ValueId, Op)> {
        let &[a, b] = inputs else { return None };
        if *op != Op::Mul {
            return None;
        }
        let inverse_of = |id: ValueId| {
            let node = &self.nodes[id.checked_sub(1)?];
            let domain = match node.op {
                Op::Function {
                    function: Function::InverseSqrt,
                    domain,
                } => domain,
                _ => return None,
            };
            let function = Function::SquareRoot;
            Some((node.inputs[0], Op::Function { function, domain }))
        };
        let is_own = |(x, y): (ValueId, ValueId)| inverse_of(y).filter(|&(of, _)| of == x);
        [(a, b), (b, a)].into_iter().find_map(is_own)
    }

    /// Adds a node beside any that does the same, and no later one is taken for it.
    pub(super) fn add_anew(
        &mut self,
        name: String,
        op: Op,
        inputs: Vec<ValueId>,
        shape: Vec<usize>,
    ) -> Result<ValueId, Fault> {
        if let Some(number) = not_finite(&op) {
            return unsupported(format!(
                "it computes with the number {number}: its attributes and constants must be finite, and so must their products"
            ));
        }
        self.count(&shape)?;
        if let Op::Rearrange { index, .. } = &op {
            self.reserve(index.len())?;
        }
        if self.nodes.len() == MAX_LAYERS {
            return unsupported(format!(
                "the model would have more than {MAX_LAYERS} operations: recurrent layers and loops have some for each \
                 step, so give it fewer steps"
            ));
        }
        self.nodes.push(Node {
            name,
            op,
            inputs,
            shape,
        });
        Ok(self.nodes.len())
    }
}

/// A factor or term of an operation that is NaN or infinite, as attributes can make them.
fn not_finite(op: &Op) -> Option<f32> {
    let numbers = match op {
        Op::Affine(affine) => [&affine.scale, &affine.shift],
        Op::Linear(linear) => [&linear.weight, &linear.bias],
        Op::Conv(conv) => [&conv.weight, &conv.bias],
        _ => return None,
    };
    numbers
        .into_iter()
        .flat_map(|some| some.iter().copied())
        .find(|v| !v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Affine;

    #[test]
    fn the_same_of_the_same_is_one_node() {
        let mut builder = Builder::default();
        builder.count(&[4]).expect("an input");
        let mut add = |factor: f32, input: ValueId, shape: &[usize]| {
            let op = Op::Affine(Affine {
                inner: 4,
                scale: vec![factor].into(),
                shift: Weights::default(),
            });
            let added = builder.add("scaled".into(), op, vec![input], shape.to_vec());
            added.expect("a node")
        };
        let twice = add(2.0, 0, &[4]);
        assert_eq!(add(2.0, 0, &[4]), twice);
        let others = [
            add(3.0, 0, &[4]),
            add(2.0, twice, &[4]),
            add(2.0, 0, &[2, 2]),
        ];
        assert_eq!(others, [twice + 1, twice + 2, twice + 3]);
        assert_eq!(add(2.0, twice, &[4]), twice + 2);
    }

    /// A batch that is read to be held against one item has room for so many items.
    #[test]
    fn every_item_has_room_for_its_values() {
        for (items, of) in [(None, 1), (Some(1), 1), (Some(3), 3)] {
            let mut builder = Builder {
                items,
                ..Builder::default()
            };
            let values = [MAX_VALUES / 8];
            (0..8 * of).for_each(|_| builder.count(&values).expect("so many"));
            builder.reserve(of * MAX_MADE).expect("so many");
            for refused in [builder.count(&[1]), builder.reserve(1)] {
                let refused = refused.expect_err("one more");
                assert!(refused.contains("for one item"), "{refused}");
            }
        }
    }

    /// Values that are read one after the other may be many; those that all wait for a sum may not.
    #[test]
    fn few_values_may_be_needed_at_once() {
        let third = [MAX_LIVE / 3];
        for waiting in [false, true] {
            let mut builder = Builder::default();
            builder.count(&third).expect("an input");
            for id in 0..5 {
                let op = Op::Affine(Affine {
                    inner: 1,
                    scale: Weights::default(),
                    shift: vec![id as f32].into(),
                });
                let read = if waiting { 0 } else { id };
                let added = builder.add("shifted".into(), op, vec![read], third.to_vec());
                assert_eq!(added.expect("a node"), id + 1);
            }
            let read = if waiting {
                (1..6).collect()
            } else {
                vec![4, 5]
            };
            let sum = builder.add("sum".into(), Op::Add, read, third.to_vec());
            let found = builder.check_live(sum.expect("a node"));
            assert_eq!(found.is_err(), waiting, "{found:?}");
        }
    }

    #[test]
    fn places_are_counted() {
        let mut builder = Builder::default();
        builder.count(&[4]).expect("an input");
        let index = vec![0, 1, 1];
        let op = Op::Rearrange { index, fill: 0.0 };
        builder
            .add("moved".into(), op, vec![0], vec![3])
            .expect("a node");
        assert_eq!((builder.values, builder.made), (7, 3));
    }
}
