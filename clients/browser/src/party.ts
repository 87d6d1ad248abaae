// One party, as a client reaches it by HTTP.

import { words } from "./core.js";
import { AnewError, ServiceError } from "./errors.js";
import { LENGTH, readAnswer, requestBody, type Answer } from "./wire.js";

/** Refusals after which the same request may be answered. */
const AGAIN = ["busy", "not-ready", "timeout"];
/**
 * Refusals after which a new request may be: with a new id, and shared anew. What a party that drains did not take
 * keeps the others waiting, which lack its share.
 */
const ANEW = ["missing-elsewhere", "failed", "draining", "drained", "other-session"];
/** Milliseconds between two tries where the party names none, and what they double up to. */
const [LEAST, MOST] = [100, 3000];
/** How often a party that cannot be reached is tried: a page cannot tell a pause from a refusal by CORS. */
const TRIES = 5;
/** Bytes that a description may have. */
const MOST_TOLD = 64 << 20;

/** When to stop, by the clock of `performance.now()` or by the caller. */
export interface Until {
  deadline: number;
  signal: AbortSignal;
}

export class Party {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #fetch: typeof fetch;

  constructor(url: string, key: string | undefined, fetcher: typeof fetch) {
    this.url = checkedUrl(url);
    if (key !== undefined && !/^[\x21-\x7e]{1,512}$/.test(key)) {
      throw new ServiceError("key", "a key has 1 to 512 printed characters without spaces");
    }
    this.#headers = key === undefined ? {} : { Authorization: `Bearer ${key}` };
    this.#fetch = fetcher;
  }

  /** The text of what it says of a model. */
  async describe(path: string, until: Until): Promise<string> {
    const reply = await this.#until(path, { method: "GET", headers: this.#headers }, MOST_TOLD, until);
    return new TextDecoder().decode(reply.body);
  }

  /** Its answer to a request, of at most so many bytes. */
  async infer(
    path: string,
    asked: { id: string; items: number; session: string; share: Uint8Array },
    most: number,
    until: Until,
  ): Promise<Answer> {
    const [length, body] = requestBody(asked.id, asked.items, asked.session, asked.share);
    const headers = {
      ...this.#headers,
      "Content-Type": "application/octet-stream",
      [LENGTH]: String(length),
      "X-Request-Id": asked.id,
    };
    const reply = await this.#until(`${path}/infer`, { method: "POST", headers, body }, most, until);
    const answer = readAnswer(reply.length, reply.body);
    if (answer === undefined) throw this.#strange("its answer is malformed");
    return answer;
  }

  /** Asks until it answers, refuses for good, or the time is over. */
  async #until(path: string, request: RequestInit, most: number, until: Until): Promise<Reply> {
    for (let [pause, unreached] = [LEAST, 0]; ; pause = Math.min(2 * pause, MOST)) {
      let [why, wait] = [undefined as ServiceError | undefined, 0];
      try {
        const reply = await this.#ask(path, request, most, until.signal);
        if (reply.status === 200) return reply;
        why = this.#refused(reply);
        wait = reply.retryAfter;
      } catch (error) {
        if (error instanceof ServiceError) throw error;
        until.signal.throwIfAborted();
        const told = `${this.url} cannot be reached (${words(error)}): does it run, and does it allow this page's origin?`;
        why = new ServiceError("unreachable", told, this.url);
        if (++unreached >= TRIES) throw why;
      }
      // Jitter, so that clients that were refused together do not come back together.
      const milliseconds = Math.max(pause, wait) * (0.75 + Math.random() / 2);
      if (performance.now() + milliseconds > until.deadline) throw why;
      await sleep(milliseconds, until.signal);
    }
  }

  async #ask(path: string, request: RequestInit, most: number, signal: AbortSignal): Promise<Reply> {
    const got = await this.#fetch(this.url + path, {
      ...request,
      signal,
      mode: "cors",
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    const parts: Uint8Array[] = [];
    let size = 0;
    for (const reader = got.body?.getReader(); reader; ) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      size += value.length;
      if (size > most) {
        await reader.cancel().catch(() => undefined);
        throw this.#strange(`its answer has more than ${most} bytes`);
      }
    }
    const body = new Uint8Array(size);
    parts.reduce((at, part) => (body.set(part, at), at + part.length), 0);
    const seconds = /^[0-9]{1,4}$/.exec(got.headers.get("Retry-After") ?? "0")?.[0] ?? "0";
    const retryAfter = Math.min(Number(seconds), 60) * 1000;
    return { status: got.status, length: got.headers.get(LENGTH), retryAfter, body };
  }

  /** The error of a refusal that passes; what does not pass is thrown. */
  #refused(reply: Reply): ServiceError {
    let told: any;
    try {
      told = JSON.parse(new TextDecoder().decode(reply.body));
    } catch {
      told = undefined;
    }
    if (typeof told?.code !== "string" || typeof told.error !== "string") {
      throw this.#strange(`it answered with status ${reply.status}`);
    }
    const code = told.code.slice(0, 40);
    const message = `${this.url} refuses: ${told.error.slice(0, 1000)}`;
    if (ANEW.includes(code)) throw new AnewError(code, message, this.url);
    const error = new ServiceError(code, message, this.url);
    if (!AGAIN.includes(code)) throw error;
    return error;
  }

  #strange(why: string): ServiceError {
    return new ServiceError("malformed", `${this.url} does not answer as a service of Tacit does: ${why}`, this.url);
  }
}

interface Reply {
  status: number;
  length: string | null;
  retryAfter: number;
  body: Uint8Array<ArrayBuffer>;
}

/** The path of a model; its names are as services have them. */
export function modelPath(model: string, version?: string): string {
  for (const name of [model, version ?? "1"]) {
    if (!/^[A-Za-z0-9._-]+$/.test(name) || /^\.+$/.test(name)) {
      throw new ServiceError("name", `'${name}' is no name of a model or version`);
    }
  }
  return `/v2/models/${model}${version === undefined ? "" : `/versions/${version}`}`;
}

/** The address of a party without a slash at its end: HTTPS, or plain HTTP on this machine. */
function checkedUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const bare = url && !url.username && !url.password && !url.search && !url.hash && url.pathname === "/";
  if (!url || !bare || !["https:", "http:"].includes(url.protocol)) {
    throw new ServiceError("address", `'${text}' is no address such as https://a.example:8100`);
  }
  const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname);
  if (url.protocol === "http:" && !loopback) {
    throw new ServiceError("address", `'${text}': shares go over https alone, but on this machine itself`);
  }
  return url.origin;
}

/** Waits, unless the signal ends it. */
export function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", ended);
      resolve();
    }, milliseconds);
    if (signal.aborted) ended();
    else signal.addEventListener("abort", ended, { once: true });
  });
}
