"""A Kafka broker of one node on loopback (KRaft), started from its jars: it can be killed, and comes back with what it had."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path

from tests.kafka.jars import broker_jars
from tests.s3 import free_port

__all__ = ["Broker"]

_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Xshare:auto")
_CONFIG = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
num.partitions=2
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class Broker:
    """One broker over a folder. Everything that it was sent is on its disk, so a SIGKILL loses nothing that was acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        self._config = folder / "server.properties"
        controller = free_port()
        self._config.write_text(_CONFIG.format(port=self.port, controller=controller, data=folder / "data"))
        name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        self._java("kafka.tools.StorageTool", "format", "-t", name, "-c", str(self._config)).wait(60)

    @property
    def address(self) -> str:
        """Return what clients are told as `kafka.bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        self.process = self._java("kafka.Kafka", str(self._config))
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"The broker does not answer.\n{self.log()[-3000:]}")

    def kill(self) -> None:
        """SIGKILL."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(30)
            self.process = None

    def log(self) -> str:
        """Return what it printed."""
        return (self.folder / "broker.log").read_text(errors="replace")

    def tool(self, name: str, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
        """Run one of Kafka's own tools against this broker."""
        command = [*_command(name), "--bootstrap-server", self.address, *words]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)

    def _java(self, *words: str) -> subprocess.Popen[bytes]:
        with (self.folder / "broker.log").open("ab") as log:
            return subprocess.Popen(_command(*words), stdout=log, stderr=log, cwd=self.folder)


def _command(*words: str) -> list[str]:
    java = os.environ.get("JAVA_HOME")
    program = str(Path(java) / "bin" / "java") if java else shutil.which("java") or "java"
    return [program, *_QUICK, "-cp", os.pathsep.join(map(str, broker_jars())), *words]
