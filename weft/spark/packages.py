"""Packages of formats that Spark does not bring: those of the running version, unless the job or Spark's settings name others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from weft.spark.session import said_outside

__all__ = ["with_packages"]

_SCALA = "2.13"
_NEEDED = {"kafka": f"spark-sql-kafka-0-10_{_SCALA}", "avro": f"spark-avro_{_SCALA}"}
_JARS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")


def with_packages(conf: Mapping[str, str], formats: Iterable[str]) -> dict[str, str]:
    """Return settings that bring what some formats need; what is there already, in whichever version, stays.

    Spark fetches packages from Maven Central, or from where `spark.jars.ivySettings` and `spark.jars.repositories` say.
    """
    said = {**said_outside(), **conf}
    there = " ".join(said.get(key, "") for key in _JARS) + " ".join(_own_jars())
    wanted = [_NEEDED[name] for name in dict.fromkeys(formats) if name in _NEEDED and _NEEDED[name] not in there]
    if not wanted:
        return dict(conf)
    release = re.sub(r"\.dev\d*$|rc\d+$", "", version("pyspark"))
    packages = [said.get("spark.jars.packages", ""), *(f"org.apache.spark:{name}:{release}" for name in wanted)]
    return {**conf, "spark.jars.packages": ",".join(part for part in packages if part)}


def _own_jars() -> list[str]:
    return [jar.name for jar in (Path(_find_spark_home()) / "jars").glob("spark-*.jar")]
