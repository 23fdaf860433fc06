"""Jobs in an interpreter of their own: each is killed after an optimizer step, and then run again as a queue would.

Reads a list of jobs as JSON from standard input: `payload`, `folder`, `inputs` and `step`. What each job says in the
end lies as `said.json` in its folder.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def forked(work: Callable[[], None]) -> int:
    """Exit code of a child, negative if it was killed."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def carry_out(job: Mapping[str, Any], killed_after: int | None) -> None:
    from torch.optim.optimizer import register_optimizer_step_post_hook

    from equipoise.execution.execute import execute

    taken = []

    def look(*_: object) -> None:
        taken.append(1)
        if len(taken) == killed_after:
            os.kill(os.getpid(), signal.SIGKILL)

    register_optimizer_step_post_hook(look)
    folder = Path(job["folder"])
    said = execute(job["payload"], folder, {key: Path(path) for key, path in job["inputs"].items()})
    (folder / "said.json").write_text(json.dumps(said), encoding="utf-8")


def main() -> None:
    from equipoise.training import trainer

    assert trainer, "loaded once, for all children"
    for job in json.load(sys.stdin):
        folder = Path(job["folder"])
        folder.mkdir()
        assert forked(lambda: carry_out(job, job["step"])) == -signal.SIGKILL  # noqa: B023
        shutil.rmtree(folder)
        folder.mkdir()
        assert forked(lambda: carry_out(job, None)) == 0  # noqa: B023


if __name__ == "__main__":
    main()
