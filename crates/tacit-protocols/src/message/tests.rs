//! The encodings on the wire, and what is refused of a peer.

use super::*;
use crate::count::count;
use crate::falcon::Residues;
use crate::replicated::{Booleans, Domain, Words};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use tacit_algebra::extension::{Binary, Extension, F11, F19, F37, F67, Galois, Tower};
use tacit_algebra::mersenne::{F5, F7, F13, F31, F61, Field, to_wire};
use tacit_algebra::{BitRows, Prg};
use tacit_conformance::wire::held;
use tacit_net::{LinkModel, NetError, Phase, memory};
use zeroize::Zeroizing;

/// Elements of a message here, from a stream that never changes: odd, so that the last byte is not full.
const N: usize = 13;

fn prg() -> Prg {
    Prg::new([7; 16])
}

fn line(text: &mut String, name: &str, bytes: &[u8]) {
    let _ = write!(text, "{name}: ");
    bytes.iter().for_each(|byte| {
        let _ = write!(text, "{byte:02x}");
    });
    text.push('\n');
}

fn of<D: Domain>(text: &mut String, name: &str) {
    line(text, name, &D::write(&D::draw(&mut prg(), N)));
}

fn ring<R: Ring>(text: &mut String) {
    of::<Words<R>>(text, &format!("words of {} bits", R::BITS));
    of::<Residues<R>>(text, &format!("residues modulo {}", R::PRIME));
    let points = Galois::<R>::random(&mut prg(), 2);
    line(
        text,
        &format!("Galois ring, {} bits", R::BITS),
        &Galois::to_wire(&points),
    );
}

fn extension<K: Extension>(text: &mut String, name: &str) {
    line(text, name, &K::to_wire(&K::random(&mut prg(), 3)));
}

fn field<F: Field>(text: &mut String) {
    let name = format!("elements modulo 2^{} - 1", F::BITS);
    line(text, &name, &to_wire(&prg().field::<F>(N)));
}

/// Seen to fail where the file had another byte.
#[test]
fn encodings_are_those_of_the_wire_version() {
    let mut text = String::new();
    ring::<u8>(&mut text);
    ring::<u16>(&mut text);
    ring::<u32>(&mut text);
    ring::<u64>(&mut text);
    of::<Booleans>(&mut text, "bits");
    line(
        &mut text,
        "rows of bits",
        &BitRows::write(&prg().bit_rows(3, N)),
    );
    field::<F5>(&mut text);
    field::<F7>(&mut text);
    field::<F13>(&mut text);
    field::<F31>(&mut text);
    field::<F61>(&mut text);
    extension::<Binary>(&mut text, "GF(2^64)");
    extension::<Tower<F11>>(&mut text, "extension of 11");
    extension::<Tower<F19>>(&mut text, "extension of 19");
    extension::<Tower<F37>>(&mut text, "extension of 37");
    extension::<Tower<F67>>(&mut text, "extension of 67");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/encodings.txt");
    held(&file, &text);
}

/// The error with which party 1 hears `sent` as a message of `E` of this length.
fn heard<E: Encoding>(sent: Vec<u8>, len: E::Len) -> Result<E::Value, Error> {
    let mut mesh = memory::mesh(2, &LinkModel::LOCAL, Duration::from_secs(10));
    mesh[0]
        .send(1, "test: message", sent)
        .expect("it is queued");
    Message::<E>::new("test: message").recv(&mut mesh[1], 0, len)
}

/// A value is heard as it was sent, in as many bytes as a party that counts notes; in one less or one
/// more it is refused.
fn arrives<E: Encoding>(value: &E::Value) {
    const STEP: &str = "test: message";
    let (message, len) = (Message::<E>::new(STEP), E::len(value));
    let mut mesh = memory::mesh(2, &LinkModel::LOCAL, Duration::from_secs(10));
    message.send(&mut mesh[0], 1, value).expect("it is queued");
    let theirs = message.recv(&mut mesh[1], 0, len).expect("it is heard");
    let bytes = E::write(value);
    assert!(E::write(&theirs) == bytes);
    let counted = count(2, |mut party| {
        match party.id() {
            0 => message.send(&mut party, 1, &E::counted(len))?,
            _ => drop(message.recv(&mut party, 0, len)?),
        }
        Ok(party.take_trace())
    });
    let sent = mesh[0].meter().total(Phase::Setup).bytes_sent;
    assert_eq!((counted.rounds, &counted.bytes[..]), (1, &[sent, 0][..]));
    let longer = [&bytes[..], &[0]].concat();
    for wrong in [
        Some(longer),
        bytes.split_last().map(|(_, less)| less.to_vec()),
    ] {
        let found = wrong.map(|wrong| heard::<E>(wrong, len).map(drop));
        assert!(
            matches!(
                found,
                None | Some(Err(Error::Net(NetError::Length {
                    party: 0,
                    step: STEP,
                    ..
                })))
            ),
            "{found:?}"
        );
    }
}

/// Seen to fail where a hash had a byte too many.
#[test]
fn what_is_sent_is_heard_counted_and_of_its_length() {
    arrives::<Words<u64>>(&prg().words(N));
    arrives::<Words<u8>>(&Buffer::zeros(0));
    arrives::<Residues<u32>>(&prg().residues(u32::PRIME, N));
    arrives::<Booleans>(&prg().bits(N));
    arrives::<BitRows>(&prg().bit_rows(3, N));
    let words = prg().words::<u32>(N);
    arrives::<Tops<u32>>(&Tops { words, bits: 5 });
    arrives::<Elements<F61>>(&prg().field::<F61>(N).into());
    arrives::<[u8; 16]>(&[7; 16]);
    arrives::<Vec<[u8; 16]>>(&vec![[7; 16]; 3]);
    arrives::<Secret<32>>(&Zeroizing::new(vec![7; 32]));
    arrives::<[u8; 0]>(&[]);
}

/// Seen to fail where bits were taken whatever their tail.
#[test]
fn bytes_that_are_no_such_value_are_refused_by_sender_and_step() {
    fn refused<E: Encoding>(len: E::Len, wanted: &str) {
        let error = heard::<E>(vec![0xff; E::bytes(len)], len).err();
        let text = format!(
            "party 0 broke the protocol at 'test: message': the message does not hold {wanted}"
        );
        assert_eq!(error.map(|error| error.to_string()), Some(text));
    }
    refused::<Residues<u64>>(N, "13 residues below the comparison prime");
    refused::<Booleans>(N, "13 bits with a clean tail");
    refused::<Tops<u32>>((N, 5), "5 bits of each of 13 elements");
    refused::<Elements<F31>>(N, "13 numbers below 2^31 - 1");
    refused::<BitRows>([3, N], "3 bits of each of 13 elements");
}

/// Seen to fail where nothing compared the two.
#[test]
#[should_panic = "the length rule of 'test: entries'"]
fn what_a_kernel_makes_has_its_length() {
    let mut mesh = memory::mesh(2, &LinkModel::LOCAL, Duration::from_secs(10));
    let _ = Message::<Packed>::new("test: entries").send_made(&mut mesh[0], 1, 3, || vec![0; 4]);
}
