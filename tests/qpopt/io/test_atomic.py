import os
import socket
import stat
import threading

import pytest

from qpopt import Instance, InvalidFile, Solution
from qpopt.io.atomic import check_writable, replacing


@pytest.fixture
def device(tmp_path):
    """Return a device of one's own that swallows everything, so that none of the system's is."""
    path = tmp_path / "swallows"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        path.write_bytes(b"tried")
    except OSError as error:
        pytest.skip(f"devices cannot be made here: {error}")
    return path


def test_a_device_is_written_to_and_stays_one(device, toy, toy_best):
    check_writable(device)
    toy.save(device)
    toy_best.save(device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert [file.name for file in device.parent.iterdir()] == [device.name]


def test_a_full_device_says_so_and_stays_one(tmp_path, toy_best):
    full = tmp_path / "full"
    try:
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        full.open("wb").close()
    except OSError as error:
        pytest.skip(f"devices cannot be made here: {error}")
    with pytest.raises(InvalidFile, match="No space left"):
        toy_best.save(full)
    assert stat.S_ISCHR(full.stat().st_mode)


@pytest.mark.parametrize("kind", ["instance", "solution"])
def test_what_is_written_to_a_pipe_comes_out_at_its_end(tmp_path, kind, toy, toy_best):
    pipe, arrived = tmp_path / "pipe", tmp_path / "arrived"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: arrived.write_bytes(pipe.read_bytes()))
    reader.start()
    (toy if kind == "instance" else toy_best).save(pipe)
    reader.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    if kind == "instance":
        assert Instance.load(arrived) == toy
    else:
        assert Solution.load(arrived) == toy_best


def test_neither_a_folder_nor_a_socket_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("socket")
    (tmp_path / "folder").mkdir()
    for name in ("socket", "folder"):
        with pytest.raises(InvalidFile, match="Cannot write"):
            check_writable(name)
        with pytest.raises(InvalidFile, match="Cannot write"), replacing(name):
            pass
    listening.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "socket"]


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "file").write_bytes(b"before")
    (tmp_path / "link").symlink_to("file")
    with replacing(tmp_path / "link") as stream:
        stream.write(b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"after"
