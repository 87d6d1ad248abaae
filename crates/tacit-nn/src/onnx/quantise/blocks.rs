//! Weights of a few bits, which share scales by blocks of a row, as ONNX Runtime packs them.

use super::super::call::{Call, Fault, axis, bad, unsupported};
use super::super::constant::{Constant, Data, bounded_len};
use super::super::kind::DataType;

/// DequantizeBlocks: `(q - zero) scale` of the integers `q` of every row, input 0, of which `bits` each are packed in
/// bytes from the lowest on.
///
/// A row has a scale (input 1) and a zero point (input 2) for each of its blocks of `block_size`; zero points are
/// packed alike, or floats. Without them packed integers are centred, others not. Input 3, where it is given, tells
/// the block of every column. `columns` of a row count, all where that is 0.
pub(in crate::onnx) fn blocks(call: &Call) -> Result<Constant, Fault> {
    let whole = |name: &str| usize::try_from(call.int(name, 0)).unwrap_or(0);
    let bits = whole("bits");
    if ![1, 2, 4, 8].contains(&bits) {
        return unsupported(format!(
            "its weights have {bits} bits; 1, 2, 4 and 8 are read"
        ));
    }
    let data = Rows::of(call, 0, bits)?;
    let scales = Rows::of(call, 1, bits)?;
    if axis(call.int("axis", -1), data.shape.len() + 1)? != data.shape.len() {
        return unsupported("its blocks do not lie along the last axis");
    }
    let zeros = match call.input(2) {
        Some(_) => Some(Rows::of(call, 2, bits)?),
        None => None,
    };
    let columns = match whole("columns") {
        0 => data.columns,
        given => given,
    };
    let size = whole("block_size");
    let shape = [data.shape, &[columns]].concat();
    let n = bounded_len(&shape)?;
    let groups = call.optional_ints(3)?;
    let block = |column: usize| match groups {
        None => column / size,
        Some(groups) => usize::try_from(groups[column]).unwrap_or(usize::MAX),
    };
    let known = zeros.as_ref().map_or(usize::MAX, |zeros| zeros.columns);
    let blocks = scales.columns.min(known);
    let same = |rows: &Rows| rows.shape == data.shape;
    let fits = size > 0
        && n > 0
        && columns <= data.columns
        && groups.is_none_or(|groups| groups.len() == columns)
        && (0..columns).all(|column| block(column) < blocks)
        && same(&scales)
        && zeros.as_ref().is_none_or(same);
    if !fits {
        return bad(format!(
            "its weights of {:?} rows and {columns} columns do not fit its scales and zero points by blocks of {size}",
            data.shape
        ));
    }
    let centre = match data.packed {
        true => (1 << (bits - 1)) as f32,
        false => 0.0,
    };
    let mut numbers = Vec::with_capacity(n);
    for row in 0..n / columns {
        for column in 0..columns {
            let at = block(column);
            let zero = zeros.as_ref().map_or(centre, |zeros| zeros.at(row, at));
            numbers.push((data.at(row, column) - zero) * scales.at(row, at));
        }
    }
    Ok(Constant::floats(shape, numbers))
}

/// Rows of numbers, which may be packed in bytes.
struct Rows<'a> {
    /// The axes before the last one.
    shape: &'a [usize],
    data: &'a Data,
    packed: bool,
    bits: usize,
    /// The numbers of a row.
    columns: usize,
    /// The elements of a row.
    stride: usize,
}

impl<'a> Rows<'a> {
    fn of(call: &Call<'a>, i: usize, bits: usize) -> Result<Rows<'a>, Fault> {
        let constant = call.constant(i)?;
        let Some((&stride, shape)) = constant.shape.split_last() else {
            return bad(format!("its input {i} has no axes"));
        };
        let packed = constant.kind == DataType::Unsigned(8);
        Ok(Rows {
            shape,
            data: &constant.data,
            packed,
            bits,
            columns: if packed {
                stride.saturating_mul(8 / bits)
            } else {
                stride
            },
            stride,
        })
    }

    fn at(&self, row: usize, column: usize) -> f32 {
        let each = if self.packed { 8 / self.bits } else { 1 };
        let at = row * self.stride + column / each;
        match self.data {
            Data::Float(numbers) => numbers[at],
            Data::Double { rounded, .. } => rounded[at],
            Data::Int(bytes) if self.packed => {
                let shift = column % each * self.bits;
                (bytes[at] >> shift & ((1 << self.bits) - 1)) as f32
            }
            Data::Int(numbers) => numbers[at] as f32,
        }
    }
}
