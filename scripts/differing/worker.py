"""Runs one version of the engine: reads jobs, one per line, and writes their results, one per line.

It runs with the `addon` directory of that version on the path, so it must know both the old and the new module of
everything that the rebuild has moved.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
from itertools import accumulate, pairwise
from typing import Any

Job = dict[str, Any]

PLACES: dict[str, tuple[tuple[str, str], ...]] = {
    "Response": (("toolcalls.engine", "Response"), ("toolcalls.engine", "Answer")),
    "ResponsesSocket": (("toolcalls.websocket", "ResponsesSocket"),),
    "mend_whole": (("toolcalls.engine", "mend_whole"),),
    "recovered": (("toolcalls.engine", "recovered"),),
    "read_request": (
        ("toolcalls.request.request", "read_request"),
        ("toolcalls.request.request", "read_question"),
        ("toolcalls.request", "read_question"),
    ),
    "decode": (("toolcalls.request.request", "decode"), ("toolcalls.request", "decode")),
    "seed_of": (("toolcalls.request.request", "seed_of"), ("toolcalls.request", "seed_of")),
    "mend_request": (("toolcalls.request.mend", "mend_request"), ("toolcalls.history", "mend_request")),
    "Refusals": (("toolcalls.request.refusals", "Refusals"), ("toolcalls.history", "Refusals")),
    "options": (("toolcalls.policy", "read_options"),),
    "policy": (("toolcalls.policy", "make_policy"),),
    "defaults": (("toolcalls.policy", "OPTIONS"),),
}
"""The module and name of each thing, the newest first."""


def find(name: str) -> Any:
    for module, attribute in PLACES[name]:
        try:
            return getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError):
            continue
    raise SystemExit(f"this version of the engine has no {name}: add its place to {__file__}")


def policy_of(options: dict[str, str]) -> Any:
    texts = {option.full_name: option.default for option in find("defaults")}
    return find("policy")(find("options")({**texts, **options}))


def answer(job: Job) -> Any:
    asked = job["request"].encode("utf-8", "surrogatepass")
    question = find("read_request")(find("decode")(asked))
    body, policy, seed = (
        base64.b64decode(job["body"]),
        policy_of(job["set"]),
        job.get("seed") or find("seed_of")(asked),
    )
    if job.get("status", 200) >= 400:
        return [base64.b64encode(_instead_of_error(job["protocol"], question, policy, body, seed)).decode("ascii")]
    response = find("Response")(job["protocol"], question, policy, seed=seed)
    return [
        base64.b64encode(_fed(response, body, job)).decode("ascii"),
        [outcome.as_json() for outcome in response.outcomes],
        repr(response.failure),
        response.limited,
    ]


def _instead_of_error(protocol: str, question: Any, policy: Any, body: bytes, seed: str) -> bytes:
    """What the client gets instead of a response with an error."""
    if hasattr(importlib.import_module("toolcalls.engine"), "recovered"):
        error = find("recovered")(protocol, question, policy, body, seed)
        return bytes(error.body if error else body)
    return bytes(find("mend_whole")(find("Response")(protocol, question, policy, is_error=True, seed=seed), body))


def _fed(response: Any, body: bytes, job: Job) -> bytes:
    """What the client gets of a body: in pieces of one size, or of the sizes `cuts`. `open`: its end never came."""
    if "cuts" not in job and not job.get("open"):
        return bytes(find("mend_whole")(response, body, job["size"]))
    sizes = job.get("cuts") or [job["size"] or len(body)] * len(body)
    ends = [0, *accumulate(sizes)]
    out = [sent for start, end in pairwise(ends) if start < len(body) for sent in response.feed(body[start:end])]
    return b"".join(out if job.get("open") else [*out, *response.close()])


def socket(job: Job) -> Any:
    connection = find("ResponsesSocket")(policy_of(job["set"]))
    told: list[Any] = []
    for from_client, text in job["messages"]:
        if from_client:
            told.append(connection.client_message(text))
        else:
            told += [*connection.server_message(text), getattr(connection, "response", connection).holding]
    return [told, [outcome.as_json() for outcome in connection.outcomes], repr(connection.failure)]


def request(job: Job) -> Any:
    body = base64.b64decode(job["body"])
    refusals = find("Refusals")()
    changed = find("mend_request")(job["protocol"], body, find("decode")(body), policy_of(job["set"]), refusals)
    return None if changed is None else [base64.b64encode(changed.body).decode("ascii"), str(changed)]


def main() -> None:
    do = {"answer": answer, "request": request, "socket": socket}
    for line in sys.stdin:
        job = json.loads(line)
        try:
            out = do[job["kind"]](job)
        except Exception as error:
            out = f"raised {error!r}"
        sys.stdout.write(json.dumps(out) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
