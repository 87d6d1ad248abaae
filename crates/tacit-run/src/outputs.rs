//! Files that a run writes: checked before anything is computed, and never lost.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tacit_nn::graph::{Output, len};

use crate::{Error, npy, npz};

/// Refuses, before a run, outputs that could not be written, that have one name, or that are one of
/// the inputs. Devices and pipes are taken as they are.
pub fn check_outputs(outputs: &[&Path], inputs: &[&Path]) -> Result<(), Error> {
    let inputs: Vec<PathBuf> = inputs
        .iter()
        .filter_map(|p| p.canonicalize().ok())
        .collect();
    let mut known: Vec<PathBuf> = Vec::new();
    for path in outputs {
        let refused = |why: String| Err(Error::file(path, why));
        if let Ok(found) = fs::metadata(path)
            && !found.is_file()
            && !found.is_dir()
        {
            continue;
        }
        let real = match real(path) {
            Ok(real) => real,
            Err(why) => return refused(why),
        };
        if inputs.contains(&real) {
            return refused(
                "it is one of the inputs, which would be lost; give another name".into(),
            );
        }
        if known.contains(&real) {
            return refused("two outputs have this name; give each its own".into());
        }
        if let Err(e) = tried(&real) {
            return refused(format!(
                "it cannot be written ({}); give another",
                words(&e)
            ));
        }
        known.push(real);
    }
    Ok(())
}

/// The path with its folder as the system knows it, or why nothing can be written there.
fn real(path: &Path) -> Result<PathBuf, String> {
    if path.is_dir() {
        return Err("it is a folder; give the name of a file".into());
    }
    if let Ok(real) = path.canonicalize() {
        return Ok(real);
    }
    let Some(name) = path.file_name() else {
        return Err("it names no file".into());
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    match folder.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real.join(name)),
        Ok(_) => Err(format!("{} is no folder", folder.display())),
        Err(e) => Err(format!(
            "its folder {} is not there ({}); make it first",
            folder.display(),
            words(&e)
        )),
    }
}

/// Whether a file holds several arrays, by its name.
pub(crate) fn is_npz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npz")
}

/// Refuses a file of one array for a model of several outputs.
pub(crate) fn check_holds(path: &Path, outputs: &[Output]) -> Result<(), Error> {
    match outputs.len() > 1 && !is_npz(path) {
        true => {
            let names: Vec<&str> = outputs.iter().map(|output| &output.name[..]).collect();
            let why = format!(
                "the model has the outputs '{}', and this file would hold one array; let its name end in .npz",
                names.join("', '")
            );
            Err(Error::file(path, why))
        }
        false => Ok(()),
    }
}

/// The bytes of a file of the outputs of a run, whose numbers are `values`: an array for each of several, or
/// where they are asked for, by their names.
pub(crate) fn content(values: &[f32], outputs: &[Output], names: bool) -> Result<Vec<u8>, String> {
    let lens = outputs.iter().map(|output| len(&output.shape));
    let row = lens.clone().sum::<usize>().max(1);
    let items = values.len() / row;
    let starts = lens.clone().scan(0, |end, n| {
        *end += n;
        Some(*end - n)
    });
    let array = |(output, (start, n)): (&Output, (usize, usize))| {
        let rows = values.chunks_exact(row);
        let own: Vec<f32> = rows
            .flat_map(|row| &row[start..start + n])
            .copied()
            .collect();
        let (own, shape) = laid_out(own, items, output);
        npy::floats(&own, &shape)
    };
    let mut arrays = outputs
        .iter()
        .zip(starts.zip(lens))
        .map(|of| (&of.0.name[..], array(of)));
    match names || outputs.len() > 1 {
        true => npz::bytes(&arrays.collect::<Vec<_>>()),
        false => Ok(arrays.next().map(|(_, array)| array).unwrap_or_default()),
    }
}

/// The numbers of the outputs in such a file, item after item.
pub(crate) fn read(path: &Path, outputs: &[Output]) -> Result<Vec<f32>, Error> {
    if !is_npz(path) {
        return Ok(npy::read_floats(path)?.0);
    }
    let fail = |why: String| Error::file(path, why);
    let arrays = npz::read(path)?;
    let one = |output: &Output| {
        let found = arrays.iter().find(|(name, _)| *name == output.name);
        let (_, bytes) = found.ok_or_else(|| format!("it has no array '{}'", output.name))?;
        npy::parse_floats(bytes)
    };
    let parts: Vec<(Vec<f32>, Vec<usize>)> = outputs
        .iter()
        .map(one)
        .collect::<Result<_, String>>()
        .map_err(fail)?;
    let sizes = parts.iter().zip(outputs);
    let items = sizes.map(|((_, shape), output)| shape.get(output.batch).copied());
    let items = items.min().flatten().unwrap_or(0);
    let parts = parts.iter().zip(outputs);
    let parts: Vec<Vec<f32>> = parts
        .map(|((values, _), output)| by_items(values, items, output))
        .collect();
    let row = |item: usize| {
        parts.iter().flat_map(move |values| {
            let each = values.len() / items;
            &values[item * each..(item + 1) * each]
        })
    };
    Ok((0..items).flat_map(row).copied().collect())
}

/// The numbers of an output's items as the model's file lays them out, and their shape.
fn laid_out(values: Vec<f32>, items: usize, output: &Output) -> (Vec<f32>, Vec<usize>) {
    let mut shape = output.shape.clone();
    shape.insert(output.batch, items);
    let outer = len(&output.shape[..output.batch]);
    (turned(&values, [items, outer]), shape)
}

/// The inverse: one item after the other.
fn by_items(values: &[f32], items: usize, output: &Output) -> Vec<f32> {
    let outer = len(&output.shape[..output.batch]);
    turned(values, [outer, items])
}

/// Blocks that stand in rows and columns, column after column.
fn turned(values: &[f32], [rows, columns]: [usize; 2]) -> Vec<f32> {
    let block = values.len() / (rows * columns).max(1);
    let at = |row: usize, column: usize| (row * columns + column) * block;
    let places = (0..columns).flat_map(|column| (0..rows).map(move |row| at(row, column)));
    places
        .flat_map(|start| values[start..start + block].iter().copied())
        .collect()
}

/// Opens a file to write, and leaves it as it was.
fn tried(path: &Path) -> io::Result<()> {
    let there = path.symlink_metadata().is_ok();
    OpenOptions::new().append(true).create(true).open(path)?;
    match there {
        true => Ok(()),
        false => fs::remove_file(path),
    }
}

/// Writes a file. Where that fails the content goes to a new file among the temporary ones, or in
/// the working directory, that only its owner may read; the error names it.
pub fn write_output(path: &Path, content: &[u8]) -> Result<(), Error> {
    let why = match whole(File::create(path), content) {
        Ok(()) => return Ok(()),
        Err(why) => words(&why),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut failed = Vec::new();
    for folder in [std::env::temp_dir(), PathBuf::from(".")] {
        match beside(&folder, &name, content) {
            Ok(kept) => {
                let why = format!(
                    "it cannot be written ({why}); its content is in {}, which only you may read: move it from there",
                    kept.display()
                );
                return Err(Error::file(path, why));
            }
            Err(e) => failed.push(format!("{}: {}", folder.display(), words(&e))),
        }
    }
    let why = format!(
        "it cannot be written ({why}), and neither can a copy ({}): the content is lost",
        failed.join("; ")
    );
    Err(Error::file(path, why))
}

/// Writes a new file in the folder, named after an output.
fn beside(folder: &Path, name: &str, content: &[u8]) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(|e| io::Error::other(e.to_string()))?;
    let path = folder.join(format!("tacit-{:016x}-{name}", u64::from_le_bytes(random)));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match whole(options.open(&path), content) {
        Ok(()) => Ok(path),
        Err(e) => {
            // A part of the content is of no use to anybody.
            let _ = fs::remove_file(&path);
            Err(e)
        }
    }
}

/// Writes all of it, and waits until it is on the disk.
fn whole(file: io::Result<File>, content: &[u8]) -> io::Result<()> {
    let mut file = file?;
    file.write_all(content)?;
    match file.metadata()?.is_file() {
        true => file.sync_all(),
        false => Ok(()),
    }
}

/// An error of the system in its words.
fn words(error: &io::Error) -> String {
    without_number(error)
}

/// What is wrong without the number that the system has for it.
pub(crate) fn without_number(error: impl Display) -> String {
    let text = error.to_string();
    let Some((before, after)) = text.split_once(" (os error ") else {
        return text;
    };
    let (_, after) = after.split_once(')').unwrap_or_default();
    format!("{before}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("tacit-out-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).expect("a folder");
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_cannot_be_written_is_refused_and_nothing_is_changed() {
        let folder = Folder::new("checked");
        let at = |name: &str| folder.0.join(name);
        fs::write(at("x.npy"), b"input").expect("writes");
        fs::write(at("old"), b"old").expect("writes");
        let check = |outputs: &[PathBuf]| {
            let outputs: Vec<&Path> = outputs.iter().map(PathBuf::as_path).collect();
            check_outputs(&outputs, &[&at("x.npy")]).map_err(|e| e.to_string())
        };
        for (outputs, why) in [
            (vec![folder.0.clone()], "it is a folder"),
            (vec![at("no/out")], "/no is not there"),
            (vec![at("old/out")], "old is no folder"),
            (vec![at("./x.npy")], "one of the inputs"),
            (vec![at("new"), at("./new")], "two outputs have this name"),
            (vec![PathBuf::from("/proc/tacit")], "cannot be written"),
            (vec![at(&"n".repeat(300))], "cannot be written"),
        ] {
            let error = check(&outputs).expect_err(why);
            assert!(error.contains(why), "{error}");
            assert!(error.starts_with(&outputs[outputs.len() - 1].display().to_string()));
            assert!(!error.contains("os error"), "{error}");
        }
        check(&[at("old"), at("new"), "/dev/null".into(), "/dev/null".into()]).expect("good");
        assert_eq!(fs::read(at("old")).expect("there"), b"old");
        assert!(!at("new").exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_full_disk_refuses_is_kept_elsewhere() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new("full");
        for path in [
            Path::new("/dev/full").to_path_buf(),
            folder.0.join("gone/out.npy"),
        ] {
            let error = write_output(&path, b"answers")
                .expect_err("refused")
                .to_string();
            let (_, kept) = error.split_once("its content is in ").expect("a place");
            let (kept, _) = kept.split_once(", which").expect("a place");
            assert_eq!(fs::read(kept).expect("there"), b"answers", "{error}");
            let mode = fs::metadata(kept).expect("there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            fs::remove_file(kept).expect("there");
        }
        write_output(&folder.0.join("out"), b"answers").expect("writes");
    }
}
