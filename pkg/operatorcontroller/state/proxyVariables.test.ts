import { expect, test } from "vitest";
import { createExtension } from "../../../test/support/extensions.ts";
import { buildResolved } from "../../../test/support/phases.ts";
import { decodedRecord, releaseRecord } from "../../../test/support/releases.ts";
import type { JsonObject } from "../../api/k8s.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { encodeRelease } from "../../release/storage/encode.ts";
import type { ClusterProxy } from "../openshift/clusterProxy.ts";
import { computeInputDigest } from "../reconcile/unpack.ts";
import { newReleaseHistory } from "../releases/releaseStore.ts";
import type { Resolved, ResolvedBundle } from "./phases.ts";
import { chooseProxyVariables, describeProxyChange, describeProxyMismatch } from "./proxyVariables.ts";

const [OLD, NEW] = [{ HTTP_PROXY: "http://old:1" }, { HTTP_PROXY: "http://new:1", NO_PROXY: ".svc" }];
const KNOWN: ClusterProxy = { kind: "known", variables: NEW, source: 'Proxy "cluster"' };
const UNKNOWN: ClusterProxy = { kind: "unknown", reason: "forbidden" };
const OURS = { inputDigest: "d" };
const OWN = { deploymentConfig: { env: [{ name: "NO_PROXY", value: "" }] } };

interface Given {
  proxy: ClusterProxy;
  deployed?: Partial<ReleaseRecord>;
  upgrade?: boolean;
  config?: JsonObject;
}

function phaseOf({ proxy, deployed, upgrade = false, config }: Given): Resolved {
  const made = createExtension("x", { packageName: "p" });
  const extension = config ? { ...made, spec: { ...made.spec, config: { configType: "Inline" as const, inline: config } } } : made;
  const bundle: ResolvedBundle = { packageName: "p", name: "p.v1", version: "1.0.0", image: "i", explanation: "" };
  if (!deployed) return buildResolved(extension, bundle, { clusterProxy: proxy });
  const installed = upgrade ? { ...bundle, name: "p.v0", version: "0.9.0" } : bundle;
  const history = { ...newReleaseHistory(), current: [releaseRecord(1, "deployed", deployed)] };
  return buildResolved(extension, bundle, { clusterProxy: proxy, releases: { installed, history } });
}

// Source: S0-089; O-04 (adopting an installation changes no Pod).
test.for<[why: string, given: Given, variables: object | undefined, note: string | undefined]>([
  ["no proxy", { proxy: { kind: "none" }, deployed: OURS }, undefined, undefined],
  ["a first install", { proxy: KNOWN }, NEW, undefined],
  ["another proxy than before", { proxy: KNOWN, deployed: { ...OURS, proxy: OLD } }, NEW, undefined],
  ["a proxy that was removed", { proxy: { kind: "none" }, deployed: { ...OURS, proxy: OLD } }, undefined, undefined],
  ["a proxy in spec.config", { proxy: KNOWN, deployed: { ...OURS, proxy: OLD }, config: OWN }, undefined, undefined],
  ["a proxy in spec.config and an unknown one", { proxy: UNKNOWN, config: OWN }, undefined, undefined],
  ["an unknown proxy", { proxy: UNKNOWN, deployed: { ...OURS, proxy: OLD } }, OLD, "keep their proxy variables, new Deployments get none"],
  ["an unknown proxy in an upgrade", { proxy: UNKNOWN, deployed: { ...OURS, proxy: OLD }, upgrade: true }, OLD, "keep their proxy"],
  ["an unknown proxy in a first install", { proxy: UNKNOWN }, undefined, "(forbidden): existing Deployments keep"],
  [
    "an installation of another implementation",
    { proxy: KNOWN, deployed: { inputDigest: undefined } as object },
    undefined,
    "the next upgrade adds",
  ],
  ["an adopted release", { proxy: KNOWN, deployed: { ...OURS, takenOver: true } }, undefined, "the next upgrade adds"],
  ["the upgrade of an adopted release", { proxy: KNOWN, deployed: { ...OURS, takenOver: true }, upgrade: true }, NEW, undefined],
])(
  "chooseProxyVariables returns the expected variables, and describeProxyMismatch a note if they may be outdated, for %s",
  ([, given, variables, note]) => {
    const phase = phaseOf(given);
    expect(chooseProxyVariables(phase)).toEqual(variables);
    if (note === undefined) expect(describeProxyMismatch(phase)).toBeUndefined();
    else expect(describeProxyMismatch(phase)).toContain(note);
  },
);

test("computeInputDigest depends only on the proxy variables in use", () => {
  const digest = (given: Given): string => computeInputDigest(phaseOf(given));
  const without = digest({ proxy: { kind: "none" } });
  expect(digest({ proxy: UNKNOWN })).toBe(without);
  expect(digest({ proxy: KNOWN })).not.toBe(without);
  expect(digest({ proxy: { ...KNOWN, source: "elsewhere" } })).toBe(digest({ proxy: KNOWN }));
  expect(digest({ proxy: KNOWN, config: OWN })).toBe(digest({ proxy: { kind: "none" }, config: OWN }));
  expect(digest({ proxy: UNKNOWN, deployed: { ...OURS, proxy: NEW } })).toBe(digest({ proxy: KNOWN }));
});

test.for([[NEW], [undefined]])("a stored release keeps its proxy variables: %o", ([proxy]) => {
  const record = releaseRecord(1, "deployed", proxy ? { proxy } : {});
  const [index] = encodeRelease(record, { systemNamespace: "olmv1-system", owner: { name: "x", uid: "1" } });
  expect(index && decodedRecord(index, [])).toEqual(record);
});

test.for([
  [undefined, NEW, "HTTP_PROXY set, NO_PROXY set"],
  [OLD, NEW, "HTTP_PROXY changed, NO_PROXY set"],
  [NEW, OLD, "HTTP_PROXY changed, NO_PROXY removed"],
  [NEW, undefined, "HTTP_PROXY removed, NO_PROXY removed"],
  [NEW, { ...NEW }, undefined],
  [undefined, undefined, undefined],
] as const)("describeProxyChange lists the names of changed variables: %j to %j", ([before, after, text]) => {
  expect(describeProxyChange(before, after)).toBe(text);
});
