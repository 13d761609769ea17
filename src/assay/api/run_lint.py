"""The lint of a run's own golds, whose findings stand beside its verdicts."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from assay import registry
from assay.api.linting import lint_located
from assay.model import Limits
from assay.model.lint import LintOptions, LintReport
from assay.runs.job import Job
from assay.runs.lint_worker import LintWorkerSettings
from assay.runs.plan import Work
from assay.runs.progress import Progress
from assay.runs.store.codec import encode_value, identity_of


class RunLint(Struct, frozen=True, kw_only=True):
    """Looks at the golds of a job, on its databases and under its limits."""

    options: LintOptions
    limits: Limits
    workers: int | None = None
    on_progress: Callable[[Progress], None] | None = None

    def __call__(self, job: Job, stored: LintReport | None) -> LintReport:
        """The findings; ``stored`` itself, an earlier run's, where it looked at the same in the same way."""
        works = [work for work in job.works if not work.prediction.repeat]
        fingerprint = self._fingerprint(job, works)
        if stored is not None and stored.fingerprint == fingerprint:
            return stored
        report = lint_located(
            [work.case for work in works],
            [work.gold_url or work.url for work in works if work.case.gold_count],
            LintWorkerSettings(
                engines=registry.engine_references(), limits=self.limits, options=self.options, dialect="sqlite"
            ),
            name=job.settings.cases,
            database=job.settings.gold_database or job.settings.database,
            others=None,
            workers=self.workers,
            on_progress=self.on_progress,
        )
        return replace(report, fingerprint=fingerprint)

    def _fingerprint(self, job: Job, works: list[Work]) -> str:
        found = blake2b(digest_size=12)
        rules = [sorted(self.options.only), sorted(self.options.ignore)]
        found.update(encode_value([rules, self.limits]))
        for work in works:
            url = work.gold_url or work.url
            found.update(identity_of(work.case))
            found.update(encode_value([url.text, job.bases.get(url.text, "")]))
        return found.hexdigest()
