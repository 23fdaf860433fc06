"""The store: jobs, leases and results in one database, the truth that everything else is drawn from."""

from equipoise.store.audit import StoredJob, StoredSuite
from equipoise.store.errors import BadResult, NotReproduced, StaleLease
from equipoise.store.ledgers import LedgerRecord, StepsRecord
from equipoise.store.processes import this_worker
from equipoise.store.progress import Progress
from equipoise.store.records import (
    ENDS,
    STATES,
    Artifact,
    AttemptRecord,
    EventRecord,
    JobRecord,
    JobSpec,
    Lease,
    OutboxRecord,
    SuiteRecord,
    Usage,
    Worker,
)
from equipoise.store.store import DATABASE_FILE, Store, inspect_store, open_store

__all__ = [
    "DATABASE_FILE",
    "ENDS",
    "STATES",
    "Artifact",
    "AttemptRecord",
    "BadResult",
    "EventRecord",
    "JobRecord",
    "JobSpec",
    "Lease",
    "LedgerRecord",
    "NotReproduced",
    "OutboxRecord",
    "Progress",
    "StaleLease",
    "StepsRecord",
    "Store",
    "StoredJob",
    "StoredSuite",
    "SuiteRecord",
    "Usage",
    "Worker",
    "inspect_store",
    "open_store",
    "this_worker",
]
