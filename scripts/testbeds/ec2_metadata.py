"""The instance metadata service (v1 and v2): serves a folder, /latest/meta-data/... and so on.

Inside a machine: ec2_metadata.py FOLDER, on the well-known address.
"""

import http.server
import sys
from pathlib import Path


class Handler(http.server.BaseHTTPRequestHandler):
    root: Path
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        self.answer(b"TOKEN", {"X-aws-ec2-metadata-token-ttl-seconds": "21600"})

    def do_GET(self) -> None:
        path = (self.root / self.path.partition("?")[0].strip("/")).resolve()
        if not path.is_relative_to(self.root) or not path.exists():
            self.answer(b"404 - Not Found", code=404)
        elif path.is_dir():
            names = sorted(p.name + "/" * p.is_dir() for p in path.iterdir())
            self.answer("\n".join(names).encode())
        else:
            self.answer(path.read_bytes())

    def answer(self, body: bytes, headers: dict[str, str] | None = None, code: int = 200) -> None:
        self.send_response(code)
        always = {"Content-Type": "text/plain", "Content-Length": str(len(body))}
        for name, value in {**always, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def server(root: Path, address: tuple[str, int]) -> http.server.ThreadingHTTPServer:
    return http.server.ThreadingHTTPServer(
        address, type("Rooted", (Handler,), {"root": root.resolve()})
    )


if __name__ == "__main__":
    server(Path(sys.argv[1]), ("169.254.169.254", 80)).serve_forever()
