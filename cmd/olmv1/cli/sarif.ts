import { isAbsolute, join, relative, sep } from "node:path";
import { type Severity } from "../../../pkg/fbc/validate/rules.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { PROGRAM_VERSION } from "../../internal/program.ts";

/** Something that was found, as SARIF tells it. */
export interface SarifFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Where it is, with slashes, relative to where the command runs; absent where it is about all. */
  readonly file?: string | undefined;
  /** Counts from 1. */
  readonly line?: number | undefined;
  /** What in the file it is about, such as `olm.channel "stable"`. */
  readonly subject?: string | undefined;
}

/** A rule as the log describes it. */
export interface SarifRule {
  readonly severity: Severity;
  readonly rule: string;
}

const LEVELS = { error: "error", warning: "warning", info: "note" } as const;
const SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";

/**
 * A log in the Static Analysis Results Interchange Format, which code hosts show beside the lines. It describes the rules that were broken.
 * @param rules all that can be, by code.
 * @see https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 */
export function sarifLog(findings: readonly SarifFinding[], rules: Readonly<Record<string, SarifRule>>): object {
  const broken = [...new Set(findings.map(({ rule }) => rule))];
  return {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "olmv1", semanticVersion: PROGRAM_VERSION, rules: broken.map((code) => ruleOf(code, rules, findings)) } },
        columnKind: "utf16CodeUnits",
        results: findings.map((finding) => resultOf(finding, broken.indexOf(finding.rule))),
      },
    ],
  };
}

function ruleOf(code: string, rules: Readonly<Record<string, SarifRule>>, findings: readonly SarifFinding[]): object {
  const known = Object.hasOwn(rules, code) ? rules[code] : undefined;
  const severity = known?.severity ?? findings.find(({ rule }) => rule === code)?.severity ?? "error";
  return {
    id: code,
    shortDescription: { text: known?.rule ?? "What is checked can be read." },
    defaultConfiguration: { level: LEVELS[severity] },
  };
}

function resultOf({ rule, severity, message, file, line, subject }: SarifFinding, ruleIndex: number): object {
  const physicalLocation =
    file === undefined
      ? undefined
      : { artifactLocation: { uri: uriOf(file) }, ...(line === undefined ? {} : { region: { startLine: line } }) };
  const logicalLocations = subject === undefined || subject === "" ? undefined : [{ fullyQualifiedName: escapeControlCharacters(subject) }];
  const location = { ...(physicalLocation ? { physicalLocation } : {}), ...(logicalLocations ? { logicalLocations } : {}) };
  return {
    ruleId: rule,
    ruleIndex,
    level: LEVELS[severity],
    message: { text: escapeControlCharacters(message) },
    ...(Object.keys(location).length > 0 ? { locations: [location] } : {}),
  };
}

/** A relative reference: no path is taken for a scheme or a host. */
function uriOf(file: string): string {
  const path = file.split("/").map(encodeURIComponent).join("/").replace(/^\/+/, "");
  return path;
}

/** The path of `file` in the checked folder as it is named from where the command runs; within the folder where that is elsewhere. */
export function sarifPath(folder: string, file: string, cwd: string): string {
  const path = relative(cwd, isAbsolute(folder) ? join(folder, file) : join(cwd, folder, file));
  const isOutside = path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
  return (isOutside ? file : path).split(sep).join("/");
}
