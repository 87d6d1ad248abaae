//! The requests that the data's owner makes of parties that stay.

use std::ffi::OsString;
use std::io::{self, BufRead};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long a party waits for a request before it looks at what else there is.
const PAUSE: Duration = Duration::from_millis(100);

/// The next request, or what is known of it by now.
pub(crate) enum Next<T> {
    /// A request, the next one.
    This(T),
    /// No request yet.
    Nothing,
    /// No more requests will come.
    Over,
}

/// What opens the text that names files of inputs.
type Open = Box<dyn FnOnce() -> Box<dyn BufRead> + Send>;

/// Files of inputs, one after the other; read by the data's owner alone.
pub struct Requests {
    /// What opens the text, until the first file is waited for.
    open: Option<Open>,
    lines: Option<Receiver<io::Result<PathBuf>>>,
}

impl Requests {
    /// The requests of a text, one in every line that is not empty. The text is opened when the
    /// first is waited for, and read on a thread of its own, which lives until the text ends.
    pub fn of_lines<R: BufRead + 'static>(open: impl FnOnce() -> R + Send + 'static) -> Self {
        Requests {
            open: Some(Box::new(|| Box::new(open()))),
            lines: None,
        }
    }

    /// Waits a moment for the next.
    pub(crate) fn next(&mut self) -> Next<io::Result<PathBuf>> {
        if let Some(open) = self.open.take() {
            self.lines = Some(read(open));
        }
        self.lines.as_ref().map_or(Next::Over, waited)
    }
}

/// What comes within a moment.
pub(crate) fn waited<T>(source: &Receiver<T>) -> Next<T> {
    match source.recv_timeout(PAUSE) {
        Ok(this) => Next::This(this),
        Err(RecvTimeoutError::Timeout) => Next::Nothing,
        Err(RecvTimeoutError::Disconnected) => Next::Over,
    }
}

fn read(open: Open) -> Receiver<io::Result<PathBuf>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        // Names of files need not be text.
        for line in open().split(b'\n') {
            let named = line.map(|mut line| {
                line.pop_if(|last| *last == b'\r');
                PathBuf::from(OsString::from_vec(line))
            });
            let failed = named.is_err();
            let empty = named.as_ref().is_ok_and(|path| path.as_os_str().is_empty());
            if !empty && sender.send(named).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_a_file() {
        let mut requests = Requests::of_lines(|| b"a.npy\n\nb \xff.npy\r\nlast".as_slice());
        let mut next = || loop {
            match requests.next() {
                Next::This(path) => return path.ok(),
                Next::Nothing => {}
                Next::Over => return None,
            }
        };
        let name = |bytes: &[u8]| Some(PathBuf::from(OsString::from_vec(bytes.to_vec())));
        assert_eq!([next(), next()], [name(b"a.npy"), name(b"b \xff.npy")]);
        assert_eq!([next(), next()], [name(b"last"), None]);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        struct Broken;
        impl io::Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::ConnectionReset.into())
            }
        }
        let mut requests = Requests::of_lines(|| io::BufReader::new(Broken));
        let first = loop {
            match requests.next() {
                Next::Nothing => {}
                Next::This(first) => break first,
                Next::Over => panic!("it is not over"),
            }
        };
        assert!(first.is_err());
    }
}
