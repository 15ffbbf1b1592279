#!/bin/bash
# logs the signals it gets
for s in USR1 USR2 TSTP CONT TERM HUP INT XCPU; do trap "echo \$(date +%T) got SIG$s" $s; done
echo $(date +%T) start
for i in $(seq 60); do sleep 0.5; done
echo $(date +%T) end
