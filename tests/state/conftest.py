from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.s3 import Served, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run an S3 server for all tests of a process."""
    with serving(tmp_path_factory.mktemp("s3")) as served:
        yield served


@pytest.fixture
def s3(server: Served) -> Iterator[Served]:
    """Give a test the server, with nothing counted, delayed or failing."""
    server.proxy.forget()
    yield server
    server.proxy.delay, server.proxy.fault = 0.0, None
