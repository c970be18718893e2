"""The command line, `agonist`: words -> a use-case of `agonist.api` -> a picture for a person, or one JSON object.

Each command is a thin layer over the api, in the module of its name; jax and the rest are imported when a command works, not when
it is listed. Exit codes: 0 done; 1 the work failed; 2 the words were wrong; 130 stopped by Ctrl-C. What went wrong is one sentence
on stderr; `AGONIST_TRACE=1` shows the trace as well.
"""

from __future__ import annotations

import difflib
import linecache
import os
import sys
import traceback
from collections.abc import Sequence

import typer
from typer import _click as click

import agonist
from agonist import hosts, own
from agonist.cli import bench, catalogue, curves, doctor, help, new, output, play, plugins, runs, sweep, train

ABOUT = """Train multi-agent policies, measure them, watch them play.

# from nothing to agents that forage, and a film of it
agonist train ppo lbf:2s-8x8-2p-2f-coop --steps 4e5
agonist watch latest --out foraging.gif

# what there is
agonist envs
agonist algos
agonist runs list
"""
CODES = "Exit codes: 0 done; 1 the work failed; 2 the words were wrong; 130 stopped by Ctrl-C, the run is saved. COMMAND --help teaches."

app = typer.Typer(
    cls=plugins.Root,
    help=ABOUT,
    epilog=CODES,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=help.Command, rich_help_panel="Learn")(train.train)
app.command(cls=help.Command, rich_help_panel="Learn")(sweep.sweep)
app.command(cls=help.Command, rich_help_panel="Learn")(sweep.study)
app.command(cls=help.Command, rich_help_panel="Learn")(play.evaluate)
app.command(cls=help.Command, rich_help_panel="Learn")(play.watch)
app.add_typer(runs.app, name="runs", rich_help_panel="Look")
app.add_typer(curves.app, name="plot", rich_help_panel="Look")
app.command(cls=help.Command, rich_help_panel="Look")(catalogue.envs)
app.command(cls=help.Command, rich_help_panel="Look")(catalogue.algos)
app.command(cls=help.Command, rich_help_panel="Extend")(plugins.plugins)
app.add_typer(new.app, name="new", rich_help_panel="Extend")
app.command(cls=help.Command, rich_help_panel="Look")(doctor.doctor)
app.command(cls=help.Command, rich_help_panel="Look")(bench.bench)


def _version(asked: bool) -> None:
    if asked:
        print(f"agonist {agonist.__version__}")
        raise typer.Exit


@app.callback()
def _root(version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Say which version this is.")) -> None:
    pass


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; no exception leaves but a second Ctrl-C's."""
    output.prepare_streams()
    try:
        code = typer.main.get_command(app).main(args=argv, prog_name="agonist", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit) as error:
        if isinstance(error, SystemExit) and not isinstance(error.__context__, OSError):  # a plugin's command ends so
            return error.code if isinstance(error.code, int) else int(error.code is not None)
        # whoever read our output has gone (typer exits then): nothing is left to say
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  the interpreter flushes it when it ends
        return 0
    except BaseException as error:
        code, sentence = told(error)
        if os.environ.get("AGONIST_TRACE") and not isinstance(error, click.exceptions.ClickException):
            traceback.print_exc()
        if sentence:
            output.complain(sentence)
        return code


def told(error: BaseException) -> tuple[int, str]:
    """The exit code of what was raised, and the sentence that says it."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        typer.echo(error.format_message(), err=True)
        return 2, ""
    if isinstance(error, click.exceptions.ClickException):
        return 2, _usage(error)
    if isinstance(error, KeyboardInterrupt | typer.Abort) or type(error).__name__ == "Interrupted":
        return 130, str(error) or "stopped"
    if isinstance(error, hosts.Lost):
        return hosts.LOST, ""  # whoever watches over this process says it
    if _is_ours(error, "TrainingFailed", "StoreError", "Missing", "Damaged", "Newer"):
        return 1, str(error)
    if isinstance(error, ValueError) and not _is_from_below(error):
        return 2, str(error)
    if isinstance(error, OSError) and error.strerror:
        return 1, f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return 1, "out of memory: fewer envs, a shorter rollout or smaller networks need less"
    first = next(iter(str(error).splitlines()), "")
    where = f"{place}: " if (place := own.place_of(error)) else ""
    return 1, f"{where}{type(error).__name__}{': ' * bool(first)}{first} (run with AGONIST_TRACE=1 for the trace)"


def _usage(error: click.exceptions.ClickException) -> str:
    """What the parser refused, and where to look."""
    context = getattr(error, "ctx", None)
    sentence = error.format_message().rstrip(".")
    if isinstance(error, click.exceptions.NoSuchOption) and context:
        known = [name for param in context.command.params for name in param.opts if name.startswith("--")]
        near = difflib.get_close_matches(error.option_name, known, n=1, cutoff=0.7)
        sentence = f"{error.option_name} is no option here" + (f", did you mean {near[0]}?" if near else "")
        if any(param.metavar and "KEY=VALUE" in param.metavar for param in context.command.params):
            sentence += f"; a key is written without dashes, {error.option_name.lstrip('-')}=VALUE"
    return sentence + (f"; see {context.command_path} --help" if context else "")


def _is_ours(error: BaseException, *names: str) -> bool:
    """By name, so that the modules that define them need not be imported to tell."""
    return any(kind.__name__ in names and kind.__module__.startswith("agonist.") for kind in type(error).__mro__)


def _is_from_below(error: BaseException) -> bool:
    """Whether a library raised it, and no `raise` of ours or a plugin's: then nobody's words were wrong."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    if last is None:
        return False
    line = linecache.getline(last.tb_frame.f_code.co_filename, last.tb_lineno)
    library = str(last.tb_frame.f_globals.get("__name__")).partition(".")[0] in ("jax", "jaxlib", "numpy", "pyarrow")
    return library or (bool(line) and not line.lstrip().startswith("raise "))  # jax takes its own frames out of a trace
