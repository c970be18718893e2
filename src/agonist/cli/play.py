"""`agonist evaluate` and `agonist watch`: a policy played, measured or drawn."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist import devices
from agonist.cli import film, output, words

if TYPE_CHECKING:
    from agonist.api import Match
    from agonist.rollout import Frame

LONGEST = 1_000  # steps of an episode that a file holds unless --limit says another number: its pictures are in memory until all are there


def evaluate(
    who: words.Who,
    keys: words.PlayKeys = None,
    env: words.EnvName = None,
    episodes: Annotated[int, typer.Option(metavar="N", help="Episodes to play.")] = 320,
    seed: Annotated[int, typer.Option(metavar="S", help="Where the randomness begins.")] = 0,
    greedy: words.Greedy = None,
    allow_code: words.AllowCode = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Play whole episodes and say what came of them.

    The mean return comes with its 95 % interval, and with how was played:
    a policy that draws its actions and a greedy one may differ much.

    # the best policy of the newest run, of a run by its words, at a step
    agonist evaluate latest
    agonist evaluate calm-heron@last --episodes 1000 --greedy
    agonist evaluate calm-heron@98304

    # in another environment of the same shapes; against a random opponent
    agonist evaluate latest --env lbf:2s-10x10-2p-2f-coop
    agonist evaluate latest players.keeper=random
    """
    devices.prepare()
    players = _players(keys)
    with output.working(as_json, f"playing {episodes:,} episodes"):
        from agonist import api

        result = api.evaluate(who, env=env, episodes=episodes, seed=seed, sampled=words.sampled(greedy), store=store, **players)
    output.show(result, as_json, lambda out: _picture(out, result))


def watch(
    who: words.Who,
    keys: words.PlayKeys = None,
    env: words.EnvName = None,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="What to write: .gif, .mp4 (by ffmpeg), or .html, a player.")
    ] = None,
    terminal: Annotated[bool, typer.Option("--terminal", help="Play here, in characters (so it is without --out on a terminal).")] = False,
    episodes: Annotated[int, typer.Option(metavar="N", min=1, help="Episodes, one after another.")] = 1,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help=f"Steps after which an episode is cut; {LONGEST:,} in a file.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Where the randomness begins.")] = 0,
    fps: Annotated[float, typer.Option(metavar="F", min=0.1, max=50, help="Steps a second.")] = 5.0,
    greedy: words.Greedy = None,
    allow_code: words.AllowCode = False,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Watch a policy play: here in the terminal, as a film, or in a browser.

    An HTML player is one file that needs no network: scrub, step and speed,
    with each agent's rewards and actions beside the picture.

    # the best policy of the newest run, here; as a player; as a film
    agonist watch latest
    agonist watch latest --out foraging.html --episodes 3
    agonist watch latest --out foraging.gif

    # quickly; how it played early on; against a random partner
    agonist watch calm-heron --fps 10
    agonist watch calm-heron@32768 --out early.gif
    agonist watch calm-heron players.keeper=random --out random.mp4
    """
    if out is not None and terminal:
        raise ValueError(f"--terminal plays here and --out {out} writes a file: give one of them")
    stream = sys.stderr if as_json else sys.stdout  # under --json stdout is for the object alone
    screen = output.console(stream)
    if out is None and not terminal and (as_json or not screen.is_terminal or screen.is_dumb_terminal):
        out = "watch.gif"
    if out is not None:
        film.check(out)
    devices.prepare()
    players = _players(keys)
    told: list[dict[str, Any]] = []
    result: dict[str, Any] = {"who": who, "out": out, "episodes": told}
    with output.working(as_json, "playing and drawing"):
        from agonist import api

        match = api.seat(who, env, players, store, words.sampled(greedy))
        cast = film.cast(match.env.spec, match.seated.line_up, match.named)
        seeds = range(seed, seed + episodes)
        if out is not None:
            reels = [film.Reel(number, list(_episode(match, number, limit or LONGEST, told))) for number in seeds]
            _say_cut(reels, limit)
            result |= {"frames": sum(len(reel.frames) for reel in reels), "bytes": film.write(out, film.Film(cast, reels, fps))}
    if out is None:
        from agonist.cli.film.terminal import play

        shown = ((_title(cast, episodes, number - seed), _episode(match, number, limit, told)) for number in seeds)
        play(screen, cast, shown, fps, output.is_plain(stream))
    output.show(result, as_json, lambda console: _picture_reels(console, result))


def _episode(match: Match, seed: int, limit: int | None, told: list[dict[str, Any]]) -> Iterator[Frame]:
    """An episode's frames, and a note of what came of it."""
    from agonist import api

    row: dict[str, Any] = {"seed": seed}
    told.append(row)
    for step, frame in enumerate(api.episode(match, seed, limit)):
        row |= {"steps": step, "return": dict(frame.returns)}
        yield frame


def _say_cut(reels: list[film.Reel], limit: int | None) -> None:
    if limit is None and (cut := [str(reel.seed) for reel in reels if not reel.frames[-1].last]):
        which = f"the episode{'s' * (len(cut) > 1)} of seed{'s' * (len(cut) > 1)} {', '.join(cut)}"
        print(f"agonist: {which} went on after {LONGEST:,} steps, where the film ends; --limit N shows more", file=sys.stderr)


def _title(cast: film.Cast, episodes: int, number: int) -> str:
    return f"{cast.env}  episode {number + 1} of {episodes}" if episodes > 1 else cast.env


def _players(keys: list[str] | None) -> dict[str, Any]:
    names, players = words.split(keys or [])
    if names:
        raise ValueError(f"one policy or run is played, and keys are written env.KEY=VALUE or players.ROLE=WHO; got {' '.join(names)!r}")
    return dict(players)


def _picture(out: Console, result: Mapping[str, Any]) -> None:
    low, high = result["eval/interval"]
    rows = {
        "policy": result["policy"],
        "env": result["env"],
        "return": f"{output.interval(result['eval/return'], low, high)} over {result['episodes']:,} {result['play']} episodes",
        "length": f"{result['eval/length']:.1f} steps an episode",
    }
    rows |= {name.rpartition("/")[2]: output.number(value) for name, value in result.items() if name.startswith("eval/return/")}
    for title, text in rows.items():
        out.print(Text.assemble((f"{title:<8}", "bold"), text), soft_wrap=True)


def _picture_reels(out: Console, result: Mapping[str, Any]) -> None:
    for episode in result["episodes"]:
        returns = ", ".join(f"{role} {output.number(value)}" for role, value in episode["return"].items())
        if len(episode["return"]) == 1:
            returns = output.number(next(iter(episode["return"].values())))
        out.print(f"seed {episode['seed']}: {episode['steps']} steps, return {returns}")
    if result["out"] is not None:
        size = f"{result['frames']} pictures, {output.size(result['bytes'])}"
        out.print(Text.assemble(("wrote ", "bold"), f"{result['out']} ({size})"), soft_wrap=True)
