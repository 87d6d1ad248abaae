// The client against parties on this machine that do as they are told.

import assert from "node:assert/strict";
import { test } from "node:test";
import { connect, ServiceError } from "../dist/tacit-client.js";
import { Fake, SALT, sum, three, wasm } from "./fakes.mjs";

const X = new Float32Array([1, -2.5, 0, 3.25]);
const urls = (parties) => parties.map((party) => party.url);
const client = (parties, options = {}) => connect(urls(parties), { wasm, timeout: 10, ...options });
const refused = (code, words = /./) => (error) => {
  assert.ok(error instanceof ServiceError, String(error));
  assert.equal(error.code, code, error.message);
  assert.match(error.message, words);
  return true;
};

for (const kind of ["replicated", "holders"]) {
  test(`an input is shared and the answer put together (${kind})`, async (t) => {
    const parties = await three(t, { kind, bits: 64 });
    const found = await client(parties).predict("same", X);
    assert.deepEqual(found.values, X);
    assert.deepEqual(found.classes, [3]);
    assert.equal(found.items, 1);
    assert.ok(found.milliseconds > 0);
    assert.equal(found.described.digest, "d1");
    const ids = new Set(parties.map((party) => party.asked[0].header.id));
    assert.deepEqual([...ids], [found.id]);
    parties.forEach((party, i) => assert.deepEqual(new Uint8Array(party.asked[0].body), found.shares[i]));
  });
}

test("two questions share nothing, and one party's share is not the input", async (t) => {
  const parties = await three(t, { kind: "holders", bits: 64 });
  const asking = client(parties);
  const zeros = new Float32Array(4);
  const shares = [];
  for (let i = 0; i < 2; i++) shares.push((await asking.predict("same", zeros)).shares);
  for (const [one, two, none] of shares) {
    assert.equal(sum([one.subarray(0, 8), two.subarray(0, 8)]), 0);
    assert.notEqual(sum([one.subarray(0, 8)]), 0);
    assert.equal(none.length, 2 * SALT);
  }
  for (const party of [0, 1, 2]) assert.notDeepEqual(shares[0][party], shares[1][party]);
});

test("parties may be named in any order, each with its key", async (t) => {
  const parties = (await three(t)).reverse();
  const found = await client(parties, { keys: ["k2", "k1", "k0"] }).predict("same", X);
  assert.deepEqual(found.values, X);
  const keys = parties.map((party) => party.asked[0].headers.authorization);
  assert.deepEqual(keys, ["Bearer k2", "Bearer k1", "Bearer k0"]);
});

test("a busy party is asked again for the same, when it says", async (t) => {
  const parties = await three(t);
  const times = [];
  parties[1].before = (_, response, number) => {
    times.push(performance.now());
    if (number > 2) return false;
    parties[1].refuse(response, 503, "busy", { "Retry-After": "1" });
    return true;
  };
  const found = await client(parties).predict("same", X);
  assert.deepEqual(found.values, X);
  const [first, ...again] = parties[1].asked;
  assert.equal(again.length, 2);
  for (const asked of again) {
    assert.deepEqual(asked.body, first.body);
    assert.equal(asked.header.id, first.header.id);
  }
  assert.ok(times[1] - times[0] >= 700 && times[2] - times[1] >= 700, String(times));
  assert.equal(parties[0].asked.length, 1);
});

for (const [status, code] of [[502, "missing-elsewhere"], [503, "draining"]]) {
  test(`a request that is ${code} is made anew: another id, other shares`, async (t) => {
    const parties = await three(t);
    parties[2].before = (_, response, number) => {
      if (number === 1) parties[2].refuse(response, status, code);
      return number === 1;
    };
    const found = await client(parties).predict("same", X);
    assert.deepEqual(found.values, X);
    const [one, two] = parties[2].asked;
    assert.notEqual(one.header.id, two.header.id);
    assert.notDeepEqual(one.body, two.body);
    assert.equal(parties[0].described, 2);
  });
}

test("a version that has gone is asked for anew", async (t) => {
  const parties = await three(t);
  const asking = client(parties);
  await asking.predict("same", X);
  for (const party of parties) {
    party.told.version = "2";
    party.before = (request, response) => {
      const gone = request.url.includes("/versions/1/");
      if (gone) party.refuse(response, 404, "not-found");
      return gone;
    };
  }
  const found = await asking.predict("same", X);
  assert.deepEqual(found.values, X);
  assert.equal(found.described.version, "2");
  await assert.rejects(asking.predict("same", X, { version: "1" }), refused("not-found"));
});

test("parties that meet anew are waited for", async (t) => {
  const parties = await three(t);
  parties[0].told.session = "cd";
  setTimeout(() => parties.forEach((party) => (party.told.session = "cd")), 300);
  assert.deepEqual((await client(parties).predict("same", X)).values, X);
});

const LIES = { digest: "d2", version: "2", commitment: "c2", security: "none", scheme: { kind: "holders", bits: 64 } };
for (const [key, value] of Object.entries(LIES)) {
  test(`a party that describes another ${key} is named, and nothing is shared`, async (t) => {
    const parties = await three(t);
    parties[1].told[key] = value;
    const words = new RegExp(`^${parties[1].url} differs from the others`);
    await assert.rejects(client(parties).predict("same", X), refused(`differ-${key}`, words));
    assert.equal(parties.flatMap((party) => party.asked).length, 0);
  });
}

test("a party whose plan differs where JavaScript sees no difference is named", async (t) => {
  const parties = await three(t);
  // Texts, since no number of JavaScript is this one.
  const fetcher = async (address, request) => {
    const got = await fetch(address, request);
    const limit = String(address).startsWith(parties[2].url) ? "9007199254740993" : "9007199254740992";
    return new Response((await got.text()).replace("1048576", limit), got);
  };
  await assert.rejects(client(parties, { fetch: fetcher }).predict("same", X), refused("differ-plan", new RegExp(parties[2].url)));
});

test("one party under two numbers is refused", async (t) => {
  const parties = await three(t);
  parties[1].told.party = 0;
  await assert.rejects(client(parties).predict("same", X), refused("other-parties"));
});

test("another digest than the one that is accepted is refused", async (t) => {
  const parties = await three(t);
  await assert.rejects(client(parties).predict("same", X, { digest: "d9" }), refused("other-digest"));
  assert.equal(parties[0].asked.length, 0);
});

const MIXED = {
  "id": (told) => (told.id = "0".repeat(32)),
  "model": (told) => (told.model_name = "other"),
  "version": (told) => (told.model_version = "2"),
  "session": (told) => (told.parameters.session = "cd"),
  "digest": (told) => (told.parameters.digest = "d2"),
  "party": (told) => (told.parameters.party = 1),
};
for (const [what, change] of Object.entries(MIXED)) {
  test(`an answer of another ${what} is refused`, async (t) => {
    const parties = await three(t);
    parties[2].change = (told, share) => (change(told), [told, share]);
    await assert.rejects(client(parties).predict("same", X), refused("mixed", new RegExp(parties[2].url)));
  });
}

test("answers that contradict each other are refused", async (t) => {
  const parties = await three(t);
  parties[0].change = (told, share) => {
    share[0] ^= 1;
    return [told, share];
  };
  await assert.rejects(client(parties).predict("same", X), refused("refused", /contradict/));
});

test("answers that are too long, too short or no answers are refused", async (t) => {
  const parties = await three(t);
  const asking = client(parties);
  parties[0].change = (told, share) => [told, Buffer.concat([share, Buffer.alloc(8)])];
  await assert.rejects(asking.predict("same", X), refused("refused", /party 0 gave an answer of 72 bytes/));
  parties[0].change = (told) => [told, Buffer.alloc(2 << 20)];
  await assert.rejects(asking.predict("same", X), refused("malformed", /more than/));
  parties[0].before = (_, response) => response.end("hello");
  await assert.rejects(asking.predict("same", X), refused("malformed", /malformed/));
});

test("a refusal names the party and its words, and is not asked again", async (t) => {
  const parties = await three(t);
  parties[1].before = (_, response) => (parties[1].refuse(response, 429, "budget", { "Retry-After": "1" }), true);
  await assert.rejects(client(parties).predict("same", X), refused("budget", new RegExp(`${parties[1].url} refuses: it is budget`)));
  assert.equal(parties[1].asked.length, 1);
});

test("a redirect is not followed: a party is who it was named as", async (t) => {
  const [first, second, third] = await three(t);
  const fourth = await new Fake(1).listen();
  t.after(() => fourth.close());
  second.moved = fourth.url;
  await assert.rejects(client([first, second, third]).predict("same", X), refused("unreachable", new RegExp(second.url)));
  assert.equal(fourth.described, 0);
});

test("without randomness nothing is sent", async (t) => {
  const parties = await three(t);
  const asking = client(parties);
  await asking.describe("same");
  for (const broken of [{}, { getRandomValues: () => { throw new Error("dry"); } }]) {
    const whole = Object.getOwnPropertyDescriptor(globalThis, "crypto");
    Object.defineProperty(globalThis, "crypto", { value: broken, configurable: true });
    try {
      await assert.rejects(asking.predict("same", X), refused("refused", /random generator failed.*nothing was shared/));
    } finally {
      Object.defineProperty(globalThis, "crypto", whole);
    }
  }
  assert.equal(parties.flatMap((party) => party.asked).length, 0);
});

test("inputs that do not fit are refused before anything is sent", async (t) => {
  const parties = await three(t);
  const asking = client(parties);
  for (const [x, words] of [
    [new Float32Array(5), /5 numbers/],
    [new Float32Array(0), /0 numbers/],
    [new Float32Array([NaN, 0, 0, 0]), /not finite/],
    [new Float32Array([0, 1e6, 0, 0]), /number 1 of 'x' in item 0/],
  ]) {
    await assert.rejects(asking.predict("same", x), refused("refused", words));
  }
  await assert.rejects(asking.predict("same", new Float32Array(36)), refused("too-many-items"));
  assert.equal(parties.flatMap((party) => party.asked).length, 0);
});

test("a question that is withdrawn, or takes too long, ends", async (t) => {
  const parties = await three(t);
  parties[1].before = () => true;
  const signal = AbortSignal.timeout(100);
  await assert.rejects(client(parties).predict("same", X, { signal }), { name: "TimeoutError" });
  await assert.rejects(client(parties, { timeout: 0.2 }).predict("same", X), refused("timeout"));
});

test("addresses and keys are checked", () => {
  for (const wrong of ["http://a.example:8100", "https://a.example/x", "https://u:p@a.example", "ftp://a.example", "a", "http://127.0.0.1.example"]) {
    assert.throws(() => connect([wrong]), refused("address"));
  }
  assert.throws(() => connect([]), refused("address"));
  assert.throws(() => connect(["https://a.example", "https://a.example/"]), refused("address"));
  assert.throws(() => connect(["https://a.example"], { key: "two words" }), refused("key"));
  assert.throws(() => connect(["https://a.example"], { keys: [] }), refused("key"));
  assert.deepEqual(connect(["http://localhost:1", "http://[::1]:1", "https://a.example:443/"]).addresses,
    ["http://localhost:1", "http://[::1]:1", "https://a.example"]);
});

test("names lead to no other address", async () => {
  for (const name of ["..", "a/b", "a?b", ""]) {
    await assert.rejects(connect(["https://a.example"]).predict(name, X), refused("name"));
  }
});
