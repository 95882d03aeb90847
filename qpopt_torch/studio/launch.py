"""studio: open a model in the browser."""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import webbrowser
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
from torch import Tensor
from torch.utils.data import default_collate

from qpopt import Instance, InvalidArgument
from qpopt.io import AnyPath
from qpopt_torch.data.own.text import Texts
from qpopt_torch.errors import ModelError
from qpopt_torch.evidence.showing import checked_show, show_of
from qpopt_torch.evidence.weighing import require_sums
from qpopt_torch.network.observation import hooked
from qpopt_torch.pipeline.run_folder import INSTANCE
from qpopt_torch.pipeline.steering import made_instance
from qpopt_torch.report.html import described
from qpopt_torch.sparse.classifier import SparseClassifier
from qpopt_torch.sparse.storage import made_folder
from qpopt_torch.studio.api import Studio, StudioParams
from qpopt_torch.studio.demands import class_sets
from qpopt_torch.studio.own_samples import OwnSamples, Preprocess, Tokenize
from qpopt_torch.studio.pages import page
from qpopt_torch.studio.server import application
from qpopt_torch.studio.session import Session
from qpopt_torch.studio.state import State
from qpopt_torch.studio.work.cache import Cached

HOST = "127.0.0.1"

logger = logging.getLogger("qpopt")


@dataclass
class Opened:
    """A studio that runs; a notebook shows a link to it.

    Parameters
    ----------
    address
        Where its page is, on this machine alone; whoever knows it may steer.
    studio
        What it answers from.
    """

    address: str
    studio: Studio
    _server: Any
    _thread: threading.Thread

    def _repr_html_(self) -> str:
        return f'The studio is open: <a href="{self.address}" target="_blank">{self.address}</a>'

    def close(self) -> None:
        """End the server and its processes."""
        self.studio.session.close()
        self._server.should_exit = True
        self._thread.join()
        self.studio.close()

    def wait(self) -> None:
        """Return when the server ends; Ctrl-C ends it."""
        try:
            self._thread.join()
        except KeyboardInterrupt:
            logger.info("the studio is closed; what was done is in %s", self.studio.session.folder)
        finally:
            self.close()


def open_studio(
    model: SparseClassifier,
    loader: Iterable[Any],
    *,
    instance: Instance | AnyPath | None = None,
    train_loader: Iterable[Any] | None = None,
    folder: AnyPath | None = None,
    port: int = 0,
    browser: bool = True,
    preprocess: Preprocess | None = None,
    tokenize: Tokenize | None = None,
    reading: Mapping[str, Any] | None = None,
    report: Mapping[str, Any] | None = None,
    places: Mapping[str, str | None] | None = None,
    params: StudioParams | None = None,
) -> Opened:
    """Open a model on a local page where it can be steered, and solved again in a second.

    Parameters
    ----------
    model
        The sparse classifier.
    loader
        Validation batches: the report shows their decisions, and answers are measured on them.
    instance
        The instance that the model was made of, or its file, or the folder that `sparsify` filled;
        without it, one more pass over the training batches makes one of the network as it is.
    train_loader
        Training batches, which adapters are trained on; those of `loader` without it, and then
        accuracies are too good.
    folder
        Where everything that is done is kept; a temporary one without it.
    port
        Of the server; 0 takes a free one.
    browser
        Whether to open a browser.
    preprocess
        Makes an input of a PIL image, for pictures of one's own; that of the model without it.
    tokenize
        Makes a batch of a text, for texts of one's own, with any label, as the loader gives it;
        without it, texts are read as the `Texts` of `loader` are.
    reading
        Further arguments of `gather`, such as `to_image` and `class_names`.
    report
        Further arguments of the report, such as `title`.
    places
        `model` and `data`, folders that the exported command names.
    params
        How long the studio works on an answer.
    """
    for needed in ("starlette", "uvicorn"):
        if find_spec(needed) is None:
            raise InvalidArgument(f"The studio needs {needed}: pip install 'qpopt[studio]'.")
    require_sums(model.sparse_head)
    if instance is None:
        instance = made_instance(model, loader if train_loader is None else train_loader)
    base = _instance(instance, model)
    place = made_folder(mkdtemp(prefix="qpopt-studio-") if folder is None else folder)
    given = {"progress": True, **(reading or {})}
    with _received(model) as received:
        found = described(model, loader, train_loader=train_loader, reading=given, **(report or {}))
    features = np.concatenate([part.numpy() for part in received]).astype(np.float32)
    gallery, decisions = found.gallery, found.decisions
    # The samples of the galleries came first, then those of the decisions.
    first = 0 if train_loader is None else gallery.tally.n_samples
    seen = features[first + decisions.places]
    cached = Cached(
        features[gallery.places] if first else seen,
        gallery.labels,
        seen,
        decisions.labels,
        len(gallery.assignment),
    ).thinned()
    cached.save(place)
    session = Session(base, _first(model, base), place)
    studio = Studio(model, session, cached, places=places or {}, params=params or StudioParams())
    names = {int(d): name for d, name in zip(model.selection, gallery.names.features, strict=True)}
    data = getattr(loader, "dataset", None)
    own = preprocess or (model.preprocess if model.record.preprocessing is not None else None)
    words = tokenize or (partial(as_batch, data) if isinstance(data, Texts) else None)
    shown = {"grid": found.values["data"]["grid"], "tokenize": words}
    show = checked_show(given.get("to_image"), given.get("show")) or show_of(data)
    samples = OwnSamples(model, gallery, own, show=show, **shown)
    html = page(found.values, base, names, texts=own is None and words is not None)
    return _served(studio, html, samples, port, browser)


def _served(studio: Studio, html: str, own: OwnSamples, port: int, browser: bool) -> Opened:
    import uvicorn

    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        studio.close()
        raise InvalidArgument(f"Port {port} cannot be used: {error}.") from error
    number, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    hosts = {f"{HOST}:{number}", f"localhost:{number}"}
    made = application(studio, html, own, token=token, hosts=hosts)
    config = uvicorn.Config(
        made, log_level="warning", lifespan="off", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    address = f"http://{HOST}:{number}/{token}/"
    logger.info("the studio is at %s (Ctrl-C closes it)", address)
    if browser:
        webbrowser.open(address)
    return Opened(address, studio, server, thread)


def as_batch(like: Texts, text: str) -> Any:
    """Return a text as a batch of its own, with the words and the length of a data set."""
    return default_collate([Texts([text], [0], like=like)[0]])


def _instance(given: Instance | AnyPath, model: SparseClassifier) -> Instance:
    if not isinstance(given, Instance):
        file = Path(given)
        given = Instance.load(file / INSTANCE if file.is_dir() else file)
    if (given.n_classes, given.n_features) != (model.head.n_classes, model.head.n_features):
        raise ModelError(
            f"The instance has {given.n_classes} classes and {given.n_features} features; the "
            f"model has {model.head.n_classes} and {model.head.n_features}."
        )
    return given


def _first(model: SparseClassifier, base: Instance) -> State:
    """Return the state of the model as it was opened."""
    selection = model.selection.tolist()
    sets = class_sets(selection, model.assignment)
    solved = model.solution
    return State(
        0,
        "The model",
        (),
        len(selection),
        len(sets[0]),
        tuple(selection),
        tuple(map(tuple, sets)),
        base.objective(selection, model.assignment).total,
        None if solved is None else solved.bound,
        "opened",
    )


@contextmanager
def _received(model: SparseClassifier) -> Iterator[list[Tensor]]:
    """Keep what the head of a model receives while the block runs: all features of the network."""
    parts: list[Tensor] = []

    def keep(module: Any, arguments: tuple[Any, ...]) -> None:
        parts.append(arguments[0].detach().flatten(1).float().cpu())

    with hooked({}, {model.sparse_head: keep}):
        yield parts
