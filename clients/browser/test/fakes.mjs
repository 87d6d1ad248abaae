// Parties that are no servers of Tacit: each answers its own share, so that the model is the identity.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";

/** The bytes of a secret that a body has beside its share. */
export const SALT = 16;
export const wasm = readFileSync(new URL("../dist/tacit.wasm", import.meta.url));

const FRACTION = 10;

/** What party `party` of three says of a model with four numbers. */
export function described(party, scheme = { kind: "replicated", bits: 64 }) {
  const input = { name: "x", shape: [4], batch: 0, kind: "numbers", limit: 1 << 20, ranked: false };
  const output = { name: "y", start: 0, revealed_shape: [4], shape: [4], tail: [], batch: 0, classes: null };
  return {
    name: "same", version: "1", protocol: "falcon", security: "semi-honest, 1 of 3 corrupt", parties: 3, party,
    digest: "d1", commitment: "c1", session: "ab", scheme, reveal: "logits", max_items: 8,
    inputs: [{ name: "x", datatype: "FP32", shape: [-1, 4] }],
    outputs: [{ name: "y", datatype: "FP32", shape: [-1, 4] }],
    input_fraction: FRACTION, output_fraction: FRACTION,
    plan: { modulus: 64, inputs: [input], outputs: [output], opening: { reveal: "logits", scores: [] } },
  };
}

/** The share within a body: of a replicated one, without salts; of another, without a secret for each other party. */
function answerOf(body, { kind }) {
  if (kind !== "replicated") return body.subarray(0, -2 * SALT);
  const half = body.length / 2;
  return Buffer.concat([body.subarray(SALT, half), body.subarray(half + SALT)]);
}

/** The number that two or three components add up to, of 64 bits in fixed point. */
export function sum(words) {
  const total = words.reduce((all, bytes) => all + Buffer.from(bytes).readBigUInt64LE(), 0n);
  return Number(BigInt.asIntN(64, total)) / 2 ** FRACTION;
}

/** One party: `told` is what it says, `asked` what it was asked, `before` may answer instead of it, and it
 * may have `moved`. */
export class Fake {
  constructor(party, scheme) {
    this.told = described(party, scheme);
    this.asked = [];
    this.described = 0;
    this.before = undefined;
    this.moved = undefined;
    this.change = (header, share) => [header, share];
    this.server = createServer((request, response) => this.#answer(request, response));
  }

  async listen() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }

  refuse(response, status, code, headers = {}) {
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    response.end(JSON.stringify({ error: `it is ${code}`, code }));
  }

  async #answer(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const whole = Buffer.concat(parts);
    if (request.method === "GET") {
      this.described += 1;
      if (this.moved) return response.writeHead(307, { Location: this.moved + request.url }).end();
      const version = request.url.match(/\/versions\/([^/]+)/)?.[1];
      if (version !== undefined && version !== this.told.version) return this.refuse(response, 404, "not-found");
      response.end(JSON.stringify({ name: this.told.name, platform: "tacit", parameters: this.told }));
      return;
    }
    const length = Number(request.headers["inference-header-content-length"]);
    const header = JSON.parse(whole.subarray(0, length).toString());
    const body = whole.subarray(length);
    this.asked.push({ path: request.url, headers: request.headers, header, body });
    if (this.before?.(request, response, this.asked.length)) return;
    const { name, version, session, digest, party } = this.told;
    const [told, share] = this.change(
      {
        model_name: name, model_version: version, id: header.id,
        outputs: [{ name: "share", datatype: "UINT8" }],
        parameters: { session, digest, party, seconds: 0.01 },
      },
      answerOf(body, this.told.scheme),
    );
    told.outputs[0].shape = [share.length];
    told.outputs[0].parameters = { binary_data_size: share.length };
    const text = Buffer.from(JSON.stringify(told));
    response.setHeader("Inference-Header-Content-Length", text.length);
    response.end(Buffer.concat([text, share]));
  }
}

/** Three parties that end with the test. */
export async function three(t, scheme) {
  const parties = await Promise.all([0, 1, 2].map((party) => new Fake(party, scheme).listen()));
  t.after(() => parties.forEach((party) => party.close()));
  return parties;
}
