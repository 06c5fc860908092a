#!/usr/bin/env bash
# Runs olmv1 bundle try from this checkout, for GitHub Actions and other CI systems. Variables: BUNDLE, and optionally FROM, CHECKS (one command per
# line), CONFIG, REGISTRY, TIMEOUT, JUNIT. Without REGISTRY, the trial starts an embedded control plane.
set -euo pipefail
checkout=$(cd "$(dirname "$0")/../../.." && pwd)
node "$checkout/.ci/setup.mjs"
args=("${BUNDLE:?set BUNDLE to a bundle folder or image}")
if [ -n "${REGISTRY:-}" ]; then args+=(--registry "$REGISTRY"); else args+=(--embedded); fi
if [ -n "${FROM:-}" ]; then args+=(--from "$FROM"); fi
if [ -n "${CONFIG:-}" ]; then args+=(--config "$CONFIG"); fi
if [ -n "${TIMEOUT:-}" ]; then args+=(--timeout "$TIMEOUT"); fi
if [ -n "${JUNIT:-}" ]; then args+=(--junit "$JUNIT"); fi
while IFS= read -r check; do
  if [ -n "$check" ]; then args+=(--check "$check"); fi
done <<<"${CHECKS:-}"
exec "$checkout/cmd/olmv1/launch.sh" bundle try "${args[@]}"
