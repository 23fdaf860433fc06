"""Whether a study can be reported at all: something ran, and its parts speak of the same things."""

from __future__ import annotations

from collections import Counter

from equipoise_reports.errors import IncoherentStudy, NothingToReport
from equipoise_reports.study import Study


def check(study: Study) -> None:
    """Refuse a study that cannot be reported honestly.

    Raises:
        NothingToReport: no run has ended.
        IncoherentStudy: the parts disagree; the message lists every fault.
    """
    if not study.runs:
        message = (
            f"expected at least one finished run of {study.name!r}, found none: a report is made of runs. "
            "Run the suite first (equipoise run), then ask for the report again"
        )
        raise NothingToReport(message)
    faults = [*_conditions(study), *_runs(study), *_analysis(study)]
    if faults:
        listed = "\n".join(f"  - {fault}" for fault in faults)
        message = f"the study {study.name!r} contradicts itself:\n{listed}"
        raise IncoherentStudy(message)


def _conditions(study: Study) -> list[str]:
    faults = []
    baselines = [card.id for card in study.conditions if card.baseline]
    if len(baselines) != 1:
        faults.append(f"expected exactly one baseline condition, found {len(baselines)}: {baselines}")
    repeated = [name for name, times in Counter(card.id for card in study.conditions).items() if times > 1]
    if repeated:
        faults.append(f"expected each condition once, found more of {repeated}")
    known = {card.id for card in study.conditions}
    strange = sorted({cell.condition for cell in study.design.cells} - known)
    if strange:
        faults.append(f"the design runs conditions that have no card: {strange}; known: {sorted(known)}")
    return faults


def _runs(study: Study) -> list[str]:
    faults = []
    cells, blocks = set(study.design.cells), set(study.design.blocks)
    for run in study.runs:
        if run.slot not in cells:
            where = f"{run.condition}.{run.arm}.{run.twin}"
            faults.append(f"run {run.key!r} belongs to the cell {where}, which the design does not have")
        if run.block not in blocks:
            faults.append(f"run {run.key!r} belongs to block {run.block}, which the design does not have")
    counted = Counter((run.block, run.slot) for run in study.runs)
    for (block, slot), times in counted.items():
        if times > 1:
            where = f"{slot.condition}.{slot.arm}.{slot.twin}"
            faults.append(f"expected one run of {where} in block {block}, found {times}")
    return faults


def _analysis(study: Study) -> list[str]:
    if study.analysis is None:
        if study.interim:
            return []
        return ["every block is complete, yet there is no analysis; analyse the runs before reporting them"]
    known = {card.id for card in study.conditions}
    named = {contrast.condition for contrast in study.analysis.contrasts}
    strange = sorted(named - known)
    if strange:
        return [
            f"the analysis names conditions that the study does not have: {strange}; known: {sorted(known)}"
        ]
    return []
