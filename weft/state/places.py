"""Which file system a path means, and how the state is kept there.

    /var/weft, file:///var/weft      this machine: files are mapped, written aside and renamed
    hdfs://…                         written aside and renamed
    s3://…, gs://…, abfs://…         object stores: one request writes an object
    webhdfs://…, dbfs://…, …         what fsspec has and pyarrow has not, with the extra `fsspec`

A client of an object store is kept for as long as the process lives: it holds the connections.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from weft.errors import SpecError
from weft.state.folder import Care, Folder
from weft.state.object_folder import ObjectFolder

__all__ = ["open_folder"]

_OBJECTS = {"s3", "gcs", "abfs"}
"""Object stores, as pyarrow calls them."""
_FSSPEC_OBJECTS = {"abfs", "abfss", "az", "adl", "s3", "s3a", "gs", "gcs", "oss", "obs", "oci", "cos"}
"""Object stores, as fsspec calls them."""
_ALIKE = {"s3a": "s3", "s3n": "s3"}
"""Schemes of Hadoop's that pyarrow knows by another name."""


def open_folder(where: str, care: Care | None = None) -> Folder:
    """Open a path or URI: `/var/weft`, `file:///var/weft`, `hdfs://…`, `s3://…`, `gs://…`.

    >>> open_folder("/tmp/weft").path
    '/tmp/weft'
    """
    care = care or Care()
    try:
        if "\0" in where:
            raise ValueError("it contains a NUL character")  # noqa: TRY301  told with the others
        if "://" not in where and not where.startswith("file:") and not where.startswith("dbfs:"):
            return Folder(fs.LocalFileSystem(), str(Path(os.path.expanduser(where)).absolute()), care=care)
        if where.startswith("file:") and not where.startswith("file://"):
            where = "file://" + where.removeprefix("file:")
        system, path, objects = _opened(where, os.getpid())
    except SpecError:
        raise
    except (pa.ArrowException, ValueError, OSError) as error:
        raise SpecError.of(
            f"The state path {where!r} cannot be opened: {(str(error).splitlines() or ['?'])[0].rstrip('.')}.",
            "Weft opens local paths, the file systems of pyarrow.fs (file, hdfs, s3, gs, abfs), and those of fsspec.",
            "write state='file:///var/weft'.",
        ) from error
    return (ObjectFolder if objects else Folder)(system, path.rstrip("/"), care=care)


@lru_cache(maxsize=64)
def _opened(where: str, process: int) -> tuple[fs.FileSystem, str, bool]:
    """Return a file system, the path on it, and whether it is an object store; connections are not shared with forks."""
    del process
    scheme, _, rest = where.partition(":")
    try:
        system, path = fs.FileSystem.from_uri(f"{_ALIKE.get(scheme, scheme)}:{rest}")
    except pa.ArrowInvalid as error:
        if "Unrecognized filesystem type" not in str(error):
            raise
        return _by_fsspec(where, scheme, error)
    return _frugal(system), path, system.type_name in _OBJECTS


def _frugal(system: fs.FileSystem) -> fs.FileSystem:
    """Return a file system that writes a small object with one request, and leaves it to us to try again."""
    if system.type_name != "s3":
        return system
    _, (options, *_) = system.__reduce__()[:2]
    known = {**options, "retry_strategy": fs.AwsStandardS3RetryStrategy(max_attempts=1)}
    if not known.get("proxy_options", {}).get("host"):  # an empty one is no proxy, and is refused
        known.pop("proxy_options", None)
    known = {name: value for name, value in known.items() if value not in ("", -1.0)}
    return fs.S3FileSystem(**known | ({"allow_delayed_open": True} if "allow_delayed_open" in options else {}))


def _by_fsspec(where: str, scheme: str, error: Exception) -> tuple[fs.FileSystem, str, bool]:
    try:
        core: Any = import_module("fsspec.core")
    except ImportError:
        raise SpecError.of(
            f"The state path {where!r} cannot be opened: {str(error).splitlines()[0].rstrip('.')}.",
            f"pyarrow has no file system {scheme!r}. fsspec may have it, and is not installed.",
            "pip install 'weft[fsspec]' on the driver and every executor, and what fsspec needs for it.",
        ) from None
    try:
        found, path = core.url_to_fs(where)
    except ImportError as needed:  # fsspec knows the scheme; the package that serves it is missing
        raise SpecError.of(
            f"The state path {where!r} cannot be opened: {str(needed).splitlines()[0].rstrip('.')}.",
            f"fsspec needs another package for {scheme!r}.",
            "install it on the driver and every executor.",
        ) from None
    return fs.PyFileSystem(fs.FSSpecHandler(found)), path.rstrip("/"), scheme in _FSSPEC_OBJECTS
