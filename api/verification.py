"""The public function `verify`, apart from the others: it answers with the verifier's record, which needs NumPy."""

from __future__ import annotations

from accmap.analyses import STAGES
from accmap.calls import checked_call, path_of, require_word
from accmap.results import Answer, draw
from accmap.schemas.fast_records import TYPE_CHECKING
from accmap.verifier.verification import Verification

if TYPE_CHECKING:
    from typing import Any

    from accmap.analyses import Name, Stage
    from accmap.cli.pages.document import Document
    from accmap.schemas.config import ReadOptions
    from accmap.schemas.diagnostic import Language
    from accmap.verifier.worker.processes import Workers


_BEGINNINGS = {
    "gradients": "gradient/",
    "updates": "update/",
    "expert_bias": "expert_bias/",
    "logits": "logits",
    "samples": "samples/",
}
"""Kinds of arrays, and the beginning of their names in a run."""


class Verified(Answer, Verification):
    """Result of `verify`, as the verifier has it."""

    __slots__ = ()

    def page(self, language: Language = "en") -> Document:
        """The page of `accmap verify`."""
        from accmap.cli.pages.verify_report import verify_document

        return verify_document(self.to_json(language=language), language)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `accmap verify`."""
        return self.to_json()

    def report(self, language: Language = "en") -> str:
        """The text of `accmap verify`."""
        from accmap.cli.pages.formats import write_document

        return write_document(self.page, "text", language, to_file=True)

    def arrays(self, kind: str = "gradients") -> dict[str, dict[str, Any]]:
        """NumPy arrays of the last run by side and name: `gradients`, `updates`, `expert_bias`, `logits`, `samples`."""
        from accmap.verifier.pair import side_labels

        require_word("kind", kind, tuple(_BEGINNINGS))
        begin = _BEGINNINGS[kind]
        return {
            side: {key.removeprefix(begin) or kind: array.copy() for key, array in own.items() if key.startswith(begin)}
            for side, own in zip(side_labels(*self.sides), self.arrays_of_sides, strict=False)
        }

    def plot(self, ax: Any = None) -> Any:
        """The error of each gradient from the input to the output; with `ax` the curves on these matplotlib axes."""
        from accmap.cli.pages.verify_report import error_charts

        axes = draw(error_charts(self.to_dict(), "en"), " · ".join(self.files), ax)
        if ax is not None:
            ax.set_yscale("log")
        return axes

    def records(self) -> list[dict[str, Any]]:
        """A row for each quantity that was compared."""
        from accmap.cli.pages.verify_report import table_rows

        return [dict(row) for row in table_rows(self.to_dict())]


@checked_call
def verify(
    a: Name,
    b: Name,
    *,
    stage: Stage = "all",
    seeds: int = 1,
    options: ReadOptions | None = None,
    workers: Workers | None = None,
) -> Verified:
    """Both real models on small inputs; ModuleNotFoundError, with what to install, where a framework is missing.

    `workers` keep the frameworks imported from one pair to the next.
    """
    from accmap.cli.commands.verify import missing_sentence, run_verification
    from accmap.schemas.config import ReadOptions as Options
    from accmap.verifier.installations import MissingFrameworkError

    require_word("stage", stage, STAGES)
    try:
        chosen = {"stage": stage, "seeds": seeds}
        names = path_of(a), path_of(b)
        return Verified._make(run_verification(names, options or Options(), chosen, workers=workers)[0])
    except MissingFrameworkError as error:
        raise ModuleNotFoundError(missing_sentence(error, "en")) from None
