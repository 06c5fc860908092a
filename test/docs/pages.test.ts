import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { parse as parseToml } from "smol-toml";
import { describe, expect, test } from "vitest";
import { API_VERSION, CLUSTER_EXTENSION, ConditionType, PERMISSION_POLICY, Reason } from "../../pkg/api/constants.ts";
import { EVENTS } from "../../pkg/api/events.ts";
import { isObject } from "../../pkg/golang/members.ts";
import { parseYamlDocuments } from "../../pkg/golang/yaml.ts";
import { runCli } from "../support/runCli.ts";
import { commandExamples, commandLineProblem, idleCommandLine, namedCommandProblem } from "./commandLine.ts";
import { FOREIGN_FIELDS, FOREIGN_FLAGS, FOREIGN_REASONS } from "./foreignNames.ts";
import { knownFlags, knownMetrics, leadsToField, ownSchemas, productText } from "./knownNames.ts";
import { type Fence, type Page, pages, ROOT } from "./page.ts";
import { readScript } from "./shell.ts";
import { olmv1Arguments, readShownScript } from "./shownCommands.ts";
import { structuralProblems } from "./structuralProblems.ts";

const PAGES = pages();
const ANCHORS = new Map(PAGES.map(({ path, anchors }) => [path, anchors]));
/** Generated from the declarations of commands. */
const CLI_REFERENCE = "docs/reference/cli.md";
const OWN_VERSIONS: readonly string[] = [API_VERSION, PERMISSION_POLICY.apiVersion];
const WRITTEN = PAGES.filter(({ path }) => path !== CLI_REFERENCE);

/** Returns the problems that `judge` finds in the inline code of every page, with the page. */
function inCode(judge: (code: string) => readonly string[]): string[] {
  return WRITTEN.flatMap(({ path, code }) => code.flatMap((one) => judge(one).map((finding) => `${path}: ${finding}`)));
}

/** Returns every fenced block with its location. */
function blocks(): { at: string; fence: Fence }[] {
  return WRITTEN.flatMap(({ path, fences }) => fences.map((fence) => ({ at: `${path}:${fence.line}`, fence })));
}

/** Returns the arguments of every `olmv1` command line in the pages and the help, with its location. */
function listOwnCommands(): { at: string; args: readonly string[] }[] {
  const examples = commandExamples().map(({ path, text }) => ({ at: `olmv1 ${path} --help`, script: readScript(text) }));
  const scripts = [...blocks().map(({ at, fence }) => ({ at, script: readShownScript(fence) })), ...examples];
  const shown = scripts.flatMap(({ at, script }) => (script?.commands ?? []).map((words) => ({ at, args: olmv1Arguments(words) })));
  return shown.flatMap(({ at, args }) => (args ? [{ at, args }] : []));
}

function isBroken({ path }: Page, link: string): boolean {
  if (/^[a-z]+:/.test(link)) return false;
  const [file = "", anchor] = link.split("#");
  const target = file === "" ? path : normalize(join(dirname(path), file));
  return !existsSync(join(ROOT, target)) || (anchor !== undefined && !ANCHORS.get(target)?.has(anchor));
}

/** Returns the problems in a whole or partial document of one of our kinds. */
function documentProblems(document: unknown): string[] {
  if (!isObject(document)) return [];
  const isPart = document["apiVersion"] === undefined && isObject(document["spec"]);
  if (!isPart && !OWN_VERSIONS.includes(String(document["apiVersion"]))) return [];
  const schema = ownSchemas().get(isPart ? CLUSTER_EXTENSION : String(document["kind"]));
  return schema ? structuralProblems(schema, document, { isPart }) : [`unknown kind ${String(document["kind"])}`];
}

function findProblems(fence: Fence): string[] {
  const { language, text } = fence;
  try {
    if (language === "json") JSON.parse(text);
    if (language === "toml") parseToml(text);
    const documents = language === "yaml" ? [text] : language === "json" ? [] : (readShownScript(fence)?.documents ?? []);
    return documents.flatMap((document) => parseYamlDocuments(document).flatMap(documentProblems));
  } catch (error) {
    return [(error as Error).message];
  }
}

describe("the pages", () => {
  test("the pages contain no broken links", () => {
    expect(PAGES.flatMap((page) => page.links.filter((link) => isBroken(page, link)).map((link) => `${page.path}: ${link}`))).toEqual([]);
  });

  test("the pages are reachable from the table of contents", () => {
    const listed = PAGES.find(({ path }) => path === "docs/README.md")?.links.map((link) =>
      normalize(join("docs", link.replace(/#.*/, ""))),
    );
    const missing = PAGES.filter(({ path }) => /^docs\/[^/]+\.md|^docs\/(how-to|reference)\//.test(path) && path !== "docs/README.md");
    expect(missing.map(({ path }) => path).filter((path) => !listed?.includes(path))).toEqual([]);
  });

  test("the pages and the help only show valid olmv1 command lines", async () => {
    const ours = listOwnCommands();
    expect(ours.length).toBeGreaterThan(250);
    const findings = await Promise.all(ours.map(async ({ at, args }) => [at, args.join(" "), await commandLineProblem(args)] as const));
    expect(findings.filter(([, , problem]) => problem !== undefined)).toEqual([]);
  });

  test("the pages and the help only show conformance scenarios, groups and profiles that exist", async () => {
    const ours = listOwnCommands().filter(({ args: [command] }) => command === "conformance");
    expect(ours.length).toBeGreaterThan(5);
    const findings = await Promise.all(ours.map(async ({ at, args }) => [at, (await runCli([...args, "--list"])).err] as const));
    expect(findings.filter(([, problem]) => problem !== "")).toEqual([]);
  });

  test("the pages only mention existing commands, options and flags", () => {
    const program = idleCommandLine();
    const flags = new Set([...knownFlags(), ...FOREIGN_FLAGS]);
    expect(
      inCode((code) => {
        const [, rest] = /^(?:kubectl )?olmv1 (.*)$/s.exec(code) ?? [];
        const problem = rest === undefined ? undefined : namedCommandProblem(program, rest.split(/\s+/));
        const unknown = (code.match(/(?<![\w-])--[a-z][a-z0-9-]+/g) ?? []).filter((flag) => !flags.has(flag));
        return [...(problem === undefined ? [] : [`${code}: ${problem}`]), ...unknown.map((flag) => `${code}: no program has ${flag}`)];
      }),
    ).toEqual([]);
  });

  test("the pages only show valid objects and data", () => {
    const findings = blocks().flatMap(({ at, fence }) => findProblems(fence).map((problem) => `${at}: ${problem}`));
    expect(findings).toEqual([]);
  });

  test("the pages only mention existing fields", () => {
    const schemas = [...ownSchemas().values()];
    const isField = /^(spec|status)(\.[a-zA-Z]+(\[[^\]]*\])?)+$/;
    expect(inCode((code) => (isField.test(code) && !leadsToField(schemas, code) && !FOREIGN_FIELDS.has(code) ? [code] : []))).toEqual([]);
  });

  test("the pages only mention existing metrics, reasons and conditions", async () => {
    const metrics = await knownMetrics();
    const isMetric = /^(catalogd|operator_controller|nodejs|process)_\w+/;
    expect(inCode((code) => (isMetric.exec(code) ?? []).slice(0, 1).filter((name) => !metrics.has(name)))).toEqual([]);
    const known = new Set<string>([...Object.keys(EVENTS), ...Object.values(Reason), ...Object.values(ConditionType), ...FOREIGN_REASONS]);
    const lists = /\b(?:[Rr]easons?|[Cc]onditions?|Events?)\s+((?:`[A-Z]\w+`(?:,\s+|\s+and\s+|\s+or\s+)?)+)/g;
    const named = WRITTEN.flatMap(({ path, prose }) =>
      [...prose.matchAll(lists)].flatMap(([, list = ""]) => [...list.matchAll(/`(\w+)`/g)].map(([, name = ""]) => [path, name] as const)),
    );
    expect(named.length).toBeGreaterThan(40);
    expect(named.filter(([, name]) => !known.has(name))).toEqual([]);
  });

  test("the pages only mention existing labels, annotations and files", () => {
    const product = productText();
    const isPath = /^(config|test|docs|pkg|cmd)\/[\w./-]+$/;
    expect(
      inCode((code) => {
        const labels = (code.match(/[a-z.]*olm\.operatorframework\.io\/[a-z][a-zA-Z.-]+/g) ?? []).map((label) => label.replace(/-$/, ""));
        const isMissing = isPath.test(code) && !existsSync(join(ROOT, code)) && !existsSync(join(ROOT, "config", code));
        return [...labels.filter((label) => !product.includes(label)), ...(isMissing ? [code] : [])];
      }),
    ).toEqual([]);
  });
});
