"""A page of a real browser, driven over the DevTools protocol."""

import asyncio
import base64
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

PHONE = (390, 844)
DESKTOP = (1280, 900)
MIDDLE = """new Promise((tell) => {
  const it = document.querySelector(%s);
  if (!it || it.disabled) return tell(null);
  it.scrollIntoView({block: 'center'});
  const before = it.getBoundingClientRect();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const now = it.getBoundingClientRect();
    const middle = [now.x + now.width / 2, now.y + now.height / 2];
    const rests = now.x === before.x && now.y === before.y;
    tell(rests && it.contains(document.elementFromPoint(...middle)) ? middle : null);
  }));
})"""


class PageError(AssertionError):
    """An error that the page's own script threw."""


class Page:
    """One tab, with cookies of its own."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._open: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._session = ""
        self._loaded = asyncio.Event()
        self._bytes = 0
        self._trace: list[dict[str, Any]] = []
        self._traced = asyncio.Event()
        self.complaints: list[str] = []  # exceptions, refused content, errors on the console
        self.requested: list[str] = []
        self._hearing = asyncio.create_task(self._hear())

    async def __call__(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        await self._socket.send_str(json.dumps(message))
        async with asyncio.timeout(60):  # the machine may be busy
            return await answer

    @property
    def transferred(self) -> int:
        """Bytes that came over the wire."""
        return self._bytes

    async def attach(self, context: str) -> None:
        target = await self("Target.createTarget", url="about:blank", browserContextId=context)
        attached = await self("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Performance"):
            await self(f"{domain}.enable")

    async def open(self, url: str) -> float:
        """Returns the seconds until it was loaded."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._loaded.clear()
        await self("Page.navigate", url=url)
        async with asyncio.timeout(20):
            await self._loaded.wait()
        return loop.time() - began

    async def dress(self, size: tuple[int, int], scheme: str = "light") -> None:
        """Make it so wide and high, light or dark."""
        await self(
            "Emulation.setDeviceMetricsOverride",
            width=size[0], height=size[1], deviceScaleFactor=1, mobile=size[0] < 600,
        )  # fmt: skip
        await self(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )

    async def js(self, expression: str) -> Any:
        """The value of an expression in the page; promises are waited for."""
        answer = await self(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if details := answer.get("exceptionDetails"):
            raise PageError(json.dumps(details)[:2000])
        return answer["result"].get("value")

    async def becomes(self, expression: str, seconds: float = 60.0) -> Any:
        """Its value as soon as it is true."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while not (seen := await self.js(expression)):
            if loop.time() > ends:
                words = await self.js("document.body.innerText")
                raise AssertionError(f"not within {seconds:g} s: {expression}\n{words}")
            await asyncio.sleep(0.02)
        return seen

    async def shows(self, selector: str, seconds: float = 60.0) -> None:
        """Wait until there is something like this to be seen."""
        found = f"document.querySelector({json.dumps(selector)})"
        await self.becomes(f"({found}?.getClientRects().length ?? 0) > 0", seconds)

    async def click(self, selector: str) -> None:
        """With the mouse, at its middle, once it rests and nothing lies over it."""
        place = await self.becomes(MIDDLE % json.dumps(selector))
        for kind in ("mousePressed", "mouseReleased"):
            await self(
                "Input.dispatchMouseEvent",
                type=kind, x=place[0], y=place[1], button="left", clickCount=1,
            )  # fmt: skip

    async def write(self, text: str) -> None:
        """Type where the focus is."""
        await self("Input.insertText", text=text)

    async def picture(self) -> bytes:
        """The page as it is seen now, as PNG."""
        answer = await self("Page.captureScreenshot", format="png")
        return base64.b64decode(answer["data"])

    async def memory_bytes(self) -> float:
        """The bytes that its script holds on to, after it has been tidied up."""
        await self("HeapProfiler.collectGarbage")
        answer = await self("Performance.getMetrics")
        return float(next(m["value"] for m in answer["metrics"] if m["name"] == "JSHeapUsedSize"))

    @asynccontextmanager
    async def traced(self) -> AsyncIterator[list[dict[str, Any]]]:
        """Events of the browser's trace meanwhile; they are in the list after the block."""
        self._trace = []
        self._traced.clear()
        config = {"includedCategories": ["toplevel", "devtools.timeline"]}
        await self("Tracing.start", transferMode="ReportEvents", traceConfig=config)
        yield self._trace
        await self("Tracing.end")
        await self._traced.wait()

    async def _hear(self) -> None:
        async for heard in self._socket:
            message = json.loads(heard.data)
            if waiting := self._open.pop(message.get("id", 0), None):
                if "error" in message:
                    waiting.set_exception(PageError(str(message["error"])))
                else:
                    waiting.set_result(message["result"])
            else:
                self._event(message.get("method", ""), message.get("params", {}))

    def _event(self, method: str, told: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded.set()
        elif method == "Tracing.dataCollected":
            self._trace.extend(told["value"])
        elif method == "Tracing.tracingComplete":
            self._traced.set()
        elif method == "Network.loadingFinished":
            self._bytes += int(told["encodedDataLength"])
        elif method == "Network.requestWillBeSent":
            self.requested.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(told["exceptionDetails"])[:1000])
        elif method == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.complaints.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")

    async def end(self) -> None:
        self._hearing.cancel()
        await asyncio.gather(self._hearing, return_exceptions=True)


async def serious_faults(page: Page, axe: str) -> list[dict[str, Any]]:
    """Faults that the accessibility checker axe-core, its script given, finds in this page."""
    await page.js(axe)
    found = await page.js(
        "axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))"
        ".map(v => ({id: v.id, nodes: v.nodes.map(n => n.html + ' ' + n.failureSummary)})))"
    )
    assert isinstance(found, list)
    return found


@asynccontextmanager
async def opened(devtools: str) -> AsyncIterator[Page]:
    """A tab in the browser at this address, closed in the end."""
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{devtools}/json/version") as answer:
            address = (await answer.json())["webSocketDebuggerUrl"]
        async with session.ws_connect(address, max_msg_size=0) as socket:
            page = Page(socket)
            context = (await page("Target.createBrowserContext", disposeOnDetach=True))[
                "browserContextId"
            ]
            try:
                await page.attach(context)
                yield page
            finally:
                await page.end()
