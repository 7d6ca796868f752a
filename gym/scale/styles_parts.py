"""Pieces of lines that the styles of trainers share."""

from style_base import config_lines, fixed


def take(row, *names):
    """(values of the names, None where absent; the rest)"""
    rest = dict(row)
    return [rest.pop(name, None) for name in names], rest


def pairs(rest, form="{} {}", sep=" | ", number=fixed):
    return "".join(sep + form.format(k, number(v)) for k, v in rest.items())


def stamp(view, step, form="%Y-%m-%d %H:%M:%S"):
    return view.time(step).strftime(form)


def inside(view, step):
    """(epoch from 0, batch of the epoch from 1)"""
    return (step - 1) // view.per_epoch, (step - 1) % view.per_epoch + 1


def log(view, train, held=None, file="train.log"):
    return {file: view.lines(train, held, config_lines(view.style.config, view.settings))}
