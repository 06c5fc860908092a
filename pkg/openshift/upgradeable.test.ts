import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { type ClusterVersion, parseMinorVersion } from "../version/clusterVersion.ts";
import {
  type ActiveRelease,
  assessRelease,
  buildGateDegradedCondition,
  buildUpgradeableCondition,
  type ReleaseVerdict,
  type UnreadableReleases,
} from "./upgradeable.ts";

interface UpgradeableCase extends CaseHead {
  cluster: string | { unknown: string } | null;
  releases?: (Omit<ActiveRelease, "properties"> & { properties?: string })[] | UnreadableReleases[];
  verdicts?: ReleaseVerdict["kind"][];
  remedies?: Record<string, string>;
  upgradeable: "True" | "False";
  reason?: string;
  message?: string;
  degraded?: string;
}

const cases = loadCases<UpgradeableCase>("gate").filter(({ releases }) => releases);
const known = (text: string): ClusterVersion => ({ kind: "known", text, minor: parseMinorVersion(text) });
const sizeOf = (text: string): number => Buffer.byteLength(text);

function clusterOf(cluster: UpgradeableCase["cluster"]): ClusterVersion {
  if (cluster === null) return { kind: "none" };
  return typeof cluster === "string" ? known(cluster) : { kind: "unknown", reason: cluster.unknown };
}

test.for(cases)("$name", ({ cluster, releases = [], remedies = {}, verdicts, upgradeable, reason = "", message = "", degraded }) => {
  const version = clusterOf(cluster);
  const found = releases.map((release) => assessRelease({ properties: undefined, ...release }, version));
  if (verdicts) expect(found.map(({ kind }) => kind)).toEqual(verdicts);
  expect(buildUpgradeableCondition(found, version, new Map(Object.entries(remedies)))).toEqual({
    type: "InstalledOLMOperatorsUpgradeable",
    status: upgradeable,
    reason,
    message,
  });
  expect(buildGateDegradedCondition(found, version)).toEqual({
    type: "OLMIncompatibleOperatorControllerDegraded",
    ...(degraded === undefined
      ? { status: "False", reason: "AsExpected", message: "" }
      : { status: "True", reason: "SyncError", message: degraded }),
  });
});

describe("buildUpgradeableCondition with many extensions", () => {
  const cluster = known("4.17.0");
  const blocked = (count: number): ReleaseVerdict[] =>
    Array.from({ length: count }, (_, i) => {
      const name = `extension-${String(i).padStart(5, "0")}`;
      return { extension: name, bundle: `${name}.v1.0.0`, version: "1.0.0", kind: "blocked", max: { major: 4, minor: 17 } };
    });
  const errors = (count: number): ReleaseVerdict[] =>
    Array.from({ length: count }, (_, i) => {
      const extension = `failed-${String(i).padStart(5, "0")}`;
      return { extension, bundle: "", version: "", kind: "error", text: `error returning the last deployed release for ${extension}; x` };
    });

  test("buildUpgradeableCondition lists all bundles if they fit, and reports the number of omitted next steps", () => {
    const { message } = buildUpgradeableCondition(blocked(300), cluster);
    const [list = "", ...lines] = message.split("\n");
    expect(list.match(/for ClusterExtension/g)).toHaveLength(300);
    expect(lines.at(-1)).toBe(`and ${300 - lines.length + 1} more ClusterExtensions`);
    expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
  });

  test("buildUpgradeableCondition reports the number of omitted bundles when the list does not fit", () => {
    const { message } = buildUpgradeableCondition(blocked(5_000), cluster);
    const named = message.match(/for ClusterExtension/g)?.length ?? 0;
    expect(named).toBeGreaterThan(400);
    expect(message.endsWith(`,and ${5_000 - named} more.`)).toBe(true);
    expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
  });

  test("buildUpgradeableCondition reserves half of the message for errors", () => {
    const { message } = buildUpgradeableCondition([...blocked(5_000), ...errors(5_000)], cluster);
    const [list = "", additionally = "", ...rest] = message.split("\n");
    expect(list).toMatch(/,and \d+ more\.$/);
    expect(additionally).toContain("failed-00000");
    expect(rest.at(-1)).toMatch(/^and \d+ more errors$/);
    expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
    expect(sizeOf(message)).toBeGreaterThan(MESSAGE_MAX_BYTES - 500);
  });

  test("buildUpgradeableCondition reports the number of omitted errors", () => {
    for (const { message } of [buildUpgradeableCondition(errors(5_000), cluster), buildGateDegradedCondition(errors(5_000), cluster)]) {
      expect(message).toMatch(/\nand \d+ more errors$/);
      expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
    }
  });

  test("buildUpgradeableCondition lists all extensions when one has a huge name or cause", () => {
    const huge = "é".repeat(40_000);
    const releases = [
      { extension: "a", reason: huge },
      { extension: "b", bundle: huge, version: huge, properties: "x" },
    ];
    const hostile: ReleaseVerdict[] = [
      { ...blocked(1)[0]!, bundle: huge, version: huge },
      ...releases.map((one) => assessRelease(one, cluster)),
    ];
    const { message } = buildUpgradeableCondition([...hostile, ...blocked(20)], cluster);
    expect(message.match(/for ClusterExtension/g)).toHaveLength(21);
    expect(message.length).toBeLessThan(10_000);
    expect(buildGateDegradedCondition(hostile, cluster).message.length).toBeLessThan(3_000);
  });

  test("buildUpgradeableCondition omits next steps when a remedy is too long", () => {
    const remedies = new Map([["extension-00000", "x".repeat(40_000)]]);
    const { message } = buildUpgradeableCondition(blocked(2), cluster, remedies);
    expect(message).toMatch(/\nand 2 more ClusterExtensions$/);
  });
});

describe("buildUpgradeableCondition and buildGateDegradedCondition", () => {
  const text = fc.constantFrom("a", "b", "a-b", "a0", "é", "\uffee", "\u{1f600}");
  const properties = fc.constantFrom(undefined, "", "[]", "x", ...["4.17", "4.18", '"4.17"', '"x"', "null"].map(stating));
  const release = fc.oneof(
    fc.record({ extension: text, bundle: text, version: fc.constantFrom("1.0.0", "1.1.0"), properties }),
    fc.record({ extension: text, reason: text }),
  );
  const cluster = fc.constantFrom<ClusterVersion>(known("4.17.2"), known("4.18.0"), { kind: "none" }, { kind: "unknown", reason: "x" });

  test("buildUpgradeableCondition and buildGateDegradedCondition do not depend on the order of releases", () => {
    fc.assert(
      fc.property(fc.array(release), cluster, fc.nat(), (releases, version, shift) => {
        const found = releases.map((one) => assessRelease(one, version));
        const at = found.length === 0 ? 0 : shift % found.length;
        const other = [...found.slice(at), ...found.slice(0, at)].reverse();
        expect(buildUpgradeableCondition(other, version)).toEqual(buildUpgradeableCondition(found, version));
        expect(buildGateDegradedCondition(other, version)).toEqual(buildGateDegradedCondition(found, version));
      }),
    );
  });

  test("buildUpgradeableCondition returns False when any release blocks the upgrade", () => {
    fc.assert(
      fc.property(fc.array(release), release, cluster, (others, one, version) => {
        const verdict = assessRelease(one, version);
        const alone = buildUpgradeableCondition([verdict], version).status;
        const together = buildUpgradeableCondition([...others.map((other) => assessRelease(other, version)), verdict], version).status;
        if (alone === "False") expect(together).toBe("False");
        if (buildGateDegradedCondition([verdict], version).status === "True") expect(alone).toBe("False");
      }),
    );
  });
});

function stating(value: string): string {
  return `[{"type":"olm.maxOpenShiftVersion","value":${value}}]`;
}
