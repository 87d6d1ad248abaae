//! Constant tensors: read from the file or its external data, and rearranged.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use super::ImportError;
use super::proto::{EXTERNAL, TensorProto, data_type};
use crate::graph::{FILL, Weights};

/// Stands for the free batch size in shape arithmetic.
pub(super) const BATCH: i64 = i64::MIN;

/// The most elements that one tensor may have.
pub(super) const MAX_ELEMENTS: usize = 1 << 27;

/// A tensor known before any input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Constant {
    pub shape: Vec<usize>,
    pub data: Data,
}

/// Floats of any width as `f32`; integers and booleans as `i64`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Data {
    Float(Weights),
    Int(Vec<i64>),
}

impl Data {
    pub(super) fn len(&self) -> usize {
        match self {
            Data::Float(v) => v.len(),
            Data::Int(v) => v.len(),
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
            Data::Int(v) => Data::Int(pick(v, index, fill as i64)),
        }
    }
}

impl Constant {
    pub(super) fn ints(values: Vec<i64>) -> Self {
        Constant {
            shape: vec![values.len()],
            data: Data::Int(values),
        }
    }
}

/// The product of `shape`, at most [`MAX_ELEMENTS`].
pub(super) fn bounded_len(shape: &[usize]) -> Result<usize, String> {
    let product = shape
        .iter()
        .try_fold(1usize, |product, &d| product.checked_mul(d));
    product.filter(|&n| n <= MAX_ELEMENTS).ok_or_else(|| {
        format!("the shape {shape:?} has more than {MAX_ELEMENTS} elements, the most that is read")
    })
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
        let data = if tensor.data_location == EXTERNAL {
            decode_raw(
                &self.external(tensor, n).map_err(fail)?,
                tensor.data_type,
                n,
            )
        } else if let Some(raw) = &tensor.raw_data {
            decode_raw(raw, tensor.data_type, n)
        } else {
            decode_typed(tensor, n)
        };
        Ok(Constant {
            shape,
            data: data.map_err(fail)?,
        })
    }

    fn external(&self, tensor: &TensorProto, n: usize) -> Result<Vec<u8>, String> {
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
        let want = (n * element_size(tensor.data_type)?) as u64;
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

fn unknown_type(data_type: i32) -> String {
    format!(
        "it has the data type {data_type}; float16, float32, double, int32, int64, int8, uint8 and bool are read"
    )
}

fn element_size(kind: i32) -> Result<usize, String> {
    match kind {
        data_type::UINT8 | data_type::INT8 | data_type::BOOL => Ok(1),
        data_type::FLOAT16 => Ok(2),
        data_type::FLOAT | data_type::INT32 => Ok(4),
        data_type::DOUBLE | data_type::INT64 => Ok(8),
        _ => Err(unknown_type(kind)),
    }
}

fn decode_raw(raw: &[u8], kind: i32, n: usize) -> Result<Data, String> {
    let size = element_size(kind)?;
    if raw.len() != n * size {
        return Err(format!(
            "it has {} bytes of data, its shape needs {}",
            raw.len(),
            n * size
        ));
    }
    fn words<const W: usize, T>(raw: &[u8], f: impl Fn([u8; W]) -> T) -> Vec<T> {
        let (chunks, _) = raw.as_chunks::<W>();
        chunks.iter().map(|&c| f(c)).collect()
    }
    Ok(match kind {
        data_type::FLOAT => Data::Float(words(raw, f32::from_le_bytes).into()),
        data_type::DOUBLE => Data::Float(words(raw, |b| f64::from_le_bytes(b) as f32).into()),
        data_type::FLOAT16 => Data::Float(words(raw, |b| half(u16::from_le_bytes(b))).into()),
        data_type::INT64 => Data::Int(words(raw, i64::from_le_bytes)),
        data_type::INT32 => Data::Int(words(raw, |b| i32::from_le_bytes(b).into())),
        data_type::INT8 => Data::Int(words(raw, |[b]: [u8; 1]| (b as i8).into())),
        _ => Data::Int(words(raw, |[b]: [u8; 1]| b.into())),
    })
}

fn decode_typed(tensor: &TensorProto, n: usize) -> Result<Data, String> {
    let data = match tensor.data_type {
        data_type::FLOAT => Data::Float(tensor.float_data.as_slice().into()),
        data_type::DOUBLE => Data::Float(tensor.double_data.iter().map(|&v| v as f32).collect()),
        data_type::FLOAT16 => {
            Data::Float(tensor.int32_data.iter().map(|&v| half(v as u16)).collect())
        }
        data_type::INT64 => Data::Int(tensor.int64_data.clone()),
        data_type::INT32 | data_type::INT8 | data_type::UINT8 | data_type::BOOL => {
            Data::Int(tensor.int32_data.iter().map(|&v| v.into()).collect())
        }
        kind => return Err(unknown_type(kind)),
    };
    if data.len() != n {
        return Err(format!("it has {} values, its shape needs {n}", data.len()));
    }
    Ok(data)
}

/// An IEEE 754 binary16 number.
fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_corners() {
        let cases = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x03ff, 6.097_555e-5),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits), value);
        }
        assert_eq!(half(0xfc00), f32::NEG_INFINITY);
        assert!(half(0x7e00).is_nan());
    }

    #[test]
    fn length_is_checked_before_allocation() {
        let tensor = TensorProto {
            dims: vec![1 << 20, 1 << 20, 1 << 40],
            data_type: data_type::FLOAT,
            raw_data: Some(vec![0; 3]),
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
