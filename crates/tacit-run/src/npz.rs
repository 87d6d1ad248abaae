//! NumPy's `.npz` files: arrays with names, stored in a zip file without compression.

use std::fs;
use std::path::Path;

use crate::Error;

/// What a member, its entry in the directory, and the end of the directory begin with.
const MEMBER: &[u8; 4] = b"PK\x03\x04";
const ENTRY: &[u8; 4] = b"PK\x01\x02";
const END: &[u8; 4] = b"PK\x05\x06";
/// Bytes of a member before its name; `ENTRY_LEN` and `END_LEN` are those of an entry and of the directory's end.
const MEMBER_LEN: usize = 30;
const ENTRY_LEN: usize = 46;
const END_LEN: usize = 22;
/// The version of the format that is needed to read a stored member, and the flag of names in UTF-8.
const VERSION: u16 = 20;
const UTF8: u16 = 1 << 11;
/// The first day that a zip file can name.
const DAY: u16 = 1 << 5 | 1;
/// The longest comment behind the directory.
const MAX_COMMENT: usize = u16::MAX as usize;

/// The bytes of a file of arrays: their names, and each as an `.npy` file.
pub(crate) fn bytes(arrays: &[(&str, Vec<u8>)]) -> Result<Vec<u8>, String> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in arrays {
        let name = format!("{name}.npy");
        let size = narrow(content.len())?;
        let offset = narrow(file.len())?;
        let mut header = Vec::new();
        for half in [VERSION, UTF8, 0, 0, DAY] {
            header.extend(half.to_le_bytes());
        }
        for word in [checksum(content), size, size, narrow(name.len())?] {
            header.extend(word.to_le_bytes());
        }
        file.extend(MEMBER);
        file.extend(&header);
        file.extend(name.as_bytes());
        file.extend(content);
        directory.extend(ENTRY);
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&header);
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let count = u16::try_from(arrays.len()).map_err(|_| "it has too many arrays")?;
    let (start, size) = (narrow(file.len())?, narrow(directory.len())?);
    file.extend(directory);
    file.extend(END);
    file.extend([0; 4]);
    file.extend([count, count].map(u16::to_le_bytes).concat());
    file.extend([size, start].map(u32::to_le_bytes).concat());
    file.extend([0; 2]);
    Ok(file)
}

/// Reads the arrays of a file: their names, and the bytes of each as an `.npy` file.
pub(crate) fn read(path: &Path) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let fail = |why: String| Error::file(path, why);
    let bytes = fs::read(path).map_err(|e| fail(format!("it cannot be read ({e})")))?;
    let members = members(&bytes).map_err(fail)?;
    let owned = members.into_iter().map(|(name, content)| {
        let name = name.strip_suffix(".npy").unwrap_or(name);
        (name.to_string(), content.to_vec())
    });
    Ok(owned.collect())
}

/// The members of a zip file.
fn members(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, String> {
    let not = || "this is not an .npz file; write it with numpy.savez".to_string();
    let last = bytes.len().checked_sub(END_LEN).ok_or_else(not)?;
    let mut ends = (last.saturating_sub(MAX_COMMENT)..=last).rev();
    let end = ends
        .find(|&at| bytes[at..].starts_with(END))
        .ok_or_else(not)?;
    let end = Fields(&bytes[end..]);
    let (count, mut at) = (end.half(10), end.word(16));
    let mut members = Vec::new();
    for _ in 0..count {
        let entry = bytes.get(at..).filter(|e| e.len() >= ENTRY_LEN);
        let entry = entry.filter(|e| e.starts_with(ENTRY)).ok_or_else(not)?;
        let fields = Fields(entry);
        let lens = [28, 30, 32].map(|place| fields.half(place));
        let name = entry.get(ENTRY_LEN..ENTRY_LEN + lens[0]).ok_or_else(not)?;
        let name = std::str::from_utf8(name).map_err(|_| not())?;
        let content = content(bytes, &fields, name).ok_or_else(not)??;
        members.push((name, content));
        at += ENTRY_LEN + lens.iter().sum::<usize>();
    }
    Ok(members)
}

/// The content of the member of an entry; `None` where it does not lie in the file.
fn content<'a>(bytes: &'a [u8], entry: &Fields, name: &str) -> Option<Result<&'a [u8], String>> {
    let fail = |why: &str| Some(Err(format!("its array '{name}' {why}")));
    if entry.half(10) != 0 || entry.half(8) & 1 != 0 {
        return fail("is compressed or encrypted; write it with numpy.savez, not savez_compressed");
    }
    let member = bytes.get(entry.word(42)..)?;
    let head = member.get(..MEMBER_LEN).filter(|m| m.starts_with(MEMBER))?;
    let head = Fields(head);
    let start = MEMBER_LEN + head.half(26) + head.half(28);
    let content = member.get(start..start.checked_add(entry.word(20))?)?;
    match checksum(content) as usize == entry.word(16) {
        true => Some(Ok(content)),
        false => fail("is damaged: its checksum differs"),
    }
}

/// Little-endian numbers at places of a record that is long enough.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn half(&self, at: usize) -> usize {
        u16::from_le_bytes([self.0[at], self.0[at + 1]]).into()
    }

    fn word(&self, at: usize) -> usize {
        self.half(at) | self.half(at + 2) << 16
    }
}

/// A size or a place as the format has it.
fn narrow(size: usize) -> Result<u32, String> {
    let fits = u32::try_from(size).ok().filter(|&size| size < u32::MAX);
    fits.ok_or_else(|| "an .npz file holds less than 4 GiB: compute fewer items".to_string())
}

/// The CRC-32 of zip files.
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut i = 0;
        while i < 256 {
            let (mut value, mut bit) = (i as u32, 0);
            while bit < 8 {
                value = match value & 1 {
                    1 => value >> 1 ^ 0xedb8_8320,
                    _ => value >> 1,
                };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    let step = |sum: u32, &byte: &u8| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)];
    !bytes.iter().fold(!0, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
        let arrays = [("a", vec![1, 2, 3]), ("b/é", vec![]), ("c", vec![9; 700])];
        let file = bytes(&arrays).expect("small");
        let found = members(&file).expect("a file");
        let expected = [("a.npy", &arrays[0].1), ("b/é.npy", &arrays[1].1)];
        assert!(
            found[..2]
                .iter()
                .zip(expected)
                .all(|(a, b)| *a == (b.0, &b.1[..]))
        );
        assert_eq!(found[2], ("c.npy", &[9; 700][..]));
    }

    /// Cut or changed anywhere, a file is refused or read as it was: no place in it leads beyond its end.
    #[test]
    fn damaged_files_are_refused() {
        let file = bytes(&[("a", vec![1, 2, 3]), ("b", vec![5; 40])]).expect("small");
        for end in 0..file.len() {
            assert!(members(&file[..end]).is_err(), "cut at {end}");
        }
        for at in 0..file.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = file.clone();
                damaged[at] = value;
                let _ = members(&damaged);
            }
        }
        let mut changed = file.clone();
        changed[MEMBER_LEN + "a.npy".len()] ^= 1;
        let error = members(&changed).expect_err("another content");
        assert!(error.contains("'a.npy' is damaged"), "{error}");
    }
}
