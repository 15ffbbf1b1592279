"""``roost classad``: evaluate, check, match, convert and explore ClassAd expressions and ads."""
