"""Templates of HTCondor that are accepted by name but have no effect here.

A configuration written for HTCondor may use templates for features that Roost does differently or not at all:
security, cloud services, monitoring. `use` accepts them with a note, so that such a configuration reads without errors
and the reader learns that the line has no effect. A template with an effect in Roost is in the catalogue
(`roost.config.templates`), never here. Arguments are ignored.
"""

from __future__ import annotations

from typing import Final

_SECURITY: Final = "Host_Based User_Based With_Authentication Strong recommended recommended_v9_0"
_FEATURE: Final = (
    "GPUsMonitor ChildCollector Adstash Ganglia OAuth Krb HPC_ANNEX JobsHaveInstanceIDs CommonCloudAttributesAWS "
    "CommonCloudAttributesGoogle CommonCloudAttributes DefaultCheckpointDestination PelicanCache PelicanRetryPolicy "
    "Librarian Remote_Runtime_Config Remote_Config"
)
_POLICY: Final = "OnlyRegisteredCheckpointDestinations"
_ROLE: Final = (
    "get_htcondor_central_manager get_htcondor_submit get_htcondor_execute get_htcondor_access_point "
    "get_htcondor_execution_point"
)

#: category as written in the manual to names of templates
BY_CATEGORY: Final[dict[str, tuple[str, ...]]] = {
    "SECURITY": tuple(_SECURITY.split()),
    "FEATURE": tuple(_FEATURE.split()),
    "POLICY": tuple(_POLICY.split()),
    "ROLE": tuple(_ROLE.split()),
}
#: (category, name), both case-folded
WITHOUT_EFFECT: Final = frozenset(
    (category.lower(), name.lower()) for category, names in BY_CATEGORY.items() for name in names
)
CATEGORIES: Final = frozenset(category.lower() for category in BY_CATEGORY)
