import { isAbsolute, join, relative, sep } from "node:path";
import { type Severity } from "../../../pkg/fbc/validate/rules.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { PROGRAM_VERSION } from "../../internal/program.ts";

/** A finding for SARIF. */
export interface SarifFinding {
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  /** Path with slashes, relative to the working directory; absent if the finding does not concern one file. */
  readonly file?: string | undefined;
  /** Counts from 1. */
  readonly line?: number | undefined;
  /** The subject in the file, such as `olm.channel "stable"`. */
  readonly subject?: string | undefined;
}

/** A rule that the log describes. */
export interface SarifRule {
  readonly severity: Severity;
  readonly rule: string;
}

const LEVELS = { error: "error", warning: "warning", info: "note" } as const;
const SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";

/**
 * Returns a log in the Static Analysis Results Interchange Format, whose findings code hosts show next to the lines. The log describes only violated
 * rules.
 * @param rules all rules by code.
 * @see https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
 */
export function createSarifLog(findings: readonly SarifFinding[], rules: Readonly<Record<string, SarifRule>>): object {
  const broken = [...new Set(findings.map(({ rule }) => rule))];
  return {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: { name: "olmv1", semanticVersion: PROGRAM_VERSION, rules: broken.map((code) => describeRule(code, rules, findings)) },
        },
        columnKind: "utf16CodeUnits",
        results: findings.map((finding) => toResult(finding, broken.indexOf(finding.rule))),
      },
    ],
  };
}

function describeRule(code: string, rules: Readonly<Record<string, SarifRule>>, findings: readonly SarifFinding[]): object {
  const known = Object.hasOwn(rules, code) ? rules[code] : undefined;
  const severity = known?.severity ?? findings.find(({ rule }) => rule === code)?.severity ?? "error";
  return {
    id: code,
    shortDescription: { text: known?.rule ?? "The input must be readable." },
    defaultConfiguration: { level: LEVELS[severity] },
  };
}

function toResult({ rule, severity, message, file, line, subject }: SarifFinding, ruleIndex: number): object {
  const physicalLocation =
    file === undefined
      ? undefined
      : { artifactLocation: { uri: toUri(file) }, ...(line === undefined ? {} : { region: { startLine: line } }) };
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

/** Returns a relative URI; the path cannot be mistaken for a scheme or a host. */
function toUri(file: string): string {
  const path = file.split("/").map(encodeURIComponent).join("/").replace(/^\/+/, "");
  return path;
}

/** Returns the path of `file` relative to the working directory, or relative to `folder` if `folder` is outside the working directory. */
export function toSarifPath(folder: string, file: string, cwd: string): string {
  const path = relative(cwd, isAbsolute(folder) ? join(folder, file) : join(cwd, folder, file));
  const isOutside = path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
  return (isOutside ? file : path).split(sep).join("/");
}
