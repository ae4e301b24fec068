"""The checks of the doctor, in the order in which they are made: the engine first, because others need it."""

import functools
from collections.abc import Iterator

from lmrbench_data.chat.endpoint import Endpoint

from .engine import ENGINE_S, Engine
from .examine import Check
from .finding import Status
from .machine import look_at_cores, look_at_disks, look_at_memory, look_at_runs, look_for_bubblewrap
from .packages import look_at_extras, look_at_local_packages, look_at_sandbox, look_at_versions
from .services import CHECK_NETWORK, ENDPOINT_S, look_at_caches, look_at_endpoint, look_at_hub
from .settings import DoctorSettings

#: Seconds for containers to start: a busy machine takes long, which is not the engine's fault.
CONTAINER_S = 60
_RESTART = "restart the engine, and see its log"


def checks(settings: DoctorSettings) -> Iterator[Check]:
    """Yield the checks one by one; each may depend on the findings of earlier ones."""
    engine = Engine(settings.benchmark)
    yield Check("version", functools.partial(look_at_versions, settings.benchmark))
    yield Check("engine", engine.look, ("docker",), limit_s=ENGINE_S, fix=_RESTART)
    if engine.answers:
        yield Check("image", engine.look_for_images, limit_s=ENGINE_S, fix=_RESTART)
    if engine.images:
        yield Check("container", engine.try_containers, limit_s=CONTAINER_S, fix=_RESTART)
    yield Check("bubblewrap", functools.partial(look_for_bubblewrap, engine), if_late=Status.NOTE)
    yield Check("packages", functools.partial(look_at_local_packages, engine))
    # bubblewrap imports every package once.
    yield Check("sandbox", functools.partial(look_at_sandbox, engine), limit_s=CONTAINER_S, fix=_RESTART)
    yield Check("disk", functools.partial(look_at_disks, engine), fix="check that network disks respond: df")
    yield Check("runs", look_at_runs, fix="check that network disks respond: df")
    yield Check("memory", functools.partial(look_at_memory, engine, settings.workers))
    yield Check("cores", functools.partial(look_at_cores, engine, settings.workers))
    yield Check("extras", look_at_extras)
    yield Check("cache", look_at_caches, ("huggingface_hub",), if_late=Status.NOTE)
    yield Check("hub", look_at_hub, ("huggingface_hub.hf_api",), if_late=Status.NOTE, fix=CHECK_NETWORK)
    yield from _endpoints(settings)


def _endpoints(settings: DoctorSettings) -> Iterator[Check]:
    named = {
        "model": (settings.model, settings.base_url, "--base-url"),
        "judge": (settings.judge, settings.judge_base_url, "--judge-base-url"),
    }
    for check, (model, url, flag) in named.items():
        if model:
            look = functools.partial(look_at_endpoint, check, Endpoint(model=model, base_url=url), flag)
            yield Check(check, look, ("openai", "httpx2"), limit_s=ENDPOINT_S)
