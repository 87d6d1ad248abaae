//! Comparisons of two numbers, one at each party (SiRnn, section III-E and appendix B;
//! Millionaires' of CrypTFlow2; docs/spec/sirnn.md, section 4).
//!
//! A number is cut into digits of 4 bits. Leaves: whether a digit is less, and whether it is equal,
//! by one gate whose output has both bits. Tree: neighbours are merged,
//! `lt = lt_hi ^ (eq_hi & lt_lo)`, `eq = eq_hi & eq_lo`, at distances 1, 2, 4, ...; nodes that
//! contain digit 0 need no `eq` unless it is asked for.
//!
//! Differs from the paper: an AND takes 1 OT in each direction and no 1-of-16 OT; of the two ANDs
//! with the common operand `eq_hi` it is `eq_hi` that has one mask, and each of the others has its
//! own. (The authors' code has it the other way round, which opens `lt_lo ^ eq_lo`.)
//!
//! Of `l` bits: `2 + ceil(log2 ceil(l / 4))` hops; [`Engine::mill`] takes `l` OTs and at most
//! `30 l / 4` bits for the leaves, and for each merged digit 2 OTs and at most 6 bits.

use tacit_algebra::Bits;
use tacit_algebra::ot::words;
use tacit_protocols::Error;

use crate::{Engine, Gate, Shared};

/// Bits of a digit.
const DIGIT: u32 = 4;

/// What is asked about two numbers `u0` and `u1`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// `1{u0 < u1}`.
    Less,
    /// `1{u0 = u1}`.
    Equal,
    /// `1{u0 < u1}` and `1{u0 = u1}` together.
    Both,
}

/// This party's side of a question about two numbers of `bits` bits, one at each party.
pub(crate) struct Question {
    asked: Asked,
    bits: u32,
    own: Vec<u64>,
}

/// The answer: shares of the bits that were asked for. The others are empty.
#[derive(Clone, Default)]
pub(crate) struct Answer {
    pub less: Bits,
    pub equal: Bits,
}

impl Question {
    fn new(asked: Asked, bits: u32, own: &[u64]) -> Self {
        let own = own.to_vec();
        Question { asked, bits, own }
    }

    /// Asks whether the sum of two numbers is `2^bits` or more; the answer is in [`Answer::less`].
    pub fn wrap(engine: &Engine, own: &[u64], bits: u32) -> Self {
        Self::about_sum(engine, Asked::Less, own, bits)
    }

    /// Asks whether the sum of two numbers is `2^bits` or more, answered in [`Answer::less`], and
    /// whether it is `2^bits - 1` modulo `2^bits`, answered in [`Answer::equal`].
    pub fn wrap_and_all_ones(engine: &Engine, own: &[u64], bits: u32) -> Self {
        Self::about_sum(engine, Asked::Both, own, bits)
    }

    /// Asks whether the sum of two numbers is 0 modulo `2^bits`; the answer is in
    /// [`Answer::equal`].
    pub fn zero(engine: &Engine, own: &[u64], bits: u32) -> Self {
        let own = match engine.id() {
            0 => own.to_vec(),
            _ => words::field(&tacit_algebra::vec::neg(own), 0, bits),
        };
        let asked = Asked::Equal;
        Question { asked, bits, own }
    }

    /// `u0 + u1 >= 2^bits` is `2^bits - 1 - u0 < u1`, and all ones is equality of these.
    fn about_sum(engine: &Engine, asked: Asked, own: &[u64], bits: u32) -> Self {
        match engine.id() {
            0 if bits > 0 => Question {
                asked,
                bits,
                own: words::complement(own, bits),
            },
            _ => Question::new(asked, bits, own),
        }
    }

    /// The gate of a digit of `width` bits; digit 0 needs no `eq` to know what is less.
    fn leaf(&self, digit: usize, width: u32) -> Gate {
        let (lt, eq) = (|x, y| u64::from(x < y), |x, y| u64::from(x == y));
        match self.asked {
            Asked::Equal => Gate::xor(width, 1, eq),
            Asked::Less if digit == 0 => Gate::xor(width, 1, lt),
            _ => Gate::xor(width, 2, move |x, y| lt(x, y) | eq(x, y) << 1),
        }
    }

    /// The digits with their gates, the least significant one first, the last perhaps shorter.
    fn leaves(&self) -> impl Iterator<Item = (Gate, Vec<u64>)> {
        let starts = (0..self.bits).step_by(DIGIT as usize);
        starts.enumerate().map(|(digit, from)| {
            let width = DIGIT.min(self.bits - from);
            (
                self.leaf(digit, width),
                words::field(&self.own, from, width),
            )
        })
    }

    /// What a gate of [`Question::leaf`] gave.
    fn read(&self, digit: usize, leaf: &[u64]) -> Answer {
        let none = Bits::default;
        let (less, equal) = match self.asked {
            Asked::Equal => (none(), words::bit(leaf, 0)),
            Asked::Less if digit == 0 => (words::bit(leaf, 0), none()),
            _ => (words::bit(leaf, 0), words::bit(leaf, 1)),
        };
        Answer { less, equal }
    }

    /// Numbers without bits are equal.
    fn without_digits(&self, id: usize) -> Answer {
        let zeros = Bits::zeros(self.own.len());
        let equal = if id == 0 { zeros.not() } else { zeros.clone() };
        Answer { less: zeros, equal }
    }
}

/// What of `low` is to be ANDed with `high.equal`, so as to merge the two.
fn operands(low: &Answer) -> Vec<&Bits> {
    [&low.less, &low.equal]
        .into_iter()
        .filter(|bits| !bits.is_empty())
        .collect()
}

/// `low` becomes the merged node; `products` are those of its [`operands`].
fn merge(low: &mut Answer, high: &Answer, products: Vec<Bits>) {
    let mut products = products.into_iter();
    for (low, high) in [(&mut low.less, Some(&high.less)), (&mut low.equal, None)] {
        if !low.is_empty() {
            *low = products.next().expect("one product for each operand");
            if let Some(high) = high {
                low.xor_assign(high);
            }
        }
    }
}

impl Engine {
    /// Answers questions of any widths together, in the hops of the widest; beside them runs
    /// `gates` in the 2 hops of the leaves, and returns their shares.
    pub(crate) fn ask(
        &mut self,
        questions: &[Question],
        gates: &[(&Gate, &[u64])],
    ) -> Result<(Vec<Answer>, Vec<Vec<u64>>), Error> {
        let leaves: Vec<_> = questions.iter().flat_map(Question::leaves).collect();
        let leaves = leaves.iter().map(|(gate, own)| (gate, own.as_slice()));
        let all: Vec<_> = leaves.chain(gates.iter().copied()).collect();
        let mut results = match all.is_empty() {
            true => Vec::new(),
            false => self.gates("sirnn: digits", &all)?,
        };
        let rest = results.split_off(results.len() - gates.len());
        let mut results = results.into_iter();
        let mut trees: Vec<Vec<Answer>> = Vec::with_capacity(questions.len());
        for question in questions {
            let digits = question.bits.div_ceil(DIGIT) as usize;
            let nodes = results.by_ref().take(digits).enumerate();
            trees.push(nodes.map(|(i, leaf)| question.read(i, &leaf)).collect());
        }
        self.merge_all(&mut trees)?;
        let id = self.id();
        let roots = questions.iter().zip(trees).map(|(question, tree)| {
            let root = tree.into_iter().next();
            root.unwrap_or_else(|| question.without_digits(id))
        });
        Ok((roots.collect(), rest))
    }

    /// Merges every tree to its first node, all in step.
    fn merge_all(&mut self, trees: &mut [Vec<Answer>]) -> Result<(), Error> {
        let most = trees.iter().map(Vec::len).max().unwrap_or(0);
        let mut distance = 1;
        while distance < most {
            let pairs: Vec<_> = trees
                .iter()
                .enumerate()
                .flat_map(|(t, tree)| {
                    let lows = (0..tree.len().saturating_sub(distance)).step_by(2 * distance);
                    lows.map(move |low| (t, low, low + distance))
                })
                .collect();
            let operands: Vec<_> = pairs
                .iter()
                .map(|&(t, low, _)| operands(&trees[t][low]))
                .collect();
            let jobs: Vec<_> = pairs
                .iter()
                .zip(&operands)
                .map(|(&(t, _, high), operands)| (&trees[t][high].equal, operands.as_slice()))
                .collect();
            let products = self.ands("sirnn: merge", &jobs)?;
            for (&(t, low, high), products) in pairs.iter().zip(products) {
                let (lows, highs) = trees[t].split_at_mut(high);
                merge(&mut lows[low], &highs[0], products);
            }
            distance *= 2;
        }
        Ok(())
    }

    fn ask_one(&mut self, question: Question) -> Result<Answer, Error> {
        let (answers, _) = self.ask(&[question], &[])?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    /// Mill (SiRnn, section III-E): shares of `1{x < y}`, party 0 passing `x` and party 1 `y`, of
    /// `bits` bits.
    ///
    /// Per element with `q = ceil(bits / 4)`: `bits + 2 (q - 1)` OTs and `30 q - 15` bits with
    /// their choices, less for a short last digit, and for the tree at most `6 (q - 1)` bits.
    pub fn mill(&mut self, own: &[u64], bits: u32) -> Result<Bits, Error> {
        Ok(self.ask_one(Question::new(Asked::Less, bits, own))?.less)
    }

    /// Eq: shares of `1{x = y}`; hops as of [`Engine::mill`], leaves of 1 bit and single ANDs.
    pub fn equal(&mut self, own: &[u64], bits: u32) -> Result<Bits, Error> {
        Ok(self.ask_one(Question::new(Asked::Equal, bits, own))?.equal)
    }

    /// Wrap (SiRnn, section III-E): shares of `1{x + y >= 2^bits}`; costs [`Engine::mill`].
    pub fn wrap(&mut self, own: &[u64], bits: u32) -> Result<Bits, Error> {
        let question = Question::wrap(self, own, bits);
        Ok(self.ask_one(question)?.less)
    }

    /// Wrap&All1s (SiRnn, appendix B): shares of `1{x + y >= 2^bits}` and of
    /// `1{x + y = 2^bits - 1 mod 2^bits}`.
    ///
    /// [`Engine::mill`] with 15 bits more for digit 0 and 2 more for every node that contains it.
    pub fn wrap_and_all_ones(&mut self, own: &[u64], bits: u32) -> Result<(Bits, Bits), Error> {
        let question = Question::wrap_and_all_ones(self, own, bits);
        let answer = self.ask_one(question)?;
        Ok((answer.less, answer.equal))
    }

    /// MSB: shares of the top bit of `x`: a wrap of the bits below it. Costs
    /// [`Engine::mill`] of one bit less; free of 1 bit.
    pub fn msb(&mut self, x: &Shared) -> Result<Bits, Error> {
        Ok(self.msbs(&[x])?.remove(0))
    }

    /// [`Engine::msb`] of several tensors, in the hops of the widest.
    pub(crate) fn msbs(&mut self, xs: &[&Shared]) -> Result<Vec<Bits>, Error> {
        let questions: Vec<_> = xs
            .iter()
            .map(|x| match x.bits - 1 {
                0 => Question::wrap(self, &vec![0; x.len()], 0),
                below => Question::wrap(self, &words::field(&x.values, 0, below), below),
            })
            .collect();
        let (carries, _) = self.ask(&questions, &[])?;
        let tops = xs.iter().map(|x| words::bit(&x.values, x.bits - 1));
        Ok(tops.zip(carries).map(|(top, c)| top.xor(&c.less)).collect())
    }

    /// DReLU: shares of `1{x >= 0}`. Costs [`Engine::msb`].
    pub fn drelu(&mut self, x: &Shared) -> Result<Bits, Error> {
        let msb = self.msb(x)?;
        Ok(self.not(&msb))
    }

    /// The negation of shared bits. Local: party 0 flips.
    pub fn not(&self, bits: &Bits) -> Bits {
        match self.id() {
            0 => bits.not(),
            _ => bits.clone(),
        }
    }

    /// `x + k` for a public `k`. Local: party 0 adds.
    pub fn add_public(&self, x: &Shared, k: u64) -> Shared {
        let mut values = x.values.clone();
        if self.id() == 0 {
            tacit_algebra::vec::add_scalar_assign(&mut values, k);
        }
        Shared::new(x.bits, &values)
    }
}
