"""Writes what other tools read, and reads it with their readers: JUnit XML, SARIF, OpenMetrics.

usage: check_exports.py VIGIL RUNS...
VIGIL is the program, RUNS folders with faulty and healthy runs. What each file says must be what `--json` says. Packages
(junitparser, sarif-pydantic, prometheus-client) check the form where they are installed, and jsonschema with the official
schema that VIGIL_SARIF_SCHEMA names (gym/clients/setup.sh fetches it); the structure is checked in any case.
"""

import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

FAILING = ("error", "fatal")  # --fail-on error
LEVELS = {"info": "note", "warning": "warning", "error": "error", "fatal": "error"}
SEVERITIES = {None: 0, "info": 1, "warning": 2, "error": 3, "fatal": 4}


def need(holds, what):
    if not holds:
        sys.exit(f"wrong: {what}")


def optional(name):
    """The package of that name, None when it is absent."""
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        print(f"not run: form of the file by {name}: not installed")
        return None


def check_junit(path, report):
    root = xml.etree.ElementTree.parse(path).getroot()
    need(root.tag == "testsuites", "root of the JUnit file")
    suites = list(root)
    need(sorted(s.get("name") for s in suites) == sorted(r["name"] for r in report["runs"]), "a suite per run")
    failures = 0
    for suite in suites:
        cases = suite.findall("testcase")
        failed = [case for case in cases if case.find("failure") is not None]
        need(int(suite.get("tests")) == len(cases), "number of cases")
        need(int(suite.get("failures")) == len(failed), "number of failures")
        run = next(r for r in report["runs"] if r["name"] == suite.get("name"))
        families = {f["family"] for f in run["findings"] if f["severity"] in FAILING}
        need({case.get("name") for case in failed} == families, f"families that fail in {run['name']}")
        failures += len(failed)
    need(int(root.get("failures")) == failures, "failures in all")
    if package := optional("junitparser"):
        need(package.JUnitXml.fromfile(str(path)).failures == failures, "failures as junitparser counts them")
    return failures


def check_sarif(path, report):
    text = json.loads(path.read_text())
    need(text["version"] == "2.1.0" and "sarif" in text["$schema"], "version of SARIF")
    run = text["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    need(len(rules) == len(set(rules)), "rules are said once")
    findings = [finding for run_report in report["runs"] for finding in run_report["findings"]]
    need(len(run["results"]) == len(findings), "a result per finding")
    need(sorted(r["ruleId"] for r in run["results"]) == sorted(f["id"] for f in findings), "ids of the results")
    for result in run["results"]:
        need(result["ruleId"] in rules and result["message"]["text"], "a result without a rule or words")
        for location in result["locations"]:
            place = location.get("physicalLocation")
            if place:
                need(place["artifactLocation"]["uri"], "a place without a file")
                need(place.get("region", {"startLine": 1})["startLine"] >= 1, "a line below 1")
    levels = sorted(LEVELS[finding["severity"]] for finding in findings)
    need(sorted(result["level"] for result in run["results"]) == levels, "levels of the results")
    if package := optional("sarif_pydantic"):
        package.Sarif.model_validate(text)
    check_sarif_schema(text)
    return len(findings)


def check_sarif_schema(text):
    named = os.environ.get("VIGIL_SARIF_SCHEMA")
    if named is None:
        print("not run: SARIF against its schema: VIGIL_SARIF_SCHEMA names none")
    elif package := optional("jsonschema"):
        schema = json.loads(Path(named).read_text())
        errors = package.validators.validator_for(schema)(schema).iter_errors(text)
        first = next(errors, None)
        need(first is None, f"SARIF against its schema: {first and first.message} at {first and list(first.path)}")


def check_openmetrics(path, report):
    text = path.read_text()
    need(text.endswith("# EOF\n"), "the end of the OpenMetrics text")
    worst = {
        run["name"]: max((SEVERITIES[f["severity"]] for f in run["findings"]), default=0) for run in report["runs"]
    }
    package = optional("prometheus_client.openmetrics.parser")
    if package is None:
        need(text.count("\nvigil_run_severity{") == len(worst), "a severity per run")
        return len(text.splitlines())
    families = {family.name: family for family in package.text_string_to_metric_families(text)}
    found = {sample.labels["run"]: sample.value for sample in families["vigil_run_severity"].samples}
    need(found == worst, "severity of each run")
    return sum(len(family.samples) for family in families.values())


def main():
    program, runs = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as scratch:
        paths = {kind: Path(scratch) / kind for kind in ("junit", "sarif", "openmetrics")}
        options = [word for kind, path in paths.items() for word in (f"--{kind}", str(path))]
        done = subprocess.run([program, "diagnose", *runs, "--json", *options], capture_output=True, check=False)
        need(done.returncode in (0, 1), f"exit code {done.returncode}: {done.stderr.decode()}")
        report = json.loads(done.stdout)
        failures = check_junit(paths["junit"], report)
        results = check_sarif(paths["sarif"], report)
        samples = check_openmetrics(paths["openmetrics"], report)
    print(f"{len(report['runs'])} runs: {failures} failed cases, {results} SARIF results, {samples} samples: the same")


if __name__ == "__main__":
    main()
