//! NumPy's `.npy` files of numbers, as far as inputs, labels and outputs need them.

use std::fs;
use std::path::Path;

use crate::Error;

const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest header that is read; NumPy's own are shorter by far.
const MAX_HEADER: usize = 64 << 10;
/// The most letters of a text.
const MAX_LETTERS: usize = 1 << 20;

/// Reads an array of real numbers as float32, with its shape. Wider floats are rounded; integers
/// that float32 does not hold are refused.
pub fn read_floats(path: &Path) -> Result<(Vec<f32>, Vec<usize>), Error> {
    parse_floats(&read(path)?).map_err(|why| Error::file(path, why))
}

/// The array of real numbers of a file's bytes as float32, with its shape.
pub(crate) fn parse_floats(bytes: &[u8]) -> Result<(Vec<f32>, Vec<usize>), String> {
    let array = Array::parse(bytes)?;
    Ok((array.floats()?, array.shape))
}

/// The array of texts of a file's bytes, with its shape; `None` where it is of something else.
pub(crate) fn parse_texts(bytes: &[u8]) -> Result<Option<crate::Array<Vec<String>>>, String> {
    let array = Array::parse(bytes)?;
    if array.kind != 'U' {
        return Ok(None);
    }
    let text = |bytes: &[u8]| {
        let units = bytes.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b));
        // What is shorter than the longest is filled up.
        let letters = units.take_while(|&unit| unit != 0).map(char::from_u32);
        let text: Option<String> = letters.collect();
        text.ok_or_else(|| "it holds a text with a letter that Unicode does not have".to_string())
    };
    let texts = array.data.chunks_exact(array.width).map(text);
    Ok(Some((texts.collect::<Result<_, _>>()?, array.shape)))
}

/// Reads a one-dimensional array of integers.
pub fn read_labels(path: &Path) -> Result<Vec<i64>, Error> {
    let bytes = read(path)?;
    let labels = |bytes: &[u8]| {
        let array = Array::parse(bytes)?;
        if array.shape.len() != 1 {
            return Err(format!(
                "labels have one axis, not the shape {:?}",
                array.shape
            ));
        }
        array.integers()
    };
    labels(&bytes).map_err(|why| Error::file(path, why))
}

/// Writes a float32 array.
pub fn write_floats(path: &Path, values: &[f32], shape: &[usize]) -> Result<(), Error> {
    fs::write(path, floats(values, shape)).map_err(|e| Error::file(path, e))
}

/// A float32 array as the bytes of a file.
pub(crate) fn floats(values: &[f32], shape: &[usize]) -> Vec<u8> {
    let axes: String = shape.iter().map(|d| format!("{d},")).collect();
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({axes}), }}");
    // NumPy aligns the data to 64 bytes.
    while !(MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    bytes
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|e| Error::file(path, format!("it cannot be read ({e})")))
}

/// A little-endian array in row-major order.
struct Array<'a> {
    kind: char,
    /// Bytes of an element.
    width: usize,
    shape: Vec<usize>,
    data: &'a [u8],
}

impl<'a> Array<'a> {
    /// Says what is wrong with a file that is none.
    fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let not = || "this is not an .npy file; write it with numpy.save".to_string();
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(not)?;
        let ([major, _], rest) = rest.split_first_chunk().ok_or_else(not)?;
        let (len, rest) = if *major == 1 {
            let (len, rest) = rest.split_first_chunk().ok_or_else(not)?;
            (u16::from_le_bytes(*len) as usize, rest)
        } else {
            let (len, rest) = rest.split_first_chunk().ok_or_else(not)?;
            (u32::from_le_bytes(*len) as usize, rest)
        };
        if len > MAX_HEADER {
            return Err(not());
        }
        let (header, data) = rest.split_at_checked(len).ok_or_else(not)?;
        let header = std::str::from_utf8(header).map_err(|_| not())?;
        let value = |key: &str| {
            let (_, after) = header.split_once(&format!("'{key}':"))?;
            Some(after.trim_start())
        };
        let descr = value("descr").and_then(quoted).ok_or_else(|| {
            "it does not hold plain numbers; save an array of one numeric type".to_string()
        })?;
        let (kind, width) = element(descr)
            .ok_or_else(|| format!("its type '{descr}' is not supported; save it as float32"))?;
        if !value("fortran_order").is_some_and(|v| v.starts_with("False")) {
            return Err("it is in column-major order; save numpy.ascontiguousarray of it".into());
        }
        let shape = value("shape").and_then(tuple).ok_or_else(not)?;
        let elements = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        if elements.and_then(|n| n.checked_mul(width)) != Some(data.len()) {
            return Err(format!(
                "it has {} bytes of data, which is not what its shape {shape:?} of '{descr}' needs",
                data.len()
            ));
        }
        Ok(Array {
            kind,
            width,
            shape,
            data,
        })
    }

    fn floats(&self) -> Result<Vec<f32>, String> {
        if self.kind == 'U' {
            return Err(
                "it holds texts; give them by the names of inputs, as numpy.savez writes them"
                    .into(),
            );
        }
        match (self.kind, self.width) {
            ('f', 4) => Ok(self.elements(f32::from_le_bytes).collect()),
            ('f', _) => Ok(self.elements(|b| f64::from_le_bytes(b) as f32).collect()),
            _ => self.integers()?.into_iter().map(exact).collect(),
        }
    }

    fn integers(&self) -> Result<Vec<i64>, String> {
        let signed = self.kind == 'i';
        if ['f', 'U'].contains(&self.kind) {
            return Err("it holds floats or texts where integers are needed".into());
        }
        let integer = |bytes: &[u8]| {
            let negative = signed && bytes.last().is_some_and(|b| b >> 7 == 1);
            let mut wide = [if negative { 0xff } else { 0 }; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            match i64::from_le_bytes(wide) {
                value if value < 0 && !signed => Err("it holds integers beyond 2^63".to_string()),
                value => Ok(value),
            }
        };
        self.data.chunks_exact(self.width).map(integer).collect()
    }

    fn elements<const N: usize, T>(&self, one: impl Fn([u8; N]) -> T) -> impl Iterator<Item = T> {
        self.data.as_chunks().0.iter().map(move |bytes| one(*bytes))
    }
}

fn exact(value: i64) -> Result<f32, String> {
    let float = value as f32;
    // The cast back saturates, and 2^63 is no i64.
    if float as i128 == i128::from(value) {
        Ok(float)
    } else {
        Err(format!(
            "the integer {value} does not fit float32; scale the values first"
        ))
    }
}

/// The kind and the width of a type in NumPy's notation.
fn element(descr: &str) -> Option<(char, usize)> {
    let (order, name) = descr.split_at_checked(1)?;
    let (kind, width) = name.split_at_checked(1)?;
    let (kind, width) = (kind.chars().next()?, width.parse().ok()?);
    let known = match kind {
        'f' => [4, 8].contains(&width),
        'i' | 'u' => [1, 2, 4, 8].contains(&width),
        'b' => width == 1,
        // Texts, each of so many letters of four bytes.
        'U' => (1..=MAX_LETTERS).contains(&width),
        _ => false,
    };
    let width = if kind == 'U' { 4 * width } else { width };
    let little = order == "<" || (order == "|" && width == 1);
    (known && little).then_some((kind, width))
}

/// The text in quotes at the start.
fn quoted(text: &str) -> Option<&str> {
    let (inner, _) = text.strip_prefix('\'')?.split_once('\'')?;
    Some(inner)
}

/// The numbers in parentheses at the start.
fn tuple(text: &str) -> Option<Vec<usize>> {
    let (inner, _) = text.strip_prefix('(')?.split_once(')')?;
    let numbers = inner
        .split(',')
        .map(str::trim)
        .filter(|number| !number.is_empty());
    numbers.map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn floats(bytes: &[u8]) -> Result<Vec<f32>, String> {
        Array::parse(bytes)?.floats()
    }

    #[test]
    fn numbers_of_every_kind() {
        assert_eq!(
            floats(&file("'<f8'", "(1,)", &2.5f64.to_le_bytes())),
            Ok(vec![2.5])
        );
        assert_eq!(
            floats(&file("'|u1'", "(2, 1)", &[0, 255])),
            Ok(vec![0.0, 255.0])
        );
        assert_eq!(floats(&file("'|b1'", "(2,)", &[0, 1])), Ok(vec![0.0, 1.0]));
        assert_eq!(
            floats(&file("'<i2'", "()", &(-300i16).to_le_bytes())),
            Ok(vec![-300.0])
        );
        let wide = file("'<i8'", "(1,)", &(-5i64).to_le_bytes());
        assert_eq!(Array::parse(&wide).and_then(|a| a.integers()), Ok(vec![-5]));
    }

    #[test]
    fn what_float32_does_not_hold_is_refused() {
        for value in [(1 << 24) + 1, i64::MAX] {
            let error = floats(&file("'<i8'", "(1,)", &value.to_le_bytes())).expect_err("too wide");
            assert!(error.contains("does not fit float32"), "{error}");
        }
        assert_eq!(
            floats(&file("'<i8'", "(1,)", &i64::MIN.to_le_bytes())),
            Ok(vec![i64::MIN as f32])
        );
        let error = floats(&file("'<u8'", "(1,)", &[0xff; 8])).expect_err("too wide");
        assert!(error.contains("2^63"), "{error}");
    }

    #[test]
    fn texts_of_all_lengths() {
        let letters = |text: &str| -> Vec<u8> {
            let units = text.chars().map(u32::from).chain([0; 3]).take(3);
            units.flat_map(u32::to_le_bytes).collect()
        };
        let data = [letters("né"), letters("abc"), letters("")].concat();
        let texts = parse_texts(&file("'<U3'", "(3, 1)", &data));
        let expected = ["né", "abc", ""].map(String::from).to_vec();
        assert_eq!(texts, Ok(Some((expected, vec![3, 1]))));
        assert_eq!(parse_texts(&file("'<f4'", "(1,)", &[0; 4])), Ok(None));
        let beyond = parse_texts(&file("'<U1'", "(1,)", &[255; 4]));
        assert!(beyond.is_err_and(|why| why.contains("Unicode")));
        let refused = floats(&file("'<U1'", "(1,)", &[0; 4])).expect_err("no numbers");
        assert!(refused.contains("holds texts"), "{refused}");
        assert!(parse_texts(&file("'<U9'", "(1,)", &[0; 4])).is_err());
        assert!(parse_texts(&file("'<U0'", "(9,)", &[])).is_err());
    }

    #[test]
    fn hostile_files_are_refused() {
        for (bytes, why) in [
            (b"PK\x03\x04".to_vec(), "not an .npy file"),
            (MAGIC.to_vec(), "not an .npy file"),
            (
                b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(),
                "not an .npy file",
            ),
            (
                file("'<f4'", "(9999999999999999, 9999999999999)", &[0; 4]),
                "4 bytes of data",
            ),
            (file("'<f4'", "(2,)", &[0; 4]), "4 bytes of data"),
            (file("'<f4'", "(-1,)", &[0; 4]), "not an .npy file"),
            (file("'|O'", "(1,)", &[0; 8]), "not supported"),
            (file("'>f4'", "(1,)", &[0; 4]), "not supported"),
            (file("[('a', '<f4')]", "(1,)", &[0; 4]), "plain numbers"),
        ] {
            let error = floats(&bytes).expect_err("refused");
            assert!(error.contains(why), "{error}");
        }
    }
}
