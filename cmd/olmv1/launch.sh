#!/bin/sh
# Runs olmv1 from a clone with the Node.js of its lockfile, if it is installed. As kubectl-olmv1 it is a plug-in of kubectl; as
# kubectl_complete-olmv1 it completes the command lines of that plug-in.
here=$(dirname "$(readlink -f "$0")")
node=$here/../../node_modules/.bin/node
if [ ! -d "$here/../../node_modules" ]; then
  echo "olmv1: cannot start: its packages are not installed. Run npm ci in $(readlink -f "$here/../..")." >&2
  exit 2
fi
if [ ! -x "$node" ]; then
  node=node
  if ! "$node" -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 19) ? 0 : 1)'; then
    echo "olmv1: cannot start: it needs Node.js 22.19 or later. Run npm ci in $(readlink -f "$here/../.."), which installs one." >&2
    exit 2
  fi
fi
OLMV1_CALLED_AS=$(basename "$0") exec "$node" "$here/main.ts" "$@"
