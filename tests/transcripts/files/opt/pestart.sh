#!/bin/sh
echo "PE script $*: uid=$(id -un) TMPDIR=$TMPDIR"
