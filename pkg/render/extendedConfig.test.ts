import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import type { JsonObject } from "../api/k8s.ts";
import { getErrorMessage, TerminalError } from "../errors/errors.ts";
import { encodeGoJson } from "../golang/json.ts";
import { renderBundle } from "./render.ts";

const MODES = ["AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"];
/** All sets of install modes, except for the set of only MultiNamespace, which the Go implementation never installs. */
const modes = fc.subarray(MODES, { minLength: 1 }).filter((all) => all.join() !== "MultiNamespace");
const deploymentConfig = fc.record(
  {
    env: fc.constantFrom([], [{ name: "A", value: "b" }], [{ value: 5 }], [{ name: "A", Value: "b" }], "x", null),
    resources: fc.constantFrom({}, { limits: { cpu: "1" } }, { limits: { cpu: "lots" } }, { limits: { cpu: {} } }),
    tolerations: fc.constantFrom([{ key: "a" }], [{ key: 1 }, { tolerationSeconds: 1.5 }]),
    affinity: fc.constantFrom({}, { nodeAffinity: {} }, { nodeAffinity: "x" }),
    nodeSelector: fc.constantFrom({}, { a: "b" }, { a: 1 }),
    misspelt: fc.constant(1),
  },
  { requiredKeys: [] },
);
/** Valid and invalid configurations with fields that the Go implementation knows. */
const config = fc.record(
  {
    watchNamespace: fc.constantFrom<unknown[]>(null, "ns", "a", "Bad_", "x".repeat(64), 5, ["a"]),
    deploymentConfig: fc.oneof(deploymentConfig, fc.constantFrom(null, 5, [])),
    unknown: fc.constant(1),
  },
  { requiredKeys: [] },
);

const template = { metadata: {}, spec: { containers: [{ name: "c", env: [{ name: "A" }] }], nodeSelector: { x: "y" } } };
const bundlesByModes = new Map<string, ReturnType<typeof bundleOf>>();
function bundleWith(supported: string[]): ReturnType<typeof bundleOf> {
  const parts = { modes: supported, permissions: [{ serviceAccountName: "sa" }], deployments: [{ name: "d", spec: { template } }] };
  const found = bundlesByModes.get(supported.join()) ?? bundleOf(parts);
  bundlesByModes.set(supported.join(), found);
  return found;
}

/** Returns the objects as text, or the error. */
function outcome(
  supported: string[],
  given: JsonObject,
  extendedConfig: boolean,
): { objects: string } | { error: string; terminal: boolean } {
  try {
    return { objects: encodeGoJson(renderBundle(bundleWith(supported), { installNamespace: "ns", config: given, extendedConfig })) };
  } catch (err) {
    return { error: getErrorMessage(err), terminal: err instanceof TerminalError };
  }
}

test("renderBundle with extended configuration returns the same objects as the Go implementation, or an error that begins with its text", () => {
  fc.assert(
    fc.property(modes, config, (supported, given) => {
      const [go, ours] = [outcome(supported, given, false), outcome(supported, given, true)];
      if ("objects" in go) {
        expect(ours).toEqual(go);
        return;
      }
      const [text = ""] = go.error.split("; ");
      expect(ours).toMatchObject({ terminal: go.terminal });
      expect("error" in ours && ours.error.slice(0, text.length)).toBe(text);
    }),
    { numRuns: 1_000 },
  );
});

test("renderBundle returns the same objects for any order of watchNamespaces", () => {
  const list = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { minLength: 2, maxLength: 6 });
  const shuffled = list.chain((names) => fc.tuple(fc.constant(names), fc.shuffledSubarray(names, { minLength: names.length })));
  fc.assert(
    fc.property(shuffled, ([one, other]) => {
      const supported = ["MultiNamespace", "OwnNamespace"];
      expect(outcome(supported, { watchNamespaces: other }, true)).toEqual(outcome(supported, { watchNamespaces: one }, true));
    }),
  );
});
