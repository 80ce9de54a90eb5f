"""Receives web hooks on this machine and prints what they say: `python posts.py`, and Ctrl-C to end it."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, HTTPServer

ADDRESS = ("127.0.0.1", 8000)


class Printer(BaseHTTPRequestHandler):
    """Answers each post with 204, so that it is not sent again."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        print(self.path, body.decode(), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Only the posts are printed."""


if __name__ == "__main__":
    HTTPServer(ADDRESS, Printer).serve_forever()
