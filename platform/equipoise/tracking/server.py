"""A light MLflow server on the loopback address, for as long as it is needed."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from equipoise.errors import TrackingError
from equipoise.tracking.client import PATIENCE, QUIET
from equipoise.tracking.embedded import artifact_root, prepare

__all__ = ["HOST", "free_port", "serve"]

HOST = "127.0.0.1"
LOG = "mlflow.server.log"
ATTEMPTS = 20


def free_port(wanted: int, attempts: int = ATTEMPTS) -> int:
    """Return the first free port from `wanted` on; 0 asks the system for any.

    Raises:
        TrackingError: If none of the next `attempts` is free.
    """
    for port in range(wanted, wanted + attempts):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    message = f"ports {wanted} to {wanted + attempts - 1} are all taken: give another with --port"
    raise TrackingError(message)


@contextmanager
def serve(home: Path, port: int, patience: float = 120.0) -> Iterator[str]:
    """Run an MLflow server over a project folder's embedded store; yield its address once it answers.

    The server and all it started are ended when the body is left. What it says goes to `mlflow.server.log`.

    Args:
        home: The project folder.
        port: The port to listen on; see `free_port`.
        patience: Seconds until it must answer; a busy machine needs more than half a minute.

    Raises:
        TrackingError: If it ends or stays silent; the end of its log is in the message.
    """
    uri = prepare(home)
    log = home / LOG
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(home, uri, port),
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **PATIENCE, **QUIET, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
            start_new_session=True,
        )
    try:
        _await_health(process, port, log, patience)
        yield f"http://{HOST}:{port}"
    finally:
        _end(process)


def _command(home: Path, uri: str, port: int) -> list[str]:
    """Return the command line: one worker and no job runner, which saves a gigabyte and ten processes."""
    where = ["--host", HOST, "--port", str(port), "--workers", "1"]
    store = ["--backend-store-uri", uri, "--default-artifact-root", artifact_root(home)]
    return [sys.executable, "-m", "mlflow", "server", *where, *store]


def _await_health(process: "subprocess.Popen[bytes]", port: int, log: Path, patience: float) -> None:
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if process.poll() is not None:
            message = f"the MLflow server on port {port} ended with code {process.returncode}: {_tail(log)}"
            raise TrackingError(message)
        if _is_healthy(port):
            return
        time.sleep(0.1)
    message = f"the MLflow server on port {port} did not answer within {patience:.0f} s: {_tail(log)}"
    raise TrackingError(message)


def _is_healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return " | ".join(lines[-5:]) or f"{log} is empty"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the server's whole process group, gently first."""
    for sign, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 5.0)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
        break
