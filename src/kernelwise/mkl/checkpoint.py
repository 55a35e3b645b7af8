"""A fit that survives the end of its process: every round of column generation is written to a file."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import Array
from ..optim import Certificate
from ..whole_files import write_whole
from .column_generation import Round

#: Two fits are of the same data where their first prices agree to this; a cluster may add numbers in another order.
SAME = 1e-8


class Checkpoint:
    """The rounds of the problems of one fit, in a JSON file that is whole at every moment."""

    def __init__(self, path: str | Path, estimator: Any) -> None:
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r}: there is no folder {self.path.parent}; make it first")
        self.owner = f"{type(estimator).__name__} {estimator.get_params()!r}"
        self.outputs: dict[str, Any] = self._read() if self.path.exists() else {}

    def _read(self) -> dict[str, Any]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            owner, outputs = content["owner"], content["outputs"]
        except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not a checkpoint of a fit ({error}); name another file"
            ) from error
        if owner != self.owner:
            raise ValueError(
                f"checkpoint={str(self.path)!r} was written with other parameters: {owner}; use the same, or "
                "remove the file"
            )
        return dict(outputs)

    def remove(self) -> None:
        """Remove the file of a fit that is finished."""
        self.path.unlink(missing_ok=True)


def refuse_checkpoint(estimator: Any, checkpoint: Any) -> None:
    """Raise where a user asks for a checkpoint of an estimator that solves many problems instead of one."""
    if checkpoint is not None:
        raise ValueError(
            f"{type(estimator).__name__} has no checkpoints, got checkpoint={checkpoint!r}; SimpleMKLClassifier and "
            "RobustMKLClassifier have"
        )


class OutputRounds:
    """The rounds of one binary problem, as column generation keeps and reads them."""

    def __init__(self, checkpoint: Checkpoint, output: str) -> None:
        self.checkpoint, self.output = checkpoint, output

    def last(self, prices: Array) -> Round | None:
        """Return the last round of the problem with these first prices, or None where there is none."""
        stored = self.checkpoint.outputs.get(self.output)
        if stored is None:
            return None
        path = str(self.checkpoint.path)
        try:  # JSON keeps lists in place of arrays, and text in place of numbers as keys
            arrays = {
                "active": np.array(stored["active"], dtype=np.intp),
                "bounds": Certificate(**stored["bounds"]),
                "parts": {int(j): np.array(w, dtype=np.float64) for j, w in stored["parts"].items()},
                "prices": np.array(stored["prices"], dtype=np.float64),
            }
            state = Round(**(stored | arrays))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"checkpoint={path!r} is damaged ({error}); remove the file") from error
        if state.prices.shape != prices.shape or not np.allclose(state.prices, prices, rtol=SAME, atol=0.0):
            raise ValueError(f"checkpoint={path!r} belongs to other data; use the same data, or remove the file")
        return state

    def save(self, state: Round) -> None:
        """Keep a round."""
        checkpoint = self.checkpoint
        checkpoint.outputs[self.output] = asdict(state)
        content = {"owner": checkpoint.owner, "outputs": checkpoint.outputs}
        write_whole(checkpoint.path, json.dumps(content, default=np.ndarray.tolist).encode())
