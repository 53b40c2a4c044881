"""The frame of every file that is read in a browser: all it needs is in it, nothing is loaded."""

from html import escape
from importlib.resources import files


def document(title: str, body: str) -> str:
    style = "".join(
        files("bats.master.report").joinpath(name).read_text()
        for name in ("charts.css", "report.css")
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>"
        f"{body}</main></body></html>\n"
    )
