import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Conversion } from "../../../../pkg/migrate/planConversion.ts";
import type { SurveyedSubscription } from "../../../../pkg/migrate/survey.ts";
import { TempFolder } from "../../../../test/support/tempFolder.ts";
import type { BatchLine } from "./batch.ts";
import type { RunResults } from "./conversionReport.ts";
import { ReportFile } from "./reportFile.ts";

/** Text that a browser would run, that would end an attribute, or that would change the order of characters. */
const HOSTILE = `<script>alert(1)</script>" onload="x" 'y' &amp; \u202e</style>`;

const LINES: BatchLine[] = [
  { namespace: "n", name: "good", result: "Converted", detail: "ClusterExtension good", kind: "done" },
  { namespace: "n", name: "bad", result: "Failed", detail: HOSTILE, kind: "failed" },
];
const FOUND: SurveyedSubscription[] = LINES.map(({ namespace, name }) => ({
  namespace,
  name,
  packageName: HOSTILE,
  version: "1.0.0",
  approval: "Automatic",
  verdict: { state: "Eligible", reasons: [{ code: "NotSettled", text: HOSTILE, next: HOSTILE }], remarks: [] },
}));
const DEPLOYMENT = { apiVersion: "apps/v1", kind: "Deployment", namespace: "n", name: HOSTILE };
const PLAN = {
  source: { extension: { metadata: { name: HOSTILE } } },
  objects: [{ ref: DEPLOYMENT, action: "change", changes: [], restarts: true }],
  findings: [{ kind: "backup", text: HOSTILE }],
  notes: [HOSTILE],
} as unknown as Conversion;
const RESULTS: RunResults = { isDryRun: false, lines: LINES, found: FOUND, plans: new Map([["n/bad", PLAN]]) };

async function writeReport(name: string): Promise<string> {
  using folder = new TempFolder();
  const path = `${folder.path}/${name}`;
  {
    await using file = await ReportFile.open(path);
    await file.write(RESULTS);
  }
  return await readFile(path, "utf8");
}

test("ReportFile writes HTML that escapes all texts, and loads nothing", async () => {
  const text = await writeReport("report.html");
  expect(text).toMatch(/^<!doctype html>/);
  expect(text.match(/<script|onload="|<\/style>\\u|\u202e/g)).toBeNull();
  expect(text.split("</style>")).toHaveLength(2);
  expect(
    text.split("&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x&quot; 'y' &amp;amp; \\u{202e}&lt;/style&gt;").length,
  ).toBeGreaterThan(9);
  expect(text).not.toMatch(/(src|href)="(?!#s\d+")/);
  expect(text).toContain("<p>1 Converted, 1 Failed.");
});

test("ReportFile writes JSON with the reasons and the plan of each Subscription", async () => {
  const report = JSON.parse(await writeReport("report.JSON")) as { items: unknown[] };
  expect(report).toMatchObject({ isDryRun: false, counts: { Converted: 1, Failed: 1 } });
  expect(report.items[0]).not.toHaveProperty("plan");
  expect(report.items[1]).toMatchObject({
    namespace: "n",
    subscription: "bad",
    result: "Failed",
    reasons: [{ code: "NotSettled" }],
    plan: { clusterExtension: HOSTILE, adopted: 1, changed: 1, created: 0, left: 0, findings: [HOSTILE], notes: [HOSTILE] },
  });
});

test("ReportFile writes the table of the command as text", async () => {
  expect(await writeReport("report.txt")).toMatch(/^NAMESPACE +SUBSCRIPTION +RESULT +DETAIL\nn +good +Converted +ClusterExtension good\n/);
});

test("ReportFile rejects a path whose extension is not a format", async () => {
  await expect(ReportFile.open("report.pdf")).rejects.toThrow(
    "cannot write report report.pdf: unknown format. Use a path that ends in .html, .json, .txt",
  );
});

test("ReportFile keeps an existing report until the new one is complete, and leaves no other file", async () => {
  using folder = new TempFolder();
  const path = `${folder.write("reports", { "report.txt": "before" })}/report.txt`;
  await (await ReportFile.open(path))[Symbol.asyncDispose](); // the run fails
  expect(await readFile(path, "utf8")).toBe("before");
  {
    await using file = await ReportFile.open(path);
    await file.write(RESULTS);
  }
  expect(await readFile(path, "utf8")).toMatch(/^NAMESPACE/);
  expect(await readdir(`${folder.path}/reports`)).toEqual(["report.txt"]);
});

test("ReportFile rejects a folder before the run", async () => {
  using folder = new TempFolder();
  const path = folder.write("report.html", {});
  await expect(ReportFile.open(path)).rejects.toThrow(`cannot write report ${path}: it is a folder`);
});
