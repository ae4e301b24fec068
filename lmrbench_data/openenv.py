"""LMR-Bench as an OpenEnv environment: `reset` shows a prompt; `step` scores the answer. Thin over `lmr.Scorer`.

with LMRBenchEnv("http://localhost:8000", message_timeout_s=600).sync() as env:
    prompt = env.reset(instance_id="dpo-preference-loss").observation.messages
    result = env.step(LMRBenchAction(answer=my_model(prompt)))
"""

import contextlib
import functools
import random
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from lmrbench_evaluate.predictions.prediction import check_track

from .api import Score, Scorer
from .base.errors import InfraError, InputError, LMRBenchError
from .base.extras import need
from .base.near import did_you_mean
from .base.version import __version__
from .dataset.load import load_rows
from .dataset.rows import check_contracts, choose_rows
from .generation.paper_texts import paper_text
from .generation.prompt import build_prompt
from .loader import FUNCTION

try:
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    from openenv.core import EnvClient
    from openenv.core.client_types import StepResult
    from openenv.core.env_server import Action, Environment, Observation, State, create_app
    from openenv.core.env_server.types import EnvironmentMetadata
    from pydantic import Field
except ImportError:
    need("openenv", "The OpenEnv environment")
    raise

#: Instance id → messages of its prompt.
Prompts = Mapping[str, list[dict[str, str]]]


class LMRBenchAction(Action):
    """An answer."""

    answer: str = Field(description="The model's reply as it is: prose, thoughts and code fences are allowed.")
    instance_id: str = Field(default="", description="The instance that it answers (default: that of the last reset).")


class LMRBenchObservation(Observation):
    """The prompt after a reset; the score after a step.

    `reward` is the share of core cases that passed, from 0 to 1. It is None if the machinery failed: leave it out.
    """

    instance_id: str
    messages: list[dict[str, str]] = Field(default=[], description="The prompt; empty after a step.")
    status: str = Field(default="", description="The worst of the core cases; empty after a reset.")
    reason: str = Field(default="", description="One line on the first core case that did not pass.")
    reproduced: bool = Field(default=False, description="Whether every core case passed.")
    choices: dict[str, str] = Field(default={}, description="Option that the answer implements for each choice.")


class LMRBenchState(State):
    """The current episode."""

    instance_id: str = Field(default="", description="The instance to answer; empty before a reset and after a step.")


class LMRBenchEnvironment(Environment[LMRBenchAction, LMRBenchObservation, LMRBenchState]):
    """One session; an episode has one step. Sessions share a scorer, which limits the answers that run at a time."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, scorer: Scorer, prompts: Prompts) -> None:
        super().__init__()
        self._scorer, self._prompts = scorer, prompts
        self._state = LMRBenchState()

    def reset(
        self, seed: int | None = None, episode_id: str | None = None, instance_id: str = "", **others: Any
    ) -> LMRBenchObservation:
        """Begin an episode.

        Args:
            seed: Selects the instance if none is named (default: at random).
            episode_id: Name of the episode.
            instance_id: The instance.

        Raises:
            InputError: The instance or another argument is unknown.
        """
        if others:
            name = min(others)
            raise InputError(f"reset: {name!r} is unknown{did_you_mean(name, ('instance_id', 'seed', 'episode_id'))}")
        if not isinstance(instance_id, str):
            raise InputError(f"instance_id: give text, not {instance_id!r}")
        if seed is not None and type(seed) is not int:
            raise InputError(f"seed: give a whole number, not {seed!r}")
        chosen = instance_id or random.Random(seed).choice(list(self._prompts))
        self._check(chosen)
        self._state = LMRBenchState(episode_id=episode_id or str(uuid.uuid4()), instance_id=chosen)
        return LMRBenchObservation(instance_id=chosen, messages=self._prompts[chosen])

    def step(self, action: LMRBenchAction, timeout_s: float | None = None, **_: Any) -> LMRBenchObservation:
        """Score an answer; the instance limits its time. See `step_async`."""
        [score] = self._scorer.score([self._row(action)])
        return self._observation(score)

    async def step_async(self, action: LMRBenchAction, timeout_s: float | None = None, **_: Any) -> LMRBenchObservation:
        """Score an answer without blocking other sessions; the instance limits its time.

        Raises:
            InputError: There was no reset and the action names no instance, or an unknown one.
            InfraError: The scorer was closed.
        """
        [score] = await self._scorer.ascore([self._row(action)])
        return self._observation(score)

    @property
    def state(self) -> LMRBenchState:
        """The current episode."""
        return self._state

    def get_metadata(self) -> EnvironmentMetadata:
        """Return name and version."""
        about = "Write the masked function of a research paper's repository; hidden tests score it."
        return EnvironmentMetadata(name="lmrbench", description=about, version=__version__)

    def _check(self, instance: str) -> None:
        if instance not in self._prompts:
            near = did_you_mean(instance, self._prompts, within=True)
            raise InputError(f"instance_id: {instance!r} is unknown{near}; one of: {', '.join(self._prompts)}")

    def _row(self, action: LMRBenchAction) -> dict[str, str]:
        instance = action.instance_id or self._state.instance_id
        if not instance:
            raise InputError("step: reset first, or name an instance_id")
        self._check(instance)
        return {"instance_id": instance, "function": action.answer}

    def _observation(self, score: Score) -> LMRBenchObservation:
        self._state = LMRBenchState(episode_id=self._state.episode_id, step_count=self._state.step_count + 1)
        return LMRBenchObservation(
            instance_id=score.instance_id,
            done=True,
            reward=score.reward,
            status=score.status,
            reason=score.reason,
            reproduced=score.reproduced,
            choices=dict(score.choices),
        )


class LMRBenchEnv(EnvClient[LMRBenchAction, LMRBenchObservation, LMRBenchState]):
    """Client of a running server. Set `message_timeout_s` above the time that an answer may wait and run."""

    def _step_payload(self, action: LMRBenchAction) -> dict[str, Any]:
        return dict(action.model_dump())

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[LMRBenchObservation]:
        reward, done = payload.get("reward"), payload.get("done", False)
        return StepResult(LMRBenchObservation(**payload["observation"], reward=reward, done=done), reward, done)

    def _parse_state(self, payload: dict[str, Any]) -> LMRBenchState:
        return LMRBenchState(**payload)


def open_server(
    *,
    dataset: str = "embedded",
    config: str = FUNCTION,
    instances: Sequence[str] = (),
    setting: str = "standard",
    track: str = "paper",
    paper: str = "text",
    sandbox: str = "auto",
    isolation: str = "shared",
    workers: int = 2,
    fail_fast: bool = False,
    sessions: int = 64,
) -> FastAPI:
    """Return an application that serves the environment; it closes the scorer when it shuts down.

    Args:
        dataset: `embedded`, a folder, or `org/name[@revision]`.
        config: Configuration of the dataset.
        instances: Instances to serve (default: all).
        setting: What the prompt shows: `standard`, `paper-only`, `paper+goal-file` or `full-repo`.
        track: `paper`, or `contract` to also show the contract.
        paper: Form of the paper: `text` (our summary), `pdf-json`, `pdf-markdown` or `none`.
        sandbox: As for `evaluate`.
        isolation: As for `Scorer`: `shared` needs Docker; use `container` with other sandboxes.
        workers: Number of answers that run at a time.
        fail_fast: As for `Scorer`.
        sessions: Number of clients at a time; more are refused.

    Raises:
        InputError: The dataset cannot be read, or an argument is unknown.
        InfraError: The sandbox does not work here, or an image is missing.
    """
    check_track(track)
    rows = choose_rows(load_rows(dataset, config, instances), instances)
    check_contracts(rows, track)
    prompts = {
        row["instance_id"]: list(build_prompt(row, setting=setting, track=track, paper=paper_text(row, paper)).messages)
        for row in rows
    }
    scorer = Scorer(
        dataset=dataset,
        config=config,
        instances=instances,
        workers=workers,
        isolation=isolation,
        sandbox=sandbox,
        fail_fast=fail_fast,
    )
    factory = functools.partial(LMRBenchEnvironment, scorer, prompts)
    app: FastAPI = create_app(
        factory, LMRBenchAction, LMRBenchObservation, "lmrbench", sessions, state_cls=LMRBenchState
    )
    app.add_exception_handler(LMRBenchError, _as_response)
    inner = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        with scorer:
            async with inner(app) as state:
                yield state

    app.router.lifespan_context = lifespan
    return app


def _as_response(request: Request, error: Exception) -> JSONResponse:
    """Return an error of ours as one line; without this, the server would print a traceback and say nothing."""
    return JSONResponse({"detail": str(error)}, status_code=503 if isinstance(error, InfraError) else 400)
