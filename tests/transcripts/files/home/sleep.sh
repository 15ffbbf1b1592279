#!/bin/sh
sleep ${1:-60}
