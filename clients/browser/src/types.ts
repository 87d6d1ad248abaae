// What users of the package see, besides `Client` and `ServiceError`.

/** Where the core comes from: its bytes, or an address that must give exactly those of this build. */
export type Wasm = BufferSource | URL | string;

export interface Options {
  /** The API key that all parties know. A party could use it at the others: rather have one for each. */
  key?: string;
  /** The API key of each party, in their order. */
  keys?: string[];
  /** Seconds that a prediction may take, with all that is tried again. */
  timeout?: number;
  /** The core: its bytes, or where it is if not beside this file. */
  wasm?: Wasm;
  /** Instead of the page's own `fetch`. */
  fetch?: typeof fetch;
}

export interface Question {
  /** The model's version; the one that is served if not given. */
  version?: string;
  /** The digest of the only plan that is accepted. */
  digest?: string;
  /** Withdraws the question. */
  signal?: AbortSignal;
  /** Is called with what each party is about to be sent. */
  onShares?: (shares: Uint8Array[]) => void;
}

export interface Prediction {
  /** The outputs, item after item; in each those of every output in their order. */
  values: Float32Array;
  items: number;
  /** The class of every item; `null` where the model gives none. */
  classes: Class[] | null;
  /** From the question to the answer. */
  milliseconds: number;
  /** What each party was sent, in the order of their addresses: alone, each is random. */
  shares: Uint8Array[];
  /** How long each party had the request, in milliseconds. */
  served: number[];
  /** The request's id, by which operators find it. */
  id: string;
  described: Description;
}

/** A class: its name, or its number where it has none. */
export type Class = string | number;

/** What all parties say alike of a model. */
export interface Description {
  name: string;
  version: string;
  /** The published protocol that the parties run. */
  protocol: string;
  /** Against whom it is secure. */
  security: string;
  parties: number;
  /** The hash of the plan: of all that is computed but the weights. */
  digest: string;
  /** The owner's commitment to its file. */
  commitment: string | undefined;
  /** This life of the service; another one after the parties met anew. */
  session: string;
  /** What of the model's output is opened to the client. */
  reveal: string;
  /** The most items of a request. */
  maxItems: number;
  inputs: { name: string; datatype: string; shape: number[] }[];
  outputs: { name: string; datatype: string; shape: number[] }[];
}
