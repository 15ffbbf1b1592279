#!/bin/sh
echo "STARTER args: $*"
exec "$@"
