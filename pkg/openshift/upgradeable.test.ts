import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { MESSAGE_MAX_BYTES } from "../api/constants.ts";
import { type ClusterVersion, minorOf } from "../version/clusterVersion.ts";
import {
  type ActiveRelease,
  gateDegradedFrom,
  type ReleaseVerdict,
  type UnreadableReleases,
  upgradeableFrom,
  verdictOn,
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
const known = (text: string): ClusterVersion => ({ kind: "known", text, minor: minorOf(text) });
const sizeOf = (text: string): number => Buffer.byteLength(text);

function clusterOf(cluster: UpgradeableCase["cluster"]): ClusterVersion {
  if (cluster === null) return { kind: "none" };
  return typeof cluster === "string" ? known(cluster) : { kind: "unknown", because: cluster.unknown };
}

test.for(cases)("$name", ({ cluster, releases = [], remedies = {}, verdicts, upgradeable, reason = "", message = "", degraded }) => {
  const version = clusterOf(cluster);
  const found = releases.map((release) => verdictOn({ properties: undefined, ...release }, version));
  if (verdicts) expect(found.map(({ kind }) => kind)).toEqual(verdicts);
  expect(upgradeableFrom(found, version, new Map(Object.entries(remedies)))).toEqual({
    type: "InstalledOLMOperatorsUpgradeable",
    status: upgradeable,
    reason,
    message,
  });
  expect(gateDegradedFrom(found, version)).toEqual({
    type: "OLMIncompatibleOperatorControllerDegraded",
    ...(degraded === undefined
      ? { status: "False", reason: "AsExpected", message: "" }
      : { status: "True", reason: "SyncError", message: degraded }),
  });
});

describe("very many extensions", () => {
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

  test("are all in the list while it fits, and the lines about the rest are counted", () => {
    const { message } = upgradeableFrom(blocked(300), cluster);
    const [list = "", ...lines] = message.split("\n");
    expect(list.match(/for ClusterExtension/g)).toHaveLength(300);
    expect(lines.at(-1)).toBe(`and ${300 - lines.length + 1} more ClusterExtensions`);
    expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
  });

  test("are counted in the list when it does not fit", () => {
    const { message } = upgradeableFrom(blocked(5_000), cluster);
    const named = message.match(/for ClusterExtension/g)?.length ?? 0;
    expect(named).toBeGreaterThan(400);
    expect(message.endsWith(`,and ${5_000 - named} more.`)).toBe(true);
    expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
  });

  test("leave half of the room to errors", () => {
    const { message } = upgradeableFrom([...blocked(5_000), ...errors(5_000)], cluster);
    const [list = "", additionally = "", ...rest] = message.split("\n");
    expect(list).toMatch(/,and \d+ more\.$/);
    expect(additionally).toContain("failed-00000");
    expect(rest.at(-1)).toMatch(/^and \d+ more errors$/);
    expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
    expect(sizeOf(message)).toBeGreaterThan(MESSAGE_MAX_BYTES - 500);
  });

  test("with errors only are counted too", () => {
    for (const { message } of [upgradeableFrom(errors(5_000), cluster), gateDegradedFrom(errors(5_000), cluster)]) {
      expect(message).toMatch(/\nand \d+ more errors$/);
      expect(sizeOf(message)).toBeLessThanOrEqual(MESSAGE_MAX_BYTES);
    }
  });

  test("are not crowded out by one with a huge name or cause", () => {
    const huge = "é".repeat(40_000);
    const releases = [
      { extension: "a", because: huge },
      { extension: "b", bundle: huge, version: huge, properties: "x" },
    ];
    const hostile: ReleaseVerdict[] = [
      { ...blocked(1)[0]!, bundle: huge, version: huge },
      ...releases.map((one) => verdictOn(one, cluster)),
    ];
    const { message } = upgradeableFrom([...hostile, ...blocked(20)], cluster);
    expect(message.match(/for ClusterExtension/g)).toHaveLength(21);
    expect(message.length).toBeLessThan(10_000);
    expect(gateDegradedFrom(hostile, cluster).message.length).toBeLessThan(3_000);
  });

  test("with a remedy that is too long for everything keep within the bound", () => {
    const remedies = new Map([["extension-00000", "x".repeat(40_000)]]);
    const { message } = upgradeableFrom(blocked(2), cluster, remedies);
    expect(message).toMatch(/\nand 2 more ClusterExtensions$/);
  });
});

describe("laws", () => {
  const text = fc.constantFrom("a", "b", "a-b", "a0", "é", "\uffee", "\u{1f600}");
  const properties = fc.constantFrom(undefined, "", "[]", "x", ...["4.17", "4.18", '"4.17"', '"x"', "null"].map(stating));
  const release = fc.oneof(
    fc.record({ extension: text, bundle: text, version: fc.constantFrom("1.0.0", "1.1.0"), properties }),
    fc.record({ extension: text, because: text }),
  );
  const cluster = fc.constantFrom<ClusterVersion>(known("4.17.2"), known("4.18.0"), { kind: "none" }, { kind: "unknown", because: "x" });

  test("the order of the releases changes nothing", () => {
    fc.assert(
      fc.property(fc.array(release), cluster, fc.nat(), (releases, version, shift) => {
        const found = releases.map((one) => verdictOn(one, version));
        const at = found.length === 0 ? 0 : shift % found.length;
        const other = [...found.slice(at), ...found.slice(0, at)].reverse();
        expect(upgradeableFrom(other, version)).toEqual(upgradeableFrom(found, version));
        expect(gateDegradedFrom(other, version)).toEqual(gateDegradedFrom(found, version));
      }),
    );
  });

  test("one release that blocks is enough, whatever else is installed", () => {
    fc.assert(
      fc.property(fc.array(release), release, cluster, (others, one, version) => {
        const verdict = verdictOn(one, version);
        const alone = upgradeableFrom([verdict], version).status;
        const together = upgradeableFrom([...others.map((other) => verdictOn(other, version)), verdict], version).status;
        if (alone === "False") expect(together).toBe("False");
        if (gateDegradedFrom([verdict], version).status === "True") expect(alone).toBe("False");
      }),
    );
  });
});

function stating(value: string): string {
  return `[{"type":"olm.maxOpenShiftVersion","value":${value}}]`;
}
