"""The list of runs: groups of a trainer, each led by the healthy run that its faults are measured against."""

from dataclasses import dataclass, field


@dataclass
class Row:
    path: str
    env: str
    script: str
    fault: str
    settings: str
    twin: str
    onset: str = ""
    how: str = ""  # "torchrun", "shell": what starts the process
    note: str = ""
    parts: list = field(default_factory=lambda: [""])  # settings of each start of the process
    name: str = ""  # of the fault in the labels, where it differs
    expect: str = ""
    cause: str = ""
    chance: float = 0.0


def group(trainer, env, script, common, *variants):
    """Rows of a trainer. A variant: (name, settings, options); the name is the fault where none is given."""
    made = []
    for name, settings, *more in variants:
        options = dict(more[0]) if more else {}
        fault = options.pop("fault", "healthy" if name.startswith("healthy") else name)
        words = f"{common} {settings}"
        onset = dict(w.split("=", 1) for w in words.split()).get("onset", "")
        if onset and fault != "healthy":
            options.setdefault("onset", str(int(onset) + 1))
        made.append(Row(f"{trainer}/{name}", env, script, fault, words, f"{trainer}/{variants[0][0]}", **options))
    return made


def loop(trainer, common, *variants):
    return group(trainer, "fresh", "loop", common, *variants)


def rows():
    import lists

    return [row for part in lists.ALL for row in part]
