"""Which machines a job accepts, and which it prefers."""

from __future__ import annotations

from roost.classad import Expr
from roost.schedd.submit.diagnostics import SubmitCode
from roost.schedd.submit.ending import is_deferred
from roost.schedd.submit.files import moving_of
from roost.schedd.submit.job import PlannedJob
from roost.schedd.submit.program import container_of, is_local
from roost.schedd.submit.requests import Request, is_nothing, requests_of

_SYSTEMS = frozenset(
    ("opsys", "opsysandver", "opsysver", "opsysmajorver", "opsysname", "opsyslongname", "opsysshortname")
)


def rank(job: PlannedJob) -> None:
    """Rank."""
    name = job.given("rank", "preferences")
    text = (job.text(name) if name else None) or job.defaults.rank
    added = job.defaults.append_rank
    if added:
        text = f"({text}) + ({added})" if text else added
    if text:
        job.put_expression("Rank", text, name)
    else:
        job.put("Rank", 0.0)


def requirements(job: PlannedJob) -> None:
    """The user's condition, and the requirements of every job on machines."""
    text = job.text("requirements")
    mentioned: frozenset[str] = frozenset()
    clauses = []
    if text is not None:
        expression = job.parsed("Requirements", text, "requirements")
        if expression is None:
            return
        names = expression.mentioned
        mentioned = names.plain | names.target
        clauses.append(f"({text})")
        _obsolete(job, expression)
    if job.fact(is_local):
        # No machine is sought.
        job.put_expression("Requirements", clauses[0] if clauses else "true", "requirements")
        return
    if job.defaults.append_requirements:
        clauses.append(f"({job.defaults.append_requirements})")
    clauses += [*_platform(job, mentioned), *_resources(job, mentioned), *_files(job, mentioned)]
    if job.fact(is_deferred):
        clauses += [
            "TARGET.HasJobDeferral",
            "(((time() + ScheddInterval) >= (DeferralTime - DeferralPrepTime)) && "
            "(time() < (DeferralTime + DeferralWindow)))",
        ]
    job.put_expression("Requirements", " && ".join(clauses), "requirements")


def _obsolete(job: PlannedJob, expression: Expr) -> None:
    names = expression.mentioned.plain | expression.mentioned.target
    for key, word in (("memory", "Memory"), ("disk", "Disk"), ("cpus", "Cpus")):
        if key in names:
            job.report(
                SubmitCode.OBSOLETE,
                f"requirements refers to {word}: a partitionable slot is compared as a whole",
                "requirements",
                remedy=f"Write request_{key} = …, and remove {word} from the requirements.",
            )


def _platform(job: PlannedJob, mentioned: frozenset[str]) -> list[str]:
    found = []
    container = job.fact(container_of)
    if "arch" not in mentioned:
        found.append(f'(TARGET.Arch == "{job.defaults.arch}")')
    if container is not None:
        if container.docker:
            found.append("TARGET.HasDocker")
        else:
            kind = "HasDockerURL" if container.from_registry else "HasSIF" if container.is_file else "HasSandboxImage"
            found += ["TARGET.HasContainer", f"TARGET.{kind}"]
    elif mentioned.isdisjoint(_SYSTEMS):
        found.append(f'(TARGET.OpSys == "{job.defaults.opsys}")')
    return found


def _resources(job: PlannedJob, mentioned: frozenset[str]) -> list[str]:
    found = []
    for request in job.fact(requests_of):
        clause = _clause(job, request)
        always = request.resource in ("Disk", "Memory")
        if clause and (always or request.resource.lower() not in mentioned):
            found.append(clause)
    return found


def _clause(job: PlannedJob, request: Request) -> str:
    """The condition for one request; "" for none."""
    if request.resource == "Disk" and request.value is None:
        return "(TARGET.Disk >= DiskUsage)"
    if is_nothing(request):
        return ""
    if request.resource == "GPUs" and job.given("require_gpus", *_GPU_COMMANDS):
        return "(countMatches(MY.RequireGPUs,TARGET.AvailableGPUs) >= RequestGPUs)"
    if isinstance(request.value, str) and request.resource not in ("Cpus", "Memory", "Disk", "GPUs"):
        return f"regexp({request.attribute},TARGET.{request.resource})"
    return f"(TARGET.{request.resource} >= {request.attribute})"


_GPU_COMMANDS = ("gpus_minimum_capability", "gpus_maximum_capability", "gpus_minimum_memory", "gpus_minimum_runtime")


def _files(job: PlannedJob, mentioned: frozenset[str]) -> list[str]:
    moves = job.fact(moving_of)
    shared = "(TARGET.FileSystemDomain == MY.FileSystemDomain)"
    methods = [f'stringListIMember("{one}",TARGET.HasFileTransferPluginMethods)' for one in moves.plugins]
    moved = " && ".join(["TARGET.HasFileTransfer", *methods])
    if "hasfiletransfer" in mentioned:
        return []
    match moves.should:
        case "NO":
            return [] if "filesystemdomain" in mentioned else [shared]
        case "YES":
            return [f"({moved})"]
        case _:
            return [f"({moved})"] if "filesystemdomain" in mentioned else [f"({shared} || ({moved}))"]
