"""An optimiser as a card in a notebook: small, by itself, and without a search."""

from html import escape

import numpy as np

from uncubed._shown import Study, best_so_far, decimate, short, visible

_WIDTH, _HEIGHT, _MOST = 240, 56, 120  # of the drawing in pixels, and its most points
_CARD = "display:inline-block;border:1px solid #8888;border-radius:6px;padding:8px 12px;font-size:90%"
_NAME = "text-align:left;vertical-align:top;padding:1px 12px 1px 0;font-weight:600"


def html(opt: Study) -> str:
    """What is known, and a drawing of how it came; from the last milestone, so that it costs no search."""
    rows = {
        "evaluations": f"{opt.evaluations:,}" + (f", of which {len(opt.failures):,} failed" if opt.failures else ""),
        "model order": f"{opt.model_order:,}",
        **_best(opt),
        **_certified(opt),
    }
    cells = "".join(
        f'<tr><th style="{_NAME}">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows.items()
    )
    return (
        f'<div class="tex2jax_ignore mathjax_ignore" style="{_CARD}">'
        f"<div><b>uncubed</b> {escape(opt.direction)}</div>{_sparkline(opt)}"
        f'<table style="border-collapse:collapse;margin:0">{cells}</table></div>'
    )


def _best(opt: Study) -> dict[str, str]:
    if not len(opt.log.values):
        return {"best": "no value told yet"}
    best = opt.best
    params = ", ".join(f"{short(name, 40)} = {short(value, 40)}" for name, value in best.params.items())
    return {"best": f"{best.value:.6g} (believed {best.mean:.6g} ± {2 * best.std:.2g})", "at": params}


def _certified(opt: Study) -> dict[str, str]:
    if not opt.milestones:
        return {}
    last = opt.milestones[-1]
    text = f"the optimum is between {last.lower:.6g} and {last.upper:.6g}, as of {last.evaluations:,} evaluations"
    return {"certified": text}


def _sparkline(opt: Study) -> str:
    """The values told as dots, and the best so far."""
    values = opt.log.values
    if len(values) < 2:
        return ""
    low, high = visible(values, opt.direction)
    x = np.arange(len(values), dtype=np.float64)
    across = 3.0 + (_WIDTH - 6.0) * x / x[-1]
    best = best_so_far(values, opt.direction)

    def up(y: float) -> float:
        return _HEIGHT - 3.0 - (_HEIGHT - 6.0) * ((y - low) / (high - low) if high > low else 0.5)

    dots = "".join(
        f'<circle cx="{across[i]:.1f}" cy="{up(values[i]):.1f}" r="1.5"/>'
        for i in decimate(x, values, _MOST)
        if low <= values[i] <= high
    )
    kept = decimate(x, best, _MOST)
    before = np.append(kept[0], kept[:-1])
    line = " ".join(
        f"{across[i]:.1f},{up(best[j]):.1f} {across[i]:.1f},{up(best[i]):.1f}"
        for i, j in zip(kept, before, strict=True)
    )
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" style="display:block;margin:4px 0">'
        f"<title>best value so far</title>"
        f'<g fill="#888" fill-opacity="0.5">{dots}</g>'
        f'<polyline points="{line}" fill="none" stroke="#0072B2" stroke-width="1.6"/></svg>'
    )
