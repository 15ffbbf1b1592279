#!/bin/sh
# Counts to $1, a step a second, and goes on from where the file "reached" says that it was.
at=0
if [ -s reached ]; then
    read -r at < reached
    echo "going on from $at"
fi
while [ "$at" -lt "$1" ]; do
    sleep 1
    at=$((at + 1))
    echo "$at" > reached
    echo "counted $at"
done
