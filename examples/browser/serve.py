"""The demo page: a digit that is shared in the browser. Whoever serves the page could see it.

python examples/browser/serve.py --party http://127.0.0.1:8100 --party ... [--write FOLDER]

Give the address of every party; in its `serve.toml` this page's origin stands under `origins`.
"""

import argparse
import base64
import hashlib
import html
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENT = HERE.parents[1] / "clients" / "browser" / "dist"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
}
ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+")


def policy(parties, imports):
    """What the page may do: run its own files, and reach these parties and nobody else."""
    known = base64.b64encode(hashlib.sha256(imports.encode()).digest()).decode()
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' 'wasm-unsafe-eval' 'sha256-{known}'",
            "style-src 'self'",
            "img-src data:",
            f"connect-src 'self' {' '.join(parties)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )


def integrity(data):
    """The hash by which a browser knows a file."""
    return "sha384-" + base64.b64encode(hashlib.sha384(data).digest()).decode()


def files(parties, model):
    """The files of the page by their names, and its policy; index.html has their hashes."""
    for party in parties:
        if not ORIGIN.fullmatch(party):
            raise SystemExit(f"--party {party}: give scheme://host:port, without a path")
    if not CLIENT.is_dir():
        raise SystemExit(f"{CLIENT} is not there: `npm ci && npm run build` in clients/browser")
    names = ("app.js", "pad.js", "picture.js", "style.css")
    found = {name: (HERE / name).read_bytes() for name in names}
    found |= {name: (CLIENT / name).read_bytes() for name in ("tacit-client.js", "tacit.wasm")}
    values = {name: integrity(data) for name, data in found.items()}
    # Of what scripts import, an import map alone has the hashes; the client itself has its core's.
    scripts = {f"./{name}": value for name, value in values.items() if name.endswith(".js")}
    imports = json.dumps({"integrity": scripts})
    csp = policy(parties, imports)
    values |= {"csp": csp, "parties": " ".join(parties), "model": model}
    page = (HERE / "index.html").read_text(encoding="utf-8").replace("{imports}", imports)
    for key, value in values.items():
        page = page.replace("{" + key + "}", html.escape(value))
    found["index.html"] = page.encode()
    return found, csp


def server(found, csp, port):
    """A server of these files on this machine alone."""
    headers = {
        # A page cannot forbid frames by itself.
        "Content-Security-Policy": csp + "; frame-ancestors 'none'",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.partition("?")[0].removeprefix("/") or "index.html"
            data = found.get(name)
            self.send_response(200 if data is not None else 404)
            for header, value in headers.items():
                self.send_header(header, value)
            data = data if data is not None else b""
            self.send_header("Content-Type", KINDS.get(Path(name).suffix, "text/plain"))
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--party", action="append", required=True, metavar="URL")
    options.add_argument("--model", default="digits", help="the name that the parties serve it by")
    options.add_argument("--port", type=int, default=8000)
    options.add_argument("--write", metavar="FOLDER", help="write the page there instead")
    args = options.parse_args()
    found, csp = files(args.party, args.model)
    if args.write:
        folder = Path(args.write)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in found.items():
            (folder / name).write_bytes(data)
        print(f"{folder}: {len(found)} files; send this with them\n")
        print(f"Content-Security-Policy: {csp}; frame-ancestors 'none'")
        return
    print(f"http://127.0.0.1:{args.port}/ asks {', '.join(args.party)}; end it with Ctrl-C")
    try:
        server(found, csp, args.port).serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
