import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { OPERATOR_CONDITION } from "../api/operatorCondition.ts";
import { isObject } from "../golang/members.ts";
import { determineOwnership } from "../release/ownership.ts";
import {
  belongsToCsv,
  buildConversionPatch,
  buildMarkingPatch,
  buildRestoringPatch,
  buildSecretPatch,
  isDetached,
  isManifestOfCsv,
  type RemovedMarks,
  readMarks,
} from "./ownershipMarks.ts";

interface MarksCase extends CaseHead {
  given: { live: KubeObject };
  want: { ofCsv: boolean; removed?: string[]; kept?: string[]; others?: string[] };
}

const CSV = { namespace: "ns", name: "p.v1.2.0", packageName: "p", definitions: ["things.example.com"] };
const AGAIN = { ...CSV, uid: "csv-9" };
const EXTENSION = { apiVersion: "olm.operatorframework.io/v1", kind: "ClusterExtension", name: "hello", uid: "1234" };
const OWNER = { name: "hello", uid: "1234", installNamespace: "ns" };

/** Merges like the API server: null removes a field. */
function patched(object: KubeObject, patch: JsonObject): KubeObject {
  const merge = (before: unknown, change: unknown): unknown => {
    if (!isObject(change)) return change;
    const result: JsonObject = isObject(before) ? { ...before } : {};
    for (const [member, value] of Object.entries(change)) {
      if (value === null) delete result[member];
      else if (value !== undefined) result[member] = merge(result[member], value);
    }
    return result;
  };
  return merge(object, patch) as KubeObject;
}

const withUid = ({ metadata, ...live }: KubeObject): KubeObject => ({ ...live, metadata: { ...metadata, uid: "live-1" } });

test.for(loadCases<MarksCase>("classic-marks"))("$name", ({ given, want }) => {
  const live = withUid(given.live);
  expect(belongsToCsv(live, CSV)).toBe(want.ofCsv);
  if (!want.ofCsv) return;
  const marks = readMarks(live, CSV, true);
  expect(Object.keys(marks.labels).sort()).toEqual(want.removed);

  const marked = patched(live, buildMarkingPatch(live, marks, CSV, EXTENSION));
  expect(isDetached(marked, CSV)).toBe(true);
  expect(determineOwnership(marked, OWNER)).toEqual({ kind: "ours" });
  expect(determineOwnership(marked, { ...OWNER, name: "other", uid: "5678" }).kind).toBe("foreign");
  expect(Object.keys(marked.metadata.labels ?? {})).toEqual(expect.arrayContaining(want.kept ?? []));
  expect((marked.metadata.ownerReferences ?? []).map(({ uid }) => uid).filter((uid) => uid !== "1234")).toEqual(want.others ?? []);

  const back = patched(marked, buildRestoringPatch(marked, marks, AGAIN, EXTENSION) ?? {});
  expect(back.metadata.labels ?? {}).toEqual(live.metadata.labels ?? {});
  const before = (live.metadata.ownerReferences ?? []).map((reference) =>
    reference.uid === "csv-1" ? { ...reference, uid: "csv-9" } : reference,
  );
  expect(back.metadata.ownerReferences ?? []).toEqual(before);
});

const ROLE: KubeObject = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "r", uid: "live-1", labels: { "olm.owner": "p.v1.2.0", "olm.owner.namespace": "ns" } },
};

test("buildMarkingPatch labels a leftover object with the extension, but does not make the extension its owner", () => {
  const marks = readMarks(ROLE, CSV, false);
  const left = patched(ROLE, buildMarkingPatch(ROLE, marks, CSV, EXTENSION));
  expect(left.metadata.labels).toEqual({ "olm.operatorframework.io/migration-leftover": "hello" });
  expect(determineOwnership(left, OWNER).kind).toBe("foreign");
  expect(patched(left, buildRestoringPatch(left, marks, AGAIN, EXTENSION) ?? {}).metadata.labels).toEqual(ROLE.metadata.labels);
});

test("buildMarkingPatch makes the garbage collector delete a leftover OperatorCondition with the extension, which does not manage it", () => {
  const metadata = {
    ...ROLE.metadata,
    ownerReferences: [
      { apiVersion: "operators.coreos.com/v1alpha1", kind: "ClusterServiceVersion", name: "p.v1.2.0", uid: "csv-1", controller: true },
    ],
  };
  const live = { ...OPERATOR_CONDITION, metadata };
  const marks = readMarks(live, CSV, false);
  const left = patched(live, buildMarkingPatch(live, marks, CSV, EXTENSION));
  expect(left.metadata.ownerReferences).toEqual([EXTENSION]);
  expect(determineOwnership(left, OWNER).kind).toBe("foreign");
  const back = patched(left, buildRestoringPatch(left, marks, AGAIN, EXTENSION) ?? {});
  expect(back.metadata.ownerReferences).toEqual([{ ...metadata.ownerReferences[0], uid: "csv-9" }]);
});

// Source: docs/security.md; a user who can change a backup must not be able to change other objects with it.
test("buildRestoringPatch ignores arbitrary labels and references in a backup, and skips objects of other owners", () => {
  const marks: RemovedMarks = {
    ...readMarks(ROLE, CSV, true),
    labels: { "pod-security.kubernetes.io/enforce": "privileged", "olm.owner": "p.v1.2.0" },
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "mine", uid: "u" }],
  };
  expect(buildRestoringPatch(ROLE, marks, AGAIN, EXTENSION)).toBeUndefined();
  const held = patched(ROLE, buildMarkingPatch(ROLE, readMarks(ROLE, CSV, true), CSV, EXTENSION));
  expect(buildRestoringPatch({ ...held, metadata: { ...held.metadata, uid: "another" } }, marks, AGAIN, EXTENSION)).toBeUndefined();
  const back = patched(held, buildRestoringPatch(held, marks, AGAIN, EXTENSION) ?? {});
  expect(back.metadata.labels).toEqual({ "olm.owner": "p.v1.2.0" });
  expect(back.metadata.ownerReferences).toEqual([]);
});

test("buildRestoringPatch restores no reference to a missing ClusterServiceVersion, and keeps labels that OLM v0 wrote again", () => {
  const owner = { apiVersion: "operators.coreos.com/v1alpha1", kind: "ClusterServiceVersion", name: CSV.name, uid: "csv-1" };
  const live = { ...ROLE, metadata: { ...ROLE.metadata, ownerReferences: [owner] } };
  const marks = readMarks(live, CSV, true);
  const held = patched(live, buildMarkingPatch(live, marks, CSV, EXTENSION));
  const upgraded = { ...held, metadata: { ...held.metadata, labels: { ...held.metadata.labels, "olm.owner": "p.v2" } } };
  const back = patched(upgraded, buildRestoringPatch(upgraded, marks, { ...CSV, uid: undefined }, EXTENSION) ?? {});
  expect(back.metadata.labels).toEqual({ "olm.owner": "p.v2", "olm.owner.namespace": "ns" });
  expect(back.metadata.ownerReferences).toEqual([]);
});

test("buildRestoringPatch truncates the label of a package with a long name as OLM v0 does", () => {
  const csv = { ...CSV, packageName: `${"a".repeat(60)}--`, namespace: "a-namespace" };
  const label = `operators.coreos.com/${"a".repeat(60)}`;
  const live = { ...ROLE, metadata: { ...ROLE.metadata, labels: { ...ROLE.metadata.labels, [label]: "" } } };
  expect(Object.keys(readMarks(live, csv, true).labels)).toContain(label);
});

test("buildConversionPatch restores a conversion that OLM v0 disabled, but not in a recreated CRD", () => {
  const conversion = { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } };
  const crd = (spec: JsonObject, uid = "live-1"): KubeObject => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com", uid },
    spec,
  });
  const marks = readMarks(crd({ conversion }), CSV, true);
  expect(marks.conversion).toEqual(conversion);
  expect(buildConversionPatch(crd({ conversion: { strategy: "None" } }), marks)).toMatchObject({ spec: { conversion } });
  expect(buildConversionPatch(crd({ conversion }), marks)).toBeUndefined();
  expect(buildConversionPatch(crd({ conversion: { strategy: "None" } }, "another"), marks)).toBeUndefined();
  expect(readMarks(crd({ conversion: { strategy: "None" } }), CSV, true)).not.toHaveProperty("conversion");
});

const MANAGED = { labels: { "olm.managed": "true" } };
const newAccount = (metadata: Partial<KubeObject["metadata"]>): KubeObject => ({
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "a", namespace: "ns", ...metadata },
});

test.for<[name: string, metadata: Partial<KubeObject["metadata"]>, planned: string[], others: string[], want: [boolean, boolean]]>([
  ["an InstallPlan created it", MANAGED, ["/ServiceAccount//a"], [], [true, true]],
  ["InstallPlans no longer exist", MANAGED, [], [], [false, true]],
  ["only a field manager of OLM v0 is known", { managedFields: [{ manager: "catalog" }] }, [], [], [false, true]],
  ["another operator installed it too", MANAGED, ["/ServiceAccount//a"], ["/ServiceAccount//a"], [false, false]],
  ["it is in another namespace", { ...MANAGED, namespace: "other" }, ["/ServiceAccount//a"], [], [false, false]],
  ["a user created it", {}, ["/ServiceAccount//a"], [], [false, false]],
  [
    "an extension owns it",
    { labels: { ...MANAGED.labels, "olm.operatorframework.io/owner-name": "x" } },
    ["/ServiceAccount//a"],
    [],
    [false, false],
  ],
  [
    "it has the component label of another package",
    { labels: { ...MANAGED.labels, "operators.coreos.com/q.ns": "" } },
    [],
    [],
    [false, false],
  ],
])("isManifestOfCsv attributes a ServiceAccount without an owner when %s", ([, metadata, planned, others, want]) => {
  const csv = { ...CSV, planned: { own: new Set(planned), others: new Map(others.map((key) => [key, "q.v1"])) } };
  const live = newAccount(metadata);
  expect([belongsToCsv(live, csv), isManifestOfCsv(live, csv)]).toEqual(want);
});

test("buildSecretPatch restores the certificates of OLM v0 when the Secret is the same", () => {
  const ref = { apiVersion: "v1", kind: "Secret" };
  const before: KubeObject = {
    ...ref,
    metadata: { name: "a", uid: "1", annotations: { olmcahash: "h" } },
    data: { "tls.crt": "b", olmCAKey: "k" },
  };
  const { secret, uid } = readMarks(before, CSV, true);
  const live: KubeObject = { ...ref, metadata: { name: "a", uid: "1" }, data: { "tls.crt": "c", "ca.crt": "d" } };
  const restored = patched(live, buildSecretPatch(live, { uid, ...(secret ? { secret } : {}) }) ?? {});
  expect(restored["data"]).toEqual(before["data"]);
  expect(restored.metadata.annotations).toEqual({ olmcahash: "h" });
  expect(buildSecretPatch({ ...live, metadata: { name: "a", uid: "2" } }, { uid, ...(secret ? { secret } : {}) })).toBeUndefined();
  const custom = { ...before, apiVersion: "ecr.example.com/v1" };
  expect(readMarks(custom, CSV, true).secret).toBeUndefined();
});

test.for<[name: string, data: JsonObject, annotations: Record<string, string>, isRestored: boolean]>([
  ["a serving certificate with the key of its authority", { "tls.crt": "b", olmCAKey: "k" }, {}, true],
  ["a serving certificate with the hash of its authority", { "tls.crt": "b" }, { olmcahash: "h" }, true],
  ["a password", { password: "old" }, { team: "a" }, false],
  ["a certificate of another issuer", { "tls.crt": "b", "ca.crt": "d" }, {}, false],
])("readMarks and buildSecretPatch restore only certificates of OLM v0 when the Secret has %s", ([, data, annotations, isRestored]) => {
  const ref = { apiVersion: "v1", kind: "Secret" };
  const before: KubeObject = { ...ref, metadata: { name: "a", uid: "1", annotations }, data };
  expect(readMarks(before, CSV, true).secret !== undefined).toBe(isRestored);
  const rotated: KubeObject = { ...ref, metadata: { name: "a", uid: "1", annotations }, data: { ...data, password: "new" } };
  const patch = buildSecretPatch(rotated, { uid: "1", secret: { data, annotations } }); // backups of earlier versions contain all Secrets
  expect(patch === undefined ? rotated["data"] : patched(rotated, patch)["data"]).toEqual(isRestored ? data : rotated["data"]);
});
