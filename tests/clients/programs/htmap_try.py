"""HTMap, which uses the first Python bindings: functions mapped over inputs, held, released, removed."""

import json
import time

import htmap

htmap.settings["DELIVERY_METHOD"] = "shared"


def double(x):
    return 2 * x


def options(**more):
    return htmap.MapOptions(request_memory="64MB", request_disk="1MB", **more)


def seen(mapped, word):
    """Wait until all components of a map are in a state."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if all(each.name == word for each in mapped.component_statuses):
            return word
        time.sleep(0.1)
    return [each.name for each in mapped.component_statuses]


done = htmap.map(double, [1, 2, 3], map_options=options(), tag="doubles")
answers = [done.get(component, timeout=90) for component in range(3)]
waits = htmap.map(double, [1, 2], map_options=options(requirements="false"), tag="waits")
waits.hold()
held = seen(waits, "HELD")
waits.release()
idle = seen(waits, "IDLE")
tags = sorted(htmap.get_tags())
waits.remove()
done.remove()
print(json.dumps({"answers": answers, "states": [held, idle], "tags": tags, "left": len(htmap.get_tags())}))
