import { ANNOTATION_APPROVE } from "../../../pkg/api/constants.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import type { PlannedAction } from "../../../pkg/release/changePlan.ts";
import type { FieldChange } from "../../../pkg/release/diff.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { wrapped } from "../cli/wrapped.ts";
import type { InstallPlan, InstallPlanObject } from "./installPlan.ts";

const MARKS: Readonly<Record<PlannedAction, string>> = { Create: "+", Update: "~", Delete: "-", Unchanged: " " };
const NOTHING = "(none)";

/** A plan for people: the bundle and why it, the objects that would change with their fields, what stands against it, and how to approve it. */
export function planText(plan: InstallPlan, width = Number.POSITIVE_INFINITY): string {
  const changing = plan.objects.filter(({ action }) => action !== "Unchanged");
  const parts = [
    head(plan),
    [countsLine(plan), ...changing.flatMap(objectLines)],
    listed(
      "Findings, for which it would be refused:",
      plan.findings.map(({ text }) => text),
    ),
    listed(
      "Warnings of the API server, for which nothing is refused:",
      plan.warnings.map(({ text, objects }) => `${objects.map(oneLine).join(", ")}: ${text}`),
    ),
    listed("Notes:", plan.notes),
    approvalLines(plan),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.flatMap((line) => fitted(escapeControlCharacters(line), width)).join("\n")}\n`)
    .join("\n");
}

const COMMAND = /^approve: /;

/** A text of which each line goes on, where it does not fit, a little further in; commands stay whole, to be copied. */
function fitted(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => {
    if (COMMAND.test(line)) return [line];
    const indent = /^ */.exec(line)?.[0] ?? "";
    const [first = "", ...more] = wrapped(line.slice(indent.length), width, `${indent}    `);
    return [indent + first.trimStart(), ...more].map((one) => one.trimEnd());
  });
}

function head({ extension, exists, installed, bundle, explanation }: InstallPlan): string[] {
  const now = installed
    ? `installed: ${installed.bundle} (version ${installed.version}, revision ${installed.revision})`
    : exists
      ? "nothing is installed"
      : "it does not exist yet";
  const from = bundle.catalog === null ? "" : `, from catalog ${bundle.catalog}`;
  return [`ClusterExtension ${extension}: ${now}`, `bundle: ${bundle.name} (version ${bundle.version}${from})`, `why: ${explanation}`];
}

function countsLine({ counts }: InstallPlan): string {
  return `${counts.create} to create, ${counts.update} to update, ${counts.delete} to delete, ${counts.unchanged} unchanged`;
}

function objectLines(object: InstallPlanObject): string[] {
  const { action, widens, refused, changes, more } = object;
  const marks = `${widens ? "  (widens rights)" : ""}${refused ? "  (refused, see findings)" : ""}`;
  return [
    `  ${MARKS[action]} ${oneLine(describeObject(object))}${marks}`,
    ...changes.map(changeLine),
    ...(more > 0 ? [`      ... and ${more} more fields`] : []),
  ];
}

function changeLine({ path, before = NOTHING, after = NOTHING }: FieldChange): string {
  return `      ${oneLine(`${path}: ${before} → ${after}`)}`;
}

function oneLine(text: string): string {
  return text.replaceAll("\n", "\\n");
}

function listed(title: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [title, ...texts.map((text) => `  ${text.trimEnd().replaceAll("\n", "\n    ")}`)];
}

function approvalLines({ extension, digest, approval }: InstallPlan): string[] {
  const told = digest === null ? [] : [`digest: ${digest}`];
  if (!approval.needed) return told;
  if (approval.given) return [...told, "this plan is approved"];
  if (digest === null)
    return ["spec.approval is Manual: once the ClusterExtension is applied, its status.plan has the digest that approves this"];
  return [...told, `approve: kubectl annotate clusterextension ${extension} --overwrite ${ANNOTATION_APPROVE}=${digest}`];
}
