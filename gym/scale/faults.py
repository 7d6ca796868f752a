"""The faults, as people make them: where each applies, its strengths from invisible to fatal, and what is true of it.

A fault acts on settings, data, model or loop. No logged number is touched.
"""

from dataclasses import dataclass, field

REGISTRY = {}

BLOWUP = (
    "loss/divergence,grad/explosion,loss/non-finite,grad/non-finite,loss/not-decreasing,loss/oscillation,loss/spike,"
    "grad/unstable,loss/at-chance,loss/plateau"
)
FLAT = "loss/not-decreasing,loss/at-chance,loss/plateau"
NAN = "loss/non-finite,grad/non-finite"


@dataclass(frozen=True)
class Fault:
    name: str
    strengths: tuple  # from invisible to fatal
    findings: str  # comma list: any one is right
    causes: str  # comma list: the true one first, then those that files cannot tell from it
    apply: object
    stage: str = "settings"
    onset: bool = False
    needs: frozenset = field(default_factory=frozenset)  # any of these tags; empty: every task
    models: tuple = ()  # substrings of the model's name; empty: all
    base: object = None  # (settings, rng, strength): what the healthy twin must have too
    shows: tuple = ()  # series without which nobody could see it
    judge: str = "score"  # score, memory, time, outliers
    excludes: frozenset = field(default_factory=frozenset)

    def fits(self, task, model):
        tags = task.tags
        if self.needs and not (self.needs & tags):
            return False
        if self.excludes & tags:
            return False
        return not self.models or any(m in model for m in self.models)


def fault(name, strengths, findings, causes, **more):
    for key in ("needs", "excludes"):
        if key in more:
            more[key] = frozenset(more[key])

    def register(function):
        REGISTRY[name] = Fault(name, strengths, findings, causes, function, **more)
        return function

    return register


def load():
    """All faults. Imported late, so that the planner needs no torch."""
    import faults_data  # noqa: F401
    import faults_model  # noqa: F401
    import faults_special  # noqa: F401
    import faults_training  # noqa: F401

    return REGISTRY
