// Builds dist/: the core by cargo and bindgen/, the client as one file, its types, and their hashes.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "..", "..");
const [generated, dist] = ["generated", "dist"].map((name) => join(here, name));
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");
const kind = "wasm32-unknown-unknown";
const run = (program, ...given) => execFileSync(program, given, { stdio: "inherit", cwd: here });
const hash = (bytes) => `sha384-${createHash("sha384").update(bytes).digest("base64")}`;

for (const folder of [generated, dist]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
}
// Before this machine's paths are taken out, for which cargo would build it anew.
run("cargo", "build", "--locked", "--quiet", "--manifest-path", join(here, "bindgen", "Cargo.toml"), "--target-dir", target);
// Paths of this machine would be in the words of panics, and make every build another.
const home = process.env.CARGO_HOME ?? join(process.env.HOME, ".cargo");
process.env.RUSTFLAGS = `--remap-path-prefix=${root}=. --remap-path-prefix=${home}=cargo`;
// Small rather than quick: a page loads it, and shares a few thousand numbers.
Object.assign(process.env, {
  CARGO_PROFILE_RELEASE_OPT_LEVEL: "s",
  CARGO_PROFILE_RELEASE_LTO: "fat",
  CARGO_PROFILE_RELEASE_CODEGEN_UNITS: "1",
  CARGO_PROFILE_RELEASE_DEBUG: "0",
  CARGO_PROFILE_RELEASE_PANIC: "abort",
});
run("cargo", "build", "--release", "--locked", "--package", "tacit-wasm", "--target", kind, "--quiet", "--manifest-path", join(root, "Cargo.toml"));
const built = join(target, kind, "release", "tacit_wasm.wasm");
run(join(target, "debug", "tacit-bindgen"), built, generated);
const wasm = readFileSync(join(generated, "tacit_wasm_bg.wasm"));
writeFileSync(join(dist, "tacit.wasm"), wasm);

await build({
  absWorkingDir: here,
  entryPoints: ["src/index.ts"],
  outfile: "dist/tacit-client.js",
  bundle: true,
  format: "esm",
  target: "es2022",
  define: { WASM_INTEGRITY: JSON.stringify(hash(wasm)) },
  logLevel: "warning",
});
run(process.execPath, join(here, "node_modules", "typescript", "bin", "tsc"));
const hashes = ["tacit-client.js", "tacit.wasm"].map((name) => [name, hash(readFileSync(join(dist, name)))]);
writeFileSync(join(dist, "integrity.json"), `${JSON.stringify(Object.fromEntries(hashes), null, 2)}\n`);
if (!existsSync(join(dist, "index.d.ts"))) throw new Error("no types were made");
for (const name of ["tacit-client.js", "tacit.wasm"]) {
  console.log(`${name}  ${(readFileSync(join(dist, name)).length / 1000).toFixed(1)} kB`);
}
