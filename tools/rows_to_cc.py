#!/usr/bin/env python3
"""Turns the catalogue's rows (TOML) into constant C++ tables.

usage: rows_to_cc.py ROWS_DIR OUTPUT_INC [--figures]
       --figures: the folder holds what `make accuracy` measured, not what is known

A row with an unknown or missing key, a duplicate id or a dangling reference stops the build with the file and the id.
"""

import math
import sys
import tomllib
from pathlib import Path

FAMILIES = ["loss", "rl", "memory", "throughput", "hang", "resume", "eval", "setup"]
SEVERITIES = ["info", "warning", "error", "fatal"]
REQUIRED = object()


class Table:
    """One kind of row: the TOML file, the C++ struct, and its fields in order as (name, encoder, default)."""

    def __init__(self, file, key, struct, fields):
        self.file, self.key, self.struct, self.fields = file, key, struct, fields


def quote(text):
    out = []
    for char in " ".join(text.split()) if "\n" in text else text:
        if char in '"\\':
            out.append("\\" + char)
        elif ord(char) < 32 or ord(char) > 126:
            out.extend(f"\\{byte:03o}" for byte in char.encode())
        else:
            out.append(char)
    return '"' + "".join(out) + '"'


class Writer:
    def __init__(self):
        self.arrays = []

    def text(self, value):
        return quote(value)

    def number(self, value):
        if not math.isfinite(value):
            limit = "quiet_NaN" if math.isnan(value) else "infinity"
            return f"{'-' if value < 0 else ''}std::numeric_limits<double>::{limit}()"
        return repr(float(value))

    def count(self, value):
        return str(int(value))

    def truth(self, value):
        return "true" if value else "false"

    def family(self, value):
        return f"static_cast<model::Family>({FAMILIES.index(value)})"

    def severity(self, value):
        return f"static_cast<model::Severity>({SEVERITIES.index(value)})"

    def better(self, value):
        return f"static_cast<Better>({['neither', 'lower', 'higher'].index(value)})"

    def array(self, kind, items):
        if not items:
            return "{}"
        name = f"kArray{len(self.arrays)}"
        self.arrays.append(f"constexpr {kind} {name}[] = {{{', '.join(items)}}};")
        return name

    def words(self, value):
        return self.array("std::string_view", [quote(word) for word in value])

    def scaled(self, value):
        return self.array("ScaledName", ["{%s, %s}" % (quote(name), self.number(factor)) for name, factor in value.items()])

    def thresholds(self, value):
        rows = []
        for name, row in value.items():
            rows.append("{%s, %s, %s, %s}" % (quote(name), self.number(row["value"]), quote(row["meaning"]), quote(row["origin"])))
        return self.array("ThresholdRow", rows)

    def weights(self, value):
        rows = [
            "{%s, %s, %s}" % (quote(row["id"]), self.number(row.get("if_true", 0)), self.number(row.get("if_false", 0)))
            for row in value
        ]
        return self.array("EvidenceWeight", rows)

    def methods(self, value):
        return self.array("MethodSeverity", ["{%s, %s}" % (quote(name), self.severity(level)) for name, level in value.items()])

    def numbers(self, value):
        return self.array("double", [self.number(item) for item in value])

    def level_weights(self, value):
        return self.array("LevelWeights", ["{%s, %s}" % (quote(name), self.numbers(levels)) for name, levels in value.items()])

    def settings(self, value):
        rows = []
        for row in value:
            unknown = set(row) - {"framework", "setting", "file", "value", "code", "also"}
            if unknown:
                raise ValueError(f"unknown key {sorted(unknown)} of a setting")
            texts = [quote(row.get(key, "")) for key in ("framework", "setting", "file", "value", "code")]
            rows.append("{%s, %s}" % (", ".join(texts), self.words(row.get("also", []))))
        return self.array("RemedySetting", rows)

    def remedy_kind(self, value):
        return f"static_cast<RemedyKind>({['setting', 'code', 'look'].index(value)})"

    def outcomes(self, value):
        rows = ["{%s, %s, %s}" % (quote(row["seen"]), quote(row["means"]), self.words(row["causes"])) for row in value]
        return self.array("OutcomeRow", rows)


TABLES = [
    Table("signals.toml", "signal", "SignalRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("unit", "text", ""), ("better", "better", "neither"),
        ("label", "text", ""), ("aliases", "words", []), ("scaled", "scaled", {}), ("stems", "words", []), ("weak", "words", [])]),
    Table("name_parts.toml", "name_part", "NamePartRow", [
        ("id", "text", REQUIRED), ("kind", "text", REQUIRED), ("words", "words", REQUIRED), ("quantity", "text", ""),
        ("factor", "number", 1.0)]),
    Table("facts.toml", "fact", "FactRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("aliases", "words", [])]),
    Table("findings.toml", "finding", "FindingRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("family", "family", REQUIRED), ("severity", "severity", REQUIRED),
        ("fires_when", "text", REQUIRED), ("why", "text", REQUIRED), ("detector", "text", ""), ("signals", "words", []),
        ("also", "words", []), ("covered_by", "words", []), ("thresholds", "thresholds", {}), ("needs", "text", "")]),
    Table("evidence.toml", "evidence", "EvidenceRow", [
        ("id", "text", REQUIRED), ("test", "text", REQUIRED), ("says", "text", REQUIRED), ("needs", "text", REQUIRED),
        ("from", "words", [])]),
    Table("measures.toml", "measure", "MeasureRow", [
        ("id", "text", REQUIRED), ("levels", "numbers", REQUIRED), ("needs", "text", REQUIRED), ("from", "words", []), ("quiet", "truth", False)]),
    Table("weights.toml", "fitted", "FittedRow", [
        ("id", "text", REQUIRED), ("prior", "number", REQUIRED), ("weights", "level_weights", {})]),
    Table("causes.toml", "cause", "CauseRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("family", "family", REQUIRED), ("explanation", "text", REQUIRED),
        ("prior", "number", 0.0), ("explains", "words", []), ("evidence", "weights", []), ("next", "text", ""),
        ("remedies", "words", []), ("shown_by", "words", [])]),
    Table("remedies.toml", "remedy", "RemedyRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("text", "text", REQUIRED), ("reason", "text", REQUIRED),
        ("effect", "text", REQUIRED), ("kind", "remedy_kind", REQUIRED), ("when", "words", []), ("fact", "text", ""),
        ("proposal", "text", ""), ("settings", "settings", [])]),
    Table("launches.toml", "launch", "LaunchRow", [
        ("id", "text", REQUIRED), ("command", "text", ""), ("set", "text", ""), ("resume", "text", ""), ("code", "text", ""),
        ("steps", "text", "")]),
    Table("next_commands.toml", "next", "NextRow", [
        ("id", "text", REQUIRED), ("run", "text", REQUIRED), ("with", "words", []), ("do", "text", ""), ("env", "text", ""),
        ("command", "text", ""), ("outcomes", "outcomes", REQUIRED)]),
    Table("config_rules.toml", "rule", "ConfigRuleRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("severity", "severity", REQUIRED), ("when", "text", REQUIRED),
        ("set", "text", REQUIRED), ("check", "text", REQUIRED), ("scope", "text", "both"), ("by_method", "methods", {}),
        ("origin", "text", REQUIRED)]),
    Table("config_keys.toml", "keys", "ConfigKeysRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("also", "words", []), ("traits", "words", []), ("names", "words", [])]),
    Table("enablers.toml", "enabler", "EnablerRow", [
        ("id", "text", REQUIRED), ("metric", "text", REQUIRED), ("framework", "text", REQUIRED), ("phrase", "text", REQUIRED)]),
    Table("pairs.toml", "pair", "PairRow", [
        ("id", "text", REQUIRED), ("causes", "words", REQUIRED), ("tell_apart", "text", REQUIRED)]),
    Table("checklist.toml", "item", "ChecklistRow", [
        ("id", "text", REQUIRED), ("stage", "text", REQUIRED), ("title", "text", REQUIRED), ("why", "text", REQUIRED),
        ("how", "text", REQUIRED), ("test", "text", REQUIRED)]),
    Table("signatures.toml", "signature", "SignatureRow", [
        ("id", "text", REQUIRED), ("title", "text", REQUIRED), ("family", "family", REQUIRED), ("severity", "severity", REQUIRED),
        ("patterns", "words", REQUIRED), ("role", "text", "root"), ("cause", "text", ""), ("finding", "text", ""),
        ("explanation", "text", REQUIRED), ("fix", "text", REQUIRED), ("certainty", "number", 0.9), ("link", "text", "")]),
]


COUNTS_OF_FINDING = ["healthy_runs", "healthy_points", "errors", "warnings", "expected", "found", "stood_in", "dated", "median_delay"]
COUNTS_OF_CAUSE = ["labelled", "first", "other_first", "rival", "wrong", "wrong_healthy"]
FIGURES = [
    Table("findings.toml", "finding", "FindingFigures", [("id", "text", REQUIRED)] + [(name, "count", 0) for name in COUNTS_OF_FINDING]),
    Table("causes.toml", "cause", "CauseFigures", [("id", "text", REQUIRED)] + [(name, "count", 0) for name in COUNTS_OF_CAUSE]),
    Table("examples.toml", "example", "ExampleRow", [
        ("id", "text", REQUIRED), ("run", "text", REQUIRED), ("fault", "text", REQUIRED), ("metric", "text", REQUIRED), ("axis", "text", REQUIRED),
        ("at", "number", math.nan), ("steps", "numbers", REQUIRED), ("values", "numbers", REQUIRED)]),
]


def fail(file, row_id, problem):
    sys.exit(f"{file}: row '{row_id}': {problem}")


def pair_id(causes):
    """The same for both orders of the two; FindPair in catalogue.cc makes it too."""
    return "+".join(sorted(causes))


def read(path, table):
    with open(path, "rb") as handle:
        content = tomllib.load(handle)
    extra = set(content) - {table.key}
    if extra:
        sys.exit(f"{path}: unknown table {sorted(extra)}, expected [[{table.key}]]")
    return content.get(table.key, [])


def share_settings(rows):
    """Remedies that change the same setting name the row that has it: `settings_of`."""
    by_id = {row["id"]: row for row in rows}
    for row in rows:
        other = row.pop("settings_of", None)
        if other is None:
            continue
        if "settings" in row or other not in by_id or "settings" not in by_id[other]:
            fail("remedies.toml", row["id"], f"settings_of names '{other}', which has no settings, or it has its own")
        row["settings"] = by_id[other]["settings"]


def load(rows_dir, table):
    path = rows_dir / table.file
    rows = read(path, table)
    # Rows that no code stands behind are kept beside the others: findings_open.toml, causes_open.toml.
    beside = path.with_name(path.stem + "_open.toml")
    if beside.exists():
        decided = {row.get("id") for row in rows}  # one that has its code by now counts
        rows += [row for row in read(beside, table) if row.get("id") not in decided]
    known = {name for name, _, _ in table.fields} | {"templates"}  # templates_to_cc.py reads those
    if table.struct == "RemedyRow":
        share_settings(rows)
    seen = set()
    for row in rows:
        if "causes" in row:
            row.setdefault("id", pair_id(row["causes"]))
        row_id = row.get("id", "?")
        if row_id in seen:
            fail(path, row_id, "the id is defined twice")
        seen.add(row_id)
        unknown = set(row) - known
        if unknown:
            fail(path, row_id, f"unknown key {sorted(unknown)}; known: {sorted(known)}")
        for name, _, default in table.fields:
            if default is REQUIRED and name not in row:
                fail(path, row_id, f"key '{name}' is missing")
    return rows


def check_outcomes(row, demand, causes):
    """Outcomes that mean something for causes, that of the row among them."""
    if len(row["outcomes"]) < 2:
        fail("next_commands.toml", row["id"], "one outcome decides nothing: two are needed")
    named = [cause for outcome in row["outcomes"] for cause in outcome.get("causes", [])]
    demand(row, "outcomes", named, causes)
    if any(not outcome.get("causes") for outcome in row["outcomes"]) or (row["id"] in causes and row["id"] not in named):
        fail("next_commands.toml", row["id"], "each outcome names the causes it speaks for, and one of them this cause")


def check_references(rows):
    ids = {struct: {row["id"] for row in table} for struct, table in rows.items()}
    symptoms = ids["FindingRow"] | ids["ConfigRuleRow"] | ids["SignatureRow"]

    def demand(row, key, wanted, known):
        for name in wanted:
            if name and name not in known:
                fail("rows", row["id"], f"{key} names '{name}', which no row defines")

    for row in rows["CauseRow"]:
        demand(row, "explains", row.get("explains", []), symptoms)
        demand(row, "remedies", row.get("remedies", []), ids["RemedyRow"])
        demand(row, "evidence", [w["id"] for w in row.get("evidence", [])], ids["EvidenceRow"])
    for row in rows["PairRow"]:
        demand(row, "causes", row["causes"], ids["CauseRow"])
        if len(set(row["causes"])) != 2:
            fail("rows", row["id"], "a pair has two causes")
    for row in rows["EvidenceRow"] + rows["MeasureRow"]:
        demand(row, "from", row.get("from", []), ids["SignalRow"] | ids["FactRow"])
    levels = {row["id"]: len(row["levels"]) + 1 for row in rows["MeasureRow"]}
    levels |= {row["id"]: 2 for row in rows["EvidenceRow"]} | {row["id"]: 1 for row in rows["FindingRow"]}
    for row in rows["FittedRow"]:
        demand(row, "id", [row["id"]], ids["CauseRow"] | {"any"})
        demand(row, "weights", row.get("weights", {}), levels)
        for name, weights in row.get("weights", {}).items():
            if len(weights) != levels[name]:
                fail("weights.toml", row["id"], f"'{name}' has {len(weights)} weights for {levels[name]} levels")
    for row in rows["FindingRow"]:
        demand(row, "signals", row.get("signals", []), ids["SignalRow"])
        demand(row, "also", row.get("also", []), ids["SignalRow"] | {"*loss"})
        demand(row, "covered_by", row.get("covered_by", []), ids["FindingRow"])
    for row in rows["EnablerRow"]:
        demand(row, "metric", [row["metric"]], ids["SignalRow"])
    for row in rows["RemedyRow"]:
        demand(row, "fact", [row.get("fact", "")], ids["FactRow"])
    families = {"unknown/" + family for family in FAMILIES}
    remedies_of = {row["id"]: row.get("remedies", []) for row in rows["CauseRow"]}
    for row in rows["NextRow"]:
        demand(row, "id", [row["id"]], ids["CauseRow"] | families)
        if row["run"] not in ("remedy", "again", "command") or (row["run"] == "command") != bool(row.get("command")):
            fail("next_commands.toml", row["id"], "run is 'remedy', 'again' or, with a command, 'command'")
        demand(row, "with", row.get("with", []), ids["RemedyRow"])
        if row["run"] == "remedy" and not row.get("with") and not remedies_of.get(row["id"]):
            fail("next_commands.toml", row["id"], "there is no remedy to repeat it with")
        check_outcomes(row, demand, ids["CauseRow"])
    missing = (ids["CauseRow"] | families) - ids["NextRow"]
    decided = {row["id"] for row in rows["CauseRow"] if row.get("remedies") or row.get("evidence")}
    for name in sorted(missing & (decided | families)):
        fail("next_commands.toml", name, "has no row")
    for row in rows["SignatureRow"]:
        demand(row, "cause", [row.get("cause", "")], ids["CauseRow"])
        demand(row, "finding", [row.get("finding", "")], ids["FindingRow"])


def encode(table, rows, rows_dir, writer):
    encoded = []
    for row in rows:
        fields = []
        for name, encoder, default in table.fields:
            try:
                fields.append(getattr(writer, encoder)(row.get(name, default)))
            except (KeyError, ValueError, TypeError, AttributeError) as problem:
                fail(rows_dir / table.file, row["id"], f"key '{name}': {problem!r}")
        encoded.append("    {" + ", ".join(fields) + "},")
    name = table.struct if table.struct.endswith("Row") else table.struct + "Row"
    body = "\n".join(encoded)
    return f"constexpr std::array<{table.struct}, {len(encoded)}> k{name}s = {{{{\n{body}\n}}}};"


def main():
    rows_dir, output = Path(sys.argv[1]), Path(sys.argv[2])
    kinds = FIGURES if sys.argv[3:] == ["--figures"] else TABLES
    rows = {table.struct: load(rows_dir, table) for table in kinds}
    if kinds is TABLES:
        check_references(rows)
    writer = Writer()
    tables = [encode(table, rows[table.struct], rows_dir, writer) for table in kinds]
    text = f"// Generated from catalogue/{rows_dir.name}/*.toml by tools/rows_to_cc.py.\n"
    output.write_text(text + "\n".join(writer.arrays) + "\n" + "\n".join(tables) + "\n")


if __name__ == "__main__":
    main()
