"""`agonist evaluate` and `agonist watch`: a policy played, measured or drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from agonist import devices
from agonist.cli import animation, output, words


def evaluate(
    who: words.Who,
    keys: words.PlayKeys = None,
    env: words.EnvName = None,
    episodes: Annotated[int, typer.Option(metavar="N", help="Episodes to play.")] = 320,
    seed: Annotated[int, typer.Option(metavar="S", help="Where the randomness begins.")] = 0,
    greedy: words.Greedy = None,
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
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The GIF to write.")] = "watch.gif",
    episodes: Annotated[int, typer.Option(metavar="N", min=1, help="Episodes, one after another.")] = 1,
    seed: Annotated[int, typer.Option(metavar="S", help="Where the randomness begins.")] = 0,
    fps: Annotated[float, typer.Option(metavar="F", min=0.1, max=50, help="Steps a second.")] = 5.0,
    greedy: words.Greedy = None,
    store: words.StoreUrl = None,
    as_json: words.Json = False,
) -> None:
    """Write an animation of a policy at play.

    # the best policy of the newest run
    agonist watch latest --out foraging.gif

    # three episodes, quickly; how it played early on
    agonist watch calm-heron --episodes 3 --fps 10
    agonist watch calm-heron@32768 --out early.gif
    """
    animation.check_path(out)
    devices.prepare()
    players = _players(keys)
    with output.working(as_json, "playing and drawing"):
        from agonist import api

        reels = []
        for number in range(episodes):
            frames = api.watch(who, env=env, seed=seed + number, sampled=words.sampled(greedy), store=store, **players)
            reels.append(list(frames))
        written = animation.write(out, reels, fps)
    told = [{"seed": seed + i, "steps": len(reel) - 1, "return": dict(reel[-1].returns)} for i, reel in enumerate(reels)]
    result = {"who": who, "out": out, "frames": sum(map(len, reels)), "bytes": written, "episodes": told}
    output.show(result, as_json, lambda console: _picture_reels(console, result))


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
    out.print(
        Text.assemble(("wrote ", "bold"), f"{result['out']} ({result['frames']} pictures, {output.size(result['bytes'])})"), soft_wrap=True
    )
