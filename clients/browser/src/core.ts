// The core in WebAssembly: `crates/tacit-wasm`.

import init, { Client as Core, difference } from "../generated/tacit_wasm.js";
import { ServiceError } from "./errors.js";
import type { Wasm } from "./types.js";

/** The SHA-384 of tacit.wasm as the build made it. */
declare const WASM_INTEGRITY: string;

let loaded: Promise<unknown> | undefined;

/** Loads the core, once a page. */
export async function load(wasm: Wasm | undefined): Promise<void> {
  loaded ??= bytes(wasm).then((module_or_path) => init({ module_or_path }));
  try {
    await loaded;
  } catch (error) {
    loaded = undefined;
    throw new ServiceError("core", `the core in WebAssembly cannot be loaded (${words(error)})`);
  }
}

async function bytes(wasm: Wasm | undefined): Promise<BufferSource> {
  if (wasm !== undefined && typeof wasm !== "string" && !(wasm instanceof URL)) return wasm;
  const address = wasm ?? new URL("tacit.wasm", import.meta.url);
  const got = await fetch(address, { integrity: WASM_INTEGRITY, credentials: "omit" });
  if (!got.ok) throw new Error(`${address} answers with status ${got.status}`);
  return await got.arrayBuffer();
}

/** What an error says. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export { Core, difference };
