"""The page that every report is shown on: one file, nothing loaded, all text escaped.

A page is light or dark as its reader's system is, fits a phone, and prints.
"""

from __future__ import annotations

import datetime
import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from rich.table import Table

from ._tacit import __version__

STYLE = """
:root{color-scheme:light dark;--back:#fff;--ink:#1b1f24;--soft:#5b6470;--line:#d9dee4;
--card:#f5f7f9;--main:#2b6cb0;--second:#b8500b;--third:#187a55;--fourth:#9c3587;
--warn:#9a4a00;--warned:#fff4e5}
@media (prefers-color-scheme:dark){:root{--back:#14171b;--ink:#e8eaed;--soft:#a3acb7;
--line:#353c45;--card:#1d2229;--main:#6db0ec;--second:#f0a35e;--third:#5fc9a0;
--fourth:#e295d1;--warn:#ffb766;--warned:#2c2112}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--ink);
font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif}
main{max-width:62rem;margin:0 auto;padding:2rem 1.25rem 3rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.25rem 0 .6rem}
p{margin:.4rem 0;max-width:46rem;overflow-wrap:anywhere}
.soft,figcaption,caption,footer,dt{color:var(--soft)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));gap:.75rem;
margin:1.5rem 0}
.figures div{background:var(--card);border:1px solid var(--line);border-radius:.6rem;
padding:.8rem 1rem}
.figures dt{font-size:.85rem}
.figures dd{margin:0;font-size:1.3rem;font-weight:600;white-space:nowrap;
font-variant-numeric:tabular-nums}
.warnings{background:var(--warned);border-left:.3rem solid var(--warn);padding:.5rem 1rem;
border-radius:.25rem}
.warnings p{max-width:none}
.warnings strong{color:var(--warn)}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));
gap:1.5rem 2.5rem}
.wide{overflow-x:auto;background:
linear-gradient(var(--back),var(--back)) 100% 0/1rem 100% no-repeat local,
linear-gradient(90deg,transparent,var(--line)) 100% 0/1rem 100% no-repeat scroll}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.92rem}
caption{text-align:left;padding-bottom:.3rem}
th,td{padding:.3rem .9rem .3rem 0;text-align:left;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:break-word}
th{font-weight:600}
.number{text-align:right}
td.number,td.whole{white-space:nowrap}
.bars{width:100%;table-layout:fixed}
.bars th{font-weight:400;width:34%;padding-right:.6rem;overflow-wrap:anywhere}
.bars td:last-child{width:24%;text-align:right;padding-right:0;white-space:nowrap}
.bars td{vertical-align:middle}
.bars svg{display:block;width:100%;height:.8rem;fill:var(--main)}
.matrix th,.matrix td{padding:.25rem .55rem;text-align:center;border:1px solid var(--line);
max-width:9rem}
.matrix td{background:color-mix(in srgb,var(--main) calc(var(--share)*70%),transparent)}
.matrix .right{outline:2px solid var(--main);outline-offset:-2px}
figure{margin:0 0 1.5rem;max-width:30rem}
.curve{display:block;width:100%;height:auto;font-size:14px;fill:currentColor}
.curve .axis,.level{stroke:var(--soft)}
.curve .grid{stroke:var(--line);stroke-opacity:1}
.of0{--of:var(--main)}.of1{--of:var(--second)}.of2{--of:var(--third)}.of3{--of:var(--fourth)}
.line,.mark{stroke:var(--of)}
.mark.full{fill:var(--of)}
.legend{display:flex;flex-wrap:wrap;gap:.1rem 1.2rem;font-size:.85rem}
.legend span{display:inline-flex;align-items:center;gap:.5rem}
.piece{flex:none}
.pair figure{margin:0}
details{margin-top:1rem}
summary{cursor:pointer;font-weight:600}
footer{margin-top:2.5rem;padding-top:.8rem;border-top:1px solid var(--line);font-size:.85rem}
@media (max-width:32rem){main{padding:1.25rem 1.25rem 2rem}.curve{font-size:18px}
.figures{grid-template-columns:repeat(auto-fit,minmax(8rem,1fr))}
.figures div{padding:.6rem .8rem}.figures dd{font-size:1.15rem}
th,td{padding-right:.7rem}.matrix{font-size:.8rem}.matrix th,.matrix td{padding:.2rem .25rem}
.bars th{width:30%}.bars td:last-child{width:34%}}
@media print{:root{--back:#fff;--ink:#000;--soft:#444;--line:#bbb;--card:#fff;--main:#2b6cb0;
--second:#b8500b;--third:#187a55;--fourth:#9c3587;--warn:#9a4a00;--warned:#fff}
html{font-size:9.5pt}body{print-color-adjust:exact;-webkit-print-color-adjust:exact}
main{max-width:none;padding:0}.pair{grid-template-columns:1fr 1fr}
.bars,.matrix,figure,tr,.figures div,.warnings{break-inside:avoid}
h2,caption,summary{break-after:avoid}.wide{overflow:visible;background:none}
details::details-content{content-visibility:visible;block-size:auto}summary{list-style:none}}
"""

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Lets a browser run and load nothing, whatever stands in a page."""


@dataclass
class Page:
    """What stands on a page; every text is plain, and escaped when the page is made.

    Attributes
    ----------
    title : str
        What was done.
    lead : list of str
        Between whom and how, a paragraph each.
    figures : list of (str, str)
        The few numbers that count: what each is, and its value.
    warnings : list of str
        What its reader must know.
    sections : list of (str, str)
        Headings and what stands below, which is HTML that this package made.
    made : datetime.datetime
        When.
    """

    title: str
    lead: list[str] = field(default_factory=list[str])
    figures: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    warnings: list[str] = field(default_factory=list[str])
    sections: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    made: datetime.datetime = field(default_factory=lambda: datetime.datetime.now().astimezone())

    def add(self, heading: str, *parts: str) -> None:
        """Adds a section, if anything stands in it."""
        if any(parts):
            self.sections.append((heading, "".join(parts)))

    def render(self) -> str:
        """The page as the content of one HTML file."""
        title, made = html.escape(self.title), f"{self.made:%d %B %Y, %H:%M %Z}".strip()
        body = [f'<header><p class="soft">{html.escape(made)}</p><h1>{title}</h1>']
        body += [f"<p>{html.escape(text)}</p>" for text in self.lead]
        body.append("</header>")
        if self.figures:
            cards = (
                f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>"
                for name, value in self.figures
            )
            body.append(f'<dl class="figures">{"".join(cards)}</dl>')
        if self.warnings:
            told = "".join(f"<p>{html.escape(text)}</p>" for text in self.warnings)
            body.append(f'<div class="warnings" role="note"><strong>Warnings</strong>{told}</div>')
        for heading, content in self.sections:
            body.append(f"<section><h2>{html.escape(heading)}</h2>{content}</section>")
        body.append(f"<footer>Tacit {html.escape(__version__)}, {html.escape(made)}</footer>")
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{title}</title><style>{STYLE}</style></head>\n"
            f"<body><main>{''.join(body)}</main></body></html>\n"
        )


def paragraph(text: str) -> str:
    """A paragraph of a page, its text escaped."""
    return f"<p>{html.escape(text)}</p>"


def table(
    headers: Sequence[str],
    lines: Iterable[Sequence[str]],
    caption: str = "",
    kinds: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """A table with a line of headers, unless all are empty.

    Columns are of `kinds` by their places: `number`, or `whole` where words stay on one line.
    """

    def row(tag: str, cells: Sequence[str], more: str = "") -> str:
        made = ""
        for at, cell in enumerate(cells):
            kind = f' class="{kinds[at]}"' if at in kinds else ""
            made += f"<{tag}{more}{kind}>{html.escape(cell)}</{tag}>"
        return made

    heads = row("th", headers, ' scope="col"')
    head = f"<thead><tr>{heads}</tr></thead>" if any(headers) else ""
    # No caption element, which would be as wide as its table and scroll with it.
    told = f'<p class="soft">{html.escape(caption)}</p>' if caption else ""
    named = f' aria-label="{html.escape(caption)}"' if caption else ""
    body = "".join(f"<tr>{row('td', line)}</tr>" for line in lines)
    return f'{told}<div class="wide"><table{named}>{head}<tbody>{body}</tbody></table></div>'


def rich_table(made: Table, title: str | None = None) -> str:
    """A table of the screen, with its title, or another, and its caption."""
    headers = [str(column.header).replace("\n", " ") for column in made.columns]
    columns = [[str(cell) for cell in column.cells] for column in made.columns]
    below = paragraph(str(made.caption)) if made.caption else ""
    told = str(made.title or "") if title is None else title
    kinds = {at: "whole" for at, column in enumerate(made.columns) if column.no_wrap}
    kinds |= {at: "number" for at, column in enumerate(made.columns) if column.justify == "right"}
    return table(headers, zip(*columns, strict=True), told, kinds) + below


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, one pair a line."""
    lines = (
        f'<tr><th scope="row">{html.escape(name)}</th><td>{html.escape(value)}</td></tr>'
        for name, value in pairs
    )
    return f'<div class="wide"><table><tbody>{"".join(lines)}</tbody></table></div>'


def pair(*parts: str) -> str:
    """Parts beside each other where there is room, below each other where there is not."""
    if not parts:
        return ""
    return f'<div class="pair">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def folded(summary: str, content: str) -> str:
    """What is shown when its reader asks for it."""
    return f"<details><summary>{html.escape(summary)}</summary>{content}</details>"
