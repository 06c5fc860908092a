import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { usage as catalogdUsage } from "../../cmd/catalogd/flags.ts";
import { usage as consoleUsage } from "../../cmd/console/flags.ts";
import { listProgramMetrics } from "../../cmd/crdgen/monitoringReference.ts";
import { usage as operatorControllerUsage } from "../../cmd/operator-controller/flags.ts";
import { usage as permissionManagerUsage } from "../../cmd/permission-manager/flags.ts";
import { GROUP } from "../../pkg/api/constants.ts";
import { buildOpenApiSchema, KINDS, type Structural } from "../../pkg/api/customResourceDefinitions.ts";
import { idleCommandLine, listOptions } from "./commandLine.ts";
import { ROOT } from "./page.ts";

/** Returns the schemas of our kinds, by kind. */
export function ownSchemas(): Map<string, Structural> {
  return new Map(KINDS.map((kind) => [kind.kind, buildOpenApiSchema(kind)]));
}

/** Returns every flag of the servers and every option of the command line, with hyphens. */
export function knownFlags(): Set<string> {
  const servers =
    [catalogdUsage(), operatorControllerUsage(), permissionManagerUsage(), consoleUsage()].join("").match(/^ {2}--[a-z0-9-]+/gm) ?? [];
  return new Set([...servers.map((flag) => flag.trim()), ...listOptions(idleCommandLine()), "--help"]);
}

/** Returns the names of all metrics of the two programs; for histograms, also those with suffixes. */
export async function knownMetrics(): Promise<Set<string>> {
  const programs = listProgramMetrics();
  programs[0]?.metrics.collectProcess();
  const texts = await Promise.all(programs.map(({ metrics }) => metrics.text()));
  const types = [...texts.join("\n").matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  const suffixes = (type: string | undefined): string[] => (type === "histogram" ? ["", "_bucket", "_sum", "_count"] : [""]);
  return new Set(types.flatMap(([, name = "", type]) => suffixes(type).map((suffix) => name + suffix)));
}

/** Reports whether a path such as `spec.install.crdPolicy` is a field in one of the schemas. */
export function leadsToField(schemas: Iterable<Structural>, path: string): boolean {
  const names = path.replaceAll(/\[[^\]]*\]/g, "").split(".");
  return [...schemas].some((schema) => leadsFrom(schema, names));
}

function leadsFrom(schema: Structural, names: readonly string[]): boolean {
  const [name, ...rest] = names;
  if (name === undefined) return true;
  if (schema.items) return leadsFrom(schema.items, names);
  if (schema["x-kubernetes-preserve-unknown-fields"]) return true;
  const inner = schema.properties?.[name] ?? schema.additionalProperties;
  return typeof inner === "object" ? leadsFrom(inner, rest) : inner === true;
}

/** Returns the text of sources and manifests, to look up names that no table lists. */
export function productText(): string {
  const files = ["cmd", "pkg", "config"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(ROOT, folder, name)),
  );
  const texts = files.filter((name) => /(?<!\.test)\.(ts|ya?ml|json|tpl|sh)$/.test(name)).map((name) => readFileSync(name, "utf8"));
  return texts.join("\n").replaceAll(/\$\{(?:GROUP|FIELD_MANAGER)\}/g, GROUP);
}
