"""In front of moto's EC2: what a provisioner's tests need and moto lacks.

RunInstances        honours MaxCount (moto starts MinCount) and repeats the answer to a ClientToken
GetConsoleOutput    what the machine really wrote
DescribeSpotInstanceRequests   those of instances that a test has interrupted (see ec2_machines.py)
prices              DescribeSpotPriceHistory and the Pricing API (see ec2_prices.py)
STATE/faults.json   errors to answer with, read at every call:
    [{"action": "RunInstances", "code": "InsufficientInstanceCapacity", "times": 2,
      "match": {"InstanceType": "p4d*"}, "http": 500, "message": "..."}]
"""

import fnmatch
import io
import json
import threading
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode
from xml.sax.saxutils import escape

from ec2_prices import Prices
from moto.server import DomainDispatcherApplication, create_backend_app

NAMESPACE = 'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"'
Environ = dict[str, Any]
Start = Callable[..., Any]


class Api:
    def __init__(self, state: Path, lock: threading.RLock) -> None:
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.prices = Prices(state / "prices.json")
        self.faults = Faults(state / "faults.json")
        self.machines = state / "i"
        self.lock = lock
        self.answers: dict[tuple[str, str], tuple[tuple[Any, ...], bytes]] = {}

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        target = environ.get("HTTP_X_AMZ_TARGET", "")
        if target.startswith("AWSPriceListService."):
            asked = json.loads(environ["wsgi.input"].read(length) or b"{}")
            answer = json.dumps(self.prices.pricing_api(target.partition(".")[2], asked))
            return reply(start, "200 OK", answer, "application/x-amz-json-1.1")
        authorization = environ.get("HTTP_AUTHORIZATION", "")
        form_encoded = environ.get("CONTENT_TYPE", "").startswith("application/x-www-form")
        if "/ec2/" not in authorization or not form_encoded:
            return self.moto(environ, start)
        region = authorization.split("/ec2/")[0].rpartition("/")[2]
        form = dict(parse_qsl(environ["wsgi.input"].read(length).decode(), keep_blank_values=True))
        return self.ec2(environ, start, region, form)

    def ec2(
        self, environ: Environ, start: Start, region: str, form: dict[str, str]
    ) -> Iterable[bytes]:
        action = form.get("Action", "")
        with self.lock:
            if fault := self.faults.due(action, form):
                return refuse(start, fault)
            if action == "DescribeSpotPriceHistory":
                return reply(start, "200 OK", self.prices.spot_history(form, region), "text/xml")
            if action == "GetConsoleOutput":
                return reply(start, "200 OK", self.console(form["InstanceId"]), "text/xml")
            if action == "DescribeSpotInstanceRequests":
                return reply(start, "200 OK", self.interrupted(), "text/xml")
            key = (region, form.get("ClientToken", ""))
            if action == "RunInstances":
                form["MinCount"] = form.get("MaxCount") or form.get("MinCount") or "1"
                if key in self.answers:
                    head, body = self.answers[key]
                    start(*head)
                    return [body]
            sent = urlencode(form).encode()
            environ |= {"wsgi.input": io.BytesIO(sent), "CONTENT_LENGTH": str(len(sent))}
            heads: list[tuple[Any, ...]] = []
            body = b"".join(self.moto(environ, lambda *head: heads.append(head)))
            if action == "RunInstances" and key[1] and heads[0][0].startswith("200"):
                self.answers[key] = heads[0], body
        start(*heads[0])
        return [body]

    def console(self, instance: str) -> str:
        file = self.machines / instance / "console.log"
        text = b64encode(file.read_bytes()[-65536:] if file.exists() else b"").decode()
        return (
            f'<?xml version="1.0"?><GetConsoleOutputResponse {NAMESPACE}>'
            f"<instanceId>{instance}</instanceId><output>{text}</output></GetConsoleOutputResponse>"
        )

    def interrupted(self) -> str:
        items = "".join(
            f"<item><instanceId>{notice.parent.name}</instanceId><status>"
            "<code>marked-for-termination</code></status></item>"
            for notice in self.machines.glob("*/interrupt")
        )
        return (
            f'<?xml version="1.0"?><DescribeSpotInstanceRequestsResponse {NAMESPACE}>'
            f"<spotInstanceRequestSet>{items}</spotInstanceRequestSet>"
            "</DescribeSpotInstanceRequestsResponse>"
        )


class Faults:
    """Wrong answers that tests asked for; `times` is counted down until the file changes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.text = ""
        self.left: list[dict[str, Any]] = []

    def due(self, action: str, form: dict[str, str]) -> dict[str, Any] | None:
        text = self.file.read_text() if self.file.exists() else "[]"
        if text != self.text:
            self.text, self.left = text, json.loads(text)
        for fault in self.left:
            if (
                fault["action"] in (action, "*")
                and fault.setdefault("times", 1) > 0
                and all(
                    fnmatch.fnmatch(form.get(name, ""), pattern)
                    for name, pattern in fault.get("match", {}).items()
                )
            ):
                fault["times"] -= 1
                return fault
        return None


def refuse(start: Start, fault: dict[str, Any]) -> list[bytes]:
    message = escape(fault.get("message", "injected by the test"))
    body = (
        f'<?xml version="1.0"?><Response><Errors><Error><Code>{escape(fault["code"])}</Code>'
        f"<Message>{message}</Message></Error></Errors>"
        f"<RequestID>{uuid.uuid4()}</RequestID></Response>"
    )
    return reply(start, f"{fault.get('http', 400)} Injected", body, "text/xml")


def reply(start: Start, status: str, body: str, kind: str) -> list[bytes]:
    data = body.encode()
    start(status, [("Content-Type", kind), ("Content-Length", str(len(data)))])
    return [data]
