"""A real HTTP server on the loopback interface that can misbehave in all the ways of real ones."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest


@dataclass
class Page:
    """What the server has under one path."""

    content: bytes
    etag: str | None = '"1"'
    modified: str | None = None
    ranges: bool = True  # Range is obeyed
    conditions: bool = True  # If-Range is obeyed
    length: bool = True  # Content-Length is sent
    statuses: list[int] = field(default_factory=list)  # answers to the first requests
    cuts: list[int] = field(default_factory=list)  # bytes after which the first bodies end
    gate: threading.Event | None = None  # bodies wait for it
    location: str | None = None  # it is found there


class Site:
    """Pages by path, the requests that came, and the server's address."""

    def __init__(self, url: str):
        self.url = url
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, str | None]] = []  # (path, Range)

    def add(self, path: str, content: bytes, **how) -> str:
        self.pages[path] = Page(content, **how)
        return self.url + path


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        site: Site = self.server.site
        path = urlsplit(self.path).path
        site.requests.append((path, self.headers["Range"]))
        page = site.pages.get(path)
        status = 404 if page is None else page.statuses.pop(0) if page.statuses else 200
        if page and page.location:
            status = 302
        if status != 200:
            body = b"<html><title>Error</title></html>"
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            if status == 302:
                self.send_header("Location", page.location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        body, start = page.content, 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        unchanged = self.headers["If-Range"] in (None, page.etag, page.modified)
        if wanted and page.ranges and (unchanged or not page.conditions):
            start = int(wanted[1])
        if start >= len(body) > 0:
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(body)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if page.etag:
            self.send_header("ETag", page.etag)
        if page.modified:
            self.send_header("Last-Modified", page.modified)
        if page.length:
            self.send_header("Content-Length", str(len(body) - start))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if page.gate:
            page.gate.wait()
        if page.cuts:
            self.wfile.write(body[start : start + page.cuts.pop(0)])
            self.close_connection = True
        else:
            self.wfile.write(body[start:])

    def log_message(self, *args):
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # a client that goes away in the middle is what some tests are about


@pytest.fixture
def site(monkeypatch):
    """A running `Site`, reached without any proxy."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = _Server(("127.0.0.1", 0), _Handler)
    server.site = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server.site
    server.shutdown()
    server.server_close()
    thread.join()
