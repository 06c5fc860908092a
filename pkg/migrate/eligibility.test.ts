import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { ANNOTATION_WITHOUT_SUBSCRIPTION } from "../api/migration.ts";
import { isObject } from "../golang/members.ts";
import { parseInstalledCsv } from "./clusterServiceVersion.ts";
import { checkMigrated, decideEligibility, type EligibilityVerdict, type MigrationReason, rejectUnreadable } from "./eligibility.ts";
import type { BundleOffer, EligibilityInput, KnownExtension } from "./eligibilityInput.ts";
import { buildExtension } from "./extensionManifest.ts";
import { parseOperatorGroup } from "./operatorGroup.ts";
import { parseSubscription, type Subscription } from "./subscription.ts";

interface StateCase extends CaseHead {
  given: {
    subscription?: JsonObject | null;
    csv?: JsonObject | null;
    groups?: JsonObject[];
    others?: JsonObject[];
    csvs?: JsonObject[];
    extensions?: KnownExtension[];
    begunElsewhere?: string[];
    catalogs?: Record<string, Partial<BundleOffer>>;
    unread?: string[];
    reportsConditions?: boolean;
    extensionName?: string;
    planPhase?: string;
    configFault?: string;
    sourceImage?: string;
    isSourceMissing?: boolean;
    bundleImage?: string;
  };
  want: {
    error?: string;
    state?: EligibilityVerdict["state"];
    reasons?: string[];
    remarks?: string[];
    /** Text of the first reason. */
    text?: string;
    /** Part of the next step of the first reason. */
    next?: string;
    catalog?: string;
    extension?: JsonObject;
    config?: JsonObject;
    dependencies?: JsonObject;
  };
}

const SUBSCRIPTION: KubeObject = {
  apiVersion: "operators.coreos.com/v1alpha1",
  kind: "Subscription",
  metadata: { name: "hello", namespace: "operators" },
  spec: { name: "p", channel: "stable", source: "community", sourceNamespace: "olm" },
  status: { state: "AtLatestKnown", installedCSV: "p.v1.2.0", currentCSV: "p.v1.2.0" },
};
const CSV: KubeObject = {
  apiVersion: "operators.coreos.com/v1alpha1",
  kind: "ClusterServiceVersion",
  metadata: { name: "p.v1.2.0", namespace: "operators" },
  spec: { version: "1.2.0", installModes: [{ type: "AllNamespaces", supported: true }], customresourcedefinitions: {} },
  status: { phase: "Succeeded" },
};
const GROUP: KubeObject = {
  apiVersion: "operators.coreos.com/v1",
  kind: "OperatorGroup",
  metadata: { name: "global-operators", namespace: "operators" },
  spec: {},
  status: { namespaces: [""] },
};

/** Merges `change` into `base`, field by field; null removes a field. */
function merged<T>(base: T, change: JsonObject): T {
  const result: JsonObject = { ...(base as JsonObject) };
  for (const [member, value] of Object.entries(change)) {
    const before = result[member];
    if (value === null) delete result[member];
    else result[member] = isObject(value) && isObject(before) ? merged(before, value) : value;
  }
  return result as T;
}

function surroundings({
  csv,
  groups = [{}],
  others = [],
  csvs = [],
  extensions = [],
  catalogs,
  unread = [],
  ...given
}: StateCase["given"]): EligibilityInput {
  const installed = csv === null ? undefined : parseInstalledCsv(merged(CSV, csv ?? {}));
  const offers = Object.entries(catalogs ?? { community: { channels: ["stable"] } });
  return {
    csv: installed,
    groups: groups.map((group) => parseOperatorGroup(merged(GROUP, group))),
    subscriptions: [parseSubscription(SUBSCRIPTION), ...others.map((other) => parseSubscription(merged(SUBSCRIPTION, other)))],
    csvs: [...(installed ? [installed] : []), ...csvs.map((other) => parseInstalledCsv(merged(CSV, other)))],
    extensions,
    offers: {
      catalogs: offers.map(([name]) => name),
      bundles: offers.flatMap(([catalog, offer]) =>
        offer.channels ? [{ catalog, priority: 0, version: "1.2.0", image: "registry.example/p:v1.2.0", channels: [], ...offer }] : [],
      ),
      unread,
    },
    extensionName: given.extensionName ?? "hello",
    reportsConditions: given.reportsConditions ?? false,
    begunElsewhere: new Set(given.begunElsewhere),
    planPhase: given.planPhase,
    configFault: given.configFault,
    sourceImage: given.sourceImage,
    isSourceMissing: given.isSourceMissing ?? false,
    bundleImage: given.bundleImage,
  };
}

const codes = (reasons: readonly MigrationReason[]): string[] => reasons.map(({ code }) => code);

test.for(loadCases<StateCase>("classic-migration"))("$name", ({ given, want }) => {
  const around = surroundings(given);
  let subscription: Subscription;
  try {
    subscription = parseSubscription(merged(SUBSCRIPTION, given.subscription ?? {}));
  } catch (err) {
    expect((err as Error).message).toBe(want.error);
    return;
  }
  expect(want.error).toBeUndefined();
  const verdict = given.subscription === null ? checkMigrated(around.extensions[0]!, []) : decideEligibility(subscription, around);
  expect(verdict).toMatchObject({ state: want.state });
  expect(codes(verdict!.reasons)).toEqual(want.reasons ?? []);
  if (want.remarks) expect(codes(verdict!.remarks)).toEqual(want.remarks);
  if (want.text) expect(verdict!.reasons[0]?.text).toBe(want.text);
  if (want.next) expect(verdict!.reasons[0]?.next).toContain(want.next);
  expect(verdict!.offer !== undefined).toBe(want.state === "Eligible");
  if (want.catalog) expect(verdict!.offer?.catalog).toBe(want.catalog);
  if (!verdict!.offer) return;
  const { spec } = buildExtension({
    name: "hello",
    subscription,
    group: around.groups[0],
    offer: verdict!.offer,
    needsOlmV0: (around.csv?.dependencies.length ?? 0) > 0,
    serviceAccount: "hello-installer",
  });
  if (want.extension) expect(spec).toEqual(want.extension);
  if (want.config) expect(spec.config).toEqual(want.config);
  expect(spec.dependencies).toEqual(want.dependencies ?? (around.csv!.dependencies.length > 0 ? { policy: "Ignore" } : undefined));
});

test("checkMigrated returns nothing when an extension was not converted, or its Subscription still exists", () => {
  const subscription = parseSubscription(SUBSCRIPTION);
  expect(checkMigrated({ name: "a", packageName: "p" }, [])).toBeUndefined();
  expect(checkMigrated({ name: "a", packageName: "p", migratedFrom: "operators/hello" }, [subscription])).toBeUndefined();
});

test.for<[string, KubeObject["metadata"], string, string]>([
  [
    "an invalid Subscription",
    { name: "hello", namespace: "n" },
    "Unreadable",
    "kubectl delete subscription.operators.coreos.com hello -n n",
  ],
  [
    "a ClusterServiceVersion without Subscription whose package is unknown",
    { name: "p.v1", namespace: "n", annotations: { [ANNOTATION_WITHOUT_SUBSCRIPTION]: "p.v1" } },
    "PackageUnknown",
    "kubectl delete csv p.v1 -n n --cascade=orphan",
  ],
  [
    "a Subscription whose annotation contains a shell command",
    { name: "p.v1", namespace: "n", annotations: { [ANNOTATION_WITHOUT_SUBSCRIPTION]: "p; reboot" } },
    "PackageUnknown",
    "kubectl delete csv 'p; reboot' -n n --cascade=orphan",
  ],
])("rejectUnreadable names the next step for %s", ([, metadata, code, next]) => {
  const { state, reasons } = rejectUnreadable(
    { apiVersion: "operators.coreos.com/v1alpha1", kind: "Subscription", metadata },
    "no package",
  );
  expect([state, codes(reasons)]).toEqual(["Ineligible", [code]]);
  expect(reasons[0]?.next).toContain(next);
});
