"""Which file system a state path means, and what is told where it cannot be opened."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest

from tests.state.batches import expected, feed, joined, store
from weft.errors import SpecError
from weft.state import Care, open_folder
from weft.state.object_folder import ObjectFolder


@pytest.mark.parametrize(
    ("where", "path"),
    [
        ("s3://key:secret@bucket/state?region=us-east-1&endpoint_override=127.0.0.1:1&scheme=http", "bucket/state"),
        ("s3a://bucket/state/?region=us-east-1&endpoint_override=127.0.0.1:1", "bucket/state"),
        ("gs://anonymous@bucket/state", "bucket/state"),
        ("abfss://container@account.dfs.core.windows.net/state", "container/state"),
    ],
)
def test_object_stores(where: str, path: str) -> None:
    folder = open_folder(where)
    assert isinstance(folder, ObjectFolder) and folder.path == path and folder.packed and not folder.local
    assert open_folder(where).system is folder.system  # connections are kept


def test_a_file_system_of_fsspec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = open_folder("memory://weft/state")
    assert not folder.local and not folder.packed
    found = feed(joined(store(folder)), 4)
    found += feed(joined(store(open_folder("memory://weft/state")), 4), 2)
    assert sorted(found) == expected(6)


def test_fsspec_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(SpecError) as caught:
        open_folder("webhdfs://name/weft")
    what, there_is, hint = str(caught.value).splitlines()
    assert what.startswith("The state path 'webhdfs://name/weft' cannot be opened: Unrecognized filesystem type in URI")
    assert there_is == "pyarrow has no file system 'webhdfs'. fsspec may have it, and is not installed."
    assert hint == "Hint: pip install 'weft[fsspec]' on the driver and every executor, and what fsspec needs for it."


def test_what_fsspec_needs_and_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fsspec")
    monkeypatch.setitem(sys.modules, "pysmb", None)
    monkeypatch.setitem(sys.modules, "smbprotocol", None)
    monkeypatch.setitem(sys.modules, "smbclient", None)
    with pytest.raises(SpecError) as caught:
        open_folder("smb://host/share")
    what, there_is, hint = str(caught.value).splitlines()
    assert what.startswith("The state path 'smb://host/share' cannot be opened: ")
    assert there_is == "fsspec needs another package for 'smb'."
    assert hint == "Hint: install it on the driver and every executor."


def test_a_scheme_that_nobody_knows() -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(SpecError) as caught:
        open_folder("nosuch://x/y")
    what, _, hint = str(caught.value).splitlines()
    assert "nosuch" in what and hint == "Hint: write state='file:///var/weft'."


def test_settings_that_mean_nothing() -> None:
    assert Care.of("power", "1000") == Care("power", cache=1000)
    with pytest.raises(SpecError) as caught:
        Care.of("eternal", "0")
    assert str(caught.value).splitlines() == [
        "spark.weft.durability is 'eternal'.",
        "It is 'process' (state outlives killed processes) or 'power' (it also outlives a power cut).",
        "Hint: leave it out for 'process'.",
    ]
    with pytest.raises(SpecError) as caught:
        Care.of("process", "8g")
    assert str(caught.value).splitlines() == [
        "spark.weft.cache.bytes is '8g'.",
        "It is a number of bytes: how much of a remote state each machine may keep on its disk.",
        "Hint: write '8589934592', which is the default, or '0' for no copies.",
    ]
