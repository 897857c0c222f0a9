"""What a subscriber's summary must say, and the table of all of them."""

import dataclasses
import functools
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import waiting  # noqa: E402

wait_until = functools.partial(waiting.wait_until, limit=180, pause=0.05)


class Failed(AssertionError):
    """An outcome other than the expected one."""


def expect(condition, what):
    if not condition:
        raise Failed(what)


@dataclasses.dataclass
class Row:
    link: str
    topology: str
    subscriber: str
    summary: dict


def whole(summary):
    """Each sample between the first and the last was received once, or is known to be lost."""
    expect(summary["samples"] > 0, f"nothing was received: {summary}")
    if summary["segments"] == 1:
        span = summary["seq_last"] - summary["seq_first"] + 1
        expect(summary["samples"] + summary["dropped"] == span,
               f"{summary['samples']} received and {summary['dropped']} lost are not the {span} of the range: {summary}")
    expect(summary["repeated"] == 0, f"samples came twice: {summary}")
    age = summary["age_ms"]
    expect(0 <= age["mean"] <= age["max"], f"ages: {summary}")
    expect(sum(summary["age_hist"].values()) > 0, f"no ages: {summary}")


def received(summary, samples, dropped=0, segments=1):
    """At least so many samples, all there are between the first and the last."""
    whole(summary)
    expect(summary["dropped"] == dropped, f"{summary['dropped']} samples were lost, not {dropped}: {summary}")
    expect(summary["segments"] == segments, f"{summary['segments']} segments, not {segments}: {summary}")
    expect(summary["samples"] >= samples, f"{summary['samples']} samples, not {samples} or more: {summary}")


HEAD = ("link", "topology", "subscriber", "received", "seq", "dropped %", "age ms avg / max",
        "hist ms <=0.5 / 1 / 5 / 10 / more")


def table(rows):
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * 3 + "--:|" * (len(HEAD) - 3)]
    for row in rows:
        s = row.summary
        age, hist = s["age_ms"], s["age_hist"]
        cells = (row.link, row.topology, row.subscriber, s["samples"], f"{s['seq_first']}..{s['seq_last']}",
                 f"{s['dropped_pct']:.3g}", f"{age['mean']:.3f} / {age['max']:.3f}",
                 " / ".join(str(hist[k]) for k in ("le_0_5", "le_1", "le_5", "le_10", "gt_10")))
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)
