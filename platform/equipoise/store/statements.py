"""The statements that every job passes through, built once: building them costs more than running them."""

from typing import Any, Final

from sqlalchemy import BindParameter, bindparam, exists, func, insert, select, update
from sqlalchemy.orm import aliased
from sqlalchemy.sql.dml import Update

from equipoise.store.models import Attempts, Dependencies, Events, Jobs, Outbox

__all__ = [
    "ADD_ATTEMPT",
    "ADD_EVENT",
    "ADD_MESSAGE",
    "CURRENT",
    "END_ATTEMPT",
    "FINISH",
    "KEEP",
    "NEEDS",
    "NEXT",
    "NEXT_OF_SUITE",
    "TAKE",
]

_job: BindParameter[int] = bindparam("b_job")
_token: BindParameter[int] = bindparam("b_token")
_now: BindParameter[float] = bindparam("b_now")
_expires: BindParameter[float] = bindparam("b_expires")


def _next() -> Any:
    needed = aliased(Jobs)
    unmet = exists(
        select(Dependencies.job)
        .join(needed, needed.id == Dependencies.needs)
        .where(Dependencies.job == Jobs.id, needed.state != "done")
    )
    # Attempts are numbered from 1 within their job.
    before = (
        select(func.coalesce(func.max(Attempts.number), 0)).where(Attempts.job == Jobs.id).scalar_subquery()
    )
    return (
        select(Jobs.id, Jobs.suite, Jobs.key, Jobs.kind, Jobs.payload, before.label("before"))
        .where(Jobs.state == "queued", ~unmet)
        .order_by(Jobs.position, Jobs.id)
        .limit(1)
        .with_for_update(skip_locked=True, of=Jobs)
    )


NEXT: Final = _next()
NEXT_OF_SUITE: Final = _next().where(Jobs.suite == bindparam("b_suite"))

ADD_ATTEMPT: Final = (
    insert(Attempts)
    .values(
        job=bindparam("job"),
        number=bindparam("number"),
        worker=bindparam("worker"),
        host=bindparam("host"),
        pid=bindparam("pid"),
        process_started=bindparam("process_started"),
        started_at=bindparam("started_at"),
        counted=False,
    )
    .returning(Attempts.id)
)

TAKE: Final[Update] = (
    update(Jobs)
    .where(Jobs.id == _job)
    .values(state="running", token=_token, lease_expires=_expires, message=None)
)

NEEDS: Final = (
    select(Jobs.key)
    .join(Dependencies, Dependencies.needs == Jobs.id)
    .where(Dependencies.job == _job)
    .order_by(Jobs.position, Jobs.id)
)

_mine = (Jobs.id == _job, Jobs.token == _token, Jobs.state == "running")

KEEP: Final = update(Jobs).where(*_mine).values(lease_expires=_expires).returning(Jobs.id)

# One row exactly while the token is the job's; it tells whether a first result is there.
CURRENT: Final = select(Jobs.result.is_not(None).label("has_result")).where(*_mine).with_for_update()

FINISH: Final[Update] = (
    update(Jobs)
    .where(Jobs.id == _job)
    .values(
        state="done", lease_expires=None, message=None, result=bindparam("b_result", type_=Jobs.result.type)
    )
)

END_ATTEMPT: Final[Update] = (
    update(Attempts)
    .where(Attempts.id == _token)
    .values(
        end=bindparam("b_end"),
        counted=bindparam("b_counted"),
        message=bindparam("b_message"),
        seconds=bindparam("b_seconds"),
        maxrss=bindparam("b_maxrss"),
        ended_at=_now,
    )
)

ADD_EVENT: Final = insert(Events)
ADD_MESSAGE: Final = insert(Outbox)
