"""Fetching over a real loopback HTTP server, and from mirrors, by one process and by several."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
from collections import namedtuple

import pytest

from pdmbench.data import download, registry, transfer
from pdmbench.errors import DataError, DownloadError

LINES = "".join(
    f"{1 if k % 3 else -1} 1:{k} 2:0.5\n" for k in range(40_000)
).encode()  # about 0.6 MB: ten pieces
GET = ("/x.svm", None)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def impatient(cache, monkeypatch):
    """Tries follow each other at once."""
    monkeypatch.setattr(transfer, "WAITS", (0, 0, 0))
    monkeypatch.delenv("PDMBENCH_OFFLINE", raising=False)


@pytest.fixture
def describe(tmp_path):
    """Write the TOML file of a data set of one file; give its spec."""

    def write(*urls: str, name: str = "x.svm", **facts):
        facts = {"name": name, "urls": list(urls), **facts}
        keys = "".join(f"{key} = {json.dumps(value)}\n" for key, value in facts.items())
        path = tmp_path / "mine.toml"
        path.write_text(f'title = "M"\nformat = "libsvm"\nm = 40000\nn = 2\n[[files]]\n{keys}')
        return registry.get(path)

    return write


def fetched(spec, report=None) -> bytes:
    (path,) = download.fetch(spec, report)
    assert [path] == download.place(spec)
    return path.read_bytes()


def refusal(spec, error=DownloadError) -> str:
    with pytest.raises(error) as caught:
        download.fetch(spec)
    place, *_ = download.place(spec)
    assert str(place) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def leftovers(spec) -> set[str]:
    folder = download.place(spec)[0].parent
    return (
        {path.name for path in folder.iterdir() if not path.name.endswith(".lock")}
        if folder.exists()
        else set()
    )


# --- one process, one server


def test_a_file_is_fetched_once(site, describe):
    spec = describe(site.add("/x.svm", LINES), sha256=sha256(LINES), bytes=len(LINES))
    assert fetched(spec) == fetched(spec) == LINES
    assert site.requests == [GET]
    assert leftovers(spec) == {"x.svm"}


def test_a_cut_connection_is_resumed_where_it_broke(site, describe):
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000, 200_000]), sha256=sha256(LINES))
    assert fetched(spec) == LINES
    assert site.requests == [GET, ("/x.svm", "bytes=100000-"), ("/x.svm", "bytes=300000-")]


def test_a_transfer_is_resumed_through_a_redirection(site, describe):
    """As figshare has it: the published address leads to one of its stores."""
    store = site.add("/store/x", LINES, cuts=[100_000])
    spec = describe(site.add("/x.svm", b"", location=store), sha256=sha256(LINES))
    assert fetched(spec) == LINES
    assert site.requests[2:] == [("/x.svm", "bytes=100000-"), ("/store/x", "bytes=100000-")]


def test_a_date_serves_to_resume_when_the_etag_is_weak(site, describe):
    page = {"etag": 'W/"1"', "modified": "Sun, 06 Nov 1994 08:49:37 GMT", "cuts": [100_000]}
    assert fetched(describe(site.add("/x.svm", LINES, **page), sha256=sha256(LINES))) == LINES
    assert site.requests[1] == ("/x.svm", "bytes=100000-")


@pytest.mark.parametrize("page", [{"ranges": False}, {"etag": None}])
def test_without_ranges_or_version_a_cut_transfer_starts_anew(site, describe, page):
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000], **page), sha256=sha256(LINES))
    assert fetched(spec) == LINES
    assert len(site.requests) == 2


def test_a_file_that_changed_on_the_server_is_not_pieced_together(site, describe):
    other = LINES.replace(b"0.5", b"0.7")
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000, 0, 0, 0, 0]))
    refusal(spec)
    site.add("/x.svm", other, etag='"2"')
    assert fetched(spec) == other
    assert site.requests[-1] == ("/x.svm", "bytes=100000-")  # asked for the rest, given the whole new file


def test_a_change_is_seen_also_where_if_range_is_ignored(site, describe):
    other = LINES.replace(b"0.5", b"0.7")
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000, 0, 0, 0, 0]))
    refusal(spec)
    site.add("/x.svm", other, etag='"2"', conditions=False)
    assert fetched(spec) == other
    assert site.requests[-2:] == [("/x.svm", "bytes=100000-"), GET]


def test_a_part_longer_than_the_file_is_given_up(site, describe):
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000, 0, 0, 0, 0]), sha256=sha256(LINES))
    refusal(spec)
    download.place(spec)[0].with_name("x.svm.part").write_bytes(bytes(len(LINES) + 5))
    assert fetched(spec) == LINES


def test_a_damaged_part_is_fetched_again_from_the_start(site, describe):
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000, 0, 0, 0, 0]), sha256=sha256(LINES))
    refusal(spec)
    download.place(spec)[0].with_name("x.svm.part").write_bytes(bytes(100_000))
    assert fetched(spec) == LINES
    assert site.requests[-2:] == [("/x.svm", "bytes=100000-"), GET]


def test_a_server_that_recovers_is_asked_again(site, describe):
    assert (
        fetched(describe(site.add("/x.svm", LINES, statuses=[503, 500, 429]), sha256=sha256(LINES))) == LINES
    )


def test_tries_end_when_none_gets_further_and_the_part_is_kept(site, describe):
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000, 0, 0, 0, 0]), sha256=sha256(LINES))
    assert f"after 100000 of {len(LINES)} bytes" in refusal(spec)
    assert len(site.requests) == 1 + 1 + len(transfer.WAITS)
    assert leftovers(spec) == {"x.svm.part", "x.svm.part.json"}
    assert fetched(spec) == LINES
    assert site.requests[-1] == ("/x.svm", "bytes=100000-")


def test_a_file_of_unannounced_length(site, describe):
    assert fetched(describe(site.add("/x.svm", LINES, length=False), sha256=sha256(LINES))) == LINES


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_refusal_is_final_and_the_next_address_is_tried(site, describe, status):
    first = site.add("/first", b"", statuses=[status])
    second = site.add("/x.svm", LINES)
    notes = []
    assert fetched(describe(first, second, sha256=sha256(LINES)), notes.append) == LINES
    assert [path for path, _ in site.requests] == ["/first", "/x.svm"]
    assert any(f"{first}: HTTP {status}" in note for note in notes)


def test_all_that_was_tried_is_listed(site, describe):
    wrong = site.add("/wrong", LINES.replace(b"0.5", b"0.6"))
    page = site.add("/page", b"\n <!DOCTYPE html><html>Not found</html>")
    short = site.add("/short", LINES[:-1])
    empty = site.add("/empty", b"")
    spec = describe(
        site.url + "/none",
        wrong,
        page,
        short,
        empty,
        "http://127.0.0.1:1/",
        sha256=sha256(LINES),
        bytes=len(LINES),
    )
    message = refusal(spec)
    for said in (
        f"{site.url}/none: HTTP 404",
        f"{wrong}: its sha256 is {sha256(LINES.replace(b'0.5', b'0.6'))}, not {sha256(LINES)}",
        f"{page}: it is a web page",
        f"{short}: it has {len(LINES) - 1} bytes, 1 fewer than {len(LINES)} and the last line is cut",
        f"{empty}: it is empty",
        "http://127.0.0.1:1/: Connection refused",
        "to place the file by hand, save it as",
    ):
        assert said in message
    assert leftovers(spec) == set()


def test_proxies_of_the_environment_are_used(site, describe, monkeypatch):
    monkeypatch.setenv("http_proxy", site.url)
    site.add("/x.svm", LINES)
    assert fetched(describe("http://data.example/x.svm", sha256=sha256(LINES))) == LINES


def test_a_full_disk_is_seen_before_the_transfer(site, describe, monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10**6, 10**6 - 1000, 1000))
    spec = describe(site.add("/x.svm", LINES), sha256=sha256(LINES))
    with pytest.raises(DownloadError, match=r"needs 0\.\d MB more, and 0\.0 MB are free; free some space"):
        download.fetch(spec)
    assert "x.svm.part" not in leftovers(spec)


def test_ctrl_c_keeps_the_part_and_frees_the_lock(site, describe, monkeypatch):
    import tqdm

    spec = describe(site.add("/x.svm", LINES), sha256=sha256(LINES))

    def interrupt(self, n=1):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tqdm.tqdm, "update", interrupt)
        with pytest.raises(KeyboardInterrupt):
            download.fetch(spec)
    assert leftovers(spec) == {"x.svm.part", "x.svm.part.json"}
    assert fetched(spec) == LINES
    assert re.fullmatch(r"bytes=[1-9]\d*-", site.requests[-1][1])


# --- what is known of a file


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_the_content_counts_where_its_hash_is_known(site, describe, pack):
    """As for webspam, published in two packings with one known content."""
    packed = pack(LINES)  # once: gzip writes the time into it
    url = site.add("/x.svm.xz", packed)
    facts = {"unpacked_sha256": sha256(LINES), "unpacked_bytes": len(LINES)}
    assert fetched(describe(url, name="x.svm.xz", **facts)) == packed


def test_wrong_content_is_told_from_a_broken_packing(site, describe):
    facts = {"unpacked_sha256": sha256(LINES), "unpacked_bytes": len(LINES)}
    packed = bz2.compress(LINES)
    short = site.add("/short", bz2.compress(LINES[:-3]))
    other = site.add("/other", bz2.compress(LINES.replace(b"0.5", b"0.6")))
    broken = site.add("/broken", packed[:500] + bytes(9) + packed[509:])
    cut = site.add("/cut", packed[:-1])
    message = refusal(describe(short, other, broken, cut, **facts))
    assert f"{short}: it unpacks to {len(LINES) - 3} bytes instead of {len(LINES)}" in message
    assert f"{other}: the sha256 of its content is" in message
    assert f"{broken}: it cannot be unpacked: Invalid data stream" in message
    assert f"{cut}: it cannot be unpacked: Compressed file ended" in message


def test_the_member_of_an_archive_is_verified(site, describe):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in (("other.dat", b"1"), ("folder/x.dat", LINES)):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    url = site.add("/x.tar.gz", buffer.getvalue())
    facts = {"name": "x.tar.gz", "unpacked_sha256": sha256(LINES)}
    assert "it has no member y.dat" in refusal(describe(url, member="y.dat", **facts))
    assert fetched(describe(url, member="x.dat", **facts)) == buffer.getvalue()


def test_without_a_known_hash_the_first_download_is_compared_ever_after(site, describe):
    """As for news20 and physics."""
    packed = bz2.compress(LINES)
    spec = describe(site.add("/x.bz2", packed), name="x.bz2", bytes=len(packed))
    assert fetched(spec) == packed
    (place,) = download.place(spec)
    note = place.with_name("x.bz2.sha256")
    assert note.read_text() == f"{sha256(packed)}  x.bz2\n"

    changed = bz2.compress(LINES.replace(b"1", b"2"))
    spec = describe(site.add("/x.bz2", changed), name="x.bz2")
    place.unlink()
    message = refusal(spec)
    assert (
        f"its sha256 is {sha256(changed)}, and was {sha256(packed)} at its first download ({note})" in message
    )
    place.write_bytes(changed)
    assert str(note) in refusal(spec, DataError)
    note.unlink()
    assert fetched(spec) == changed


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_web_page_is_not_remembered_either(site, describe, pack):
    spec = describe(site.add("/x.svm", pack(b"<!DOCTYPE html>")))
    assert "it is a web page" in refusal(spec)
    assert leftovers(spec) == set()


def test_without_a_known_hash_a_broken_archive_is_not_remembered(site, describe):
    spec = describe(site.add("/x.bz2", bz2.compress(LINES)[:-1]), name="x.bz2")
    assert "it cannot be unpacked" in refusal(spec)
    assert leftovers(spec) == set()


# --- files placed by hand, mirrors, no network


def test_a_file_placed_by_hand_is_verified_and_used(describe):
    spec = describe(sha256=sha256(LINES), bytes=len(LINES))
    assert "no address is known" in refusal(spec)
    (place,) = download.place(spec)
    place.write_bytes(LINES)
    assert fetched(spec) == LINES
    place.write_bytes(b"<html>Log in first</html>")
    assert "it is a web page" in refusal(spec, DataError)
    assert place.exists()  # what a user placed is not removed


def test_a_read_only_cache_is_read(describe):
    spec = describe(sha256=sha256(LINES))
    (place,) = download.place(spec)
    place.parent.mkdir(parents=True)
    place.write_bytes(LINES)
    place.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert fetched(spec) == LINES
        assert leftovers(spec) == {"x.svm"}
    finally:
        place.parent.chmod(stat.S_IRWXU)


def test_a_cache_that_cannot_be_written_is_an_error_with_advice(describe, cache):
    cache.write_text("a file where the cache folder should be")
    with pytest.raises(DownloadError, match="PDMBENCH_CACHE names another folder"):
        download.fetch(describe("http://127.0.0.1:1/", sha256=sha256(LINES)))


def test_a_mirror_folder_comes_first(site, describe, tmp_path, monkeypatch):
    spec = describe(site.add("/x.svm", LINES), sha256=sha256(LINES))
    mirror = tmp_path / "mirror"
    (mirror / "mine").mkdir(parents=True)
    (mirror / "mine" / "x.svm").write_bytes(LINES)
    monkeypatch.setenv("PDMBENCH_MIRROR", str(mirror))
    assert fetched(spec) == LINES
    assert site.requests == []


def test_a_mirror_url_comes_first_and_a_wrong_mirror_is_passed_over(site, describe, monkeypatch):
    spec = describe(site.add("/x.svm", LINES), sha256=sha256(LINES))
    site.add("/base/mine/x.svm", LINES[1:])
    monkeypatch.setenv("PDMBENCH_MIRROR", site.url + "/base/")
    notes = []
    assert fetched(spec, notes.append) == LINES
    assert [path for path, _ in site.requests] == ["/base/mine/x.svm", "/x.svm"]
    assert any(f"{site.url}/base/mine/x.svm: its sha256 is" in note for note in notes)


def test_a_mirror_that_lacks_the_file_leaves_a_part_alone(site, describe, tmp_path, monkeypatch):
    spec = describe(site.add("/x.svm", LINES, cuts=[100_000, 0, 0, 0, 0]), sha256=sha256(LINES))
    refusal(spec)
    monkeypatch.setenv("PDMBENCH_MIRROR", str(tmp_path))
    assert fetched(spec) == LINES
    assert site.requests[-1] == ("/x.svm", "bytes=100000-")


def test_tasks_that_share_files_share_their_mirror_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("PDMBENCH_MIRROR", str(tmp_path))
    monkeypatch.setenv("PDMBENCH_OFFLINE", "1")
    message = refusal(registry.get("rcv1-ccat"))
    assert str(tmp_path / "rcv1" / "lyrl2004_vectors_train.dat.gz") in message


def test_offline_no_server_is_asked(site, describe, monkeypatch):
    monkeypatch.setenv("PDMBENCH_OFFLINE", "1")
    monkeypatch.setenv("PDMBENCH_MIRROR", site.url)
    assert "PDMBENCH_OFFLINE is set, so no server was asked" in refusal(describe(site.add("/x.svm", LINES)))
    assert site.requests == []
    monkeypatch.setenv("PDMBENCH_OFFLINE", "0")
    assert fetched(describe(site.add("/x.svm", LINES))) == LINES


@pytest.mark.parametrize("name", ["adult", "web"])
def test_the_real_files_come_byte_exact_from_the_mirror(name, shared, monkeypatch):
    monkeypatch.setenv("PDMBENCH_MIRROR", str(shared / "mirror"))
    spec = registry.get(name)
    assert fetched(spec) == (shared / "mirror" / name / spec.files[0].name).read_bytes()


def test_each_damage_to_a_real_file_has_an_error_of_its_own(shared, tmp_path, monkeypatch):
    good = (shared / "mirror" / "adult" / "a9a").read_bytes()
    flipped = bytearray(good)
    flipped[1000] ^= 1
    line = good.index(b"\n") + 1
    monkeypatch.setenv("PDMBENCH_MIRROR", str(tmp_path / "mirror"))
    monkeypatch.setenv("PDMBENCH_OFFLINE", "1")
    place = tmp_path / "mirror" / "adult" / "a9a"
    place.parent.mkdir(parents=True)
    spec = registry.get("adult")
    for content, says in (
        (good[:-1], "it has 2329874 bytes, 1 fewer than 2329875 and the last line is cut"),
        (bytes(flipped), f"its sha256 is {sha256(bytes(flipped))}, not {sha256(good)}"),
        (good[line:], f"it has {len(good) - line} bytes, {line} fewer than 2329875;"),
        (good + b"\n", "it has 2329876 bytes, 1 more than 2329875"),
        (b"<html></html>", "it is a web page"),
    ):
        place.write_bytes(content)
        assert says in refusal(spec)
        assert leftovers(spec) == set()


# --- several processes, killed processes

CHILD = """
import os, signal, sys
import tqdm
from pdmbench.data import download, registry, transfer
kill_at = sys.argv[2]
if kill_at.isdigit():
    pieces = iter(range(int(kill_at)))
    tqdm.tqdm.update = lambda self, n: next(pieces, None) is None and os.kill(os.getpid(), signal.SIGKILL)
elif kill_at == "before naming":
    transfer.Part.finish = lambda self: os.kill(os.getpid(), signal.SIGKILL)
for path in download.fetch(registry.get(sys.argv[1]), lambda note: print(note, flush=True)):
    print("done", path, flush=True)
"""


def start(spec, kill_at="never"):
    command = [sys.executable, "-c", CHILD, str(spec.origin), str(kill_at)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    )


def test_killed_at_any_moment_it_is_right_in_the_end_and_resumed(site, describe):
    """SIGKILL at random pieces of one transfer after another, and once between the last byte and the name."""
    spec = describe(site.add("/x.svm", LINES), sha256=sha256(LINES))
    moments = [random.Random(0).randrange(1, 3) for _ in range(3)]
    for moment in [*moments, "before naming"]:
        child = start(spec, moment)
        _, errors = child.communicate()
        assert (child.returncode, errors) == (-9, "")
        assert "x.svm" not in leftovers(spec)
    received = [int(asked[6:-1]) for _, asked in site.requests[1:]]
    assert received == sorted(set(received))  # each went on behind where the one before was killed
    assert received[0] >= 1 << 16
    assert fetched(spec) == LINES
    assert len(site.requests) == 4  # all had been received before the last kill


@pytest.mark.parametrize("count", [2, 4])
def test_processes_at_once_make_one_download(site, describe, count):
    gate = threading.Event()
    spec = describe(site.add("/x.svm", LINES, gate=gate), sha256=sha256(LINES))
    children = [start(spec) for _ in range(count)]
    said = [child.stdout.readline() for child in children]
    gate.set()
    ends = [child.communicate() for child in children]
    assert sorted(note.split()[1] for note in said) == [f"{site.url}/x.svm"] + ["waiting"] * (count - 1)
    for child, (output, errors) in zip(children, ends, strict=True):
        assert (child.returncode, errors) == (0, "")
        assert output.endswith(f"done {download.place(spec)[0]}\n")
    assert site.requests == [GET]


def test_a_waiting_process_takes_over_from_a_killed_one(site, describe):
    gate = threading.Event()
    spec = describe(site.add("/x.svm", LINES, gate=gate), sha256=sha256(LINES))
    first = start(spec)
    assert first.stdout.readline().startswith("fetching")
    second = start(spec)
    assert "waiting" in second.stdout.readline()
    first.kill()
    first.communicate()
    gate.set()
    _, errors = second.communicate()
    assert (second.returncode, errors) == (0, "")
    assert download.place(spec)[0].read_bytes() == LINES
