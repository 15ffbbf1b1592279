#!/bin/bash
. $SGE_ROOT/util/resources/jsv/jsv_include.sh
jsv_on_start() { return; }
jsv_on_verify() {
  if [ "$(jsv_get_param l_hard)" = "" ]; then jsv_reject "ask for h_rt, please"; return; fi
  jsv_sub_add_param l_hard h_vmem 1G
  jsv_correct "h_vmem added"
}
jsv_main
