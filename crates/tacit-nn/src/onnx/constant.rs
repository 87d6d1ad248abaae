//! Constant tensors: read from the file or its external data, and rearranged.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::ImportError;
use super::kind::{DataType, bfloat, half};
use super::proto::{EXTERNAL, TensorProto};
use crate::graph::{FILL, Weights};

/// Stands for the free batch size in shape arithmetic; no file has a reason to hold this number.
pub(super) const BATCH: i64 = -0x7a31_5c40_13f2_9d6b;

/// The most elements that one tensor may have.
pub(super) const MAX_ELEMENTS: usize = 1 << 27;

/// A tensor known before any input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constant {
    pub shape: Vec<usize>,
    pub kind: DataType,
    pub data: Data,
}

/// The numbers of a constant, exactly those that its type holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    /// Floats of up to 32 bits.
    Float(Weights),
    /// Doubles, and the floats nearest to them, which serve as weights.
    Double { exact: Vec<f64>, rounded: Weights },
    /// Integers and booleans.
    Int(Vec<i64>),
}

impl Data {
    pub(super) fn double(exact: Vec<f64>) -> Data {
        let rounded = exact.iter().map(|&v| v as f32).collect();
        Data::Double { exact, rounded }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Data::Float(v) => v.len(),
            Data::Double { exact, .. } => exact.len(),
            Data::Int(v) => v.len(),
        }
    }

    /// The numbers as floats of 32 bits.
    pub(super) fn floats(&self) -> Weights {
        match self {
            Data::Float(v) => v.clone(),
            Data::Double { rounded, .. } => rounded.clone(),
            Data::Int(v) => v.iter().map(|&v| v as f32).collect(),
        }
    }

    /// `out[i] = self[index[i]]`, or `fill`.
    pub(super) fn gather(&self, index: &[u32], fill: f32) -> Data {
        fn pick<T: Copy, C: FromIterator<T>>(v: &[T], index: &[u32], fill: T) -> C {
            index
                .iter()
                .map(|&i| if i == FILL { fill } else { v[i as usize] })
                .collect()
        }
        match self {
            Data::Float(v) => Data::Float(pick(v, index, fill)),
            Data::Double { exact, .. } => Data::double(pick(exact, index, fill.into())),
            Data::Int(v) => Data::Int(pick(v, index, fill as i64)),
        }
    }
}

impl Constant {
    /// Whether the constant is a single 1 that stretches nothing.
    pub(super) fn is_one(&self) -> bool {
        self.shape.len() < 2 && self.data.len() == 1 && self.data.floats()[0] == 1.0
    }

    /// A tensor of floats of 32 bits.
    pub(super) fn floats(shape: Vec<usize>, values: Vec<f32>) -> Self {
        Constant {
            shape,
            kind: DataType::Float,
            data: Data::Float(values.into()),
        }
    }

    /// A tensor of these numbers as a type, again and again until there are `n`.
    pub(super) fn of_numbers(
        kind: DataType,
        shape: Vec<usize>,
        numbers: &[f64],
        n: usize,
    ) -> Result<Self, String> {
        if numbers.is_empty() && n > 0 {
            return Err(format!("it holds no numbers, its shape needs {n}"));
        }
        let numbers = numbers.iter().cycle().take(n);
        let data = match kind {
            DataType::Double => Data::double(numbers.copied().collect()),
            kind if kind.is_float() => {
                Data::Float(numbers.map(|&v| kind.round(v as f32)).collect())
            }
            _ => {
                let whole = |&value: &f64| {
                    let whole = Some(value as i64).filter(|&v| v as f64 == value);
                    let known = whole.filter(|&v| kind.wrap(v) == Some(v));
                    known.ok_or_else(|| format!("{value} is no {}", kind.name()))
                };
                Data::Int(numbers.map(whole).collect::<Result<_, _>>()?)
            }
        };
        Ok(Constant { shape, kind, data })
    }

    pub(super) fn ints(values: Vec<i64>) -> Self {
        Constant {
            shape: vec![values.len()],
            kind: DataType::Signed(64),
            data: Data::Int(values),
        }
    }
}

/// The product of `shape`, at most [`MAX_ELEMENTS`], as its other axes are where one has the size 0.
pub(super) fn bounded_len(shape: &[usize]) -> Result<usize, String> {
    let product = shape
        .iter()
        .try_fold(1usize, |product, &d| product.checked_mul(d.max(1)));
    let fits = product.filter(|&n| n <= MAX_ELEMENTS).ok_or_else(|| {
        format!("the shape {shape:?} has more than {MAX_ELEMENTS} elements, the most that is read")
    })?;
    Ok(if shape.contains(&0) { 0 } else { fits })
}

/// Reads constant tensors; `folder` is where external data may lie.
pub(super) struct Reader {
    pub folder: Option<PathBuf>,
}

impl Reader {
    /// The tensor's values, checked against its declared shape before anything is allocated.
    pub(super) fn read(&self, tensor: &TensorProto) -> Result<Constant, ImportError> {
        let fail = |why| ImportError::Tensor {
            tensor: tensor.name.clone(),
            why,
        };
        let shape = tensor
            .dims
            .iter()
            .map(|&d| {
                usize::try_from(d).map_err(|_| fail(format!("it has the negative dimension {d}")))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let n = bounded_len(&shape).map_err(fail)?;
        let kind = DataType::of(tensor.data_type).map_err(|why| fail(format!("it has {why}")))?;
        let data = if tensor.data_location == EXTERNAL {
            decode_raw(&self.external(tensor, n, kind).map_err(fail)?, kind, n)
        } else if let Some(raw) = &tensor.raw_data {
            decode_raw(raw, kind, n)
        } else {
            decode_typed(tensor, kind, n)
        };
        let data = data.map_err(fail)?;
        Ok(Constant { shape, kind, data })
    }

    fn external(&self, tensor: &TensorProto, n: usize, kind: DataType) -> Result<Vec<u8>, String> {
        let entry = |key: &str| {
            tensor
                .external_data
                .iter()
                .find(|e| e.key == key)
                .map(|e| e.value.as_str())
        };
        let location = entry("location").ok_or("its external data has no 'location'")?;
        let relative = Path::new(location);
        if location.is_empty()
            || !relative
                .components()
                .all(|c| matches!(c, Component::Normal(_)))
        {
            return Err(format!(
                "its external data lies at '{location}'; only files inside the model's folder are read"
            ));
        }
        let folder = self
            .folder
            .as_ref()
            .ok_or("its data is external, but the model was not read from a file")?;
        let number = |key: &str, default: u64| match entry(key) {
            None => Ok(default),
            Some(text) => text
                .parse()
                .map_err(|_| format!("its external data has the {key} '{text}', not a number")),
        };
        let want = kind.bytes(n) as u64;
        let (offset, length) = (number("offset", 0)?, number("length", want)?);
        if length != want {
            return Err(format!(
                "its external data has {length} bytes, its shape needs {want}"
            ));
        }
        self.slice(folder, relative, offset, length)
    }

    fn slice(
        &self,
        folder: &Path,
        relative: &Path,
        offset: u64,
        length: u64,
    ) -> Result<Vec<u8>, String> {
        let path = folder.join(relative);
        let io = |e: std::io::Error| {
            format!("its external data '{}' cannot be read: {e}", path.display())
        };
        // A symbolic link could lead out of the folder.
        let (real, root) = (
            path.canonicalize().map_err(io)?,
            folder.canonicalize().map_err(io)?,
        );
        if !real.starts_with(&root) {
            return Err(format!(
                "its external data '{}' leads out of the model's folder",
                path.display()
            ));
        }
        // To open a pipe is to wait for whoever writes into it.
        if !real.metadata().map_err(io)?.is_file() {
            return Err(format!("its external data '{}' is no file", path.display()));
        }
        let mut file = File::open(&real).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        if offset.checked_add(length).is_none_or(|end| end > size) {
            return Err(format!(
                "its external data ends at byte {offset}+{length}, but '{}' has {size} bytes",
                path.display()
            ));
        }
        file.seek(SeekFrom::Start(offset)).map_err(io)?;
        let mut bytes = vec![0; length as usize];
        file.read_exact(&mut bytes).map_err(io)?;
        Ok(bytes)
    }
}

/// Large tensors that were read of a file, which may be imported in several forms. All are of one graph, which outlives
/// this: each is known by where it stands.
#[derive(Default)]
pub(super) struct Large(RefCell<HashMap<*const TensorProto, Constant>>);

/// Elements from which on a tensor is kept that was read.
const LARGE: usize = 1 << 12;

impl Large {
    /// The tensor's values, read once if they are many.
    pub(super) fn read(
        &self,
        tensor: &TensorProto,
        reader: &Reader,
    ) -> Result<Constant, ImportError> {
        let place = std::ptr::from_ref(tensor);
        if let Some(known) = self.0.borrow().get(&place) {
            return Ok(known.clone());
        }
        let constant = reader.read(tensor)?;
        if matches!(constant.data, Data::Float(_)) && constant.data.len() >= LARGE {
            self.0.borrow_mut().insert(place, constant.clone());
        }
        Ok(constant)
    }
}

fn decode_raw(raw: &[u8], kind: DataType, n: usize) -> Result<Data, String> {
    if raw.len() != kind.bytes(n) {
        return Err(format!(
            "it has {} bytes of data, its shape needs {}",
            raw.len(),
            kind.bytes(n)
        ));
    }
    fn words<const W: usize, T, C: FromIterator<T>>(raw: &[u8], f: impl Fn([u8; W]) -> T) -> C {
        let (chunks, _) = raw.as_chunks::<W>();
        chunks.iter().map(|&c| f(c)).collect()
    }
    Ok(match kind {
        DataType::Float => Data::Float(words(raw, f32::from_le_bytes)),
        DataType::Double => Data::double(words(raw, f64::from_le_bytes)),
        DataType::Half => Data::Float(words(raw, |b| half(u16::from_le_bytes(b)))),
        DataType::Bfloat => Data::Float(words(raw, |b| bfloat(u16::from_le_bytes(b)))),
        DataType::Bool => Data::Int(words(raw, |[b]: [u8; 1]| i64::from(b != 0))),
        DataType::Signed(2 | 4) | DataType::Unsigned(2 | 4) => Data::Int(packed(raw, kind, n)),
        DataType::Signed(8) => Data::Int(words(raw, |[b]: [u8; 1]| i64::from(b as i8))),
        DataType::Signed(16) => Data::Int(words(raw, |b| i64::from(i16::from_le_bytes(b)))),
        DataType::Signed(32) => Data::Int(words(raw, |b| i64::from(i32::from_le_bytes(b)))),
        DataType::Signed(_) => Data::Int(words(raw, i64::from_le_bytes)),
        DataType::Unsigned(8) => Data::Int(words(raw, |[b]: [u8; 1]| i64::from(b))),
        DataType::Unsigned(16) => Data::Int(words(raw, |b| i64::from(u16::from_le_bytes(b)))),
        DataType::Unsigned(32) => Data::Int(words(raw, |b| i64::from(u32::from_le_bytes(b)))),
        DataType::Unsigned(_) => unsigned(words::<8, u64, Vec<u64>>(raw, u64::from_le_bytes))?,
    })
}

/// The first `n` integers of less than a byte, each byte's from its lowest bits on.
fn packed(raw: &[u8], kind: DataType, n: usize) -> Vec<i64> {
    let bits = kind.bits();
    let of_byte =
        |&byte: &u8| (0..8 / bits).filter_map(move |i| kind.wrap(i64::from(byte) >> (i * bits)));
    raw.iter().flat_map(of_byte).take(n).collect()
}

/// 64-bit integers without a sign, of which only those are read that fit one with a sign.
fn unsigned(values: Vec<u64>) -> Result<Data, String> {
    let fitting = values.iter().map(|&v| i64::try_from(v));
    let read = fitting.collect::<Result<_, _>>();
    read.map(Data::Int)
        .map_err(|_| "it has integers of 2^63 or more, which are not read".into())
}

fn decode_typed(tensor: &TensorProto, kind: DataType, n: usize) -> Result<Data, String> {
    let small = tensor.int32_data.iter();
    let data = match kind {
        DataType::Float => Data::Float(tensor.float_data.as_slice().into()),
        DataType::Double => Data::double(tensor.double_data.clone()),
        DataType::Half => Data::Float(small.map(|&v| half(v as u16)).collect()),
        DataType::Bfloat => Data::Float(small.map(|&v| bfloat(v as u16)).collect()),
        DataType::Signed(64) => Data::Int(tensor.int64_data.clone()),
        DataType::Unsigned(32 | 64) => unsigned(tensor.uint64_data.clone())?,
        DataType::Signed(2 | 4) | DataType::Unsigned(2 | 4) => {
            let bytes: Vec<u8> = small.map(|&v| v as u8).collect();
            if bytes.len() != kind.bytes(n) {
                let (given, needed) = (bytes.len(), kind.bytes(n));
                return Err(format!(
                    "it has {given} bytes of data, its shape needs {needed}"
                ));
            }
            Data::Int(packed(&bytes, kind, n))
        }
        _ => Data::Int(small.filter_map(|&v| kind.wrap(v.into())).collect()),
    };
    if data.len() != n {
        return Err(format!("it has {} values, its shape needs {n}", data.len()));
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_is_checked_before_allocation() {
        let tensor = TensorProto {
            dims: vec![1 << 20, 1 << 20, 1 << 40],
            data_type: super::super::proto::data_type::FLOAT,
            raw_data: Some(vec![0; 3].into()),
            ..Default::default()
        };
        assert!(Reader { folder: None }.read(&tensor).is_err());
        let tensor = TensorProto {
            dims: vec![2],
            ..tensor
        };
        let error = Reader { folder: None }
            .read(&tensor)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("3 bytes of data, its shape needs 8"),
            "{error}"
        );
    }
}
