"""Cells of other processes, killed in the middle of their training and run again: the same bits, on every path."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

KEY = "b0/cell/outcome/matched/0"
# Four steps a cell; with two rounds the third is in the second of them.
STEPS = {"sft": 2, "dapo": 2, "rounds": 3}


@pytest.fixture(scope="module")
def again(on_each_path: Mapping[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of one cell by path: run by another interpreter, of which a child was killed while it trained."""
    place = tmp_path_factory.mktemp("again")
    jobs = [
        {
            "payload": on_each_path[path].payloads[KEY],
            "folder": str(place / path),
            "inputs": {key: str(folder) for key, folder in on_each_path[path].folders.items()},
            "step": step,
        }
        for path, step in STEPS.items()
    ]
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("killed.py")],
        input=json.dumps(jobs),
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1"},
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.mark.parametrize("path", STEPS)
def test_a_cell_killed_while_it_trains_is_run_again_to_the_same_weights_outcomes_and_files(
    path: str, again: Path, on_each_path: Mapping[str, Any]
) -> None:
    first = on_each_path[path].folders[KEY]
    said = json.loads((again / path / "said.json").read_text("utf-8"))
    (again / path / "said.json").unlink()
    assert {**said, "seconds": None} == {**on_each_path[path].results[KEY], "seconds": None}
    assert said["dose"]["optimizer_steps"] == 4
    names, others = (
        {file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}
        for folder in (first, again / path)
    )
    assert names == others
    assert Path("policy.safetensors") in names
    assert (Path("plan-2.npz") in names) == (path == "rounds")
    for name in names:
        assert (first / name).read_bytes() == (again / path / name).read_bytes(), name
