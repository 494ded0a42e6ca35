#!/bin/sh
# SPDX-License-Identifier: MIT
# The skeleton of a program, as C; the linter is not meant for it.
# usage: skeleton.sh BPFTOOL OBJECT NAME
set -eu
echo '/* NOLINTBEGIN */'
"$1" gen skeleton "$2" name "$3"
echo '/* NOLINTEND */'
