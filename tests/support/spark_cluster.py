"""A standalone Spark cluster of two workers on this machine: processes of their own, on the loopback address alone."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

HOST = "127.0.0.1"
SECONDS = 120
SETTINGS = {
    "spark.driver.host": HOST,
    "spark.driver.bindAddress": HOST,
    "spark.cores.max": "2",
    "spark.executor.cores": "1",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # no job begins before both executors are there
    "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{SECONDS}s",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""What a session needs to have an executor of one core on each worker."""


@contextmanager
def standalone_cluster(folder: Path, *, memory: str = "512m") -> Iterator[str]:
    """The address of a master with two workers of one core and ``memory`` each, which end with the context."""
    import pyspark

    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / "blocks"),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    port = _free_port()
    address = f"spark://{HOST}:{port}"
    with ExitStack() as stack:

        def start(what: str, *arguments: str) -> None:
            command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{what}", "--host", HOST, *arguments]
            with (folder / "daemons.log").open("ab") as log:
                process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
            stack.callback(_end, process)

        start("master.Master", "--port", str(port), "--webui-port", "0")
        _wait(port)
        for name in ("one", "two"):
            work = ["--cores", "1", "--memory", memory, "--webui-port", "0", "--work-dir", str(folder / name)]
            start("worker.Worker", *work, address)
        yield address


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as server:
        return int(server.getsockname()[1])


def _wait(port: int) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection((HOST, port), timeout=1):
            return
        time.sleep(0.2)
    raise TimeoutError("Spark's master did not start")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
