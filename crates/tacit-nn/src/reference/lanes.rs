//! The evaluation of a batch, of some items beside others.

use rayon::prelude::*;

use super::{Evaluation, ShapeError};
use crate::graph::{Graph, Op, ValueId, len};

/// The most items that a lane computes at a time.
const CHUNK: usize = 64;
/// The most elements that a value of a lane has, unless one item has more.
const LANE_ELEMENTS: usize = 1 << 22;
/// The most elements that a value of all lanes together has, unless one item has more: it bounds the memory.
const ALL_ELEMENTS: usize = 1 << 24;

/// How many items have so many elements of every value, at least one.
fn items_of(graph: &Graph, elements: usize) -> usize {
    let largest = graph.nodes.iter().map(|node| len(&node.shape)).max();
    (elements / largest.unwrap_or(1).max(1)).max(1)
}

/// How many items a lane computes at a time.
fn at_a_time(graph: &Graph) -> usize {
    items_of(graph, LANE_ELEMENTS).min(CHUNK)
}

/// How many items `x` has; an error if it has no whole number of them.
pub(crate) fn items(graph: &Graph, x: &[f32]) -> Result<usize, ShapeError> {
    let (found, item) = (x.len(), graph.row_len());
    match item > 0 && found.is_multiple_of(item) {
        true => Ok(found / item),
        false => Err(ShapeError { found, item }),
    }
}

/// How a batch is computed: as several evaluations, each of some items, that go on together from node to node.
pub(crate) struct Lanes<'a, F> {
    graph: &'a Graph,
    /// How many items are computed together.
    together: usize,
    /// What is computed in place of each layer's operation, made once for all that are computed together.
    changed: F,
}

type Unchanged = fn(usize, &Op) -> Option<Op>;

impl<'a> Lanes<'a, Unchanged> {
    /// The model itself, in as many lanes as there are threads.
    pub(crate) fn of(graph: &'a Graph) -> Self {
        Lanes {
            graph,
            together: (at_a_time(graph) * rayon::current_num_threads())
                .min(items_of(graph, ALL_ELEMENTS)),
            changed: |_, _| None,
        }
    }
}

impl<'a, F: Fn(usize, &Op) -> Option<Op> + Sync> Lanes<'a, F> {
    /// The model with other operations, of which each is made for [`CHUNK`] items: it may take as long as to compute some.
    pub(crate) fn with(graph: &'a Graph, changed: F) -> Self {
        Lanes {
            graph,
            together: CHUNK,
            changed,
        }
    }

    /// The values that would be revealed. `look` is shown every value of some items as it is made, with the number of
    /// the first of them, and may change it; what it returns is told in the items' order.
    pub(crate) fn run<T: Send>(
        &self,
        x: &[f32],
        look: impl Fn(ValueId, usize, &mut [f32]) -> T + Sync,
        mut told: impl FnMut(ValueId, T) + Send,
    ) -> Result<Vec<f32>, ShapeError> {
        items(self.graph, x)?;
        let mut outputs = Vec::new();
        // On a thread of the pool: any other would be woken anew after every node.
        rayon::scope(|_| {
            let mut lanes = Vec::new();
            let some = x.chunks(self.together * self.graph.row_len().max(1));
            for (at, some) in some.enumerate() {
                let size = self.begin(&mut lanes, some)?;
                let first = |lane| at * self.together + lane * size;
                self.finish(&mut lanes, first, &look, &mut told);
                lanes
                    .iter()
                    .for_each(|lane| outputs.extend_from_slice(lane.output()));
            }
            Ok(())
        })?;
        Ok(outputs)
    }

    /// Begins with the items `x`, shared out among lanes; returns how many each has.
    fn begin(&self, lanes: &mut Vec<Evaluation<'a>>, x: &[f32]) -> Result<usize, ShapeError> {
        let (items, threads) = (items(self.graph, x)?, rayon::current_num_threads());
        let size = items.div_ceil(threads).clamp(1, at_a_time(self.graph));
        let count = items.div_ceil(size);
        lanes.truncate(count);
        for (at, x) in x.chunks(size * self.graph.row_len()).enumerate() {
            if at == lanes.len() {
                lanes.push(Evaluation::new(self.graph, Vec::new())?);
            }
            lanes[at].again(x, threads.div_ceil(count))?;
        }
        Ok(size)
    }

    /// Computes all nodes for these lanes, whose first items have the numbers that `first` says.
    fn finish<T: Send>(
        &self,
        lanes: &mut [Evaluation],
        first: impl Fn(usize) -> usize + Sync,
        look: &(impl Fn(ValueId, usize, &mut [f32]) -> T + Sync),
        told: &mut impl FnMut(ValueId, T),
    ) {
        let given = lanes.par_iter_mut().enumerate().with_max_len(1);
        let given: Vec<T> = given
            .map(|(at, lane)| look(0, first(at), lane.given()))
            .collect();
        given.into_iter().for_each(|seen| told(0, seen));
        for (layer, node) in self.graph.nodes.iter().enumerate() {
            let changed = (self.changed)(layer, &node.op);
            let op = changed.as_ref().unwrap_or(&node.op);
            let made = lanes.par_iter_mut().enumerate().with_max_len(1);
            let made = made.map(|(at, lane)| {
                let mut value = lane.evaluate_as(node, op);
                let seen = look(layer + 1, first(at), &mut value);
                lane.push(value);
                seen
            });
            let made: Vec<T> = made.collect();
            made.into_iter().for_each(|seen| told(layer + 1, seen));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outputs;
    use super::*;
    use crate::graph::{Affine, Function};
    use crate::plan::graphs::{graph, node};

    /// `y = exp(x) - x`, and `(y + 0.5)^2 + y`, of three numbers repeated: values that are read once and more often.
    fn repeated(elements: usize) -> Graph {
        let repeat = Op::Rearrange {
            index: (0..elements as u32).map(|e| e % 3).collect(),
            fill: 0.0,
        };
        let exp = Op::Function {
            function: Function::Exp,
            domain: (f32::NEG_INFINITY, f32::INFINITY),
        };
        let shift = Op::Affine(Affine {
            inner: 1,
            scale: vec![].into(),
            shift: vec![0.5].into(),
        });
        let ops = [
            (repeat, vec![0]),
            (exp, vec![1]),
            (Op::Sub, vec![2, 1]),
            (shift, vec![3]),
            (Op::Mul, vec![4, 4]),
            (Op::Add, vec![5, 3]),
        ];
        let nodes = ops.map(|(op, inputs)| node(op, &inputs, &[elements]));
        graph(&[3], nodes.to_vec())
    }

    /// However many items a lane has, and lanes there are: each item has what it has alone, every value of it is shown
    /// once, with its number, and what is found is told in order.
    #[test]
    fn items_are_the_same_in_lanes() {
        for elements in [3, LANE_ELEMENTS / 2 + 1] {
            let graph = repeated(elements);
            for (items, at_once) in [(1, 64), (2, 64), (3, 64), (5, 3), (9, 2), (7, 4)] {
                let x: Vec<f32> = (0..3 * items).map(|i| i as f32 / 8.0 - 1.0).collect();
                let alone = x
                    .chunks(3)
                    .flat_map(|x| outputs(&graph, x).expect("an item"));
                let right: Vec<f32> = x.iter().map(|&v| of(v)).collect();
                let mut told = vec![0; 7];
                let look = |id: ValueId, first: usize, values: &mut [f32]| {
                    let each = values.chunks(if id == 0 { 3 } else { elements });
                    let each: Vec<[f32; 2]> = each.map(|item| [item[0], item[2]]).collect();
                    (first, each)
                };
                let tell = |id: ValueId, (first, each): (usize, Vec<[f32; 2]>)| {
                    assert_eq!(told[id], first, "value {id} of {items} items");
                    told[id] += each.len();
                    for (item, [one, third]) in each.into_iter().enumerate() {
                        let of_item = &[&x, &x, &[][..], &[], &[], &[], &right][id];
                        if let Some(of_item) = of_item.chunks(3).nth(first + item) {
                            assert!((one - of_item[0]).abs() < 1e-4, "value {id}");
                            assert!((third - of_item[2]).abs() < 1e-4, "value {id}");
                        }
                    }
                };
                let lanes = Lanes {
                    together: at_once,
                    ..Lanes::of(&graph)
                };
                let together = lanes.run(&x, look, tell).expect("items");
                assert_eq!(told, [items; 7]);
                assert!(alone.eq(together), "{items} items of {elements}");
            }
        }
    }

    fn of(x: f32) -> f32 {
        let y = x.exp() - x;
        (y + 0.5) * (y + 0.5) + y
    }

    /// Operations that are changed are computed in place of the model's own.
    #[test]
    fn other_operations_are_computed_in_their_place() {
        let changed = |layer, op: &Op| match op {
            Op::Mul => Some(Op::Add),
            Op::Sub if layer == 2 => Some(Op::Add),
            _ => None,
        };
        let found = Lanes::with(&repeated(3), changed).run(&[0.0; 6], |_, _, _| {}, |_, ()| {});
        assert_eq!(found.expect("two items"), [4.0; 6]);
    }
}
