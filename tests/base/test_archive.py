"""Archives: the same files give the same bytes everywhere; a hostile archive is refused before anything is written."""

import contextlib
import gzip
import hashlib
import io
import os
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmrbench_data.base.archive import pack, read_tree
from lmrbench_data.base.errors import InputError
from lmrbench_data.loader import File, LoadError, archive_sha256, gunzip, read_archive, unpack

PARTS = st.text("abcé数.-_ 'ß🎉", min_size=1, max_size=60).filter(lambda part: part not in (".", ".."))
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
FILES = st.builds(File, st.binary(max_size=1500), st.booleans())


def is_a_tree(files: dict[str, File]) -> bool:
    return not any(name.startswith(other + "/") for name in files for other in files)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(PATHS, FILES, max_size=8).filter(is_a_tree))
def test_round_trip(files: dict[str, File]) -> None:
    archive = pack(files)
    assert read_archive(archive) == files
    assert pack(dict(reversed(files.items()))) == archive, "the order of the mapping does not matter"
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:  # any other reader sees the same
        assert {member.name for member in tar} == files.keys()


def test_bytes_do_not_depend_on_folder_umask_times_or_order(tmp_path: Path) -> None:
    packed = set()
    for number, mask in enumerate((0o077, 0o002)):
        folder = tmp_path / str(number) / ("deeper" * number)
        before = os.umask(mask)
        try:
            for name in ("b/é.py", "a.sh", "b/a.py")[:: -1 if number else 1]:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(name.encode() * 100)
                os.utime(path, (number * 10**9, number * 10**9))
            (folder / "a.sh").chmod(0o700 if number else 0o755)
            (folder / "__pycache__").mkdir(parents=True)
            (folder / "__pycache__" / "a.pyc").write_bytes(bytes([number]))
            packed.add(pack(read_tree(folder)))
        finally:
            os.umask(before)
    assert len(packed) == 1
    archive = packed.pop()
    assert archive[:10] == b"\x1f\x8b\x08\0\0\0\0\0\x02\xff", "no time, name or system in the header, on any Python"
    assert [file.executable for file in read_archive(archive).values()] == [True, False, False]


def test_links_and_special_files_cannot_be_packed(tmp_path: Path) -> None:
    make: list[Callable[[Path], None]] = [lambda path: path.symlink_to("plain"), os.mkfifo]
    for number, special in enumerate(make):
        folder = tmp_path / str(number)
        (folder / "sub").mkdir(parents=True)
        (folder / "plain").write_text("x")
        special(folder / "sub" / "special")
        with pytest.raises(InputError, match="special: a link or a special file"):
            read_tree(folder)
    folder = tmp_path / "names"
    folder.mkdir()
    for name in (b"back\\slash", b"new\nline", b"not-utf8-\xff"):
        path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        path.write_text("x")
        with pytest.raises(InputError, match="not a plain path"):
            read_tree(folder)
        path.unlink()


def member(
    name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, **facts: object
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(data)
    for key, value in facts.items():
        setattr(info, key, value)
    return info, data


def tar(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as file:
        for info, data in members:
            file.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def header(name: str, kind: bytes = tarfile.REGTYPE, size: bytes = b"00000000001\0") -> bytes:
    """A tar header with any bytes for its size, and the right checksum."""
    block = bytearray(tarfile.TarInfo(name).tobuf(tarfile.USTAR_FORMAT))
    block[124:136], block[156:157], block[148:156] = size, kind, b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def pax(record: bytes, then: str = "after") -> bytes:
    size = b"%011o\0" % len(record)
    return header("x", tarfile.XHDTYPE, size) + record.ljust(-(-len(record) // 512) * 512, b"\0") + tar(member(then))


GOOD = tar(member("good.py"))
END = bytes(1024)

HOSTILE_TARS = {
    "parent": tar(member("../up.py")),
    "absolute": tar(member("/etc/cron.d/x")),
    "backslash": tar(member("..\\up.py")),
    "drive": tar(member("C:up.py")),
    "escape_sequence": tar(member("\x1b[2J")),
    "empty_name": tar(member("")),
    "very_long_path": tar(member("a/" * 501 + "b")),
    "not_utf8": header("\udcff") + bytes(512) + END,
    "git_configuration": tar(member(".git/config", b"[core]\n\tfsmonitor = touch /tmp/owned\n")),
    "git_below_in_capitals": tar(member("data/.GiT/hooks/post-checkout")),
    "git_as_dos_shortens_it": tar(member("GIT~1/config")),
    "git_as_a_stream": tar(member(".git::$INDEX_ALLOCATION/config")),
    "right_to_left": tar(member("ab\u202eyp.exe")),
    "symlink": tar(member("link", b"", tarfile.SYMTYPE, linkname="/etc")),
    "hardlink": tar(member("a"), member("b", b"", tarfile.LNKTYPE, linkname="a")),
    "character_device": tar(member("null", b"", tarfile.CHRTYPE, devmajor=1, devminor=3)),
    "folder": tar(member("a", b"", tarfile.DIRTYPE)),
    "huge_size": header("h", size=b"77777777777\0") + END,
    "pax_path_outside": pax(b"14 path=../up\n"),
    "cut_in_a_file": tar(member("a", bytes(5000)))[:2000],
    "nothing": b"",
}


HOSTILE_BYTES: dict[str, Callable[[], bytes]] = {
    "not_gzip": lambda: GOOD,
    "empty": lambda: b"",
    "wrong_crc": lambda: gzip.compress(GOOD)[:-8] + bytes(8),
    "garbage_behind": lambda: gzip.compress(GOOD) + b"garbage",
    "sparse_in_gnu_format": lambda: gzip.compress(_sparse_gnu() + END),
    "sparse_in_pax": lambda: gzip.compress(pax(b"30 GNU.sparse.size=%d\n22 GNU.sparse.map=0,0\n" % 10**9)),
    "pax_huge": lambda: gzip.compress(pax(b"30000014 path=" + b"a" * 30_000_000), compresslevel=1),
    "very_deep_path": lambda: gzip.compress(tar(member("a/" * 100_000 + "b"))),
}


def _sparse_gnu() -> bytes:
    """A header of a file of six gigabytes without data."""
    block = bytearray(header("sparse", b"S", b"00000000000\0"))
    block[386:410], block[483:495] = b"%011o\0%011o\0" % (6 * 2**30, 0), b"%011o\0" % (6 * 2**30)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("name", [*HOSTILE_BYTES, *HOSTILE_TARS])
def test_a_hostile_archive_is_refused_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    archive = HOSTILE_BYTES[name]() if name in HOSTILE_BYTES else gzip.compress(HOSTILE_TARS[name])
    content = b""
    with contextlib.suppress(LoadError):
        content = gunzip(archive)
    row = {"instance_id": "x", "repo_archive": archive, "repo_sha256": hashlib.sha256(content).hexdigest()}
    with pytest.raises(LoadError) as caught:
        unpack(row, tmp_path / "out" / "repo")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["sparse_in_gnu_format", "sparse_in_pax"])
def test_headers_that_declare_gigabytes_take_no_memory(name: str) -> None:
    archive = HOSTILE_BYTES[name]()
    tracemalloc.start()
    with pytest.raises(LoadError):
        read_archive(archive)
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()


def test_unpack_writes_the_files_only_into_an_empty_folder(tmp_path: Path) -> None:
    files = {"a/run.sh": File(b"#!/bin/sh\n", True), "b.txt": File(b"\xff\0")}
    files |= {name: File(b"x\n") for name in (".gitattributes", ".github/a.yml", "git~12/a")}  # data to git
    archive = pack(files)
    row = {"instance_id": "x", "repo_archive": archive, "repo_sha256": archive_sha256(archive)}
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "new" / "deep"):
        assert unpack(row, folder) == folder
        assert read_tree(folder) == dict(sorted(files.items()))
        (folder / "b.txt").write_bytes(b"mine")
        with pytest.raises(LoadError, match="not an empty folder"):
            unpack(row, folder)
        assert (folder / "b.txt").read_bytes() == b"mine"
    (tmp_path / "file").touch()
    with pytest.raises(LoadError, match="not an empty folder"):
        unpack(row, tmp_path / "file")
    with pytest.raises(LoadError, match="does not match repo_sha256"):
        unpack({**row, "repo_archive": pack({"b.txt": File(b"")})}, tmp_path / "other")
    assert not (tmp_path / "other").exists()
