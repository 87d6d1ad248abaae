//! Buffers: vectors of numbers as protocols hold them, without saying where they lie.
//!
//! A buffer either lies in this machine's memory or has a size alone, without elements. A party that only
//! counts computes with sizes alone: every result of a kernel is then a size alone, too. Copies and parts
//! of a buffer share its memory until one of them is written. Kernels on whole buffers are in [`kernels`];
//! another processor's memory would be another place.

pub mod kernels;

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use bytemuck::Pod;
use zeroize::Zeroize;

/// A vector of numbers.
#[derive(Clone)]
pub struct Buffer<T>(Place<T>);

#[derive(Clone)]
enum Place<T> {
    /// A range of what lies in memory.
    Here {
        data: Arc<Vec<T>>,
        range: Range<usize>,
    },
    /// A size alone: so many elements, which nobody has.
    Counted(usize),
}

/// A vector that has either elements or a size alone.
pub trait Sizes {
    /// Whether the vector has a size alone.
    fn is_counted(&self) -> bool;
}

impl<T> Buffer<T> {
    /// A buffer of size `n` without elements.
    pub fn counted(n: usize) -> Self {
        Buffer(Place::Counted(n))
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        match &self.0 {
            Place::Here { range, .. } => range.len(),
            Place::Counted(n) => *n,
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a range, in the memory of this buffer.
    ///
    /// # Panics
    ///
    /// If the range reaches beyond the buffer.
    pub fn part(&self, part: Range<usize>) -> Self {
        assert!(part.start <= part.end && part.end <= self.len());
        Buffer(match &self.0 {
            Place::Here { .. } if part.is_empty() => return Vec::new().into(),
            Place::Here { data, range } => Place::Here {
                data: data.clone(),
                range: range.start + part.start..range.start + part.end,
            },
            Place::Counted(_) => Place::Counted(part.len()),
        })
    }

    /// The rows of `n` elements each, one after the other.
    pub fn rows(&self, n: usize) -> impl Iterator<Item = Self> {
        let starts = (0..self.len()).step_by(n.max(1));
        starts.map(move |start| self.part(start..start + n))
    }

    /// Keeps the first `n` elements and drops the others.
    pub fn truncate(&mut self, n: usize) {
        *self = self.part(0..n.min(self.len()));
    }

    /// Removes the elements from `at` on and returns them.
    pub fn split_off(&mut self, at: usize) -> Self {
        let rest = self.part(at..self.len());
        self.truncate(at);
        rest
    }
}

impl<T> Sizes for Buffer<T> {
    fn is_counted(&self) -> bool {
        matches!(self.0, Place::Counted(_))
    }
}

impl<T: Pod> Buffer<T> {
    /// A buffer of `n` zeros.
    pub fn zeros(n: usize) -> Self {
        vec![T::zeroed(); n].into()
    }

    /// The parts one after the other.
    pub fn concat<B: Borrow<Self>>(parts: &[B]) -> Self {
        if let [part] = parts {
            return part.borrow().clone();
        }
        let parts: Vec<&Self> = parts.iter().map(Borrow::borrow).collect();
        let n = parts.iter().map(|part| part.len()).sum();
        unless_counted(&parts, n, || {
            let parts: Vec<&[T]> = parts.iter().map(|part| &part[..]).collect();
            parts.concat()
        })
    }

    /// A buffer of these elements that keeps no larger memory alive: copies them where they are a part of
    /// more. For a part that outlives the whole.
    pub fn detached(&self) -> Self {
        match &self.0 {
            Place::Here { data, range } if range.len() < data.len() => self.to_vec().into(),
            _ => self.clone(),
        }
    }

    /// Adds elements at the end: in place if this buffer is alone in its memory and fills it, else by a
    /// copy.
    pub fn append(&mut self, more: &Self) {
        if let (Place::Here { data, range }, false) = (&mut self.0, more.is_counted())
            && *range == (0..data.len())
            && let Some(data) = Arc::get_mut(data)
        {
            data.extend_from_slice(more);
            range.end = data.len();
            return;
        }
        *self = Buffer::concat(&[self, more]);
    }

    /// Adds the next part of a buffer that will have `n` elements in the end.
    pub fn grow(&mut self, part: Self, n: usize) {
        match self.is_empty() && !part.is_counted() && part.len() < n {
            true => *self = Vec::with_capacity(n).into(),
            false if self.is_empty() => return *self = part,
            false => {}
        }
        self.append(&part);
    }

    /// The elements as a vector; copies them unless this buffer is alone in its memory and fills it.
    pub fn into_vec(self) -> Vec<T> {
        match self.0 {
            Place::Here { data, range } if range == (0..data.len()) => {
                Arc::try_unwrap(data).unwrap_or_else(|data| data.to_vec())
            }
            place => Buffer(place).to_vec(),
        }
    }
}

impl<T: Pod> Zeroize for Buffer<T> {
    /// Leaves no elements, and wipes the memory unless others share it: the last of these that is wiped
    /// wipes all of it.
    fn zeroize(&mut self) {
        if let Place::Here { data, .. } = &mut std::mem::take(self).0
            && let Some(data) = Arc::get_mut(data)
        {
            bytemuck::cast_slice_mut::<T, u8>(data).zeroize();
        }
    }
}

impl<T: PartialEq> PartialEq for Buffer<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self.is_counted(), other.is_counted()) {
            (false, false) => self[..] == other[..],
            (here, there) => here == there && self.len() == other.len(),
        }
    }
}

/// Shows the size only: elements may be secret.
impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({})", self.len())
    }
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> FromIterator<T> for Buffer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Vec::from_iter(elements).into()
    }
}

impl<T> From<Vec<T>> for Buffer<T> {
    fn from(data: Vec<T>) -> Self {
        let range = 0..data.len();
        let data = Arc::new(data);
        Buffer(Place::Here { data, range })
    }
}

/// The elements in memory.
///
/// # Panics
/// If the buffer has a size alone: then a kernel is missing in [`kernels`].
impl<T> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Here { data, range } => &data[range.clone()],
            Place::Counted(n) => panic!("{n} elements are counted, and have no values"),
        }
    }
}

/// The elements in memory, to be written; elements whose memory is shared are copied first. Panics if the
/// buffer has a size alone.
impl<T: Clone> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        if let Place::Here { data, range } = &mut self.0
            && Arc::get_mut(data).is_none()
        {
            *self = data[range.clone()].to_vec().into();
        }
        match &mut self.0 {
            Place::Here { data, range } => {
                let data = Arc::get_mut(data).expect("a copy is its own");
                &mut data[range.clone()]
            }
            Place::Counted(n) => panic!("{n} elements are counted, and have no values"),
        }
    }
}

/// What `kernel` makes of `buffers`. If one of them has a size alone, the kernel does not run and the
/// result is a size of `n` alone.
pub fn unless_counted<S: Sizes + ?Sized, T>(
    given: &[&S],
    n: usize,
    kernel: impl FnOnce() -> Vec<T>,
) -> Buffer<T> {
    match given.iter().any(|buffer| buffer.is_counted()) {
        true => Buffer::counted(n),
        false => kernel().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(range: Range<u32>) -> Buffer<u32> {
        range.collect::<Vec<_>>().into()
    }

    #[test]
    fn parts_share_until_one_is_written() {
        let whole = buffer(0..10);
        let mut part = whole.part(2..7).part(1..4);
        assert_eq!(
            (&part[..], part.as_ptr()),
            (&[3, 4, 5][..], whole[3..].as_ptr())
        );
        part[0] = 99;
        assert_eq!(
            (&part[..], &whole[..]),
            (&[99, 4, 5][..], &buffer(0..10)[..])
        );
        let at = part.as_ptr();
        part[1] = 98;
        assert_eq!(
            (part[1], part.as_ptr()),
            (98, at),
            "its own is not copied again"
        );
        assert_eq!(part.into_vec(), [99, 98, 5]);
    }

    #[test]
    fn pieces_are_cut_and_joined() {
        let mut left = buffer(0..10);
        let right = left.split_off(4);
        assert_eq!(
            (&left[..], &right[..]),
            (&buffer(0..4)[..], &buffer(4..10)[..])
        );
        assert_eq!(Buffer::concat(&[&left, &right])[..], buffer(0..10)[..]);
        left.truncate(1);
        assert_eq!(left.into_vec(), [0]);
    }

    #[test]
    fn a_detached_part_does_not_hold_the_whole() {
        let whole = buffer(0..10);
        let (part, none) = (whole.part(2..4), whole.part(3..3));
        assert_eq!(part.detached(), part);
        assert_ne!(part.detached().as_ptr(), part.as_ptr());
        assert_eq!(whole.detached().as_ptr(), whole.as_ptr());
        drop(part);
        let (at, whole) = (whole.as_ptr(), whole.into_vec());
        assert_eq!(whole.as_ptr(), at, "an empty part holds nothing");
        assert!(none.is_empty());
    }

    #[test]
    fn what_grows_stays_where_it_is() {
        let (mut grown, mut whole) = (Buffer::default(), Buffer::default());
        grown.grow(buffer(0..4), 10);
        let at = grown.as_ptr();
        grown.grow(buffer(4..10), 10);
        assert_eq!((&grown[..], grown.as_ptr()), (&buffer(0..10)[..], at));
        let part = grown.part(2..4);
        whole.grow(part.clone(), 2);
        assert_eq!(whole.as_ptr(), part.as_ptr(), "a single part is not copied");
        whole.append(&buffer(9..10));
        assert_eq!((&whole[..], &part[..]), (&[2, 3, 9][..], &[2, 3][..]));
        whole.grow(Buffer::counted(1), 4);
        assert!(whole.is_counted() && whole.len() == 4);
    }

    #[test]
    fn a_size_alone_is_cut_and_joined() {
        let mut left = Buffer::<u32>::counted(10);
        let right = left.split_off(4);
        let joined = Buffer::concat(&[&right, &buffer(0..3), &left]);
        assert!(joined.is_counted());
        assert_eq!([left.len(), right.len(), joined.len()], [4, 6, 13]);
    }

    #[test]
    #[should_panic(expected = "have no values")]
    fn a_size_alone_has_no_values() {
        let _ = Buffer::<u32>::counted(1)[0];
    }
}
