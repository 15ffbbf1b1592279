#!/bin/sh
echo "NSLOTS=$NSLOTS NHOSTS=$NHOSTS NQUEUES=$NQUEUES PE=$PE HOST=$(hostname)"
cat $PE_HOSTFILE
sleep ${1:-5}
