// What parties say of a model, held against each other.

import { Core, difference, words } from "./core.js";
import { ServiceError } from "./errors.js";
import type { Class, Description } from "./types.js";

/** A model that all parties describe alike. */
export interface Agreed {
  told: Description;
  /** The number of every party of the client. */
  order: number[];
  core: Core;
  /** The class of an item, of the item's numbers; none where they are no classes. */
  classOf: ((numbers: Float32Array) => Class) | undefined;
}

/** Parties that have not met anew all yet: it passes. */
export class ApartError extends ServiceError {}

/** Holds the texts of the parties' `/v2/models/{model}` against each other; errors name who differs. */
export function agree(urls: string[], texts: string[]): Agreed {
  const all = texts.map((text, i) => read(urls[i]!, text));
  const found = difference(texts);
  if (found !== undefined) {
    const { key, who } = found;
    const names = Array.from(who, (place) => urls[place]!);
    found.free();
    if (key === "session") throw new ApartError("not-ready", "the parties have not met anew all yet; try again");
    const verb = names.length > 1 ? "differ" : "differs from the others";
    throw new ServiceError(
      `differ-${key}`,
      `${names.join(", ")} ${verb} in what they say of the model's ${key}; nothing was shared: tell the operators`,
      names.length === 1 ? names[0] : undefined,
    );
  }
  const order = all.map((one) => one.party as number);
  const { parties } = all[0];
  if (parties !== order.length || order.some((number) => number >= parties) || new Set(order).size !== parties) {
    const told = order.map((number, i) => `${urls[i]} is party ${number}`).join(", ");
    throw new ServiceError("other-parties", `${told} of ${parties}; name every party of the model once`);
  }
  const maxItems = Math.min(...all.map((one) => one.max_items as number));
  const { name, version, protocol, security, digest, commitment, session, reveal, inputs, outputs } = all[0];
  const model = { name, version, protocol, security, parties, digest, commitment, session };
  const told = { ...model, reveal, maxItems, inputs, outputs };
  try {
    return { told, order, core: new Core(texts[order.indexOf(0)]!), classOf: reading(all[0]) };
  } catch (error) {
    throw new ServiceError("model", words(error));
  }
}

/** What one party says, checked as far as it is used here. */
function read(url: string, text: string): any {
  let told: any;
  try {
    told = JSON.parse(text).parameters;
  } catch {
    told = undefined;
  }
  const texts = ["name", "version", "protocol", "security", "digest", "session", "reveal"];
  const fits =
    texts.every((key) => typeof told?.[key] === "string") &&
    ["party", "parties", "max_items"].every((key) => Number.isInteger(told[key]) && told[key] >= 0) &&
    Array.isArray(told.inputs) &&
    Array.isArray(told.outputs) &&
    Array.isArray(told.plan?.outputs);
  if (fits) return told;
  throw new ServiceError("malformed", `${url} does not describe the model as a service of Tacit does`, url);
}

/** How an item's class is read off its numbers, as the Python package does. */
function reading(told: any): Agreed["classOf"] {
  const named = told.plan.outputs.map(namesOf).find((names: Class[] | undefined) => names !== undefined);
  let start = 0;
  for (const output of told.plan.outputs) {
    const size: number = output.shape.reduce((all: number, axis: number) => all * axis, 1);
    const from = start;
    start += size;
    const ends = output.tail.map((step: any) => step.function);
    if (told.reveal.startsWith("top-") || namesOf(output) || told.reveal === "class" || ends.includes("ArgMax")) {
      if (told.reveal.startsWith("top-") || size === 1) {
        const names = namesOf(output);
        return (numbers) => names?.[numbers[from]!] ?? numbers[from]!;
      }
    } else if (size > 1 && output.shape.length === 1) {
      const names = named?.length === size ? named : undefined;
      return (numbers) => {
        const own = numbers.subarray(from, from + size);
        const best = own.indexOf(Math.max(...own));
        return names?.[best] ?? best;
      };
    }
  }
  return undefined;
}

function namesOf(output: any): Class[] | undefined {
  const names = output.classes?.strings ?? output.classes?.integers;
  return Array.isArray(names) ? names : undefined;
}
