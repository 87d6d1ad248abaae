import { Client } from "./client.js";
import type { Options } from "./types.js";

/**
 * A client of a service, which asks without being one of its parties.
 *
 * @param urls The address of every party: HTTPS, or plain HTTP on this machine.
 */
export function connect(urls: string[], options: Options = {}): Client {
  return new Client(urls, options);
}

export { Client } from "./client.js";
export { ServiceError } from "./errors.js";
export type { Class, Description, Options, Prediction, Question, Wasm } from "./types.js";
