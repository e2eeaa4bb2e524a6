"""Atomic output: what stands at a path is replaced whole, written through, or left as it is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from xonnc.errors import XonncError
from xonnc.formats import atomic_write as module
from xonnc.formats.atomic_write import atomic_write, atomic_writes, require_writable
from xonnc.formats.input_files import protect_inputs, record_input


def written(path: Path, content: bytes = b"new") -> bytes:
    with atomic_write(path) as stream:
        stream.write(content)
    return path.read_bytes()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(mode)
    assert written(path) == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert names(tmp_path) == {"m"}


def test_a_new_file_has_the_mode_that_others_get(tmp_path: Path):
    (tmp_path / "other").write_bytes(b"")
    written(tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_private_file_is_private_while_it_is_written(tmp_path: Path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(0o600)
    with atomic_write(path) as stream:
        stream.write(b"new")
        (temporary,) = names(tmp_path) - {"m"}
        assert stat.S_IMODE((tmp_path / temporary).stat().st_mode) == 0o600
        assert path.read_bytes() == b"old"


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_file_keeps_its_owner(tmp_path: Path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    os.chown(path, 1234, 1235)
    written(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


def test_links_are_followed(tmp_path: Path):
    (tmp_path / "far").mkdir()
    (tmp_path / "second").symlink_to("far/m")
    (tmp_path / "first").symlink_to("second")
    assert written(tmp_path / "first") == b"new", "a link to nothing yet"
    assert written(tmp_path / "first", b"newer") == b"newer"
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "far" / "m").read_bytes() == b"newer"
    assert names(tmp_path / "far") == {"m"}


def test_a_circle_of_links_is_told(tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(XonncError, match="a: cannot be written: Too many levels of symbolic links"):
        written(tmp_path / "a")


def test_devices_are_written_through():
    before = os.stat("/dev/null")
    with atomic_write(Path("/dev/null")) as stream:
        stream.write(b"gone")
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


def test_a_named_pipe_is_written_through(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    with atomic_write(path) as stream:
        stream.write(b"through")
    reader.join()
    assert found == [b"through"]
    assert path.is_fifo()


SAY = """
import sys
from pathlib import Path
from xonnc.formats.atomic_write import atomic_write
print("before", flush=True)
with atomic_write(Path(sys.argv[1])) as stream:
    stream.write(b"through\\n")
print("behind")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_stays_what_it_is(tmp_path: Path, name: str):
    target = tmp_path / "log"
    target.write_bytes(b"kept\n")
    with target.open("ab") as log:
        subprocess.run([sys.executable, "-c", SAY, name], stdout=log, check=True)
    assert target.read_bytes() == b"kept\nbefore\nthrough\nbehind\n"
    link = tmp_path / "link"
    link.symlink_to(name)
    told = subprocess.run([sys.executable, "-c", SAY, str(link)], stdout=subprocess.PIPE, check=True)
    assert told.stdout == b"before\nthrough\nbehind\n"


@pytest.mark.parametrize("name", ["/", ".", "..", "", "folder", "folder/", "link"])
def test_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    for refuse in (written, require_writable):
        with pytest.raises(XonncError, match="is a folder; name a file in it"):
            refuse(Path(name))
    assert names(tmp_path) == {"folder", "link"}


def test_what_is_no_file_is_refused(tmp_path: Path):
    path = tmp_path / "disk"
    try:
        os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(7, 200))
    except PermissionError:
        pytest.skip("only root makes devices")
    with pytest.raises(XonncError, match="neither a file nor a pipe"):
        written(path)
    assert stat.S_ISBLK(path.stat().st_mode)


def test_a_missing_folder_is_told(tmp_path: Path):
    with pytest.raises(XonncError, match="none does not exist"):
        require_writable(tmp_path / "none" / "m")
    with pytest.raises(XonncError, match="m: cannot be written: No such file"):
        written(tmp_path / "none" / "m")


def test_what_may_not_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def refuse(_path: Path, _mode: int) -> bool:
        return False

    monkeypatch.setattr(module.os, "access", refuse)
    with pytest.raises(XonncError, match="m: cannot be written: Permission denied"):
        written(path)
    assert path.read_bytes() == b"old"


def test_names_of_the_greatest_length(tmp_path: Path):
    path = tmp_path / ("ä" * 127)
    assert written(path) == b"new"
    assert written(path, b"newer") == b"newer"


def test_leftovers_of_killed_runs_do_not_stop_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / f".m.{os.getpid()}.tmp").write_bytes(b"of a killed run")
    assert written(tmp_path / "m") == b"new"


def test_an_error_changes_nothing(tmp_path: Path):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_write(path) as stream:
            stream.write(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"m"}


def test_a_full_disk_is_told():
    with pytest.raises(XonncError, match="/dev/full: cannot be written: No space left on device"):
        written(Path("/dev/full"))


def test_content_is_on_the_disk_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    happened: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        happened.append(f"{kind} of {os.fstat(descriptor).st_size}" if kind == "file" else kind)
        fsync(descriptor)

    def replaced(source: Path, target: Path) -> None:
        happened.append("renamed")
        replace(source, target)

    monkeypatch.setattr(module.os, "fsync", synced)
    monkeypatch.setattr(module.os, "replace", replaced)
    written(tmp_path / "m")
    assert happened == ["file of 3", "renamed", "folder"]
    happened.clear()
    with atomic_write(tmp_path / "m", sync=False) as stream:
        stream.write(b"fast")
    assert happened == ["renamed"]


def test_files_appear_together_or_not_at_all(tmp_path: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"old")

    def write(last: Path) -> None:
        with atomic_writes() as files:
            before = first.read_bytes()
            with files.open(first) as stream:
                stream.write(b"new")
            assert first.read_bytes() == before
            with files.open(last) as stream:
                stream.write(b"too")

    with pytest.raises(XonncError, match="No space left"):
        write(Path("/dev/full"))
    assert first.read_bytes() == b"old"
    assert names(tmp_path) == {"first"}
    write(second)
    assert (first.read_bytes(), second.read_bytes()) == (b"new", b"too")
    with pytest.raises(XonncError, match="first: two outputs of this name"):
        write(first)
    assert first.read_bytes() == b"new"


def test_what_another_program_wrote_is_adopted(tmp_path: Path):
    finished, path = tmp_path / "made", tmp_path / "m"
    path.write_bytes(b"old")
    path.chmod(0o640)
    finished.write_bytes(b"new")
    with atomic_writes() as files:
        files.adopt(finished, path)
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == {"m"}


@pytest.mark.parametrize("alias", ["m", "./m", "link", "hard"])
def test_inputs_are_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, alias: str):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m"
    path.write_bytes(b"old")
    (tmp_path / "link").symlink_to("m")
    os.link(path, tmp_path / "hard")
    with protect_inputs():
        record_input(path)
        with pytest.raises(XonncError, match="is an input of this command"):
            written(Path(alias))
    assert path.read_bytes() == b"old"
    assert written(Path(alias)) == b"new", "a program may"


def test_inputs_that_are_opened_late_are_not_replaced_either(tmp_path: Path):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def read_while_writing() -> None:
        with atomic_write(path) as stream:
            record_input(path)
            stream.write(b"new")

    with protect_inputs(), pytest.raises(XonncError, match="is an input"):
        read_while_writing()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == {"m"}
