#!/bin/sh
# Counts to $1, a step a second, and goes on from where the file "reached" says that it was. The file is replaced as a
# whole: a job can be evicted between any two steps, and one that is cut off while it writes must not leave half a file.
at=0
if [ -s reached ]; then
    read -r at < reached
    echo "going on from $at"
fi
while [ "$at" -lt "$1" ]; do
    sleep 1
    at=$((at + 1))
    echo "$at" > reached.new
    mv reached.new reached
    echo "counted $at"
done
