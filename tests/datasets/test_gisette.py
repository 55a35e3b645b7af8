import hashlib
import socket
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from kernelwise.datasets import _gisette as gisette
from kernelwise.datasets import fetch_gisette


@pytest.fixture
def small(tmp_path, rng, monkeypatch):
    """A small set in the format of Gisette, in a folder that a local server can offer."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    X = rng.integers(0, 1000, size=(6, 8))
    y = np.array([1, -1, -1, 1, 1, -1])
    site = tmp_path / "site"
    (site / "GISETTE").mkdir(parents=True)
    # The original files end every line of numbers with a blank.
    texts = {
        "GISETTE/small.data": "".join(" ".join(map(str, row)) + " \n" for row in X),
        "small.labels": "".join(f"{label}\n" for label in y),
    }
    for path, text in texts.items():
        (site / path).write_text(text)
    return X, y, {path: hashlib.sha256(text.encode()).hexdigest() for path, text in texts.items()}, site


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    servers = []

    def start(folder):
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=folder))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_download_read_and_keep(small, serve, tmp_path):
    X, y, part, site = small
    folder = tmp_path / "home" / "gisette"
    seen = []
    gisette.provide([part], folder, serve(site), lambda *step: seen.append(step))
    data, target = gisette.read_parts([part, part], folder)
    assert np.array_equal(data, np.vstack([X, X]))
    assert data.dtype == np.float64
    assert np.array_equal(target, np.tile(y > 0, 2))
    size = (site / "GISETTE" / "small.data").stat().st_size
    assert seen[0] == ("small.data", size, size)
    assert sorted(path.name for path in folder.iterdir()) == ["small.data", "small.labels"]
    # The second time nobody is asked: there is no server at this address.
    gisette.provide([part], folder, closed_port(), None)


def test_fetch_from_end_to_end(small, serve, tmp_path, monkeypatch):
    X, y, part, site = small
    monkeypatch.setitem(gisette.PARTS, "train", part)
    monkeypatch.setitem(gisette.PARTS, "valid", part)
    bunch = fetch_gisette(subset="all", data_home=tmp_path, base_url=serve(site))
    assert np.array_equal(bunch.data, np.vstack([X, X]))
    assert bunch.target_names[bunch.target].tolist() == [f"{label:+d}" for label in [*y, *y]]
    assert {Path(name).name for name in bunch.filename} == {"small.data", "small.labels"}
    assert "Citation" in bunch.DESCR
    offline = fetch_gisette(data_home=tmp_path, download_if_missing=False, as_frame=True)
    assert np.array_equal(offline.data.to_numpy(), X)
    assert list(offline.frame.columns) == [*bunch.feature_names, "target"]


def test_files_put_there_by_hand_are_used(small, tmp_path):
    _, _, part, site = small
    for path in part:
        (tmp_path / Path(path).name).write_bytes((site / path).read_bytes())
    gisette.provide([part], tmp_path, None, None)


def test_damaged_file_is_reported(small, tmp_path):
    _, _, part, site = small
    for path in part:
        (tmp_path / Path(path).name).write_bytes((site / path).read_bytes())
    (tmp_path / "small.labels").write_text("1\n-1\n")
    with pytest.raises(OSError, match=r"small\.labels is damaged.*Delete it"):
        gisette.provide([part], tmp_path, None, None)


def serve_wrong_bytes(site):
    (site / "GISETTE" / "small.data").write_text("1 2 3\n")


def serve_nothing(site):
    (site / "GISETTE" / "small.data").unlink()


@pytest.mark.parametrize(("spoil", "reason"), [(serve_wrong_bytes, "SHA-256"), (serve_nothing, "404")])
def test_failed_download_leaves_nothing_behind(small, serve, tmp_path, spoil, reason):
    _, _, part, site = small
    spoil(site)
    folder = tmp_path / "home"
    with pytest.raises(OSError, match=f"could not download http.*{reason}.*put them into"):
        gisette.provide([part], folder, serve(site), None)
    assert list(folder.iterdir()) == []


def test_interrupted_download_leaves_nothing_behind(small, serve, tmp_path):
    _, _, part, site = small

    def interrupt(*step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gisette.provide([part], tmp_path / "home", serve(site), interrupt)
    assert list((tmp_path / "home").iterdir()) == []


def test_without_network_fetch_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(OSError, match=r"could not download .*gisette_train\.data.*put them into") as caught:
        fetch_gisette(data_home=tmp_path, base_url=closed_port())
    assert str(tmp_path / "gisette") in str(caught.value)
    assert list((tmp_path / "gisette").iterdir()) == []


def test_fetch_without_download_names_the_missing_files(tmp_path, monkeypatch):
    monkeypatch.setenv("KERNELWISE_DATA", str(tmp_path))
    with pytest.raises(OSError, match=r"gisette_valid\.data, gisette_valid\.labels not found") as caught:
        fetch_gisette(subset="valid", download_if_missing=False)
    assert str(tmp_path / "gisette") in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_home_folder(monkeypatch):
    monkeypatch.delenv("KERNELWISE_DATA", raising=False)
    assert gisette.data_folder(None) == Path.home() / "kernelwise_data" / "gisette"
    assert gisette.data_folder("~/here") == Path.home() / "here" / "gisette"
