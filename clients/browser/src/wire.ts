// The bodies of requests and answers: the binary extension of the Open Inference Protocol. A header in
// JSON, of as many bytes as `Inference-Header-Content-Length` says, and a share behind it.

export const LENGTH = "Inference-Header-Content-Length";

/** What all answers to one request must have in common, and the party's number. */
export interface Facts {
  id: string;
  model: string;
  version: string;
  session: string;
  digest: string;
  party: number;
}

/** One party's answer. */
export interface Answer extends Facts {
  /** How long that party had the request. */
  seconds: number;
  share: Uint8Array<ArrayBuffer>;
}

/** The header's length, and the body of a request. */
export function requestBody(
  id: string,
  items: number,
  session: string,
  share: Uint8Array,
): [number, Uint8Array<ArrayBuffer>] {
  const size = share.length;
  const tensor = { name: "share", datatype: "UINT8", shape: [size], parameters: { binary_data_size: size } };
  const header = new TextEncoder().encode(
    JSON.stringify({ id, inputs: [tensor], parameters: { items, session } }),
  );
  const body = new Uint8Array(header.length + size);
  body.set(header);
  body.set(share, header.length);
  return [header.length, body];
}

/** Reads one party's answer; `undefined` if it is none. */
export function readAnswer(length: string | null, body: Uint8Array<ArrayBuffer>): Answer | undefined {
  if (length === null || !/^[0-9]{1,6}$/.test(length) || Number(length) > body.length) return undefined;
  const share = body.slice(Number(length));
  let told: any;
  try {
    told = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body.subarray(0, Number(length))));
  } catch {
    return undefined;
  }
  const [tensor, ...more] = Array.isArray(told?.outputs) ? told.outputs : [];
  const { session, digest, party, seconds } = told?.parameters ?? {};
  const [id, model, version] = [told?.id, told?.model_name, told?.model_version];
  const fits =
    more.length === 0 &&
    tensor?.name === "share" &&
    tensor.datatype === "UINT8" &&
    tensor.parameters?.binary_data_size === share.length &&
    [id, model, version, session, digest].every((text) => typeof text === "string") &&
    Number.isInteger(party) &&
    Number.isFinite(seconds) &&
    seconds >= 0;
  return fits ? { id, model, version, session, digest, party, seconds, share } : undefined;
}
