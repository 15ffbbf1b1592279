#!/bin/sh
# method.sh NAME pid: logs and signals the process group
echo "$(date +%T) METHOD $* uid=$(id -un)" >> /tmp/methods.log
case $1 in suspend) kill -TSTP -- -$2;; resume) kill -CONT -- -$2;; terminate) kill -TERM -- -$2; sleep 1; kill -KILL -- -$2;; esac
