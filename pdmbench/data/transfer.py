"""Receiving one file over HTTP, in as many transfers as it takes."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdmbench import __version__
from pdmbench.errors import DownloadError

if TYPE_CHECKING:
    import requests

Report = Callable[[str], None]

WAITS = (0.5, 1.0, 2.0)  # seconds before each new try; one that got further than all before starts them anew
TIMEOUT = (10.0, 30.0)  # seconds to connect, and between two pieces
_PIECE = 1 << 16
_PASSING = (408, 425, 429, 500, 502, 503, 504)  # HTTP statuses that a later try may not meet


class Failed(Exception):
    """A source does not give the file."""


class Broken(Exception):
    """A transfer ended early; another may continue it."""


class Part:
    """The received beginning of a file: ``<name>.part``, and ``<name>.part.json`` on where it is from.

    Parameters
    ----------
    target : Path
        What it becomes when it is whole.
    """

    def __init__(self, target: Path):
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self._note = target.with_name(f"{target.name}.part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def origin(self, url: str) -> dict[str, Any]:
        """``{url, version, total}`` of a part that can be continued from `url`, else empty."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return note if note["url"] == url and note["version"] and self.size else {}

    def begin(self, url: str, version: str | None, total: int | None) -> None:
        """Start anew; `version` is the ETag or date by which the server knows what it sends."""
        self.discard()
        self._note.write_text(json.dumps({"url": url, "version": version, "total": total}), encoding="utf-8")

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the whole file its name, in one step that survives a crash of the machine."""
        with open(self.path, "rb") as stream:
            os.fsync(stream.fileno())
        self.path.replace(self.target)
        self._note.unlink(missing_ok=True)

    def need(self, size: int) -> None:
        """Make sure that `size` more bytes fit on the disk."""
        free = shutil.disk_usage(self.path.parent).free
        if size > free:
            raise DownloadError(
                f"{self.target.name} needs {size / 1e6:.1f} MB more, and {free / 1e6:.1f} MB are free",
                str(self.path.parent),
                "free some space, or let PDMBENCH_CACHE name a folder on another disk",
            )


def download(url: str, part: Part, report: Report | None = None) -> bool:
    """Receive a file, continuing its part where the server still has that very version.

    Parameters
    ----------
    url : str
        HTTP or HTTPS; proxies are taken from the environment, as usual.
    part : Part
        Holds the file afterwards.
    report : callable, optional
        Gets one-line notes; with it, a terminal shows progress.

    Returns
    -------
    bool
        Whether the file was pieced together from several transfers.

    Raises
    ------
    Failed
        The server refused, or `WAITS` is used up.
    """
    failures, farthest = 0, part.size if part.origin(url) else 0
    resumed = False
    tell(report, f"fetching {url}" + (f", from byte {farthest} on" if farthest else ""))
    while True:
        try:
            return _transfer(url, part, report is not None) or resumed
        except Broken as error:
            failures = 0 if part.size > farthest else failures + 1
            farthest = max(farthest, part.size)
            if failures > len(WAITS):
                raise Failed(f"{error} ({failures} times without getting further)") from error
            resumed = part.size > 0
            tell(report, f"{part.target.name}: {error}; trying again")
            time.sleep(WAITS[max(failures, 1) - 1])


def tell(report: Report | None, note: str) -> None:
    if report:
        report(note)


def _transfer(url: str, part: Part, progress: bool) -> bool:
    """One request. Whether it continued a part."""
    import requests

    origin = part.origin(url)
    have = part.size if origin else 0
    if have and have == origin["total"]:  # the process before ended just before it could give the name
        return True
    # identity: a server that packs on the fly would make sizes and ranges those of another file.
    headers = {"User-Agent": f"pdmbench/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-", "If-Range": origin["version"]}
    try:
        response = requests.get(url, headers=headers, stream=True, timeout=TIMEOUT)
    except (requests.ConnectionError, requests.Timeout) as error:
        raise Broken(_innermost(error)) from error
    except requests.RequestException as error:
        raise Failed(_innermost(error)) from error
    with response:
        resumed = _accept(response, url, part, origin)
        _write(response, part, progress)
    return resumed


def _accept(response: requests.Response, url: str, part: Part, origin: dict[str, Any]) -> bool:
    """Whether the answer continues the part; otherwise it begins one, or the transfer is over."""
    status = response.status_code
    etag = response.headers.get("ETag", "W/")
    # A weak ETag does not promise the same bytes (RFC 9110, 8.8.1).
    version = response.headers.get("Last-Modified") if etag.startswith("W/") else etag
    if status == 206:
        sent = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
        if origin and sent and int(sent[1]) == part.size and version in (None, origin["version"]):
            return True
    if status in (206, 416):
        part.discard()
        raise Broken("the file has changed on the server")
    if status == 200:
        length = response.headers.get("Content-Length", "")
        part.begin(url, version, int(length) if length.isdecimal() else None)
        return False
    answer = f"HTTP {status} {response.reason or ''}".rstrip()
    raise Broken(answer) if status in _PASSING else Failed(answer)


def _write(response: requests.Response, part: Part, progress: bool) -> None:
    """Append the body to the part, as sent: undoing a content encoding would unpack ``.gz`` files."""
    from tqdm import tqdm
    from urllib3.exceptions import HTTPError

    length = response.headers.get("Content-Length", "")
    total = part.size + int(length) if length.isdecimal() else None
    if total is not None:
        part.need(total - part.size)
    bar = tqdm(
        total=total,
        initial=part.size,
        unit="B",
        unit_scale=True,
        desc=part.target.name,
        disable=None if progress else True,  # None: shown on a terminal only
    )
    with bar, open(part.path, "ab") as sink:
        try:
            for piece in response.raw.stream(_PIECE, decode_content=False):
                sink.write(piece)
                bar.update(len(piece))
        except HTTPError as error:
            sink.flush()
            raise Broken(f"the connection broke after {part.size} of {total or '?'} bytes") from error
    if total is not None and part.size < total:
        raise Broken(f"the connection ended after {part.size} of {total} bytes")


def _innermost(error: BaseException) -> str:
    """The first cause of a chain of wrapped errors, which alone says what happened."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
