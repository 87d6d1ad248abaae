//! Reads from a certificate's DER form what a person wants to know: its name and its period of
//! validity. For messages only: TLS reads certificates by itself and trusts nothing found here.

use std::time::SystemTime;

use crate::time::moment;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OBJECT: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The version's explicit tag.
const VERSION: u8 = 0xa0;
/// The common name, 2.5.4.3.
const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];

/// A certificate's name and period.
pub(super) struct Facts {
    pub(super) name: Option<String>,
    pub(super) from: SystemTime,
    pub(super) until: SystemTime,
}

/// Reads `Certificate ::= SEQUENCE { tbsCertificate SEQUENCE { [0] version, serialNumber, signature,
/// issuer, validity, subject, ... }, ... }` (RFC 5280).
pub(super) fn facts(der: &[u8]) -> Option<Facts> {
    let mut bytes = der;
    let mut certificate = tagged(&mut bytes, SEQUENCE)?;
    let mut body = tagged(&mut certificate, SEQUENCE)?;
    if body.first() == Some(&VERSION) {
        tagged(&mut body, VERSION)?;
    }
    tagged(&mut body, INTEGER)?;
    tagged(&mut body, SEQUENCE)?;
    tagged(&mut body, SEQUENCE)?;
    let mut validity = tagged(&mut body, SEQUENCE)?;
    let (from, until) = (time(&mut validity)?, time(&mut validity)?);
    let name = tagged(&mut body, SEQUENCE).and_then(common_name);
    Some(Facts { name, from, until })
}

/// The common name among a subject's `SET { SEQUENCE { OBJECT, string } }`.
fn common_name(mut subject: &[u8]) -> Option<String> {
    while !subject.is_empty() {
        let mut set = tagged(&mut subject, SET)?;
        while !set.is_empty() {
            let mut pair = tagged(&mut set, SEQUENCE)?;
            let kind = tagged(&mut pair, OBJECT)?;
            let (_, text) = element(&mut pair)?;
            if kind == COMMON_NAME {
                return Some(crate::link::printable(text));
            }
        }
    }
    None
}

/// `YYMMDDHHMMSSZ` of the years 1950 to 2049, or `YYYYMMDDHHMMSSZ`.
fn time(bytes: &mut &[u8]) -> Option<SystemTime> {
    let (tag, text) = element(bytes)?;
    let text = std::str::from_utf8(text.strip_suffix(b"Z")?).ok()?;
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (tag, text.len()) {
        (UTC_TIME, 12) => {
            let short: u64 = text[..2].parse().ok()?;
            (if short < 50 { 2000 } else { 1900 } + short, &text[2..])
        }
        (GENERALIZED_TIME, 14) => (text[..4].parse().ok()?, &text[4..]),
        _ => return None,
    };
    let two = |at: usize| rest[at..at + 2].parse::<u64>().ok();
    moment([year, two(0)?, two(2)?, two(4)?, two(6)?, two(8)?])
}

fn tagged<'a>(bytes: &mut &'a [u8], expected: u8) -> Option<&'a [u8]> {
    let (tag, content) = element(bytes)?;
    (tag == expected).then_some(content)
}

/// The next element's tag and content.
fn element<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[tag, first], mut rest) = bytes.split_first_chunk::<2>()?;
    let len = match first {
        0..=0x7f => usize::from(first),
        0x81..=0x84 => {
            let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            rest = after;
            digits.iter().fold(0, |len, &d| len << 8 | usize::from(d))
        }
        _ => return None,
    };
    let (content, after) = rest.split_at_checked(len)?;
    *bytes = after;
    Some((tag, content))
}
