//! Declared cost equals metered cost: hops and bytes of every call, offline and online.

mod calls;
mod figures;
mod malicious;

use crate::subjects::*;
use tacit_algebra::mersenne::{F31, F61};
use tacit_conformance::cost::*;
use tacit_conformance::{Subject, run};
use tacit_net::Phase;
use tacit_protocols::Cost;
use tacit_protocols::falcon::{PARTIES, Truncation};
use tacit_protocols::lowered;
use tacit_protocols::machine::{Audience, Bilinear, Call, CostModel, KeyBits, Machine, MatMul};
use tacit_protocols::shamir::{Comparison, MAX_PARTIES, Opening};
