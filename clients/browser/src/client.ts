// Asks a service: shares the input among its parties, and puts their answers together.

import { load, words } from "./core.js";
import { agree, ApartError, type Agreed } from "./described.js";
import { AnewError, ServiceError } from "./errors.js";
import { modelPath, Party, sleep, type Until } from "./party.js";
import type { Description, Options, Prediction, Question } from "./types.js";

/** Milliseconds before a request is made anew, and what they double up to. */
const [PAUSE, MOST_PAUSE] = [100, 2000];

/** Asks the parties of a service; made by `connect`. */
export class Client {
  readonly #parties: Party[];
  readonly #options: Options;
  readonly #known = new Map<string, Agreed>();

  constructor(urls: string[], options: Options = {}) {
    if (!Array.isArray(urls) || urls.length === 0) throw new ServiceError("address", "name every party's address");
    if (options.key !== undefined && options.keys !== undefined) {
      throw new ServiceError("key", "give key or keys, not both");
    }
    if (options.keys !== undefined && options.keys.length !== urls.length) {
      throw new ServiceError("key", "keys: give one for every party, in their order");
    }
    const fetcher = options.fetch ?? ((address, request) => fetch(address, request));
    this.#parties = urls.map((url, i) => new Party(url, options.keys?.[i] ?? options.key, fetcher));
    if (new Set(this.addresses).size !== urls.length) {
      throw new ServiceError("address", "name every party's address once");
    }
    this.#options = options;
  }

  /** The addresses of the parties. */
  get addresses(): string[] {
    return this.#parties.map((party) => party.url);
  }

  /** What all parties say alike of a model. */
  async describe(model: string, question: Question = {}): Promise<Description> {
    return await this.#within(question, async (until) => (await this.#agreed(model, question, until)).told);
  }

  /**
   * Predicts without any party seeing the input or the answer.
   *
   * `x` has items one behind the other, as many as a request may have.
   */
  async predict(model: string, x: Float32Array, question: Question = {}): Promise<Prediction> {
    return await this.#within(question, async (until) => {
      const begun = performance.now();
      for (let pause = PAUSE; ; pause = Math.min(2 * pause, MOST_PAUSE)) {
        const agreed = await this.#agreed(model, question, until);
        try {
          return { ...(await this.#once(agreed, x, question, until)), milliseconds: performance.now() - begun };
        } catch (error) {
          // A version that was described may have gone since.
          const gone = error instanceof ServiceError && error.code === "not-found";
          if (!gone && !(error instanceof AnewError)) throw error;
          this.#known.clear();
          if (performance.now() + pause > until.deadline) throw error;
        }
        await sleep(pause, until.signal);
      }
    });
  }

  /** One request: a new id, and shares that no other request has. */
  async #once(agreed: Agreed, x: Float32Array, question: Question, until: Until): Promise<Omit<Prediction, "milliseconds">> {
    const { told, order, core, classOf } = agreed;
    const items = Math.floor(x.length / core.inputLength);
    if (items > told.maxItems) {
      throw new ServiceError("too-many-items", `the input has ${items} items, and a request at most ${told.maxItems}`);
    }
    const bodies = local(() => core.split(x));
    const shares = order.map((number) => bodies[number]!);
    question.onShares?.(shares);
    const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), hex).join("");
    const path = modelPath(told.name, told.version);
    const most = (1 << 20) + 64 * (x.length + items * core.outputLength);
    const answers = await this.#all(until, (party, i, both) =>
      party.infer(path, { id, items, session: told.session, share: shares[i]! }, most, both),
    );
    const ordered: Uint8Array[] = [];
    answers.forEach((answer, i) => {
      const fits =
        answer.id === id &&
        answer.model === told.name &&
        answer.version === told.version &&
        answer.session === told.session &&
        answer.digest === told.digest &&
        answer.party === order[i];
      if (!fits) {
        const { url } = this.#parties[i]!;
        throw new ServiceError("mixed", `${url} answered another request, session, model or party`, url);
      }
      ordered[answer.party] = answer.share;
    });
    const values = local(() => core.join(items, ordered));
    const each = values.length / items;
    const item = (i: number) => values.subarray(i * each, (i + 1) * each);
    const classes = classOf ? Array.from({ length: items }, (_, i) => classOf(item(i))) : null;
    const served = answers.map((answer) => 1000 * answer.seconds);
    return { values, items, classes, shares, served, id, described: told };
  }

  /** What all parties say alike of a model, of which the question may name the digest. */
  async #agreed(model: string, question: Question, until: Until): Promise<Agreed> {
    const path = modelPath(model, question.version);
    const known = this.#known.get(path) ?? (await this.#described(path, until));
    if (known.told.name !== model || ![undefined, known.told.version].includes(question.version)) {
      throw new ServiceError("other-model", "the parties describe another model than the one asked for");
    }
    if (![undefined, known.told.digest].includes(question.digest)) {
      throw new ServiceError("other-digest", `the model's plan has the digest ${known.told.digest}, not ${question.digest}`);
    }
    this.#known.set(path, known);
    return known;
  }

  async #described(path: string, until: Until): Promise<Agreed> {
    await load(this.#options.wasm);
    for (let pause = PAUSE; ; pause = Math.min(2 * pause, MOST_PAUSE)) {
      const texts = await this.#all(until, (party, _, both) => party.describe(path, both));
      try {
        return agree(this.addresses, texts);
      } catch (error) {
        if (!(error instanceof ApartError) || performance.now() + pause > until.deadline) throw error;
      }
      await sleep(pause, until.signal);
    }
  }

  /** What all parties give; the first error ends the others. */
  async #all<T>(until: Until, one: (party: Party, i: number, until: Until) => Promise<T>): Promise<T[]> {
    const rest = new AbortController();
    const signal = AbortSignal.any([until.signal, rest.signal]);
    try {
      return await Promise.all(this.#parties.map((party, i) => one(party, i, { ...until, signal })));
    } finally {
      rest.abort();
    }
  }

  /** Does something within the timeout, unless the question is withdrawn. */
  async #within<T>(question: Question, work: (until: Until) => Promise<T>): Promise<T> {
    const milliseconds = 1000 * (this.#options.timeout ?? 60);
    const time = AbortSignal.timeout(milliseconds);
    const signal = AbortSignal.any([time, ...(question.signal ? [question.signal] : [])]);
    try {
      return await work({ deadline: performance.now() + milliseconds, signal });
    } catch (error) {
      if (error === time.reason) throw new ServiceError("timeout", `there was no answer within ${milliseconds / 1000} s`);
      throw error;
    }
  }
}

/** What the core refuses, as an error of this client: by then nothing was sent, or all is back. */
function local<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new ServiceError("refused", words(error));
  }
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, "0");
}
