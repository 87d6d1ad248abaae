"""Simulation of docs/spec/adder.md in which every party is an object that reads only what it holds.

A party is a Python generator: it computes from its shares, from what it draws from the generators
that it has in common with one other party, and from messages, for which it yields. Numbers are
arrays, one entry for each choice of all coins and shares at once; so on small rings the
*distribution* of what a party sees is counted exactly, for every secret. On large rings the coins
are random.

Run it to check everything (about a minute); tests/python/test_adder.py runs a part.
"""

import itertools
from collections import defaultdict, deque

import numpy as np

WORD = np.uint64
ONE = WORD(1)


def low(bits):
    """The mask of the low bits."""
    return WORD((1 << bits) - 1)


class Coins:
    """The streams that pairs of parties have in common, over all choices of their bits.

    `spoilt`: purposes for which zeros are drawn instead, to see that a test notices.
    """

    def __init__(self, index, spoilt=()):
        self.index, self.spoilt = index, spoilt
        self.at, self.used = {}, 0

    def draw(self, pair, position, bits, purpose):
        """`bits` coins of a pair's stream; both parties of the pair get the same."""
        key = (pair, position)
        if key not in self.at:
            self.at[key] = (self.used, bits, purpose)
            self.used += bits
        start, drawn, of = self.at[key]
        assert (drawn, of) == (bits, purpose), f"{pair} draw different things: {of}, {purpose}"
        if purpose in self.spoilt:
            return np.zeros_like(self.index)
        return self.take(start, bits)

    def take(self, start, bits):
        """The coins that the choices say."""
        return (self.index >> WORD(start)) & low(bits)


class RandomCoins(Coins):
    """Streams of random coins, for rings whose coins are too many to count."""

    def __init__(self, samples, seed):
        super().__init__(np.zeros(samples, WORD))
        self.rng, self.drawn = np.random.default_rng(seed), {}

    def take(self, start, bits):
        """The coins that were drawn here before, or new ones."""
        if start not in self.drawn:
            words = self.rng.integers(0, 1 << 64, len(self.index), dtype=WORD)
            self.drawn[start] = words & low(bits)
        return self.drawn[start]


class Party:
    """One party: its shares, its ends of the streams, its links; what it sees is written down."""

    def __init__(self, number, run):
        self.id, self._run = number, run
        self._position = defaultdict(int)
        self.seen = []

    def hold(self, value, bits):
        """Notes a share that the party starts with."""
        self.seen.append((value, bits))
        return value

    def draw(self, peer, bits, purpose):
        """The next coins in common with `peer`."""
        assert peer != self.id
        position = self._position[peer]
        self._position[peer] += 1
        pair = tuple(sorted((self.id, peer)))
        value = self._run.coins.draw(pair, position, bits, purpose)
        self.seen.append((value, bits))
        return value

    def send(self, to, value, bits):
        """Queues a message for another party, and counts its bits."""
        self._run.links[self.id, to].append((value & low(bits), bits))
        self._run.sent[self.id] += bits

    def recv(self, sender):
        """Waits for a message: `value = yield from party.recv(sender)`."""
        queue = self._run.links[sender, self.id]
        while not queue:
            yield
        value, bits = queue.popleft()
        self.seen.append((value, bits))
        return value

    def view(self):
        """All that the party saw, as one number for each choice of coins."""
        assert sum(bits for _, bits in self.seen) <= 64, "too much to count"
        key = np.zeros_like(self.seen[0][0]) if self.seen else np.zeros(1, WORD)
        for value, bits in self.seen:
            key = (key << WORD(bits)) | value
        return key


class Run:
    """Three parties that run their programs to the end."""

    def __init__(self, coins, programs):
        self.coins = coins
        self.links, self.sent = defaultdict(deque), [0, 0, 0]
        self.parties = [Party(i, self) for i in range(3)]
        self.results = [None] * 3
        waiting = {i: programs[i](self.parties[i]) for i in range(3)}
        while waiting:
            before = (sum(map(len, self.links.values())), sum(len(p.seen) for p in self.parties))
            for i, program in list(waiting.items()):
                try:
                    next(program)
                except StopIteration as end:
                    self.results[i] = end.value
                    del waiting[i]
                    before = None
            after = (sum(map(len, self.links.values())), sum(len(p.seen) for p in self.parties))
            assert before != after, "the parties wait for one another"
        assert not any(self.links.values()), "a message was not read"


# --- The carry tree, the same for both settings ---------------------------------------------------


def carry(and_layer, generate, propagate):
    """The carry out of groups, lowest first: `(g, p) o (g', p') = (g ^ p g', p p')`.

    `propagate` lacks the lowest group's, which is never used. `and_layer(left, right)` multiplies.
    """
    g, p = generate, propagate
    while len(g) > 1:
        pairs = len(g) // 2
        upper = p[0 : 2 * pairs : 2]  # the propagate of every pair's upper group
        left = upper + upper[1:]
        right = g[0 : 2 * pairs : 2] + p[1 : 2 * pairs - 1 : 2]
        made = yield from and_layer(left, right)
        kept = len(g) % 2
        high = g[1 : 2 * pairs : 2]
        g = [xor(a, b) for a, b in zip(high, made[:pairs], strict=True)] + g[len(g) - kept :]
        p = made[pairs:] + (p[len(p) - 1 :] if kept else [])
    return g[0]


def xor(x, y):
    """The exclusive or of two sharings, whatever their number of components."""
    return tuple(a ^ b for a, b in zip(x, y, strict=True))


def plane(word, j):
    """Bit `j` of every word."""
    return (word >> WORD(j)) & ONE


# --- Replicated: party i holds components i (own) and i + 1 (next) --------------------------------


def before(i):
    return (i + 2) % 3


def after(i):
    return (i + 1) % 3


def role(me, dealer):
    """Dealer: holds d and d + 1; left, before it: d + 2 and d; right, after it: d + 1 and d + 2."""
    return {dealer: "dealer", before(dealer): "left", after(dealer): "right"}[me.id]


def replicated_and(me, left, right):
    """One hop; a bit from every party and AND."""
    made = []
    for (x0, x1), (y0, y1) in zip(left, right, strict=True):
        zero = me.draw(after(me.id), 1, "and") ^ me.draw(before(me.id), 1, "and")
        made.append((x0 & y0) ^ (x0 & y1) ^ (x1 & y0) ^ zero)
        me.send(before(me.id), made[-1], 1)
    out = []
    for own in made:
        out.append((own, (yield from me.recv(after(me.id)))))
    return out


def replicated_sign(me, dealer, x, w):
    """Bit w - 1 of x, shared: `x = (own, next)`."""
    own, following = x
    nothing = np.zeros_like(own)
    who = role(me, dealer)
    planes = range(w)
    # Deal: the bits of u = x_d + x_{d+1}; the third component is 0. v = x_z, known to two.
    if who == "dealer":
        u = (own + following) & low(w)
        first = me.draw(before(me.id), w, "deal")
        second = u ^ first
        me.send(after(me.id), second, w)
        bits = [(plane(first, j), plane(second, j)) for j in planes]
        value = [(nothing, nothing)] * w
    elif who == "left":
        first = me.draw(dealer, w, "deal")
        bits = [(nothing, plane(first, j)) for j in planes]
        value = [(plane(own, j), nothing) for j in planes]
    else:
        second = yield from me.recv(dealer)
        bits = [(plane(second, j), nothing) for j in planes]
        value = [(nothing, plane(following, j)) for j in planes]
    half = [xor(a, b) for a, b in zip(bits, value, strict=True)]
    if w == 1:
        return half[0]
    # Generate: u_j v_j, by the two who know v_j, masked by what they have in common.
    generate = []
    if who == "dealer":
        at_left = yield from me.recv(before(me.id))
        at_right = yield from me.recv(after(me.id))
        generate = [(plane(at_left, j), plane(at_right, j)) for j in range(w - 1)]
    else:
        other = after(dealer) if who == "left" else before(dealer)
        rho, sigma = me.draw(other, w - 1, "generate"), me.draw(other, w - 1, "generate")
        if who == "left":
            made = (first & own & low(w - 1)) ^ rho
            generate = [(plane(rho ^ sigma, j), plane(made, j)) for j in range(w - 1)]
        else:
            made = (second & following & low(w - 1)) ^ sigma
            generate = [(plane(made, j), plane(rho ^ sigma, j)) for j in range(w - 1)]
        me.send(dealer, made, w - 1)

    def and_layer(left, right):
        return (yield from replicated_and(me, left, right))

    top = yield from carry(and_layer, generate, half[1 : w - 1])
    return xor(half[w - 1], top)


def replicated_inject(me, dealer, bit, bits):
    """A shared bit as a number: b = t (1 - 2 b_z) + b_z, t = b_d ^ b_{d+1}. 3 elements in all."""
    who, (own, following) = role(me, dealer), bit
    if who == "dealer":
        first = me.draw(before(me.id), bits, "split")
        me.send(after(me.id), (own ^ following) - first, bits)
        return (yield from receive_products(me))
    if who == "left":
        z, part = own, me.draw(dealer, bits, "split")
    else:
        z, part = following, (yield from me.recv(dealer))
    made = (ONE - z - z) * part + (z if who == "left" else np.zeros_like(z))
    return return_products(me, dealer, who, made, bits)


def replicated_times(me, dealer, bit, y, bits):
    """B y, of a shared bit and a shared value: 4 elements in all."""
    who, (b_own, b_next), (own, following) = role(me, dealer), bit, y
    if who == "dealer":
        t, u = b_own ^ b_next, own + following
        first, second = (me.draw(before(me.id), bits, "split") for _ in range(2))
        me.send(after(me.id), t - first, bits)
        me.send(after(me.id), t * u - second, bits)
        return (yield from receive_products(me))
    if who == "left":
        z, y_z, known = b_own, own, own + following
        t, tu = (me.draw(dealer, bits, "split") for _ in range(2))
    else:
        z, y_z, known = b_next, following, own
        t = yield from me.recv(dealer)
        tu = yield from me.recv(dealer)
    made = z * known + (ONE - z - z) * (y_z * t + tu)
    return return_products(me, dealer, who, made, bits)


def receive_products(me):
    """The dealer's components of what the others return."""
    at_left = yield from me.recv(before(me.id))
    at_right = yield from me.recv(after(me.id))
    return at_left, at_right


def return_products(me, dealer, who, made, bits):
    """Masks this party's summand by what it has in common with the other, for the dealer."""
    other = after(dealer) if who == "left" else before(dealer)
    rho, sigma = (me.draw(other, bits, "return") for _ in range(2))
    made = (made - (rho if who == "left" else sigma)) & low(bits)
    me.send(dealer, made, bits)
    rest = (rho + sigma) & low(bits)
    return (rest, made) if who == "left" else (made, rest)


# --- Two holders, 0 and 1, and an assistant, 2, that deals before --------------------------------

ASSISTANT = 2


def deal(me, bits, purpose, values=None):
    """Shares what the assistant knows: holder 0's part is drawn, holder 1's sent."""
    if me.id == ASSISTANT:
        me.send(1, values(me.draw(0, bits, purpose)), bits)
        return None
    if me.id == 0:
        return me.draw(ASSISTANT, bits, purpose)
    return (yield from me.recv(ASSISTANT))


def common(me, bits, purpose):
    """A holder's share of a random number; the assistant has both."""
    if me.id == ASSISTANT:
        return tuple(me.draw(holder, bits, purpose) for holder in (0, 1))
    return (me.draw(ASSISTANT, bits, purpose),)


def prepare_sign(me, w):
    """Triples for `held_sign`: a bit an AND from the assistant to holder 1."""
    own = []
    for _ in range(w - 1):
        a = common(me, 1, "own")  # holder 0's part is a, holder 1's is b
        c = yield from deal(me, 1, "own c", lambda c, a=a: c ^ (a[0] & a[1]))
        own.append((a, c))
    layers, groups = [], w - 1
    while groups > 1:
        pairs = groups // 2
        a = [common(me, 1, "left") for _ in range(pairs)]
        shared = a + a[1:]  # two ANDs of a node have their left operand in common
        layer = []
        for left in shared:
            b = common(me, 1, "right")

            def product(c, a=left, b=b):
                return c ^ ((a[0] ^ a[1]) & (b[0] ^ b[1]))

            c = yield from deal(me, 1, "and c", product)
            layer.append((left, b, c))
        layers.append(layer)
        groups = groups - pairs
    return own, layers


def held_sign(me, y, w, material):
    """Bit w - 1 of y_0 + y_1; the assistant has no part in it."""
    own, layers = material
    peer = 1 - me.id
    generate = []
    for j, ((mask,), c) in enumerate(own):
        bit = plane(y, j)
        me.send(peer, bit ^ mask, 1)
        generate.append((bit, mask, c))
    for j, (bit, mask, c) in enumerate(generate):
        theirs = yield from me.recv(peer)
        made = c ^ (theirs & mask)
        if me.id == 0:
            made = made ^ ((bit ^ mask) & theirs)
        generate[j] = (made,)
    half = [(plane(y, j),) for j in range(w)]
    rest = iter(layers)

    def and_layer(left, right):
        layer = next(rest)
        pairs = (len(left) + 1) // 2
        for (x,), ((a,), _, _) in zip(left[:pairs], layer[:pairs], strict=True):
            me.send(peer, x ^ a, 1)
        for (x,), (_, (b,), _) in zip(right, layer, strict=True):
            me.send(peer, x ^ b, 1)
        opened = []
        for (x,), ((a,), _, _) in zip(left[:pairs], layer[:pairs], strict=True):
            opened.append((yield from me.recv(peer)) ^ x ^ a)
        opened = opened + opened[1:]
        made = []
        for d, (x,), ((a,), (b,), c) in zip(opened, right, layer, strict=True):
            e = (yield from me.recv(peer)) ^ x ^ b
            product = c ^ (d & b) ^ (e & a)
            made.append((product ^ (d & e) if me.id == 0 else product,))
        return made

    if w == 1:
        return half[0][0]
    top = yield from carry(and_layer, generate, half[1 : w - 1])
    return half[w - 1][0] ^ top[0]


def prepare_times(me, bits):
    """A random bit over Z_2 and over the ring, a random a and the bit times a: 2 elements dealt."""
    rho = common(me, 1, "rho")
    a = common(me, bits, "a")

    def bit():
        return rho[0] ^ rho[1]

    word = yield from deal(me, bits, "rho word", lambda first: bit() - first)
    product = yield from deal(me, bits, "rho a", lambda first: bit() * (a[0] + a[1]) - first)
    return rho, a, word, product


def held_times(me, bit, y, bits, material):
    """B y: opens e = b ^ rho and delta = y - a; b = e + (1 - 2 e) rho. One hop."""
    (rho,), (a,), word, product = material
    peer = 1 - me.id
    me.send(peer, bit ^ rho, 1)
    me.send(peer, y - a, bits)
    e = (yield from me.recv(peer)) ^ bit ^ rho
    delta = (yield from me.recv(peer)) + y - a
    return (e * y + (ONE - e - e) * (delta * word + product)) & low(bits)


def held_inject(me, bit, bits, material):
    """B as a number: e = b ^ rho is opened. One hop, a bit from each."""
    (rho,), _, word, _ = material
    me.send(1 - me.id, bit ^ rho, 1)
    e = (yield from me.recv(1 - me.id)) ^ bit ^ rho
    flipped = (ONE - e - e) * word
    return (flipped + e if me.id == 0 else flipped) & low(bits)


# --- What is checked --------------------------------------------------------------------------


def replicated(protocol, dealer, ell, w):
    """A protocol's programs, secrets -> programs, with its secrets and its true result."""
    mask = low(ell)

    def shares(coins_of, me, secret, bits, xored=False):
        """Components of a secret from two free ones, which count as coins."""
        free = [coins_of.draw(("share", k, xored), 0, bits, "share") for k in range(2)]
        last = (secret ^ free[0] ^ free[1]) if xored else (secret - free[0] - free[1])
        parts = [*free, last & low(bits)]
        return tuple(me.hold(parts[i], bits) for i in (me.id, after(me.id)))

    def program(secret, me):
        coins = me._run.coins
        b, x = secret
        x_shares = shares(coins, me, np.full_like(coins.index, x), ell)
        if protocol == "sign":
            return (yield from replicated_sign(me, dealer, x_shares, w))
        if protocol == "relu":
            sign = yield from replicated_sign(me, dealer, x_shares, w)
            here = (me.id == 0, me.id == 2)  # component 0
            positive = tuple(s ^ ONE if h else s for s, h in zip(sign, here, strict=True))
            return (yield from replicated_times(me, dealer, positive, x_shares, ell))
        bit = shares(coins, me, np.full_like(coins.index, b), 1, xored=True)
        if protocol == "inject":
            return (yield from replicated_inject(me, dealer, bit, ell))
        return (yield from replicated_times(me, dealer, bit, x_shares, ell))

    def opened(results):
        own = [r[0] for r in results]
        for i in range(3):  # both holders of a component have the same
            assert np.array_equal(results[i][1], own[after(i)])
        if protocol == "sign":
            return own[0] ^ own[1] ^ own[2]
        return (own[0] + own[1] + own[2]) & mask

    return program, opened


def held(protocol, ell, w):
    """A protocol's programs between two holders and an assistant, and its true result."""

    def program(secret, me):
        coins = me._run.coins
        b, x = secret
        sign = times = None
        if protocol in ("sign", "relu"):
            sign = yield from prepare_sign(me, w)
        if protocol != "sign":
            times = yield from prepare_times(me, ell)
        if me.id == ASSISTANT:
            return None

        def share(value, bits, name):
            first = coins.draw(("share", name), 0, bits, "share")
            second = (value ^ first) if name == "b" else (value - first)
            return me.hold(first if me.id == 0 else second & low(bits), bits)

        y = share(np.full_like(coins.index, x), ell, "y")
        if protocol == "sign":
            return (yield from held_sign(me, y, w, sign))
        if protocol == "relu":
            bit = yield from held_sign(me, y, w, sign)
            bit = bit ^ ONE if me.id == 0 else bit
            return (yield from held_times(me, bit, y, ell, times))
        bit = share(np.full_like(coins.index, b), 1, "b")
        if protocol == "inject":
            return (yield from held_inject(me, bit, ell, times))
        return (yield from held_times(me, bit, y, ell, times))

    def opened(results):
        if protocol == "sign":
            return results[0] ^ results[1]
        return (results[0] + results[1]) & low(ell)

    return program, opened


def truth(protocol, secret, ell, w):
    """What the protocol is to give for a bit and a value."""
    b, x = secret
    negative = x >> (w - 1) & 1
    return {
        "sign": negative,
        "relu": 0 if negative else x,
        "inject": b,
        "times": b * x,
    }[protocol]


def secrets(protocol, ell, w):
    """Every bit and value that the protocol is for."""
    bits = (0,) if protocol in ("sign", "relu") else (0, 1)
    if protocol == "inject":
        return [(b, 0) for b in bits]
    half = 1 << (w - 1)
    return [(b, x % (1 << ell)) for b in bits for x in range(-half, half)]


def played(made, secret, coins):
    """A run of a protocol on a secret, whose opened result is right."""
    program, opened = made
    run = Run(coins, [lambda me: program(secret, me)] * 3)
    return run, opened(run.results)


def views(made, secret, spoilt=()):
    """A run over every choice of coins and shares."""
    dry, _ = played(made, secret, Coins(np.zeros(1, WORD)))
    assert dry.coins.used <= 22, f"{dry.coins.used} coins are too many to count"
    index = np.arange(1 << dry.coins.used, dtype=WORD)
    return played(made, secret, Coins(index, spoilt))


def check(made, protocol, ell, w, spoilt=()):
    """Runs every secret, coin and share: results right, all parties' views alike.

    Returns the number of runs and the parties whose views tell secrets apart.
    """
    first, runs, telling = None, 0, set()
    for secret in secrets(protocol, ell, w):
        run, result = views(made, secret, spoilt)
        want = truth(protocol, secret, ell, w) % (1 << ell)
        assert (result == WORD(want)).all(), (protocol, ell, w, secret)
        counted = [np.unique(party.view(), return_counts=True) for party in run.parties]
        first = first or counted
        for party, (a, b) in enumerate(zip(first, counted, strict=True)):
            if not (np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1])):
                telling.add(party)
        runs += len(result)
    return runs, telling


def small(longest):
    """Every setting, protocol, dealer and width whose coins can be counted, up to some bits."""
    for ell in range(1, longest + 1):
        for protocol, w in itertools.product(
            ("sign", "inject", "times", "relu"), range(1, ell + 1)
        ):
            if (protocol in ("inject", "times") and w < ell) or (protocol == "relu" and ell > 2):
                continue
            yield ("held", protocol, ell, w), held(protocol, ell, w)
            for dealer in range(3):
                made = replicated(protocol, dealer, ell, w)
                yield (f"replicated, dealer {dealer}", protocol, ell, w), made


def large(ell, w, samples, seed):
    """Random coins on a large ring: results right at edges and random values; bits sent."""
    rng = np.random.default_rng(seed)
    half = 1 << (w - 1)
    inside = [0, 1, -1, half - 1, -half, *(int(v) for v in rng.integers(-half, half - 1, 20))]
    sent = {}
    for x in inside:
        for protocol in ("sign", "relu"):
            for made in [held(protocol, ell, w)] + [
                replicated(protocol, d, ell, w) for d in range(3)
            ]:
                secret = (0, x % (1 << ell))
                run, result = played(made, secret, RandomCoins(samples, seed))
                want = truth(protocol, secret, ell, w)
                assert (result == WORD(want)).all(), (protocol, ell, w, x)
                setting = "held" if made[0].__qualname__.startswith("held") else "replicated"
                sent[setting, protocol] = list(run.sent)
    return sent


def main():
    """Checks everything and prints what the specification's tables state."""
    total = 0
    for name, made in small(3):
        runs, telling = check(made, name[1], *name[2:])
        assert not telling, (name, telling)
        total += runs
    print(f"{total} runs, 0 wrong; no party's view depends on the secret")
    for ell, w in ((64, 64), (64, 32), (64, 25), (64, 17), (32, 32), (32, 25)):
        for (setting, protocol), sent in large(ell, w, 8, 1).items():
            bytes_each = [bits / 8 for bits in sent]
            print(
                f"l={ell} w={w} {setting} {protocol}: {bytes_each} bytes by party, "
                f"mean {sum(bytes_each) / 3:.2f}"
            )


if __name__ == "__main__":
    main()
