r"""Estimates what it takes to break the learning parity with noise that silent OT rests on.

    python scripts/lpn_estimate.py [SECRET TREES DEPTH]...

Without arguments it reads the sets of crates/tacit-sirnn/src/ot/silent.rs. A set gives `n = t
2^d` samples `A s + e` with a secret of `k` bits; `A` has ten ones in each row (a local code), `e`
has one 1 in each of `t` blocks of `2^d`: regular noise. The numbers are binary logarithms of bit
operations.

- Gauss: guess `k` samples without noise and solve (pooled Gauss), at `k^2.8` a try.
- ISD: the same with `p` errors allowed, by lists (Stern, Dumer; SD-ISD of the paper below).
- SD: statistical decoding, by parity checks of `k + 1` samples.
  These three and their costs: Liu, Wang, Yang, Yu: "The Hardness of LPN over Any Integer Ring and
  Field for PCG Applications", EUROCRYPT 2024. A block of regular noise has one 1, so its samples'
  sum is known: the three are run with `t` samples and `t` bits of the secret fewer.
- regular ISD: with as many errors guessed as there are blocks hit, by lists (enumeration-based;
  Esser, Santini: "Not Just Regular Decoding", CRYPTO 2024).
- algebraic: `f` blocks with `u` places each guessed to be free of noise, then linear algebra on
  monomials of degree 2 to 4, `3 (k + 1 - f u) M^2` (Briaud, Oygarden: "A New Algebraic Approach
  to the Regular Syndrome Decoding Problem and Implications for PCG Constructions", EUROCRYPT
  2023).
- sparse: no paper's, and not in the estimators for random codes. Ten ones a row leave room for `x
  k` bits of the secret in which `x k` samples lie, so guessing takes `x k` samples only, and a
  sparse solver (Wiedemann) `2 (x k) (10 x k)` operations a try. Below an `x` the expected number
  of such sets, `C(k, xk) C(n, xk) x^(10 xk)`, is less than 1 and an attacker has none. It is
  assumed to find one for every try for nothing, so this is a bound from below.
"""

import re
import sys
from math import ceil, comb, lgamma, log, log2
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).resolve().parents[1] / "crates/tacit-sirnn/src/ot/silent.rs"
LOCALITY = 10


def log2_comb(n, m):
    """The logarithm of `n` over `m`; minus infinity where there is none."""
    if m < 0 or m > n:
        return float("-inf")
    return (lgamma(n + 1) - lgamma(m + 1) - lgamma(n - m + 1)) / log(2)


def gauss(n, k, t):
    return 2.8 * log2(min(k, n - k)) + log2_comb(n, t) - log2_comb(n - k, t)


def isd(n, k, t):
    """The least over `p` errors among `k + extra` samples, `extra` of them checked by lists."""

    def cost(p, extra):
        lists = log2_comb((k + extra) // 2, p // 2)
        pairs = 2 * lists - extra
        work = (n - k - extra) * n / log2(n - k - extra) + 2 ** (lists + 1) + 2 ** (pairs + 1)
        chance = log2_comb(n - k - extra, t - p) - log2_comb(n, t) + extra + pairs
        return log2(work) + log2(n) - min(chance, 0.0)

    return min(cost(p, extra) for p in range(0, 40, 2) for extra in range(2, 300, 2))


def statistical_decoding(n, k, t):
    return log2(k + 1) + 2 * t * log2((n - t + 1) / (n - k - t))


def regular_isd(n, k, t):
    """The least over `p` errors, half of them in each half of the blocks, and `extra` samples."""
    block, k = n // t, k - t

    def cost(p, extra):
        part = (k + extra) / t
        chance = log2(comb(t // 2, p // 2)) + log2(comb(t - t // 2, p // 2))
        chance += p * log2(part / block) + (t - p) * log2(1 - part / block)
        lists = log2(comb(t // 2, p // 2)) + p / 2 * log2(part)
        return log2(n) + max(2 * log2(n - k), 1 + lists, 2 * lists - extra) - chance

    return min(cost(p, extra) for p in range(0, 40, 2) for extra in range(1, 300))


def algebraic(n, k, t):
    """The least over `f` blocks and `u` places; a degree solves where the series ends."""
    block = n // t
    f, u = np.meshgrid(np.arange(t + 1.0), np.arange(block - 1.0), indexing="ij")

    def binomials(count, base):
        """Coefficients of `(1 + base z)^count`, degrees 0 to 4."""
        terms = [np.ones_like(f)]
        for i in range(4):
            terms.append(terms[-1] * (count - i) / (i + 1) * base)
        return terms

    def times(a, b):
        return [sum(a[i] * b[d - i] for i in range(d + 1)) for d in range(5)]

    monomials = times(binomials(f, block - u - 1), binomials(t - f, block - 1))
    # Over 1 / ((1 - z) (1 + z)^(n - k)).
    checks = [np.ones_like(f)]
    for i in range(4):
        checks.append(checks[-1] * -(n - k - 1 + i) / (i + 1))
    series = times(monomials, checks)
    best = float("inf")
    # As in the paper's estimator, of a series summed from degree 2 on.
    sizes = np.cumsum(monomials[1:], axis=0)
    left = np.cumsum(series[2:], axis=0)
    rest = k + 1 - f * u
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(3):
            cost = 2 * np.log2(sizes[i + 1]) + np.log2(3 * rest) - f * np.log2(1 - u / block)
            solves = (left[i] < 1) & (rest > 0)
            best = min(best, np.min(np.where(solves, cost, np.inf)))
    return float(best)


def sparse(n, k, t):
    def exists(part):
        own = ceil(part * k)
        return log2_comb(k, own) + log2_comb(n, own) + LOCALITY * own * log2(part) >= 0

    low, high = 0.01, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if exists(middle) else (middle, high)
    own = high * k
    return 1 + log2(LOCALITY) + 2 * log2(own) - t * log2(1 - own / n)


def estimate(k, t, depth):
    """Every attack's cost for a set."""
    n = t << depth
    return {
        "Gauss": gauss(n - t, k - t, t),
        "ISD": isd(n - t, k - t, t),
        "SD": statistical_decoding(n - t, k - t, t),
        "regular ISD": regular_isd(n, k, t),
        "algebraic": algebraic(n, k, t),
        "sparse": sparse(n, k, t),
    }


def sets():
    """`(k, t, depth)` of silent OT, from the code."""
    one = r"secret: 1 << (\d+),\s*trees: (\d+),\s*depth: (\d+),"
    found = re.findall(one, SOURCE.read_text(encoding="utf-8"))
    return [(1 << int(secret), int(trees), int(depth)) for secret, trees, depth in found]


def table(which):
    """Rows of Markdown, as docs/threat-model.md has them."""
    names = list(estimate(*which[0]))
    lines = [f"| `n` | `k` | `t` | {' | '.join(names)} |", "|---" * (3 + len(names)) + "|"]
    for k, t, depth in which:
        costs = " | ".join(f"{cost:.0f}" for cost in estimate(k, t, depth).values())
        lines.append(f"| {t} * 2^{depth} | 2^{log2(k):.4g} | {t} | {costs} |")
    return "\n".join(lines)


def main():
    numbers = [int(number) for number in sys.argv[1:]]
    which = [tuple(numbers[i : i + 3]) for i in range(0, len(numbers), 3)] or sets()
    print(table(which))


if __name__ == "__main__":
    main()
