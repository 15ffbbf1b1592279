#!/bin/sh
# prints who runs it and its arguments into the job's output and into a log
echo "PROLOG uid=$(id -un) pwd=$(pwd) args=$* JOB_ID=$JOB_ID USER=$USER HOME=$HOME SGE_JOB_SPOOL_DIR=$SGE_JOB_SPOOL_DIR"
exit $(cat /tmp/prolog.rc 2>/dev/null || echo 0)
