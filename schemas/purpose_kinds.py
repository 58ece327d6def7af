"""What a file may be for, and what follows from that."""

from __future__ import annotations

from .light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .diagnostic import Diagnostic

TRAINING = "training"
POST_TRAINING = "post-training"
OTHER_MODEL = "other-model"


class Purpose(NamedTuple):
    """What a file does instead of training a GPT model, or on top of it."""

    kind: str
    problem: Diagnostic
    """The sentence that is said first."""
    own_arguments: bool = False
    """Whether the program declares arguments that the framework's parser does not know."""

    @property
    def trains_gpt(self) -> bool:
        """Whether the file is to be compared and translated."""
        return self.kind == POST_TRAINING

    @property
    def reads_arguments(self) -> bool:
        """Whether the program reads the framework's own arguments."""
        return self.kind in (POST_TRAINING, OTHER_MODEL, "outside")

    @property
    def is_run(self) -> bool:
        """Whether the arguments are those of a run, if of another one."""
        return self.trains_gpt or self.reads_arguments
