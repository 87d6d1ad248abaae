//! The two threads of a connection: one encrypts and writes, one reads and decrypts.
//!
//! A short message that is due at once, with none queued before it, skips the writing thread: its
//! sender encrypts it and writes as much as the socket takes without waiting.
//!
//! The TLS state is locked for cryptography and for writing what the socket takes at once, never
//! while waiting for a socket. Only the holder of the outlet takes bytes out of it, so records
//! leave in the order in which they were made.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use rustls::Connection;

use super::connect::{Secured, spawn, system};
use crate::NetError;
use crate::emulate::{LinkModel, Shaper, sleep_until};
use crate::frame::{Decoder, HEADER, Session, cut};
use crate::interrupt::{self, POLL};
use crate::link::{Farewell, Outbound, Parcel};
use crate::queue::{End, Gone, Part, Queue, decode};

/// Bytes read from the socket at a time.
const READ_BYTES: usize = 256 << 10;
/// The longest payload that its sender writes by itself.
const SHORT: usize = 64 << 10;

enum Job {
    Parcel(Parcel),
    /// Something is left to write, or the reader made TLS say something.
    Flush,
    /// This party sends no more.
    Close,
    /// The peer hears no more.
    PeerGone,
}

struct Shared {
    stream: TcpStream,
    tls: Mutex<Connection>,
    outlet: Mutex<Outlet>,
    /// Jobs that the writing thread has not done yet.
    waiting: AtomicUsize,
    hurry: AtomicBool,
    /// Known once all parties are there.
    session: OnceLock<Session>,
}

/// The right to write, in order.
#[derive(Default)]
struct Outlet {
    /// The number of the next frame.
    sequence: u64,
}

/// A socket that takes what it has room for.
struct Unwaiting<'a>(&'a TcpStream);

impl Write for Unwaiting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        Ok(sendmsg(
            self.0,
            parts,
            &mut SendAncillaryBuffer::default(),
            flags,
        )?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    /// Leaves a job to the writing thread.
    fn queue(&self, jobs: &Sender<Job>, job: Job) -> Result<(), Gone> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        jobs.send(job).map_err(|_| Gone)
    }

    fn outlet(&self) -> MutexGuard<'_, Outlet> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tls(&self) -> MutexGuard<'_, Connection> {
        self.tls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the threads of a connection.
pub(crate) fn start(end: Secured) -> Result<(TcpOut, Arc<Queue>), NetError> {
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
        outlet: Mutex::default(),
        waiting: AtomicUsize::new(0),
        hurry: AtomicBool::new(false),
        session: OnceLock::new(),
    });
    let queue = Queue::new();
    let (jobs, work) = channel();
    let (read_done, reader_ended) = channel();
    let (write_done, writer_ended) = channel();

    let (its, its_queue, its_jobs) = (shared.clone(), queue.clone(), jobs.clone());
    let reader = spawn("read", move || {
        its_queue.end(read(&its, &its_queue, &its_jobs));
        let _ = its.queue(&its_jobs, Job::PeerGone);
        drop(read_done);
    })?;
    let its = shared.clone();
    let writer = spawn("write", move || {
        // A failure to write is one that the reader sees too; nobody else asks for it.
        let _ = write(&its, &work);
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
        if let Some(left) = self.shared.write_short(&parcel) {
            return match left {
                true => self.queue(Job::Flush),
                false => Ok(()),
            };
        }
        self.queue(Job::Parcel(parcel))
    }

    fn begin(&mut self, session: Session) {
        let _ = self.shared.session.set(session);
    }

    fn close(&mut self, hurry: bool) {
        self.shared.hurry.store(hurry, Ordering::Relaxed);
        let _ = self.queue(Job::Close);
    }

    fn unsent(&self) -> usize {
        self.shared.waiting.load(Ordering::Acquire)
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

impl TcpOut {
    fn queue(&self, job: Job) -> Result<(), Gone> {
        self.shared.queue(&self.jobs, job)
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
        let _ = shared.queue(jobs, Job::Flush);
    }
    end
}

/// Writes what is queued until there will be no more, then says goodbye. After Ctrl-C that is at
/// once, whatever the party's own thread is at.
fn write(shared: &Shared, work: &Receiver<Job>) -> io::Result<()> {
    loop {
        let job = match work.recv_timeout(POLL) {
            _ if interrupt::raised() => {
                shared.interrupted()?;
                break;
            }
            Ok(job) => job,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        match job {
            Job::Parcel(parcel) => shared.message(&parcel)?,
            Job::Flush => shared.flush(&mut shared.outlet())?,
            Job::Close | Job::PeerGone => break,
        }
        shared.waiting.fetch_sub(1, Ordering::AcqRel);
    }
    shared.tls().send_close_notify();
    shared.flush(&mut shared.outlet())?;
    shared.stream.shutdown(Shutdown::Write)
}

impl Shared {
    /// Writes one message, each of its frames when it is due.
    fn message(&self, parcel: &Parcel) -> io::Result<()> {
        let mut outlet = self.outlet();
        let mut sent = 0;
        for (more, payload) in cut(&parcel.payload) {
            if self.hurry.load(Ordering::Relaxed) && !parcel.farewell {
                return Ok(());
            }
            sent += HEADER + payload.len();
            if !sleep_until(parcel.slot.due(sent)) {
                return Ok(());
            }
            self.seal(&mut outlet, parcel, payload, more)?;
            self.flush(&mut outlet)?;
        }
        Ok(())
    }

    /// Tells the peer that this party's user has interrupted it.
    fn interrupted(&self) -> io::Result<()> {
        let (tag, payload) = Farewell::Interrupted.encode();
        let slot = Shaper::new(LinkModel::LOCAL).slot(0);
        let parcel = Parcel {
            step: "",
            tag,
            depth: 0,
            payload,
            slot,
            farewell: true,
        };
        let mut outlet = self.outlet();
        self.seal(&mut outlet, &parcel, &parcel.payload, false)?;
        self.flush(&mut outlet)
    }

    /// Writes a message at once, as far as that needs no waiting: whether something is left for
    /// the writing thread, or `None` if the message must take its turn.
    fn write_short(&self, parcel: &Parcel) -> Option<bool> {
        let whole = HEADER + parcel.payload.len();
        if parcel.payload.len() > SHORT
            || self.waiting.load(Ordering::Acquire) > 0
            || parcel.slot.due(whole) > Instant::now()
        {
            return None;
        }
        let mut outlet = self.outlet.try_lock().ok()?;
        if self.tls().wants_write() {
            return None;
        }
        // A failure is one that the reader sees too; nobody else asks for it.
        let _ = self.seal(&mut outlet, parcel, &parcel.payload, false);
        Some(!self.offer(&mut outlet).unwrap_or(false))
    }

    /// Encrypts one frame.
    fn seal(
        &self,
        outlet: &mut Outlet,
        parcel: &Parcel,
        payload: &[u8],
        more: bool,
    ) -> io::Result<()> {
        let session = self.session.get().copied().unwrap_or_default();
        let header = parcel
            .header(session, outlet.sequence, payload.len(), more)
            .encode();
        outlet.sequence += 1;
        let taken = self
            .tls()
            .writer()
            .write_vectored(&[IoSlice::new(&header), IoSlice::new(payload)])?;
        match taken == HEADER + payload.len() {
            true => Ok(()),
            false => Err(io::ErrorKind::WriteZero.into()),
        }
    }

    /// Writes what there is, as far as that needs no waiting; whether that was all.
    fn offer(&self, _: &mut Outlet) -> io::Result<bool> {
        let mut tls = self.tls();
        while tls.wants_write() {
            match tls.write_tls(&mut Unwaiting(&self.stream)) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                written => drop(written?),
            }
        }
        Ok(true)
    }

    /// Writes all that there is.
    fn flush(&self, outlet: &mut Outlet) -> io::Result<()> {
        while !self.offer(outlet)? {
            // Whatever ends the waiting, also a signal or a broken connection: the next try tells.
            let _ = poll(&mut [PollFd::new(&self.stream, PollFlags::OUT)], None);
        }
        Ok(())
    }
}
