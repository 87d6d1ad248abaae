//! The data types of constants, and Cast between them as onnxruntime does it.

use super::call::{Fault, unsupported};
use super::constant::{BATCH, Constant, Data};
use super::proto::data_type;

/// A data type that import reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataType {
    Float,
    Double,
    /// IEEE 754 binary16.
    Half,
    /// The upper half of a float.
    Bfloat,
    Bool,
    /// An integer of so many bits.
    Signed(u32),
    Unsigned(u32),
}

impl DataType {
    /// The type of a `TensorProto` or of Cast's `to`.
    pub(super) fn of(code: i32) -> Result<DataType, String> {
        Ok(match code {
            data_type::FLOAT => DataType::Float,
            data_type::DOUBLE => DataType::Double,
            data_type::FLOAT16 => DataType::Half,
            data_type::BFLOAT16 => DataType::Bfloat,
            data_type::BOOL => DataType::Bool,
            data_type::INT8 => DataType::Signed(8),
            data_type::INT16 => DataType::Signed(16),
            data_type::INT32 => DataType::Signed(32),
            data_type::INT64 => DataType::Signed(64),
            data_type::UINT8 => DataType::Unsigned(8),
            data_type::UINT16 => DataType::Unsigned(16),
            data_type::UINT32 => DataType::Unsigned(32),
            data_type::UINT64 => DataType::Unsigned(64),
            data_type::UINT4 => DataType::Unsigned(4),
            data_type::INT4 => DataType::Signed(4),
            data_type::UINT2 => DataType::Unsigned(2),
            data_type::INT2 => DataType::Signed(2),
            _ => {
                return Err(format!(
                    "the data type {code}; float, double, float16, bfloat16, bool and integers of 2, 4 and 8 to 64 bits are read"
                ));
            }
        })
    }

    pub(super) fn is_bool(self) -> bool {
        self == DataType::Bool
    }

    pub(super) fn is_float(self) -> bool {
        matches!(
            self,
            DataType::Float | DataType::Double | DataType::Half | DataType::Bfloat
        )
    }

    /// Bits of a number in a file.
    pub(super) fn bits(self) -> usize {
        match self {
            DataType::Bool => 8,
            DataType::Half | DataType::Bfloat => 16,
            DataType::Float => 32,
            DataType::Double => 64,
            DataType::Signed(bits) | DataType::Unsigned(bits) => bits as usize,
        }
    }

    /// Bytes of so many numbers, of which few bits share one.
    pub(super) fn bytes(self, n: usize) -> usize {
        (n * self.bits()).div_ceil(8)
    }

    /// The name of the type in messages.
    pub(super) fn name(self) -> String {
        match self {
            DataType::Float => "float".into(),
            DataType::Double => "double".into(),
            DataType::Half => "float16".into(),
            DataType::Bfloat => "bfloat16".into(),
            DataType::Bool => "bool".into(),
            DataType::Signed(bits) => format!("int{bits}"),
            DataType::Unsigned(bits) => format!("uint{bits}"),
        }
    }

    /// The float nearest to `v` that the type has.
    pub(super) fn round(self, v: f32) -> f32 {
        match self {
            DataType::Half => round_half(v),
            DataType::Bfloat => round_bfloat(v),
            _ => v,
        }
    }

    /// The lowest bits of `v`, as the type reads them; `None` where 64 bits with a sign lack room.
    pub(super) fn wrap(self, v: i64) -> Option<i64> {
        match self {
            DataType::Bool => Some(i64::from(v != 0)),
            DataType::Signed(bits) => Some(v << (64 - bits) >> (64 - bits)),
            DataType::Unsigned(64) => Some(v).filter(|&v| v >= 0),
            DataType::Unsigned(bits) => Some(v & ((1 << bits) - 1)),
            _ => Some(v),
        }
    }

    /// Whether the type has every whole number up to `most`.
    pub(super) fn holds(self, most: usize) -> bool {
        let bits = match self {
            DataType::Bool => 1,
            DataType::Bfloat => 8,
            DataType::Half => 11,
            DataType::Float => 24,
            DataType::Double => 53,
            DataType::Signed(bits) => bits - 1,
            DataType::Unsigned(bits) => bits.min(63),
        };
        self != DataType::Bool && most < 1 << bits
    }

    /// Whether `v` is the largest number of the type that is read.
    pub(super) fn is_most(self, v: i64) -> bool {
        match self {
            DataType::Signed(bits) => v == i64::MAX >> (64 - bits),
            DataType::Unsigned(bits) => v == i64::MAX >> (63 - bits.min(63)),
            _ => false,
        }
    }

    /// The smallest and the largest number of an integer type of few bits.
    pub(super) fn holds_within(self) -> (f32, f32) {
        let (low, end) = self.range();
        (low as f32, (end - 1.0) as f32)
    }

    /// Where the integers of the type that are read begin, and where they end.
    fn range(self) -> (f64, f64) {
        match self {
            DataType::Unsigned(bits) if bits < 64 => (0.0, f64::from(bits).exp2()),
            DataType::Unsigned(_) => (0.0, 63f64.exp2()),
            DataType::Signed(bits) => (-f64::from(bits - 1).exp2(), f64::from(bits - 1).exp2()),
            _ => (0.0, 2.0),
        }
    }

    /// `v` without what stands after the point; of a bool, whether it is not 0.
    fn truncate(self, v: f64) -> Result<i64, Fault> {
        if v.is_nan() {
            return unsupported("its constant holds NaN, which has no whole number");
        }
        if self == DataType::Bool {
            return Ok((v != 0.0).into());
        }
        // What every processor makes of it; places far from others are numbered so, and then not taken.
        if self == DataType::Signed(64) && v == f64::NEG_INFINITY {
            return Ok(i64::MIN);
        }
        let (low, high) = self.range();
        let whole = v.trunc();
        if low <= whole && whole < high {
            return Ok(whole as i64);
        }
        unsupported(format!(
            "its constant holds {v}, which {} does not hold",
            self.name()
        ))
    }
}

/// `from` as another type: floats are truncated to integers and rounded to floats, integers wrap.
pub(super) fn cast(from: &Constant, to: DataType) -> Result<Constant, Fault> {
    let data = match &from.data {
        same if from.kind == to => same.clone(),
        Data::Int(v) if to.is_float() => {
            if v.contains(&BATCH) {
                return unsupported("it computes with the batch size, which is free");
            }
            match to {
                DataType::Double => Data::double(v.iter().map(|&v| v as f64).collect()),
                _ => Data::Float(v.iter().map(|&v| to.round(v as f32)).collect()),
            }
        }
        Data::Int(v) => {
            let wrapped = v.iter().map(|&v| match v {
                BATCH if to != DataType::Bool => Some(v),
                v => to.wrap(v),
            });
            match wrapped.collect() {
                Some(v) => Data::Int(v),
                None => {
                    let name = to.name();
                    return unsupported(format!(
                        "a negative number becomes {name}, of which only numbers below 2^63 are read"
                    ));
                }
            }
        }
        Data::Float(v) if to == DataType::Double => {
            Data::double(v.iter().copied().map(f64::from).collect())
        }
        Data::Float(v) if matches!(to, DataType::Float) => Data::Float(v.clone()),
        Data::Float(v) if to.is_float() => Data::Float(v.iter().map(|&v| to.round(v)).collect()),
        Data::Double { rounded, .. } if to == DataType::Float => Data::Float(rounded.clone()),
        Data::Double { rounded, .. } if to.is_float() => {
            Data::Float(rounded.iter().map(|&v| to.round(v)).collect())
        }
        Data::Float(v) => {
            let whole = v.iter().map(|&v| to.truncate(v.into()));
            Data::Int(whole.collect::<Result<_, _>>()?)
        }
        Data::Double { exact, .. } => {
            let whole = exact.iter().map(|&v| to.truncate(v));
            Data::Int(whole.collect::<Result<_, _>>()?)
        }
    };
    Ok(Constant {
        shape: from.shape.clone(),
        kind: to,
        data,
    })
}

/// The binary16 number of these bits.
pub(super) fn half(bits: u16) -> f32 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    }
}

/// The number whose upper half these bits are.
pub(super) fn bfloat(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest binary16 number, of two the even one; infinite from 65520 on.
fn round_half(v: f32) -> f32 {
    if !v.is_finite() || v == 0.0 {
        return v;
    }
    let exponent = (v.abs().to_bits() >> 23) as i32 - 127;
    let unit = 2f64.powi(exponent.max(-14) - 10);
    let rounded = ((f64::from(v) / unit).round_ties_even() * unit) as f32;
    if rounded.abs() > 65504.0 {
        f32::INFINITY.copysign(v)
    } else {
        rounded
    }
}

/// The nearest number whose lower half is 0, of two the even one.
fn round_bfloat(v: f32) -> f32 {
    if !v.is_finite() {
        return v;
    }
    let bits = v.to_bits();
    let half = 0x7fff + (bits >> 16 & 1);
    f32::from_bits((bits + half) & 0xffff_0000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(kind: DataType, data: Data) -> Constant {
        Constant {
            shape: vec![data.len()],
            kind,
            data,
        }
    }

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

    /// Every binary16 number is its own rounding, and the middle of two goes to the even one.
    #[test]
    fn rounding_to_half_precision() {
        for bits in 0..0x7bffu16 {
            let (low, high) = (half(bits), half(bits + 1));
            assert_eq!(round_half(low), low);
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { low } else { high };
            assert_eq!(round_half(middle), even, "{bits:x}");
            assert_eq!(round_half(-middle), -even, "{bits:x}");
        }
        assert_eq!(round_half(65519.9), 65504.0);
        assert_eq!(round_half(65520.0), f32::INFINITY);
        assert_eq!(round_bfloat(1.0 + 2f32.powi(-8)), 1.0);
        assert_eq!(round_bfloat(1.0 + 3.0 * 2f32.powi(-8)), 1.0 + 2f32.powi(-6));
        assert_eq!(round_bfloat(f32::MAX), f32::INFINITY);
    }

    #[test]
    fn casts_truncate_wrap_and_round() {
        let floats = constant(DataType::Float, Data::Float(vec![2.9, -2.9, -0.5].into()));
        let ints = |c: &Constant, to| match cast(c, to).expect("it fits").data {
            Data::Int(v) => v,
            other => panic!("{other:?}"),
        };
        assert_eq!(ints(&floats, DataType::Signed(64)), [2, -2, 0]);
        assert_eq!(ints(&floats, DataType::Bool), [1, 1, 1]);
        let lowest = constant(DataType::Float, Data::Float(vec![f32::NEG_INFINITY].into()));
        assert_eq!(ints(&lowest, DataType::Signed(64)), [i64::MIN]);
        let wide = constant(DataType::Signed(64), Data::Int(vec![300, -129, 0]));
        assert_eq!(ints(&wide, DataType::Signed(8)), [44, 127, 0]);
        assert_eq!(ints(&wide, DataType::Unsigned(8)), [44, 127, 0]);
        assert_eq!(ints(&wide, DataType::Bool), [1, 1, 0]);
        // 2^24 + 1 is no float, but a double.
        let double = constant(DataType::Double, Data::double(vec![16_777_217.0]));
        assert_eq!(ints(&double, DataType::Signed(32)), [16_777_217]);
        let float = cast(&double, DataType::Float).expect("it fits");
        assert_eq!(float.data, Data::Float(vec![16_777_216.0].into()));
        for (value, to) in [
            (f32::NAN, DataType::Bool),
            (f32::INFINITY, DataType::Signed(64)),
            (128.0, DataType::Signed(8)),
            (-1.0, DataType::Unsigned(8)),
            (9.3e18, DataType::Signed(64)),
        ] {
            let from = constant(DataType::Float, Data::Float(vec![value].into()));
            assert!(cast(&from, to).is_err(), "{value} to {to:?}");
        }
    }
}
