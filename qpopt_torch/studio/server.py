"""The server: what the page asks for, behind a token and for this machine alone."""

from __future__ import annotations

import json
import secrets
from asyncio import to_thread
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from qpopt import QpoptError
from qpopt_torch.studio.api import Studio
from qpopt_torch.studio.own_samples import OwnSamples

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MOST_JSON, MOST_UPLOAD = 100_000, 25_000_000
"""Bytes of what the page may send."""
HEARTBEAT = 10.0
"""Seconds after which a connection is told that it lives, though nothing has changed."""
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Refused(Exception):
    """A request that is not answered, with the status that says so."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


Answer = Callable[["Request"], Awaitable["Response"]]


def application(
    studio: Studio, page: str, own: OwnSamples, *, token: str, hosts: set[str]
) -> Starlette:
    """Return the application of a studio.

    Parameters
    ----------
    studio
        Answers.
    page
        The page.
    own
        Decides on pictures and texts that a person gives.
    token
        Stands in every address; without it nothing is found.
    hosts
        The names, with the port, by which this machine may be asked.
    """
    from starlette.applications import Starlette
    from starlette.responses import (
        HTMLResponse,
        JSONResponse,
        PlainTextResponse,
        StreamingResponse,
    )
    from starlette.responses import Response as AnyResponse
    from starlette.routing import Route

    def guarded(answer: Answer) -> Answer:
        async def checked(request: Request) -> Response:
            try:
                _check(request, token, hosts)
                response = await answer(request)
            except Refused as error:
                response = JSONResponse({"error": str(error)}, error.status)
            except QpoptError as error:
                response = JSONResponse({"error": str(error)}, 400)
            response.headers.update(HEADERS)
            return response

        return checked

    async def show(request: Request) -> Response:
        return HTMLResponse(page)

    async def state(request: Request) -> Response:
        return JSONResponse(studio.session.snapshot())

    async def events(request: Request) -> Response:
        return StreamingResponse(_follow(studio, request), media_type="text/event-stream")

    async def act(request: Request) -> Response:
        wanted = _json(await _body(request, MOST_JSON))
        told = await to_thread(studio.act, wanted)
        return JSONResponse({**told, "version": studio.session.version})

    async def compare(request: Request) -> Response:
        before, after = (_number(request, name) for name in ("before", "after"))
        return JSONResponse(studio.session.compare(before, after))

    async def export(request: Request) -> Response:
        kind = request.path_params["kind"]
        if kind in ("python", "command"):
            return PlainTextResponse(studio.export(kind))
        if kind == "instance":
            content = await to_thread(_instance, studio)
            named = {"Content-Disposition": "attachment; filename=instance.npz"}
            return AnyResponse(content, media_type="application/octet-stream", headers=named)
        raise Refused(404, "There is no such export.")

    async def picture(request: Request) -> Response:
        body = await _body(request, MOST_UPLOAD)
        return JSONResponse(await to_thread(own.decide, body))

    async def text(request: Request) -> Response:
        given = _json(await _body(request, MOST_JSON))
        return JSONResponse(await to_thread(own.decide_text, given))

    routes = [
        Route("/{token}/", guarded(show)),
        Route("/{token}/state", guarded(state)),
        Route("/{token}/events", guarded(events)),
        Route("/{token}/compare", guarded(compare)),
        Route("/{token}/export/{kind}", guarded(export)),
        Route("/{token}/act", guarded(act), methods=["POST"]),
        Route("/{token}/picture", guarded(picture), methods=["POST"]),
        Route("/{token}/text", guarded(text), methods=["POST"]),
    ]
    return Starlette(routes=routes)


def _check(request: Request, token: str, hosts: set[str]) -> None:
    """Let a request pass that knows the token, names this machine and comes from our own page."""
    if not secrets.compare_digest(request.path_params["token"].encode(), token.encode()):
        raise Refused(404, "Not found.")
    if request.headers.get("host") not in hosts:
        raise Refused(403, "The studio answers to this machine only.")
    origin = request.headers.get("origin")
    own = {f"http://{host}" for host in hosts}
    site = request.headers.get("sec-fetch-site", "same-origin")
    if (origin is not None and origin not in own) or site not in ("same-origin", "none"):
        raise Refused(403, "The studio answers its own page only.")


async def _body(request: Request, most: int) -> bytes:
    """Read what was sent, and no more than is allowed."""
    from starlette.requests import ClientDisconnect

    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > most:
                raise Refused(413, f"That is more than {most:,} bytes.")
            parts.append(part)
    except ClientDisconnect:
        raise Refused(400, "The connection was lost.") from None
    return b"".join(parts)


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "That is not JSON.") from None


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    if not text.isdecimal() or len(text) > 9:
        raise Refused(400, f"{name} must be a number.")
    return int(text)


def _instance(studio: Studio) -> bytes:
    """Return the file of the instance that is wanted."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "instance.npz"
        studio.wanted().save(file)
        return file.read_bytes()


async def _follow(studio: Studio, request: Request) -> AsyncIterator[str]:
    """Yield everything that the page shows, whenever it has changed."""
    version = -1
    while not (studio.session.closed or await request.is_disconnected()):
        if await to_thread(studio.session.wait, version, HEARTBEAT):
            snapshot = studio.session.snapshot()
            version = snapshot["version"]
            yield f"data: {json.dumps(snapshot)}\n\n"
        else:
            yield ": still here\n\n"
