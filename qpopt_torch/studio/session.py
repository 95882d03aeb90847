"""Session: everything that a person did in the studio, kept on disk at every step."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qpopt import Instance, InvalidFile
from qpopt.io import opened_json, save_json
from qpopt_torch.errors import ModelError
from qpopt_torch.sparse.storage import made_folder
from qpopt_torch.studio.demands import NAME_LENGTH, Demand, Wishes, names_of
from qpopt_torch.studio.state import State, difference

FILE, STATES = "studio.json", "states"
MOST_DEMANDS, MOST_STATES, MOST_PAST, MOST_LISTS = 200, 200, 50, 50


class Session:
    """The one state machine of the studio; the page only shows it.

    Every change is on disk before it is answered, under a temporary name first, so that nothing is
    lost where the process ends at once. All methods may be called from any thread.

    Parameters
    ----------
    base
        The instance of the model.
    first
        Its answer, as the model has it: state 0.
    folder
        Where the session is kept; one that is there is gone on with.

    Raises
    ------
    InvalidFile
        If the folder holds a session that is damaged.
    ModelError
        If it holds one of another model.
    """

    def __init__(self, base: Instance, first: State, folder: Path) -> None:
        self.base, self.folder = base, folder
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.version, self.closed = 0, False
        self.running = ""
        self.demands: tuple[Demand, ...] = ()
        self.past: list[tuple[Demand, ...]] = []
        self.lists: dict[str, tuple[Demand, ...]] = {}
        self.states: dict[int, State] = {first.number: first}
        self.current = first.number
        made_folder(folder / STATES)
        if (folder / FILE).exists():
            self._read(first)
        with self.lock:
            self._put(self.states[first.number])
            self._keep()

    def add(self, values: Any) -> None:
        """Add a demand; a number or a name that was demanded before is replaced."""
        with self.lock:
            demand = Demand.checked(values, self.base.n_features, self.base.n_classes)
            if len(self.demands) >= MOST_DEMANDS:
                raise ModelError(f"There are {MOST_DEMANDS} demands; take some away first.")
            if demand in self.demands:
                raise ModelError("This is demanded already.")
            self._set((*(one for one in self.demands if not _replaces(demand, one)), demand))

    def drop(self, place: Any) -> None:
        """Take the demand at a place away."""
        with self.lock:
            if not _is_place(place, len(self.demands)):
                raise ModelError(f"There is no demand {place!r}.")
            self._set((*self.demands[:place], *self.demands[place + 1 :]))

    def undo(self) -> None:
        """Take back the last change of the demands."""
        with self.lock:
            if not self.past:
                raise ModelError("There is nothing to undo.")
            self.demands = self.past.pop()
            self._keep()

    def back(self, number: Any) -> None:
        """Return to a state and to its demands."""
        with self.lock:
            state = self.state(number)
            self.current = state.number
            self._set(state.demands)

    def call(self, number: Any, name: Any) -> None:
        """Name a state."""
        with self.lock:
            self._put(self.state(number).with_(name=_named("A state", name)))

    def keep(self, name: Any) -> None:
        """Keep the demands as they are under a name, in place of what had it."""
        with self.lock:
            called, before = _named("A list of demands", name), self.lists
            if len(before) >= MOST_LISTS and called not in before:
                raise ModelError(f"There are {MOST_LISTS} lists of demands; forget some first.")
            self._list({**before, called: self.demands})

    def take(self, name: Any) -> None:
        """Demand what is kept under a name, in place of what is demanded."""
        with self.lock:
            if not isinstance(name, str) or name not in self.lists:
                raise ModelError(f"There is no list of demands {name!r}.")
            self._set(self.lists[name])

    def forget(self, name: Any) -> None:
        """Forget what is kept under a name."""
        with self.lock:
            self._list({key: one for key, one in self.lists.items() if key != name})

    def begin(self) -> State:
        """Make a state of the demands as they are, to be filled by the solver."""
        with self.lock:
            if len(self.states) >= MOST_STATES:
                raise ModelError(
                    f"There are {MOST_STATES} states; open the studio in a new folder."
                )
            wishes = Wishes.of(self.base, self.demands)
            number = max(self.states) + 1
            counts = wishes.n_select, wishes.n_per_class
            state = State(number, f"State {number}", self.demands, *counts)
            self.running, self.current = "solving", number
            self._put(state)
            self._keep()
            return state

    def update(self, number: int, *, running: str | None = None, **changes: Any) -> None:
        """Write down what became known of a state, and what goes on."""
        with self.lock:
            if number not in self.states:
                return
            if running is not None:
                self.running = running
            self._put(self.states[number].with_(**changes))

    def tell(self, running: str) -> None:
        """Say what goes on."""
        with self.lock:
            self.running = running
            self._tell()

    def state(self, number: Any) -> State:
        """Return a state by its number."""
        with self.lock:
            if isinstance(number, bool) or not isinstance(number, int) or number not in self.states:
                raise ModelError(f"There is no state {number!r}.")
            return self.states[number]

    def compare(self, before: Any, after: Any) -> dict[str, Any]:
        """Return what changed from one state to another."""
        with self.lock:
            return difference(self.state(before), self.state(after))

    def snapshot(self) -> dict[str, Any]:
        """Return everything that the page shows."""
        with self.lock:
            return {
                "version": self.version,
                "running": self.running,
                "demands": [demand.to_dict() for demand in self.demands],
                "undoable": len(self.past),
                "lists": {name: len(listed) for name, listed in self.lists.items()},
                "names": {str(d): name for d, name in names_of(self.demands).items()},
                "states": [state.to_dict() for state in self.states.values()],
                "current": self.current,
            }

    def wait(self, version: int, seconds: float) -> bool:
        """Wait until there is something newer than a version; return whether there is."""
        with self.changed:
            self.changed.wait_for(lambda: self.closed or self.version != version, seconds)
            return self.version != version

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def _set(self, demands: Sequence[Demand]) -> None:
        before = self.past, self.demands
        self.past = [*self.past, self.demands][-MOST_PAST:]
        self.demands = tuple(demands)
        try:
            self._keep()
        except InvalidFile:  # it is not done where it cannot be kept
            self.past, self.demands = before
            raise

    def _list(self, lists: dict[str, tuple[Demand, ...]]) -> None:
        before, self.lists = self.lists, lists
        try:
            self._keep()
        except InvalidFile:
            self.lists = before
            raise

    def _put(self, state: State) -> None:
        """Write one state; each has a file of its own, so that little is written at a time."""
        self.states[state.number] = state
        save_json(self._file(state.number), "studio-state", state.to_dict())
        self._tell()

    def _file(self, number: int) -> Path:
        return self.folder / STATES / f"{number:03d}.json"

    def _tell(self) -> None:
        self.version += 1
        self.changed.notify_all()

    def _keep(self) -> None:
        record = {
            "fingerprint": self.base.fingerprint,
            "demands": [demand.to_dict() for demand in self.demands],
            "past": [[demand.to_dict() for demand in one] for one in self.past],
            "lists": {
                name: [demand.to_dict() for demand in one] for name, one in self.lists.items()
            },
            "current": self.current,
        }
        save_json(self.folder / FILE, "studio", record)
        self._tell()

    def _read(self, first: State) -> None:
        sizes = self.base.n_features, self.base.n_classes

        def listed(values: Any) -> tuple[Demand, ...]:
            return tuple(Demand.checked(value, *sizes) for value in values)

        with opened_json(self.folder / FILE, "studio") as record:
            if record["fingerprint"] != self.base.fingerprint:
                raise ModelError(
                    f"{self.folder / FILE} is the session of another instance; pass another folder."
                )
            self.demands, self.past = listed(record["demands"]), [*map(listed, record["past"])]
            self.lists = {
                _named("A list", name): listed(one)
                for name, one in dict(record.get("lists", {})).items()
            }
            self.current = int(record["current"])
        for path in sorted((self.folder / STATES).glob("*.json")):
            with opened_json(path, "studio-state") as record:
                state = State.from_dict(record, *sizes)
            # What was going on when the process ended goes on no longer.
            self.states[state.number] = state if state.ended else state.with_(ended="interrupted")
        if self.states[first.number].sets != first.sets:
            self.states[first.number] = first
        if self.current not in self.states:
            self.current = first.number


def _named(what: str, name: Any) -> str:
    """Return a name on one line, if it is one."""
    if not isinstance(name, str) or not name.strip():
        raise ModelError(f"{what} needs a name that is not empty.")
    return " ".join(name.split())[:NAME_LENGTH]


def _is_place(place: Any, end: int) -> bool:
    return isinstance(place, int) and not isinstance(place, bool) and 0 <= place < end


def _replaces(new: Demand, old: Demand) -> bool:
    """Whether a demand takes the place of an older one: numbers and names have one value."""
    single = new.kind in ("n_select", "n_per_class", "bias", "redundancy", "rename")
    return single and (new.kind, new.feature) == (old.kind, old.feature)
