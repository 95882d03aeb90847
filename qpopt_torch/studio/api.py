"""Studio: the session, the processes that work for it, and the model that it is about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from qpopt import Instance, InvalidFile
from qpopt.control.limits import GAP
from qpopt_torch.errors import ModelError
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.studio.demands import Wishes, names_of
from qpopt_torch.studio.exports import as_command, as_python
from qpopt_torch.studio.session import Session
from qpopt_torch.studio.state import Accuracy
from qpopt_torch.studio.work.cache import Cached
from qpopt_torch.studio.work.processes import OnMessage, Worker
from qpopt_torch.studio.work.saving import steered

INSTANCE = "instance.npz"
LATEST = 0.25
"""Seconds between two bounds that are shown; those between are passed over."""


@dataclass(frozen=True, kw_only=True)
class StudioParams:
    """How long the studio works on an answer.

    Parameters
    ----------
    prove_seconds
        How long the proof of an answer goes on; 0 for none.
    gap
        The gap at which it ends.
    seed
        Fixes the search, the adapter and the random assignment.
    """

    prove_seconds: float = 20.0
    gap: float = GAP
    seed: int = 0


class Studio:
    """What the server of the studio answers from.

    Parameters
    ----------
    model
        The sparse classifier that was opened.
    session
        What a person did so far.
    cached
        The features of its samples, which lie in the session's folder.
    places
        `model` and `data`: the folders of the model and of its pictures, for the command.
    params
        How long it works on an answer.
    """

    def __init__(
        self,
        model: SparseClassifier,
        session: Session,
        cached: Cached,
        *,
        places: Mapping[str, str | None],
        params: StudioParams,
    ) -> None:
        self.model, self.session, self.cached = model, session, cached
        self.places, self.params = places, params
        folder = session.folder
        session.base.save(folder / INSTANCE)
        room = "qpopt_torch.studio.work"
        files = [str(folder), str(folder / INSTANCE)]
        self.solver = Worker(f"{room}.solving", files[1:], self._heard(self._solved))
        self.adapter = Worker(f"{room}.measuring", files, self._heard(self._measured))
        self.saving = threading.Lock()
        self._shown = 0.0
        first = session.states[0]
        if first.accuracy is None:
            session.update(0, running="measuring")
            self._measure(0)

    def act(self, wanted: Any) -> dict[str, Any]:
        """Do one thing that a person wants; return what there is to tell.

        Raises
        ------
        QpoptError
            If it cannot be done; nothing is changed then.
        """
        actions: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
            "add": lambda told: self.session.add(told.get("demand")),
            "drop": lambda told: self.session.drop(told.get("place")),
            "undo": lambda told: self.session.undo(),
            "back": lambda told: self.session.back(told.get("state")),
            "call": lambda told: self.session.call(told.get("state"), told.get("name")),
            "keep": lambda told: self.session.keep(told.get("name")),
            "take": lambda told: self.session.take(told.get("name")),
            "forget": lambda told: self.session.forget(told.get("name")),
            "solve": lambda told: self._solve(),
            "cancel": lambda told: self._cancel(),
            "save": lambda told: self._save(told.get("state")),
        }
        action = wanted.get("action") if isinstance(wanted, dict) else None
        if not isinstance(action, str) or action not in actions:
            raise ModelError(f"An action is one of {', '.join(actions)}.")
        told = actions[action](wanted)
        return told if isinstance(told, dict) else {}

    def export(self, kind: str) -> str:
        """Return the demands as `python` or as a `command`."""
        base, demands = self.session.base, self.session.demands
        if kind == "python":
            return as_python(base, demands)
        return as_command(base, demands, self.places)

    def wanted(self) -> Instance:
        """Return the instance of the demands, which `qpopt solve` takes."""
        return Wishes.of(self.session.base, self.session.demands).instance(self.session.base)

    def close(self) -> None:
        """End all processes."""
        self.solver.close()
        self.adapter.close()

    def _solve(self) -> dict[str, Any]:
        state = self.session.begin()
        self.adapter.cancel()
        self.solver.submit(
            {
                "id": state.number,
                "demands": [demand.to_dict() for demand in state.demands],
                "prove_seconds": self.params.prove_seconds,
                "gap": self.params.gap,
                "seed": self.params.seed,
            }
        )
        return {"state": state.number}

    def _cancel(self) -> None:
        self.solver.cancel()
        self.adapter.cancel()
        number = self.session.current
        ended = self.session.state(number).ended or "interrupted"
        self.session.update(number, running="", ended=ended)

    def _save(self, number: Any) -> dict[str, Any]:
        with self.saving:
            state = self.session.state(number)
            folder = self.session.folder / f"model-{state.number:03d}"
            steered(self.model, self.cached, state, names_of(state.demands)).save(folder)
        return {"folder": str(folder)}

    def _measure(self, number: int) -> None:
        state = self.session.state(number)
        sets = [list(row) for row in state.sets]
        job = {"id": number, "selection": list(state.selection), "sets": sets}
        self.adapter.submit({**job, "seed": self.params.seed})

    def _heard(self, take: OnMessage) -> OnMessage:
        """Return what takes a message also where nothing can be written: then it says so."""

        def heard(message: dict[str, Any]) -> None:
            try:
                take(message)
            except InvalidFile as error:
                self.session.tell(str(error))

        return heard

    def _solved(self, message: dict[str, Any]) -> None:
        number = message["id"]
        match message["kind"]:
            case "solution":
                sets = tuple(map(tuple, message["sets"]))
                before = self.session.state(number).sets
                self.session.update(
                    number,
                    selection=tuple(message["selection"]),
                    sets=sets,
                    **{key: message[key] for key in ("objective", "bound", "ended")},
                )
                if sets != before:
                    self._measure(number)
            case "bound" if perf_counter() - self._shown > LATEST:
                self._shown = perf_counter()
                self.session.update(number, bound=message["bound"])
            case "ended":
                self.session.update(number, ended=message["ended"])
            case "failed":
                blamed = tuple(message.get("blamed", ()))
                self.session.update(
                    number, running="", ended="failed", problem=message["message"], blamed=blamed
                )

    def _measured(self, message: dict[str, Any]) -> None:
        number = message["id"]
        match message["kind"]:
            case "progress":
                self.session.tell(f"measuring {100 * message['share']:.0f} %")
            case "measured":
                found = Accuracy(tuple(message["right"]), tuple(message["total"]))
                self.session.update(number, accuracy=found)
            case "control":
                self.session.update(number, control=message["control"])
                self._measure_left()
            case "failed":
                self.session.update(number, running="", problem=message["message"])

    def _measure_left(self) -> None:
        """Measure what was left out while something else was asked, the model first."""
        left = [
            state.number
            for state in self.session.states.values()
            if state.sets and state.accuracy is None and not state.problem
        ]
        self.session.tell("measuring" if left else "")
        if left:
            self._measure(left[0])
