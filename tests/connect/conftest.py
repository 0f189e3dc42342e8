"""What tests on Spark Connect ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.streams import Desk

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def desk(connect: SparkSession, tmp_path: Path) -> Desk:
    return Desk(connect, tmp_path)
