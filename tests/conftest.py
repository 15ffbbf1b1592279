"""How the tests run: the same examples every time, unless asked to look for new ones.

``ROOST_EXPLORE=1`` lets hypothesis draw new examples; failures it finds become cases of their own.
"""

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile("explore" if os.environ.get("ROOST_EXPLORE") else "steady")
