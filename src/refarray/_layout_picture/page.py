"""The memory layout picture with the facts of inspect(): as a notebook card and as an HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from refarray._layout_picture.svg import svg, title_of

if TYPE_CHECKING:
    from refarray._inspect import Inspection

CARD = (
    "border:1px solid;border-radius:6px;padding:10px 14px;color:inherit;background:transparent;"
    "overflow-x:auto"
)
FACTS = "border-collapse:collapse;margin-top:8px;font:12px monospace;text-align:left"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
:root {{ color-scheme: light dark; }}
body {{ margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 15px/1.5 sans-serif; }}
h1 {{ font-size: 1.2rem; }} td {{ vertical-align: top; overflow-wrap: anywhere; }}
</style></head><body><h1>{title}</h1>
{card}
</body></html>
"""


def card(found: Inspection) -> str:
    """Return the picture and the facts."""
    rows = "".join(
        f'<tr><td style="padding:1px 14px 1px 0;text-align:left"><b>{escape(name)}</b></td>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in found.facts()
    )
    return f'<div style="{CARD}">{svg(found)}<table style="{FACTS}">{rows}</table></div>'


def page(found: Inspection, expression: str = "") -> str:
    """Return a self-contained page, which loads no other resources."""
    return PAGE.format(title=escape(expression or title_of(found)), card=card(found))
