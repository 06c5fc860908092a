import { expect, test } from "vitest";
import { AuditExceptions, judgeAudit } from "./auditGate.ts";

const ID = "GHSA-aaaa-bbbb-cccc";
const URL = `https://github.com/advisories/${ID}`;
/** The form of a report of npm 11 with one advisory, which concerns a package and the package that depends on it. */
const REPORT = {
  auditReportVersion: 2,
  vulnerabilities: {
    left: {
      name: "left",
      severity: "high",
      nodes: ["node_modules/left"],
      via: [{ source: 1, name: "left", title: "Denial of service", url: URL, severity: "high" }],
    },
    right: { name: "right", severity: "high", nodes: ["node_modules/right"], via: ["left"] },
  },
  metadata: {},
};
const SHIPPED = new Set(["node_modules/left", "node_modules/right"]);
const FINDING = `left: Denial of service (high, ${URL})`;
const exception = (expires: string, advisory = ID): AuditExceptions => ({
  exceptions: [{ advisory, reason: "olmv1 never calls this function", expires }],
});

const CASES: readonly [string, unknown, AuditExceptions, string[], string[]][] = [
  ["no advisory applies", { vulnerabilities: {} }, { exceptions: [] }, [], []],
  ["an advisory has no exception", REPORT, { exceptions: [] }, [FINDING], []],
  ["an exception is valid until today", REPORT, exception("2026-11-26"), [], []],
  ["an exception expired yesterday", REPORT, exception("2026-11-25"), [`${FINDING}: its exception expired on 2026-11-25`], []],
  ["an exception names another advisory", REPORT, exception("2027-01-01", "GHSA-zzzz-zzzz-zzzz"), [FINDING], ["GHSA-zzzz-zzzz-zzzz"]],
  ["an exception is not needed", { vulnerabilities: {} }, exception("2027-01-01"), [], [ID]],
];

test.for(CASES)("judgeAudit returns the failures when %s", ([, report, exceptions, failures, unused]) => {
  expect(judgeAudit(report, exceptions, "2026-11-26", SHIPPED)).toEqual({ failures, unused });
});

test("judgeAudit ignores an advisory when it affects only packages for development", () => {
  const shipped = new Set(["node_modules/right", "node_modules/right/node_modules/left"]);
  expect(judgeAudit(REPORT, { exceptions: [] }, "2026-11-26", shipped)).toEqual({ failures: [], unused: [] });
  const nested = { ...REPORT.vulnerabilities.left, nodes: ["node_modules/left", "node_modules/right/node_modules/left"] };
  expect(judgeAudit({ vulnerabilities: { left: nested } }, { exceptions: [] }, "2026-11-26", shipped).failures).toEqual([FINDING]);
});

test.for([{}, { error: { code: "ENOAUDIT" } }, { message: "405 Method Not Allowed" }, null, []])(
  "judgeAudit throws when npm printed %j in place of a report",
  (report) => {
    expect(() => judgeAudit(report, { exceptions: [] }, "2026-11-26", SHIPPED)).toThrow("npm audit printed no report");
  },
);

test.for([
  ["no reason", { advisory: ID, expires: "2026-12-31" }],
  ["a reason without content", { advisory: ID, reason: "fine", expires: "2026-12-31" }],
  ["no date", { advisory: ID, reason: "olmv1 never calls this function" }],
  ["a date that does not exist", { advisory: ID, reason: "olmv1 never calls this function", expires: "2026-02-30" }],
  ["no id of an advisory", { advisory: "CVE-2026-1", reason: "olmv1 never calls this function", expires: "2026-12-31" }],
] as const)("AuditExceptions rejects an exception when it has %s", ([, one]) => {
  expect(AuditExceptions.safeParse({ exceptions: [one] }).success).toBe(false);
});
