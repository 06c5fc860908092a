import { describe, expect, test } from "vitest";
import { computeKstatus, expectKstatus } from "../../test/support/kstatus.ts";
import type { ClusterCatalog, ClusterCatalogStatus } from "../api/clusterCatalog.ts";
import { isKstatusCondition } from "../api/conditions.ts";
import { API_VERSION } from "../api/constants.ts";
import type { Condition } from "../api/k8s.ts";
import { newProblem, type Problem } from "../api/problems.ts";
import { RetryableError, TerminalError, wrapError } from "../errors/errors.ts";
import { RegistryError } from "../oci/registry/registryError.ts";
import { SourceError } from "./failures.ts";
import { newStarted, type Phase, type Withdrawn } from "./phases.ts";
import { computeCatalogStatus } from "./status.ts";
import { type CatalogContent, type FindingsSummary, NO_FINDINGS } from "./store/content.ts";

const NOW = "2026-02-03T04:05:06Z";
const BEFORE = "2026-01-01T00:00:00Z";
const BASE = "https://catalogd/catalogs/test";
const OLD_REF = "quay.io/c@sha256:old";
const NEW_REF = "quay.io/c@sha256:new";
const PACKAGES = 3;

function catalog(status?: ClusterCatalogStatus): ClusterCatalog {
  const spec = { source: { type: "Image", image: { ref: "quay.io/c:v1" } } } as const;
  const object = { apiVersion: API_VERSION, kind: "ClusterCatalog", metadata: { name: "test", generation: 7 }, spec };
  return status ? { ...object, status } : object;
}

function contentOf(ref: string, findings: FindingsSummary = NO_FINDINGS): CatalogContent {
  const origin = { ref, digest: ref.split("@")[1] ?? "", lastUnpacked: "2026-02-03T04:00:00Z" };
  return { origin, findings, artifacts: new Map([["packages", { index: { lines: PACKAGES } }]]) } as unknown as CatalogContent;
}

function condition(
  type: string,
  status: Condition["status"],
  reason: string,
  message: string,
  observedGeneration = 7,
  lastTransitionTime = NOW,
): Condition {
  return { type, status, reason, message, observedGeneration, lastTransitionTime };
}

const served = (ref: string): Pick<ClusterCatalogStatus, "resolvedSource" | "urls" | "lastUnpacked" | "content"> => ({
  resolvedSource: { type: "Image", image: { ref } },
  urls: { base: BASE },
  lastUnpacked: "2026-02-03T04:00:00Z",
  content: { packages: PACKAGES, digest: ref.split("@")[1] ?? "" },
});
const SUCCEEDED = "Successfully unpacked and stored content from resolved source";
const SERVING = "Serving desired content from resolved source";
const SOUND = "no errors found in the served content";
const OFF = "Catalog availability mode is set to Unavailable";
const SERVED: ClusterCatalogStatus = {
  conditions: [
    condition("Progressing", "True", "Succeeded", SUCCEEDED, 6, BEFORE),
    condition("Serving", "True", "Available", SERVING, 6, BEFORE),
    condition("Valid", "True", "Valid", SOUND, 6, BEFORE),
  ],
  ...served(OLD_REF),
};

/** Result of a reconcile: the phase and the served content. */
interface Reached {
  content?: CatalogContent;
  problems?: Problem[];
  withdrawn?: Withdrawn["why"];
  fetching?: string;
}

/** Returns the status after a reconcile without the field `failure` and the conditions that summarize others, which have their own tests. */
function after(before: ClusterCatalogStatus | undefined, reached: Reached, error?: unknown): ClusterCatalogStatus {
  const whole = wholeAfter(before, reached, error);
  expectKstatus(catalog(whole));
  const { failure: _, observedGeneration: __, conditions = [], ...status } = whole;
  if (error !== undefined) delete status.problems;
  return { ...status, conditions: conditions.filter(({ type }) => type !== "Ready" && !isKstatusCondition(type)) };
}

function wholeAfter(before: ClusterCatalogStatus | undefined, reached: Reached, error?: unknown): ClusterCatalogStatus {
  return computeCatalogStatus(phaseFrom(catalog(before), reached), { content: reached.content, error, base: BASE, now: NOW });
}

function phaseFrom(object: ClusterCatalog, { content, problems = [], withdrawn, fetching }: Reached): Phase {
  const known = { ...newStarted(object), problems };
  if (withdrawn) return { ...known, phase: "withdrawn", why: withdrawn };
  if (fetching !== undefined) return { ...known, phase: "fetching", ref: fetching };
  return content ? { ...known, phase: "stored", content } : known;
}

describe("content is served", () => {
  test("computeCatalogStatus reports content that is served for the first time", () => {
    expect(after(undefined, { content: contentOf(NEW_REF) })).toEqual({
      conditions: [
        condition("Progressing", "True", "Succeeded", SUCCEEDED),
        condition("Serving", "True", "Available", SERVING),
        condition("Valid", "True", "Valid", SOUND),
      ],
      ...served(NEW_REF),
    });
  });

  test("computeCatalogStatus keeps the transition times of conditions when newer content is served", () => {
    expect(after(SERVED, { content: contentOf(NEW_REF) })).toEqual({
      conditions: [
        condition("Progressing", "True", "Succeeded", SUCCEEDED, 7, BEFORE),
        condition("Serving", "True", "Available", SERVING, 7, BEFORE),
        condition("Valid", "True", "Valid", SOUND, 7, BEFORE),
      ],
      ...served(NEW_REF),
    });
  });

  test("computeCatalogStatus reports the problems of the steps when the reconcile succeeds", () => {
    const empty = newProblem("CatalogEmpty", { message: "the catalog contains no objects" });
    const { conditions = [], problems } = after(undefined, { content: contentOf(NEW_REF), problems: [empty] });
    expect(conditions[0]?.message).toBe(SUCCEEDED);
    expect(problems).toEqual([empty]);
  });

  test("computeCatalogStatus keeps conditions of other types", () => {
    const foreign = condition("Foreign", "Unknown", "Because", "x", 1, BEFORE);
    expect(
      after({ ...SERVED, conditions: [foreign, ...(SERVED.conditions ?? [])] }, { content: contentOf(OLD_REF) }).conditions,
    ).toContainEqual(foreign);
  });

  test("computeCatalogStatus changes nothing when applied twice", () => {
    const once = after(SERVED, { content: contentOf(NEW_REF) });
    expect(after(once, { content: contentOf(NEW_REF) })).toEqual(once);
  });
});

describe("checked content", () => {
  const valid = (findings: FindingsSummary): Condition | undefined =>
    after(SERVED, { content: contentOf(NEW_REF, findings) }).conditions?.find(({ type }) => type === "Valid");

  test("computeCatalogStatus sets Valid to False with the number of errors and the first findings, and keeps Serving True", () => {
    const got = after(SERVED, { content: contentOf(NEW_REF, { errors: 12, warnings: 1, first: ["error: a", "error: b"] }) });
    const text = `12 errors and 1 warning in the served content.\nAll findings: ${BASE}/findings. First findings:\nerror: a\nerror: b`;
    expect(got.conditions?.slice(1)).toEqual([
      condition("Serving", "True", "Available", SERVING, 7, BEFORE),
      condition("Valid", "False", "InvalidContent", text),
    ]);
  });

  test("computeCatalogStatus sets Valid to True for content with only warnings", () => {
    const message = `${SOUND}, but 2 warnings.\nAll findings: ${BASE}/findings. First findings:\nwarning: a`;
    expect(valid({ errors: 0, warnings: 2, first: ["warning: a"] })).toMatchObject({ status: "True", reason: "Valid", message });
  });
});

describe("an error", () => {
  const terminal = new SourceError(new TerminalError("Blocked", 'error parsing image reference "x": invalid reference format'));
  const nested = new SourceError(wrapError("error applying image: ", new TerminalError("Blocked", "no label")));
  const network = new RetryableError(
    "Retrying",
    "source catalog content: lookup r on 10.0.0.1:53: read udp 10.2.0.8:46753->10.9.0.1:53: i/o timeout",
  );

  test.for<[string, unknown, Condition]>([
    ["of any type is retried", new Error("disk full"), condition("Progressing", "True", "Retrying", "disk full")],
    [
      "from the network is reported without port numbers",
      network,
      condition("Progressing", "True", "Retrying", "source catalog content: lookup r on 10.0.0.1:53: i/o timeout"),
    ],
    [
      "that is terminal blocks progress",
      terminal,
      condition(
        "Progressing",
        "False",
        "Blocked",
        'source catalog content: terminal error: error parsing image reference "x": invalid reference format',
      ),
    ],
    [
      "that contains a terminal error is marked before the terminal error",
      nested,
      condition("Progressing", "False", "Blocked", "source catalog content: error applying image: terminal error: no label"),
    ],
    [
      "that is terminal itself is marked at its start",
      new TerminalError("Blocked", 'unknown source type "x"'),
      condition("Progressing", "False", "Blocked", 'terminal error: unknown source type "x"'),
    ],
  ])("computeCatalogStatus: an error %s", ([, error, want]) => {
    expect(after(undefined, {}, error)).toEqual({ conditions: [want] });
  });

  test.for<[type: string, error: unknown]>([
    ["InvalidSpec", terminal],
    ["RegistryUnavailable", new SourceError(network)],
    ["ImageRejected", new RetryableError("Retrying", "x", { problems: [newProblem("ImageRejected", { message: "x" })] })],
    ["ReconcileFailed", new Error("no")],
  ])("computeCatalogStatus reports problem type %s", ([type, error]) => {
    expect(wholeAfter(undefined, {}, error).problems).toMatchObject([{ type, severity: "Error" }]);
  });

  test("computeCatalogStatus keeps the served content after an error", () => {
    const got = after(SERVED, { content: contentOf(OLD_REF) }, new Error("no"));
    const [, ...others] = SERVED.conditions ?? [];
    expect(got).toEqual({ ...SERVED, conditions: [condition("Progressing", "True", "Retrying", "no", 7, BEFORE), ...others] });
  });

  test("computeCatalogStatus sets Serving to False after an error when no content is served", () => {
    expect(after(SERVED, {}, new Error("no"))).toEqual({
      conditions: [
        condition("Progressing", "True", "Retrying", "no", 7, BEFORE),
        condition("Serving", "False", "Unavailable", "the stored content was lost and has not been fetched again"),
      ],
    });
  });

  test("computeCatalogStatus sets reason Retrying when the content cannot be removed", () => {
    expect(after(SERVED, { withdrawn: "deleted" }, new Error("busy"))).toEqual({
      conditions: [condition("Progressing", "True", "Retrying", "busy", 7, BEFORE), condition("Serving", "False", "Unavailable", "")],
    });
  });
});

describe("withdrawn content", () => {
  test("computeCatalogStatus sets Serving to False with reason Unavailable for a deleted catalog", () => {
    expect(after(SERVED, { withdrawn: "deleted" })).toEqual({
      conditions: [SERVED.conditions?.[0], condition("Serving", "False", "Unavailable", "")],
    });
  });

  test("computeCatalogStatus sets Serving to False with reason UserSpecifiedUnavailable for an unavailable catalog", () => {
    expect(after(SERVED, { withdrawn: "unavailable" })).toEqual({
      conditions: [
        condition("Progressing", "True", "Succeeded", OFF, 7, BEFORE),
        condition("Serving", "False", "UserSpecifiedUnavailable", OFF),
      ],
    });
  });
});

describe("condition Ready", () => {
  const network = new RetryableError("Retrying", "timeout");
  const blocked = new TerminalError("Blocked", "no label");

  test.for<[when: string, before: ClusterCatalogStatus | undefined, reached: Reached, error: unknown, want: [string, string, string]]>([
    ["new content is served", undefined, { content: contentOf(NEW_REF) }, undefined, ["True", "Available", "Current"]],
    ["a pull is in progress", undefined, { fetching: "quay.io/c:v1" }, undefined, ["False", "RollingOut", "InProgress"]],
    [
      "older content is served during a pull",
      SERVED,
      { content: contentOf(OLD_REF), fetching: "quay.io/c:v2" },
      undefined,
      ["False", "RollingOut", "InProgress"],
    ],
    ["an error is retried", undefined, {}, network, ["False", "Retrying", "InProgress"]],
    ["older content is served after an error", SERVED, { content: contentOf(OLD_REF) }, network, ["False", "Retrying", "InProgress"]],
    ["an error is terminal", undefined, {}, blocked, ["False", "Blocked", "Failed"]],
    ["older content is served after a terminal error", SERVED, { content: contentOf(OLD_REF) }, blocked, ["False", "Blocked", "Failed"]],
    ["the catalog is disabled", SERVED, { withdrawn: "unavailable" }, undefined, ["True", "UserSpecifiedUnavailable", "Current"]],
  ])("computeCatalogStatus reports Ready for kstatus when %s", ([, before, reached, error, want]) => {
    const object = catalog(wholeAfter(before, reached, error));
    const ready = object.status?.conditions?.find(({ type }) => type === "Ready");
    expect([ready?.status, ready?.reason, computeKstatus(object).status]).toEqual(want);
  });

  test("kstatus waits for a catalog that was not reconciled, and for one whose spec changed", () => {
    expect(computeKstatus(catalog({ observedGeneration: -1 })).status).toBe("InProgress");
    const { observedGeneration, ...status } = wholeAfter(undefined, { content: contentOf(NEW_REF) });
    expect(computeKstatus(catalog({ ...status, observedGeneration: (observedGeneration ?? 0) - 1 })).status).toBe("InProgress");
  });
});

describe("status.failure", () => {
  test("computeCatalogStatus sets status.failure after an error, and removes it after the next success", () => {
    const failed = wholeAfter(SERVED, {}, new SourceError(new RegistryError("manifest unknown", 404)));
    expect(failed.failure).toEqual({ reason: "not_found" });
    expect(wholeAfter(failed, { content: contentOf(NEW_REF) }).failure).toBeUndefined();
  });
});

test.for<[what: string, before: ClusterCatalogStatus | undefined, reached: Reached, serving: string | undefined]>([
  ["nothing is served yet", undefined, {}, undefined],
  ["the previous content is served", SERVED, { content: contentOf(OLD_REF) }, "True"],
])("computeCatalogStatus reports a pull in progress only in condition Progressing when %s", ([, before, reached, serving]) => {
  const { conditions = [], resolvedSource } = after(before, { ...reached, fetching: "quay.io/c:v2" });
  const found = (type: string): Condition | undefined => conditions.find((one) => one.type === type);
  expect(found("Progressing")).toMatchObject({
    status: "True",
    reason: "RollingOut",
    message: "Unpacking image quay.io/c:v2",
    observedGeneration: 7,
  });
  expect([found("Serving")?.status, resolvedSource?.image.ref]).toEqual([serving, before?.resolvedSource?.image.ref]);
});
