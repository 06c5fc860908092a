import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { type ClusterVersion, parseMinorVersion } from "../version/clusterVersion.ts";
import { assessRelease } from "./upgradeable.ts";
import { checkUpgrade, type ExtensionReleases, parseUpgradeTarget, type UpgradeCheckRow } from "./upgradeCheck.ts";

interface TargetRow {
  cluster?: string;
  to?: string;
  target?: string;
  patch?: boolean;
  error?: string;
}

interface AnswerCase extends CaseHead {
  cluster?: string;
  to?: string;
  /** Properties of each active release, newest first; a string is the reason why a release cannot be read. */
  extensions: Record<string, (string | null | { bundle: string; properties: string })[] | string>;
  remedies?: Record<string, string>;
  want: { target: string; upgradeable: boolean; rows: string[]; messages?: string[] };
}

const cases = loadCases<CaseHead & Partial<AnswerCase> & { rows?: TargetRow[] }>("gate-check");
const targets = cases.flatMap(({ rows = [] }) => rows);
const answers = cases.filter((c): c is AnswerCase => c.want !== undefined);

const clusterOf = (text: string | undefined): ClusterVersion =>
  text === undefined ? { kind: "none" } : { kind: "known", text, minor: parseMinorVersion(/^\d+\.\d+$/.test(text) ? `${text}.0` : text) };

describe("upgradeTarget", () => {
  test.for(targets)("parseUpgradeTarget parses $to for cluster version $cluster", ({ cluster, to, target, patch = false, error }) => {
    if (error !== undefined) expect(() => parseUpgradeTarget(to, clusterOf(cluster))).toThrow(new Error(error));
    else expect(parseUpgradeTarget(to, clusterOf(cluster))).toMatchObject({ text: target, isPatch: patch });
  });
});

describe("checkUpgrade", () => {
  test.for(answers)("$name", ({ cluster, to, extensions, remedies = {}, want }) => {
    const known = clusterOf(cluster);
    const check = checkUpgrade(releasesOf(extensions, remedies), known, parseUpgradeTarget(to, known));
    expect({ ...check, extensions: check.extensions.map(lineOf) }).toEqual({
      formatVersion: 1,
      clusterVersion: cluster ?? null,
      target: want.target,
      upgradeable: want.upgradeable,
      extensions: want.rows,
    });
    if (want.messages) expect(check.extensions.map(({ message }) => message).filter((text) => text !== "")).toEqual(want.messages);
    expect(check.extensions.some(({ blocks }) => blocks)).toBe(!want.upgradeable);
  });

  test("checkUpgrade returns the same verdict as operator-controller for the next minor version, for any cluster version and maximum", () => {
    const minors = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 30 }));
    fc.assert(
      fc.property(minors, minors, ([major, minor], [maxMajor, maxMinor]) => {
        const cluster = clusterOf(`${major}.${minor}.1`);
        const properties = `[{"type":"olm.maxOpenShiftVersion","value":"${maxMajor}.${maxMinor}"}]`;
        const release = { extension: "a", bundle: "a.v1", version: "1.0.0", properties };
        const check = checkUpgrade([{ extension: "a", releases: [release] }], cluster, parseUpgradeTarget(undefined, cluster));
        expect(check.extensions.map(({ verdict }) => verdict)).toEqual([assessRelease(release, cluster).kind]);
      }),
      { numRuns: 2_000 },
    );
  });
});

function releasesOf(extensions: AnswerCase["extensions"], remedies: Record<string, string>): ExtensionReleases[] {
  return Object.entries(extensions).map(([extension, releases]) => ({
    extension,
    remedy: remedies[extension],
    ...(typeof releases === "string" ? { unreadable: [releases] } : {}),
    releases:
      typeof releases === "string"
        ? []
        : releases.map((release, i) => {
            const bundle = `${extension}.v${releases.length - i}`;
            if (typeof release === "object" && release !== null) return { extension, version: "1.0.0", ...release };
            return { extension, bundle, version: "1.0.0", properties: release ?? undefined };
          }),
  }));
}

function lineOf({ extension, bundle, maximum, verdict, remedy }: UpgradeCheckRow): string {
  return `${extension} ${bundle || "-"} ${maximum ?? "-"} ${verdict}${remedy === "" ? "" : `: ${remedy}`}`;
}
