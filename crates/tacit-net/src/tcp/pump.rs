//! The two threads of a connection: one encrypts and writes, one reads and decrypts (`intake.rs`).
//!
//! A short message that is due at once, with none queued before it, skips the writing thread: its
//! sender encrypts it and writes as much as the socket takes without waiting.
//!
//! The TLS state is locked for cryptography and for writing what the socket takes at once, never
//! while waiting for a socket. Only the holder of the outlet takes bytes out of it, so records
//! leave in the order in which they were made.

use std::io::{self, IoSlice, Write};
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
use super::intake::Intake;
use crate::NetError;
use crate::emulate::{LinkModel, Shaper, sleep_until};
use crate::frame::{HEADER, Session, cut};
use crate::interrupt::{self, POLL};
use crate::link::{Farewell, Outbound, Parcel};
use crate::queue::{Gone, Queue};

/// The longest payload that its sender writes by itself.
const SHORT: usize = 64 << 10;

pub(super) enum Job {
    Parcel(Parcel),
    /// Something is left to write, or the reader made TLS say something.
    Flush,
    /// This party sends no more.
    Close,
    /// The peer hears no more.
    PeerGone,
}

pub(super) struct Shared {
    pub(super) stream: TcpStream,
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
    pub(super) fn queue(&self, jobs: &Sender<Job>, job: Job) -> Result<(), Gone> {
        self.waiting.fetch_add(1, Ordering::AcqRel);
        jobs.send(job).map_err(|_| Gone)
    }

    fn outlet(&self) -> MutexGuard<'_, Outlet> {
        self.outlet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tls(&self) -> MutexGuard<'_, Connection> {
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

    let intake = Arc::new(Intake::new(shared.clone(), jobs.clone()));
    queue.read_from(intake.clone());
    let (its, its_queue) = (intake.clone(), queue.clone());
    let reader = spawn("read", move || {
        its.read_on(&its_queue);
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
            intake,
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
    intake: Arc<Intake>,
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
        self.intake.hand_over();
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
