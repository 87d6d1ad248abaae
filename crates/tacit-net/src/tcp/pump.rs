//! The two threads of a connection: one encrypts and writes, one reads and decrypts.
//!
//! The TLS state is locked for cryptography only, never while a socket is waited for; only the
//! writer takes bytes out of it, so that records leave in the order in which they were made.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rustls::Connection;

use super::connect::{Secured, spawn, system};
use crate::NetError;
use crate::emulate::sleep_until;
use crate::frame::{Decoder, HEADER, Session, cut};
use crate::link::{Outbound, Parcel};
use crate::queue::{End, Gone, Part, Queue, decode};

/// Bytes read from the socket at a time.
const READ_BYTES: usize = 256 << 10;

enum Job {
    Parcel(Parcel),
    /// The reader made TLS say something.
    Flush,
    /// This party sends no more.
    Close,
    /// The peer hears no more.
    PeerGone,
}

struct Shared {
    stream: TcpStream,
    tls: Mutex<Connection>,
    hurry: AtomicBool,
}

impl Shared {
    fn tls(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the threads of a connection.
pub(crate) fn start(end: Secured, session: Session) -> Result<(TcpOut, Arc<Queue>), NetError> {
    let Secured {
        mut tls, stream, ..
    } = end;
    stream
        .set_nodelay(true)
        .and_then(|()| stream.set_read_timeout(None))
        .and_then(|()| stream.set_write_timeout(None))
        .map_err(|e| system("socket", &e))?;
    tls.set_buffer_limit(None);
    let shared = Arc::new(Shared {
        stream,
        tls: Mutex::new(tls),
        hurry: AtomicBool::new(false),
    });
    let queue = Queue::new();
    let (jobs, work) = channel();
    let (read_done, reader_ended) = channel();
    let (write_done, writer_ended) = channel();

    let (its, its_queue, its_jobs) = (shared.clone(), queue.clone(), jobs.clone());
    let reader = spawn("read", move || {
        its_queue.end(read(&its, &its_queue, &its_jobs));
        let _ = its_jobs.send(Job::PeerGone);
        drop(read_done);
    })?;
    let its = shared.clone();
    let writer = spawn("write", move || {
        // A failure to write is one that the reader sees too; nobody else asks for it.
        let _ = write(&its, &work, session);
        drop(write_done);
    });
    let writer = match writer {
        Ok(writer) => writer,
        Err(error) => {
            let _ = shared.stream.shutdown(Shutdown::Both);
            return Err(error);
        }
    };
    let ended = [writer_ended, reader_ended];
    Ok((
        TcpOut {
            shared,
            jobs,
            ended,
            threads: vec![reader, writer],
        },
        queue,
    ))
}

/// The way out over a connection.
pub(crate) struct TcpOut {
    shared: Arc<Shared>,
    jobs: Sender<Job>,
    /// Each disconnects when its thread has ended.
    ended: [Receiver<()>; 2],
    threads: Vec<JoinHandle<()>>,
}

impl Outbound for TcpOut {
    fn send(&mut self, parcel: Parcel) -> Result<(), Gone> {
        self.jobs.send(Job::Parcel(parcel)).map_err(|_| Gone)
    }

    fn close(&mut self, hurry: bool) {
        self.shared.hurry.store(hurry, Ordering::Relaxed);
        let _ = self.jobs.send(Job::Close);
    }

    /// The reader ends when the peer has read everything and closed its end too.
    fn flushed(&mut self, until: Instant) -> Result<(), String> {
        for ended in &self.ended {
            let left = until.saturating_duration_since(Instant::now());
            if ended.recv_timeout(left) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return Err("it did not take the last messages in time".into());
            }
        }
        Ok(())
    }
}

impl Drop for TcpOut {
    fn drop(&mut self) {
        self.close(true);
        let _ = self.shared.stream.shutdown(Shutdown::Both);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Moves what comes in to the queue until the stream ends; says how it ended.
fn read(shared: &Shared, queue: &Queue, jobs: &Sender<Job>) -> End {
    let mut buffer = vec![0; READ_BYTES];
    let mut decoder = Decoder::default();
    // What came with the greeting is in the TLS state already.
    let mut filled = 0;
    loop {
        let mut parts = Vec::new();
        let end = open(shared, &buffer[..filled], &mut decoder, &mut parts, jobs);
        for part in parts {
            // Of a party that receives no more, the connection is read on to its end, so that
            // the peer can finish writing.
            let _ = queue.push_bounded(part);
        }
        if let Some(end) = end {
            return end;
        }
        filled = match (&shared.stream).read(&mut buffer) {
            Ok(0) => {
                return End::Broken(
                    "the connection ended without a goodbye: its process died".into(),
                );
            }
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            Err(e) => return End::Broken(format!("the connection broke ({e})")),
        };
    }
}

/// Decrypts bytes of the socket into frames; says if they were the last.
fn open(
    shared: &Shared,
    mut bytes: &[u8],
    decoder: &mut Decoder,
    parts: &mut Vec<Part>,
    jobs: &Sender<Job>,
) -> Option<End> {
    let mut tls = shared.tls();
    let end = loop {
        if let Err(fault) = decode(decoder, &mut tls.reader(), parts) {
            break Some(End::Fault(fault));
        }
        let state = tls.process_new_packets();
        match state {
            Ok(state) if state.plaintext_bytes_to_read() > 0 => continue,
            Ok(state) if state.peer_has_closed() => break Some(decoder.end()),
            Ok(_) => {}
            Err(e) => {
                break Some(End::Broken(format!(
                    "the connection was tampered with ({e})"
                )));
            }
        }
        if bytes.is_empty() {
            break None;
        }
        if let Err(e) = tls.read_tls(&mut bytes) {
            break Some(End::Broken(format!("TLS failed ({e})")));
        }
    };
    if tls.wants_write() {
        let _ = jobs.send(Job::Flush);
    }
    end
}

/// Writes what is queued until there will be no more, then says goodbye.
fn write(shared: &Shared, work: &Receiver<Job>, session: Session) -> io::Result<()> {
    let mut sequence = 0;
    let mut sealed = Vec::new();
    while let Ok(job) = work.recv() {
        match job {
            Job::Parcel(parcel) => message(shared, &parcel, session, &mut sequence, &mut sealed)?,
            Job::Flush => flush(shared, &mut sealed)?,
            Job::Close | Job::PeerGone => break,
        }
    }
    shared.tls().send_close_notify();
    flush(shared, &mut sealed)?;
    shared.stream.shutdown(Shutdown::Write)
}

/// Writes one message, each of its frames when it is due.
fn message(
    shared: &Shared,
    parcel: &Parcel,
    session: Session,
    sequence: &mut u64,
    sealed: &mut Vec<u8>,
) -> io::Result<()> {
    let mut sent = 0;
    for (more, payload) in cut(&parcel.payload) {
        if shared.hurry.load(Ordering::Relaxed) && !parcel.farewell {
            return Ok(());
        }
        sent += HEADER + payload.len();
        sleep_until(parcel.slot.due(sent));
        let header = parcel
            .header(session, *sequence, payload.len(), more)
            .encode();
        *sequence += 1;
        let whole = HEADER + payload.len();
        let mut tls = shared.tls();
        let taken = tls
            .writer()
            .write_vectored(&[IoSlice::new(&header), IoSlice::new(payload)])?;
        if taken != whole {
            return Err(io::ErrorKind::WriteZero.into());
        }
        drop(tls);
        flush(shared, sealed)?;
    }
    Ok(())
}

/// Writes what TLS has to say.
fn flush(shared: &Shared, sealed: &mut Vec<u8>) -> io::Result<()> {
    sealed.clear();
    let mut tls = shared.tls();
    while tls.wants_write() {
        tls.write_tls(sealed)?;
    }
    drop(tls);
    (&shared.stream).write_all(sealed)
}
