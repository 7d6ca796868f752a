#!/usr/bin/env python3
"""Turns the sentence templates of the catalogue's rows into C++: a struct for each, and the table of their texts.

usage: templates_to_cc.py ROWS_DIR STRUCTS_INC TABLE_INC

A template stands in the row it belongs to ([finding.templates], [evidence.templates], [rule.templates]) or in
phrases_*.toml. A place is written {name:type}. The struct has one field for each place, in order, and none can be left
out: code whose arguments do not fit the template does not compile. A template that cannot be read stops the build.
"""

import re
import sys
import tomllib
from pathlib import Path

# type of a place -> (C++ type of the field, how the argument is made of it)
TYPES = {
    "number": ("double", "model::Quantity{{{0}.value, model::Unit::kPlain}}"),
    "whole": ("double", "model::Quantity{{{0}.value, model::Unit::kPlain}}"),
    "count": ("double", "model::Quantity{{{0}.value, model::Unit::kCount}}"),
    "percent": ("double", "model::Quantity{{{0}.value, model::Unit::kShare}}"),
    "bytes": ("double", "model::Quantity{{{0}.value, model::Unit::kBytes}}"),
    "seconds": ("double", "model::Quantity{{{0}.value, model::Unit::kSeconds}}"),
    "position": ("model::Position", "{0}.value"),
    "range": ("model::PositionRange", "{0}.value"),
    "extent": ("model::Extent", "{0}.value"),
    "name": ("std::string", "model::Identifier{{{0}.value}}"),
    "list": ("std::vector<std::string>", "ToIdentifiers({0}.value)"),
    "quote": ("model::Quote", "{0}.value"),
    "clause": ("model::Statement", "std::vector<model::Statement>{{{0}.value}}"),
}
COUNTED = {"number", "whole", "count"}  # what a plural `s` may depend on
DIRECTIONS = {"fell", "rose", "above"}  # words that give the sign of a number or share (src/report/sentence.cc)
PLACE = re.compile(r"\{([^{}]*)\}")


def stop(where, problem):
    sys.exit(f"{where}: {problem}")


def places(where, text):
    """The places of a template in order of first use, as name -> type; checks the text on the way."""
    if "{" in PLACE.sub("", text) or "}" in PLACE.sub("", text):
        stop(where, "a brace without its partner")
    found, plurals, directions = {}, [], []
    for place in PLACE.findall(text):
        name, _, kind = place.partition(":")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            stop(where, f"'{{{place}}}' has no usable name")
        if kind == "s":
            plurals.append(name)
        elif kind in DIRECTIONS:
            directions.append(name)
        elif kind not in TYPES:
            stop(where, f"'{{{place}}}': unknown type; known: {', '.join([*TYPES, *sorted(DIRECTIONS)])}, s (a plural)")
        elif found.setdefault(name, kind) != kind:
            stop(where, f"'{name}' is used as {found[name]} and as {kind}")
    for name in plurals:
        if found.get(name) not in COUNTED:
            stop(where, f"the plural of '{name}' needs a place {{{name}:count}} beside it")
    for name in directions:
        if found.get(name) not in {"number", "percent"}:
            stop(where, f"the direction of '{name}' needs a place {{{name}:number}} or {{{name}:percent}} beside it")
    return found


def struct_name(statement_id):
    return "".join(word.capitalize() for word in re.split(r"[^a-z0-9]+", statement_id) if word)


def collect(rows_dir):
    """Every template as statement id -> (file, text)."""
    templates = {}

    def add(file, statement_id, text):
        if statement_id in templates:
            stop(file, f"the template '{statement_id}' is defined twice")
        # A clause that is put behind another one begins with its own blank: that one stays.
        templates[statement_id] = (file, (" " if text.startswith(" ") else "") + " ".join(text.split()))

    for file, key, prefix in [
        ("findings", "finding", ""),
        ("evidence", "evidence", ""),
        ("config_rules", "rule", ""),
        ("measures", "measure", ""),
        ("checklist", "item", ""),
    ]:
        with open(rows_dir / f"{file}.toml", "rb") as handle:
            for row in tomllib.load(handle)[key]:
                for name, text in row.get("templates", {}).items():
                    add(f"{file}.toml", f"{prefix}{row['id']}.{name}", text)
    for path in sorted(rows_dir.glob("phrases_*.toml")):
        with open(path, "rb") as handle:
            for row in tomllib.load(handle).get("phrase", []):
                add(path.name, row["id"], row["text"])
    return templates


def quote(text):
    return (
        '"'
        + "".join(
            f"\\{b:03o}" if b > 126 or b < 32 else ("\\" + chr(b) if chr(b) in '"\\' else chr(b)) for b in text.encode()
        )
        + '"'
    )


def write_if_changed(path, text):
    """Nearly every source includes the templates: a changed threshold must not compile them all again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    rows_dir, structs_out, table_out = (Path(argument) for argument in sys.argv[1:4])
    structs, makers, rows, names = [], [], [], {}
    for statement_id, (file, text) in sorted(collect(rows_dir).items()):
        where = f"{file}: template '{statement_id}'"
        fields = places(where, text)
        name = struct_name(statement_id)
        if name in names:
            stop(where, f"has the struct name {name} of '{names[name]}'")
        names[name] = statement_id
        body = "".join(f"  Arg<{TYPES[kind][0]}> {field};\n" for field, kind in fields.items())
        structs.append(f"// {text}\nstruct {name} {{\n{body}  operator model::Statement() const;\n}};\n")
        arguments = ", ".join(f'{{"{field}", {TYPES[kind][1].format(field)}}}' for field, kind in fields.items())
        makers.append(
            f"{name}::operator model::Statement() const {{ return {{{quote(statement_id)}, {{{arguments}}}}}; }}\n"
        )
        rows.append(f"    {{{quote(statement_id)}, {quote(text)}}},\n")
    head = "// Generated from catalogue/rows/*.toml by tools/templates_to_cc.py.\n"
    write_if_changed(structs_out, head + "\n".join(structs))
    table = f"constexpr std::array<TemplateRow, {len(rows)}> kTemplates = {{{{\n{''.join(rows)}}}}};\n"
    write_if_changed(
        table_out, head + "#ifdef VIGIL_TEMPLATE_TABLE\n" + table + "#else\n" + "".join(makers) + "#endif\n"
    )


if __name__ == "__main__":
    main()
