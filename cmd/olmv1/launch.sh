#!/bin/sh
# Runs olmv1 from a clone with the Node of its lockfile, whatever the machine has. As kubectl-olmv1 it is kubectl's plug-in, as
# kubectl_complete-olmv1 what kubectl completes that with.
here=$(dirname "$(readlink -f "$0")")
node=$here/../../node_modules/.bin/node
[ -x "$node" ] || node=node
OLMV1_CALLED_AS=$(basename "$0") exec "$node" "$here/main.ts" "$@"
